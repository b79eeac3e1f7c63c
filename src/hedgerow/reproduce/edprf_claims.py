"""Types of claims that only eDPRF's paper makes: how time grows, and which curve moves least."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hedgerow.reproduce.claims import EVERY, Contrast, cells_of, combined, is_near, judged, panels_of
from hedgerow.reproduce.experiment import Answer, Cell, Check, Form, Measured, Verdict

__all__ = ["grows", "met_somewhere", "moves_less"]

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
