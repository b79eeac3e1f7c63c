"""The kernels of channels and terms, called directly with small tables of which no two places are alike, against plain loops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hedgerow.additive import kernels

STEPS = range(-3, 4)


def every_record(n_classes, columns):
    """Return all margins of so many columns in a few steps, with all labels and none."""
    rows = list(product(product(STEPS, repeat=columns), range(-1, n_classes)))
    return np.array([row for row, _ in rows], dtype=np.int64), np.array([label for _, label in rows], dtype=np.int16)


def plain_channels(row, label, table, unit, cap, curvature, by_share):
    """Return what one record adds, in Python's integers, each quotient rounded towards zero."""
    masses = [table[min(max(row) - margin, len(table) - 1)] for margin in row]
    total = sum(masses)
    others = total - masses[label]
    wrong = others * unit // total
    of, to = (unit, total) if wrong <= cap else (cap, others)
    gradient = [-(mass * of // to) for mass in masses]
    gradient[label] = min(wrong, cap)
    spreads = masses if by_share else [mass * (total - mass) // total for mass in masses]
    return gradient + [spread * of // to * curvature // 1000 for spread in spreads]


@pytest.mark.parametrize("by_share", [True, False])
@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("cap", [1, 16_384, 65_536])
@pytest.mark.parametrize("table", [[1 << 20, 700_001, 12_345, 77, 1], [2, 1]], ids=str)
def test_channels_are_quotients_of_integers_for_every_cap_and_table(n_classes, cap, table, by_share):
    margins, labels = every_record(n_classes, n_classes)
    found = np.full((len(labels), 2 * n_classes), 999)
    kernels.logistic_channels(margins, labels, np.array(table), 1 << 16, cap, 40_000, by_share, found)
    for channels, row, label in zip(found.tolist(), margins.tolist(), labels.tolist(), strict=True):
        expected = (
            plain_channels(row, label, table, 1 << 16, cap, 40_000, by_share) if label >= 0 else [0] * len(channels)
        )
        assert channels == expected


@pytest.mark.parametrize("channels_of_all", [1, 2])
def test_channels_of_two_classes_stand_where_the_label_and_the_lead_say(channels_of_all):
    margins, labels = every_record(2, 1)
    table = np.arange(100, 120).reshape(2, 5, 2)[..., :channels_of_all]
    found = np.full((len(labels), channels_of_all), 999)
    kernels.look_up_channels(margins, labels, table, found)
    for channels, (lead,), label in zip(found.tolist(), margins.tolist(), labels.tolist(), strict=True):
        assert channels == ([0] * channels_of_all if label < 0 else table[label, min(max(lead, -2), 2) + 2].tolist())


@pytest.mark.parametrize("lead", [2**33, -(2**33)])
def test_leads_of_more_than_32_bits_have_the_channels_of_the_ends(lead):
    found, table = np.zeros((1, 2), dtype=np.int64), np.arange(12).reshape(2, 3, 2)
    kernels.look_up_channels(np.array([[lead]]), np.zeros(1, dtype=np.int16), table, found)
    assert found[0].tolist() == table[0, 2 if lead > 0 else 0].tolist()


CUTS = [(), (0,), (1,), (2,), (0, 1), (2, 0), (1, 0, 3), (0, 1, 2, 3)]


@pytest.mark.parametrize("columns", [1, 7])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("by", CUTS, ids=str)
def test_votes_of_a_term_are_those_of_the_cell_and_the_code(by, kind, columns):
    """Cells are counted by the sides of the cuts, the first cut's being the highest binary digit; each has its own feature."""
    codes = np.array(list(product(range(3), repeat=5)), dtype=kind)
    side = np.array([[1, 0, 1], [0, 0, 1], [0, 1, 1], [1, 1, 0]])[: len(by)].reshape(len(by), 3)
    votes = (np.arange((3 << len(by)) * columns).reshape(-1, 3, columns) * 7) ** 2 % 6151 - 3000
    feature = 4 - 3 * np.arange(1 << len(by)) % 5  # of each cell
    margins = np.arange(columns * len(codes)).reshape(-1, columns)
    expected = margins.copy()
    places = [
        int("0" + "".join(str(own[code[j]]) for own, j in zip(side.tolist(), by, strict=True)), 2) for code in codes
    ]
    for row, code, place in zip(expected, codes.tolist(), places, strict=True):
        row += votes[place, code[feature[place]]]
    part = np.zeros(len(codes), dtype=np.uint32)
    kernels.add_term(codes, np.array(by, dtype=np.int64), side, feature, votes, part, margins)
    assert np.array_equal(margins, expected)
    assert (part == places).all() or len(feature) == 1
    none = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)  # with the cells, no cuts are read
    kernels.add_term(codes, *none, feature, votes, part, margins)
    assert np.array_equal(margins, 2 * expected - np.arange(columns * len(codes)).reshape(-1, columns))


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("votes_kind", [np.int32, np.int64])
@pytest.mark.parametrize("records", [0, 1, 2 * kernels.TILE + 3])
def test_terms_are_added_at_the_place_that_their_steps_make(records, votes_kind, kind, columns):
    """As Python, a read beyond an array raises. Steps shift the digits and turn the last one over, as a cut of two turns does."""
    generator = np.random.default_rng(records)
    codes = np.asfortranarray(generator.integers(0, 4, (records, 3)).astype(kind))
    feature, cells, starts = np.array([2, 0, 1, 2, 0, 2, 1]), np.array([0, 1, 2, 3, 7]), np.array([0, 3, 3, 4, 6])
    steps = np.array([(0, 1, 1), (1, 0, 1), (1, 2, 0), (2, 3, 1), (0, 0, 1), (0, 2, 1)])  # by, at, shift
    offsets = np.array([(0, 4), (16, 4), (20, 4), (28, 4)], dtype=votes_kind)
    votes = ((np.arange(44 * columns).reshape(columns, 44) * 7) ** 2 % 6151 - 3000).astype(votes_kind)
    start = np.arange(columns * records).reshape(columns, records).astype(votes_kind)
    expected = start.copy()
    for record, (a, b, c) in enumerate(codes.tolist()):
        cell = 2 * (a > 1) + ((b > 0) ^ (b > 2))
        expected[:, record] += votes[:, cell * 4 + c] + votes[:, 16 + a] + votes[:, 20 + b]
        twice = 2 * (a > 0) + (a > 2)  # cells of features of their own
        expected[:, record] += votes[:, 28 + twice * 4 + (c, a, c, b)[twice]]
    by, at, shift = steps.T
    for way in (kernels.add_terms, kernels.add_terms.py_func):
        if way is kernels.add_terms or records < kernels.TILE:
            margins = start.copy()
            way(codes.T, feature, cells, starts, by, at.astype(kind), shift, offsets, votes, margins)
            assert np.array_equal(margins, expected)
