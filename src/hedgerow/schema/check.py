"""Disagreements between records and a schema, counted without protection: for the records' owner, and in predictions.

No fit calls this. Records to be predicted are the caller's own, so they may be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from hedgerow.errors import shown
from hedgerow.reading.cells import CategoryReader, Cells, as_objects, public_value
from hedgerow.reading.columns import read_columns, read_labels
from hedgerow.schema.features import Feature, Numeric
from hedgerow.texts import listed, printable, short_repr

BLOCK_ROWS = 16_384
FEW = 10  # records; fewer do not show that a column is wrong, since a category may be new or a number out of range
NEARLY_ALL = 0.95
HARDLY_ANY = 0.05  # of the present cells
IN_ORDER = 0.2  # of the present cells so far; if more are in order, a prediction reads the column no further
KINDS = ("missing", "undeclared", "below", "above")

NOT_PRIVATE = (
    "These counts are read off the records without protection: they are NOT private and must not leave the building."
)
LEGEND = """\
missing     empty cells and markers; a model has a branch for them
undeclared  cells of no declared value (another spelling, other capitals?), which share a branch, or of no number, read as missing
below       numbers under the range, read as its low end
above       numbers over the range, read as its high end"""


@dataclass(frozen=True)
class ColumnReport:
    """The numbers of cells of one column that the schema does not read as plain values.

    Parameters
    ----------
    missing, undeclared, below, above : int
        How many cells are missing, of no declared value, below the range, and above it.
    undeclared_values : tuple of str
        Up to ten undeclared values, the most frequent first; long ones are cut.
    """

    missing: int
    undeclared: int
    below: int
    above: int
    undeclared_values: tuple[str, ...] = ()

    __repr__ = short_repr


@dataclass(frozen=True)
class SchemaReport:
    """Disagreements between records and a schema. They are read off the records without protection.

    Parameters
    ----------
    records : int
        Number of records.
    features : mapping of str to ColumnReport
        The counts of each feature.
    labels : ColumnReport or None
        The counts of the labels; None if no labels were given.
    unread : tuple of str
        The features that have no cell of a declared form.
    unlabeled : bool
        Whether there are labels, but none is one of the classes, or an outcome.
    findings : tuple of str
        Serious problems, one sentence each.
    """

    records: int
    features: Mapping[str, ColumnReport]
    labels: ColumnReport | None
    unread: tuple[str, ...]
    unlabeled: bool
    findings: tuple[str, ...]

    __repr__ = short_repr

    def table(self) -> Iterator[str]:
        rows = {printable(name): column for name, column in self.features.items()}
        width = max(map(len, rows), default=0)
        yield f"\n  {'':<{width}}" + "".join(f"  {kind:>10}" for kind in KINDS)
        for name, column in rows.items():
            yield f"  {name:<{width}}" + "".join(f"  {getattr(column, kind):>10}" for kind in KINDS)
        if (labels := self.labels) is not None:
            yield f"\nlabels: {labels.missing} missing, {labels.undeclared} undeclared; a fit leaves these records out"
            if labels.below or labels.above:
                yield f"outcomes: {labels.below} below and {labels.above} above the range; a fit reads them as its ends"
            rows["the labels"] = labels
        for name, column in rows.items():
            if column.undeclared_values:
                yield f"undeclared in {name}, the most frequent first: {listed(column.undeclared_values)}"
        yield f"\n{LEGEND}"

    def __str__(self) -> str:
        warnings = ["", *(f"WARNING: {finding}" for finding in self.findings)] if self.findings else []
        return "\n".join([NOT_PRIVATE, f"\nrecords: {self.records}", *self.table(), *warnings])


class _Tally:
    def __init__(self, feature: Feature, missing: Sequence[str]) -> None:
        self.range = feature if isinstance(feature, Numeric) else None
        self.values, as_text = tuple(getattr(feature, "values", ())), getattr(feature, "as_text", False)
        if self.range is not None:
            self._read, self._unmarked = self.range.reader(missing), self.range.replaced(missing=()).reader()
        self._reader = CategoryReader(self.values, (*missing, *feature.missing), as_text=as_text)
        self.codes = np.zeros(len(self.values) + 2, dtype=np.int64)  # of values, then missing, then undeclared
        self.cells = self.below = self.above = 0
        self._undeclared: Counter[str] = Counter()

    @property
    def unread(self) -> int:
        return int(self.codes[len(self.values) :].sum())

    @property
    def present(self) -> int:
        return self.cells - int(self.codes[self._reader.missing])

    @property
    def in_order(self) -> bool:
        return self.cells - self.unread - self.below - self.above > IN_ORDER * self.present

    def add(self, cells: Cells) -> None:
        self.cells += len(cells)
        if self.range is not None:
            values = self._read(cells)
            self.below += int(np.count_nonzero(values < self.range.low))
            self.above += int(np.count_nonzero(values > self.range.high))
            cells = cells[np.isnan(values)]
        codes = self._reader.codes(cells)
        if self.range is not None:  # a marker in another spelling, such as 31.12.9999
            codes[~np.isnan(self._unmarked(cells))] = self._reader.missing
        self.codes += np.bincount(codes, minlength=len(self.codes))
        if self._undeclared.total() < 1 << 16:  # the first ones suffice
            keys = map(self._reader.key, as_objects(cells[codes == self._reader.undeclared]).tolist())
            self._undeclared.update(str(public_value(key))[:256] for key in keys if key is not None)

    def report(self, malformed: int) -> ColumnReport:
        """Return the counts, given the number of lines that have no cells at all."""
        missing, undeclared = self.codes[len(self.values) :].tolist()
        frequent = sorted(self._undeclared, key=lambda value: (-self._undeclared[value], value))
        return ColumnReport(missing - malformed, undeclared, self.below, self.above, tuple(frequent[:10]))

    def coverage(self, column: str, fewest: int = 1) -> Iterator[str]:
        known, few = self.cells - self.unread, "hardly any" if self.cells > self.unread else "no"
        if self.cells and known <= HARDLY_ANY * self.present:
            if self.range is not None and self.present:
                yield (
                    f"{few} cell of {column} could be read as the schema declares it; others count as missing. Is the text in "
                    "another format? Declare decimal, thousands or date_format in the schema, or convert it."
                )
            elif self.cells >= fewest:
                what = "is a declared value" if self.present else "holds anything"
                yield f"{few} cell of {column} {what}, so a model does without it. Is it the right column?"
        elif known >= fewest and self.below + self.above >= NEARLY_ALL * known:
            what = "lie outside the range that the schema declares, and are read as its ends"
            yield f"nearly all numbers of {column} {what}. Are they in another unit, or scaled?"


class Checker:
    """Counts the disagreements of records with a schema's declarations, table by table.

    ``labels`` are None if the records have none. With ``quick``, a column is read until some of its cells so far are in order.
    """

    def __init__(
        self,
        features: Mapping[str, Feature],
        missing: Sequence[str],
        labels: Feature | None = None,
        *,
        quick: bool = False,
    ) -> None:
        self._features, self._quick = features, quick
        self._tallies = {name: _Tally(feature, missing) for name, feature in features.items()}
        self._labels = None if labels is None else _Tally(labels, missing)
        self._records = 0

    def add(self, X: Any, y: Any = None) -> None:
        labels = None if y is None else read_labels(y)
        columns = read_columns(X, self._features, check_types=False) if self._tallies else None
        count = columns.n_rows if columns is not None else 0 if labels is None else len(labels)
        for start in range(0, count, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, count)
            if self._labels is not None and labels is not None:
                self._labels.add(labels[start:stop])
            wanted = [tally for tally in self._tallies.values() if not self._quick or not tally.in_order]
            for place, tally in enumerate(self._tallies.values()):
                if columns is not None and tally in wanted:
                    tally.add(columns.cells(place, start, stop))
            if self._quick and not wanted:
                return
        self._records += count

    def findings(self) -> list[str]:
        tallies = ((name, tally) for name, tally in self._tallies.items() if not tally.in_order)
        return [text for name, tally in tallies for text in tally.coverage(f"the column {shown(name)}", FEW)]

    def report(self, place: str, remedy: str, malformed: int = 0) -> SchemaReport:
        """Return the counts and findings; ``malformed`` is the number of records that have no cells at all."""
        findings = [
            "NO LINE has as many cells as the header. Has each line an extra separator, or is the separator another one?"
        ]
        if not 0 < self._records <= malformed:
            about = [text for name, tally in self._tallies.items() for text in tally.coverage(f"the column {name!r}")]
            findings = [*self._about_labels(place, remedy), *about]
        return SchemaReport(
            records=self._records,
            features=MappingProxyType({name: tally.report(malformed) for name, tally in self._tallies.items()}),
            labels=None if self._labels is None else self._labels.report(malformed),
            unread=tuple(name for name, tally in self._tallies.items() if 0 < self._records <= tally.unread),
            unlabeled=self._labels is not None and 0 < self._records <= self._labels.unread,
            findings=tuple(findings),
        )

    def _about_labels(self, place: str, remedy: str) -> Iterator[str]:
        labels = self._labels
        if labels is None or not self._records:
            return
        what = f"one of the declared classes, {listed(labels.values)}" if labels.range is None else "a number"
        declared = self._records - labels.unread
        if 2 * declared < self._records:
            begin = f"ONLY {declared} OF {self._records} RECORDS have a label, in {place}, that is"
            begin = begin if declared else f"NO LABEL in {place} is"
            yield f"{begin} {what}. A fit would leave out all other records. Correct the schema, or {remedy}."
        absent = [value for value, count in zip(labels.values, labels.codes.tolist(), strict=False) if not count]
        if absent and declared:
            yield f"no record has the label {listed(absent)}, which the schema declares. Is it spelled so there?"
        if labels.range is not None and 2 * declared >= self._records:
            yield from labels.coverage(place)
