"""Partitions on the executors of a Spark cluster."""

from __future__ import annotations

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
from hedgerow.engines.collect import Partial, Total, Wire, combined
from hedgerow.engines.encode import CHANGED, Checksums, changed
from hedgerow.engines.persons import UNICODE, Whose, other_unicode, unicode_version
from hedgerow.engines.progress import Progress, Silent
from hedgerow.engines.remote import Chosen, Fact, Facts, Rows
from hedgerow.engines.values import Counts, ValueCounts
from hedgerow.errors import EngineError, HedgerowError, MissingExtraError
from hedgerow.schema import Schema
from hedgerow.schema.columns import read_columns, read_labels
from hedgerow.sources.streams import Layout
from hedgerow.table import Candidates, Keep, PartitionedTable, Reading, Share, Task

__all__ = ["SparkEngine", "SparkSource"]

Cells = tuple[bytes, bytes, bytes, bytes, int]  # codes, classes, ids, checksum and number of records of a partition

MANY_CELLS = 1 << 22  # of all answers to a question: from here on they are added up where they are
LOOK = 0.2  # seconds between two looks at how far a job is


def check_installed() -> None:
    """Raise MissingExtraError without pyspark."""
    try:
        import_module("pyspark")
    except ImportError as error:
        raise MissingExtraError(
            'records of Spark need pyspark: install it with pip install "hedgerow[spark]", and Java beside it.'
        ) from error


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


def _cells_of(rows: Rows) -> Cells:
    return rows.codes.tobytes(), rows.labels.tobytes(), rows.ids.tobytes(), rows.digest, len(rows.codes)


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
        encoded = rows = self._encoded(partial(remote.encode, reading, layout, self.checksums.key, whose))
        try:
            found = _facts(encoded, jobs, progress.read)
            for place, fact in enumerate(found):
                self.checksums.check(reading, place, fact.digest)
            facts = remote.placed(found)
            if keep is not None:
                chosen = self._chosen(encoded, types, keep, found, jobs)
                kept = encoded.mapPartitionsWithIndex(_kept_of(self._context.broadcast(chosen), types))
                rows = kept.persist(import_module("pyspark").StorageLevel.MEMORY_AND_DISK)
                _facts(rows, jobs, Silent().read)
                _drop(encoded)  # with the ids, which nothing but lost executors needs any more
                facts = [mine.after for mine in chosen]
            engine = SparkEngine(self._context, rows, facts, types, jobs, progress, self.wire)
            return PartitionedTable(engine, reading.n_codes, reading.n_classes)
        except BaseException:
            _drop(encoded)
            _drop(rows)
            raise

    def values(self, asked: ValueCounts, layout: Layout, progress: Progress, keep: Keep | None = None) -> Counts:
        """Return how many records have each value, of those that ``keep`` does not leave out; executors count them."""
        jobs, whose, chosen = Jobs(self._context, self.timeout), None, None
        if keep is not None:
            whose = Whose(None, unicode_version(), keep.part)
            encoded = self._encoded(partial(remote.persons, asked, layout, self.checksums.key, whose))
            try:
                types = Types(0, np.dtype(np.uint8), np.dtype(np.int8))
                chosen = self._chosen(encoded, types, keep, _facts(encoded, jobs, Silent().read), jobs)
            finally:
                _drop(encoded)
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
        rows = self.frame.mapInArrow(_encoder_of(given), columns).rdd.map(tuple)
        return rows.persist(import_module("pyspark").StorageLevel.MEMORY_AND_DISK)

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
    facts = rows.mapPartitions(lambda parts: [[Fact(part[4], bytes(part[3])) for part in parts]])
    found: list[list[Fact]] = jobs.run(facts.collect, told)
    if any(len(one) != 1 for one in found):
        raise EngineError("a partition was encoded otherwise than once; nothing was drawn.")
    return [fact for (fact,) in found]


def _drop(rows: Any) -> None:
    with suppress(Exception):
        rows.unpersist(blocking=False)


class SparkEngine:
    """Asks the executors of a cluster; what a lost one held is read and carried out anew by another one.

    Every question is a job, whose tasks get the whole log; an executor that remembers its beginning carries out the rest.

    Parameters
    ----------
    context : SparkContext
        The context.
    rows : RDD
        The codes of each partition, one element in each.
    facts : list of Facts
        What they must be.
    types : Types
        Of the codes.
    jobs : Jobs
        What runs jobs.
    progress : Progress
        Whoever shows how far questions are.
    wire : Wire
        Where bytes are counted.
    """

    def __init__(
        self, context: Any, rows: Any, facts: list[Facts], types: Types, jobs: Jobs, progress: Progress, wire: Wire
    ) -> None:
        self._context, self._rows, self._jobs = context, rows, jobs
        self._facts, self._progress, self._wire = facts, progress, wire
        self._types = types
        self._questions = count(1)

    def ask(self, task: Task) -> Integers:
        """Return the sum of every partition's answer, each of them once."""
        packed, question = pickle.dumps(task), next(self._questions)
        self._wire.sent += len(packed)
        sent = self._context.broadcast((packed, self._facts, self._types))
        total = Total(len(self._facts))
        answers = self._rows.mapPartitionsWithIndex(_answer_of(sent))
        cells = task.question.cells(task.n_codes, task.n_classes) * len(self._facts)
        asked = task.question

        def act() -> list[bytes]:
            if cells <= MANY_CELLS:
                collected: list[bytes] = answers.collect()
                return collected
            return [answers.treeReduce(lambda one, other: _joined(asked, one, other))]

        try:
            for answer in self._jobs.run(act, lambda share: self._progress.counted(question, share or 0.0)):
                self._wire.received += len(answer)
                total.add(pickle.loads(answer))  # noqa: S301 - from our own executors
        finally:
            with suppress(Exception):
                sent.destroy()
        return total.sum

    def forget(self, log: str) -> None:
        """Do nothing: executors drop the logs that were not asked about for longest."""

    def close(self) -> None:
        """Drop everything."""
        _drop(self._rows)


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
                f"no task finished for {self._timeout:g} seconds, so the fit ends; what was booked for it stays booked. See to "
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
        "a partition's records could not be read or counted by any executor, so the fit ends; what was booked for it stays "
        "booked. The executors' logs say why."
    )


# What runs on executors.


def _encoder_of(given: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def encode(batches: Iterator[Any]) -> Iterator[Any]:
        arrow = import_module("pyarrow")

        cells = _cells_of(pickle.loads(given.value)(batches))  # noqa: S301 - from the driver
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
            yield _cells_of(remote.kept(types.rows(part), sent.value[place]))

    return keep


def _answer_of(sent: Any) -> Callable[[int, Iterator[Any]], Iterator[bytes]]:
    def answer(place: int, parts: Iterator[Any]) -> Iterator[bytes]:
        packed, facts, types = sent.value
        for part in parts:
            yield pickle.dumps(remote.answered([facts[place]], [types.rows(part)], packed))

    return answer


def _joined(question: Any, one: bytes, other: bytes) -> bytes:
    partials: list[Partial] = [pickle.loads(one), pickle.loads(other)]  # noqa: S301 - from our own executors
    return pickle.dumps(combined(question, partials))
