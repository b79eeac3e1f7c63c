"""Records of any kind of table as named columns, and what speaks against a table.

Refusals are decided by types alone, which are public if the owner declares them. No cell is read. As features, numbers, truth
values and objects are all accepted. If a reader inferred a type, one cell can change it. Certificates state this.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, Literal, Protocol
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np
from narwhals.dependencies import get_pandas, get_pyarrow
from narwhals.exceptions import DuplicateError

from hedgerow.arrays import Array
from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.reading.cells import MACHINE_NUMBERS, Cells, as_objects, is_read, object_array, time_cells
from hedgerow.reading.text_cells import ArrowTexts, CodedTexts, Texts
from hedgerow.texts import it_or_them, listed

# What all cells of a column hold, by its type. Lists, durations, complex numbers and the like are unreadable, so each of their
# cells is missing. Types of objects, of text and of nulls alone do not tell.
Holds = Literal["anything", "numbers", "times", "unreadable"]
Read = Callable[[int, int], Cells]

LONGEST_IN_VIEW = 12  # bytes
NOT_READ = "lists, structs, durations, times of day, complex numbers, intervals, periods or the like"


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """One column of a table. How its cells are read follows once from its type.

    ``read`` returns the cells from one row up to another: machine numbers, ``Texts`` or Python objects, None for values without
    one. No cell makes it fail or print. ``holds`` is what all cells hold by the type. Of integers, ``whole`` reads all digits as
    objects (with missing cells among them, ``read`` returns 64-bit floats).
    """

    length: int
    read: Read
    holds: Holds = "anything"
    whole: Read | None = None

    def __len__(self) -> int:
        return self.length


def array_column(cells: Cells, holds: Holds | None = None) -> Column:
    holds = holds or array_holds(cells.dtype)
    return unread(len(cells)) if holds == "unreadable" else Column(len(cells), lambda i, j: cells[i:j], holds)


def array_holds(dtype: np.dtype[Any]) -> Holds:
    if not is_read(dtype):
        return "unreadable"
    return "numbers" if dtype.kind in MACHINE_NUMBERS else "times" if dtype.kind == "M" else "anything"


def unread(length: int) -> Column:
    return Column(length, lambda start, stop: np.full(stop - start, None, dtype=object), "unreadable")


def series_column(series: nw.Series[Any]) -> Column:
    """Return a series of any library as a column: numpy's arrays as they are, whatever else as Arrow holds it."""
    native: Any = series.to_native()
    if series.implementation.is_pandas():
        return _pandas_column(native)
    import pyarrow  # at its first use: numbers of numpy and pandas do without it

    if isinstance(native, pyarrow.ChunkedArray):
        return arrow_column(native)
    if series.dtype == nw.Object:
        return array_column(object_array(native.to_list(), len(native)))
    try:
        column = pyarrow.chunked_array(native) if hasattr(native, "__arrow_c_stream__") else series.to_arrow()
    except Exception:
        return unread(len(series))  # such as one of integers of 128 bits
    return arrow_column(column)


def _pandas_column(native: Any) -> Column:
    pandas: Any = get_pandas()
    if isinstance(native.dtype, np.dtype):
        return array_column(native.to_numpy())
    if isinstance(native.dtype, pandas.DatetimeTZDtype):  # as an array they are in UTC
        times = native.to_numpy(dtype=f"M8[{native.dtype.unit}]")
        return _time_column(len(times), lambda start, stop: times[start:stop], str(native.dtype.tz))
    if isinstance(native.dtype, pandas.CategoricalDtype):
        return _coded_column(_pandas_column(native.dtype.categories), native.array.codes)
    import pyarrow

    try:
        return arrow_column(pyarrow.array(native, from_pandas=True))
    except Exception:  # such as Python's text with half of a surrogate pair
        return array_column(native.to_numpy(dtype=object))


def _coded_column(values: Column, codes: Array) -> Column:
    cells = (values.whole or values.read)(0, len(values))  # the code -1 finds the last one, which is added
    if isinstance(cells, Texts):
        data, starts, stops = cells.places
        texts = Texts(data, np.append(starts, -1), np.append(stops, -1), cells.decode)
        return Column(len(codes), lambda start, stop: CodedTexts(texts, codes[start:stop]), values.holds)
    table = np.concatenate([as_objects(cells), object_array([None], 1)])
    return Column(len(codes), lambda start, stop: table[codes[start:stop]], values.holds)


