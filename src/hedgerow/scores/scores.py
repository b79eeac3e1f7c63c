"""Scores that rank the tests of a node: integers, each with the range by which one record can move it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, check_shape
from hedgerow.errors import ConfigurationError
from hedgerow.scores import kernels
from hedgerow.scores.candidates import Candidates

MOST_FRACTION_BITS = 28  # a branch of 2**31 records then scores above -2**60, and 8 such branches fit 64 bits
MOST_GAIN_BITS = 20  # 2**31 records times a slope below 2**5 then stay below 2**56
NO_TABLE = np.zeros(2, dtype=np.int64)


@dataclass(frozen=True)
class Score(ABC):
    """A sum over a test's branches of what their class counts are worth; larger is better."""

    name: ClassVar[str]
    measure: ClassVar[int]
    weighs: ClassVar[bool] = False  # whether sums of weights stay exact in 64 bits, as well as counts

    @property
    @abstractmethod
    def range(self) -> int:
        """R under add/remove adjacency: the largest spread of the changes that one record makes, in steps of the score."""

    @property
    def detail(self) -> str:
        """The score's name, with the size of its steps where they are no whole records, for certificates."""
        return self.name

    @property
    def _steps(self) -> tuple[int, Integers]:
        return 0, NO_TABLE

    def score(self, histogram: Integers, candidates: Candidates, out: Integers) -> None:
        """Write the score of each test in each node of ``histogram`` (nodes, codes, classes) to ``out`` (nodes, tests)."""
        check_shape(
            histogram, (len(out), int(candidates.offsets[-1]), histogram.shape[-1]), "histogram (nodes, codes, classes)"
        )
        check_shape(out, (len(histogram), len(candidates)), "out (nodes, tests)")
        kernels.scores(histogram, *candidates.arrays, self.measure, *self._steps, out)


@dataclass(frozen=True)
class Gini(Score):
    """The Gini score, -sum over branches of (n - sum of n_k**2 / n), in steps of 2**-fraction_bits.

    One record added lowers one branch's score by a value in [0, 2), in steps by an integer from 0 to ``range``, since each
    branch is rounded down and the interval's ends are whole steps. So the score is one-sided and its range is 2, not 4
    (docs/proofs/gini.md).
    """

    fraction_bits: int = field(default=10, repr=False)

    name = "Gini score"
    measure = kernels.GINI

    def __post_init__(self) -> None:
        _check_fraction_bits(self.fraction_bits)

    @property
    def range(self) -> int:
        return 2 << self.fraction_bits

    @property
    def detail(self) -> str:
        return f"{self.name} in steps of 1/{1 << self.fraction_bits}"

    @property
    def _steps(self) -> tuple[int, Integers]:
        return self.fraction_bits, NO_TABLE


@dataclass(frozen=True)
class InformationGain(Score):
    """Information gain, sum over branches and classes of n_k log2(n_k / n), up to a constant of the node.

    n log2 n is read from a public table of integers in steps of 2**-fraction_bits, whose increments ascend; beyond ``cap``
    records it goes on along its last step. One record added lowers one branch's score by a value from 0 to the last step,
    so the score is one-sided, with range log2(cap) + 1.4427 at most (docs/proofs/information-gain.md). Branches of more than
    ``cap`` records are told apart less well; the cap is public, never the number of records.
    """

    cap: int = 1 << 16
    fraction_bits: int = field(default=10, repr=False)

    name = "information gain"
    measure = kernels.GAIN

    def __post_init__(self) -> None:
        _check_fraction_bits(self.fraction_bits, MOST_GAIN_BITS)
        if not 2 <= self.cap <= MOST_CAP:
            raise ConfigurationError(
                f"the cap of the information gain is {self.cap}, but it must be from 2 to {MOST_CAP}; "
                "pass a public bound on the number of records."
            )

    @property
    def range(self) -> int:
        table = _entropy_table(self.cap, self.fraction_bits)
        return int(table[-1] - table[-2])

    @property
    def detail(self) -> str:
        return f"{self.name} of up to {self.cap} records in steps of 1/{1 << self.fraction_bits}"

    @property
    def _steps(self) -> tuple[int, Integers]:
        return self.fraction_bits, _entropy_table(self.cap, self.fraction_bits)


MOST_CAP = 1 << 24  # a table of 128 MiB


@lru_cache(maxsize=4)
def _entropy_table(cap: int, fraction_bits: int) -> Integers:
    """Return t(0..cap): t(n) is n log2 n in steps of 2**-fraction_bits, with increments that never descend."""
    n = np.arange(1, cap, dtype=np.float64)
    increments = (n + 1) * np.log2(n + 1) - n * np.log2(n)
    steps = np.maximum.accumulate(np.floor(increments * (1 << fraction_bits)).astype(np.int64))
    table = np.concatenate(([0, 0], np.cumsum(steps)))
    table.flags.writeable = False
    return table


@dataclass(frozen=True)
class Max(Score):
    """How many records a majority label in each branch would get right: one-sided, with range 1 (docs/proofs/gini.md)."""

    name = "majority score"
    weighs = True
    measure = kernels.MAJORITY
    range = 1


