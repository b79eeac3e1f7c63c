"""Each claim that only the paper of CART-DPsAdaBoost makes: right, wrong, and lost in the noise of the runs."""

import math

import numpy as np
import pytest

from hedgerow.papers.reproduce import judges, verdicts
from hedgerow.papers.reproduce.experiment import Axis, Curve, Experiment, Panel, Results
from hedgerow.papers.reproduce.fits import Fit
from hedgerow.papers.reproduce.statements import experiments_named

PANEL, OTHER = Panel("data"), Panel("other")
AXIS = Axis("max_depth", "depth", (2, 4, 6))
RUNS = 4
STEPS = (-1.5, -0.5, 0.5, 1.5)
SURE, NOISY = 0.001, 0.5
ANSWERS = ("holds", "does not", "cannot be told")


def results(values, *, noise=SURE, panels=None, seconds=False):
    """Results in which the runs of each curve lie around the means given, as far apart as its noise says."""
    curves, rows = [], {}
    for number, (label, means) in enumerate(values.items(), 1):
        panel = (panels or {}).get(label, PANEL)
        apart = noise[label] if isinstance(noise, dict) else noise
        points = []
        for place, (x, mean) in enumerate(zip(AXIS.values, means, strict=True)):
            fit = Fit(panel.name, label, "published", settings=(("max_depth", x),))
            points.append((x, fit))
            steps = np.random.RandomState(10 * number + place).permutation(STEPS)
            for run in range(RUNS):
                value = mean * math.exp(apart * steps[run]) if seconds else mean + apart * steps[run]
                rows[fit.numbered(run).key] = {panel.measure: str(value)}
        curves.append(Curve(panel, label, "published", tuple(points)))
    return Results(Experiment(name="p/f", title="", settings="", axis=AXIS, curves=tuple(curves)), rows, RUNS)


def places(*labels):
    return [(PANEL.name, label) for label in labels]


A, B, C = places("a", "b", "c")
UP, DOWN, FLAT = (0.5, 0.6, 0.7), (0.7, 0.6, 0.5), (0.6, 0.6, 0.6)
LOW, MIDDLE, HIGH = (0.5,) * 3, (0.6,) * 3, (0.7,) * 3

