"""Base classes of trees, forests and boosting systems, and the sizes that they have by default."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from hedgerow.arrays import Floats
from hedgerow.curator.given import RULES
from hedgerow.estimator import Plan, PrivateClassifier, PublicCoins
from hedgerow.parameters import WholeNumber, parameter
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Schema
from hedgerow.scores import binary, multiway
from hedgerow.trees import BoostingPlan, BoostingRecipe, CandidateRule, Discrete, ForestPlan, Real, Recipe, Votes


class BoostingClassifier(PrivateClassifier):
    """A classifier whose model is a sum of votes.

    Parameters
    ----------
    delta : float, default 0.0
        The delta of the guarantee, at least 0 and below 1. If above 0, counts get normal noise and selections compose by
        zero-concentrated DP. It should be far below one over the number of records.
    """

    delta: float = parameter(RULES["delta"], default=0.0)

    def decision_function(self, X: Any) -> Floats:
        """Return the margins, of shape (n_samples, n_classes), or for two classes the log-odds of ``classes_[1]``, (n_samples,).

        ``predict_proba`` is their softmax, for two classes the sigmoid (docs/log-odds.md). ``HedgerowClassifier`` also calibrates
        probabilities for the cap, which changes them but not the order of the classes.
        """
        return self._order.margins(self.model_.decision(self._features_of(X)))


# Add/remove budgets from which finer models are worth their noise [our choice].
LITTLE, ENOUGH, PLENTY = Fraction(1, 4), Fraction(1, 2), Fraction(10)

VOTES: Mapping[str, Votes] = {"real": Real(), "discrete": Discrete()}
CANDIDATES: Mapping[str, CandidateRule] = {"multiway": multiway, "binary": binary}


def by_budget(epsilon: Fraction, few: int, some: int, many: int) -> int:
    """Return the number of rounds for an add/remove budget [our choice]: below 1/2, from 1/2 to below 10, or at least 10."""
    return few if epsilon < ENOUGH else some if epsilon < PLENTY else many


@dataclass(frozen=True)
class Size:
    """The size of a system: trees (rounds of boosting), tests on a path, bins of a numeric feature."""

    n_estimators: int
    max_depth: int
    max_bins: int

    def of(self, system: Any) -> Size:
        own = {name: value for name in vars(self) if (value := getattr(system, name, None)) is not None}
        return replace(self, **own)


class TreeSystem(PrivateClassifier):
    """A private tree that a recipe describes.

    Parameters
    ----------
    max_depth : int or None
        Maximum number of tests on a path. None: the system's default.
    max_bins : int or None
        Number of equal-width bins of a numeric feature, or of cells of the grid on which it is cut. None: the system's default.
    """

    _private_size: ClassVar[Size]
    _recipe: ClassVar[Recipe]

    max_depth: int | None = parameter(WholeNumber(0, 64, or_none=True), default=None)
    max_bins: int | None = parameter(WholeNumber(2, 1024, or_none=True), default=None)

    def _private(self, schema: Schema, depth: int) -> Recipe:
        return self._recipe

    def _default_size(self, epsilon: Fraction) -> Size:
        return self._private_size

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        size = self._default_size(claim.pure).of(self)
        return ForestPlan(self._private(schema, size.max_depth), schema, claim.pure, **asdict(size))


class ForestSystem(TreeSystem):
    """A private forest that a recipe describes.

    Parameters
    ----------
    n_estimators : int or None
        Number of trees. None: the system's default.
    """

    n_estimators: int | None = parameter(WholeNumber(1, 100_000, or_none=True), default=None)


class BoostedSystem(BoostingClassifier):
    """Boosting whose private form is a recipe.

    Parameters
    ----------
    n_estimators : int or None
        Number of rounds. None: the system's default.
    max_bins : int or None
        Number of equal-width bins of a numeric feature. None: the system's default.
    """

    n_estimators: int | None = parameter(WholeNumber(1, 10_000, or_none=True), default=None)
    max_bins: int | None = parameter(WholeNumber(2, 1024, or_none=True), default=None)

    @abstractmethod
    def _private(self) -> BoostingRecipe: ...

    @abstractmethod
    def _default_size(self, epsilon: Fraction) -> Size: ...

    def _paid_rounds(self, rounds: int, coins: PublicCoins) -> int:
        return rounds

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        size = self._default_size(claim.pure).of(self)
        rounds, depth = self._paid_rounds(size.n_estimators, coins), size.max_depth
        return BoostingPlan(self._private(), schema, claim, rounds=rounds, max_depth=depth, max_bins=size.max_bins)
