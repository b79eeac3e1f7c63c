"""Records of any kind of table as named columns, and what speaks against a table.

Refusals are decided by types alone, which are public if the owner declares them. No cell is read. As features, numbers, truth
values and objects are all accepted. If a reader inferred a type, one cell can change it. Certificates state this.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.dependencies import get_pandas, get_pyarrow
from narwhals.exceptions import DuplicateError

from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.reading.cells import MACHINE_NUMBERS, Array, Cells, numbers, object_array, typed_objects
from hedgerow.reading.parts import (
    AnyPart,
    Holds,
    Part,
    array_holds,
    chunked,
    part_holds,
    read_through,
    series_part,
    unread_part,
)
from hedgerow.reading.text_cells import Texts
from hedgerow.texts import listed

# Methods that turn a table that holds a query, not records, into a frame. Spark's frames collect rows, so collect is last.
COLLECTORS = ("toPandas", "df", "compute", "to_pandas", "collect")
NOT_READ = "lists, structs, durations, times of day, complex numbers, intervals, periods or the like"


class Declared(Protocol):
    """What a schema declares of a column's cells, or of the labels."""

    def takes(self, holds: Holds) -> bool: ...

    def in_words(self) -> str: ...


class Columns:
    """Records as columns in the order of ``names``. Nothing is copied until a block of cells is read.

    Either ``matrix`` holds all cells (a 2-D array, whose type determines ``holds``), or ``parts`` holds one series or 1-D
    array per column. ``named`` is whether the table itself had a name for each column, all of them text.
    """

    def __init__(
        self,
        names: Sequence[str],
        n_rows: int,
        *,
        matrix: Cells | None = None,
        holds: Holds = "anything",
        parts: Sequence[AnyPart] = (),
        named: bool = False,
    ) -> None:
        self.names = tuple(names)
        self.named = named
        self.n_rows = n_rows
        self.matrix = matrix
        self._holds = holds
        self.parts = tuple(parts)

    def cells(self, column: int, start: int = 0, stop: int | None = None) -> Cells:
        stop = self.n_rows if stop is None else stop
        if self.matrix is not None:
            return self.matrix[start:stop, column]
        part = self.parts[column]
        return part.read(start, stop) if isinstance(part, Part) else part[start:stop]

    def read_through(
        self, column: int, start: int, stop: int, answer: Callable[[Cells], npt.NDArray[Any]]
    ) -> npt.NDArray[Any]:
        """Return the result of ``answer`` for each cell of one column, from row ``start`` up to ``stop``."""
        if self.matrix is not None:
            return answer(self.matrix[start:stop, column])
        return read_through(self.parts[column], start, stop, answer)

    def numbers(self, column: int, start: int, stop: int) -> npt.NDArray[np.float64]:
        return numbers(self.cells(column, start, stop))

    def holds(self, column: int) -> Holds:
        return self._holds if self.matrix is not None else part_holds(self.parts[column])

    def holds_text(self, column: int) -> bool:
        """Return whether a column's cells are read as ``Texts``."""
        part = None if self.matrix is not None else self.parts[column]
        return part.is_text if isinstance(part, Part) else isinstance(part, Texts)

    def holds_machine_numbers(self, column: int) -> bool:
        """Return whether a column's cells are read as machine numbers, which several threads can read at the same time."""
        part = self.parts[column] if self.matrix is None else self.matrix
        return part.is_machine if isinstance(part, Part) else part.dtype.kind in MACHINE_NUMBERS


def read_columns(
    X: Any, features: Mapping[str, Declared] | None = None, *, allow_empty: bool = True, check_types: bool = True
) -> Columns:
    """Return ``X`` as columns in the order of the schema's features.

    ``X`` is a pandas, polars or pyarrow table or a mapping of columns (matched by name, in any order), or a 2-D array or a
    list of rows (matched by position). If features are given, a row that is not a list, tuple or 1-D array with one cell for
    each is read as a record whose cells are all missing. This depends on that record alone. Without ``check_types``, a column
    of a type that cannot hold declared cells is not refused: all its cells are missing.

    Raises
    ------
    SchemaError
        If columns are absent, undeclared or named twice, or have a type that cannot be read or cannot hold declared cells.
    ConfigurationError
        If ``X`` is no table, or has no rows although it needs some.
    """
    names = None if features is None else tuple(features)
    if isinstance(X, Columns) and names in (None, X.names):  # read before, by the same features
        return X
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise ConfigurationError("X is a sparse matrix, but every cell of a record is encoded. Pass X.toarray().")
    if check_types and isinstance(X, np.ndarray) and X.dtype.kind == "c":
        raise SchemaError("Complex data not supported: pass the real and the imaginary parts as columns of their own.")
    if isinstance(X, Mapping):
        columns = _from_mapping(X, names)
    elif (frame := as_frame(X, "X")) is not None:
        columns = _from_frame(frame, names)
    else:
        columns = _from_rows(X, names)
    if not columns.n_rows and not allow_empty:
        raise ConfigurationError(
            f"X has 0 sample(s) (shape=(0, {len(columns.names)})) while a minimum of 1 is required. It is public that there "
            "is at least one record. Pass one or more records."
        )
    if check_types:
        for i, name in enumerate(columns.names):
            _check_column_type(name, columns.holds(i), None if features is None else features[name])
    return columns


