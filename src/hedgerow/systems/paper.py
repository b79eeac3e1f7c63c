"""Base classes of the papers' trees and forests, with a private and a published form side by side."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction

from hedgerow import published
from hedgerow.estimator import Plan, PrivateClassifier, PublicCoins, RawPlan
from hedgerow.mechanisms import Exponential
from hedgerow.parameters import Choice, WholeNumber, parameter
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Schema
from hedgerow.systems.size import Size
from hedgerow.trees import ForestPlan, Recipe, SelectCutsThenTest, SelectTest, Split

__all__ = ["BOOTSTRAPS", "SPLITS", "PaperForest", "PaperTree", "published_criterion"]

BOOTSTRAPS = ("all-records", "poisson")  # the assignments that stand in for a bootstrap
SPLITS: Mapping[str, Split] = {"merged": SelectTest(Exponential), "separate": SelectCutsThenTest(Exponential)}


def published_criterion(name: str) -> published.Score:
    """Return the score of a published form, by a name in SCORES."""
    criteria: Mapping[str, published.Score] = {
        "gini": published.Gini(),
        "max": published.Max(),
        "information-gain": published.InformationGain(),
        "error": published.Max(),  # the same choice: the two differ by the node's records
    }
    return criteria[name]


class PaperTree(PrivateClassifier):
    """A tree of a paper, in the form whose guarantee is proved and in the form that the paper prints.

    Parameters
    ----------
    epsilon, schema, adjacency, records_per_person, random_state, ledger
        See ``PrivateClassifier``.
    variant : {"private", "published"}
        "private": the form whose guarantee is proved. "published": the form that the paper prints; its certificate says that no
        guarantee holds, and why.
    max_depth : int or None
        Maximum number of tests on a path. None: the system's default.
    max_bins : int or None
        Number of equal-width bins of a numeric feature, or of cells of the grid on which it is cut. None: the system's default.

    Attributes
    ----------
    classes_, schema_, certificate_, n_features_in_
        See ``PrivateClassifier``.
    """

    variant: str = parameter(Choice(("private", "published")), default="private")
    max_depth: int | None = parameter(WholeNumber(0, 64, or_none=True), default=None)
    max_bins: int | None = parameter(WholeNumber(2, 1024, or_none=True), default=None)

    @abstractmethod
    def _private(self, schema: Schema, depth: int) -> Recipe:
        """Return the parts of the private form."""

    @abstractmethod
    def _published(self) -> published.Recipe:
        """Return the parts of the published form."""

    @abstractmethod
    def _default_size(self, epsilon: Fraction | None) -> Size:
        """Return the default size for an add/remove budget of the private form, or for None the default of the published form."""

    def _size(self, schema: Schema, epsilon: Fraction | None) -> Size:
        """Return the size from the parameters, with defaults for those that are None."""
        return self._default_size(epsilon).given(max_depth=self.max_depth, max_bins=self.max_bins)

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan | RawPlan:
        if self.variant == "published":  # the paper's budgets are the same under either adjacency
            size = self._size(schema, None)
            return published.PublishedForestPlan(self._published(), schema, claim.epsilon, **asdict(size))
        size = self._size(schema, claim.pure)
        return ForestPlan(self._private(schema, size.max_depth), schema, claim.pure, **asdict(size))


class PaperForest(PaperTree):
    """A forest of a paper.

    Parameters
    ----------
    epsilon, schema, variant, max_depth, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperTree``.
    n_estimators : int or None
        Number of trees. None: the system's default.
    """

    n_estimators: int | None = parameter(WholeNumber(1, 100_000, or_none=True), default=None)

    def _size(self, schema: Schema, epsilon: Fraction | None) -> Size:
        return super()._size(schema, epsilon).given(n_estimators=self.n_estimators)
