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

from hedgerow.papers.reproduce.experiment import MAJORITY, Check, Measured, Place
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
    """Turn a function of what was measured and arguments into one that returns the check with these arguments."""

    @wraps(find)
    def of(*arguments: object, **named: object) -> Check:
        return lambda results, form: find(Measured(results, form), *arguments, **named)

    JUDGES[find.__name__] = of
    return of


def sized(contrasts: Sequence[Contrast], sizes: Sequence[Contrast], what: str, *, pool: bool = True) -> Verdict:
    """Return the verdict with how many contrasts are clear, and between what the sizes are."""
    words = f"{what} {low_to_high([size.gap for size in sizes])}"
    details = f"of {len(contrasts)} places {counted(contrasts)}"
    return judged(contrasts, words, [what] * len(contrasts) if pool else (), details)


@judge
def computed(runs: Measured, answer: Answer, words: str, details: str = "") -> Verdict:
    """State what needs no runs, as tests/reproduce/ computes it: budgets, guarantees, mechanisms, algorithms and data."""
    return Verdict(answer, words, details)


# One method against others


@judge
def above(
    runs: Measured,
    first: str,
    others: Sequence[str],
    panels: Sequence[str] = EVERY,
    by: float = 0.0,
    whole: bool = False,
) -> Verdict:
    """Say whether one method is above all others (by at least ``by``) in every panel at every x, or on the ``whole``."""
    pairs = [((panel, first), (panel, other)) for other in others for panel in runs.panels(panels)]
    return compared(runs, pairs, ["all" if whole else other for _, (_, other) in pairs], by, whole=whole)


@judge
def above_in_panel(runs: Measured, first: str, others: Sequence[str], labels: Sequence[str]) -> Verdict:
    """Say whether curves of the same labels are higher in one panel than in each of the others, at every x."""
    pairs = [((first, label), (other, label)) for label in labels for other in others]
    return compared(runs, pairs, [other for _, (other, _) in pairs])


def compared(runs: Measured, pairs: Pairs, rivals: Sequence[str], by: float = 0.0, *, whole: bool = False) -> Verdict:
    """Return whether the first curve of each pair is more than ``by`` above the second, at every x or on the ``whole``.

    Gaps to one rival are pooled.
    """
    gaps: list[Contrast] = []
    pool: list[str] = []
    for pair, rival in zip(pairs, rivals, strict=True):
        rows = list(runs.rows(pair).values())
        if whole and rows:
            rows = [[averaged(points) for points in zip(*rows, strict=True)]]
        gaps += [difference(*row) for row in rows]
        pool += [rival] * len(rows)
    if not gaps:
        return NOT_MEASURED
    contrasts = [gap + -by for gap in gaps]
    sizes = [gap.gap for gap in gaps]
    words = f"above in {sum(size > by for size in sizes)} of {len(sizes)} places"
    details = f"{counted(contrasts)}; {low_to_high(sizes)}, {sum(sizes) / len(sizes):+.3f} on average"
    return judged(contrasts, words, pool, details)


@judge
def same(runs: Measured, first: str, second: str, tolerance: float) -> Verdict:
    """Say whether two methods differ by so much at most, in every panel at every x."""
    rows = runs.every_row([((panel, first), (panel, second)) for panel in runs.panels(EVERY)])
    gaps = [difference(*cells) for cells in rows]
    return judged([gap.within(tolerance) for gap in gaps], f"differences {low_to_high([g.gap for g in gaps], '+.4f')}")


@judge
def closest(runs: Measured, label: str, others: Sequence[str], target: str, panels: Sequence[str] = EVERY) -> Verdict:
    """Say whether of all methods one is closest to another, in every panel at every x."""
    names = (label, *others)
    contrasts, pool, nearest, own = [], [], [], []
    for panel in runs.panels(panels):
        for goal, *cells in runs.rows([(panel, name) for name in (target, *names)]).values():
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
def costs_more(runs: Measured, first: Sequence[Place], second: Sequence[Place]) -> Verdict:
    """Say whether noise costs one method more than another at every x, each a curve and the one without noise."""
    gaps = [combined((-1.0, 1.0, 1.0, -1.0), cells) for cells in runs.every_row([(*first, *second)])]
    return sized(gaps, gaps, "cost less the other's cost:")


