"""``hedgerow data``: published sets as files, and training on them by one command."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.cli import demo as data_command
from hedgerow.cli import main
from hedgerow.datasets.dataset import Dataset


def made_up():
    schema = hr.Schema(
        {"age": hr.Numeric(0, 99), "job": hr.Categorical(["a", "b, c"])}, classes=["no", "yes"], target="ill"
    )
    X = np.array([["1", "a"], ["50", "b, c"]] * 20, dtype=object)
    y = np.array(["no", "yes"] * 20)
    return Dataset("made up", X, y, schema, X[:4], y[:4])


@pytest.fixture
def command(monkeypatch, runner):
    monkeypatch.setitem(data_command.LOADERS, "adult", made_up)
    return runner


def test_files_that_train_and_predict_read(command, tmp_path):
    out = str(tmp_path / "sets")
    done = command.invoke(main, ["data", "adult", "--out", out])
    assert done.exit_code == 0, done.output
    assert [line.rpartition("/")[2] for line in done.stdout.split()] == ["adult.toml", "adult.csv", "adult-test.csv"]
    model = str(tmp_path / "m.hedgerow")
    train = [
        "train",
        f"{out}/adult.csv",
        "--schema",
        f"{out}/adult.toml",
        "--epsilon",
        "50",
        "--system",
        "forest",
        "--out",
        model,
    ]
    assert command.invoke(main, train).exit_code == 0
    predicted = command.invoke(main, ["predict", model, f"{out}/adult-test.csv"])
    assert predicted.stdout.split() == ["prediction", "no", "yes", "no", "yes"]


def test_files_are_replaced_only_by_force(command, tmp_path):
    write = ["data", "adult", "--out", str(tmp_path)]
    (tmp_path / "adult-test.csv").write_text("old")
    refused = command.invoke(main, write)
    assert refused.exit_code == 2
    assert "adult-test.csv exists already" in refused.stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]
    assert command.invoke(main, [*write, "--force"]).exit_code == 0
    assert (tmp_path / "adult-test.csv").read_text() != "old"


def test_a_set_that_is_not_there_is_one_sentence(command, tmp_path, monkeypatch):
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    monkeypatch.setenv("HEDGEROW_CACHE", str(tmp_path / "cache"))
    done = command.invoke(main, ["data", "diabetes", "--out", str(tmp_path)])
    assert done.exit_code in (1, 2)
    assert done.stderr.startswith("Error: ")
    assert list(tmp_path.iterdir()) == []
