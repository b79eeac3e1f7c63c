"""The exact law of two rounds of boosting on all small data sets and their neighbors: the loss is never above epsilon.

Everything that is drawn counts as released, but for the coins of a sample. Noisy weights are told by the cell of a coarse
public grid, whose end cells lose all that the noise loses. Where no coin is hidden, the last round's counts are not walked
through: given all the rest they are independent of one another, so their largest losses add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from helpers import data_sets, make_table
from test_audit_parts import GridReplay, OnGrid, TwiceTheNoise, TwiceTheRate, replay_with, worst_over

import hedgerow as hr
import hedgerow.audit.exact
from hedgerow.audit import exact_law
from hedgerow.boosting import BoostingPlan, BoostingRecipe, Discrete, MadaBoost, Real, SmoothBoost
from hedgerow.boosting.weights import UNIT, Lookup
from hedgerow.curator import Curator
from hedgerow.errors import BudgetExceeded
from hedgerow.mechanisms import Exponential, Geometric, Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.scores import Error, Gini, Max
from hedgerow.trees import AllRecords, LeafShare, Multiway, NoisyCounts, Recipe, SelectTest, Weighted

HALF = Fraction(1, 2)


class Codes:
    """Binary features as they are: a categorical feature of a schema also has codes for what is missing or undeclared."""

    def __init__(self, schema, max_bins):
        self.schema = schema
        self.n_codes = np.full(len(schema.names), 2)


@dataclass(frozen=True)
class Case:
    """One kind of boosting; ``answer`` is what the grid's upper cell says, in records."""

    recipe: BoostingRecipe
    features: int = 1
    depth: int = 1
    rounds: int = 2
    answer: int = 8

    def plan(self):
        schema = hr.Schema({f"f{i}": hr.Categorical(["a", "b"]) for i in range(self.features)}, classes=["no", "yes"])
        return BoostingPlan(
            self.recipe, schema, Fraction(1), Fraction(0), "add-remove",
            rounds=self.rounds, max_depth=self.depth, max_bins=2,
        )  # fmt: skip

    @property
    def unit(self):
        return 1 if isinstance(self.recipe.tree.assign, Weighted) else UNIT

    @property
    def types(self):
        return tuple(product((0, 1), repeat=self.features + 1))

    def fit(self, records):
        plan = self.plan()
        planned = cost(plan.event).epsilon
        assert planned <= 1

        def fit(source):
            curator = Curator(make_table(records, (2,) * self.features), Fraction(1), source)
            plan.boost(curator)
            assert curator.spent <= planned
            return tuple(source.told)

        return fit


SHARED, BY_MAX, REAL, MADABOOST = AllRecords(), SelectTest(score=Max()), Real(), MadaBoost()


def recipe(assign=SHARED, split=BY_MAX, votes=REAL, weights=MADABOOST, share=HALF):
    tree = Recipe(assign=assign, candidates=Multiway(), levels=LeafShare(share), split=split, leaf=NoisyCounts())
    return BoostingRecipe(tree, votes, weights)


class LastCountsOpen(GridReplay):
    """Does not follow the last counts: it keeps their laws."""

    batches = 2

    def __init__(self, script, known):
        super().__init__(script, known)
        self.seen = 0
        self.last = None

    def draw(self, mechanism, *statistics):
        self.seen += isinstance(mechanism, Geometric)
        if not isinstance(mechanism, Geometric) or self.seen < self.batches:
            return super().draw(mechanism, *statistics)
        on_grid = OnGrid(mechanism, self.ends)
        self.last = np.array([self._law(on_grid, (value,)) for value in statistics[0].ravel()])
        return np.zeros_like(statistics[0])


def open_laws(case, records):
    """Return, for everything that is told before the last counts, its probability and the laws of these."""
    unit = case.unit
    kind = type("Open", (LastCountsOpen,), {"ends": (0,), "answers": (0, case.answer * unit), "batches": case.rounds})
    laws, known, script, fit = {}, {}, [], case.fit(records)
    while script is not None:
        replay = kind(script, known)
        told = fit(replay)
        laws[told] = (replay.probability, replay.last)
        script = replay.next_script()
    assert sum(probability for probability, _ in laws.values()) == pytest.approx(1, abs=1e-9)
    return laws


def open_loss(laws, others):
    assert laws.keys() == others.keys()
    worst = 0.0
    for told, (probability, last) in laws.items():
        other_probability, other_last = others[told]
        ratio = np.log(last / other_last)
        before = math.log(probability / other_probability)
        worst = max(worst, before + ratio.max(axis=1).sum(), -before - ratio.min(axis=1).sum())
    return worst


def worst_of(case, most, types=None):
    """Return the largest loss over all data sets of at most so many records."""
    laws = {records: open_laws(case, records) for records in data_sets(most, types or case.types)}
    return max(
        open_loss(law, laws[records[:i] + records[i + 1 :]])
        for records, law in laws.items()
        for i in range(len(records))
    )


