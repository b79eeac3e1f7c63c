"""Partitions on the executors of a Spark cluster."""

from __future__ import annotations

import gc
import os
import pickle
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import count
from typing import Any

from hedgerow.arrays import Integers
from hedgerow.engines import encode
from hedgerow.engines.cluster import MANY_CELLS, ClusterSource, Timeout, lost, same
from hedgerow.engines.lines import Address, Lines, serve
from hedgerow.engines.local import Partial, Progress, Silent, Total, combined
from hedgerow.engines.store import OpenStore, Store, disk_store, remove
from hedgerow.errors import EngineError, HedgerowError
from hedgerow.reading.columns import read_columns, read_labels
from hedgerow.reading.streams import Layout
from hedgerow.schema import Schema
from hedgerow.table import Candidates, Keep, Query, Reading, Share, Task

Packed = tuple[bytes, bytes, int]  # a partition with ids as bytes, its checksum, and its number of records

BLOCK_ROWS = 100_000  # that are encoded together
LOOK = 0.2  # seconds between two looks at how far a job is


@dataclass(frozen=True, eq=False)
class SparkSource(ClusterSource):
    """The partitions of a Spark dataframe; see ``Records.from_spark`` for the parameters. Rows are ``Stores``."""

    def check(self, schema: Schema, layout: Layout) -> None:
        arrow = import_module("pyspark.sql.pandas.types").to_arrow_schema(self.frame.schema)
        block = layout.block(arrow.empty_table())
        read_columns(block.X, schema.features)
        read_labels(block.y, schema.labels)

    @property
    def _context(self) -> Any:
        return self.frame.sparkSession.sparkContext

    @property
    def _jobs(self) -> Jobs:
        return Jobs(self._context, self.timeout)

    def _persons(self, layout: Layout, keep: Keep) -> encode.PersonIds:
        return encode.PersonIds(self.checksums.key, keep.part)

    def _encoded(self, reading: Reading, layout: Layout, persons: encode.PersonIds | None) -> Stores:
        work, with_ids = partial(encode.encode, reading, layout, self.checksums.key, persons), persons is not None
        sent = self._context.broadcast(pickle.dumps(work))
        stores = Stores(self._context, with_ids=with_ids)
        columns = ("rows binary, " if with_ids else "") + "digest binary, count long"
        encoded = self.frame.mapInArrow(partial(_encoded, sent, None if with_ids else stores.put), columns).rdd
        return stores.of(encoded.map(tuple))

    def _facts(self, rows: Stores, progress: Progress) -> list[encode.Fact]:
        facts = rows.first.mapPartitions(lambda parts: [[(part[-1], bytes(part[-2])) for part in parts]])
        result: list[list[encode.Fact]] = self._jobs.run(facts.collect, progress.read)
        if any(len(one) != 1 for one in result):
            raise EngineError("a partition was encoded otherwise than once; nothing was drawn.")
        return [fact for (fact,) in result]

    def _candidates(self, rows: Stores, facts: Sequence[encode.Facts], share: Share) -> list[Candidates]:
        sent = self._context.broadcast((facts, share))
        try:
            answers = self._jobs.run(
                rows.first.mapPartitionsWithIndex(partial(_candidates, sent)).collect, Silent().read
            )
        finally:
            with suppress(Exception):
                sent.destroy()
        return [pickle.loads(one) for one in answers]  # noqa: S301 - from our own executors

    def _kept(self, rows: Stores, chosen: Sequence[encode.Chosen]) -> Stores:
        stores = Stores(self._context, with_ids=False)
        stores.of(rows.first.mapPartitionsWithIndex(partial(_kept, self._context.broadcast(chosen), stores.put)))
        try:
            self._facts(stores, Silent())
        except BaseException:
            stores.close()
            raise
        rows.close()  # with the ids, which nothing but lost executors needs any more
        return stores

    def _engine(self, rows: Stores, facts: list[encode.Facts], progress: Progress) -> SparkEngine:
        return SparkEngine(self._context, rows, facts, self._jobs, progress, self.timeout)

    def _counted(self, given: Any, chosen: list[encode.Chosen] | None, progress: Progress) -> Iterable[encode.Counts]:
        sent = self._context.broadcast(pickle.dumps((partial(encode.value_counts, *given), chosen)))
        counted = self.frame.mapInArrow(partial(_counts, sent), "counts binary").rdd.map(lambda row: bytes(row[0]))
        result = self._jobs.run(counted.collect, progress.read)
        if chosen is not None and len(result) != len(chosen):
            raise encode.changed()
        return [pickle.loads(one) for one in result]  # noqa: S301 - from our own executors


