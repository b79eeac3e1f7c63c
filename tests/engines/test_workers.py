"""Which worker holds and counts which partitions, and that each counts once, whatever is lost on the way."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("distributed")

from hedgerow.engines.cluster import RETRIES, Timeout, WorkerShares, gathered
from hedgerow.engines.dask import DaskEngine
from hedgerow.engines.local import Partial, Silent, combined
from hedgerow.errors import EngineError
from hedgerow.table import ClassCounts
from hedgerow.table.partitioned import Nodes, Task


class Future:
    """Stands for something that a worker made."""

    def __init__(self, key, found=None):
        self.key, self.found = key, found


class Cluster:
    """Stands for a client, whose workers encode and hold partitions in turn."""

    def __init__(self, **threads):
        self.threads, self.scheduler, self.again = threads, SimpleNamespace(ncores="threads"), []

    def sync(self, asked, callback_timeout=None):
        return dict(self.threads)

    def submit(self, act, table, facts, row, **more):
        assert row.key == str(facts)
        return Future("held", list(self.threads)[facts % len(self.threads)])

    def encoded(self, places):
        self.again.append(list(places))
        return [Future(str(place)) for place in places]


@pytest.fixture
def held(monkeypatch):
    """A cluster of two workers, and the shares of six partitions there."""
    monkeypatch.setattr("hedgerow.engines.cluster.gathered", lambda futures, *_: [(one, one.found) for one in futures])
    cluster = Cluster(a=1, b=2)
    return cluster, WorkerShares(
        cluster, "table", range(6), [Future(str(place)) for place in range(6)], cluster.encoded
    )


def groups(shares):
    return shares.groups(range(6), Timeout(1.0))


def test_a_query_is_one_message_a_worker(held):
    assert groups(held[1]) == {"a": ([0, 2, 4], 1), "b": ([1, 3, 5], 2)}
    assert held[1].groups([1, 2], Timeout(1.0)) == {"a": ([2], 1), "b": ([1], 2)}


def test_partitions_of_a_worker_that_is_gone_are_encoded_again_and_no_other(held):
    cluster, shares = held
    groups(shares)
    assert not cluster.again
    cluster.threads = {"b": 1, "c": 1}
    assert groups(shares) == {"b": ([0, 1, 2, 3, 4, 5], 1)}
    assert cluster.again == [[0, 2, 4]]


def test_partitions_that_are_not_there_are_encoded_again_and_no_other(held):
    cluster, shares = held
    groups(shares)
    shares.absent([1, 4])
    groups(shares)
    groups(shares)
    assert cluster.again == [[1, 4]]


def test_a_worker_that_is_lost_meanwhile_is_not_asked(held, monkeypatch):
    cluster, shares = held
    groups(shares)
    seen = iter([{"b": 2}, {}])
    monkeypatch.setattr(cluster, "sync", lambda *_, **__: next(seen))
    monkeypatch.setattr(cluster, "threads", {"b": 2})
    assert groups(shares) == {}


def test_what_workers_encode_for_a_fit_that_ends_is_called_off(held, monkeypatch):
    cluster, shares = held
    called_off = []
    monkeypatch.setattr(cluster, "cancel", lambda futures: called_off.extend(one.key for one in futures), raising=False)
    DaskEngine(cluster, "table", shares, 6, 9.0, Silent()).close()
    assert called_off == [str(place) for place in range(6)]
    assert shares._rows == {}


def test_an_answer_that_does_not_come_is_not_waited_for_for_ever(monkeypatch):
    """Its worker has it and stops; the others' answers are taken."""
    waited = []

    class Made(Future):
        def result(self, timeout=None):
            waited.append(timeout)
            if self.found is None:
                raise TimeoutError
            return self.found

    monkeypatch.setattr("distributed.wait", lambda futures, **_: SimpleNamespace(done=set(futures)))
    futures = [Made("a", 1), Made("b"), Made("c", 2)]
    assert sorted(found for _, found in gathered(futures, Timeout(9.0))) == [1, 2]
    assert len(waited) == 3
    assert all(timeout is not None and 0 < timeout <= 9 for timeout in waited)


PARTITIONS, WORKERS = 5, 3
LOST = ("worker", "answers", "answer", "partition")  # before a query, or after it was counted


class Unreliable(DaskEngine):
    """Queries workers that lose what ``losses`` says, one entry a message; it stands for its own partitions' shares."""

    def __init__(self, losses):
        super().__init__(SimpleNamespace(), "table", self, PARTITIONS, 9.0, Silent())
        self.losses, self.holders, self.seen, self.encoded, self.messages = iter(losses), {}, {}, 0, 0

    def groups(self, places, timeout):
        for place in range(PARTITIONS):
            if place not in self.holders:  # encoded anew, wherever the next worker is: it has seen no command
                self.holders[place], self.seen[place] = self.encoded % WORKERS, ()
                self.encoded += 1
        return {
            str(worker): ([place for place in places if self.holders[place] == worker], 1)
            for worker in {self.holders[place] for place in places}
        }

    def absent(self, places):
        for place in places:
            self.holders.pop(place, None)

    def _answers(self, task, shares, timeout):
        self.messages += 1
        assert self.messages < 100, "the same is asked for ever"
        lost = next(self.losses, None)
        answers = [
            combined(task.query, [self.answer(task, place, lost) for place in places]) for places, _ in shares.values()
        ]
        if lost == "worker":
            self.absent(next(iter(shares.values()))[0])
        if lost == "error":
            return [Partial((), None) for _ in answers]
        return [] if lost in ("worker", "answers") else answers[lost == "answer" :]

    def answer(self, task, place, lost):
        if lost == "partition" and place % 2:
            self.seen[place] = None  # until it is encoded anew
        seen = self.seen[place]
        if seen is None:
            return Partial((), None, absent=(place,))
        if (seen[-1] if seen else 0) < task.since:
            return Partial((), None, outdated=(place,))
        self.seen[place] = seen = (*seen, *(number for number, _ in task.commands if not seen or number > seen[-1]))
        assert seen == tuple(range(1, task.end + 1))  # each command once, in its order
        return Partial((place,), np.array([[1, 10**place]]))

    def queries(self, number):
        for end in range(1, number + 1):
            commands = tuple((command, None) for command in range(1, end + 1))
            query = ClassCounts(Nodes(1, 1, None, None))
            yield self.ask(Task("log", np.array([2]), 2, commands, end, query, frozenset()))


@given(st.lists(st.sampled_from([None, None, *LOST]), max_size=20))
def test_every_partition_counts_once_in_each_query_whatever_is_lost(losses):
    assert [total.tolist() for total in Unreliable(losses).queries(4)] == [[[PARTITIONS, 11111]]] * 4


def test_workers_that_fail_without_a_reason_end_a_fit():
    assert len(list(Unreliable(["error"] * RETRIES).queries(1))) == 1
    with pytest.raises(EngineError, match="by any worker"):
        list(Unreliable(["error"] * (RETRIES + 1)).queries(1))
