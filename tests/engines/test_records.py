"""Records that are read block by block: the same model as from a frame, nothing told, nothing left behind."""

import datetime
import decimal
import gc
import inspect
import os
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pytest
from full_disks import full_disk
from helpers import spilling
from interruption import interrupted_at
from products import thinned
from random_records import CASES, STARTED, estimator, random_batches, random_records, saved

import hedgerow as hr
from hedgerow.engines import local
from hedgerow.engines.local import LocalSource, Spill
from hedgerow.reading.streams import Files
from hedgerow.schema import Encoder
from hedgerow.table import Coded

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def small_partitions(monkeypatch):
    monkeypatch.setattr(local, "FEWEST_ROWS", 61)  # also where nothing may stay in memory
    monkeypatch.setattr(local, "MOST_ROWS", 61)


@pytest.mark.parametrize("case", thinned(CASES, 5))
@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_every_private_system_writes_the_same_file(case, made, tmp_path, small_partitions):
    schema, X, y = made
    generator = np.random.default_rng(len(X))
    records = hr.Records.from_batches(random_batches(X, y, generator), label="label")
    whole = saved(estimator(case, schema).fit(X, y), tmp_path / "whole")
    assert saved(estimator(case, schema).fit(records), tmp_path / "parts") == whole


@pytest.mark.usefixtures("small_partitions", "small_samples")
@pytest.mark.parametrize("case", thinned(["hedgerow, delta", "hedgerow", STARTED], 3))
def test_a_sample_is_the_same_in_any_parts(case, tmp_path):
    schema, X, y = random_records(3, 1000)
    whole = saved(estimator(case, schema, n_estimators=3).fit(X, y), tmp_path / "whole")
    records = hr.Records.from_batches(random_batches(X, y, np.random.default_rng(0)), label="label")
    assert saved(estimator(case, schema, n_estimators=3).fit(records), tmp_path / "parts") == whole
    records = spilling(records, tmp_path)
    assert saved(estimator(case, schema, n_estimators=3).fit(records), tmp_path / "spilled") == whole


@pytest.mark.parametrize("case", thinned(["hedgerow, delta", "edprf", "forest", "tpdprf", "diffgen"], 5))
def test_what_is_spilled_changes_no_bit(case, tmp_path, small_partitions):
    schema, X, y = random_records(3)
    whole = saved(estimator(case, schema).fit(X, y), tmp_path / "whole")
    records = hr.Records.from_batches(random_batches(X, y, np.random.default_rng(0)), label="label")
    assert saved(estimator(case, schema).fit(spilling(records, tmp_path)), tmp_path / "spilled") == whole
    assert folders(tmp_path) == []


SCHEMA = hr.Schema({"age": hr.Numeric(0, 100), "job": hr.Categorical(["nurse", "clerk", "1"])}, classes=["ill", "well"])


@pytest.fixture
def people():
    generator = np.random.default_rng(1)
    age = generator.uniform(-10, 110, 700)
    job = generator.choice(["nurse", "clerk", " 1.0", "", "other"], 700)
    return pd.DataFrame({"age": age, "job": job, "diagnosis": np.where(age > 50, "ill", "well")})


@pytest.fixture
def parquet(people, tmp_path):
    folder = tmp_path / "people"
    folder.mkdir()
    for place, name in enumerate(["a", "b", "c"]):
        table = pa.Table.from_pandas(people.iloc[place * 300 : (place + 1) * 300], preserve_index=False)
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=97)
    return folder


@pytest.fixture
def csv(people, tmp_path):
    folder = tmp_path / "csv"
    folder.mkdir()
    for place, name in enumerate(["1", "2"]):
        people.iloc[place * 400 : (place + 1) * 400].to_csv(folder / f"{name}.csv", index=False, sep=";")
    return folder


def fitted(X, y=None, **more):
    return hr.EDPRFClassifier(epsilon=2.0, schema=SCHEMA, random_state=5, **more).fit(X, y)


