"""HedgerowRegressor: the library's own ensemble for numeric outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from hedgerow.additive.curves import explained
from hedgerow.additive.model import AdditiveModel
from hedgerow.additive.regression import RegressionPlan, RegressionRules
from hedgerow.additive.round import signs_of
from hedgerow.additive.squared import LogLink, LogOutcome, Poisson
from hedgerow.arrays import Floats
from hedgerow.curator.interactive import RULES as ARGUMENTS
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Explanation, Plan, PrivateRegressor, PublicCoins
from hedgerow.parameters import Choice, Signs, WholeNumber, parameter
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Schema
from hedgerow.survey import FINE
from hedgerow.systems.hedgerow import MOST_CUTS
from hedgerow.systems.starting import STARTED, StartingEstimator

RULES = RegressionRules()
COUNTS = replace(RULES, loss=Poisson, link=LogLink)
LOGS = replace(RULES, link=LogOutcome)


class HedgerowRegressor(StartingEstimator, PrivateRegressor):
    """The library's own ensemble for numeric outcomes: boosting with few noisy queries, one term per round.

    Before the first round, it measures a histogram of the outcome, which sets the starting value, and a histogram of each numeric
    feature, which places the bins. Rounds are those of ``HedgerowClassifier``: each selects a feature, or a feature and cuts of
    other features, and measures the sum of residuals and the number of records in each of these cells. Residuals are clipped. A
    wide clip needs more noise; a narrow clip loses what it cuts off. The clip follows from noisy histograms of absolute
    residuals, which are measured again as residuals shrink. At the end, the mean of the remaining residuals is measured under a
    wide clip. If the noisy number of records shows that nothing can be learned, the model is the mean alone.

    Releases  the bins, and one term per round: a step function of one feature in each cell of up to five cuts.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``), for any clips (docs/proofs/regression.md).

    Parameters
    ----------
    epsilon, schema, adjacency, records_per_person, random_state, ledger
        See ``PrivateEstimator``. The schema needs an ``outcome``, whose range must be public knowledge. Outcomes outside the
        range are clipped to it, and predictions stay within it.
    delta : float, default 0.0
        The delta of the guarantee, at least 0 and below 1. A small delta, far below one over the number of records, makes the
        model markedly more accurate.
    loss : {"squared", "poisson"}, default "squared"
        The loss to minimize. "poisson" is for counts, from 0 to a public upper limit. The model is then additive in the log of
        the expected count, so effects multiply and predictions are positive. Both losses predict a mean.
    outcome_transform : {"log"} or None
        "log": the model learns the log of the outcome, and predictions are its exponential. The range of the outcome must be
        above 0. Predictions are then near the *median* of records with these features, which is below the mean if outcomes have
        a long tail. It requires the squared loss.
    n_estimators : int or None
        Number of rounds. None: from 2 to 120, by the budget and the noisy number of records.
    max_bins : int or None
        Approximate number of bins of a numeric feature. None: from 8 to 40, chosen likewise.
    interaction_cst : {"no_interactions", "pairwise"} or None
        Which features may interact, as in ``HedgerowClassifier``.
    monotonic_cst : dict of str to int, list of int, or None
        How the outcome may change with a feature: 1 increasing, -1 decreasing, 0 either. A dict is by name; a list has all
        features in the schema's order. It is post-processing of released steps, so it costs nothing. It must be public knowledge.
    init : HedgerowRegressor or None
        A fitted model to start from, as in ``HedgerowClassifier``. It must have the same ``loss`` and ``outcome_transform``. The
        range of its outcome may differ.
    public_start : bool, default False
        Your statement that the records of ``init``, and of every model that it started from, are public. The certificate repeats
        it under "rests on". Without ``init`` it has no effect.

    Attributes
    ----------
    schema_, certificate_, n_features_in_
        See ``PrivateEstimator``.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 10))
    >>> model = hr.HedgerowRegressor(epsilon=1.0, schema=schema).fit(X, 8 * X[:, 0])
    >>> model.certificate_.holds
    True
    >>> bool(model.score(X, 8 * X[:, 0]) > 0.5)
    True
    """

    loss: str = parameter(Choice(("squared", "poisson")), default="squared")
    outcome_transform: str | None = parameter(Choice(("log",), or_none=True), default=None)
    delta: float = parameter(ARGUMENTS["delta"], default=0.0)
    n_estimators: int | None = parameter(WholeNumber(1, 1_000, or_none=True), default=None)
    max_bins: int | None = parameter(WholeNumber(2, FINE, or_none=True), default=None)
    monotonic_cst: dict[str, int] | list[int] | None = parameter(Signs(), default=None)
    interaction_cst: str | None = parameter(Choice(("no_interactions", "pairwise"), or_none=True), default=None)

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        if self.loss == "poisson" and self.outcome_transform is not None:
            raise ConfigurationError("loss='poisson' has a log link of its own; pass outcome_transform=None with it.")
        rules = COUNTS if self.loss == "poisson" else RULES if self.outcome_transform is None else LOGS
        return RegressionPlan(
            rules,
            schema,
            claim,
            rounds=self.n_estimators,
            bins=self.max_bins,
            most_cuts=MOST_CUTS[self.interaction_cst],
            signs=signs_of(self.monotonic_cst, schema),
            init=self._initial(),
            started=coins == STARTED,
        )

    @property
    def _model(self) -> AdditiveModel:
        return cast(AdditiveModel, self.model_)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield ``predict`` after the first round, after the second, and so on; each includes the final mean of residuals."""
        yield from self._model.staged_answers(self._features_of(X))

    def feature_curve(self, feature: str) -> tuple[list[str], Floats]:
        """Return what each code of a feature means, and what it adds to the outcome, (codes,). Released values: no cost.

        What the feature adds in cells of cuts is not included. With ``loss="poisson"`` or ``outcome_transform="log"``, curves
        add up to the log of the outcome.
        """
        model = self._model
        names = model.encoder.schema.names
        if feature not in names:
            raise ConfigurationError(f"there is no feature {feature!r}; pass one of {', '.join(names)}.")
        number = names.index(feature)
        kind = model.encoder.schema.features[feature]
        labels = [kind.code_label(code, model.encoder.max_bins) for code in range(int(model.encoder.n_codes[number]))]
        return labels, model.shown(model.curve(number))

    def _explained(self, X: Any) -> Explanation:
        return explained(self._model, X)
