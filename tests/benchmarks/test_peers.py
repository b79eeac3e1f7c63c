import argparse
import csv
import json
from pathlib import Path

import numpy as np
import pytest

import accuracy
import hedgerow as hr
import peers
from hedgerow.datasets.dataset import Dataset
from peer_environment import PeerEnvironment, PeerEnvironmentError, make_environment

# On few records HedgerowClassifier says that its number of records may be noise; tests/test_survey.py tests that.
pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")

SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Categorical(["x", "y"])}, classes=["no", "yes"])


def small():
    generator = np.random.default_rng(0)
    a = generator.random(80)
    X = np.array([[f"{number:.3f}", "xy?"[i % 3]] for i, number in enumerate(a)], dtype=object)
    return Dataset("small", X, np.where(a > 0.5, "yes", "no"), SCHEMA)


def absent():
    raise hr.DatasetError("not at hand")


@pytest.fixture
def options(tmp_path, monkeypatch):
    monkeypatch.setattr(accuracy, "TASKS", {"absent": (absent, 0.5, 0), "small": (small, 0.5, 0)})
    monkeypatch.setattr(peers, "TITLES", {"absent": "Absent", "small": "Small"})
    return argparse.Namespace(
        systems=["hedgerow", "adaboost"],
        data=["absent", "small"],
        epsilons=[0.5, 1.0],
        runs=2,
        out=str(tmp_path / "results" / "peers.csv"),
        peers=tmp_path / "environments",
        sbdt=None,
        rows=300,
        features=2,
        repeats=1,
    )


@pytest.fixture
def no_index(monkeypatch):
    def refuse(name, directory):
        raise PeerEnvironmentError("ERROR: none of a | b")

    monkeypatch.setattr(peers, "make_environment", refuse)


@pytest.fixture
def stand_in(monkeypatch):
    """Answer for every peer with the truth, and keep what it was asked."""
    asked = []

    def run(self, script, arguments):
        json.dumps(arguments)
        asked.append((self.name, Path(script).name, arguments))
        with np.load(arguments["path"]) as file:
            size = len(file["X_test"])
        return [{"probabilities": [0.25] * size, "seconds": 1.0} for _ in arguments["runs"]]

    monkeypatch.setattr(peers, "make_environment", lambda name, directory: PeerEnvironment(name, directory))
    monkeypatch.setattr(PeerEnvironment, "run", run)
    return asked


def lines(options):
    with open(options.out, newline="") as file:
        return list(csv.DictReader(file))


def test_a_task_in_numbers_has_the_schemas_places_and_one_category_more_for_the_rest():
    X = np.array([["0.5", "y"], ["7", "?"], ["-1", "x"]], dtype=object)
    coded = peers.Task(SCHEMA, X, X[:1], np.array(["yes", "no", "no"]), np.array(["yes"])).coded()
    assert coded["X_train"].tolist() == [[0.5, 1], [1, 2], [0, 0]]
    assert coded["y_train"].tolist() == [1, 0, 0]
    assert coded["bounds"].tolist() == [[0, 1], [0, 2]]
    assert coded["counts"].tolist() == [0, 3]


def test_every_fit_is_a_line_and_systems_without_privacy_have_one_epsilon(options):
    peers.run(options)
    found = [(line["system"], line["variant"], line["epsilon"], line["run"]) for line in lines(options)]
    ours = [("hedgerow", "delta=1e-06", epsilon, run) for epsilon in ("0.5", "1") for run in ("0", "1")]
    assert found == [*ours, *(("adaboost", "not private", "inf", run) for run in ("0", "1"))]
    assert {line["data"] for line in lines(options)} == {"small"}


def test_a_run_that_goes_on_keeps_what_is_there(options):
    peers.run(options)
    before = lines(options)
    options.runs = 3
    peers.run(options)
    peers.run(options)
    assert lines(options)[:6] == before
    assert [line["run"] for line in lines(options)[6:]] == ["2", "2", "2"]


