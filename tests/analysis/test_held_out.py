"""Records divided at random into a part to fit on and one to evaluate on: whole persons, and nobody in both."""

from __future__ import annotations

import math
from collections import UserList
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Geometric
from hedgerow.reading.cells import object_array
from hedgerow.reading.columns import read_columns, read_labels
from hedgerow.reading.text_cells import joined

SCHEMA = hr.Schema(
    {"row": hr.Numeric(0, 1000)},
    classes=["no", "yes"],
    target="ill",
    person="who",
    records_per_person=2,
    missing=["-1"],
)
BY_ROW = hr.Schema({"row": hr.Numeric(0, 1000)}, classes=["no", "yes"])


def visits(persons=200, seed=0):
    """Records of persons who come up to five times, in random order, some without an id."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(persons), rng.integers(1, 6, persons))
    rng.shuffle(who)
    ids = np.array([f"S-{one:03d}" for one in who], dtype=object)
    ids[::17] = "NA"
    ids[3::29] = "-1"
    return {"row": np.arange(len(ids)), "who": ids}, np.where(rng.random(len(ids)) < 0.5, "yes", "no")


def rows(part):
    return np.asarray(part["row"]).tolist()


def test_nobody_is_in_both_parts_and_records_of_nobody_are_in_neither():
    X, y = visits()
    for seed in range(20):
        parts = hr.hold_out(X, y, 0.4, schema=SCHEMA, random_state=seed)
        train, test = set(parts.X_train["who"]), set(parts.X_test["who"])
        assert not train & test
        assert train | test == set(X["who"]) - {"NA", "-1"}
        for part, labels in ((parts.X_train, parts.y_train), (parts.X_test, parts.y_test)):
            assert rows(part) == [row for row, who in enumerate(X["who"]) if who in set(part["who"])]
            assert labels.tolist() == y[rows(part)].tolist()


def test_ids_are_persons_as_a_fit_reads_them():
    """ "1.1" and "1.10" are two persons with a coin each; 7 and "7" are one."""
    apart = together = 0
    for seed in range(60):
        ids = object_array(["1.1", "1.10", 7, "7"], 4)
        parts = hr.hold_out({"row": np.arange(4)}, ["no"] * 4, 0.5, groups=ids, random_state=seed)
        held = {place in rows(parts.X_test) for place in (0, 1)}
        apart += len(held) == 2
        together += (2 in rows(parts.X_test)) == (3 in rows(parts.X_test))
    assert 10 < apart < 50
    assert together == 60


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("by_person", [True, False])
def test_each_person_is_held_out_with_the_share_as_probability(share, by_person):
    count = 40_000
    groups = [f"p{i}" for i in range(count)] if by_person else None
    found = len(hr.hold_out({"row": np.arange(count)}, ["no"] * count, share, groups=groups).y_test)
    error = math.sqrt(count * share * (1 - share))
    assert abs(found - count * share) < 6 * error
    assert abs(found - count * (share + 0.04)) > 6 * error


def test_every_split_draws_anew():
    X, y = visits()
    found = {tuple(rows(hr.hold_out(X, y, 0.5, schema=SCHEMA).X_test)) for _ in range(3)}
    assert len(found) == 3


def test_a_seeded_split_is_the_same_in_every_version():
    given = {"row": np.arange(40)}, ["no"] * 40, 0.3
    assert rows(hr.hold_out(*given, random_state=1).X_test) == [3, 8, 24, 26, 32, 35, 36, 38]
    persons = [f"S-{row // 4}" for row in range(40)]
    assert {row // 4 for row in rows(hr.hold_out(*given, groups=persons, random_state=1).X_test)} == {2, 3, 4, 5, 8}


@pytest.mark.parametrize("by_person", [True, False])
def test_one_person_more_moves_nobody_else(by_person):
    X, y = visits()
    fewer = hr.hold_out(X, y, 0.3, schema=SCHEMA if by_person else None, random_state=1)
    more = {name: np.append(cells, [cells[0]]) for name, cells in X.items()}
    more["row"][-1], more["who"][-1] = -7, "new"
    again = hr.hold_out(more, np.append(y, "no"), 0.3, schema=SCHEMA if by_person else None, random_state=1)
    for before, after in ((fewer.X_train, again.X_train), (fewer.X_test, again.X_test)):
        assert rows(before) == [row for row in rows(after) if row != -7]


@pytest.mark.parametrize(
    "kind",
    [pd.DataFrame, pl.DataFrame, pa.table, lambda X: {name: list(column) for name, column in X.items()}],
    ids=["pandas", "polars", "pyarrow", "lists"],
)
def test_every_container_is_divided_alike_and_stays_what_it_is(kind):
    X, y = visits()
    expected = hr.hold_out(X, y, 0.3, schema=SCHEMA, random_state=2)
    given = kind(X)
    found = hr.hold_out(given, pd.Series(y), 0.3, schema=SCHEMA, random_state=2)
    for part, same in ((found.X_train, expected.X_train), (found.X_test, expected.X_test)):
        assert type(part) is type(given)
        assert rows(part) == rows(same)
    assert found.y_test.tolist() == expected.y_test.tolist()
    assert found.groups_train is found.groups_test is None


def test_arrays_and_groups_are_divided_together():
    X, y = visits()
    array = X["row"].reshape(-1, 1)
    parts = hr.hold_out(array, y.tolist(), 0.3, groups=pd.Series(X["who"]), random_state=2)
    assert parts.X_test.shape == (len(parts.y_test), 1)
    assert X["who"][parts.X_test[:, 0]].tolist() == parts.groups_test.tolist()
    assert isinstance(parts.y_train, list)


@pytest.mark.parametrize("schema", [SCHEMA, BY_ROW])
@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
def test_an_empty_part_is_one_record_whose_cells_are_missing(schema, kind):
    """An error would tell that it is empty, and a record of somebody would be in both parts; a fit leaves it out."""
    X, y = {"row": [1, 2], "who": ["a", "a"]}, ["no", "yes"]
    X = kind(X if schema is SCHEMA else {"row": X["row"]})
    for share in (1e-12, 1 - 1e-12):
        parts = hr.hold_out(X, y, share, schema=schema)
        empty = (parts.X_test, parts.y_test) if share < 0.5 else (parts.X_train, parts.y_train)
        assert {name: pd.isna(list(cells)).tolist() for name, cells in empty[0].items()} == {name: [True] for name in X}
        assert empty[1] == [None]
        model = hr.EDPRFClassifier(schema=schema).fit(parts.X_train, parts.y_train)
        assert model.certificate_.holds
        assert hr.evaluate(model, parts.X_test, parts.y_test, epsilon=1).certificate_.holds


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_no_record_at_all_gives_two_empty_parts(kind):
    parts = hr.hold_out(kind({"row": np.array([], dtype=np.int64)}), [], schema=BY_ROW)
    assert [len(parts.y_train), len(parts.y_test)] == [1, 1]
    assert type(parts.X_train) is kind or kind is pa.table


@pytest.mark.parametrize("X", [[[1.0], [2.0]], np.array([[1.0], [2.0]])])
def test_an_empty_part_of_rows_without_names_can_be_fitted(X):
    parts = hr.hold_out(X, ["no", "yes"], 1e-12, groups=["a", "b"])
    assert parts.groups_test == parts.y_test == [None]
    assert (
        hr.EDPRFClassifier(schema=BY_ROW).fit(parts.X_test, parts.y_test, groups=parts.groups_test).certificate_.holds
    )


DATES = np.array(["2024-01-01", "2024-01-02"], "M8[D]")
COLUMNS = {
    "integers": np.array([7, 8]),
    "small integers": np.array([7, 8], "u1"),
    "truth values": np.array([True, False]),
    "floats": np.array([7.0, 8.0], "f4"),
    "texts": np.array(["a", "b"]),
    "bytes": np.array([b"a", b"b"]),
    "objects": np.array(["a", 8], object),
    "dates": DATES,
    "masked": np.ma.masked_array([7, 8], [False, True]),
    "rows": np.array([[7, 8], [9, 10]]),
    "pandas integers": pd.Series([7, 8], name="who"),
    "pandas small integers": pd.Series([7, 8], dtype="u1", name="who"),
    "pandas truth values": pd.Series([True, False], name="who"),
    "pandas floats": pd.Series([7.0, 8.0], name="who"),
    "pandas texts": pd.Series(["a", "b"], name="who"),
    "pandas objects": pd.Series(["a", 8], name="who", dtype=object),
    "pandas dates": pd.Series(DATES, name="who"),
    "pandas nullable": pd.Series([7, 8], dtype="Int64", name="who"),
    "pandas categories": pd.Series(["a", "b"], dtype="category", name="who"),
    "pandas on pyarrow": pd.Series([7, 8], dtype="int64[pyarrow]", name="who"),
    "pandas by text": pd.Series([7, 8], index=pd.Index(["p", "q"], name="key"), name="who"),
    "pandas by date": pd.Series([7, 8], index=pd.DatetimeIndex(DATES, name="key"), name="who"),
    "pandas by small integers": pd.Series([7, 8], index=pd.Index(np.array([1, 2], "u1")), name="who"),
    "pandas by pairs": pd.Series([7, 8], index=pd.MultiIndex.from_tuples([(1, "p"), (2, "q")]), name="who"),
    "pandas index": pd.Index([7, 8], name="who"),
    "texts of a file": joined(["a", "b"]),
    "pandas array": pd.array([7, 8], dtype="Int64"),
    "polars integers": pl.Series("who", [7, 8]),
    "polars texts": pl.Series("who", ["a", "b"]),
    "pyarrow integers": pa.array([7, 8]),
    "pyarrow chunks": pa.chunked_array([["a"], ["b"]]),
    "list": [7, 8],
    "named list": {"who": [7, 8]},
    "named array": {"who": np.array([7, 8])},
    "pandas frame": pd.DataFrame({"who": [7, 8], "name": ["a", "b"]}),
    "polars frame": pl.DataFrame({"who": [7, 8], "name": ["a", "b"]}),
    "pyarrow table": pa.table({"who": [7, 8], "name": pa.array(["a", "b"]).dictionary_encode()}),
    "pyarrow batch": pa.record_batch({"who": [7, 8]}),
}
NULLABLE = {"int64": "Int64", "uint8": "UInt8", "bool": "boolean"}  # pandas' own integers have no missing value


def facts(given):
    """Return what fits, cards and ledgers can depend on without reading a cell."""
    if isinstance(given, dict):
        return {name: facts(column) for name, column in given.items()}
    if isinstance(given, np.ndarray):
        return np.ndarray, given.dtype, given.shape[1:]
    if isinstance(given, pd.DataFrame):
        return pd.DataFrame, list(given.columns), [NULLABLE.get(str(one), str(one)) for one in given.dtypes]
    if isinstance(given, pd.Series):
        index = given.index
        kind = NULLABLE.get(str(given.dtype), str(given.dtype))
        return pd.Series, given.name, kind, isinstance(index, pd.MultiIndex), index.dtype, index.names
    if isinstance(given, pl.DataFrame | pa.Table):
        return type(given), given.schema
    return type(given), getattr(given, "name", None), getattr(given, "dtype", getattr(given, "type", None))


def read(given):
    """Return the cells of rows of any kind, as the library reads them."""
    if isinstance(given, pd.DataFrame | pl.DataFrame | pa.Table) or getattr(given, "ndim", 1) == 2:
        columns = read_columns(given)
        return [cell for place in range(len(columns.names)) for cell in columns.cells(place)]
    return list(read_labels(next(iter(given.values())) if isinstance(given, dict) else given))


@pytest.mark.filterwarnings("ignore:groups is a column of floating-point numbers")
@pytest.mark.parametrize("name", COLUMNS)
def test_an_empty_part_has_the_container_names_and_types_of_any_other(name):
    """As X, as y, or as groups: what is refused must not depend on whether a part is empty."""
    given = COLUMNS[name]
    is_table = isinstance(given, pd.DataFrame | pl.DataFrame | pa.Table | pa.RecordBatch | dict)
    for share in (1e-12, 1 - 1e-12):
        X = given if is_table or getattr(given, "ndim", 1) == 2 else {"row": given}
        parts = hr.hold_out(X, ["no", "yes"], share)
        full, empty = (parts.X_train, parts.X_test) if share < 0.5 else (parts.X_test, parts.X_train)
        assert facts(full) == facts(empty)
        assert pd.isna(read(empty)).all()
        if is_table and not isinstance(given, dict):
            continue
        parts = hr.hold_out(
            {"row": [1, 2]}, ["no", "yes"], share, groups=None if X is given and not is_table else given
        )
        full, empty = (parts.groups_train, parts.groups_test)[:: 1 if share < 0.5 else -1]
        if full is not None:
            assert facts(full) == facts(empty)
            assert pd.isna(read(empty)).tolist() == [True]
        if X is not given:
            parts = hr.hold_out({"row": [1, 2]}, given, share)
            full, empty = (parts.y_train, parts.y_test)[:: 1 if share < 0.5 else -1]
            assert facts(full) == facts(empty)


def test_numbers_under_a_mask_are_no_class():
    """A program that ignores the mask, as scikit-learn's encoders do, must not see a declared class in an empty part."""
    parts = hr.hold_out({"row": [1, 2]}, np.array([0, 1]), 1e-12)
    assert np.asarray(parts.y_test).tolist() == [np.iinfo(np.int64).min]


