import json
import re
import subprocess
import sys

import pytest

import hedgerow as hr
from hedgerow.reading import table_file

ODD = """\
age,marital status,code,income
50,single,1,low
,single,2,high
?,wed,3,?
-1,single,9,high
101,?,x,unheard of
inf,,,low
0,other, 1.0 ,low
100,single,1,
old,single,1,high
1,2,3
1,2,3,4,5
"""

COUNTS = {
    "age": {"missing": 2, "undeclared": 1, "below": 1, "above": 2},
    "marital status": {"missing": 2, "undeclared": 1, "below": 0, "above": 0},
    "code": {"missing": 1, "undeclared": 2, "below": 0, "above": 0},
}


@pytest.fixture
def odd(folder):
    (folder / "odd.csv").write_text(ODD)
    return ["schema", "check", "odd.csv", "--schema", "people.toml"]


MALFORMED = (
    "another number of cells than the header's in 2 records: all cells of such a record are missing. Quote cells that hold the "
    "separator, or pass the right --separator."
)


def test_check_as_json_counts_what_is_missing_undeclared_and_malformed(odd, answer):
    found = answer(*odd)
    assert found.pop("note").startswith("These counts are read off the records")
    assert found == {
        "private": False,
        "lines": 11,
        "malformed_lines": 2,
        "open_quotes": 0,
        "columns_lacking": [],
        "columns_extra": [],
        "features": COUNTS,
        "labels": {"missing": 2, "undeclared": 1},
        "persons": None,
        "warnings": [MALFORMED],
        "refusal": None,
    }


def test_bytes_that_are_not_utf_8_are_told_with_what_to_do(folder, run, answer):
    (folder / "latin.csv").write_bytes(
        b"age,marital status,code,income\n50,single,1,low\n50,\xfcber,1,high\n5\xe4,x,1,low\n"
    )
    options = ["schema", "check", "latin.csv", "--schema", "people.toml"]
    [warning] = answer(*options)["warnings"]
    assert warning.startswith(
        "2 cells of the columns 'age', 'marital status' have bytes that are not of the file's encoding"
    )
    assert 'encoding = "windows-1252"' in warning
    assert f"WARNING: {warning}" in run(*options).stderr


def test_blocks_are_counted_together(odd, answer, monkeypatch):
    whole = answer(*odd)
    monkeypatch.setattr(table_file, "BLOCK_LINES", 2)
    assert answer(*odd) == whole


def test_a_number_that_is_a_marker_is_missing(odd, folder, answer):
    text = (folder / "people.toml").read_text().replace('["?"]', '["?", "-1", "old"]')
    (folder / "people.toml").write_text(text)
    assert answer(*odd)["features"]["age"] == {"missing": 4, "undeclared": 0, "below": 0, "above": 2}


def test_check_says_that_it_is_not_private_and_counts_by_column(odd, run):
    result = run(*odd)
    assert (result.exit_code, result.stderr) == (0, f"WARNING: {MALFORMED}\n")
    assert "NOT private" in result.stdout.splitlines()[0]
    rows = [line.split() for line in result.stdout.splitlines()]
    assert "11 lines, of which 2 malformed" in result.stdout
    assert ["age", "2", "1", "1", "2"] in rows
    assert ["marital", "status", "2", "1", "0", "0"] in rows
    assert "labels: 2 missing, 1 undeclared" in result.stdout
    assert "columns" not in result.stdout


def test_lacking_and_extra_columns(odd, folder, run):
    (folder / "odd.csv").write_text("age,id\n50,1\n200,2\n")
    refused = run(*odd, "--json")
    found = json.loads(refused.stdout)
    assert refused.exit_code == 2
    assert (found["columns_lacking"], found["columns_extra"]) == (["marital status", "code", "income"], ["id"])
    assert found["features"] == {"age": {"missing": 0, "undeclared": 0, "below": 0, "above": 1}}
    assert (found["labels"], found["lines"]) == (None, 2)
    page = run(*odd).stdout
    assert "lacks: 'marital status', 'code', 'income'" in page
    assert "does not declare: 'id'" in page
    assert "labels" not in page


def test_labels_alone(odd, folder, run):
    (folder / "odd.csv").write_text("income,id\nlow,1\nodd,2\n")
    found = json.loads(run(*odd, "--json").stdout)
    assert (found["features"], found["labels"]) == ({}, {"missing": 0, "undeclared": 1})
    assert run(*odd).exit_code == 2


HEADER = "age,marital status,code,income"


