import sys

import pytest

pytest.importorskip("statsmodels")


def test_demo(run):
    result = run("demo", "--splits", "2", "--epsilon", "0.5")
    assert result.exit_code == 0, result.output
    assert "holds      yes" in result.stdout
    before, _, after = result.stdout.partition("Privacy certificate")
    assert max(map(len, [*before.splitlines(), *after[after.index("Next, ") :].splitlines()])) <= 100
    words = ("epsilon 0.5", "majority rule", "random forest", "standard errors", "0.500 +- 0.000", "hedgerow predict")
    assert [word for word in words if word not in result.stdout] == []
    assert "fitting" not in result.stdout


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
