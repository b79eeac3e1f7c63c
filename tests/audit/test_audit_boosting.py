"""The exact law of two rounds of boosting on all small data sets and their neighbors: the loss is never above epsilon.

Everything that is drawn counts as released, but for the coins of a sample. Noisy weights are told by the cell of a coarse
public grid, whose end cells lose all that the noise loses.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from audit_helpers import Codes, TwiceTheNoise, TwiceTheRate, worst_over
from helpers import data_sets, exact_law, make_table
from products import thinned

import hedgerow as hr
from hedgerow.audit import Grid
from hedgerow.audit.exact import open_law
from hedgerow.curator import Queryable
from hedgerow.errors import BudgetExceeded
from hedgerow.mechanisms import Exponential, Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.claim import Claim
from hedgerow.scores import Error, Max, multiway
from hedgerow.trees import AllRecords, LeafShare, NoisyCounts, Recipe, SelectTest, Weighted
from hedgerow.trees.boosting import UNIT, BoostingPlan, BoostingRecipe, Discrete, Lookup, MadaBoost, Real, SmoothBoost

HALF = Fraction(1, 2)


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
            self.recipe, schema, Claim(Fraction(1)),
            rounds=self.rounds, max_depth=self.depth, max_bins=2,
        )  # fmt: skip

    @property
    def grid(self):
        unit = 1 if isinstance(self.recipe.tree.assign, Weighted) else UNIT
        return Grid((0,), (0, self.answer * unit))

    @property
    def types(self):
        return tuple(product((0, 1), repeat=self.features + 1))

    def fit(self, records):
        plan = self.plan()
        planned = cost(plan.event).epsilon
        assert planned <= 1

        def fit(source):
            curator = Queryable(make_table(records, (2,) * self.features), Fraction(1), source)
            plan.fit(curator)
            assert curator.spent <= planned

        return fit


SHARED, BY_MAX, REAL, MADABOOST = AllRecords(), SelectTest(score=Max()), Real(), MadaBoost()


def recipe(assign=SHARED, split=BY_MAX, votes=REAL, weights=MADABOOST, share=HALF):
    tree = Recipe(assign=assign, candidates=multiway, levels=LeafShare(share), split=split, leaf=NoisyCounts())
    return BoostingRecipe(tree, votes, weights)


def worst_of(case, most, types=None):
    """Return the largest loss over all data sets of at most so many records."""
    return worst_over(
        {records: open_law(case.fit(records), case.grid) for records in data_sets(most, types or case.types)}
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
    "smooth": (Case(recipe(votes=Discrete(level=2.0), weights=SmoothBoost())), 1, None, 0.4),
}  # fmt: skip
SLOW = {
    "one feature": (CASES["one feature"][0], 4, 0.8),
    "two features": (CASES["two features"][0], 4, 0.6),
    "two features, error": (Case(recipe(split=SelectTest(score=Error())), features=2), 2, 0.5),
    "two features, tests": (TESTS_FIRST, 2, 0.4),
    "discrete": (Case(recipe(votes=Discrete())), 4, 0.5),
    "smooth": (Case(recipe(votes=Discrete(level=2.0), weights=SmoothBoost())), 4, 0.5),
}


@pytest.fixture(autouse=True)
def _binary_codes(monkeypatch):
    monkeypatch.setattr("hedgerow.trees.boosting.Encoder", Codes)


@pytest.mark.parametrize("name", thinned(CASES, 2))
def test_boosting_costs_at_most_epsilon(name):
    case, most, types, floor = CASES[name]
    assert floor < worst_of(case, most, types) <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_boosting_costs_at_most_epsilon_on_larger_data_sets(name):
    case, most, floor = SLOW[name]
    assert floor < worst_of(case, most) <= 1 + 1e-9


@pytest.mark.parametrize("case", [Case(recipe()), Case(recipe(assign=Weighted(HALF), votes=Discrete()), rounds=1)])
def test_the_open_last_counts_lose_what_the_whole_law_loses(case):
    """One run for all outcomes of the last draw against one for each."""
    few = ((), ((0, 1),))

    def told(records):
        fit = case.fit(records)
        return lambda source: (fit(source), tuple(source.told))

    whole = worst_over({records: exact_law(told(records), case.grid) for records in few})
    assert worst_over({records: open_law(case.fit(records), case.grid) for records in few}) == pytest.approx(whole)


# Samples: the coins are hidden.


def sampled(depth, rounds=2):
    return Case(
        recipe(assign=Weighted(HALF), split=SelectTest(Exponential, Max()), votes=Discrete(), share=LEAVES_FIRST),
        depth=depth,
        rounds=rounds,
    )


def test_boosting_by_sampling_costs_at_most_epsilon():
    assert 0.7 < worst_of(sampled(0), 2, ONE_LABEL_EACH) <= 1 + 1e-9


def test_a_tree_of_a_sample_costs_at_most_epsilon():
    assert 0.5 < worst_of(sampled(1, rounds=1), 2) <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "most", "types"), [(0, 3, ONE_LABEL_EACH), (1, 2, None)])
def test_boosting_by_sampling_costs_at_most_epsilon_on_larger_data_sets(depth, most, types):
    assert 0.3 < worst_of(sampled(depth), most, types) <= 1 + 1e-9


# What the audit must not let pass.


def test_the_audit_catches_weights_that_look_at_other_records(monkeypatch):
    case = Case(recipe(), depth=0)
    types = ((0, 0), (0, 1))
    assert worst_of(case, 3, types) <= 1 + 1e-9
    monkeypatch.setattr(Lookup, "__call__", lambda self, m, y: np.full(len(y), self.unit * (len(y) % 2), np.uint64))
    assert worst_of(case, 3, types) > 1.5


def test_the_audit_catches_noise_of_half_the_size(monkeypatch):
    monkeypatch.setattr("hedgerow.mechanisms.noise.Geometric", TwiceTheNoise)
    assert worst_of(Case(recipe(), depth=0), 1) > 1.5


@pytest.mark.full
def test_the_audit_catches_a_selection_at_twice_its_budget(monkeypatch):
    wrong = Case(recipe(split=SelectTest(TwiceTheRate, Max()), share=SPLITS_FIRST), features=2)
    assert worst_of(wrong, 2, SECOND_BEST) > 1.2 * worst_of(TESTS_FIRST, 2, SECOND_BEST)


def test_the_audit_catches_a_sample_that_is_as_large_as_it_likes(monkeypatch):
    monkeypatch.setattr(Lookup, "within", lambda self, unit: Lookup(np.array([2**32], dtype=np.uint64), 0, 2**32))
    monkeypatch.setattr("hedgerow.mechanisms.WeightedCoin._allowed", lambda self, thresholds: thresholds)
    assert worst_of(sampled(0), 1, ONE_LABEL_EACH) > 1.3


def test_a_plan_that_forgets_to_share_among_its_rounds_is_refused():
    plan = Case(recipe()).plan()
    plan._rounds = 3
    curator = Queryable(make_table([(0, 0)], (2,)), Fraction(1), Randomness(0))
    with pytest.raises(BudgetExceeded):
        plan.fit(curator)
