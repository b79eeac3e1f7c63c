"""Which worker holds and counts which partitions."""

from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")

from hedgerow.engines.cluster import Timeout, WorkerShares


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
