"""The demo trains private models beside others, leaves a card and a model, and replaces nothing that it did not write."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.cli import demo
from hedgerow.cli.demo import MARK
from hedgerow.datasets import load_doctor_visits
from hedgerow.ledgers import ledger
from hedgerow.privacy.filter import Atomic

pytest.importorskip("statsmodels")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A working folder of its own: the demo leaves files."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def few_records(monkeypatch):
    """Every twentieth record: what is printed and left does not depend on their number."""
    every = load_doctor_visits()
    monkeypatch.setattr(demo, "load_doctor_visits", lambda: replace(every, X=every.X[::20], y=every.y[::20]))


@pytest.mark.usefixtures("few_records")
@pytest.mark.filterwarnings("error:.*in this process without a ledger")
def test_the_demo_ends_with_a_certificate_and_what_was_learned_in_narrow_lines(run, monkeypatch):
    monkeypatch.setattr(ledger, "private_fits", Atomic({}))
    monkeypatch.setattr(ledger, "COUNTED_AT", 3)
    result = run("demo", "--splits", "3", "--epsilon", "0.5")  # from the third fit on, a process is warned
    assert result.exit_code == 0, result.output
    assert "holds      yes" in result.stdout
    before, _, after = result.stdout.partition("Privacy certificate")
    ends = after[after.index("What the last fit learned") :]
    assert max(map(len, [*before.splitlines(), *ends.splitlines()])) <= 100
    words = (
        "HedgerowClassifier, private, epsilon 0.5",
        "eDPRF, private",
        "majority rule",
        "gradient boosting, not private",
        "--keep id",
    )
    assert [word for word in (*words, "0.500 +- 0.000") if word not in result.stdout] == []
    table, _, legend = before.partition("\n\n  HedgerowClassifier  ")
    assert [
        name for name in ("HedgerowClassifier", "eDPRF", "majority rule", "gradient boosting") if name not in table
    ] == []
    assert "logistic" not in legend  # it explains the rules of the table, and no other
    assert "fitting" not in result.stdout
    assert "in the folder hedgerow-demo;" in result.stdout


@pytest.mark.full
def test_it_leaves_a_card_and_the_model(run):
    pytest.importorskip("matplotlib")
    result = run("demo", "--splits", "2", "--out", "here/mine")
    assert result.exit_code == 0, result.output
    folder = Path("here/mine")
    left = ["card.html", "model.hedgerow", MARK]
    assert sorted(path.name for path in folder.iterdir()) == left
    assert [name for name in left[:2] if name not in result.stdout] == []
    model = hr.load(folder / "model.hedgerow")
    assert model.certificate_.holds
    assert model.certificate_.details().splitlines()[-1] in (folder / "card.html").read_text("utf-8")
    assert run("demo", "--splits", "2", "--out", "here/mine").exit_code == 0  # its own files are replaced
    assert sorted(path.name for path in folder.iterdir()) == left


@pytest.mark.parametrize("name", ["card.html", MARK, "notes"])
def test_what_is_not_its_own_stays(run, is_refused, name):
    Path("hedgerow-demo").mkdir()
    Path("hedgerow-demo", name).write_text("mine")
    is_refused(run("demo"), 2, "hedgerow-demo holds files that the demo did not write", "--out")
    assert [path.read_text() for path in Path("hedgerow-demo").iterdir()] == ["mine"]
    Path("file").write_text("mine")
    assert run("demo", "--out", "file").exit_code == 2
    assert Path("file").read_text() == "mine"


@pytest.mark.usefixtures("few_records")
def test_without_matplotlib_it_ends_well(run, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    result = run("demo", "--splits", "2")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in Path("hedgerow-demo").iterdir()) == ["card.html", "model.hedgerow", MARK]


def test_without_statsmodels(run, is_refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.datasets", None)
    is_refused(run("demo"), 1, "pip install statsmodels pandas")


@pytest.mark.parametrize("options", [["--splits", "1"], ["--epsilon", "0"], ["--seed", "-1"]])
def test_wrong_options(run, is_refused, options):
    is_refused(run("demo", *options), 2, options[0])
