"""Experiments as pictures in the papers' own axes, one column per panel and one row per form; and two that show no runs."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np

from hedgerow.estimator import result_of
from hedgerow.papers.edprf import PFDPDTClassifier
from hedgerow.papers.reproduce.experiment import FORMS, Curve, Experiment, Form, Panel, Results
from hedgerow.papers.reproduce.fits import Fit, estimator
from hedgerow.plots import PrivacyUtilityDisplay
from hedgerow.plots.axes import COLORS, new_figure, shown
from hedgerow.plots.utility import Line
from hedgerow.privacy.accounting import Event, Parallel, PerRecordAssignment, Pure, cost
from hedgerow.privacy.accounting import Sequence as InSequence
from hedgerow.schema import Categorical, Numeric, Schema

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
    forms = experiment.forms
    shows_more = {curve.panel for curve in experiment.curves if curve.form is not None}  # than a rule without privacy
    panels = [panel for panel in experiment.panels if panel in shows_more]
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
            measure = WORDS.get(panel.measure, panel.measure)
            ax.set_ylabel(f"{FORMS[form]}\n{measure}" if column == 0 else measure)
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
    lines = sorted((line.get_ydata()[-1], label, line) for label, line in named_lines(ax, artists).items())
    places = [(float(y) - low) / (high - low) for y, _, _ in lines]
    for below, here in pairwise(range(len(places))):
        places[here] = max(places[here], places[below] + NAME_HEIGHT)
    top = 1.0
    for here in reversed(range(len(places))):  # only those at the top that do not fit go down again
        places[here] = min(places[here], top)
        top = places[here] - NAME_HEIGHT
    for (y, label, line), place in zip(lines, places, strict=True):
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


def _fill(ax: Any, results: Results, panel: Panel, form: Form) -> dict[str, Any]:
    """Draw one panel of one form and return its artists by label."""
    experiment = results.experiment
    curves = [curve for curve in experiment.curves if curve.panel == panel and curve.form in (form, None)]
    # Of every form, so that colors are the same in all rows.
    labels = dict.fromkeys(
        curve.label for curve in experiment.curves if curve.panel == panel and curve.form is not None
    )
    lines = [_line(results, curve) for curve in curves if curve.form is not None]
    if not lines:  # a panel that this form has not
        ax.set_axis_off()
        return {}
    printed: dict[str, list[tuple[float, float]]] = {}
    for number in experiment.reported:
        if number.panel == panel:
            printed.setdefault(number.label, []).append((number.x, number.value))
    reported = [
        Line(f"{label}, as the paper prints", tuple(x for x, _ in points), tuple(y for _, y in points), (), label)
        for label, points in printed.items()
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
            _rule(ax, _line(results, curve), display.artists_)
    if panel.measure != "seconds":
        ax.set_ylim(top=min(ax.get_ylim()[1], 1.01))  # where a band would leave what is possible
    return display.artists_


def _line(results: Results, curve: Curve) -> Line:
    cells = {x: results.cells.get((curve.panel, curve.label, curve.form, x)) for x, _ in curve.points}
    there = [(x, cell.mean, cell.spread) for x, cell in cells.items() if cell is not None]
    x, mean, spread = zip(*there, strict=True) if there else ((), (), ())
    return Line(curve.label, x, mean, spread)


def _apart(values: Sequence[float], *, log: bool) -> list[float]:
    """Return those of the values whose labels do not run into each other."""
    place = math.log if log else float
    least = LEAST_GAP * (place(max(values)) - place(min(values)))
    kept: list[float] = []
    for value in values:
        if not kept or place(value) - place(kept[-1]) >= least:
            kept.append(value)
    return kept


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


# Figure 3 of eDPRF's paper: what each path of a tree spends on each level


class Step(NamedTuple):
    """What a record pays on a level of a tree, from the root on, and what for."""

    level: int
    purpose: str
    amount: Fraction


Path = tuple[Step, ...]


def budget_paths(event: Event) -> tuple[Path, ...]:
    """Return the paths of the first tree of a plan, shortest first. Steps without a budget are left out."""
    paths = dict.fromkeys(_together(steps) for steps in _paths(_first_tree(event)) if steps)
    return tuple(sorted(paths, key=len))


def _first_tree(event: Event) -> Event:
    match event:
        case PerRecordAssignment(part):
            return _first_tree(part)
        case InSequence(parts) if not any(isinstance(part, Pure) for part in parts):  # of trees, not of steps
            return _first_tree(next(part for part in parts if any(_paths(part))))
    return event


def _paths(event: Event) -> Iterator[Path]:
    """Yield the steps of each path through an event."""
    match event:
        case Pure():
            yield (Step(event.level, event.purpose, cost(event).epsilon),)
        case Parallel(parts):
            for part in parts:
                yield from _paths(part)
        case InSequence(parts):
            before: list[Path] = [()]
            for part in parts:
                after = list(_paths(part)) or [()]
                before = [(*head, *tail) for head in before for tail in after]
            yield from before
        case PerRecordAssignment(part):
            yield from _paths(part)


def _together(steps: Path) -> Path:
    """Return the steps of a path, with steps of the same purpose and level merged."""
    sums: dict[tuple[int, str], Fraction] = {}
    for step in steps:
        sums[step[:2]] = sums.get(step[:2], Fraction(0)) + step.amount
    return tuple(Step(*key, amount) for key, amount in sums.items())


def _name(path: Path) -> str:
    return f"{path[-1].purpose}, level {path[-1].level}" if path[-1].level else path[-1].purpose


def draw_paths(ax: Any, paths: Sequence[Path], title: str) -> None:
    """Draw one bar for each path, all of which end where the budget ends."""
    colors = _colors(paths)
    longest = float(max(sum(step.amount for step in path) for path in paths))
    for place, path in enumerate(paths):
        start = 0.0
        for step in path:
            width = float(step.amount)
            ax.barh(place, width, left=start, height=0.72, color=colors[step.purpose], edgecolor="white")
            if width > 0.07 * longest:
                middle = start + width / 2
                ax.text(middle, place, f"{width:.2g}", ha="center", va="center", fontsize=8, color="white")
            start += width
    ax.set_yticks(range(len(paths)), [shown(_name(path)) for path in paths])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.02 * longest)
    ax.set_xlabel("epsilon that one record pays on its path, root at the left")
    ax.spines[["top", "right"]].set_visible(False)
    for kind, color in colors.items():
        ax.plot([], [], "s", color=color, label=shown(kind))
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    ax.set_title(shown(title), fontsize=10, loc="left", wrap=True)


def draw_tree(ax: Any, paths: Sequence[Path], title: str) -> None:
    """Draw one tree in which, on each level, one node is split and one is a leaf."""
    colors = _colors(paths)
    longest = max(paths, key=lambda path: len(path))
    ends = {path[-1].level: path[-1] for path in paths if path[-1].level}
    inner = [step for step in longest if step.level and step != longest[-1]]
    levels = sorted({step.level for step in inner} | set(ends))

    def node(x: float, y: float, steps: Sequence[Step]) -> None:
        words = "\n".join(f"{shown(step.purpose.split(',')[0])} {float(step.amount):.2f}" for step in steps)
        box = {"boxstyle": "round,pad=0.45", "facecolor": colors[steps[-1].purpose], "edgecolor": "none"}
        ax.text(x, y, words, ha="center", va="center", color="white", fontsize=9, bbox=box)

    for level in levels:
        spent = [step for step in inner if step.level == level]
        if spent:
            node(0.7 * level, -level, spent)
            for child in (0.7, -0.7):
                ax.plot([0.7 * level, 0.7 * level + child], [-level, -level - 1], color="#999999", zorder=1)
        if level in ends and level > levels[0]:
            node(0.7 * level - 1.4, -level, [ends[level]])
        if level == levels[-1]:
            node(0.7 * level, -level, [ends[level]])
        ax.text(-1.6, -level, f"level {level}", va="center", fontsize=9, color="#555555")
    ax.set_xlim(-1.8, 0.7 * levels[-1] + 0.9)
    ax.set_ylim(-levels[-1] - 0.6, -levels[0] + 0.6)
    ax.set_axis_off()
    ax.set_title(shown(title), fontsize=10, loc="left", wrap=True)


def _colors(paths: Sequence[Path]) -> dict[str, str]:
    kinds = dict.fromkeys(step.purpose for path in paths for step in path)
    return {kind: COLORS[place % len(COLORS)] for place, kind in enumerate(kinds)}


TWO_FEATURES = Schema({"number": Numeric(0, 1), "word": Categorical(["a", "b"])}, classes=["no", "yes"])


def figure3() -> tuple[Path, ...]:
    """Return the paths of a tree of figure 3's size; its budget depends on no record, so one will do."""
    schema = Schema({name: Categorical(["0", "1"]) for name in "ab"}, classes=["no", "yes"])
    tree = PFDPDTClassifier(epsilon=1.0, schema=schema, max_depth=2).fit(np.array([["0", "1"]]), ["no"])
    return budget_paths(tree.certificate_.event)


