"""How a released model answers: cells become codes, codes lead down trees, leaves add whole votes, a link makes the answer.

Every private system is this and no more, so whoever writes models for other programs writes this one form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers
from hedgerow.errors import ConfigurationError
from hedgerow.lazy_values import lazy
from hedgerow.schema import Boolean, Categorical, Date, Encoder, Integer, Numeric, Schema
from hedgerow.schema.cells import MISSING_TEXTS, category_key
from hedgerow.schema.features import Feature, Value
from hedgerow.schema.formats import NO_MOMENT, DateFormat, Unit, microseconds


@dataclass(frozen=True)
class NumberReading:
    """A number's code is how many edges are not above it; what is no number, or a marker, has the code behind the bins.

    Parameters
    ----------
    name : str
        The feature.
    edges : tuple of float
        Where bins begin, ascending and finite; a bin holds its lower edge.
    markers : tuple of float
        Numbers that stand for a missing cell.
    unit : {"day", "second"} or None
        What a date or moment is counted in, rounded down, since 1970; it is given as such a number, and a marker as none.
    moments : tuple of int
        Microseconds since 1970 of the moments that stand for a missing cell, for whoever reads dates as text.
    """

    name: str
    edges: tuple[float, ...]
    markers: tuple[float, ...]
    unit: Unit | None = None
    moments: tuple[int, ...] = ()

    @property
    def missing(self) -> int:
        """The code of a missing cell."""
        return len(self.edges) + 1

    @property
    def n_codes(self) -> int:
        """How many codes there are."""
        return len(self.edges) + 2


@dataclass(frozen=True)
class ValueReading:
    """A category's code is that of its text or number; others have the code of what is undeclared.

    Text is taken without the white space around it. Decimal numbers are compared as float64, true and false being 1 and 0.

    Parameters
    ----------
    name : str
        The feature.
    values : tuple of bool, int, float or str
        What is declared, in the order of its codes.
    texts : tuple of (str, int)
        The code of each text, those of missing cells among them.
    numbers : tuple of (float, int)
        The code of each number.
    """

    name: str
    values: tuple[Value, ...]
    texts: tuple[tuple[str, int], ...]
    numbers: tuple[tuple[float, int], ...]

    @property
    def missing(self) -> int:
        """The code of a missing cell."""
        return len(self.values)

    @property
    def undeclared(self) -> int:
        """The code of a value that is not declared."""
        return len(self.values) + 1

    @property
    def n_codes(self) -> int:
        """How many codes there are."""
        return len(self.values) + 2


Reading = NumberReading | ValueReading


def readings_of(encoder: Encoder) -> tuple[Reading, ...]:
    """Return how an encoder reads each feature.

    Raises
    ------
    ConfigurationError
        If a feature is of a type that no other program is told of yet.
    SchemaError
        If the schema holds a text that UTF-8 cannot hold.
    """
    schema = encoder.schema
    schema.check_text()
    features = schema.features.items()
    return tuple(
        _reading(name, feature, tuple(edges.tolist()), schema)
        for (name, feature), edges in zip(features, encoder.edges, strict=True)
    )


def _reading(name: str, feature: Feature, edges: tuple[float, ...], schema: Schema) -> Reading:
    # By the type itself: a type derived from these may read cells in another way.
    if type(feature) is Date:
        form = None if feature.date_format is None else DateFormat(feature.date_format)
        found = dict.fromkeys(microseconds(marker, form) for marker in schema.missing)
        return NumberReading(name, edges, (), feature.unit, tuple(moment for moment in found if moment != NO_MOMENT))
    if type(feature) in (Numeric, Integer):
        assert isinstance(feature, Numeric)
        return NumberReading(name, edges, tuple(dict.fromkeys(feature.number_format.markers(schema.missing).tolist())))
    if type(feature) in (Categorical, Boolean):
        assert isinstance(feature, Categorical)
        return _value_reading(name, feature, schema)
    raise ConfigurationError(
        f"feature {name!r} is of the type {type(feature).__name__}, which cannot be told to other programs yet; keep the model "
        "in hedgerow, by model.save(path)."
    )


def _value_reading(name: str, feature: Categorical, schema: Schema) -> ValueReading:
    missing = len(feature.values)
    spellings = {"".join(letters) for letters in product("nN", "aA", "nN")} | MISSING_TEXTS
    codes = dict.fromkeys(sorted(spellings), missing)
    keys = {category_key(marker): missing for marker in schema.missing}
    keys.update((category_key(value), code) for code, value in enumerate(feature.values))
    codes.update((key, code) for key, code in keys.items() if isinstance(key, str))
    numbers = tuple((key, code) for key, code in keys.items() if isinstance(key, float))
    return ValueReading(name, tuple(feature.values), tuple(codes.items()), numbers)


LARGEST = 1 << 63  # whole numbers of 64 bits are below

Codes = npt.NDArray[Any]


@dataclass(frozen=True)
class Mean:
    """A class's probability is its sum of votes over ``total``."""

    total: int

    def __call__(self, sums: Integers) -> Floats:
        """Return the probabilities of sums of votes (records, classes)."""
        return np.asarray(sums / self.total)


