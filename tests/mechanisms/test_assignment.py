"""Records go to parts by their own coins."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from goodness import FITS, p_value
from seeds import moved_key

from hedgerow.mechanisms import PerRecordCoin, WeightedCoin
from hedgerow.mechanisms.kernels import assign, open_stream, word_at

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


def upper_halves(number, rows):
    """The 32 bits that decide about each row: a record's coin stands at its row of the stream."""
    state = open_stream(KEY, number)
    return np.array([int(word_at(state, row)) >> 32 for row in range(rows)])


def test_parts_share_the_words_of_the_rows():
    np.testing.assert_array_equal(PerRecordCoin(7).sample(open_stream(KEY, 4), 300), upper_halves(4, 300) * 7 >> 32)
    assert PerRecordCoin(7).law(9).tolist() == [1 / 7] * 7
    assert PerRecordCoin(7).inclusion is None


def test_a_weighted_coin_takes_each_row_by_its_own_threshold_and_never_above_the_largest():
    coin = WeightedCoin(Fraction(1, 2))
    thresholds = np.tile(np.array([0, 1 << 20, 1 << 30, 1 << 31, (1 << 31) + 1, 1 << 32], dtype=np.uint64), 500)
    part = coin.sample(open_stream(KEY, 6), thresholds)
    assert part.dtype == np.int32
    allowed = np.minimum(thresholds.astype(np.int64), 1 << 31)
    np.testing.assert_array_equal(part, np.where(upper_halves(6, 3000) < allowed, 0, -1))
    for threshold, probability in ((0, 0), (1 << 30, 0.25), (1 << 31, 0.5), (3 << 30, 0.5), (1 << 32, 0.5)):
        assert coin.law(np.uint64(threshold)).tolist() == [probability, 1 - probability]
    assert WeightedCoin().law(np.uint64(1 << 33)).tolist() == [1, 0]
    assert coin.parts == 1