def test_every_source_gives_the_model_of_a_frame(people, parquet, csv, tmp_path, small_partitions):
    whole = saved(fitted(people[["age", "job"]], people["diagnosis"]), tmp_path / "m")
    table = pa.Table.from_pandas(people, preserve_index=False)
    sources = {
        "folder": hr.Records.from_parquet(parquet, label="diagnosis"),
        "pattern": hr.Records.from_parquet(str(parquet / "*.parquet"), label="diagnosis"),
        "paths": hr.Records.from_parquet(sorted(parquet.iterdir()), label="diagnosis"),
        "csv": hr.Records.from_csv(csv, label="diagnosis", separator=";"),
        "reader": hr.Records.from_batches(table.to_reader(max_chunksize=50), label="diagnosis"),
        "function": hr.Records.from_batches(lambda: table.to_reader(max_chunksize=333), label="diagnosis"),
        "polars": hr.Records.from_batches(iter(pl.DataFrame(table).iter_slices(99)), label="diagnosis"),
        "one frame": hr.Records.from_batches(people, label="diagnosis"),
        "mappings": hr.Records.from_batches([{name: people[name].to_list() for name in people}], label="diagnosis"),
        "dropped": hr.Records.from_batches(people.assign(id=1), label="diagnosis", drop=["id"]),
    }
    for name, records in sources.items():
        assert saved(fitted(records), tmp_path / "n") == whole, name


def test_the_label_is_the_schemas_target_where_none_is_named(people, tmp_path):
    schema = SCHEMA.replace(target="diagnosis")
    model = hr.EDPRFClassifier(schema=schema).fit(hr.Records.from_batches(people))
    assert model.feature_names_in_.tolist() == ["age", "job"]


def test_a_curator_holds_records_too(people):
    records = hr.Records.from_batches(people, label="diagnosis")
    one = hr.Curator(people[["age", "job"]], people["diagnosis"], SCHEMA, 2.0, random_state=3)
    other = hr.Curator(records, None, SCHEMA, 2.0, random_state=3)
    for ask in (
        lambda curator: curator.class_counts(curator.root, 0.5),
        lambda curator: curator.select(curator.root, curator.tests(), 0.5),
        lambda curator: (
            hr.SuLQID3Classifier(epsilon=1.0, random_state=None).fit_curator(curator).predict([[50, "nurse"]])
        ),
    ):
        assert np.array_equal(ask(one), ask(other))


# One feature of each kind, whose cells come in every type that a reader may give them.
WIDE = hr.Schema(
    {"n": hr.Numeric(0, 10), "c": hr.Categorical(["1", "x", "2020-01-01", "2020-01-01 12:30:00+01:00"])},
    classes=["no", "1"],
    missing=["9"],
)
COLUMNS = {
    "integers": pa.array([1, None, 9, 2**62, -4], pa.int64()),
    "wide integers": pa.array([2**64 - 1, 1, None, 5, 3], pa.uint64()),
    "halves": pa.array([1.5, float("nan"), None, float("inf"), 9.0], pa.float32()),
    "truth": pa.array([True, False, None, True, False]),
    "text": pa.array(["1", " x", None, "nan", "1e0"]),
    "views": pa.array(["1", " x", None, "nan", "1e0"], pa.string_view()),
    "dictionary": pa.array(["1", "x", None, "x", "9"]).dictionary_encode(),
    "dictionary of numbers": pa.array([1, 9, None, 3, 1]).dictionary_encode(),
    "decimals": pa.array([decimal.Decimal("1.00"), None, decimal.Decimal("9"), decimal.Decimal("3.7"), None]),
    "bytes": pa.array([b"1", b"\xff", None, b"x", b"9"]),
    "no UTF-8": pa.array([b"1", b"\xff", None, b"x", b"9"]).view(pa.utf8()),
    "nothing": pa.nulls(5),
}
TIMES = {
    "dates": pa.array([datetime.date(2020, 1, 1), None, datetime.date(1960, 2, 3), None, None]),
    "moments": pa.array([0, None, 1577878200, 2**40, 1], pa.timestamp("s", "+01:00")),
    "nanoseconds": pa.array([1, None, 1577836800 * 10**9, 2**62, -1], pa.timestamp("ns")),
}


def codes(records, schema, max_bins=8):
    table = records.read(Coded(Encoder(schema, max_bins)))
    parts = table._engine._partitions
    together = [np.concatenate([part.arrays[name] for part in parts]) for name in ("codes", "labels")]
    return np.column_stack(together)


