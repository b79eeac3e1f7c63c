"""The exact loss of every registered system: within its claim in the private form, and above it where a published form fails."""

from __future__ import annotations

import math
from itertools import product

import pytest
from audit_helpers import exact_search
from products import thinned

import hedgerow as hr
from hedgerow.audit import exact_loss
from hedgerow.errors import ConfigurationError
from hedgerow.systems.registry import system_class

ONE = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
TWO = hr.Schema({"a": hr.Categorical(["x", "y"]), "b": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
NUMBER = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])

SINGLE = ([("x", "no")], [("x", "no"), ("x", "no")])
OTHER = ([("x", "no")], [("x", "no"), ("x", "yes")])
SMALL = ([(0.1, "no")], [(0.1, "no"), (0.1, "yes")])
AHEAD = [("x", "x", "no")] * 9 + [("y", "x", "yes")] * 9  # the first feature is best, the second will rise
RISING = (AHEAD, [*AHEAD, ("x", "x", "yes")])

TREE = {"max_depth": 1}
FOREST = {"max_depth": 1, "n_estimators": 2}
CASES = {  # parameters, schema, pair, and what the loss is at least as a share of epsilon
    "cart-dps-adaboost": ({"max_depth": 1, "n_estimators": 1}, ONE, OTHER, 0.2),
    "deng-diffprf": (TREE | {"n_estimators": 1}, TWO, RISING, 0.7),
    "diffgen": ({"specializations": 1}, TWO, RISING, 0.51),
    "diffp-c45": (TREE | {"max_bins": 2}, NUMBER, SMALL, 0.99),
    "diffp-id3": (TREE, ONE, OTHER, 0.99),
    "diffprf": (TREE | {"n_estimators": 1}, TWO, RISING, 0.52),
    "diffprf-linear": (TREE | {"n_estimators": 1}, TWO, RISING, 0.63),
    "diffprfs": (TREE | {"n_estimators": 1, "max_bins": 2}, TWO, RISING, 0.52),
    "dp-adaboost": ({"n_estimators": 1}, TWO, RISING, 0.501),
    "dpada": ({"n_estimators": 1}, TWO, RISING, 0.505),
    "dt-diff": ({"specializations": 1}, TWO, RISING, 0.51),
    "edprf": (FOREST | {"max_bins": 2}, NUMBER, ([(0.1, "no")], [(0.1, "no")] * 2), 0.6),
    "forest": (TREE, ONE, OTHER, 0.6),
    "hedgerow": ({"n_estimators": 1}, ONE, SINGLE, 0.55),
    "pfdpdt": (TREE, TWO, RISING, 0.6),
    "pinq-id3": (TREE, ONE, OTHER, 0.99),
    "random-trees": (FOREST, ONE, SINGLE, 0.99),
    "smooth-boost": ({"n_estimators": 1, "max_depth": 1}, TWO, RISING, 0.501),
    "sulq-id3": (TREE, ONE, OTHER, 0.99),
    "tpdprf": ({"max_depth": 0, "n_estimators": 2}, ONE, OTHER, 0.6),
    "tradition": (TREE, ONE, OTHER, 0.99),
}


def build(name, schema, **parameters):
    return system_class(name)(epsilon=1.0, schema=schema, **parameters)


# Features of 3 and of many codes. Histograms of all codes have too many outcomes here; test_audit_parts has them.
WIDE = hr.Schema({"a": hr.Categorical(["x"]), "b": hr.Categorical([f"v{i}" for i in range(60)])}, classes=["no", "yes"])
SEVERAL = hr.Schema({"a": hr.Categorical(["x"]), "b": hr.Categorical(["v0", "v1", "v2"])}, classes=["no", "yes"])
FIRST = ([("x", "v0", None)], [("x", "v0", None), ("x", "v0", "no")])
TORN = [("x", "v0", "no"), ("x", "v1", "yes")]
APART = (TORN, [*TORN, ("x", "v1", "no")])
BY_HISTOGRAMS = {"pinq-id3", "sulq-id3"}
UNEQUAL = {  # what the loss is at least on either pair
    "cart-dps-adaboost": (0.2, 0.3),
    "diffgen": (0.49, 0.6),
    "deng-diffprf": (0.66, 0.71),
    "diffprf": (0.49, 0.51),
    "diffprf-linear": (0.59, 0.66),
    "diffprfs": (0.49, 0.57),
    "dp-adaboost": (0.49, 0.8),
    "dpada": (0.49, 0.9),
    "dt-diff": (0.49, 0.5),
    "edprf": (0.6, 0.5),
    "hedgerow": (0.6, 0.7),
    "pfdpdt": (0.6, 0.5),
    "smooth-boost": (0.49, 0.8),
}


