"""The cards of groups: each counts its own records, for the budget of one card, however groups, persons and files lie."""

from __future__ import annotations

import json
import re
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.analysis.evaluation import evaluate

matplotlib.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records", "ignore:.*no released count")

FEATURES = {"a": hr.Numeric(0, 1), "site": hr.Categorical(["north", "south", "east"]), "smokes": hr.Boolean()}
SCHEMAS = {
    "two": hr.Schema(FEATURES, classes=["no", "yes"], target="y"),
    "three": hr.Schema(FEATURES, classes=[1, 2, 3], target="y"),
    "number": hr.Schema(FEATURES, outcome=hr.Numeric(0, 10), target="y"),
}
KINDS = list(SCHEMAS)
SURE = {"epsilon": 1e6, "random_state": 0}  # noise of zero


def sample(kind, size, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.uniform(size=size),
            "site": rng.choice(["north", "south"], size, p=[0.7, 0.3]),
            "smokes": rng.choice([True, False], size),
        }
    )
    score = X["a"] + 0.3 * (X["site"] == "south") + rng.normal(0, 0.2, size)
    y = {"two": np.where(score > 0.6, "yes", "no"), "three": 1 + np.digitize(score, [0.4, 0.8]), "number": 8 * score}[
        kind
    ]
    return X, y


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def model(kind):
    made = hr.HedgerowRegressor if kind == "number" else hr.HedgerowClassifier
    return made(epsilon=5, schema=SCHEMAS[kind], random_state=0).fit(*sample(kind, 3000, 0))


def test_each_card_is_that_of_the_group_alone(kind, model):
    X, y = sample(kind, 1200, 1)
    X.loc[:9, "site"], X.loc[10:14, "site"] = None, "west"
    cards = evaluate(model, X, y, by="site", **SURE)
    assert list(cards) == ["north", "south", "east", None]
    for group, card in cards.items():
        own = X["site"].isin(["north", "south", "east"]) if group is None else X["site"] != group
        alone = evaluate(model, X[~own], y[~own], **SURE) if (~own).any() else None
        expected = np.zeros(len(card.counts)) if alone is None else alone.counts
        assert np.array_equal(card.counts, expected), group
    whole = evaluate(model, X, y, **SURE)
    assert np.array_equal(sum(card.counts for card in cards.values()), whole.counts)


def test_they_cost_what_one_card_costs(kind, model):
    X, y = sample(kind, 400, 1)
    ledger = hr.Ledger(epsilon=2)
    cards = evaluate(model, X, y, epsilon=0.5, by="site", ledger=ledger)
    one = evaluate(model, X, y, epsilon=0.5)
    assert cards.certificate_.holds
    assert cards.certificate_.spent == one.certificate_.spent
    assert {card.deviation for card in cards.values()} == {one.deviation}
    assert len(ledger.entries) == 1
    assert ledger.spent == 0.5
    normal = evaluate(model, X, y, epsilon=0.5, delta=1e-6, by="site")
    assert normal.certificate_.event.draws == sum(len(card.counts) for card in normal.values())


