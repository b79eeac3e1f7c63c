"""One column, read in pieces from any kind of container. No cell can make the reading of another one fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, timedelta, timezone, tzinfo
from typing import Any, Literal
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.dependencies import get_pandas, get_polars, get_pyarrow

from hedgerow.arrays import Integers
from hedgerow.schema.cells import (
    MACHINE_NUMBERS,
    NOT_A_TIME,
    TIMES,
    UNREADABLE,
    Cells,
    known_zone,
    object_array,
    time_cells,
    typed_objects,
)

# What all cells of a column hold, by its type. Lists, structs, intervals, periods and the like are unreadable. Types of
# objects, of text and of nulls alone do not tell.
Holds = Literal["anything", "numbers", "times", "unreadable"]

# These numbers have no machine type. As Python objects they keep their values.
WIDE_NUMBERS = (nw.Decimal, nw.Int128, nw.UInt128)
ARRAY_KINDS = MACHINE_NUMBERS + "cO"
TIME_TYPES = (nw.Date, nw.Datetime, nw.Duration, nw.Time)
NESTED_TYPES = (nw.List, nw.Array, nw.Struct)
MILLISECONDS_A_DAY = 86_400_000
OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d):?(\d\d)")

Read = Callable[[int, int], Cells]


@dataclass(frozen=True, eq=False)
class Part:
    """One column of a table. How its cells are read follows once from its type.

    Attributes
    ----------
    length
        Number of cells.
    read
        Returns the cells from one row up to another, as machine numbers or as Python objects. No cell makes it fail or
        print. Values without a Python object are ``UNREADABLE``.
    is_machine
        Whether the cells are read as machine numbers.
    holds
        What all cells hold, by the type. Times are dates, moments, durations or times of day, which are no numbers.
    whole
        For integers: reads them with all their digits. (With missing cells among them, ``read`` returns 64-bit floats.)
    distinct
        For text: reads it as distinct cells and the position of each cell among these; None if that fails.
    """

    length: int
    read: Read
    is_machine: bool = False
    holds: Holds = "anything"
    whole: Read | None = None
    distinct: Callable[[int, int], tuple[Cells, Integers] | None] | None = None

    def __len__(self) -> int:
        return self.length


AnyPart = Cells | Part


def read_through(part: AnyPart, start: int, stop: int, answer: Callable[[Cells], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the result of ``answer`` for each cell. In a column with ``distinct`` cells it reads each distinct cell once."""
    if isinstance(part, np.ndarray):
        return answer(part[start:stop])
    found = None if part.distinct is None else part.distinct(start, stop)
    if found is None:
        return answer(part.read(start, stop))
    cells, places = found
    return np.asarray(answer(cells)[places])


def array_holds(dtype: np.dtype[Any]) -> Holds:
    """Return what all cells of a numpy dtype hold."""
    if dtype.kind in MACHINE_NUMBERS + "c":
        return "numbers"
    if dtype.kind in TIMES:
        return "times"
    return "unreadable" if dtype.names is not None else "anything"


def _series_holds(dtype: Any) -> Holds:
    """Return what all cells of a narwhals data type hold."""
    if dtype.is_numeric() or dtype == nw.Boolean:
        return "numbers"
    if dtype in TIME_TYPES:
        return "times"
    return "unreadable" if dtype in NESTED_TYPES else "anything"


def series_part(series: nw.Series[Any]) -> AnyPart:
    """Return a series for reading. A pandas column that is stored as a numpy array is returned as that array."""
    if series.implementation.is_pandas():
        return _pandas_part(series.to_native())
    if series.implementation.is_pyarrow():
        return _arrow_part(series)
    if series.implementation.is_polars():
        return _polars_part(series)
    return _plain_part(series)


def _plain_part(series: nw.Series[Any]) -> Part:
    """Return a series of numbers, truth values or objects, which narwhals can read."""
    dtype = series.dtype
    holds = _series_holds(dtype)
    is_machine = bool(dtype.is_numeric()) and not isinstance(dtype, WIDE_NUMBERS)

    def objects(start: int, stop: int) -> Cells:
        return _python_objects(series[start:stop])

    if is_machine or dtype == nw.Boolean:
        whole = objects if dtype.is_integer() else None
        return Part(
            len(series),
            lambda start, stop: series[start:stop].to_numpy(),
            is_machine=is_machine,
            holds=holds,
            whole=whole,
        )
    return Part(len(series), objects, holds=holds)