@pytest.mark.parametrize("kind", [*COLUMNS, *TIMES])
def test_cells_of_batches_are_read_as_those_of_a_frame(kind, tmp_path, small_partitions):
    column = {**COLUMNS, **TIMES}[kind]
    numbers = column if kind in COLUMNS else pa.array([1.0, 2.0, None, 4.0, 9.0])
    label = column if kind in COLUMNS and pa.types.is_string(column.type) else pa.array(["1", "no", None, "x", "no"])
    table = pa.table({"n": numbers, "c": column, "label": label})
    table = pa.concat_tables([table] * 50)
    encoder = Encoder(WIDE, 8)
    expected = np.column_stack([encoder.transform(table.select(["n", "c"])), encoder.labels(table["label"])])
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=7)
    for records in (
        hr.Records.from_batches(lambda: table.to_reader(max_chunksize=3), label="label"),
        hr.Records.from_parquet(tmp_path / "t.parquet", label="label"),
    ):
        assert np.array_equal(codes(records, WIDE), expected)


def test_what_a_reader_inferred_of_a_batch_changes_no_cell():
    """The same five cells in batches whose columns have other types each time, whatever stands beside them."""
    cells = [1, "x", None, 9, 3.5]
    one_by_one = [pd.DataFrame({"n": [cell], "c": [cell], "label": ["no"]}) for cell in cells]
    one_by_one[3] = one_by_one[3].astype({"n": "int8", "c": "float32"})
    together = pd.DataFrame({"n": cells, "c": cells, "label": "no"}, dtype=object)
    day = pa.array([datetime.date(2020, 1, 1)])
    dates = pa.table({"n": day, "c": day, "label": [1]})
    found = codes(hr.Records.from_batches([*one_by_one, dates], label="label"), WIDE)
    encoder = Encoder(WIDE, 8)
    assert np.array_equal(found[:5, :2], encoder.transform(together[["n", "c"]]))
    text = pd.DataFrame({"n": ["2020-01-01"], "c": ["2020-01-01"], "label": ["1"]})
    assert np.array_equal(found[5:, :2], encoder.transform(text[["n", "c"]]))
    assert found[:, 2].tolist() == [0, 0, 0, 0, 0, 1]


def test_labels_of_a_type_that_no_class_has_are_none():
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    batches = [{"a": [0.5], "label": ["no"]}, pd.DataFrame({"a": [0.5], "label": [3.0]})]
    assert codes(hr.Records.from_batches(batches, label="label"), schema)[:, 1].tolist() == [0, -1]


@pytest.mark.parametrize("labels", [["no"], ["no"] * 3])
def test_columns_of_different_lengths_form_no_records(labels):
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    with pytest.raises(hr.EngineError, match="columns of different lengths"):
        codes(hr.Records.from_batches([{"a": [0.5, 0.5], "label": labels}], label="label"), schema)


def write_csv(frame, path):
    frame.to_csv(path, index=False, sep=";", encoding="windows-1252")
    return hr.Records.from_csv(path, label="label", separator=";", encoding="windows-1252")


def write_parquet(frame, path):
    frame.to_parquet(path)
    return hr.Records.from_parquet(path, label="label")


@pytest.mark.parametrize(
    "make", [write_csv, write_parquet, lambda frame, path: hr.Records.from_batches(frame, label="label")]
)
def test_files_are_read_in_their_encoding_and_ignored_columns_not_at_all(make, tmp_path):
    schema = hr.Schema(
        {"c": hr.Categorical(["caf\u00e9", "bar"])}, classes=["no", "\u00f6fter"], ignore=["note", "absent"]
    )
    frame = pd.DataFrame(
        {"c": ["caf\u00e9", "bar", "x"], "note": ["\u20ac", "b", "c"], "label": ["\u00f6fter", "no", "no"]}
    )
    assert codes(make(frame, tmp_path / "t"), schema).tolist() == [[0, 1], [1, 0], [3, 0]]
    with pytest.raises(hr.EngineError, match="does not declare"):
        codes(make(frame.rename(columns={"note": "remark"}), tmp_path / "t"), schema)


