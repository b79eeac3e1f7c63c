"""What boosted classifiers share: the parameter delta, and predictions after every round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, cast

import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.curator.interactive import RULES
from hedgerow.estimator import Model, PrivateClassifier
from hedgerow.parameters import parameter


class Booster(Model, Protocol):
    """A fitted boosting model: sums of votes, after each round."""

    def decision(self, X: Any) -> Floats:
        """Return the margins, (records, classes), or for two classes the second's log-odds, (records,)."""

    def staged_decision(self, X: Any) -> Iterator[Floats]:
        """Yield ``decision`` after the first round, after the second, and so on."""

    def staged_probabilities(self, X: Any) -> Iterator[Floats]:
        """Yield ``probabilities`` after the first round, after the second, and so on."""


class BoostingClassifier(PrivateClassifier):
    """A classifier whose model is a sum of votes.

    Parameters
    ----------
    epsilon, schema, adjacency, records_per_person, random_state, ledger
        See ``PrivateClassifier``.
    delta : float, default 0.0
        The delta of the guarantee, at least 0 and below 1. If above 0, counts get normal noise and selections compose by
        zero-concentrated DP. It should be far below one over the number of records.
    """

    delta: float = parameter(RULES["delta"], default=0.0)

    @property
    def _booster(self) -> Booster:
        return cast(Booster, self.model_)

    def decision_function(self, X: Any) -> Floats:
        """Return the margins, of shape (n_samples, n_classes), or for two classes the log-odds of ``classes_[1]``, (n_samples,).

        They are log-odds for every booster, in both forms, on the scale of curves and contributions (docs/log-odds.md).
        ``predict_proba`` is their softmax, for two classes the sigmoid. ``HedgerowClassifier`` also calibrates probabilities for
        the cap, which changes them but not the order of the classes.
        """
        booster = self._booster
        return self._order.margins(booster.decision(self._features_of(X)))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield ``decision_function`` after the first round, after the second, and so on."""
        booster = self._booster
        yield from map(self._order.margins, booster.staged_decision(self._features_of(X)))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield ``predict_proba`` after the first round, after the second, and so on."""
        booster = self._booster
        yield from map(self._order.columns, booster.staged_probabilities(self._features_of(X)))

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield ``predict`` after the first round, after the second, and so on."""
        for probabilities in self.staged_predict_proba(X):
            yield self.classes_[probabilities.argmax(axis=1)]