def arrow_column(column: Any) -> Column:
    import pyarrow

    count = len(column)
    column = pyarrow.chunked_array([column]) if isinstance(column, pyarrow.Array) else column
    # The array of a chunk without nulls is the chunk's own memory
    numbers = column.chunk(0) if column.num_chunks == 1 else column
    types, kind = pyarrow.types, column.type

    def is_any(*names: str) -> bool:
        return any(getattr(types, f"is_{name}")(kind) for name in names)

    def block(start: int, stop: int) -> Any:
        return column.slice(start, stop - start)

    def objects(start: int, stop: int) -> Cells:
        return object_array(block(start, stop).to_pylist(), stop - start)

    def arrays(start: int, stop: int) -> Cells:
        return np.asarray(numbers.slice(start, stop - start).to_numpy(zero_copy_only=False))

    if is_any("integer", "floating", "boolean"):
        return Column(count, arrays, "numbers", objects if types.is_integer(kind) else None)
    if is_any("string", "large_string", "string_view"):
        return Column(count, lambda start, stop: arrow_texts(block(start, stop)))
    # As Python objects, decimals keep their values
    if is_any("binary", "large_binary", "binary_view", "fixed_size_binary", "null", "decimal"):
        return Column(count, objects, "numbers" if types.is_decimal(kind) else "anything")
    if types.is_dictionary(kind):
        try:
            whole = column.combine_chunks()
        except pyarrow.ArrowException:  # more values of all chunks than indices of this type
            return arrow_column(column.cast(kind.value_type))
        places = whole.indices.cast(pyarrow.int32()).fill_null(-1).to_numpy()
        return _coded_column(arrow_column(whole.dictionary), places)
    if not is_any("date", "timestamp"):
        return unread(count)
    unit, zone = ("D", None) if types.is_date(kind) else (kind.unit, kind.tz)
    return _time_column(count, lambda start, stop: block(start, stop).to_numpy().astype(f"M8[{unit}]"), zone)


def arrow_texts(column: Any) -> Texts:
    import pyarrow

    wide = column.type != pyarrow.string()
    if pyarrow.types.is_string_view(column.type):  # 16 bytes for each cell: its length, and its text if that fits
        block = column.combine_chunks()
        views, rows = block.buffers()[1] or b"", slice(4 * block.offset, 4 * (block.offset + len(block)), 4)
        lengths, starts = np.frombuffer(views, dtype=np.int32)[rows], 4 * np.arange(rows.start + 1, rows.stop + 1, 4)
        if block.null_count:
            absent = block.is_null().to_numpy(zero_copy_only=False)
            lengths, starts = np.where(absent, 0, lengths), np.where(absent, -1, starts)
        if lengths.max(initial=0) <= LONGEST_IN_VIEW:
            return Texts(np.frombuffer(views, dtype=np.uint8), starts, starts + lengths)
    return ArrowTexts((column.cast(pyarrow.large_string()) if wide else column).chunks, wide)


def _time_column(length: int, times: Callable[[int, int], Array], zone_name: str | None) -> Column:
    try:
        zone = _zone(zone_name)
    except Exception:  # the system does not know it
        return unread(length)
    return Column(length, lambda start, stop: time_cells(times(start, stop), zone), "times")


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    with suppress(ValueError):  # an offset, such as +02:00 or UTC+02:00, or UTC itself
        return datetime.strptime(name.removeprefix("UTC") or "Z", "%z").tzinfo
    return ZoneInfo(name)


class Declared(Protocol):
    def takes(self, holds: Holds) -> bool: ...

    def in_words(self) -> str: ...


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """Records as columns in the order of ``names``. Nothing is copied until a block of cells is read."""

    names: tuple[str, ...]
    n_rows: int
    columns: tuple[Column, ...]
    matrix: Array | None = None  # of numbers, whose columns these are
    named: bool = False  # whether the table itself had a name for each column, all of them text

    def cells(self, column: int, start: int = 0, stop: int | None = None) -> Cells:
        return self.columns[column].read(start, self.n_rows if stop is None else stop)


