"""Partitions on the executors of a Spark cluster."""

from __future__ import annotations

import os
import pickle
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, reduce
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np

from hedgerow.arrays import Integers
from hedgerow.engines import remote
from hedgerow.engines.encode import CHANGED, Checksums, changed
from hedgerow.engines.local import Partial, Total, Wire, combined
from hedgerow.engines.persons import UNICODE, Whose, other_unicode, unicode_version
from hedgerow.engines.progress import Progress, Silent
from hedgerow.engines.remote import Chosen, Fact, Facts, Rows
from hedgerow.engines.shelf import remove, shelf_of
from hedgerow.engines.values import Counts, ValueCounts
from hedgerow.errors import EngineError, HedgerowError, MissingExtraError
from hedgerow.schema import Schema
from hedgerow.schema.columns import read_columns, read_labels
from hedgerow.sources.streams import Layout
from hedgerow.table import Candidates, Keep, PartitionedTable, Query, Reading, Share, Task

Cells = tuple[bytes, bytes, bytes, bytes, int]  # codes, classes, ids, checksum and number of records of a partition


@dataclass(frozen=True)
class Types:
    """How a partition's codes and classes are stored as bytes."""

    features: int
    codes: np.dtype[Any]
    labels: np.dtype[Any]

    def rows(self, cells: Cells) -> Rows:
        """Return a partition as it was before it became bytes."""
        codes, labels, ids, digest, records = cells
        return Rows(
            np.frombuffer(codes, dtype=self.codes).reshape(records, self.features),
            np.frombuffer(labels, dtype=self.labels),
            bytes(digest),
            np.frombuffer(ids, dtype=np.uint64).reshape(-1, 2),
        )


def cells_of(rows: Rows) -> Cells:
    """Return a partition as bytes."""
    return rows.codes.tobytes(), rows.labels.tobytes(), rows.ids.tobytes(), rows.digest, len(rows.codes)


def persisted(rows: Any) -> Any:
    """Return an RDD whose partitions stay with the executor that made them."""
    return rows.persist(import_module("pyspark").StorageLevel.MEMORY_AND_DISK)


def drop(rows: Any) -> None:
    """Let go of an RDD that was persisted."""
    with suppress(Exception):
        rows.unpersist(blocking=False)


class Shelves:
    """Partitions on the executors' local disks, and an RDD of a few bytes for each that tells Spark where they are.

    ``held`` is persisted: its block of a partition is on the executor that put the partition on its disk, so Spark sends tasks
    there, and makes the block again, with the partition, where that executor was lost.

    Parameters
    ----------
    context : SparkContext
        The context.
    rows : RDD
        How to make each partition: its cells, one element in each.
    types : Types
        Of the cells.
    """

    def __init__(self, context: Any, rows: Any, types: Types) -> None:
        self._context, self._rows, self._types = context, rows, types
        self._table, self._key = secrets.token_hex(8), os.urandom(32)
        self.held = persisted(rows.mapPartitionsWithIndex(_shelving(self._table, self._key, types)))

    def asked(self, facts: Any, packed: bytes) -> Any:
        """Return an RDD of what each partition answers; ``facts`` is a broadcast of what they must be."""
        return self.held.mapPartitionsWithIndex(_answering(self._table, self._key, facts, packed))

    def asked_of(self, places: Sequence[int], facts: Any, packed: bytes) -> Any:
        """Return what some partitions answer."""
        return self._context.runJob(self.asked(facts, packed), list, list(places))

    def made_again(self, places: Sequence[int], facts: Any, packed: bytes) -> Any:
        """Return what some partitions answer, put anew on the disk of whichever executor is asked."""
        work = _shelving(self._table, self._key, self._types, _answering(self._table, self._key, facts, packed))
        return self._context.runJob(self._rows.mapPartitionsWithIndex(work), list, list(places))

    def close(self) -> None:
        """Drop everything; executors that do not hear of it remove it later: when others need the room, or when they end."""
        drop(self.held)
        with suppress(Exception):
            slices = self._context.defaultParallelism
            self._context.parallelize(range(slices), slices).foreach(_removing(self._table))


# What runs on executors.


def _shelving(
    table: str, key: bytes, types: Types, then: Callable[[int, Iterator[Any]], Iterator[Any]] | None = None
) -> Callable[[int, Iterator[Cells]], Iterator[Any]]:
    def shelve(place: int, parts: Iterator[Cells]) -> Iterator[Any]:
        for part in parts:
            rows = types.rows(part)
            shelf_of(table, key, place).put(place, rows)
            yield (rows.digest, len(rows.codes))

    if then is None:
        return shelve
    return lambda place, parts: then(place, shelve(place, parts))