@judge
def quicker(runs: Measured, pairs: Pairs, sizes: Mapping[str, int]) -> Verdict:
    """Say whether the first of each pair takes less time for a record than the second, at every x.

    Compared are medians, of which one slow run decides nothing. ``sizes`` gives the number of records by panel.
    """
    contrasts, ratios = [], []
    for pair in pairs:
        for row in runs.rows(pair).values():
            cells = []
            for cell, (panel, _) in zip(row, pair, strict=True):
                logs = [math.log(max(value, SMALLEST) / sizes[str(panel)]) for value in cell.values]
                middle = statistics.median(logs)
                away = 3 * statistics.median(abs(value - middle) for value in logs)
                cells.append(Cell(tuple(min(max(value, middle - away), middle + away) for value in logs)))
            contrasts.append(difference(cells[1], cells[0]))
            ratios.append(math.exp(-contrasts[-1].gap))
    return judged(contrasts, f"time for a record is {low_to_high(ratios, '.2f')} times the other's")


# How curves change along the axis


@judge
def rises(runs: Measured, label: str, panels: Sequence[str] = EVERY, sign: float = 1.0) -> Verdict:
    """Say whether a curve rises with the axis (``sign`` -1: falls) in every panel: its fitted line is clearly up.

    A line that clearly changes by less than ``FLAT`` from the first point to the last does not rise.
    """
    words, contrasts = [], []
    for panel, cells in runs.lines(label, panels):
        change = trend(cells)
        upwards = change if sign > 0 else -change
        contrasts.append(less_flat(upwards))
        sure = ", flat" if contrasts[-1] is not upwards and not upwards.fails() else ""
        ends = f"{cells[0].mean:.3f} to {cells[-1].mean:.3f}"
        words.append(f"{panel.name}: {ends}, fitted change {change.gap:+.3f} ± {change.error:.3f}{sure}")
    return judged(contrasts, "", [label] * len(contrasts), "; ".join(words))


@judge
def all_change(
    runs: Measured, labels: Sequence[str], panels: Sequence[str] = EVERY, sign: float = 1.0, together: bool = False
) -> Verdict:
    """Say whether the line fitted to each of several curves is up (``sign`` -1: down), in every panel.

    ``together``: whether that of their average is, which is what "by and large" asks for.
    """
    curves: list[list[Cell]] = []
    for panel in runs.panels(panels):
        places = [(panel, label) for label in labels]
        own = [list(map(averaged, runs.rows(places).values()))] if together else map(runs.line, places)
        curves += own
    changes = [trend(cells) for cells in curves if len(cells) > 1]
    contrasts = [less_flat(change if sign > 0 else -change, len(changes)) for change in changes]
    sizes = [change.gap for change in changes]
    words = f"{'up' if sign > 0 else 'down'} in {sum(size * sign > 0 for size in sizes)} of {len(sizes)} curves"
    details = f"{counted(contrasts)}; fitted changes {low_to_high(sizes)}"
    return judged(contrasts, words, ["all"] * len(contrasts), details)


@judge
def rise(runs: Measured, places: Sequence[Place] = (), rows: Pairs = ()) -> Verdict:
    """Say whether each of some curves rises with the axis; of ``rows``, whether curves rise from each to the next at every x."""
    series = [*map(runs.line, places), *runs.every_row(rows)]
    changes = [trend(cells) for cells in series if len(cells) > 1]
    return sized([less_flat(change) for change in changes], changes, "fitted change")


@judge
def best_everywhere(runs: Measured, places: Sequence[Place], x: float) -> Verdict:
    """Say whether each of some curves is highest at one place of the axis."""
    contrasts, best = [], []
    for cells in map(runs.curve, places):
        if x in cells and len(cells) > 1:
            best.append(max(cells, key=lambda other: cells[other].mean))
            contrasts += [difference(cells[x], cell) for other, cell in cells.items() if other != x]
    if not contrasts:
        return NOT_MEASURED
    verdict = sized(contrasts, contrasts, "ahead of another by", pool=False)
    return replace(verdict, details=f"highest at {', '.join(f'{one:g}' for one in best)}; {verdict.details}")


@judge
def no_better_later(runs: Measured, place: Place, x: float, most: float) -> Verdict:
    """Say whether behind x a curve gains so much at most."""
    cells = runs.curve(place)
    gains = [difference(cell, cells[x]) for later, cell in cells.items() if x in cells and later > x]
    return judged([-gain + most for gain in gains], f"gains {max((g.gap for g in gains), default=0):+.3f} at most")


