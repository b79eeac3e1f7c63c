"""``hedgerow card``: what it says is what the model says, and no text of a schema is taken for a mark."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.plots import Page
from hedgerow.plots.card import TEXTS, write_card

NASTY = '<script>alert(1)</script> | a *b* `c` [d](http://x.y) ![e](f) "g" \\ $h$'


@pytest.fixture(autouse=True)
def _no_window(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")


def fitted(name="age", kind=hr.HedgerowClassifier, **given):
    schema = hr.Schema(
        {
            name: hr.Numeric(0, 100, missing=["999"]),
            "job": hr.Categorical(["nurse", "clerk"]),
            "since": hr.Date("2020-01-01", "2020-12-31"),
        },
        classes=["no", "yes"],
        missing=["?"],
    )
    generator = np.random.default_rng(0)
    age = generator.uniform(0, 100, 3000)
    X = {name: age, "job": generator.choice(["nurse", "clerk"], 3000), "since": ["2020-03-01"] * 3000}
    return kind(schema=schema, **given).fit(X, np.where(age > 60, "yes", "no"))


@pytest.mark.filterwarnings("ignore:the noisy number of records")  # of which there are few
def test_html_holds_every_part_and_nothing_of_the_web(train, run):
    assert train("--system", "hedgerow", epsilon="5").exit_code == 0
    result = run("card", "m.hedgerow", "--out", "card.html")
    assert (result.exit_code, result.stdout) == (0, "")
    page = Path("card.html").read_text("utf-8")
    for part in (
        "What it guarantees",
        "What it reads",
        "What it learned",
        "Limits",
        "marital status",
        "HedgerowClassifier",
    ):
        assert part in page
    assert page.count('src="data:image/png;base64,') == 2  # importances and curves
    assert not re.search(r"https?://|<script|<link|@import", page)
    assert run("card", "m.hedgerow", "--out", "card.html").exit_code == 2  # without --force
    assert run("card", "m.hedgerow", "--out", "card.html", "--force").exit_code == 0


def test_a_forest_has_importances_and_no_curves(train, run):
    assert train("--system", "edprf").exit_code == 0
    assert run("card", "m.hedgerow", "--out", "card.html", "--title", "Who <earns>").exit_code == 0
    page = Path("card.html").read_text("utf-8")
    assert "<h1>Who &lt;earns&gt;</h1>" in page
    assert page.count("data:image/png;base64,") == 1
    model = hr.load("m.hedgerow")
    for line in model.certificate_.details().splitlines():
        assert html.escape(line) in page
    for name, value in zip(model.schema_.names, model.feature_importances_, strict=True):
        assert f"<td>{name}</td><td>{value:.4f}</td>" in page


def test_a_report_card_in_a_file_stands_on_the_card_of_its_model(train, run, is_refused, answer):
    assert train("--system", "forest").exit_code == 0
    evaluated = run("evaluate", "m.hedgerow", "people.csv", "--epsilon", "2", "--out", "report.json")
    assert evaluated.exit_code == 0, evaluated.output
    assert evaluated.stderr.endswith("report.json\n")
    assert run("card", "m.hedgerow", "--out", "card.html", "--report", "report.json").exit_code == 0
    page = Path("card.html").read_text("utf-8")
    report = evaluated.stdout.partition("\n\nPrivacy certificate")[0]
    assert "<h2>How good it is</h2>\n<p>Released by a private evaluation, whose certificate follows.</p>\n<pre>" in page
    for line in report.splitlines():
        assert html.escape(line) in page
    is_refused(
        run("evaluate", "m.hedgerow", "people.csv", "--epsilon", "2", "--out", "report.json"), 2, "exists already"
    )
    is_refused(run("card", "m.hedgerow", "--out", "report.json", "--force", "--report", "report.json"), 2, "reads")
    assert train("--system", "forest", "--force").exit_code == 0
    is_refused(run("card", "m.hedgerow", "--out", "b.html", "--report", "report.json"), 2, "about another model")


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.pop("counts"),
        lambda values: values["counts"].pop(),
        lambda values: values.update(bins=10**9),
        lambda values: values.update(bins=3),
        lambda values: values.update(classes=[]),
        lambda values: values["counts"].__setitem__(0, float("inf")),
        lambda values: values["certificate"].pop("event"),
        lambda values: values.pop("model_sha256"),
    ],
)
def test_a_damaged_report_is_refused(train, run, is_refused, change):
    assert train("--system", "forest").exit_code == 0
    assert run("evaluate", "m.hedgerow", "people.csv", "--epsilon", "2", "--out", "report.json").exit_code == 0
    values = json.loads(Path("report.json").read_text("utf-8"))
    change(values)
    Path("report.json").write_text(json.dumps(values), "utf-8")
    is_refused(run("card", "m.hedgerow", "--out", "card.html", "--report", "report.json"), 2)
    Path("report.json").write_text("[" * 10**6, "utf-8")
    is_refused(run("card", "m.hedgerow", "--out", "card.html", "--report", "report.json"), 2, "no report card")
    assert not Path("card.html").exists()


def test_a_ledger_says_who_spent_what(train, run, folder):
    at = ("--ledger", folder / "budget.db", "--dataset", "people")
    assert run("budget", "create", *at, "--epsilon", "3").exit_code == 0
    assert train("--system", "forest", *map(str, at)).exit_code == 0
    assert run("card", "m.hedgerow", "--out", "card.html", *at).exit_code == 0
    page = Path("card.html").read_text("utf-8")
    assert "<td>epsilon spent</td><td>1</td>" in page
    assert "<td>epsilon left</td><td>2</td>" in page
    assert "<td>ForestClassifier</td><td>finished</td><td>1</td>" in page


def test_no_text_of_a_schema_is_a_mark():
    page = Page(NASTY)
    write_card(fitted(NASTY), page)
    assert "<script" not in page.html()


def test_dates_and_limits_are_told():
    page = Page("x")
    write_card(fitted(), page)
    text = page.html()
    assert "<td>since</td><td>Date</td><td>2020-01-01 to 2020-12-31</td><td>given</td>" in text
    assert text.count("<li>") >= len(TEXTS["limits"])


def test_a_void_guarantee_is_said_first():
    page = Page("x")
    write_card(fitted(kind=hr.EDPRFClassifier, random_state=0), page)
    assert "DOES NOT HOLD" in page.html()
    assert "No guarantee holds for this model" in page.html()


def test_without_matplotlib_the_card_has_tables(monkeypatch):
    model = fitted()
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    page = Page("x")
    write_card(model, page)
    assert "are missing: a picture needs matplotlib" in page.html()
    assert "data:image" not in page.html()
    assert "<td>age</td>" in page.html()


def test_the_markers_of_a_feature_stand_beside_its_range():
    page = Page("p")
    write_card(fitted(epsilon=1.0), page)
    assert "<td>[0, 100]; missing: &#x27;999&#x27;</td>" in page.html()
    assert "<td>nurse, clerk</td>" in page.html()
