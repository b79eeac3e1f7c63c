"""What one record adds to a round's sums: exact integers, within the norms that the noise is built for."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.boosting.gradients import Gradients, calibrated, cap_of
from hedgerow.boosting.weights import UNIT, VOTE_STEPS
from hedgerow.table import Table

margins_of = st.integers(-20 * VOTE_STEPS, 20 * VOTE_STEPS)


@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_record_adds_more_than_its_norms(n_classes, normal, data):
    rule = Gradients(n_classes, normal)
    margins = np.array([data.draw(st.lists(margins_of, min_size=n_classes, max_size=n_classes))])
    for label in range(n_classes):
        channels = rule(margins, np.array([label], dtype=np.int16))[0]
        assert np.abs(channels[: rule.scored]).sum() <= rule.scored_l1
        if normal:
            assert sum(int(c) ** 2 for c in channels) <= rule.l2_squared
        else:
            assert np.abs(channels).sum() <= rule.l1


@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_norms_are_nearly_reached_at_the_cap(n_classes, normal):
    rule = Gradients(n_classes, normal)
    steps = np.arange(-8 * VOTE_STEPS, 8 * VOTE_STEPS, 4)
    spread, narrow = np.zeros((2, len(steps), n_classes), dtype=np.int64)
    spread[:, 0] = narrow[:, 0] = steps
    narrow[:, 2:] = -20 * VOTE_STEPS  # all that is wrong is of one class
    channels = rule(np.concatenate([spread, narrow]), np.zeros(2 * len(steps), dtype=np.int16))
    squares, absolute = (channels**2).sum(axis=1), np.abs(channels).sum(axis=1)
    assert squares.max() <= rule.l2_squared or not normal
    assert absolute.max() <= rule.l1
    assert (squares.max() / rule.l2_squared if normal else absolute.max() / rule.l1) > 0.92
    assert np.abs(channels[:, : rule.scored]).sum(axis=1).max() > 0.999 * rule.scored_l1


def test_no_multiple_of_the_curvature_here_lets_a_norm_peak_below_the_cap():
    """The bound is at t = cap, so t^2 (1 + c^2 (1 - t)^2) must grow with t; c = 3 would peak before."""

    def grows(c):
        t = np.linspace(0, 1, 10_001)
        return bool((np.diff(t**2 * (1 + c**2 * (1 - t) ** 2)) >= 0).all())

    assert grows(1.5)
    assert not grows(3)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=6))
def test_calibrated_probabilities_are_those_at_which_weighted_residuals_cancel(parts):
    p = np.array(parts) / sum(parts)
    cap = cap_of(len(p)) / UNIT
    shares = calibrated(p[None])[0]
    weights = np.minimum(1, cap / (1 - p))
    residuals = (shares * weights) @ (np.eye(len(p)) - p)
    assert residuals == pytest.approx(0, abs=1e-12)
    assert np.array_equal(np.argsort(shares, kind="stable"), np.argsort(p, kind="stable"))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-5 * VOTE_STEPS, 5 * VOTE_STEPS), min_size=2, max_size=4))
def test_residuals_are_those_of_the_softmax(margins):
    n_classes = len(margins)
    channels = Gradients(n_classes, normal=True)(np.array([margins]), np.array([1], dtype=np.int16))[0] / UNIT
    odds = np.exp(2 * (np.array(margins) - max(margins)) / VOTE_STEPS)
    p = odds / odds.sum()
    rule = Gradients(n_classes, normal=True)
    weight = min(1, rule.cap / UNIT / (1 - p[1]))
    residual = weight * (np.eye(n_classes)[1] - p)
    if n_classes == 2:
        assert channels[0] == pytest.approx(residual[1], abs=1e-4)
        assert channels[1] == pytest.approx(1.5 * weight * p[0] * p[1], abs=3e-4)
    else:
        assert channels[:n_classes] == pytest.approx(residual, abs=1e-4)
        assert channels[n_classes:] == pytest.approx(1.5 * weight * p * (1 - p), abs=3e-4)


@pytest.mark.parametrize("normal", [True, False])
def test_looked_up_channels_are_the_worked_out_ones(normal):
    rule = Gradients(2, normal)
    leads = np.concatenate([np.arange(-20 * VOTE_STEPS, 20 * VOTE_STEPS, 37), [10**9, -(10**9)]])
    margins = np.stack([np.full_like(leads, 5), leads + 5], axis=1)
    for label in (-1, 0, 1):
        labels = np.full(len(leads), label, dtype=np.int16)
        assert np.array_equal(rule(margins, labels), rule._worked_out(margins, labels))


@pytest.mark.parametrize("normal", [True, False])
def test_a_record_of_the_only_class_adds_nothing_and_reads_its_own_margin_alone(normal):
    rule = Gradients(1, normal)
    generator = np.random.default_rng(0)
    beside = generator.integers(-5 * VOTE_STEPS, 5 * VOTE_STEPS, (50, 2))
    labels = generator.integers(-1, 1, 50).astype(np.int16)
    channels = rule(beside[:, :1], labels)  # a kernel that read a second margin would find one
    assert channels.shape == (50, 2)
    assert not channels.any()
    assert np.array_equal(calibrated(np.ones((3, 1))), np.ones((3, 1)))


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_margins_of_another_number_of_classes_or_records_are_refused(n_classes):
    rule = Gradients(n_classes, normal=False)
    for shape in ((4, n_classes + 1), (4, n_classes - 1), (5, n_classes), (3, n_classes)):
        with pytest.raises(ValueError, match="margins"):
            rule(np.zeros(shape, dtype=np.int64), np.zeros(4, dtype=np.int16))


def test_a_record_without_a_label_adds_nothing_and_others_do_not_matter():
    rule = Gradients(2, normal=True)
    margins = np.array([[0, 100], [0, -700], [0, 900]])
    together = rule(margins, np.array([1, -1, 0], dtype=np.int16))
    assert not together[1].any()
    for row, label in ((0, 1), (2, 0)):
        assert np.array_equal(together[row], rule(margins[row : row + 1], np.array([label], dtype=np.int16))[0])


def test_neighbors_scores_and_sums_differ_by_at_most_the_bounds():
    generator = np.random.default_rng(0)
    n_codes = np.array([3, 4])
    codes = np.stack([generator.integers(0, n, 60) for n in n_codes], axis=1).astype(np.uint8)
    labels = generator.integers(0, 3, 60).astype(np.int16)
    rule = Gradients(3, normal=True)
    for last in range(1, 60):
        tables = [Table(codes[:size], labels[:size], n_codes, 3) for size in (last, last + 1)]
        channels = [table.channels(rule) for table in tables]
        scores = [table.feature_scores(c, rule.scored) for table, c in zip(tables, channels, strict=True)]
        assert np.abs(scores[1] - scores[0]).max() <= rule.scored_l1
        for feature in range(2):
            sums = [table.feature_sums(c, feature) for table, c in zip(tables, channels, strict=True)]
            assert Fraction(int(((sums[1] - sums[0]) ** 2).sum())) <= rule.l2_squared


def test_sums_agree_with_a_plain_loop():
    generator = np.random.default_rng(1)
    n_codes = np.array([3, 2])
    codes = np.stack([generator.integers(0, n, 50) for n in n_codes], axis=1).astype(np.uint8)
    table = Table(codes, generator.integers(0, 2, 50).astype(np.int16), n_codes, 2)
    channels = generator.integers(-9, 9, (50, 2))
    for feature, n in enumerate(n_codes):
        plain = np.array([channels[codes[:, feature] == code].sum(axis=0) for code in range(n)])
        assert np.array_equal(table.feature_sums(channels, feature), plain)
        assert table.feature_scores(channels, 1)[feature] == np.abs(plain[:, 0]).sum()
