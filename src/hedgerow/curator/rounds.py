"""One round of questions about sums over all records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hedgerow.curator.checks import check_range, check_scores, check_sums
from hedgerow.curator.splits import Splits
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Noise, Randomness, Selection
from hedgerow.privacy.events import Event
from hedgerow.table import ChannelRule

__all__ = ["Round"]

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Round:
    """Answers about the sums of what a rule says of every record, as they were when a curator opened the round.

    Every question is asked of all records and charged to the curator before its answer is drawn.
    """

    _rule: ChannelRule = field(repr=False)
    _sums: Integers = field(repr=False)  # by group and code, (groups, codes, channels)
    _offsets: Integers = field(repr=False)  # where the codes of each feature begin
    _splits: Splits | None = field(repr=False)
    _charge: Callable[[Event], None] = field(repr=False)
    _randomness: Randomness = field(repr=False)

    @property
    def _by_code(self) -> Integers:
        """The sums by code, (codes of all features, channels): every partition into groups holds all records."""
        first = len(self._sums) if self._splits is None else self._splits.n_first
        return np.asarray(self._sums[:first].sum(axis=0))

    def _scores(self) -> Integers:
        """Return the absolute sums of the scored channels over the cells of each candidate, features and then splits."""
        scored = np.abs(self._by_code[:, : self._rule.scored]).sum(axis=1)
        of_features = np.add.reduceat(scored, self._offsets[:-1])
        if self._splits is None:
            return of_features
        return np.concatenate([of_features, self._splits.scores(self._sums, self._rule.scored)])

    def select(self, mechanism: Selection, penalty: Integers, offered: npt.NDArray[np.bool_] | None = None) -> int:
        """Return a candidate, chosen by its absolute sums of the rule's scored channels less a public penalty.

        Candidates are the features, and behind them the round's splits; ``offered`` says which of them may be chosen, all
        if it is None. Under each a record is in one cell, so one record moves each score by at most ``scored_l1`` in either
        direction, and the range is twice that.
        """
        check_scores(self._rule)
        check_range(mechanism, "absolute gradients", 2 * self._rule.scored_l1)
        self._charge(mechanism.event("a candidate", "absolute gradients"))
        scores = (self._scores() - penalty)[None]
        every = np.ones(scores.shape, dtype=np.bool_)
        return int(self._randomness.draw(mechanism, scores, every if offered is None else offered[None])[0])

    def scores(self, noise: Noise) -> Integers:
        """Return the absolute sums of the rule's scored channels over the codes of each feature, (features,), with noise.

        One record moves each of them by at most ``scored_l1``.
        """
        check_scores(self._rule)
        features, most = len(self._offsets) - 1, self._rule.scored_l1
        if not noise.covers(features * most, features * most**2):
            raise ConfigurationError(
                "the noise is calibrated for less than one record adds to the scores; build it for that."
            )
        self._charge(noise.event("scores", draws=features))
        noisy: Integers = self._randomness.draw(noise, self._scores()[:features])
        return noisy

    def sums(self, candidate: int, noise: Noise) -> Integers:
        """Return the sums of the channels by the cells of a candidate, (cells, channels), with noise.

        The cells of a feature are its codes; those of a split are those of its first side and then of its second.
        """
        split = candidate - (len(self._offsets) - 1)
        if split >= 0:
            assert self._splits is not None
            return self._noisy(self._splits.sums(self._sums, split), noise)
        return self._noisy(self._by_code[self._offsets[candidate] : self._offsets[candidate + 1]], noise)

    def whole_sums(self, noise: Noise) -> Integers:
        """Return the sums of the channels over all records, (channels,), with noise."""
        return self._noisy(self._by_code[: self._offsets[1]].sum(axis=0), noise)

    def _noisy(self, sums: Integers, noise: Noise) -> Integers:
        check_sums(noise, self._rule)
        self._charge(noise.event("sums", draws=sums.size))
        noisy: Integers = self._randomness.draw(noise, sums)
        return noisy