def _answering(table: str, key: bytes, facts: Any, packed: bytes) -> Callable[[int, Iterator[Any]], Iterator[bytes]]:
    def answer(place: int, parts: Iterator[Any]) -> Iterator[bytes]:
        given: Sequence[Facts] = facts.value
        for _ in parts:
            yield pickle.dumps(shelf_of(table, key, place).answer(given[place], packed))

    return answer


def _removing(table: str) -> Callable[[int], None]:
    return lambda _: remove(table)


MANY_CELLS = 1 << 22  # of all answers to a query: from here on they are added up where they are
LOOK = 0.2  # seconds between two looks at how far a job is


def check_installed() -> None:
    """Raise MissingExtraError without pyspark."""
    try:
        import_module("pyspark")
    except ImportError as error:
        raise MissingExtraError(
            'records of Spark need pyspark: install it with pip install "hedgerow[spark]", and Java beside it.'
        ) from error


@dataclass(frozen=True, eq=False)
class SparkSource:
    """The partitions of a Spark dataframe; see ``Records.from_spark`` for the parameters."""

    frame: Any
    timeout: float
    checksums: Checksums = field(default_factory=Checksums, repr=False)
    wire: Wire = field(default_factory=Wire, repr=False)

    again = True

    def check(self, schema: Schema, layout: Layout) -> None:
        """Raise SchemaError unless the columns and their declared types are the schema's; no partition is read."""
        arrow = import_module("pyspark.sql.pandas.types").to_arrow_schema(self.frame.schema)
        X, y = layout.split(arrow.empty_table())
        read_columns(X, schema.features)
        read_labels(y, schema.labels)

    def table(self, reading: Reading, layout: Layout, progress: Progress, keep: Keep | None = None) -> PartitionedTable:
        """Return the records as a reading has them; codes stay on the executors."""
        whose = None if keep is None else Whose(None, unicode_version(), keep.part)
        types = Types(len(reading.n_codes), reading.dtype, reading.label_dtype)
        jobs = Jobs(self._context, self.timeout)
        rows = self._encoded(partial(remote.encode, reading, layout, self.checksums.key, whose))
        shelves = Shelves(self._context, rows, types)
        try:
            found = _facts(shelves.held if keep is None else persisted(rows), jobs, progress.read)
            for place, fact in enumerate(found):
                self.checksums.check(reading, place, fact.digest)
            facts = remote.placed(found)
            if keep is not None:
                chosen = self._chosen(rows, types, keep, found, jobs)
                kept = rows.mapPartitionsWithIndex(_kept_of(self._context.broadcast(chosen), types))
                shelves = Shelves(self._context, kept, types)
                _facts(shelves.held, jobs, Silent().read)
                drop(rows)  # with the ids, which nothing but lost executors needs any more
                facts = [mine.after for mine in chosen]
            engine = SparkEngine(self._context, shelves, facts, jobs, progress, self.wire)
            return PartitionedTable(engine, reading.n_codes, reading.n_classes)
        except BaseException:
            drop(rows)
            shelves.close()
            raise

    def values(self, asked: ValueCounts, layout: Layout, progress: Progress, keep: Keep | None = None) -> Counts:
        """Return how many records have each value, of those that ``keep`` does not leave out; executors count them."""
        jobs, whose, chosen = Jobs(self._context, self.timeout), None, None
        if keep is not None:
            whose = Whose(None, unicode_version(), keep.part)
            encoded = persisted(self._encoded(partial(remote.persons, asked, layout, self.checksums.key, whose)))
            try:
                types = Types(0, np.dtype(np.uint8), np.dtype(np.int8))
                chosen = self._chosen(encoded, types, keep, _facts(encoded, jobs, Silent().read), jobs)
            finally:
                drop(encoded)
        count = partial(remote.counted, asked, layout, self.checksums.key, whose)
        given = self._context.broadcast(pickle.dumps((count, chosen)))
        counted = self.frame.mapInArrow(_counter_of(given), "counts binary").rdd.map(lambda row: bytes(row[0]))
        found = jobs.run(counted.collect, progress.read)
        if chosen is not None and len(found) != len(chosen):
            raise changed()
        return reduce(asked.sum, (pickle.loads(one) for one in found), asked.nothing)  # noqa: S301 - from our own executors

    @property
    def _context(self) -> Any:
        return self.frame.sparkSession.sparkContext

    def _encoded(self, encode: Callable[[Iterable[Any]], Rows]) -> Any:
        """Return what executors make of each partition, one element in each."""
        given = self._context.broadcast(pickle.dumps(encode))
        columns = "codes binary, labels binary, ids binary, digest binary, count long"
        return self.frame.mapInArrow(_encoder_of(given), columns).rdd.map(tuple)

    def _chosen(self, rows: Any, types: Types, keep: Keep, found: Sequence[Fact], jobs: Jobs) -> list[Chosen]:
        """Return which records of each partition count, which the executors know by their persons."""
        facts = remote.placed(found)

        def ask(share: Share) -> list[Candidates]:
            sent = self._context.broadcast((facts, share))
            try:
                answers = jobs.run(rows.mapPartitionsWithIndex(_candidates_of(sent, types)).collect, Silent().read)
            finally:
                with suppress(Exception):
                    sent.destroy()
            return [pickle.loads(one) for one in answers]  # noqa: S301 - from our own executors

        return remote.chosen(keep, facts, [fact.rows for fact in found], ask)


