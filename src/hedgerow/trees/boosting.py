"""Boosting by record-local weights: what a record weighs, what a tree votes, the plan of a fit, and the model it leaves.

A record's margin is its own class's vote less the largest vote of the others, in fixed point. Weights lie in [0, 1], are
never normalized, and come from a public table of integers, so what one record adds to any count is at most one unit,
whatever the others are (docs/proofs/boosting.md). Votes are post-processing of released counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, check_shape
from hedgerow.curator import Queryable
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.export import Softmax
from hedgerow.export.archive import array_of
from hedgerow.mechanisms import Budget
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.privacy.accounting import Event, Sequence
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Encoder, Schema
from hedgerow.table import kernels
from hedgerow.texts import short_repr
from hedgerow.trees.forest import OF_ROUNDS, ForestModel, Grower, Recipe, Schedule, TreeVotes
from hedgerow.trees.model import Forest
from hedgerow.trees.parts import NoisyCounts, Weighted

DEEPEST = 12  # exp(-12) is below half a unit
SURE = 1 << 32  # as a threshold of a coin
LARGEST_VOTE = 1 << 40


@dataclass(frozen=True, eq=False)
class Lookup:
    """The weights of one round: ``table[margin - shift]`` in units of 1 / ``unit``, its ends beyond its ends."""

    table: npt.NDArray[np.uint64]
    shift: int = 0
    unit: int = UNIT

    def __call__(
        self, margins: npt.NDArray[np.signedinteger], labels: npt.NDArray[np.signedinteger]
    ) -> npt.NDArray[np.uint64]:
        """Return the weight of each record of ``margins`` (records, classes) and ``labels`` (records,; -1: weighs nothing)."""
        check_shape(margins, (len(labels), margins.shape[-1]), "margins (records, classes)")
        out = np.empty(len(labels), dtype=np.uint64)
        kernels.look_up(margins, labels, self.shift, self.table, out)
        return out

    def within(self, unit: int) -> Lookup:
        return Lookup(self.table * np.uint64(unit) // np.uint64(self.unit), self.shift, unit)


# CART-DPsAdaBoost: algorithm 2, step 9
@dataclass(frozen=True)
class MadaBoost:  # DPAda: equation 11
    """min(1, exp(-margin / 2)): AdaBoost's weight, never above that of a new record (Domingo and Watanabe, COLT 2000)."""

    def lookup(self, rounds: int) -> Lookup:
        return Lookup(_decay(0.5))


@dataclass(frozen=True)
class SmoothBoost:
    """1 while N <= 0, then (1 - gamma)**(N / 2); N is half the margin less theta = gamma / (2 + gamma) for each round.

    Servedio, JMLR 2003. Its votes in [-1, 1] are log-odds in [-2, 2].
    """

    gamma: float = 0.2

    def lookup(self, rounds: int) -> Lookup:
        theta = self.gamma / (2 + self.gamma)
        return Lookup(_decay(-float(np.log1p(-self.gamma)) / 4), round(2 * theta * rounds * VOTE_STEPS))


WeightFamily = MadaBoost | SmoothBoost  # what records weigh in each round


@lru_cache(maxsize=8)
def _decay(rate: float) -> npt.NDArray[np.uint64]:
    """Return exp(-rate margin) in units, to the nearest, for margins from 0 to where it is below half a unit."""
    margins = np.arange(round(DEEPEST / rate * VOTE_STEPS) + 1) / VOTE_STEPS
    return np.asarray(np.rint(np.exp(-rate * margins) * UNIT), dtype=np.uint64)


@dataclass(frozen=True)
class Real:
    """v_k = ln(max(W_k, 0) + sqrt(2) noise) less the mean of these over the classes, W the noisy counts of a leaf.

    For two classes the votes differ by the log-odds, twice what real AdaBoost tells; a margin changes by at most ``clip``.
    """

    clip: float = 2.0

    def of(self, forest: Forest, noise: float) -> Integers:
        logs = np.log(_positive_counts(forest) + np.sqrt(2) * max(noise, 0.5))
        votes = logs - logs.mean(axis=1, keepdims=True)
        return _fixed(np.clip(votes, -self.clip / 2, self.clip / 2), forest)


@dataclass(frozen=True)
class Discrete:
    """Each leaf votes for its largest count, with the weight of the whole tree: discrete AdaBoost.

    The weight is the log-odds of the error, the share of the counts outside the leaves' largest, kept from ``least`` to 1/2,
    which is twice AdaBoost's; for K classes ln(K - 1) is added to it (Zhu, Zou, Rosset and Hastie 2009). ``level`` fixes the
    weight instead.
    """

    least: float = 0.01
    level: float | None = None

    def of(self, forest: Forest, noise: float) -> Integers:
        counts = _positive_counts(forest)
        n_classes, alpha = counts.shape[1], self.level
        if alpha is None:
            leaf = counts[forest.test < 0]
            wrong = 1 - float(leaf.max(axis=1).sum()) / max(float(leaf.sum()), 1.0)
            # At most what a tree that knows nothing gets wrong
            error = min(max(wrong, self.least), 1 - 1 / n_classes) if n_classes > 1 else 0.5
            alpha = float(np.log((1 - error) / error)) + float(np.log(n_classes - 1) if n_classes > 2 else 0.0)
        votes = np.full(counts.shape, -alpha / n_classes)
        votes[np.arange(len(votes)), counts.argmax(axis=1)] += alpha
        return _fixed(votes, forest)