def read_columns(
    X: Any, features: Mapping[str, Declared] | None = None, *, allow_empty: bool = True, check_types: bool = True
) -> Columns:
    """Return ``X`` as columns in the order of the schema's features.

    ``X`` is a pandas, polars or pyarrow table, another one with the Arrow interface, or a mapping of columns (matched by name, in
    any order), or a 2-D array or a list of rows (matched by position). A row that is not a list, tuple or 1-D array with one cell
    for each feature is a record whose cells are all missing. Without ``check_types``, a column of a type that cannot hold what is
    declared is not refused: all its cells are missing.
    """
    names = None if features is None else tuple(features)
    if isinstance(X, Columns) and names in (None, X.names):  # read before, by the same features
        return X if features is None else _with_all_digits(X, features)
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise ConfigurationError("X is a sparse matrix, but every cell of a record is encoded. Pass X.toarray().")
    if check_types and isinstance(X, np.ndarray) and X.dtype.kind == "c":
        raise SchemaError("Complex data not supported: pass the real and the imaginary parts as columns of their own.")
    if isinstance(X, Mapping):
        columns = _by_name(list(X), [one_column(column, "a column of X") for column in X.values()], names)
    elif isinstance(frame := as_native(X, "X"), nw.DataFrame):
        series = list(frame.iter_columns())
        columns = _by_name([one.name for one in series], [series_column(one) for one in series], names)
    else:
        columns = _by_place(X, names)
    if not columns.names:
        # Shapes are checked before any schema is used. The sentence is scikit-learn's, without the number of rows, which is not
        # public. scikit-learn's checks accept it in this form.
        raise ConfigurationError(
            "Found an X with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required. Pass a column per feature."
        )
    if not columns.n_rows and not allow_empty:
        raise ConfigurationError(
            f"X has 0 sample(s) (shape=(0, {len(columns.names)})) while a minimum of 1 is required. It is public that there "
            "is at least one record. Pass one or more records."
        )
    if check_types:
        for name, column in zip(columns.names, columns.columns, strict=True):
            _check_type(f"the column {name!r}", column, None if features is None else features[name], ("times",))
    return columns if features is None else _with_all_digits(columns, features)


def _with_all_digits(columns: Columns, features: Mapping[str, Declared]) -> Columns:
    """Let integers that are compared as text be read as objects: a missing cell must not take digits from other records."""
    own = tuple(
        Column(len(column), column.whole, column.holds)
        if column.whole and getattr(features[name], "as_text", False)
        else column
        for name, column in zip(columns.names, columns.columns, strict=True)
    )
    return columns if own == columns.columns else replace(columns, columns=own)


def _check_type(what: str, column: Column, entry: Declared | None, kinds: Sequence[Holds]) -> None:
    if column.holds == "unreadable" or (entry is not None and column.holds in kinds and not entry.takes(column.holds)):
        kind = {"numbers": "numbers", "times": "dates or times"}.get(column.holds, NOT_READ)
        declared = "" if entry is None else f", but the schema declares {entry.in_words()} for it"
        raise SchemaError(
            f"{what} has a type of {kind}{declared}, so no cell could be read. Pass numbers or text as the schema declares them "
            "(a column for each part of a cell, such as the seconds of a duration), declare hr.Date for dates, or leave it out."
        )


def as_native(given: Any, what: str) -> nw.DataFrame[Any] | nw.Series[Any] | None:
    """Return a table or a column of a frame library as narwhals has it; None for arrays, lists and the like."""
    if isinstance(given, np.ndarray | list | tuple | Texts):
        return None
    if isinstance(given, Iterator):
        raise ConfigurationError(
            f"{what} is an iterator, which can be read only once, but records are read several times. Pass list({what})."
        )
    arrow, pandas = get_pyarrow(), get_pandas()
    if arrow is not None and isinstance(given, arrow.Array):
        given = arrow.chunked_array([given])
    elif pandas is not None and isinstance(given, pandas.Index | pandas.api.extensions.ExtensionArray):
        given = pandas.Series(given)
    try:
        found = nw.from_native(given, pass_through=True, allow_series=True)
        if not isinstance(found, nw.DataFrame | nw.Series) and hasattr(given, "__arrow_c_stream__"):
            import pyarrow

            found = nw.from_native(pyarrow.table(given))
    except DuplicateError:
        raise SchemaError(
            f"{what} has two columns of the same name, so either could be meant. Rename or drop one."
        ) from None
    if isinstance(found, nw.DataFrame | nw.Series):
        return found
    if isinstance(found, nw.LazyFrame) or hasattr(given, "columns"):
        raise ConfigurationError(
            f"{what} is a lazy table ({type(given).__name__}), which holds a query and no records, or one of no known library, "
            f"but records are read several times. Pass {what} as a pandas, polars or pyarrow table, as its method collect, "
            "compute, to_pandas, toPandas or df returns it."
        )
    return None