class Stores:
    """Partitions on the executors' local disks, and an RDD of a few bytes for each that tells Spark where they are.

    ``first`` is persisted: its block of a partition is on the executor that put the partition on its disk, so Spark sends tasks
    there, and makes the block again, with the partition, where that executor was lost. Partitions with ids of persons are not put
    on disk: they are in that RDD, for queries about the ids.
    """

    def __init__(self, context: Any, *, with_ids: bool) -> None:
        self._context, self._on_disk = context, not with_ids
        self._table, self._key = secrets.token_hex(8), os.urandom(32)
        self.put = partial(_stored, self._table, self._key)

    def of(self, made: Any) -> Stores:
        """Return these, with the RDD that makes each partition; the last two of its elements' values are facts."""
        self._made, self.first = made, made.map(same)
        self.first.persist(import_module("pyspark").StorageLevel.MEMORY_AND_DISK)
        return self

    def asked(self, facts: Any, packed: bytes) -> Any:
        return self.first.mapPartitionsWithIndex(partial(_answers, self._table, self._key, facts, packed))

    def served(self, facts: Any, address: Address, secret: bytes) -> Any:
        return self.first.mapPartitionsWithIndex(partial(_served, self._table, self._key, facts, address, secret))

    def asked_of(self, places: Sequence[int], facts: Any, packed: bytes) -> Any:
        return self._context.runJob(self.asked(facts, packed), list, list(places))

    def made_again(self, places: Sequence[int], facts: Any, packed: bytes) -> Any:
        work = partial(_answers, self._table, self._key, facts, packed)
        return self._context.runJob(self._made.mapPartitionsWithIndex(work), list, list(places))

    def close(self) -> None:
        """Drop everything; executors that do not hear of it remove it later: when others need the room, or when they end."""
        with suppress(Exception):
            self.first.unpersist(blocking=False)
        if self._on_disk:
            with suppress(Exception):
                slices = self._context.defaultParallelism
                self._context.parallelize(range(slices), slices).foreach(partial(_removed, self._table))


