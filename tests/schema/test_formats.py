import datetime
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.reading.formats import DateFormat, NumberFormat
from hedgerow.schema.infer import column_of, question_of

GERMAN = NumberFormat(",", ".")


def cells(*values):
    return np.array(values, dtype=object)


@pytest.mark.parametrize(
    ("form", "text", "number"),
    [
        (GERMAN, "1.234,5", 1234.5),
        (GERMAN, " -1.234.567,25 ", -1234567.25),
        (GERMAN, "1234,5", 1234.5),
        (GERMAN, ",5", 0.5),
        (GERMAN, "7,", 7),
        (GERMAN, "1,5e3", 1500),
        (GERMAN, b"2,5", 2.5),
        (GERMAN, np.str_("2,5"), 2.5),
        (GERMAN, 3.5, 3.5),
        (GERMAN, True, 1),
        (GERMAN, "true", 1),
        (GERMAN, "-Inf", -math.inf),
        (NumberFormat(","), "1,5", 1.5),
        (NumberFormat(".", ","), "1,234.5", 1234.5),
        (NumberFormat(",", " "), "1 234\u00a0567,5", 1234567.5),
        (NumberFormat(".", "'"), "1'234\u2019567.5", 1234567.5),
    ],
)
def test_numbers_are_read_in_the_declared_form(form, text, number):
    assert form.number(text) == number


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (GERMAN, "1.23"),
        (GERMAN, "12.34,5"),
        (GERMAN, "0.123"),
        (GERMAN, "1,234.5"),
        (GERMAN, "3.5"),
        (GERMAN, "1_000"),
        (GERMAN, "x"),
        (GERMAN, ""),
        (GERMAN, ","),
        (GERMAN, None),
        (GERMAN, datetime.date(2024, 1, 1)),
        (NumberFormat(","), "1.234"),
        (NumberFormat(","), "1 234"),
        (NumberFormat(".", ","), "1234,5"),
    ],
)
def test_text_in_another_form_is_missing(form, text):
    assert math.isnan(form.number(text))


@pytest.mark.parametrize("marks", [("x", ""), (",", ","), (".", "."), (".", "x"), (".", "  "), (None, ""), (".", None)])
def test_other_marks_are_refused(marks):
    with pytest.raises(hr.SchemaError, match=r"decimal|thousands"):
        hr.Numeric(0, 1, decimal=marks[0], thousands=marks[1])


@pytest.mark.parametrize(
    ("form", "text", "iso"),
    [
        ("%d.%m.%Y", "31.12.2024", "2024-12-31"),
        ("%d.%m.%Y", " 1.2.2024 ", "2024-02-01"),
        ("%m/%d/%Y", "2/1/2024", "2024-02-01"),
        ("%d.%m.%y", "01.02.68", "2068-02-01"),
        ("%d.%m.%y", "01.02.69", "1969-02-01"),
        ("%Y%m%d", "20240201", "2024-02-01"),
        ("%d.%m.%Y %H:%M", "31.12.2024 9:05", "2024-12-31 09:05:00"),
        ("%d.%m.%Y", "2024-02-01", "2024-02-01"),
        ("%d.%m.%Y", datetime.date(2024, 2, 1), "2024-02-01"),
        ("%d.%m.%Y", np.datetime64("2024-02-01"), "2024-02-01"),
    ],
)
def test_dates_are_read_in_the_declared_form_and_in_iso_8601(form, text, iso):
    low, high = ("1900-01-01", "2099-12-31") if ":" not in iso else ("1900-01-01 00:00:00", "2099-12-31 00:00:00")
    declared, plain = hr.Date(low, high, date_format=form), hr.Date(low, high)
    assert declared.reader()(cells(text)) == plain.reader()(cells(iso))


@pytest.mark.parametrize("text", ["31.02.2024", "2024.12.31", "1.13.2024", "01.02", "x", "", None, 5])
def test_other_text_is_no_date(text):
    assert np.isnan(hr.Date("2020-01-01", "2024-12-31", date_format="%d.%m.%Y").reader()(cells(text))).all()


