"""One view of records as named columns, whatever table they come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.schema.cells import MACHINE_NUMBERS, Cells, object_array

__all__ = ["Columns", "read_columns", "read_labels"]

# These numbers have no machine type; as Python objects they keep their values.
WIDE_NUMBERS = (nw.Decimal, nw.Int128, nw.UInt128)
ARRAY_KINDS = MACHINE_NUMBERS + "cO"


class SeriesPart:
    """One series of a data frame; how its cells are read is settled once, from its type."""

    def __init__(self, series: nw.Series[Any]) -> None:
        dtype = series.dtype
        if dtype == nw.Categorical and series.implementation.is_pyarrow():
            # Decoded first: narwhals loses the nulls of a dictionary array in to_numpy, and to_list takes a second.
            native = series.to_native()
            series = nw.from_native(native.cast(native.type.value_type), series_only=True)
            dtype = series.dtype
        self._series = series
        self.is_machine = bool(dtype.is_numeric()) and not isinstance(dtype, WIDE_NUMBERS)
        # Text goes through Python objects: a fixed-width array would be as wide as one record's longest text.
        self._as_array = self.is_machine or dtype == nw.Boolean

    def __len__(self) -> int:
        return len(self._series)

    def cells(self, start: int, stop: int) -> Cells:
        """Return some cells as machine numbers or as Python objects."""
        series = self._series
        if start > 0 or stop < len(series):
            series = series[start:stop]
        return series.to_numpy() if self._as_array else object_array(series.to_list(), len(series))


Part = Cells | SeriesPart


def _series_part(series: nw.Series[Any]) -> Part:
    """Return a series for reading; a pandas column that is a numpy array inside, as that array."""
    if series.implementation.is_pandas():
        native = series.to_native()
        if isinstance(native.dtype, np.dtype) and native.dtype.kind in ARRAY_KINDS:
            array: Cells = native.to_numpy()
            return array
    return SeriesPart(series)


class Columns:
    """Records as columns in the order of ``names``; nothing is copied before a block of cells is asked for.

    Either ``matrix`` holds all cells (a 2-D array), or ``parts`` holds one series or 1-D array per column.
    """

    def __init__(
        self, names: Sequence[str], n_rows: int, *, matrix: Cells | None = None, parts: Sequence[Part] = ()
    ) -> None:
        self.names = tuple(names)
        self.n_rows = n_rows
        self.matrix = matrix
        self.parts = tuple(parts)

    def cells(self, column: int, start: int = 0, stop: int | None = None) -> Cells:
        """Return the cells of one column from row ``start`` up to ``stop``."""
        stop = self.n_rows if stop is None else stop
        if self.matrix is not None:
            return self.matrix[start:stop, column]
        part = self.parts[column]
        return part[start:stop] if isinstance(part, np.ndarray) else part.cells(start, stop)

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
        list of rows (matched by position).
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
    order, series = _in_order([str(one.name) for one in series], series, names)
    return Columns(order, len(frame), parts=[_series_part(one) for one in series])


def _from_mapping(X: Mapping[Any, Any], names: Sequence[str] | None) -> Columns:
    parts = [_as_part(column) for column in X.values()]
    lengths = {len(part) for part in parts}
    if len(lengths) > 1:
        raise ConfigurationError(
            f"The columns of X have the lengths {sorted(lengths)}, so they do not form records. Pass equal lengths."
        )
    order, parts = _in_order([str(name) for name in X], parts, names)
    return Columns(order, max(lengths, default=0), parts=parts)


def _as_part(column: Any) -> Part:
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
    try:
        series: nw.Series[Any] = nw.from_native(column, series_only=True)
    except TypeError:
        return None
    return series


def _plain(array: Any) -> Cells:
    """Return an array whose masked cells are None, whatever lies beneath the mask."""
    if hasattr(array, "to_pylist"):  # pyarrow arrays lose the nulls of a dictionary on the way to numpy
        array = array.to_pylist()
        return object_array(array, len(array))
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(object), None)
    return np.asarray(array)


def _in_order(found: list[str], parts: list[Any], names: Sequence[str] | None) -> tuple[list[str], list[Any]]:
    """Return the columns in the schema's order, after checking that they are the schema's."""
    by_name = dict(zip(found, parts, strict=True))
    if len(by_name) < len(found):
        raise _named_twice()
    if not found:
        raise _no_features(0)
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


def _no_features(n_rows: int) -> ConfigurationError:
    return ConfigurationError(
        f"Found an X with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required. Pass a column per feature."
    )


def _from_rows(X: Any, names: Sequence[str] | None) -> Columns:
    columns = _from_lists(X) if isinstance(X, list | tuple) else _from_array(_plain(X))
    if not columns.names:
        raise _no_features(columns.n_rows)
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


def _from_lists(rows: Sequence[Any]) -> Columns:
    """Return a list of rows as columns of objects: no common dtype is sought, so no cell changes another."""
    if not rows:
        raise _not_a_table("X is an empty list")
    if not all(isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim) for row in rows):
        raise _not_a_table("X is a list of cells or of rows of an unknown type")
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise ConfigurationError(
            f"The rows of X have the lengths {sorted(widths)}, but each record has one cell per feature. "
            "Fill what is missing with None."
        )
    parts = [object_array(column, len(rows)) for column in zip(*rows, strict=True)]
    return Columns([f"x{i}" for i in range(len(parts))], len(rows), parts=parts)


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
            f"y has the shape {cells.shape}, but each record has one label. Pass one column of labels; y should be a "
            "1d array."
        )
    return cells
