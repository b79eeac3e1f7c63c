"""The counts of the regression benchmark follow from its rows, and the page holds the counts of the rows that it prints."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import regression
import regression_sets
from peer_environment import PeerEnvironment
from regression_summary import (
    ADA_SSP,
    BOOSTING,
    DIFFPRIVLIB,
    EBM,
    OURS,
    OURS_PURE,
    markdown,
    prototype_table,
    read,
    summary,
)

PAGE = Path(__file__).parents[2] / "docs" / "peers.md"
EPSILONS = [0.1, 1.0, 10.0]


def rows(**figures):
    return pd.DataFrame(figures, index=EPSILONS).T


@pytest.fixture
def tables():
    """Made-up rows: ours is level with DP-EBM in one cell, which does not count as above."""
    diamonds = {
        OURS: [0.899, 0.963, 0.9702],
        EBM: [0.8, 0.9, 0.97021],
        BOOSTING: [0.98] * 3,
        OURS_PURE: [0.5, 0.6, 0.7],
    }
    made_up = {OURS: [0.1, 0.2, 0.3], EBM: [0.2, 0.1, 0.1], BOOSTING: [0.3] * 3, DIFFPRIVLIB: [-3, 0.2, 0.1]}
    made_up[OURS_PURE] = [-0.002, 0.3, 0.3]
    return {"diamonds": rows(**diamonds), "made up": rows(**made_up)}


def test_counts_of_made_up_rows(tables):
    found = dict(line.strip("| ").split(" | ") for line in summary(tables).splitlines()[2:])
    assert found == {
        f"{OURS}: cells above {EBM}": "4 of 6",
        f"{OURS}: cells above {DIFFPRIVLIB}": "2 of 3",
        f"{OURS_PURE}: cells above {DIFFPRIVLIB}": "3 of 3",
        f"{OURS} at epsilon 0.1: sets above {EBM} at 1": "0 of 2",
        f"{OURS} at epsilon 1: sets above {EBM} at 10": "1 of 2",
        f"{BOOSTING} less {OURS} at epsilon 1, median over 2 sets": "0.058",
        "lowest mean of HedgerowRegressor": "-0.002 (made up, pure, epsilon 0.1)",
        f"{OURS}: cells at or above the prototype": "2 of 3",
        f"{OURS}: cells at most 0.01 below the prototype, or above it": "3 of 3",
    }
    assert ADA_SSP not in summary(tables)


def test_a_table_reads_back_as_it_was_printed(tables, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Words.\n\n{summary(tables)}\n\n{markdown(tables)}\n\nMore | words.\n")
    assert markdown(read(page)) == markdown(tables)
    assert summary(read(page)) == summary(tables)


def test_the_page_holds_the_counts_of_its_rows():
    tables, text = read(PAGE), PAGE.read_text()
    assert len(tables) == len(regression_sets.NAMES)
    assert all(set(table.index) == set(regression.SYSTEMS) for table in tables.values())
    for block in (summary(tables), markdown(tables), prototype_table(tables)):
        assert block in text


@pytest.fixture
def small():
    generator = np.random.default_rng(0)
    X = pd.DataFrame({"a": generator.random(60), "b": np.tile(["x", "y", None], 20)})
    return regression_sets.Problem(X, 10 * X["a"].to_numpy(), (0, 10), {"a": (0, 1)}, {"b": ["x", "y"]})


@pytest.mark.parametrize("name", [DIFFPRIVLIB, EBM])
def test_a_peer_is_told_what_is_public(name, small, monkeypatch):
    def run(self, script, arguments):
        assert Path(script).is_file()
        with np.load(arguments["path"]) as file:
            data = dict(file)
        low, high = (data["low"], data["high"]) if name == DIFFPRIVLIB else data["bounds"].T
        assert ((low <= data["X"]) & (data["X"] <= high)).all()
        assert data["outcome"].tolist() == [0, 10]
        return [[99.0] * len(test) for test in data["test"]]

    monkeypatch.setattr(regression, "make_environment", PeerEnvironment)
    monkeypatch.setattr(PeerEnvironment, "run", run)
    table = regression.scores(small, [name], [1.0], 2)
    assert table.index == [name]


def test_no_group_is_in_both_parts_and_parts_have_one_size(small):
    groups = np.repeat(np.arange(24), [1, 4] * 12)
    grouped = replace(small, groups=groups)
    sizes = set()
    for seed in range(10):
        train, test = regression_sets.split(grouped, seed)
        assert not set(groups[train]) & set(groups[test])
        assert not set(train) & set(test)
        sizes.add((len(train), len(test)))
    assert sizes == {(42, 15)}
    order = np.random.RandomState(3).permutation(60)
    assert [part.tolist() for part in regression_sets.split(small, 3)] == [order[15:].tolist(), order[:15].tolist()]


def test_records_of_a_person_are_those_a_year_or_a_few_apart():
    frame = pd.DataFrame({"age": [30.25, 31.25, 33.25, 34.25, 12.5, 13.5, 13.5], "sex": [*"mmmfmmm"]})
    assert regression_sets.persons(frame).tolist() == [0, 0, 0, 1, 2, 2, 3]


def test_the_lowest_fit_is_that_of_all_sets():
    rows = {OURS: {0.1: [0.5, -0.25], 1.0: [0.6, 0.7]}, BOOSTING: {0.1: [-9.0], 1.0: [-9.0]}}
    others = {OURS: {0.1: [0.4, 0.3], 1.0: [0.1, 0.7]}}
    fits = {name: pd.DataFrame(table).T for name, table in {"few": rows, "many": others}.items()}
    assert list(regression.lowest(fits)) == [
        f"{OURS}, epsilon 0.1: the lowest of 4 fits is -0.250, on few",
        f"{OURS}, epsilon 1: the lowest of 4 fits is 0.100, on many",
    ]
