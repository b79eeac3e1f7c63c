"""HedgerowClassifier: the library's own ensemble."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from hedgerow.additive.curves import condition, explained
from hedgerow.additive.model import AdditiveModel
from hedgerow.additive.monotone import signs_of
from hedgerow.additive.plan import AdditivePlan, Rules
from hedgerow.additive.terms import joined
from hedgerow.arrays import Floats
from hedgerow.class_weights import ClassWeights
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Explanation, Plan, PrivateEstimator, PublicCoins
from hedgerow.ledgers.ledger import Ledger
from hedgerow.margins import VOTE_STEPS
from hedgerow.parameters import Choice, ClassNumbers, Constraint, Integer, RandomSource, Signs
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Schema
from hedgerow.survey import FINE
from hedgerow.systems.booster import BoostingClassifier
from hedgerow.systems.starting import STARTED, StartingEstimator

__all__ = ["CellCurves", "HedgerowClassifier", "Interaction"]


RULES = Rules()
MOST_CUTS = {"no_interactions": 0, "pairwise": 1, None: None}


@dataclass(frozen=True, eq=False)
class CellCurves:
    """What a feature adds to the margin in each cell of cuts of other features, as released.

    Parameters
    ----------
    feature : str
        The feature whose curves these are.
    conditions : tuple of str
        Which records are on the first side of each cut, such as ``"age < 30"``.
    labels : tuple of str
        What the codes of the feature stand for.
    curves : ndarray of shape (2, ..., 2, codes, classes), for two classes (2, ..., 2, codes)
        A curve for each side of each cut, the first side first, in log-odds; for two classes the second class's.
    """

    feature: str
    conditions: tuple[str, ...]
    labels: tuple[str, ...]
    curves: Floats


@dataclass(frozen=True, eq=False)
class Interaction:
    """Features that rounds with cuts read together.

    Parameters
    ----------
    features : tuple of str
        Their names, in the order of the schema.
    share : float
        How much of the model it is: the spread of what these rounds tell apart, as a share of that of all rounds.
    parts : tuple of CellCurves
        What they released; rounds of the same cuts and the same feature are added up.
    """

    features: tuple[str, ...]
    share: float
    parts: tuple[CellCurves, ...]


class HedgerowClassifier(StartingEstimator, BoostingClassifier):
    """The library's own ensemble: boosting with few noisy queries, one term a round.

    First it measures how many records each class has, where the model starts, and a histogram of each number, which places the
    bins. The noisy number of records decides how many rounds and bins pay. Each round selects either one feature, by the
    absolute gradients in its bins, or up to five cuts of other features and one feature in bins, in every cell of the cuts. It
    measures gradients and curvatures there and adds one damped Newton step of the logistic loss for each bin. How many cuts a
    round may have follows from how clearly the last rounds' cuts mattered. What a record adds is capped, so that records that
    the model is surely wrong about do not set the noise. The model is a sum of step functions that can be looked at.

    Releases  the bins, and one term a round: a step function of one feature in each cell of up to five cuts.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``): 4 % before the first round and the rest in rounds, a quarter of
              each for its selections (docs/proofs/hedgerow.md). A small ``delta`` makes the model markedly more accurate. Where
              epsilon is so large that no noise keeps to the delta, the plan is the pure one, which keeps to it too.

    Parameters
    ----------
    epsilon, delta, schema, adjacency, records_per_person, random_state, ledger
        See ``BoostingClassifier``.
    n_estimators : int or None
        Rounds. None: from 2 to 60, by the budget and noisy numbers of records (docs/decisions/0012-hedgerow.md).
    max_bins : int or None
        About how many bins a numeric feature has. None: from 8 to 40, likewise.
    interaction_cst : {"no_interactions", "pairwise"} or None
        Which features may interact. "no_interactions": none, so the model is a sum of curves. "pairwise": two at a time, so a
        round has at most one cut. None: as many as pay. It must be public knowledge, or a wish for a model that is easier to
        read.
    monotonic_cst : dict of str to int, list of int, or None
        How the second class's log-odds may go with a feature, by name, or for all in the schema's order: 1 rising, -1 falling, 0
        either. For two classes, and features with an order; missing values stand outside it. It is post-processing of released
        steps, so it costs nothing, and it must be public knowledge (docs/curves.md). No other system takes it.
    class_weight : dict of class to float, or None
        What each class counts in the decision: positive numbers whose ratios matter; a class that is left out counts 1.
        Released margins move by a constant, in log-odds, and curves keep their shapes: of two classes ``predict`` returns the
        one whose probability without weights, times its weight, is larger (docs/log-odds.md). It is post-processing, so it
        costs nothing, and it must be public knowledge: "balanced" is refused. ``ForestClassifier`` takes it too.
    init : HedgerowClassifier or None
        A fitted model to start from, such as one of public records or last year's release (docs/guide/start.md). Rounds learn
        what it lacks, and the model holds its terms beside its own. Features have the same names and kinds, and classes are the
        same; ranges and categories may differ. What it cost the same records adds to what this fit costs them. Files hold its
        terms, and not the parameter.

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

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BoostingClassifier._constraints,
        "n_estimators": Integer(1, 10_000, or_none=True),
        "max_bins": Integer(2, FINE, or_none=True),
        "monotonic_cst": Signs(),
        "interaction_cst": Choice(("no_interactions", "pairwise"), or_none=True),
        "class_weight": ClassNumbers(),
        "init": StartingEstimator._init_rule,
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        n_estimators: int | None = None,
        max_bins: int | None = None,
        monotonic_cst: dict[str, int] | list[int] | None = None,
        interaction_cst: str | None = None,
        class_weight: dict[Any, float] | None = None,
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
            delta=delta,
            schema=schema,
            adjacency=adjacency,
            records_per_person=records_per_person,
            random_state=random_state,
            ledger=ledger,
        )
        self.n_estimators = n_estimators
        self.max_bins = max_bins
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.class_weight = class_weight
        self.init = init

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        weights = ClassWeights.of(self.class_weight, schema)
        return AdditivePlan(
            RULES,
            schema,
            claim,
            rounds=self.n_estimators,
            bins=self.max_bins,
            most_cuts=MOST_CUTS[self.interaction_cst],
            signs=signs_of(self.monotonic_cst, schema),
            weights=weights,
            init=self._initial(),
            started=coins == STARTED,
        )

    @property
    def _model(self) -> AdditiveModel:
        return cast(AdditiveModel, self.model_)

    def feature_curve(self, feature: str) -> tuple[list[str], Floats]:
        """Return what a feature's codes stand for, and what each adds to ``decision_function``; released values, so free.

        The second is of shape (codes, classes), or for two classes (codes,): the second class's log-odds. ``interactions_`` holds
        what the feature adds in the cells of cuts. docs/log-odds.md says how ``predict_proba`` follows.
        """
        model = self._model
        names = model.encoder.schema.names
        if feature not in names:
            raise ConfigurationError(f"there is no feature {feature!r}; pass one of {', '.join(names)}.")
        number = names.index(feature)
        return self._labels(number), model.shown(model.curve(number))

    def _explained(self, X: Any) -> Explanation:
        return explained(self._model, X)

    def _labels(self, number: int) -> list[str]:
        encoder = self._model.encoder
        kind = encoder.schema.features[encoder.schema.names[number]]
        return [kind.code_label(code, encoder.max_bins) for code in range(int(encoder.n_codes[number]))]

    @property
    def interactions_(self) -> list[Interaction]:
        """The groups of features that rounds with cuts read together, with their curves; those of the largest share first."""
        model, total = self._model, 0.0
        names, found = model.encoder.schema.names, defaultdict[tuple[int, ...], list[tuple[float, CellCurves]]](list)
        for term in joined(model.terms):
            total += (spread := float(term.spread().sum()))
            if term.cuts:
                curves = model.shown(term.votes.reshape(*(2 for _ in term.cuts), -1, term.columns) / VOTE_STEPS)
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
        """How much of the model each feature decides, of shape (features,).

        The spread of what its curves add beyond the mean of their cell and of what its cuts tell apart, in shares that sum to 1;
        zeros where no round tells anything apart. Cells count alike, however many records they have. Released values, so free.
        """
        return self._model.importances()