REFUSALS = {
    "no column of labels": (lambda people, path: hr.Records.from_batches(people, label="none"), {}, "no column 'none'"),
    "no label named": (lambda people, path: hr.Records.from_batches(people), {}, "label="),
    "a column too many": (
        lambda people, path: hr.Records.from_batches(people.assign(id=1), label="diagnosis"),
        {},
        "does not declare",
    ),
    "a column too few": (
        lambda people, path: hr.Records.from_batches(people.drop(columns="age"), label="diagnosis"),
        {},
        "lacks",
    ),
    "no record": (lambda people, path: hr.Records.from_batches(people[:0], label="diagnosis"), {}, "no records"),
    "no batch": (lambda people, path: hr.Records.from_batches([], label="diagnosis"), {}, "no records"),
    "no batches": (
        lambda people, path: hr.Records.from_batches(5, label="diagnosis"),
        {},
        r"from_batches got builtins\.int",
    ),
    "a published form": (
        lambda people, path: hr.Records.from_batches(people, label="diagnosis"),
        {"variant": "published"},
        "published form",
    ),
    "no schema": (lambda people, path: hr.Records.from_batches(people, label="diagnosis"), {"schema": None}, "schema"),
    "dates for numbers": (
        lambda people, path: hr.Records.from_batches(
            pa.Table.from_pandas(people.assign(age=pd.Timestamp(0)), preserve_index=False), label="diagnosis"
        ),
        {},
        "dates",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_book_nothing(case, people, tmp_path):
    make, settings, words = REFUSALS[case]
    ledger = hr.Ledger(epsilon=1.0)
    model = hr.EDPRFClassifier(**{"epsilon": 1.0, "schema": SCHEMA, "ledger": ledger, **settings})
    with pytest.raises(hr.ConfigurationError, match=words) as caught:
        model.fit(make(people, tmp_path))
    assert ledger.spent == 0
    assert "700" not in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "more", "label"),
    [(1.5, 1.5, [0.5, "ill"]), (pd.Timestamp(0), "20", ["ill", "ill"]), (1.5, "20", ["ill", pd.Timestamp(0)])],
)
def test_no_record_decides_by_its_types_whether_there_is_a_fit(cell, more, label):
    """Neighbors are told apart where one is refused before anything is charged, and the other is fitted."""
    both = pd.DataFrame({"age": [cell, more], "job": ["nurse", "nurse"], "diagnosis": label})
    for there in (both, both.iloc[:1].infer_objects(), both.iloc[1:].infer_objects()):
        ledger = hr.Ledger(epsilon=2.0)
        fitted(hr.Records.from_batches(there, label="diagnosis"), ledger=ledger)
        assert ledger.spent == 2


def test_labels_beside_records_are_refused(people):
    records = hr.Records.from_batches(people, label="diagnosis")
    with pytest.raises(hr.ConfigurationError, match="hold their labels"):
        fitted(records, people["diagnosis"])
    with pytest.raises(hr.ConfigurationError, match="hold their labels"):
        hr.Curator(records, people["diagnosis"], SCHEMA, 1.0)


def test_a_fit_without_labels_is_still_told_so(people):
    with pytest.raises(hr.ConfigurationError, match="requires y to be passed"):
        fitted(people[["age", "job"]])


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: hr.Records.from_parquet(folder / "*.txt", label="d"),
        lambda folder: hr.Records.from_parquet([folder / "a.parquet", folder / "a.parquet"], label="d"),
        lambda folder: hr.Records.from_parquet(folder, label="d", memory=5),
        lambda folder: hr.Records.from_parquet(folder, label="d", spill=folder / "none"),
        lambda folder: hr.Records.from_parquet(folder, label="d", drop="id"),
    ],
)
def test_senseless_arguments_are_refused(make, parquet):
    with pytest.raises(hr.ConfigurationError):
        make(parquet)


def test_every_file_is_checked_before_anything_is_booked(parquet):
    pq.write_table(pa.table({"age": [1.0], "diagnosis": ["ill"]}), parquet / "z.parquet")
    ledger = hr.Ledger(epsilon=2.0)
    with pytest.raises(hr.SchemaError, match="lacks the column 'job'"):
        fitted(hr.Records.from_parquet(parquet, label="diagnosis"), ledger=ledger)
    assert ledger.spent == 0


def test_a_file_that_changed_is_refused(people, parquet):
    records = hr.Records.from_parquet(parquet, label="diagnosis")
    pq.write_table(pa.Table.from_pandas(people[:10], preserve_index=False), parquet / "b.parquet")
    ledger = hr.Ledger(epsilon=2.0)
    with pytest.raises(hr.ConfigurationError, match="has changed"):
        fitted(records, ledger=ledger)
    assert ledger.spent == 0


