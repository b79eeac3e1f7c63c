import argparse
import csv

import numpy as np
import pytest

import accuracy
import hedgerow as hr
from hedgerow.datasets.dataset import Dataset


def small():
    generator = np.random.default_rng(0)
    X = generator.random((60, 2))
    schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=[0, 1])
    return Dataset("small", X, (X[:, 0] > 0.5).astype(int), schema)


def absent():
    raise hr.DatasetError("not at hand")


@pytest.fixture
def options(tmp_path, monkeypatch):
    monkeypatch.setattr(accuracy, "TASKS", {"absent": (absent, 0.5, 0), "small": (small, 0.5, 0)})
    return argparse.Namespace(
        systems=["edprf"],
        variant="private",
        data=["absent", "small"],
        epsilons=[0.5, 1.0],
        runs=2,
        out=str(tmp_path / "results" / "accuracy.csv"),
    )


def lines(options):
    with open(options.out, newline="") as file:
        return list(csv.DictReader(file))


def shown(capsys):
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("[")]


def test_every_fit_is_a_line_and_data_that_are_absent_leave_the_total(options, capsys):
    accuracy.run(options)
    found = [(line["data"], line["epsilon"], line["run"]) for line in lines(options)]
    assert found == [("small", epsilon, run) for epsilon in ("0.5", "1") for run in ("0", "1")]
    first, *_, last = shown(capsys)
    assert "0/8 0 % time left unknown" in first
    assert "4/4 100 % done" in last


def test_a_run_that_goes_on_starts_where_the_last_one_stopped(options, capsys):
    accuracy.run(options)
    before = lines(options)
    capsys.readouterr()
    options.data, options.runs = ["small"], 3
    accuracy.run(options)
    assert lines(options)[:4] == before
    assert [line["run"] for line in lines(options)[4:]] == ["2", "2"]
    first, *_, last = shown(capsys)
    assert "4/6 66 % time left unknown" in first
    assert "6/6 100 % done" in last
