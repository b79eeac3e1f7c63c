"""Records as small unsigned codes: a bin or a category per feature, computed cell by cell from the public schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Array, Floats, Integers, for_each, lazy
from hedgerow.errors import FileFormatError, SchemaError
from hedgerow.files import Allowance
from hedgerow.reading.cells import CategoryReader, Cells
from hedgerow.reading.columns import read_columns, read_labels
from hedgerow.reading.formats import PLAIN
from hedgerow.reading.kernels import bin_columns
from hedgerow.reading.text_cells import fixed
from hedgerow.schema.features import Categorical, Numeric
from hedgerow.schema.schema import Schema

Codes = npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | npt.NDArray[np.uint32]

BLOCK_ROWS = 8_192  # a block of 20 float64 columns stays in a core's own cache
TEXT_BLOCKS = 8  # together one block of text, whose distinct cells Python reads once in a block
BLOCK_VALUES = 1 << 21  # in the answers for a block
FEW_ROWS = 1_024  # the minimum of a block, however long answers are
SMALL_CELLS = 100_000  # below this, starting threads costs more than it saves
FIRST: Integers = np.zeros(1, dtype=np.int64)
NO_NUMBERS: Floats = np.empty(0, dtype=np.float64)
SLOTS = 512  # of equal width, from a feature's first edge to its last: with 255 equal bins, no slot has two edges
MOST_CODES = 1 << 24  # of one feature: every table of counts has a number for each code and class
USUAL_BINS, MOST_BINS = 16, 1024  # bins if no parameter gives their number, and the most that estimators allow
FINE_CODES = 257  # HedgerowClassifier reads every numeric feature in so many codes, for any max_bins


class Encoder:
    """Encode records for one schema and at most ``max_bins`` bins of a numeric feature.

    ``n_codes`` counts the codes of each feature, including those of missing (and undeclared) cells, which ``dtype``, the smallest
    unsigned type, holds. ``edges`` are the inner cut points of each feature; none for a categorical one. A value's bin is the
    number of edges that are not above it. So bins are closed on the left, and values outside the range are in the outer bins. The
    code of a cell depends on that cell and the schema alone.
    """

    def __init__(self, schema: Schema, max_bins: int) -> None:
        self.schema = schema
        self.max_bins = max_bins
        counts, edges = [], []
        for name, feature in schema.features.items():
            if isinstance(feature, Categorical):
                count, inner = len(feature.values) + 2, NO_NUMBERS
            elif feature.cuts is None and max_bins >= MOST_CODES:  # refused before the edges take memory
                count, inner = max_bins + 1, NO_NUMBERS
            else:
                inner = feature.bin_edges(max_bins)
                count = len(inner) + 2
            if count > MOST_CODES:
                raise SchemaError(
                    f"feature {name!r} needs {count} codes, of at most {MOST_CODES}. Declare fewer values, or lower max_bins."
                )
            counts.append(count)
            edges.append(inner)
        self.n_codes: Integers = np.array(counts, dtype=np.int64)
        self.dtype: np.dtype[Any] = np.min_scalar_type(int(self.n_codes.max()) - 1)
        self.edges: tuple[Floats, ...] = tuple(edges)
        self._all_edges = np.concatenate(self.edges)
        self._starts = np.cumsum([0, *map(len, self.edges)], dtype=np.int64)
        self._classes = CategoryReader(schema.classes, schema.missing)

    @lazy
    def _slots(self) -> tuple[Array, ...]:
        return slots_of(self._all_edges, self._starts)

    @lazy
    def _readers(self) -> list[Callable[[Cells], Array]]:
        return [feature.reader(self.schema.missing) for feature in self.schema.features.values()]

    def __getstate__(self) -> dict[str, Any]:
        # The slots take far more memory than the edges, and both follow from the others.
        return {name: value for name, value in self.__dict__.items() if name not in ("_slots", "_readers")}

    def merged(self, into: Sequence[Integers]) -> Encoder:
        """Return the encoder with merged codes: ``into[feature][code]`` is the new code of an old one.

        Only neighboring bins of a numeric feature may be merged. ``into`` must be public or released.
        """
        merged = {}
        for name, edges, codes in zip(self.schema.names, self.edges, into, strict=True):
            if len(edges):
                merged[name] = edges[np.diff(codes[:-1]) > 0].tolist()
        return Encoder(self.schema.cut_at(merged), self.max_bins)

    def transform(self, X: Any) -> Codes:
        return self.answers(X, np.asarray)

    def answers(
        self, X: Any, answer: Callable[[Codes], Array], *, reads: Sequence[int] | None = None, by_column: bool = False
    ) -> Array:
        """Return the result of ``answer`` for the codes of all records, (records, ...), computed block by block.

        Blocks are encoded and answered on several threads, and their codes stay in a core's own cache in between. If answers are
        longer, blocks have fewer records. ``answer`` must accept no records, too. It ``reads`` these features (None: all); the
        codes of others are arbitrary. ``by_column``: the codes of a feature are contiguous in memory, not those of a record.
        """
        columns = read_columns(X, self.schema.features)
        n_rows, single, together = columns.n_rows, list[int](), list[int]()  # read one by one, or at once from a matrix
        for i, feature in enumerate(self.schema.features.values()):
            is_plain = isinstance(feature, Numeric) and not (feature.reads_text or feature.missing)
            if reads is None or i in reads:
                (together if is_plain and columns.matrix is not None else single).append(i)
        places, markers = np.array(together, dtype=np.int64), PLAIN.markers(self.schema.missing)

        def answered(first: int, last: int) -> Array:
            codes: Codes = np.empty((last - first, len(columns.names)), self.dtype, "F" if by_column else "C")
            for i in single:
                cells = self._readers[i](columns.cells(i, first, last))
                if cells.dtype == np.float64:  # of numbers, whose reader knows the markers
                    self._bin(cells.reshape(-1, 1), FIRST, np.array([i]), codes, NO_NUMBERS)
                else:
                    codes[:, i] = cells
            if columns.matrix is not None and together:
                with np.errstate(all="ignore"):
                    block = columns.matrix[first:last].astype(np.float64, copy=False)
                self._bin(block, places, places, codes, markers)
            return answer(codes)

        def write(first: int) -> None:
            last = min(first + size, n_rows)
            out[first:last] = answered(first, last)

        if n_rows <= min(FEW_ROWS, BLOCK_ROWS):
            return answered(0, n_rows)
        none = answered(0, 0)
        out = np.empty((n_rows, *none.shape[1:]), dtype=none.dtype)
        size = max(1, min(BLOCK_ROWS * (TEXT_BLOCKS if single else 1), BLOCK_VALUES // max(1, out[:1].size)))
        few = n_rows * len(single + together) < SMALL_CELLS
        for_each(range(0, n_rows, size), write, threads=1 if few else None)
        return out

    def _bin(self, block: Floats, sources: Integers, targets: Integers, codes: Codes, markers: Floats) -> None:
        # numba compiles, and keeps on disk, one kernel per kind of array. A table gives its own memory if a column has no
        # null, and a copy if it has one; and a single record is in the order of C and of Fortran. Every block is made to look
        # the same to numba, so that neither shows, and no number of records decides whether a kernel runs.
        steps = np.array(codes.strides, dtype=np.int64) // codes.itemsize
        tables = self._all_edges, self._starts, *self._slots
        bin_columns(fixed(block), sources, targets, *tables, markers, steps, codes.reshape(-1, order="A"))

    def labels(self, y: Any) -> npt.NDArray[np.signedinteger]:
        """Return the number for each record's label: the position of its class, or the code of its outcome; -1 for none.

        A label that is missing, undeclared or (for an outcome) not a number has -1. Fits drop such records, by a public rule
        that depends on each record alone.
        """
        cells, schema = read_labels(y, self.schema.labels), self.schema
        if schema.outcome is not None:
            return schema.outcome_grid.codes(schema.outcome.reader(schema.missing)(cells)).astype(np.int32)
        codes = self._classes.codes(cells)
        codes[codes >= self._classes.missing] = -1
        return codes.astype(np.int16) if self._classes.missing <= np.iinfo(np.int16).max else codes


def slots_of(edges: Floats, starts: Integers) -> tuple[Floats, Floats, npt.NDArray[np.int32], Integers]:
    """Return the index by which ``bin_columns`` finds the edges near a value: low, slots_by_unit, before and halvings.

    ``edges`` (edges of all features,) ascend within each feature, whose first is at ``starts`` (features + 1,). A value's
    slot is floor((value - low) slots_by_unit), within 0 and ``SLOTS`` - 1. ``before`` (features, SLOTS) is the number of
    edges in the slots before each, and ``halvings`` (features,) how many halvings separate the edges of the fullest slot.
    """
    counts = np.diff(starts)
    features = np.flatnonzero(counts)
    low, by_unit = np.zeros(len(counts)), np.zeros(len(counts))
    with np.errstate(all="ignore"):
        low[features] = edges[starts[features]]
        width = edges[starts[features + 1] - 1] - low[features]
        by_unit[features] = np.where((width > 0) & (width < np.inf), SLOTS / width, 0)
        feature = np.repeat(np.arange(len(counts)), counts)
        place = (edges - low[feature]) * by_unit[feature]
    slot = np.minimum(np.where(place > 0, place, 0), SLOTS - 1).astype(np.int64)
    held = np.bincount(feature * SLOTS + slot, minlength=len(counts) * SLOTS).reshape(-1, SLOTS)
    halvings = np.frexp(held.max(axis=1))[1].astype(np.int64)  # how many bits the largest number has
    return low, by_unit, (np.cumsum(held, axis=1) - held).astype(np.int32), halvings


def raw_columns(X: Any, schema: Schema) -> Floats:
    """Return records as float64 for learners without a guarantee, as an array of shape (records, features)."""
    columns = read_columns(X, schema.features)
    readers = enumerate(feature.reader(schema.missing) for feature in schema.features.values())
    return np.column_stack([read(columns.cells(i)) for i, read in readers]).astype(np.float64)


def check_size(schema: Schema, max_bins: Any, allowed: Allowance) -> None:
    bins = max_bins if isinstance(max_bins, int) and 0 < max_bins <= MOST_BINS else USUAL_BINS
    codes = [
        (bins if feature.cuts is None else min(bins, len(feature.cuts) + 1)) + 1
        if isinstance(feature, Numeric)
        else len(feature.values) + 2
        for feature in schema.features.values()
    ]
    letters = max((len(label) for label in schema.classes if isinstance(label, str)), default=0) * len(schema.classes)
    for count, most, what in (
        (sum(codes), allowed.tests, "codes of all features together"),
        (len(codes) * max(FINE_CODES, *codes), allowed.cells, "cells in the table of its features by codes"),
        (letters, allowed.letters, "letters in the table of its classes"),
    ):
        if count > most:
            raise FileFormatError(
                f"the file's schema has {count} {what}, and {most} are allowed; if you trust the file, pass more as max_bytes "
                "to hedgerow.load."
            )
