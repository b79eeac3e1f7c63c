"""Base classes of the papers' boosting systems, with a private and a published form side by side."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction

from hedgerow.boosting import BoostingPlan, BoostingRecipe, Discrete, Real, Votes
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Plan, PublicCoins, RawPlan
from hedgerow.parameters import Choice, WholeNumber, parameter
from hedgerow.privacy.claim import Claim
from hedgerow.published import boosting as published
from hedgerow.schema import Schema
from hedgerow.systems.booster import BoostingClassifier
from hedgerow.systems.size import ENOUGH, PLENTY, Size

__all__ = ["VOTES", "BoostedSystem", "PaperBooster", "by_budget"]

VOTES: Mapping[str, Votes] = {"real": Real(), "discrete": Discrete()}


def by_budget(epsilon: Fraction, few: int, some: int, many: int) -> int:
    """Return the number of rounds for an add/remove budget [our choice]: below 1/2, from 1/2 to below 10, or at least 10."""
    return few if epsilon < ENOUGH else some if epsilon < PLENTY else many


class BoostedSystem(BoostingClassifier):
    """Boosting whose private form is a recipe.

    Parameters
    ----------
    epsilon, delta, schema, adjacency, records_per_person, random_state, ledger
        See ``BoostingClassifier``.
    n_estimators : int or None
        Number of rounds. None: the system's default.
    max_bins : int or None
        Number of equal-width bins of a numeric feature. None: the system's default.

    Attributes
    ----------
    classes_, schema_, certificate_, n_features_in_
        See ``PrivateClassifier``.
    """

    n_estimators: int | None = parameter(WholeNumber(1, 10_000, or_none=True), default=None)
    max_bins: int | None = parameter(WholeNumber(2, 1024, or_none=True), default=None)

    @abstractmethod
    def _private(self) -> BoostingRecipe:
        """Return the parts of the private form."""

    @abstractmethod
    def _default_size(self, epsilon: Fraction | None) -> Size:
        """Return the default size for an add/remove budget of the private form, or for None the default of the published form."""

    def _size(self, epsilon: Fraction | None) -> Size:
        """Return the size from the parameters, with defaults for those that are None."""
        return self._default_size(epsilon).given(n_estimators=self.n_estimators, max_bins=self.max_bins)

    def _paid_rounds(self, rounds: int, coins: PublicCoins) -> int:
        """Return the number of rounds that are paid for, which public coins determine."""
        return rounds

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan | RawPlan:
        size = self._size(claim.pure)
        return BoostingPlan(
            self._private(),
            schema,
            claim,
            rounds=self._paid_rounds(size.n_estimators, coins),
            max_depth=size.max_depth,
            max_bins=size.max_bins,
        )


class PaperBooster(BoostedSystem):
    """A boosting system of a paper, in the form whose guarantee is proved and in the form that the paper prints.

    Parameters
    ----------
    epsilon, delta, schema, n_estimators, max_bins, adjacency, records_per_person, random_state, ledger
        See ``BoostedSystem``.
    variant : {"private", "published"}
        "private": the form whose guarantee is proved. "published": the form that the paper prints, for two classes; its
        certificate says that no guarantee holds, and why.
    """

    variant: str = parameter(Choice(("private", "published")), default="private")

    @abstractmethod
    def _published(self) -> published.PublishedBoosting:
        """Return the parts of the published form."""

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan | RawPlan:
        if self.variant == "private":
            return super()._plan(schema, claim, coins)
        if claim.delta:
            raise ConfigurationError("the published form knows no delta; pass delta=0, or variant='private'.")
        size = self._size(None)
        return published.PublishedBoostingPlan(
            self._published(),
            schema,
            claim.epsilon,
            rounds=size.n_estimators,
            max_bins=size.max_bins,
            marked=coins,
        )
