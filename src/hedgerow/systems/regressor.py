"""HedgerowRegressor: the library's own ensemble for numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

from hedgerow.additive.curves import explained
from hedgerow.additive.links import LogLink, LogOutcome
from hedgerow.additive.monotone import signs_of
from hedgerow.additive.outcome_model import RegressionModel
from hedgerow.additive.regression import RegressionPlan, RegressionRules
from hedgerow.additive.squared import Poisson
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Explanation, Plan, PrivateEstimator, PrivateRegressor, PublicCoins
from hedgerow.ledgers.ledger import Ledger
from hedgerow.parameters import Choice, Constraint, Exact, Integer, RandomSource, Signs
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.exact import exact_delta
from hedgerow.schema import Schema
from hedgerow.survey import FINE
from hedgerow.systems.hedgerow import MOST_CUTS
from hedgerow.systems.starting import STARTED, StartingEstimator

__all__ = ["HedgerowRegressor"]


RULES = RegressionRules()
COUNTS = replace(RULES, loss=Poisson, link=LogLink)
LOGS = replace(RULES, link=LogOutcome)


class HedgerowRegressor(StartingEstimator, PrivateRegressor):
    """The library's own ensemble for numbers: boosting with few noisy queries, one term a round.

    First it measures a histogram of the outcome, where the model starts, and one of each numeric feature, which places the bins.
    Rounds are those of ``HedgerowClassifier``: each selects a feature, or cuts of other features and a feature in bins, and
    measures the sums of residuals and the numbers of records of these cells. Residuals are clipped. The clip follows from noisy
    histograms of absolute residuals, which are renewed as residuals shrink: a wide clip needs more noise, a narrow one loses what
    it cuts off. In the end the mean of what is left is measured under a wide clip. Where the noisy number of records says that
    nothing can be learned, the model is the mean alone.

    Releases  the bins, and one term for each round: a step function of one feature in each cell of up to five cuts.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``), whatever the clips are (docs/proofs/regression.md).

    Parameters
    ----------
    epsilon, schema, adjacency, records_per_person, random_state, ledger
        See ``PrivateEstimator``. The schema has an ``outcome``, whose range must be public knowledge; outcomes beyond it are
        clipped to it, and predictions stay within it.
    delta : float, default 0.0
        The delta of the guarantee, from 0 to below 1. A small one, far below one over the number of records, makes the model
        markedly more accurate.
    loss : {"squared", "poisson"}, default "squared"
        What is minimized. "poisson" is for counts, from 0 to a public high end: the log of the expected count adds up, so effects
        multiply and predictions are above 0. Both predict a mean.
    outcome_transform : {"log"} or None
        "log": the log of the outcome is learned, whose range must be above 0, and predictions are its exponential. They are then
        near the *median* of records with these features, which is below the mean where outcomes have a long tail. It is for the
        squared loss.
    n_estimators : int or None
        Rounds. None: from 2 to 120, by the budget and the noisy number of records.
    max_bins : int or None
        About how many bins a numeric feature has. None: from 8 to 40, likewise.
    interaction_cst : {"no_interactions", "pairwise"} or None
        Which features may interact, as in ``HedgerowClassifier``.
    monotonic_cst : dict of str to int, list of int, or None
        How the outcome may go with a feature, by its name, or for all in the schema's order: 1 for rising, -1 for falling, 0 for
        either. It is post-processing of released steps: it costs nothing, and must be public knowledge.
    init : HedgerowRegressor or None
        A fitted model to start from, as in ``HedgerowClassifier``; it has the same ``loss`` and ``outcome_transform``, and the
        range of its outcome may differ.

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

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "loss": Choice(("squared", "poisson")),
        "outcome_transform": Choice(("log",), or_none=True),
        "delta": Exact(exact_delta, "the probability delta, a number from 0 to below 1; pass for example delta=1e-6"),
        "n_estimators": Integer(1, 1_000, or_none=True),
        "max_bins": Integer(2, FINE, or_none=True),
        "monotonic_cst": Signs(),
        "interaction_cst": Choice(("no_interactions", "pairwise"), or_none=True),
        "init": StartingEstimator._init_rule,
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        loss: str = "squared",
        outcome_transform: str | None = None,
        n_estimators: int | None = None,
        max_bins: int | None = None,
        monotonic_cst: dict[str, int] | list[int] | None = None,
        interaction_cst: str | None = None,
        init: PrivateEstimator | None = None,
        delta: float = 0.0,
        schema: Schema | None = None,
        adjacency: str = "add-remove",
        records_per_person: int | None = None,
        random_state: RandomSource = None,
        ledger: Ledger | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            schema=schema,
            adjacency=adjacency,
            records_per_person=records_per_person,
            random_state=random_state,
            ledger=ledger,
        )
        self.loss = loss
        self.outcome_transform = outcome_transform
        self.delta = delta
        self.n_estimators = n_estimators
        self.max_bins = max_bins
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.init = init

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
    def _model(self) -> RegressionModel:
        return cast(RegressionModel, self.model_)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield ``predict`` of the first round, the first two, and so on; the final mean of what is left is in all of them."""
        model = self._model
        yield from model.staged_predictions(self._features_of(X))

    def feature_curve(self, feature: str) -> tuple[list[str], Floats]:
        """Return what a feature's codes stand for, and what each adds to the outcome, (codes,); read from released values, free.

        What the feature adds in the cells of cuts is not in it. With ``loss="poisson"`` or ``outcome_transform="log"`` curves add
        up to the log of the outcome.
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
