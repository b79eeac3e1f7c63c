"""Bugs planted in the shipped code: the audit reports each of them, and nothing where there is none."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from audit_helpers import TwiceTheNoise
from helpers import Told
from planted import boost_by_the_exact_number

import hedgerow as hr
from hedgerow.audit import Grid, check_model, exact_loss
from hedgerow.curator import Queryable
from hedgerow.privacy.accounting import Cost
from hedgerow.reading.columns import read_columns
from hedgerow.schema import Encoder
from hedgerow.table import ClassCounts, MemoryTable
from hedgerow.trees import Recipe
from hedgerow.trees.forest import ForestPlan, Layer
from hedgerow.trees.parts import NoisyCounts, SelectTest

NUMBER = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
COIN = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
COINS = hr.Schema({"a": hr.Categorical(["x", "y"]), "b": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
X = np.random.default_rng(0).uniform(0, 0.9, (200, 1))
Y = np.where(X[:, 0] > 0.4, "yes", "no")


def fitted(kind=hr.ForestClassifier, **parameters):
    bins = {"bins": "equal-width"} if kind is hr.ForestClassifier else {}
    return kind(epsilon=1.0, schema=NUMBER, n_estimators=2, max_depth=1, **bins, **parameters).fit(X, Y)


def halve_the_noise(plant):
    plant.setattr("hedgerow.mechanisms.noise.Geometric", TwiceTheNoise)


def drop_a_level(plant):
    """The tests of the first level are charged by nobody, so the leaves get their budget once more."""
    schedule = Recipe.schedule

    def whole_leaves(self, *given, **size):
        made = schedule(self, *given, **size)
        first, second = made.levels  # the first of two harmonic levels has half of what the second has
        leaf = replace(second.leaf, budget=second.leaf.budget * Fraction(3, 2))
        return replace(made, levels=(first, replace(second, leaf=leaf)))

    plant.setattr(SelectTest, "events", lambda self, level, candidates: ())
    plant.setattr(Recipe, "schedule", whole_leaves)
    plant.setattr(Cost, "at_most", lambda self, ceiling: True)


def assign_by_position(plant):
    assign = MemoryTable.assign

    def chunks(self, coins, rule=None, weights=None):
        coins.parts(0, len(self))
        parts = coins.coin.parts
        return assign(self, Told.to(np.arange(len(self)) * parts // max(len(self), 1), parts), rule, weights)

    plant.setattr(MemoryTable, "assign", chunks)


def take_bins_from_the_data(plant):
    transform = Encoder.transform

    def by_median(self, records, **how):
        self._all_edges = np.array([np.median(read_columns(records).cells(0).astype(float))])
        self.edges = (self._all_edges,)
        return transform(self, records, **how)

    plant.setattr(Encoder, "transform", by_median)


def keep_raw_counts(plant):
    answer, fit = Queryable.answer, ForestPlan.fit

    def counted(self, query, mechanism):
        if isinstance(query, ClassCounts):
            self.raw = self._table.answer(ClassCounts(self._state.value.frontier(query.of, self._table)))
        return answer(self, query, mechanism)

    def kept(self, curator):
        model = fit(self, curator)
        object.__setattr__(model, "raw", curator.raw)
        return model

    plant.setattr(Queryable, "answer", counted)
    plant.setattr(ForestPlan, "fit", kept)


def release_real_noise(plant):
    of_leaves = Layer.of_leaves.__func__
    draws = np.random.default_rng(1)

    def of_reals(cls, start, count, columns):
        layer = of_leaves(cls, start, count, columns)
        return Layer(layer.start, layer.test, layer.first_child, layer.released.astype(float), layer.size)

    def asked(self, curator, nodes):
        counts = curator._table.answer(
            ClassCounts(curator._charge(self.noise.event("noise"), nodes).frontier(nodes, curator._table))
        )
        return counts + draws.laplace(scale=float(1 / self.noise.epsilon), size=counts.shape)

    plant.setattr(Layer, "of_leaves", classmethod(of_reals))
    plant.setattr(NoisyCounts, "ask", asked)


def many_codes(values):
    """One feature of 3 codes, and one of two more than it has values."""
    categories = hr.Categorical([f"v{i}" for i in range(values)])
    return hr.Schema({"a": hr.Categorical(["x"]), "b": categories}, classes=["no", "yes"])


FIRST = ([("x", "v0", None)], [("x", "v0", None), ("x", "v0", "no")])
TORN = [("x", "v0", "no"), ("x", "v1", "yes")]
APART = (TORN, [*TORN, ("x", "v1", "no")])  # the first feature's score rises, the second's falls
AHEAD = [("x", "x", "no")] * 9 + [("y", "x", "yes")] * 9  # the first feature is best, the second will rise
RISING = (AHEAD, [*AHEAD, ("x", "x", "yes")])
ONE_MORE = ([("x", "no")], [("x", "no"), ("x", "no")])
IN_FRONT = ([("x", "no"), ("x", "yes"), ("x", "yes")], [("x", "no"), ("x", "no"), ("x", "yes"), ("x", "yes")])
MEDIAN = [(0.1, "no")] * 4 + [(0.2, "yes")] * 3  # one more above, and four records change sides
BY_EXACT_LAW = {
    "a noise scale is halved": (
        halve_the_noise, hr.ForestClassifier(schema=COIN, n_estimators=1, max_depth=1), ONE_MORE,
    ),
    "a level is not in the ledger": (
        drop_a_level, hr.ForestClassifier(schema=COINS, n_estimators=1, max_depth=1), RISING,
    ),
    "records are assigned by position": (
        assign_by_position, hr.RandomTreesClassifier(schema=COIN, n_estimators=2, max_depth=0), IN_FRONT,
    ),
    "bins are taken from the data": (
        take_bins_from_the_data,
        hr.ForestClassifier(schema=NUMBER, n_estimators=1, max_depth=1, max_bins=2, bins="equal-width", candidates="multiway"),
        (MEDIAN, [*MEDIAN, (0.9, "yes")]),
    ),
    "a penalty comes from the exact number of records": (
        boost_by_the_exact_number, hr.HedgerowClassifier(schema=many_codes(250), n_estimators=1), FIRST,
    ),
}  # fmt: skip


@pytest.mark.parametrize("bug", BY_EXACT_LAW)
def test_the_exact_law_refutes(bug, monkeypatch):
    plant, estimator, pair = BY_EXACT_LAW[bug]
    assert not exact_loss(estimator, *pair).refuted
    plant(monkeypatch)
    finding = exact_loss(estimator, *pair)
    assert finding.refuted
    assert finding.loss > 1.05


def test_a_selection_alone_loses_more_than_it_is_charged(monkeypatch):
    """Where nothing is told of the sums, a fit of one round loses what its selection does: a quarter of epsilon."""
    estimator = hr.HedgerowClassifier(schema=many_codes(60), n_estimators=1)
    choices = Grid((), (0,))
    assert 0.2 < exact_loss(estimator, *APART, grid=choices).loss <= 0.25
    boost_by_the_exact_number(monkeypatch)
    assert exact_loss(estimator, *APART, grid=choices).loss > 0.28


BY_CONTENTS = {
    "bins are taken from the data": (take_bins_from_the_data, {"max_bins": 2}, "model_.encoder._all_edges"),
    "raw counts are kept": (keep_raw_counts, {}, "attribute model_.raw"),
    "noise is not rounded": (release_real_noise, {}, "are not what its plan releases"),
}


@pytest.mark.parametrize("bug", BY_CONTENTS)
def test_the_contents_refute(bug, monkeypatch):
    plant, parameters, words = BY_CONTENTS[bug]
    assert check_model(fitted(**parameters)) == []
    with monkeypatch.context() as planted:
        plant(planted)
        model = fitted(**parameters)
    findings = check_model(model)
    assert any(words in finding.words for finding in findings)
    assert all(finding.refuted for finding in findings)


def test_a_pickled_model_shows_the_raw_counts_that_it_keeps(monkeypatch):
    with monkeypatch.context() as planted:
        keep_raw_counts(planted)
        model = pickle.loads(pickle.dumps(fitted()))
    assert any("model_.raw" in finding.words for finding in check_model(model))


def test_the_certificate_of_a_ledger_that_dropped_a_level_is_not_that_of_its_plan(monkeypatch, tmp_path):
    with monkeypatch.context() as planted:
        planted.setattr(SelectTest, "events", lambda self, level, candidates: ())
        model = fitted(hr.EDPRFClassifier)
    assert "test of a node" not in model.certificate_.details()
    model.save(tmp_path / "model")
    findings = check_model(tmp_path / "model")
    assert any("leaves out what the plan does on level 1: test of a node" in finding.words for finding in findings)
