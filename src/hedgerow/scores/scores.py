"""What a private learner asks of a node: candidate tests, and the scores that rank them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError
from hedgerow.scores import kernels

__all__ = ["Candidates", "ClassCount", "Gini", "Max", "Minority", "Score", "binary", "multiway"]

Integers = npt.NDArray[np.int64]

MOST_FRACTION_BITS = 28  # a branch of 2**31 records then scores above -2**60, and 8 such branches fit 64 bits


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
    reusable : bool
        Whether a path may test a feature again.
    """

    feature: npt.NDArray[np.int32]
    branch: npt.NDArray[np.uint16]
    arity: npt.NDArray[np.int32]
    reusable: bool = False

    def __post_init__(self) -> None:
        shapes = len(self.feature) == len(self.arity) == len(self.branch) and self.branch.ndim == 2
        if not shapes or not len(self.feature) or np.any(self.branch >= self.arity.max()) or np.any(self.feature < 0):
            raise ConfigurationError(
                "the candidates' arrays do not describe tests: their lengths or branches do not fit."
            )
        for array in (self.feature, self.branch, self.arity):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.feature)


def multiway(n_codes: npt.ArrayLike) -> Candidates:
    """Return one test per feature, with a branch for each of its codes (also those that no record may have)."""
    codes = np.array(n_codes, dtype=np.int32)
    branch = np.tile(np.arange(codes.max(), dtype=np.uint16), (len(codes), 1))
    return Candidates(np.arange(len(codes), dtype=np.int32), branch, codes)


def binary(n_codes: npt.ArrayLike, is_numeric: Sequence[bool]) -> Candidates:
    """Return the tests with two branches: each cut of a numeric feature, each value of a categorical one against the rest.

    The last code of a numeric feature means missing: a cut sends it up, and one more test asks for it. Of the last two codes
    of a categorical feature, missing and undeclared, the first has a test too.
    """
    codes = np.asarray(n_codes, dtype=np.int64)
    width = int(codes.max())
    features, branches = [], []
    for feature, (count, numeric) in enumerate(zip(codes, is_numeric, strict=True)):
        code = np.arange(width)
        tests = [code > cut for cut in range(count - 2)] if numeric else [code != value for value in range(count - 2)]
        missing = count - 1 if numeric else count - 2
        tests.append(code != missing)
        features += [feature] * len(tests)
        branches += tests
    return Candidates(
        np.array(features, dtype=np.int32),
        np.array(branches, dtype=np.uint16),
        np.full(len(features), 2, dtype=np.int32),
        reusable=True,
    )


@dataclass(frozen=True)
class Gini:
    """The Gini score, -sum over branches of (n - sum of n_k**2 / n), in steps of 2**-fraction_bits.

    One record added lowers one branch's score by a value in [0, 2) (docs/proofs/gini.md), in steps by an integer from 0 to
    ``range``, since each branch is rounded down and the interval's ends are whole steps. So the score is one-sided and its
    range is 2, not 4. docs/proofs/gini.md.
    """

    fraction_bits: int = field(default=10, repr=False)

    name = "Gini score"

    def __post_init__(self) -> None:
        if not 0 <= self.fraction_bits <= MOST_FRACTION_BITS:
            raise ConfigurationError(
                f"fraction_bits is {self.fraction_bits}, but above {MOST_FRACTION_BITS} the score would not fit 64 bits; "
                "keep the default."
            )

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
class Max:
    """How many records a majority label in each branch would get right: one-sided, with range 1 (docs/proofs/gini.md)."""

    name = "majority score"
    range = 1
    detail = name

    def score(self, histogram: Integers, offsets: Integers, candidates: Candidates, out: Integers) -> None:
        """Write the score of each test in each node of ``histogram`` (nodes, codes, classes) to ``out`` (nodes, tests)."""
        kernels.majority(histogram, offsets, candidates.feature, candidates.branch, candidates.arity, out)


Score = Gini | Max


@dataclass(frozen=True)
class ClassCount:
    """The number of records of each class, as the score of a leaf's label: one-sided, with range 1."""

    name = "class counts"
    range = 1


@dataclass(frozen=True)
class Minority:
    """How many records of a node are not of its largest class: it changes by 0 or 1 with one record (docs/proofs/gini.md)."""

    name = "minority count"
    sensitivity = 1

    def of(self, counts: Integers) -> Integers:
        """Return the minority of each row of class counts (nodes, classes)."""
        out = np.empty(len(counts), dtype=np.int64)
        kernels.minority(counts, out)
        return out
