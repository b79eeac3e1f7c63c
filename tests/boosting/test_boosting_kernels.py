"""The kernels of margins, called directly with small tables of which no two places are alike, against plain loops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hedgerow.boosting import kernels

STEPS = range(-3, 4)


def every_record(n_classes):
    """Return all margins of so many classes in a few steps, with all labels and none."""
    rows = list(product(product(STEPS, repeat=n_classes), range(-1, n_classes)))
    return np.array([row for row, _ in rows], dtype=np.int64), np.array([label for _, label in rows], dtype=np.int16)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("shift", [-2, 0, 1])
def test_a_weight_stands_where_the_lead_over_the_best_other_class_says(n_classes, shift):
    margins, labels = every_record(n_classes)
    table = np.array([65, 32, 16, 8, 4], dtype=np.uint64)
    found = np.full(len(labels), 999, dtype=np.uint64)
    kernels.look_up(margins, labels, shift, table, found)
    for weight, row, label in zip(found.tolist(), margins.tolist(), labels.tolist(), strict=True):
        others = [margin for k, margin in enumerate(row) if k != label]
        place = row[label] - max(others) - shift if others else 4
        assert weight == (0 if label < 0 else table[min(max(place, 0), 4)])


@pytest.mark.parametrize("lead", [2**33, -(2**33)])
def test_leads_of_more_than_32_bits_have_the_weights_of_the_ends(lead):
    found = np.zeros(1, dtype=np.uint64)
    kernels.look_up(np.array([[lead, 0]]), np.zeros(1, dtype=np.int16), 0, np.array([7, 5, 3], dtype=np.uint64), found)
    assert found[0] == (3 if lead > 0 else 7)


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
@pytest.mark.parametrize("cap", [1, 300, 16_384, 65_535, 65_536])
@pytest.mark.parametrize("table", [[1 << 20, 700_001, 12_345, 77, 1], [5, 4, 3, 2, 1], [3, 1], [2, 1]], ids=str)
def test_channels_are_quotients_of_integers_for_every_cap_and_table(n_classes, cap, table, by_share):
    margins, labels = every_record(n_classes)
    found = np.full((len(labels), 2 * n_classes), 999)
    kernels.logistic_channels(margins, labels, np.array(table), 1 << 16, cap, 40_000, by_share, found)
    for channels, row, label in zip(found.tolist(), margins.tolist(), labels.tolist(), strict=True):
        expected = (
            plain_channels(row, label, table, 1 << 16, cap, 40_000, by_share) if label >= 0 else [0] * len(channels)
        )
        assert channels == expected


def test_channels_of_two_classes_stand_where_the_label_and_the_lead_say():
    margins, labels = every_record(2)
    table = np.arange(100, 120).reshape(2, 5, 2)
    found = np.full((len(labels), 2), 999)
    kernels.look_up_channels(margins, labels, table, found)
    for channels, (first, second), label in zip(found.tolist(), margins.tolist(), labels.tolist(), strict=True):
        lead = min(max(second - first, -2), 2)
        assert channels == ([0, 0] if label < 0 else table[label, lead + 2].tolist())


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize(("by", "feature"), [((), 1), ((0,), 1), ((1,), 0), ((2,), 2), ((0, 1), 2), ((2, 0), 0)])
def test_votes_are_those_of_the_side_and_the_code(by, feature, kind):
    codes = np.array(list(product(range(3), repeat=3)), dtype=kind)
    side = np.array([[1, 0, 1], [0, 0, 1]])[: len(by)]
    votes = (np.arange(6 << len(by)).reshape(-1, 3, 2) * 7) ** 2 % 61 - 30
    margins = np.arange(2 * len(codes)).reshape(-1, 2)
    expected = [
        [margin + vote for margin, vote in zip(row, votes[place, code[feature]].tolist(), strict=True)]
        for row, code in zip(margins.tolist(), codes, strict=True)
        for place in [
            sum(int(own[code[j]]) << len(by) - 1 - cut for cut, (own, j) in enumerate(zip(side, by, strict=True)))
        ]
    ]
    kernels.add_votes(codes, np.array(by, dtype=np.int64), side, feature, votes, margins)
    assert margins.tolist() == expected
