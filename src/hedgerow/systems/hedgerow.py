"""HedgerowClassifier: the library's own ensemble."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, cast

from hedgerow.additive.curves import condition, explained
from hedgerow.additive.model import AdditiveModel
from hedgerow.additive.plan import AdditivePlan, Rules
from hedgerow.additive.round import signs_of
from hedgerow.additive.terms import joined
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import ClassOrder, Explanation, Plan, PublicCoins
from hedgerow.margins import VOTE_STEPS, ClassWeights
from hedgerow.parameters import Choice, ClassNumbers, Signs, WholeNumber, parameter
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Schema
from hedgerow.survey import FINE
from hedgerow.systems.booster import BoostingClassifier
from hedgerow.systems.starting import STARTED, StartingEstimator

RULES = Rules()
MOST_CUTS = {"no_interactions": 0, "pairwise": 1, None: None}


@dataclass(frozen=True, eq=False)
class CellCurves:
    """How a feature changes the margin in each cell of cuts of other features, as released.

    Parameters
    ----------
    feature : str
        The feature that these curves describe.
    conditions : tuple of str
        The condition of each cut, which holds for the records on its first side, such as ``"age < 30"``.
    labels : tuple of str
        What each code of the feature means.
    curves : ndarray of shape (2, ..., 2, codes, classes), for two classes (2, ..., 2, codes)
        A curve for each side of each cut, the first side first, in log-odds. For two classes: of the second class.
    """

    feature: str
    conditions: tuple[str, ...]
    labels: tuple[str, ...]
    curves: Floats


@dataclass(frozen=True, eq=False)
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


class HedgerowClassifier(StartingEstimator, BoostingClassifier):
    """The library's own ensemble: boosting with few noisy queries, one term per round.

    Before the first round, it measures the number of records in each class, which sets the starting margins, and a histogram
    of each numeric feature, which places the bins. The noisy number of records determines the number of rounds and of bins.
    Each round selects a term by the absolute gradients in its bins. A term is one feature, or one feature in every cell of up
    to five cuts of other features. The round then measures gradients and curvatures in these bins and adds one damped Newton
    step of the logistic loss. The number of cuts that a round may use follows from how much the cuts of previous rounds
    mattered. The contribution of a record is capped, so that the few records that the model gets badly wrong do not determine
    the noise. The model is a sum of step functions that can be inspected.

    Releases  the bins, and one term per round: a step function of one feature in each cell of up to five cuts.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``). 4 % is spent before the first round and the rest in rounds, a
              quarter of each round on its selections (docs/proofs/hedgerow.md). A small ``delta`` makes the model markedly more
              accurate. If epsilon is so large that no noise satisfies the delta, the plan is the pure one, which satisfies it.

    Parameters
    ----------
    epsilon, delta, schema, adjacency, records_per_person, random_state, ledger
        See ``BoostingClassifier``.
    n_estimators : int or None
        Number of rounds. None: from 2 to 60, by the budget and the noisy numbers of records (docs/decisions/0012-hedgerow.md).
    max_bins : int or None
        Approximate number of bins of a numeric feature. None: from 8 to 40, chosen likewise.
    interaction_cst : {"no_interactions", "pairwise"} or None
        Which features may interact. "no_interactions": none, so the model is a sum of curves. "pairwise": two at a time, so a
        round has at most one cut. None: as many as the budget supports. Choose it from public knowledge, or for a model that is
        easier to read.
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
    public_start : bool, default False
        Your statement that the records of ``init``, and of every model that it started from, are public. The certificate repeats
        it under "rests on". Without ``init`` it has no effect.

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
    >>> this_year = hr.HedgerowClassifier(epsilon=1.0, schema=schema, init=model).fit(X, y)
    >>> "starts from a HedgerowClassifier" in this_year.certificate_.details()
    True
    """

    n_estimators: int | None = parameter(WholeNumber(1, 10_000, or_none=True), default=None)
    max_bins: int | None = parameter(WholeNumber(2, FINE, or_none=True), default=None)
    monotonic_cst: dict[str, int] | list[int] | None = parameter(Signs(), default=None)
    interaction_cst: str | None = parameter(Choice(("no_interactions", "pairwise"), or_none=True), default=None)
    class_weight: dict[Any, float] | None = parameter(ClassNumbers(), default=None)

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        weights = ClassWeights.of(self.class_weight, schema)
        return AdditivePlan(
            RULES,
            schema,
            claim,
            rounds=self.n_estimators,
            bins=self.max_bins,
            most_cuts=MOST_CUTS[self.interaction_cst],
            signs=ClassOrder.of(schema).signs(signs_of(self.monotonic_cst, schema)),
            weights=weights,
            init=self._initial(),
            started=coins == STARTED,
        )

    @property
    def _model(self) -> AdditiveModel:
        return cast(AdditiveModel, self.model_)

    def feature_curve(self, feature: str) -> tuple[list[str], Floats]:
        """Return what each code of a feature means, and what it adds to ``decision_function``. Released values: no cost.

        The second array is of shape (codes, classes), or (codes,) for two classes: the log-odds of ``classes_[1]``. It omits what
        the feature adds in cells of cuts, which is in ``interactions_``. See docs/log-odds.md for the relation to
        ``predict_proba``.
        """
        model = self._model
        names = model.encoder.schema.names
        if feature not in names:
            raise ConfigurationError(f"there is no feature {feature!r}; pass one of {', '.join(names)}.")
        number = names.index(feature)
        return self._labels(number), self._order.margins(model.shown(model.curve(number)))

    def _explained(self, X: Any) -> Explanation:
        return explained(self._model, X)

    def _labels(self, number: int) -> list[str]:
        encoder = self._model.encoder
        kind = encoder.schema.features[encoder.schema.names[number]]
        return [kind.code_label(code, encoder.max_bins) for code in range(int(encoder.n_codes[number]))]

    @property
    def interactions_(self) -> list[Interaction]:
        """The groups of features that rounds with cuts use together, with their curves, in descending order of share."""
        model, total = self._model, 0.0
        names, found = model.encoder.schema.names, defaultdict[tuple[int, ...], list[tuple[float, CellCurves]]](list)
        for term in joined(model.terms):
            total += (spread := float(term.spread().sum()))
            if term.cuts:
                votes = term.votes.reshape(*(2 for _ in term.cuts), -1, term.columns)
                curves = self._order.margins(model.shown(votes / VOTE_STEPS))
                conditions = tuple(condition(model.encoder, cut) for cut in term.cuts)
                part = CellCurves(names[term.feature], conditions, tuple(self._labels(term.feature)), curves)
                found[tuple(sorted(term.features))].append((spread, part))
        groups = [
            Interaction(
                tuple(names[j] for j in features),
                sum(spread for spread, _ in parts) / total if total > 0 else 0.0,
                tuple(part for _, part in parts),
            )
            for features, parts in found.items()
        ]
        return sorted(groups, key=lambda group: -group.share)

    @property
    def feature_importances_(self) -> Floats:
        """The share of the model that each feature accounts for, of shape (features,).

        For each feature, the spread of its curves around the mean of their cell, and the spread between the sides of its cuts.
        Shares sum to 1. They are all zero if no round distinguishes any records. Cells have equal weight, whatever their number
        of records. Computed from released values: no cost.
        """
        return self._model.importances()
