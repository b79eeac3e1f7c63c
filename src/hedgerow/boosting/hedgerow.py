"""HedgerowClassifier: the library's own ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hedgerow.boosting.additive import AdditiveRecipe
from hedgerow.boosting.classifier import BoostingClassifier
from hedgerow.boosting.plan import BoostedModel, BoostingPlan
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Plan
from hedgerow.parameters import Constraint, Integer
from hedgerow.privacy.accounting import check_adjacency
from hedgerow.privacy.exact import exact
from hedgerow.schema import Schema

__all__ = ["HedgerowClassifier"]

Floats = npt.NDArray[np.float64]

RECIPE = AdditiveRecipe(share=Fraction(1, 3), rate=1.0, smoothing=Smoothing())
# By add/remove epsilon, up to and including: rounds with a delta, rounds without one, bins.
SIZES = ((0.05, 3, 2, 8), (0.2, 5, 4, 16), (0.4, 8, 5, 24), (0.75, 12, 6, 24), (2.0, 16, 9, 24), (4.0, 40, 16, 32))
LARGEST = (64, 24, 32)


class HedgerowClassifier(BoostingClassifier):
    """The library's own ensemble: boosting that asks few, well-chosen questions.

    Each round selects one feature by the absolute gradients of its bins, measures gradient and curvature of these bins alone,
    in one question, and takes one damped Newton step of the logistic loss for each bin. The model is a sum of step functions
    of one feature each, whose curves can be looked at.

    Releases  ``n_estimators`` step functions of one feature each.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``): an equal part for each round, a third of it for the selection and
              the rest for the measurement (docs/proofs/hedgerow.md). A small ``delta`` makes it markedly more accurate.

    Parameters
    ----------
    epsilon, delta, schema, adjacency, random_state, ledger
        See ``BoostingClassifier``.
    n_estimators : int or None
        Rounds. None: by epsilon, from 2 to 64, more with a delta (docs/decisions/0012-hedgerow.md).
    max_bins : int or None
        Equal-width bins of a numeric feature. None: by epsilon, from 8 to 32.

    Attributes
    ----------
    classes_, schema_, certificate_, n_features_in_
        See ``PrivateClassifier``.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> model.certificate_.holds
    True
    >>> labels, curve = model.feature_curve("a")
    >>> curve.shape
    (25,)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BoostingClassifier._constraints,
        "n_estimators": Integer(1, 10_000, or_none=True),
        "max_bins": Integer(2, 1024, or_none=True),
    }

    def __init__(
        self, epsilon: float = 1.0, *, n_estimators: int | None = None, max_bins: int | None = None, **common: Any
    ) -> None:
        super().__init__(epsilon, **common)
        self.n_estimators = n_estimators
        self.max_bins = max_bins

    def _plan(self, schema: Schema, epsilon: Fraction) -> Plan:
        with_delta, pure, bins = next((sizes for most, *sizes in SIZES if epsilon <= most), LARGEST)
        rounds = with_delta if self._exact_delta else pure
        return BoostingPlan(
            RECIPE,
            schema,
            exact(self.epsilon),
            self._exact_delta,
            check_adjacency(self.adjacency),
            rounds=rounds if self.n_estimators is None else self.n_estimators,
            max_depth=1,
            max_bins=bins if self.max_bins is None else self.max_bins,
        )

    @property
    def _model(self) -> BoostedModel:
        check_is_fitted(self, "model_")
        return cast(BoostedModel, self.model_)

    def feature_curve(self, feature: str) -> tuple[list[str], Floats]:
        """Return what a feature's cells stand for, and what each adds to the log odds; read from released values, free.

        The second is of shape (codes, classes), or for two classes (codes,): the second class's log odds.
        """
        model = self._model
        encoder = model.encoder
        if feature not in encoder.schema.names:
            raise ConfigurationError(f"there is no feature {feature!r}; pass one of {', '.join(encoder.schema.names)}.")
        number = encoder.schema.names.index(feature)
        kind = encoder.schema.features[feature]
        labels = [kind.code_label(code, encoder.max_bins) for code in range(int(encoder.n_codes[number]))]
        return labels, 2 * model.curve(number)

    @property
    def feature_importances_(self) -> Floats:
        """How much of the model each feature decides, of shape (n_features_in_,): the spread of its curve over its cells.

        Shares that sum to 1; zeros where no curve has a slope. Read from released values; cells count alike, however many
        records they have.
        """
        model = self._model
        spread = np.array([float(np.std(model.curve(number), axis=0).sum()) for number in range(self.n_features_in_)])
        return spread / spread.sum() if spread.sum() > 0 else spread
