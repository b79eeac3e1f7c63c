"""One view of records as named columns, whatever table they come in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.dependencies import get_pandas, get_polars, get_pyarrow
from narwhals.exceptions import DuplicateError

from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.schema.cells import (
    MACHINE_NUMBERS,
    NOT_A_TIME,
    TIMES,
    UNREADABLE,
    ZONES,
    Cells,
    numbers,
    object_array,
    time_cells,
)

__all__ = ["Columns", "read_columns", "read_labels"]

# These numbers have no machine type; as Python objects they keep their values.
WIDE_NUMBERS = (nw.Decimal, nw.Int128, nw.UInt128)
POLARS_TIMES = (nw.Date, nw.Datetime, nw.Duration, nw.Time)
ARRAY_KINDS = MACHINE_NUMBERS + "cO"
MILLISECONDS_A_DAY = 86_400_000
OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d):?(\d\d)")

Read = Callable[[int, int], Cells]


@dataclass(frozen=True, eq=False)
class Part:
    """One column of a table; how its cells are read is settled once, from its type.

    Attributes
    ----------
    length
        Number of cells.
    read
        Returns the cells from one row up to another, as machine numbers or as Python objects. No cell makes it fail or
        print: values that have no Python object are ``UNREADABLE``.
    is_machine
        Whether the cells come as machine numbers.
    is_time
        Whether the type is one of dates, moments, durations or times of day, which are no numbers.
    """

    length: int
    read: Read
    is_machine: bool = False
    is_time: bool = False

    def __len__(self) -> int:
        return self.length


AnyPart = Cells | Part


def _series_part(series: nw.Series[Any]) -> AnyPart:
    """Return a series for reading; a pandas column that is a numpy array inside, as that array."""
    if series.implementation.is_pandas():
        return _pandas_part(series.to_native())
    if series.implementation.is_pyarrow():
        return _arrow_part(series.to_native())
    if series.implementation.is_polars():
        return _polars_part(series)
    return _plain_part(series)


def _plain_part(series: nw.Series[Any]) -> Part:
    """Return a series of numbers, truth values or objects, which narwhals can read."""
    dtype = series.dtype
    is_machine = bool(dtype.is_numeric()) and not isinstance(dtype, WIDE_NUMBERS)
    if is_machine or dtype == nw.Boolean:
        return Part(len(series), lambda start, stop: series[start:stop].to_numpy(), is_machine=is_machine)
    return Part(len(series), lambda start, stop: _python_objects(series[start:stop]))


def _python_objects(series: nw.Series[Any]) -> Cells:
    """Return a series as Python objects, cell by cell if one of them cannot become one."""
    cells = _guarded(series.to_list)
    if cells is UNREADABLE:
        blocks = [_guarded(series[i : i + 1].to_list) for i in range(len(series))]
        cells = [UNREADABLE if block is UNREADABLE else block[0] for block in blocks]
    return object_array(cells, len(series))


def _guarded(read: Callable[[], Any]) -> Any:
    """Return what was read, or ``UNREADABLE`` where that fails; a panic of compiled code is no ``Exception``."""
    try:
        return read()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return UNREADABLE


def _opaque_part(length: int, absent: Callable[[int, int], npt.NDArray[np.bool_]]) -> Part:
    """Return a column of a type that means nothing here: its cells are there or not, and are not looked at."""

    def read(start: int, stop: int) -> Cells:
        cells = np.full(stop - start, UNREADABLE, dtype=object)
        cells[absent(start, stop)] = None
        return cells

    return Part(length, read)


def _pandas_part(native: Any) -> AnyPart:
    pandas = get_pandas()
    dtype, count = native.dtype, len(native)
    if isinstance(dtype, np.dtype) and dtype.kind in ARRAY_KINDS + TIMES:
        array: Cells = native.to_numpy()
        return _time_part(count, lambda start, stop: array[start:stop]) if dtype.kind in TIMES else array
    if isinstance(dtype, pandas.DatetimeTZDtype):
        moments = native.to_numpy(dtype=f"M8[{dtype.unit}]")  # in UTC
        zone = dtype.tz if id(type(dtype.tz)) in ZONES else _zone(str(dtype.tz))
        if zone is None:
            return _opaque_part(count, lambda start, stop: np.isnat(moments[start:stop]))
        return _time_part(count, lambda start, stop: moments[start:stop], zone)
    if isinstance(dtype, pandas.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow":
        return _arrow_part(_chunked(native.array.__arrow_array__()))
    if isinstance(dtype, pandas.CategoricalDtype):
        return _coded_part(_pandas_part(dtype.categories), native.array.codes)
    return _plain_part(nw.from_native(pandas.Series(native), series_only=True))  # categories come as an index


def _coded_part(values: AnyPart, codes: npt.NDArray[Any]) -> Part:
    """Return a pandas column of categories, whose values are read by their own type."""
    cells = values if isinstance(values, np.ndarray) else values.read(0, len(values))
    table = np.concatenate([cells.astype(object), object_array([None], 1)])  # the code -1 finds the last one
    return Part(len(codes), lambda start, stop: table[codes[start:stop]])


def _chunked(array: Any) -> Any:
    """Return a pyarrow array in chunks, which narwhals knows."""
    pyarrow = get_pyarrow()
    return pyarrow.chunked_array([array]) if isinstance(array, pyarrow.Array) else array


def _arrow_part(column: Any) -> Part:
    series: nw.Series[Any] = nw.from_native(column, series_only=True)
    if series.dtype.is_numeric() or series.dtype in (nw.Boolean, nw.Binary):
        return _plain_part(series)
    types, count = get_pyarrow().types, len(column)
    if series.dtype == nw.String:
        return Part(count, lambda start, stop: _arrow_texts(column.slice(start, stop - start)))
    if types.is_dictionary(column.type):
        # Decoded first: narwhals loses the nulls of a dictionary array in to_numpy, and to_list takes a second.
        decoded = _guarded(lambda: column.cast(column.type.value_type))
        if decoded is not UNREADABLE:
            return _arrow_part(decoded)

    def absent(start: int, stop: int) -> npt.NDArray[np.bool_]:
        result: npt.NDArray[np.bool_] = column.slice(start, stop - start).is_null().to_numpy()
        return result

    if types.is_temporal(column.type) and not types.is_interval(column.type):
        return _arrow_times(column, absent)
    return _opaque_part(count, absent)


def _arrow_texts(block: Any) -> Cells:
    """Return text as Python objects, as bytes if some of it is not UTF-8: bytes are read as the text they hold."""
    pyarrow = get_pyarrow()
    cells = _guarded(block.to_numpy)
    if cells is not UNREADABLE:
        return np.asarray(cells, dtype=object)
    views = pyarrow.types.is_string_view(block.type)
    return object_array(block.cast(pyarrow.binary_view() if views else pyarrow.large_binary()).to_pylist(), len(block))


def _arrow_times(column: Any, absent: Callable[[int, int], npt.NDArray[np.bool_]]) -> Part:
    pyarrow, kind = get_pyarrow(), column.type
    types = pyarrow.types
    name = kind.tz if types.is_timestamp(kind) else None
    zone = _zone(name)
    if name is not None and zone is None:
        return _opaque_part(len(column), absent)
    whole = pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64()
    unit = "D" if types.is_date(kind) else kind.unit
    dtype = f"{'M8' if types.is_date(kind) or types.is_timestamp(kind) else 'm8'}[{unit}]"

    def times(start: int, stop: int) -> Cells:
        block = column.slice(start, stop - start).cast(whole)
        counts: Cells = block.fill_null(0).to_numpy().astype(np.int64)
        if types.is_date64(kind):
            counts //= MILLISECONDS_A_DAY
        counts[absent(start, stop)] = NOT_A_TIME
        return counts.view(dtype)

    return _time_part(len(column), times, zone, of_day=types.is_time(kind))


def _polars_part(series: nw.Series[Any]) -> Part:
    native, dtype, count = series.to_native(), series.dtype, len(series)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return Part(count, lambda start, stop: _polars_texts(native[start:stop]))
    if dtype.is_numeric() or dtype in (nw.Boolean, nw.Binary, nw.Object):
        return _plain_part(series)

    def absent(start: int, stop: int) -> npt.NDArray[np.bool_]:
        result: npt.NDArray[np.bool_] = native[start:stop].is_null().to_numpy()
        return result

    name = dtype.time_zone if isinstance(dtype, nw.Datetime) else None
    zone = _zone(name)
    if dtype not in POLARS_TIMES or (name is not None and zone is None):
        return _opaque_part(count, absent)
    unit = "D" if dtype == nw.Date else getattr(dtype, "time_unit", "ns")
    kind = f"{'M8' if dtype in (nw.Date, nw.Datetime) else 'm8'}[{unit}]"

    def times(start: int, stop: int) -> Cells:
        counts: Cells = native[start:stop].to_physical().fill_null(0).to_numpy().astype(np.int64)
        counts[absent(start, stop)] = NOT_A_TIME
        return counts.view(kind)

    return _time_part(count, times, zone, of_day=dtype == nw.Time)


def _polars_texts(block: Any) -> Cells:
    """Return text as Python objects, as bytes if some is not UTF-8: reading that directly makes polars panic and print."""
    polars = get_polars()
    raw = (block if block.dtype == polars.String else block.cast(polars.String)).cast(polars.Binary)
    cells = _guarded(lambda: raw.cast(polars.String).to_list())  # this way it is checked
    return object_array(raw.to_list() if cells is UNREADABLE else cells, len(raw))


def _time_part(length: int, times: Read, zone: tzinfo | None = None, *, of_day: bool = False) -> Part:
    """Return a column of numpy's dates, moments or durations, to be read as text (see ``cells``)."""
    return Part(length, lambda start, stop: time_cells(times(start, stop), zone, of_day=of_day), is_time=True)