@judge
def grows(runs: Measured, label: str, exponent: float, tolerance: float, panels: Sequence[str] = EVERY) -> Verdict:
    """Say whether a curve grows like a power of its axis, whose exponent is met within a tolerance.

    The exponent is the median over the runs of those fitted to each, with a standard error from their absolute deviations: a
    run beside other work is no slower at random.
    """
    contrasts, words = [], []
    for panel, cells in runs.lines(label, panels):
        x = np.log(list(runs.curve((panel, label))))
        series = zip(*(cell.values for cell in cells), strict=False)
        powers = [float(np.polyfit(x, np.log(values), 1)[0]) for values in series]
        middle = float(np.median(powers))
        spread = NORMAL_MAD * float(np.median(np.abs(np.array(powers) - middle)))
        error = MEDIAN_ERROR * spread / math.sqrt(len(powers)) if len(powers) > 1 else math.inf
        words.append(f"{panel.name}: exponent {middle:.2f} ± {error:.2f}")
        freedom = len(powers) - 1 if len(powers) > 1 else math.inf
        contrasts.append(Contrast(middle - exponent, error, freedom).within(tolerance))
    return judged(contrasts, "; ".join(words))


# By how much curves move


def span(cells: Sequence[Cell]) -> tuple[Cell, Cell]:
    """Return the highest and the lowest point."""
    ordered = sorted(cells, key=lambda cell: cell.mean)
    return ordered[-1], ordered[0]


@judge
def steady(runs: Measured, label: str, most: float, panels: Sequence[str] = EVERY) -> Verdict:
    """Say whether any two points of a curve differ by so much at most, in every panel."""
    sizes = {panel.name: difference(*span(cells)) for panel, cells in runs.lines(label, panels)}
    words = "; ".join(f"{name}: {size.gap:.3f} ± {size.error:.3f}" for name, size in sizes.items())
    return judged([-size + most for size in sizes.values()], f"moves by {words}")


@judge
def steady_together(runs: Measured, rows: Pairs, most: float) -> Verdict:
    """Say whether at every x the curves of a row differ by so much at most."""
    sizes = [difference(*span(cells)) for cells in runs.every_row(rows)]
    return sized([-size + most for size in sizes], sizes, "they differ by", pool=False)


@judge
def moves(runs: Measured, place: Place, low: float, high: float, least: float) -> Verdict:
    """Say whether two points of a curve between two places of the axis differ by more than so much."""
    cells = [cell for x, cell in runs.curve(place).items() if low <= x <= high]
    if len(cells) < 2:
        return NOT_MEASURED
    size = difference(*span(cells))
    return judged([size + -least], f"moves by {size.gap:.3f} ± {size.error:.3f}")


@judge
def moves_less(runs: Measured, label: str, others: Sequence[str], panels: Sequence[str] = EVERY) -> Verdict:
    """Say whether a curve's highest and lowest point differ by less than those of each other, in every panel."""
    contrasts, words = [], []
    for panel, cells in runs.lines(label, panels):
        lines = {name: runs.line((panel, name)) for name in others}
        ends = {name: span(line) for name, line in lines.items() if len(line) > 1}
        own = span(cells)
        if ends:
            contrasts += [combined(CLOSER, (*there, *own)) for there in ends.values()]
            sizes = ", ".join(
                f"{name} {high.mean - low.mean:.3f}" for name, (high, low) in [(label, own), *ends.items()]
            )
            words.append(f"{panel.name}: {sizes}")
    return judged(contrasts, "", details=f"moves by {'; '.join(words)}")


def strays(runs: Measured, place: Place) -> Cell | None:
    """Return the mean distance of each run of a curve from the line fitted to its means; None for fewer than 3 points."""
    cells = runs.line(place)
    if len(cells) < 3:
        return None
    at = np.arange(len(cells))
    line = np.polyval(np.polyfit(at, [cell.mean for cell in cells], 1), at)
    return averaged([Cell(tuple(abs(value - y) for value in cell.values)) for cell, y in zip(cells, line, strict=True)])


@judge
def steadier(runs: Measured, steady: Sequence[Place], others: Sequence[Place]) -> Verdict:
    """Say whether the runs of curves stray less than those of others.

    How far a curve strays is the mean distance of its single runs from the line that is fitted to its means: what wavers along
    the axis counts, and so does what differs between runs, of which a mean of few runs would waver. The curves are paired in
    their order.
    """
    rivals, calm, wild = [], [], []
    for first, second in zip(steady, others, strict=True):
        here, there = strays(runs, first), strays(runs, second)
        if here is not None and there is not None:
            rivals.append(second[1] if first[0] == second[0] else f"{first[0]} {second[0]}")
            calm.append(here)
            wild.append(there)
    contrasts = [difference(there, here) for here, there in zip(calm, wild, strict=True)]
    words = f"less in {sum(c.gap > 0 for c in contrasts)} of {len(contrasts)} comparisons"
    sizes = " against ".join(low_to_high([cell.mean for cell in cells], ".3f") for cells in (calm, wild))
    return judged(contrasts, words, rivals, f"{counted(contrasts)}; {sizes}")