def test_the_figures_are_those_of_the_probabilities(options, stand_in):
    options.systems, options.epsilons, options.runs = ["dp-ebm", "diffprivlib-35"], [0.5], 2
    peers.run(options)
    _, _, _, y = small().split(0.5, 0)
    for line in lines(options):
        assert float(line["accuracy"]) == pytest.approx(np.mean(y == "no"), abs=1e-5)
        assert (line["auc"], line["seconds"]) == ("0.50000", "1.000")
    assert [(name, script) for name, script, _ in stand_in] == [
        ("interpret", "interpret_accuracy.py"),
        ("diffprivlib", "diffprivlib_accuracy.py"),
    ]
    assert all((a["job"], a["epsilon"], a["runs"]) == ("predict", 0.5, [0, 1]) for _, _, a in stand_in)
    assert [a["settings"] for _, _, a in stand_in] == [{}, {"n_estimators": 35, "max_depth": 6}]


def test_a_peer_without_an_environment_says_so_and_the_rest_runs(options, no_index):
    options.systems = ["dp-ebm", "hedgerow"]
    peers.run(options)
    found = lines(options)
    assert [line["run"] for line in found] == ["", "", "0", "1", "0", "1"]
    assert found[0]["accuracy"] == "not available: ERROR: none of a | b"
    text = peers.table(found)
    assert "| Small | ROC AUC | DP-EBM, delta 1e-5 | not available: ERROR: none of a / b |" in text
    peers.run(options)
    assert lines(options) == found  # said once, and nothing else was left to do


@pytest.mark.parametrize(
    ("ours", "theirs", "word"),
    [
        ([0.9, 0.9], [0.8, 0.8], "above"),
        ([0.8, 0.8], [0.9, 0.9], "below"),
        ([0.88, 0.92], [0.881, 0.881], "level"),  # one standard error is 0.02
        ([0.88, 0.92], [0.879, 0.879], "above"),
        ([0.9], [0.8, 0.8], ""),
    ],
)
def test_a_verdict_is_one_standard_error_of_the_difference(ours, theirs, word):
    assert peers.verdict(peers.Mean.of(ours), peers.Mean.of(theirs)) == word
    assert peers.verdict(peers.Mean.of(ours), None) == ""


def results():
    values = {"hedgerow": (0.9, 0.92), "dp-ebm": (0.8, 0.8), "hedgerow-pure": (0.7, 0.72)}
    values["diffprivlib-35"] = (0.71, 0.71)
    rows = []
    for system, accuracies in values.items():
        for epsilon in ("0.5", "10", "3"):
            for number, value in enumerate(accuracies):
                batch = (system, "adult", epsilon)
                rows.append(dict(zip(accuracy.FIELDS, (*peers.key(batch, number), value, value, 1), strict=True)))
    rows.append(dict(zip(accuracy.FIELDS, (*peers.key(("adaboost", "adult", "inf"), 0), 0.95, 0.97, 1), strict=True)))
    return rows


def test_the_tables_hold_means_errors_and_marks():
    private, counted, others = peers.table(results()).split("\n\n")
    assert private.splitlines()[0] == "| data | measure | system | 0.5 | 3 | 10 |"
    assert "| Adult | ROC AUC | hedgerow, delta 1e-6 | 0.910 ±0.010 ▲ |" in private
    assert "| Adult | ROC AUC | DP-EBM, delta 1e-5 | 0.800 ±0.000 |" in private
    assert "| Adult | Accuracy | hedgerow, delta 0 | 0.710 ±0.010 = |" in private
    assert "AdaBoost" not in private
    assert "| hedgerow, delta 1e-6 | DP-EBM, delta 1e-5 | ROC AUC | 3 | 0 | 0 |" in counted
    assert "| hedgerow, delta 0 | DP-EBM, delta 1e-5 | Accuracy | 0 | 0 | 3 |" in counted
    assert "| Adult | ROC AUC |  | 0.970 |  |" in others


def test_speed_without_an_environment_says_so(options, no_index):
    text = "\n".join(peers.speed(options))
    assert "| hedgerow, delta 1e-6 |" in text
    assert "| DP-EBM, delta 1e-5 | not available: ERROR: none of a / b |  |  |" in text


@pytest.mark.slow
@pytest.mark.parametrize("system", ["dp-ebm", "diffprivlib"])
def test_a_peer_runs_in_its_own_environment(options, system):
    try:
        make_environment(peers.SYSTEMS[system].peer)
    except PeerEnvironmentError as error:
        pytest.skip(str(error))
    options.systems, options.data, options.peers = [system], ["small"], peers.PEERS
    peers.run(options)
    assert [line["run"] for line in lines(options)] == ["0", "1", "0", "1"]
    assert all(0 <= float(line["auc"]) <= 1 for line in lines(options))
