"""Records go to parts by their own coins."""

from itertools import pairwise

import numpy as np
import pytest
from goodness import FITS, p_value
from seeds import moved_key

from hedgerow.mechanisms import PerRecordCoin
from hedgerow.mechanisms.kernels import assign, open_stream

KEY = moved_key(bytes(range(32)))


@pytest.mark.parametrize("parts", [1, 2, 3, 35, 1000])
def test_parts_are_uniform(parts):
    part = PerRecordCoin(parts).sample(open_stream(KEY, parts), 60_000)
    counts = np.bincount(part, minlength=parts)
    assert len(counts) == parts
    if parts > 1:
        assert p_value(counts, PerRecordCoin(parts).law(1)) > FITS


def test_a_skewed_law_is_seen():
    counts = np.bincount(PerRecordCoin(4).sample(open_stream(KEY, 1), 60_000), minlength=4)
    assert p_value(counts, np.array([1.1, 1, 1, 1]) / 4.1) < FITS


def test_a_record_more_moves_no_other_record():
    part = PerRecordCoin(5).sample(open_stream(KEY, 1), 101)
    np.testing.assert_array_equal(part[:100], PerRecordCoin(5).sample(open_stream(KEY, 1), 100))


@pytest.mark.parametrize("cuts", [[0, 1000], [0, 1, 1000], [0, 7, 8, 9, 513, 1000], list(range(0, 1001, 10))])
def test_a_part_of_the_rows_gets_the_same_coins(cuts):
    """So threads and processes may share the work in any way, and in any order."""
    whole = PerRecordCoin(7).sample(open_stream(KEY, 2), 1000)
    pieces = np.full(1000, -1, dtype=np.int32)
    state = open_stream(KEY, 2)
    for start, stop in reversed(list(pairwise(cuts))):
        assign(state, start, 7, pieces[start:stop])
    np.testing.assert_array_equal(pieces, whole)


def test_neighboring_rows_are_independent():
    part = PerRecordCoin(3).sample(open_stream(KEY, 3), 60_001)
    assert p_value(np.bincount(3 * part[:-1:2] + part[1::2], minlength=9), np.full(9, 1 / 9)) > FITS


def test_no_records():
    assert len(PerRecordCoin(3).sample(open_stream(KEY, 3), 0)) == 0