@judge
def ever_steadier(runs: Measured, curves: Sequence[Place]) -> Verdict:
    """Say whether the runs of curves stray less from each to the next: their fitted line is down; see ``steadier``."""
    cells = [cell for place in curves if (cell := strays(runs, place)) is not None]
    if len(cells) < 2:
        return NOT_MEASURED
    change = trend(cells)
    words = f"{cells[0].mean:.3f} to {cells[-1].mean:.3f}, fitted change {change.gap:+.3f} ± {change.error:.3f}"
    return judged([-change], words)


@judge
def fluctuate_more(runs: Measured, pairs: Pairs) -> Verdict:
    """Say whether runs of the first curve of each pair differ more than runs of the second.

    Compared are the standard deviations over the runs, as the mean of the logarithm of their ratio over the axis.
    """
    contrasts = []
    for rows in runs.tables(pairs):
        logs = [[math.log(max(cell.spread, SMALLEST)) for cell in row] for row in rows]
        variance = sum(sum(1 / (2 * cell.freedom) if cell.freedom else math.inf for cell in row) for row in rows)
        least = min(len(cell.values) for row in rows for cell in row)
        ratio = statistics.fmean(more - less for more, less in logs)
        contrasts.append(Contrast(ratio, math.sqrt(variance) / len(rows), max(least - 1, 1)))
    ratios = ", ".join(f"{math.exp(contrast.gap):.2f}" for contrast in contrasts)
    return judged(contrasts, f"standard deviations are {ratios} times as large")


@judge
def less_than_sampling(runs: Measured, pairs: Pairs) -> Verdict:
    """Say whether noise moves each curve, from the one without, by less than runs without noise differ by.

    Of each pair the second is the curve without noise, whose runs differ by the sampling of records and features; that is
    taken as one standard deviation. Both are means over the axis.
    """
    contrasts, words = [], []
    for rows in runs.tables(pairs):
        gap = combined([1 / len(rows), -1 / len(rows)] * len(rows), [cell for cells in rows for cell in cells])
        spread = statistics.fmean(without.spread for _, without in rows)
        contrasts.append(gap.within(spread))
        words.append(f"{gap.gap:+.4f} against {spread:.4f}")
    return judged(contrasts, "", details=f"noise against sampling: {', '.join(words)}")


# Numbers that a paper prints


@judge
def is_near(runs: Measured, label: str, panel: str, x: float, value: float, tolerance: float = 0.02) -> Verdict:
    """Say whether a method meets a number which the paper prints, above or below, within a tolerance.

    If the majority rule, which reads nothing, meets it too, the number does not show that the method works: that cannot be told.
    """
    cell = runs.curve((panel, label)).get(x)
    if cell is None:
        return NOT_MEASURED
    words = f"{cell.mean:.3f} ± {cell.spread:.3f}, {cell.mean - value:+.3f} from the paper's {value:.3f}"
    verdict = judged([cell.less(value).within(tolerance)], words)
    trivial = runs.curve((panel, MAJORITY)).get(x)
    if verdict.answer == "holds" and trivial is not None and abs(trivial.mean - value) <= tolerance:
        also = f"the {MAJORITY} meets it too ({trivial.mean:.3f}): a number that it misses would tell"
        return Verdict("cannot be told", joined(words, also))
    return verdict


@judge
def near_reported(runs: Measured, tolerance: float, panels: Sequence[str] = EVERY) -> Verdict:
    """Say whether every number which the paper prints is met within a tolerance, above or below."""
    contrasts = []
    for number in runs.results.experiment.reported:
        cell = runs.results.cell(number.panel, number.label, runs.form, number.x)
        if cell is not None and number.panel in runs.panels(panels):
            contrasts.append(cell.less(number.value))
    gaps = [contrast.gap for contrast in contrasts]
    words = f"{sum(abs(gap) <= tolerance for gap in gaps)} of {len(gaps)} numbers; ours less the paper's is {low_to_high(gaps)}"
    return judged([contrast.within(tolerance) for contrast in contrasts], words)