@pytest.mark.parametrize(
    "form",
    ["%d.%m", "%d.%m.%Y.%d", "%d.%m.%Y %q", "%d.%m.%Y %H", "%d.%m.%Y %S", "%Y-%d-%m", "", 5, "%d.%m.%Y%", "x" * 99],
)
def test_formats_that_name_no_day_or_would_read_iso_text_otherwise_are_refused(form):
    with pytest.raises(hr.SchemaError, match="date_format"):
        hr.Date("2020-01-01", "2024-12-31", date_format=form)


SCHEMA = hr.Schema(
    {
        "cost": hr.Numeric(0, 5000, decimal=",", thousands="."),
        "stays": hr.Integer(0, 2000, decimal=",", thousands="."),
        "day": hr.Date("2024-01-01", "2024-12-31", date_format="%d.%m.%Y"),
        "plain": hr.Numeric(0, 1),
    },
    ["ja", "nein"],
    missing=["-9,5"],
    target="y",
    delimiter=";",
    encoding="windows-1252",
)
TEXTS = {
    "cost": ["1.234,5", "2,5", "-9,5", "x"],
    "stays": ["1.999", "7", "3", ""],
    "day": ["31.12.2024", "1.6.2024", "2024-01-01", "x"],
    "plain": ["0.5", "0,5", "1", ""],
}
PLAIN = {
    "cost": [1234.5, 2.5, None, None],
    "stays": [1999, 7, 3, None],
    "day": ["2024-12-31", "2024-06-01", "2024-01-01", None],
    "plain": [0.5, None, 1, None],
}


def test_toml_copies_and_every_change_keep_how_text_is_written():
    assert hr.Schema.from_toml(SCHEMA.to_toml()) == SCHEMA
    text = SCHEMA.to_toml()
    for line in (
        'decimal = ","',
        'thousands = "."',
        'date_format = "%d.%m.%Y"',
        'delimiter = ";"',
        'encoding = "windows-1252"',
    ):
        assert line in text
    inferred = {
        name: type(f)(*getattr(f, "ends", (f.low, f.high)), origin="inferred") for name, f in SCHEMA.features.items()
    }
    assert SCHEMA.replace(inferred) != SCHEMA
    for changed in (
        SCHEMA.confirm(),
        SCHEMA.cut_at({"cost": [1.0, 2.0], "day": [19900.0]}),
        SCHEMA.replace(target="z"),
    ):
        assert (changed.delimiter, changed.encoding) == (";", "windows-1252")
        assert changed.features["cost"].decimal == ","
        assert changed.features["day"].date_format == "%d.%m.%Y"
    assert eval(repr(SCHEMA), {name: getattr(hr, name) for name in ("Schema", "Numeric", "Integer", "Date")}) == SCHEMA


@pytest.mark.parametrize("wrong", ["utf-16", "utf-7", "shift_jis", "no such", "cp037", "base64", 5, "idna"])
def test_encodings_in_which_lines_cannot_be_cut_are_refused(wrong):
    with pytest.raises(hr.SchemaError, match="encoding"):
        SCHEMA.replace(encoding=wrong)


@pytest.mark.parametrize("wrong", ["", "ab", '"', "\n", "\0", 5])
def test_characters_that_part_no_cells_are_refused(wrong):
    with pytest.raises(hr.SchemaError, match="delimiter"):
        SCHEMA.replace(delimiter=wrong)


@pytest.mark.parametrize(
    "make", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["mapping", "pandas", "polars", "pyarrow"]
)
def test_frames_of_text_are_read_by_the_schema(make):
    encoder = hr.schema.Encoder(SCHEMA, 64)
    plain = hr.schema.Encoder(SCHEMA, 64).transform(PLAIN)
    assert encoder.transform(make(TEXTS)).tolist() == plain.tolist()


