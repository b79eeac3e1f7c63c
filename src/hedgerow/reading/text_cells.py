"""A column of text as bytes and places, which kernels read without a Python object for each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.reading.kernels import POWERS, find_distinct, read_moments, read_numbers

Bytes = npt.NDArray[np.uint8]
Decode = Callable[[bytes], str]
REPLACING: Decode = partial(str, encoding="utf-8", errors="replace")


class Texts:
    """A 1-D column of text.

    Cell ``i`` is ``data[starts[i]:stops[i]]`` in the bytes of some encoding that extends ASCII, which ``decode`` reads; a cell
    that starts at -1 is missing. In place of an array of objects, it is one of ``str`` and None.
    """

    dtype = np.dtype(object)
    ndim = 1
    _known: tuple[Texts, npt.NDArray[Any]] | None = (
        None  # the values of a dictionary and the place of each cell among them
    )

    def __init__(
        self, data: Bytes, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64], decode: Decode
    ) -> None:
        # A kernel is compiled for each kind of array. All are made to look the same, so that no record decides which kernels run.
        self.data, self.starts, self.stops = (_fixed(array) for array in (data, starts, stops))
        self.decode = decode

    def at(self, places: npt.NDArray[Any]) -> Texts:
        """Return cells of these values of a dictionary."""
        cells = self[places]
        cells._known = self, places
        return cells

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __getitem__(self, rows: Any) -> Texts:
        cells = Texts(self.data, self.starts[rows], self.stops[rows], self.decode)
        cells._known = None if self._known is None else (self._known[0], self._known[1][rows])
        return cells

    @property
    def buffer(self) -> tuple[int, int]:
        """Where its bytes are in memory, and how many."""
        return self.data.ctypes.data, len(self.data)

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.tolist())

    def tolist(self) -> list[str | None]:
        raw, decode = self.data.data, self.decode
        places = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return [None if start < 0 else decode(bytes(raw[start:stop])) for start, stop in places]

    def astype(self, dtype: Any, copy: bool = True) -> npt.NDArray[Any]:
        return np.fromiter(self.tolist(), dtype=object, count=len(self)).astype(dtype, copy=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self.astype(object if dtype is None else dtype)

    def distinct(self) -> tuple[Texts, npt.NDArray[np.int32]]:
        """Return one cell of each text, in the order of their first cells, and the place of each cell among them."""
        table = np.full(1 << max(4, 2 * len(self) - 1).bit_length(), -1, dtype=np.int32)
        firsts, places = np.empty(len(self), dtype=np.int32), np.empty(len(self), dtype=np.int32)
        count = find_distinct(self.data, self.starts, self.stops, table, firsts, places)
        return self[firsts[:count]], places

    def through(self, read: Callable[[list[Any]], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return the result of ``read`` for each cell; it reads each distinct text, or each value of a dictionary, once."""
        cells, places = self.distinct() if self._known is None else self._known
        if len(cells) > len(self):  # without a kernel, so that no number of records decides which kernels run
            used, places = np.unique(places, return_inverse=True)
            cells = cells[used]
        return np.asarray(read(cells.tolist()))[places]

    def numbers(
        self, number: Callable[[object], float], decimal: str = ".", thousands: str = ""
    ) -> npt.NDArray[np.float64]:
        """Return each cell as float64, NaN for none: plain decimal text by a kernel, any other text by ``number``.

        The kernel reads digits, an exponent, ``decimal`` and ``thousands`` as the nearest float64, and so must ``number``.
        """
        out, odd = np.empty(len(self), dtype=np.float64), np.empty(len(self), dtype=np.bool_)
        marks = [ord(mark) if mark and mark.isascii() else 0 for mark in (decimal, thousands)]
        read_numbers(self.data, self.starts, self.stops, np.array(marks, dtype=np.uint8), POWERS, out, odd)
        values: npt.NDArray[np.float64] = self._with_odd(out, odd, number)
        return values

    def moments(
        self, moment: Callable[[object], int], fields: npt.NDArray[np.int64], none: int
    ) -> npt.NDArray[np.int64]:
        """Return each cell in microseconds since 1970, ``none`` without one: plain dates by a kernel, other text by ``moment``.

        ``fields`` is the declared format, as ``read_moments`` takes it.
        """
        out, odd = np.full(len(self), none, dtype=np.int64), np.empty(len(self), dtype=np.bool_)
        read_moments(self.data, self.starts, self.stops, fields, out, odd)
        values: npt.NDArray[np.int64] = self._with_odd(out, odd, moment)
        return values

    def _with_odd(self, out: Any, odd: npt.NDArray[np.bool_], rule: Callable[[object], Any]) -> Any:
        """Read odd cells by ``rule``.

        ``through`` also runs on no cells, so that no record decides whether its kernel is compiled.
        """
        rows = np.flatnonzero(odd)
        out[rows] = self[rows].through(lambda cells: np.array([rule(cell) for cell in cells], dtype=out.dtype))
        return out


def _fixed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def joined(tables: Sequence[Mapping[str, Texts]]) -> dict[str, Texts]:
    """Return columns of text, table after table. Columns that share their bytes, as those of a file do, share them afterwards."""
    places: dict[tuple[int, int], int] = {}
    buffers: list[Bytes] = []
    size = 0
    for column in (column for table in tables for column in table.values()):
        if column.buffer not in places:
            places[column.buffer] = size
            buffers.append(column.data)
            size += len(column.data)
    data = np.concatenate(buffers) if buffers else np.empty(0, dtype=np.uint8)

    def all_of(columns: Sequence[Texts]) -> Texts:
        shifts = [places[column.buffer] for column in columns]
        starts = [np.where(one.starts < 0, -1, one.starts + by) for one, by in zip(columns, shifts, strict=True)]
        stops = [one.stops + by for one, by in zip(columns, shifts, strict=True)]
        return Texts(data, np.concatenate(starts), np.concatenate(stops), columns[0].decode)

    return {name: all_of([table[name] for table in tables]) for name in tables[0]}
