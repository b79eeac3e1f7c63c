"""What a private learner asks of a node: candidate tests, and the scores that rank them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hedgerow.scores import kernels

__all__ = ["Candidates", "ClassCount", "Gini", "Minority", "multiway"]

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Candidates:
    """A public list of tests; test t reads one feature and sends code c to branch ``branch[t, c]``.

    Parameters
    ----------
    feature : ndarray of shape (tests,), int32
        The feature that each test reads.
    branch : ndarray of shape (tests, codes), uint16
        The branch of each code; columns beyond a feature's codes are not read.
    arity : ndarray of shape (tests,), int32
        How many branches each test has.
    """

    feature: npt.NDArray[np.int32]
    branch: npt.NDArray[np.uint16]
    arity: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.feature)


def multiway(n_codes: npt.ArrayLike) -> Candidates:
    """Return one test per feature, with a branch for each of its codes (also those that no record may have)."""
    codes = np.asarray(n_codes, dtype=np.int32)
    branch = np.tile(np.arange(codes.max(), dtype=np.uint16), (len(codes), 1))
    return Candidates(np.arange(len(codes), dtype=np.int32), branch, codes)


@dataclass(frozen=True)
class Gini:
    """The Gini score, -sum over branches of (n - sum of n_k**2 / n), in steps of 2**-fraction_bits.

    One record added lowers one branch's score by a value in [0, 2) (SYSTEMS.md 2.4), in steps by an integer from 0 to
    ``range``, since each branch is rounded down and the interval's ends are whole steps. So the score is one-sided and its
    range is 2, not 4. docs/proofs/gini.md.
    """

    fraction_bits: int = field(default=10, repr=False)

    name = "Gini score"

    @property
    def range(self) -> int:
        """R under add/remove adjacency, in steps of the score."""
        return 2 << self.fraction_bits

    @property
    def detail(self) -> str:
        """The score's name with the size of its steps, for certificates."""
        return f"{self.name} in steps of 1/{1 << self.fraction_bits}"

    def score(self, histogram: Integers, offsets: Integers, candidates: Candidates, out: Integers) -> None:
        """Write the score of each test in each node of ``histogram`` (nodes, codes, classes) to ``out`` (nodes, tests)."""
        kernels.gini(
            histogram, offsets, candidates.feature, candidates.branch, candidates.arity, self.fraction_bits, out
        )


@dataclass(frozen=True)
class ClassCount:
    """The number of records of each class, as the score of a leaf's label: one-sided, with range 1."""

    name = "class counts"
    range = 1


@dataclass(frozen=True)
class Minority:
    """How many records of a node are not of its largest class: it changes by 0 or 1 with one record (SYSTEMS.md 2.4)."""

    name = "minority count"
    sensitivity = 1

    def of(self, counts: Integers) -> Integers:
        """Return the minority of each row of class counts (nodes, classes)."""
        out = np.empty(len(counts), dtype=np.int64)
        kernels.minority(counts, out)
        return out
