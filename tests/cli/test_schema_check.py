import json
import subprocess
import sys

import pytest

from hedgerow.cli import csv_file

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


def test_counts(odd, answer):
    found = answer(*odd)
    assert found.pop("note").startswith("These counts are read off the records")
    assert found == {
        "private": False,
        "lines": 11,
        "malformed_lines": 2,
        "columns_lacking": [],
        "columns_extra": [],
        "features": COUNTS,
        "labels": {"missing": 2, "undeclared": 1},
    }


def test_blocks_are_counted_together(odd, answer, monkeypatch):
    whole = answer(*odd)
    monkeypatch.setattr(csv_file, "BLOCK_LINES", 2)
    assert answer(*odd) == whole


def test_a_number_that_is_a_marker_is_missing(odd, folder, answer):
    text = (folder / "people.toml").read_text().replace('["?"]', '["?", "-1", "old"]')
    (folder / "people.toml").write_text(text)
    assert answer(*odd)["features"]["age"] == {"missing": 4, "undeclared": 0, "below": 0, "above": 2}


def test_the_page(odd, run):
    result = run(*odd)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "NOT private" in result.stdout.splitlines()[0]
    rows = [line.split() for line in result.stdout.splitlines()]
    assert "11 lines, of which 2 malformed" in result.stdout
    assert ["age", "2", "1", "1", "2"] in rows
    assert ["marital", "status", "2", "1", "0", "0"] in rows
    assert "labels: 2 missing, 1 undeclared" in result.stdout
    assert "columns" not in result.stdout


def test_lacking_and_extra_columns(odd, folder, run, answer):
    (folder / "odd.csv").write_text("age,id\n50,1\n200,2\n")
    found = answer(*odd)
    assert (found["columns_lacking"], found["columns_extra"]) == (["marital status", "code", "income"], ["id"])
    assert found["features"] == {"age": {"missing": 0, "undeclared": 0, "below": 0, "above": 1}}
    assert (found["labels"], found["lines"]) == (None, 2)
    page = run(*odd).stdout
    assert "lacks: 'marital status', 'code', 'income'" in page
    assert "does not declare: 'id'" in page
    assert "labels" not in page


def test_labels_alone(odd, folder, run, answer):
    (folder / "odd.csv").write_text("income,id\nlow,1\nodd,2\n")
    found = answer(*odd)
    assert (found["features"], found["labels"]) == ({}, {"missing": 0, "undeclared": 1})
    assert run(*odd).exit_code == 0


def test_a_file_that_the_schema_covers(folder, answer):
    found = answer("schema", "check", "people.csv", "--schema", "people.toml")
    assert found["lines"] == 60
    assert found["malformed_lines"] == 0
    assert found["features"]["age"] == {"missing": 9, "undeclared": 0, "below": 0, "above": 0}
    assert found["labels"] == {"missing": 0, "undeclared": 0}


def test_no_records(odd, folder, answer):
    (folder / "odd.csv").write_text(ODD.splitlines()[0])
    assert answer(*odd)["lines"] == 0


def test_what_is_refused(odd, folder, run, is_refused):
    is_refused(run(*odd, "--target", "age"), 2, "age")
    (folder / "odd.csv").write_text("secret,secret2\n1,2\n")
    result = run(*odd)
    is_refused(result, 2, "first line")
    assert "secret" not in result.stderr
    assert "--schema FILE" in run("schema", "check", "odd.csv").stderr


def test_as_a_process(odd):
    done = subprocess.run(
        [sys.executable, "-m", "hedgerow", *odd, "--json"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["features"] == COUNTS
