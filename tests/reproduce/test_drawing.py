import matplotlib
import pytest

from hedgerow.papers.reproduce.drawing import draw
from hedgerow.papers.reproduce.experiment import Axis, Curve, Experiment, Panel, Results
from hedgerow.papers.reproduce.fits import Fit

matplotlib.use("Agg")

LEFT, RIGHT = Panel("left"), Panel("right", "auc")
AXIS = Axis("epsilon", "epsilon", (0.1, 1.0), log=True)


def picture(curves, reported=()):
    """The figure of curves given as (panel, label, form, values), one run each."""
    rows, made = {}, []
    for panel, label, form, values in curves:
        points = tuple((x, Fit(panel.name, label, form or "none", x)) for x in AXIS.values)
        for (_, fit), value in zip(points, values, strict=True):
            rows[fit.key] = {"accuracy": str(value), "auc": str(value)}
        made.append(Curve(panel, label, form, points))
    experiment = Experiment(name="p/f", title="", settings="", axis=AXIS, curves=tuple(made), reported=dict(reported))
    return draw(Results(experiment, rows, 1))


BOTH = [
    (LEFT, "a", "published", (0.7, 0.8)),
    (LEFT, "b", "published", (0.6, 0.7)),
    (LEFT, "b", "private", (0.65, 0.75)),
    (RIGHT, "a", "published", (0.7, 0.8)),
]


def test_one_column_per_panel_and_one_row_per_form():
    axes = picture(BOTH).axes
    assert [ax.get_title() for ax in axes] == ["left", "right", "", ""]
    assert [len(ax.lines) for ax in axes] == [2, 1, 1, 0]
    assert axes[0].get_ylabel() == "as printed\naccuracy"
    assert axes[2].get_ylabel() == "private form\naccuracy"
    assert axes[1].get_ylabel() == "ROC AUC"


def test_a_panel_that_a_form_has_not_is_empty_and_the_one_above_it_names_the_axis():
    axes = picture(BOTH).axes
    assert [ax.axison for ax in axes] == [True, True, True, False]
    assert [ax.get_xlabel() for ax in axes] == ["", "epsilon", "epsilon", ""]


def test_a_method_has_one_color_in_all_rows_and_the_legend_names_each_once():
    figure = picture(BOTH)
    first, second, _ = figure.axes[0], figure.axes[2], figure.axes[1]
    assert first.lines[1].get_color() == second.lines[0].get_color()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_the_papers_numbers_stand_in_every_row():
    axes = picture(BOTH, {(LEFT, "b", 1.0): 0.66}).axes
    for ax in (axes[0], axes[2]):
        marks = [line for line in ax.lines if line.get_linestyle() == "None"]
        assert [list(mark.get_ydata()) for mark in marks] == [[0.66]]


@pytest.mark.parametrize(("values", "same"), [((0.55, 0.8), True), ((0.70, 0.75), False)])
def test_rows_share_a_scale_unless_it_presses_one_flat(values, same):
    axes = picture([(LEFT, "a", "published", (0.5, 0.8)), (LEFT, "a", "private", values)]).axes
    assert (axes[0].get_ylim() == axes[1].get_ylim()) == same


def test_a_flat_row_is_not_blown_up():
    axes = picture([(LEFT, "a", "published", (0.72, 0.78)), (LEFT, "a", "private", (0.75, 0.7501))]).axes
    assert axes[0].get_ylim() == axes[1].get_ylim()


@pytest.mark.parametrize(("values", "side"), [((0.70, 0.80), "right"), ((0.80, 0.70), "left")])
def test_a_rule_far_below_is_named_where_there_is_room(values, side):
    rule = (LEFT, "majority rule", None, (0.2, 0.2))
    [ax] = picture([(LEFT, "a", "published", values), rule]).axes
    assert [(text.get_text(), text.get_ha()) for text in ax.texts] == [("majority rule: 0.200", side)]
    assert len(ax.lines) == 1


def test_a_rule_above_is_in_the_picture():
    [ax] = picture([(LEFT, "a", "published", (0.4, 0.5)), (LEFT, "majority rule", None, (0.8, 0.8))]).axes
    assert ax.get_ylim()[1] > 0.8
    assert len(ax.lines) == 2


def test_a_band_does_not_leave_what_is_possible():
    [ax] = picture([(LEFT, "a", "published", (0.4, 1.0))]).axes
    assert ax.get_ylim()[1] <= 1.01


def test_panels_for_a_claim_only_are_not_drawn():
    curves = [(LEFT, "a", "published", (0.7, 0.8)), (RIGHT, "majority rule", None, (0.5, 0.5))]
    assert [ax.get_title() for ax in picture(curves).axes] == ["left"]


def test_without_rows_there_is_no_picture():
    experiment = Experiment(name="p/f", title="", settings="", axis=AXIS)
    assert draw(Results(experiment, {}, 1)) is None
