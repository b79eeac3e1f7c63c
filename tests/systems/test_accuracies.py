"""How near each learner comes to the best that is known, on ten made-up sets, mostly without noise (docs/accuracy.md).

A rule that is a little worse, such as steps of a wrong unit, leaves every guarantee as it is and shows in no other test. Figures
are of these very seeds, so a bound can be tight: 2 % above what was measured. Where a change makes fits better, write the figures
anew by `python tests/systems/test_accuracies.py`.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from products import thinned
from scipy.special import expit, xlogy

import hedgerow as hr

RECORDS, NEW = 1500, 4000
SETS = {  # the signal of each set, about of unit variance
    "a line": lambda a, b, c, d, k: 3 * (a - 0.5),
    "two lines": lambda a, b, c, d, k: 2.5 * (a - 0.5) - 2 * (b - 0.5),
    "a step": lambda a, b, c, d, k: 2.0 * (a > 0.6) - 0.8,
    "a wave": lambda a, b, c, d, k: 1.4 * np.sin(6 * a),
    "a valley": lambda a, b, c, d, k: 10 * (a - 0.5) ** 2 - 0.8,
    "a category": lambda a, b, c, d, k: np.array([-1.5, -0.3, 0.4, 1.4])[k],
    "sums of all": lambda a, b, c, d, k: 1.5 * a + np.sin(4 * b) + (c > 0.5) - d + 0.3 * k - 1.5,
    "a pair": lambda a, b, c, d, k: np.where((a > 0.5) ^ (b > 0.5), 1.2, -1.2),
    "a line by category": lambda a, b, c, d, k: 4 * (a - 0.5) * np.where(k < 2, 1, -1),
    "a rare part": lambda a, b, c, d, k: 3.0 * (a > 0.9) + 0.8 * (b - 0.5) - 0.3,
}
BOUND = 1.02
MEASURED = {
    "classifier": 0.13836,
    "squared": 0.02884,
    "squared, with noise": 0.03883,  # in which rounds count together
    "poisson": 0.06404,
    "log of the outcome": 0.02577,
}
FEATURES = {**{name: hr.Numeric(0, 1) for name in "abcd"}, "k": hr.Categorical([0, 1, 2, 3])}


def columns(rows, seed):
    generator = np.random.default_rng(seed)
    return {**{name: generator.uniform(0, 1, rows) for name in "abcd"}, "k": generator.integers(0, 4, rows)}, generator


def excess(learner, name, number):
    """The error that is left beside the best rule, as a share of the error of the best constant one beside it."""
    (X, generator), (new, _) = columns(RECORDS, number), columns(NEW, 100 + number)
    signal, truth = (SETS[name](*given.values()) for given in (X, new))
    settings = {"random_state": number, "n_estimators": 40, "epsilon": 100.0}
    if learner == "classifier":
        y = np.where(generator.uniform(size=RECORDS) < expit(signal), "yes", "no")
        schema = hr.Schema(FEATURES, classes=["no", "yes"])
        model = hr.HedgerowClassifier(schema=schema, **settings).fit(X, y)
        best, said = expit(truth), model.predict_proba(new)[:, 1]

        def loss(shares):
            return -np.mean(xlogy(best, shares) + xlogy(1 - best, 1 - shares))

        return (loss(said) - loss(best)) / (loss(np.full(NEW, best.mean())) - loss(best))
    if learner == "poisson":
        y, outcome, own = generator.poisson(np.exp(signal)), hr.Integer(0, 60), {"delta": 1e-6, "loss": "poisson"}
    elif learner == "log of the outcome":
        y, outcome = np.exp(signal + generator.normal(0, 0.5, RECORDS)), hr.Numeric(0.01, 100)
        own = {"delta": 1e-6, "outcome_transform": "log"}
    else:
        y, outcome, own = (
            signal + generator.normal(0, 0.7, RECORDS),
            hr.Numeric(-6, 6),
            {"loss": "squared"},
        )
        settings |= {} if learner == "squared" else {"epsilon": 5.0, "delta": 1e-6}
    said = hr.HedgerowRegressor(schema=hr.Schema(FEATURES, outcome=outcome), **own, **settings).fit(X, y).predict(new)
    said = said if learner.startswith("squared") else np.log(said)
    return float(np.mean((said - truth) ** 2) / np.var(truth))


def measured(learner):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(np.mean([excess(learner, name, number) for number, name in enumerate(SETS)]))


@pytest.mark.pinned("the bound is 2 % above what these seeds give")
@pytest.mark.parametrize("learner", thinned(MEASURED, 2))
def test_a_learner_is_as_near_to_the_best_rule_as_it_was(learner):
    assert measured(learner) <= BOUND * MEASURED[learner]


if __name__ == "__main__":
    for one in MEASURED:
        sys.stdout.write(f'    "{one}": {measured(one):.5f},\n')
