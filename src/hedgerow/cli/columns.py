"""The columns of a file beside those that a schema declares."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from hedgerow.cli.output import listed
from hedgerow.errors import SchemaError
from hedgerow.schema import Schema

__all__ = ["check_columns", "compare_columns", "load_schema"]


def load_schema(path: Path, target: str | None) -> Schema:
    """Return the schema in a file, with the target that an option names; or raise UsageError where neither names one."""
    schema = Schema.load(path)
    if target is None and schema.target is None:
        raise click.UsageError(
            f"{path} names no target, so it is open which column holds the labels; pass --target COLUMN."
        )
    return schema if target is None else schema.replace(target=target)


def compare_columns(found: Sequence[str], schema: Schema, data: Path) -> tuple[list[str], list[str]]:
    """Return the columns that a file lacks and those that the schema does not declare.

    Raises
    ------
    SchemaError
        When it lacks all: its first line is then no header but a record, which is not to be shown.
    """
    wanted = [*schema.names, str(schema.target)]
    lacking = [name for name in wanted if name not in found]
    if len(lacking) == len(wanted):
        raise SchemaError(
            f"{data} names none of the schema's columns in its first line ({', '.join(wanted[:5])}, ...). "
            "Add a header line, or pass the right --separator."
        )
    return lacking, [name for name in found if name not in wanted]


def check_columns(found: Sequence[str], schema: Schema, data: Path) -> None:
    """Raise SchemaError unless the columns are the schema's features and its target, in any order."""
    lacking, extra = compare_columns(found, schema, data)
    if lacking:
        raise SchemaError(
            f"{data} lacks {_named(lacking)}, which a record needs. Add it (empty cells are read as missing), or pass a "
            "schema and a target without it."
        )
    if extra:
        raise SchemaError(
            f"{data} has {_named(extra)}, about which the schema says nothing public. Drop it from the file, or declare "
            "it in the schema."
        )


def _named(names: list[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {listed(names)}"
