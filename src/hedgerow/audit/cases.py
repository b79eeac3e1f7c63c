"""Pairs of neighboring data sets on which a learner's loss is large, and why.

Most are the counterexamples of the privacy reviews in ``docs/proofs``. On the others one record has the most influence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow.errors import ConfigurationError
from hedgerow.privacy.accounting import Adjacency
from hedgerow.reading.cells import object_array
from hedgerow.schema import Categorical, Numeric, Schema

Record = tuple[Any, ...]  # the cells in the schema's order, then the label
Data = tuple[Any, Any]  # columns by name, and labels


@dataclass(frozen=True)
class NeighborPair:
    name: str
    words: str
    adjacency: Adjacency
    first: Data
    second: Data


@dataclass(frozen=True)
class Case:
    """A data set and one record more; under replace-one, that record in place of another one.

    ``words`` says in a sentence what the pair shows. ``settings`` are the parameters, and ``epsilon`` the claim, at which it
    tells most; a system leaves out what it does not take. ``runs`` are the trainings on each data set that show it.
    """

    name: str
    words: str
    schema: Schema
    base: tuple[Record, ...]  # what both data sets have
    record: Record
    instead: Record  # what the first data set has in its place, under replace-one
    settings: Mapping[str, Any] = field(default_factory=dict)
    epsilon: float = 1.0
    runs: int = 20_000

    def pair(self, adjacency: Adjacency) -> NeighborPair:
        first = (*self.base, self.instead) if adjacency == "replace-one" else self.base
        instead = f"({', '.join(map(str, self.instead[:-1]))}; {self.instead[-1]})"
        place = f" It stands in the place of {instead}." if adjacency == "replace-one" else ""
        return NeighborPair(
            self.name, self.words + place, adjacency, self._data(first), self._data((*self.base, self.record))
        )

    def of_numbers(self) -> Case:
        """Return the pair for a regressor: an outcome from 0 to 1 in place of classes, the first 0, the last 1."""
        if self.schema.outcome is not None:
            return self
        classes = self.schema.classes
        numbers = {label: place / (len(classes) - 1) for place, label in enumerate(classes)}

        def numbered(record: Record) -> Record:
            return (*record[:-1], numbers.get(record[-1]))

        return replace(
            self,
            schema=self.schema.replace(outcome=Numeric(0, 1)),
            base=tuple(map(numbered, self.base)),
            record=numbered(self.record),
            instead=numbered(self.instead),
        )

    @property
    def queries(self) -> dict[str, Any]:
        """The distinct records of the pair, without labels, in a fixed order: a fitted model predicts these."""
        cells = sorted({record[:-1] for record in (*self.base, self.record, self.instead)}, key=repr)
        return {name: _column([cell[i] for cell in cells]) for i, name in enumerate(self.schema.names)}

    def _data(self, records: tuple[Record, ...]) -> Data:
        columns = {name: _column([record[i] for record in records]) for i, name in enumerate(self.schema.names)}
        return columns, _column([record[-1] for record in records])


def _column(cells: list[Any]) -> Any:
    if cells and {type(cell) for cell in cells} <= {int}:
        return np.array(cells, dtype=np.int8)  # read faster than objects
    return object_array(cells, len(cells))


NO, YES = "no", "yes"
CLASSES = [NO, YES]
TWO = Schema({"a": Categorical(["0", "1"]), "b": Categorical(["0", "1"])}, classes=CLASSES)
ONE = Schema({"a": Categorical(["0", "1"])}, classes=CLASSES)
LINE = Schema({"x": Numeric(0, 1)}, classes=CLASSES)
SMALL = {"n_estimators": 1, "specializations": 1}


ELEVEN = ("0",) * 11
FIRST_OF_TWELVE = Schema(
    {"a": Categorical(["0", "1"]), **{f"b{i}": Categorical(["0"]) for i in range(len(ELEVEN))}}, classes=CLASSES
)
UNEQUAL = Schema({"a": Categorical(["0"]), "b": Categorical(["0", "1", "2"])}, classes=CLASSES)

LEAF = {**SMALL, "max_depth": 0}
STUMP = {**SMALL, "max_depth": 1}

GENERAL = (
    Case(
        "one-leaf",
        "One leaf: one record of class no, and one of class yes that ties with it.",
        ONE,
        (("0", NO),),
        ("0", YES),
        ("0", NO),
        LEAF,
    ),
    Case(
        "nothing",
        "No record that counts (one without a label), and one of class yes.",
        ONE,
        (("0", None),),
        ("0", YES),
        ("0", NO),
        LEAF,
    ),
    Case(
        "single-class",
        "Six equal records of class no, and one of class yes: no node is pure any more.",
        TWO,
        (("0", "0", NO),) * 6,
        ("1", "1", YES),
        ("0", "0", NO),
        STUMP,
    ),
    Case(
        "tied-tests",
        "Two tests tie, and one record decides for the first one.",
        TWO,
        (("0", "0", NO), ("1", "1", YES)),
        ("1", "0", YES),
        ("0", "1", YES),
        STUMP,
    ),
    Case(
        "empty-branch",
        "All records share a branch, and one record is alone in the other.",
        ONE,
        (("0", NO),) * 3,
        ("1", YES),
        ("0", NO),
        STUMP,
    ),
    Case(
        "lone-category",
        "A category that one record alone has, among three.",
        Schema({"a": Categorical(["0", "1", "2"]), "b": Categorical(["0", "1"])}, classes=CLASSES),
        (("0", "0", NO), ("1", "1", NO)) * 2,
        ("2", "0", YES),
        ("0", "0", NO),
        STUMP,
    ),
    Case(
        "outside",
        "Numbers of .4 and .6, and one record at 7, far outside the public range from 0 to 1.",
        LINE,
        ((0.4, NO), (0.6, NO), (0.4, YES), (0.6, YES)),
        (7.0, YES),
        (0.6, YES),
        {**STUMP, "max_bins": 4},
    ),
    Case(
        "three-trees",
        "Eight equal records in three trees: with the ninth every tree could have one more.",
        ONE,
        (("0", NO),) * 8,
        ("0", NO),
        ("0", YES),
        {"n_estimators": 3, "max_depth": 0, "specializations": 1},
    ),
)

CLOSER = (
    Case(
        "one-feature",
        "Three equal records of class no, and one of class yes that differs from them in the first of twelve features alone: "
        "what is chosen and what is counted of it both rise.",
        FIRST_OF_TWELVE,
        (("0", *ELEVEN, NO),) * 3,
        ("1", *ELEVEN, YES),
        ("0", *ELEVEN, NO),
        {**STUMP, "voting": "real"},
        4.0,
        6000,
    ),
    Case(
        "first-count",
        "No record that counts (one without a label), and one of class yes, in a feature of three codes and one of five.",
        UNEQUAL,
        (("0", "0", None),),
        ("0", "0", YES),
        ("0", "0", NO),
        STUMP,
        4.0,
        6000,
    ),
)

PUBLISHED = (
    Case(
        "pure-node",
        "Six equal records of class no, and one of class yes: a root of a single class is a leaf for certain, with "
        "the last record it is split.",
        TWO,
        (("0", "0", NO),) * 6,
        ("1", "1", YES),
        ("0", "0", NO),
        {"n_estimators": 1, "max_depth": 1},
        runs=2000,
    ),
    Case(
        "node-bins",
        "Numbers of .4 and .6 in both classes, and one record at .9: the bins of a node end at its largest value.",
        LINE,
        ((0.4, NO), (0.6, NO), (0.4, YES), (0.6, YES)),
        (0.9, YES),
        (0.6, YES),
        {"n_estimators": 1, "max_depth": 1, "max_bins": 4},
        runs=2000,
    ),
    Case(
        "equal-parts",
        "34 equal records for 35 trees, one too few for one each: with the last one, every tree has one.",
        ONE,
        (("0", NO),) * 34,
        ("0", NO),
        ("0", YES),
        {"n_estimators": 35, "max_depth": 0},
        runs=2000,
    ),
    Case(
        "bootstrap",
        "Five records of class no, and one of class yes, in one leaf: a bootstrap sample may hold the last one many "
        "times.",
        ONE,
        (("0", NO),) * 5,
        ("0", YES),
        ("0", NO),
        {"n_estimators": 1, "max_depth": 0},
        3.5,
        64_000,
    ),
    Case(
        "first-stump",
        "Records (0, 0) of classes no, no and yes, and (0, 1) of class yes: the first stump errs on one in 3 or on "
        "one in 4, its exact weight says which, and the label of (0, 1) turns.",
        TWO,
        (("0", "0", NO), ("0", "0", NO), ("0", "0", YES)),
        ("0", "1", YES),
        ("0", "0", NO),
        {"n_estimators": 1},
        runs=2000,
    ),
    Case(
        "flat-weights",
        "100 records of which any stump gets half wrong, and one more: only then is there noise on the weights.",
        ONE,
        (("0", NO), ("0", YES)) * 50,
        ("0", NO),
        ("0", YES),
        {"n_estimators": 2},
        runs=2000,
    ),
)

OWN: Mapping[str, tuple[str, ...]] = {
    "edprf": ("pure-node", "node-bins", "equal-parts"),
    "pfdpdt": ("pure-node", "node-bins"),
    "tradition": ("pure-node", "node-bins"),
    "deng-diffprf": ("bootstrap",),
    "diffprf-linear": ("bootstrap",),
    "tpdprf": ("pure-node",),
    "dp-adaboost": ("first-stump",),
    "cart-dps-adaboost": ("pure-node", "first-stump"),
    "dpada": ("first-stump", "flat-weights"),
}  # the counterexamples to each published form


# Private forms of which the general pairs show next to nothing: many rounds, and half of a round's budget for its test.
WEAK: Mapping[str, tuple[str, ...]] = {
    "hedgerow": ("one-feature", "first-count"),
    "hedgerow-regressor": ("one-feature", "first-count"),
    "diffgen": ("one-feature",),
    "dt-diff": ("one-feature",),
    "dp-adaboost": ("one-feature",),
    "cart-dps-adaboost": ("one-feature",),
    "dpada": ("one-feature",),
    "smooth-boost": ("one-feature",),
}


def case(name: str) -> Case:
    """Return a case by its name, or raise ConfigurationError with the names that exist.

    Examples
    --------
    >>> case("one-leaf").pair("add-remove").words
    'One leaf: one record of class no, and one of class yes that ties with it.'
    """
    known = {each.name: each for each in (*GENERAL, *CLOSER, *PUBLISHED)}
    if name not in known:
        raise ConfigurationError(f"there is no pair {name!r}; choose one of {', '.join(known)}.")
    return known[name]


def cases_of(system: str, variant: str) -> list[Case]:
    """Return the counterexamples to a system's published form, and for others the general and closer cases too."""
    own = [case(name) for name in OWN.get(system, ())]
    if variant == "published" and own:
        return own
    return [*GENERAL, *map(case, WEAK.get(system, ())), *own]
