"""The model of cost finds the constants that made the times."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="model")
def _model(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import cost_model

    return cost_model


def runs_of(model, found):
    runs = [{"records": records, "questions": questions} for records, questions in ((1e5, 45), (1e6, 90), (1e7, 97))]
    for run in runs:
        run["read_processor"], run["count_processor"] = model.said(found, run["records"], run["questions"])
    return runs


@pytest.mark.parametrize("found", [(2e-6, 3e-3, 4e-8), (2e-6, 0, 4e-8), (1e-6, 5e-2, 0)], ids=str)
def test_the_constants_that_made_the_times_are_found(model, found):
    assert model.constants(runs_of(model, found)) == pytest.approx(found, abs=1e-15)


def test_seconds_of_workers(model):
    assert model.said((2e-6, 3e-3, 4e-8), 1e9, 100, 20) == pytest.approx((100, 0.3 + 200))
    runs = runs_of(model, (2e-6, 3e-3, 4e-8))
    runs[-1]["read_processor"] *= 7  # of the largest, which no constant follows from
    first, *_, largest, further = model.lines(runs, 1e9, 20, 1e5)
    assert first == "2 us a record, 3 ms a question, 40 ns a record and question"
    assert largest.startswith(
        "1e+07 records, 97 questions: reading 20.00 s (140.00 measured), counting 39.09 s (39.09 measured)"
    )
    assert largest.endswith("not fitted")
    assert further == "1e+09 records, 97 questions, 20 workers: reading 100 s, counting 194 s"
