"""Which worker counts which partitions."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("distributed")

from hedgerow.engines.cluster import Timeout, WorkerShares, shared_out


@st.composite
def clusters(draw):
    """Where partitions are, how many records they have, and how many threads each worker has."""
    threads = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    sizes = draw(st.lists(st.integers(0, 9), min_size=1, max_size=30))
    place = st.none() | st.integers(0, len(threads) - 1)
    return [draw(place) for _ in sizes], sizes, threads


@settings(deadline=None)
@given(clusters())
def test_every_partition_is_in_one_share_and_none_waits_for_more_than_a_fair_share_and_one_partition(cluster):
    _, sizes, threads = cluster
    shares = shared_out(*cluster)
    assert sorted(place for share in shares for place in share) == list(range(len(sizes)))
    fair = sum(sizes) / sum(threads)
    for share, at_once in zip(shares, threads, strict=True):
        assert sum(sizes[place] for place in share) / at_once <= fair + max(sizes)


@settings(deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=30))
def test_of_equal_partitions_none_moves_but_those_above_a_fair_share(there):
    shares = shared_out(there, [1] * len(there), [1, 1, 1])
    counts = [there.count(worker) for worker in range(3)]
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    moved = sum(there[place] != worker for worker, share in enumerate(shares) for place in share)
    assert moved <= sum(max(0, count - len(there) // 3) for count in counts)


def test_partitions_that_are_shared_out_evenly_stay_where_they_are():
    assert shared_out([1, 0, 1, 0, 1], [1] * 5, [1, 1]) == [[1, 3], [0, 2, 4]]
    assert shared_out([0, 1, 1], [9, 1, 1], [1, 1]) == [[0], [1, 2]]


def test_a_worker_with_more_threads_counts_more():
    assert [len(share) for share in shared_out([None] * 9, [1] * 9, [1, 2])] == [3, 6]


class Future:
    """Stands for something that a worker made."""

    def __init__(self, key, found=None):
        self.key, self.found = key, found


class Cluster:
    """Stands for a client: a scheduler that knows its workers' threads, and that every partition is with the first of them."""

    def __init__(self, **threads):
        self.threads, self.scheduler = threads, SimpleNamespace(ncores="threads", who_has="holders")
        self.again = []

    def sync(self, asked, keys=(), callback_timeout=None):
        return dict(self.threads) if asked == "threads" else {key: list(self.threads)[:1] for key in keys}

    def submit(self, act, table, facts, row, workers=(None,), **more):
        assert row.key == str(facts)
        return Future("held", workers[0])

    def encoded(self, places):
        self.again.append(list(places))
        return [Future(str(place)) for place in places]


@pytest.fixture
def held(monkeypatch):
    """A cluster of two workers, and the shares of six partitions there."""
    monkeypatch.setattr("hedgerow.engines.cluster.gathered", lambda futures, *_: [(one, one.found) for one in futures])
    cluster = Cluster(a=1, b=1)
    rows = [Future(str(place)) for place in range(6)]
    return cluster, WorkerShares(cluster, "table", range(6), [1] * 6, rows, cluster.encoded)


def groups(shares):
    found = shares.groups(range(6), Timeout(1.0))
    assert sorted(place for group in found for place in group.places) == list(range(6))
    return found


def test_partitions_are_shared_out_again_where_a_worker_comes_or_goes(held):
    cluster, shares = held
    assert {group.worker for group in groups(shares)} == {"a", "b"}
    assert not cluster.again
    cluster.threads = {"b": 1}
    assert {group.worker for group in groups(shares)} == {"b"}
    cluster.threads = {"b": 1, "c": 1, "d": 1}
    assert {group.worker for group in groups(shares)} == {"b", "c", "d"}
    assert list(map(len, cluster.again)) == [3, 4]  # what a had; then what c and d get


def test_a_query_is_one_message_a_worker(held):
    cluster, shares = held
    cluster.threads = {"a": 1, "b": 2}
    assert sorted((group.worker, len(group.places), group.threads) for group in groups(shares)) == [
        ("a", 2, 1),
        ("b", 4, 2),
    ]


def test_partitions_that_are_not_there_are_encoded_again_and_no_other(held):
    cluster, shares = held
    groups(shares)
    shares.absent([1, 4])
    groups(shares)
    groups(shares)
    assert cluster.again == [[1, 4]]


def test_without_workers_nobody_is_asked(held):
    cluster, shares = held
    groups(shares)
    cluster.threads = {}
    assert [group.worker for group in groups(shares)] == [None]
