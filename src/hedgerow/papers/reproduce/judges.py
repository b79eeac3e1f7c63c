"""Sentences about curves, each a function of what was measured that can be wrong; a paper's file names them by ``check``.

A place is a curve: its panel, or that panel's name, and its label. In the patterns of ``panels`` ``*`` stands for anything.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps

import numpy as np

from hedgerow.papers.reproduce.experiment import MAJORITY, Check, Form, Place, Results
from hedgerow.papers.reproduce.verdicts import (
    NOT_MEASURED,
    Answer,
    Cell,
    Contrast,
    Verdict,
    averaged,
    combined,
    counted,
    difference,
    joined,
    judged,
    less_flat,
    low_to_high,
    near,
    trend,
)

EVERY = ("*",)
SMALLEST = 1e-4  # a standard deviation below it is a rounded 0
NORMAL_MAD = 1.4826  # the standard deviation of a normal law over its median absolute deviation
MEDIAN_ERROR = math.sqrt(math.pi / 2)  # the standard error of a normal sample's median over that of its mean
CLOSER = (1.0, -1.0, -1.0, 1.0)  # the distance of the first two points less that of the other two

Pairs = Sequence[Sequence[Place]]
JUDGES: dict[str, Callable[..., Check]] = {}  # by name


def judge(find: Callable[..., Verdict]) -> Callable[..., Check]:
    """Turn a function of results, a form and arguments into one that returns the check with these arguments."""

    @wraps(find)
    def of(*arguments: object, **named: object) -> Check:
        return lambda results, form: find(results, form, *arguments, **named)

    JUDGES[find.__name__] = of
    return of


@judge
def computed(results: Results, form: Form, answer: Answer, words: str, details: str = "") -> Verdict:
    """State what needs no runs, as tests/reproduce/ computes it: budgets, guarantees, mechanisms, algorithms and data."""
    return Verdict(answer, words, details)


# One method against others


@judge
def above(
    results: Results, form: Form, first: str, others: Sequence[str], panels: Sequence[str] = EVERY, by: float = 0.0
) -> Verdict:
    """Say whether one method is above all others (by at least so much) in every panel at every x."""
    pairs = [((panel, first), (panel, other)) for other in others for panel in results.panels(panels)]
    return compared(results, form, pairs, [other for _, (_, other) in pairs], by)


@judge
def above_in_panel(results: Results, form: Form, first: str, others: Sequence[str], labels: Sequence[str]) -> Verdict:
    """Say whether curves of the same labels are higher in one panel than in each of the others, at every x."""
    pairs = [((first, label), (other, label)) for label in labels for other in others]
    return compared(results, form, pairs, [other for _, (other, _) in pairs])


@judge
def above_on_the_whole(
    results: Results, form: Form, first: str, others: Sequence[str], panels: Sequence[str] = EVERY
) -> Verdict:
    """Say whether one method's average over the axis is above that of all others, in every panel."""
    pairs = [((panel, first), (panel, other)) for panel in results.panels(panels) for other in others]
    return compared(results, form, pairs, ["all"] * len(pairs), whole=True)


def compared(
    results: Results, form: Form, pairs: Pairs, rivals: Sequence[str], by: float = 0.0, *, whole: bool = False
) -> Verdict:
    """Return whether the first curve of each pair is more than ``by`` above the second, at every x or on the ``whole``.

    Gaps to one rival are pooled.
    """
    gaps: list[Contrast] = []
    pool: list[str] = []
    for pair, rival in zip(pairs, rivals, strict=True):
        rows = list(results.rows(form, *pair).values())
        cells = [[averaged(points) for points in zip(*rows, strict=True)]] if whole and rows else rows
        gaps += [difference(*row) for row in cells]
        pool += [rival] * len(cells)
    if not gaps:
        return NOT_MEASURED
    contrasts = [gap + -by for gap in gaps]
    sizes = [gap.gap for gap in gaps]
    words = f"above in {sum(size > by for size in sizes)} of {len(sizes)} places"
    details = f"{counted(contrasts)}; {low_to_high(sizes)}, {sum(sizes) / len(sizes):+.3f} on average"
    return judged(contrasts, words, pool, details)


