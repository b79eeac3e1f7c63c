"""Partitions on the workers of a Dask cluster."""

from __future__ import annotations

import asyncio
import pickle
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import count, islice
from typing import Any

from hedgerow.arrays import Integers
from hedgerow.engines import encode, store
from hedgerow.engines.cluster import (
    GATHER,
    LOOK,
    RETRIES,
    ClusterSource,
    Timeout,
    WorkerShares,
    gathered,
    lost,
    lost_scheduler,
    same,
    silent,
)
from hedgerow.engines.local import Partial, Progress, Silent, Total
from hedgerow.errors import ConfigurationError, HedgerowError, imported
from hedgerow.reading.columns import read_columns, read_labels
from hedgerow.reading.streams import Layout
from hedgerow.schema import Schema
from hedgerow.table import Candidates, Keep, Reading, Share, Task

Future = Any

CELLS_AT_ONCE = 1 << 26  # of the answers that come together: 512 MiB; workers beyond that are asked later
PAUSE = 0.1  # seconds before a query is repeated


def client_of(given: Any) -> Any:
    distributed, client = imported("distributed", "records of Dask need dask and distributed", "dask"), given
    if given is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise ConfigurationError("there is no Dask client; make one or pass client=.") from None
    elif not isinstance(given, distributed.Client):
        raise ConfigurationError(f"client is a {type(given).__name__}; pass a distributed.Client.")
    if client.asynchronous:  # its methods return coroutines, which would be an error after the charge
        raise ConfigurationError("the Dask client is asynchronous, but a fit waits; make it without asynchronous=True.")
    return client


@dataclass(frozen=True, eq=False)
class Encoded:
    client: Any
    rows: list[Future]
    again: Callable[[Sequence[int]], list[Future]]

    def close(self) -> None:
        self.client.cancel(self.rows)


