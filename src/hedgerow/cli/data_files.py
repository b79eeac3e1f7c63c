"""The files of records that a command is given: one, or all that a pattern names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import click

from hedgerow.cli.columns import check_records
from hedgerow.cli.options import InputFile, InputFolder
from hedgerow.cli.persons import groups_of
from hedgerow.engines.records import LEAST_MEMORY, Records
from hedgerow.sources.table_file import Columns, TableFile
from hedgerow.sources.tables import CSVFormat, is_parquet, open_table, read_table

__all__ = [
    "DataFiles",
    "check_files",
    "checked_memory",
    "files_argument",
    "given",
    "memory_option",
    "named",
    "records_of",
    "spill_option",
]

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


class DataFiles(click.ParamType):  # type: ignore[type-arg]  # it takes none before click 8.2
    """A file of records, or a pattern that names several of one kind, in the order of their names."""

    name = "file or pattern"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Path, ...]:
        """Return the paths, or fail where there is no file or they are of two kinds."""
        one = InputFile()
        if not has_magic(str(value)) or Path(value).exists():
            return (one.convert(value, param, ctx),)
        found = sorted(glob(value))
        if not found:
            self.fail(f"no file is named like {value!r}.", param, ctx)
        if len({is_parquet(path) for path in found}) > 1:
            self.fail(f"{value!r} names Parquet files and others; name those of one kind.", param, ctx)
        return tuple(one.convert(path, param, ctx) for path in found)


def checked_memory(context: click.Context, parameter: click.Parameter, value: str) -> int:
    """Return a number of bytes, of a text such as 512MiB or 2GB."""
    text = value.strip().lower().removesuffix("b")
    digits = text.rstrip("kmgti")
    try:
        size = int(float(digits) * UNITS[text[len(digits) :].strip()])
    except (ValueError, OverflowError, KeyError):
        raise click.BadParameter(
            f"{value!r} is no amount of memory; write it as 512MiB, 1GiB or 2GB.", context, parameter
        ) from None
    if size < LEAST_MEMORY:
        raise click.BadParameter(f"{value} is too little; give at least {LEAST_MEMORY >> 20}MiB.", context, parameter)
    return size


def named(data: Sequence[Path]) -> str:
    """Return how messages name the files."""
    return str(data[0]) if len(data) == 1 else f"{data[0]} and the files beside it"


def records_of(
    data: Sequence[Path], target: str, form: CSVFormat, memory: int, spill: Path | None, person: str | None = None
) -> Records:
    """Return the records of files of one kind."""
    if is_parquet(data[0]):
        return Records.from_parquet(data, target, group=person, memory=memory, spill=spill)
    return Records.from_csv(
        data, target, separator=form.separator, encoding=form.encoding, group=person, memory=memory, spill=spill
    )


def check_files(data: Sequence[Path], form: CSVFormat, check: Callable[[TableFile, Path], None]) -> None:
    """Check the columns of every file, and raise ConfigurationError where none has a record."""
    records = False
    for path in data:
        with open_table(path, form) as table:
            check(table, path)
            records = records or next(table.blocks(), None) is not None
    check_records(int(records), named(data))


def given(
    data: Sequence[Path],
    target: str,
    form: CSVFormat,
    memory: int,
    spill: Path | None,
    check: Callable[[TableFile, Path], None],
    person: str | None = None,
) -> tuple[Any, Any, Columns | None]:
    """Return files as records that are read block by block, and nothing else; of a pipe, which is read once, its columns,
    labels and persons.
    """
    if data[0].is_file():
        check_files(data, form, check)
        return records_of(data, target, form, memory, spill, person), None, None
    columns = read_table(data[0], form, lambda table: check(table, data[0]))
    check_records(len(columns[target]), data[0])
    return columns, columns.pop(target), groups_of(columns, person)


files_argument = click.argument("data", type=DataFiles())
memory_option = click.option(
    "--memory",
    callback=checked_memory,
    default="1GiB",
    show_default=True,
    metavar="SIZE",
    help="About how much memory codes and counts may take; what does not fit is put on disk.",
)
spill_option = click.option(
    "--spill",
    type=InputFolder(),
    help="Where codes go that do not fit memory. [default: where the system puts temporary files]",
)