def draw_figure3() -> Any:
    """Draw the budget of one tree, as a tree and path by path."""
    figure = new_figure(11.0, 4.2)
    left, right = figure.subplots(1, 2)
    draw_tree(left, figure3(), "as the paper's figure 3")
    draw_paths(right, figure3(), "the same, one bar per path")
    return figure


# The rounds of DPAda that noise follows

SCHEDULES = {"DPAda_Swing": "swing", "DPAda_Random": "random", "DPAda_Improved": "improved", "DPAda": "all"}
ROUNDS = (30, 50, 70, 90, 100)
RUNS = 10
FORTY = [(7 * i % 40) / 40 for i in range(40)]
RECORDS = [[number, "ab"[i % 3 == 0]] for i, number in enumerate(FORTY)]
LABELS = ["yes" if (i % 5 < 2) != (number > 0.6) else "no" for i, number in enumerate(FORTY)]  # no stump is right


def fitted_rounds(schedule: str, rounds: int, run: int | None, form: str = "published") -> Any:
    """Return a model of made-up records; without a run no seed spoils the certificate."""
    system, settings = ("dpada", (("schedule", schedule),)) if schedule else ("dpada-from-round-1", ())
    fit = Fit("", system, form, 1.0, (("n_estimators", rounds), *settings))
    return estimator(fit, TWO_FEATURES, run).fit(RECORDS, LABELS)


@lru_cache
def noisy_rounds(schedule: str, rounds: int) -> tuple[int, ...]:
    """Return how many rounds of published models, one for each run, noise followed."""
    fits = [result_of(fitted_rounds(schedule, rounds, run)) for run in range(RUNS)]
    return tuple(sum(marked <= len(cast(Any, fit.model).alphas) for marked in fit.coins) for fit in fits)


def draw_rounds() -> Any:
    """Draw the numbers of noisy rounds."""
    lines = []
    for label, schedule in SCHEDULES.items():
        counts = [noisy_rounds(schedule, rounds) for rounds in ROUNDS]
        means, spreads = (tuple(float(of(values)) for values in counts) for of in (statistics.fmean, statistics.stdev))
        lines.append(Line(label, tuple(map(float, ROUNDS)), means, spreads))
    figure = new_figure(6.0, 3.4)
    ax = figure.subplots()
    PrivacyUtilityDisplay(lines, measure="noisy rounds", x="rounds m", log=False).plot(ax)
    ax.set_xticks(ROUNDS, list(map(str, ROUNDS)))
    return figure


PICTURES = {"draw_figure3": draw_figure3, "draw_rounds": draw_rounds}
