import datetime
import subprocess
import sys

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.reading import table_file
from hedgerow.reading.table_file import open_table, read_table
from hedgerow.schema import Encoder

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def parquet(folder):
    """The people as typed columns."""
    columns = read_table("people.csv")
    ages = [int(age) if age.isdigit() else None for age in columns["age"]]
    table = {
        "age": pa.array(ages, pa.int8()),
        "marital status": pa.array(columns["marital status"].tolist()).dictionary_encode(),
        "code": pa.array([float(code) for code in columns["code"]]),
        "income": pa.array(columns["income"].tolist()),
    }
    pq.write_table(pa.table(table), folder / "people.parquet", row_group_size=13)
    return folder / "people.parquet"


def test_codes_are_those_of_the_csv_file(parquet):
    encoder = Encoder(hr.Schema.load("people.toml"), 5)

    def encoded(path):
        columns = read_table(path)
        labels = encoder.labels(columns.pop("income"))
        return np.column_stack([encoder.transform(columns), labels])

    assert (encoded("people.parquet") == encoded("people.csv")).all()


def test_train_predict_and_check(parquet, run, train, answer):
    predictions = []
    for data in ("people.csv", "people.parquet"):
        result = train("--force", "--param", "random_state=1", data=data)
        assert result.exit_code == 0, result.output
        predictions += [
            run("predict", "m.hedgerow", other, "--proba").stdout for other in ("people.csv", "people.parquet")
        ]
    assert predictions[0].count("\n") == 61
    assert len(set(predictions)) == 1
    csv, own = (answer("schema", "check", path, "--schema", "people.toml") for path in ("people.csv", "people.parquet"))
    assert own == csv


TABLE = {
    "smoker": [True, False, True, False] * 15,
    "drinker": [True, None, False, None] * 15,
    "never": [False] * 60,
    "children": [0, 1, 2] * 20,
    "score": [0.5, 1.5, None] * 20,
    "age": [20 + i % 40 for i in range(60)],
    "visits": [None if i % 7 == 0 else float(i % 9) for i in range(60)],
    "name": ["a", " b", None] * 20,
    "born": [datetime.date(1960 + i % 4, 1, 1) for i in range(60)],
    "nothing": pa.nulls(60),
}


@pytest.fixture
def drafts(folder, run):
    """Write a table with these labels as CSV and as Parquet, and draft a schema of each."""

    def call(labels, *options):
        table = pa.table({**TABLE, "label": pa.array(labels)})
        pq.write_table(table, folder / "t.parquet")
        table.to_pandas().to_csv(folder / "t.csv", index=False)
        return [run("schema", "init", name, *options) for name in ("t.csv", "t.parquet")]

    return call


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([True, False] * 30, (False, True)),
        ([1, 0, None] * 20, (0, 1)),
        ([1.0, 0.0] * 30, (0, 1)),
        ([0.5, 2.0] * 30, (0.5, 2)),
        (["no", " yes"] * 30, ("no", "yes")),
        (["x", "1", "true"] * 20, (1, "x")),
    ],
)
def test_drafts_are_the_same_for_csv_and_parquet(drafts, labels, classes):
    csv, parquet = drafts(labels)
    assert csv.exit_code == 0, csv.output
    assert (csv.stdout, csv.stderr) == (parquet.stdout, parquet.stderr)
    schema = hr.Schema.from_toml(csv.stdout)
    assert [(value, type(value)) for value in schema.classes] == [(value, type(value)) for value in classes]
    for name in ("smoker", "drinker", "never"):
        assert schema.features[name] == hr.Boolean(origin="inferred")
    assert csv.stdout.count('type = "boolean"') == 3
    assert schema.features["children"] == hr.Integer(0, 2, origin="inferred")
    assert schema.features["score"] == hr.Numeric(0.5, 1.5, origin="inferred")
    csv, parquet = drafts(labels, "--missing", "0")
    assert (csv.output, csv.exit_code) == (parquet.output, 0)


