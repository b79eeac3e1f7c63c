"""``hedgerow schema init | check``: draft a schema, or count disagreements with one, for the data owner only."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
import numpy as np

from hedgerow.cli import NOTHING_READ, TEXTS
from hedgerow.cli.inputs import check_columns, columns_of, load_schema, opened, write_json, write_out
from hedgerow.cli.options import command, refuse_overwriting
from hedgerow.cli.schema_review import Note, draft_schema
from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.reading import table_file
from hedgerow.reading.cells import numbers
from hedgerow.reading.columns import check_no_name_twice, read_columns
from hedgerow.reading.persons import person_ids, read_groups
from hedgerow.reading.streams import no_records
from hedgerow.reading.table_file import FileForm
from hedgerow.schema import Schema, SchemaReport
from hedgerow.schema.check import KINDS, NOT_PRIVATE, Checker
from hedgerow.texts import counted, it_or_them, listed, printable


@command("schema init")
def init(
    data: tuple[Path, ...],
    target: str | None,
    outcome: bool,
    missing: Sequence[str],
    out: Path | None,
    force: bool,
    separator: str | None,
) -> None:
    refuse_overwriting(out, force, *data)
    forms = [table_file.guess_format(path, separator) for path in data]
    form = next((form for form in forms if not form.is_utf8), forms[0])
    with opened(data, form) as (tables, batches):
        for table, path in zip(tables, data, strict=True):
            _check_header(table.header, path)
            if set(table.header) != set(tables[0].header):
                raise SchemaError(f"{path} has other columns than {data[0]}. Pass files with the same columns.")
        target = _checked_target(tables[0].header, target, data[0])
        columns = read_columns(table_file.whole(tables, batches(None)), check_types=False)
    if not columns.n_rows:
        raise ConfigurationError(f"{data[0]} has no records, so nothing can be read off them. Add records.")
    cells = {name: columns.cells(place) for place, name in enumerate(columns.names)}
    draft, notes = draft_schema(cells, target, missing, outcome=outcome)
    if form != FileForm():
        draft = draft.replace(
            delimiter=None if form.separator == "," else form.separator,
            encoding=None if form.is_utf8 else form.encoding,
        )
    text = TEXTS["draft-head"] + draft.to_toml()
    write_out(text.encode(), out, force=force)
    for line in _advice(notes):
        click.echo(line, err=True)
    for warning in table_file.unread(tables):
        click.echo(f"WARNING: {warning}", err=True)


def _check_header(header: Sequence[str], data: Path) -> None:
    check_no_name_twice(header, str(data))
    values = numbers(np.array(header, dtype=object))
    odd = [place for place, name in enumerate(header, 1) if not name or np.isfinite(values[place - 1])]
    if odd:
        raise SchemaError(
            f"{data} has no names in its first line but numbers or nothing over {counted(len(odd), 'column')} "
            f"({listed(odd)}), as a record has: without a header line, a record would become the columns' names, and so "
            "public. Add a header line, or give these columns names that are words."
        )


def _checked_target(header: Sequence[str], target: str | None, data: Path) -> str:
    if len(header) < 2:
        raise click.UsageError(f"{data} has one column, but records have features and a label; pass its --separator.")
    if target is None:
        target = header[-1]
        click.echo(
            f"note: the last column, {target!r}, is read as the label; if this is wrong, pass --target COLUMN.",
            err=True,
        )
    if target not in header:
        raise click.UsageError(f"--target {target}: {data} has no such column in its first line.")
    return target


def _advice(notes: Sequence[Note]) -> Iterator[str]:
    yield TEXTS["draft-before"]
    width = max(len(printable(note.name)) for note in notes)
    for note in notes:
        yield f"  {printable(note.name):<{width}}  {printable('; '.join([note.entry, *note.oddities]))}"
    ids = [note.name for note in notes if note.is_id]
    if ids:
        yield (
            f"\nLikely ids or free text, which no schema should list: {listed(ids)}. Ignore {it_or_them(ids)}, as the draft does "
            "if another feature remains."
        )
    yield TEXTS["draft-after"]


@command("schema check")
def check(
    data: tuple[Path, ...],
    schema_path: Path,
    target: str | None,
    person: str | None,
    separator: str | None,
    as_json: bool,
) -> None:
    schema = load_schema(schema_path, target, person)
    counts, report = _count(data, schema, schema.file_form.replaced(separator))
    if as_json:
        write_json(counts)
    else:
        for line in _page(counts, report):
            click.echo(line)
    for warning in counts["warnings"]:
        click.echo(f"WARNING: {warning}", err=True)
    if counts["refusal"] is not None:
        raise ConfigurationError(f"`hedgerow train` would refuse this file and schema: {counts['refusal']}")
    if report.unread or report.unlabeled:
        click.get_current_context().exit(NOTHING_READ)


def _count(data: Sequence[Path], schema: Schema, form: FileForm) -> tuple[dict[str, Any], SchemaReport]:
    label = str(schema.target)
    with opened(data, form) as (tables, batches):
        wanted = columns_of(schema)
        compared = [
            table_file.compare_header(table.header, wanted, path) for table, path in zip(tables, data, strict=True)
        ]
        lacking, extra = (list(dict.fromkeys(chain(*names))) for names in zip(*compared, strict=True))
        extra = [name for name in extra if name not in schema.ignore]
        there = [name for name in wanted if name not in lacking]
        features = {name: schema.features[name] for name in there if name in schema.features}
        checker = Checker(features, schema.missing, schema.labels if label in there else None)
        ids, key = Counter[bytes](), os.urandom(32)
        for batch in batches(there):
            checker.add({name: batch[name] for name in features}, batch.get(label))
            if schema.person in there:
                groups = read_groups(batch[schema.person], len(batch[schema.person]), schema.missing, warn=False)
                assert groups is not None
                assert groups.cells is not None
                ids.update(map(bytes, person_ids(groups.cells, key, schema.missing)))
        malformed = sum(table.malformed for table in tables)
    report = checker.report(f"the column {label!r}", "pass the right --target", malformed)
    labels, refusal, persons = report.labels, None, None
    if schema.person in there:
        without, sizes = ids.pop(bytes(16), 0), [*ids.values()]
        persons = {
            "persons": len(sizes),
            "most_records": max(sizes, default=0),
            "without_id": without,
            "beyond": sum(max(size - schema.records_per_person, 0) for size in sizes),
        }
    try:  # as `hedgerow train` does
        for table, path in zip(tables, data, strict=True):
            check_columns(table, schema, path)
        if not report.records:
            raise no_records()
    except ConfigurationError as error:
        refusal = str(error)
    return {
        "private": False,
        "note": NOT_PRIVATE,
        "lines": report.records,
        "malformed_lines": malformed,
        "open_quotes": sum(table.open_quotes for table in tables),
        "columns_lacking": lacking,
        "columns_extra": extra,
        "features": {name: {kind: getattr(column, kind) for kind in KINDS} for name, column in report.features.items()},
        "persons": persons,
        "labels": labels and {kind: getattr(labels, kind) for kind in (KINDS if schema.outcome else KINDS[:2])},
        "warnings": [*table_file.unread(tables), *report.findings],
        "refusal": refusal,
    }, report


def _page(counts: dict[str, Any], report: SchemaReport) -> Iterator[str]:
    yield counts["note"]
    malformed = f"{counts['malformed_lines']} malformed (their number of cells is wrong, or a quote does not close)"
    yield f"\n{counted(counts['lines'], 'line')}, of which {malformed}"
    if counts["columns_lacking"]:
        yield f"columns that the file lacks: {listed(counts['columns_lacking'])}"
    if counts["columns_extra"]:
        yield f"columns that the schema does not declare: {listed(counts['columns_extra'])}"
    yield from report.table()
    if counts["persons"] is not None:
        persons = counts["persons"]
        yield (
            f"\npersons: {persons['persons']} with up to {counted(persons['most_records'], 'record')} each; a fit leaves out "
            f"{counted(persons['without_id'], 'record')} without an id and {persons['beyond']} beyond records_per_person"
        )
