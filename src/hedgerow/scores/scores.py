"""What a node may ask about one feature of a record, and scores that rank the tests: integers, each with its range."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, Truth, check_shape, frozen_copy, lazy
from hedgerow.errors import ConfigurationError
from hedgerow.scores import kernels
from hedgerow.scores.kernels import CUT, EACH, VALUE

MOST_WEIGHT = 1 << 62
KINDS = {
    "n_codes": np.int64,
    "feature": np.int32,
    "kind": np.int8,
    "at": np.int32,
    "weight": np.int64,
}


@dataclass(frozen=True, eq=False)
class Candidates:
    """A public list of tests; each reads the code of one feature."""

    n_codes: Integers  # (features,): how many codes each feature has
    feature: npt.NDArray[np.int32]  # (tests,): the feature that each test reads
    # (tests,): EACH: a branch for every code. CUT: branch 0 for codes up to one, else 1. VALUE: branch 0 for one
    # code, else 1
    kind: npt.NDArray[np.int8]
    at: npt.NDArray[np.int32]  # (tests,): the last code of a cut's branch 0, the code of a VALUE; 0 for the others
    # (tests,): Public base weights, for mechanisms that take them; cuts of one feature may weigh as much as one other
    # test
    weight: Integers

    def __post_init__(self) -> None:
        # Copies that nobody can write to, here and below: a record must stay in one branch of each test.
        for name, kind in KINDS.items():
            object.__setattr__(self, name, _immutable(getattr(self, name), kind))
        tests = (self.feature, self.kind, self.at, self.weight)
        if not len(self.feature) or any(array.shape != self.feature.shape for array in tests):
            raise ConfigurationError("the candidates' arrays do not describe tests: their lengths do not fit.")
        known = (self.feature >= 0) & (self.feature < len(self.n_codes))
        if not known.all() or np.any((self.at < 0) | (self.at >= self.n_codes[self.feature])) or self.weight.min() < 1:
            raise ConfigurationError("the candidates' arrays do not describe tests: a code, place or weight is none.")
        if not np.isin(self.kind, (EACH, CUT, VALUE)).all() or sum(self.weight.tolist()) >= MOST_WEIGHT:
            raise ConfigurationError(
                "the candidates' arrays do not describe tests: a kind is none, or weights are too large."
            )

    def __len__(self) -> int:
        return len(self.feature)

    @lazy
    def arity(self) -> npt.NDArray[np.int32]:
        """How many branches each test has, of shape (tests,)."""
        return _immutable(np.where(self.kind == EACH, self.n_codes[self.feature], 2), np.int32)

    @lazy
    def offsets(self) -> Integers:
        """Where each feature's codes begin when all stand one after another, and their number, of shape (features + 1,)."""
        return _immutable(np.concatenate(([0], np.cumsum(self.n_codes))), np.int64)

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.offsets, self.feature, self.kind, self.at

    def branches(self, tests: npt.ArrayLike) -> npt.NDArray[np.uint16] | npt.NDArray[np.uint32]:
        """Return the branch of each code for some of the tests, of shape (tests, codes)."""
        tests = np.asarray(tests)
        code = np.arange(int(self.n_codes.max()))
        out = np.empty((len(tests), len(code)), dtype=np.uint16 if len(code) <= 1 << 16 else np.uint32)
        for row, test in zip(out, tests.tolist(), strict=True):  # one by one: int64 for all of them would be far larger
            kind, at = self.kind[test], self.at[test]
            row[:] = code if kind == EACH else code > at if kind == CUT else code != at
        return out

    def every_code(self, nodes: int) -> Truth:
        """Return what may come to a root: every code of every feature, of shape (nodes, codes of all features)."""
        return np.ones((nodes, int(self.offsets[-1])), dtype=np.bool_)

    def undecided(self, alive: Truth, widest: Integers) -> Truth:
        """Return which tests could still tell records of a node apart, and have at most so many branches.

        ``alive`` (nodes, codes of all features) says which codes the tests above a node leave; ``widest`` is of shape
        (nodes,). The answer is of shape (nodes, tests) and depends on tests only, never on records.
        """
        check_shape(alive, (len(widest), int(self.offsets[-1])), "alive (nodes, codes)")
        out = np.empty((len(alive), len(self)), dtype=np.bool_)
        kernels.undecided(alive, *self.arrays, self.arity, widest, out)
        return out

    def narrowed(self, alive: Truth, chosen: Integers) -> Truth:
        """Return which codes are left in the children of nodes that were split by the chosen tests."""
        check_shape(alive, (len(chosen), int(self.offsets[-1])), "alive (nodes, codes)")
        children = np.repeat(alive, self.arity[chosen], axis=0)
        kernels.narrow(children, *self.arrays, self.arity, chosen)
        return children


def _immutable(array: npt.NDArray[Any], kind: Any) -> npt.NDArray[Any]:
    """Return a copy of an integer array that cannot be made writeable again."""
    if array.dtype.kind not in "iu":
        raise ConfigurationError("the candidates' arrays do not describe tests: they must hold integers.")
    return frozen_copy(array, kind)


def _listed(n_codes: Integers, feature: Integers, kind: Integers, at: Integers, weight: Integers) -> Candidates:
    return Candidates(
        n_codes, feature.astype(np.int32), kind.astype(np.int8), at.astype(np.int32), weight.astype(np.int64)
    )


