"""Amounts, markers of one feature, codes compared as text, no-break spaces and ignored columns, wherever records are read."""

import time

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.reading.formats import NumberFormat
from hedgerow.reading.table_file import FileForm, read_table
from hedgerow.schema import Encoder

NUMBERS = [
    "(1.234,5)",
    "1,5-",
    "\u22121,5",
    "12 %",
    "$5",
    "5 EUR-",
    "EUR 5",
    "CHF -5",
    "7,25",
    "(5",
    "(-5)",
    "x",
    "999",
]
AMOUNTS = [-1234.5, -1.5, -1.5, 12, 5, -5, 5, -5, 7.25, *[np.nan] * 4]
CODES = ["345.1", "345.10", "\u00a0345.1", "345.10 ", "345", "01", "1", "-1", ""]
SCHEMA = hr.Schema(
    {
        "paid": hr.Numeric(-2000, 20, decimal=",", thousands=".", amounts=True, missing="999"),
        "code": hr.Categorical(["345.1", "345.10", "01", "1"], as_text=True, missing=["-1"]),
        "plain": hr.Categorical(["x", "y"]),
        "age": hr.Integer(0, 999, missing=["999"]),
        "years": hr.Integer(0, 999),
        "day": hr.Date("2020-01-01", "9999-12-31", date_format="%d.%m.%Y", missing=["9999-12-31"]),
    },
    classes=["n", "y"],
    target="label",
    ignore=["note"],
)
RECORDS = {
    "paid": NUMBERS,
    "code": [*CODES, *["1"] * 4],
    "plain": ["x\u00a0", "\u202fy", *["x"] * 11],
    "age": ["999", "999.0", "5", *["7"] * 10],
    "years": ["999", "5", *["7"] * 11],
    "day": ["31.12.9999", "9999-12-31", "01.02.2020", *["2020-01-01"] * 10],
    "note": ["free; text"] * 13,
    "label": ["y\u00a0", "n"] + ["n"] * 11,
}


def as_csv(tmp_path):
    pd.DataFrame(RECORDS).to_csv(tmp_path / "t.csv", index=False, sep=";")
    return read_table(tmp_path / "t.csv", FileForm(";", "utf-8"))


@pytest.mark.parametrize("source", ["csv", "frame", "objects"])
def test_cells_mean_what_the_schema_declares(tmp_path, source):
    table = as_csv(tmp_path) if source == "csv" else pd.DataFrame(RECORDS)
    if source == "objects":
        table = {name: np.array([*cells, None], dtype=object)[:-1] for name, cells in RECORDS.items()}
    columns = {name: table[name] for name in SCHEMA.names}

    encoder = Encoder(SCHEMA, 255)
    codes = encoder.transform(columns)
    known = {name: codes[:, place] for place, name in enumerate(SCHEMA.names)}
    edges = encoder.edges[0]
    expected = [len(edges) + 1 if np.isnan(one) else np.searchsorted(edges, one, side="right") for one in AMOUNTS]
    assert known["paid"].tolist() == expected
    assert known["code"].tolist() == [0, 1, 0, 1, 5, 2, 3, 4, 4, 3, 3, 3, 3]
    assert known["plain"].tolist() == [0, 1] + [0] * 11
    missing = {name: (known[name] == encoder.n_codes[SCHEMA.names.index(name)] - 1).tolist() for name in known}
    assert missing["age"] == [True, True] + [False] * 11
    assert not any(missing["years"])
    assert missing["day"] == [True, True] + [False] * 11
    assert encoder.labels(table["label"]).tolist() == [1] + [0] * 12
    report = SCHEMA.check({name: table[name] for name in (*SCHEMA.names, "note")}, table["label"])
    assert {name: report.features[name].missing for name in ("age", "day", "years")} == {"age": 2, "day": 2, "years": 0}


def test_the_declarations_are_kept_in_files_and_by_fits(tmp_path):
    assert hr.Schema.from_toml(SCHEMA.to_toml()) == SCHEMA
    frame = pd.DataFrame({name: cells * 40 for name, cells in RECORDS.items()})
    model = hr.HedgerowClassifier(epsilon=1.0, schema=SCHEMA, random_state=0).fit(frame, frame["label"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    records = hr.Records.from_csv(str(tmp_path / "t.csv"), "label")
    same = hr.HedgerowClassifier(epsilon=1.0, schema=SCHEMA, random_state=0).fit(records)
    assert np.array_equal(model.predict_proba(frame), same.predict_proba(frame))
    assert np.array_equal(model.predict_proba(frame.drop(columns="note")), model.predict_proba(frame))
    model.save(tmp_path / "m.hedgerow")
    assert np.array_equal(hr.load(tmp_path / "m.hedgerow").predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hr.Numeric(0, 1, missing=[9]), "marker .* is 9, but it must be text"),
        (lambda: hr.Categorical(["1", "1.0"]), "declare as_text"),
        (lambda: hr.Categorical(["a", " a"], as_text=True), "are one value"),
        (lambda: SCHEMA.replace(ignore=["age"]), "neither features nor the target"),
        (lambda: SCHEMA.replace(ignore="note"), "must be a list"),
    ],
)
def test_wrong_declarations_are_refused(call, words):
    with pytest.raises(hr.SchemaError, match=words):
        call()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("(514,84) €", -514.84),
        ("€ (1.514,84)", -1514.84),
        ("EUR (5)", -5),
        ("(5) %", -5),
        ("€ (-5)", np.nan),
        ("(5 €", np.nan),
        ("€ €", np.nan),
        ("€" + 20_000 * " " + "(x", np.nan),
    ],
)
def test_a_unit_stands_inside_or_outside_of_brackets(text, number):
    found = NumberFormat(",", ".", amounts=True).number(text)
    assert found == number or (np.isnan(found) and np.isnan(number))


@pytest.mark.parametrize("space", [" ", "\t", "\u00a0"])
@pytest.mark.parametrize(
    ("before", "after", "number"), [("1", "x", np.nan), ("1", "€", 1), ("(1", ")", -1), ("1", "--", np.nan)]
)
def test_the_time_to_read_an_amount_grows_as_its_letters_do(before, after, number, space):
    """A time that grows with the square of the letters would be minutes."""
    begun = time.process_time()
    found = NumberFormat(amounts=True).number(before + 250_000 * space + after)
    assert found == number or (np.isnan(found) and np.isnan(number))
    assert time.process_time() - begun < 5