def test_markers_hold_for_numbers_too():
    found = hr.schema.Encoder(SCHEMA, 64).transform({**PLAIN, "cost": np.array([-9.5, 1234.5, 2.5, 9.0])})
    assert found[0, 0] == 64
    assert (found[1:, 0] < 64).all()


def test_files_are_read_by_the_schema_and_answer_as_frames_do(tmp_path):
    random = np.random.default_rng(0)
    n = 500
    cost, stays, plain = random.uniform(0, 5000, n).round(2), random.integers(0, 2000, n), random.uniform(0, 1, n)
    day = np.datetime64("2024-01-01") + random.integers(0, 366, n)
    label = np.where(cost > 2500, "ja", "nein")
    german = [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in cost]
    days = [f"{d[8:]}.{d[5:7]}.{d[:4]}" for d in day.astype(str)]
    lines = [
        "cost;stays;day;plain;y",
        *map(";".join, zip(german, map(str, stays), days, map(str, plain), label, strict=True)),
    ]
    (tmp_path / "t.csv").write_bytes("\r\n".join(lines).encode("windows-1252"))
    X = {"cost": cost, "stays": stays, "day": day, "plain": plain}
    whole = hr.HedgerowClassifier(2.0, schema=SCHEMA, random_state=3).fit(X, label)
    parts = hr.HedgerowClassifier(2.0, schema=SCHEMA, random_state=3).fit(hr.Records.from_csv(tmp_path / "t.csv"))
    assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))
    answers = np.concatenate(list(hr.engines.predict(hr.Records.from_csv(tmp_path / "t.csv"), parts)))
    assert answers.tolist() == whole.predict(X).tolist()
    # The model file keeps it.
    whole.save(tmp_path / "m.hedgerow")
    assert hr.load(tmp_path / "m.hedgerow").schema_ == SCHEMA


@pytest.mark.parametrize(
    ("texts", "form", "is_open"),
    [
        (("1,5", "2,25"), NumberFormat(","), False),
        (("1.234,5", "2"), GERMAN, False),
        (("1,234.5", "2"), NumberFormat(".", ","), False),
        (("1 234,5", "2"), NumberFormat(",", " "), False),
        (("0,123", "1,500"), NumberFormat(","), False),
        (("18,000", "19,500"), NumberFormat(".", ","), True),
        (("1.234", "2.345"), NumberFormat(), True),
        (("31.12.2024", "1.1.2024"), DateFormat("%d.%m.%Y"), False),
        (("13/02/2024", "03/04/2024"), DateFormat("%d/%m/%Y"), False),
        (("12/02/2024", "03/14/2024"), DateFormat("%m/%d/%Y"), False),
        (("01/02/2024", "03/04/2024"), DateFormat("%d/%m/%Y"), True),
        (("31.12.2024 08:15", "1.1.2024 9:00"), DateFormat("%d.%m.%Y %H:%M"), False),
        (("1.5", "2"), None, False),
        (("2024-01-01", "2024-02-03"), None, False),
        (("a", "1,5"), None, False),
        (("", None), None, False),
        ((1.5, "2,5"), None, False),
    ],
)
def test_forms_are_recognized_and_what_is_open_is_said(texts, form, is_open):
    found = column_of(cells(*texts))
    assert (found.forms[0] if found.forms else None) == form
    assert is_open == bool(question_of(found))


def test_infer_reads_text_as_it_is_written():
    X = {"a": [f"{i},5" for i in range(20)], "d": [f"{i + 1:02}.03.2024" for i in range(20)]}
    with pytest.warns(hr.PrivacyLeakWarning):
        schema = hr.Schema.infer(X, ["x", "y"] * 10)
    assert schema.features["a"] == hr.Numeric(0.5, 19.5, decimal=",", origin="inferred")
    assert schema.features["d"] == hr.Date("2024-03-01", "2024-03-20", date_format="%d.%m.%Y", origin="inferred")
