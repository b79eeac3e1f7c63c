import math

import numpy as np
import pytest
from made_up_results import PANEL, results
from scipy import stats

from hedgerow.papers.reproduce import judges, verdicts
from hedgerow.papers.reproduce.verdicts import Cell, Contrast

ANSWERS = ("holds", "does not", "cannot be told")


def answer(check, values, **how):
    return check(results(values, **how), "published").answer


def test_a_contrast_is_clear_by_student_and_welch():
    first, second = Cell((0.5, 0.6, 0.7, 0.55)), Cell((0.1, 0.9, 0.4))
    found = verdicts.difference(first, second)
    test = stats.ttest_ind(first.values, second.values, equal_var=False)
    assert found.gap / found.error == pytest.approx(test.statistic)
    assert found.freedom == pytest.approx(test.df)
    interval = test.confidence_interval(0.95)
    assert found.gap - found.bound(0.05) == pytest.approx(interval.low)


def test_runs_of_one_seed_are_compared():
    first, second = Cell((0.5, 0.6, 0.7, 0.55)), Cell((0.1, 0.9, 0.4, 0.3))
    found = verdicts.difference(first, second)
    test = stats.ttest_rel(first.values, second.values)
    assert found.gap / found.error == pytest.approx(test.statistic)
    assert found.gap - found.bound(0.05) == pytest.approx(test.confidence_interval(0.95).low)
    same = verdicts.difference(first, first)
    assert same.fails()  # what is the same in every run is not above


def test_one_run_of_a_noisy_method_is_never_clear():
    for gap in (0.5, -0.5):
        found = verdicts.difference(Cell((0.5 + gap,)), Cell((0.5,), certain=True))
        assert not found.holds
        assert not found.fails()
    assert verdicts.difference(Cell((0.6,), certain=True), Cell((0.5,), certain=True)).holds


def test_a_place_among_many_contradicts_less_easily():
    contrast = Contrast(-0.025, 0.01, 20)
    assert contrast.fails(1)
    assert not contrast.fails(20)


@pytest.mark.parametrize(
    ("clear", "unclear", "wrong", "expected"),
    [(9, 1, 0, "holds"), (8, 1, 0, "cannot be told"), (10, 2, 0, "cannot be told"), (19, 0, 1, "cannot be told")],
)
def test_of_many_places_nine_in_ten_have_to_be_clear_and_all_right(clear, unclear, wrong, expected):
    gaps = [Contrast(0.1, 0.01, 9)] * clear + [Contrast(0.01, 0.01, 9)] * unclear + [Contrast(-0.001, 0.01, 9)] * wrong
    assert verdicts.judged(gaps, "").answer == expected


@pytest.mark.full
def test_by_chance_alone_a_true_statement_is_seldom_contradicted():
    """Twenty places, all equal: about 5 % of runs contradict the claim, by a place or by the mean, and it seldom holds."""
    generator = np.random.default_rng(0)
    seen = []
    for _ in range(400):
        cells = [Cell(tuple(generator.normal(0.5, 0.02, 10))) for _ in range(40)]
        gaps = [verdicts.difference(*pair) for pair in zip(cells[::2], cells[1::2], strict=True)]
        seen.append(verdicts.judged(gaps, "", ["all"] * len(gaps)).answer)
    assert seen.count("does not") <= 400 * 0.05 + 4 * math.sqrt(400 * 0.05)
    assert seen.count("holds") <= 400 * 0.025 + 4 * math.sqrt(400 * 0.025)


def test_pooled_places_decide_what_no_single_one_does():
    generator = np.random.default_rng(3)

    def gaps(mean, places=30, runs=10):
        noise = generator.normal(0, 0.02, (places, runs))
        return [verdicts.difference(Cell(tuple(mean + row)), Cell((0.0,), certain=True)) for row in noise]

    up, down = gaps(0.005), gaps(-0.005)
    assert not all(gap.holds for gap in up)
    assert not any(gap.fails(len(down)) for gap in down)
    assert [verdicts.judged(found, "", ["b"] * 30).answer for found in (up, down)] == ["holds", "does not"]
    assert [verdicts.judged(found, "").answer for found in (up, down)] == ["cannot be told"] * 2
    mean = verdicts.pooled(up)
    values = np.array([gap.runs for gap in up]).mean(axis=0)
    assert (mean.gap, mean.count) == (pytest.approx(values.mean()), 10)
    assert mean.error == pytest.approx(values.std(ddof=1) / 10**0.5)