@dataclass(frozen=True)
class Error(Max):
    """How many records majority labels would get wrong, below zero: one-sided, with range 1.

    It is the majority score less the node's records, the same number for all tests, so selections have the same law.
    """

    name = "error score"

    def score(self, histogram: Integers, candidates: Candidates, out: Integers) -> None:
        super().score(histogram, candidates, out)
        out -= histogram[:, : candidates.n_codes[0]].sum(axis=(1, 2))[:, None]


def _check_fraction_bits(fraction_bits: int, most: int = MOST_FRACTION_BITS) -> None:
    if not 0 <= fraction_bits <= most:
        raise ConfigurationError(
            f"fraction_bits is {fraction_bits}, but above {most} the score would not fit 64 bits; keep the default."
        )


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
        out = np.empty(len(counts), dtype=np.int64)
        kernels.minority(counts, out)
        return out


SCORES: Mapping[str, Score] = {
    "gini": Gini(),
    "max": Max(),
    "information-gain": InformationGain(),
    "error": Error(),
}  # under the names that every parameter has for them


FRACTION_BITS = 10


@dataclass(frozen=True)
class Majority:
    """The largest class count: one record more adds 0 or 1, so the score is one-sided with range 1."""

    name = "majority score"
    detail = name
    range = 1

    def of(self, counts: Integers) -> Integers:
        return np.asarray(counts.max(axis=1))


@dataclass(frozen=True)
class Purity:
    """The sum of squared class counts over the size, in steps of 1/1024: records less Gini impurity.

    One record more adds a value in (-1, 1], in steps an integer from -1024 to 1024: range 2 (docs/proofs/cells.md). Unlike the
    majority score it tells shares apart where one class is the largest everywhere.
    """

    name = "purity score"
    detail = f"{name} in steps of 1/{1 << FRACTION_BITS}"
    range = 2 << FRACTION_BITS

    def of(self, counts: Integers) -> Integers:
        squares = (counts * counts).sum(axis=1)
        size = np.maximum(counts.sum(axis=1), 1)
        whole, rest = np.divmod(squares, size)
        return np.asarray((whole << FRACTION_BITS) + (rest << FRACTION_BITS) // size)


# What the class counts of one branch are worth; a specialization's score is the sum over its branches. ``range`` is the spread of
# 0 and all changes that one record makes to a branch, under add/remove adjacency.
BranchScore = Majority | Purity
BRANCH_SCORES: Mapping[str, BranchScore] = {"gini": Purity(), "max": Majority()}  # names as in SCORES


@dataclass(frozen=True, eq=False)
class Specializations:
    """What one selection chooses from.

    Parameters
    ----------
    line : ndarray of shape (places,), int64
        The code, counted through all features, that stands at each place of the line.
    edges : sequence of tuple of int
        For each specialization the places where its branches begin, ascending, and the place where the last one ends.
    weight : ndarray of shape (specializations,), int64
        Public base weights, for mechanisms that take them.
    """

    line: Integers
    edges: Sequence[tuple[int, ...]]
    weight: Integers = field(repr=False)

    def __post_init__(self) -> None:
        flat = self.flat
        if not len(self.edges) or min(map(len, self.edges)) < 3 or len(self.weight) != len(self.edges):
            raise ConfigurationError(
                "a selection needs a specialization, each with two branches or more, and a weight."
            )
        inner = np.diff(flat)[~self._joints]
        if flat.min() < 0 or flat.max() > len(self.line) or inner.min() <= 0 or self.weight.min() < 1:
            raise ConfigurationError("the specializations do not ascend along the line of codes.")

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def flat(self) -> Integers:
        return np.array([place for edges in self.edges for place in edges], dtype=np.int64)

    @property
    def _joints(self) -> npt.NDArray[np.bool_]:
        """Which steps between flat edges lead from one specialization to the next."""
        ends = np.cumsum([len(edges) for edges in self.edges])
        joints = np.zeros(int(ends[-1]) - 1, dtype=np.bool_)
        joints[ends[:-1] - 1] = True
        return joints

    def scores(self, histogram: Integers, score: BranchScore) -> Integers:
        """Return the score of each specialization on counts by code and class (codes of all features, classes)."""
        up_to = np.zeros((len(self.line) + 1, histogram.shape[1]), dtype=np.int64)
        np.cumsum(histogram[self.line], axis=0, out=up_to[1:])
        counts = np.diff(up_to[self.flat], axis=0)[~self._joints]
        first = np.cumsum([0, *(len(edges) - 1 for edges in self.edges[:-1])])
        return np.asarray(np.add.reduceat(score.of(counts), first))


def most_concerned(choices: Iterable[Specializations], features: Integers) -> int:
    """Return how many of the choices one record may concern, whatever it is.

    A choice within one feature concerns the records at the places that it divides; one over several features may concern
    every record. A record is at one place of each feature, so for each feature the place with most choices counts.

    Parameters
    ----------
    features : ndarray of shape (features + 1,)
        Where each feature's places begin in the line, and their number.
    """
    over_all, depth = 0, np.zeros(int(features[-1]), dtype=np.int64)
    for choice in choices:
        low, high = min(edges[0] for edges in choice.edges), max(edges[-1] for edges in choice.edges)
        if np.searchsorted(features, low, side="right") == np.searchsorted(features, high - 1, side="right"):
            depth[low:high] += 1
        else:
            over_all += 1
    return over_all + int(np.maximum.reduceat(depth, features[:-1]).sum())
