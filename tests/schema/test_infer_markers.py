"""Other texts among the numbers or dates of a draft: markers of missing cells, however many there are, or values."""

import numpy as np
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main

NUMBERS = [str(place) for place in range(100, 160)]
DATES = [f"{1 + place % 28}.{1 + place % 12}.2020" for place in range(60)]
AMOUNTS = [f"({place}.50)" if place % 2 else f"1'{place}.00-" for place in range(100, 160)]
CODES = [str(place) for place in range(1, 13)]
KINDS = {  # cells, other texts, their share of the cells, and whether the column is still numbers or dates
    "numbers and a word": (NUMBERS, ["offen"], 0.4, "numeric"),
    "dates and a word": (DATES, ["offen"], 0.4, "date"),
    "dates and a word beside a sentinel": (DATES, ["offen", *["31.12.9999"] * 2], 0.6, "date"),
    "amounts and dashes": (AMOUNTS, ["-", "\u2013"], 0.4, "numeric"),
    "numbers and signs": (NUMBERS, ["~", "#", "=="], 0.4, "numeric"),
    "a word in most cells": (NUMBERS, ["offen"], 0.7, "values"),
    "two words": (NUMBERS, ["offen", "zu"], 0.4, "values"),
    "few rare words": (NUMBERS, ["offen", "zu"], 0.05, "numeric"),
    "wards": (CODES, ["A", "B", "C"], 0.3, "values"),
    "a ward": (CODES, ["A"], 0.3, "values"),
}


@pytest.mark.parametrize("name", KINDS)
def test_other_texts_of_a_column_are_markers_or_values(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells, others, share, wanted = KINDS[name]
    rng = np.random.default_rng(0)
    column = np.where(rng.random(2000) < share, rng.choice(others, 2000), rng.choice(cells, 2000))
    lines = ["a,y", *(f"{cell},{'no' if place % 2 else 'yes'}" for place, cell in enumerate(column))]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n", "utf-8")
    assert CliRunner().invoke(main, "schema init d.csv --target y --out s.toml".split()).exit_code == 0
    feature = hr.Schema.load("s.toml").features["a"]
    kinds = {"date": hr.Date, "numeric": hr.Numeric, "values": hr.Categorical}
    assert isinstance(feature, kinds[wanted])
    assert isinstance(feature, hr.Date) == (wanted == "date")
    if wanted != "values":
        assert CliRunner().invoke(main, "schema check d.csv --schema s.toml".split()).exit_code == 0
        read = feature.reader(hr.Schema.load("s.toml").missing)(column.astype(object))
        assert np.array_equal(np.isnan(read), np.isin(column, others))
