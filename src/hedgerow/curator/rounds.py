"""One round of questions about sums over all records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hedgerow.curator.checks import check_range, check_scores, check_sums
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
    _of_features: tuple[Integers, ...] = field(repr=False)  # of each: the sums by code, (codes, channels)
    _charge: Callable[[Event], None] = field(repr=False)
    _randomness: Randomness = field(repr=False)

    def select_feature(self, mechanism: Selection, penalty: Integers) -> int:
        """Return a feature, chosen by its absolute sums of the rule's scored channels less a public penalty.

        One record moves each score by at most ``scored_l1`` in either direction, so the range is twice that.
        """
        check_scores(self._rule)
        check_range(mechanism, "absolute gradients", 2 * self._rule.scored_l1)
        self._charge(mechanism.event("a feature", "absolute gradients"))
        gradients = [np.abs(sums[:, : self._rule.scored]).sum() for sums in self._of_features]
        scores = (np.array(gradients, dtype=np.int64) - penalty)[None]
        return int(self._randomness.draw(mechanism, scores, np.ones(scores.shape, dtype=np.bool_))[0])

    def sums(self, feature: int, noise: Noise) -> Integers:
        """Return the sums of the channels by the codes of one feature, (codes, channels), with noise."""
        return self._noisy(self._of_features[feature], noise)

    def whole_sums(self, noise: Noise) -> Integers:
        """Return the sums of the channels over all records, (channels,), with noise."""
        return self._noisy(self._of_features[0].sum(axis=0), noise)

    def _noisy(self, sums: Integers, noise: Noise) -> Integers:
        check_sums(noise, self._rule)
        self._charge(noise.event("sums", draws=sums.size))
        noisy: Integers = self._randomness.draw(noise, sums)
        return noisy