@dataclass(frozen=True)
class Softmax:
    """Sums of votes over ``steps`` are log-odds.

    With a ``cap``, each probability p of their softmax is multiplied by max(1, (1 - p) / cap), and all are divided by their sum:
    that undoes what bounded weights do to probabilities.
    """

    steps: int
    cap: float | None = None

    def __call__(self, sums: Integers) -> Floats:
        """Return the probabilities of sums of votes (records, classes)."""
        odds = np.exp((sums - sums.max(axis=1, keepdims=True)) / self.steps)
        shares = odds / odds.sum(axis=1, keepdims=True)
        if self.cap is None:
            return np.asarray(shares)
        odds = shares * np.maximum(1, (1 - shares) / self.cap)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class OutcomeRange:
    """A sum of votes is a place in the range of a number: 0 is ``low``, ``steps`` is ``high``, and no prediction is beyond."""

    low: float
    high: float
    steps: int

    def __call__(self, sums: Integers) -> Floats:
        """Return the predictions of sums of votes (records, 1), (records,)."""
        share = np.clip(sums[:, 0], 0, self.steps) / self.steps
        return np.asarray(self.low * (1 - share) + self.high * share)


@dataclass(frozen=True)
class OutcomeLog:
    """A sum of votes, at least ``first`` and at most ``last``, over ``steps`` is the log of a prediction over ``base``.

    No prediction is outside ``low`` and ``high``.
    """

    base: float
    steps: float
    first: int
    last: int
    low: float
    high: float

    def __call__(self, sums: Integers) -> Floats:
        """Return the predictions of sums of votes (records, 1), (records,)."""
        factors = np.exp(np.clip(sums[:, 0], self.first, self.last) / self.steps)
        return np.asarray(np.clip(self.base * factors, self.low, self.high))


Link = Mean | OutcomeLog | OutcomeRange | Softmax


