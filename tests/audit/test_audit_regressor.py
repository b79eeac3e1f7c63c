"""Attacks on regressors: pairs whose classes are numbers, and what a model's file holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import check_model
from hedgerow.audit.attack import attack, system_trial
from hedgerow.audit.cases import case

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")

SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Categorical([0, 1, 2])}, outcome=hr.Numeric(0, 1))
rng = np.random.default_rng(0)
X = np.c_[rng.uniform(0, 1, 300), rng.integers(0, 3, 300)].astype(object)
Y = X[:, 0].astype(float)


def test_a_pair_of_classes_is_one_of_numbers_for_a_regressor():
    found = case("one-leaf").of_numbers()
    assert found.schema.outcome == hr.Numeric(0, 1)
    assert (found.base, found.record, found.instead) == ((("0", 0.0),), ("0", 1.0), ("0", 0.0))
    assert case("nothing").of_numbers().base == (("0", None),)
    assert found.of_numbers() is found


@pytest.mark.full
def test_an_attack_on_a_regressor_refutes_nothing():
    [found] = attack([system_trial("hedgerow-regressor", case("one-leaf"), "add-remove")], runs=200)
    assert not found.refuted


def test_an_attack_tells_a_regressor_whose_noise_is_too_small():
    """A planted bug: the fit spends four hundred times the epsilon that is claimed."""
    loud = system_trial("hedgerow-regressor", case("one-leaf"), "add-remove", epsilon=40.0)
    [found] = attack([replace(loud, epsilon=0.1)], runs=200)
    assert found.refuted
    assert "predictions" in loud.answer(loud.fit(*loud.pair.first))


@pytest.mark.parametrize("parameters", [{}, {"loss": "poisson"}])
def test_a_regressors_file_holds_nothing_unexplained(parameters, tmp_path):
    model = hr.HedgerowRegressor(1.0, schema=SCHEMA, **parameters).fit(X, Y)
    model.predict(X[:3])
    assert check_model(model) == []
    model.save(tmp_path / "model")
    assert check_model(tmp_path / "model") == []
    model.mean_of_labels_ = float(Y.mean())
    [found] = check_model(model)
    assert (found.refuted, found.subject) == (True, "hedgerow-regressor, private")
    assert "mean_of_labels_" in found.words