def test_every_system_has_a_case():
    assert set(CASES) == {info.name for info in hr.list_systems()}
    assert sum(floor > 0.5 for *_, floor in CASES.values()) >= 10


@pytest.mark.parametrize("name", CASES)
def test_a_private_form_loses_most_of_its_epsilon_and_no_more(name):
    parameters, schema, pair, floor = CASES[name]
    finding = exact_loss(build(name, schema, **parameters), *pair)
    assert floor < finding.loss <= 1
    assert (finding.subject, finding.attack, finding.refuted) == (f"{name}, private", "exact", False)


@pytest.mark.parametrize(
    ("name", "pair"),
    thinned(product(sorted(set(CASES) - BY_HISTOGRAMS, key=lambda name: (name != "hedgerow", name)), (0, 1)), 3),
)
def test_a_private_form_keeps_its_claim_where_features_have_unequal_numbers_of_codes(name, pair):
    estimator = build(name, SEVERAL if name == "random-trees" else WIDE, **CASES[name][0])
    assert UNEQUAL.get(name, (0.6, 0.6))[pair] < exact_loss(estimator, *(FIRST, APART)[pair]).loss <= 1


@pytest.mark.parametrize(
    ("name", "parameters", "floor"),
    [("pfdpdt", TREE, 0.6), ("tradition", TREE, 0.6), ("random-trees", FOREST, 0.6), ("forest", TREE, 0.6)],
)
def test_a_private_form_keeps_its_claim_where_a_record_is_replaced(name, parameters, floor):
    estimator = build(name, ONE, adjacency="replace-one", **parameters)
    finding, _ = exact_search(estimator, [("x", "no"), ("x", "yes"), ("y", "no")], most=2)
    assert floor < finding.loss <= 1
    assert finding.adjacency == "replace-one"


def test_all_small_pairs_of_a_forest_keep_the_claim():
    every = [(a, label) for a in (0.1, 0.9) for label in ("no", "yes")]
    finding, pairs = exact_search(build("edprf", NUMBER, max_bins=2, **FOREST), every, most=2)
    assert 0.6 < finding.loss <= 1
    assert pairs == 16


def test_cuts_and_then_tests_of_features_without_cuts_keep_the_claim():
    estimator = build("forest", ONE, selection="exponential", **TREE)
    assert 0.5 < exact_loss(estimator, *OTHER).loss <= 1


def test_normal_noise_keeps_its_epsilon_at_its_delta():
    finding = exact_loss(build("hedgerow", ONE, n_estimators=1, delta=0.01), *SINGLE)
    assert 0.05 < finding.loss <= 1
    assert finding.delta == 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dp-adaboost", "hedgerow", "smooth-boost", "sulq-id3"])
def test_two_rounds_or_histograms_keep_the_claim_on_all_small_pairs(name):
    parameters = {"sulq-id3": TREE, "smooth-boost": FOREST}.get(name, {"n_estimators": 2})
    every = [(a, label) for a in ("x", "y") for label in ("no", "yes")]
    finding, _ = exact_search(build(name, ONE, **parameters), every)
    assert 0.49 < finding.loss <= 1