# The check, and values that agree with it, contradict it; with much noise the first cannot be told.
CASES = {
    "rise": (judges.rises(places=[A, B]), {"a": UP, "b": UP}, {"a": UP, "b": DOWN}),
    "rise together": (
        judges.rises(rows=[[A, B, C]]),
        {"a": LOW, "b": MIDDLE, "c": HIGH},
        {"a": LOW, "b": MIDDLE, "c": (0.7, 0.7, 0.3)},
    ),
    "steady together": (
        judges.steady(0.05, rows=[[A, B, C]]),
        {"a": MIDDLE, "b": (0.61,) * 3, "c": (0.62,) * 3},
        {"a": MIDDLE, "b": (0.61,) * 3, "c": (0.6, 0.6, 0.7)},
    ),
    "moves": (judges.steady(label="a", within=(2, 4), least=0.05), {"a": UP}, {"a": (0.6, 0.61, 0.9)}),
    "best everywhere": (
        judges.best_at([A, B], 4),
        {"a": (0.5, 0.7, 0.6), "b": (0.1, 0.3, 0.2)},
        {"a": (0.5, 0.7, 0.6), "b": UP},
    ),
    "within everywhere": (
        judges.within_everywhere([A, B], 0.6, 0.05),
        {"a": FLAT, "b": (0.62, 0.58, 0.6)},
        {"a": FLAT, "b": (0.62, 0.58, 0.7)},
    ),
    "approach": (
        judges.approach([[A, B]], [C], 0.05, 1),
        {"a": LOW, "b": (0.68,) * 3, "c": HIGH},
        {"a": LOW, "b": (0.52,) * 3, "c": HIGH},
    ),
    "approach from above": (
        judges.approach([[A, B]], [C], 0.05, 1),
        {"a": (0.9,) * 3, "b": (0.72,) * 3, "c": HIGH},
        {"a": (0.71,) * 3, "b": (0.72,) * 3, "c": HIGH},
    ),
    "overfits": (
        judges.overfits_beyond(A, B, 4),
        {"a": (0.6, 0.7, 0.6), "b": (0.6, 0.7, 0.8)},
        {"a": UP, "b": (0.6, 0.7, 0.9)},
    ),
    "starts overfitted": (
        judges.starts_overfitted([(A, B)]),
        {"a": UP, "b": (0.9, 0.6, 0.6)},
        {"a": UP, "b": (0.4, 0.7, 0.7)},
    ),
    "settles": (
        judges.settles([(A, B)], 0.02),
        {"a": (0.5, 0.7, 0.705), "b": (0.9, 0.75, 0.71)},
        {"a": (0.5, 0.6, 0.7), "b": (0.9, 0.75, 0.71)},
    ),
    "no better later": (
        judges.best_at([A], 4, 0.02, later=True),
        {"a": (0.5, 0.7, 0.71)},
        {"a": UP},
    ),
    "costs more": (
        judges.costs_more((A, B), (A, C)),
        {"a": LOW, "b": HIGH, "c": MIDDLE},
        {"a": LOW, "b": MIDDLE, "c": HIGH},
    ),
    "trade off": (
        judges.trade_off([(A, B)]),
        {"a": UP, "b": DOWN},
        {"a": UP, "b": UP},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_claim_holds_does_not_or_cannot_be_told(case):
    check, right, wrong = case
    answers = [
        check(results(values, noise=noise), "published").answer
        for values, noise in ((right, SURE), (wrong, SURE), (right, NOISY))
    ]
    assert answers == list(ANSWERS)
    assert check(results(right), "private").answer == "not measured"


@pytest.mark.parametrize(
    ("here", "noise", "answer"),
    [(0.601, (0.001, 0.02), "holds"), (0.7, (0.01, 0.02), "does not"), (0.61, (0.05, 0.01), "cannot be told")],
)
def test_noise_against_sampling(here, noise, answer):
    found = results({"a": (here,) * 3, "b": MIDDLE}, noise=dict(zip("ab", noise, strict=True)))
    assert judges.less_than_sampling([(A, B)])(found, "published").answer == answer


@pytest.mark.parametrize(
    ("apart", "answer"), [((0.1, 0.01), "holds"), ((0.01, 0.1), "does not"), ((0.1, 0.09), "cannot be told")]
)
def test_fluctuation_is_judged_by_the_ratio_of_standard_deviations(apart, answer):
    found = results({"a": MIDDLE, "b": MIDDLE}, noise=dict(zip("ab", apart, strict=True)))
    verdict = judges.fluctuate_more([(A, B)])(found, "published")
    assert verdict.answer == answer
    assert f"standard deviations: {math.log(apart[0] / apart[1]):+.4f}" in verdict.words


@pytest.mark.parametrize(
    ("seconds", "apart", "slowest", "answer"),
    [
        (1.0, 0.02, None, "holds"),
        (1.0, 0.02, "12", "holds"),  # one slow run decides nothing
        (4.0, 0.02, None, "does not"),
        (1.0, 1.0, None, "cannot be told"),
    ],
)
def test_time_for_a_record(seconds, apart, slowest, answer):
    panels = {"a": Panel("data", "seconds"), "b": Panel("other", "seconds")}
    found = results({"a": (seconds,) * 3, "b": (1.0,) * 3}, noise=apart, panels=panels, seconds=True)
    slow = next(iter(found.rows.values()))
    slow["seconds"] = slowest or slow["seconds"]
    check = judges.quicker([(("data", "a"), ("other", "b"))], {"data": 200, "other": 100})
    assert check(found, "published").answer == answer


def test_a_measure_that_does_not_move_has_no_trade_off():
    found = results({"a": FLAT, "b": UP}, noise=0.0)
    assert str(judges.trade_off([(A, B)])(found, "published")) == "not measured"


def test_what_noise_does_within_runs_of_one_seed_is_told():
    # Each run rises by .01, and the runs differ by ten times that.
    values = {x: tuple(0.5 + step / 10 + (x - 2) / 400 for step in STEPS) for x in AXIS.values}
    found = verdicts.trend([verdicts.Cell(values[x]) for x in AXIS.values])
    assert found.gap == pytest.approx(0.01)
    assert found.error == pytest.approx(0, abs=1e-12)


def test_a_single_run_tells_nothing():
    found = Results(results({"a": UP}).experiment, results({"a": UP}).rows, 1)
    assert judges.rises(places=[A])(found, "published").answer == "cannot be told"


def test_the_depth_1_comparison_is_not_turned_around():
    # 4.2.2: at depth 1 "some accuracy of the model is sacrificed" against DP-AdaBoost.
    [fig5] = experiments_named(["cart-dps-adaboost/fig5"])
    claim = fig5.claims[0]
    panel = Panel("Adult, depth 1")
    rows = {}
    for curve in fig5.curves:
        if curve.panel == panel and curve.form == "private":
            for _, fit in curve.points:
                for run in range(2):
                    value = 0.8 if curve.label == "DP-AdaBoost" else 0.7
                    rows[fit.numbered(run).key] = {"accuracy": str(value + run / 1000)}
    assert claim.check(Results(fig5, rows, 2), "private").answer == "holds"


def test_the_private_form_has_the_papers_size():
    for experiment in experiments_named(["cart-dps-adaboost"]):
        for curve in experiment.curves:
            for _, fit in curve.points:
                settings = dict(fit.settings)
                if fit.system.startswith("cart"):
                    assert settings["n_estimators"] == 10
                    assert settings["subspace"] == 5 or experiment.name.endswith("ablation")
                assert fit.records == 0 or experiment.name.endswith("fig3")
