"""A column of text as bytes and places, which kernels read without a Python object for each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import c_double, c_size_t, c_uint32, c_uint64, string_at
from functools import cache, partial
from sys import getsizeof
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Array, Truth, lazy
from hedgerow.reading.kernels import ASCII, FACTOR, find_distinct, look_up, look_up_chunks, read_objects

Bytes = npt.NDArray[np.uint8]
Decode = Callable[[bytes], str]
PIECE, MOST_JOINED = 256, 1 << 26  # cells that are joined at once, and bytes of all
USUAL_BYTES = 32  # of a text among objects
FACTORS = 32  # up to which a table of texts is tried
REPLACING: Decode = partial(str, encoding="utf-8", errors="replace")


class Texts:
    """A 1-D column of text: cell i is ``data[starts[i]:stops[i]]``, and missing where it starts at -1.

    The bytes are those of some encoding that extends ASCII, which ``decode`` reads. In place of an array of objects, it is one of
    ``str`` and None.
    """

    dtype = np.dtype(object)
    ndim = 1
    places: Any  # the bytes of all texts (bytes,), and where each begins and ends (cells,); it begins at -1 if there is none
    results: tuple[Any, Any] = (None, None)  # of a dictionary: the last function that read its values, and its result

    def __init__(self, data: Bytes, starts: Array, stops: Array, decode: Decode = REPLACING) -> None:
        # A kernel is compiled for each kind of array. All are made to look the same, so that no record decides which kernels run.
        self.places = fixed(data), *(fixed(ends.astype(np.int64, copy=False)) for ends in (starts, stops))
        self.decode = decode

    def __len__(self) -> int:
        return len(self.places[1])

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __getitem__(self, rows: Any) -> Texts:
        data, starts, stops = self.places
        return Texts(data, starts[rows], stops[rows], self.decode)

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.tolist())

    def tolist(self) -> list[str | None]:
        data, starts, stops = self.places
        places, raw, decode = zip(starts.tolist(), stops.tolist(), strict=True), data.data, self.decode
        return [None if start < 0 else decode(bytes(raw[start:stop])) for start, stop in places]

    def astype(self, dtype: Any, copy: bool = True) -> Array:
        return np.fromiter(self.tolist(), dtype=object, count=len(self)).astype(dtype, copy=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.astype(object if dtype is None else dtype)

    def table(self) -> tuple[Array, ...]:
        """Return the three arrays of ``find_distinct``'s table, each text's first row, and the number of each cell's text."""
        firsts, places = np.empty(len(self), dtype=np.int32), np.empty(len(self), dtype=np.int32)
        count, slots = -1, 256
        # Zeros, not what memory held before, which may be of records: a model keeps some of these tables
        while count < 0:  # few texts have a table that stays in the first cache
            slots *= 8
            table, lengths = np.full(slots, -1, dtype=np.int32), np.zeros(slots, dtype=np.int32)
            words = np.zeros(slots, dtype=np.uint64)
            count = find_distinct(*self.places, table, words, lengths, firsts, places)
        return table, words, lengths, firsts[:count], places

    def distinct(self) -> tuple[Texts, npt.NDArray[np.int32]]:
        """Return one cell of each text, in the order of their first cells, and the place of each cell among them."""
        *_, firsts, places = self.table()
        return self[firsts], places

    def through(self, read: Callable[[Texts], Array]) -> Array:
        """Return the result of ``read`` for each cell; it reads each distinct text, or each value of a dictionary, once."""
        cells, places = self.distinct()
        return read(cells)[places]

    def known_codes(self, known: tuple[Any, ...], missing: int) -> tuple[Array, bool]:
        """Return the code of each cell, -1 for an unknown text, and whether there are unknown texts."""
        out = np.full(len(self), -2, dtype=np.int32)
        return out, look_up(*self.places, NO_TEXTS.places[0], 0, known, missing, out)

    def fill(self, out: Array, odd: Truth, rule: Callable[[object], Any]) -> Array:
        """Return ``out`` with what ``rule`` reads in odd cells, each distinct text once."""
        ready()
        if odd.any():
            rows = np.flatnonzero(odd)
            out[rows] = self[rows].through(lambda cells: np.array(list(map(rule, cells.tolist())), dtype=out.dtype))
        return out


@cache
def ready() -> None:
    """Compile what reads odd cells, so that no record decides whether it is compiled."""
    NO_TEXTS.distinct()


