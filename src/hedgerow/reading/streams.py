"""Records that are read block by block, in one fixed order: files of records, and readers of batches."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from narwhals.dependencies import get_pyarrow

from hedgerow.errors import ConfigurationError, MissingExtraError, SchemaError, UnreadColumnWarning
from hedgerow.reading.columns import Declared, read_columns, read_labels
from hedgerow.reading.csv_file import COMMAS, CSVFormat, open_csv
from hedgerow.reading.formats import check_delimiter, checked_encoding
from hedgerow.reading.table_file import (
    ParquetFile,
    TableFile,
    check_no_index,
    check_no_name_twice,
    open_parquet,
    unread,
)
from hedgerow.texts import listed


@dataclass(frozen=True)
class Layout:
    """Which column holds the labels, which says who the records are of, if any, which are passed over, and how CSV is written."""

    label: str
    drop: tuple[str, ...] = ()
    group: str | None = None
    form: CSVFormat = COMMAS

    @property
    def _others(self) -> tuple[str, ...]:
        return (self.label, *self.drop) if self.group is None else (self.label, *self.drop, self.group)

    def block(self, batch: Any, share: float | None) -> Block:
        return Block(*self.split(batch), share, self.groups(batch))

    def groups(self, batch: Any) -> Any:
        """Return who each record of a batch is of, None where no column says it."""
        if self.group is None:
            return None
        return batch[self.group] if isinstance(batch, Mapping) else _frame(batch)[self.group].to_native()

    def split(self, batch: Any) -> tuple[Any, Any]:
        """Return the features and the labels of a batch, or raise SchemaError where columns are absent."""
        if isinstance(batch, Mapping):
            self.check(batch)
            return {name: batch[name] for name in batch if name not in self._others}, batch[self.label]
        frame = _frame(batch)
        self.check(frame.columns)
        return frame.drop(list(self._others)).to_native(), frame[self.label].to_native()

    def check(self, names: Iterable[str]) -> None:
        there = set(names)
        lacking = [name for name in self._others if name not in there]
        if lacking:
            raise SchemaError(
                f"the records have no column {listed(lacking)}, which label=, group= or drop= names. Pass the names of their "
                "columns."
            )


def _frame(batch: Any) -> nw.DataFrame[Any]:
    pyarrow = get_pyarrow()
    if pyarrow is not None and isinstance(batch, pyarrow.RecordBatch):
        batch = pyarrow.Table.from_batches([batch])
    return nw.from_native(batch, eager_only=True)


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive records: features, labels, the share of all bytes that was read up to here, and whom they are of."""

    X: Any
    y: Any
    share: float | None
    groups: Any = None


class Stream(Protocol):
    """Records in a fixed order, which can be read block by block."""

    @property
    def again(self) -> bool:
        """Whether they can be read more than once."""

    def check(self, features: Mapping[str, Declared], labels: Declared, layout: Layout) -> None:
        """Raise SchemaError unless the columns and their declared types are the schema's, ConfigurationError without a record."""

    def blocks(self, layout: Layout) -> Iterator[Block]: ...

    def tables(self, form: CSVFormat = COMMAS) -> Iterator[Any]:
        """Yield all records in their order as tables, labels and all, to be predicted; ``form`` is how CSV is declared to be."""


def files_of(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], ending: str) -> tuple[Path, ...]:
    """Return the files that a path, a pattern (in the order of their names), a folder or a list of paths names.

    Of a folder these are the files of that ending. ConfigurationError if there is none, or one is named twice.
    """
    named: list[Any]
    several = isinstance(paths, Iterable) and _constructor_of(paths) is None and not _is_table(paths)
    named = [paths] if isinstance(paths, str | os.PathLike) else list(paths) if several else [None]
    if not all(isinstance(one, str | os.PathLike) for one in named):
        constructor = "from_parquet" if ending == ".parquet" else "from_csv"
        raise _of_another_kind(constructor, "a path or a sequence of paths", paths)
    if isinstance(paths, str | os.PathLike):
        path = os.fspath(paths)
        if os.path.isdir(path):
            path = os.path.join(path, f"*{ending}")
        pattern = has_magic(path) and not os.path.exists(path)
        files = [Path(name) for name in sorted(glob(path))] if pattern else [Path(path)]
    else:
        files = [Path(one) for one in named]
    if not files:
        raise ConfigurationError(f"no file is named like {paths!s}; pass a pattern, a folder or paths of files.")
    try:
        identities = [(status.st_dev, status.st_ino) for status in map(os.stat, files)]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ConfigurationError(
            f"there is no file {os.fspath(error.filename)!r}; pass the path of a file, a pattern or a folder."
        ) from None
    if len(set(identities)) < len(identities):
        raise ConfigurationError("a file is named twice, so each of its records would count twice; name it once.")
    return tuple(files)


