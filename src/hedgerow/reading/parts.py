"""One column, read in pieces from any kind of container. No cell can make the reading of another one fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone, tzinfo
from typing import Any, Literal
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.dependencies import get_pandas, get_polars, get_pyarrow

from hedgerow.arrays import Integers
from hedgerow.reading.cells import (
    MACHINE_NUMBERS,
    NOT_A_TIME,
    Array,
    Cells,
    is_read,
    object_array,
    time_cells,
    typed_objects,
)
from hedgerow.reading.text_cells import Texts

# What all cells of a column hold, by its type. Lists, durations, complex numbers and the like are unreadable, so each of their
# cells is missing. Types of objects, of text and of nulls alone do not tell.
Holds = Literal["anything", "numbers", "times", "unreadable"]

MILLISECONDS_A_DAY = 86_400_000
OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d):?(\d\d)")
FAILED: Any = object()  # in place of cells that could not be read

Read = Callable[[int, int], Cells]


@dataclass(frozen=True, eq=False)
class Part:
    """One column of a table. How its cells are read follows once from its type.

    ``read`` returns the cells from one row up to another: machine numbers (if ``is_machine``), ``Texts`` (if ``is_text``) or
    Python objects, None for values without one. No cell makes it fail or print. ``holds`` is what all cells hold by the type.
    Of integers, ``whole`` reads all digits (with missing cells among them, ``read`` returns 64-bit floats). Of text,
    ``distinct`` reads distinct cells and the position of each cell among these.
    """

    length: int
    read: Read
    is_machine: bool = False
    is_text: bool = False
    holds: Holds = "anything"
    whole: Read | None = None
    distinct: Callable[[int, int], tuple[Cells, Integers]] | None = None

    def __len__(self) -> int:
        return self.length


AnyPart = Cells | Part


def part_holds(part: AnyPart) -> Holds:
    return part.holds if isinstance(part, Part) else array_holds(part.dtype)


def read_through(part: AnyPart, start: int, stop: int, answer: Callable[[Cells], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the result of ``answer`` for each cell. In a column with ``distinct`` cells it reads each distinct cell once."""
    if isinstance(part, Part) and part.distinct is not None:
        distinct, places = part.distinct(start, stop)
        return np.asarray(answer(distinct)[places])
    cells = part.read(start, stop) if isinstance(part, Part) else part[start:stop]
    if isinstance(cells, Texts):
        return cells.through(lambda texts: answer(object_array(texts, len(texts))))
    return answer(cells)


def array_holds(dtype: np.dtype[Any]) -> Holds:
    if not is_read(dtype):
        return "unreadable"
    return "numbers" if dtype.kind in MACHINE_NUMBERS else "times" if dtype.kind == "M" else "anything"


def unread_part(length: int) -> Part:
    """Return a column of a type without a meaning here: every cell is missing."""
    return Part(length, lambda start, stop: np.full(stop - start, None, dtype=object), holds="unreadable")


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
    dtype, count = series.dtype, len(series)

    def objects(start: int, stop: int) -> Cells:
        return _python_objects(series[start:stop])

    def arrays(start: int, stop: int) -> Cells:
        return series[start:stop].to_numpy()

    if isinstance(dtype, nw.Int128 | nw.UInt128 | nw.List | nw.Array | nw.Struct | nw.Duration | nw.Time):
        return unread_part(count)
    if isinstance(dtype, nw.Decimal):  # as Python objects they keep their values
        return Part(count, objects, holds="numbers")
    if dtype.is_numeric() or dtype == nw.Boolean:
        whole = objects if dtype.is_integer() else None
        return Part(count, arrays, is_machine=bool(dtype.is_numeric()), holds="numbers", whole=whole)
    return Part(count, objects)


def _python_objects(series: nw.Series[Any]) -> Cells:
    """Return a series as Python objects; cell by cell if one of the cells cannot become a Python object."""
    cells = _guarded(series.to_list)
    if cells is FAILED:
        blocks = [_guarded(series[i : i + 1].to_list) for i in range(len(series))]
        cells = [None if block is FAILED else block[0] for block in blocks]
    return object_array(cells, len(series))