class SparkEngine:
    """Asks the executors of a cluster; what a lost one held is read and carried out anew by another one.

    A task for each partition is sent the commands that it has not seen yet, and maps codes and margins from its executor's disk.
    The tasks stay for many queries (``Lines``), or each query is a job. Partitions that lack earlier commands say so, and are
    sent all; those that are not on that disk are encoded again where they are asked next.
    """

    def __init__(
        self, context: Any, stores: Stores, facts: list[encode.Facts], jobs: Jobs, progress: Progress, timeout: float
    ) -> None:
        self._stores, self._jobs, self._progress = stores, jobs, progress
        self._partitions, self._facts = len(facts), context.broadcast(facts)
        self._lines = Lines(context, len(facts), timeout, partial(stores.served, self._facts))
        self._sent: dict[str, int] = {}  # the last command of each log that executors got
        self._questions, self._lock = count(1), threading.RLock()

    def ask(self, task: Task) -> Integers:
        with self._lock:  # tables that were made of one another share an engine
            total, question = Total(self._partitions), next(self._questions)
            absent = self._first(total, question, task.after(self._sent.get(task.log, 0)))
            if absent:
                self._lines.fail()
            elif total.missing:
                self._lines.close()  # jobs need the cores
            packed = pickle.dumps(task) if total.missing else b""
            while total.missing:  # those that lack commands, or that are not there, are asked again with the whole log
                outdated = total.missing - absent
                ask, places = (self._stores.asked_of, outdated) if outdated else (self._stores.made_again, set(absent))
                absent -= places
                absent |= self._job(total, question, partial(ask, sorted(places), self._facts, packed))
            self._sent[task.log] = task.end
            self._progress.counted(question, 1.0)  # a job that ends between two looks at it has told nothing
            return total.sum

    def _first(self, total: Total, question: int, task: Task) -> set[int]:
        packed, query = pickle.dumps(task), task.query
        few = task.size * self._partitions <= MANY_CELLS
        if few:
            answers = self._lines.ask(packed, lambda share: self._progress.counted(question, share))
            if answers:
                return _add(total, answers)
        self._lines.close()
        asked = self._stores.asked(self._facts, packed)
        act = asked.collect if few else lambda: [asked.treeReduce(lambda one, other: _joined(query, one, other))]
        return self._job(total, question, act)

    def _job(self, total: Total, question: int, act: Callable[[], list[bytes]]) -> set[int]:
        return _add(total, self._jobs.run(act, lambda share: self._progress.counted(question, share or 0.0)))

    def forget(self, log: str) -> None:
        """Forget what executors got; they drop the logs that were not asked about for longest."""
        self._sent.pop(log, None)

    def close(self) -> None:
        self._lines.close()
        self._stores.close()
        with suppress(Exception):
            self._facts.destroy()


def _add(total: Total, answers: list[bytes]) -> set[int]:
    """Add answers to a total, and return the partitions that are not where they were asked."""
    absent: set[int] = set()
    for answer in answers:
        result: Partial = pickle.loads(answer)  # noqa: S301 - from our own executors
        total.add(result)
        absent.update(result.absent)
    return absent


class Jobs:
    def __init__(self, context: Any, timeout: float) -> None:
        self._context, self._timeout = context, timeout

    def run(self, act: Callable[[], list[Any]], progress: Callable[[float | None], None]) -> list[Any]:
        group, results, errors = f"hedgerow-{secrets.token_hex(8)}", [], []

        def work() -> None:
            try:
                self._context.setJobGroup(group, "hedgerow", interruptOnCancel=True)
                results.append(act())
            except Exception as error:
                errors.append(error)

        thread = import_module("pyspark").InheritableThread(target=work, daemon=True)
        thread.start()
        try:
            self._wait(thread, group, progress)
        except BaseException:
            self._context.cancelJobGroup(group)
            raise
        if errors:
            raise _error_of(errors[0])
        result: list[Any] = results[0]
        return result

    def _wait(self, thread: threading.Thread, group: str, progress: Callable[[float | None], None]) -> None:
        seen, timeout = (-1, -1), Timeout(self._timeout)
        while True:
            thread.join(min(LOOK, timeout.left))
            if not thread.is_alive():
                return
            done = self._tasks(group)
            if done != seen:
                seen = done
                timeout.progressed()
                progress(done[0] / done[1] if done[1] else None)

    def _tasks(self, group: str) -> tuple[int, int]:
        tracker = self._context.statusTracker()
        done = every = 0
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in [] if info is None else info.stageIds:
                result = tracker.getStageInfo(stage)
                if result is not None:
                    done, every = done + result.numCompletedTasks, every + result.numTasks
        return done, every


def _error_of(error: Exception) -> EngineError:
    """Return an error that tells no text of a task's own: it may quote a record."""
    for text, known in ((encode.CHANGED, encode.changed()), (encode.UNICODE, encode.other_unicode())):
        if text in str(error):
            return known
    if isinstance(error, HedgerowError):
        return EngineError(str(error))
    return lost()


# What runs on executors.


