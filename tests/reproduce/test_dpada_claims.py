import itertools

import facts
import numpy as np
import pytest

from hedgerow.papers.reproduce import judges
from hedgerow.papers.reproduce.experiment import Axis, Curve, Experiment, Measured, Panel, Results
from hedgerow.papers.reproduce.fits import Fit
from hedgerow.papers.reproduce.judges import above
from hedgerow.papers.reproduce.statements import experiments_named

AXIS = Axis("epsilon", "epsilon", (0.1, 1.0, 3.0, 5.0))
HOLDS, DOES_NOT, UNKNOWN = "holds", "does not", "cannot be told"
# Of the four runs, in patterns that do not go together.
NOISE = ((-1.1, 0.9, -0.9, 1.1), (1.1, 0.9, -0.9, -1.1), (1.1, -1.1, -0.9, 0.9))


def results(values, *, noise=0.01, measure="accuracy", generator=None):
    """Results in which a curve's runs, at each x, are the number given and some multiples of its noise away from it.

    A curve is named by its label, or by its panel and label; its noise may be given for itself. With a generator the multiples
    are standard normal.
    """
    curves, rows = [], {}
    for number, (name, means) in enumerate(values.items()):
        place, label = name if isinstance(name, tuple) else ("data", name)
        panel, points = Panel(place, measure), []
        own = noise.get(name, 0.01) if isinstance(noise, dict) else noise
        for column, (x, mean) in enumerate(zip(AXIS.values, means, strict=True)):
            fit = Fit(place, label, "published", x)
            points.append((x, fit))
            for run, times in enumerate(NOISE[(number + column) % 3]):
                times = times if generator is None else generator.normal()
                rows[fit.numbered(run).key] = {measure: str(mean + times * own)}
        curves.append(Curve(panel, label, "published", tuple(points)))
    experiment = Experiment(name="p/f", title="", settings="", axis=AXIS, curves=tuple(curves))
    return Results(experiment, rows, len(NOISE[0]))


def answer(check, found, form="published"):
    return check(found, form).answer


UP, DOWN, LEVEL = (0.5, 0.6, 0.7, 0.8), (0.8, 0.7, 0.6, 0.5), (0.6, 0.6, 0.6, 0.6)


@pytest.mark.parametrize(
    ("second", "noise", "up", "down"),
    [
        (UP, 0.01, HOLDS, DOES_NOT),
        (DOWN, 0.01, DOES_NOT, DOES_NOT),
        (UP, 1.0, UNKNOWN, UNKNOWN),
        (LEVEL, 0.0001, HOLDS, DOES_NOT),
    ],
)
def test_several_curves_rise_or_fall(second, noise, up, down):
    found = results({"a": UP, "b": second}, noise=noise)
    assert answer(judges.rises(["a", "b"]), found) == up
    assert answer(judges.rises(["a", "b"], sign=-1.0), found) == down
    falling = results({"a": DOWN, "b": tuple(1 - value for value in second)}, noise=noise)
    assert answer(judges.rises(["a", "b"], sign=-1.0), falling) == up


@pytest.mark.parametrize(
    ("second", "noise", "answers"),
    [
        ((0.7, 0.7, 0.7, 0.69), 0.01, HOLDS),  # b alone does not fall, both together do
        ((0.3, 0.7, 1.1, 1.5), 0.01, DOES_NOT),
        (LEVEL, 1.0, UNKNOWN),
    ],
)
def test_what_falls_on_the_whole(second, noise, answers):
    assert (
        answer(judges.rises(["a", "b"], sign=-1.0, together=True), results({"a": DOWN, "b": second}, noise=noise))
        == answers
    )


@pytest.mark.parametrize(
    ("there", "noise", "answers"), [(LEVEL, 0.01, HOLDS), ((0.6, 0.6, 0.6, 0.9), 0.01, DOES_NOT), (LEVEL, 1.0, UNKNOWN)]
)
def test_a_curve_above_that_of_the_same_label_in_another_panel(there, noise, answers):
    found = results({("one", "a"): (0.8,) * 4, ("two", "a"): there}, noise=noise)
    assert answer(judges.above("one", ["two"], labels=["a"]), found) == answers


@pytest.mark.parametrize(
    ("there", "noise", "answers"),
    [((0.6, 0.6, 0.6, 0.9), 0.01, HOLDS), ((0.9, 0.9, 0.9, 0.6), 0.01, DOES_NOT), ((0.6, 0.6, 0.6, 0.9), 1.0, UNKNOWN)],
)
def test_above_on_the_whole_is_not_above_everywhere(there, noise, answers):
    found = results({"a": (0.8,) * 4, "b": there}, noise=noise)
    assert answer(judges.above("a", ["b"], whole=True), found) == answers
    assert answer(above("a", ["b"]), found) in (DOES_NOT, UNKNOWN)