def _facts(rows: Any, jobs: Jobs, told: Callable[[float | None], None]) -> list[Fact]:
    """Return what each partition's records are, once they are there."""
    facts = rows.mapPartitions(lambda parts: [[Fact(part[-1], bytes(part[-2])) for part in parts]])
    found: list[list[Fact]] = jobs.run(facts.collect, told)
    if any(len(one) != 1 for one in found):
        raise EngineError("a partition was encoded otherwise than once; nothing was drawn.")
    return [fact for (fact,) in found]


class SparkEngine:
    """Asks the executors of a cluster; what a lost one held is read and carried out anew by another one.

    A query is a job with a task for each partition, which is sent the commands that it has not seen yet and maps codes and
    margins from its executor's disk. Partitions that lack earlier commands say so, and are sent all; those that are not on that
    disk are encoded again where they are asked next.

    Parameters
    ----------
    context : SparkContext
        The context.
    shelves : Shelves
        The partitions.
    facts : list of Facts
        What they must be.
    jobs : Jobs
        What runs jobs.
    progress : Progress
        The display of progress.
    wire : Wire
        The counter of bytes and tasks.
    """

    def __init__(
        self, context: Any, shelves: Shelves, facts: list[Facts], jobs: Jobs, progress: Progress, wire: Wire
    ) -> None:
        self._shelves, self._jobs, self._progress, self._wire = shelves, jobs, progress, wire
        self._partitions, self._facts = len(facts), context.broadcast(facts)
        self._sent: dict[str, int] = {}  # the last command of each log that executors were told
        self._questions = count(1)

    def ask(self, task: Task) -> Integers:
        """Return the sum of every partition's answer, each of them once."""
        total, question = Total(self._partitions), next(self._questions)
        absent = self._add(total, question, partial(self._first, task.after(self._sent.get(task.log, 0))))
        packed = pickle.dumps(task)
        while total.missing:  # those that lack commands, or that are not there, are asked again with the whole log
            outdated = total.missing - absent
            ask, places = (self._shelves.asked_of, outdated) if outdated else (self._shelves.made_again, set(absent))
            absent -= places
            absent |= self._add(total, question, partial(self._sent_to, ask, sorted(places), packed))
        self._sent[task.log] = task.end
        self._progress.counted(question, 1.0)  # a job that ends between two looks at it has told nothing
        return total.sum

    def _first(self, task: Task) -> list[bytes]:
        """Return what all partitions answer, as partial sums."""
        packed, cells, asked = pickle.dumps(task), task.size, task.query
        self._count(packed, self._partitions)
        answers = self._shelves.asked(self._facts, packed)
        if cells * self._partitions <= MANY_CELLS:
            collected: list[bytes] = answers.collect()
            return collected
        return [answers.treeReduce(lambda one, other: _joined(asked, one, other))]

    def _sent_to(self, ask: Callable[..., list[bytes]], places: Sequence[int], packed: bytes) -> list[bytes]:
        self._count(packed, len(places))
        return ask(places, self._facts, packed)

    def _count(self, packed: bytes, tasks: int) -> None:
        self._wire.sent += len(packed)
        self._wire.tasks += tasks

    def _add(self, total: Total, question: int, act: Callable[[], list[bytes]]) -> set[int]:
        """Add up what a job returns, and return the partitions that are absent."""
        absent: set[int] = set()
        for answer in self._jobs.run(act, lambda share: self._progress.counted(question, share or 0.0)):
            self._wire.received += len(answer)
            found: Partial = pickle.loads(answer)  # noqa: S301 - from our own executors
            total.add(found)
            absent.update(found.absent)
        return absent

    def forget(self, log: str) -> None:
        """Forget what executors were told; they drop the logs that were not asked about for longest."""
        self._sent.pop(log, None)

    def close(self) -> None:
        """Drop everything."""
        self._shelves.close()
        with suppress(Exception):
            self._facts.destroy()


