"""What the records' owner is told about a schema: raw counts that no fit asks for."""

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.schema import check
from hedgerow.schema.check import ColumnReport

SCHEMA = hr.Schema(
    {"age": hr.Numeric(0, 100), "work": hr.Categorical(["State-gov", "private", 3])},
    classes=["<=50K", ">50K"],
    missing=["?", "-1"],
)
X = {
    "age": [50, None, "?", -1, -2, 101, float("inf"), "old", pd.Timestamp("2020-01-01"), 0],
    "work": ["private", "Private", " state gov", "?", None, 3, "3.0", [1], object(), 4],
}
Y = ["<=50K", ">50K", ">50K.", "<= 50k", None, "?", "50K", [1], 0, ">50K"]


def test_counts_by_column():
    report = SCHEMA.check(X, Y)
    assert report.records == 10
    assert report.features == {
        "age": ColumnReport(
            missing=3, undeclared=2, below=1, above=2, undeclared_values=("2020-01-01 00:00:00", "old")
        ),
        "work": ColumnReport(4, 3, 0, 0, ("4", "Private", "state gov")),
    }
    assert report.labels == ColumnReport(3, 4, 0, 0, ("0", "50K", "<= 50k", ">50K."))
    assert (report.unread, report.unlabeled) == ((), False)
    assert [finding[:30] for finding in report.findings] == ["ONLY 3 OF 10 RECORDS have a la"]
    with pytest.raises(FrozenInstanceError):
        report.records = 0


@pytest.mark.parametrize("rows", [1, 3, 10])
def test_blocks_are_counted_together(rows, monkeypatch):
    whole = SCHEMA.check(X, Y)
    monkeypatch.setattr(check, "BLOCK_ROWS", rows)
    assert SCHEMA.check(X, Y) == whole


def test_undeclared_values_are_listed_by_how_often_they_occur():
    schema = hr.Schema(
        {"code": hr.Categorical(["345.1", "7"], as_text=True), "age": hr.Numeric(0, 9)}, classes=["a", "b"]
    )
    cells = ["345.1", "345.10", "07", "345.10", "", "x" * 300, "\x1b[2J", *map(str, range(100, 109))]
    report = schema.check({"code": cells, "age": ["1,5"] * len(cells)}, ["a"] * len(cells))
    assert report.features["code"].undeclared == 14
    frequent = report.features["code"].undeclared_values
    assert frequent == ("345.10", "\x1b[2J", "07", "100", "101", "102", "103", "104", "105", "106")
    assert "\nundeclared in age, the most frequent first: '1,5'\n" in str(report)
    assert "\nundeclared in code, the most frequent first: '345.10', '\\x1b[2J', '07'" in str(report)
    cut = schema.check({"code": ["x" * 300], "age": [1]}, ["a"])
    assert cut.features["code"].undeclared_values == ("x" * 256,)


def test_every_table_gives_the_same_report():
    columns = {"age": ["1", "x", None, "200"], "work": ["private", "PRIVATE", None, "3"]}
    labels = [">50K", ">50k", None, "<=50K"]
    reports = [
        SCHEMA.check(table, y)
        for table, y in (
            (columns, labels),
            (pd.DataFrame(columns), pd.Series(labels)),
            (pl.DataFrame(columns), pl.Series(labels)),
            (pl.DataFrame(columns).to_arrow(), np.array(labels, dtype=object)),
            (list(zip(*columns.values(), strict=True)), labels),
        )
    ]
    assert all(report == reports[0] for report in reports)


def test_columns_of_which_nothing_is_read_are_named():
    report = SCHEMA.check({"age": ["a", None, "?"], "work": ["private", "x", "y"]}, [">50K"] * 3)
    assert report.unread == ("age",)
    assert report.findings[-1].startswith("no cell of the column 'age' could be read")
    report = SCHEMA.check({"age": ["a", None, "?"], "work": [4, "x", None]})
    assert report.unread == ("age", "work")
    out_of_range = SCHEMA.check({"age": [1000, 2000], "work": [3, 3]})
    assert (out_of_range.unread, out_of_range.features["age"].above) == ((), 2)


def test_labels_of_which_none_matches_are_named():
    report = SCHEMA.check({"age": [1, 2], "work": [3, 3]}, ["yes", "no"])
    assert report.unlabeled
    [finding] = report.findings
    assert finding.startswith("NO LABEL in y is one of the declared classes, '<=50K', '>50K'.")
    assert "pass the right labels" in finding
    without = SCHEMA.check({"age": [1, 2], "work": [3, 3]})
    assert (without.labels, without.unlabeled, without.findings) == (None, False, ())


def test_the_page_says_that_it_is_not_private_and_steers_no_terminal():
    schema = hr.Schema({"\x1b[2J": hr.Numeric(0, 1)}, classes=["no"])
    page = str(schema.check({"\x1b[2J": [5, None]}, ["\x1b[2J", "NO"]))
    assert page.startswith("These counts are read off the records without protection: they are NOT private")
    assert "records: 2" in page
    assert next(line for line in page.splitlines() if "u001b[2J" in line).split()[1:] == ["1", "0", "0", "1"]
    assert "labels: 0 missing, 2 undeclared" in page
    assert "WARNING: NO LABEL in y" in page
    assert "\x1b" not in page


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([{"age": 1, "work": 3}], None),
        ({"age": np.zeros(1, "M8[s]"), "work": [3]}, None),
        ({"age": [1], "work": [3]}, [1, 2]),
    ],
)
def test_what_a_fit_refuses_is_refused(X, y):
    with pytest.raises(hr.ConfigurationError):
        SCHEMA.check(X, y)
    with pytest.raises(hr.ConfigurationError):
        SCHEMA.check({"age": [], "work": []})


def test_no_fit_checks(monkeypatch):
    def called(*args):
        raise AssertionError

    for name in ("Checker", "_Tally"):
        monkeypatch.setattr(check, name, called)
    schema = SCHEMA.replace(missing=())
    for variant in ("private", "published"):
        hr.EDPRFClassifier(schema=schema, variant=variant).fit(X, Y)
    hr.Curator(X, Y, schema, 1.0)


@pytest.mark.parametrize(("cells", "side"), [([-5, -1, None], "below"), ([200, 1000, None], "above")])
def test_a_column_in_another_unit_is_named(cells, side):
    schema = hr.Schema({"height": hr.Numeric(50, 190)}, classes=["no", "yes"])
    report = schema.check({"height": cells}, ["no", "yes", "no"])
    assert any("nearly all numbers of the column 'height'" in text for text in report.findings)
    assert getattr(report.features["height"], side) == 2
    inside = schema.check({"height": [*cells, 100]}, ["no", "yes", "no", "no"])
    assert not any("nearly all numbers" in text for text in inside.findings)