@judge
def met_somewhere(
    runs: Measured, label: str, x: float, value: float, tolerance: float, panels: Sequence[str] = EVERY
) -> Verdict:
    """Say whether a number whose data set the paper does not name is met within a tolerance in some panel."""
    verdicts = {}
    for panel in runs.panels(panels):
        verdict = is_near(label, panel.name, x, value, tolerance)(runs.results, runs.form)
        if verdict != NOT_MEASURED:
            verdicts[panel.name] = verdict
    order: tuple[Answer, ...] = ("holds", "cannot be told", "does not", "not measured")
    answer: Answer = min((verdict.answer for verdict in verdicts.values()), key=order.index, default="not measured")
    return Verdict(answer, "; ".join(f"{name} {verdict.words}" for name, verdict in verdicts.items()))


@judge
def within_everywhere(runs: Measured, places: Sequence[Place], value: float, tolerance: float) -> Verdict:
    """Say whether every point of some curves is within a tolerance of a number."""
    gaps = [cell.less(value) for place in places for cell in runs.line(place)]
    return sized([gap.within(tolerance) for gap in gaps], gaps, f"ours less {value:g}:", pool=False)


# Two measures, and curves with and without noise


@judge
def approach(runs: Measured, rows: Pairs, without: Sequence[Place], tolerance: float, last: int) -> Verdict:
    """Say whether the curves of each row come ever closer to the one without noise, in the end within a tolerance.

    At every x the line fitted to the distances must clearly fall, and the ``last`` curves must be within the tolerance.
    """
    contrasts: list[Contrast] = []
    first, end = [], []
    for *cells, free in runs.every_row([(*places, goal) for places, goal in zip(rows, without, strict=True)]):
        at = np.arange(len(cells)) - (len(cells) - 1) / 2
        weights = -at / (at @ at) * (len(cells) - 1)  # of the line fitted to the distances
        weights *= [math.copysign(1.0, cell.mean - free.mean) for cell in cells]
        contrasts.append(less_flat(combined([*weights.tolist(), float(-weights.sum())], [*cells, free])))
        contrasts += [difference(cell, free).within(tolerance) for cell in cells[-last:]]
        first.append(free.mean - cells[0].mean)
        end.append(free.mean - cells[-1].mean)
    if not contrasts:
        return NOT_MEASURED
    ends = (
        f"{statistics.fmean(first):+.3f} below the one without noise at first, {statistics.fmean(end):+.3f} in the end"
    )
    return judged(contrasts, f"on average {ends}")


@judge
def overfits_beyond(runs: Measured, test: Place, training: Place, x: float) -> Verdict:
    """Say whether beyond x the accuracy in testing falls while its distance from that in training grows."""
    rows = runs.rows((test, training))
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
def starts_overfitted(runs: Measured, pairs: Pairs) -> Verdict:
    """Say whether at the first x the accuracy in training (the second of a pair) is above that in testing."""
    gaps = [difference(training, test) for (test, training), *_ in runs.tables(pairs)]
    return sized(gaps, gaps, "training less testing at first:")


@judge
def settles(runs: Measured, pairs: Pairs, most: float) -> Verdict:
    """Say whether training and testing come closer from the first to the last x, and testing settles.

    It settles if it changes by so much at most from the last but one x to the last.
    """
    contrasts, closer, steps = [], [], []
    for rows in runs.tables(pairs):
        if len(rows) > 1:
            (test, training), (before, _), (end, end_training) = rows[0], rows[-2], rows[-1]
            gap = combined(CLOSER, (training, test, end_training, end))
            step = difference(end, before)
            contrasts += [gap, step.within(most)]
            closer.append(gap.gap)
            steps.append(step.gap)
    return judged(contrasts, f"closer by {low_to_high(closer)}; last step {low_to_high(steps)}")


@judge
def trade_off(runs: Measured, places: Pairs) -> Verdict:
    """Say whether over all points, and all pairs of curves, one measure is the smaller the larger the other is.

    The correlation is taken within each run, and judged over the runs.
    """
    rows = runs.every_row(places)
    count = min((len(cell.values) for row in rows for cell in row), default=0)
    if len(rows) < 3 or not count:
        return NOT_MEASURED
    values = np.array([[cell.values[:count] for cell in row] for row in rows])  # (points, two measures, runs)
    moving = [run for run in range(count) if np.ptp(values[:, :, run], axis=0).min() > SMALLEST]
    if not moving:
        return Verdict("cannot be told", "one of them does not move")
    cell = Cell(tuple(float(np.corrcoef(values[:, 0, run], values[:, 1, run])[0, 1]) for run in moving))
    words = f"correlation {cell.mean:+.2f} ± {cell.spread:.2f}"
    return judged([Contrast(-cell.mean, cell.error, max(cell.freedom, 1))], words)
