"""The parts of published recipes: laws of the noise, and kernels against plain twins."""

import math
from dataclasses import replace
from fractions import Fraction

import laws
import numpy as np
import pytest
from scipy.stats import binomtest, chisquare, kstest
from seeds import FITS

from hedgerow.mechanisms import Randomness
from hedgerow.papers import kernels
from hedgerow.papers.forest import Bootstrap, TwoPhases
from hedgerow.papers.noise import (
    IntervalChoice,
    Laplace,
    RealExponential,
    Resample,
    SomeFeatures,
)
from hedgerow.papers.records import OpenNodes, RawRecords, cut_ranges
from hedgerow.schema import Categorical, Numeric, Schema

SCHEMA = Schema(
    {"x": Numeric(0, 10), "c": Categorical(["a", "b"]), "z": Numeric(-5, 5)}, classes=["no", "yes", "maybe"]
)
DRAWS = 60_000
POWER = pytest.mark.parametrize(("factor", "fits"), [(1.0, True), (1.25, False), (0.8, False)])


def agrees(p, fits):
    assert p > FITS if fits else p < FITS


# --- noise ------------------------------------------------------------------------------------------------------------


@POWER
def test_the_exponential_mechanism_has_its_law(factor, fits):
    scores, every = np.array([3.0, 1.5, 0.0, 4.0]), np.array([True, True, True, False])
    rows = (np.tile(scores, (DRAWS, 1)), np.tile(every, (DRAWS, 1)))
    found = np.bincount(Randomness(1).draw(RealExponential(Fraction(2), 4), *rows), minlength=4)
    mass = np.where(every, np.exp(factor * 0.5 * scores), 0)
    assert found[3] == 0
    agrees(chisquare(found[:3], (mass / mass.sum())[:3] * DRAWS).pvalue, fits)
    np.testing.assert_allclose(RealExponential(Fraction(2), 4).law(scores, every)[:3].sum(), 1)


@POWER
def test_an_interval_is_chosen_by_length_and_score_and_the_cut_is_uniform_in_it(factor, fits):
    score, ends = np.array([0.0, 2.0, 1.0, 9.0]), np.array([0.0, 4.0, 5.0, 10.0, 10.0])
    mechanism = IntervalChoice(Fraction(2), 4)
    left, right = np.tile(ends[:-1], DRAWS), np.tile(ends[1:], DRAWS)
    chosen, cut = Randomness(2).draw(mechanism, np.tile(score, DRAWS), left, right, np.arange(DRAWS + 1) * 4)
    found = np.bincount(np.searchsorted(ends, cut, side="right") - 1, minlength=4)
    mass = np.diff(ends) * np.exp(factor * 0.5 * score)
    agrees(chisquare(found[:3], (mass / mass.sum())[:3] * DRAWS).pvalue, fits)
    np.testing.assert_array_equal(score[np.searchsorted(ends, cut, side="right") - 1], chosen)
    assert kstest(cut[chosen == 0.0] / 4, "uniform").pvalue > FITS
    if fits:
        np.testing.assert_allclose(laws.of_interval(mechanism, score, np.diff(ends)), mass / mass.sum())


@POWER
def test_counts_have_laplace_noise(factor, fits):
    noisy = Randomness(3).draw(Laplace(Fraction(1, 2)), np.full(DRAWS, 7))
    agrees(kstest(noisy - 7, "laplace", args=(0, 2 / factor)).pvalue, fits)
    below, above = laws.of_laplace(Laplace(Fraction(1, 2)), 7, 9)
    assert binomtest(int((noisy > 9).sum()), DRAWS, above).pvalue > FITS
    assert below + above == 1
    assert laws.of_laplace(Laplace(Fraction(1, 2)), 7, 5)[1] == pytest.approx(1 - math.exp(-1) / 2)


def test_samples_follow_their_weights():
    weights = np.array([0.5, 0.25, 0.25, 0.0])
    rows = Randomness(5).draw(Resample(), weights, 5000)
    assert rows.shape == (5000, 4)
    assert (np.diff(rows, axis=1) >= 0).all()
    times = np.bincount((rows == 0).sum(axis=1), minlength=5)
    law = [laws.of_resample(weights, k, 0) for k in range(5)]
    assert math.fsum(law) == pytest.approx(1)
    assert chisquare(times, np.array(law) * 5000).pvalue > FITS
    assert not (rows == 3).any()


def test_random_features():
    offered = np.tile([True, False, True, True, True], (DRAWS, 1))
    subset = Randomness(6).draw(SomeFeatures(3), offered)
    assert (subset.sum(axis=1) == 3).all()
    assert not subset[:, 1].any()
    assert chisquare(subset.sum(axis=0)[[0, 2, 3, 4]]).pvalue > FITS
    few = np.array([[True, False, False]])
    np.testing.assert_array_equal(Randomness(6).draw(SomeFeatures(2), few), few)