def test_a_clear_mean_over_one_rival_does_not_speak_for_another():
    far, tie = [Contrast(0.3, 0.01, 9)] * 3, [Contrast(0.001, 0.01, 9)] * 3
    assert verdicts.judged(far + tie, "", ["far"] * 3 + ["tie"] * 3).answer == "cannot be told"
    assert verdicts.judged(far + tie, "", ["all"] * 6).answer == "holds"


def test_pooled_runs_that_differ_in_number_are_taken_to_move_together():
    assert verdicts.pooled([Contrast(0.1, 0.02, 9), Contrast(0.3, 0.04, 4)]).error == pytest.approx(0.03)


def test_what_is_wrong_names_its_runs_and_what_is_open_says_what_would_tell():
    sure = verdicts.judged([Contrast(-0.1, 0.01, 49), Contrast(0.1, 0.01, 49)], "words")
    assert sure.words == "words; worst place -0.1000 ± 0.0100 (50 runs)"
    few = verdicts.judged([Contrast(0.02, 0.012, 9)], "words").words
    runs = int(few.split("about ")[1].split()[0])
    assert runs == math.ceil(10 * (stats.t.isf(0.025, 9) * 0.012 / 0.02) ** 2)
    assert "more than 1000 runs" in verdicts.judged([Contrast(0.0001, 0.012, 9)], "").words
    assert "runs that differ" in verdicts.judged([Contrast(0.1, math.inf, 1)], "").words


# One line for each type of claim: what contradicts it, what agrees with it, and what is within the noise.
BELOW, GOAL = {"b": (0.5, 0.5, 0.5)}, {"AdaBoost": (0.5, 0.5, 0.5)}
TYPES = {
    "above": (
        judges.above("a", ["AdaBoost"]),
        {"a": (0.8, 0.4, 0.8), **GOAL},
        {"a": (0.6, 0.6, 0.6), **GOAL},
        {"a": (0.503, 0.496, 0.503), **GOAL},
    ),
    "above by": (
        judges.above("a", ["AdaBoost"], by=0.1),
        {"a": (0.7, 0.55, 0.7), **GOAL},
        {"a": (0.7, 0.65, 0.7), **GOAL},
        {"a": (0.603, 0.596, 0.603), **GOAL},
    ),
    "above the majority rule": (
        judges.above("a", ["majority rule"]),
        {"a": (0.8, 0.8, 0.4), "majority rule": (0.5, 0.5, 0.5)},
        {"a": (0.8, 0.8, 0.6), "majority rule": (0.5, 0.5, 0.5)},
        {"a": (0.502, 0.497, 0.501), "majority rule": (0.5, 0.5, 0.5)},
    ),
    "rises": (judges.rises(["a"]), {"a": (0.6, 0.5, 0.4)}, {"a": (0.4, 0.5, 0.6)}, {"a": (0.5, 0.5, 0.51)}),
    "falls": (judges.rises(["a"], sign=-1.0), {"a": (0.4, 0.5, 0.6)}, {"a": (0.6, 0.5, 0.4)}, {"a": (0.5, 0.5, 0.49)}),
    "closest": (
        judges.closest("a", ["b"], "AdaBoost"),
        {"a": (0.6, 0.6, 0.8), "b": (0.85, 0.85, 0.85), "AdaBoost": (0.9, 0.9, 0.9)},
        {"a": (0.88, 0.95, 0.88), "b": (0.8, 0.8, 0.8), "AdaBoost": (0.9, 0.9, 0.9)},
        {"a": (0.805, 0.798, 0.805), "b": (0.8, 0.8, 0.8), "AdaBoost": (0.9, 0.9, 0.9)},
    ),
    "is near": (
        judges.is_near("a", PANEL.name, 1.0, 0.8, 0.05),
        {"a": (0.8, 0.8, 0.9)},
        {"a": (0.1, 0.1, 0.81)},
        {"a": (0.8, 0.8, 0.852)},
    ),
    "steady": (judges.steady(0.1, label="a"), {"a": (0.5, 0.5, 0.7)}, {"a": (0.5, 0.55, 0.5)}, {"a": (0.5, 0.5, 0.6)}),
}


@pytest.mark.parametrize(("name", "place"), [(name, place) for name in TYPES for place in range(3)])
def test_each_type_of_claim_can_be_contradicted_can_hold_and_can_stay_open(name, place):
    check, *series = TYPES[name]
    assert answer(check, series[place]) == ("does not", "holds", "cannot be told")[place]


@pytest.mark.parametrize(
    ("value", "expected"), [(0.85, "holds"), (0.99, "does not"), (0.61, "does not"), (0.9, "cannot be told")]
)
def test_near_every_number_that_is_printed(value, expected):
    printed = {(PANEL, "a", 0.5): 0.5, (PANEL, "a", 1.0): value}
    assert answer(judges.near_reported(0.1), {"a": (0.1, 0.5, 0.8)}, reported=printed) == expected


