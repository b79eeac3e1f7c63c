"""Records on the workers of a cluster: how they become a table, which of Dask's workers holds which, and how long a fit waits.

A source of Spark uses ``ClusterSource`` alone.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, reduce
from importlib import import_module
from typing import Any

from hedgerow.engines import encode, store
from hedgerow.engines.local import Progress, Silent
from hedgerow.errors import ConfigurationError, EngineError, HedgerowError
from hedgerow.reading.streams import Layout
from hedgerow.schema import Schema
from hedgerow.table import Candidates, Engine, Keep, PartitionedTable, Reading, Share

MANY_CELLS = 1 << 22  # of all answers to a query: from here on they are added up on the workers


@dataclass(frozen=True, eq=False)
class ClusterSource(ABC):
    """Records in partitions on a cluster. ``rows`` stand for encoded partitions there, in any form."""

    frame: Any
    timeout: float  # seconds without an answer after which a fit ends
    checksums: encode.Checksums = field(default_factory=encode.Checksums, repr=False, kw_only=True)

    again = True  # the records can be read more than once
    fits_only = False

    def __post_init__(self) -> None:
        timeout = self.timeout
        if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not 0 < timeout < float("inf"):
            raise ConfigurationError(f"timeout is {timeout!r}, but it must be a positive number of seconds.")

    @abstractmethod
    def check(self, schema: Schema, layout: Layout) -> None:
        """Raise SchemaError unless the columns and their declared types match the schema's. Cells are not read."""

    def table(self, reading: Reading, layout: Layout, progress: Progress, keep: Keep | None = None) -> PartitionedTable:
        persons = None if keep is None else self._persons(layout, keep)
        made = [self._encoded(encode.encode, (reading, layout, self.checksums.key, persons))]
        try:
            result = self._facts(made[0], progress)
            for place, (_, digest) in enumerate(result):
                self.checksums.check(reading, place, digest)
            facts, sizes = encode.placed(result), [rows for rows, _ in result]
            if keep is not None:
                chosen = self._chosen(made[0], keep, facts, sizes)
                made.append(self._kept(made[0], chosen))
                facts = [mine.after for mine in chosen]
            return PartitionedTable(self._engine(made[-1], facts, sizes, progress), reading.n_codes, reading.n_classes)
        except BaseException:
            for rows in made:
                self._drop(rows)
            raise

    def values(
        self, asked: encode.ValueCounts, layout: Layout, progress: Progress, keep: Keep | None = None
    ) -> encode.Counts:
        """Return the number of records with each value, without those that ``keep`` leaves out; workers count them."""
        persons = chosen = None
        if keep is not None:
            persons = self._persons(layout, keep)
            rows = self._encoded(encode.read_persons, (asked, layout, persons))
            try:
                result = self._facts(rows, Silent())
                chosen = self._chosen(rows, keep, encode.placed(result), [rows for rows, _ in result])
            finally:
                self._drop(rows)
        return reduce(asked.sum, self._counted((asked, layout, persons), chosen, progress), asked.nothing)

    def _chosen(self, rows: Any, keep: Keep, facts: list[encode.Facts], sizes: list[int]) -> list[encode.Chosen]:
        """Return which records of each partition count, by the ids of persons that workers hold."""
        masks = keep.chosen(sizes, encode.FEWEST_AT_ONCE, lambda share: self._candidates(rows, facts, share))
        return [encode.Chosen(*one) for one in zip(facts, masks, strict=True)]

    @abstractmethod
    def _persons(self, layout: Layout, keep: Keep) -> encode.PersonIds: ...

    @abstractmethod
    def _encoded(self, work: Callable[..., encode.Rows], given: tuple[Any, ...]) -> Any:
        """Return the rows that ``work(*given, tables)`` makes of the tables of each partition."""

    @abstractmethod
    def _facts(self, rows: Any, progress: Progress) -> list[encode.Fact]: ...

    @abstractmethod
    def _candidates(self, rows: Any, facts: Sequence[encode.Facts], share: Share) -> Sequence[Candidates]: ...

    @abstractmethod
    def _kept(self, rows: Any, chosen: Sequence[encode.Chosen]) -> Any:
        """Return the rows without the classes of records that do not count, and without ids, once they are there."""

    @abstractmethod
    def _engine(self, rows: Any, facts: list[encode.Facts], sizes: Sequence[int], progress: Progress) -> Engine: ...

    @abstractmethod
    def _counted(
        self, given: tuple[Any, ...], chosen: list[encode.Chosen] | None, progress: Progress
    ) -> Iterable[encode.Counts]:
        """Return the counts of each partition by ``value_counts``."""

    @abstractmethod
    def _drop(self, rows: Any) -> None: ...