def ledger_refuses(groups, seed):
    """Return whether a ledger by person refuses a fit on either part, and whether a part is empty."""
    parts = hr.hold_out({"row": [1, 2]}, ["no", "yes"], 0.5, groups=groups, random_state=seed)
    schema = hr.Schema({"row": hr.Numeric(0, 10)}, classes=["no", "yes"])
    ledger, refused = hr.Ledger(epsilon=9, person="who"), []
    for X, y, ids in (
        ({"row": [1]}, ["no"], pd.Series([5], name="who")),
        (parts.X_train, parts.y_train, parts.groups_train),
        (parts.X_test, parts.y_test, parts.groups_test),
    ):
        model = hr.EDPRFClassifier(schema=schema, ledger=ledger, random_state=0, n_estimators=1, max_depth=1)
        try:
            model.fit(X, y, groups=ids)
        except hr.BudgetExceeded:
            refused.append(True)
    return bool(refused), any(pd.isna(read(ids)).all() for ids in (parts.groups_train, parts.groups_test))


@pytest.mark.parametrize(
    "groups",
    [
        pd.Series([1, 2], name="who"),
        pl.Series("who", [1, 2]),
        pd.DataFrame({"who": [1, 2]}),
        pl.DataFrame({"who": ["a", "b"]}),
        pa.table({"who": [1, 2]}),
        {"who": [1, 2]},
        {"who": np.array([1, 2])},
    ],
    ids=lambda groups: f"{type(groups).__module__.split('.')[0]} {type(groups).__name__}",
)
def test_a_ledger_by_person_does_not_tell_whether_a_part_is_empty(groups):
    found = [ledger_refuses(groups, seed) for seed in range(12)]
    assert {is_empty for _, is_empty in found} == {True, False}
    assert not any(refuses for refuses, _ in found)


