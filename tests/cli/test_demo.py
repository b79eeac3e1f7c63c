import sys

import numpy as np
import pytest

from hedgerow.cli import demo

pytest.importorskip("statsmodels")


def test_demo(run):
    result = run("demo", "--splits", "2", "--epsilon", "0.5")
    assert result.exit_code == 0, result.output
    assert "holds      yes" in result.stdout
    before, _, after = result.stdout.partition("Privacy certificate")
    assert max(map(len, [*before.splitlines(), *after[after.index("Next, ") :].splitlines()])) <= 100
    words = ("epsilon 0.5", "majority rule", "random forest", "0.500 +- 0.000", "hedgerow predict")
    assert [word for word in words if word not in result.stdout] == []
    assert "fitting" not in result.stdout


def test_the_same_lead_in_every_split_has_no_standard_error():
    private, majority = np.array([0.7, 0.7]), np.array([0.6, 0.6])
    zero = np.zeros(2)
    private[1] = np.nextafter(private[1], 1)
    found = demo.Comparison(None, demo.Figures(private, zero), demo.Figures(majority, zero), demo.Figures(zero, zero))
    assert demo._lead(found) == "eDPRF's accuracy is +0.100 from the majority rule's in every split."


def test_the_splits_are_the_same_at_each_run(run):
    pages = [run("demo", "--splits", "2", "--seed", "3").stdout.splitlines() for _ in range(2)]
    for name in ("  majority rule  ", "  random forest, 100 trees"):
        [first], [second] = ([line for line in page if line.startswith(name) and "+-" in line] for page in pages)
        assert first == second


def test_without_statsmodels(run, is_refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.datasets", None)
    is_refused(run("demo"), 1, "hedgerow[demo]")


@pytest.mark.parametrize("options", [["--splits", "1"], ["--epsilon", "0"], ["--seed", "-1"]])
def test_wrong_options(run, is_refused, options):
    is_refused(run("demo", *options), 2, options[0])
