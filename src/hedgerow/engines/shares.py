"""Which worker of a Dask cluster counts which partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow.engines.remote import Rows

__all__ = ["RETRIES", "TOGETHER", "WorkerShares", "groups_of", "sent_to", "shared_out"]

Future = Any

TOGETHER = 8  # partitions that one task asks, and partial sums that one task adds up
RETRIES = 2  # of a task that fails, as when a file cannot be read for a moment


class WorkerShares:
    """Which worker counts which partitions: shared out once by their records, and again where workers came or went.

    What was shared out stays: a worker remembers what a fit made of its partitions, and another one would do all of it anew.

    Parameters
    ----------
    client : distributed.Client
        The client.
    rows : sequence of Future
        The codes of each partition, wherever they are.
    sizes : sequence of int
        How many records each has.
    """

    def __init__(self, client: Any, rows: Sequence[Future], sizes: Sequence[int]) -> None:
        self.rows = list(rows)
        self._client, self._sizes = client, sizes
        self._threads: dict[str | None, int] = {}
        self._settled = False
        self._shares: list[list[int]] = []

    def groups(self, places: Sequence[int], seconds: float, most: int = TOGETHER) -> list[tuple[str | None, list[int]]]:
        """Return partitions that one task asks together, and the worker that shall run it if it is there; None for any.

        Raises OSError, or TimeoutError after so many seconds, where the scheduler is gone or does not answer.
        """
        ask, scheduler = self._client.sync, self._client.scheduler
        threads = ask(scheduler.ncores, callback_timeout=seconds) or {None: 1}
        if threads != self._threads or not self._settled:
            keys = [row.key for row in self.rows]
            self._share_out(threads, ask(scheduler.who_has, keys=keys, callback_timeout=seconds))
        asked = set(places)
        return [
            (worker, group)
            for (worker, at_once), share in zip(threads.items(), self._shares, strict=True)
            for group in groups_of([place for place in share if place in asked], at_once, most)
        ]

    def _share_out(self, threads: dict[str | None, int], known: Mapping[str, Sequence[str]]) -> None:
        """Give each worker its partitions; codes move to it where they are elsewhere. ``known`` has the workers of each key."""
        self._threads, workers = threads, list(threads)
        holders = [[worker for worker in known.get(row.key, ()) if worker in threads] for row in self.rows]
        holder = [workers.index(found[0]) if found else None for found in holders]
        self._shares = shared_out(holder, self._sizes, list(threads.values()))
        for worker, share in zip(workers, self._shares, strict=True):
            for place in share:
                if holders[place] and worker not in holders[place]:
                    row = self.rows[place]
                    self.rows[place] = self._client.submit(_same, row, pure=False, retries=RETRIES, **sent_to(worker))
        self._settled = all(holders)  # what is nowhere yet may come to be elsewhere than it was shared out to

    def close(self) -> None:
        """Drop all codes."""
        self._client.cancel(self.rows)
        self.rows.clear()


def shared_out(holder: Sequence[int | None], sizes: Sequence[int], threads: Sequence[int]) -> list[list[int]]:
    """Return the partitions of each worker: where they are up to a fair share, and the largest others wherever least waits.

    ``holder`` has the worker of each partition, None for one that is nowhere; ``sizes`` how many records each has; ``threads``
    how many threads each worker has.
    """
    fair = sum(sizes) / sum(threads)
    shares: list[list[int]] = [[] for _ in threads]
    loads = [0.0] * len(threads)

    def load_with(place: int, worker: int) -> float:
        return loads[worker] + sizes[place] / threads[worker]

    def give(place: int, worker: int) -> None:
        loads[worker] = load_with(place, worker)
        shares[worker].append(place)

    left = []
    for place, worker in enumerate(holder):
        if worker is not None and load_with(place, worker) <= fair:
            give(place, worker)
        else:
            left.append(place)
    for place in sorted(left, key=lambda place: -sizes[place]):
        give(place, min(range(len(threads)), key=lambda worker: (load_with(place, worker), worker != holder[place])))
    return [sorted(share) for share in shares]


def groups_of(share: Sequence[int], threads: int, most: int) -> list[list[int]]:
    """Return a worker's partitions in groups of so many at most, as many groups as keep its threads busy."""
    number = threads * -(-len(share) // (threads * most)) if share else 0
    return [list(share[first::number]) for first in range(min(number, len(share)))]


def sent_to(worker: str | None) -> dict[str, Any]:
    """Return how a task is sent to a worker, or to another one if that is lost."""
    return {} if worker is None else {"workers": [worker], "allow_other_workers": True}


def _same(rows: Rows) -> Rows:
    return rows