THREE = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes", "maybe"])
ODD = [("x", "no"), (None, "yes"), ("z", "maybe"), ("x", None)]  # missing, undeclared, without a label
OUTSIDE = [(0.1, "no"), (0.9, "yes"), (float("nan"), "yes"), (7, "no")]
ONE_ROUND = {"cart-dps-adaboost", "dp-adaboost", "dpada", "hedgerow", "smooth-boost"}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("schema", "records", "adjacency"),
    [(THREE, ODD, "add-remove"), (NUMBER, OUTSIDE, "add-remove"), (ONE, [*ODD[:2], ("y", "yes")], "replace-one")],
)
def test_odd_records_and_other_neighbors_keep_the_claim(name, schema, records, adjacency):
    parameters = dict(CASES[name][0])
    if name in ONE_ROUND:
        parameters["n_estimators"] = 1
    if schema is NUMBER and "max_bins" in system_class(name)().get_params():
        parameters["max_bins"] = 2
    finding, _ = exact_search(build(name, schema, adjacency=adjacency, **parameters), records)
    assert 0.1 < finding.loss <= 1


# Published forms.

PURE = [("x", "no")] * 3
EQUAL = [("x", "no")] * 5
MANY = [("x", "no")] * 9
PUBLISHED = {  # what the model loses, and the least that it must be
    "single-class stop": ("pfdpdt", TREE, ONE, (PURE, [*PURE, ("y", "yes")]), math.inf),
    "parts of one size": ("edprf", TREE | {"n_estimators": 3}, ONE, (EQUAL, [*EQUAL, ("x", "no")]), 1.49),
    "exact stump weights": (
        "dpada",
        {"n_estimators": 1, "schedule": "from-second"},
        ONE,
        ([("x", "no"), ("x", "no"), ("x", "yes")], [("x", "no"), ("x", "no"), ("x", "yes"), ("y", "yes")]),
        math.inf,
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_form_loses_more_than_it_claims(name):
    system, parameters, schema, pair, least = PUBLISHED[name]
    finding = exact_loss(build(system, schema, variant="published", **parameters), *pair)
    assert finding.loss >= least
    assert finding.refuted
    assert finding.subject == f"{system}, published"


def test_a_model_that_is_impossible_on_one_data_set_is_said_in_words():
    system, parameters, schema, pair, _ = PUBLISHED["single-class stop"]
    finding = exact_loss(build(system, schema, variant="published", **parameters), *pair)
    assert "impossible on the" in finding.words
    assert "('y', 'yes')" in finding.pair
    assert finding.to_dict()["loss"] == "infinity"


# What the audit refuses.


def test_data_sets_that_are_no_neighbors_are_refused():
    tree = build("pfdpdt", ONE, **TREE)
    with pytest.raises(ConfigurationError, match="no neighbors"):
        exact_loss(tree, [("x", "no")], [("y", "no")])
    with pytest.raises(ConfigurationError, match="no neighbors"):
        exact_loss(build("pfdpdt", ONE, adjacency="replace-one", **TREE), *SINGLE)


def test_an_estimator_without_a_schema_is_refused():
    with pytest.raises(ConfigurationError, match="no schema"):
        exact_loss(hr.PFDPDTClassifier(), *SINGLE)


def test_noise_that_no_grid_tells_is_refused():
    estimator = build("dp-adaboost", ONE, variant="published", n_estimators=1)
    with pytest.raises(ConfigurationError, match="distinguishing attack"):
        exact_loss(estimator, *OTHER)


def test_a_label_that_the_schema_does_not_declare_is_refused():
    estimator = build("forest", ONE, **TREE)
    with pytest.raises(ConfigurationError, match="the label 'maybe' is none of the schema's classes"):
        exact_loss(estimator, [("x", "no")], [("x", "no"), ("x", "maybe")])
    with pytest.raises(ConfigurationError, match="the label 1 is none"):
        exact_loss(estimator, [("x", "no")], [("x", "no"), ("x", 1)])
    finding = exact_loss(estimator, [("x", "no")], [("x", "no"), ("x", None)])
    assert finding.loss == 0  # a record without a label is left out by public rule
