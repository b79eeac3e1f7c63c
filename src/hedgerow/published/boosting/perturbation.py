"""Noise on the largest and the least weight: algorithm 2 of DPAda."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Event, Pure, Sequence
from hedgerow.privacy.exact import decimal_text
from hedgerow.published.case import Case
from hedgerow.published.noise import Laplace
from hedgerow.trees.schedules import RoundSchedule

__all__ = ["PerturbExtremes", "noise_scales"]


UNIT = Laplace(Fraction(1))
EQUAL = 1e-9  # weights that differ by less, relatively, are equal: they differ by rounding
LARGEST_SCALE = 1e300  # a least weight of 0 has no budget; its noisy value is then 1/N or 0 by a fair coin
EXAMPLE = 101  # records, half of them less one misclassified


def noise_scales(weights: Floats, epsilon: float, rounds: int) -> tuple[float, float]:
    """Return the scales of the noise on the largest and the least of normalized ``weights`` (records,).

    Algorithm 2: Delta / e with e = (B / m) max w and Delta = max w - 1/N, and e = (B / m) min w and Delta = 1/N - min w.
    """
    mean = 1 / len(weights)
    most, least = float(weights.max()), float(weights.min())
    return _scale(most - mean, mean, epsilon / rounds * most), _scale(mean - least, mean, epsilon / rounds * least)


def _scale(change: float, mean: float, budget: float) -> float:
    if change <= EQUAL * mean:
        return 0.0
    return change / budget if budget > change / LARGEST_SCALE else LARGEST_SCALE


@dataclass(frozen=True)
class PerturbExtremes:
    """Laplace noise on the largest and the least weight of some rounds, cut off at 1/N, before weights are normalized.

    A noisy largest weight below 1/N becomes 1/N, and so does a noisy least weight above it; a noisy least weight below 0
    becomes 0 [inferred, the paper has no rule].

    Parameters
    ----------
    schedule : RoundSchedule
        The rounds after which there is noise.
    ties : {"each", "shared", "one"}
        Of all records with the largest (least) weight, each gets noise of its own (the likely reading, since the paper's
        proof counts them all), all get one noisy value, or only the first one is changed.

    Notes
    -----
    The scale on the largest weight is (m / B) (1 - 1 / (N max w)), above 16 at m = 30 and B = 1 for the weights of order
    1e-4 that thousands of records have: the next stump fits the noise. On Adult as in the paper, at B = 1 and m = 50, the
    four schedules reach about .5 where all tied records get noise and .67 to .77 where one does; the majority rule has .76
    and AdaBoost .86, so that no reading of the ties gives the paper's curves, which are close to AdaBoost.

    Where the least weight is 0, its budget is 0 and its scale has no bound: the noisy weight is 1/N or 0 by a fair coin.
    """

    schedule: RoundSchedule
    ties: Literal["each", "shared", "one"] = "each"

    def apply(self, weights: Floats, epsilon: float, rounds: int, randomness: Randomness) -> Floats:
        """Return the weights (records,) after noise, normalized."""
        mean = 1 / len(weights)
        of_most, of_least = noise_scales(weights, epsilon, rounds)
        most = self._tied(weights >= weights.max() * (1 - EQUAL))
        least = self._tied(weights <= weights.min() * (1 + EQUAL))
        noisy = weights.copy()
        noisy[most] = np.maximum(weights[most] + of_most * self._noise(len(most), randomness), mean)
        if of_least > 0:  # otherwise all weights are the same
            noisy[least] = np.clip(weights[least] + of_least * self._noise(len(least), randomness), 0, mean)
        return np.asarray(noisy / noisy.sum())

    def _tied(self, extreme: npt.NDArray[np.bool_]) -> Integers:
        rows = np.flatnonzero(extreme)
        return rows[:1] if self.ties == "one" else rows

    def _noise(self, records: int, randomness: Randomness) -> Floats:
        noise: Floats = randomness.draw(UNIT, np.zeros(records if self.ties == "each" else 1))
        return noise

    def stated(self, case: Case) -> Event | None:
        """Return the cost of all noisy rounds as the paper states it; None if there is none."""
        most = self.schedule.most(case.trees)
        if most == 0:
            return None
        noise = f"Laplace noise in floating point, after at most {most} of {case.trees} rounds, ties: {self.ties}"
        purpose = "largest and least weight of a noisy round, at most, as the paper states it"
        return Sequence((Pure(case.epsilon / case.trees, noise, purpose),) * most)

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        if self.schedule.most(case.trees) == 0:
            return
        scale = decimal_text(case.trees / case.epsilon / EXAMPLE, 3)
        yield (
            "the noise on the largest and the least weight has a scale that is read off the weights, Delta = max w - 1/N, "
            f"which bounds no change: with {EXAMPLE - 1} records, half of them misclassified, it is 0, and with one more "
            f"record {scale}: a certain value against a random one, an infinite loss"
        )
        yield (
            "the budgets (B / m) w add up to at most B because weights sum to 1, and not because each step's loss is so "
            "small: no step has a sensitivity, so the stated budgets bound nothing"
        )
