"""Divide records at random into a training part and a test part, and nobody has records in both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.dependencies import get_pyarrow, is_polars_dataframe, is_polars_series

from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError, shown, without_sizes
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import RandomSource
from hedgerow.reading.cells import object_array
from hedgerow.reading.columns import as_frame, as_list, as_series, check_same_order, read_columns, read_labels
from hedgerow.reading.persons import person_ids, read_groups, split_groups
from hedgerow.schema import Schema

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
    pyarrow = get_pyarrow()
    if not hasattr(none, "schema"):
        return pyarrow.chunked_array([pyarrow.nulls(1, none.type)])
    return pyarrow.Table.from_arrays([pyarrow.nulls(1, one.type) for one in none.schema], schema=none.schema)


Mask = npt.NDArray[np.bool_]


class HeldOut(NamedTuple):
    """The two parts, in the order of scikit-learn's ``train_test_split``. Groups are None if none were passed.

    Examples
    --------
    >>> import hedgerow as hr
    >>> parts = hr.hold_out([[1.0], [2.0], [3.0]], ["no", "yes", "no"], share=0.5, random_state=0)
    >>> len(parts.X_train) + len(parts.X_test)
    3
    """

    X_train: Any
    X_test: Any
    y_train: Any
    y_test: Any
    groups_train: Any = None
    groups_test: Any = None

    def __repr__(self) -> str:
        """Return the names of the parts, and nothing that they hold."""
        return f"<HeldOut: {', '.join(name for name in self._fields if getattr(self, name) is not None)}>"


@without_sizes()
def hold_out(
    X: Any,
    y: Any,
    share: float = 0.25,
    *,
    schema: Schema | None = None,
    groups: Any = None,
    random_state: RandomSource = None,
) -> HeldOut:
    """Divide records at random into a training part and a test part, by person where a column identifies persons.

    Each person (or each record, if there are no person ids) is in the test part with probability ``share``, independently of all
    others. So adding or removing a person moves nobody else. A fit on the training part and a report card on the test part
    together cost each person the larger of the two epsilons, not the sum (docs/proofs/persons.md). Records without an id are in
    neither part.

    Parameters
    ----------
    X : data frame (pandas, polars, pyarrow), mapping of columns, array of shape (n_samples, n_features) or list of rows
        The records, in memory.
    y : sequence of length n_samples
        Their labels.
    share : float, default 0.25
        The expected share of the test part, above 0 and below 1.
    schema : Schema, optional
        If it names a column of X as ``person``, that column holds the person ids. It is kept in both parts.
    groups : sequence of length n_samples, optional
        The person of each record, if no column of X holds it.
    random_state : None, int or numpy generator
        None draws from the operating system's entropy, which a guarantee requires. Other values are for tests.

    Returns
    -------
    HeldOut
        A named tuple ``X_train, X_test, y_train, y_test, groups_train, groups_test``. An empty part is returned as one record
        whose cells, label and id are missing, which fits and report cards ignore. An error would reveal that it is empty. Its
        container, names and types are those of X, y and groups, so that a fit or a ledger treats it as any other part. numpy's
        integers and truth values have no missing value, so they are masked; those of pandas get its nullable type.

    Raises
    ------
    ConfigurationError
        If ``share`` is not between 0 and 1, or X, y and groups are not in memory or differ in length.

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = {"age": [30, 40, 50, 60], "patient": ["S-01", "S-01", "S-02", "S-03"]}
    >>> schema = hr.Schema({"age": hr.Numeric(0, 120)}, classes=["no", "yes"], person="patient", records_per_person=2)
    >>> parts = hr.hold_out(people, ["no", "yes", "no", "no"], share=0.5, schema=schema, random_state=1)
    >>> bool(set(parts.X_train["patient"]) & set(parts.X_test["patient"]))
    False
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise ConfigurationError(
            f"share is {shown(share)}, but it is the share of the test part; pass a number such as 0.25."
        )
    if schema is not None and not isinstance(schema, Schema):
        raise ConfigurationError(
            f"schema is {shown(schema)}, but it must be an hr.Schema; hr.Schema.load(path) reads one."
        )
    if isinstance(X, Records):
        raise ConfigurationError(
            "hr.Records are not in memory, so they are not divided; pass a frame, or a mapping of columns."
        )
    check_same_order(X, y, "y")
    check_same_order(X, groups, "groups")
    features, ids = split_groups(X, groups, None if schema is None else schema.person)
    rows = len(features) if isinstance(features, list | tuple) else read_columns(features).n_rows
    if len(read_labels(y)) != rows:
        raise ConfigurationError("X and y have different lengths, so labels cannot be matched to records.")
    train, test = _parts(ids, rows, share, schema, Randomness(random_state))
    (X_train, y_train, groups_train), (X_test, y_test, groups_test) = (
        _part(X, y, groups, part) for part in (train, test)
    )
    return HeldOut(X_train, X_test, y_train, y_test, groups_train, groups_test)


def _part(X: Any, y: Any, groups: Any, chosen: Mask) -> tuple[Any, Any, Any]:
    parts = (rows_of(X, chosen), rows_of(y, chosen), rows_of(groups, chosen))
    return parts if chosen.any() else tuple(map(missing_row, parts))


def _parts(groups: Any, rows: int, share: float, schema: Schema | None, randomness: Randomness) -> tuple[Mask, Mask]:
    """Return which records are in the training part and which in the test part. Records without an id are in neither."""
    missing, person = ((), None) if schema is None else (schema.missing, schema.person)
    told, words = read_groups(groups, rows, missing, person), randomness.random_bits()
    coins: npt.NDArray[np.uint64] = words.of(0, rows)
    known: Mask = np.ones(rows, dtype=np.bool_)
    if told is not None:
        assert told.cells is not None
        ids = person_ids(told.cells, words.key, told.missing)  # a keyed function of the id; each split has its own key
        coins, known = ids[:, 0], np.asarray(ids.any(axis=1), dtype=np.bool_)
    tested: Mask = coins < np.uint64(int(share * 2**64))
    return known & ~tested, known & tested


def rows_of(given: Any, chosen: Mask) -> Any:
    """Return the chosen rows of a table, a column or a list, in a container of the same type."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        return {name: rows_of(column, chosen) for name, column in given.items()}
    column = as_part_of_table(given)
    if isinstance(column, list | tuple):
        return [row for row, is_chosen in zip(column, chosen, strict=True) if is_chosen]
    if isinstance(column, nw.DataFrame | nw.Series):
        return (
            column.filter(chosen.tolist()) if len(chosen) else column
        ).to_native()  # narwhals needs a row to filter by
    rows: Any = np.asanyarray(column)[chosen]
    return rows


def as_part_of_table(given: Any) -> Any:
    """Return rows or cells as a list, or as a frame or series of narwhals. numpy would convert all cells to one common type."""
    listed = as_list(given)
    if listed is not None:
        return listed
    for read in (lambda: as_frame(given, "X"), lambda: as_series(given)):
        table = read()
        if table is not None:
            return table
    return given
