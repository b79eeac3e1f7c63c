"""ForestClassifier: every part is one argument, and every combination keeps its budget."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from helpers import plan_at
from products import pairwise
from sklearn.model_selection import GridSearchCV

import hedgerow as hr
from hedgerow.mechanisms import SELECTIONS
from hedgerow.privacy.accounting import cost
from hedgerow.scores import binary
from hedgerow.systems.trees import ASSIGNMENTS, CRITERIA, LEVELS, STOPS
from hedgerow.trees.parts import UNIFORM, LeafShare

SCHEMA = hr.Schema(
    {"age": hr.Numeric(0, 100), "job": hr.Categorical(["nurse", "clerk", "none"]), "score": hr.Numeric(-1, 1)},
    classes=["no", "yes"],
)
GENERATOR = np.random.default_rng(0)
X = np.empty((600, 3), dtype=object)
X[:, 0] = GENERATOR.uniform(0, 100, 600)
X[:, 1] = GENERATOR.choice(["nurse", "clerk", "none"], 600)
X[:, 2] = GENERATOR.uniform(-1, 1, 600)
Y = np.where((X[:, 0] > 60) ^ (X[:, 1] == "nurse"), "yes", "no")


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize("candidates", ["binary", "multiway"])
@pytest.mark.parametrize(("leaf", "voting"), [("counts", "soft"), ("counts", "hard"), ("label", "hard")])
def test_every_assignment_test_and_leaf_learns_and_survives_a_file(assignment, candidates, leaf, voting, tmp_path):
    model = hr.ForestClassifier(
        100.0,
        schema=SCHEMA,
        n_estimators=3,
        max_depth=3,
        assignment=assignment,
        candidates=candidates,
        leaf=leaf,
        voting=voting,
    ).fit(X, Y)
    assert model.certificate_.holds
    assert model.score(X, Y) > 0.8
    model.save(tmp_path / "m")
    again = hr.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.certificate_ == model.certificate_


@pytest.mark.parametrize(
    "model",
    [
        hr.ForestClassifier(20.0, schema=SCHEMA, n_estimators=4, leaf="label", voting="hard"),
        hr.EDPRFClassifier(20.0, schema=SCHEMA),
        hr.PFDPDTClassifier(20.0, schema=SCHEMA),
        hr.EDPRFClassifier(20.0, schema=SCHEMA, variant="published", n_estimators=3),
    ],
    ids=lambda model: f"{type(model).__name__}-{model.variant}",
)
def test_no_class_is_impossible_because_no_tree_named_it(model):
    found = model.fit(X, Y).predict_proba(X)
    trees = len(model.model_.to_arrays()["roots"])
    votes = np.rint(found * (trees + 1) - 0.5)
    np.testing.assert_allclose(found, (votes + 0.5) / (trees + 1), rtol=1e-15)
    assert (votes.sum(axis=1) == trees).all()
    assert votes.max() >= 0.7 * trees  # some were nearly unanimous
    assert (votes.argmax(axis=1) == (model.predict(X) == "yes")).all()


PARTS = (ASSIGNMENTS, LEVELS, STOPS, CRITERIA, SELECTIONS, ["counts", "label"], ["add-remove", "replace-one"])


@pytest.mark.parametrize("parts", pairwise(*PARTS), ids="-".join)
def test_no_two_parts_together_plan_more_than_the_budget(parts):
    check_the_plan(*parts)


@pytest.mark.full
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_no_combination_of_parts_plans_more_than_the_budget(assignment):
    for parts in product([assignment], *PARTS[1:]):
        check_the_plan(*parts)


def check_the_plan(assignment, levels, stop, criterion, selection, leaf, adjacency):
    model = hr.ForestClassifier(
        schema=SCHEMA,
        n_estimators=5,
        assignment=assignment,
        levels=levels,
        stop=stop,
        criterion=criterion,
        selection=selection,
        leaf=leaf,
        voting="hard",
    )
    for epsilon in (Fraction(1, 100), Fraction(1, 3), Fraction(7)):
        spent = cost(plan_at(model, SCHEMA, epsilon, adjacency).event).under(adjacency).epsilon
        assert epsilon * Fraction(999, 1000) < spent <= epsilon


def test_the_defaults_follow_from_the_budget():
    for epsilon, levels in ((0.1, 3), (0.25, 6), (0.5, 7), (1, 7)):
        model = hr.ForestClassifier(epsilon, schema=SCHEMA).fit(X, Y)
        assert model.model_.forest.trees.levels.max() == levels
        assert len(model.model_.forest.roots) == 1
        assert np.all(model.model_.forest.candidates.arity == 2) == (epsilon >= 0.25)
    for candidates, epsilon, levels in (("binary", 0.1, 3), ("multiway", 0.1, 3), ("multiway", 0.25, 4)):
        model = hr.ForestClassifier(epsilon, schema=SCHEMA, candidates=candidates).fit(X, Y)
        assert model.model_.forest.trees.levels.max() == levels


def test_soft_votes_of_labels_are_refused():
    with pytest.raises(hr.ConfigurationError, match="leaf='counts' or voting='hard'"):
        hr.ForestClassifier(schema=SCHEMA, leaf="label").fit(X, Y)


def test_parts_can_be_searched():
    search = GridSearchCV(
        hr.ForestClassifier(5.0, schema=SCHEMA), {"candidates": ["binary", "multiway"], "levels": list(LEVELS)}, cv=2
    )
    assert search.fit(X, Y).best_score_ > 0.6


def test_soft_votes_are_the_mean_of_the_leaves_shares():
    model = hr.ForestClassifier(50.0, schema=SCHEMA, n_estimators=2).fit(X, Y).model_
    codes = model.encoder.transform(X[:40])
    forest, expected = model.forest, np.zeros((40, 2))
    for row, record in enumerate(codes):
        for node in forest.roots:
            while forest.test[node] >= 0:
                test = forest.test[node]
                node = (
                    forest.first_child[node]
                    + forest.candidates.branches([test])[0, record[forest.candidates.feature[test]]]
                )
            expected[row] += model.votes[node] / model.link.total
    assert np.allclose(model.probabilities(X[:40]), expected)
    assert np.allclose(model.votes.sum(axis=1), model.link.total / 2)


def test_leaves_without_records_say_what_all_leaves_say():
    model = hr.ForestClassifier(1000.0, schema=SCHEMA, max_depth=2).fit(X, ["yes"] * 600).model_
    assert (model.votes[model.forest.test < 0] / model.link.total).min(axis=0)[1] * len(model.forest.roots) > 0.9


def test_the_counts_of_all_leaves_are_the_records():
    forest = hr.ForestClassifier(10_000.0, schema=SCHEMA, max_depth=3).fit(X, Y).model_.forest
    assert forest.counts.sum(axis=0).tolist() == [(Y == "no").sum(), (Y == "yes").sum()]
    assert not forest.counts[forest.test >= 0].any()


def test_binary_tests_of_a_numeric_and_of_a_categorical_feature():
    # bins 0 to 2, missing 3; values 0 and 1, missing 2, undeclared 3
    tests = binary([4, 4], [True, False])
    assert tests.feature.tolist() == [0, 0, 0, 1, 1, 1]
    assert tests.branches(range(6)).tolist() == [
        [0, 1, 1, 1],
        [0, 0, 1, 1],
        [0, 0, 0, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
        [1, 1, 0, 1],
    ]


def test_levels_sum_to_the_budget_exactly():
    for rule in (UNIFORM, LeafShare(), LeafShare(Fraction(1, 3))):
        for levels in (1, 2, 7):
            assert sum(rule.budgets(Fraction(3, 10), levels)) == Fraction(3, 10)
    assert LeafShare().budgets(Fraction(1), 3) == [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]


def test_labels_are_not_held_as_a_table_of_votes_by_class():
    """Of many nodes and classes, it would not fit the memory that a file may take."""
    model = hr.EDPRFClassifier(5.0, schema=SCHEMA, random_state=0).fit(X, Y)
    model.predict(X)
    assert (model.feature_importances_ >= 0).all()
    assert model.model_.votes is None
    assert "form" not in vars(model.model_)
    np.testing.assert_array_equal(
        model.model_.form.link(model.model_.form.sums(model.model_.encoder.transform(X))), model.predict_proba(X)
    )
