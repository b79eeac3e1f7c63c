"""Boosting about to be fitted, and the model it leaves: small trees whose votes add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.boosting.votes import Votes
from hedgerow.boosting.weights import VOTE_STEPS, Lookup, WeightFamily
from hedgerow.curator import Curator
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.mechanisms import Budget, Randomness
from hedgerow.privacy.accounting import Adjacency, largest
from hedgerow.privacy.events import Event, Sequence
from hedgerow.schema import Encoder, Numeric, Schema
from hedgerow.scores import Candidates
from hedgerow.table import Table
from hedgerow.trees import Forest, Grower, Recipe, Schedule, Weighted
from hedgerow.trees.forest import BLOCK, ForestModel
from hedgerow.trees.leaves import CountRelease

__all__ = ["BoostedModel", "BoostingPlan", "BoostingRecipe", "restored"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SURE = 1 << 32  # as a threshold of a coin
LARGEST_VOTE = 1 << 40


@dataclass(frozen=True)
class BoostingRecipe:
    """Private boosting in its parts.

    Parameters
    ----------
    tree : Recipe
        The weak learner, whose leaves release counts. Its assignment says whether a record weighs (``AllRecords``), or is
        sampled as probably as it weighs (``Weighted``, at most so probably as that allows).
    votes : Votes
        What a tree votes.
    weights : WeightFamily
        How much a record counts.
    """

    tree: Recipe
    votes: Votes
    weights: WeightFamily


@dataclass(frozen=True, eq=False)
class BoostedModel(ForestModel):
    """Trees whose votes add up; ``share`` (nodes, classes) holds the votes.

    The trees stand in the order of their rounds.
    """

    def sums(self, X: Any) -> Floats:
        """Return the sum of the trees' votes, of shape (records, classes)."""
        assert self.share is not None
        n_classes = len(self.encoder.schema.classes)
        parts = [self.forest.shares(codes, self.share) for _, codes in self.encoder.blocks(X, BLOCK)]
        return np.concatenate([np.empty((0, n_classes)), *parts])

    def staged_sums(self, X: Any) -> Iterator[Floats]:
        """Yield the sum of the votes of the first trees, one more each time."""
        assert self.share is not None
        codes = self.encoder.transform(X)
        total = np.zeros((len(codes), self.share.shape[1]))
        for tree in range(len(self.forest.roots)):
            total = total + self.forest.shares(codes, self.share, slice(tree, tree + 1))
            yield total

    def decision(self, X: Any) -> Floats:
        """Return the sums of votes, (records, classes), or for two classes the second's lead, (records,)."""
        return lead(self.sums(X))

    def staged_decision(self, X: Any) -> Iterator[Floats]:
        """Yield ``decision`` of the first trees, one more each time."""
        return map(lead, self.staged_sums(X))

    def probabilities(self, X: Any) -> Floats:
        """Return the classes' probabilities, of shape (records, classes): votes are half of what log odds differ by."""
        return probabilities(self.sums(X))

    def staged_probabilities(self, X: Any) -> Iterator[Floats]:
        """Yield ``probabilities`` of the first trees, one more each time."""
        return map(probabilities, self.staged_sums(X))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees and their votes as named arrays."""
        assert self.share is not None
        return {**super().to_arrays(), "votes": np.rint(self.share * VOTE_STEPS).astype(np.int64)}


def probabilities(sums: Floats) -> Floats:
    """Return the probabilities that sums of votes (records, classes) stand for."""
    odds = np.exp(2 * (sums - sums.max(axis=1, keepdims=True)))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def lead(sums: Floats) -> Floats:
    """Return sums of votes as they are, or for two classes the lead of the second, of shape (records,)."""
    return np.asarray(sums[:, 1] - sums[:, 0]) if sums.shape[1] == 2 else sums


class BoostingPlan:
    """Private boosting that is about to be fitted.

    Every round reads all records and spends an equal part of the budget: of epsilon, or with a delta of the rho of
    zero-concentrated DP (docs/proofs/boosting.md).

    Parameters
    ----------
    recipe : BoostingRecipe
        Its parts.
    schema : Schema
        What is public about the records.
    epsilon, delta : Fraction
        The claim.
    adjacency : {"add-remove", "replace-one"}
        What the claim is for.
    rounds, max_depth, max_bins : int
        Trees that are paid for, tests on a path, and bins of a numeric feature.
    """

    def __init__(
        self,
        recipe: BoostingRecipe,
        schema: Schema,
        epsilon: Fraction,
        delta: Fraction,
        adjacency: Adjacency,
        *,
        rounds: int,
        max_depth: int,
        max_bins: int,
    ) -> None:
        self._recipe = recipe
        self._encoder = Encoder(schema, max_bins)
        self._claim = epsilon, delta, adjacency
        self._rounds = rounds
        is_numeric = [isinstance(feature, Numeric) for feature in schema.features.values()]
        self._unit = 1 if isinstance(recipe.tree.assign, Weighted) else recipe.weights.lookup(0).unit

        def schedule(amount: Fraction) -> Schedule:
            budget = Budget(amount, concentrated=delta > 0, unit=self._unit)
            return recipe.tree.schedule(budget, self._encoder.n_codes, is_numeric, n_estimators=1, max_depth=max_depth)

        if delta > 0:
            amount = largest(lambda part: self._together(schedule(part)), epsilon, delta, adjacency)
        else:
            amount = (epsilon if adjacency == "add-remove" else epsilon / 2) / rounds
        self._schedule = schedule(amount)
        if not self._schedule.releases_counts:
            raise ConfigurationError("boosting reads the counts of leaves; give the weak learner leaves with counts.")

    def _together(self, schedule: Schedule) -> Event:
        return Sequence((schedule.event,) * self._rounds)

    @property
    def event(self) -> Event:
        """Everything that will read records."""
        return self._together(self._schedule)

    def run(self, X: Any, y: Any, randomness: Randomness) -> BoostedModel:
        """Fit on the records."""
        n_classes = len(self._encoder.schema.classes)
        table = Table(self._encoder.transform(X), self._encoder.labels(y), self._encoder.n_codes, n_classes)
        epsilon, delta, adjacency = self._claim
        return self.boost(Curator(table, epsilon, randomness, delta=delta, adjacency=adjacency))

    def boost(self, curator: Curator) -> BoostedModel:
        """Fit by asking a curator whose records were encoded as this plan's schema and bins say."""
        leaf = self._schedule.levels[-1].leaf
        assert isinstance(leaf, CountRelease)
        trees, votes = [], []
        for number in range(self._rounds):
            tree = self._grow(curator, self._recipe.weights.lookup(number))
            vote = self._recipe.votes.of(tree, leaf.noise.deviation)
            curator.learn(lambda codes, margins, tree=tree, vote=vote: tree.add_shares(codes, vote, margins))
            trees.append(tree)
            votes.append(vote)
        return BoostedModel(self._encoder, Forest.joined(*trees), np.concatenate(votes) / VOTE_STEPS)

    def _grow(self, curator: Curator, weights: Lookup) -> Forest:
        if isinstance(self._recipe.tree.assign, Weighted):
            allowed = weights.within(int(self._recipe.tree.assign.inclusion * SURE))
            return Grower(curator, self._schedule, rule=allowed).grow()
        return Grower(curator, self._schedule, weights=weights).grow()

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> BoostedModel:
        """Return the model whose trees and votes stand in the arrays, or raise FileFormatError."""
        return restored(arrays, self._encoder, self._schedule.candidates, self._rounds)


def restored(
    arrays: Mapping[str, npt.NDArray[Any]], encoder: Encoder, candidates: Candidates, most: int
) -> BoostedModel:
    """Return the model of at most so many trees whose votes stand in the arrays, or raise FileFormatError."""
    n_classes = len(encoder.schema.classes)
    forest = Forest.from_arrays(arrays, candidates, n_classes)
    votes = arrays.get("votes")
    if (
        votes is None
        or votes.dtype != np.int64
        or votes.shape != (forest.n_nodes, n_classes)
        or len(forest.roots) > most
        or np.any(np.abs(votes) > LARGEST_VOTE)
    ):
        raise FileFormatError("the file's votes are damaged; fit the model again.")
    return BoostedModel(encoder, forest, votes / VOTE_STEPS)
