"""What one record adds to a round's sums: exact integers, within the norms that the noise is built for."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from products import thinned

import hedgerow as hr
from hedgerow.boosting import kernels
from hedgerow.boosting.gradients import Gradients, calibrated, cap_of, uncalibrated
from hedgerow.boosting.weights import UNIT, VOTE_STEPS
from hedgerow.curator import Queryable
from hedgerow.mechanisms import Geometric, PermuteAndFlip, Randomness
from hedgerow.survey import Ones
from hedgerow.table import MemoryTable

margins_of = st.integers(-40 * VOTE_STEPS, 40 * VOTE_STEPS)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_record_adds_more_than_its_norms(n_classes, normal, strict, data):
    rule = Gradients(n_classes, normal, strict)
    margins = np.array([data.draw(st.lists(margins_of, min_size=n_classes, max_size=n_classes))])
    for label in range(n_classes):
        channels = rule(margins, np.array([label], dtype=np.int16))[0]
        assert np.abs(channels[: rule.scored]).sum() <= rule.scored_l1
        # Both, for either noise: a curator asks noise for the norm that it is calibrated for.
        assert sum(int(c) ** 2 for c in channels) <= rule.l2_squared
        assert np.abs(channels).sum() <= rule.l1


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_norms_are_nearly_reached_at_the_cap(n_classes, normal, strict):
    rule = Gradients(n_classes, normal, strict)
    steps = np.arange(-16 * VOTE_STEPS, 16 * VOTE_STEPS, 4)
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
    assert grows(2)  # of two classes; more need the square to be at most 3
    assert not grows(3)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=6), st.booleans())
def test_calibrated_probabilities_are_those_at_which_weighted_residuals_cancel(parts, strict):
    p = np.array(parts) / sum(parts)
    cap = cap_of(len(p), strict=strict) / UNIT
    shares = calibrated(p[None], cap_of(len(p), strict=strict))[0]
    weights = np.minimum(1, cap / (1 - p))
    residuals = (shares * weights) @ (np.eye(len(p)) - p)
    assert residuals == pytest.approx(0, abs=1e-12)
    assert np.array_equal(np.argsort(shares, kind="stable"), np.argsort(p, kind="stable"))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=6), st.booleans())
def test_what_is_calibrated_comes_back(parts, strict):
    shares = np.array(parts) / sum(parts)
    cap = cap_of(len(shares), strict=strict)
    assert calibrated(uncalibrated(shares, cap)[None], cap)[0] == pytest.approx(shares, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-5 * VOTE_STEPS, 5 * VOTE_STEPS), min_size=2, max_size=4))
def test_residuals_are_those_of_the_softmax(margins):
    n_classes = len(margins)
    channels = Gradients(n_classes, normal=True)(np.array([margins]), np.array([1], dtype=np.int16))[0] / UNIT
    odds = np.exp((np.array(margins) - max(margins)) / VOTE_STEPS)
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


def plain(rule, margins, label):
    """Return the channels of one record in Python's integers."""
    if label < 0:
        return [0] * rule.channels
    table, multiple = rule._exponentials.tolist(), round(1000 * rule.curvature)
    masses = [table[min(max(margins) - margin, len(table) - 1)] for margin in margins]
    total = sum(masses)
    others = total - masses[label]
    wrong = others * UNIT // total
    of, to = (UNIT, total) if wrong <= rule.cap else (rule.cap, others)
    gradients = [min(wrong, rule.cap) if k == label else -(mass * of // to) for k, mass in enumerate(masses)]
    parts = masses if rule.by_share else [mass * (total - mass) // total for mass in masses]
    curvatures = [part * of // to * multiple // 1000 for part in parts]
    if len(margins) == 2:  # the second class's residual is the first's, turned over
        return [min(wrong, rule.cap) * (1 if label == 1 else -1), curvatures[1]]
    return gradients + curvatures


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_first_curvature_is_that_of_records_of_which_nothing_is_known(n_classes, normal, strict):
    rule = Gradients(n_classes, normal, strict)
    channels = rule(np.zeros((1, n_classes), dtype=np.int64), np.array([0], dtype=np.int16))[0]
    each = channels[rule.scored :] / UNIT / rule.curvature
    assert rule.first_curvature(7.5) == pytest.approx(rule.curvature_of(7.5 * each), rel=2e-4)


@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 40])
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_channels_are_those_of_a_plain_loop(n_classes, normal, strict, kind):
    rule, generator = Gradients(n_classes, normal, strict), np.random.default_rng(n_classes)
    wide = generator.integers(-20 * VOTE_STEPS, 20 * VOTE_STEPS, (300, n_classes))
    near = generator.integers(-VOTE_STEPS, VOTE_STEPS, (300, n_classes))
    equal = np.zeros((n_classes + 1, n_classes), dtype=np.int64)
    far = np.where(generator.random((20, n_classes)) < 0.5, 2**31 - 1, -(2**31))  # further apart than an int32 says
    margins = np.concatenate([wide, near, equal, far]).astype(kind)
    labels = np.concatenate([generator.integers(-1, n_classes, 600), np.arange(-1, n_classes), [0] * 20]).astype(
        np.int16
    )
    expected = np.array([plain(rule, *row) for row in zip(margins.tolist(), labels.tolist(), strict=True)])
    assert np.array_equal(rule(margins, labels), expected)


@pytest.mark.parametrize("strict", [True, False])
def test_two_classes_are_looked_up_at_every_lead(strict):
    rule = Gradients(2, normal=True, strict=strict)
    leads = np.concatenate([np.arange(-15 * VOTE_STEPS, 15 * VOTE_STEPS, 7), np.arange(-3, 4)])
    margins = np.stack([np.full_like(leads, 5), leads + 5], axis=1)
    for label in (-1, 0, 1):
        expected = [plain(rule, row, label) for row in margins.tolist()]
        assert np.array_equal(rule(margins, np.full(len(leads), label, dtype=np.int16)), expected)


quotient = kernels._quotient.py_func


@settings(max_examples=2000, deadline=None)
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
    rule = Gradients(1, normal)
    generator = np.random.default_rng(0)
    beside = generator.integers(-5 * VOTE_STEPS, 5 * VOTE_STEPS, (50, 2))
    labels = generator.integers(-1, 1, 50).astype(np.int16)
    channels = rule(beside[:, :1], labels)  # a kernel that read a second margin would find one
    assert channels.shape == (50, 2)
    assert not channels.any()
    assert np.array_equal(calibrated(np.ones((3, 1)), cap_of(1)), np.ones((3, 1)))


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
        tables = [MemoryTable(codes[:size], labels[:size], n_codes, 3) for size in (last, last + 1)]
        before, after = (np.split(table.sums(rule)[0], table.offsets[1:-1]) for table in tables)
        for one, other in zip(before, after, strict=True):
            scores = [np.abs(sums[:, : rule.scored]).sum() for sums in (one, other)]
            assert abs(scores[1] - scores[0]) <= rule.scored_l1
            assert np.abs(other - one).sum() <= rule.l1
            assert Fraction(int(((other - one) ** 2).sum())) <= rule.l2_squared


@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_sums_agree_with_a_plain_loop(n_classes):
    generator = np.random.default_rng(1)
    n_codes = np.array([3, 2])
    codes = np.stack([generator.integers(0, n, 50) for n in n_codes], axis=1).astype(np.uint8)
    labels = generator.integers(-1, n_classes, 50).astype(np.int16)
    table, rule = MemoryTable(codes, labels, n_codes, n_classes), Gradients(n_classes, normal=False)
    table.update_margins(
        lambda codes, margins: np.add(margins, generator.integers(-999, 999, margins.shape), out=margins)
    )
    channels = np.array([plain(rule, *row) for row in zip(table._margins.tolist(), labels.tolist(), strict=True)])
    expected = [channels[codes[:, j] == code].sum(axis=0) for j, n in enumerate(n_codes) for code in range(n)]
    assert np.array_equal(table.sums(rule), [expected])


@pytest.mark.parametrize("most", [1, 7, 1 << 16])
@pytest.mark.parametrize("channels", [1, 2, 3, 6])
def test_sums_of_the_largest_channels_of_both_signs_are_exact(most, channels, monkeypatch):
    """Two sums share an integer: whatever they are, neither runs over into the other."""
    generator = np.random.default_rng(channels)
    monkeypatch.setattr("hedgerow.table.memory.LARGEST_HALF", most * ((1 << 15) - 1))  # unpacked after so many records

    class Extremes:
        scored = l1 = 0

        def __call__(self, margins, labels):
            return self.said[margins[:, 0]]

    rule = Extremes()
    rule.channels, rule.l1 = channels, (1 << 15) - 1
    rule.said = generator.choice([-rule.l1, rule.l1, 0, -1], (500, channels))
    codes = generator.integers(0, 3, (500, 1)).astype(np.uint8)
    table = MemoryTable(codes, np.zeros(500, np.int16), np.array([3]), 2)
    table.update_margins(lambda codes, margins: margins.__setitem__((slice(None), 0), number(codes, table)))
    expected = [rule.said[codes[:, 0] == code].sum(axis=0) for code in range(3)]
    assert np.array_equal(table.sums(rule), [expected])


def number(codes, table):
    """The row numbers of a block of a table's records."""
    first = (codes.__array_interface__["data"][0] - table._codes.__array_interface__["data"][0]) // codes.strides[0]
    return np.arange(first, first + len(codes))


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
    monkeypatch.setattr("hedgerow.threads.available_threads", lambda: 3)
    monkeypatch.setattr("hedgerow.threads.FEW_ROWS", 10)
    assert fitted() == whole


def test_channels_are_worked_out_block_by_block(monkeypatch):
    """All at once they would be records times classes: gigabytes."""
    asked = []
    right = Gradients.__call__
    monkeypatch.setattr(Gradients, "__call__", lambda rule, *given: asked.append(right(rule, *given)) or asked[-1])
    monkeypatch.setattr("hedgerow.table.memory.BLOCK_CELLS", 100)
    table = MemoryTable(np.zeros((90, 1), np.uint8), np.zeros(90, np.int16), np.array([2]), 20)
    rule = Gradients(20, normal=True)
    table.sums(rule)
    assert [channels.shape for channels in asked] == [(2, 40)] * 45


def test_a_rule_that_scores_nothing_ranks_no_features():
    table = MemoryTable(np.zeros((3, 1), np.uint8), np.zeros(3, np.int16), np.array([2]), 2)
    asked = Queryable(table, Fraction(100), Randomness(0)).open_round(Ones())
    with pytest.raises(hr.ConfigurationError, match="ranks no features"):
        asked.select(PermuteAndFlip(Fraction(1), 1), np.zeros(1, dtype=np.int64))
    assert asked.whole_sums(Geometric(Fraction(99))).tolist() == [3]