BIG_IDS = [2**60 + 7 * i for i in range(40)]


@pytest.mark.parametrize(
    "column",
    [
        lambda cells: pd.Series(cells, dtype="Int64"),
        lambda cells: pd.Index(cells, dtype="Int64"),
        lambda cells: pa.array(cells, pa.int64()),
        lambda cells: pl.Series(cells, dtype=pl.Int64),
        lambda cells: UserList(cells),
    ],
)
@pytest.mark.parametrize("in_table", [True, False])
def test_one_missing_id_changes_no_other_persons_id(column, in_table):
    """numpy would make floats of all cells, in which large ids are lost."""

    def held(cells):
        X = {"row": np.arange(len(cells))} | ({"who": column(cells)} if in_table else {})
        given = {} if in_table else {"groups": column(cells)}
        parts = hr.hold_out(X, ["no"] * len(cells), 0.5, schema=SCHEMA, random_state=1, **given)
        who = parts.X_test["who"] if in_table else parts.groups_test
        model = hr.EDPRFClassifier(epsilon=1000, schema=SCHEMA, random_state=0)
        model.fit(parts.X_test, parts.y_test, **({} if in_table else {"groups": who}))
        return rows(parts.X_test), {int(one) for one in who}

    assert held([*BIG_IDS, None]) == held(BIG_IDS)


