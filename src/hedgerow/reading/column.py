"""One column of a table of any kind, read in pieces. No cell can make the reading of another one fail."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Literal
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.dependencies import get_pandas

from hedgerow.reading.cells import (
    MACHINE_NUMBERS,
    NOT_A_TIME,
    Array,
    Cells,
    as_objects,
    is_read,
    object_array,
    time_cells,
)
from hedgerow.reading.text_cells import CodedTexts, Texts

# What all cells of a column hold, by its type. Lists, durations, complex numbers and the like are unreadable, so each of their
# cells is missing. Types of objects, of text and of nulls alone do not tell.
Holds = Literal["anything", "numbers", "times", "unreadable"]
Read = Callable[[int, int], Cells]

MILLISECONDS_A_DAY = 86_400_000
LONGEST_IN_VIEW = 12  # bytes


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
    holds = array_holds(cells.dtype) if holds is None else holds
    if holds == "unreadable":
        return unread(len(cells))
    return Column(len(cells), _slices(cells), holds)


def array_holds(dtype: np.dtype[Any]) -> Holds:
    if not is_read(dtype):
        return "unreadable"
    return "numbers" if dtype.kind in MACHINE_NUMBERS else "times" if dtype.kind == "M" else "anything"


def unread(length: int) -> Column:
    return Column(length, lambda start, stop: np.full(stop - start, None, dtype=object), "unreadable")


def _slices(cells: Cells) -> Read:
    return lambda start, stop: cells[start:stop]


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
    dtype, count = native.dtype, len(native)
    if isinstance(dtype, np.dtype):
        cells = native.to_numpy()
        return _time_column(count, _slices(cells)) if dtype.kind == "M" else array_column(cells)
    if isinstance(dtype, pandas.DatetimeTZDtype):  # as an array they are in UTC
        return _time_column(count, _slices(native.to_numpy(dtype=f"M8[{dtype.unit}]")), str(dtype.tz))
    if isinstance(dtype, pandas.CategoricalDtype):
        return _coded_column(_pandas_column(dtype.categories), native.array.codes)
    import pyarrow

    try:
        return arrow_column(pyarrow.array(native, from_pandas=True))
    except Exception:  # such as Python's text with half of a surrogate pair
        return array_column(native.to_numpy(dtype=object))


def _coded_column(values: Column, codes: npt.NDArray[Any]) -> Column:
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
        cells: Array = numbers.slice(start, stop - start).to_numpy(zero_copy_only=False)
        return cells

    if is_any("integer", "floating", "boolean"):
        return Column(count, arrays, "numbers", objects if types.is_integer(kind) else None)
    if is_any("string", "large_string", "string_view"):
        return Column(count, lambda start, stop: arrow_texts(block(start, stop)))
    if is_any("binary", "large_binary", "binary_view", "fixed_size_binary", "null"):
        return Column(count, objects)
    if types.is_decimal(kind):  # as Python objects they keep their values
        return Column(count, objects, "numbers")
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

    def times(start: int, stop: int) -> Array:
        cells = block(start, stop)
        counts = cells.cast(pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64()).fill_null(0).to_numpy()
        counts = counts // MILLISECONDS_A_DAY if types.is_date64(kind) else counts
        counts = counts.astype(np.int64)
        counts[cells.is_null().to_numpy()] = NOT_A_TIME
        dates: Array = counts.view(f"M8[{unit}]")
        return dates

    return _time_column(count, times, zone)


def arrow_texts(column: Any) -> Texts:
    import pyarrow

    block = column if isinstance(column, pyarrow.Array) else column.combine_chunks()
    block = block if isinstance(block, pyarrow.Array) else pyarrow.concat_arrays(block.chunks)
    absent = block.is_null().to_numpy(zero_copy_only=False) if block.null_count else None
    first, last = block.offset, block.offset + len(block)
    if pyarrow.types.is_string_view(block.type):  # 16 bytes for each cell: its length, and its text if that fits
        views = block.buffers()[1] or b""
        lengths = np.frombuffer(views, dtype=np.int32)[4 * first : 4 * last : 4]
        lengths = lengths if absent is None else np.where(absent, 0, lengths)
        if lengths.max(initial=0) <= LONGEST_IN_VIEW:
            begins = np.arange(16 * first + 4, 16 * last + 4, 16)
            return _texts(views, begins, begins + lengths, absent)
    if block.type not in (pyarrow.string(), pyarrow.large_string()):  # a cast of a slice may read what is before it
        block = block.cast(pyarrow.large_string())
        first, last = block.offset, block.offset + len(block)
    _, places, text = block.buffers()
    wide = np.int32 if block.type == pyarrow.string() else np.int64
    offsets = np.frombuffer(places or b"\0" * 8, dtype=wide)[first : last + 1]
    return _texts(text or b"", offsets[:-1], offsets[1:], absent)


def _texts(data: Any, starts: Array, stops: Array, absent: Array | None) -> Texts:
    starts = starts if absent is None else np.where(absent, -1, starts)
    return Texts(np.frombuffer(data, dtype=np.uint8), starts, stops)


def _time_column(length: int, times: Callable[[int, int], Any], zone_name: str | None = None) -> Column:
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