BATCHES = (
    "an Arrow reader, a query that has __arrow_c_stream__, an iterable of pandas, polars or pyarrow tables, or a function that "
    "returns one of these"
)
# Where their classes are defined.
FRAMES = {"from_dask": ("dask.dataframe", "dask_expr"), "from_spark": ("pyspark.sql",)}


def check_source(constructor: str, given: Any) -> None:
    if _constructor_of(given) != constructor:
        what = "a dask.dataframe.DataFrame" if constructor == "from_dask" else "a pyspark.sql.DataFrame"
        raise _of_another_kind(constructor, what, given)


def _constructor_of(given: Any) -> str | None:
    """Return the constructor of hr.Records that takes a frame of a cluster; None for other objects. Nothing is imported."""
    for kind in type(given).__mro__:
        for constructor, modules in FRAMES.items():
            if kind.__name__ == "DataFrame" and kind.__module__.startswith(modules):
                return constructor
    return None


def _of_another_kind(constructor: str, what: str, given: Any) -> ConfigurationError:
    """Return the error for an object that a constructor of hr.Records does not take, with the one that does."""
    other = _constructor_of(given)
    if other is not None:
        way = f"Pass it to hr.Records.{other}"
    elif isinstance(given, str | os.PathLike):
        way = "Pass a path to hr.Records.from_parquet or hr.Records.from_csv"
    elif _is_table(given):
        way = "Pass a table in memory and its labels to fit as they are, or the table to hr.Records.from_batches"
    elif hasattr(given, "collect_batches"):
        way = "Pass its collect_batches() to hr.Records.from_batches"
    elif hasattr(given, "__arrow_c_stream__") and not _is_column(given):
        way = "Pass it to hr.Records.from_batches"
    else:
        way = (
            "Files are read by hr.Records.from_parquet and from_csv, readers and iterables of tables by from_batches, frames of "
            "a cluster by from_dask and from_spark; fit(X, y) takes arrays"
        )
    return ConfigurationError(f"hr.Records.{constructor} got {_kind(given)}, but it takes {what}. {way}.")


def _kind(given: Any) -> str:
    """Return the class of an object with its package, as frames of all packages have one name."""
    if given is None:
        return "None"
    package = type(given).__module__.partition(".")[0]
    return type(given).__name__ if package == "builtins" else f"{package}.{type(given).__name__}"


