"""Warnings for columns of which nothing is read, in records to be predicted. These are the caller's own, so they may be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import shown
from hedgerow.schema.cells import CategoryReader, Cells
from hedgerow.schema.columns import Columns, read_columns
from hedgerow.schema.features import Feature, Numeric

if TYPE_CHECKING:
    from hedgerow.schema.schema import Schema


FEW = 10  # records; fewer do not show that a column is wrong, since a category may be new or a number out of range
NEARLY_ALL = 0.95
FIRST_ROWS, BLOCK_ROWS = 512, 65_536
HARDLY_ANY = 0.05  # of the present cells
IN_ORDER = 0.2  # of the present cells of the first rows; if more are in order, the column is not read further


class _Column:
    """What has been read of one column, until enough of it is in order."""

    def __init__(self, name: str, feature: Feature, schema: Schema) -> None:
        self.name, self._feature = name, feature
        self._absent = CategoryReader((), schema.missing)
        self._read = (
            feature.reader(schema.missing)
            if isinstance(feature, Numeric)
            else CategoryReader(feature.values, schema.missing).codes
        )
        self.in_order = False
        self._cells = self._there = self._known = self._outside = 0

    def add(self, cells: Cells) -> None:
        """Count some cells."""
        values = self._read(cells)
        if isinstance(self._feature, Numeric):
            known = ~np.isnan(values)
            outside = (values < self._feature.low) | (values > self._feature.high)
        else:
            known, outside = values < len(self._feature.values), np.zeros(len(cells), dtype=np.bool_)
        self._cells += len(cells)
        self._known += int(np.count_nonzero(known))
        self._outside += int(np.count_nonzero(outside))
        self._there += int(np.count_nonzero(self._absent.codes(cells) != self._absent.missing))
        self.in_order = self._known - self._outside > IN_ORDER * self._there

    def finding(self) -> str | None:
        """Return the warning for the caller, if any."""
        name, few = shown(self.name), "hardly any" if self._known else "no"
        if not self._cells or self.in_order:
            return None
        if self._known <= HARDLY_ANY * self._there:
            if isinstance(self._feature, Numeric) and self._there:
                return (
                    f"{few} cell of the column {name} could be read as the schema declares it; the others are read as missing. "
                    "Is the text in another format? Declare decimal, thousands or date_format in the schema, or convert it."
                )
            if self._cells < FEW:
                return None
            what = "is a declared value" if self._there else "holds anything"
            return (
                f"{few} cell of the column {name} {what}, so predictions are made without it. Is it the right column?"
            )
        if self._known >= FEW and self._outside >= NEARLY_ALL * self._known:
            return (
                f"nearly all numbers of the column {name} lie outside the range that the schema declares, and are read as its "
                "ends. Are they in another unit, or scaled?"
            )
        return None


class UnreadColumns:
    """Checks blocks of records to be predicted.

    A column is read until a fifth of its present cells so far are in order. So the check of valid records takes hardly any
    time.

    Parameters
    ----------
    schema : Schema
        What is declared.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._columns = [_Column(name, feature, schema) for name, feature in schema.features.items()]

    def add(self, X: Any) -> None:
        """Check a block of records; errors as in ``read_columns``."""
        if all(column.in_order for column in self._columns):
            return
        columns = read_columns(X, self._schema.features)
        for place, column in enumerate(self._columns):
            for cells in () if column.in_order else _blocks(columns, place):
                column.add(cells)
                if column.in_order:
                    break

    def findings(self) -> list[str]:
        """Return a sentence for each column of which no cell could be read, or nearly all cells are outside the range."""
        return [found for column in self._columns if (found := column.finding()) is not None]


def _blocks(columns: Columns, place: int) -> Iterator[Cells]:
    start = 0
    while start < columns.n_rows:
        stop = min(start + (BLOCK_ROWS if start else FIRST_ROWS), columns.n_rows)
        yield columns.cells(place, start, stop)
        start = stop
