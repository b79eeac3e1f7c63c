"""A column of text as bytes and places, which kernels read without a Python object for each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import lazy
from hedgerow.reading.kernels import POWERS, find_distinct, read_moments, read_numbers

Bytes = npt.NDArray[np.uint8]
Decode = Callable[[bytes], str]
REPLACING: Decode = partial(str, encoding="utf-8", errors="replace")


class Places:
    """Cells of text, row by row: cell (i, k) is ``data[starts[i, k]:stops[i, k]]``, and missing where it starts at -1.

    The bytes are those of some encoding that extends ASCII, which ``decode`` reads.
    """

    def __init__(
        self, data: Bytes, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64], decode: Decode
    ) -> None:
        # A kernel is compiled for each kind of array. All are made to look the same, so that no record decides which kernels run.
        self.data, self.starts, self.stops = (_fixed(array) for array in (data, starts, stops))
        self.decode = decode
        self._last: tuple[slice, Places] | None = None

    def __getitem__(self, rows: slice) -> Places:
        last = self._last  # columns of one table are read in the same slices, one after another
        if last is None or last[0] != rows:
            self._last = last = rows, Places(self.data, self.starts[rows], self.stops[rows], self.decode)
        return last[1]

    @classmethod
    def joined(cls, parts: Sequence[Places]) -> Places:
        """Return parts one after another. Those of one buffer, as blocks of a file are, share it afterwards."""
        buffers = {part.data.ctypes.data: part.data for part in parts}
        begins = dict(zip(buffers, np.cumsum([0, *map(len, buffers.values())]).tolist(), strict=False))
        shifts = [begins[part.data.ctypes.data] for part in parts]
        starts = [np.where(part.starts < 0, -1, part.starts + by) for part, by in zip(parts, shifts, strict=True)]
        stops = [part.stops + by for part, by in zip(parts, shifts, strict=True)]
        return cls(np.concatenate([*buffers.values()]), np.concatenate(starts), np.concatenate(stops), parts[0].decode)


class Texts:
    """A 1-D column of text: one of ``places``. In place of an array of objects, it is one of ``str`` and None."""

    dtype = np.dtype(object)
    ndim = 1

    def __init__(self, places: Places, column: int = 0) -> None:
        self.places, self.column = places, column

    @classmethod
    def of(cls, data: Bytes, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64], decode: Decode) -> Texts:
        """Return the cells that start and stop there, (cells,)."""
        return Texts(Places(data, starts.reshape(-1, 1), stops.reshape(-1, 1), decode))

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        return _fixed(self.places.starts[:, self.column])

    @property
    def stops(self) -> npt.NDArray[np.int64]:
        return _fixed(self.places.stops[:, self.column])

    def __len__(self) -> int:
        return len(self.places.starts)

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __getitem__(self, rows: Any) -> Texts:
        if isinstance(rows, slice):
            return Texts(self.places[rows], self.column)
        own = self.places
        return Texts.of(own.data, own.starts[rows, self.column], own.stops[rows, self.column], own.decode)

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.tolist())

    def tolist(self) -> list[str | None]:
        raw, decode = self.places.data.data, self.places.decode
        places = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return [None if start < 0 else decode(bytes(raw[start:stop])) for start, stop in places]

    def astype(self, dtype: Any, copy: bool = True) -> npt.NDArray[Any]:
        return np.fromiter(self.tolist(), dtype=object, count=len(self)).astype(dtype, copy=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self.astype(object if dtype is None else dtype)

    def numbered(self) -> tuple[npt.NDArray[np.int32], ...]:
        """Return what ``find_distinct`` writes: its table, the first row of each distinct text, and the number of each cell."""
        table = np.full(1 << max(4, 2 * len(self) - 1).bit_length(), -1, dtype=np.int32)
        firsts, places = np.empty(len(self), dtype=np.int32), np.empty(len(self), dtype=np.int32)
        count = find_distinct(self.places.data, self.starts, self.stops, table, firsts, places)
        return table, firsts[:count], places

    def distinct(self) -> tuple[Texts, npt.NDArray[np.int32]]:
        """Return one cell of each text, in the order of their first cells, and the place of each cell among them."""
        _, firsts, places = self.numbered()
        return self[firsts], places

    def through(self, read: Callable[[Texts], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return the result of ``read`` for each cell; it reads each distinct text, or each value of a dictionary, once."""
        cells, places = self.distinct()
        return read(cells)[places]

    def numbers(
        self, number: Callable[[object], float], decimal: str = ".", thousands: str = ""
    ) -> npt.NDArray[np.float64]:
        """Return each cell as float64, NaN for none: plain decimal text by a kernel, any other text by ``number``.

        The kernel reads digits, an exponent, ``decimal`` and ``thousands`` as the nearest float64, and so must ``number``.
        """
        return numbers_of([self], number, decimal, thousands)[:, 0]

    def moments(
        self, moment: Callable[[object], int], fields: npt.NDArray[np.int64], none: int, *, letters: bool = False
    ) -> npt.NDArray[np.int64]:
        """Return each cell in microseconds since 1970, ``none`` without one: plain dates by a kernel, other text by ``moment``.

        ``fields`` is the declared format, as ``read_moments`` takes it; ``letters`` is whether it may begin with one.
        """
        out, odd = np.full(len(self), none, dtype=np.int64), np.empty(len(self), dtype=np.bool_)
        read_moments(self.places.data, self.starts, self.stops, fields, letters, out, odd)
        self.read_odd(out, odd, moment)
        return out

    def read_odd(self, out: npt.NDArray[Any], odd: npt.NDArray[np.bool_], rule: Callable[[object], Any]) -> None:
        """Write what ``rule`` reads in odd cells."""
        ready()
        if odd.any():
            rows = np.flatnonzero(odd)
            out[rows] = self[rows].through(lambda cells: np.array(list(map(rule, cells.tolist())), dtype=out.dtype))