@dataclass(frozen=True, eq=False)
class DaskSource(ClusterSource):
    """The partitions of a Dask dataframe; see ``Records.from_dask`` for the parameters. Rows are ``Encoded``."""

    client: Any

    def check(self, schema: Schema, layout: Layout) -> None:
        run_on_workers(self.client, _prepare)  # they are idle while a fit is planned
        if layout.group is not None:  # each task checks this as well, for workers that come later
            try:
                result = self.client.run(encode.unicode_version, callback_timeout=self.timeout)
            except (OSError, TimeoutError):
                raise silent(self.timeout) from None
            if set(result.values()) - {encode.unicode_version()}:
                raise encode.other_unicode()
        block = layout.block(self.frame._meta)
        read_columns(block.X, schema.features)
        read_labels(block.y, schema.labels)

    def _persons(self, layout: Layout, keep: Keep) -> encode.PersonIds:
        return encode.PersonIds(self.checksums.key, keep.part, encode.kind_of(self.frame._meta[layout.group]))

    def _encoded(self, reading: Reading, layout: Layout, persons: encode.PersonIds | None) -> Encoded:
        again = partial(self._each, _encode, (reading, layout, self.checksums.key, persons))
        return Encoded(self.client, again(), again)

    def _facts(self, rows: Encoded, progress: Progress) -> list[encode.Fact]:
        return self._once_each(rows.rows, _fact, progress)

    def _candidates(self, rows: Encoded, facts: Sequence[encode.Facts], share: Share) -> list[Candidates]:
        return self._once_each(rows.rows, encode.candidates, Silent(), [(one, share) for one in facts])

    def _kept(self, rows: Encoded, chosen: Sequence[encode.Chosen]) -> Encoded:
        def without(made: Sequence[Future], places: Iterable[int]) -> list[Future]:
            return [
                self.client.submit(encode.kept, one, chosen[place], pure=False, retries=RETRIES)
                for one, place in zip(made, places, strict=True)
            ]

        encoded = rows.again  # not the rows: nothing needs their ids once these are there, and Dask drops them
        mine = Encoded(
            self.client, without(rows.rows, range(len(chosen))), lambda places: without(encoded(places), places)
        )
        try:
            self._facts(mine, Silent())
        except BaseException:
            mine.close()
            raise
        return mine

    def _engine(self, rows: Encoded, facts: list[encode.Facts], progress: Progress) -> DaskEngine:
        table = secrets.token_hex(8)
        shares = WorkerShares(self.client, table, facts, rows.rows, rows.again)
        return DaskEngine(self.client, table, shares, len(facts), self.timeout, progress)

    def _counted(self, given: Any, chosen: list[encode.Chosen] | None, progress: Progress) -> list[encode.Counts]:
        result = self._each(_count, given, own=chosen)
        try:
            return self._once_each(result, same, progress)
        finally:
            self.client.cancel(result)

    def _each(
        self,
        work: Callable[..., Any],
        arguments: tuple[Any, ...],
        places: Sequence[int] | None = None,
        *,
        own: Sequence[Any] | None = None,
    ) -> list[Future]:
        """Return the results of workers for each partition, or for some, with an argument of its ``own`` if there are any."""
        delayed = import_module("dask").delayed
        given, parts = delayed(arguments, pure=False), self.frame.to_delayed()
        if own is not None and len(own) != len(parts):
            raise encode.changed()
        made = [
            delayed(work, pure=False)(given, None if own is None else own[place], parts[place])
            for place in (range(len(parts)) if places is None else places)
        ]
        futures: list[Future] = self.client.compute(made, retries=RETRIES)
        return futures

    def _once_each(
        self,
        made: Sequence[Future],
        ask: Callable[..., Any],
        progress: Progress,
        own: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Return the results of these, in their order; a result that was lost with its worker is computed again."""
        each: Sequence[tuple[Any, ...]] = [()] * len(made) if own is None else own
        answers: dict[int, Any] = {}
        timeout = Timeout(self.timeout)
        while len(answers) < len(made):
            lacking = [place for place in range(len(made)) if place not in answers]
            futures = {
                self.client.submit(ask, made[place], *each[place], pure=False, retries=RETRIES): place
                for place in lacking
            }
            for future, answer in gathered(futures, timeout):
                answers[futures[future]] = answer
                progress.read(len(answers) / len(made))
        return [answers[place] for place in range(len(made))]


class DaskEngine:
    """Queries the workers of a cluster; if a worker is lost, another one reads its partitions and repeats its commands.

    Workers hold the partitions. A query is one message to each worker, with the commands that it has not seen yet, and one back,
    with the sum of its partitions' answers. Partitions that gave no answer are asked again, with all commands, once those that a
    lost worker held are encoded again. Workers know the partitions by the name ``table``.
    """

    def __init__(
        self, client: Any, table: str, shares: WorkerShares, partitions: int, timeout: float, progress: Progress
    ) -> None:
        self._client, self._table, self._shares, self._partitions = client, table, shares, partitions
        self._timeout, self._progress = timeout, progress
        self._sent: dict[str, int] = {}  # the last command of each log that workers got
        self._questions = count(1)
        self._closed = weakref.finalize(self, _tell, client, store.close, table)
        self._closed.atexit = False

    def ask(self, task: Task) -> Integers:
        total, question, failures = Total(self._partitions), next(self._questions), 0
        news, timeout = task.after(self._sent.get(task.log, 0)), Timeout(self._timeout)
        while total.missing:
            shares = self._shares.groups(sorted(total.missing), timeout)
            some = dict(islice(shares.items(), max(1, CELLS_AT_ONCE // max(task.size, 1))))
            answers = self._answers(news, some, timeout)
            for answer in answers:
                if isinstance(answer, HedgerowError):
                    raise answer
                total.add(answer)
                self._shares.absent(answer.absent)
                self._progress.counted(question, 1 - len(total.missing) / self._partitions)
            failures += bool(answers) and not any(one.places or one.outdated or one.absent for one in answers)
            if failures > RETRIES:
                raise lost()
            news = task
        self._sent[task.log] = task.end
        return total.sum

    def _answers(self, task: Task, shares: Mapping[str, tuple[Sequence[int], int]], timeout: Timeout) -> list[Any]:
        """Return the answers, or errors, of workers; nothing, after a pause, where one is lost or there is none."""
        answers: list[Any] = []
        try:
            if shares:
                answers = self._client.sync(self._run, shares, pickle.dumps(task), callback_timeout=timeout.left)
        except TimeoutError:
            raise silent(self._timeout) from None
        except OSError:
            raise lost_scheduler() from None
        if answers:
            timeout.progressed()
        else:
            time.sleep(min(PAUSE, timeout.left))
        return answers

    async def _run(self, shares: Mapping[str, tuple[Sequence[int], int]], packed: bytes) -> list[Any]:
        """Return the answers of the workers that give one; none, where one of them is lost meanwhile."""
        run = self._client.run(_answered, self._table, shares, packed, workers=list(shares), on_error="ignore")
        answers = asyncio.ensure_future(run)
        try:
            while not (await asyncio.wait([answers], timeout=LOOK))[0]:
                if not shares.keys() <= (await self._client.scheduler.ncores()).keys():
                    return []
            return list(answers.result().values())
        finally:
            answers.cancel()  # nobody waits for it after an interruption or a lost worker

    def forget(self, log: str) -> None:
        if self._sent.pop(log, None) is not None:
            _tell(self._client, store.forget, log)

    def close(self) -> None:
        self._sent.clear()
        self._shares.close()
        self._closed()


def _tell(client: Any, work: Callable[[str], None], name: str) -> None:
    """Run something on every worker, without waiting for a scheduler that does not answer."""
    run_on_workers(client, _aside, work, name).join(GATHER)


def run_on_workers(client: Any, work: Callable[..., Any], *arguments: Any) -> threading.Thread:
    def ask() -> None:
        with suppress(Exception):  # a closed client has no workers
            client.run(work, *arguments, wait=False)

    telling = threading.Thread(target=ask, daemon=True)
    telling.start()
    return telling


# What runs on workers.


def _encode(given: tuple[Any, Any, Any, Any], _: None, part: Any) -> encode.Rows:
    return encode.encode(*given, [part])


def _fact(rows: encode.Rows) -> encode.Fact:
    return len(rows.codes), rows.digest


def _count(given: tuple[Any, Any, Any], mine: encode.Chosen | None, part: Any) -> encode.Counts:
    return encode.value_counts(*given, mine, [part])


async def _aside(work: Callable[[str], None], name: str) -> None:
    """Do something that may wait for a task; nobody waits for it, which Dask allows for coroutines alone."""
    await asyncio.to_thread(work, name)


async def _answered(
    table: str, shares: Mapping[str, tuple[Sequence[int], int]], packed: bytes, dask_worker: Any
) -> Partial | HedgerowError:
    """Answer beside the loop of this worker, which goes on to tell the scheduler that it is there.

    Another error than the library's is no answer. Dask would log it with the message, which has the keys of coins.
    """
    try:
        places, threads = shares[dask_worker.address]
        return await asyncio.to_thread(store.answered, table, places, packed, threads)
    except HedgerowError as error:
        return error
    except Exception:
        return Partial((), None)


async def _prepare() -> None:
    """Import what answers take, which otherwise waits for the first query."""
    for package in ("hedgerow.trees",):
        import_module(package)
