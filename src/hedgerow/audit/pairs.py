"""Pairs of neighboring data sets: what they are made of, and what a model is asked about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow.privacy.accounting import Adjacency
from hedgerow.schema import Numeric, Schema
from hedgerow.schema.cells import object_array

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

    Parameters
    ----------
    name, words : str
        The pair, in one word and in a sentence.
    schema : Schema
        What is public.
    base : tuple of Record
        The records that both data sets have.
    record : Record
        The record that the second data set has too.
    instead : Record
        Under replace-one, what the first data set has in its place.
    settings : mapping
        Parameters under which the pair tells most; a system leaves out what it does not take.
    epsilon : float
        A claim at which it tells most.
    runs : int
        Trainings on each data set that show it.
    front : bool
        Whether the record stands before the others and not behind them.
    """

    name: str
    words: str
    schema: Schema
    base: tuple[Record, ...]
    record: Record
    instead: Record
    settings: Mapping[str, Any] = field(default_factory=dict)
    epsilon: float = 1.0
    runs: int = 20_000
    front: bool = False

    def pair(self, adjacency: Adjacency) -> NeighborPair:
        first = self._with(self.instead) if adjacency == "replace-one" else self.base
        place = f" It stands in the place of {record_text(self.instead)}." if adjacency == "replace-one" else ""
        return NeighborPair(
            self.name, self.words + place, adjacency, self._data(first), self._data(self._with(self.record))
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
        """The different records of the pair, without labels, in a fixed order: what is asked of a model."""
        cells = sorted({record[:-1] for record in (*self.base, self.record, self.instead)}, key=repr)
        return {name: _column([cell[i] for cell in cells]) for i, name in enumerate(self.schema.names)}

    def _with(self, record: Record) -> tuple[Record, ...]:
        return (record, *self.base) if self.front else (*self.base, record)

    def _data(self, records: tuple[Record, ...]) -> Data:
        columns = {name: _column([record[i] for record in records]) for i, name in enumerate(self.schema.names)}
        return columns, _column([record[-1] for record in records])


def _column(cells: list[Any]) -> Any:
    if cells and {type(cell) for cell in cells} <= {int}:
        return np.array(cells, dtype=np.int8)  # read faster than objects
    return object_array(cells, len(cells))


def record_text(record: Record) -> str:
    return f"({', '.join(map(str, record[:-1]))}; {record[-1]})"
