"""Divide records at random into a training part and a test part, and nobody has records in both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from narwhals.dependencies import get_pyarrow, is_into_dataframe, is_into_series, is_polars_dataframe, is_polars_series

from hedgerow.arrays import without_sizes
from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError, shown
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import RandomSource
from hedgerow.reading.cells import object_array
from hedgerow.reading.columns import as_list, as_native, check_same_order, read_columns, read_labels
from hedgerow.reading.persons import person_ids, read_groups, split_groups
from hedgerow.reading.text_cells import Texts
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
        shape, kind = (1, *none.shape[1:]), none.dtype.kind
        if kind == "O":
            return object_array([None], 1) if len(shape) == 1 else np.full(shape, None)
        if kind in ABSENT:
            return np.full(shape, ABSENT[kind], dtype=none.dtype)
        # What a program sees that ignores the mask is a number that no schema declares.
        under = np.zeros(shape, dtype=none.dtype)
        if kind in "iu":
            under[:] = np.iinfo(none.dtype).min if kind == "i" else np.iinfo(none.dtype).max
        return np.ma.masked_array(under, mask=True)
    if isinstance(none, Texts):
        absent = np.array([-1])
        return Texts(np.empty(0, dtype=np.uint8), absent, absent, none.decode)
    if is_polars_dataframe(none) or is_polars_series(none):
        return none.clear(1)
    if hasattr(none, "reindex"):  # pandas
        by_name = (
            {name: _nullable(kind) for name, kind in none.dtypes.items()} if none.ndim == 2 else _nullable(none.dtype)
        )
        index = none.index
        label: Any = np.nan if _nullable(index.dtype) is index.dtype else index.dtype.type(0)
        label = (np.nan,) * index.nlevels if index.nlevels > 1 else label
        return none.astype(by_name).reindex(index.insert(0, label))
    pyarrow = get_pyarrow()
    if not hasattr(none, "schema"):
        return pyarrow.chunked_array([pyarrow.nulls(1, none.type)])
    return pyarrow.Table.from_arrays([pyarrow.nulls(1, one.type) for one in none.schema], schema=none.schema)


def _nullable(kind: Any) -> Any:
    """Return pandas' nullable type of the same size for integers and truth values, and other types as they are."""
    if not isinstance(kind, np.dtype) or kind.kind not in "iub":
        return kind
    return "boolean" if kind.kind == "b" else kind.name.replace("int", "Int").replace("uI", "UI")


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
    if isinstance(X, Records):
        raise ConfigurationError(
            "hr.Records are not in memory, so they are not divided; pass a frame, or a mapping of columns."
        )
    X, y, groups = map(_read_once, (X, y, groups))
    check_same_order(X, y, "y")
    check_same_order(X, groups, "groups")
    features, ids = split_groups(X, groups, None if schema is None else schema.person)
    rows = len(features) if isinstance(features, list | tuple) else read_columns(features).n_rows
    if len(read_labels(y)) != rows:
        raise ConfigurationError("X and y have different lengths, so labels cannot be matched to records.")
    randomness = Randomness(random_state)
    missing, person = ((), None) if schema is None else (schema.missing, schema.person)
    told, words = read_groups(ids, rows, missing, person), randomness.random_bits()
    coins: npt.NDArray[np.uint64] = words.of(0, rows)
    known: Mask = np.ones(rows, dtype=np.bool_)
    if told is not None:
        assert told.cells is not None
        keys = person_ids(told.cells, words.key, told.missing)  # a keyed function of the id; each split has its own key
        coins, known = keys[:, 0], np.asarray(keys.any(axis=1), dtype=np.bool_)
    tested: Mask = coins < np.uint64(int(share * 2**64))
    given = (X, y, groups)
    (X_train, y_train, groups_train), (X_test, y_test, groups_test) = (
        [rows_of(one, part) if part.any() else missing_row(rows_of(one, part)) for one in given]
        for part in (known & ~tested, known & tested)
    )
    return HeldOut(X_train, X_test, y_train, y_test, groups_train, groups_test)


def _read_once(given: Any) -> Any:
    """Return a table that only has the Arrow interface as pyarrow's: its query may order records anew when it runs again."""
    kept = getattr(get_pyarrow(), "RecordBatch", ())
    if (
        not hasattr(given, "__arrow_c_stream__")
        or is_into_dataframe(given)
        or is_into_series(given)
        or isinstance(given, kept)
    ):
        return given
    found = as_native(given, "X, y or groups")
    return given if found is None else found.to_native()


def rows_of(given: Any, chosen: Mask) -> Any:
    if given is None:
        return None
    if isinstance(given, Mapping):
        return {name: rows_of(column, chosen) for name, column in given.items()}
    listed = as_list(given)  # numpy would convert all cells to one common type
    if listed is not None:
        return [row for row, is_chosen in zip(listed, chosen, strict=True) if is_chosen]
    if isinstance(given, Texts):
        return given[chosen]
    table: Any = as_native(given, "X")
    if table is not None:  # narwhals needs a row to filter by
        return (table.filter(chosen.tolist()) if len(chosen) else table).to_native()
    return np.asanyarray(given)[chosen]
