"""Disagreements between records and a schema, counted without protection. No fit calls this.

``SchemaReport`` is for the data owner. ``UnreadColumns`` warns of columns of which nothing is read in records to be predicted:
these are the caller's own, so they may be read.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from hedgerow.errors import shown
from hedgerow.reading.cells import CategoryReader, Cells, known_key
from hedgerow.reading.columns import Columns, read_columns, read_records
from hedgerow.reading.persons import split_target, without_column
from hedgerow.schema.features import Feature, Numeric, Value
from hedgerow.texts import listed, printable, short_repr

FIRST_ROWS, BLOCK_ROWS = 512, 65_536
FEW = 10  # records; fewer do not show that a column is wrong, since a category may be new or a number out of range
NEARLY_ALL = 0.95
HARDLY_ANY = 0.05  # of the present cells
IN_ORDER = 0.2  # of the present cells of the first rows; if more are in order, the column is not read further
MOST_SPELLINGS = 10  # spellings that a finding lists
KINDS = ("missing", "undeclared", "below", "above")

NOT_PRIVATE = (
    "These counts are read off the records without protection: they are NOT private and must not leave the building."
)
LEGEND = """\
missing     empty cells and markers; a model has a branch for them
undeclared  cells of no declared value, which share a branch, or of no number, which are read as missing
below       numbers under the range, read as its low end
above       numbers over the range, read as its high end"""


@dataclass(frozen=True)
class ColumnReport:
    """The numbers of cells of one column that the schema does not read as plain values.

    ``spellings`` lists undeclared texts, each with the declared value from which it differs only in case, white space or
    punctuation.
    """

    missing: int
    undeclared: int
    below: int
    above: int
    spellings: tuple[tuple[str, Value], ...] = ()

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

    @property
    def learns_nothing(self) -> bool:
        """Whether a fit would waste its budget: no record has a declared label, or no feature has a declared cell."""
        return self.unlabeled or (bool(self.features) and len(self.unread) == len(self.features))

    def table(self) -> Iterator[str]:
        """Yield the lines of the counts."""
        rows = {printable(name): column for name, column in self.features.items()}
        width = max(map(len, rows), default=0)
        yield f"\n  {'':<{width}}" + "".join(f"  {kind:>10}" for kind in KINDS)
        for name, column in rows.items():
            yield f"  {name:<{width}}" + "".join(f"  {getattr(column, kind):>10}" for kind in KINDS)
        if self.labels is not None:
            counts = f"{self.labels.missing} missing, {self.labels.undeclared} undeclared"
            yield f"\nlabels: {counts}; a fit leaves these records out"
            if self.labels.below or self.labels.above:
                ends = f"{self.labels.below} below and {self.labels.above} above the range"
                yield f"outcomes: {ends}; a fit reads them as its ends"
        yield f"\n{LEGEND}"

    def __str__(self) -> str:
        lines = [NOT_PRIVATE, f"\nrecords: {self.records}", *self.table()]
        lines += ["", *(f"WARNING: {finding}" for finding in self.findings)] if self.findings else []
        return "\n".join(lines)


class _Tally:
    """Count the cells of one column, of features or labels, block by block. The column has a range or values."""

    def __init__(self, feature: Feature, missing: Sequence[str], *, spellings: bool = True) -> None:
        self.range = feature if isinstance(feature, Numeric) else None
        self._read = feature.reader(missing) if isinstance(feature, Numeric) else None
        self.values = () if isinstance(feature, Numeric) else tuple(feature.values)
        self._reader = CategoryReader(self.values, missing)
        self._folds = _folds(self.values) if spellings else {}
        self._counts = np.zeros(len(self.values) + 2, dtype=np.int64)
        self.cells = self.below = self.above = 0
        self._spellings: dict[str, Value] = {}

    @property
    def seen(self) -> list[int]:
        counts: list[int] = self._counts[: len(self.values)].tolist()
        return counts

    @property
    def unread(self) -> int:
        """The number of cells that are not of a declared form."""
        return int(self._counts[len(self.values) :].sum())

    @property
    def present(self) -> int:
        return self.cells - int(self._counts[self._reader.missing])

    def add(self, cells: Cells) -> None:
        self.cells += len(cells)
        if self.range is not None and self._read is not None:
            values = self._read(cells)
            self.below += int(np.count_nonzero(values < self.range.low))
            self.above += int(np.count_nonzero(values > self.range.high))
            cells = cells[np.isnan(values)]
        codes = self._reader.codes(cells)
        self._counts += np.bincount(codes, minlength=len(self._counts))
        for cell in cells[codes == self._reader.undeclared] if self._folds else ():
            if len(self._spellings) >= MOST_SPELLINGS:
                return
            key = known_key(cell)
            if isinstance(key, str) and (value := self._folds.get(_fold(key))) is not None:
                self._spellings[key] = value

    def report(self, malformed: int) -> ColumnReport:
        """Return the counts, given the number of lines that have no cells at all."""
        missing, undeclared = self._counts[len(self.values) :].tolist()
        return ColumnReport(missing - malformed, undeclared, self.below, self.above, tuple(self._spellings.items()))


def _fold(text: str) -> str:
    """Return a text without case, white space, punctuation and differences of Unicode form, to compare spellings."""
    alike = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in alike if character not in " \t\r\n\u00a0_-.,;:'\"")


def _folds(values: Sequence[Value]) -> dict[str, Value]:
    """Return the declared texts by their folded form, without those that share one."""
    folds: dict[str, list[Value]] = {}
    for value in values:
        key = known_key(value)
        if isinstance(key, str):
            folds.setdefault(_fold(key), []).append(value)
    return {fold: alike[0] for fold, alike in folds.items() if fold and len(alike) == 1}


class Checker:
    """Counts the disagreements of blocks of records with a schema's declarations.

    ``labels`` are None if the records have none. Findings name their source as ``place``, such as "y", and suggest ``remedy`` if
    they are not the classes, besides correcting the classes.
    """

    def __init__(
        self,
        features: Mapping[str, Feature],
        missing: Sequence[str],
        *,
        labels: Feature | None,
        place: str,
        remedy: str,
    ) -> None:
        self._features = {name: _Tally(feature, missing) for name, feature in features.items()}
        self._labels = None if labels is None else _Tally(labels, missing)
        self._place, self._remedy = place, remedy
        self._records = 0

    def add(self, columns: Mapping[str, Cells], labels: Cells | None) -> None:
        for name, tally in self._features.items():
            tally.add(columns[name])
        if self._labels is not None and labels is not None:
            self._labels.add(labels)
        self._records += len(labels if labels is not None else columns[next(iter(self._features))])

    def report(self, malformed: int = 0) -> SchemaReport:
        """Return the counts and findings; ``malformed`` is the number of records that have no cells at all."""
        unread = tuple(name for name, tally in self._features.items() if 0 < self._records <= tally.unread)
        features = {name: tally.report(malformed) for name, tally in self._features.items()}
        labels = None if self._labels is None else self._labels.report(malformed)
        return SchemaReport(
            records=self._records,
            features=MappingProxyType(features),
            labels=labels,
            unread=unread,
            unlabeled=self._labels is not None and 0 < self._records <= self._labels.unread,
            findings=self._findings(malformed, labels, unread, features),
        )

    def _findings(
        self, malformed: int, labels: ColumnReport | None, unread: Sequence[str], features: Mapping[str, ColumnReport]
    ) -> tuple[str, ...]:
        if 0 < self._records <= malformed:
            return (
                "NO LINE has as many cells as the header, so nothing could be read. Is there a separator too many at the lines' "
                "ends, or is another character the separator?",
            )
        return (*self._about_labels(labels), *self._about_features(unread, features))

    def _about_features(self, unread: Sequence[str], features: Mapping[str, ColumnReport]) -> Iterator[str]:
        for name in unread:
            yield (
                f"NO CELL of the column {name!r} is what the schema declares: all are missing or undeclared. Correct its entry."
            )
        for name, column in features.items():
            yield from _about_spellings(f"the column {name!r}", column)
            if name not in unread:
                yield from self._about_range(f"the column {name!r}", column)

    def _about_range(self, place: str, column: ColumnReport) -> Iterator[str]:
        for side, count in (("below", column.below), ("above", column.above)):
            if count and count == self._records - column.missing:
                yield (
                    f"NO NUMBER of {place} is within its range: all are {side} it, so a fit reads one number for all. Are they "
                    "in another unit? Correct its range, or the numbers."
                )

    def _about_labels(self, labels: ColumnReport | None) -> Iterator[str]:
        if self._labels is None or labels is None or not self._records:
            return
        if self._labels.range is not None:
            yield from self._about_outcomes(labels)
            return
        classes, declared = self._labels.values, sum(self._labels.seen)
        if not declared:
            yield (
                f"NO LABEL in {self._place} is one of the declared classes, {listed(classes)}. A fit would leave out every "
                f"record, and its budget would be spent on nothing. Correct the classes, or {self._remedy}."
            )
        elif 2 * declared < self._records:
            yield (
                f"ONLY {declared} OF {self._records} RECORDS have a label, in {self._place}, that is one of the declared "
                f"classes, {listed(classes)}. A fit would leave out the others. Correct the classes, or {self._remedy}."
            )
        absent = [value for value, count in zip(classes, self._labels.seen, strict=True) if not count]
        if absent and declared:
            yield f"no record has the label {listed(absent)}, which the schema declares. Is it spelled so there?"
        yield from _about_spellings(self._place, labels)

    def _about_outcomes(self, labels: ColumnReport) -> Iterator[str]:
        unread = labels.missing + labels.undeclared
        if unread >= self._records:
            yield (
                f"NO OUTCOME in {self._place} is a number. A fit would leave out every record, and its budget would be spent on "
                f"nothing. Pass numbers, or {self._remedy}."
            )
        elif 2 * unread > self._records:
            yield (
                f"ONLY {self._records - unread} OF {self._records} RECORDS have an outcome, in {self._place}, that is a number. "
                f"A fit would leave out the others. Pass numbers, or {self._remedy}."
            )
        else:
            yield from self._about_range(self._place, labels)


def _about_spellings(place: str, column: ColumnReport) -> Iterator[str]:
    if column.spellings:
        pairs = ", ".join(f"{text!r} for {value!r}" for text, value in column.spellings)
        yield f"{place} has values in another spelling than the schema's, which are undeclared: {pairs}. Spell them alike."


def check_records(
    X: Any,
    y: Any,
    features: Mapping[str, Feature],
    labels: Feature,
    missing: Sequence[str],
    person: str | None,
    target: str | None,
) -> SchemaReport:
    X, _ = without_column(X, person)
    X, own = split_target(X, target)
    y = own if y is None else y
    if y is None:
        columns, cells = read_columns(X, features, allow_empty=False), None
    else:
        columns, cells = read_records(X, y, features, labels)
    checker = Checker(
        features, missing, labels=None if y is None else labels, place="y", remedy="pass the right labels"
    )
    for start in range(0, columns.n_rows, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, columns.n_rows))
        block = {name: columns.cells(i, rows.start, rows.stop) for i, name in enumerate(columns.names)}
        checker.add(block, None if cells is None else cells[rows])
    return checker.report()


class UnreadColumns:
    """Reads columns of records to be predicted, to warn of those of which nothing is read.

    A column is read until a fifth of its present cells so far are in order: hardly any of valid records.
    """

    def __init__(self, features: Mapping[str, Feature], missing: Sequence[str]) -> None:
        self._features = features
        self._tallies = {name: _Tally(feature, missing, spellings=False) for name, feature in features.items()}

    def add(self, X: Any) -> None:
        if all(map(_in_order, self._tallies.values())):
            return
        columns = read_columns(X, self._features)
        for place, tally in enumerate(self._tallies.values()):
            for cells in () if _in_order(tally) else _blocks(columns, place):
                tally.add(cells)
                if _in_order(tally):
                    break

    def findings(self) -> list[str]:
        """Return a sentence for each column of which no cell could be read, or nearly all cells are outside the range."""
        warnings = (_unread(name, tally) for name, tally in self._tallies.items() if not _in_order(tally))
        return [warning for warning in warnings if warning is not None]


def _in_order(tally: _Tally) -> bool:
    return tally.cells - tally.unread - tally.below - tally.above > IN_ORDER * tally.present


def _unread(name: str, tally: _Tally) -> str | None:
    known = tally.cells - tally.unread
    column, few = shown(name), "hardly any" if known else "no"
    if tally.cells and known <= HARDLY_ANY * tally.present:
        if tally.range is not None and tally.present:
            return (
                f"{few} cell of the column {column} could be read as the schema declares it; the others are read as missing. "
                "Is the text in another format? Declare decimal, thousands or date_format in the schema, or convert it."
            )
        if tally.cells < FEW:
            return None
        what = "is a declared value" if tally.present else "holds anything"
        return f"{few} cell of the column {column} {what}, so predictions are made without it. Is it the right column?"
    if known >= FEW and tally.below + tally.above >= NEARLY_ALL * known:
        return (
            f"nearly all numbers of the column {column} lie outside the range that the schema declares, and are read as its "
            "ends. Are they in another unit, or scaled?"
        )
    return None


def _blocks(columns: Columns, place: int) -> Iterator[Cells]:
    start = 0
    while start < columns.n_rows:
        stop = min(start + (BLOCK_ROWS if start else FIRST_ROWS), columns.n_rows)
        yield columns.cells(place, start, stop)
        start = stop