@judge
def same(results: Results, form: Form, first: str, second: str, tolerance: float) -> Verdict:
    """Say whether two methods differ by so much at most, in every panel at every x."""
    rows = each_row(results, form, [((panel, first), (panel, second)) for panel in results.panels(EVERY)])
    gaps = [difference(*cells) for cells in rows]
    return judged([gap.within(tolerance) for gap in gaps], f"differences {low_to_high([g.gap for g in gaps], '+.4f')}")


def each_row(results: Results, form: Form, pairs: Pairs) -> list[list[Cell]]:
    """Return the points of the curves of each pair (or more curves) at every x at which all were measured."""
    return [cells for places in pairs for cells in results.rows(form, *places).values()]


@judge
def closest(
    results: Results, form: Form, label: str, others: Sequence[str], target: str, panels: Sequence[str] = EVERY
) -> Verdict:
    """Say whether of all methods one is closest to another, in every panel at every x."""
    names = (label, *others)
    contrasts, pool, nearest, own = [], [], [], []
    for panel in results.panels(panels):
        for goal, *cells in results.rows(form, *((panel, name) for name in (target, *names))).values():
            far = {name: abs(cell.mean - goal.mean) for name, cell in zip(names, cells, strict=True)}
            nearest.append(min(far, key=lambda name: far[name]))
            own.append(far[label])
            for name, cell in zip(others, cells[1:], strict=True):
                noise = difference(cells[0], cell)  # the target's own error is in both distances
                contrasts.append(Contrast(far[name] - far[label], noise.error, noise.freedom))
                pool.append(name)
    ranks = ", ".join(f"{name} {count}" for name, count in Counter(nearest).most_common())
    words = f"closest in {nearest.count(label)} of {len(nearest)} places"
    return judged(contrasts, words, pool, f"{ranks}; {low_to_high(own, '.3f')} away")


@judge
def costs_more(results: Results, form: Form, first: Sequence[Place], second: Sequence[Place]) -> Verdict:
    """Say whether noise costs one method more than another at every x, each a curve and the one without noise."""
    gaps = [combined((-1.0, 1.0, 1.0, -1.0), cells) for cells in each_row(results, form, [(*first, *second)])]
    return _sized(gaps, gaps, "cost less the other's cost:")


@judge
def quicker(results: Results, form: Form, pairs: Pairs, sizes: Mapping[str, int]) -> Verdict:
    """Say whether the first of each pair takes less time for a record than the second, at every x.

    Compared are medians, of which one slow run decides nothing. ``sizes`` gives the number of records by panel.
    """
    contrasts, ratios = [], []
    for pair in pairs:
        for row in results.rows(form, *pair).values():
            here, there = (_median_log(cell, sizes[str(panel)]) for cell, (panel, _) in zip(row, pair, strict=True))
            contrasts.append(difference(there, here))
            ratios.append(math.exp(-contrasts[-1].gap))
    return judged(contrasts, f"time for a record is {low_to_high(ratios, '.2f')} times the other's")


def _median_log(cell: Cell, records: int) -> Cell:
    """Return the logarithms of the seconds for a record, those far from the median drawn back to it."""
    logs = [math.log(max(value, SMALLEST) / records) for value in cell.values]
    middle = statistics.median(logs)
    away = statistics.median(abs(value - middle) for value in logs)
    return Cell(tuple(min(max(value, middle - 3 * away), middle + 3 * away) for value in logs))


# How curves change along the axis