class CodedTexts(Texts):
    """A column of a dictionary's values by their places."""

    def __init__(self, values: Texts, codes: Array) -> None:
        self.values, self.codes, self.decode = values, codes, values.decode

    @lazy
    def places(self) -> Any:
        return self.values[self.codes].places

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Texts:
        return CodedTexts(self.values, self.codes[rows])

    def through(self, read: Callable[[Texts], Array]) -> Array:
        if len(self.values) > len(self):  # without a kernel, so that no number of records decides which kernels run
            used, places = np.unique(self.codes, return_inverse=True)
            return read(self.values[used])[places]
        results = self.values.results  # blocks of a column share its dictionary
        if results[0] != read:  # another thread may replace them at any time
            results = self.values.results = read, read(self.values)
        return np.asarray(results[1][self.codes])


class ArrowTexts(Texts):
    """Text in chunks of Arrow, with offsets of 64 bits if ``wide``, else 32. Known text is looked up there; others are joined."""

    def __init__(self, chunks: Sequence[Any], wide: bool) -> None:
        self.arrays, self.decode, self.offsets = chunks, REPLACING, np.dtype(np.int64 if wide else np.int32)

    @lazy
    def places(self) -> Any:
        import pyarrow

        if not len(self):
            return NO_TEXTS.places
        block = self.arrays[0] if len(self.arrays) == 1 else pyarrow.concat_arrays(self.arrays)
        (_, places, text), first = block.buffers(), block.offset
        offsets = np.frombuffer(places, dtype=self.offsets)[first : first + len(block) + 1]
        starts = offsets[:-1]
        if block.null_count:
            starts = np.where(block.is_null().to_numpy(zero_copy_only=False), -1, starts)
        return Texts(np.frombuffer(text or b"", dtype=np.uint8), starts, offsets[1:]).places

    @lazy
    def chunks(self) -> npt.NDArray[np.uint64]:
        """(chunks, 7): address and size of text and of validity bits, address of the first offset, first bit, number of cells."""
        rows = []
        for chunk in filter(len, self.arrays):
            (valid, offsets, data), first = chunk.buffers(), chunk.offset
            text = (data.address, data.size) if data is not None else (0, 0)
            nulls = (valid.address, valid.size) if chunk.null_count else (0, 0)
            rows.append((*text, *nulls, offsets.address + self.offsets.itemsize * first, first, len(chunk)))
        return np.array(rows, dtype=np.uint64).reshape(-1, 7)

    def known_codes(self, known: tuple[Any, ...], missing: int) -> tuple[Array, bool]:
        out = np.empty(len(self), dtype=np.int32)
        return out, look_up_chunks(self.chunks, np.empty(0, dtype=self.offsets), known, missing, out)

    def __len__(self) -> int:
        return sum(map(len, self.arrays))


def joined(cells: Sequence[Any]) -> Texts | None:
    """Return text as a column; None if a cell is no text, has a zero byte or half of a surrogate pair, or it is long together.

    No code of a cell's own is run. Cells may be one object, so text is joined in pieces, and what would not fit memory is not.
    """
    raw = bytearray()
    try:
        for start in range(0, len(cells), PIECE):
            raw += "\0".join([*cells[start : start + PIECE], ""]).encode()
            if len(raw) > MOST_JOINED:
                return None
    except (TypeError, UnicodeEncodeError):
        return None
    data = np.frombuffer(raw, dtype=np.uint8)
    stops = np.flatnonzero(data == 0)
    return Texts(data, np.append(0, stops + 1)[:-1], stops) if len(stops) == len(cells) else None


def spelling_table(known: Mapping[bytes, int]) -> tuple[Any, ...]:
    """Return texts without a zero byte, and their codes, as ``look_up`` and other kernels read them.

    First texts of one to eight bytes as integers, and their codes, (slots,), in the slot (text * factor) >> shift; then of all
    texts the bytes, where they begin, the table of ``Texts.table``, and their codes.
    """
    begins = np.cumsum([0, *map(len, known)])
    texts = Texts(np.frombuffer(b"".join([*known, bytes(8)]), dtype=np.uint8), begins[:-1], begins[1:])
    all_codes = np.array([*known.values()], dtype=np.int32)
    short = {int.from_bytes(text, "little"): code for text, code in known.items() if 0 < len(text) <= 8}
    keys, bits = np.array([*short], dtype=np.uint64), max(4, (8 * len(short)).bit_length())
    for odd in range(1, FACTORS, 2):  # the first that gives each text a slot of its own, or the last
        factor, shift = np.uint64(FACTOR * odd % 2**64), np.uint64(64 - bits)
        slots = (keys * factor) >> shift
        if len(np.unique(slots)) == len(short):
            break
    words, codes = np.zeros(1 << bits, dtype=np.uint64), np.zeros(1 << bits, dtype=np.int32)
    words[slots], codes[slots] = keys, [*short.values()]
    return words, codes, factor, shift, *texts.places[:2], *texts.table()[:3], all_codes


