"""The library's own ensembles, HedgerowClassifier and HedgerowRegressor, and how either starts from a fitted model."""

from __future__ import annotations

from collections import defaultdict
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from typing import Any, NamedTuple, Self, cast

import numpy as np
from sklearn.base import clone

from hedgerow.additive.curves import condition, explained
from hedgerow.additive.model import AdditiveModel, joined
from hedgerow.additive.monotone import signs_of
from hedgerow.additive.plan import AdditivePlan, Rules
from hedgerow.additive.regression import RegressionPlan, RegressionRules
from hedgerow.additive.squared import LogLink, LogOutcome, Poisson
from hedgerow.arrays import Floats
from hedgerow.curator.given import RULES as ARGUMENTS
from hedgerow.curator.survey import FINE
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import ClassOrder, Explanation, Plan, PrivateEstimator, PrivateRegressor, PublicCoins, result_of
from hedgerow.mechanisms import Draw
from hedgerow.parameters import Choice, ClassNumbers, Flag, Instance, Signs, WholeNumber, class_weights, parameter
from hedgerow.privacy.certificate import Certificate, starts_from
from hedgerow.privacy.claim import Claim, Start
from hedgerow.schema import Schema
from hedgerow.systems.base import BoostingClassifier
from hedgerow.texts import MOST_ROWS, printable, short_repr

STARTED = (1,)  # stored with a model that started from another, so that a loaded model plans as the fit did
RULE = (
    "a fitted model of the same class, to start from: a public one or one that was released before; pass what fit or hr.load "
    "returned, or None"
)


class FittedInstance(Instance):
    def _plain(self, value: Any) -> Any:
        """Return a shallow copy, so that a plan and its certificate read one model: later fits of ``value`` do not change it."""
        return copy(super()._plain(value))


@dataclass(frozen=True, eq=False, repr=False)
class CellCurves:
    """How a feature changes the margin in each cell of cuts, as released.

    Parameters
    ----------
    feature : str
        The feature that these curves describe.
    conditions : tuple of str
        The condition of each cut, which holds for the records on its first side, such as ``"age < 30"``.
    labels : tuple of str
        What each code of the feature means.
    curves : ndarray of shape (2, ..., 2, codes, classes), for two classes (2, ..., 2, codes)
        A curve for each side of each cut, the first side first, in log-odds. For two classes: of the second class. NaN in cells
        that have another feature in bins.
    """

    feature: str
    conditions: tuple[str, ...]
    labels: tuple[str, ...]
    curves: Floats

    __repr__ = short_repr


@dataclass(frozen=True, eq=False, repr=False)
class Interaction:
    """A group of features that rounds with cuts use together.

    Parameters
    ----------
    features : tuple of str
        Names of the features, in the order of the schema.
    share : float
        The part of the model that these rounds account for: the spread of their terms, as a share of the spread of all rounds.
    parts : tuple of CellCurves
        The released curves. Rounds with the same cuts and the same feature are summed.
    """

    features: tuple[str, ...]
    share: float
    parts: tuple[CellCurves, ...]

    def __repr__(self) -> str:
        return f"<Interaction of {' x '.join(self.features)}: {100 * self.share:.1f} % of the model>"


class FeatureCurve(NamedTuple):
    """What each code of a feature means, and what it adds.

    Parameters
    ----------
    labels : list of str
        The values that share each code.
    values : ndarray of shape (codes,) or (codes, classes)
        What they add, in log-odds or in the outcome's unit; in its log with the log link.
    """

    labels: list[str]
    values: Floats

    def __repr__(self) -> str:
        return short_repr(self)

    def __str__(self) -> str:
        """Return the runs of codes that add the same, each with its first and its last label."""
        lines = []
        rows = zip(self.values.reshape(len(self.labels), -1).tolist(), self.labels, strict=True)
        for values, run in groupby(rows, lambda row: row[0]):
            labels = [label for _, label in run]
            words = labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"
            lines.append(f"{'  '.join(f'{value:+.3f}' for value in values)}  {printable(words)}")
        return "\n".join(lines)