def _sized(contrasts: Sequence[Contrast], sizes: Sequence[Contrast], what: str, *, pool: bool = True) -> Verdict:
    """Return the verdict with how many contrasts are clear, and between what the sizes are."""
    words = f"{what} {low_to_high([size.gap for size in sizes])}"
    details = f"of {len(contrasts)} places {counted(contrasts)}"
    return judged(contrasts, words, [what] * len(contrasts) if pool else (), details)


@judge
def rises(results: Results, form: Form, label: str, panels: Sequence[str] = EVERY, sign: float = 1.0) -> Verdict:
    """Say whether a curve rises with the axis (``sign`` -1: falls) in every panel: its fitted line is clearly up.

    A line that clearly changes by less than ``FLAT`` from the first point to the last does not rise.
    """
    words, contrasts = [], []
    for panel in results.panels(panels):
        cells = list(results.curve(form, (panel, label)).values())
        if len(cells) < 2:
            continue
        change = trend(cells)
        upwards = change if sign > 0 else -change
        contrasts.append(less_flat(upwards))
        sure = ", flat" if contrasts[-1] is not upwards and not upwards.fails() else ""
        words.append(
            f"{panel.name}: {cells[0].mean:.3f} to {cells[-1].mean:.3f}, fitted change {change.gap:+.3f} ± "
            f"{change.error:.3f}{sure}"
        )
    return judged(contrasts, "", [label] * len(contrasts), "; ".join(words))


@judge
def all_change(
    results: Results,
    form: Form,
    labels: Sequence[str],
    panels: Sequence[str] = EVERY,
    sign: float = 1.0,
    together: bool = False,
) -> Verdict:
    """Say whether the line fitted to each of several curves is up (``sign`` -1: down), in every panel.

    ``together``: whether that of their average is, which is what "by and large" asks for.
    """
    curves: list[list[Cell]] = []
    for panel in results.panels(panels):
        places = [(panel, label) for label in labels]
        if together:
            curves.append([averaged(cells) for cells in results.rows(form, *places).values()])
        else:
            curves += [list(results.curve(form, place).values()) for place in places]
    changes = [trend(cells) for cells in curves if len(cells) > 1]
    contrasts = [less_flat(change if sign > 0 else -change, len(changes)) for change in changes]
    sizes = [change.gap for change in changes]
    words = f"{'up' if sign > 0 else 'down'} in {sum(size * sign > 0 for size in sizes)} of {len(sizes)} curves"
    return judged(
        contrasts, words, ["all"] * len(contrasts), f"{counted(contrasts)}; fitted changes {low_to_high(sizes)}"
    )


@judge
def rise(results: Results, form: Form, places: Sequence[Place] = (), rows: Pairs = ()) -> Verdict:
    """Say whether each of some curves rises with the axis; of ``rows``, whether curves rise from each to the next at every x."""
    series = [list(results.curve(form, place).values()) for place in places] + each_row(results, form, rows)
    changes = [trend(cells) for cells in series if len(cells) > 1]
    return _sized([less_flat(change) for change in changes], changes, "fitted change")


@judge
def best_everywhere(results: Results, form: Form, places: Sequence[Place], x: float) -> Verdict:
    """Say whether each of some curves is highest at one place of the axis."""
    contrasts, best = [], []
    for cells in (results.curve(form, place) for place in places):
        if x in cells and len(cells) > 1:
            best.append(max(cells, key=lambda other: cells[other].mean))
            contrasts += [difference(cells[x], cell) for other, cell in cells.items() if other != x]
    if not contrasts:
        return NOT_MEASURED
    verdict = _sized(contrasts, contrasts, "ahead of another by", pool=False)
    return replace(verdict, details=f"highest at {', '.join(f'{one:g}' for one in best)}; {verdict.details}")


@judge
def no_better_later(results: Results, form: Form, place: Place, x: float, most: float) -> Verdict:
    """Say whether behind x a curve gains so much at most."""
    cells = results.curve(form, place)
    gains = [difference(cell, cells[x]) for later, cell in cells.items() if x in cells and later > x]
    return judged([-gain + most for gain in gains], f"gains {max((g.gap for g in gains), default=0):+.3f} at most")


