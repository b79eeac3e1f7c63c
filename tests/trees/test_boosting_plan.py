"""Plans stay within their claims, fits within their plans, and curators within their budgets."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from costs import SUMS, cost_of, stated, sums
from helpers import fit_plan

import hedgerow as hr
from hedgerow.curator import Queryable, SelectTests
from hedgerow.errors import BudgetExceeded, ConfigurationError, FileFormatError
from hedgerow.mechanisms import Exponential, Geometric, PerRecordCoin, Randomness, RoundedNormal
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.claim import Claim
from hedgerow.scores import Error, Max, binary, multiway
from hedgerow.table import ClassCounts, MemoryTable, Sizes
from hedgerow.trees import (
    AllRecords,
    LeafShare,
    NoisyCounts,
    NoisySize,
    RandomTest,
    Recipe,
    SelectLabel,
    SelectTest,
    Subspace,
    Weighted,
)
from hedgerow.trees.boosting import (
    UNIT,
    VOTE_STEPS,
    BoostingPlan,
    BoostingRecipe,
    Discrete,
    MadaBoost,
    Real,
    SmoothBoost,
)

HALF = Fraction(1, 2)
SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Categorical(["x", "y", "z"])}, classes=["no", "yes", "maybe"])
BOTH_ADJACENCIES = ["add-remove", "replace-one"]


def frame(rows=150, seed=0):
    generator = np.random.default_rng(seed)
    a, b = generator.uniform(0, 1, rows), generator.choice(["x", "y", "z"], rows)
    return pd.DataFrame({"a": a, "b": b}), np.where(a > 0.6, "yes", np.where(b == "x", "maybe", "no"))


X, Y = frame()


REAL, MADABOOST = Real(), MadaBoost()


def recipe(votes=REAL, weights=MADABOOST, **parts):
    tree = {"assign": AllRecords(), "candidates": binary, "levels": LeafShare(HALF), "leaf": NoisyCounts()} | parts
    return BoostingRecipe(Recipe(**{"split": SelectTest(score=Max()), **tree}), votes, weights)


RECIPES = {
    "stumps": recipe(candidates=multiway),
    "binary, discrete": recipe(Discrete(), split=SelectTest(Exponential, Error())),
    "smooth": recipe(Discrete(level=2.0), SmoothBoost()),
    "random": recipe(split=RandomTest(), levels=LeafShare(Fraction(1))),
    "subspace": recipe(subspace=Subspace(1)),
    "sizes": recipe(stop=NoisySize()),
}
SAMPLES = {"weighted": recipe(assign=Weighted(HALF)), "of a third": recipe(assign=Weighted(Fraction(1, 3)))}


def plan_of(parts, epsilon=Fraction(1), delta=Fraction(0), adjacency="add-remove", rounds=4, max_depth=2):
    return BoostingPlan(parts, SCHEMA, Claim(epsilon, delta, adjacency), rounds=rounds, max_depth=max_depth, max_bins=4)


def table_of(plan, X=X, Y=Y):
    encoder = plan.encoder
    return MemoryTable(encoder.transform(X), encoder.labels(Y), encoder.n_codes, len(SCHEMA.classes))


def curator_of(plan, seed=0, ceiling=None):
    return Queryable(table_of(plan), cost(plan.event) if ceiling is None else ceiling, Randomness(seed))


@pytest.mark.parametrize("adjacency", BOTH_ADJACENCIES)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)], ids=["pure", "concentrated"])
@pytest.mark.parametrize("name", [*RECIPES, *SAMPLES])
def test_a_fit_spends_at_most_what_was_planned_and_claimed(name, delta, adjacency):
    if name in SAMPLES and delta:
        pytest.skip("samples are for pure epsilon")
    plan = plan_of((RECIPES | SAMPLES)[name], delta=delta, adjacency=adjacency)
    planned = cost(plan.event)
    assert planned.under(adjacency).delta(Fraction(1)) <= delta
    curator = curator_of(plan)
    plan.fit(curator)
    spent = curator.total
    assert spent.epsilon + spent.mu_squared > 0
    assert spent.protected
    for part, amount in sums(spent).items():
        assert amount <= sums(planned)[part], part
    assert (spent.draws > 0) == (delta > 0)
    if delta and name != "sizes":  # stops are charged for the most draws of a batch, counts for those of the leaves
        assert planned.draws < 2 * spent.draws
    if name in ("stumps", "random") and not delta:  # every path is as long as the costliest
        assert spent.epsilon == planned.epsilon


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1), Fraction(8)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 10**5), Fraction(1, 100)])
@pytest.mark.parametrize("adjacency", BOTH_ADJACENCIES)
@pytest.mark.parametrize("rounds", [1, 7, 40])
def test_the_largest_plan_is_within_the_claim_and_hardly_more_is_not(epsilon, delta, adjacency, rounds):
    plan = plan_of(RECIPES["binary, discrete"], epsilon, delta, adjacency, rounds, max_depth=1)
    assert cost(plan.event).under(adjacency).delta(epsilon) <= delta
    less = cost(plan.event).under(adjacency).delta(epsilon * Fraction(97, 100))
    assert less > delta


@pytest.mark.parametrize("adjacency", BOTH_ADJACENCIES)
@pytest.mark.parametrize("rounds", [1, 3, 50])
@pytest.mark.parametrize("name", [*RECIPES, *SAMPLES])
def test_a_pure_plan_uses_nearly_all_of_its_epsilon(name, rounds, adjacency):
    spent = cost(plan_of((RECIPES | SAMPLES)[name], HALF, adjacency=adjacency, rounds=rounds).event).under(adjacency)
    assert HALF * (1 - Fraction(1, 1000)) < spent.epsilon <= HALF
    assert spent.mu_squared == spent.draws == 0


def watched(monkeypatch):
    """The noises of class counts and the mechanisms that select tests, as they are asked."""
    noises, selections, answer = [], [], Queryable.answer

    def asked(curator, query, mechanism):
        if isinstance(query, ClassCounts):
            noises.append(mechanism)
        if isinstance(query, SelectTests):
            selections.append(mechanism)
        return answer(curator, query, mechanism)

    monkeypatch.setattr(Queryable, "answer", asked)
    return noises, selections


def test_many_rounds_are_cheaper_with_delta(monkeypatch):
    noises = watched(monkeypatch)[0]
    fit_plan(plan_of(RECIPES["stumps"], rounds=60), X, Y, Randomness(0))
    pure = noises[-1].deviation
    fit_plan(plan_of(RECIPES["stumps"], delta=Fraction(1, 10**5), rounds=60), X, Y, Randomness(0))
    assert noises[-1].deviation < pure / 2


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("adjacency", BOTH_ADJACENCIES)
def test_a_sample_has_no_guarantee_with_delta(name, adjacency):
    with pytest.raises(ConfigurationError, match="only pure epsilon is amplified"):
        plan_of(SAMPLES[name], delta=Fraction(1, 10**6), adjacency=adjacency)


def test_leaves_without_counts_are_refused():
    with pytest.raises(ConfigurationError, match="leaves with counts"):
        plan_of(recipe(leaf=SelectLabel()))


OTHERS = [part for part in SUMS if part != "epsilon"]


@pytest.mark.parametrize(("delta", "part"), [(0, "epsilon"), *((Fraction(1, 10**6), part) for part in OTHERS)])
def test_a_curator_with_less_than_a_fit_takes_stops_it(delta, part):
    """Each of the sums is a ceiling by itself."""
    plan = plan_of(RECIPES["stumps"], delta=Fraction(delta))
    curator = curator_of(plan)
    plan.fit(curator)
    enough, taken = curator.total, sums(curator.total)[part]
    plan.fit(curator_of(plan, ceiling=enough))
    less = replace(enough, **{part: taken - 1 if part == "draws" else taken * Fraction(99, 100)})
    with pytest.raises(BudgetExceeded):
        plan.fit(curator_of(plan, ceiling=less))


def test_a_curator_refuses_a_question_beyond_any_of_its_sums():
    plan = plan_of(RECIPES["stumps"])
    noise = RoundedNormal(Fraction(1, 200), Fraction(UNIT**2))
    ceiling = cost_of(mu_squared=10 * stated(noise), draws=1000)
    curator = curator_of(plan, ceiling=ceiling)
    root = curator.assign(PerRecordCoin(1), weights=MadaBoost().lookup(0))
    for asked in range(1, 11):
        curator.answer(ClassCounts(root), noise)
        assert curator.total.mu_squared == asked * stated(noise)
        assert curator.total.draws == 3 * asked  # three classes
    with pytest.raises(BudgetExceeded):
        curator.answer(ClassCounts(root), noise)
    with pytest.raises(BudgetExceeded):  # a pure step has a rho, which would come on top
        curator.answer(ClassCounts(root), Geometric(Fraction(1, 10**6), UNIT))
    assert curator.total == cost_of(mu_squared=ceiling.mu_squared, draws=30)


def test_a_curator_with_a_pure_ceiling_refuses_normal_noise():
    plan = plan_of(RECIPES["stumps"])
    curator = curator_of(plan)
    root = curator.assign(PerRecordCoin(1))
    with pytest.raises(BudgetExceeded):
        curator.answer(Sizes(root), RoundedNormal(Fraction(1, 10**6)))


def test_a_curator_counts_the_draws_of_a_question_before_it_answers():
    noise = RoundedNormal(Fraction(1, 100))
    curator = curator_of(plan_of(RECIPES["stumps"]), ceiling=cost_of(mu_squared=1, draws=2))
    root = curator.assign(PerRecordCoin(1))
    with pytest.raises(BudgetExceeded):  # three classes are three draws
        curator.answer(ClassCounts(root), noise)
    assert curator.total.draws == 0
    curator.answer(Sizes(root), noise)
    assert curator.total.draws == 1


# What the fit does.


def decision_after(model, rounds):
    """Return what the trees of so many rounds say."""
    sums = np.zeros((len(X), model.votes.shape[1]), dtype=np.int64)
    model.forest.trees.add_votes(model.encoder.transform(X), model.votes, sums, slice(rounds))
    return model.shown(sums / model.vote_steps)


@pytest.mark.parametrize("name", [*RECIPES, *SAMPLES])
def test_what_the_table_learned_is_what_the_model_says(name):
    plan = plan_of((RECIPES | SAMPLES)[name], Fraction(50))
    curator = curator_of(plan)
    model = plan.fit(curator)
    before_the_last = decision_after(model, len(model.forest.roots) - 1)
    assert np.array_equal(np.rint(before_the_last * VOTE_STEPS), curator._table._margins)
    assert np.any(curator._table._margins)


@pytest.mark.parametrize("name", [*RECIPES, *SAMPLES])
def test_a_decision_is_the_sum_of_votes_by_a_plain_walk(name):
    plan = plan_of((RECIPES | SAMPLES)[name], Fraction(20))
    model = fit_plan(plan, X, Y, Randomness(1))
    forest, codes = model.forest, plan.encoder.transform(X)
    votes = model.to_arrays()["votes"]
    sums = np.zeros((len(codes), 3), dtype=np.int64)
    stages = []
    for root in forest.roots:
        for record, cells in enumerate(codes):
            node = root
            while forest.test[node] >= 0:
                test = forest.test[node]
                branch = forest.candidates.branches([test])[0, cells[forest.candidates.feature[test]]]
                node = forest.first_child[node] + branch
            sums[record] += votes[node]
        stages.append(sums.copy())
    assert np.array_equal(model.decision(X) * VOTE_STEPS, sums)
    assert len(stages) == len(forest.roots) == 4
    for rounds, expected in enumerate(stages, start=1):
        assert np.array_equal(decision_after(model, rounds) * VOTE_STEPS, expected)
    odds = np.exp(sums / VOTE_STEPS)
    assert np.allclose(model.probabilities(X), odds / odds.sum(axis=1, keepdims=True))


def test_each_round_asks_for_the_weights_after_so_many_rounds(monkeypatch):
    asked = []
    whole = SmoothBoost.lookup
    monkeypatch.setattr(SmoothBoost, "lookup", lambda self, rounds: asked.append(rounds) or whole(self, rounds))
    plan = plan_of(RECIPES["smooth"])
    asked.clear()
    fit_plan(plan, X, Y, Randomness(0))
    assert asked == [0, 1, 2, 3]


def test_probabilities_of_large_votes_do_not_overflow():
    model = fit_plan(plan_of(RECIPES["stumps"]), X, Y, Randomness(0))
    arrays = model.to_arrays()
    votes = np.where(arrays["votes"] > 0, 1 << 39, -(1 << 39))
    found = plan_of(RECIPES["stumps"]).restore({**arrays, "votes": votes}).probabilities(X)
    assert np.all(np.isfinite(found))
    assert np.allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("name", [*RECIPES, *SAMPLES])
def test_a_model_comes_back_from_its_arrays(name):
    plan = plan_of((RECIPES | SAMPLES)[name], Fraction(20))
    model = fit_plan(plan, X, Y, Randomness(1))
    again = plan_of((RECIPES | SAMPLES)[name], Fraction(20)).restore(model.to_arrays())
    assert np.array_equal(again.decision(X), model.decision(X))
    assert all(np.array_equal(array, model.to_arrays()[key]) for key, array in again.to_arrays().items())


MODEL = fit_plan(plan_of(RECIPES["stumps"]), X, Y, Randomness(1)).to_arrays()
DAMAGES = {
    "none": lambda votes: None,
    "floats": lambda votes: votes / 1.0,
    "fewer": lambda votes: votes[:-1],
    "narrower": lambda votes: votes[:, :2],
    "huge": lambda votes: votes + 2**41,
    "hugely negative": lambda votes: votes - 2**41,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_votes_are_refused(damage):
    arrays = {name: array for name, array in MODEL.items() if name != "votes"}
    votes = DAMAGES[damage](MODEL["votes"])
    with pytest.raises(FileFormatError, match=r"votes is damaged|more trees than rounds"):
        plan_of(RECIPES["stumps"]).restore(arrays if votes is None else {**arrays, "votes": votes})


def test_more_trees_than_rounds_are_refused():
    with pytest.raises(FileFormatError):
        plan_of(RECIPES["stumps"], rounds=3).restore(MODEL)


def test_only_weighted_counts_of_the_unit_are_asked_for(monkeypatch):
    """Each leaf's noise and each selection is for records of the largest weight."""
    noises, selections = watched(monkeypatch)
    fit_plan(plan_of(RECIPES["stumps"]), X, Y, Randomness(0))
    assert {(type(noise), noise.sensitivity) for noise in noises} == {(Geometric, UNIT)}
    assert {selection.score_range for selection in selections} == {Max().range * UNIT}
    noises.clear()
    fit_plan(plan_of(SAMPLES["weighted"]), X, Y, Randomness(0))
    assert {noise.sensitivity for noise in noises} == {1}