CHANGES = {
    "touched": lambda path: os.utime(path, (0, 0)),
    "grown": lambda path: path.write_bytes(path.read_bytes() + path.read_bytes().partition(b"\n")[2]),
}


@pytest.mark.parametrize(("ending", "change"), [("parquet", "touched"), ("csv", "touched"), ("csv", "grown")])
def test_a_file_that_changes_while_it_is_read_is_refused_and_the_charge_kept(
    ending, change, people, tmp_path, monkeypatch
):
    path, ledger, blocks = tmp_path / f"a.{ending}", hr.Ledger(epsilon=2.0), Files.blocks
    if ending == "csv":
        people.to_csv(path, index=False)
        records = hr.Records.from_csv(path, label="diagnosis")
    else:
        people.to_parquet(path)
        records = hr.Records.from_parquet(path, label="diagnosis")

    def changed(self, layout):
        CHANGES[change](path)
        yield from blocks(self, layout)

    monkeypatch.setattr(Files, "blocks", changed)
    with pytest.raises(hr.EngineError, match="has changed"):
        fitted(records, ledger=ledger)
    assert ledger.spent == 2


def test_records_that_come_back_otherwise_are_refused(people):
    order = [people, people.iloc[::-1]]
    records = hr.Records.from_batches(lambda: order.pop(0), label="diagnosis")
    fitted(records)
    with pytest.raises(hr.EngineError, match="not those that were read before"):
        fitted(records)


def test_records_may_come_back_in_other_batches(people):
    """How a reader cuts them is its own affair; one cell, or one label, more or less is not."""
    other = people.assign(diagnosis=["well", *people["diagnosis"][1:]])
    ways = [[people], [people[:3], people[3:3], people[3:]], [people[:500], people[500:]], [other]]
    records = hr.Records.from_batches(lambda: ways.pop(0), label="diagnosis")
    for _ in range(3):
        fitted(records)
    assert other["diagnosis"][0] != people["diagnosis"][0]
    with pytest.raises(hr.EngineError, match="not those that were read before"):
        fitted(records)


def test_what_can_be_read_once_serves_one_fit(people):
    records = hr.Records.from_batches(pa.Table.from_pandas(people).drop_columns([]).to_reader(), label="diagnosis")
    fitted(records)
    with pytest.raises(hr.ConfigurationError, match="once only"):
        fitted(records)


def test_nothing_says_how_many_records_there_are(people, parquet):
    for records in (
        hr.Records.from_parquet(parquet, label="diagnosis"),
        hr.Records.from_batches(people, label="diagnosis"),
    ):
        fitted(records)
        assert "700" not in repr(records)
        assert repr(records).startswith("Records.from_")


def folders(path):
    return [entry for entry in path.iterdir() if entry.name.startswith("hedgerow-spill-")]


def test_the_spill_folder_is_for_this_user_alone_while_it_is_there(people, tmp_path, small_partitions):
    records, modes = spilling(hr.Records.from_batches(people, label="diagnosis"), tmp_path), set()

    class Watch:
        def read(self, share):
            pass

        def counted(self, question, share):
            modes.update(os.stat(folder).st_mode & 0o777 for folder in folders(tmp_path))

    fitted(records.with_progress(Watch()))
    assert modes == {0o700}
    assert folders(tmp_path) == []


# A file that was just opened, or not closed yet.
@pytest.mark.full
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "files",
    [("engines/encode.py", "engines/records.py", "engines/local.py"), ("engines/local.py", "table/partitioned.py")],
)
def test_a_fit_that_is_broken_off_leaves_no_file(people, tmp_path, small_partitions, files):
    """At many of its lines, spread over reading or over counting."""
    seen, number = set(), 1
    lines, first = inspect.getsourcelines(LocalSource.check)  # columns are checked before anything is charged
    before = {f"local.py:{first + place}" for place in range(len(lines))}
    while True:
        ledger = hr.Ledger(epsilon=2.0)
        records = spilling(hr.Records.from_batches(people, label="diagnosis"), tmp_path)
        model = hr.EDPRFClassifier(epsilon=2.0, schema=SCHEMA, ledger=ledger, n_estimators=2)
        with interrupted_at(number, files) as where:
            model.fit(records)
        gc.collect()
        assert folders(tmp_path) == []
        assert ledger.spent == 2 or where[0].startswith("records.py") or where[0] in before
        if not where:
            break
        assert not hasattr(model, "model_")
        seen.add(where[0].partition(":")[0])
        number += 1 + number // 4
    assert seen == {name.rpartition("/")[2] for name in files}


