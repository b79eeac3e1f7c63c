"""Sentences about curves, one rule for each kind; a paper's file names a rule by ``check`` and gives its arguments.

For each place that the sentence is about, a rule yields a contrast, positive where the sentence is right; the figure
that is printed for it; and the name of the contrasts that it is pooled with. ``told`` turns them into a verdict. A place is a
curve: its panel, or that panel's name, and its label. In the patterns of ``panels`` ``*`` stands for anything.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps

import numpy as np

from hedgerow.papers.reproduce.experiment import MAJORITY, Check, Form, Measured, Place, Results
from hedgerow.papers.reproduce.verdicts import (
    NOT_MEASURED,
    Answer,
    Cell,
    Contrast,
    Verdict,
    averaged,
    combined,
    difference,
    joined,
    judged,
    low_to_high,
    trend,
)

EVERY = ("*",)
SMALLEST = 1e-4  # a standard deviation below it is a rounded 0
NORMAL_MAD = 1.4826  # the standard deviation of a normal law over its median absolute deviation
MEDIAN_ERROR = math.sqrt(math.pi / 2)  # the standard error of a normal sample's median over that of its mean
CLOSER = (1.0, -1.0, -1.0, 1.0)  # the distance of the first two points less that of the other two
MOST_NAMED = 12  # settings that meet a number

Found = Iterator[tuple[Contrast, float, str]]
Groups = Sequence[Sequence[Place]]
JUDGES: dict[str, Callable[..., Check]] = {}  # by name


def told(found: Sequence[tuple[Contrast, float, str]], words: str, *, pool: bool = True) -> Verdict:
    """Return the verdict on what a rule found, with in how many places it is right and between what the figures lie."""
    if not found:
        return NOT_MEASURED
    contrasts, sizes, names = zip(*found, strict=True)
    right, clear = sum(one.gap > 0 for one in contrasts), sum(one.holds for one in contrasts)
    where = f"right in {right} of {len(found)} places, significantly in {clear}" if len(found) > 1 else ""
    return judged(contrasts, joined(where, f"{words} {low_to_high(sizes)}"), names if pool else ())


def judge(words: str, *, pool: bool = True) -> Callable[[Callable[..., Found]], Callable[..., Check]]:
    """Turn a rule into a function of its arguments that returns the check; ``words`` stand before its figures."""

    def of(find: Callable[..., Found]) -> Callable[..., Check]:
        @wraps(find)
        def check_of(*arguments: object, **named: object) -> Check:
            return lambda results, form: told(
                list(find(Measured(results, form), *arguments, **named)), words, pool=pool
            )

        JUDGES[find.__name__] = check_of
        return check_of

    return of


def computed(answer: Answer, words: str) -> Check:
    """State what needs no runs, as tests/reproduce/ computes it, or why a sentence is not judged."""
    return lambda results, form: Verdict(answer, words)


@judge("ahead by")
def above(
    runs: Measured,
    first: str,
    others: Sequence[str],
    panels: Sequence[str] = EVERY,
    labels: Sequence[str] = (),
    by: float = 0.0,
    whole: bool = False,
) -> Found:
    """Say whether one method is above all others (by more than ``by``) in every panel at every x, or on the ``whole``.

    With ``labels`` the first and the others are panels instead, whose curves of these labels are compared.
    """
    for other in others:
        pairs: list[list[Place]] = [[(first, label), (other, label)] for label in labels]
        for pair in pairs or [[(panel, first), (panel, other)] for panel in runs.panels(panels)]:
            rows = list(runs.rows(pair).values())
            if whole and rows:
                rows = [[averaged(points) for points in zip(*rows, strict=True)]]
            for gap in (difference(*row) for row in rows):
                yield gap + -by, gap.gap, "all" if whole else other


@judge("differences", pool=False)
def same(runs: Measured, first: str, second: str, tolerance: float) -> Found:
    for row in runs.every_row([((panel, first), (panel, second)) for panel in runs.panels(EVERY)]):
        yield (gap := difference(*row)).within(tolerance), gap.gap, ""


@judge("nearer than another by")
def closest(runs: Measured, label: str, others: Sequence[str], target: str) -> Found:
    for panel in runs.panels(EVERY):
        for goal, own, *cells in runs.rows([(panel, name) for name in (target, label, *others)]).values():
            for name, cell in zip(others, cells, strict=True):
                noise = difference(own, cell)  # the target's own error is in both distances
                nearer = abs(cell.mean - goal.mean) - abs(own.mean - goal.mean)
                yield Contrast(nearer, noise.error, noise.freedom), nearer, name


@judge("cost less the other's cost:")
def costs_more(runs: Measured, first: Sequence[Place], second: Sequence[Place]) -> Found:
    for cells in runs.every_row([(*first, *second)]):
        yield (gap := combined((-1.0, 1.0, 1.0, -1.0), cells)), gap.gap, ""


@judge("logarithm of the ratio of times for a record:", pool=False)
def quicker(runs: Measured, pairs: Groups, sizes: Mapping[str, int]) -> Found:
    """Say whether the first of each pair takes less time for a record than the second, at every x; ``sizes`` are by panel.

    Compared are logarithms, each kept within three median deviations of the median, so that one slow run decides nothing.
    """
    for pair in pairs:
        for row in runs.rows(pair).values():
            cells = []
            for cell, (panel, _) in zip(row, pair, strict=True):
                logs = [math.log(max(value, SMALLEST) / sizes[str(panel)]) for value in cell.values]
                middle = statistics.median(logs)
                away = 3 * statistics.median(abs(value - middle) for value in logs)
                cells.append(Cell(tuple(min(max(value, middle - away), middle + away) for value in logs)))
            yield (gap := difference(cells[1], cells[0])), -gap.gap, ""


@judge("fitted change")
def rises(
    runs: Measured,
    labels: Sequence[str] = (),
    panels: Sequence[str] = EVERY,
    places: Sequence[Place] = (),
    rows: Groups = (),
    sign: float = 1.0,
    together: bool = False,
) -> Found:
    """Say whether the line fitted to each curve is up along the axis (``sign`` -1: down).

    Curves are those of ``labels`` in ``panels``, and ``places``; of ``rows``, the points from curve to curve at every x.
    ``together``: of the labels, whether the line of their average is, which is what "by and large" asks for.
    """
    series = [*map(runs.line, places), *runs.every_row(rows)]
    for panel in runs.panels(panels):
        own = [(panel, label) for label in labels]
        series += [list(map(averaged, runs.rows(own).values()))] if together else map(runs.line, own)
    for cells in series:
        if len(cells) > 1:
            change = trend(cells)
            yield (change if sign > 0 else -change), change.gap, ""


@judge("ahead of another by", pool=False)
def best_at(runs: Measured, places: Sequence[Place], x: float, most: float = 0.0, later: bool = False) -> Found:
    """Say whether each of some curves is highest at one place of the axis, or no ``later`` point is more than so much higher."""
    for cells in map(runs.curve, places):
        for other, cell in cells.items():
            if x in cells and other != x and (other > x or not later):
                yield (gap := difference(cells[x], cell)) + most, gap.gap, ""


@judge("exponent", pool=False)
def grows(runs: Measured, label: str, exponent: float, tolerance: float) -> Found:
    """Say whether a curve grows like a power of its axis, whose exponent is met within a tolerance.

    The exponent is the median over the runs of those fitted to each, with a standard error from their absolute deviations: a
    run beside other work is no slower at random.
    """
    for points in (runs.curve((panel, label)) for panel in runs.panels(EVERY)):
        if len(points) < 2:
            continue
        x, cells = np.log(list(points)), points.values()
        powers = [
            float(np.polyfit(x, np.log(run), 1)[0]) for run in zip(*(cell.values for cell in cells), strict=False)
        ]
        middle = float(np.median(powers))
        spread = NORMAL_MAD * float(np.median(np.abs(np.array(powers) - middle)))
        error = MEDIAN_ERROR * spread / math.sqrt(len(powers)) if len(powers) > 1 else math.inf
        yield Contrast(middle - exponent, error, max(len(powers) - 1, 1)).within(tolerance), middle, ""


def span(cells: Sequence[Cell]) -> tuple[Cell, Cell]:
    ordered = sorted(cells, key=lambda cell: cell.mean)
    return ordered[-1], ordered[0]


@judge("moves by", pool=False)
def steady(
    runs: Measured,
    most: float = math.inf,
    least: float = 0.0,
    label: str = "",
    panels: Sequence[str] = EVERY,
    rows: Groups = (),
    within: Sequence[float] = (-math.inf, math.inf),
) -> Found:
    """Say whether points of a curve ``within`` some x differ by so much at most, or two by so much at ``least``; of ``rows``,
    any two curves at each x.
    """
    curves = (runs.curve((panel, label)).items() for panel in runs.panels(panels) if label)
    lines = [[cell for x, cell in cells if within[0] <= x <= within[1]] for cells in curves]
    for cells in (*lines, *runs.every_row(rows)):
        if len(cells) > 1:
            size = difference(*span(cells))
            yield size + -least if least else -size + most, size.gap, ""


@judge("another moves more by", pool=False)
def moves_less(runs: Measured, label: str, others: Sequence[str]) -> Found:
    for panel in runs.panels(EVERY):
        cells = runs.line((panel, label))
        for line in (runs.line((panel, name)) for name in others):
            if len(line) > 1 and len(cells) > 1:
                yield (gap := combined(CLOSER, (*span(line), *span(cells)))), gap.gap, ""


def strays(runs: Measured, place: Place) -> Cell | None:
    cells = runs.line(place)
    if len(cells) < 3:
        return None
    at = np.arange(len(cells))
    line = np.polyval(np.polyfit(at, [cell.mean for cell in cells], 1), at)
    return averaged([Cell(tuple(abs(value - y) for value in cell.values)) for cell, y in zip(cells, line, strict=True)])


@judge("another strays more by")
def steadier(runs: Measured, steady: Sequence[Place], others: Sequence[Place]) -> Found:
    """Say whether the runs of curves stray less than those of others, with which they are paired in their order.

    How far a curve strays is the mean distance of its single runs from the line that is fitted to its means: what wavers along
    the axis counts, and so does what differs between runs, of which a mean of few runs would waver.
    """
    for first, second in zip(steady, others, strict=True):
        here, there = strays(runs, first), strays(runs, second)
        if here is not None and there is not None:
            rival = second[1] if first[0] == second[0] else f"{first[0]} {second[0]}"
            yield (gap := difference(there, here)), gap.gap, rival


@judge("fitted change of how far runs stray")
def ever_steadier(runs: Measured, curves: Sequence[Place]) -> Found:
    """Say whether the runs of curves stray less from each to the next: their fitted line is down; see ``steadier``."""
    cells = [cell for place in curves if (cell := strays(runs, place)) is not None]
    if len(cells) > 1:
        yield -(change := trend(cells)), change.gap, ""


@judge("logarithm of the ratio of standard deviations:", pool=False)
def fluctuate_more(runs: Measured, pairs: Groups) -> Found:
    """Say whether runs of the first curve of each pair differ more: by the mean logarithm of the ratio of their deviations."""
    for rows in runs.tables(pairs):
        logs = [[math.log(max(cell.spread, SMALLEST)) for cell in row] for row in rows]
        variance = sum(sum(1 / (2 * cell.freedom) if cell.freedom else math.inf for cell in row) for row in rows)
        least = min(len(cell.values) for row in rows for cell in row)
        ratio = statistics.fmean(more - less for more, less in logs)
        yield Contrast(ratio, math.sqrt(variance) / len(rows), max(least - 1, 1)), ratio, ""


@judge("noise moves it by", pool=False)
def less_than_sampling(runs: Measured, pairs: Groups) -> Found:
    """Say whether noise moves the first curve of each pair by less than the runs of the second, without noise, deviate by.

    The latter differ by the sampling of records and features. Both are means over the axis.
    """
    for rows in runs.tables(pairs):
        gap = combined([1 / len(rows), -1 / len(rows)] * len(rows), [cell for cells in rows for cell in cells])
        yield gap.within(statistics.fmean(without.spread for _, without in rows)), gap.gap, ""


@judge("ours less the paper's:", pool=False)
def near_reported(runs: Measured, tolerance: float, panels: Sequence[str] = EVERY) -> Found:
    for (panel, label, x), value in runs.results.experiment.reported.items():
        cell = runs.results.cell(panel, label, runs.form, x)
        if cell is not None and panel in runs.panels(panels):
            yield (gap := cell.less(value)).within(tolerance), gap.gap, ""


@judge("ours less the paper's:", pool=False)
def within_everywhere(runs: Measured, places: Sequence[Place], value: float, tolerance: float) -> Found:
    for cell in (cell for place in places for cell in runs.line(place)):
        yield (gap := cell.less(value)).within(tolerance), gap.gap, ""


def is_near(label: str, panel: str, x: float, value: float, tolerance: float = 0.02) -> Check:
    """Say whether a method meets a number which the paper prints, above or below, within a tolerance.

    If the majority rule, which reads nothing, meets it too, the number does not show that the method works: that cannot be told.
    """

    def check(results: Results, form: Form) -> Verdict:
        runs = Measured(results, form)
        cell, trivial = (runs.curve((panel, one)).get(x) for one in (label, MAJORITY))
        if cell is None:
            return NOT_MEASURED
        words = f"{cell.mean:.3f} ± {cell.spread:.3f}, {cell.mean - value:+.3f} from the paper's {value:.3f}"
        verdict = judged([cell.less(value).within(tolerance)], words)
        if verdict.answer == "holds" and trivial is not None and abs(trivial.mean - value) <= tolerance:
            also = f"the {MAJORITY} meets it too ({trivial.mean:.3f}): a number that it misses would tell"
            return Verdict("cannot be told", joined(words, also))
        return verdict

    return check


def met_in_settings(label: str, value: float, tolerance: float) -> Check:
    """Name the settings of a paper in which a method meets a number that the paper prints without set or setting."""

    def check(results: Results, form: Form) -> Verdict:
        points = Measured(results, form).everywhere(label)
        if not points:
            return NOT_MEASURED
        met = {name: mean for name, mean in points.items() if abs(mean - value) <= tolerance}
        named = sorted(met.items(), key=lambda one: abs(one[1] - value))[:MOST_NAMED]
        words = f"neither set nor setting is named; met in {len(met)} of {len(points)} settings"
        return Verdict("cannot be told", joined(words, *(f"{name} {mean:.4f}" for name, mean in named)))

    return check


@judge("slope of the distances, and distances of the last:", pool=False)
def approach(runs: Measured, rows: Groups, without: Sequence[Place], tolerance: float, last: int) -> Found:
    """Say whether at every x curves come closer to the one without noise, and the ``last`` ones are within a tolerance."""
    for *cells, free in runs.every_row([(*places, goal) for places, goal in zip(rows, without, strict=True)]):
        at = np.arange(len(cells)) - (len(cells) - 1) / 2
        weights = -at / (at @ at) * (len(cells) - 1)  # of the line fitted to the distances
        weights *= [math.copysign(1.0, cell.mean - free.mean) for cell in cells]
        yield (fall := combined([*weights.tolist(), float(-weights.sum())], [*cells, free])), -fall.gap, ""
        for gap in (difference(cell, free) for cell in cells[-last:]):
            yield gap.within(tolerance), gap.gap, ""


@judge("fall in testing, and growth of its distance from training:", pool=False)
def overfits_beyond(runs: Measured, test: Place, training: Place, x: float) -> Found:
    rows = runs.rows((test, training))
    for at, there in rows.items():
        if x in rows and at > x:
            here = rows[x]
            for change in (difference(here[0], there[0]), combined(CLOSER, (there[1], there[0], here[1], here[0]))):
                yield change, change.gap, ""


@judge("training less testing at first:")
def starts_overfitted(runs: Measured, pairs: Groups) -> Found:
    for (test, training), *_ in runs.tables(pairs):
        yield (gap := difference(training, test)), gap.gap, ""


@judge("training and testing come closer by, and the last step is:", pool=False)
def settles(runs: Measured, pairs: Groups, most: float) -> Found:
    """Say whether training and testing come closer from the first to the last x, and testing hardly moves in the last step."""
    for rows in runs.tables(pairs):
        if len(rows) > 1:
            (test, training), (before, _), (end, end_training) = rows[0], rows[-2], rows[-1]
            yield (gap := combined(CLOSER, (training, test, end_training, end))), gap.gap, ""
            yield (step := difference(end, before)).within(most), step.gap, ""


@judge("correlation", pool=False)
def trade_off(runs: Measured, places: Groups) -> Found:
    """Say whether one measure is the smaller the larger the other is: by the correlation within each run in which both move."""
    rows = runs.every_row(places)
    count = min((len(cell.values) for row in rows for cell in row), default=0)
    values = np.array([[cell.values[:count] for cell in row] for row in rows])  # (points, two measures, runs)
    moving = [run for run in range(count) if len(rows) > 2 and np.ptp(values[:, :, run], axis=0).min() > SMALLEST]
    if moving:
        cell = Cell(tuple(float(np.corrcoef(values[:, 0, run], values[:, 1, run])[0, 1]) for run in moving))
        yield Contrast(-cell.mean, cell.error, max(cell.freedom, 1)), cell.mean, ""


JUDGES |= {one.__name__: one for one in (computed, is_near, met_in_settings)}
