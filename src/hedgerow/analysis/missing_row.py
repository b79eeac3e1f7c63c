"""One record whose cells are all missing, in the container and with the types of given rows: the stand-in for an empty part.

What a fit, a report card or a ledger accepts depends on names and types. If the stand-in had others, whether a part is empty
would decide what is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from narwhals.dependencies import get_pyarrow, is_polars_dataframe, is_polars_series

from hedgerow.schema.cells import object_array

__all__ = ["missing_row"]

# What numpy and pandas write for a missing cell. Other kinds of numpy have no such value: their cells are masked.
ABSENT = {"f": np.nan, "c": np.nan, "M": "NaT", "m": "NaT"}


def missing_row(none: Any) -> Any:
    """Return one row whose cells are all missing, for a table, a column or a list of no rows; None for None.

    No cell that a record has had is in it.
    """
    if none is None:
        return None
    if isinstance(none, Mapping):
        return {name: missing_row(column) for name, column in none.items()}
    if isinstance(none, list):  # a fit reads an item that is not a row as a record without cells
        return [None]
    if isinstance(none, np.ndarray):
        return _of_array(none)
    if is_polars_dataframe(none) or is_polars_series(none):
        return none.clear(1)
    if hasattr(none, "reindex"):
        return _of_pandas(none)
    return _of_arrow(none)


def _of_array(none: npt.NDArray[Any]) -> npt.NDArray[Any]:
    shape, kind = (1, *none.shape[1:]), none.dtype.kind
    if kind == "O":
        return object_array([None], 1) if len(shape) == 1 else np.full(shape, None)
    if kind in ABSENT:
        return np.full(shape, ABSENT[kind], dtype=none.dtype)
    under = np.zeros(
        shape, dtype=none.dtype
    )  # what a program sees that ignores the mask: a number that no schema declares
    if kind in "iu":
        under[:] = np.iinfo(none.dtype).min if kind == "i" else np.iinfo(none.dtype).max
    return np.ma.masked_array(under, mask=True)


def _of_pandas(none: Any) -> Any:
    """Return a row of a frame or series of pandas; integers and truth values get its nullable type of the same size."""
    by_name = {name: _nullable(kind) for name, kind in none.dtypes.items()} if none.ndim == 2 else _nullable(none.dtype)
    index = none.index
    if index.nlevels > 1:
        label: Any = (np.nan,) * index.nlevels
    else:
        label = index.dtype.type(0) if _is_whole(index.dtype) else np.nan
    return none.astype(by_name).reindex(index.insert(0, label))


def _is_whole(kind: Any) -> bool:
    return isinstance(kind, np.dtype) and kind.kind in "iub"


def _nullable(kind: Any) -> Any:
    if not _is_whole(kind):
        return kind
    return "boolean" if kind.kind == "b" else kind.name.replace("int", "Int").replace("uI", "UI")


def _of_arrow(none: Any) -> Any:
    """Return a row of a table or a column of pyarrow."""
    pyarrow = get_pyarrow()
    if not hasattr(none, "schema"):
        return pyarrow.chunked_array([pyarrow.nulls(1, none.type)])
    return pyarrow.Table.from_arrays([pyarrow.nulls(1, one.type) for one in none.schema], schema=none.schema)
