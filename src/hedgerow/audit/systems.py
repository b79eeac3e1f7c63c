"""The systems of this library as targets of an attack: planned once, run on fresh randomness each time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, get_args

import numpy as np

from hedgerow.audit.attack import Target, Trial
from hedgerow.audit.cases import OWN, cases_of
from hedgerow.audit.cases import case as case_named
from hedgerow.audit.pairs import Case
from hedgerow.estimator import (
    Model,
    Plan,
    PrivateEstimator,
    PrivateRegressor,
    PublicCoins,
    RawPlan,
    claim_of,
    draw_coins,
    plan_of,
    run,
)
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import rules_of
from hedgerow.privacy.accounting import Adjacency
from hedgerow.schema.columns import read_records
from hedgerow.systems import list_systems, system_class

DELTA = 1e-5
WITH_DELTA = ("one-leaf", "single-class")  # pairs on which the forms with Gaussian noise are attacked


@dataclass
class SystemFit:
    """What ``fit`` of one of our estimators does with records, without the checks and the charge; ``queries`` are predicted."""

    estimator: PrivateEstimator
    queries: Mapping[str, Any]
    _plans: dict[PublicCoins, Plan | RawPlan] = field(default_factory=dict, repr=False)

    def fit(self, X: Any, y: Any) -> Model:
        estimator, schema, randomness = self.estimator, self.estimator.schema, Randomness()
        assert schema is not None
        claim = claim_of(estimator)
        coins = draw_coins(estimator, claim, randomness.draw)
        if coins not in self._plans:
            self._plans[coins] = plan_of(estimator, schema, claim, coins)
        return run(self._plans[coins], *read_records(X, y, schema.features, schema.labels), randomness)[0]

    def answer(self, model: Model) -> dict[str, Any]:
        """Return the released arrays of a model, and its labels and probabilities, or its predictions, for the queries."""
        if isinstance(self.estimator, PrivateRegressor):
            return {"predictions": model.predictions(self.queries), **model.to_arrays()}
        probabilities = np.round(model.probabilities(self.queries), 9)
        return {"labels": probabilities.argmax(axis=1), "probabilities": probabilities, **model.to_arrays()}


def system_trial(
    name: str,
    case: Case,
    adjacency: Adjacency,
    *,
    variant: str = "private",
    epsilon: float | None = None,
    delta: float = 0.0,
    settings: Mapping[str, Any] | None = None,
) -> Trial:
    """Return the attack on a system of the registry by a pair, whose settings hold unless ``settings`` says otherwise.

    Without an epsilon, the claim is the one at which the pair shows most. For a regressor the pair's classes are numbers.
    """
    kind = system_class(name)
    case = case.of_numbers() if issubclass(kind, PrivateRegressor) else case
    claim = case.epsilon if epsilon is None else epsilon
    chosen = settings_of(name, case) | dict(settings or {})
    if variant != "private":
        chosen["variant"] = variant
    words = ", ".join(f"{key}={value}" for key, value in sorted(chosen.items()) if key != "variant")
    if delta:
        chosen["delta"] = delta
    fit = SystemFit(kind(epsilon=claim, schema=case.schema, adjacency=adjacency, **chosen), case.queries)
    subject = f"{name}, {variant}" + (f" ({words})" if words else "")
    return Trial(Target(subject, fit.fit, fit.answer, words), case.pair(adjacency), claim, delta, case.runs)


def settings_of(name: str, case: Case) -> dict[str, Any]:
    rules = rules_of(system_class(name))
    return {key: value for key, value in case.settings.items() if key in rules and rules[key].allows(value)}


def private_trials() -> list[Trial]:
    """Return the attacks on the private form of every system: both adjacencies, and with a delta where there is one."""
    names = [info.name for info in (*list_systems(), *list_systems(regressors=True))]
    trials = []
    for name, adjacency in product(names, get_args(Adjacency)):
        trials += [system_trial(name, case, adjacency) for case in cases_of(name, "private")]
        if "delta" in rules_of(system_class(name)):
            trials += [system_trial(name, case_named(pair), adjacency, delta=DELTA) for pair in WITH_DELTA]
    return trials


def published_trials() -> list[Trial]:
    """Return the attacks on the published forms, each on the counterexamples to it."""
    return [
        system_trial(name, case_named(pair), "add-remove", variant="published")
        for name, pairs in OWN.items()
        for pair in pairs
    ]