@judge
def grows(
    results: Results, form: Form, label: str, exponent: float, tolerance: float, panels: Sequence[str] = EVERY
) -> Verdict:
    """Say whether a curve grows like a power of its axis, whose exponent is met within a tolerance.

    The exponent is the median over the runs of those fitted to each, with a standard error from their absolute deviations: a
    run beside other work is no slower at random.
    """
    contrasts, words = [], []
    for panel in results.panels(panels):
        cells = results.curve(form, (panel, label))
        if len(cells) < 2:
            continue
        runs = zip(*(cell.values for cell in cells.values()), strict=False)
        powers = [float(np.polyfit(np.log(list(cells)), np.log(values), 1)[0]) for values in runs]
        middle = float(np.median(powers))
        spread = NORMAL_MAD * float(np.median(np.abs(np.array(powers) - middle)))
        error = MEDIAN_ERROR * spread / math.sqrt(len(powers)) if len(powers) > 1 else math.inf
        words.append(f"{panel.name}: exponent {middle:.2f} ± {error:.2f}")
        freedom = len(powers) - 1 if len(powers) > 1 else math.inf
        contrasts.append(Contrast(middle - exponent, error, freedom).within(tolerance))
    return judged(contrasts, "; ".join(words))


# By how much curves move


def _ends(cells: Mapping[float, Cell]) -> tuple[Cell, ...]:
    """Return the highest and the lowest point, or none of fewer than two."""
    ordered = sorted(cells.values(), key=lambda cell: cell.mean)
    return (ordered[-1], ordered[0]) if len(ordered) > 1 else ()


@judge
def steady(results: Results, form: Form, label: str, most: float, panels: Sequence[str] = EVERY) -> Verdict:
    """Say whether any two points of a curve differ by so much at most, in every panel."""
    contrasts, words = [], []
    for panel in results.panels(panels):
        ends = _ends(results.curve(form, (panel, label)))
        if ends:
            size = difference(*ends)
            contrasts.append(-size + most)
            words.append(f"{panel.name}: {size.gap:.3f} ± {size.error:.3f}")
    return judged(contrasts, f"moves by {'; '.join(words)}")


@judge
def steady_together(results: Results, form: Form, rows: Pairs, most: float) -> Verdict:
    """Say whether at every x the curves of a row differ by so much at most."""
    sizes = []
    for cells in each_row(results, form, rows):
        ordered = sorted(cells, key=lambda cell: cell.mean)
        sizes.append(difference(ordered[-1], ordered[0]))
    return _sized([-size + most for size in sizes], sizes, "they differ by", pool=False)


@judge
def moves(results: Results, form: Form, place: Place, low: float, high: float, least: float) -> Verdict:
    """Say whether two points of a curve between two places of the axis differ by more than so much."""
    ends = _ends({x: cell for x, cell in results.curve(form, place).items() if low <= x <= high})
    if not ends:
        return NOT_MEASURED
    size = difference(*ends)
    return judged([size + -least], f"moves by {size.gap:.3f} ± {size.error:.3f}")


@judge
def moves_less(
    results: Results, form: Form, label: str, others: Sequence[str], panels: Sequence[str] = EVERY
) -> Verdict:
    """Say whether a curve's highest and lowest point differ by less than those of each other, in every panel."""
    contrasts, words = [], []
    for panel in results.panels(panels):
        ends = {name: _ends(results.curve(form, (panel, name))) for name in (label, *others)}
        there = [name for name in others if ends[name]]
        if not ends[label] or not there:
            continue
        contrasts += [combined(CLOSER, (*ends[name], *ends[label])) for name in there]
        sizes = ", ".join(f"{name} {ends[name][0].mean - ends[name][1].mean:.3f}" for name in (label, *there))
        words.append(f"{panel.name}: {sizes}")
    return judged(contrasts, "", details=f"moves by {'; '.join(words)}")