def _refuse_lazy(given: Any, what: str, *, known: bool = False) -> None:
    """Raise ConfigurationError if ``given`` is an iterator, or a table that holds a query and not yet records.

    With ``known``, narwhals knows it as such a table. Other tables are recognized by their methods.
    """
    if isinstance(given, Iterator):
        raise ConfigurationError(
            f"{what} is an iterator, which can be read only once, but records are read several times. Pass list({what})."
        )
    collector = next((name for name in COLLECTORS if hasattr(type(given), name)), None)
    is_array = (hasattr(given, "__array__") or isinstance(given, Sequence | Mapping)) and not hasattr(given, "columns")
    if known or (collector and not is_array):
        way = f"{what}.{collector}()" if collector else "a pandas, polars or pyarrow table"
        raise ConfigurationError(
            f"{what} is a lazy table ({type(given).__name__}), which holds a query and no records, but records are read "
            f"several times. Pass {way}."
        )


def _refuse_objects(rows: Sequence[Any]) -> None:
    """Raise ConfigurationError if a list holds dicts or other objects, and no rows.

    If one element is a row, or None for a missing row, the list is a list of rows. The other elements are then records whose
    cells are all missing.
    """
    if rows and not any(row is None or issubclass(type(row), list | tuple | np.ndarray) for row in rows):
        raise ConfigurationError(
            "X is a list of objects of which none is a list, a tuple or an array of cells, such as a list of dicts, so no "
            "cell could be read. Pass a list of rows, or a frame, as pandas.DataFrame(X) makes of dicts. Reshape your data "
            "with [X] if it is one record."
        )


def _check_column_type(name: str, holds: Holds, feature: Declared | None) -> None:
    if holds == "unreadable":
        raise SchemaError(
            f"the column {name!r} has a type whose cells are {NOT_READ}, so none could be read. Pass a column of numbers or text "
            "for each part, such as the seconds of a duration or the real part of a complex number, or leave it out."
        )
    if holds == "times" and feature is not None and not feature.takes(holds):
        raise SchemaError(
            f"the column {name!r} has a type of dates or times, which are not numbers, but the schema declares numbers for it, "
            'so no cell could be read. Declare a range of dates, as in hr.Date("2020-01-01", "2024-12-31"), or pass numbers.'
        )


def _check_label_type(entry: Declared, holds: Holds) -> None:
    if not entry.takes(holds):
        kind = {"numbers": "numbers", "times": "dates or times"}.get(holds, NOT_READ)
        raise SchemaError(
            f"y has a type of {kind}, but the schema declares the labels {entry.in_words()}, none of which has this type, so no "
            "record could have a label. Pass the labels as the schema declares them, or correct the schema."
        )


