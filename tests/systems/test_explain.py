"""What each feature adds to what a model says of a record adds up to it, for every private form."""

from itertools import product

import numpy as np
import pytest
from products import thinned

import hedgerow as hr
from hedgerow.parameters import VOTE_STEPS
from hedgerow.systems.registry import list_systems

GENERATOR = np.random.default_rng(3)
RECORDS = 1500
TABLE = {
    "a": np.where(GENERATOR.uniform(size=RECORDS) < 0.05, np.nan, GENERATOR.uniform(0, 1, RECORDS)),
    "b": GENERATOR.uniform(0, 1, RECORDS),
    "c": GENERATOR.choice(["x", "y", "z", "?"], RECORDS),
}
FEATURES = {"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1), "c": hr.Categorical(["x", "y", "z"])}
ODD = (TABLE["b"] > 0.5) ^ (TABLE["c"] == "x")
LABELS = {2: np.where(ODD, "yes", "no"), 3: np.where(ODD, "yes", np.where(TABLE["b"] < 0.3, "no", "maybe"))}
SCHEMAS = {
    2: hr.Schema(FEATURES, classes=["no", "yes"]),
    3: hr.Schema(FEATURES, classes=["no", "yes", "maybe"]),
}
KINDS = [getattr(hr, info.class_name) for info in list_systems()]


@pytest.mark.parametrize(("kind", "classes"), thinned(product(KINDS, [2, 3]), 3))
def test_contributions_and_baseline_add_up_to_what_the_model_says(kind, classes):
    model = kind(epsilon=20.0, schema=SCHEMAS[classes], random_state=0).fit(TABLE, LABELS[classes])
    found = model.explain(TABLE)
    assert found.names == ("a", "b", "c")
    assert found.contributions.shape == ((RECORDS, 3) if classes == 2 else (RECORDS, 3, classes))
    if hasattr(model, "decision_function"):
        assert found.scale == "log-odds"
        said = model.decision_function(TABLE)
    else:
        assert found.scale == "probability"
        said = model.predict_proba(TABLE)
        said = said[:, 1] if classes == 2 else said
    assert np.ptp(said) > 0
    np.testing.assert_allclose(found.baseline + found.contributions.sum(axis=1), said, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.total, said, rtol=0, atol=1e-9)
    assert set(found.cells[:, 2]) == {"x", "y", "z", "undeclared"}
    assert found.cells[np.isnan(TABLE["a"]), 0].tolist() == ["missing"] * int(np.isnan(TABLE["a"]).sum())


@pytest.mark.parametrize(("delta", "classes"), thinned([(0, 2), (0, 3), (1e-6, 2), (1e-6, 3)], 3))
def test_curves_add_up_to_the_last_bit(delta, classes):
    model = hr.HedgerowClassifier(epsilon=20.0, delta=delta, schema=SCHEMAS[classes], random_state=0)
    model.fit(TABLE, LABELS[classes])
    found = model.explain(TABLE)
    assert model.interactions_
    assert np.array_equal(found.baseline + found.contributions.sum(axis=1), model.decision_function(TABLE))
    assert isinstance(found.baseline, float if len(model.classes_) == 2 else np.ndarray)
    assert found.deviation.shape == found.contributions.shape
    assert np.all(found.deviation >= 0)
    assert np.abs(found.contributions[:, 1]).max() > 0.5


def test_a_round_with_cuts_counts_for_its_feature_and_for_those_that_are_cut():
    model = hr.HedgerowClassifier(epsilon=20.0, schema=SCHEMAS[2], random_state=0).fit(TABLE, LABELS[2])
    found = model.explain(TABLE)
    codes = model.model_.encoder.transform(TABLE)
    together = {name for group in model.interactions_ for name in group.features}
    assert {"b", "c"} <= together
    for place, name in enumerate(SCHEMAS[2].names):
        # Without the feature's own curve, what is left changes only where rounds with cuts read it.
        rest = found.contributions[:, place] - model.feature_curve(name)[1][codes[:, place]]
        assert (np.ptp(rest) > 1e-9) == (name in together)
    assert "a cut contributes" in found.rule


def test_the_baseline_of_a_booster_of_stumps_is_the_mean_over_branches_and_of_a_tree_that_of_its_paths():
    model = hr.DPAdaBoostClassifier(epsilon=20.0, schema=SCHEMAS[2], n_estimators=4, random_state=0)
    forest = model.fit(TABLE, LABELS[2]).model_.forest
    lead = (model.model_.votes[:, 1] - model.model_.votes[:, 0]) / VOTE_STEPS
    expected = sum(
        lead[first : first + int(forest.candidates.arity[forest.test[root]])].mean()
        for root, first in zip(forest.roots, forest.first_child[forest.roots], strict=True)
    )
    assert model.explain(TABLE).baseline == pytest.approx(expected)


def test_paths_by_hand():
    """A record of each leaf of a small tree: what each test adds is the difference of means on both sides of it."""
    model = hr.PFDPDTClassifier(epsilon=50.0, schema=SCHEMAS[2], max_depth=2, random_state=0).fit(TABLE, LABELS[2])
    forest = model.model_.forest
    codes = model.model_.encoder.transform(TABLE)
    values = np.eye(2)[forest.label][:, 1:]
    means = forest.trees.means(values)
    baseline, contributions = forest.trees.contributions(codes, values)
    assert baseline == means[forest.roots[0]]
    for record in range(20):
        expected, node = np.zeros(3), int(forest.roots[0])
        while forest.test[node] >= 0:
            test = int(forest.test[node])
            feature = int(forest.candidates.feature[test])
            child = int(forest.first_child[node]) + int(forest.candidates.branches([test])[0, codes[record, feature]])
            expected[feature] += means[child, 0] - means[node, 0]
            node = child
        assert contributions[record, :, 0] == pytest.approx(expected)
    inner = np.flatnonzero(forest.test >= 0)
    for node in inner:
        branches = int(forest.candidates.arity[forest.test[node]])
        first = int(forest.first_child[node])
        assert means[node] == pytest.approx(means[first : first + branches].mean(axis=0))


@pytest.mark.parametrize(
    ("kind", "form"),
    [(hr.EDPRFClassifier, {"variant": "published"}), (hr.DPAdaBoostClassifier, {"variant": "published"})],
)
def test_other_models_are_refused_with_the_way_out(kind, form):
    model = kind(epsilon=5.0, schema=SCHEMAS[2], **form).fit(TABLE, LABELS[2])
    with pytest.raises(hr.ConfigurationError, match="in its private form"):
        model.explain(TABLE)


def test_no_records_and_one_class():
    model = hr.HedgerowClassifier(epsilon=5.0, schema=SCHEMAS[2], random_state=0).fit(TABLE, LABELS[2])
    none = model.explain({name: cells[:0] for name, cells in TABLE.items()})
    assert none.contributions.shape == (0, 3)
    assert none.total.shape == (0,)
    one = hr.Schema(FEATURES, classes=["yes"])
    alone = hr.HedgerowClassifier(epsilon=5.0, schema=one).fit(TABLE, ["yes"] * RECORDS).explain(TABLE)
    assert not np.any(alone.contributions)
