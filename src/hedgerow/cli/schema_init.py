"""``hedgerow schema init``: a first draft of a schema, which its owner must confirm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np

from hedgerow.cli.options import OutputFile, data_argument, force_option, refuse_overwriting, separator_option
from hedgerow.cli.schema_review import Note, draft_schema
from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.files import atomic_file
from hedgerow.schema.cells import numbers
from hedgerow.sources.table_file import Columns, check_no_name_twice, unreadable_cells
from hedgerow.sources.tables import open_table
from hedgerow.texts import counted, it_or_them, listed, printable

__all__ = ["init"]

HEAD = """\
# DRAFT by `hedgerow schema init`, read off the records. Trained with it as it is, a model has NO guarantee.
# Replace or confirm each entry by public knowledge, then delete its line origin = "inferred" (classes_origin for the classes).

"""

BEFORE = """\
Every entry of this draft was read off the records. Training with it as it is gives NO guarantee, and the draft and this list
hold raw values: they must not leave the building. Confirm each entry by public knowledge:
"""

AFTER = """
What to look for
  ranges      an end that is one person's value: write the range that was known before the data, such as 0 to 120
  categories  a rare one that names a person; one that could occur but did not: list what is publicly possible
  missing     a marker, such as ? or NA, among the values of a category: move it to the list missing
  person      the column that says which person a record is of, such as a patient's number; write it as person, and as
              records_per_person how many records of one person may be read. Where the guess is wrong, correct it, or delete both
  ids         any other column in which nearly every record has its own value: drop it from the data and the draft
  classes     all that are publicly possible, and the right target
  outcome     the range of the number that is predicted, as it was known before the data: its ends here are two persons' values

How to confirm
  Correct an entry, then delete its line origin = "inferred" (for the classes: classes_origin = "inferred"). By deleting it you
  state that the entry is public knowledge and would be the same without these records. Certificates name what is left."""


@click.command("init")
@data_argument
@click.option("--target", help="The label's column. [default: the last column]")
@click.option("--outcome", is_flag=True, help="The label is a number to predict, so that the schema is a regressor's.")
@click.option(
    "--missing", multiple=True, metavar="TEXT", help="What else stands for a missing cell, such as '?'; repeatable."
)
@click.option("--out", type=OutputFile(), help="The TOML file to write. [default: stdout]")
@force_option
@separator_option
def init(
    data: Path, target: str | None, outcome: bool, missing: Sequence[str], out: Path | None, force: bool, separator: str
) -> None:
    """Draft a schema by looking at the records of the file DATA, CSV or Parquet by its name.

    The draft is TOML. Every entry in it is marked as inferred, and no guarantee holds for a model that is trained with such
    an entry. What the owner must confirm, and how, goes to stderr. Both show raw values and are for the owner's eyes only.
    """
    if out is not None:
        refuse_overwriting(out, force, data)
    with open_table(data, separator) as table:
        _check_header(table.header, data)
        columns = table.read()
    target = _checked_target(columns, target, data)
    labels = columns.pop(target)
    draft, notes = draft_schema(columns, labels, target, missing, outcome=outcome)
    text = HEAD + draft.to_toml()
    if out is None:
        click.echo(text, nl=False)
    else:
        with atomic_file(out, replace=force) as part:
            part.write_text(text, encoding="utf-8", newline="\n")
    for line in _advice(notes):
        click.echo(line, err=True)
    for warning in unreadable_cells(table):
        click.echo(f"WARNING: {warning}", err=True)
    if out is not None:
        click.echo(f"wrote {out}", err=True)


def _check_header(header: Sequence[str], data: Path) -> None:
    """Raise SchemaError unless the first line names columns, and is no record as far as it can be told."""
    check_no_name_twice(header, str(data))
    values = numbers(np.array(header, dtype=object))
    odd = [place for place, name in enumerate(header, 1) if not name or np.isfinite(values[place - 1])]
    if odd:
        raise SchemaError(
            f"{data} has no names in its first line but numbers or nothing over {counted(len(odd), 'column')} "
            f"({listed(odd)}), as a record has: without a header line, a record would become the columns' names, and so "
            "public. Add a header line, or give these columns names that are words."
        )


def _checked_target(columns: Columns, target: str | None, data: Path) -> str:
    """Return the label's column, after checking that there are records with features and a label."""
    if len(columns) < 2:
        raise ConfigurationError(
            f"{data} has one column, but a record has features and a label. Add columns, or pass the right --separator."
        )
    if target is None:
        target = list(columns)[-1]
        click.echo(
            f"note: the last column, {target!r}, is taken for the label; pass --target COLUMN otherwise.", err=True
        )
    if target not in columns:
        raise click.UsageError(f"--target {target}: {data} has no such column in its first line.")
    if not len(columns[target]):
        raise ConfigurationError(f"{data} has no records, so nothing can be read off them. Add records.")
    return target


def _advice(notes: Sequence[Note]) -> Iterator[str]:
    """Yield what the owner must confirm, and how."""
    yield BEFORE
    width = max(len(printable(note.name)) for note in notes)
    for note in notes:
        yield f"  {printable(note.name):<{width}}  {printable('; '.join([note.entry, *note.oddities]))}"
    ids = [note.name for note in notes if note.is_id]
    if ids:
        yield (
            f"\nLikely ids or free text, which no schema should list: {listed(ids)}. "
            f"Drop {it_or_them(ids)} from the data and the draft."
        )
    yield AFTER
