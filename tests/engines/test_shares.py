"""Which worker counts which partitions."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("distributed")

from hedgerow.engines.shares import TOGETHER, WorkerShares, groups_of, shared_out


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


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(1, 5))
def test_groups_are_few_small_and_of_equal_size(partitions, threads):
    groups = groups_of(range(partitions), threads, TOGETHER)
    assert sorted(place for group in groups for place in group) == list(range(partitions))
    sizes = [len(group) for group in groups]
    assert not sizes or (min(sizes) > 0 and max(sizes) <= min(TOGETHER, min(sizes) + 1))
    assert len(groups) >= min(partitions, threads)
    assert len(groups) < threads + partitions / TOGETHER + 1


def test_groups_of_many_partitions_are_several_a_thread():
    assert [len(group) for group in groups_of(range(24), 2, 8)] == [6, 6, 6, 6]
    assert groups_of([3, 5, 8, 9], 1, 8) == [[3, 5, 8, 9]]
    assert groups_of([3, 5, 8, 9], 2, 8) == [[3, 8], [5, 9]]
    assert groups_of([3, 5, 8], 1, 1) == [[3], [5], [8]]


class Cluster:
    """Stands for a client: a scheduler that knows its workers' threads, and that every partition is with the first of them."""

    def __init__(self, **threads):
        self.threads, self.scheduler = threads, SimpleNamespace(ncores="threads", who_has="holders")

    def sync(self, asked, keys=(), callback_timeout=None):
        first = next(iter(self.threads))
        return dict(self.threads) if asked == "threads" else {key: [first] for key in keys}

    def submit(self, act, row, **where):
        return row


def test_partitions_are_shared_out_again_where_a_worker_comes_or_goes():
    cluster, places = Cluster(a=1, b=1), list(range(6))
    shares = WorkerShares(cluster, [SimpleNamespace(key=str(place)) for place in places], [1] * 6)

    def asked():
        groups = shares.groups(places, 1.0)
        assert sorted(place for _, group in groups for place in group) == places
        return {worker for worker, _ in groups}

    assert asked() == {"a", "b"}
    cluster.threads = {"b": 1}
    assert asked() == {"b"}
    cluster.threads = {"b": 1, "c": 1, "d": 1}
    assert asked() == {"b", "c", "d"}
