"""The model of cost finds the constants that made the times."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="model")
def _model(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import cost_model

    return cost_model


def runs_of(model, found, cores):
    runs = [{"records": records, "questions": questions} for records, questions in ((1e5, 45), (1e6, 90), (1e7, 97))]
    for run in runs:
        run["read"], run["count"] = model.said(found, run["records"], run["questions"], cores)
    return runs


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("found", [(2e-6, 3e-3, 4e-8), (2e-6, 0, 4e-8), (1e-6, 5e-2, 0)], ids=str)
def test_the_constants_that_made_the_times_are_found(model, found, cores):
    assert model.constants(runs_of(model, found, cores), cores) == pytest.approx(found, abs=1e-15)


def test_seconds_of_cores_and_workers(model):
    assert model.said((2e-6, 3e-3, 4e-8), 1e9, 100, 20) == pytest.approx((100, 0.3 + 200))
    runs = runs_of(model, (2e-6, 3e-3, 4e-8), 2)
    runs[-1]["read"] *= 7  # of the largest, which no constant follows from
    first, *_, largest, further = model.lines(runs, 2, 1e9, 20)
    assert first == "2 us a record, 3 ms a question, 40 ns a record and question"
    assert largest.startswith(
        "1e+07 records, 97 questions: reading 10.00 s (70.00 measured), counting 19.69 s (19.69 measured)"
    )
    assert largest.endswith("not fitted")
    assert further == "1e+09 records, 97 questions, 20 workers: reading 100 s, counting 194 s"
