"""An experiment as a picture in the paper's own axes: one column per panel, one row per form."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from hedgerow.plots import PrivacyUtilityDisplay
from hedgerow.plots.axes import new_figure, shown
from hedgerow.plots.utility import Line
from hedgerow.reproduce.experiment import FORMS, Experiment, Form, Panel
from hedgerow.reproduce.results import Results

COLUMN, ROW, LEGEND = 3.4, 2.5, 0.6  # inches
FLAT, LEAST_SPAN = 2.0, 0.05
LEAST_GAP = 0.1  # of the width of an axis
MANY = 8  # lines of a panel, whose colors a legend makes hard to follow
NAMES = 1.3  # inches for names beside lines
NAME_HEIGHT = 0.075  # of a name beside a line, of the height of an axis
WORDS = {"auc": "ROC AUC", "roc": "true positives", "f1": "F1", "training_accuracy": "accuracy in training"}


def draw(results: Results) -> Any | None:
    """Return the figure of an experiment, or None where there is nothing to draw but a table."""
    experiment = results.experiment
    if experiment.picture is not None:
        return experiment.picture()
    if len(experiment.axis.values) < 2 or not results.cells:
        return None
    panels, forms = _drawn(experiment), experiment.forms
    column = COLUMN + (NAMES if experiment_lines(experiment) >= MANY else 0.0)
    figure = new_figure(max(column * len(panels), 6.0), ROW * len(forms) + LEGEND)
    grid = figure.subplots(len(forms), len(panels), squeeze=False, sharex=True)
    artists: dict[str, Any] = {}
    for row, form in enumerate(forms):
        for column, panel in enumerate(panels):
            ax = grid[row][column]
            artists.update(_fill(ax, results, panel, form))
            if form == _last_form(experiment, panel):
                ax.tick_params(labelbottom=True)
                ax.set_xlabel(shown(experiment.axis.words))
            else:
                ax.set_xlabel("")
            ax.set_ylabel(f"{FORMS[form]}\n{_word(panel)}" if column == 0 else _word(panel))
            if row == 0:
                ax.set_title(shown(panel.name), fontsize=10)
    for forms_of_panel in zip(*grid, strict=True):
        _same_scale([ax for ax in forms_of_panel if ax.axison])
    if max(len(named_lines(ax, artists)) for row in grid for ax in row) >= MANY:
        for ax in (ax for row in grid for ax in row if ax.axison):
            _name_ends(ax, artists)
        return figure
    longest = max(map(len, artists), default=1)
    columns = max(1, min(len(artists), int(figure.get_figwidth() / (0.6 + 0.085 * longest))))
    figure.legend(
        artists.values(), map(shown, artists), loc="outside lower center", ncols=columns, frameon=False, fontsize=9
    )
    return figure


def experiment_lines(experiment: Experiment) -> int:
    """Return the largest number of lines that a panel has in one form."""
    places = Counter((curve.panel, curve.form) for curve in experiment.curves)
    return max(places[panel, form] + places[panel, None] for panel in experiment.panels for form in experiment.forms)


def named_lines(ax: Any, artists: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lines of a panel by the name that the figure's artists of the same color and dashes have."""
    looks = {_look(artist): label for label, artist in artists.items()}
    return {looks[_look(line)]: line for line in ax.lines if _look(line) in looks and len(line.get_xdata())}


def _look(line: Any) -> tuple[object, ...]:
    return line.get_color(), line.get_linestyle(), line.get_marker()


def _name_ends(ax: Any, artists: Mapping[str, Any]) -> None:
    """Write the name of each line beside its right end, those that lie close one above the other, so that no legend is needed."""
    low, high = ax.get_ylim()
    found = sorted((line.get_ydata()[-1], label, line) for label, line in named_lines(ax, artists).items())
    places = [(float(y) - low) / (high - low) for y, _, _ in found]
    for below, here in pairwise(range(len(places))):
        places[here] = max(places[here], places[below] + NAME_HEIGHT)
    top = 1.0
    for here in reversed(range(len(places))):  # only those at the top that do not fit go down again
        places[here] = min(places[here], top)
        top = places[here] - NAME_HEIGHT
    for (y, label, line), place in zip(found, places, strict=True):
        ax.annotate(
            shown(label),
            (1.0, (float(y) - low) / (high - low)),
            (1.04, place),
            xycoords="axes fraction",
            va="center",
            fontsize=7,
            color=line.get_color(),
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": line.get_color()},
        )


