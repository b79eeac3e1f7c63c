"""What a node may ask about one feature of a record, and scores that rank the tests: integers, each with its range."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, Truth, check_shape, frozen_copy, lazy
from hedgerow.errors import ConfigurationError
from hedgerow.scores import kernels
from hedgerow.scores.kernels import CUT, EACH, VALUE

MOST_WEIGHT = 1 << 62
FRACTION_BITS = 10  # of the steps of scores; a branch of 2**31 records then scores above -2**42
ROW = npt.NDArray[np.signedinteger]
KINDS = {"n_codes": np.int64, "feature": np.int32, "kind": np.int8, "at": np.int32, "weight": np.int64}


@dataclass(frozen=True, eq=False)
class Candidates:
    """A public list of tests; each reads the code of one feature."""

    n_codes: ROW  # (features,): how many codes each feature has
    feature: ROW  # (tests,): the feature that each test reads
    # (tests,): EACH: a branch for every code. CUT: branch 0 for codes up to one, else 1. VALUE: branch 0 for one
    # code, else 1
    kind: ROW
    at: ROW  # (tests,): the last code of a cut's branch 0, the code of a VALUE; 0 for the others
    # (tests,): Public base weights, for mechanisms that take them; cuts of one feature may weigh as much as one other
    # test
    weight: ROW
    arity: ROW = field(init=False)  # (tests,): how many branches each test has
    # (features + 1,): where each feature's codes begin when all stand one after another, and their number
    offsets: Integers = field(init=False)
    arrays: tuple[npt.NDArray[Any], ...] = field(init=False, repr=False)  # what kernels read

    def __post_init__(self) -> None:
        tests = n_codes, feature, kind, at, weight = self.n_codes, self.feature, self.kind, self.at, self.weight
        for array in tests:
            if array.dtype.kind not in "iu" or array.ndim != 1:
                raise ConfigurationError(f"{NO_TESTS} they must hold integers.")
        if not 0 < len(feature) == len(kind) == len(at) == len(weight):
            raise ConfigurationError(f"{NO_TESTS} their lengths do not fit.")
        known = (feature >= 0) & (feature < len(n_codes)) & np.isin(kind, (EACH, CUT, VALUE))
        if (
            not (known & (at >= 0) & (weight >= 1)).all()
            or np.any(at >= n_codes[feature])
            or sum(weight.tolist()) >= MOST_WEIGHT
        ):
            raise ConfigurationError(f"{NO_TESTS} a code, place, kind or weight is none.")
        arity, offsets = np.where(kind == EACH, n_codes[feature], 2), np.concatenate(([0], np.cumsum(n_codes)))
        # Copies that nobody can write to: a record must stay in one branch of each test.
        kinds = zip(("arity", "offsets", *KINDS), (np.int32, np.int64, *KINDS.values()), strict=True)
        for array, (name, dtype) in zip((arity, offsets, *tests), kinds, strict=True):
            object.__setattr__(self, name, frozen_copy(array, dtype))
        object.__setattr__(self, "arrays", (self.offsets, self.feature, self.kind, self.at))

    def __len__(self) -> int:
        return len(self.feature)

    def branches(self, tests: npt.ArrayLike) -> npt.NDArray[np.uint16] | npt.NDArray[np.uint32]:
        tests = np.asarray(tests)
        code = np.arange(int(self.n_codes.max()))
        out = np.empty((len(tests), len(code)), dtype=np.uint16 if len(code) <= 1 << 16 else np.uint32)
        for row, test in zip(out, tests.tolist(), strict=True):  # one by one: int64 for all of them would be far larger
            kind, at = self.kind[test], self.at[test]
            row[:] = code if kind == EACH else code > at if kind == CUT else code != at
        return out

    def undecided(self, alive: Truth, widest: Integers) -> Truth:
        """Return which tests could still separate records of a node, and have at most ``widest`` branches."""
        # ``alive`` (nodes, codes of all features): which codes the tests above a node leave; ``widest`` is of shape
        # (nodes,). The answer is of shape (nodes, tests) and depends on tests only, never on records.
        check_shape(alive, (len(widest), int(self.offsets[-1])), "alive (nodes, codes)")
        out = np.empty((len(alive), len(self)), dtype=np.bool_)
        kernels.undecided(alive, *self.arrays, self.arity, widest, out)
        return out

    def narrowed(self, alive: Truth, chosen: Integers) -> Truth:
        check_shape(alive, (len(chosen), int(self.offsets[-1])), "alive (nodes, codes)")
        children = np.repeat(alive, self.arity[chosen], axis=0)
        kernels.narrow(children, *self.arrays, self.arity, chosen)
        return children


NO_TESTS = "the candidates' arrays do not describe tests:"


def _of_kinds(n_codes: npt.ArrayLike, kinds: npt.ArrayLike, weight_of_each: int = 1) -> Candidates:
    """Return one EACH test of a feature, every CUT, or the VALUE of every code but the last, by the kinds of the features."""
    codes = np.array(n_codes, dtype=np.int64)
    kind = np.broadcast_to(kinds, codes.shape)
    counts = np.where(kind == EACH, 1, codes - 1)
    feature = np.repeat(np.arange(len(codes)), counts)
    at = np.arange(len(feature)) - np.repeat(np.cumsum(counts) - counts, counts)
    return Candidates(codes, feature, kind[feature], at, np.where(kind[feature] == EACH, weight_of_each, 1))


def multiway(n_codes: npt.ArrayLike, is_cut: Sequence[bool] = ()) -> Candidates:
    """Return one test per feature, with a branch for each of its codes (also those that no record may have)."""
    return _of_kinds(n_codes, EACH)


def binary(n_codes: npt.ArrayLike, is_cut: Sequence[bool]) -> Candidates:
    """Return the tests with two branches: every cut of some features, each value of the others against the rest."""
    # The last code of a numeric feature means missing, so its last cut asks for that. Of the last two codes of a categorical
    # feature, missing and undeclared, the first has a test too.
    return _of_kinds(n_codes, np.where(np.asarray(is_cut), CUT, VALUE))


def mixed(n_codes: npt.ArrayLike, is_cut: Sequence[bool]) -> Candidates:
    """Return every cut of some features, and one test with a branch for each code of the others."""
    # A test with a branch for each code weighs as much as all cuts of a feature on the finest grid, and a cut weighs 1.
    cut = np.asarray(is_cut, dtype=np.bool_)
    most = int((np.array(n_codes)[cut] - 1).max(initial=1))
    return _of_kinds(n_codes, np.where(cut, CUT, EACH), most)


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
    @abstractmethod
    def detail(self) -> str:
        """The score's name, with the size of its steps where they are no whole records, for certificates."""

    def score(self, histogram: Integers, candidates: Candidates, out: Integers) -> None:
        """Write the score of each test in each node of ``histogram`` (nodes, codes, classes) to ``out`` (nodes, tests)."""
        check_shape(
            histogram, (len(out), int(candidates.offsets[-1]), histogram.shape[-1]), "histogram (nodes, codes, classes)"
        )
        check_shape(out, (len(histogram), len(candidates)), "out (nodes, tests)")
        kernels.scores(histogram, *candidates.arrays, self.measure, FRACTION_BITS, self.table, out)