# --- who gets which records -------------------------------------------------------------------------------------------


def test_hard_records_weigh_more_in_the_second_phase():
    wrong = np.arange(1000) < 100  # e = .1, so the odds are (1 - e) / e = 9 and both kinds are drawn alike
    subsets = TwoPhases().subsets(wrong, 20, Randomness(2))
    hard = sum(int((subset < 100).sum()) for subset in subsets)
    assert binomtest(hard, 20_000, 0.5).pvalue > FITS
    assert TwoPhases().phases(7) == (4, 3)
    for everything in (np.ones(50, dtype=bool), np.zeros(50, dtype=bool)):
        assert len(np.concatenate(TwoPhases().subsets(everything, 2, Randomness(3)))) == 100
    assert [len(subset) for subset in Bootstrap().subsets(np.ones(0, dtype=bool), 2, Randomness(4))] == [0, 0]


# --- kernels ----------------------------------------------------------------------------------------------------------


def data(n=300, seed=0):
    generator = np.random.default_rng(seed)
    columns = np.column_stack(
        [generator.integers(0, 12, n).astype(float), generator.integers(0, 4, n), generator.normal(0, 4, n)]
    )
    columns[::9, 0] = np.nan
    X = {"x": columns[:, 0], "c": np.array(["a", "b", "other", ""])[columns[:, 1].astype(int)], "z": columns[:, 2]}
    return X, generator.integers(0, 3, n)


def nodes_of(rule, X, labels, rows, low=None, high=None):
    branching = rule(SCHEMA, 4)
    raw = RawRecords.labelled(branching.read(X), labels, branching)
    cuts = branching.cuts
    low = branching.low[cuts] if low is None else low
    high = branching.high[cuts] if high is None else high
    roots = OpenNodes.roots(raw, [rows])
    return replace(roots, low=np.array([low]), high=np.array([high]))


def gini(n):
    return sum(n) and -(sum(n) - sum(k * k for k in n) / sum(n))


@pytest.mark.parametrize("rows", [0, 1, 200])
def test_intervals_are_their_plain_twin(rows):
    X, labels = data()
    nodes = nodes_of(cut_ranges, X, labels, np.arange(rows))
    offered = np.ones((1, 3), dtype=bool)
    ((node, feature, (score, left, right, start)),) = nodes.cut_intervals(offered)
    assert node.tolist() == [0, 0]
    assert feature.tolist() == [0, 2]
    for run, (column, low, high) in enumerate(((0, 0.0, 10.0), (2, -5.0, 5.0))):
        values = nodes.data.columns[column][:rows]
        edges = [low, *np.unique(values[~np.isnan(values)]), high]
        part = slice(start[run], start[run + 1])
        np.testing.assert_array_equal(left[part], edges[:-1])
        np.testing.assert_array_equal(right[part], edges[1:])
        for place, edge in zip(range(part.start, part.stop), edges[1:], strict=True):
            below = [value < edge for value in values]
            if place == part.stop - 1:
                below = [not math.isnan(value) for value in values]  # beyond the largest value
            sides = [
                [sum(side == here and label == k for side, label in zip(below, labels, strict=False)) for k in range(3)]
                for here in (True, False)
            ]
            assert score[place] == pytest.approx(sum(map(gini, sides)), abs=1e-9)


def test_what_is_cut_is_clipped_and_missing_goes_right():
    X = {"x": [-3.0, 4.0, np.inf, np.nan], "c": ["a", "b", "other", ""], "z": [0.0] * 4}
    columns = cut_ranges(SCHEMA, 5).read(X)
    np.testing.assert_array_equal(columns[:, 0], [0, 4, 10, np.nan])
    branch = np.empty(4, dtype=np.int64)
    rows, zero = np.arange(4), np.zeros(4, dtype=np.int64)
    cut, none = np.array([5.0]), np.zeros((1, 0), dtype=bool)
    kernels.branches(columns.T.copy(), rows, zero, zero[:1], cut, cut, none, np.array([-1, 0, -1]), branch)
    assert branch.tolist() == [0, 0, 1, 1]


def test_records_are_grouped_in_their_order():
    records, branch = np.array([5, 3, 9, 1, 7]), np.array([2, 0, 2, 0, 1])
    data = RawRecords(np.zeros((3, 10)), np.zeros(10, dtype=np.int64), cut_ranges(SCHEMA, 5))
    children = OpenNodes.roots(data, [records]).children(np.array([1]), np.zeros(1), np.array([4]), branch)
    assert children.records.tolist() == [3, 1, 7, 5, 9]
    assert children.node.tolist() == [0, 0, 1, 2, 2]
