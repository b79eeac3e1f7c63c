"""Who the records of a file are of: the column that says it, and how many records of one person are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hedgerow.limits import MOST_RECORDS_OF_ONE

if TYPE_CHECKING:
    from hedgerow.sources.table_file import Columns

__all__ = ["groups_of", "person_option", "person_options", "records_per_person_option"]

Command = TypeVar("Command", bound=Callable[..., Any])

person_option = click.option(
    "--person",
    metavar="COLUMN",
    help="The column that says which person a record is of; it is no feature. At most K records of each person are read, "
    "drawn at random. [default: the schema's]",
)
records_per_person_option = click.option(
    "--records-per-person",
    type=click.IntRange(1, MOST_RECORDS_OF_ONE),
    metavar="K",
    help="Protect one person, of whom at most K records are read. Without a column of persons it is your promise that nobody has "
    "more. [default: the schema's, or 1]",
)


def person_options(command: Command) -> Command:
    """Add --person and --records-per-person to a command that reads records."""
    return person_option(records_per_person_option(command))


def groups_of(columns: Columns, person: str | None) -> Columns | None:
    """Take the column of persons out of others, and return it, if one is named."""
    return None if person is None else {person: columns.pop(person)}