def _zone(name: str | None) -> tzinfo | None:
    """Return the time zone of a type, None if the system does not know it."""
    if name is None:
        return None
    if name in ("UTC", "Z"):
        return UTC
    if offset := OFFSET.fullmatch(name):
        sign, hours, minutes = offset.groups()
        return timezone((-1 if sign == "-" else 1) * timedelta(hours=int(hours), minutes=int(minutes)))
    try:
        return ZoneInfo(name)
    except Exception:
        return None


class Columns:
    """Records as columns in the order of ``names``; nothing is copied before a block of cells is asked for.

    Either ``matrix`` holds all cells (a 2-D array), or ``parts`` holds one series or 1-D array per column. ``named`` says
    whether the table itself had a name for each column, all of them text.
    """

    def __init__(
        self,
        names: Sequence[str],
        n_rows: int,
        *,
        matrix: Cells | None = None,
        parts: Sequence[AnyPart] = (),
        named: bool = False,
    ) -> None:
        self.names = tuple(names)
        self.named = named
        self.n_rows = n_rows
        self.matrix = matrix
        self.parts = tuple(parts)

    def cells(self, column: int, start: int = 0, stop: int | None = None) -> Cells:
        """Return the cells of one column from row ``start`` up to ``stop``."""
        stop = self.n_rows if stop is None else stop
        if self.matrix is not None:
            return self.matrix[start:stop, column]
        part = self.parts[column]
        return part[start:stop] if isinstance(part, np.ndarray) else part.read(start, stop)

    def numbers(self, column: int, start: int, stop: int) -> npt.NDArray[np.float64]:
        """Return the cells of one column as float64."""
        part = None if self.matrix is not None else self.parts[column]
        if isinstance(part, Part) and part.is_time:
            return np.full(stop - start, np.nan)
        return numbers(self.cells(column, start, stop))

    def holds_machine_numbers(self, column: int) -> bool:
        """Return whether a column's cells come as machine numbers, which threads can read side by side."""
        part = self.parts[column] if self.matrix is None else self.matrix
        return part.dtype.kind in MACHINE_NUMBERS if isinstance(part, np.ndarray) else part.is_machine