def strays(results: Results, form: Form, place: Place) -> Cell | None:
    """Return the mean distance of each run of a curve from the line fitted to its means; None for fewer than 3 points."""
    cells = list(results.curve(form, place).values())
    if len(cells) < 3:
        return None
    means, at = [cell.mean for cell in cells], np.arange(len(cells))
    line = np.polyval(np.polyfit(at, means, 1), at)
    distances = [Cell(tuple(abs(value - y) for value in cell.values)) for cell, y in zip(cells, line, strict=True)]
    return averaged(distances)


@judge
def steadier(results: Results, form: Form, steady: Sequence[Place], others: Sequence[Place]) -> Verdict:
    """Say whether the runs of curves stray less than those of others.

    How far a curve strays is the mean distance of its single runs from the line that is fitted to its means: what wavers along
    the axis counts, and so does what differs between runs, of which a mean of few runs would waver. The curves are paired in
    their order.
    """
    rivals, calm, wild = [], [], []
    for first, second in zip(steady, others, strict=True):
        here, there = (strays(results, form, place) for place in (first, second))
        if here is not None and there is not None:
            rivals.append(second[1] if first[0] == second[0] else f"{first[0]} {second[0]}")
            calm.append(here)
            wild.append(there)
    contrasts = [difference(there, here) for here, there in zip(calm, wild, strict=True)]
    words = f"less in {sum(c.gap > 0 for c in contrasts)} of {len(contrasts)} comparisons"
    sizes = " against ".join(low_to_high([cell.mean for cell in cells], ".3f") for cells in (calm, wild))
    return judged(contrasts, words, rivals, f"{counted(contrasts)}; {sizes}")


@judge
def ever_steadier(results: Results, form: Form, curves: Sequence[Place]) -> Verdict:
    """Say whether the runs of curves stray less from each to the next: their fitted line is down; see ``steadier``."""
    cells = [cell for place in curves for cell in [strays(results, form, place)] if cell is not None]
    if len(cells) < 2:
        return NOT_MEASURED
    change = trend(cells)
    words = f"{cells[0].mean:.3f} to {cells[-1].mean:.3f}, fitted change {change.gap:+.3f} ± {change.error:.3f}"
    return judged([-change], words)


@judge
def fluctuate_more(results: Results, form: Form, pairs: Pairs) -> Verdict:
    """Say whether runs of the first curve of each pair differ more than runs of the second.

    Compared are the standard deviations over the runs, as the mean of the logarithm of their ratio over the axis.
    """
    contrasts = []
    for rows in filter(None, (list(results.rows(form, *pair).values()) for pair in pairs)):
        ratio = statistics.fmean(
            math.log(max(more.spread, SMALLEST) / max(less.spread, SMALLEST)) for more, less in rows
        )
        variance = sum(sum(1 / (2 * cell.freedom) if cell.freedom else math.inf for cell in row) for row in rows)
        runs = min(len(cell.values) for row in rows for cell in row)
        contrasts.append(Contrast(ratio, math.sqrt(variance) / len(rows), max(runs - 1, 1)))
    ratios = ", ".join(f"{math.exp(contrast.gap):.2f}" for contrast in contrasts)
    return judged(contrasts, f"standard deviations are {ratios} times as large")


@judge
def less_than_sampling(results: Results, form: Form, pairs: Pairs) -> Verdict:
    """Say whether noise moves each curve, from the one without, by less than runs without noise differ by.

    Of each pair the second is the curve without noise, whose runs differ by the sampling of records and features; that is
    taken as one standard deviation. Both are means over the axis.
    """
    contrasts, words = [], []
    for rows in filter(None, (list(results.rows(form, *pair).values()) for pair in pairs)):
        gap = combined([1 / len(rows), -1 / len(rows)] * len(rows), [cell for cells in rows for cell in cells])
        spread = statistics.fmean(without.spread for _, without in rows)
        contrasts.append(gap.within(spread))
        words.append(f"{gap.gap:+.4f} against {spread:.4f}")
    return judged(contrasts, "", details=f"noise against sampling: {', '.join(words)}")


