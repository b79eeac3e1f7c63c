"""What a grown tree votes: post-processing of its released counts, in fixed point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hedgerow.arrays import Floats, Integers
from hedgerow.margins import VOTE_STEPS
from hedgerow.trees import Forest

__all__ = ["Discrete", "Real", "Votes"]


class Votes(Protocol):
    """A rule that turns the released counts of a tree's leaves into votes."""

    def of(self, forest: Forest, noise: float) -> Integers:
        """Return the vote of every node for every class, of shape (nodes, classes), in steps of 1 / VOTE_STEPS.

        ``noise`` is about the standard deviation of the noise of one count.
        """


@dataclass(frozen=True)
class Real:
    """v_k = ln(max(W_k, 0) + sqrt(2) noise) less the mean of these over the classes, W the noisy counts of a leaf.

    For two classes the votes differ by the log-odds, twice what real AdaBoost tells; a margin changes by at most ``clip``.
    """

    clip: float = 2.0

    def of(self, forest: Forest, noise: float) -> Integers:
        """Return the vote of every node for every class, of shape (nodes, classes), in steps of 1 / VOTE_STEPS."""
        logs = np.log(_counts(forest) + np.sqrt(2) * max(noise, 0.5))
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
        """Return the vote of every node for every class, of shape (nodes, classes), in steps of 1 / VOTE_STEPS."""
        counts = _counts(forest)
        n_classes = counts.shape[1]
        alpha = self.level if self.level is not None else self._alpha(forest, counts)
        votes = np.full(counts.shape, -alpha / n_classes)
        votes[np.arange(len(votes)), counts.argmax(axis=1)] += alpha
        return _fixed(votes, forest)

    def _alpha(self, forest: Forest, counts: Floats) -> float:
        leaf = counts[forest.test < 0]
        total = max(float(leaf.sum()), 1.0)
        n_classes = counts.shape[1]
        if n_classes == 1:
            return 0.0
        most = 1 - 1 / n_classes  # what a tree that knows nothing gets wrong
        error = min(max(1 - float(leaf.max(axis=1).sum()) / total, self.least), most)
        return float(np.log((1 - error) / error)) + float(np.log(n_classes - 1) if n_classes > 2 else 0.0)


def _counts(forest: Forest) -> Floats:
    assert forest.counts is not None, "votes are made of released counts"
    return np.maximum(forest.counts, 0).astype(np.float64)


def _fixed(votes: Floats, forest: Forest) -> Integers:
    """Return votes in fixed point, rounded towards zero; nodes that are no leaves have none."""
    return np.where(forest.test[:, None] < 0, np.trunc(votes * VOTE_STEPS), 0).astype(np.int64)