def _python_objects(series: nw.Series[Any]) -> Cells:
    """Return a series as Python objects; cell by cell if one of the cells cannot become a Python object."""
    cells = _guarded(series.to_list)
    if cells is UNREADABLE:
        blocks = [_guarded(series[i : i + 1].to_list) for i in range(len(series))]
        cells = [UNREADABLE if block is UNREADABLE else block[0] for block in blocks]
    return object_array(cells, len(series))


def _guarded(read: Callable[[], Any]) -> Any:
    """Return the cells, or ``UNREADABLE`` if reading fails. (A panic of compiled code is no ``Exception``.)"""
    try:
        return read()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return UNREADABLE


def _opaque_part(length: int, absent: Callable[[int, int], npt.NDArray[np.bool_]], holds: Holds = "anything") -> Part:
    """Return a column of a type without a meaning here. Its cells are present or missing, and their contents are not read."""

    def read(start: int, stop: int) -> Cells:
        cells = np.full(stop - start, UNREADABLE, dtype=object)
        cells[absent(start, stop)] = None
        return cells

    return Part(length, read, holds=holds)


def _pandas_part(native: Any) -> AnyPart:
    pandas = get_pandas()
    dtype, count = native.dtype, len(native)
    if isinstance(dtype, np.dtype) and dtype.kind in ARRAY_KINDS + TIMES:
        array: Cells = native.to_numpy()
        return _time_part(count, lambda start, stop: array[start:stop]) if dtype.kind in TIMES else array
    if isinstance(dtype, pandas.DatetimeTZDtype):
        moments = native.to_numpy(dtype=f"M8[{dtype.unit}]")  # in UTC
        zone = _guarded(lambda: known_zone(dtype.tz))  # as for the same moment in a column of objects
        if zone is UNREADABLE:
            return _opaque_part(count, lambda start, stop: np.isnat(moments[start:stop]), "times")
        return _time_part(count, lambda start, stop: moments[start:stop], zone)
    if isinstance(dtype, pandas.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow":
        chunks = chunked(native.array.__arrow_array__())
        if isinstance(dtype, pandas.StringDtype):
            return _arrow_text_part(chunks)
        return _arrow_part(nw.from_native(chunks, series_only=True))
    if isinstance(dtype, pandas.CategoricalDtype):
        return _coded_part(_pandas_part(dtype.categories), native.array.codes)
    part = _plain_part(nw.from_native(pandas.Series(native), series_only=True))  # categories are stored as an index
    return replace(part, holds="unreadable") if isinstance(dtype, pandas.IntervalDtype | pandas.PeriodDtype) else part


def _coded_part(values: AnyPart, codes: npt.NDArray[Any]) -> Part:
    """Return a pandas column of categories. Its values are read by their own type."""
    cells = values if isinstance(values, np.ndarray) else values.read(0, len(values))
    table = np.concatenate([typed_objects(cells), object_array([None], 1)])  # the code -1 finds the last one
    holds = array_holds(values.dtype) if isinstance(values, np.ndarray) else values.holds
    return Part(len(codes), lambda start, stop: table[codes[start:stop]], holds=holds)


def chunked(array: Any) -> Any:
    """Return a pyarrow array in chunks, which narwhals knows."""
    pyarrow = get_pyarrow()
    return pyarrow.chunked_array([array]) if isinstance(array, pyarrow.Array) else array


def _arrow_part(series: nw.Series[Any]) -> Part:
    # By pyarrow's own types. Some versions of narwhals do not know all of them, and an unknown type looks nested.
    types, column, count = get_pyarrow().types, series.to_native(), len(series)
    kind = column.type

    def objects(start: int, stop: int) -> Cells:
        return _python_objects(series[start:stop])

    if _is_any(kind, types.is_integer, types.is_floating, types.is_boolean):
        is_machine = not types.is_boolean(kind)
        return Part(
            count,
            lambda start, stop: column.slice(start, stop - start).to_numpy(),
            is_machine=is_machine,
            holds="numbers",
            whole=objects if types.is_integer(kind) else None,
        )
    if _is_any(kind, types.is_string, types.is_large_string, types.is_string_view):
        return _arrow_text_part(column)
    binary = (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)
    if _is_any(kind, types.is_decimal, *binary):
        holds: Holds = "numbers" if types.is_decimal(kind) else "anything"
        return Part(count, objects, holds=holds)
    if _is_any(kind, types.is_dictionary, types.is_run_end_encoded):
        coded = _guarded(lambda: _arrow_coded_text(column))
        if isinstance(coded, Part):
            return coded
        # Decoded first, because narwhals loses the nulls of a dictionary array in to_numpy, and to_list takes a second.
        decoded = _guarded(lambda: _decoded(column))
        if decoded is not UNREADABLE:
            return _arrow_part(nw.from_native(decoded, series_only=True))

    def absent(start: int, stop: int) -> npt.NDArray[np.bool_]:
        result: npt.NDArray[np.bool_] = column.slice(start, stop - start).is_null().to_numpy()
        return result

    if types.is_temporal(kind) and not types.is_interval(kind):
        return _arrow_times(column, absent)
    return _opaque_part(count, absent, "anything" if types.is_null(kind) else "unreadable")


def _decoded(column: Any) -> Any:
    """Return a pyarrow column that is dictionary-encoded or run-length encoded as a column of its values."""
    pyarrow, kind = get_pyarrow(), column.type
    if pyarrow.types.is_dictionary(kind):
        return column.cast(kind.value_type)
    return pyarrow.compute.run_end_decode(column)  # narwhals has imported it


def _is_any(kind: Any, *tests: Callable[[Any], bool]) -> bool:
    return any(test(kind) for test in tests)


def _arrow_text_part(column: Any) -> Part:
    def distinct(start: int, stop: int) -> tuple[Cells, Integers] | None:
        block = column.slice(start, stop - start)
        found = _guarded(lambda: _distinct_texts(block.combine_chunks().dictionary_encode()))
        return None if found is UNREADABLE else found

    return Part(len(column), lambda start, stop: _arrow_texts(column.slice(start, stop - start)), distinct=distinct)


def _arrow_coded_text(column: Any) -> Part | None:
    """Return dictionary-encoded text by its values; None for other columns and if there are more values than cells."""
    types, kind = get_pyarrow().types, column.type
    if not types.is_dictionary(kind) or not _is_any(kind.value_type, types.is_string, types.is_large_string):
        return None
    whole = column.combine_chunks()
    if len(whole.dictionary) > len(column):
        return None
    cells, places = _distinct_texts(whole)
    return Part(
        len(column),
        lambda start, stop: cells[places[start:stop]],
        distinct=lambda start, stop: (cells, places[start:stop]),
    )


def _distinct_texts(coded: Any) -> tuple[Cells, Integers]:
    """Return the texts of a dictionary array, followed by a missing one, and the position of each cell among them."""
    cells = np.append(_arrow_texts(chunked(coded.dictionary)), object_array([None], 1))
    places: Integers = coded.indices.fill_null(len(cells) - 1).to_numpy(zero_copy_only=False)
    return cells, places


def _arrow_texts(block: Any) -> Cells:
    """Return text as Python objects. If some of it is not UTF-8, return bytes, which are read as their text."""
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
        return _opaque_part(len(column), absent, "times")
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
    if dtype not in TIME_TYPES or (name is not None and zone is None):
        return _opaque_part(count, absent, _series_holds(dtype))
    unit = "D" if dtype == nw.Date else getattr(dtype, "time_unit", "ns")
    kind = f"{'M8' if dtype in (nw.Date, nw.Datetime) else 'm8'}[{unit}]"

    def times(start: int, stop: int) -> Cells:
        counts: Cells = native[start:stop].to_physical().fill_null(0).to_numpy().astype(np.int64)
        counts[absent(start, stop)] = NOT_A_TIME
        return counts.view(kind)

    return _time_part(count, times, zone, of_day=dtype == nw.Time)


def _polars_texts(block: Any) -> Cells:
    """Return text as Python objects, as bytes if some is not UTF-8. (Reading that directly makes polars panic and print.)"""
    polars = get_polars()
    raw = (block if block.dtype == polars.String else block.cast(polars.String)).cast(polars.Binary)
    cells = _guarded(lambda: raw.cast(polars.String).to_list())  # this way it is checked
    return object_array(raw.to_list() if cells is UNREADABLE else cells, len(raw))


def _time_part(length: int, times: Read, zone: tzinfo | None = None, *, of_day: bool = False) -> Part:
    """Return a column of numpy's dates, moments or durations, to be read as text (see ``cells``)."""
    return Part(length, lambda start, stop: time_cells(times(start, stop), zone, of_day=of_day), holds="times")


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
