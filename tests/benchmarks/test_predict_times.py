"""The timing of predictions fits a model of every case, and tells whose answers and times are whose."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="predict")
def _predict(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    sys.modules.pop("predict", None)
    import predict

    monkeypatch.setattr(predict, "BUILD", tmp_path)
    (tmp_path / "models").mkdir()
    return predict


@pytest.mark.parametrize("case", ["additive", "ten classes", "regressor", "edprf"])
def test_a_case_is_fitted_saved_and_answered(predict, case):
    predict.fit(case, 5_000, 12)
    first, again = (predict.measure(case, 300, 12, lightgbm=False) for _ in range(2))
    assert first[2] == again[2]
    assert min(*first[:2]) >= 0
    assert predict.measure(case, 299, 12, lightgbm=False)[2] != first[2]


@pytest.mark.parametrize(("others", "same"), [("abc", "yes"), ("xyz", "no")])
def test_a_row_says_how_many_times_as_fast_ours_is_and_whether_bits_differ(predict, monkeypatch, others, same):
    steps = {
        ("ref", "measure"): (6.0, 9.0, others),
        ("src", "measure"): (2.0, 2.0, "abc"),
        ("src", "lightgbm"): (30.0, 8.0, ""),
    }
    monkeypatch.setattr(predict, "in_a_process", lambda source, words: steps.get((source, words[-1])))
    options = type("Options", (), {"rows": 10, "features": 20, "repeats": 3})
    trees = {"reference": "ref", "ours": "src"}
    assert predict.row("forest", options, trees) == f"| forest | 2.000 | 2.000 | 3.0 | 4.5 |  |  | {same} |"
    predict.path_of("additive").with_suffix(".pickle").touch()
    assert predict.row("additive", options, trees) == f"| additive | 2.000 | 2.000 | 3.0 | 4.5 | 15.0 | 4.0 | {same} |"
