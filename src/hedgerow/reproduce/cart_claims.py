"""What only the paper of CART-DPsAdaBoost says of a figure: of several curves at once, of their noise and of their order.

A place is a curve: its panel's name and its label. See ``hedgerow.reproduce.claims`` for what a contrast is.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hedgerow.reproduce.claims import Contrast, cells_of, combined, counted, difference, judged, less_flat, trend
from hedgerow.reproduce.experiment import Cell, Check, Form, Measured, Verdict

Place = Sequence[str]  # a panel's name and a label
Pairs = Sequence[Sequence[Place]]
SMALLEST = 1e-4  # a standard deviation below it is a rounded 0


def _cells(results: Measured, form: Form, place: Place) -> dict[float, Cell]:
    name, label = place
    return next(
        (cells_of(results, form, label, panel) for panel in results.experiment.panels if panel.name == name), {}
    )


def _rows(results: Measured, form: Form, places: Sequence[Place]) -> Iterator[tuple[float, list[Cell]]]:
    """Yield the points of several curves, in their order, at each x at which all were measured."""
    curves = [_cells(results, form, place) for place in places]
    for x in results.experiment.axis.values:
        if all(x in cells for cells in curves):
            yield x, [cells[x] for cells in curves]


def _counted(contrasts: Sequence[Contrast], sizes: Sequence[float], what: str, *, pool: bool = True) -> Verdict:
    """Return the verdict with how many contrasts are clear, and between what the sizes are."""
    if not contrasts:
        return Verdict("not measured")
    words = f"{what} {min(sizes):+.3f} to {max(sizes):+.3f}"
    details = f"of {len(contrasts)} places {counted(contrasts)}"
    return judged(contrasts, words, [what] * len(contrasts) if pool else (), details)


def rise(places: Sequence[Place]) -> Check:
    """Return the check that each of some curves rises with the axis, as ``claims.rises`` says it of one."""

    def check(results: Measured, form: Form) -> Verdict:
        curves = [list(_cells(results, form, place).values()) for place in places]
        changes = [trend(cells) for cells in curves if len(cells) > 1]
        return _counted([less_flat(change) for change in changes], [change.gap for change in changes], "fitted change")

    return check


def rise_together(rows: Sequence[Sequence[Place]]) -> Check:
    """Return the check that at every x the curves of a row, which stand in a rising order, rise from the first to the last."""

    def check(results: Measured, form: Form) -> Verdict:
        found = [cells for places in rows for _, cells in _rows(results, form, places)]
        changes = [trend(cells) for cells in found]
        return _counted([less_flat(change) for change in changes], [change.gap for change in changes], "fitted change")

    return check


def steady_together(rows: Sequence[Sequence[Place]], most: float) -> Check:
    """Return the check that at every x the curves of a row differ by so much at most."""

    def check(results: Measured, form: Form) -> Verdict:
        sizes = []
        for places in rows:
            for _, cells in _rows(results, form, places):
                cells.sort(key=lambda cell: cell.mean)
                sizes.append(difference(cells[-1], cells[0]))
        return _counted([-size + most for size in sizes], [size.gap for size in sizes], "they differ by", pool=False)

    return check


def moves(place: Place, low: float, high: float, least: float) -> Check:
    """Return the check that two points of a curve between two places of the axis differ by more than so much."""

    def check(results: Measured, form: Form) -> Verdict:
        cells = [cell for x, cell in _cells(results, form, place).items() if low <= x <= high]
        if len(cells) < 2:
            return Verdict("not measured")
        cells.sort(key=lambda cell: cell.mean)
        size = difference(cells[-1], cells[0])
        return judged([size + -least], f"moves by {size.gap:.3f} ± {size.error:.3f}")

    return check


def best_everywhere(places: Sequence[Place], x: float) -> Check:
    """Return the check that each of some curves is highest at one place of the axis."""

    def check(results: Measured, form: Form) -> Verdict:
        contrasts, best = [], []
        for place in places:
            cells = _cells(results, form, place)
            if x in cells and len(cells) > 1:
                best.append(max(cells, key=lambda other: cells[other].mean))
                contrasts += [difference(cells[x], cell) for other, cell in cells.items() if other != x]
        if not contrasts:
            return Verdict("not measured")
        verdict = _counted(contrasts, [contrast.gap for contrast in contrasts], "ahead of another by", pool=False)
        return replace(verdict, details=f"highest at {', '.join(f'{one:g}' for one in best)}; {verdict.details}")

    return check


def within_everywhere(places: Sequence[Place], value: float, tolerance: float) -> Check:
    """Return the check that every point of some curves is within a tolerance of a number."""

    def check(results: Measured, form: Form) -> Verdict:
        cells = [cell for place in places for cell in _cells(results, form, place).values()]
        near = [Contrast(tolerance - abs(cell.mean - value), cell.error, cell.freedom) for cell in cells]
        return _counted(near, [cell.mean - value for cell in cells], f"ours less {value:g}:", pool=False)

    return check


def less_than_sampling(pairs: Pairs) -> Check:
    """Return the check that noise moves each curve, from the one without, by less than runs without noise differ by.

    Of each pair the second is the curve without noise, whose runs differ by the sampling of records and features; that is
    taken as one standard deviation. Both are means over the axis.
    """

    def check(results: Measured, form: Form) -> Verdict:
        contrasts, words = [], []
        for pair in pairs:
            rows = [cells for _, cells in _rows(results, form, pair)]
            if rows:
                weights = [1 / len(rows), -1 / len(rows)] * len(rows)
                gap = combined(weights, [cell for cells in rows for cell in cells])
                spread = _mean([without.spread for _, without in rows])
                contrasts.append(Contrast(spread - abs(gap.gap), gap.error, gap.freedom))
                words.append(f"{gap.gap:+.4f} against {spread:.4f}")
        return judged(contrasts, "", details=f"noise against sampling: {', '.join(words)}")

    return check


def approach(rows: Sequence[Sequence[Place]], without: Sequence[Place], tolerance: float, last: int) -> Check:
    """Return the check that the curves of each row come ever closer to the one without noise, in the end within a tolerance.

    At every x the line fitted to the distances must clearly fall, and the ``last`` curves must be within the tolerance.
    """

    def check(results: Measured, form: Form) -> Verdict:
        contrasts: list[Contrast] = []
        ends: list[float] = []
        for places, goal in zip(rows, without, strict=True):
            for _, (*cells, free) in _rows(results, form, (*places, goal)):
                contrasts.append(less_flat(_closing(cells, free)))
                for cell in cells[-last:]:
                    gap = difference(cell, free)
                    contrasts.append(Contrast(tolerance - abs(gap.gap), gap.error, gap.freedom))
                ends += [free.mean - cells[0].mean, free.mean - cells[-1].mean]
        if not contrasts:
            return Verdict("not measured")
        first, end = _mean(ends[::2]), _mean(ends[1::2])
        words = f"on average {first:+.3f} below the one without noise at first, {end:+.3f} in the end"
        return judged(contrasts, words)

    return check


def _mean(numbers: Sequence[float]) -> float:
    return statistics.fmean(numbers)


def _closing(cells: Sequence[Cell], goal: Cell) -> Contrast:
    """Return by how much the line fitted to the distances of points from another falls, from the first to the last."""
    places = np.arange(len(cells)) - (len(cells) - 1) / 2
    weights = -places / (places @ places) * (len(cells) - 1)
    weights *= [math.copysign(1.0, cell.mean - goal.mean) for cell in cells]
    return combined([*weights.tolist(), float(-weights.sum())], [*cells, goal])


def overfits_beyond(test: Place, training: Place, x: float) -> Check:
    """Return the check that beyond x the accuracy in testing falls while its distance from that in training grows."""

    def check(results: Measured, form: Form) -> Verdict:
        rows = dict(_rows(results, form, (test, training)))
        if x not in rows:
            return Verdict("not measured")
        here, contrasts, words = rows[x], [], []
        for at, there in rows.items():
            if at > x:
                falls = difference(here[0], there[0])
                parts = combined((1.0, -1.0, -1.0, 1.0), (there[1], there[0], here[1], here[0]))
                contrasts += [falls, parts]
                words.append(f"{at:g}: testing {-falls.gap:+.3f}, distance {parts.gap:+.3f}")
        return judged(contrasts, "", details=f"against {x:g}, {'; '.join(words)}")

    return check


def starts_overfitted(pairs: Pairs) -> Check:
    """Return the check that at the first x the accuracy in training (the second of a pair) is above that in testing."""

    def check(results: Measured, form: Form) -> Verdict:
        found = [next(_rows(results, form, pair), None) for pair in pairs]
        gaps = [difference(training, test) for _, (test, training) in filter(None, found)]
        return _counted(gaps, [gap.gap for gap in gaps], "training less testing at first:")

    return check


def settles(pairs: Pairs, most: float) -> Check:
    """Return the check that training and testing come closer from the first to the last x, and that testing settles.

    It settles if it changes by so much at most from the last but one x to the last.
    """

    def check(results: Measured, form: Form) -> Verdict:
        contrasts, closer, steps = [], [], []
        for pair in pairs:
            rows = [cells for _, cells in _rows(results, form, pair)]
            if len(rows) < 2:
                continue
            (test, training), (before, _), (end, end_training) = rows[0], rows[-2], rows[-1]
            gap = combined((1.0, -1.0, -1.0, 1.0), (training, test, end_training, end))
            step = difference(end, before)
            contrasts += [gap, Contrast(most - abs(step.gap), step.error, step.freedom)]
            closer.append(gap.gap)
            steps.append(step.gap)
        if not contrasts:
            return Verdict("not measured")
        words = f"closer by {min(closer):+.3f} to {max(closer):+.3f}; last step {min(steps):+.3f} to {max(steps):+.3f}"
        return judged(contrasts, words)

    return check


def no_better_later(place: Place, x: float, most: float) -> Check:
    """Return the check that behind x a curve gains so much at most."""

    def check(results: Measured, form: Form) -> Verdict:
        cells = _cells(results, form, place)
        if x not in cells:
            return Verdict("not measured")
        gains = [difference(cell, cells[x]) for later, cell in cells.items() if later > x]
        largest = max((gain.gap for gain in gains), default=math.nan)
        return judged([-gain + most for gain in gains], f"gains {largest:+.3f} at most")

    return check


def fluctuate_more(pairs: Pairs) -> Check:
    """Return the check that runs of the first curve of each pair differ more than runs of the second.

    Compared are the standard deviations over the runs, as the mean of the logarithm of their ratio over the axis.
    """

    def check(results: Measured, form: Form) -> Verdict:
        contrasts, ratios = [], []
        for pair in pairs:
            rows = [cells for _, cells in _rows(results, form, pair)]
            logs = [math.log(max(more.spread, SMALLEST) / max(less.spread, SMALLEST)) for more, less in rows]
            if not rows:
                continue
            variance = sum(sum(1 / (2 * cell.freedom) if cell.freedom else math.inf for cell in row) for row in rows)
            runs = min(len(cell.values) for row in rows for cell in row)
            contrasts.append(Contrast(_mean(logs), math.sqrt(variance) / len(rows), max(runs - 1, 1)))
            ratios.append(math.exp(_mean(logs)))
        if not contrasts:
            return Verdict("not measured")
        return judged(
            contrasts, f"standard deviations are {', '.join(f'{ratio:.2f}' for ratio in ratios)} times as large"
        )

    return check


def costs_more(first: Sequence[Place], second: Sequence[Place]) -> Check:
    """Return the check that noise costs one method more than another at every x, each a curve and the one without noise."""

    def check(results: Measured, form: Form) -> Verdict:
        gaps = [combined((-1.0, 1.0, 1.0, -1.0), cells) for _, cells in _rows(results, form, (*first, *second))]
        return _counted(gaps, [gap.gap for gap in gaps], "cost less the other's cost:")

    return check


def trade_off(places: Pairs) -> Check:
    """Return the check that over all points, and all pairs of curves, one measure is the smaller the larger the other is.

    The correlation is taken within each run, and judged over the runs.
    """

    def check(results: Measured, form: Form) -> Verdict:
        rows = [cells for pair in places for _, cells in _rows(results, form, pair)]
        runs = min((len(cell.values) for row in rows for cell in row), default=0)
        if len(rows) < 3 or not runs:
            return Verdict("not measured")
        values = np.array([[cell.values[:runs] for cell in row] for row in rows])  # (points, two measures, runs)
        moving = [run for run in range(runs) if np.ptp(values[:, :, run], axis=0).min() > SMALLEST]
        if not moving:
            return Verdict("cannot be told", "one of them does not move")
        found = Cell(tuple(float(np.corrcoef(values[:, 0, run], values[:, 1, run])[0, 1]) for run in moving))
        words = f"correlation {found.mean:+.2f} ± {found.spread:.2f}"
        return judged([Contrast(-found.mean, found.error, max(found.freedom, 1))], words)

    return check


def quicker(pairs: Pairs, sizes: Mapping[str, int]) -> Check:
    """Return the check that the first of each pair takes less time for a record than the second, at every x.

    Compared are medians, of which one slow run decides nothing. ``sizes`` gives the number of records by panel.
    """

    def check(results: Measured, form: Form) -> Verdict:
        contrasts, ratios = [], []
        for pair in pairs:
            for _, row in _rows(results, form, pair):
                logs = [_median_log(cell, sizes[panel]) for cell, (panel, _) in zip(row, pair, strict=True)]
                contrasts.append(difference(*(Cell(values) for values in reversed(logs))))
                ratios.append(math.exp(-contrasts[-1].gap))
        if not contrasts:
            return Verdict("not measured")
        return judged(contrasts, f"time for a record is {min(ratios):.2f} to {max(ratios):.2f} times the other's")

    return check


def _median_log(cell: Cell, records: int) -> tuple[float, ...]:
    """Return the logarithms of the seconds for a record, those far from the median drawn back to it."""
    logs = [math.log(max(value, SMALLEST) / records) for value in cell.values]
    middle = statistics.median(logs)
    away = statistics.median(abs(value - middle) for value in logs)
    return tuple(min(max(value, middle - 3 * away), middle + 3 * away) for value in logs)