# Numbers that a paper prints


@judge
def is_near(
    results: Results, form: Form, label: str, panel: str, x: float, value: float, tolerance: float = 0.02
) -> Verdict:
    """Say whether a method meets a number which the paper prints, above or below, within a tolerance.

    If the majority rule, which reads nothing, meets it too, the number does not show that the method works: that cannot be told.
    """
    cell = results.curve(form, (panel, label)).get(x)
    if cell is None:
        return NOT_MEASURED
    words = f"{cell.mean:.3f} ± {cell.spread:.3f}, {cell.mean - value:+.3f} from the paper's {value:.3f}"
    verdict = judged([near(cell, value, tolerance)], words)
    trivial = results.curve(form, (panel, MAJORITY)).get(x)
    if verdict.answer == "holds" and trivial is not None and abs(trivial.mean - value) <= tolerance:
        also = f"the {MAJORITY} meets it too ({trivial.mean:.3f}): a number that it misses would tell"
        return Verdict("cannot be told", joined(words, also))
    return verdict


@judge
def near_reported(results: Results, form: Form, tolerance: float, panels: Sequence[str] = EVERY) -> Verdict:
    """Say whether every number which the paper prints is met within a tolerance, above or below."""
    chosen = results.panels(panels)
    printed = [number for number in results.experiment.reported if number.panel in chosen]
    cells = [(number.value, results.cell(number.panel, number.label, form, number.x)) for number in printed]
    met = [(value, cell) for value, cell in cells if cell is not None]
    gaps = [cell.mean - value for value, cell in met]
    words = f"{sum(abs(gap) <= tolerance for gap in gaps)} of {len(gaps)} numbers; ours less the paper's is {low_to_high(gaps)}"
    return judged([near(cell, value, tolerance) for value, cell in met], words)


@judge
def met_somewhere(
    results: Results, form: Form, label: str, x: float, value: float, tolerance: float, panels: Sequence[str] = EVERY
) -> Verdict:
    """Say whether a number whose data set the paper does not name is met within a tolerance in some panel."""
    names = [panel.name for panel in results.panels(panels)]
    verdicts = {name: is_near(label, name, x, value, tolerance)(results, form) for name in names}
    verdicts = {name: verdict for name, verdict in verdicts.items() if verdict != NOT_MEASURED}
    order: tuple[Answer, ...] = ("holds", "cannot be told", "does not", "not measured")
    answer: Answer = min((verdict.answer for verdict in verdicts.values()), key=order.index, default="not measured")
    return Verdict(answer, "; ".join(f"{name} {verdict.words}" for name, verdict in verdicts.items()))


@judge
def within_everywhere(results: Results, form: Form, places: Sequence[Place], value: float, tolerance: float) -> Verdict:
    """Say whether every point of some curves is within a tolerance of a number."""
    cells = [cell for place in places for cell in results.curve(form, place).values()]
    gaps = [Contrast(cell.mean - value, cell.error, cell.freedom) for cell in cells]
    return _sized([gap.within(tolerance) for gap in gaps], gaps, f"ours less {value:g}:", pool=False)


# Two measures, and curves with and without noise