@cache
def ready() -> None:
    """Compile what reads odd cells, so that no record decides whether it is compiled."""
    texts_of([], REPLACING).distinct()


def texts_of(words: Sequence[bytes], decode: Decode) -> Texts:
    """Return words as a column of text."""
    ends = np.cumsum([0, *map(len, words)], dtype=np.int64)
    return Texts.of(np.frombuffer(b"".join(words), dtype=np.uint8), ends[:-1], ends[1:], decode)


class CodedTexts(Texts):
    """A column of a dictionary's values by their places."""

    def __init__(self, values: Texts, codes: npt.NDArray[Any]) -> None:
        self.values, self.codes, self.column = values, codes, 0

    @lazy
    def places(self) -> Places:
        return self.values[self.codes].places

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Texts:
        return CodedTexts(self.values, self.codes[rows])

    def through(self, read: Callable[[Texts], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        cells, places = self.values, self.codes
        if len(cells) > len(self):  # without a kernel, so that no number of records decides which kernels run
            used, places = np.unique(places, return_inverse=True)
            cells = cells[used]
        found: npt.NDArray[Any] = read(cells)[places]
        return found


def numbers_of(
    columns: Sequence[Texts], number: Callable[[object], float], decimal: str = ".", thousands: str = ""
) -> npt.NDArray[np.float64]:
    """Return columns of the same places, (cells, columns), as ``Texts.numbers`` does."""
    places, shape = columns[0].places, (len(columns[0]), len(columns))
    out, odd = np.empty(shape, dtype=np.float64), np.empty(shape, dtype=np.bool_)
    marks = [ord(mark) if mark and mark.isascii() else 0 for mark in (decimal, thousands)]
    which = np.array([one.column for one in columns], dtype=np.int64)
    read_numbers(places.data, places.starts, places.stops, which, np.array(marks, dtype=np.uint8), POWERS, out, odd)
    ready()
    if odd.any():
        for place, one in enumerate(columns):
            one.read_odd(out[:, place], odd[:, place], number)
    return out


def _fixed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