@pytest.mark.parametrize(
    ("there", "noise", "answers"), [(0.601, 0.0005, HOLDS), (0.64, 0.0005, DOES_NOT), (0.601, 0.1, UNKNOWN)]
)
def test_the_same_within_a_tolerance(there, noise, answers):
    found = results({"a": LEVEL, "b": (there,) * 4}, noise=noise)
    assert answer(judges.same("a", "b", 0.005), found) == answers
    assert answer(judges.same("b", "a", 0.005), found) == answers


@pytest.mark.parametrize(("calm", "wild", "answers"), [(0.01, 0.1, HOLDS), (0.1, 0.01, DOES_NOT), (0.1, 0.1, UNKNOWN)])
def test_runs_that_stray_less(calm, wild, answers):
    found = results({"a": UP, "b": UP}, noise={"a": calm, "b": wild}, generator=np.random.default_rng(0))
    assert answer(judges.steadier([("data", "a")], [("data", "b")]), found) == answers


def test_a_curve_that_wavers_strays_and_one_that_rises_does_not():
    found = results({"a": UP, "b": (0.5, 0.9, 0.5, 0.9)}, noise=0.001)
    assert answer(judges.steadier([("data", "a")], [("data", "b")]), found) == HOLDS
    assert judges.strays(Measured(found, "published"), ("data", "a")).mean == pytest.approx(0.001)
    assert judges.strays(Measured(found, "published"), ("data", "b")).mean > 0.1


@pytest.mark.parametrize(
    ("noises", "answers"), [((0.3, 0.2, 0.01), HOLDS), ((0.01, 0.2, 0.3), DOES_NOT), ((0.2, 0.21, 0.2), UNKNOWN)]
)
def test_curves_that_settle(noises, answers):
    names = "abc"
    found = results(dict.fromkeys(names, UP), noise=dict(zip(names, noises, strict=True)))
    assert answer(judges.ever_steadier([("data", name) for name in names]), found) == answers


def test_steps_are_counted_weight_by_weight_and_candidate_by_candidate():
    one = facts.steps_of("swing", 1, 4, 500)
    assert one == 4 * 500 + 4 * 499  # every value is another one, and a cut lies between each two
    assert facts.steps_of("swing", 10, 4, 500) == 10 * one
    assert facts.powers("improved") == pytest.approx({"rounds": 1, "features": 1, "records": 1}, abs=0.01)


def test_steps_that_grow_otherwise_contradict(monkeypatch):
    assert facts.linear("all", 0.05).answer == HOLDS
    monkeypatch.setattr(facts, "steps_of", lambda schedule, rounds, features, records: rounds * features * records**2)
    assert facts.linear("all", 0.05).answer == DOES_NOT


def test_what_was_not_run_is_not_measured():
    found = results({"a": UP, "b": UP})
    places = [("data", "a")], [("data", "b")]
    checks = (
        judges.rises(["a"]),
        judges.rises(["a"], sign=-1.0, together=True),
        judges.above("data", ["data"], labels=["a"]),
        judges.above("a", ["b"], whole=True),
        judges.same("a", "b", 1.0),
        judges.steadier(*places),
        judges.ever_steadier(places[0]),
    )
    assert [str(check(found, "private")) for check in checks] == ["not measured"] * len(checks)


@pytest.mark.parametrize(
    ("says", "answers"),
    [
        (["DPAda_Swing", "=", "m // 2"], HOLDS),
        (["DPAda_Swing", "<", "m // 2"], DOES_NOT),
        (["DPAda_Random", "<", "m - 1"], DOES_NOT),  # right of every fit here, and not of all coins
        (["DPAda_Swing", "<=", "m // 2", "<", "DPAda"], HOLDS),
        (["DPAda_Swing", "<", "DPAda", "<", "m - 1"], DOES_NOT),
    ],
)
def test_numbers_of_noisy_rounds(says, answers, monkeypatch):
    monkeypatch.setattr(facts, "ROUNDS", (30,))
    assert facts.numbers_of_noisy_rounds(says).answer == answers


def test_the_printed_algorithm_perturbs_after_round_1():
    assert set(facts.noisy_rounds("all", 30)) == {30}
    assert set(facts.noisy_rounds("from-second", 30)) == {29}


def test_both_readings_of_ties_are_asked_the_same():
    named = {experiment.name: experiment for experiment in experiments_named(["dpada"])}
    for number in range(2, 7):
        each, one = named[f"dpada/fig{number}"], named[f"dpada/fig{number}-one"]
        without_ties = ("DP-AdaBoost rises", "CART-DPsAdaBoost rises")
        texts = [claim.text for claim in each.claims if not claim.text.startswith(without_ties)]
        assert texts == [claim.text for claim in one.claims]
        assert each.axis.values == (0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 3.0, 5.0)
        fits = itertools.chain.from_iterable(curve.points for curve in one.curves)
        assert all(("ties", "one") in fit.settings for _, fit in fits if fit.system == "dpada")