@dataclass(frozen=True, eq=False)
class ScoringForm:
    """A model as trees over codes.

    A record starts at every root. In a node with a test it goes to the child ``first_child[node] + branch[test][code]``, the code
    being that of the test's feature. Where it stops, it gets the node's votes. The label is the first class with the largest
    sum of votes. A regressor's form has no classes and one column of votes.

    Parameters
    ----------
    readings : tuple of Reading
        How the cell of each feature becomes a code.
    classes : tuple of bool, int, float or str
        The labels; none for a regressor.
    roots : ndarray of shape (trees,)
        The root of each tree.
    test : ndarray of shape (nodes,)
        The test of each node, -1 for a leaf.
    first_child : ndarray of shape (nodes,)
        The first of a node's children, which stand side by side behind it; 0 for a leaf.
    feature : ndarray of shape (tests,)
        What each test reads.
    branch : ndarray of shape (tests, codes)
        The branch of each code of the test's feature; beyond its codes anything.
    votes : ndarray of shape (nodes, classes), int64
        What a leaf gives to each class, or to the prediction; zeros for other nodes.
    link : Link
        What makes probabilities of sums, or the prediction.
    """

    readings: tuple[Reading, ...]
    classes: Sequence[Value]
    roots: Integers
    test: Integers
    first_child: Integers
    feature: Integers
    branch: Codes
    votes: Integers
    link: Link

    @property
    def labels(self) -> tuple[Value, ...]:
        """The classes as values of one type: whole numbers of 64 bits, numbers or truth values where all are, otherwise text."""
        for kind in (bool, int, float):
            if all(type(label) is kind for label in self.classes):
                if kind is int and not all(-LARGEST <= label < LARGEST for label in self.classes if type(label) is int):
                    break
                return tuple(self.classes)
        return tuple(str(label) for label in self.classes)

    def sums(self, codes: Codes) -> Integers:
        """Return the sums of votes of records by their codes (records, features), of shape (records, classes)."""
        place = np.tile(self.roots, (len(codes), 1))
        rows = np.arange(len(codes))[:, None]
        while (inner := self.test[place] >= 0).any():
            test = np.where(inner, self.test[place], 0)
            step = self.first_child[place] + self.branch[test, codes[rows, self.feature[test]]]
            place = np.where(inner, step, place)
        return np.asarray(self.votes[place].sum(axis=1))

    def depth(self) -> int:
        """Return the most tests on a path."""
        nodes, depth = self.roots, 0
        while len(nodes := nodes[self.test[nodes] >= 0]):
            nodes, depth = np.concatenate([self.children(node) for node in nodes.tolist()]), depth + 1
        return depth

    def children(self, node: int) -> Integers:
        """Return the children of a node with a test, in the order of its branches."""
        return np.asarray(self.first_child[node] + np.arange(self.arity[self.test[node]]))

    @lazy
    def arity(self) -> Integers:
        """How many branches each test has, of shape (tests,)."""
        return np.array([self.codes_to_branches(test).max() + 1 for test in range(len(self.feature))], dtype=np.int64)

    def codes_to_branches(self, test: int) -> Codes:
        """Return the branch of each code of a test's feature."""
        row: Codes = self.branch[test, : self.readings[self.feature[test]].n_codes]
        return row

    def merged(self) -> ScoringForm:
        """Return a form that says the same with one tree for all that ask the same, whose votes are added up."""
        together: dict[tuple[int, ...], list[Integers]] = {}
        for root in self.roots.tolist():
            nodes = self._below(root)
            together.setdefault(tuple(self.test[nodes].tolist()), []).append(nodes)
        if len(together) == len(self.roots):
            return self
        kept = [group[0] for group in together.values()]
        votes = np.concatenate([sum(self.votes[nodes] for nodes in group) for group in together.values()])
        place = np.zeros(len(self.test), dtype=np.int64)
        order = np.concatenate(kept)
        place[order] = np.arange(len(order))
        starts = np.cumsum([0, *map(len, kept[:-1])])
        test = self.test[order]
        first_child = np.where(test < 0, 0, place[self.first_child[order]])
        return replace(self, roots=starts, test=test, first_child=first_child, votes=votes)

    def _below(self, root: int) -> Integers:
        """Return a tree's nodes level by level, children in the order of their branches."""
        return np.concatenate([np.array(level) for level in self._levels(root)])

    def _levels(self, root: int) -> Iterator[list[int]]:
        level = [root]
        while level:
            yield level
            level = [child for node in level if self.test[node] >= 0 for child in self.children(node).tolist()]


def shares_of_votes(votes: npt.NDArray[np.signedinteger], trees: int) -> Floats:
    """Return what a forest says whose trees have one vote each, from how many each class got (records, classes).

    All classes together get one vote more, divided evenly, so that no class is impossible because no tree named it.
    """
    n_classes = votes.shape[1]
    return np.asarray((votes.astype(np.int64) * n_classes + 1) / (n_classes * (trees + 1)))


def whole_votes_of_labels(labels: npt.NDArray[np.signedinteger], n_classes: int, trees: int) -> tuple[Integers, Mean]:
    """Return whole votes of nodes by their labels (-1: none), and the link, that make the same of so many trees."""
    votes = np.zeros((len(labels), n_classes), dtype=np.int64)
    known = np.flatnonzero(labels >= 0)
    votes[known] = 1
    votes[known, labels[known]] += trees * n_classes
    return votes, Mean(trees * n_classes * (trees + 1))