class Interactions(list[Interaction]):
    """The interactions of a model, in descending order of share: a list of ``Interaction``."""

    @property
    def pairs(self) -> dict[tuple[str, str], float]:
        """The sum of the shares of all groups that contain both features of a pair, in descending order.

        A group of three features counts for three pairs, so these shares may add up to more than 1.
        """
        shares: dict[tuple[str, str], float] = defaultdict(float)
        for group in self:
            for pair in combinations(group.features, 2):
                shares[pair] += group.share
        return dict(sorted(shares.items(), key=lambda one: -one[1]))

    def __repr__(self) -> str:
        return f"<Interactions: {len(self)} groups of features, {100 * sum(group.share for group in self):.0f} % of the model>"

    def __str__(self) -> str:
        rows = list(self.pairs.items())
        lines = (f"  {100 * share:5.1f} %  {' x '.join(map(printable, pair))}" for pair, share in rows[:MOST_ROWS])
        more = [f"  and {len(rows) - MOST_ROWS} more"] if len(rows) > MOST_ROWS else []
        return "\n".join([f"{self!r}; pairs of features in rounds together:", *lines, *more])


class StartingEstimator(PrivateEstimator):
    """An additive model, which may start from another one.

    Parameters
    ----------
    max_bins : int or None
        Approximate number of bins of a numeric feature. None: from 8 to 40, by the budget and the noisy number of records.
    interaction_cst : {"no_interactions", "pairwise"} or None
        Which features may interact. "no_interactions": none, so the model is a sum of curves. "pairwise": two at a time, so a
        round has at most one cut. None: as many as the budget supports. Choose it from public knowledge, or for a model that is
        easier to read.
    public_start : bool, default False
        Your statement that the records of ``init``, and of every model that it started from, are public. The certificate repeats
        it under "rests on". Without ``init`` it has no effect.
    noise_shares : int or None
        For records of several owners who add the noise themselves, so that nobody has to be trusted with exact sums
        (docs/guide/owners.md): how many of them do not collude with the coordinator. Features then take turns and nothing is
        selected, which costs accuracy. It needs a delta. None: the fit draws all noise.
    """

    max_bins: int | None = parameter(WholeNumber(2, FINE, or_none=True), default=None)
    monotonic_cst: dict[str, int] | list[int] | None = parameter(Signs(), default=None)
    interaction_cst: str | None = parameter(Choice(("no_interactions", "pairwise"), or_none=True), default=None)
    init: PrivateEstimator | None = parameter(FittedInstance(PrivateEstimator, RULE), default=None)
    public_start: bool = parameter(Flag(), default=False)
    noise_shares: int | None = parameter(WholeNumber(1, 10_000, or_none=True), default=None)

    def _of_rounds(self, schema: Schema, coins: PublicCoins) -> dict[str, Any]:
        if self.init is not None and type(self.init) is not type(self):
            raise ConfigurationError(
                f"init is {type(self.init).__name__}, but it must be {type(self).__name__}: {RULE}."
            )
        if self.init is not None and not hasattr(self.init, "_fitted"):
            raise ConfigurationError(f"init is not fitted, but it must be {RULE}.")
        return {
            "rounds": self.n_estimators,
            "bins": self.max_bins,
            "most_cuts": MOST_CUTS[self.interaction_cst],
            "signs": () if self.monotonic_cst is None else signs_of(self.monotonic_cst, schema),
            "init": None if self.init is None else cast(Self, self.init)._model,
            "started": coins == STARTED,
            "shares": self.noise_shares or 0,
        }

    def _draw_coins(self, claim: Claim, draw: Draw) -> PublicCoins:
        return () if self.init is None else STARTED

    def _check_coins(self, coins: PublicCoins, certificate: Certificate) -> None:
        if coins != (STARTED if certificate.starts else ()):
            raise ValueError("the certificate names a start if and only if there is one.")

    def _starts(self) -> tuple[Start, ...]:
        if self.init is None:
            return ()
        return starts_from(result_of(self.init).certificate, public=self.public_start)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name. Parameters of ``init`` are not among them, for either value of ``deep``."""
        parameters: dict[str, Any] = super().get_params(deep=False)
        return parameters

    def _cloned(self) -> Self:
        parameters = self.get_params()
        others = {name: clone(value, safe=False) for name, value in parameters.items() if name != "init"}
        made = type(self)(**{**parameters, **others})
        if "_metadata_request" in vars(self):  # as scikit-learn's own clones do
            vars(made)["_metadata_request"] = deepcopy(self._metadata_request)
        return made

    @property
    def _model(self) -> AdditiveModel:
        return cast(AdditiveModel, self.model_)

    def feature_curve(self, feature: str) -> FeatureCurve:
        """Return what each code of a feature means, and what it adds. Released values: no cost.

        ``print`` shows its steps. A regressor's curve, (codes,), adds to the outcome, or to its log if ``loss_`` is "poisson" or
        with ``outcome_transform="log"``. A classifier's, (codes, classes), adds to ``decision_function``; for two classes it is
        (codes,), the log-odds of ``classes_[1]`` (docs/log-odds.md). It omits what the feature adds in cells of cuts, which is in
        ``interactions_``, and is 0 for a feature that only these use: ``hr.FeatureDisplay`` draws all that it adds.
        """
        model, names = self._model, self._model.encoder.schema.names
        if feature not in names:
            raise ConfigurationError(f"there is no feature {feature!r}; pass one of {', '.join(names)}.")
        number = names.index(feature)
        return FeatureCurve(self._labels(number), self._of_classes(model.shown(model.curve(number))))

    @property
    def interactions_(self) -> Interactions:
        """The groups of features that rounds with cuts use together, with their curves, in descending order of share.

        ``print`` shows the pairs of features that are used together most.
        """
        model, total = self._model, 0.0
        names = model.encoder.schema.names
        by_features = defaultdict[tuple[int, ...], list[tuple[float, CellCurves]]](list)
        for term in joined(model.terms):
            spread, of_cuts = term.spread(), len(term.cuts)
            total += float(spread.sum())
            for own, j in zip(spread[of_cuts:], term.features[of_cuts:] if of_cuts else (), strict=False):
                cells = term.feature == j
                votes = np.where(cells[:, None, None], term.votes, np.nan)[:, : len(self._labels(j))]
                curves = model.shown(votes.reshape(*(2 for _ in term.cuts), -1, term.columns) / model.vote_steps)
                conditions = tuple(condition(model.encoder, cut) for cut in term.cuts)
                part = CellCurves(names[j], conditions, tuple(self._labels(j)), self._of_classes(curves))
                used = {j, *(cut.by for cut in term.cuts)}
                by_features[tuple(sorted(used))].append((own + spread[:of_cuts].sum() * cells.mean(), part))
        groups = []
        for features, of_group in by_features.items():
            spreads, parts = zip(*of_group, strict=True)
            share = float(sum(spreads)) / total if total > 0 else 0.0
            groups.append(Interaction(tuple(names[j] for j in features), share, parts))
        return Interactions(sorted(groups, key=lambda group: -group.share))

    def _of_classes(self, curves: Floats) -> Floats:
        return curves

    def _labels(self, number: int) -> list[str]:
        encoder = self._model.encoder
        kind = encoder.schema.features[encoder.schema.names[number]]
        return [kind.code_label(code, encoder.max_bins) for code in range(int(encoder.n_codes[number]))]

    def _explained(self, X: Any) -> Explanation:
        return explained(self._model, X)


OUTCOME_RULES = RegressionRules()
COUNTS = replace(OUTCOME_RULES, loss=Poisson, link=LogLink)
LOGS = replace(OUTCOME_RULES, link=LogOutcome)


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
    schema : Schema or None
        What is public about the data. It needs an ``outcome``, whose range must be public knowledge. Outcomes outside the range
        are clipped to it, and predictions stay within it. None infers it from the records, which voids the guarantee.
    delta : float, default 0.0
        The delta of the guarantee, at least 0 and below 1. A small delta, far below one over the number of records, makes the
        model markedly more accurate.
    loss : {"auto", "squared", "poisson"}, default "auto"
        The loss to minimize. With "poisson" the model is additive in the log of the expected outcome, so effects multiply and
        predictions are positive. It is for counts, prices and other outcomes whose range starts at 0 or above, and ends at twice
        its low end or above. Both losses predict a mean. "auto" is "poisson" if the range permits it and the released standard
        deviation of the outcome is at least .9 of its released mean. It is "squared" otherwise, and without a delta also if the
        noise is large for the number of records. With ``init`` it is the loss of that model. The choice costs nothing;
        ``loss_`` is what was chosen.
    outcome_transform : {"log"} or None
        "log": the model learns the log of the outcome, and predictions are its exponential. The range of the outcome must be
        above 0. Predictions are then near the *median* of records with these features, which is below the mean if outcomes have
        a long tail. It requires the squared loss, which "auto" then is.
    n_estimators : int or None
        Number of rounds. None: from 2 to 120, by the budget and the noisy number of records.
    monotonic_cst : dict of str to int, list of int, or None
        How the outcome may change with a feature, as in ``HedgerowClassifier``: 1 increasing, -1 decreasing, 0 either.
    init : HedgerowRegressor or None
        A fitted model to start from, as in ``HedgerowClassifier``. It must have the same ``loss`` and ``outcome_transform``. The
        range of its outcome may differ.

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

    loss: str = parameter(Choice(("auto", "squared", "poisson")), default="auto")
    outcome_transform: str | None = parameter(Choice(("log",), or_none=True), default=None)
    delta: float = parameter(ARGUMENTS["delta"], default=0.0)
    n_estimators: int | None = parameter(WholeNumber(1, 1_000, or_none=True), default=None)

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        if self.loss == "poisson" and self.outcome_transform is not None:
            raise ConfigurationError("loss='poisson' has a log link of its own; pass outcome_transform=None with it.")
        given, chooses = self._of_rounds(schema, coins), self.loss == "auto" and self.outcome_transform is None
        in_logs, init = self.loss == "poisson", given["init"]
        if chooses and init is not None:
            in_logs = isinstance(init.loss, Poisson) and LogLink.fits(schema.outcome_grid)
        rules = COUNTS if in_logs else OUTCOME_RULES if self.outcome_transform is None else LOGS
        return RegressionPlan(replace(rules, chooses_link=chooses), schema, claim, **given)

    @property
    def loss_(self) -> str:
        """The loss of the fitted model, "squared" or "poisson": with ``loss="auto"`` the one that was chosen."""
        return "poisson" if isinstance(self._model.loss, Poisson) else "squared"


RULES = Rules()
MOST_CUTS = {"no_interactions": 0, "pairwise": 1, None: None}


class HedgerowClassifier(StartingEstimator, BoostingClassifier):
    """The library's own ensemble: boosting with few noisy queries, one term per round.

    Before the first round, it measures the number of records in each class, which sets the starting margins, and a histogram of
    each numeric feature, which places the bins. The noisy number of records determines the number of rounds and of bins. Each
    round selects a term by the absolute gradients in its bins. A term is one feature, or one feature in every cell of up to
    five cuts of other features; with many records each cell of up to seven cuts selects its own. The round then measures
    gradients and curvatures in these bins and adds one damped Newton step of the logistic loss. The number of cuts that a round
    may use follows from how much the cuts of previous rounds mattered. The contribution of a record is capped, so that the few
    records that the model gets badly wrong do not determine the noise. The model is a sum of step functions.

    Releases  the bins, and one term per round: a step function of one feature in each cell of up to seven cuts.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``). 4 % is spent before the first round and the rest in rounds, a
              quarter or half of each on selections (docs/proofs/hedgerow.md). A small ``delta`` makes the model markedly more
              accurate. If epsilon is so large that no noise satisfies the delta, the plan is the pure one, which satisfies it.

    Parameters
    ----------
    n_estimators : int or None
        Number of rounds. None: from 2 to 60, or up to 80 where each cell selects its feature, by the budget and the noisy
        numbers of records (docs/decisions/0012-hedgerow.md).
    monotonic_cst : dict of str to int, list of int, or None
        How the log-odds of ``classes_[1]`` may change with a feature: 1 increasing, -1 decreasing, 0 either. A dict is by name; a
        list has all features in the schema's order. It requires two classes and ordered features. Missing values are not
        constrained. It is post-processing of released steps, so it costs nothing. It must be public knowledge (docs/curves.md).
        No other classifier takes it.
    class_weight : dict of class to float, or None
        The weight of each class in the decision: positive numbers, of which only the ratios matter. A class that is left out has
        weight 1. The weights add a constant to the released margins, in log-odds; curves keep their shapes. With two classes,
        ``predict`` returns the class whose unweighted probability, times its weight, is larger (docs/log-odds.md). It is
        post-processing, so it costs nothing. It must be public knowledge: "balanced" is refused. ``ForestClassifier`` takes it
        too.
    init : HedgerowClassifier or None
        A fitted model to start from, such as a model of public records or last year's release (docs/guide/start.md). The rounds
        learn what it lacks. The new model contains its terms and its own. Features need the same names and kinds, and classes
        must be the same; ranges and categories may differ. If both fits read the same records, their costs add; the certificate
        states the sum. If the starting model has no guarantee, this fit has none either, unless ``public_start`` is True. A saved
        file contains the terms of the starting model, but not this parameter.

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
    >>> this_year = hr.HedgerowClassifier(epsilon=1.0, schema=schema, init=model).fit(X, y)
    >>> "starts from a HedgerowClassifier" in this_year.certificate_.details()
    True
    """

    n_estimators: int | None = parameter(WholeNumber(1, 10_000, or_none=True), default=None)
    class_weight: dict[Any, float] | None = parameter(ClassNumbers(), default=None)

    def _of_classes(self, curves: Floats) -> Floats:
        return self._order.margins(curves)

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        given = self._of_rounds(schema, coins)
        if given["signs"]:
            given["signs"] = ClassOrder.of(schema).signs(given["signs"])
        weights = None if self.class_weight is None else class_weights(self.class_weight, schema)
        return AdditivePlan(RULES, schema, claim, weights=weights, **given)