@judge
def approach(
    results: Results, form: Form, rows: Pairs, without: Sequence[Place], tolerance: float, last: int
) -> Verdict:
    """Say whether the curves of each row come ever closer to the one without noise, in the end within a tolerance.

    At every x the line fitted to the distances must clearly fall, and the ``last`` curves must be within the tolerance.
    """
    contrasts: list[Contrast] = []
    ends: list[float] = []
    for places, goal in zip(rows, without, strict=True):
        for *cells, free in results.rows(form, *places, goal).values():
            at = np.arange(len(cells)) - (len(cells) - 1) / 2
            weights = -at / (at @ at) * (len(cells) - 1)  # of the line fitted to the distances
            weights *= [math.copysign(1.0, cell.mean - free.mean) for cell in cells]
            contrasts.append(less_flat(combined([*weights.tolist(), float(-weights.sum())], [*cells, free])))
            contrasts += [difference(cell, free).within(tolerance) for cell in cells[-last:]]
            ends += [free.mean - cells[0].mean, free.mean - cells[-1].mean]
    if not contrasts:
        return NOT_MEASURED
    first, end = statistics.fmean(ends[::2]), statistics.fmean(ends[1::2])
    words = f"on average {first:+.3f} below the one without noise at first, {end:+.3f} in the end"
    return judged(contrasts, words)


@judge
def overfits_beyond(results: Results, form: Form, test: Place, training: Place, x: float) -> Verdict:
    """Say whether beyond x the accuracy in testing falls while its distance from that in training grows."""
    rows = results.rows(form, test, training)
    contrasts, words = [], []
    for at, there in rows.items():
        if x in rows and at > x:
            here = rows[x]
            change = difference(here[0], there[0])
            parts = combined(CLOSER, (there[1], there[0], here[1], here[0]))
            contrasts += [change, parts]
            words.append(f"{at:g}: testing {-change.gap:+.3f}, distance {parts.gap:+.3f}")
    return judged(contrasts, "", details=f"against {x:g}, {'; '.join(words)}")


@judge
def starts_overfitted(results: Results, form: Form, pairs: Pairs) -> Verdict:
    """Say whether at the first x the accuracy in training (the second of a pair) is above that in testing."""
    rows = filter(None, (list(results.rows(form, *pair).values()) for pair in pairs))
    gaps = [difference(training, test) for (test, training), *_ in rows]
    return _sized(gaps, gaps, "training less testing at first:")


@judge
def settles(results: Results, form: Form, pairs: Pairs, most: float) -> Verdict:
    """Say whether training and testing come closer from the first to the last x, and testing settles.

    It settles if it changes by so much at most from the last but one x to the last.
    """
    contrasts, closer, steps = [], [], []
    for pair in pairs:
        rows = list(results.rows(form, *pair).values())
        if len(rows) < 2:
            continue
        (test, training), (before, _), (end, end_training) = rows[0], rows[-2], rows[-1]
        gap = combined(CLOSER, (training, test, end_training, end))
        step = difference(end, before)
        contrasts += [gap, step.within(most)]
        closer.append(gap.gap)
        steps.append(step.gap)
    return judged(contrasts, f"closer by {low_to_high(closer)}; last step {low_to_high(steps)}")


@judge
def trade_off(results: Results, form: Form, places: Pairs) -> Verdict:
    """Say whether over all points, and all pairs of curves, one measure is the smaller the larger the other is.

    The correlation is taken within each run, and judged over the runs.
    """
    rows = each_row(results, form, places)
    runs = min((len(cell.values) for row in rows for cell in row), default=0)
    if len(rows) < 3 or not runs:
        return NOT_MEASURED
    values = np.array([[cell.values[:runs] for cell in row] for row in rows])  # (points, two measures, runs)
    moving = [run for run in range(runs) if np.ptp(values[:, :, run], axis=0).min() > SMALLEST]
    if not moving:
        return Verdict("cannot be told", "one of them does not move")
    cell = Cell(tuple(float(np.corrcoef(values[:, 0, run], values[:, 1, run])[0, 1]) for run in moving))
    words = f"correlation {cell.mean:+.2f} ± {cell.spread:.2f}"
    return judged([Contrast(-cell.mean, cell.error, max(cell.freedom, 1))], words)
