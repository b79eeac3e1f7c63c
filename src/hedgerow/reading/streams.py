"""Records that are read block by block, in one fixed order: files of records, and readers of batches."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import escape, glob, has_magic
from itertools import chain
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import get_pyarrow

from hedgerow.errors import ConfigurationError, SchemaError, UnreadColumnWarning
from hedgerow.reading.columns import Declared, as_native, check_no_name_twice, read_columns, read_labels
from hedgerow.reading.table_file import (
    COMMAS,
    Columns,
    FileForm,
    TableFile,
    batches_of,
    check_header,
    check_types,
    open_table,
    unread,
)
from hedgerow.reading.text_cells import Texts
from hedgerow.texts import listed


@dataclass(frozen=True)
class Layout:
    """The column of the labels, that of the persons, if any, the columns to drop, and the format of CSV."""

    label: str
    drop: tuple[str, ...] = ()
    group: str | None = None
    form: FileForm = COMMAS
    ignored: tuple[str, ...] = ()

    @property
    def others(self) -> tuple[str, ...]:
        return (self.label, *self.drop) if self.group is None else (self.label, *self.drop, self.group)

    def block(self, batch: Any, share: float | None = None) -> Block:
        columns = as_columns(batch)
        if lacking := [name for name in self.others if name not in columns]:
            raise SchemaError(
                f"the records have no column {listed(lacking)}, which label=, group= or drop= names. Pass names of their columns."
            )
        others = {*self.others, *self.ignored}
        X = {name: column for name, column in columns.items() if name not in others}
        return Block(X, columns[self.label], share, None if self.group is None else columns[self.group])


def as_columns(batch: Any) -> Mapping[str, Any]:
    if isinstance(batch, Mapping):
        return batch
    frame = None if isinstance(batch, str | bytes) else as_native(batch, "a batch")
    if not isinstance(frame, nw.DataFrame):
        raise ConfigurationError(
            f"a batch is {type(batch).__module__}.{type(batch).__name__}, but it must be a pandas, polars or pyarrow table, or a "
            "mapping of columns. A list of paths is read by hr.Records.from_parquet or from_csv."
        )
    check_no_name_twice(frame.columns, "a batch")
    return {column.name: column.to_native() for column in frame.iter_columns()}


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """Some consecutive records: features, labels, the share of all bytes that was read up to here, and whom they are of."""

    X: Any
    y: Any
    share: float | None
    groups: Any = None


def files_of(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *endings: str) -> tuple[Path, ...]:
    """Return the files that a path, a pattern (in the order of their names), a folder or a list of paths names.

    Of a folder these are the files of those endings. ConfigurationError if there is none, or one is named twice.
    """
    named: Any = paths if isinstance(paths, Sequence) and not isinstance(paths, str) else [paths]
    if not all(isinstance(path, str | os.PathLike) for path in named):
        raise wrong_kind(
            "from_parquet" if ".parquet" in endings else "from_csv", "a path or a sequence of paths", paths
        )
    if isinstance(paths, str | os.PathLike):
        if os.path.isdir(paths):
            patterns = [os.path.join(escape(os.fspath(paths)), f"*{ending}") for ending in endings]
            named = sorted(chain.from_iterable(map(glob, patterns)))
        elif has_magic(os.fspath(paths)) and not os.path.exists(paths):
            named = sorted(glob(os.fspath(paths)))
    files = [*map(Path, named)]
    if not files:
        raise ConfigurationError(f"no file is named like {paths!s}; pass a pattern, a folder or paths of files.")
    try:
        identities = {(status.st_dev, status.st_ino) for status in map(os.stat, files)}
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ConfigurationError(
            f"there is no file {os.fspath(error.filename)!r}; pass a file, a pattern or a folder."
        ) from None
    if len(identities) < len(files):
        raise ConfigurationError("a file is named twice, so each of its records would count twice; name it once.")
    return tuple(files)


def is_frame_of(given: Any, package: str) -> bool:
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0].removesuffix("_expr") == package
        for kind in type(given).__mro__
    )


def wrong_kind(constructor: str, what: str, given: Any) -> ConfigurationError:
    kind = f"{type(given).__module__}.{type(given).__name__}"
    return ConfigurationError(
        f"hr.Records.{constructor} got {kind}, but it takes {what}. Files are read by hr.Records.from_parquet and from_csv, "
        "readers, queries and iterables of tables (such as polars' collect_batches()) by from_batches, frames of a cluster by "
        "from_dask and from_spark; a table in memory and its labels go to fit as they are."
    )


class Files:
    """Files of one format, one after another; they may not change from when they are named to when they are read.

    Cells of Parquet are read by the columns' declared types, as those of a pyarrow table are. Of CSV every cell is text, written
    by the arguments, and otherwise by the schema.
    """

    again = True

    def __init__(
        self, paths: tuple[Path, ...], *, parquet: bool, separator: str | None = None, encoding: str | None = None
    ) -> None:
        COMMAS.replaced(separator, encoding)  # raises SchemaError if one is wrong
        self.paths, self._parquet = paths, parquet
        self._separator, self._encoding = separator, encoding
        self._seen = [_status(path) for path in paths]

    def check(self, features: Mapping[str, Declared], labels: Declared, layout: Layout) -> None:
        self._check_unchanged()
        is_empty = True
        ids: dict[str | None, Path] = {}
        for path, table in zip(self.paths, self._tables(layout.form), strict=True):
            check_header(table, [*features, *layout.others], path, ignored=layout.ignored)
            check_types(table, features, layout.label, labels)
            is_empty = is_empty and next(table.batches([layout.label]), None) is None
            if layout.group is not None:
                ids.setdefault(_stored_as(table.types()[layout.group]), path)
        ids.pop(None, None)
        if len(ids) > 1:
            (one, first), (other, second), *_ = ids.items()
            raise SchemaError(
                f"{first} holds {layout.group!r} as {one}, but {second} as {other}, so one person could be two. Write the "
                "column with one type in all files, ids best as text."
            )
        if is_empty:
            raise no_records()

    def blocks(self, layout: Layout) -> Iterator[Block]:
        for batch, share in batches_of(self._tables(layout.form), [seen[2] for seen in self._seen]):
            yield layout.block(batch, share)
        self._check_unchanged()

    def tables(self, form: FileForm = COMMAS) -> Iterator[Columns]:
        """Yield all records in their order as tables, labels and all, to be predicted; ``form`` is how CSV is declared to be."""
        files: list[TableFile] = []
        for table in self._tables(form):
            files.append(table)
            yield from table.batches()
        self._check_unchanged()
        if messages := unread(files):
            warnings.warn("\n".join(messages), UnreadColumnWarning, stacklevel=2)

    def _tables(self, form: FileForm) -> Iterator[TableFile]:
        form = form.replaced(self._separator, self._encoding)
        for path in self.paths:
            with open_table(path, form, parquet=self._parquet) as table:
                yield table

    def _check_unchanged(self) -> None:
        for path, seen in zip(self.paths, self._seen, strict=True):
            if _status(path) != seen:
                raise ConfigurationError(
                    f"{path} has changed since these records were named. Make the records anew, when nobody writes the files."
                )


def _status(path: Path) -> tuple[int, ...]:
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


STORED = {"numbers": "integer floating decimal", "days": "date", "text": "string large_string string_view"}


def _stored_as(column: Any) -> str | None:
    """Return how a column stores ids; cells of columns of one kind are compared. None: it has no cells."""
    if isinstance(column, Texts):
        return "text"
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_timestamp(kind):
        return "moments" if kind.tz is None else f"moments in {kind.tz}"
    for what, names in STORED.items():
        if any(getattr(types, f"is_{name}")(kind) for name in names.split()):
            return what
    return None if types.is_null(kind) else str(kind)


def no_records() -> ConfigurationError:
    return ConfigurationError("there are no records, but a fit rests on there being one. Add records.")


class Batches:
    """Batches of records: what an Arrow reader, a query, or any iterable of tables hands out.

    A table's type speaks for its own cells only, and no cell is read otherwise because of the batch that it came in.
    """

    def __init__(self, given: Any) -> None:
        if not callable(given):
            _check_batches(given)
        self._given = given
        self.again = not (isinstance(given, Iterator) or _is_arrow(given, "RecordBatchReader"))
        self._opened = False
        self._waiting: Iterator[Mapping[str, Any]] | None = None  # what ``check`` opened, until it is read

    def check(self, features: Mapping[str, Declared], labels: Declared, layout: Layout) -> None:
        """Raise SchemaError unless the first batch has the schema's columns, ConfigurationError where there is no record.

        Types decide where they are declared, as Arrow's are. What pandas or another made of the cells that it saw is no reason
        for a refusal, which one record could bring about, or prevent, before anything is charged.
        """
        head, rest = list[Mapping[str, Any]](), self.tables()
        for batch in rest:
            head.append(batch)
            if _rows(batch):
                break
        self._waiting = chain(head, rest)
        for batch in head:
            block = layout.block(batch)
            declared = _is_arrow(block.y, "Array", "ChunkedArray")
            read_columns(block.X, features, check_types=declared)
            if declared:
                read_labels(block.y, labels)
        if not head or not _rows(head[-1]):
            raise no_records()

    def blocks(self, layout: Layout) -> Iterator[Block]:
        return (layout.block(batch) for batch in self.tables())

    def tables(self, form: FileForm = COMMAS) -> Iterator[Mapping[str, Any]]:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            return waiting
        if self._opened and not self.again:
            raise ConfigurationError(
                "these batches were read to their end, and can be read once only. Pass a function that opens them, such as "
                "hr.Records.from_batches(lambda: reader()), to fit on them again."
            )
        batches, self._opened = _batches(self._given), True
        return batches


def _rows(batch: Mapping[str, Any]) -> int:
    return max((len(column) for column in batch.values()), default=0)


def _is_arrow(given: Any, *kinds: str) -> bool:
    pyarrow = get_pyarrow()
    return pyarrow is not None and isinstance(given, tuple(getattr(pyarrow, kind) for kind in kinds))


def _batches(given: Any) -> Iterator[Mapping[str, Any]]:
    if callable(given) and not hasattr(given, "__arrow_c_stream__"):
        return _batches(given())
    _check_batches(given)
    frame = nw.from_native(given, pass_through=True)
    if isinstance(given, Mapping) or isinstance(frame, nw.DataFrame) or _is_arrow(given, "RecordBatch"):
        given = [given]
    elif hasattr(given, "__arrow_c_stream__"):
        import pyarrow

        given = pyarrow.RecordBatchReader.from_stream(given)
    return map(as_columns, given)


def _check_batches(given: Any) -> None:
    if (
        is_frame_of(given, "dask")
        or is_frame_of(given, "pyspark")
        or isinstance(given, str | bytes | np.ndarray)
        or not (isinstance(given, Iterable) or hasattr(given, "__arrow_c_stream__"))
        or isinstance(nw.from_native(given, pass_through=True, allow_series=True), nw.Series)
    ):
        raise wrong_kind("from_batches", "batches, or a function that returns them", given)