@pytest.mark.parametrize("labels", [[True, False] * 30, [1.0, 0.0, None] * 20])
def test_a_model_from_either_file_reads_the_other(drafts, folder, run, labels):
    predictions = []
    for draft, data in zip(drafts(labels), ("t.csv", "t.parquet"), strict=True):
        (folder / "t.toml").write_text(draft.stdout)
        options = [
            "--force",
            "--schema",
            "t.toml",
            "--epsilon",
            "9",
            "--system",
            "edprf",
            "--param",
            "random_state=1",
            "--out",
            "t.hedgerow",
            "--allow-inferred",
        ]
        assert run("train", data, *options).exit_code == 0
        predictions += [run("predict", "t.hedgerow", other, "--proba").stdout for other in ("t.csv", "t.parquet")]
    assert predictions[0].count("\n") == 61
    assert len(set(predictions)) == 1


def test_blocks_make_one_table(parquet, monkeypatch):
    columns = {name: cells.to_pylist() for name, cells in read_table(parquet).items()}
    monkeypatch.setattr(table_file, "BATCH_ROWS", 7)
    with open_table(parquet) as table:
        sizes = [len(block["age"]) for block in table.batches()]
    assert (sum(sizes), max(sizes)) == (60, 7)
    monkeypatch.setattr(table_file, "BATCH_CELLS", 4 * len(columns) + 1)
    with open_table(parquet) as table:
        assert max(len(block["age"]) for block in table.batches()) == 4  # wide records come in fewer rows
        assert max(len(block["age"]) for block in table.batches(["age"])) == 7
    np.testing.assert_equal({name: cells.to_pylist() for name, cells in read_table(parquet).items()}, columns)


@pytest.mark.parametrize("name", ["p.PARQUET", "p.pq"])
def test_a_parquet_file_is_known_by_its_name(parquet, train, name):
    parquet.rename(parquet.with_name(name))
    assert train(data=name).exit_code == 0


def test_no_records(folder, train, is_refused, run):
    names = ["age", "marital status", "code", "income"]
    pq.write_table(pa.table({name: pa.array([], pa.string()) for name in names}), "none.parquet")
    is_refused(train(data="none.parquet"), 2, "no records")
    train()
    assert run("predict", "m.hedgerow", "none.parquet").stdout == "prediction\n"