def read_columns(X: Any, names: Sequence[str] | None = None, *, allow_empty: bool = True) -> Columns:
    """Return ``X`` as columns in the order of ``names``.

    Parameters
    ----------
    X
        A pandas, polars or pyarrow table or a mapping of columns (matched by name, in any order), or a 2-D array or a
        list of rows (matched by position). With names given, a row that is not a list, tuple or 1-D array with one cell
        per name is read as a record whose cells are all missing: whether it is, is that record's affair.
    names
        The columns that the schema declares; None accepts any.
    allow_empty
        Whether there may be no rows.

    Raises
    ------
    SchemaError
        When columns are absent, undeclared or named twice.
    ConfigurationError
        When ``X`` is no table, or has no rows where it needs some.
    """
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise ConfigurationError("X is a sparse matrix, but every cell of a record is encoded. Pass X.toarray().")
    if isinstance(X, Mapping):
        columns = _from_mapping(X, names)
    elif (frame := _as_frame(X)) is not None:
        columns = _from_frame(frame, names)
    else:
        columns = _from_rows(X, names)
    if not columns.n_rows and not allow_empty:
        raise ConfigurationError(
            f"X has 0 sample(s) (shape=(0, {len(columns.names)})) while a minimum of 1 is required: that there is a "
            "record is public, so it must be true. Pass at least one record."
        )
    return columns


