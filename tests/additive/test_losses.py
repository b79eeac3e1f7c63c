"""What one record adds to a round's sums: exact integers, within the norms that the noise is built for."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from products import pairwise, thinned

import hedgerow as hr
from hedgerow.additive import kernels
from hedgerow.additive.losses import EXPONENTIALS, Logistic, uncalibrated
from hedgerow.curator import Cut, Queryable, Splits, cells_of
from hedgerow.curator.survey import Ones
from hedgerow.export import Softmax
from hedgerow.mechanisms import Geometric, PermuteAndFlip, Randomness
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.table import Layout, MemoryTable, Sums

margins_of = st.integers(-40 * VOTE_STEPS, 40 * VOTE_STEPS)
TENTHS = [8, 5]  # of this version's cap, and of the one that some files of version 0.2 hold
of_either_weight = pytest.mark.parametrize("halved", [False, True])  # of curvatures: in cells half as much
KINDS = [(k, normal, tenths) for k in (1, 2, 3, 5, 40) for normal in (True, False) for tenths in TENTHS]
of_every_kind = pytest.mark.parametrize(("n_classes", "normal", "tenths"), KINDS)


def cap_of(n_classes, tenths=8):
    return Logistic(n_classes, normal=True, tenths=tenths).cap


def calibrated(p, cap):
    """Return what a model whose softmax is ``p`` says under a cap, in units."""
    return Softmax(1, cap / UNIT)(np.log(p))


@pytest.mark.parametrize("n_classes", [1, 2, 3, 7, 100, 1000])
def test_a_cap_is_that_of_the_proof_rounded_down(n_classes):
    assert cap_of(n_classes) == math.floor(UNIT * (1 - Fraction(4, 5 * n_classes)))
    assert cap_of(n_classes, 5) == math.floor(UNIT * (1 - Fraction(1, 2 * n_classes)))


@of_either_weight
@of_every_kind
def test_norms_are_those_of_the_proof_at_the_cap_and_rounded_up(n_classes, normal, tenths, halved):
    rule = Logistic(n_classes, normal, tenths, halved=halved)
    c, cap = Fraction(rule.curvature), Fraction(rule.cap, UNIT)
    above = cap + Fraction(1, UNIT)  # where a record of more than two classes may be before t is rounded down
    curvature = math.ceil(UNIT * c * cap * (1 - cap))
    whole = {(True, True): 1.5, (True, False): 1, (False, True): 1.5, (False, False): 0.5}[n_classes == 2, normal]
    assert c == whole / (1 + halved)
    assert rule == (Logistic(n_classes, normal, tenths).in_cells() if halved else Logistic(n_classes, normal, tenths))
    if n_classes == 2:
        assert (rule.columns, rule.scored, rule.channels, rule.scored_l1) == (1, 1, 2, rule.cap)
        assert rule.l1 == rule.cap + curvature
        assert rule.l2_squared == rule.cap**2 + curvature**2
        return
    assert (rule.columns, rule.scored, rule.channels) == (n_classes, n_classes, 2 * n_classes)
    assert rule.scored_l1 == 2 * rule.cap
    assert rule.by_share == (n_classes > 2 and not normal)
    if rule.by_share:
        assert rule.l2_squared == 2 * (rule.cap + 1) ** 2 + (UNIT * c) ** 2
        assert rule.l1 == 2 * rule.cap + UNIT * c
    else:
        assert rule.l2_squared == 2 * ((rule.cap + 1) ** 2 + curvature**2)
        assert rule.l1 == 2 * rule.cap + math.ceil(UNIT * c * above * (2 - above))


@pytest.mark.parametrize(
    ("n_classes", "normal", "tenths", "halved"), pairwise((1, 2, 3, 5, 40), (True, False), TENTHS, (False, True))
)
@given(data=st.data())
def test_no_record_adds_more_than_its_norms(n_classes, normal, tenths, data, halved):
    rule = Logistic(n_classes, normal, tenths, halved=halved)
    margins = np.array([data.draw(st.lists(margins_of, min_size=rule.columns, max_size=rule.columns))])
    label = data.draw(st.integers(0, n_classes - 1))
    channels = rule(margins, np.array([label], dtype=np.int16))[0]
    assert np.abs(channels[: rule.scored]).sum() <= rule.scored_l1
    # Both, for either noise: a curator asks noise for the norm that it is calibrated for.
    assert sum(int(c) ** 2 for c in channels) <= rule.l2_squared
    assert np.abs(channels).sum() <= rule.l1


@of_either_weight
@pytest.mark.parametrize("tenths", TENTHS)
@pytest.mark.parametrize("normal", [True, False])
def test_no_lead_of_two_classes_is_beyond_the_norms(normal, tenths, halved):
    """All that two classes can add: every lead that the table tells apart, and one beyond each end."""
    rule = Logistic(2, normal, tenths, halved=halved)
    leads = np.arange(-14 * VOTE_STEPS - 1, 14 * VOTE_STEPS + 2)[:, None]
    for label in (0, 1):
        channels = rule(leads, np.full(len(leads), label, dtype=np.int16))
        assert np.abs(channels[:, :1]).max() == rule.scored_l1
        assert np.abs(channels).sum(axis=1).max() <= rule.l1
        assert np.square(channels, dtype=np.int64).sum(axis=1).max() <= rule.l2_squared


@of_either_weight
@pytest.mark.parametrize("normal", [True, False])
def test_no_margins_of_three_classes_are_beyond_the_norms(normal, halved):
    """All leads on a grid that is finest around the cap: of labels by symmetry one is enough."""
    rule = Logistic(3, normal, halved=halved)
    steps = np.unique(np.concatenate([np.arange(-14, 15) * VOTE_STEPS, np.arange(-1200, 1201, 24)]))
    behind = np.stack(np.meshgrid(steps, steps), axis=2).reshape(-1, 2)
    margins = np.concatenate([np.zeros((len(behind), 1), dtype=np.int64), behind], axis=1)
    channels = rule(margins, np.zeros(len(margins), dtype=np.int16))
    assert np.abs(channels[:, :3]).sum(axis=1).max() <= rule.scored_l1
    assert np.abs(channels).sum(axis=1).max() <= rule.l1
    assert np.square(channels, dtype=np.int64).sum(axis=1).max() <= rule.l2_squared


@of_either_weight
@pytest.mark.parametrize("tenths", TENTHS)
@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_norms_are_nearly_reached_at_the_cap(n_classes, normal, tenths, halved):
    rule = Logistic(n_classes, normal, tenths, halved=halved)
    steps = np.arange(-16 * VOTE_STEPS, 16 * VOTE_STEPS, 4)
    spread, narrow = np.zeros((2, len(steps), rule.columns), dtype=np.int64)
    spread[:, 0] = narrow[:, 0] = steps
    narrow[:, 2:] = -20 * VOTE_STEPS  # all that is wrong is of one class
    channels = rule(np.concatenate([spread, narrow]), np.zeros(2 * len(steps), dtype=np.int16))
    squares, absolute = np.square(channels, dtype=np.int64).sum(axis=1), np.abs(channels).sum(axis=1)
    assert squares.max() <= rule.l2_squared
    assert absolute.max() <= rule.l1
    assert (squares.max() / rule.l2_squared if normal else absolute.max() / rule.l1) > 0.92
    assert np.abs(channels[:, : rule.scored]).sum(axis=1).max() > 0.999 * rule.scored_l1


def test_no_multiple_of_the_curvature_here_lets_a_norm_peak_below_the_cap():
    """The bound is at t = cap, so t^2 (1 + c^2 (1 - t)^2) must grow with t; c = 3 would peak before."""

    def grows(c):
        t = np.linspace(0, 1, 10_001)
        return bool((np.diff(t**2 * (1 + c**2 * (1 - t) ** 2)) >= 0).all())

    assert all(grows(Logistic(k, normal).curvature) for k in (2, 3) for normal in (True, False))
    assert grows(2)  # of two classes; more need the square to be at most 3
    assert not grows(3)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=6), st.sampled_from(TENTHS))
def test_calibrated_probabilities_are_those_at_which_weighted_residuals_cancel(parts, tenths):
    p = np.array(parts) / sum(parts)
    cap = cap_of(len(p), tenths) / UNIT
    shares = calibrated(p[None], cap_of(len(p), tenths))[0]
    weights = np.minimum(1, cap / (1 - p))
    residuals = (shares * weights) @ (np.eye(len(p)) - p)
    assert residuals == pytest.approx(0, abs=1e-12)
    assert (np.diff(shares[np.argsort(p)]) >= -1e-12).all()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=6), st.sampled_from(TENTHS))
def test_what_is_calibrated_comes_back(parts, tenths):
    shares = np.array(parts) / sum(parts)
    cap = cap_of(len(shares), tenths)
    assert calibrated(uncalibrated(shares, cap)[None], cap)[0] == pytest.approx(shares, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-5 * VOTE_STEPS, 5 * VOTE_STEPS), min_size=2, max_size=4))
def test_residuals_are_those_of_the_softmax(margins):
    n_classes = len(margins)
    rule = Logistic(n_classes, normal=True)
    seen = [margins[1] - margins[0]] if n_classes == 2 else margins
    channels = rule(np.array([seen]), np.array([1], dtype=np.int16))[0] / UNIT
    odds = np.exp((np.array(margins) - max(margins)) / VOTE_STEPS)
    p = odds / odds.sum()
    weight = min(1, rule.cap / UNIT / (1 - p[1]))
    residual = weight * (np.eye(n_classes)[1] - p)
    if n_classes == 2:
        assert channels[0] == pytest.approx(residual[1], abs=1e-4)
        assert channels[1] == pytest.approx(1.5 * weight * p[0] * p[1], abs=3e-4)
    else:
        assert channels[:n_classes] == pytest.approx(residual, abs=1e-4)
        assert channels[n_classes:] == pytest.approx(1.5 * weight * p * (1 - p), abs=3e-4)


def plain(rule, seen, label):
    """Return the channels of one record in Python's integers."""
    if label < 0:
        return [0] * rule.channels
    margins = [0, *seen] if rule.n_classes == 2 else seen
    table, multiple = EXPONENTIALS.tolist(), round(1000 * rule.curvature)
    masses = [table[min(max(margins) - margin, len(table) - 1)] for margin in margins]
    total = sum(masses)
    others = total - masses[label]
    wrong = others * UNIT // total
    of, to = (UNIT, total) if wrong <= rule.cap else (rule.cap, others)
    gradients = [min(wrong, rule.cap) if k == label else -(mass * of // to) for k, mass in enumerate(masses)]
    parts = masses if rule.by_share else [mass * (total - mass) // total for mass in masses]
    curvatures = [part * of // to * multiple // 1000 for part in parts]
    if rule.n_classes == 2:  # the second class's residual is the first's, turned over
        return [min(wrong, rule.cap) * (1 if label == 1 else -1), curvatures[1]]
    return gradients + curvatures


@pytest.mark.parametrize(
    ("n_classes", "normal", "tenths", "kind"), pairwise([1, 2, 3, 40], [True, False], TENTHS, [np.int32, np.int64])
)
def test_channels_are_those_of_a_plain_loop(n_classes, normal, tenths, kind):
    rule, generator = Logistic(n_classes, normal, tenths), np.random.default_rng(n_classes)
    width = rule.columns
    wide = generator.integers(-20 * VOTE_STEPS, 20 * VOTE_STEPS, (300, width))
    near = generator.integers(-VOTE_STEPS, VOTE_STEPS, (300, width))
    equal = np.zeros((n_classes + 1, width), dtype=np.int64)
    far = np.where(generator.random((20, width)) < 0.5, 2**31 - 1, -(2**31))  # further apart than an int32 says
    margins = np.concatenate([wide, near, equal, far]).astype(kind)
    labels = np.concatenate([generator.integers(-1, n_classes, 600), np.arange(-1, n_classes), [0] * 20]).astype(
        np.int16
    )
    expected = np.array([plain(rule, *row) for row in zip(margins.tolist(), labels.tolist(), strict=True)])
    assert np.array_equal(rule(margins, labels), expected)


@pytest.mark.parametrize("tenths", TENTHS)
@pytest.mark.parametrize("normal", [True, False])
def test_two_classes_are_looked_up_at_every_lead(normal, tenths):
    rule = Logistic(2, normal, tenths)
    leads = np.concatenate([np.arange(-15 * VOTE_STEPS, 15 * VOTE_STEPS, 29), np.arange(-3, 4)])[:, None]
    for label in (-1, 0, 1):
        expected = [plain(rule, row, label) for row in leads.tolist()]
        assert np.array_equal(rule(leads, np.full(len(leads), label, dtype=np.int16)), expected)


def test_exponentials_fall_from_a_million_to_one():
    table = EXPONENTIALS.tolist()
    assert table == [round(2**20 * math.exp(-place / VOTE_STEPS)) for place in range(len(table))]
    assert table[0] == 2**20
    assert table[-1] == 1  # beyond the end all are the last: one, so that no mass is none


quotient = kernels._quotient.py_func


@settings(max_examples=1000, deadline=None)
@given(st.integers(1, 2**50 - 1), st.data())
def test_a_quotient_of_floats_is_that_of_integers(divisor, data):
    """Also where the number is a multiple of the divisor, or one less: there the roundings could cross an integer."""
    most = 2**50 - 1
    times = data.draw(st.integers(1, most // divisor))
    numbers = [data.draw(st.integers(0, most)), times * divisor, times * divisor - 1, most]
    for number in numbers:
        assert quotient(float(number), 1 / float(divisor)) == number // divisor
        assert kernels._quotient(float(number), 1 / float(divisor)) == number // divisor


@pytest.mark.parametrize("normal", [True, False])
def test_a_record_of_the_only_class_adds_nothing_and_reads_its_own_margin_alone(normal):
    rule = Logistic(1, normal)
    generator = np.random.default_rng(0)
    beside = generator.integers(-5 * VOTE_STEPS, 5 * VOTE_STEPS, (50, 2))
    labels = generator.integers(-1, 1, 50).astype(np.int16)
    channels = rule(beside[:, :1], labels)  # a kernel that read a second margin would find one
    assert channels.shape == (50, 2)
    assert not channels.any()
    assert np.array_equal(rule.exported(np.ones((3, 1))), np.ones((3, 1)))


@of_every_kind
def test_channels_are_whole_numbers_and_margins_of_another_shape_are_refused(n_classes, normal, tenths):
    rule, labels = Logistic(n_classes, normal, tenths), np.array([0, -1, 0, 0], dtype=np.int16)
    channels = rule(np.zeros((4, rule.columns), dtype=np.int32), labels)
    assert channels.dtype == np.int32
    assert channels.shape == (4, rule.channels)
    for shape in ((4, rule.columns + 1), (4, rule.columns - 1), (5, rule.columns), (3, rule.columns)):
        with pytest.raises(ValueError, match="margins"):
            rule(np.zeros(shape, dtype=np.int64), labels)


def test_a_record_without_a_label_adds_nothing_and_others_do_not_matter():
    rule = Logistic(2, normal=True)
    margins = np.array([[100], [-700], [900]])
    together = rule(margins, np.array([1, -1, 0], dtype=np.int16))
    assert not together[1].any()
    for row, label in ((0, 1), (2, 0)):
        assert np.array_equal(together[row], rule(margins[row : row + 1], np.array([label], dtype=np.int16))[0])


# What a model starts with.

SHARES = [(0.5, 0.5), (0.9, 0.1), (1.0, 0.0), (0.2, 0.3, 0.5), (0.98, 0.01, 0.01), (1.0, 0.0, 0.0)]


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("normal", [True, False])
def test_a_start_has_the_curvature_of_its_records_halfway_to_where_gradients_cancel(shares, normal):
    """Beside the sums of the loss itself over so many records at the start's margins, and at twice these."""
    n_classes, records = len(shares), 10**6
    rule = Logistic(n_classes, normal)
    counts = np.array([round(share * records) for share in shares])
    start = rule.start(counts, 0.0)
    assert (start.records, start.margins.dtype, start.margins.shape) == (records, np.int64, (rule.columns,))
    classes = np.arange(n_classes, dtype=np.int16)
    sums, whole = (
        counts @ rule(np.tile(margins, (n_classes, 1)), classes) / UNIT
        for margins in (start.margins, 2 * start.margins)
    )
    assert np.abs(whole[: rule.scored]).max() < 3e-3 * records
    if not rule.by_share:
        assert start.curvature * rule.curvature == pytest.approx(sums[rule.scored :], rel=0.02, abs=50)
    if n_classes > 2:
        assert abs(start.margins.sum()) <= n_classes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_start_follows_shares_as_far_as_they_stand_out_of_their_noise(n_classes):
    rule = Logistic(n_classes, normal=True)
    counts = np.array([900, *[100] * (n_classes - 1)])
    clear, lost = rule.start(counts, 1.0).margins, rule.start(counts, 1e6).margins
    assert np.abs(lost).max() <= 1
    p = rule.exported(2 * np.append(np.zeros(int(n_classes == 2)), clear)[None])[0]
    assert p == pytest.approx(counts / counts.sum(), abs=0.01)
    none = rule.start(np.full(n_classes, -50), 10.0)
    assert none.records == 1
    assert np.abs(none.margins).max() == 0


@pytest.mark.parametrize(("counts", "spread"), [((50, 50), 1), ((100, 0), 0), ((40, 40, 40), 1), ((90, 10), 0.36)])
def test_the_spread_is_that_of_the_classes_as_a_share_of_even_ones(counts, spread):
    scaled = 1000 * np.array(counts)
    assert Logistic(len(counts), normal=True).start(scaled, 0.0).spread == pytest.approx(spread, abs=1e-3)
    assert Logistic(1, normal=True).start(np.array([5]), 1.0).spread == 0


def test_curvatures_are_read_off_shares_and_noise_below_zero_is_none():
    by_share, as_measured = Logistic(3, normal=False), Logistic(3, normal=True)
    measured = np.array([6.0, 2.0, -1.0])
    assert by_share.curvature_of(measured).tolist() == [6 * (1 - 6 / 8), 2 * (1 - 2 / 8), 0]
    assert by_share.curvature_of(np.array([-1.0, -5.0, 0.0])).tolist() == [0, 0, 0]
    assert as_measured.curvature_of(measured).tolist() == measured.tolist()


def test_even_weights_move_no_votes_and_others_move_them_towards_the_heavier_class():
    """Of two classes whose shares the cap leaves alone the odds move by the quotient of the weights."""
    assert Logistic(4, normal=True).weighted(np.ones(4)).tolist() == [0, 0, 0, 0]
    assert Logistic(4, normal=True).weighted(np.ones(4)).dtype == np.int64
    moved = Logistic(2, normal=True).weighted(np.array([1.0, 1.5]))
    assert moved.tolist() == pytest.approx([VOTE_STEPS * math.log(1.5)], abs=0.51)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_steps_become_votes_of_bounded_length(n_classes):
    rule = Logistic(n_classes, normal=True)
    steps = np.random.default_rng(0).normal(0, 3, (50, rule.columns))
    votes = rule.votes(steps)
    assert votes.dtype == np.int64
    assert np.abs(votes).max() <= 2 * VOTE_STEPS
    if n_classes == 2:
        assert np.array_equal(votes, np.trunc(np.clip(steps, -2, 2) * VOTE_STEPS))
    else:
        assert np.abs(votes.sum(axis=1)).max() <= n_classes


# Sums of channels over records.


def number(codes, table):
    """The row numbers of a block of a table's records."""
    first = (codes.__array_interface__["data"][0] - table._codes.__array_interface__["data"][0]) // codes.strides[0]
    return np.arange(first, first + len(codes))


class Votes:
    """Votes that a function writes."""

    def __init__(self, columns, add):
        self.columns, self._add = columns, add

    def __call__(self, codes, margins):
        self._add(codes, margins)


CELLS = cells_of((Cut(0, np.array([0, 1, 1])), Cut(1, np.array([0, 0, 1, 0]))))
PARTS = {
    "none": Layout(),
    "cells": Layout(CELLS),
    "groups": Layout(groups=Splits([0, 1], [np.array([0, 1, 2]), np.array([0, 0, 1, 2])], [True, True]).groups),
    "both": Layout(CELLS, Splits([2], [np.array([0, 1])], [False]).groups),
}


@pytest.mark.parametrize("layout", PARTS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("normal", [True, False])
def test_neighbors_scores_and_sums_differ_by_at_most_the_bounds(n_classes, normal, layout):
    """In whatever parts: under one feature and one partition a record is in one code of one part."""
    generator = np.random.default_rng(0)
    n_codes = np.array([3, 4, 2])
    codes = np.stack([generator.integers(0, n, 60) for n in n_codes], axis=1).astype(np.uint8)
    labels = generator.integers(0, n_classes, 60).astype(np.int16)
    rule, parts = Logistic(n_classes, normal), PARTS[layout]
    partitions = [slice(None)] if parts.groups is None else []
    if parts.groups is not None:  # (cells, groups): those of one partition
        partitions = [
            np.unique(row[:n])
            for row, n in zip(parts.groups.group, (3, 4) if layout == "groups" else (2,), strict=True)
        ]
    start = generator.integers(-2 * VOTE_STEPS, 2 * VOTE_STEPS, (60, rule.columns))

    def sums(size):
        table = MemoryTable(codes[:size], labels[:size], n_codes, n_classes)
        votes = Votes(rule.columns, lambda seen, margins: np.add(margins, start[number(seen, table)], out=margins))
        return table.answer(Sums(rule, votes, parts)).reshape(parts.cells.n_cells, -1, n_codes.sum(), rule.channels)

    for last in range(1, 60):
        before, after = sums(last), sums(last + 1)
        for groups in partitions:
            for codes_of in np.split(np.arange(n_codes.sum()), np.cumsum(n_codes)[:-1]):
                one, other = before[:, groups][:, :, codes_of], after[:, groups][:, :, codes_of]
                scores = [np.abs(found[..., : rule.scored]).sum() for found in (one, other)]
                assert abs(scores[1] - scores[0]) <= rule.scored_l1
                assert 0 < np.abs(other - one).sum() <= rule.l1
                assert Fraction(int(((other - one) ** 2).sum())) <= rule.l2_squared


@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_sums_agree_with_a_plain_loop(n_classes):
    generator = np.random.default_rng(1)
    n_codes = np.array([3, 2])
    codes = np.stack([generator.integers(0, n, 50) for n in n_codes], axis=1).astype(np.uint8)
    labels = generator.integers(-1, n_classes, 50).astype(np.int16)
    table, rule = MemoryTable(codes, labels, n_codes, n_classes), Logistic(n_classes, normal=False)
    table.update_margins(
        Votes(
            rule.columns, lambda _, margins: np.add(margins, generator.integers(-999, 999, margins.shape), out=margins)
        )
    )
    channels = np.array([plain(rule, *row) for row in zip(table._margins.tolist(), labels.tolist(), strict=True)])
    expected = [channels[codes[:, j] == code].sum(axis=0) for j, n in enumerate(n_codes) for code in range(n)]
    assert np.array_equal(table.answer(Sums(rule)), [expected])


@pytest.mark.parametrize("most", [1, 7, 1 << 16])
@pytest.mark.parametrize("channels", [1, 2, 3, 6])
def test_sums_of_the_largest_channels_of_both_signs_are_exact(most, channels, monkeypatch):
    """Two sums share an integer: whatever they are, neither runs over into the other."""
    generator = np.random.default_rng(channels)
    monkeypatch.setattr("hedgerow.table.memory.LARGEST_HALF", most * ((1 << 15) - 1))  # unpacked after so many records

    class Extremes:
        scored = l1 = 0
        columns = 2

        def __call__(self, margins, labels):
            return self.said[margins[:, 0]]

    rule = Extremes()
    rule.channels, rule.l1 = channels, (1 << 15) - 1
    rule.said = generator.choice([-rule.l1, rule.l1, 0, -1], (500, channels))
    codes = generator.integers(0, 3, (500, 1)).astype(np.uint8)
    table = MemoryTable(codes, np.zeros(500, np.int16), np.array([3]), 2)
    table.update_margins(Votes(2, lambda codes, margins: margins.__setitem__((slice(None), 0), number(codes, table))))
    expected = [rule.said[codes[:, 0] == code].sum(axis=0) for code in range(3)]
    assert np.array_equal(table.answer(Sums(rule)), [expected])


@pytest.mark.parametrize("n_classes", [1, 2, 5])
@pytest.mark.parametrize("delta", thinned([1e-6, 0], 2))
def test_blocks_and_threads_leave_a_seeded_model_as_it_is(n_classes, delta, monkeypatch):
    generator = np.random.default_rng(2)
    X = generator.uniform(0, 1, (700, 3))
    y = np.minimum((X[:, 0] * n_classes).astype(int), n_classes - 1)
    schema = hr.Schema({name: hr.Numeric(0, 1) for name in "abc"}, classes=list(range(n_classes)))

    def fitted():
        model = hr.HedgerowClassifier(epsilon=3.0, delta=delta, schema=schema, random_state=0).fit(X, y)
        return {name: array.tobytes() for name, array in model.model_.to_arrays().items()}

    whole = fitted()
    for cells in (1, 64, 999):  # one record at a time, and blocks that do not divide the records
        monkeypatch.setattr("hedgerow.table.memory.BLOCK_CELLS", cells)
        assert fitted() == whole
    monkeypatch.setattr("hedgerow.arrays.available_threads", lambda: 3)
    monkeypatch.setattr("hedgerow.arrays.FEW_ROWS", 10)
    assert fitted() == whole


def test_channels_are_worked_out_block_by_block(monkeypatch):
    """All at once they would be records times classes: gigabytes."""
    asked = []
    right = Logistic.__call__
    monkeypatch.setattr(Logistic, "__call__", lambda rule, *given: asked.append(right(rule, *given)) or asked[-1])
    monkeypatch.setattr("hedgerow.table.memory.BLOCK_CELLS", 100)
    table = MemoryTable(np.zeros((90, 1), np.uint8), np.zeros(90, np.int16), np.array([2]), 20)
    rule = Logistic(20, normal=True)
    table.answer(Sums(rule))
    assert [channels.shape for channels in asked] == [(2, 40)] * 45


def test_a_rule_that_scores_nothing_ranks_no_features():
    table = MemoryTable(np.zeros((3, 1), np.uint8), np.zeros(3, np.int16), np.array([2]), 2)
    asked = Queryable(table, Fraction(100), Randomness(0)).open_round(Ones())
    with pytest.raises(hr.ConfigurationError, match="ranks no features"):
        asked.select(PermuteAndFlip(Fraction(1), 1), np.zeros(1, dtype=np.int64))
    with pytest.raises(hr.ConfigurationError, match="ranks no features"):
        asked.select_cut(PermuteAndFlip(Fraction(1), 1), [True], np.array([True, False]))
    assert asked.whole_sums(Geometric(Fraction(99))).tolist() == [3]