def as_frame(X: Any, what: str) -> nw.DataFrame[Any] | None:
    """Return a table as a data frame of narwhals, or None if it is no data frame; ``what`` names it in errors."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    pyarrow = get_pyarrow()
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.table(X)
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError:
        raise _named_twice() from None
    if isinstance(frame, nw.DataFrame):
        return frame
    _refuse_lazy(X, what, known=isinstance(frame, nw.LazyFrame))
    return None


def _from_frame(frame: nw.DataFrame[Any], names: Sequence[str] | None) -> Columns:
    series = list(frame.iter_columns())
    named = all(isinstance(one.name, str) for one in series)
    order, series = _in_order([str(one.name) for one in series], series, names)
    return Columns(order, len(frame), parts=[series_part(one) for one in series], named=named)


def _from_mapping(X: Mapping[Any, Any], names: Sequence[str] | None) -> Columns:
    parts = [_as_part(column) for column in X.values()]
    lengths = {len(part) for part in parts}
    if len(lengths) > 1:
        raise ConfigurationError(
            "The columns of X have different lengths, so they do not form records. Pass equal lengths."
        )
    order, parts = _in_order([str(name) for name in X], parts, names)
    return Columns(order, lengths.pop(), parts=parts, named=all(isinstance(name, str) for name in X))


def _as_part(column: Any) -> AnyPart:
    if isinstance(column, Texts):
        return column
    listed = as_list(column)
    if listed is not None:
        return object_array(listed, len(listed))
    series = as_series(column)
    if series is not None:
        return series_part(series)
    _refuse_lazy(column, "a column of X")
    cells, holds = _plain(column)
    if cells.ndim != 1:
        raise ConfigurationError(
            f"A column of X has {cells.ndim} dimensions, but it holds one cell per record. Reshape your data."
        )
    return _array_part(cells, holds)


def _array_part(cells: Cells, holds: Holds) -> AnyPart:
    """Return a 1-D array as a part. If the array was masked, ``holds`` says more than its own type."""
    if holds == "unreadable":
        return unread_part(len(cells))
    if holds == array_holds(cells.dtype):
        return cells
    return Part(len(cells), lambda start, stop: cells[start:stop], holds=holds)


def as_list(values: Any) -> Sequence[Any] | None:
    """Return a sequence that is no array as a list, because numpy would look for one type for all its cells."""
    if isinstance(values, list | tuple):
        return values
    is_array = isinstance(values, str | bytes | bytearray | memoryview | array) or hasattr(values, "__array__")
    return list(values) if isinstance(values, Sequence) and not is_array else None


def as_series(column: Any) -> nw.Series[Any] | None:
    if isinstance(column, np.ndarray):
        return None
    pyarrow, pandas = get_pyarrow(), get_pandas()
    if pyarrow is not None and isinstance(column, pyarrow.Array):
        column = chunked(column)
    elif pandas is not None and isinstance(column, pandas.Index | pandas.api.extensions.ExtensionArray):
        column = pandas.Series(column)
    try:
        series: nw.Series[Any] = nw.from_native(column, series_only=True)
    except TypeError:
        return None
    return series


def _plain(array: Any) -> tuple[Array, Holds]:
    """Return an array with None for masked cells, whatever is under the mask, and what all its cells hold by its type."""
    if isinstance(array, np.ma.MaskedArray):
        cells = typed_objects(np.ma.getdata(array).reshape(-1).copy()).reshape(array.shape)
        cells[np.ma.getmaskarray(array)] = None
        return cells, array_holds(array.dtype)
    try:
        cells = np.asarray(array)
    except Exception:
        raise ConfigurationError(
            f"An object of type {type(array).__name__} does not become an array. Pass numpy arrays, lists or a data frame."
        ) from None
    return cells, array_holds(cells.dtype)


def _in_order(found: list[str], parts: list[Any], names: Sequence[str] | None) -> tuple[list[str], list[Any]]:
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
            f"X lacks {_listed(absent)} of the schema, but a record needs a cell of every declared feature. "
            "Add what is missing (empty cells are read as missing), or declare a schema without it."
        )
    if len(found) > len(names):
        declared = set(names)
        extra = [name for name in found if name not in declared]
        them = "it" if len(extra) == 1 else "them"
        raise SchemaError(
            f"X has {_listed(extra)}, which the schema does not declare, so nothing public is known about {them}. "
            f"Drop {them} from X, or declare {them}."
        )
    return list(names), [by_name[name] for name in names]


def _named_twice() -> SchemaError:
    return SchemaError(
        "Two columns of X have the same name (as text), so the schema's feature could be either. Rename or drop one."
    )


def _listed(names: list[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {listed(names)}"


def _no_features() -> ConfigurationError:
    # Shapes are checked before any schema is used. The sentence is scikit-learn's, without the number of rows, which is not
    # public. scikit-learn's checks accept it in this form.
    return ConfigurationError(
        "Found an X with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required. Pass a column per feature."
    )


def _from_rows(X: Any, names: Sequence[str] | None) -> Columns:
    listed = as_list(X)
    columns = _from_array(*_plain(X)) if listed is None else _from_lists(listed, names)
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


def _from_array(X: Cells, holds: Holds) -> Columns:
    if X.dtype.names is not None:
        raise ConfigurationError(
            "X is a structured array, whose elements are whole records, not cells. Pass a mapping of its columns, as "
            "{name: X[name] for name in X.dtype.names}."
        )
    if X.ndim != 2:
        raise _not_a_table(f"X has {X.ndim} dimension{'' if X.ndim == 1 else 's'}")
    matrix = np.full(X.shape, None, dtype=object) if holds == "unreadable" else X
    return Columns([f"x{i}" for i in range(X.shape[1])], X.shape[0], matrix=matrix, holds=holds)


def _from_lists(rows: Sequence[Any], names: Sequence[str] | None) -> Columns:
    """Return a list of rows as columns of objects. There is no common dtype, so no cell changes another."""
    if not rows:
        raise _not_a_table("X is an empty list")
    _refuse_objects(rows)
    width = _common_width(rows) if names is None else len(names)
    rows = [
        row if (type(row) is list or type(row) is tuple) and len(row) == width else _row(row, width) for row in rows
    ]
    parts = [object_array(column, len(rows)) for column in zip(*rows, strict=True)]
    return Columns([f"x{i}" for i in range(width)], len(rows), parts=parts)


def _common_width(rows: Sequence[Any]) -> int:
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
    """Return the cells of a row. All are missing if the row is no list, tuple or array with so many cells."""
    kind, cells = type(row), []
    try:
        if issubclass(kind, np.ndarray):  # element by element: tolist would turn some dates into integers
            cells = list(_plain(row)[0])
        elif issubclass(kind, list):  # by list's own method, because a class derived from it could run code
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


def read_labels(y: Any, entry: Declared | None = None) -> Cells:
    """Return the labels as a 1-D array of cells; errors as in ``label_part``."""
    part = label_part(y, entry)
    return Columns(["y"], len(part), parts=[part]).cells(0)


def label_part(y: Any, entry: Declared | None = None) -> AnyPart:
    """Return the labels as a column, or raise ConfigurationError unless there is one.

    SchemaError if its type cannot hold what ``entry`` declares.
    """
    if y is None:
        raise ConfigurationError(
            "This estimator requires y to be passed, but the target y is None. Pass one label per record."
        )
    part = one_column(y)
    if entry is not None:
        _check_label_type(entry, part_holds(part))
    return part


def one_column(y: Any, what: str = "y") -> AnyPart:
    if isinstance(y, Texts):
        return y
    listed = as_list(y)
    if listed is not None:
        return object_array(listed, len(listed))
    series = as_series(y)
    frame = as_frame(y, what) if series is None else None
    if frame is not None and frame.shape[1] == 1:
        series = next(frame.iter_columns())
    if series is not None:
        return series_part(series)
    cells, holds = _plain(y)
    if frame is not None or cells.ndim not in (1, 2) or (cells.ndim == 2 and cells.shape[1] != 1):
        raise ConfigurationError(
            f"{what} has more than one column, or no dimension, but each record has one cell there. Pass one column; {what} "
            "should be a 1d array."
        )
    return _array_part(cells.reshape(len(cells)), holds)


def check_same_order(X: Any, other: Any, what: str) -> None:
    """Raise ConfigurationError if pandas objects have one index in different orders, because rows are matched by position.

    If one index has a label that the other lacks, they are not compared: one part may have been given a new index.
    """
    pandas = get_pandas()
    if pandas is None or not all(isinstance(given, pandas.DataFrame | pandas.Series) for given in (X, other)):
        return
    rows, cells = X.index, other.index
    if len(rows) != len(cells) or rows.equals(cells) or not (rows.isin(cells).all() and cells.isin(rows).all()):
        return
    raise ConfigurationError(
        f"{what} has the index of X in another order, but records are matched by position, so cells would go to other records. "
        f"Pass {what}.loc[X.index], or {what}.to_numpy() if the positions are right."
    )


def read_records(X: Any, y: Any, features: Mapping[str, Declared], entry: Declared | None) -> tuple[Columns, Cells]:
    """Return at least one record as columns in the order of the features, and one label for each; errors as in both readers."""
    check_same_order(X, y, "y")
    columns, labels = read_columns(X, features, allow_empty=False), read_labels(y, entry)
    if columns.n_rows != len(labels):
        raise ConfigurationError("X and y have different lengths, so labels cannot be matched to records.")
    return columns, labels
