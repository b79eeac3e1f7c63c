"""The files of records that a command is given: one, or all that a pattern names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hedgerow.cli.columns import check_records
from hedgerow.cli.persons import groups_of
from hedgerow.engines.records import Records
from hedgerow.sources.table_file import Columns, TableFile
from hedgerow.sources.tables import CSVFormat, is_parquet, open_table, read_table

__all__ = ["check_files", "given", "named", "records_of"]


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
