import pytest

from hedgerow.reproduce import claims
from hedgerow.reproduce.experiment import Axis, Curve, Experiment, Panel, PaperClaim, Reported
from hedgerow.reproduce.fits import Fit
from hedgerow.reproduce.results import Results, write_table

PANEL = Panel("data")
AXIS = Axis("epsilon", "epsilon", (0.1, 1.0), (1.0,))


def results(values, *, reported=(), seeds=2, without_privacy=()):
    """Results in which a method's runs at each x are the numbers given; its two runs differ by 2 * `noise`."""
    curves, rows = [], {}
    for label, means in values.items():
        form = None if label in without_privacy else "published"
        points = []
        for x, mean in zip(AXIS.values, means, strict=True):
            fit = Fit("d", label, form or "none", x)
            points.append((x, fit))
            for run, value in enumerate((mean - 0.01, mean + 0.01)):
                rows[fit.numbered(run).key] = {"accuracy": str(value)}
        curves.append(Curve(PANEL, label, form, tuple(points)))
    experiment = Experiment(
        name="p/f", title="", settings="", axis=AXIS, curves=tuple(curves), reported=tuple(reported)
    )
    return Results(experiment, rows, seeds)


@pytest.mark.parametrize(
    ("ours", "holds"), [((0.8, 0.9), "yes"), ((0.8, 0.2), "no"), ((0.2, 0.2), "no"), ((0.501, 0.501), "yes")]
)
def test_above(ours, holds):
    verdict = claims.above("a", ["b"])(results({"a": ours, "b": (0.5, 0.5)}), "published")
    assert verdict.holds == holds
    assert f"; {min(ours) - 0.5:+.3f} to {max(ours) - 0.5:+.3f}, " in verdict.words


def test_above_says_how_sure_it_is():
    verdict = claims.above("a", ["b"])(results({"a": (0.9, 0.505), "b": (0.5, 0.5)}), "published")
    assert "above in 2 of 2 places (clearly in 1, clearly below in 0)" in verdict.words


def test_above_in_three_of_four_is_mostly():
    found = results({"a": (0.5, 0.5), "b": (0.4, 0.4), "c": (0.4, 0.6)})
    assert claims.above("a", ["b", "c"])(found, "published").holds == "mostly"


def test_a_form_that_was_not_run_is_not_measured():
    found = results({"a": (0.5, 0.5), "b": (0.4, 0.4)})
    checks = (
        claims.above("a", ["b"]),
        claims.rises("a"),
        claims.closest("a", ["b"], "b"),
        claims.reaches("a", PANEL, 1.0, 0.5),
        claims.near_reported(0.1),
    )
    assert [str(check(found, "private")) for check in checks] == ["not measured"] * 5


def test_above_the_majority_rule_which_has_no_form():
    values = {"a": (0.5, 0.9), "majority rule": (0.4, 0.4)}
    found = results(values, without_privacy=("majority rule",))
    assert claims.above_majority("a")(found, "published").holds == "yes"


@pytest.mark.parametrize(
    ("ours", "up", "down"), [((0.5, 0.6), "yes", "no"), ((0.6, 0.5), "no", "yes"), ((0.5, 0.5), "no", "no")]
)
def test_rises_and_falls(ours, up, down):
    found = results({"a": ours})
    assert claims.rises("a")(found, "published").holds == up
    assert claims.falls("a")(found, "published").holds == down
    clearly = " (clearly)" if ours[0] != ours[1] else ""
    assert claims.rises("a")(found, "published").words.endswith(f"data: {ours[1] - ours[0]:+.3f}{clearly}")


@pytest.mark.parametrize(("change", "clear"), [(0.027, False), (0.029, True)])
def test_a_change_within_the_noise_is_none(change, clear):
    # Each end has a standard error of .01, so that the difference's is .01 * sqrt(2), twice that .0283.
    for check, ours in ((claims.rises("a"), (0.5, 0.5 + change)), (claims.falls("a"), (0.5 + change, 0.5))):
        verdict = check(results({"a": ours}), "published")
        assert verdict.holds == ("yes" if clear else "no")
        assert ("(clearly)" in verdict.words) == clear


@pytest.mark.parametrize(("ours", "holds"), [((0.88, 0.92), "yes"), ((0.7, 0.7), "no"), ((1.2, 1.2), "no")])
def test_closest(ours, holds):
    found = results({"a": ours, "b": (0.85, 0.85), "goal": (0.9, 0.9)})
    assert claims.closest("a", ["b"], "goal")(found, "published").holds == holds


@pytest.mark.parametrize(("value", "holds"), [(0.5, "yes"), (0.51, "yes"), (0.6, "no")])
def test_reaches_within_two_standard_errors(value, holds):
    verdict = claims.reaches("a", PANEL, 1.0, value)(results({"a": (0.1, 0.5)}), "published")
    assert verdict.holds == holds
    assert f"the paper's {value:.3f}" in verdict.words


@pytest.mark.parametrize(("value", "holds"), [(0.5, "yes"), (0.58, "yes"), (0.42, "yes"), (0.7, "no"), (0.3, "no")])
def test_near_what_is_printed(value, holds):
    found = results({"a": (0.1, 0.5)}, reported=[Reported(PANEL, "a", 1.0, value)])
    assert claims.near_reported(0.1)(found, "published").holds == holds


def test_a_number_of_no_named_data_set_may_be_met_anywhere():
    panels = [Panel("data"), Panel("other")]
    found = results({"a": (0.1, 0.5)}, reported=[Reported(panel, "a", 1.0, 0.55) for panel in panels])
    far = results({"a": (0.1, 0.5)}, reported=[Reported(panel, "a", 1.0, 0.9) for panel in panels])
    check = claims.near_reported(0.1, anywhere=True)
    assert str(check(found, "published")).startswith("yes: 1 of 1 numbers")
    assert check(far, "published").holds == "no"


@pytest.mark.parametrize(("ours", "holds"), [((0.5, 0.6), "yes"), ((0.5, 0.9), "no"), ((0.1, 0.2), "no")])
def test_within_a_range(ours, holds):
    assert claims.within("a", PANEL, 0.4, 0.7)(results({"a": ours}), "published").holds == holds


def test_a_cell_is_the_mean_and_the_spread_of_its_runs(tmp_path):
    found = results({"a": (0.1, 0.5)})
    cell = found.cell(PANEL, "a", "published", 1.0)
    assert cell.mean == pytest.approx(0.5)
    assert cell.spread == pytest.approx(0.02 / 2**0.5)
    assert cell.error == pytest.approx(0.01)
    write_table(found, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == "data,accuracy,a,published,0.1,0.10000,0.01414,2"


def test_fewer_seeds_use_fewer_runs():
    cell = results({"a": (0.1, 0.5)}, seeds=1).cell(PANEL, "a", "published", 1.0)
    assert (cell.values, cell.spread) == ((0.49,), 0.0)


def test_a_claim_is_a_sentence_and_a_check():
    claim = PaperClaim("a is above b", claims.above("a", ["b"]))
    assert claim.check(results({"a": (0.5, 0.6), "b": (0.4, 0.4)}), "published").holds == "yes"