def _drawn(experiment: Experiment) -> tuple[Panel, ...]:
    """Return the panels that show more than a rule without privacy, which some have for a claim only."""
    private = {curve.panel for curve in experiment.curves if curve.form is not None}
    return tuple(panel for panel in experiment.panels if panel in private)


def _same_scale(column: list[Any]) -> None:
    """Give the forms of a panel one scale, unless that would press flat one that has something to show."""
    limits = [ax.get_ylim() for ax in column]
    low, high = min(limit[0] for limit in limits), max(limit[1] for limit in limits)
    if high - low < FLAT * max(LEAST_SPAN, min(end - start for start, end in limits)):
        limits = [(low, high)] * len(column)
    for ax, (start, end) in zip(column, limits, strict=True):
        more = max(0.0, LEAST_SPAN - (end - start)) / 2  # what hardly moves is not blown up
        ax.set_ylim(start - more, end + more)


def _last_form(experiment: Experiment, panel: Panel) -> Form | None:
    """Return the form of the lowest row in which a panel shows something."""
    forms = {curve.form for curve in experiment.curves if curve.panel == panel}
    return [form for form in experiment.forms if form in forms][-1]


def _word(panel: Panel) -> str:
    return WORDS.get(panel.measure, panel.measure)


def _fill(ax: Any, results: Results, panel: Panel, form: Form) -> dict[str, Any]:
    """Draw one panel of one form and return its artists by label."""
    experiment = results.experiment
    curves = [curve for curve in experiment.curves if curve.panel == panel and curve.form in (form, None)]
    # Of every form, so that colors are the same in all rows.
    labels = dict.fromkeys(
        curve.label for curve in experiment.curves if curve.panel == panel and curve.form is not None
    )
    lines = [results.line(curve) for curve in curves if curve.form is not None]
    if not lines:  # a panel that this form has not
        ax.set_axis_off()
        return {}
    reported = [
        Line(f"{label}, as the paper prints", *_numbers(experiment, panel, label), (), label)
        for label in dict.fromkeys(number.label for number in experiment.reported if number.panel == panel)
    ]
    display = PrivacyUtilityDisplay(
        lines,
        reported=reported,
        measure=panel.measure,
        x=experiment.axis.words,
        log=experiment.axis.log,
        order=list(labels),
    ).plot(ax, legend=False)
    ticks = _apart(experiment.axis.values, log=experiment.axis.log)
    ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
    for curve in curves:
        if curve.form is None:
            _rule(ax, results.line(curve), display.artists_)
    if panel.measure != "seconds":
        ax.set_ylim(top=min(ax.get_ylim()[1], 1.01))  # where a band would leave what is possible
    return display.artists_


def _apart(values: Sequence[float], *, log: bool) -> list[float]:
    """Return those of the values whose labels do not run into each other."""
    place = math.log if log else float
    least = LEAST_GAP * (place(max(values)) - place(min(values)))
    kept: list[float] = []
    for value in values:
        if not kept or place(value) - place(kept[-1]) >= least:
            kept.append(value)
    return kept


def _numbers(experiment: Experiment, panel: Panel, label: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the x and the values of the numbers that a paper prints."""
    found = [number for number in experiment.reported if number.panel == panel and number.label == label]
    return tuple(number.x for number in found), tuple(number.value for number in found)


def _rule(ax: Any, line: Line, artists: dict[str, Any]) -> None:
    """Draw what has no privacy; one that is far below all else is named in the corner, so that the others can be told apart."""
    low, high = ax.get_ylim()
    if line.mean and max(line.mean) < low - 0.4 * (high - low):
        ends = [(drawn.get_ydata()[0], drawn.get_ydata()[-1]) for drawn in ax.lines if len(drawn.get_ydata())]
        left = min(first for first, _ in ends) >= min(last for _, last in ends)  # where the curves leave room
        place, side = (0.02, "left") if left else (0.98, "right")
        words = shown(f"{line.label}: {line.mean[0]:.3f}")
        ax.text(place, 0.03, words, transform=ax.transAxes, fontsize=8, color="#555555", ha=side)
        return
    (drawn,) = ax.plot(
        line.x, line.mean, "--" if line.label == "majority rule" else ":", color="#222222", linewidth=1.4
    )
    artists[line.label] = drawn