class Jobs:
    """Runs jobs, and ends those that get no further.

    Parameters
    ----------
    context : SparkContext
        The context.
    timeout : float
        Seconds in which no task finishes after which a job is cancelled.
    """

    def __init__(self, context: Any, timeout: float) -> None:
        self._context, self._timeout = context, timeout

    def run(self, act: Callable[[], list[Any]], told: Callable[[float | None], None]) -> list[Any]:
        """Return what a job returns, or raise EngineError where it fails or gets no further."""
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
            stuck = self._watch(thread, group, told)
        except BaseException:
            self._context.cancelJobGroup(group)
            raise
        if stuck:
            self._context.cancelJobGroup(group)
            raise EngineError(
                f"no task finished for {self._timeout:g} seconds, so the fit ends; what was charged for it stays charged. See to "
                "the executors, and pass a larger timeout= if partitions take longer."
            )
        if errors:
            raise _error_of(errors[0])
        found: list[Any] = results[0]
        return found

    def _watch(self, thread: threading.Thread, group: str, told: Callable[[float | None], None]) -> bool:
        """Wait for a job; say whether it got no further for too long."""
        seen, quiet = (-1, -1), 0.0
        while True:
            thread.join(LOOK)
            if not thread.is_alive():
                return False
            done = self._tasks(group)
            if done != seen:
                seen, quiet = done, 0.0
                told(done[0] / done[1] if done[1] else None)
            quiet += LOOK
            if quiet > self._timeout:
                return True

    def _tasks(self, group: str) -> tuple[int, int]:
        """Return how many tasks of a job are done, and how many there are."""
        tracker = self._context.statusTracker()
        done = every = 0
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in [] if info is None else info.stageIds:
                found = tracker.getStageInfo(stage)
                if found is not None:
                    done, every = done + found.numCompletedTasks, every + found.numTasks
        return done, every


def _error_of(error: Exception) -> EngineError:
    """Return an error that tells no text of a task's own: it may quote a record."""
    for text, known in ((CHANGED, changed()), (UNICODE, other_unicode())):
        if text in str(error):
            return known
    if isinstance(error, HedgerowError):
        return EngineError(str(error))
    return EngineError(
        "a partition's records could not be read or counted by any executor, so the fit ends; what was charged for it stays "
        "charged. The executors' logs say why."
    )


# What runs on executors.


def _encoder_of(given: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def encode(batches: Iterator[Any]) -> Iterator[Any]:
        arrow = import_module("pyarrow")

        cells = cells_of(pickle.loads(given.value)(batches))  # noqa: S301 - from the driver
        types = [*[arrow.binary()] * 4, arrow.int64()]
        arrays = [arrow.array([cell], kind) for cell, kind in zip(cells, types, strict=True)]
        yield arrow.RecordBatch.from_arrays(arrays, ["codes", "labels", "ids", "digest", "count"])

    return encode


def _counter_of(given: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def count(batches: Iterator[Any]) -> Iterator[Any]:
        arrow = import_module("pyarrow")

        work, chosen = pickle.loads(given.value)  # noqa: S301 - from the driver
        place = import_module("pyspark").TaskContext.get().partitionId()
        if chosen is not None and place >= len(chosen):
            raise changed()
        counts = work(None if chosen is None else chosen[place], batches)
        yield arrow.RecordBatch.from_arrays([arrow.array([pickle.dumps(counts)], arrow.binary())], ["counts"])

    return count


def _candidates_of(sent: Any, types: Types) -> Callable[[int, Iterator[Any]], Iterator[bytes]]:
    def answer(place: int, parts: Iterator[Any]) -> Iterator[bytes]:
        facts, share = sent.value
        for part in parts:
            yield pickle.dumps(remote.candidates(types.rows(part), facts[place], share))

    return answer


def _kept_of(sent: Any, types: Types) -> Callable[[int, Iterator[Any]], Iterator[Cells]]:
    def keep(place: int, parts: Iterator[Any]) -> Iterator[Cells]:
        for part in parts:
            yield cells_of(remote.kept(types.rows(part), sent.value[place]))

    return keep


def _joined(query: Query, one: bytes, other: bytes) -> bytes:
    partials: list[Partial] = [pickle.loads(one), pickle.loads(other)]  # noqa: S301 - from our own executors
    return pickle.dumps(combined(query, partials))
