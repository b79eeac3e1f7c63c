"""``hedgerow schema check``: how often the records and a schema disagree, for their owner alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from hedgerow.cli.columns import check_columns, check_records, compare_columns, load_schema
from hedgerow.cli.options import data_argument, json_option, schema_option, separator_option, target_option
from hedgerow.cli.output import counted, listed, printable, write_json
from hedgerow.cli.table_file import unreadable_cells
from hedgerow.cli.tables import open_table
from hedgerow.errors import ConfigurationError
from hedgerow.schema import Categorical, Schema
from hedgerow.schema.cells import CategoryReader, numbers
from hedgerow.schema.encoder import numeric_markers
from hedgerow.schema.features import Feature, Value

__all__ = ["check"]

NOT_PRIVATE = (
    "These counts are read off the records without protection: they are NOT private and must not leave the building."
)
LEGEND = """\
missing     empty cells and markers; a model has a branch for them
undeclared  cells of no declared value, which share a branch, or of no number, which are read as missing
below       numbers under the range, read as its low end
above       numbers over the range, read as its high end"""


@dataclass
class Tally:
    """How many cells of one column the schema reads as something else than a plain value."""

    missing: int = 0
    undeclared: int = 0
    below: int = 0
    above: int = 0


class Counter:
    """Count the cells of one column, block by block.  A feature has a range or values; labels have the classes as values."""

    def __init__(self, schema: Schema, feature: Feature) -> None:
        self.tally = Tally()
        self._feature = feature
        self._markers = numeric_markers(schema)
        values = feature.values if isinstance(feature, Categorical) else ()
        self._reader = CategoryReader(values, schema.missing)
        self.seen = np.zeros(len(values), dtype=np.int64)  # cells of each declared value

    def add(self, cells: npt.NDArray[Any]) -> None:
        """Count a block of cells."""
        if not isinstance(self._feature, Categorical):
            values = numbers(cells)
            values = np.where(np.isin(values, self._markers), np.nan, values)
            self.tally.below += int(np.count_nonzero(values < self._feature.low))
            self.tally.above += int(np.count_nonzero(values > self._feature.high))
            cells = cells[np.isnan(values)]
        counts = np.bincount(self._reader.codes(cells), minlength=len(self.seen) + 2)
        self.tally.missing += int(counts[self._reader.missing])
        self.tally.undeclared += int(counts[self._reader.undeclared])
        self.seen += counts[: len(self.seen)]


@click.command("check")
@data_argument
@schema_option
@target_option
@separator_option
@json_option
def check(data: Path, schema_path: Path, target: str | None, separator: str, as_json: bool) -> None:
    """Count where the records of the file DATA and a schema disagree.

    The exit code is 2 where `hedgerow train` would refuse the file. It is 0 with a warning on stderr where train would take
    it but find few labels among the declared classes.

    It is for the eyes of the records' owner only: the counts are raw, so they must not leave the building, and a schema that
    is fitted to them is read off the records. DATA is CSV or Parquet by its name.
    """
    schema = load_schema(schema_path, target)
    found = _count(data, schema, separator)
    if as_json:
        write_json(found)
    else:
        for line in _page(found):
            click.echo(line)
    for warning in found["warnings"]:
        click.echo(f"WARNING: {warning}", err=True)
    if found["refusal"] is not None:
        raise ConfigurationError(f"`hedgerow train` would refuse this file and schema: {found['refusal']}")


def _count(data: Path, schema: Schema, separator: str) -> dict[str, Any]:
    """Return all counts as plain values for JSON; columns that the file lacks have none."""
    label = str(schema.target)
    with open_table(data, separator) as table:
        lacking, extra = compare_columns(table.header, schema, data)
        wanted = {**schema.features, label: Categorical(schema.classes)}
        counters = {name: Counter(schema, feature) for name, feature in wanted.items() if name not in lacking}
        lines = 0
        for block in table.blocks():
            lines += len(block[next(iter(counters))])
            for name, counter in counters.items():
                counter.add(block[name])
        malformed = table.malformed
    tallies = {name: asdict(counter.tally) for name, counter in counters.items()}
    for tally in tallies.values():
        tally["missing"] -= malformed  # such a line has no cells at all
    labels = tallies.pop(label, None)
    seen = None if labels is None else counters[label].seen.tolist()
    return {
        "private": False,
        "note": NOT_PRIVATE,
        "lines": lines,
        "malformed_lines": malformed,
        "columns_lacking": lacking,
        "columns_extra": extra,
        "features": tallies,
        "labels": labels and {kind: labels[kind] for kind in ("missing", "undeclared")},
        "warnings": [
            *unreadable_cells(table),
            *([] if seen is None else _label_warnings(label, schema.classes, seen, lines)),
            *_feature_warnings(tallies, lines),
        ],
        "refusal": _refusal(table.header, schema, lines, data),
    }


def _refusal(header: Sequence[str], schema: Schema, lines: int, data: Path) -> str | None:
    """Return why no model could be trained, in the words of ``hedgerow train``."""
    try:
        check_columns(header, schema, data)
        check_records(lines, data)
    except ConfigurationError as error:
        return str(error)
    return None


def _feature_warnings(tallies: Mapping[str, Mapping[str, int]], lines: int) -> list[str]:
    """Return which features say nothing, because none of their cells is read as the schema declares it."""
    return [
        f"NO CELL of the column {name!r} is what the schema declares: all are missing or undeclared. Correct its entry."
        for name, tally in tallies.items()
        if lines and tally["missing"] + tally["undeclared"] >= lines
    ]


def _label_warnings(target: str, classes: Sequence[Value], seen: Sequence[int], lines: int) -> list[str]:
    """Return what is alarming about labels; ``seen`` counts the records of each class."""
    declared = sum(seen)
    if not declared and lines:
        return [
            f"NO LABEL in the column {target!r} is one of the declared classes, {listed(classes)}. A fit would leave out every "
            "record, and its budget would be spent on nothing. Correct the classes, or pass the right --target."
        ]
    warnings = []
    if 2 * declared < lines:
        warnings.append(
            f"ONLY {declared} OF {lines} RECORDS have a label, in the column {target!r}, that is one of the declared classes, "
            f"{listed(classes)}. A fit would leave out the others. Correct the classes, or pass the right --target."
        )
    absent = [value for value, count in zip(classes, seen, strict=True) if not count]
    if absent and lines:
        warnings.append(
            f"no record has the label {listed(absent)}, which the schema declares. Is it spelled so in the file?"
        )
    return warnings


def _page(found: dict[str, Any]) -> Iterator[str]:
    """Yield the page that a person reads."""
    yield found["note"]
    yield f"\n{counted(found['lines'], 'line')}, of which {found['malformed_lines']} malformed (their number of cells is wrong)"
    if found["columns_lacking"]:
        yield f"columns that the file lacks: {listed(found['columns_lacking'])}"
    if found["columns_extra"]:
        yield f"columns that the schema does not declare: {listed(found['columns_extra'])}"
    rows = {printable(name): tally for name, tally in found["features"].items()}
    width = max(map(len, rows), default=0)
    kinds = ("missing", "undeclared", "below", "above")
    yield f"\n  {'':<{width}}" + "".join(f"  {kind:>10}" for kind in kinds)
    for name, tally in rows.items():
        yield f"  {name:<{width}}" + "".join(f"  {tally[kind]:>10}" for kind in kinds)
    if (labels := found["labels"]) is not None:
        yield f"\nlabels: {labels['missing']} missing, {labels['undeclared']} undeclared; a fit leaves these records out"
    yield f"\n{LEGEND}"