@dataclass(frozen=True)
class Gini(Score):  # eDPRF: equations 7, 8, 11 and 14
    """The Gini score, -sum over branches of (n - sum of n_k**2 / n), in steps of 2**-FRACTION_BITS.

    One record added lowers one branch's score by a value in [0, 2), in steps by an integer from 0 to ``range``, since each
    branch is rounded down and the interval's ends are whole steps. So the score is one-sided and its range is 2, not 4
    (docs/proofs/gini.md).
    """

    name = "Gini score"
    measure = kernels.GINI
    range = 2 << FRACTION_BITS
    detail = f"{name} in steps of 1/{1 << FRACTION_BITS}"


@dataclass(frozen=True)
class InformationGain(Score):
    """Information gain, sum over branches and classes of n_k log2(n_k / n), up to a constant of the node.

    n log2 n is read from a public table of integers in steps of 2**-FRACTION_BITS, whose increments ascend; beyond ``cap``
    records it goes on along its last step. One record added lowers one branch's score by a value from 0 to the last step,
    so the score is one-sided, with range log2(cap) + 1.4427 at most (docs/proofs/information-gain.md). Branches of more than
    ``cap`` records are told apart less well; the cap is public, never the number of records.
    """

    cap: int = 1 << 16  # at least 2

    name = "information gain"
    measure = kernels.GAIN

    @property
    def range(self) -> int:
        return int(self.table[-1] - self.table[-2])

    @property
    def detail(self) -> str:
        return f"{self.name} of up to {self.cap} records in steps of 1/{1 << FRACTION_BITS}"

    @lazy
    def table(self) -> Integers:
        n = np.arange(1, self.cap, dtype=np.float64)
        increments = (n + 1) * np.log2(n + 1) - n * np.log2(n)
        steps = np.maximum.accumulate(np.floor(increments * (1 << FRACTION_BITS)).astype(np.int64))
        return frozen_copy(np.concatenate(([0, 0], np.cumsum(steps))), np.int64)


