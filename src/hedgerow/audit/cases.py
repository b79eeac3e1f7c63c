"""Pairs of neighboring data sets on which a learner's loss is large; ``cases.toml`` holds them, and says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow.errors import ConfigurationError
from hedgerow.files import packaged_table
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
        cells = sorted({record[:-1] for record in (*self.base, self.record, self.instead)}, key=repr)
        return {name: _column([cell[i] for cell in cells]) for i, name in enumerate(self.schema.names)}

    def _data(self, records: tuple[Record, ...]) -> Data:
        columns = {name: _column([record[i] for record in records]) for i, name in enumerate(self.schema.names)}
        return columns, _column([record[-1] for record in records])


def _column(cells: list[Any]) -> Any:
    if cells and {type(cell) for cell in cells} <= {int}:
        return np.array(cells, dtype=np.int8)  # read faster than objects
    return object_array(cells, len(cells))


TABLES = packaged_table("hedgerow.audit", "cases")
COUNTEREXAMPLES: Mapping[str, Sequence[str]] = TABLES["counterexamples"]  # the counterexamples to each published form
CLOSER_FOR: Mapping[str, Sequence[str]] = TABLES["closer-for"]  # closer pairs for private forms


def _schema(columns: Mapping[str, list[Any]]) -> Schema:
    features = {
        name: Categorical(values) if isinstance(values[0], str) else Numeric(*values)
        for name, values in columns.items()
    }
    return Schema(features, classes=["no", "yes"])


def _case(
    schema: str, base: list[list[Any]], record: list[Any], instead: list[Any], times: int = 1, **rest: Any
) -> Case:
    made = _schema(TABLES["schemas"][schema])
    records = tuple((*row, None) if len(row) == len(made.names) else tuple(row) for row in base)
    return Case(schema=made, base=records * times, record=tuple(record), instead=tuple(instead), **rest)


GENERAL, CLOSER, PUBLISHED = (
    tuple(_case(**table) for table in TABLES[kind]) for kind in ("general", "closer", "published")
)


def case(name: str) -> Case:
    known = {each.name: each for each in (*GENERAL, *CLOSER, *PUBLISHED)}
    if name not in known:
        raise ConfigurationError(f"there is no pair {name!r}; choose one of {', '.join(known)}.")
    return known[name]


def cases_of(system: str, variant: str) -> list[Case]:
    own = [case(name) for name in COUNTEREXAMPLES.get(system, ())]
    if variant == "published" and own:
        return own
    return [*GENERAL, *map(case, CLOSER_FOR.get(system, ())), *own]
