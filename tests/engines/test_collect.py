"""Answers of partitions are added up once each, widened before they are added, or not at all."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from hedgerow.engines.local import Partial, Total, combined, narrowed
from hedgerow.errors import EngineError
from hedgerow.table import ClassCounts, Sums
from hedgerow.table.partitioned import Nodes

OF = Nodes(1, 1, None, None)
COUNTS, SUMS = ClassCounts(OF), Sums(None, None)


def test_counts_are_sent_in_the_fewest_bytes_that_hold_them_and_sums_as_they_are():
    for most, kind in (
        (0, np.uint8),
        (255, np.uint8),
        (256, np.uint16),
        (65_535, np.uint16),
        (65_536, np.uint32),
        (2**40, np.uint64),
    ):
        sent = narrowed(COUNTS, np.array([[0, most]]))
        assert sent.dtype == kind
        assert sent.tolist() == [[0, most]]
    for sums in (np.array([-3, 200]), np.empty(0, dtype=np.int64)):
        assert narrowed(SUMS, sums) is sums
    assert narrowed(COUNTS, np.empty((0, 2), dtype=np.int64)).shape == (0, 2)


def test_partial_sums_are_widened_before_they_are_added_and_know_whose_they_are():
    many = [Partial((place,), np.array([200, 1], dtype=np.uint8)) for place in range(3)]
    both = combined(COUNTS, [*many[:2], Partial((), None, (5,)), many[2], Partial((), None, (7, 8), (6,))])
    assert (both.places, both.outdated, both.absent) == ((0, 1, 2), (5, 7, 8), (6,))
    assert both.sum.tolist() == [600, 3]
    assert both.sum.dtype == np.uint16
    assert many[0].sum.tolist() == [200, 1]
    nothing = combined(COUNTS, [Partial((), None, (1,))])
    assert (nothing.places, nothing.sum, nothing.outdated) == ((), None, (1,))
    negative = combined(SUMS, [Partial((0,), np.array([-5])), Partial((1,), np.array([2]))])
    assert negative.sum.tolist() == [-3]


@pytest.mark.parametrize("most", [2**32 - 1, 2**32, 2**47])
def test_counts_of_more_than_32_bits_are_added_up_as_smaller_ones_are(most):
    parts = [Partial((place,), narrowed(COUNTS, np.array([most, 0]))) for place in range(3)]
    assert combined(COUNTS, parts).sum.tolist() == [3 * most, 0]
    total = Total(3)
    for part in (combined(COUNTS, parts[:2]), parts[2]):
        total.add(part)
    assert total.sum.tolist() == [3 * most, 0]
    assert total.sum.dtype == np.int64


@pytest.mark.parametrize("wrong", [[0, 0], [0, 1, 0]])
def test_a_partition_in_two_partial_sums_is_refused(wrong):
    with pytest.raises(EngineError, match="answered twice"):
        combined(COUNTS, [Partial((place,), np.array([1])) for place in wrong])
    with pytest.raises(EngineError, match="answered twice"):
        combined(COUNTS, [Partial(tuple(wrong), np.array([1]))])
    with pytest.raises(EngineError, match="answered twice"):
        Total(2).add(Partial(tuple(wrong), np.array([1])))
    total = Total(3)
    total.add(Partial((0, 1), np.array([1])))
    for again in ((0,), (2, 1), (3,)):
        with pytest.raises(EngineError, match="answered twice"):
            total.add(Partial(again, np.array([1])))
    assert total.missing == {2}


def test_answers_of_different_shapes_are_not_added():
    with pytest.raises(EngineError, match="different questions"):
        combined(COUNTS, [Partial((0,), np.array([1])), Partial((1,), np.array([1, 2]))])
    total = Total(2)
    total.add(Partial((0,), np.array([[1]])))
    with pytest.raises(EngineError, match="different questions"):
        total.add(Partial((1,), np.array([1])))
    with pytest.raises(EngineError, match="gave no answer"):
        _ = total.sum


def test_a_total_waits_for_every_partition():
    total, sent = Total(3), np.array([200], dtype=np.uint8)
    for places, answer in (((1,), sent), ((), None), ((2, 0), sent)):
        with pytest.raises(EngineError, match="gave no answer"):
            _ = total.sum
        total.add(Partial(places, answer))
    assert total.sum.tolist() == [400]
    assert total.sum.dtype == np.int64
    assert sent.tolist() == [200]
    lost = Total(1)
    lost.add(Partial((0,), None))
    with pytest.raises(EngineError, match="gave no answer"):
        _ = lost.sum


@pytest.mark.parametrize("again", [(1,), (0, 1), (1, 2)])
def test_a_partition_that_answers_again_is_refused(again):
    total, one = Total(3), np.array([7])
    total.add(Partial((1,), one))
    with pytest.raises(EngineError, match="answered twice"):
        total.add(Partial(again, one))
    total.add(Partial((0, 2), one))
    assert total.sum.tolist() == [14]


def test_answers_may_come_from_any_thread():
    total = Total(50)
    workers = [threading.Thread(target=total.add, args=(Partial((place,), np.array([place])),)) for place in range(50)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert total.sum.tolist() == [sum(range(50))]
