"""Released schemas, report cards and searches on records in files and partitions: byte for byte those of a frame."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from helpers import spilling
from products import thinned

import hedgerow as hr
from hedgerow.engines import local
from hedgerow.reading.cells import object_array
from hedgerow.table import PartitionedTable

from schema.odd_cells import ODD, WORST  # isort: skip

pq = pytest.importorskip("pyarrow.parquet")
pa = pytest.importorskip("pyarrow")

pytestmark = [pytest.mark.filterwarnings("ignore:no (range|value)"), pytest.mark.filterwarnings("ignore:delta is")]

COLUMNS = {"numeric": ["age"], "dates": ["admitted"], "categorical": ["job"]}
SCHEMA = hr.Schema(
    {
        "age": hr.Integer(18, 90),
        "admitted": hr.Date("2015-01-01", "2025-12-31"),
        "job": hr.Categorical(["nurse", "clerk", "cook"]),
    },
    classes=["no", "maybe", "yes"],
    target="ill",
)


@pytest.fixture(autouse=True)
def small_partitions(monkeypatch):
    monkeypatch.setattr(local, "FEWEST_ROWS", 211)  # also where nothing may stay in memory
    monkeypatch.setattr(local, "MOST_ROWS", 211)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 2000)
    place = np.clip((age + rng.normal(0, 9, 2000)) // 30, 0, 3).astype(int)
    return pd.DataFrame(
        {
            "age": age,
            "admitted": np.datetime64("2018-03-01") + rng.integers(0, 2000, 2000).astype("m8[D]"),
            "job": rng.choice(["nurse", "clerk", "cook", "rare", ""], 2000),
            "ill": np.array(["no", "maybe", "yes", "who knows"], dtype=object)[place],
        }
    )


def sources(people, folder):
    """The same records, wherever they may be."""
    table = pa.Table.from_pandas(people, preserve_index=False)
    for place, name in enumerate("ab"):
        part = people.iloc[place * 1200 : (place + 1) * 1200]
        pq.write_table(table.slice(place * 1200, 1200), folder / f"{name}.parquet", row_group_size=97)
        part.to_csv(folder / f"{name}.csv", index=False)
    yield hr.Records.from_parquet(folder, label="ill")
    yield hr.Records.from_csv(folder, label="ill")
    yield hr.Records.from_batches(lambda: table.to_reader(max_chunksize=333), label="ill")
    yield hr.Records.from_batches([people.iloc[:7], people.iloc[7:7], people.iloc[7:]], label="ill")


def split(people):
    return people.drop(columns="ill"), people["ill"]


@pytest.mark.parametrize("classes", [None, SCHEMA.classes])
def test_a_released_schema_is_that_of_a_frame(people, tmp_path, classes):
    settings = {**COLUMNS, "epsilon": 4, "delta": 1e-5, "classes": classes, "missing": [""], "random_state": 3}
    X, y = split(people)
    whole = hr.private_schema(X, None if classes else y, **settings)
    for records in sources(people, tmp_path):
        made = hr.private_schema(records, **settings)
        assert made.to_toml() == whole.to_toml()
        assert dict(made.ranges_) == dict(whole.ranges_)
        assert made.certificate_ == whole.certificate_


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_report_card_is_that_of_a_frame(people, tmp_path, delta):
    X, y = split(people)
    model = hr.EDPRFClassifier(epsilon=5, schema=SCHEMA, random_state=0).fit(X, y)
    whole = hr.evaluate(model, X, y, epsilon=1, delta=delta, random_state=3)
    for records in sources(people, tmp_path):
        card = hr.evaluate(model, records, epsilon=1, delta=delta, random_state=3)
        assert np.array_equal(card.counts, whole.counts)
        assert card.certificate_ == whole.certificate_


GRIDS = {
    "read alike": (hr.EDPRFClassifier(schema=SCHEMA), {"max_depth": [1, 2, 4]}),
    "read otherwise": (hr.EDPRFClassifier(schema=SCHEMA), {"max_bins": [2, 9], "max_depth": [2]}),
    "bins merged": (hr.HedgerowClassifier(schema=SCHEMA), {"n_estimators": [2, 5]}),
}


SEARCHES = [(refit, grid) for refit in (0.5, 0) for grid in GRIDS]


@pytest.mark.parametrize(("refit", "grid"), thinned(SEARCHES, 4))  # each way and each grid once
def test_a_search_is_that_of_a_frame(people, tmp_path, grid, refit):
    X, y = split(people)

    def saved(*records):
        search = hr.PrivateSearchCV(*GRIDS[grid], epsilon=2, refit=refit, random_state=5)
        search.fit(*records).best_estimator_.save(tmp_path / "m")
        return search.best_params_, (tmp_path / "m").read_bytes()

    whole = saved(X, y)
    records = list(sources(people, tmp_path))[1 if refit else 2]
    assert saved(records) == whole


@pytest.mark.full
def test_what_is_spilled_is_removed_and_changes_nothing(people, tmp_path):
    people = people.iloc[:500]
    X, y = split(people)
    spill = tmp_path / "spill"
    spill.mkdir()
    records = spilling(next(sources(people, tmp_path)), spill)
    model = hr.EDPRFClassifier(epsilon=5, schema=SCHEMA, random_state=0).fit(X, y)
    whole = hr.evaluate(model, X, y, epsilon=1, random_state=3)
    assert np.array_equal(hr.evaluate(model, records, epsilon=1, random_state=3).counts, whole.counts)
    hr.private_schema(records, **COLUMNS, epsilon=4, delta=1e-5)
    hr.PrivateSearchCV(*GRIDS["read otherwise"]).fit(records)
    assert list(spill.iterdir()) == []


def test_a_search_that_breaks_off_leaves_no_codes_on_disk_while_its_error_is_held(people, tmp_path, monkeypatch):
    people, spill = people.iloc[:60], tmp_path / "spill"
    spill.mkdir()
    records = spilling(next(sources(people, tmp_path)), spill)

    def lost(*about):
        assert list(spill.iterdir()) != []
        raise hr.EngineError("lost")

    monkeypatch.setattr("hedgerow.analysis.search.ModelScores", lost)
    with pytest.raises(hr.EngineError, match="lost") as caught:
        hr.PrivateSearchCV(*GRIDS["read alike"], epsilon=2).fit(records)
    assert caught.tb is not None  # which holds what the search held
    assert list(spill.iterdir()) == []


def test_records_that_are_read_once_serve_one_question_alone(people):
    X, y = split(people)
    model = hr.EDPRFClassifier(epsilon=5, schema=SCHEMA).fit(X, y)
    ledger = hr.Ledger(epsilon=5, delta=1e-5)
    records = hr.Records.from_batches(iter([people]), label="ill")
    for ask in (
        lambda: hr.private_schema(records, **COLUMNS, epsilon=1, delta=1e-6, ledger=ledger),
        lambda: hr.PrivateSearchCV(*GRIDS["read alike"], ledger=ledger).fit(records),
    ):
        with pytest.raises(hr.ConfigurationError, match="once only"):
            ask()
    assert ledger.entries == ()
    assert hr.evaluate(model, records, epsilon=1, ledger=ledger).certificate_.holds  # it reads them once
    assert ledger.spent == 1


def test_records_that_change_between_the_readings_of_a_search_end_it(people):
    """Rows decide who is in which part, so records in another order could pay for two candidates."""
    orders = iter([people, people, people[::-1]])
    records = hr.Records.from_batches(lambda: [next(orders, people)], label="ill")
    ledger = hr.Ledger(epsilon=3)
    with pytest.raises(hr.EngineError, match="another order"):
        hr.PrivateSearchCV(*GRIDS["read otherwise"], ledger=ledger).fit(records)
    assert (ledger.entries[0].state, ledger.spent) == ("failed", 1)


def test_every_reading_of_a_search_is_of_one_checksum(people, monkeypatch):
    """The planted bug: each reading has a checksum of its own, and the order is not noticed."""
    monkeypatch.setattr("hedgerow.analysis.search.Repeated", lambda of, same: of)
    orders = iter([people, people, people[::-1]])
    records = hr.Records.from_batches(lambda: [next(orders, people)], label="ill")
    with pytest.raises(pytest.fail.Exception), pytest.raises(hr.EngineError):
        hr.PrivateSearchCV(*GRIDS["read otherwise"]).fit(records)


def test_a_part_that_counts_its_rows_anew_is_noticed(people, monkeypatch):
    """The planted bug: coins read from row 0 in every partition."""
    X, y = split(people)
    search = hr.PrivateSearchCV(*GRIDS["read alike"], epsilon=2, refit=0, random_state=5)
    whole = search.fit(X, y).predict_proba(X)

    def apply(self, records):
        part = self.coins.parts(0, len(records.labels))
        records.change(labels=np.where((self.first <= part) & (part < self.last), records.labels, -1))

    monkeypatch.setattr("hedgerow.table.partitioned.Sample.apply", apply)
    records = hr.Records.from_batches([people], label="ill")
    assert not np.array_equal(search.fit(records).predict_proba(X), whole)


def test_odd_cells_in_batches_end_no_question(people):
    odd = ODD + WORST
    cells = object_array(odd * 2, 2 * len(odd))
    batches = [people.iloc[:300], dict.fromkeys(people, cells), people.iloc[300:]]
    records = hr.Records.from_batches(batches, label="ill")
    model = hr.EDPRFClassifier(epsilon=5, schema=SCHEMA).fit(*split(people))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="no (range|value)|delta is")
        assert hr.private_schema(records, **COLUMNS, epsilon=60, delta=0.4).to_toml()
        assert hr.evaluate(model, records, epsilon=1).certificate_.holds
        assert hr.PrivateSearchCV(*GRIDS["read alike"]).fit(records).certificate_.holds


@pytest.mark.parametrize("question", ["schema", "card", "search"])
def test_a_partition_that_is_lost_ends_the_question_with_its_charge(people, monkeypatch, question):
    ledger = hr.Ledger(epsilon=1, delta=1e-5)
    X, y = split(people)
    model = hr.EDPRFClassifier(epsilon=5, schema=SCHEMA).fit(X, y)
    records = hr.Records.from_batches([people], label="ill")
    monkeypatch.setattr(PartitionedTable, "answer", lambda *_: (_ for _ in ()).throw(hr.EngineError("lost")))
    asked = {
        "schema": lambda: hr.private_schema(records, **COLUMNS, epsilon=1, delta=1e-6, ledger=ledger),
        "card": lambda: hr.evaluate(model, records, epsilon=1, ledger=ledger),
        "search": lambda: hr.PrivateSearchCV(*GRIDS["read alike"], ledger=ledger).fit(records),
    }
    with pytest.raises(hr.EngineError, match="lost"):
        asked[question]()
    assert (ledger.entries[0].state, ledger.spent) == ("failed", 1)