def test_an_odd_row_stops_nothing():
    for odd in ([0.3], None, {}, [1, 2, 3], "text"):
        parts = hr.hold_out([[0.1, 0.2]] * 20 + [odd], ["no"] * 21, 0.5, random_state=1)
        assert len(parts.X_train) + len(parts.X_test) == 21


def loss(shares, epsilon):
    """Return the exact loss of noisy counts of both parts, when a person is sent to them as ``shares`` says.

    Each count has two-sided geometric noise for a person of two records; ``shares`` are the records of the person that count in
    the training part and in the test part, with how often that happens.
    """
    grid = np.arange(-40, 41)
    law = Geometric(epsilon / 2).law
    without = np.outer(*[[law(0, int(count)) for count in grid]] * 2)
    total = sum(shares.values())
    with_person = sum(
        times / total * np.outer([law(a, int(count)) for count in grid], [law(b, int(count)) for count in grid])
        for (a, b), times in shares.items()
    )
    return float(np.abs(np.log(with_person / without)).max())


def counted(schema, groups):
    """Return how many of a person's four records count in either part, two at most, and how often in many splits."""
    found = {}
    for seed in range(300):
        X = {"row": [1, 2, 3, 4], "who": ["a"] * 4} if schema is SCHEMA else {"row": [1, 2, 3, 4]}
        parts = hr.hold_out(X, ["no"] * 4, 0.5, schema=schema, groups=groups, random_state=seed)
        sizes = [sum(label is not None for label in labels) for labels in (parts.y_train, parts.y_test)]
        key = tuple(min(2, size) for size in sizes)
        found[key] = found.get(key, 0) + 1
    return found


