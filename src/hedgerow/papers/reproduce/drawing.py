"""Experiments as pictures in the papers' own axes, one column per panel and one row per form; and figure 3 of eDPRF's paper."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hedgerow.papers.edprf import PFDPDTClassifier
from hedgerow.papers.reproduce.experiment import FORMS, Curve, Form, Panel, Results
from hedgerow.plots.axes import COLORS, framed, new_figure, shown
from hedgerow.plots.utility import Line, PrivacyUtilityDisplay

COLUMN, ROW, LEGEND = 3.4, 2.5, 0.6  # inches
FLAT, LEAST_SPAN = 2.0, 0.05
LEAST_GAP = 0.1  # of the width of an axis
WORDS = {"auc": "ROC AUC", "roc": "true positives", "f1": "F1", "training_accuracy": "accuracy in training"}


def draw(results: Results) -> Any | None:
    """Return the figure of an experiment, or None where there is nothing to draw but a table."""
    experiment = results.experiment
    if experiment.picture is not None:
        return experiment.picture()
    if len(experiment.axis.values) < 2 or not results.cells:
        return None
    forms = experiment.forms
    shown_in = Counter((curve.panel, curve.form) for curve in experiment.curves)
    # A panel shows more than a rule without privacy.
    panels = [panel for panel in experiment.panels if any(shown_in[panel, form] for form in forms)]
    figure = new_figure(max(COLUMN * len(panels), 6.0), ROW * len(forms) + LEGEND)
    grid = figure.subplots(len(forms), len(panels), squeeze=False, sharex=True)
    artists: dict[str, Any] = {}
    for row, form in enumerate(forms):
        for column, panel in enumerate(panels):
            ax = grid[row][column]
            artists.update(_fill(ax, results, panel, form))
            ax.set_xlabel("")
            if form == [one for one in forms if shown_in[panel, one]][-1]:  # the lowest row that shows the panel
                ax.tick_params(labelbottom=True)
                ax.set_xlabel(shown(experiment.axis.words))
            measure = WORDS.get(panel.measure, panel.measure)
            ax.set_ylabel(f"{FORMS[form]}\n{measure}" if column == 0 else measure)
            if row == 0:
                ax.set_title(shown(panel.name), fontsize=10)
    for axes in grid.T:
        _same_scale([ax for ax in axes if ax.axison])
    longest = max(map(len, artists), default=1)
    columns = max(1, min(len(artists), int(figure.get_figwidth() / (0.6 + 0.085 * longest))))
    where = {"loc": "outside lower center", "ncols": columns, "frameon": False, "fontsize": 9}
    figure.legend(artists.values(), map(shown, artists), **where)
    return figure


def _same_scale(column: Sequence[Any]) -> None:
    """Give the forms of a panel one scale, unless that would press flat one that has something to show."""
    limits = [ax.get_ylim() for ax in column]
    low, high = min(limit[0] for limit in limits), max(limit[1] for limit in limits)
    if high - low < FLAT * max(LEAST_SPAN, min(end - start for start, end in limits)):
        limits = [(low, high)] * len(column)
    for ax, (start, end) in zip(column, limits, strict=True):
        more = max(0.0, LEAST_SPAN - (end - start)) / 2  # what hardly moves is not blown up
        ax.set_ylim(start - more, end + more)


def _fill(ax: Any, results: Results, panel: Panel, form: Form) -> dict[str, Any]:
    experiment, axis = results.experiment, results.experiment.axis
    curves = [curve for curve in experiment.curves if curve.panel == panel]
    lines = [_line(results, curve) for curve in curves if curve.form == form]
    if not lines:  # a panel that this form has not
        ax.set_axis_off()
        return {}
    printed: dict[str, dict[float, float]] = {}
    for (place, label, x), value in experiment.reported.items():
        if place == panel:
            printed.setdefault(label, {})[x] = value
    reported = [
        Line(f"{label}, as the paper prints", tuple(own), tuple(own.values()), (), label)
        for label, own in printed.items()
    ]
    # The same colors in all rows
    order = list(dict.fromkeys(curve.label for curve in curves if curve.form is not None))
    display = PrivacyUtilityDisplay(lines, reported=reported, log=axis.log, order=order)
    display.plot(ax, legend=False)
    scale = math.log if axis.log else float
    least = LEAST_GAP * (scale(max(axis.values)) - scale(min(axis.values)))
    ticks: list[float] = []  # whose labels do not run into each other
    for value in axis.values:
        if not ticks or scale(value) - scale(ticks[-1]) >= least:
            ticks.append(value)
    ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
    for curve in curves:
        if curve.form is None:
            _rule(ax, _line(results, curve), display.artists_)
    if panel.measure != "seconds":
        ax.set_ylim(top=min(ax.get_ylim()[1], 1.01))  # where a band would leave what is possible
    return display.artists_


def _line(results: Results, curve: Curve) -> Line:
    places = {x: (curve.panel, curve.label, curve.form, x) for x, _ in curve.points}
    cells = {x: results.cells[place] for x, place in places.items() if place in results.cells}
    means, spreads = (tuple(getattr(cell, of) for cell in cells.values()) for of in ("mean", "spread"))
    return Line(curve.label, tuple(cells), means, spreads)


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


def figure3() -> tuple[tuple[float, ...], ...]:
    """Return what each path of a printed tree of figure 3's size spends, level by level, its leaf last; shortest first."""
    levels = PFDPDTClassifier(variant="published")._published().shares(Fraction(1), 1, 2)
    tests = [float(level.test) for level in levels]
    return tuple((*tests[:place], float(level.leaf)) for place, level in enumerate(levels))


def draw_figure3() -> Any:
    figure = new_figure(7.0, 2.6)
    ax = figure.subplots()
    paths = figure3()
    for place, path in enumerate(paths):
        start = 0.0
        for level, amount in enumerate(path, start=1):
            ax.barh(place, amount, left=start, height=0.72, color=COLORS[level == len(path)], edgecolor="white")
            ax.text(start + amount / 2, place, f"{amount:.2f}", ha="center", va="center", fontsize=8, color="white")
            start += amount
    ax.set_yticks(range(len(paths)), [f"leaf on level {len(path)}" for path in paths])
    ax.invert_yaxis()
    framed(ax, across="epsilon that one record pays on its path, root at the left")
    for name, color in zip(("test", "leaf"), COLORS, strict=False):
        ax.plot([], [], "s", color=color, label=name)
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


PICTURES = {"draw_figure3": draw_figure3}
