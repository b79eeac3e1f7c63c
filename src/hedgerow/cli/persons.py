"""Who the records of a file are of: the column that says it, and how many records of one person are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from hedgerow.privacy.unit import MOST_RECORDS
from hedgerow.sources.table_file import Columns

__all__ = ["groups_of", "person_option", "person_options", "records_per_person_option"]

Command = TypeVar("Command", bound=Callable[..., Any])

person_option = click.option(
    "--person",
    metavar="COLUMN",
    help="The column that says who a record is of; it is no feature. Of each person coins choose the records that are read.",
)
records_per_person_option = click.option(
    "--records-per-person",
    type=click.IntRange(1, MOST_RECORDS),
    default=1,
    show_default=True,
    metavar="K",
    help="Protect one person, of whom at most K records are read. Without --person it is your promise that nobody has more.",
)


def person_options(command: Command) -> Command:
    """Add --person and --records-per-person to a command that reads records."""
    return person_option(records_per_person_option(command))


def groups_of(columns: Columns, person: str | None) -> Columns | None:
    """Take the column of persons out of others, and return it, if one is named."""
    return None if person is None else {person: columns.pop(person)}