@pytest.mark.parametrize(
    ("table", "values", "words"),
    [
        (f"{HEADER}\n50,single,1,low\n", "values = [1, 2, 3]", None),
        ("income,code,marital status,age\n50\n", "values = [1, 2, 3]", None),
        (f"{HEADER},id\n50,single,1,low,7\n", "values = [1, 2, 3]", "Drop it from odd.csv, or declare it"),
        (f"{HEADER},id,no\n50,single,1,low,7,8\n", "values = [1, 2, 3]", "Drop them from odd.csv, or declare them"),
        (
            "age,marital status,income\n50,single,low\n",
            "values = [1, 2, 3]",
            "'code', which every record needs. Add it ",
        ),
        ("age,income\n50,low\n", "values = [1, 2, 3]", "'marital status', 'code', which every record needs. Add them "),
        ("age,marital status,code,wages\n50,single,1,low\n", "values = [1, 2, 3]", "'income'"),
        (f"{HEADER}\n", "values = [1, 2, 3]", "no records"),
        ("50,single,1,low\n", "values = [1, 2, 3]", "first line"),
        ("age,age,code,income\n50,51,1,low\n", "values = [1, 2, 3]", "columns 1 and 2"),
        ("", "values = [1, 2, 3]", "is empty"),
        (f"{HEADER}\n50,single,1,low\n", "values = []", "features.code"),
    ],
)
def test_what_train_refuses_is_refused_in_its_words(odd, folder, run, train, table, values, words):
    (folder / "odd.csv").write_text(table)
    text = (folder / "people.toml").read_text().replace("values = [1, 2, 3]", values)
    (folder / "people.toml").write_text(text)
    checked, trained = run(*odd), train(data="odd.csv")
    nothing_to_read = table.endswith("\n50\n")  # train takes it without a word, since that would be an answer
    assert trained.exit_code == (0 if words is None else 2)
    assert checked.exit_code == (5 if nothing_to_read else trained.exit_code)
    if words is not None:
        assert words in checked.stderr
        [said] = [line for line in checked.stderr.splitlines() if line.startswith("Error: ")]
        prefix = "Error: `hedgerow train` would refuse this file and schema: "
        assert said.replace(prefix, "Error: ") == trained.stderr.strip()


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["low"] * 5 + ["odd"] * 5 + ["high"], []),
        (["no", "yes", "?", ""], ["NO LABEL in the column 'income'", "'low', 'high'", "--target"]),
        (["low", "high", "yes", "yes", ""], ["ONLY 2 OF 5 RECORDS", "'income'", "'low', 'high'", "--target"]),
        (["low"] * 5 + ["hihg"] * 4, ["no record has the label 'high'"]),
        (["low"] + ["hihg"] * 4, ["ONLY 1 OF 5 RECORDS", "no record has the label 'high'"]),
    ],
)
def test_labels_that_do_not_match_are_called_out(odd, folder, run, labels, words):
    (folder / "odd.csv").write_text("\n".join([HEADER, *(f"50,single,1,{label}" for label in labels)]))
    for result in (run(*odd), run(*odd, "--json")):
        assert result.exit_code == (5 if "NO LABEL" in str(words) else 0)
        assert [word for word in words if word not in result.stderr] == []
        assert [line for line in result.stderr.splitlines() if not line.startswith("WARNING: ")] == []
        assert bool(words) == bool(result.stderr)
    assert [f"WARNING: {warning}" for warning in json.loads(result.stdout)["warnings"]] == result.stderr.splitlines()


def test_a_file_of_malformed_lines_is_one_finding(odd, folder, run):
    (folder / "odd.csv").write_text(f"{HEADER}\n1\n")
    result = run(*odd)
    assert result.exit_code == 5
    assert "NO LINE has as many cells as the header" in result.stderr
    assert "NO LABEL" not in result.stderr


def test_a_file_that_the_schema_covers(folder, answer):
    found = answer("schema", "check", "people.csv", "--schema", "people.toml")
    assert found["lines"] == 60
    assert found["malformed_lines"] == 0
    assert found["features"]["age"] == {"missing": 9, "undeclared": 0, "below": 0, "above": 0}
    assert found["labels"] == {"missing": 0, "undeclared": 0}


def test_no_records(odd, folder, run):
    (folder / "odd.csv").write_text(ODD.splitlines()[0])
    found = run(*odd, "--json")
    assert json.loads(found.stdout)["lines"] == 0
    assert json.loads(found.stdout)["refusal"].startswith("there are no records")
    assert "WARNING" not in found.stderr


def test_what_is_refused(odd, folder, run, is_refused):
    is_refused(run(*odd, "--target", "age"), 2, "age")
    (folder / "odd.csv").write_text("secret,secret2\n1,2\n")
    result = run(*odd)
    is_refused(result, 2, "first line")
    assert "secret" not in result.stderr
    assert "--schema FILE" in run("schema", "check", "odd.csv").stderr


@pytest.mark.full
def test_as_a_process(odd):
    done = subprocess.run(
        [sys.executable, "-m", "hedgerow", *odd, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert re.fullmatch("WARNING: another number of cells than the header's in 2 records: .*\n", done.stderr)
    assert json.loads(done.stdout)["features"] == COUNTS


def test_a_column_of_which_no_cell_is_as_declared_is_called_out(folder, run):
    (folder / "t.csv").write_text("smoker,y\nTrue,no\nFalse,yes\n")
    hr.Schema({"smoker": hr.Categorical(["yes", "no"])}, classes=["no", "yes"], target="y").save(folder / "t.toml")
    result = run("schema", "check", "t.csv", "--schema", "t.toml")
    assert "no cell of the column 'smoker' is a declared value" in result.stderr
    assert result.exit_code == 5
    (folder / "t.csv").write_text("smoker,y\nTrue,no\nFalse,yes\nmalformed\n")
    assert (
        "no cell of the column 'smoker' is a declared value"
        in run("schema", "check", "t.csv", "--schema", "t.toml").stderr
    )
    (folder / "t.csv").write_text("smoker,y\nyes,no\nFalse,yes\n")
    result = run("schema", "check", "t.csv", "--schema", "t.toml")
    assert "no cell" not in result.stderr
    assert result.exit_code == 0


def test_the_page_is_the_one_of_python(odd, folder, run):
    """One place counts and writes for both."""
    records = [line.split(",") for line in ODD.splitlines()[1:]]
    records = [record if len(record) == 4 else [None] * 4 for record in records]
    schema = hr.Schema.load(folder / "people.toml")
    names = ["age", "marital status", "code"]
    report = schema.check(dict(zip(names, zip(*(record[:3] for record in records), strict=True), strict=True)))
    counted = {
        name: {kind: getattr(column, kind) for kind in COUNTS["age"]} for name, column in report.features.items()
    }
    for column in counted.values():
        column["missing"] -= 2  # the malformed lines
    assert counted == COUNTS