def test_a_full_disk_ends_the_fit_and_leaves_no_file(people, tmp_path, small_partitions, monkeypatch):
    ledger, written = hr.Ledger(epsilon=2.0), []
    write = Spill.write

    def full(self, array, path=None):
        written.append(array)
        if len(written) < 9:
            return write(self, array, path)
        with full_disk(len(array) // 2):
            return write(self, array, path)

    monkeypatch.setattr(Spill, "write", full)
    with pytest.raises(hr.EngineError, match="spill="):
        fitted(spilling(hr.Records.from_batches(people, label="diagnosis"), tmp_path), ledger=ledger)
    assert folders(tmp_path) == []
    assert ledger.spent == 2


def test_a_curators_spill_goes_with_it(people, tmp_path):
    curator = hr.Curator(spilling(hr.Records.from_batches(people, label="diagnosis"), tmp_path), None, SCHEMA, 1.0)
    curator.count(curator.root, 0.5)
    assert len(folders(tmp_path)) == 1
    del curator
    gc.collect()
    assert folders(tmp_path) == []


def test_too_many_records_are_refused_without_their_number(people, monkeypatch):
    monkeypatch.setattr("hedgerow.engines.encode.MOST_RECORDS", 700)
    with pytest.raises(hr.EngineError, match="fewer than 700") as caught:
        fitted(hr.Records.from_batches(people, label="diagnosis"))
    assert str(caught.value).count("700") == 1
    monkeypatch.setattr("hedgerow.engines.encode.MOST_RECORDS", 701)
    fitted(hr.Records.from_batches(people, label="diagnosis"))


def test_a_parquet_file_damaged_within_is_an_error_of_the_file(parquet):
    path = parquet / "b.parquet"
    damaged = bytearray(path.read_bytes())
    damaged[4:40] = b"\xff" * 36
    path.write_bytes(damaged)
    with pytest.raises(hr.EngineError, match=r"b\.parquet") as caught:
        fitted(hr.Records.from_parquet(parquet, label="diagnosis"))
    told = "".join(traceback.format_exception(caught.value))
    assert told.count("Traceback") == 1, told  # another exception's text may have sizes


def test_random_records_are_random():
    assert random_records(0)[0] != random_records(1)[0]


def too_large(*_, **__):
    """Ask numpy for far too much: its error names the shape."""
    return np.empty((4321, 1 << 40))


@pytest.mark.parametrize("where", ["frame", "records", "curator", "question"])
def test_a_lack_of_memory_names_no_sizes(where, people, monkeypatch):
    records = hr.Records.from_batches(people, label="diagnosis")
    curator = hr.Curator(people[["age", "job"]], people["diagnosis"], SCHEMA, 1.0)
    monkeypatch.setattr("hedgerow.schema.Encoder.transform", too_large)
    monkeypatch.setattr("hedgerow.table.MemoryTable.answer", too_large)
    asked = {
        "frame": lambda: fitted(people[["age", "job"]], people["diagnosis"]),
        "records": lambda: fitted(records),
        "curator": lambda: hr.Curator(records, None, SCHEMA, 1.0),
        "question": lambda: curator.count(curator.root, 0.5),
    }
    with pytest.raises(MemoryError, match="stays charged") as caught:
        asked[where]()
    assert "4321" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("when", ["before the fit", "before the scan", "during the scan"])
def test_a_part_that_was_deleted_is_named(tmp_path, monkeypatch, kind, when):
    paths = [tmp_path / f"{part}.{kind}" for part in "abc"]
    for path in paths:
        frame = pd.DataFrame({"a": np.arange(50) / 50, "y": ["no", "yes"] * 25})
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, ["no", "yes"], target="y")
    records = (hr.Records.from_csv if kind == "csv" else hr.Records.from_parquet)(paths)
    if when == "before the fit":
        paths[1].unlink()
    else:
        check = type(records).check

        def checked(self, *args, **options):
            check(self, *args, **options)
            paths[1 if when == "before the scan" else 2].unlink()

        monkeypatch.setattr(type(records), "check", checked)
    with pytest.raises(FileNotFoundError, match=r"[bc]\.(csv|parquet)"):
        hr.EDPRFClassifier(1.0, schema=schema, random_state=0).fit(records)