SPLITS_FIRST = Fraction(1, 10)  # most of the budget for tests, so that their loss shows
ONE_LABEL_EACH = ((0, 0), (0, 1))
SECOND_BEST = ((0, 0, 0), (0, 1, 1))  # the second feature tells them apart, the first does not
LEAVES_FIRST = Fraction(9, 10)  # as one feature's tests are no choice
TESTS_FIRST = Case(recipe(share=SPLITS_FIRST), features=2)
CASES = {
    "one feature": (Case(recipe(share=LEAVES_FIRST)), 2, None, 0.8),
    "labels alone": (Case(recipe(), depth=0, rounds=3), 4, ONE_LABEL_EACH, 0.9),
    "two features": (Case(recipe(), features=2), 2, SECOND_BEST, 0.6),
    "two features, tests": (TESTS_FIRST, 2, SECOND_BEST, 0.4),
    "error, exponential": (
        Case(recipe(split=SelectTest(Exponential, Error()), share=SPLITS_FIRST), features=2), 2, SECOND_BEST, 0.3,
    ),
    "discrete": (Case(recipe(votes=Discrete())), 1, None, 0.4),
    "smooth": (Case(recipe(votes=Discrete(level=1.0), weights=SmoothBoost())), 1, None, 0.4),
}  # fmt: skip
SLOW = {
    "one feature": (CASES["one feature"][0], 4, 0.8),
    "two features": (CASES["two features"][0], 4, 0.6),
    "two features, Gini": (Case(recipe(split=SelectTest(score=Gini())), features=2), 2, 0.5),
    "two features, tests": (TESTS_FIRST, 2, 0.4),
    "discrete": (Case(recipe(votes=Discrete())), 4, 0.5),
    "smooth": (Case(recipe(votes=Discrete(level=1.0), weights=SmoothBoost())), 4, 0.5),
}


@pytest.fixture(autouse=True)
def _binary_codes(monkeypatch):
    monkeypatch.setattr("hedgerow.boosting.plan.Encoder", Codes)


@pytest.mark.parametrize("name", CASES)
def test_boosting_costs_at_most_epsilon(name):
    case, most, types, floor = CASES[name]
    assert floor < worst_of(case, most, types) <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_boosting_costs_at_most_epsilon_on_larger_data_sets(name):
    case, most, floor = SLOW[name]
    assert floor < worst_of(case, most) <= 1 + 1e-9


def test_the_open_last_counts_lose_what_the_whole_law_loses(monkeypatch):
    """The shortcut of this module against walking through everything."""
    case = Case(recipe())
    monkeypatch.setattr(hedgerow.audit.exact, "Replay", replay_with(((0,), (0, case.answer * UNIT))))
    few = ((), ((0, 1),))
    whole = worst_over({records: exact_law(case.fit(records)) for records in few})
    assert open_loss(*(open_laws(case, records) for records in few)) == pytest.approx(whole, abs=1e-9)


# Samples: the coins are hidden, so the whole law is walked through.


def sampled(depth, rounds=2):
    return Case(
        recipe(assign=Weighted(HALF), split=SelectTest(Exponential, Max()), votes=Discrete(), share=LEAVES_FIRST),
        depth=depth,
        rounds=rounds,
    )


def worst_of_samples(case, most, monkeypatch, types=None):
    monkeypatch.setattr(hedgerow.audit.exact, "Replay", replay_with(((0,), (0, case.answer))))
    laws = {records: exact_law(case.fit(records)) for records in data_sets(most, types or case.types)}
    for law in laws.values():
        assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    return worst_over(laws)


def test_boosting_by_sampling_costs_at_most_epsilon(monkeypatch):
    assert 0.7 < worst_of_samples(sampled(0), 2, monkeypatch, ONE_LABEL_EACH) <= 1 + 1e-9


def test_a_tree_of_a_sample_costs_at_most_epsilon(monkeypatch):
    assert 0.5 < worst_of_samples(sampled(1, rounds=1), 2, monkeypatch) <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "most", "types"), [(0, 3, ONE_LABEL_EACH), (1, 2, None)])
def test_boosting_by_sampling_costs_at_most_epsilon_on_larger_data_sets(depth, most, types, monkeypatch):
    assert 0.3 < worst_of_samples(sampled(depth), most, monkeypatch, types) <= 1 + 1e-9


# What the audit must not let pass.


def test_the_audit_catches_weights_that_look_at_other_records(monkeypatch):
    case = Case(recipe(), depth=0)
    types = ((0, 0), (0, 1))
    assert worst_of(case, 3, types) <= 1 + 1e-9
    monkeypatch.setattr(Lookup, "__call__", lambda self, m, y: np.full(len(y), self.unit * (len(y) % 2), np.uint64))
    assert worst_of(case, 3, types) > 1.5


def test_the_audit_catches_noise_of_half_the_size(monkeypatch):
    monkeypatch.setattr("hedgerow.mechanisms.budget.Geometric", TwiceTheNoise)
    assert worst_of(Case(recipe(), depth=0), 1) > 1.5


def test_the_audit_catches_a_selection_at_twice_its_budget(monkeypatch):
    wrong = Case(recipe(split=SelectTest(TwiceTheRate, Max()), share=SPLITS_FIRST), features=2)
    assert worst_of(wrong, 2, SECOND_BEST) > 1.2 * worst_of(TESTS_FIRST, 2, SECOND_BEST)


def test_the_audit_catches_a_sample_that_is_as_large_as_it_likes(monkeypatch):
    monkeypatch.setattr(Lookup, "within", lambda self, unit: Lookup(np.array([2**32], dtype=np.uint64), 0, 2**32))
    monkeypatch.setattr("hedgerow.mechanisms.WeightedCoin._allowed", lambda self, thresholds: thresholds)
    assert worst_of_samples(sampled(0), 1, monkeypatch, ONE_LABEL_EACH) > 1.3


def test_a_plan_that_forgets_to_share_among_its_rounds_is_refused():
    plan = Case(recipe()).plan()
    plan._rounds = 3
    curator = Curator(make_table([(0, 0)], (2,)), Fraction(1), Randomness(0))
    with pytest.raises(BudgetExceeded):
        plan.boost(curator)
