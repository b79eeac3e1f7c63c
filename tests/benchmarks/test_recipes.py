"""Each rule that recipes.py leaves out changes fits."""

import numpy as np
import pytest

import hedgerow as hr
import recipes

NAMES = "abcdefghij"
SCHEMA = hr.Schema({name: hr.Numeric(0, 1) for name in NAMES}, classes=[0, 1])


def fitted(rule=None):
    generator = np.random.default_rng(0)
    X = generator.random((4000, len(NAMES)))
    odds = 4 * (X - 0.5).sum(axis=1) + 1.5 * np.sign(X[:, 0] - 0.5) * np.sign(X[:, 1] - 0.5)
    y = (odds + generator.logistic(size=len(X)) > 0).astype(int)
    with recipes.without(rule):
        model = hr.HedgerowClassifier(6.0, delta=1e-6, schema=SCHEMA, random_state=0).fit(X, y).model_
    return [(*term.key, term.votes.tobytes()) for term in model.terms]


@pytest.fixture(scope="module")
def whole():
    return fitted()


@pytest.mark.parametrize("rule", recipes.WITHOUT)
def test_a_fit_without_a_rule_is_another(rule, whole):
    assert fitted(rule) != whole
    assert fitted() == whole
