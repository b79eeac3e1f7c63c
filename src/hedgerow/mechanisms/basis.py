"""Sums of a number's codes measured in another basis: less noise on broad contrasts, more on fine ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hedgerow.arrays import Floats, Integers, frozen_copy, lazy

SCALE_BITS = 12  # the columns of a matrix have norms of at most 2**SCALE_BITS, in which a rounding costs little
BROAD_SHARE = 0.5  # of a column's squared norm, for cosines and sines; the rest is for the code alone
HALF_PERIODS = 4  # over all bins, of the shortest cosine; that of k half periods weighs 1 / k
MIN_CODES = 5  # of a feature, below which its codes are measured as they are


@dataclass(frozen=True, eq=False)
class Basis:
    """A public invertible integer matrix A, (codes, codes), by which sums of codes are multiplied before noise is added.

    A record adds a column of A times its channels, so its norms grow by those of a column (docs/proofs/hedgerow.md).
    """

    matrix: Integers

    def __post_init__(self) -> None:
        # A read-only copy: its norms are those of what is applied.
        object.__setattr__(self, "matrix", frozen_copy(self.matrix, np.int64))

    @lazy
    def l1(self) -> int:
        """The largest L1 norm of a column."""
        return int(np.abs(self.matrix).sum(axis=0).max())

    @lazy
    def l2_squared(self) -> int:
        """The largest squared L2 norm of a column."""
        return int((self.matrix**2).sum(axis=0).max())

    def applied(self, sums: Integers) -> Integers:
        """Return the exact answer of sums (cells, codes, channels), of the same shape."""
        return np.asarray(np.matmul(self.matrix, sums))

    def sums(self, answer: Integers) -> Integers:
        """Return the sums by least squares, rounded, of an answer with noise (cells, codes, channels)."""
        return np.asarray(np.rint(np.linalg.solve(self.matrix.astype(np.float64), answer)), dtype=np.int64)

    @lazy
    def covariance(self) -> Floats:
        """The covariance of the noise of ``sums``, (codes, codes), in units of the variance that it has without a basis."""
        inverse = np.linalg.inv(self.matrix / 2.0**SCALE_BITS)
        covariance = inverse @ inverse.T
        covariance.setflags(write=False)
        return covariance


@lru_cache(maxsize=64)
def broad_basis(codes: int) -> Basis | None:
    """Return the basis of a number with so many codes, of which the last is of missing cells; None if they are few."""
    # A is the root of the correlations of cosines and sines of bins, plus a diagonal, rounded towards zero: no norm grows.
    if codes < MIN_CODES:
        return None
    place = np.arange(codes - 1) / (codes - 1)
    waves = np.arange(1, HALF_PERIODS + 1)
    weights = 1 / waves / (1 / waves).sum()
    apart = np.pi * (place[:, None] - place)
    correlation = np.eye(codes)
    correlation[:-1, :-1] *= 1 - BROAD_SHARE
    for wave, weight in zip(waves.tolist(), weights.tolist(), strict=True):
        correlation[:-1, :-1] += BROAD_SHARE * weight * np.cos(wave * apart)
    root = np.linalg.cholesky(correlation).T
    return Basis(np.trunc(root * 2**SCALE_BITS))
