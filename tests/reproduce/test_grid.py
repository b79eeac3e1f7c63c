import threading
from dataclasses import replace

import numpy as np
import pytest
from joblib import parallel_config

from hedgerow.arrays import for_each
from hedgerow.errors import ConfigurationError
from hedgerow.papers.reproduce.fits import (
    FALSE_RATES,
    KEY,
    MEASURES,
    TASKS,
    Fit,
    load_split,
    measured,
    number_of,
    read_rows,
    run_grid,
)

FITS = [Fit("small", "edprf", "private", 1.0, (("max_depth", 1),), 0, run) for run in range(5)]


class Work:
    """Fits that cost nothing, counted; at `broken` the run is interrupted."""

    def __init__(self, broken=None):
        self.done = []
        self.broken = broken

    def __call__(self, fit):
        if len(self.done) == self.broken:
            raise KeyboardInterrupt
        self.done.append(fit)
        return {**dict(zip(KEY, fit.key, strict=True)), **dict.fromkeys(MEASURES, f"0.{fit.run}")}


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    path, first = tmp_path / "folder" / "rows.csv", Work(broken=3)
    with pytest.raises(KeyboardInterrupt):
        run_grid(FITS, path, work=first)
    assert list(read_rows(path)) == [fit.key for fit in FITS[:3]]
    second = Work()
    rows = run_grid(FITS, path, work=second)
    assert second.done == FITS[3:]
    assert list(rows) == list(read_rows(path)) == [fit.key for fit in FITS]
    assert [row["accuracy"] for row in rows.values()] == ["0.0", "0.1", "0.2", "0.3", "0.4"]


def test_nothing_is_run_twice(tmp_path):
    run_grid(FITS, tmp_path / "rows", work=Work())
    again = Work()
    run_grid(FITS, tmp_path / "rows", work=again)
    assert again.done == []
    twice = Work()
    run_grid([*FITS, *FITS], tmp_path / "others", work=twice)
    assert twice.done == FITS


@pytest.mark.parametrize("cut", [1, 9, 30])
def test_a_line_that_was_cut_by_a_crash_is_run_again(tmp_path, cut):
    path = tmp_path / "rows"
    run_grid(FITS, path, work=Work())
    file = path / "small.csv"
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    assert list(read_rows(path)) == [fit.key for fit in FITS[:4]]
    again = Work()
    run_grid(FITS, path, work=again)
    assert again.done == FITS[4:]
    assert file.read_bytes() == whole


def test_each_data_set_has_a_file(tmp_path):
    other = [replace(fit, data="other") for fit in FITS[:2]]
    run_grid([*FITS, *other], tmp_path, work=Work())
    assert {path.name: len(path.read_text().splitlines()) for path in tmp_path.iterdir()} == {
        "small.csv": 6,
        "other.csv": 3,
    }
    again = Work()
    assert len(run_grid([*FITS, *other], tmp_path, work=again)) == 7
    assert again.done == []


def test_rows_of_other_columns_are_refused(tmp_path):
    (tmp_path / "small.csv").write_text("data,accuracy\nsmall,0.5\n")
    with pytest.raises(ConfigurationError, match=r"small\.csv is no file of rows of this version"):
        run_grid(FITS, tmp_path, work=Work())


def test_what_decides_a_fit_is_its_key():
    assert len({fit.key for fit in FITS}) == 5
    assert Fit("d", "s", "private", settings=(("b", 1), ("a", True))).key == (
        "d",
        "0",
        "s",
        "private",
        "1",
        "a=True b=1",
        "0",
    )
    assert FITS[0].numbered(4) == FITS[4]
    assert Fit("d", "adaboost", "none").numbered(4).run == 0


@pytest.mark.usefixtures("small_tasks")
class TestMeasured:
    def test_the_same_seed_gives_the_same_row(self):
        first, second = (measured(FITS[1]) for _ in range(2))
        assert float(first.pop("seconds")) > 0
        assert float(second.pop("seconds")) > 0
        assert first == second

    def test_the_measures_of_a_rule_that_can_be_worked_out(self):
        row = measured(Fit("small", "majority", "none"))
        assert row["auc"] == "0.5"
        assert row["precision"] == row["recall"] == row["f1"] == "0"  # it never answers the first class
        assert float(row["accuracy"]) == pytest.approx(np.mean(load_split("small").y_test == "yes"), abs=5e-6)

    def test_adaboost_learns_the_rule(self):
        assert float(measured(Fit("small", "adaboost", "none", 0.0, (("n_estimators", 5),)))["accuracy"]) > 0.9

    def test_a_roc_curve_is_kept_at_some_places(self):
        row = measured(Fit("small", "adaboost", "none", 0.0, (("n_estimators", 5),)))
        rates = [number_of(row, "roc", x) for x in FALSE_RATES]
        assert rates == sorted(rates)
        assert rates[-1] > 0.9
        assert [number_of(measured(Fit("small", "majority", "none")), "roc", x) for x in FALSE_RATES] == list(
            FALSE_RATES
        )
        assert number_of({"roc": "", "auc": ""}, "roc", 0.5) is number_of({"auc": ""}, "auc", 0.5) is None

    def test_several_jobs_write_the_same_rows(self, tmp_path):
        alone = run_grid(FITS[:3], tmp_path / "alone")
        with parallel_config(backend="threading"):  # processes would not know the made-up tasks
            together = run_grid(FITS[:3], tmp_path / "together", jobs=2)
        assert {key: row["accuracy"] for key, row in alone.items()} == {
            key: row["accuracy"] for key, row in together.items()
        }


def test_fits_side_by_side_have_a_thread_each(tmp_path):
    alone = []

    def work(fit):
        threads = set()
        for_each(range(4), lambda _: threads.add(threading.get_ident()), threads=2)
        alone.append(threads == {threading.get_ident()})
        return Work()(fit)

    with parallel_config(backend="threading"):
        run_grid(FITS, tmp_path, jobs=2, work=work)
    assert alone == [True] * len(FITS)


def test_without_jobs_nothing_is_run(tmp_path):
    run_grid(FITS[:2], tmp_path, work=Work())
    work = Work()
    assert len(run_grid(FITS, tmp_path, jobs=0, work=work)) == 2
    assert work.done == []


@pytest.mark.usefixtures("small_tasks")
def test_noise_of_places_that_stand_apart_is_independent(small_tasks, monkeypatch):
    fits = [*FITS, replace(FITS[0], epsilon=0.5), replace(FITS[0], settings=())]
    assert [fit.seed for fit in fits] == [0, 1, 2, 3, 4, 0, 0]
    monkeypatch.setitem(TASKS, "small", replace(small_tasks["small"], apart=True))
    assert [fit.seed for fit in fits] == [0, 1, 2, 3, 4, 0, 0]  # the private form decides nothing about a paper
    seeds = [replace(fit, variant="published").seed for fit in fits]
    assert len(set(seeds)) == 7
    assert seeds == [replace(fit, variant="published").seed for fit in fits]
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert {name for name, task in TASKS.items() if task.apart} == {
        "small",
        "adult-us",
        "adult-us-fnlwgt",
        "bank",
    }


@pytest.mark.usefixtures("small_tasks")
def test_only_what_is_wanted_is_measured_and_it_is_the_same():
    whole, some = measured(FITS[1]), measured(FITS[1], {"small": {"accuracy", "f1"}})
    assert {name for name in MEASURES if some[name]} == {"accuracy", "f1"}
    assert all(whole[name] == some[name] for name in (*KEY, "accuracy", "f1"))