def test_a_person_pays_for_one_part():
    """The planted bug sends each record by itself: then a person of four records counts twice in both parts."""
    epsilon = Fraction(1)
    by_person = counted(SCHEMA, None)
    assert set(by_person) == {(2, 0), (0, 2)}
    assert loss(by_person, epsilon) <= 1 + 1e-9
    assert loss(counted(BY_ROW, None), epsilon) > 1.4


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan"), "half", True])
def test_a_wrong_share_is_refused(share):
    with pytest.raises(ConfigurationError, match="share"):
        hr.hold_out({"row": [1]}, ["no"], share)


def test_records_that_cannot_be_divided_are_refused():
    X, y = visits()
    for given, words in (
        ((hr.Records.from_batches([X]), None), "not in memory"),
        ((X, y[:-1]), "different lengths"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            hr.hold_out(*given)
    with pytest.raises(ConfigurationError, match="groups must be left out"):
        hr.hold_out(X, y, schema=SCHEMA, groups=X["who"])
    with pytest.raises(ConfigurationError, match="'who' tells persons apart"):
        hr.hold_out({"row": X["row"]}, y, schema=SCHEMA, groups=pd.Series(X["who"], name="other"))
    with pytest.raises(ConfigurationError, match="has no such column"):
        hr.hold_out({"row": X["row"]}, y, schema=SCHEMA)


class Query:
    """A table that only has the Arrow interface, and gives its records in another order each time."""

    def __init__(self):
        self.runs = 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.runs += 1
        order = np.random.default_rng(self.runs).permutation(300)
        table = pa.table({"age": order.astype(float), "id": [f"p{one}" for one in order]})
        return table.__arrow_c_stream__(requested_schema)


def test_a_query_is_run_once():
    """Otherwise a person could be in both parts."""
    query = Query()
    schema = hr.Schema({"age": hr.Numeric(0, 300)}, classes=["no", "yes"], person="id")
    parts = hr.hold_out(query, ["no"] * 300, share=0.5, schema=schema, random_state=0)
    train, test = (set(part.column("id").to_pylist()) for part in (parts.X_train, parts.X_test))
    assert query.runs == 1
    assert not train & test
    assert len(train | test) == 300