@cache
def no_spellings() -> tuple[Any, ...]:
    return spelling_table({})


def addresses(objects: Array) -> npt.NDArray[np.uint64]:
    """Return the addresses of the objects of a contiguous array, in its own memory."""
    memory: Any = (c_uint64 * len(objects)).from_address(objects.ctypes.data)
    return np.frombuffer(memory, dtype=np.uint64)


@cache
def layout() -> tuple[np.uint64, ...]:
    """Return where this Python keeps the value of a float and the text of a str of ASCII, as ``read_objects`` takes it.

    Nothing is returned if it is not where known versions keep it: after the head, with two bits that mark such a str. The first
    of them is not set in an object of a derived class, and the second in a str of other letters. A Python without an interpreter
    lock has a longer head.
    """
    head, first, plain = object.__basicsize__, getsizeof("") - 1, str(12345)
    others = "\xe9" + str(1234), type("Derived", (str,), {})(plain)
    marks = [c_uint32.from_address(id(text) + head + 16).value for text in (plain, *others)]
    flags = [3 << bit for bit in (5, 19) if [mark >> bit & 3 for mark in marks] == [3, 1, 2]]
    is_known = (
        head == 16
        and [c_size_t.from_address(id(one) + head - 8).value for one in (plain, 1.5)] == [id(str), id(float)]
        and c_double.from_address(id(1.5) + head).value == 1.5
        and c_size_t.from_address(id(plain) + head).value == len(plain)
        and string_at(id(plain) + first, len(plain)) == plain.encode()
        and flags
    )
    return tuple(map(np.uint64, (id(float), id(str), head, head + 16, flags[0], first))) if is_known else ()


def read_plain(objects: Array, known: tuple[Any, ...]) -> tuple[Array, Array, int, Array, Texts]:
    """Return what ``read_objects`` finds: kinds, numbers, the number of known texts, and the rows and texts of others."""
    count, size = len(objects), USUAL_BYTES * len(objects)
    kinds, bits = np.empty((2, count), dtype=np.uint64)
    rows, starts, stops = np.empty((3, count), dtype=np.int64)
    if not layout():
        kinds[:] = [*map(id, map(type, objects.tolist()))]
        return kinds, bits, 0, rows[:0], NO_TEXTS
    while True:
        data = np.empty(size + 8, dtype=np.uint8)
        given = addresses(objects), layout(), *known[:4], kinds, bits, rows, starts, stops, data
        n_known, n_others, size = read_objects(*given)
        if size > MOST_JOINED:  # such as one long text in many records
            kinds[kinds == ASCII] = id(str)
            return kinds, bits, n_known, rows[:0], NO_TEXTS
        if size + 8 <= len(data):
            return kinds, bits, n_known, rows[:n_others], Texts(data, starts[:n_others], stops[:n_others])


def one_after_another(tables: Sequence[Sequence[Texts]]) -> list[Texts]:
    """Return the columns of tables joined. Tables of one buffer, as blocks of a file are, share it afterwards."""
    buffers = {table[0].places[0].ctypes.data: table[0].places[0] for table in tables}
    begins = dict(zip(buffers, np.cumsum([0, *map(len, buffers.values())]).tolist(), strict=False))
    data, columns = np.concatenate([*buffers.values()]), []
    for parts in zip(*tables, strict=True):
        places = [(begins[part.places[0].ctypes.data], *part.places[1:]) for part in parts]
        starts = np.concatenate([np.where(starts < 0, -1, starts + by) for by, starts, _ in places])
        columns.append(Texts(data, starts, np.concatenate([stops + by for by, _, stops in places]), parts[0].decode))
    return columns


def fixed(array: Array) -> Array:
    view = array.view() if array.flags.c_contiguous and array.flags.aligned else array.copy()
    view.flags.writeable = False
    return view


NO_TEXTS = Texts(np.empty(0, dtype=np.uint8), *np.empty((2, 0), dtype=np.int64))
