import facts
import pytest

import hedgerow as hr
from hedgerow.papers.forest import FixedSize
from hedgerow.papers.reproduce import judges
from hedgerow.papers.reproduce.experiment import Axis, Curve, Experiment, Panel, Results
from hedgerow.papers.reproduce.fits import Fit
from hedgerow.papers.reproduce.readings import AllocationForest

PANELS = (Panel("data"), Panel("other"))
AXIS = Axis("records", "records", (10.0, 100.0, 1000.0))
SEEDS = 4


def results(values, *, noise=0.01, panels=PANELS[:1]):
    """Results whose runs are the given numbers times 1 - noise to 1 + noise, in a fixed order, the same in all panels."""
    curves, rows = [], {}
    for panel in panels:
        for label, means in values.items():
            points = []
            for place, (x, mean) in enumerate(zip(AXIS.values, means, strict=True)):
                fit = Fit(f"{panel.name} {x}", label, "published")
                points.append((x, fit))
                for run in range(SEEDS):
                    factor = 1 + noise * (-1.0, 1.0, 0.5, -0.5)[(run + place) % SEEDS]
                    rows[fit.numbered(run).key] = {"accuracy": str(mean * factor)}
            curves.append(Curve(panel, label, "published", tuple(points)))
    return Results(Experiment(name="p/f", title="", settings="", axis=AXIS, curves=tuple(curves)), rows, SEEDS)


@pytest.mark.parametrize(
    ("series", "noise", "answer"),
    [
        ((1, 10, 100), 0.01, "holds"),
        ((1, 1, 1), 0.01, "does not"),
        ((1, 100, 10_000), 0.01, "does not"),
        ((1, 9, 81), 0.9, "cannot be told"),
    ],
)
def test_growth_is_a_power_within_a_tolerance(series, noise, answer):
    check = judges.grows("a", 1.0, 0.25)
    assert check(results({"a": series}, noise=noise), "published").answer == answer


def test_one_slow_run_changes_no_growth():
    found = results({"a": (1, 10, 100)})
    slow = next(iter(found.rows.values()))
    slow["accuracy"] = "50"
    assert judges.grows("a", 1.0, 0.25)(found, "published").answer == "holds"


@pytest.mark.parametrize(
    ("other", "noise", "answer"),
    [
        ((0.9, 0.7, 0.5), 0.005, "holds"),
        ((0.8, 0.8, 0.8), 0.005, "does not"),
        ((0.81, 0.7, 0.72), 0.2, "cannot be told"),
    ],
)
def test_which_curve_moves_less(other, noise, answer):
    found = results({"a": (0.6, 0.7, 0.65), "b": other}, noise=noise)
    assert judges.moves_less("a", ["b"])(found, "published").answer == answer


def test_a_number_without_set_or_setting_cannot_be_told_and_names_the_settings_that_meet_it():
    found = results({"a": (0.8, 0.9, 0.85)}, panels=PANELS)
    several = Results(found.experiment, found.rows, SEEDS, (found.experiment,))
    verdict = judges.met_in_settings("a", 0.9, 0.02)(several, "published")
    assert verdict.answer == "cannot be told"
    assert "met in 3 of 9 settings" in verdict.words  # in each panel, and in the mean of both
    assert "f, mean of both sets, 100 records 0.9000" in verdict.words
    assert "met in 0 of 9 settings" in judges.met_in_settings("a", 0.5, 0.02)(several, "published").words


@pytest.mark.parametrize(
    "check",
    [
        judges.grows("a", 1.0, 0.1),
        judges.moves_less("a", ["b"]),
        judges.met_in_settings("a", 0.8, 0.02),
    ],
)
def test_what_was_not_run_is_not_measured(check):
    assert str(check(results({"a": (1, 1, 1), "b": (1, 1, 1)}), "private")) == "not measured"


def test_wrong_numbers_do_not_hold(monkeypatch):
    monkeypatch.setattr(facts, "figure3", lambda: ((1.0,), (0.55, 0.82), (0.55, 0.27, 0.18)))
    assert facts.figure3_numbers().answer == "does not"
    assert facts.deeper_gets_more().answer == "does not"
    monkeypatch.setattr(facts, "certified", lambda system, variant: (variant == "published", 0))
    assert facts.all_private("published").answer == "holds"
    assert facts.all_private("private").answer == "does not"


def test_answers_that_one_record_does_not_change_tell_nothing(monkeypatch):
    monkeypatch.setattr(facts, "answers_differ", lambda *_, **__: 0)
    assert facts.leaks("pfdpdt", 40).answer == "cannot be told"


def test_a_system_that_refuses_a_curator_is_named():
    found = facts.through_curator(["edprf", "hedgerow"])
    assert found.answer == "does not"
    assert found.words.startswith("hedgerow: ")


def test_parts_of_what_is_left():
    parts = FixedSize(shrinking=True)
    assert parts.sizes(100, 2) == [50, 25]
    assert sum(parts.sizes(10_000, 35)) / 10_000 == pytest.approx(1 - (34 / 35) ** 35, abs=0.01)


@pytest.mark.parametrize(("allocation", "counts"), [("linear", True), ("deng", True), ("tpdprf", False)])
def test_a_rival_on_the_traditional_tree(allocation, counts):
    forest = AllocationForest(variant="published", tree="tradition", allocation=allocation)
    recipe = forest._published()
    assert (recipe.leaf, recipe.tests.__name__) == ("counts", "node_bins")
    assert type(recipe.samples).__name__ == ("TwoPhases" if allocation == "tpdprf" else "Bootstrap")
    assert recipe.sharing == ("halved" if counts else "undivided")
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    private = AllocationForest(tree="tradition", allocation=allocation)._private(schema, 2)
    assert (private.soft, private.stop) == (False, None)  # a share, and a size, would be noise at a T-th of epsilon
    assert AllocationForest(tree="tradition")._private(schema, 2).soft
