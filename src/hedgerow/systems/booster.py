"""What boosted classifiers share: the parameter delta, and predictions after every round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.curator.interactive import RULES
from hedgerow.estimator import PrivateClassifier
from hedgerow.parameters import parameter


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

    def decision_function(self, X: Any) -> Floats:
        """Return the margins, of shape (n_samples, n_classes), or for two classes the log-odds of ``classes_[1]``, (n_samples,).

        They are log-odds for every booster, in both forms, on the scale of curves and contributions (docs/log-odds.md).
        ``predict_proba`` is their softmax, for two classes the sigmoid. ``HedgerowClassifier`` also calibrates probabilities for
        the cap, which changes them but not the order of the classes.
        """
        return self._order.margins(self.model_.decision(self._features_of(X)))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield ``decision_function`` after the first round, after the second, and so on."""
        yield from map(self._order.margins, self.model_.staged_decision(self._features_of(X)))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield ``predict_proba`` after the first round, after the second, and so on."""
        yield from map(self._order.columns, self.model_.staged_answers(self._features_of(X)))

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield ``predict`` after the first round, after the second, and so on."""
        for probabilities in self.staged_predict_proba(X):
            yield self.classes_[probabilities.argmax(axis=1)]
