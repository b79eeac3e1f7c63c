"""What one record adds to the gradient and the curvature of the logistic loss: bounded, whatever the record is.

Both are asked for in one question, and the curvature is free: it takes up room that the gradient leaves
(docs/proofs/hedgerow.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hedgerow.boosting import kernels
from hedgerow.boosting.weights import UNIT, VOTE_STEPS
from hedgerow.threads import for_slices

__all__ = ["Gradients"]

Integers = npt.NDArray[np.int64]

EXPONENTIALS = 1 << 20  # of exp(0)
BINARY_NORMAL, BINARY_PURE, MANY_NORMAL = 3330, 1000, 2000  # thousandths of the curvature that fit beside the gradient
MANY_PURE = 500  # there it is not free: the norm grows from 2 to 2.5


@dataclass(frozen=True)
class Gradients:
    """The channels of a round of additive boosting.

    Two classes: the residual y - p and a multiple of p (1 - p). With normal noise the multiple is 3.330, with geometric noise
    1; the squared L2 norm, or the L1 norm, of both together is at most 1. More classes: the residual of each class and twice
    each p_k (1 - p_k), of squared L2 norm at most 2; with geometric noise half of each p_k (1 - p_k), of L1 norm at most 2.5.

    Parameters
    ----------
    n_classes : int
        How many classes the schema has.
    normal : bool
        Whether the noise will be normal.
    """

    n_classes: int
    normal: bool

    @property
    def scored(self) -> int:
        """How many channels are gradients."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def scored_l1(self) -> int:
        """The largest L1 norm of a record's gradients, in units."""
        return UNIT if self.n_classes == 2 else 2 * UNIT

    @property
    def l1(self) -> int:
        """A bound on the L1 norm of all that a record adds."""
        if self.normal:
            return 2 * self.scored_l1
        return UNIT if self.n_classes == 2 else 5 * UNIT // 2

    @property
    def l2_squared(self) -> int:
        """A bound on the squared L2 norm of all that a record adds."""
        return UNIT**2 if self.n_classes == 2 else 2 * UNIT**2

    @property
    def curvature(self) -> float:
        """The multiple of the curvature that is measured."""
        if self.n_classes == 2:
            return (BINARY_NORMAL if self.normal else BINARY_PURE) / 1000
        return (MANY_NORMAL if self.normal else MANY_PURE) / 1000

    @cached_property
    def _exponentials(self) -> Integers:
        places = np.arange(int(14 * VOTE_STEPS / 2) + 1)
        table: Integers = np.rint(np.exp(-2 * places / VOTE_STEPS) * EXPONENTIALS).astype(np.int64)
        return table

    def __call__(self, margins: Integers, labels: npt.NDArray[np.signedinteger]) -> Integers:
        """Return the channels of each record of ``margins`` (records, classes) and ``labels`` (records,; -1: nothing).

        The answer is of shape (records, 2) for two classes, otherwise (records, 2 classes), in units rounded towards zero.
        """
        out = np.empty((len(labels), 2 * self.scored), dtype=np.int64)
        thousandths = round(1000 * self.curvature)
        exponentials = self._exponentials

        def work(rows: slice) -> None:
            kernels.logistic_channels(margins[rows], labels[rows], exponentials, UNIT, thousandths, out[rows])

        for_slices(len(labels), work)
        return out
