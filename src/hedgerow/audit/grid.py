"""Noisy counts told by the cell of a coarse public grid, so that an audit has few of their outcomes to walk through."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import AtMost, Geometric, RoundedNormal
from hedgerow.papers.noise import Laplace

__all__ = ["NOISE", "AuditedNoise", "Grid"]

AuditedNoise = Geometric | RoundedNormal | Laplace
NOISE = (Geometric, RoundedNormal, Laplace)


@dataclass(frozen=True)
class Grid:
    """What an audit tells of a noisy count: its cell. The fit goes on with that cell's answer.

    Beyond its ends the law of geometric and of Laplace noise decays by the same factor per step, so the cells at the ends lose
    all that the noise loses, wherever the counts lie inside them.

    Parameters
    ----------
    ends : tuple of int
        Where cells end, ascending: cell i ends at ``ends[i]``, and one more cell never ends. None: nothing is told of
        counts, so a loss is that of the choices alone.
    answers : tuple of int
        The count that stands for each cell.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from hedgerow.audit import Grid
    >>> from hedgerow.mechanisms import Geometric
    >>> Grid().law(Geometric(Fraction(1)), 0).round(3).tolist()
    [0.731, 0.269]
    """

    ends: tuple[int, ...] = (0,)
    answers: tuple[int, ...] = (0, 1 << 19)  # far more records than a stop asks for; 8 records that weigh up to 2**16

    def __post_init__(self) -> None:
        if len(self.answers) != len(self.ends) + 1 or list(self.ends) != sorted(set(self.ends)):
            raise ConfigurationError("a grid has ascending ends, and one answer more than ends.")

    def law(self, noise: AuditedNoise, value: float) -> npt.NDArray[np.float64]:
        """Return the probability of each cell for one count."""
        if not self.ends:
            return np.ones(1)
        below, above = np.array([_sides(noise, value, end) for end in self.ends]).T
        return np.array([below[0], *np.diff(below), above[-1]])


def _sides(noise: AuditedNoise, value: float, end: int) -> npt.NDArray[np.float64]:
    """Return the probabilities that a noisy count is at most an end, and above it."""
    if isinstance(noise, Geometric):
        return AtMost(noise, end).law(int(value))[::-1]
    if isinstance(noise, Laplace):
        return noise.law(value, end)
    room = (end + 0.5 - value) / float(noise.sigma.fraction)
    return np.array([ndtr(room), ndtr(-room)])