def as_list(values: Any) -> Sequence[Any] | None:
    """Return a sequence that is no array as a list, because numpy would look for one type for all its cells."""
    if isinstance(values, list | tuple):
        return values
    is_array = isinstance(values, str | bytes | bytearray | memoryview | array) or hasattr(values, "__array__")
    return list(values) if isinstance(values, Sequence) and not is_array else None


def _plain(array: Any) -> tuple[Array, Holds]:
    """Return an array with None for masked cells, whatever is under the mask, and what all its cells hold by its type."""
    if isinstance(array, np.ma.MaskedArray):
        cells = as_objects(np.ma.getdata(array).reshape(-1).copy()).reshape(array.shape)
        cells[np.ma.getmaskarray(array)] = None
        return cells, array_holds(array.dtype)
    try:
        cells = np.asarray(array)
    except Exception:
        raise ConfigurationError(
            f"An object of type {type(array).__name__} does not become an array. Pass numpy arrays, lists or a data frame."
        ) from None
    return cells, array_holds(cells.dtype)


def _by_name(found: list[Any], columns: list[Column], names: Sequence[str] | None) -> Columns:
    texts = list(map(str, found))
    check_no_name_twice(texts, "X")
    if len({len(column) for column in columns}) > 1:
        raise ConfigurationError(
            "The columns of X have different lengths, so they do not form records. Pass equal lengths."
        )
    by_name, order = dict(zip(texts, columns, strict=True)), list(names) if names and found else texts
    wanted = set(order)
    refuse("X", [name for name in order if name not in by_name], [name for name in texts if name not in wanted])
    named = all(isinstance(name, str) for name in found)
    return Columns(tuple(order), len(columns[0]) if columns else 0, tuple(by_name[name] for name in order), named=named)


def single(names: Iterable[str]) -> list[str]:
    return [name for name, number in Counter(names).items() if number == 1]


def check_no_name_twice(header: Sequence[str], data: object, names: Iterable[str] | None = None) -> None:
    """Raise SchemaError if a name, of ``names`` or of all, is over several columns.

    Of all, the name is not quoted: in a file without a header it belongs to a record.
    """
    numbers = Counter(header)
    for name in numbers if names is None else names:
        if numbers[name] > 1:
            one, other, *_ = (place for place, known in enumerate(header, start=1) if known == name)
            raise SchemaError(
                f"{data} has {'the same name' if names is None else repr(name)} over its columns {one} and {other}, so either "
                "could be meant. Rename or drop one."
            )


def refuse(data: object, lacking: Sequence[str], others: Sequence[str]) -> None:
    names = list(lacking or others)
    them = it_or_them(names)
    what = f"the column{'s' if len(names) > 1 else ''} {listed(names)}, which"
    if lacking:
        raise SchemaError(
            f"{data} lacks {what} every record needs. Add {them} (empty cells are read as missing), or correct what names "
            f"{them}: the schema or an option."
        )
    if others:
        raise SchemaError(
            f"{data} has {what} the schema does not declare. Drop {them} from {data}, or declare {them} in the schema, whose key "
            "ignore lists columns that are no features. (pandas writes an index unless index=False; --person names a column of "
            "persons; in Python, group= or the schema's person.)"
        )


