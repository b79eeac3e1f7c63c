"""How a paper's file is read, on small tables."""

import tomllib

import pytest

from hedgerow.files import packaged_text
from hedgerow.papers.reproduce.experiment import Panel
from hedgerow.papers.reproduce.statements import NAMES as PAPERS
from hedgerow.papers.reproduce.statements import expanded, experiments_of, read_paper

NAMES = {"rows": [{"a": 1}, {"a": 2}], "more": [{"b": "x"}, {"b": "y"}], "number": 0.5, "whole": 3.0}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("{number}", 0.5),
        ("at {number} and {whole}", "at 0.5 and 3"),
        ("{task}, {measure} {number}", "{task}, {measure} 0.5"),
        ("{task}", "{task}"),
        (["{rows}"], [[{"a": 1}, {"a": 2}]]),
        (["{*rows}", {"a": 3}], [{"a": 1}, {"a": 2}, {"a": 3}]),
        ([{"for": "{rows}", "text": "a{a}", "{a}": "{a}"}], [{"text": "a1", 1: 1}, {"text": "a2", 2: 2}]),
        ([{"for": ["{rows}", "{more}"], "item": "{a}{b}"}], ["1x", "1y", "2x", "2y"]),
        ([{"for": [], "item": "{a}"}], []),
        ([{"for": "{rows}", "item": [{"for": "{more}", "item": "{a}{b}"}]}], [["1x", "1y"], ["2x", "2y"]]),
    ],
)
def test_names_are_filled_in(value, found):
    assert expanded(value, NAMES) == found


@pytest.mark.parametrize("value", ["{unknown}", "of {unknown}", ["{*unknown}"]])
def test_an_unknown_name_is_refused(value):
    with pytest.raises(KeyError, match="unknown"):
        expanded(value, NAMES)


def test_tables_become_an_experiment():
    group = {
        "methods": [{"tree": {"system": "edprf", "max_depth": 2}}, {"rule": {"system": "majority"}}],
        "data": ["robot"],
        "fixed": {"stop": "none"},
        "forms": ["published", "coded"],
        "measures": {"auc": "ROC AUC"},
        "panel": "{task}, {measure}",
        "coded_measure": "auc40",
        "again": [{"label": "other", "measure": "f1"}, {"label": "free", "epsilon": 1e9, "only": "no tree"}],
    }
    table = {
        "name": "x",
        "title": "t",
        "settings": "s",
        "axis": "sizes",
        "section": "1",
        "curves": [group],
        "reported": [{"panel": "p", "label": "tree", "x": [1, 2], "values": [0.5, 0.6], "of": "auc"}],
        "claims": [
            {"text": "up", "check": "rises", "label": "tree"},
            {"section": "2", "text": "down", "check": "rises", "label": "tree", "sign": -1},
        ],
        "checks": [{"text": "ours", "check": "above", "first": "tree", "others": ["rule"]}],
        "picture": "draw_figure3",
    }
    axis = {"parameter": "n_estimators", "words": "trees", "values": [1, 2]}
    [experiment] = experiments_of("edprf", {"axes": {"sizes": axis}, "experiments": [table]})
    assert experiment.name == "edprf/x"
    assert experiment.panels == (Panel("wall-following robot, ROC AUC", "auc"),)
    assert [(curve.label, curve.form, curve.measure) for curve in experiment.curves] == [
        ("tree", "published", "auc"),
        ("tree", "coded", "auc40"),
        ("rule", None, "auc"),
        ("other", "published", "f1"),
        ("other", "coded", "f1"),
    ]
    assert dict(experiment.curves[0].points[1][1].settings) == {"max_depth": 2, "n_estimators": 2, "stop": "none"}
    assert experiment.reported == {(Panel("p", "auc"), "tree", 1): 0.5, (Panel("p", "auc"), "tree", 2): 0.6}
    assert [(claim.section, claim.text) for claim in experiment.claims] == [("1", "up"), ("2", "down"), ("", "ours")]
    assert callable(experiment.picture)


def test_a_curve_repeated_without_noise_has_its_own_budget():
    again = [{"label": "without noise", "epsilon": 1e9}]
    table = {
        "name": "x",
        "title": "t",
        "settings": "s",
        "axis": "e",
        "curves": [{"methods": {"a": {"system": "edprf"}}, "data": ["robot"], "again": again}],
    }
    axis = {"parameter": "epsilon", "words": "epsilon", "values": [0.1, 1.0]}
    [experiment] = experiments_of("edprf", {"axes": {"e": axis}, "experiments": [table]})
    assert [[fit.epsilon for _, fit in curve.points] for curve in experiment.curves] == [[0.1, 1.0]] * 2 + [
        [1e9, 1e9]
    ] * 2


@pytest.mark.parametrize("paper", PAPERS)
def test_every_name_and_axis_of_a_file_is_used(paper):
    text = packaged_text("hedgerow.papers.reproduce", f"{paper}.toml")
    tables = tomllib.loads(text)
    assert [name for name in tables["names"] if f"{{{name}}}" not in text and f"{{*{name}}}" not in text] == []
    used = {experiment.get("axis") for experiment in read_paper(paper)["experiments"]}
    assert set(tables["axes"]) <= used
