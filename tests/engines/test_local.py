"""Sums over partitions hold each of them once, whoever answers; and arrays go where they fit."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.engines.collect import Partial, Total, combined, narrowed
from hedgerow.engines.spill import Spill
from hedgerow.table.log import Nodes, Sizes, Sums
from hedgerow.threads import for_each


def test_each_partition_counts_once():
    total = Total(2)
    total.add(Partial((1,), np.array([1, 2], dtype=np.uint8)))
    with pytest.raises(hr.EngineError, match="twice"):
        total.add(Partial((1,), np.array([1, 2])))
    with pytest.raises(hr.EngineError, match="no answer"):
        _ = total.sum
    with pytest.raises(hr.EngineError, match="different questions"):
        total.add(Partial((0,), np.array([1])))
    total.add(Partial((0,), np.array([255, 255], dtype=np.uint8)))
    assert total.sum.tolist() == [256, 257]
    with pytest.raises(hr.EngineError, match="twice"):
        Total(2).add(Partial((0, 0), np.array([1])))


def test_partial_sums_are_narrow_on_the_wire_and_wide_where_they_are_added():
    counts, sums = Sizes(Nodes(1, 2, None, None)), Sums(None, None)
    assert narrowed(counts, np.array([0, 255])).dtype == np.uint8
    assert narrowed(counts, np.array([0, 256])).dtype == np.uint16
    assert narrowed(counts, np.array([0, 2**40])).dtype == np.uint64
    assert narrowed(sums, np.array([0, 1])).dtype == np.int64
    both = combined(
        counts,
        [Partial((0,), np.array([255, 1], dtype=np.uint8)), Partial((), None, (5,)), Partial((2, 1), np.array([1, 1]))],
    )
    assert (both.places, both.sum.tolist(), both.behind) == ((0, 2, 1), [256, 2], (5,))
    with pytest.raises(hr.EngineError, match="twice"):
        combined(counts, [Partial((0,), np.array([1])), Partial((0,), np.array([1]))])


def test_arrays_fill_memory_first_and_then_files(tmp_path):
    with Spill(tmp_path, 100) as spill:
        arrays = spill.arrays()
        arrays["a"] = np.arange(10)
        assert list(tmp_path.iterdir()) == []
        arrays["b"] = np.arange(10.0).reshape(2, 5)
        (folder,) = tmp_path.iterdir()
        assert len(list(folder.iterdir())) == 1
        arrays["b"] = -arrays["b"]
        assert np.array_equal(arrays["b"], -np.arange(10.0).reshape(2, 5))
        assert len(list(folder.iterdir())) == 1
        arrays["b"] = np.zeros((3, 0), dtype=np.int8)
        assert arrays["b"].shape == (3, 0)
        arrays["c"] = np.zeros((0, 4), dtype=np.int8)
        del arrays["a"]
        arrays["d"] = np.arange(12)
        assert sorted(arrays) == ["b", "c", "d"]
        assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_threads_within_threads_do_their_work_themselves():
    done = []
    for_each(
        range(3), lambda outer: for_each(range(4), lambda inner: done.append((outer, inner)), threads=4), threads=2
    )
    assert sorted(done) == [(outer, inner) for outer in range(3) for inner in range(4)]


def test_what_has_not_begun_when_one_fails_never_does():
    done = []

    def work(item):
        if item == 0:
            raise ZeroDivisionError
        done.append(item)

    with pytest.raises(ZeroDivisionError):
        for_each(range(1000), work, threads=2)
    assert len(done) < 999