Future = Any

GATHER = 10.0  # seconds for a result that is there; one that takes longer is asked for anew
LOOK = 1.0  # seconds between two looks at whether workers are still there
RETRIES = 2  # of a task that fails, as when a file cannot be read for a moment
SHARE_OF_MEMORY = 0.4  # of a worker's, for partitions; from 0.7 on Dask itself puts on disk what it has


class Timeout:
    """Ends a fit once nothing has come from any worker for so many seconds."""

    def __init__(self, timeout: float) -> None:
        self._timeout, self._last = timeout, time.monotonic()

    def progressed(self) -> None:
        self._last = time.monotonic()

    @property
    def left(self) -> float:
        """How many seconds are left, or EngineError where none is."""
        left = self._last + self._timeout - time.monotonic()
        if left <= 0:
            raise silent(self._timeout)
        return left


def gathered(
    futures: Iterable[Future],
    timeout: Timeout,
    workers: Mapping[Future, Collection[str | None]] | None = None,
    present: Callable[[], Collection[str]] = tuple,
) -> Iterable[tuple[Future, Any]]:
    """Yield futures as they finish, with what they made.

    A result that was lost with its worker is skipped: Dask computes it again, but a client that requests it at that moment may
    wait for ever. A result that waits for ``workers`` that are not ``present`` any more is skipped too: if no worker was left
    when they were lost, Dask does not send their tasks to new ones. The caller requests skipped results again, which changes
    nothing: tasks are functions.
    """
    distributed = import_module("distributed")
    waiting = set(futures)
    while waiting:
        try:
            done = distributed.wait(waiting, timeout=min(LOOK, timeout.left), return_when="FIRST_COMPLETED").done
        except TimeoutError:
            if workers:
                now = set(present())
                waiting = {future for future in waiting if now.issuperset(workers.get(future, ()))}
            continue
        except distributed.CancelledError:
            raise lost() from None
        waiting -= done
        for future in done:
            try:
                result = future.result(timeout=min(GATHER, timeout.left))
            except TimeoutError:
                continue
            except HedgerowError:
                raise
            except Exception:
                raise lost() from None  # what failed may quote a record
            timeout.progressed()
            yield future, result


def silent(timeout: float) -> EngineError:
    return EngineError(
        f"no worker answered for {timeout:g} seconds, so the fit ends; what was charged for it stays charged. Check the "
        "workers, and pass a larger timeout= if partitions take longer."
    )


def lost_scheduler() -> EngineError:
    return EngineError(
        "the cluster's scheduler does not answer, so the fit ends; what was charged for it stays charged. Restart the cluster."
    )


def lost() -> EngineError:
    return EngineError(
        "a partition's records could not be read or counted by any worker, so the fit ends; what was charged for it stays "
        "charged. The workers' logs say why."
    )


@dataclass(frozen=True)
class Group:
    """The partitions of one worker, and its threads; None: no worker holds them."""

    worker: str | None
    places: tuple[int, ...]
    threads: int