def _repeated(counts: Integers) -> tuple[Integers, Integers]:
    """Return each feature as often as it has tests, and the tests of each, counted from 0."""
    feature = np.repeat(np.arange(len(counts)), counts)
    return feature, np.arange(len(feature)) - np.repeat(np.cumsum(counts) - counts, counts)


def multiway(n_codes: npt.ArrayLike, is_cut: Sequence[bool] = ()) -> Candidates:
    """Return one test per feature, with a branch for each of its codes (also those that no record may have)."""
    codes = np.array(n_codes, dtype=np.int64)
    none = np.zeros_like(codes)
    return _listed(codes, np.arange(len(codes)), none + EACH, none, none + 1)


def binary(n_codes: npt.ArrayLike, is_cut: Sequence[bool]) -> Candidates:
    """Return the tests with two branches: every cut of some features, each value of the others against the rest.

    The last code of a numeric feature means missing, so its last cut asks for that. Of the last two codes of a categorical
    feature, missing and undeclared, the first has a test too.
    """
    codes = np.array(n_codes, dtype=np.int64)
    feature, at = _repeated(codes - 1)
    return _listed(codes, feature, np.where(np.asarray(is_cut)[feature], CUT, VALUE), at, np.ones_like(at))


def multiway_or_binary(n_codes: npt.ArrayLike, is_cut: Sequence[bool]) -> Candidates:
    """Return the tests of ``multiway``, one for each feature, and behind them those of ``binary``."""
    first, second = multiway(n_codes), binary(n_codes, is_cut)
    columns = [
        np.concatenate([getattr(tests, name) for tests in (first, second)])
        for name in ("feature", "kind", "at", "weight")
    ]
    return _listed(first.n_codes, *columns)


def mixed(n_codes: npt.ArrayLike, is_cut: Sequence[bool]) -> Candidates:
    """Return every cut of some features, and one test with a branch for each code of the others.

    A test with a branch for each code weighs as much as all cuts of a feature on the finest grid, and a cut weighs 1.
    """
    codes, cut = np.array(n_codes, dtype=np.int64), np.asarray(is_cut, dtype=np.bool_)
    most = int((codes[cut] - 1).max(initial=1))
    feature, at = _repeated(np.where(cut, codes - 1, 1))
    return _listed(codes, feature, np.where(cut[feature], CUT, EACH), at, np.where(cut[feature], 1, most))


MOST_FRACTION_BITS = 28  # a branch of 2**31 records then scores above -2**60, and 8 such branches fit 64 bits
MOST_GAIN_BITS = 20  # 2**31 records times a slope below 2**5 then stay below 2**56
NO_TABLE = np.zeros(2, dtype=np.int64)


@dataclass(frozen=True)
class Score(ABC):
    """A sum over a test's branches of what their class counts are worth; larger is better."""

    name: ClassVar[str]
    measure: ClassVar[int]
    weighs: ClassVar[bool] = False  # whether sums of weights stay exact in 64 bits, as well as counts
    table: ClassVar[Integers] = NO_TABLE  # of n log2 n, for the information gain

    @property
    @abstractmethod
    def range(self) -> int:
        """R under add/remove adjacency: the largest spread of the changes that one record makes, in steps of the score."""

    @property
    def detail(self) -> str:
        """The score's name, with the size of its steps where they are no whole records, for certificates."""
        return self.name

    def score(self, histogram: Integers, candidates: Candidates, out: Integers) -> None:
        """Write the score of each test in each node of ``histogram`` (nodes, codes, classes) to ``out`` (nodes, tests)."""
        check_shape(
            histogram, (len(out), int(candidates.offsets[-1]), histogram.shape[-1]), "histogram (nodes, codes, classes)"
        )
        check_shape(out, (len(histogram), len(candidates)), "out (nodes, tests)")
        kernels.scores(histogram, *candidates.arrays, self.measure, getattr(self, "fraction_bits", 0), self.table, out)


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
        return int(self.table[-1] - self.table[-2])

    @property
    def detail(self) -> str:
        return f"{self.name} of up to {self.cap} records in steps of 1/{1 << self.fraction_bits}"

    @property
    def table(self) -> Integers:  # type: ignore[override]
        return _entropy_table(self.cap, self.fraction_bits)


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
    """What one selection chooses from."""

    line: Integers  # (places,): the code, counted through all features, that stands at each place of the line
    # For each specialization the places where its branches begin, ascending, and the place where the last one ends
    edges: Sequence[tuple[int, ...]]
    weight: Integers = field(repr=False)  # (specializations,): public base weights, for mechanisms that take them

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
    ``features`` (features + 1,) says where each feature's places begin in the line, and their number.
    """
    over_all, depth = 0, np.zeros(int(features[-1]), dtype=np.int64)
    for choice in choices:
        low, high = min(edges[0] for edges in choice.edges), max(edges[-1] for edges in choice.edges)
        if np.searchsorted(features, low, side="right") == np.searchsorted(features, high - 1, side="right"):
            depth[low:high] += 1
        else:
            over_all += 1
    return over_all + int(np.maximum.reduceat(depth, features[:-1]).sum())