def _as_frame(X: Any) -> nw.DataFrame[Any] | None:
    if isinstance(X, np.ndarray | list | tuple):
        return None
    pyarrow = get_pyarrow()
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.table(X)
    try:
        frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
    except DuplicateError:
        raise _named_twice() from None
    except TypeError:
        if hasattr(X, "collect") and hasattr(X, "lazy"):
            raise ConfigurationError(
                "X is a lazy frame, but records are read more than once. Pass X.collect()."
            ) from None
        return None
    return frame


def _from_frame(frame: nw.DataFrame[Any], names: Sequence[str] | None) -> Columns:
    series = list(frame.iter_columns())
    named = all(isinstance(one.name, str) for one in series)
    order, series = _in_order([str(one.name) for one in series], series, names)
    return Columns(order, len(frame), parts=[_series_part(one) for one in series], named=named)


def _from_mapping(X: Mapping[Any, Any], names: Sequence[str] | None) -> Columns:
    parts = [_as_part(column) for column in X.values()]
    lengths = {len(part) for part in parts}
    if len(lengths) > 1:
        raise ConfigurationError(
            "The columns of X have different lengths, so they do not form records. Pass equal lengths."
        )
    order, parts = _in_order([str(name) for name in X], parts, names)
    return Columns(order, max(lengths, default=0), parts=parts, named=all(isinstance(name, str) for name in X))


def _as_part(column: Any) -> AnyPart:
    """Return one column as a series or a 1-D array."""
    if isinstance(column, list | tuple):
        return object_array(column, len(column))
    series = _as_series(column)
    if series is not None:
        return _series_part(series)
    cells = _plain(column)
    if cells.ndim != 1:
        raise ConfigurationError(
            f"A column of X has {cells.ndim} dimensions, but it holds one cell per record. Reshape your data."
        )
    return cells


def _as_series(column: Any) -> nw.Series[Any] | None:
    if isinstance(column, np.ndarray):
        return None
    pyarrow, pandas = get_pyarrow(), get_pandas()
    if pyarrow is not None and isinstance(column, pyarrow.Array):
        column = _chunked(column)
    elif pandas is not None and isinstance(column, pandas.Index | pandas.api.extensions.ExtensionArray):
        column = pandas.Series(column)
    try:
        series: nw.Series[Any] = nw.from_native(column, series_only=True)
    except TypeError:
        return None
    return series


def _plain(array: Any) -> Cells:
    """Return an array whose masked cells are None, whatever lies beneath the mask."""
    if isinstance(array, np.ma.MaskedArray):
        cells: Cells = np.ma.getdata(array).astype(object)
        cells[np.ma.getmaskarray(array)] = None
        return cells
    try:
        return np.asarray(array)
    except Exception:
        raise ConfigurationError(
            f"An object of type {type(array).__name__} does not become an array. Pass numpy arrays, lists or a data frame."
        ) from None


def _in_order(found: list[str], parts: list[Any], names: Sequence[str] | None) -> tuple[list[str], list[Any]]:
    """Return the columns in the schema's order, after checking that they are the schema's."""
    by_name = dict(zip(found, parts, strict=True))
    if len(by_name) < len(found):
        raise _named_twice()
    if not found:
        raise _no_features()
    if names is None:
        return found, parts
    absent = [name for name in names if name not in by_name]
    if absent:
        raise SchemaError(
            f"X lacks {_listed(absent)} of the schema, but a record is encoded from every declared feature. "
            "Add what is lacking (empty cells are read as missing), or declare a schema without it."
        )
    if len(found) > len(names):
        extra = [name for name in found if name not in set(names)]
        raise SchemaError(
            f"X has {_listed(extra)}, which the schema does not declare, so nothing public is known about it. "
            "Drop it, as with X[list(schema.names)], or declare it."
        )
    return list(names), [by_name[name] for name in names]


