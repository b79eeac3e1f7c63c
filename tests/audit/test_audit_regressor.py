"""Attacks on regressors: pairs whose classes are numbers, membership by errors, and what a model's file holds."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import check_model, membership_attack
from hedgerow.audit.attack import Trial, attack, private_trials, system_trial
from hedgerow.audit.cases import case, cases_of

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


def test_regressors_are_attacked_with_every_other_system():
    subjects = [trial.target.subject for trial in private_trials() if trial.target.subject.startswith("hedgerow-reg")]
    pairs = len(cases_of("hedgerow-regressor", "private"))
    assert len(subjects) == 2 * (pairs + 2)  # two adjacencies; two pairs with a delta


def test_an_attack_on_a_regressor_refutes_nothing():
    trial = system_trial("hedgerow-regressor", case("one-leaf"), "add-remove")
    [found] = attack([trial], runs=400)
    assert not found.refuted
    assert "predictions" in trial.target.answer(trial.target.fit(*trial.pair.first))


def test_an_attack_tells_a_regressor_whose_noise_is_too_small():
    """A planted bug: the fit spends four hundred times the epsilon that is claimed."""
    loud = system_trial("hedgerow-regressor", case("one-leaf"), "add-remove", epsilon=40.0)
    [found] = attack([Trial(loud.target, loud.pair, 0.1, runs=400)], runs=400)
    assert found.refuted


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


def test_membership_is_guessed_by_errors():
    from sklearn.tree import DecisionTreeRegressor

    noise = np.random.default_rng(1).normal(size=600)
    cells = np.random.default_rng(2).uniform(size=(600, 2))
    memorized = membership_attack(DecisionTreeRegressor(), cells, noise, epsilon=1.0, random_state=0)
    assert memorized.auc > 0.9
    assert memorized.finding.refuted
    schema = hr.Schema({"0": hr.Numeric(0, 1), "1": hr.Numeric(0, 1)}, outcome=hr.Numeric(-4, 4))
    private = membership_attack(hr.HedgerowRegressor(1.0, schema=schema), cells, noise, epsilon=1.0, random_state=0)
    assert not private.finding.refuted