# A rule that makes votes (nodes, classes) of the released counts of a tree's leaves, in steps of 1 / VOTE_STEPS, and of about the
# standard deviation of the noise of one count.
Votes = Real | Discrete


def _positive_counts(forest: Forest) -> Floats:
    assert forest.counts is not None, "votes are made of released counts"
    return np.maximum(forest.counts, 0).astype(np.float64)


def _fixed(votes: Floats, forest: Forest) -> Integers:
    return np.where(forest.test[:, None] < 0, np.trunc(votes * VOTE_STEPS), 0).astype(np.int64)


@dataclass(frozen=True)
class BoostingRecipe:  # DPAda: algorithms 1 and 3
    # The weak learner, whose leaves release counts. By its assignment a record counts with its weight (``AllRecords``),
    # or is sampled with a probability in proportion to it (``Weighted``), up to the assignment's ``inclusion``.
    tree: Recipe
    votes: Votes
    weights: WeightFamily


@dataclass(frozen=True, eq=False)
class BoostedModel(ForestModel):
    importance_rule: ClassVar[str] = OF_ROUNDS

    __repr__ = short_repr

    votes: Integers

    def staged_sums(self, X: Any) -> Iterator[Integers]:
        codes = self.encoder.transform(X)
        sums = np.zeros((len(codes), self.votes.shape[1]), dtype=np.int64)
        for tree in range(len(self.forest.roots)):
            self.forest.trees.add_votes(codes, self.votes, sums, slice(tree, tree + 1))
            yield sums

    def curve(self, feature: int) -> Floats:
        form, total = self.form, np.zeros((int(self.encoder.n_codes[feature]), self.votes.shape[1]), dtype=np.int64)
        for root in form.roots[form.test[form.roots] >= 0].tolist():
            test = form.test[root]
            if form.feature[test] == feature:
                total += self.votes[form.first_child[root] + form.codes_to_branches(test)]
        return self.shown(total / self.vote_steps)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**super().to_arrays(), "votes": self.votes}


class BoostingPlan:
    """Private boosting whose rounds read all records and spend equal parts of the budget: of epsilon, or with a delta of rho."""

    def __init__(
        self, recipe: BoostingRecipe, schema: Schema, claim: Claim, *, rounds: int, max_depth: int, max_bins: int
    ) -> None:
        self.encoder = Encoder(schema, max_bins)
        self._recipe, self._rounds = recipe, rounds
        tree, n_classes = recipe.tree, len(schema.classes)
        if not tree.leaf.releases_counts:
            raise ConfigurationError("boosting reads the counts of leaves; give the weak learner leaves with counts.")
        unit = 1 if isinstance(tree.assign, Weighted) else UNIT
        # Looking for the budget tries many rounds; all have these tests.
        n_codes, is_numeric = self.encoder.n_codes, schema.is_numeric
        tests = tree.candidates(n_codes, is_numeric)
        again = partial(tree.schedule, n_estimators=1, max_depth=max_depth, n_classes=n_classes, candidates=tests)

        def one(budget: Budget) -> Schedule:
            return again(replace(budget, unit=unit), n_codes, is_numeric)

        self._round = one(Budget.of(claim, lambda budget: Sequence((one(budget).event,) * rounds), rounds))
        self.event: Event = Sequence((self._round.event,) * rounds)
        self.schedules = [self._round]

    def fit(self, curator: Queryable) -> BoostedModel:
        recipe, leaf = self._recipe, self._round.levels[-1].leaf
        assert isinstance(leaf, NoisyCounts)
        trees: list[Forest] = []
        votes: list[Integers] = []
        for number in range(self._rounds):
            if number:  # the votes of the last tree are read by nobody
                curator.update_margins(TreeVotes(trees[-1].trees, votes[-1], votes[-1].shape[1]))
            weights = recipe.weights.lookup(number)
            if isinstance(recipe.tree.assign, Weighted):
                weights = weights.within(int(recipe.tree.assign.inclusion * SURE))
                trees.append(Grower(curator, self._round, rule=weights).grow())
            else:
                trees.append(Grower(curator, self._round, weights=weights).grow())
            votes.append(recipe.votes.of(trees[-1], leaf.noise.deviation))
        return BoostedModel(self.encoder, Forest.joined(*trees), np.concatenate(votes), Softmax(VOTE_STEPS))

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> BoostedModel:
        n_classes = len(self.encoder.schema.classes)
        forest = Forest.from_arrays(arrays, self._round.candidates, n_classes)
        votes = array_of(arrays, "votes", np.int64, (forest.n_nodes, n_classes), -LARGEST_VOTE, LARGEST_VOTE)
        if len(forest.roots) > self._rounds:
            raise FileFormatError("the file has more trees than rounds; fit the model again.")
        return BoostedModel(self.encoder, forest, votes, Softmax(VOTE_STEPS))