@dataclass(frozen=True)
class Max(Score):
    """How many records a majority label in each branch would get right: one-sided, with range 1 (docs/proofs/gini.md)."""

    name = detail = "majority score"
    weighs = True
    measure = kernels.MAJORITY
    range = 1


@dataclass(frozen=True)
class Error(Max):
    """The majority score less the node's records, which selections do not see: it is the same number for all tests."""

    name = detail = "error score"


CLASS_COUNTS = "class counts"  # the score of a leaf's label: one-sided, with range 1

SCORES: Mapping[str, Score] = {
    "gini": Gini(),
    "max": Max(),
    "information-gain": InformationGain(),
    "error": Error(),
}  # under the names that every parameter has for them


@dataclass(frozen=True)
class Majority:
    """The largest class count: one record more adds 0 or 1, so the score is one-sided with range 1."""

    name = detail = "majority score"
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
    line: Integers  # (places,): the code, counted through all features, that stands at each place of the line
    # For each specialization the places where its branches begin, ascending, and the place where the last one ends
    edges: Sequence[tuple[int, ...]]
    weight: Integers  # (specializations,): public base weights, for mechanisms that take them

    def __post_init__(self) -> None:
        sound = 0 < len(self.edges) == len(self.weight) and self.weight.min() > 0
        for edges in self.edges if sound else ():  # by its ends a choice is charged
            sound = sound and len(edges) > 2 and min(np.diff(edges)) > 0
            sound = sound and edges[0] >= 0 and edges[-1] <= len(self.line)
        if not sound:
            raise ConfigurationError("specializations need a weight and two branches or more, ascending along codes.")

    def scores(self, histogram: Integers, score: BranchScore) -> Integers:
        up_to = np.zeros((len(self.line) + 1, histogram.shape[1]), dtype=np.int64)
        np.cumsum(histogram[self.line], axis=0, out=up_to[1:])
        ends = np.cumsum([len(edges) for edges in self.edges])
        counts = np.delete(np.diff(up_to[np.concatenate(self.edges)], axis=0), ends[:-1] - 1, axis=0)
        first = np.append(0, ends[:-1] - np.arange(1, len(ends)))
        return np.asarray(np.add.reduceat(score.of(counts), first))


def most_concerned(choices: Iterable[Specializations], features: Integers) -> int:
    """Return how many of the choices one record may concern, whatever it is."""
    # A choice within one feature concerns the records at the places that it divides; one over several features may concern
    # every record. A record is at one place of each feature, so for each feature the place with most choices counts.
    # ``features`` (features + 1,): where each feature's places begin in the line, and their number.
    over_all, depth = 0, np.zeros(int(features[-1]), dtype=np.int64)
    for choice in choices:
        low, high = min(edges[0] for edges in choice.edges), max(edges[-1] for edges in choice.edges)
        if np.searchsorted(features, low, side="right") == np.searchsorted(features, high - 1, side="right"):
            depth[low:high] += 1
        else:
            over_all += 1
    return over_all + int(np.maximum.reduceat(depth, features[:-1]).sum())
