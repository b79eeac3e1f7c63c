"""Judgements of claims about curves: how accuracy grows, by how much it moves, and where a printed value is met."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from hedgerow.reproduce.claims import (
    EVERY,
    Contrast,
    cells_of,
    combined,
    compared,
    counted,
    difference,
    is_near,
    judged,
    less_flat,
    panels_of,
    trend,
)
from hedgerow.reproduce.experiment import Answer, Cell, Check, Form, Measured, Verdict

Place = Sequence[str]  # a panel's name and a label


def all_rise(labels: Sequence[str], *, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that each of several curves rises, in every panel; what counts is the line fitted to a curve."""
    return _all_change(labels, panels, 1.0)


def all_fall(labels: Sequence[str], *, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that each of several curves falls, in every panel."""
    return _all_change(labels, panels, -1.0)


def _all_change(labels: Sequence[str], panels: Sequence[str], sign: float) -> Check:
    def check(results: Measured, form: Form) -> Verdict:
        curves = [list(cells.values()) for cells in _curves(results, form, labels, panels)]
        return _changed([trend(cells) for cells in curves if len(cells) > 1], sign)

    return check


def falls_on_the_whole(labels: Sequence[str], *, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that the average of several curves falls, in every panel: what "by and large" asks for."""

    def check(results: Measured, form: Form) -> Verdict:
        changes = []
        for panel in panels_of(results, panels):
            curves = [cells_of(results, form, label, panel) for label in labels]
            places = [x for x in results.experiment.axis.values if curves and all(x in cells for cells in curves)]
            if len(places) > 1:
                changes.append(trend([averaged([cells[x] for cells in curves]) for x in places]))
        return _changed(changes, -1.0)

    return check


def _changed(changes: Sequence[Contrast], sign: float) -> Verdict:
    """Return whether every fitted change has a sign; one that is clearly smaller than ``FLAT`` has none."""
    if not changes:
        return Verdict("not measured")
    contrasts = [less_flat(change if sign > 0 else -change, len(changes)) for change in changes]
    sizes = [change.gap for change in changes]
    words = f"{'up' if sign > 0 else 'down'} in {sum(size * sign > 0 for size in sizes)} of {len(sizes)} curves"
    details = f"{counted(contrasts)}; fitted changes {min(sizes):+.3f} to {max(sizes):+.3f}"
    return judged(contrasts, words, ["all"] * len(contrasts), details)


def above_in_panel(first: str, others: Sequence[str], labels: Sequence[str]) -> Check:
    """Return the check that curves of the same labels are higher in one panel than in each of the others, at every x."""

    def check(results: Measured, form: Form) -> Verdict:
        found = []
        for label in labels:
            curves = {panel.name: cells_of(results, form, label, panel) for panel in results.experiment.panels}
            here = curves.get(first, {})
            for other in others:
                there = curves.get(other, {})
                found += [(other, difference(here[x], there[x])) for x in here if x in there]
        return compared([gap for _, gap in found], rivals=[other for other, _ in found])

    return check


def above_on_the_whole(first: str, others: Sequence[str], *, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that one method's average over the axis is above that of all others, in every panel."""

    def check(results: Measured, form: Form) -> Verdict:
        gaps = []
        for panel in panels_of(results, panels):
            here = cells_of(results, form, first, panel)
            for other in others:
                there = cells_of(results, form, other, panel)
                both = [x for x in here if x in there]
                if both:
                    gaps.append(difference(averaged([here[x] for x in both]), averaged([there[x] for x in both])))
        return compared(gaps)

    return check


def same(first: str, second: str, tolerance: float) -> Check:
    """Return the check that two methods differ by so much at most, in every panel at every x."""

    def check(results: Measured, form: Form) -> Verdict:
        gaps = []
        for panel in results.experiment.panels:
            here, there = (cells_of(results, form, label, panel) for label in (first, second))
            gaps += [difference(here[x], there[x]) for x in here if x in there]
        if not gaps:
            return Verdict("not measured")
        contrasts = [Contrast(tolerance - abs(gap.gap), gap.error, gap.freedom) for gap in gaps]
        sizes = [gap.gap for gap in gaps]
        return judged(contrasts, f"differences {min(sizes):+.4f} to {max(sizes):+.4f}")

    return check


def steadier(steady: Iterable[Place], others: Iterable[Place]) -> Check:
    """Return the check that the runs of curves stray less than those of others.

    How far a curve strays is the mean distance of its single runs from the line that is fitted to its means: what wavers along
    the axis counts, and so does what differs between runs, of which a mean of few runs would waver. The curves are paired in
    their order.
    """
    pairs = list(zip(steady, others, strict=True))

    def check(results: Measured, form: Form) -> Verdict:
        found = [
            (calm, wild, second[1] if first[0] == second[0] else f"{first[0]} {second[0]}")
            for first, second in pairs
            for calm in [strays(results, form, first)]
            for wild in [strays(results, form, second)]
            if calm is not None and wild is not None
        ]
        if not found:
            return Verdict("not measured")
        contrasts = [difference(wild, calm) for calm, wild, _ in found]
        words = f"less in {sum(c.gap > 0 for c in contrasts)} of {len(contrasts)} comparisons"
        sizes = f"{_range(calm for calm, _, _ in found)} against {_range(wild for _, wild, _ in found)}"
        return judged(contrasts, words, [rival for _, _, rival in found], f"{counted(contrasts)}; {sizes}")

    return check


def settles(curves: Sequence[Place]) -> Check:
    """Return the check that the runs of curves stray less from each to the next: their fitted line is down; see ``steadier``."""

    def check(results: Measured, form: Form) -> Verdict:
        cells = [cell for place in curves for cell in [strays(results, form, place)] if cell is not None]
        if len(cells) < 2:
            return Verdict("not measured")
        change = trend(cells)
        words = f"{cells[0].mean:.3f} to {cells[-1].mean:.3f}, fitted change {change.gap:+.3f} ± {change.error:.3f}"
        return judged([-change], words)

    return check


def strays(results: Measured, form: Form, place: Place) -> Cell | None:
    """Return the mean distance of each run of a curve from the line fitted to its means; None for fewer than 3 points."""
    panel = next(panel for panel in results.experiment.panels if panel.name == place[0])
    cells = list(cells_of(results, form, place[1], panel).values())
    if len(cells) < 3:
        return None
    means, at = [cell.mean for cell in cells], np.arange(len(cells))
    line = np.polyval(np.polyfit(at, means, 1), at)
    distances = [Cell(tuple(abs(value - y) for value in cell.values)) for cell, y in zip(cells, line, strict=True)]
    return averaged(distances)


def averaged(cells: Sequence[Cell]) -> Cell:
    """Return the average of several points run by run: the noise of a run, its schedule too, is the same in all of them."""
    certain = all(cell.certain for cell in cells)
    runs = min((len(cell.values) for cell in cells if not cell.certain), default=1)
    rows = [cell.values[:1] * runs if cell.certain else cell.values[:runs] for cell in cells]
    return Cell(tuple(statistics.fmean(values) for values in zip(*rows, strict=True)), certain)


def _range(cells: Iterable[Cell]) -> str:
    means = [cell.mean for cell in cells]
    return f"{min(means):.3f} to {max(means):.3f}"


def _curves(results: Measured, form: Form, labels: Sequence[str], panels: Sequence[str]) -> Iterator[dict[float, Cell]]:
    for panel in panels_of(results, panels):
        for label in labels:
            yield cells_of(results, form, label, panel)


NORMAL_MAD = 1.4826  # the standard deviation of a normal law over its median absolute deviation
MEDIAN_ERROR = math.sqrt(math.pi / 2)  # the standard error of a normal sample's median over that of its mean


def exponents(cells: dict[float, Cell]) -> list[float]:
    """Return the exponent of a power law fitted to the points of each run."""
    runs = min(len(cell.values) for cell in cells.values())
    places = np.log(list(cells))
    return [
        float(np.polyfit(places, np.log([cell.values[run] for cell in cells.values()]), 1)[0]) for run in range(runs)
    ]


def median_of(values: Sequence[float]) -> Contrast:
    """Return the median of runs with a standard error from their absolute deviations, which a few slow runs leave alone."""
    middle = float(np.median(values))
    if len(values) < 2:
        return Contrast(middle, math.inf)
    spread = NORMAL_MAD * float(np.median(np.abs(np.array(values) - middle)))
    return Contrast(middle, MEDIAN_ERROR * spread / math.sqrt(len(values)), len(values) - 1)


def grows(label: str, exponent: float, tolerance: float, *, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that a curve grows like a power of its axis, whose exponent is met within a tolerance.

    The exponent is the median over the runs of those fitted to each, since a run beside other work is no slower at random.
    """

    def check(results: Measured, form: Form) -> Verdict:
        contrasts, words = [], []
        for panel in panels_of(results, panels):
            cells = cells_of(results, form, label, panel)
            if len(cells) > 1:
                found = median_of(exponents(cells))
                words.append(f"{panel.name}: exponent {found.gap:.2f} ± {found.error:.2f}")
                contrasts.append(Contrast(tolerance - abs(found.gap - exponent), found.error, found.freedom))
        return judged(contrasts, "; ".join(words))

    return check


def moves_less(label: str, others: Sequence[str], *, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that a curve's highest and lowest point differ by less than those of each other, in every panel."""

    def check(results: Measured, form: Form) -> Verdict:
        contrasts, words = [], []
        for panel in panels_of(results, panels):
            ends = {name: _ends(cells_of(results, form, name, panel)) for name in (label, *others)}
            there = [name for name in others if ends[name]]
            if not ends[label] or not there:
                continue
            contrasts += [combined((1.0, -1.0, -1.0, 1.0), (*ends[name], *ends[label])) for name in there]
            moves = ", ".join(f"{name} {ends[name][0].mean - ends[name][1].mean:.3f}" for name in (label, *there))
            words.append(f"{panel.name}: {moves}")
        return judged(contrasts, "", details=f"moves by {'; '.join(words)}")

    return check


def met_somewhere(label: str, x: float, value: float, tolerance: float, *, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that a number whose data set the paper does not name is met within a tolerance in some panel."""

    def check(results: Measured, form: Form) -> Verdict:
        found = {
            panel.name: is_near(label, panel.name, x, value, tolerance)(results, form)
            for panel in panels_of(results, panels)
        }
        there = {name: verdict for name, verdict in found.items() if verdict.answer != "not measured"}
        words = "; ".join(f"{name} {verdict.words}" for name, verdict in there.items())
        if not there:
            return Verdict("not measured")
        order: tuple[Answer, ...] = ("holds", "cannot be told", "does not")
        return Verdict(min((verdict.answer for verdict in there.values()), key=order.index), words)

    return check


def _ends(cells: dict[float, Cell]) -> tuple[Cell, ...]:
    """Return the highest and the lowest point, or none of fewer than two."""
    ordered = sorted(cells.values(), key=lambda cell: cell.mean)
    return (ordered[-1], ordered[0]) if len(ordered) > 1 else ()
