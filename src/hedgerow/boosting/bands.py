"""What the noise of released sums leaves open of a feature's curve (docs/curves.md)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Errors"]

Floats = npt.NDArray[np.float64]


class Errors:
    """The errors of one column of a feature's curve: matrices (codes, draws) through which independent draws of variance 1 come.

    An error that noise left in an earlier round is seen, for its most part, by the gradients of later rounds on the feature, and
    taken back as far as their steps follow gradients: so errors of rounds do not simply add up.

    Parameters
    ----------
    codes, draws : int
        How many codes the feature has, and how many sums its rounds released.
    found : float
        How much of an error the gradients of a later round show.
    """

    def __init__(self, codes: int, draws: int, found: float) -> None:
        self._found = found
        self._of_curve = np.zeros((codes, draws))
        self._own = np.zeros((codes, draws))  # of the feature's one-sided rounds alone
        self._before = np.zeros((codes, draws))  # these, at the first of the rounds that are taken together
        self._needed = np.zeros((codes, draws))  # of their gradients, moved back to there and added up
        self._drawn = 0

    def alone(self, gain: Floats, curvature: Floats, variance: Floats, means: Floats) -> None:
        """Take a round whose cells are others than the codes.

        ``gain`` (codes, cells) is how the curve follows its gradients, ``curvature`` (cells,) how these follow margins,
        ``variance`` (cells,) that of their noise, and ``means`` (cells, codes) average the curve over each cell.
        """
        noise = self._draw(variance)
        self._of_curve += gain @ (noise - self._found * curvature[:, None] * (means @ self._of_curve))

    def visited(
        self,
        gains: tuple[Floats, Floats],
        curvature: Floats,
        variance: Floats,
        *,
        number: int,
        trust: float,
        anew: bool,
        cut: npt.NDArray[np.bool_],
        averages: Floats | None,
    ) -> None:
        """Take a one-sided round.

        Its step follows its own gradients by the first of the ``gains`` (codes, codes), and as far as it is trusted the mean
        of the gradients of the last so many rounds by the second. Noise moves no steps that are ``cut`` (codes,); ``averages``
        (codes, codes) are what a constraint makes of the curve, which the gains do not hold.
        """
        if number == 1:
            self._begin()
        noise = self._draw(variance)
        gradient = noise - self._found * curvature[:, None] * self._of_curve
        moved = self._own - self._before
        self._needed += gradient + curvature[:, None] * moved
        step = (1 - trust) * (gains[0] @ gradient) + trust * (gains[1] @ self._needed / number - moved)
        step[cut] = 0
        if anew:
            self._begin()
            self._needed += gradient
        for error in (self._of_curve, self._own):
            error += step
            if averages is not None:
                error[:] = averages @ error

    def variance(self, mass: Floats) -> Floats:
        """Return the variance of each code's error, less the mean of all by their mass, (codes,)."""
        return np.asarray(((self._of_curve - mass @ self._of_curve) ** 2).sum(axis=1))

    def _begin(self) -> None:
        self._before[:] = self._own
        self._needed[:] = 0

    def _draw(self, variance: Floats) -> Floats:
        """Return a round's own noise, (cells, draws)."""
        noise = np.zeros((len(variance), self._of_curve.shape[1]))
        noise[:, self._drawn : self._drawn + len(variance)] = np.diag(np.sqrt(variance))
        self._drawn += len(variance)
        return noise