def _named_twice() -> SchemaError:
    return SchemaError(
        "Two columns of X have the same name (as text), so it is open which one the schema means. Rename or drop one."
    )


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    return f"the column{'s' if len(names) > 1 else ''} {shown}"


def _no_features() -> ConfigurationError:
    # Shapes are checked before any schema is used. The sentence is scikit-learn's; its checks accept it without the
    # number of rows, which is not public.
    return ConfigurationError(
        "Found an X with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required. Pass a column per feature."
    )


def _from_rows(X: Any, names: Sequence[str] | None) -> Columns:
    columns = _from_lists(X, names) if isinstance(X, list | tuple) else _from_array(_plain(X))
    if not columns.names:
        raise _no_features()
    if names is None:
        return columns
    if len(names) != len(columns.names):
        raise SchemaError(
            f"X has {len(columns.names)} features, but Schema is expecting {len(names)} features as input: columns "
            "without names are matched by position. Pass the columns of schema.names, in that order."
        )
    columns.names = tuple(names)
    return columns


def _from_array(X: Cells) -> Columns:
    if X.ndim != 2:
        raise _not_a_table(f"X has {X.ndim} dimension{'' if X.ndim == 1 else 's'}")
    return Columns([f"x{i}" for i in range(X.shape[1])], X.shape[0], matrix=X)


def _from_lists(rows: Sequence[Any], names: Sequence[str] | None) -> Columns:
    """Return a list of rows as columns of objects: no common dtype is sought, so no cell changes another."""
    if not rows:
        raise _not_a_table("X is an empty list")
    width = _common_width(rows) if names is None else len(names)
    rows = [
        row if (type(row) is list or type(row) is tuple) and len(row) == width else _row(row, width) for row in rows
    ]
    parts = [object_array(column, len(rows)) for column in zip(*rows, strict=True)]
    return Columns([f"x{i}" for i in range(width)], len(rows), parts=parts)


def _common_width(rows: Sequence[Any]) -> int:
    """Return how many cells each row has, where no schema says it."""
    if not all(isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim) for row in rows):
        raise _not_a_table("X is a list of cells or of rows of an unknown type")
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise ConfigurationError(
            "The rows of X have different lengths, but each record has one cell per feature. "
            "Fill what is missing with None."
        )
    return widths.pop()


def _row(row: Any, width: int) -> list[Any]:
    """Return the cells of a row, all missing if it is no list, tuple or array with so many cells."""
    kind, cells = type(row), []
    try:
        if issubclass(kind, np.ndarray):  # element by element: tolist would turn some dates into integers
            cells = list(_plain(row))
        elif issubclass(kind, list):  # by list's own means: a class derived from it could run code
            cells = list(list.__iter__(row))
        elif issubclass(kind, tuple):
            cells = list(tuple.__iter__(row))
    except Exception:
        cells = []
    return cells if len(cells) == width else [None] * width


def _not_a_table(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"{what}, but records are the rows of a table with one column per feature. Reshape your data: with "
        "X.reshape(-1, 1) if there is one feature, with X.reshape(1, -1) if there is one record."
    )


def read_labels(y: Any) -> Cells:
    """Return the labels as a 1-D array of cells.

    Raises
    ------
    ConfigurationError
        When ``y`` is absent or has more than one column.
    """
    if y is None:
        raise ConfigurationError(
            "A classifier requires y to be passed, but the target y is None. Pass one label per record."
        )
    if isinstance(y, list | tuple):
        return object_array(y, len(y))
    series = _as_series(y)
    frame = _as_frame(y) if series is None else None
    if frame is not None and frame.shape[1] == 1:
        series = next(frame.iter_columns())
    if series is not None:
        return Columns(["y"], len(series), parts=[_series_part(series)]).cells(0)
    cells = _plain(y)
    if cells.ndim == 2 and cells.shape[1] == 1:
        return cells[:, 0]
    if frame is not None or cells.ndim != 1:
        raise ConfigurationError(
            "y has more than one column, or no dimension, but each record has one label. Pass one column of labels; y "
            "should be a 1d array."
        )
    return cells