class Files:
    """Files of one format, one after another; they may not change from when they are named to when they are read.

    ``opened`` opens one of them, whose cells are read by the columns' declared types, as those of a pyarrow table are; of a CSV
    file every cell is text. The format of CSV is what the schema declares, if ``opened`` does not know it.
    """

    again = True

    def __init__(
        self, paths: tuple[Path, ...], opened: Callable[[Path, CSVFormat], AbstractContextManager[TableFile]]
    ) -> None:
        self.paths = paths
        self._open = opened
        self._seen = [_status(path) for path in paths]

    def check_unchanged(self) -> None:
        for path, seen in zip(self.paths, self._seen, strict=True):
            with naming(path):
                status = _status(path)
            if status != seen:
                raise ConfigurationError(
                    f"{path} has changed since these records were named, so a record could count twice or not at all. Make "
                    "the records anew, when nobody writes the files."
                )

    def check(self, features: Mapping[str, Declared], labels: Declared, layout: Layout) -> None:
        self.check_unchanged()
        is_empty = True
        ids: dict[str | None, Path] = {}
        for path in self.paths:
            with self._opened(path, layout.form) as table:
                check_no_name_twice(table.header, str(path))
                X, y = layout.split(table.types())
                check_no_index([name for name in X if name not in features], table.index, str(path))
                read_columns(X, features)
                read_labels(y, labels)
                is_empty = is_empty and table.is_empty
                if layout.group is not None and isinstance(table, ParquetFile):
                    ids.setdefault(_stored_as(table.schema.field(layout.group).type), path)
        ids.pop(None, None)
        if len(ids) > 1:
            (one, first), (other, second), *_ = ids.items()
            raise SchemaError(
                f"{first} holds {layout.group!r} as {one}, but {second} as {other}, so one person could be two. Write the "
                "column with one type in all files, ids best as text."
            )
        if is_empty:
            raise _no_records()

    def blocks(self, layout: Layout) -> Iterator[Block]:
        return (layout.block(batch, share) for batch, share in self._batches(layout.form, []))

    def tables(self, form: CSVFormat = COMMAS) -> Iterator[Any]:
        tables: list[TableFile] = []
        for batch, _ in self._batches(form, tables):
            yield batch
        if messages := unread(tables):
            warnings.warn("\n".join(messages), UnreadColumnWarning, stacklevel=2)

    def _batches(self, form: CSVFormat, tables: list[TableFile]) -> Iterator[tuple[Any, float]]:
        """Yield batches, each with the share of all bytes that was read up to its end; add the files to ``tables``."""
        sizes = [seen[2] for seen in self._seen]
        for place, path in enumerate(self.paths):
            with self._opened(path, form) as table:
                tables.append(table)
                for batch in table.batches():
                    yield batch, (sum(sizes[:place]) + sizes[place] * (table.share or 0.0)) / max(sum(sizes), 1)
        self.check_unchanged()

    @contextmanager
    def _opened(self, path: Path, form: CSVFormat) -> Iterator[TableFile]:
        with ExitStack() as stack:
            with naming(path):
                table = stack.enter_context(self._open(path, form))
            yield table


def parquet_files(paths: tuple[Path, ...]) -> Files:
    return Files(paths, lambda path, form: open_parquet(path))