def test_a_person_in_several_groups_is_capped_in_all_of_them_together(kind, model):
    """Four records of each person, half of them in each group."""
    X, y = sample(kind, 400, 2)
    X["site"] = np.where(np.arange(400) % 2, "north", "south")
    for most in (1, 3):
        with pytest.warns(UserWarning, match="protects"):
            cards = evaluate(model, X, y, by="site", groups=np.arange(400) // 4, records_per_person=most, **SURE)
        assert round(sum(card.records for card in cards.values())) == 100 * most
        assert cards.certificate_.records_per_person == most


def test_records_in_blocks_give_the_same_cards(kind, model):
    X, y = sample(kind, 600, 3)
    whole = evaluate(model, X, y, epsilon=1, by="smokes", random_state=4)
    blocks = [X[:200].assign(y=y[:200]), X[200:].assign(y=y[200:])]
    again = evaluate(model, hr.Records.from_batches(blocks, label="y"), epsilon=1, by="smokes", random_state=4)
    assert [card.counts.tolist() for card in again.values()] == [card.counts.tolist() for card in whole.values()]
    assert list(whole) == [False, True, None]


def test_small_groups_are_said_to_be_small(kind, model):
    X, y = sample(kind, 3000, 5)
    X.loc[:3, "site"] = "east"
    with pytest.warns(UserWarning, match="number of records of 'east' does not stand out"):
        cards = evaluate(model, X, y, epsilon=1, by="site", random_state=0)
    assert cards["east"].too_few
    assert not cards["north"].too_few
    text = str(cards)
    assert re.search(r"east +-?\d+ +too few\n", text)
    assert "'east' does not stand out" in text
    name = cards["north"].FIGURES[0]
    assert f"{cards['north'].figure(name).value:.3f}"[:4] in text
    assert "too few" in cards._repr_html_()


@pytest.mark.filterwarnings("ignore")
def test_what_all_groups_are_warned_of_is_said_once(kind, model):
    X, y = sample(kind, 3000, 5)
    cards = evaluate(
        model,
        X,
        np.full(len(y), y[0] if kind != "number" else model.schema_.outcome.high),
        epsilon=1,
        by="site",
        random_state=0,
    )
    known = [str(group) for group, card in cards.items() if not card.too_few]
    assert all(cards[group].warnings for group in known)
    told = [text for text in cards.warnings if "does not stand out from its noise, so" not in text]
    assert len(known) >= 2
    assert len(told) == len(cards[known[0]].warnings)
    assert all(name in text for name in known for text in told)


def test_files_hold_them(kind, model):
    cards = evaluate(model, *sample(kind, 800, 6), epsilon=1, by="site")
    values = {**cards.to_dict(), "certificate": cards.certificate_.to_dict()}
    again = hr.GroupCards.from_dict(json.loads(json.dumps(values, allow_nan=False)))
    assert str(again) == str(cards)
    assert list(again) == list(cards)
    with pytest.raises(ValueError, match="no counts"):
        hr.GroupCards.from_dict({**values, "groups": []})


@pytest.mark.parametrize("by", ["a", "nowhere", 3, ["site"]])
def test_what_has_no_declared_categories_is_refused(kind, model, by):
    X, y = sample(kind, 50, 7)
    ledger = hr.Ledger(epsilon=2)
    with pytest.raises(hr.ConfigurationError, match="pass one of 'site', 'smokes'"):
        evaluate(model, X, y, epsilon=1, by=by, ledger=ledger)
    assert ledger.entries == ()


def test_the_display_draws_each_group_that_is_known(kind, model):
    X, y = sample(kind, 3000, 8)
    cards = evaluate(model, X, y, epsilon=1, by="site", random_state=0)
    display = hr.GroupsDisplay.from_report(cards).plot()
    figure = "mae" if kind == "number" else "recall"
    values = np.array([cards[group].figure(figure).value for group in cards])
    names = [label.get_text().replace("\n", " ") for label in display.ax_.get_yticklabels()]
    assert [name for name, value in zip(names, values, strict=True) if np.isfinite(value)] == ["north", "south"]
    assert all("too few records" in name for name, value in zip(names, values, strict=True) if not np.isfinite(value))
    assert display.ax_.get_xlabel() == figure
    drawn = np.concatenate([line.get_xdata() for line in display.ax_.lines])
    np.testing.assert_array_equal(drawn, values)
    ends = [collection.get_segments()[0][:, 0] for collection in display.ax_.collections[:2]]  # of the first group
    assert ends[0][0] <= ends[1][0] <= values[0] <= ends[1][1] <= ends[0][1]
    plt.close("all")


def test_the_command_line(folder, run, train, answer):
    assert train("--out", "m.hedgerow", epsilon="5").exit_code == 0
    path = "m.hedgerow", "people.csv", "--epsilon", 50, "--by"
    result = run("evaluate", *path, "marital status", "--out", "report.json")
    assert result.exit_code == 0, result.output
    assert "married, or so" in result.stdout
    assert "missing or undeclared" in result.stdout
    assert [each["group"] for each in json.loads(Path("report.json").read_text("utf-8"))["groups"]][-1] is None
    assert answer("evaluate", *path, "marital status")["by"] == "marital status"
    assert run("card", "m.hedgerow", "--report", "report.json", "--out", "card.html").exit_code == 0
    assert "Report cards by marital status" in Path("card.html").read_text("utf-8")
    for column in ("age", "nowhere"):
        refused = run("evaluate", *path, column)
        assert refused.exit_code == 2
        assert "pass one of 'marital status', 'code'" in " ".join(refused.stderr.split())
