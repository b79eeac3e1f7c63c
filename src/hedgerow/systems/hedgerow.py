"""HedgerowClassifier: the library's own ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np
import numpy.typing as npt

from hedgerow.boosting.additive import AdditivePlan, AdditiveRecipe, Sizes
from hedgerow.boosting.plan import BoostedModel
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.boosting.survey import FINE, SurveyRecipe
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Plan, PublicCoins
from hedgerow.parameters import Constraint, Integer, RandomSource
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.ledger import Ledger
from hedgerow.schema import Schema
from hedgerow.systems.booster import BoostingClassifier

__all__ = ["HedgerowClassifier"]

Floats = npt.NDArray[np.float64]

RECIPE = AdditiveRecipe(
    survey=SurveyRecipe(count=Fraction(1, 100), histograms=Fraction(1, 50), by_mass=0.6),
    share=Fraction(1, 4),
    pure=Sizes(rounds=(0.23, 0.4), bins=(1.65, 0.3)),
    concentrated=Sizes(rounds=(0.7, 0.4), bins=(2.5, 0.3)),
    smoothing=Smoothing(),
)


class HedgerowClassifier(BoostingClassifier):
    """The library's own ensemble: boosting that asks few, well-chosen questions.

    It first asks how many records there are and where the numeric features have them, which places the bins and decides how
    many rounds pay. Each round selects one feature by the absolute gradients of its bins, measures gradient and curvature of
    these bins alone, in one question, and takes one damped Newton step of the logistic loss for each bin. What a record
    adds is capped, so that those the model is surely wrong about do not set the noise. The model is a sum of step functions of
    one feature each, whose curves can be looked at.

    Releases  the bins, and step functions of one feature each, as many as there are rounds.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``): 3 % for what is asked first, and an equal part of the rest for each
              round, a quarter of it for the selection (docs/proofs/hedgerow.md). A small ``delta`` makes it markedly more
              accurate.

    Parameters
    ----------
    epsilon, delta, schema, adjacency, random_state, ledger
        See ``BoostingClassifier``.
    n_estimators : int or None
        Rounds. None: from 2 to 42, by the budget and the noisy number of records (docs/decisions/0012-hedgerow.md).
    max_bins : int or None
        About how many bins a numeric feature has. None: from 8 to 40, likewise.

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
    >>> len(labels) == len(curve)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BoostingClassifier._constraints,
        "n_estimators": Integer(1, 10_000, or_none=True),
        "max_bins": Integer(2, FINE, or_none=True),
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        n_estimators: int | None = None,
        max_bins: int | None = None,
        delta: float = 0.0,
        schema: Schema | None = None,
        adjacency: str = "add-remove",
        random_state: RandomSource = None,
        ledger: Ledger | None = None,
    ) -> None:
        super().__init__(
            epsilon, delta=delta, schema=schema, adjacency=adjacency, random_state=random_state, ledger=ledger
        )
        self.n_estimators = n_estimators
        self.max_bins = max_bins

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        return AdditivePlan(RECIPE, schema, claim, rounds=self.n_estimators, bins=self.max_bins)

    @property
    def _model(self) -> BoostedModel:
        return cast(BoostedModel, self.model_)

    def feature_curve(self, feature: str) -> tuple[list[str], Floats]:
        """Return what a feature's cells stand for, and what each adds to the margin; read from released values, free.

        The second is of shape (codes, classes), or for two classes (codes,): the second class's. The softmax of the margins,
        calibrated for the cap (``hedgerow.boosting.gradients.calibrated``), is what ``predict_proba`` says.
        """
        model = self._model
        encoder = model.encoder
        if feature not in encoder.schema.names:
            raise ConfigurationError(f"there is no feature {feature!r}; pass one of {', '.join(encoder.schema.names)}.")
        number = encoder.schema.names.index(feature)
        kind = encoder.schema.features[feature]
        labels = [kind.code_label(code, encoder.max_bins) for code in range(int(encoder.n_codes[number]))]
        return labels, model.curve(number)

    @property
    def feature_importances_(self) -> Floats:
        """How much of the model each feature decides, of shape (n_features_in_,): the spread of its curve over its cells.

        Shares that sum to 1; zeros where no curve has a slope. Read from released values; cells count alike, however many
        records they have.
        """
        model = self._model
        spread = np.array([float(np.std(model.curve(number), axis=0).sum()) for number in range(self.n_features_in_)])
        return spread / spread.sum() if spread.sum() > 0 else spread
