"""``hedgerow schema check``: how often the records and a schema disagree, for their owner alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from hedgerow.cli.columns import check_columns, check_records, compare_columns, load_schema
from hedgerow.cli.group import NOTHING_READ
from hedgerow.cli.options import data_argument, json_option, schema_option, separator_option, target_option
from hedgerow.cli.output import write_json
from hedgerow.cli.persons import person_option
from hedgerow.errors import ConfigurationError
from hedgerow.schema import Schema, SchemaReport
from hedgerow.schema.cells import Cells
from hedgerow.schema.check import KINDS, NOT_PRIVATE, Checker
from hedgerow.schema.persons import person_ids
from hedgerow.sources.table_file import TableFile, unreadable_cells
from hedgerow.sources.tables import CSVFormat, open_table
from hedgerow.texts import counted, listed

__all__ = ["check"]


@click.command("check")
@data_argument
@schema_option
@target_option
@person_option
@separator_option
@json_option
def check(
    data: Path, schema_path: Path, target: str | None, person: str | None, separator: str | None, as_json: bool
) -> None:
    """Count where the records of the file DATA and a schema disagree.

    The exit code is 2 where `hedgerow train` would refuse the file, and 5 where a fit would learn nothing from the labels or
    from some column, because none of its cells is as declared, so that a script can stop before it trains. It is 0 with a
    warning on stderr where few labels are.

    It is for the eyes of the records' owner only: the counts are raw, so they must not leave the building, and a schema that
    is fitted to them is read off the records. DATA is CSV or Parquet by its name.
    """
    schema = load_schema(schema_path, target, person)
    found, report = _count(data, schema, CSVFormat.of(schema, separator))
    if as_json:
        write_json(found)
    else:
        for line in _page(found, report):
            click.echo(line)
    for warning in found["warnings"]:
        click.echo(f"WARNING: {warning}", err=True)
    if found["refusal"] is not None:
        raise ConfigurationError(f"`hedgerow train` would refuse this file and schema: {found['refusal']}")
    if report.unread or report.unlabeled:
        click.get_current_context().exit(NOTHING_READ)


def _count(data: Path, schema: Schema, form: CSVFormat) -> tuple[dict[str, Any], SchemaReport]:
    """Return all counts as plain values for JSON, and as a report; columns that the file lacks have none."""
    label = str(schema.target)
    with open_table(data, form) as table:
        lacking, extra = compare_columns(table.header, schema, data)
        labeled = label not in lacking
        checker = Checker(
            {name: feature for name, feature in schema.features.items() if name not in lacking},
            schema.missing,
            labels=schema.labels if labeled else None,
            place=f"the column {label!r}",
            remedy="pass the right --target",
        )
        persons = Persons(schema)
        for block in table.blocks():
            checker.add(block, block[label] if labeled else None)
            if schema.person in block:
                persons.add(block[schema.person])
        malformed = table.malformed
    report = checker.report(malformed)
    labels = report.labels
    return {
        "private": False,
        "note": NOT_PRIVATE,
        "lines": report.records,
        "malformed_lines": malformed,
        "columns_lacking": lacking,
        "columns_extra": extra,
        "features": {name: {kind: getattr(column, kind) for kind in KINDS} for name, column in report.features.items()},
        "persons": persons.values() if schema.person is not None and schema.person not in lacking else None,
        "labels": labels and {kind: getattr(labels, kind) for kind in (KINDS if schema.outcome else KINDS[:2])},
        "warnings": [*unreadable_cells(table), *report.findings],
        "refusal": _refusal(table, schema, report.records, data),
    }, report


def _refusal(table: TableFile, schema: Schema, lines: int, data: Path) -> str | None:
    """Return why no model could be trained, in the words of ``hedgerow train``."""
    try:
        check_columns(table, schema, data)
        check_records(lines, data)
    except ConfigurationError as error:
        return str(error)
    return None


def _page(found: dict[str, Any], report: SchemaReport) -> Iterator[str]:
    """Yield the page that a person reads."""
    yield found["note"]
    yield f"\n{counted(found['lines'], 'line')}, of which {found['malformed_lines']} malformed (their number of cells is wrong)"
    if found["columns_lacking"]:
        yield f"columns that the file lacks: {listed(found['columns_lacking'])}"
    if found["columns_extra"]:
        yield f"columns that the schema does not declare: {listed(found['columns_extra'])}"
    yield from report.table()
    if found["persons"] is not None:
        persons = found["persons"]
        yield (
            f"\npersons: {persons['persons']} with up to {counted(persons['most_records'], 'record')} each; a fit leaves out "
            f"{counted(persons['without_id'], 'record')} without an id and {persons['beyond']} beyond records_per_person"
        )


class Persons:
    """Count the persons of a file, and how many records each has."""

    def __init__(self, schema: Schema) -> None:
        self._missing, self._most, self._key = schema.missing, schema.records_per_person, os.urandom(32)
        self._sizes: Counter[bytes] = Counter()

    def add(self, cells: Cells) -> None:
        """Count the persons of some records."""
        self._sizes.update(map(bytes, person_ids(cells, self._key, self._missing)))

    def values(self) -> dict[str, int]:
        """Return how many there are, and how many records a fit leaves out."""
        without = self._sizes.pop(bytes(16), 0)
        sizes = self._sizes.values()
        return {
            "persons": len(sizes),
            "most_records": max(sizes, default=0),
            "without_id": without,
            "beyond": sum(max(size - self._most, 0) for size in sizes),
        }
