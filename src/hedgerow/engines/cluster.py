"""Records on the workers of a cluster: how they become a table, which of Dask's workers holds which, and how long a fit waits."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
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
    """Records in partitions on a cluster. ``rows`` stand for encoded partitions there, in any form that can be closed."""

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
        made = [self._encoded(reading, layout, persons)]
        try:
            result = self._facts(made[0], progress)
            for place, (_, digest) in enumerate(result):
                self.checksums.check(reading, place, digest)
            facts = encode.placed(result)
            if keep is not None:
                chosen = self._chosen(made[0], keep, result)
                made.append(self._kept(made[0], chosen))
                facts = [mine.after for mine in chosen]
            return PartitionedTable(self._engine(made[-1], facts, progress), reading.n_codes, reading.n_classes)
        except BaseException:
            for rows in made:
                rows.close()
            raise

    def values(
        self, asked: encode.ValueCounts, layout: Layout, progress: Progress, keep: Keep | None = None
    ) -> encode.Counts:
        persons = chosen = None
        if keep is not None:
            persons = self._persons(layout, keep)
            rows = self._encoded(asked, layout, persons)
            try:
                result = self._facts(rows, Silent())
                chosen = self._chosen(rows, keep, result)
            finally:
                rows.close()
        return reduce(asked.sum, self._counted((asked, layout, persons), chosen, progress), asked.nothing)

    def _chosen(self, rows: Any, keep: Keep, result: list[encode.Fact]) -> list[encode.Chosen]:
        """Return which records of each partition count, by the ids of persons that workers hold."""
        facts, sizes = encode.placed(result), [rows for rows, _ in result]
        masks = keep.chosen(sizes, encode.FEWEST_AT_ONCE, lambda share: self._candidates(rows, facts, share))
        return [encode.Chosen(*one) for one in zip(facts, masks, strict=True)]

    @abstractmethod
    def _persons(self, layout: Layout, keep: Keep) -> encode.PersonIds: ...

    @abstractmethod
    def _encoded(self, reading: Reading, layout: Layout, persons: encode.PersonIds | None) -> Any:
        """Return the rows that ``encode`` makes of the tables of each partition."""

    @abstractmethod
    def _facts(self, rows: Any, progress: Progress) -> list[encode.Fact]: ...

    @abstractmethod
    def _candidates(self, rows: Any, facts: Sequence[encode.Facts], share: Share) -> Sequence[Candidates]: ...

    @abstractmethod
    def _kept(self, rows: Any, chosen: Sequence[encode.Chosen]) -> Any:
        """Return the rows without the classes of records that do not count, and without ids, once they are there."""

    @abstractmethod
    def _engine(self, rows: Any, facts: list[encode.Facts], progress: Progress) -> Engine: ...

    @abstractmethod
    def _counted(self, given: Any, chosen: list[encode.Chosen] | None, progress: Progress) -> Iterable[encode.Counts]:
        """Return the counts of each partition by ``value_counts``."""


Future = Any

GATHER = 10.0  # seconds for a result that is there; one that takes longer is asked for anew
LOOK = 1.0  # seconds between two looks at whether workers are still there
RETRIES = 2  # of a task that fails, as when a file cannot be read for a moment
SHARE_OF_MEMORY = 0.4  # of a worker's, for partitions; from 0.7 on Dask itself puts on disk what it has
CHARGED = "; what was charged stays charged"


class Timeout:
    """Ends a fit once nothing has come from any worker for so many seconds."""

    def __init__(self, timeout: float) -> None:
        self._timeout, self._last = timeout, time.monotonic()

    def progressed(self) -> None:
        self._last = time.monotonic()

    @property
    def left(self) -> float:
        left = self._last + self._timeout - time.monotonic()
        if left <= 0:
            raise silent(self._timeout)
        return left


def gathered(futures: Iterable[Future], timeout: Timeout) -> Iterable[tuple[Future, Any]]:
    """Yield futures as they finish, with what they made.

    A result that was lost with its worker is skipped: Dask computes it again, but a client that requests it at that moment may
    wait for ever. The caller requests skipped results again, which changes nothing: tasks are functions.
    """
    distributed = import_module("distributed")
    waiting = set(futures)
    while waiting:
        try:
            done = distributed.wait(waiting, timeout=min(LOOK, timeout.left), return_when="FIRST_COMPLETED").done
        except TimeoutError:
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
        f"nothing finished for {timeout:g} seconds, so the fit ends{CHARGED}. Check the workers, or pass a larger timeout=."
    )


def lost_scheduler() -> EngineError:
    return EngineError(f"the cluster's scheduler does not answer, so the fit ends{CHARGED}. Restart the cluster.")


def lost() -> EngineError:
    return EngineError(f"a partition could not be read or counted by any worker; their logs say why{CHARGED}.")


class WorkerShares:
    """Which worker holds which partitions: the one that encoded them, as long as it is there.

    ``rows`` are the codes of each partition, wherever they are, until a worker holds them. ``again`` encodes some of them again,
    on any worker.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        facts: Sequence[encode.Facts],
        rows: Sequence[Future],
        again: Callable[[Sequence[int]], Sequence[Future]],
    ) -> None:
        self._client, self._table, self._facts = client, table, list(facts)
        self._rows, self._again = dict(enumerate(rows)), again
        self._holders: list[str | None] = [None] * len(facts)

    def groups(self, places: Sequence[int], timeout: Timeout) -> dict[str, tuple[list[int], int]]:
        """Return these partitions by worker, and its number of threads. Those that no worker holds are encoded first."""
        threads = self._threads(timeout)
        lacking = [place for place, holder in enumerate(self._holders) if holder not in threads]
        if lacking:
            self._hold(lacking, timeout)
            threads = self._threads(timeout)
        shares: dict[str, tuple[list[int], int]] = {}
        for place in places:
            holder = self._holders[place]
            if holder in threads:  # else it was lost just now
                shares.setdefault(str(holder), ([], threads[str(holder)]))[0].append(place)
        return shares

    def absent(self, places: Iterable[int]) -> None:
        for place in places:
            self._holders[place] = None

    def _threads(self, timeout: Timeout) -> Mapping[str | None, int]:
        try:
            threads: Mapping[str | None, int] = self._client.sync(
                self._client.scheduler.ncores, callback_timeout=timeout.left
            )
        except (OSError, TimeoutError):
            raise lost_scheduler() from None
        return threads

    def _hold(self, wanted: Sequence[int], timeout: Timeout) -> None:
        again = [place for place in wanted if place not in self._rows]
        self._rows.update(zip(again, self._again(again) if again else (), strict=True))
        left = set(wanted)
        while left:  # an answer that was lost with its worker is queried again
            futures = {
                self._client.submit(
                    _hold, self._table, self._facts[place], self._rows[place], pure=False, retries=RETRIES
                ): place
                for place in left
            }
            try:
                for future, holder in gathered(futures, timeout):
                    self._holders[futures[future]] = holder
                    left.remove(futures[future])
            except BaseException:
                self._client.cancel(list(futures))
                raise
        for place in wanted:
            del self._rows[place]

    def close(self) -> None:
        with suppress(Exception):
            self._client.cancel(list(self._rows.values()))
        self._rows.clear()


# What runs on workers.


def same(found: Any) -> Any:
    return found


def _hold(table: str, facts: encode.Facts, rows: encode.Rows) -> str:
    worker = import_module("distributed").get_worker()
    limit = worker.memory_manager.memory_limit
    memory = int(limit * SHARE_OF_MEMORY) if limit else sys.maxsize
    store.hold(table, facts, rows, worker.local_directory, memory)
    return str(worker.address)