def _rows(packed: Packed) -> encode.Rows:
    rows: encode.Rows = pickle.loads(packed[0])  # noqa: S301 - from our own executors
    return rows


def _encoded(sent: Any, put: Callable[[int, encode.Rows], None] | None, batches: Iterator[Any]) -> Iterator[Any]:
    """Encode a partition, and put it on this executor's disk; where nothing puts it there, its bytes are the first column."""
    arrow = import_module("pyarrow")
    rows: encode.Rows = pickle.loads(sent.value)(_larger(batches))  # noqa: S301 - from the driver
    columns = {"digest": arrow.array([rows.digest], arrow.binary()), "count": arrow.array([len(rows.codes)])}
    if put is None:
        columns = {"rows": arrow.array([pickle.dumps(rows)], arrow.binary()), **columns}
    else:
        put(import_module("pyspark").TaskContext.get().partitionId(), rows)
    yield arrow.RecordBatch.from_pydict(columns)


def _larger(batches: Iterator[Any]) -> Iterator[Any]:
    """Join batches: Spark sends 10 000 rows in each by default, of which every column costs as much as reading its cells."""
    table_of, together, n_rows = import_module("pyarrow").Table.from_batches, [], 0
    for batch in batches:
        together.append(batch)
        n_rows += batch.num_rows
        if n_rows >= BLOCK_ROWS:
            yield table_of(together).combine_chunks()
            together, n_rows = [], 0
    if together:
        yield table_of(together).combine_chunks()


def _stored(table: str, key: bytes, place: int, rows: encode.Rows) -> None:
    disk_store(table, key, place).put(place, rows)


def _answers(table: str, key: bytes, facts: Any, packed: bytes, place: int, parts: Iterator[Any]) -> Iterator[bytes]:
    for _ in parts:
        yield _answer(disk_store(table, key, place, facts.value), place, packed)


def _served(
    table: str, key: bytes, facts: Any, address: Address, secret: bytes, place: int, parts: Iterator[Any]
) -> Iterator[bytes]:
    for _ in parts:
        with closing(OpenStore(disk_store(table, key, place, facts.value), place)) as store:
            serve(address, secret, place, partial(_answer, store, place))
    yield from ()


def _answer(store: Store, place: int, packed: bytes) -> bytes:
    if not gc.get_freeze_count():  # Spark collects garbage after each task: .06 s for what imports made, which stays
        gc.freeze()
    task: Task = pickle.loads(packed)  # noqa: S301 - from the driver, which may run any code here
    return pickle.dumps(store.answer(task, place))


def _removed(table: str, _: int) -> None:
    remove(table)


def _counts(sent: Any, batches: Iterator[Any]) -> Iterator[Any]:
    arrow = import_module("pyarrow")
    work, chosen = pickle.loads(sent.value)  # noqa: S301 - from the driver
    place = import_module("pyspark").TaskContext.get().partitionId()
    if chosen is not None and place >= len(chosen):
        raise encode.changed()
    counts = work(None if chosen is None else chosen[place], batches)
    yield arrow.RecordBatch.from_arrays([arrow.array([pickle.dumps(counts)], arrow.binary())], ["counts"])


def _candidates(sent: Any, place: int, parts: Iterator[Any]) -> Iterator[bytes]:
    facts, share = sent.value
    for part in parts:
        yield pickle.dumps(encode.candidates(_rows(part), facts[place], share))


def _kept(sent: Any, put: Callable[[int, encode.Rows], None], place: int, parts: Iterator[Packed]) -> Iterator[Any]:
    for part in parts:
        rows = encode.kept(_rows(part), sent.value[place])
        put(place, rows)
        yield rows.digest, len(rows.codes)


def _joined(query: Query, one: bytes, other: bytes) -> bytes:
    partials: list[Partial] = [pickle.loads(one), pickle.loads(other)]  # noqa: S301 - from our own executors
    return pickle.dumps(combined(query, partials))