@pytest.mark.parametrize("gap", [-0.2, 0.2])
def test_a_number_is_missed_on_both_sides(gap):
    """.938 does not meet a printed .799."""
    assert answer(judges.is_near("a", PANEL.name, 1.0, 0.7), {"a": (0.7, 0.7, 0.7 + gap)}) == "does not"


def test_a_number_that_the_majority_rule_meets_too_says_nothing():
    check = judges.is_near("a", PANEL.name, 1.0, 0.8, 0.05)
    values = {"a": (0.8, 0.8, 0.8), "majority rule": (0.79, 0.79, 0.79)}
    verdict = check(results(values), "published")
    assert verdict.answer == "cannot be told"
    assert "the majority rule meets it too (0.790)" in verdict.words
    assert answer(check, {**values, "majority rule": (0.7, 0.7, 0.7)}) == "holds"


def test_a_trend_is_that_of_all_points():
    """Ends that lie high or low by chance do not make a trend, and a clear one in the middle does."""
    assert answer(judges.rises(["a"]), {"a": (0.5, 0.9, 0.5)}) == "cannot be told"
    slope = verdicts.trend([Cell((value,), certain=True) for value in (0.1, 0.4, 0.3, 0.8)])
    assert slope.gap == pytest.approx(3 * np.polyfit(range(4), (0.1, 0.4, 0.3, 0.8), 1)[0])


def test_a_change_counts_however_small_it_is():
    small = {"a": (0.5, 0.5002, 0.5004)}
    assert answer(judges.rises(["a"]), small, noise=0.00005) == "holds"
    assert answer(judges.rises(["a"], sign=-1.0), small, noise=0.00005) == "does not"
    assert answer(judges.rises(["a"]), {"a": (0.5, 0.5, 0.5)}, noise=0.0005) == "cannot be told"
    assert judges.rises(["a"])(results(small, noise=0.00005), "published").words == "fitted change +0.0004"


@pytest.mark.parametrize("values", [(0.6,), (0.6, 0.6), (0.6,) * 10])
def test_runs_with_noise_that_are_all_the_same_do_not_show_their_error(values):
    equal, rule = Cell(values), Cell((0.5,), certain=True)
    assert math.isinf(verdicts.difference(equal, rule).error)
    assert math.isinf(verdicts.difference(equal, Cell(values)).error)
    for gap in (verdicts.difference(equal, rule), verdicts.difference(rule, equal), equal.less(0.9)):
        assert verdicts.judged([gap] * 3, "", ["all"] * 3).answer == "cannot be told"


def test_a_form_that_was_not_run_is_not_measured():
    found = results({"a": (0.5, 0.5, 0.5), "b": (0.4, 0.4, 0.4)})
    checks = [check for check, *_ in TYPES.values()]
    assert {check(found, "private").answer for check in checks} == {"not measured"}


def test_words_say_where_and_how_much():
    verdict = judges.above("a", ["b"])(results({"a": (0.9, 0.505, 0.9), **BELOW}), "published")
    assert verdict.words == (
        "right in 3 of 3 places, significantly in 2; ahead by +0.0050 to +0.4000; pooled +0.2683 (the same in 4 runs)"
    )


def test_a_cell_is_the_mean_and_the_spread_of_its_runs(tmp_path):
    found = results({"a": (0.1, 0.3, 0.5)})
    cell = found.cell(PANEL, "a", "published", 1.0)
    assert cell.mean == pytest.approx(0.5)
    assert cell.spread == pytest.approx(0.02 / 3**0.5)
    assert cell.error == pytest.approx(0.01 / 3**0.5)
    found.write_table(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == "data,accuracy,a,published,0.1,0.10000,0.01155,4"


def test_fewer_seeds_use_fewer_runs():
    cell = results({"a": (0.1, 0.3, 0.5)}, seeds=1).cell(PANEL, "a", "published", 1.0)
    assert (cell.values, cell.spread, cell.error) == ((0.51,), 0.0, math.inf)


def test_all_points_of_a_form_have_the_runs_of_the_one_with_the_fewest():
    found = results({"a": (0.1, 0.3, 0.5), "majority rule": (0.1, 0.1, 0.1)})
    _, fit = found.experiment.curves[0].points[1]
    del found.rows[fit.numbered(3).key]
    assert [len(found.cell(PANEL, "a", "published", x).values) for x in (0.1, 0.5, 1.0)] == [3, 3, 3]
    assert found.cell(PANEL, "majority rule", "published", 0.1).certain