def _by_place(X: Any, names: Sequence[str] | None) -> Columns:
    """Return a 2-D array as its columns; a list of rows as columns of objects, as by a common type cells would change others."""
    rows, matrix = as_list(X), None
    if rows is None:
        matrix, holds = _plain(X)
        if matrix.ndim != 2:
            raise _not_a_table(f"X has {matrix.ndim} dimension{'' if matrix.ndim == 1 else 's'}")
        n_rows, columns = len(matrix), [array_column(cells, holds) for cells in matrix.T]
        matrix = matrix if holds == "numbers" and matrix.dtype.kind != "O" else None
    else:
        # None stands for a missing row. Beside a row, what is none is a record whose cells are all missing.
        if not any(row is None or issubclass(type(row), list | tuple | np.ndarray) for row in rows):
            raise _not_a_table(
                "X is an empty list, or a list of which no element is a list, a tuple or an array of cells, such as one of dicts"
            )
        cells = [row if type(row) is list or type(row) is tuple else _row(row) for row in rows]  # no row's own ``==``
        width = max(map(len, cells)) if names is None else len(names)
        cells = [row if len(row) == width else [None] * width for row in cells]
        n_rows, columns = len(rows), [array_column(object_array(of, len(rows))) for of in zip(*cells, strict=True)]
    order = [f"x{i}" for i in range(len(columns))] if names is None else names
    if columns and len(order) != len(columns):
        raise SchemaError(
            f"X has {len(columns)} features, but Schema is expecting {len(order)} features as input: columns "
            "without names are matched by position. Pass the columns of schema.names, in that order."
        )
    return Columns(tuple(order) if columns else (), n_rows, tuple(columns), matrix)


def _row(row: Any) -> list[Any]:
    kind = type(row)
    try:
        if issubclass(kind, np.ndarray):  # element by element: tolist would turn some dates into integers
            return list(_plain(row)[0])
        if issubclass(kind, list | tuple):  # by their own methods, because a class derived from them could run code
            return list((list if issubclass(kind, list) else tuple).__iter__(row))
    except Exception:  # noqa: S110 - such as an array without dimensions
        pass
    return []


def _not_a_table(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"{what}, but records are the rows of a table with one column per feature. Reshape your data: pass a frame, as "
        "pandas.DataFrame(X) makes of dicts, X.reshape(-1, 1) if there is one feature, X.reshape(1, -1) or [X] if there is one "
        "record."
    )


def read_labels(y: Any, entry: Declared | None = None) -> Cells:
    """Return the labels as cells, or raise ConfigurationError unless ``y`` is one column."""
    if y is None:
        raise ConfigurationError(
            "This estimator requires y to be passed, but the target y is None. Pass one label per record."
        )
    column = one_column(y)
    if entry is not None:
        _check_type("y", column, entry, ("times", "numbers"))
    return column.read(0, column.length)


def one_column(given: Any, what: str = "y") -> Column:
    if isinstance(given, Texts):
        return array_column(given)
    arrow = get_pyarrow()
    if arrow is not None and isinstance(given, arrow.Array | arrow.ChunkedArray):
        return arrow_column(given)  # narwhals takes longer than reading a batch's cells
    cells = as_list(given)
    if cells is not None:
        return array_column(object_array(cells, len(cells)))
    found = as_native(given, what)
    if isinstance(found, nw.DataFrame) and found.shape[1] == 1:
        found = next(found.iter_columns())
    if isinstance(found, nw.Series):
        return series_column(found)
    plain, holds = _plain(given)
    if found is not None or plain.ndim not in (1, 2) or (plain.ndim == 2 and plain.shape[1] != 1):
        raise ConfigurationError(
            f"{what} has more than one column, or no dimension, but each record has one cell there. Pass one column; {what} "
            "should be a 1d array."
        )
    return array_column(plain.reshape(len(plain)), holds)


def check_same_order(X: Any, other: Any, what: str) -> None:
    """Raise ConfigurationError if pandas objects have one index in different orders, because rows are matched by position.

    If one index has a label that the other lacks, they are not compared: one part may have been given a new index.
    """
    pandas = get_pandas()
    if pandas is None or not all(isinstance(one, pandas.DataFrame | pandas.Series) for one in (X, other)):
        return
    rows, cells = X.index, other.index
    if len(rows) != len(cells) or rows.equals(cells) or not (rows.isin(cells).all() and cells.isin(rows).all()):
        return
    raise ConfigurationError(
        f"{what} has the index of X in another order, but records are matched by position, so cells would go to other records. "
        f"Pass {what}.loc[X.index], or {what}.to_numpy() if the positions are right."
    )


def read_records(X: Any, y: Any, features: Mapping[str, Declared], entry: Declared | None) -> tuple[Columns, Cells]:
    check_same_order(X, y, "y")
    columns, labels = read_columns(X, features, allow_empty=False), read_labels(y, entry)
    if columns.n_rows != len(labels):
        raise ConfigurationError("X and y have different lengths, so labels cannot be matched to records.")
    return columns, labels