def _guarded(read: Callable[[], Any]) -> Any:
    """Return the cells, or ``FAILED`` if reading fails. (A panic of compiled code is no ``Exception``.)"""
    try:
        return read()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return FAILED


def _pandas_part(native: Any) -> AnyPart:
    pandas = get_pandas()
    dtype, count = native.dtype, len(native)
    if isinstance(dtype, np.dtype):
        if not is_read(dtype):
            return unread_part(count)
        if dtype.kind in MACHINE_NUMBERS + "OM":
            array: Array = native.to_numpy()
            return _time_part(count, lambda start, stop: array[start:stop]) if dtype.kind == "M" else array
    if isinstance(dtype, pandas.DatetimeTZDtype):
        moments = native.to_numpy(dtype=f"M8[{dtype.unit}]")  # in UTC
        return _time_part(count, lambda start, stop: moments[start:stop], str(dtype.tz))
    if isinstance(dtype, pandas.IntervalDtype | pandas.PeriodDtype):
        return unread_part(count)
    if isinstance(dtype, pandas.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow":
        chunks = chunked(native.array.__arrow_array__())
        if isinstance(dtype, pandas.StringDtype):
            return _arrow_text_part(chunks)
        return _arrow_part(nw.from_native(chunks, series_only=True))
    if isinstance(dtype, pandas.CategoricalDtype):
        return _coded_part(_pandas_part(dtype.categories), native.array.codes)
    return _plain_part(nw.from_native(pandas.Series(native), series_only=True))  # categories are stored as an index


def _coded_part(values: AnyPart, codes: npt.NDArray[Any]) -> Part:
    cells = values.read(0, len(values)) if isinstance(values, Part) else values
    table = np.concatenate([typed_objects(cells), object_array([None], 1)])  # the code -1 finds the last one
    return Part(len(codes), lambda start, stop: table[codes[start:stop]], holds=part_holds(values))


def chunked(array: Any) -> Any:
    pyarrow = get_pyarrow()
    return pyarrow.chunked_array([array]) if isinstance(array, pyarrow.Array) else array


def _arrow_part(series: nw.Series[Any]) -> Part:
    # By pyarrow's own types. Some versions of narwhals do not know all of them, and an unknown type looks nested.
    types, column, count = get_pyarrow().types, series.to_native(), len(series)
    kind = column.type

    def objects(start: int, stop: int) -> Cells:
        return _python_objects(series[start:stop])

    def arrays(start: int, stop: int) -> Cells:
        cells: Cells = column.slice(start, stop - start).to_numpy()
        return cells

    if _is_any(kind, types.is_integer, types.is_floating, types.is_boolean):
        whole = objects if types.is_integer(kind) else None
        return Part(count, arrays, is_machine=not types.is_boolean(kind), holds="numbers", whole=whole)
    if _is_any(kind, types.is_string, types.is_large_string, types.is_string_view):
        return _arrow_text_part(column)
    if types.is_decimal(kind):
        return Part(count, objects, holds="numbers")
    binary = (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary, types.is_null)
    if _is_any(kind, *binary):
        return Part(count, objects)
    if types.is_dictionary(kind):
        coded = _guarded(lambda: _arrow_coded_text(column))
        if isinstance(coded, Part):
            return coded
        # Decoded first, because narwhals loses the nulls of a dictionary array in to_numpy, and to_list takes a second.
        decoded = _guarded(lambda: column.cast(kind.value_type))
        if decoded is not FAILED:
            part = _arrow_part(nw.from_native(decoded, series_only=True))
            # Objects, as above: whether values are more than records must not decide which kernels run.
            return Part(count, lambda start, stop: part.read(start, stop).astype(object)) if part.is_text else part
    return _arrow_times(column) if _is_any(kind, types.is_date, types.is_timestamp) else unread_part(count)


def _is_any(kind: Any, *tests: Callable[[Any], bool]) -> bool:
    return any(test(kind) for test in tests)


def _arrow_text_part(column: Any) -> Part:
    return Part(len(column), lambda start, stop: arrow_texts(column.slice(start, stop - start)), is_text=True)


def _arrow_coded_text(column: Any) -> Part | None:
    """Return dictionary-encoded text by its values; None for other columns and if there are more values than cells."""
    types, kind = get_pyarrow().types, column.type
    if not _is_any(kind.value_type, types.is_string, types.is_large_string):
        return None
    whole = column.combine_chunks()
    if len(whole.dictionary) > len(column):
        return None
    cells = np.append(arrow_texts(chunked(whole.dictionary)).astype(object), object_array([None], 1))
    places: Integers = whole.indices.fill_null(len(cells) - 1).to_numpy(zero_copy_only=False)
    return Part(
        len(column),
        lambda start, stop: cells[places[start:stop]],
        distinct=lambda start, stop: (cells, places[start:stop]),
    )


def arrow_texts(column: Any) -> Texts:
    """Return a chunked array of text as its bytes and offsets; of a cell that is not UTF-8, the cells are its bytes."""
    pyarrow = get_pyarrow()
    block = column.combine_chunks().cast(pyarrow.large_string())  # a cast of a slice may read what is before it
    block = block if isinstance(block, pyarrow.Array) else pyarrow.concat_arrays(block.chunks)
    _, places, text = block.buffers()
    offsets = np.frombuffer(places, dtype=np.int64)[block.offset : block.offset + len(block) + 1]
    data = np.empty(0, dtype=np.uint8) if text is None else np.frombuffer(text, dtype=np.uint8)
    starts = offsets[:-1]
    if block.null_count:
        starts = np.where(block.is_valid().to_numpy(zero_copy_only=False), starts, -1)
    return Texts(data, starts, offsets[1:], _text_or_bytes)


def _text_or_bytes(cell: bytes) -> str | bytes:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return cell


def _arrow_times(column: Any) -> Part:
    pyarrow, kind = get_pyarrow(), column.type
    whole = pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64()
    is_date, in_milliseconds = pyarrow.types.is_date(kind), pyarrow.types.is_date64(kind)
    unit = "D" if is_date else kind.unit

    def times(start: int, stop: int) -> Array:
        block = column.slice(start, stop - start)
        counts: Array = block.cast(whole).fill_null(0).to_numpy().astype(np.int64)
        if in_milliseconds:
            counts //= MILLISECONDS_A_DAY
        counts[block.is_null().to_numpy()] = NOT_A_TIME
        return counts.view(f"M8[{unit}]")

    return _time_part(len(column), times, None if is_date else kind.tz)


def _polars_part(series: nw.Series[Any]) -> Part:
    native, count = series.to_native(), len(series)
    dtype: Any = series.dtype
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return Part(count, lambda start, stop: _polars_texts(native[start:stop]))
    if dtype == nw.Unknown:  # a column of nulls
        return Part(count, lambda start, stop: _python_objects(series[start:stop]))
    if dtype not in (nw.Date, nw.Datetime):
        return _plain_part(series)
    unit, name = ("D", None) if dtype == nw.Date else (dtype.time_unit, dtype.time_zone)

    def times(start: int, stop: int) -> Array:
        block = native[start:stop]
        counts: Array = block.to_physical().fill_null(0).to_numpy().astype(np.int64)
        counts[block.is_null().to_numpy()] = NOT_A_TIME
        return counts.view(f"M8[{unit}]")

    return _time_part(count, times, name)


def _polars_texts(block: Any) -> Cells:
    """Return text as Python objects, as bytes if some is not UTF-8. (Reading that directly makes polars panic and print.)"""
    polars = get_polars()
    raw = (block if block.dtype == polars.String else block.cast(polars.String)).cast(polars.Binary)
    cells = _guarded(lambda: raw.cast(polars.String).to_list())  # this way it is checked
    return object_array(raw.to_list() if cells is FAILED else cells, len(raw))


def _time_part(length: int, times: Callable[[int, int], Array], zone_name: str | None = None) -> Part:
    """Return a column of numpy's dates or moments, to be read as text; if it names a zone, they are in UTC."""
    try:
        zone = _zone(zone_name)
    except Exception:  # the system does not know it
        return unread_part(length)
    return Part(length, lambda start, stop: time_cells(times(start, stop), zone), holds="times")


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    if name in ("UTC", "Z"):
        return UTC
    if offset := OFFSET.fullmatch(name):
        sign, hours, minutes = offset.groups()
        return timezone((-1 if sign == "-" else 1) * timedelta(hours=int(hours), minutes=int(minutes)))
    return ZoneInfo(name)