class WorkerShares:
    """Which worker holds which partitions: assigned once by their numbers of records, and again when workers come or go.

    A partition stays where it is if it can: a worker keeps what a fit has computed for its partitions, and another one would
    compute all of it again. ``rows`` are the codes of each partition, wherever they are; they are released once a worker holds
    them. ``again`` encodes some of them again.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        facts: Sequence[encode.Facts],
        sizes: Sequence[int],
        rows: Sequence[Future],
        again: Callable[[Sequence[int]], Sequence[Future]],
    ) -> None:
        self._client, self._table, self._facts, self._sizes = client, table, list(facts), sizes
        self._rows, self._again = dict(enumerate(rows)), again
        self._threads: dict[str, int] = {}
        self._holders: list[str | None] = [None] * len(facts)

    def groups(self, places: Sequence[int], timeout: Timeout) -> list[Group]:
        """Return these partitions by worker. Those that no worker holds are encoded first."""
        threads = self.present(timeout)
        if threads != self._threads or None in self._holders:
            self._hold(self._wanted(threads, timeout), timeout)
            self._threads = dict(threads)
        shares: dict[str | None, list[int]] = {}
        for place in places:
            holder = self._holders[place]
            shares.setdefault(holder if holder in threads else None, []).append(place)
        return [Group(worker, tuple(share), threads.get(worker or "", 1)) for worker, share in shares.items()]

    def present(self, timeout: Timeout) -> Mapping[str, int]:
        threads: Mapping[str, int] = self._ask(self._client.scheduler.ncores, timeout)
        return threads

    def absent(self, places: Iterable[int]) -> None:
        for place in places:
            self._holders[place] = None

    def _ask(self, asked: Callable[..., Any], timeout: Timeout, **more: Any) -> Any:
        try:
            return self._client.sync(asked, callback_timeout=timeout.left, **more)
        except (OSError, TimeoutError):
            raise lost_scheduler() from None

    def _wanted(self, threads: Mapping[str, int], timeout: Timeout) -> dict[int, str | None]:
        """Return the partitions that are not where they shall be, and the worker that shall hold each; None for any."""
        if not threads:
            return {place: None for place, holder in enumerate(self._holders) if holder is None}
        workers = list(threads)
        keys = [row.key for row in self._rows.values()]
        known = self._ask(self._client.scheduler.who_has, timeout, keys=keys) if keys else {}
        there = [
            [holder] if holder else list(known.get(self._rows[place].key, ())) if place in self._rows else []
            for place, holder in enumerate(self._holders)
        ]
        present = [[workers.index(worker) for worker in result if worker in threads] for result in there]
        shares = shared_out([result[0] if result else None for result in present], self._sizes, list(threads.values()))
        wanted = {place: worker for worker, share in zip(workers, shares, strict=True) for place in share}
        return {place: worker for place, worker in wanted.items() if self._holders[place] != worker}

    def _hold(self, wanted: Mapping[int, str | None], timeout: Timeout) -> None:
        lacking = [place for place in wanted if place not in self._rows]
        self._rows.update(zip(lacking, self._again(lacking) if lacking else (), strict=True))
        left = dict(wanted)
        ask = partial(self._client.submit, _hold, self._table, pure=False, retries=RETRIES)
        while left:  # an answer that was lost with its worker is queried again
            futures = {
                ask(self._facts[place], self._rows[place], **sent_to(worker)): place for place, worker in left.items()
            }
            workers = {future: {left[place]} - {None} for future, place in futures.items()}
            try:
                for future, holder in gathered(futures, timeout, workers, lambda: self.present(timeout)):
                    self._holders[futures[future]] = holder
                    del left[futures[future]]
            except BaseException:
                self._client.cancel(list(futures))
                raise
        for place in wanted:
            del self._rows[place]

    def close(self) -> None:
        with suppress(Exception):
            self._client.cancel(list(self._rows.values()))
        self._rows.clear()


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


def sent_to(worker: str | None) -> dict[str, Any]:
    """Return how a task is sent to a worker, or to another one if that is lost."""
    return {} if worker is None else {"workers": [worker], "allow_other_workers": True}


# What runs on workers.


def _hold(table: str, facts: encode.Facts, rows: encode.Rows) -> str:
    worker = import_module("distributed").get_worker()
    limit = worker.memory_manager.memory_limit
    memory = int(limit * SHARE_OF_MEMORY) if limit else sys.maxsize
    store.hold(table, facts, rows, worker.local_directory, memory)
    return str(worker.address)