def csv_files(paths: tuple[Path, ...], separator: str | None = None, encoding: str | None = None) -> Files:
    """Return CSV files; ``separator`` and ``encoding`` go before what a schema declares."""
    check_delimiter(separator)
    encoding = checked_encoding(encoding)
    return Files(
        paths, lambda path, form: open_csv(path, CSVFormat(separator or form.separator, encoding or form.encoding))
    )


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Raise what the system says of a file as an error that names it and says what to do."""
    try:
        yield
    except OSError as error:
        what = "is gone" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise ConfigurationError(
            f"{path}, a part of these records, {what} since they were named. Put it back, or make the records anew without it."
        ) from None


def _status(path: Path) -> tuple[int, ...]:
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _stored_as(kind: Any) -> str | None:
    """Return in words how a type of Arrow stores ids; cells of types in the same words are compared. None: it has no cells."""
    types = import_module("pyarrow.types")
    if types.is_dictionary(kind):
        return _stored_as(kind.value_type)
    if types.is_null(kind):
        return None
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_timestamp(kind):
        return "moments" if kind.tz is None else f"moments in {kind.tz}"
    if types.is_date(kind):
        return "days"
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    return "text" if any(is_one(kind) for is_one in texts) else str(kind)


def _no_records() -> ConfigurationError:
    return ConfigurationError("there are no records, but a fit rests on there being one. Add records.")


class Batches:
    """Batches of records: what an Arrow reader, a query, or any iterable of tables hands out.

    A table's type speaks for its own cells only, and no cell is read otherwise because of the batch that it came in.
    """

    def __init__(self, given: Any) -> None:
        if not callable(given):
            _check_batches(given)
        self._given = given
        self._once = isinstance(given, Iterator) or _is_reader(given)
        self._opened = False
        self._head: list[Any] | None = None  # the batches up to the first that has a record, until they are handed out
        self._rest: Iterator[Any] = iter(())

    @property
    def again(self) -> bool:
        return not self._once

    def check(self, features: Mapping[str, Declared], labels: Declared, layout: Layout) -> None:
        """Raise SchemaError unless the first batch has the schema's columns, ConfigurationError where there is no record.

        Types decide where they are declared, as Arrow's are. What pandas or another made of the cells that it saw is no reason
        for a refusal, which one record could bring about, or prevent, before anything is charged.
        """
        head = self._first()
        for batch in head:
            X, y = layout.split(batch)
            read_columns(X, features, check_types=_is_arrow(batch))
            if _is_arrow(batch):
                read_labels(y, labels)
        if not head or not _rows(head[-1]):
            raise _no_records()

    def blocks(self, layout: Layout) -> Iterator[Block]:
        return (layout.block(batch, None) for batch in self.tables())

    def tables(self, form: CSVFormat = COMMAS) -> Iterator[Any]:
        head, rest = self._first(), self._rest
        self._head = None
        return chain(head, rest)

    def _first(self) -> list[Any]:
        """Return the batches up to the first that has a record; the others wait."""
        if self._head is not None:
            return self._head
        if self._once and self._opened:
            raise ConfigurationError(
                "these batches were read to their end, and can be read once only. Pass a function that opens them, such as "
                "hr.Records.from_batches(lambda: reader()), to fit on them again."
            )
        self._rest, self._opened = _batches(self._given), True
        head: list[Any] = []
        for batch in self._rest:
            head.append(batch)
            if _rows(batch):
                break
        self._head = head
        return head


def _rows(batch: Any) -> int:
    if isinstance(batch, Mapping):
        return max((len(column) for column in batch.values()), default=0)
    return len(batch)


def _is_reader(given: Any) -> bool:
    pyarrow = get_pyarrow()
    return pyarrow is not None and isinstance(given, pyarrow.RecordBatchReader)


def _is_arrow(batch: Any) -> bool:
    pyarrow = get_pyarrow()
    return pyarrow is not None and isinstance(batch, pyarrow.RecordBatch | pyarrow.Table)


def _is_column(given: Any) -> bool:
    return isinstance(nw.from_native(given, pass_through=True, allow_series=True), nw.Series)


def _is_table(given: Any) -> bool:
    if _constructor_of(given) is not None:
        return False
    pyarrow = get_pyarrow()
    known = pyarrow is not None and isinstance(given, pyarrow.RecordBatch)
    return known or isinstance(given, Mapping) or isinstance(nw.from_native(given, pass_through=True), nw.DataFrame)


def _batches(given: Any) -> Iterator[Any]:
    if callable(given) and not hasattr(given, "__arrow_c_stream__"):
        return _batches(given())
    _check_batches(given)
    if _is_table(given):
        return iter([given])
    return _each(_arrow(given) if hasattr(given, "__arrow_c_stream__") else given)


def _check_batches(given: Any) -> None:
    """Raise ConfigurationError unless an object is a table, an Arrow stream, or an iterable that is no column or text."""
    hands_out = isinstance(given, Iterable) or hasattr(given, "__arrow_c_stream__")
    if (
        not hands_out
        or isinstance(given, str | bytes | np.ndarray)
        or _constructor_of(given) is not None
        or _is_column(given)
    ):
        raise _of_another_kind("from_batches", BATCHES, given)


def _each(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        if not _is_table(batch):
            raise ConfigurationError(
                f"a batch is {_kind(batch)}, but it must be a pandas, polars or pyarrow table, or a mapping of columns. A list "
                "of paths is read by hr.Records.from_parquet or from_csv."
            )
        yield batch


def _arrow(given: Any) -> Any:
    try:
        return import_module("pyarrow").RecordBatchReader.from_stream(given)
    except ImportError as error:
        raise MissingExtraError(
            'batches by the Arrow interface are read by pyarrow: install it with pip install "hedgerow[parquet]".'
        ) from error