def test_wrong_columns(folder, train, is_refused):
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["secret", "secret"])
    pq.write_table(twice, "twice.parquet")
    result = train(data="twice.parquet")
    is_refused(result, 2, "twice.parquet has none of the schema's columns")
    assert "secret" not in result.stderr
    pq.write_table(pa.table({"age": [1], "code": [2]}), "few.parquet")
    is_refused(train(data="few.parquet"), 2, "lacks", "'income'")


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "page"])
def test_a_damaged_file(parquet, train, is_refused, damage):
    content = parquet.read_bytes()
    parquet.write_bytes(
        {
            "empty": b"",
            "text": b"age,code\n1,2\n",
            "cut": content[: len(content) // 2],
            "page": content[:4] + b"\0" * 40 + content[44:],
        }[damage]
    )
    is_refused(
        train(data="people.parquet"),
        1 if damage == "page" else 2,
        "people.parquet is not a Parquet file, or it is damaged",
    )


@pytest.mark.full
def test_pyarrow_is_imported_at_its_first_use(folder):
    code = (
        "import sys\nfrom hedgerow.cli import main\n"
        "sys.modules['pandas'] = None  # where it is installed, scikit-learn imports it, and it imports pyarrow\n"
        "try:\n    main(['schema', 'check', 'people.csv', '--schema', 'people.toml'])\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "assert 'pyarrow' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


DAYS = [datetime.date(2024, 1, 1 + i % 28) for i in range(60)]
WRONG = {
    "age": (pa.array(DAYS), "a type of dates"),
    "code": (pa.array([[1]] * 60), "a type of lists"),
    "income": (pa.array([0, 1] * 30), "y has a type of numbers"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_declared_type_that_cannot_be_is_refused_before_anything_is_spent(name, parquet, run, tmp_path):
    column, words = WRONG[name]
    table = pq.read_table(parquet)
    table = table.set_column(table.column_names.index(name), name, column)
    for rows in (table, table.slice(0, 0)):  # by the type alone
        pq.write_table(rows, "wrong.parquet")
        result = run(
            "train",
            "wrong.parquet",
            "--schema",
            "people.toml",
            "--epsilon",
            "1",
            "--system",
            "edprf",
            "--out",
            "wrong.hedgerow",
        )
        assert result.exit_code != 0
        assert words in result.stderr
        assert not (tmp_path / "wrong.hedgerow").exists()
        checked = run("schema", "check", "wrong.parquet", "--schema", "people.toml")
        assert checked.exit_code == 2
        assert words in checked.stderr


def test_predict_refuses_a_declared_type_that_cannot_be(parquet, run):
    assert (
        run(
            "train", str(parquet), "--schema", "people.toml", "--epsilon", "1", "--system", "edprf", "--out", "m"
        ).exit_code
        == 0
    )
    table = pq.read_table(parquet).drop_columns(["income"])
    pq.write_table(table.set_column(0, "age", pa.array(DAYS)), "wrong.parquet")
    result = run("predict", "m", "wrong.parquet")
    assert result.exit_code != 0
    assert "a type of dates" in result.stderr


def test_kept_cells_stay_what_they_are(parquet, train, run):
    """As floats, keys above 2**53 would become their neighbors."""
    train()
    keys = pa.array([2**53 + 1, None, *range(58)], pa.int64())
    moments = pa.array([0, 2**62, *[None] * 58], pa.timestamp("us"))
    table = pq.read_table(parquet).append_column("key", keys).append_column("seen", moments)
    pq.write_table(table, "k.parquet")
    result = run("predict", "m.hedgerow", "k.parquet", "--keep", "key", "--keep", "seen")
    assert result.exit_code == 0, result.output
    assert [line.rpartition(",")[0] for line in result.stdout.splitlines()[:4]] == [
        "key,seen",
        f"{2**53 + 1},1970-01-01 00:00:00",
        ",",  # a year that Python lacks
        "0,",
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary()], ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"use_dictionary": False}, {"dictionary_pagesize_limit": 1, "data_page_size": 1}]
)
def test_categories_mean_the_same_however_a_file_keeps_their_text(tmp_path, monkeypatch, kind, options):
    """Text of declared categories is read as a dictionary, in batches of a few rows over several row groups."""
    cells = ["a", None, "b", " b", "1.0", "", "zz", "\u00e9", "a"] * 30 + [f"other {place}" for place in range(90)]
    schema = hr.Schema({"k": hr.Categorical(["a", "b", 1, "\u00e9"])}, classes=["a", "zz"], target="y")
    text = pa.array(cells).cast(kind)
    pq.write_table(pa.table({"k": text, "y": text, "z": text}), tmp_path / "t.parquet", row_group_size=100, **options)
    monkeypatch.setattr("hedgerow.reading.table_file.BATCH_ROWS", 7)
    encoder, codes, labels = Encoder(schema, 4), [], []
    with open_table(tmp_path / "t.parquet", schema.file_form) as table:
        for batch in table.batches():
            assert pa.types.is_dictionary(batch["k"].type) == (kind in (pa.string(), pa.large_string()))
            assert not pa.types.is_dictionary(batch["z"].type)  # is no category
            codes += encoder.transform({"k": batch["k"]}).ravel().tolist()
            labels += encoder.labels(batch["y"]).tolist()
    assert codes == encoder.transform({"k": cells}).ravel().tolist()
    assert labels == encoder.labels(cells).tolist()
