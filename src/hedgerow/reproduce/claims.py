"""What a paper says of a figure, as a function of what was measured, that can be wrong."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from hedgerow.reproduce.experiment import MAJORITY, Cell, Check, Form, Measured, Panel, Verdict

__all__ = [
    "Pick",
    "above",
    "above_majority",
    "closest",
    "compared",
    "falls",
    "near_reported",
    "reaches",
    "rises",
    "within",
]

MOSTLY = 0.75  # the share of places from which a claim mostly holds
SURE = 2.0  # standard errors


Pick = Callable[[Panel], bool]


def everywhere(panel: Panel) -> bool:
    """Pick all panels."""
    return True


def above(first: str, others: Sequence[str], *, panels: Pick = everywhere) -> Check:
    """Return the check that one method is above all others in every panel at every x."""

    def check(results: Measured, form: Form) -> Verdict:
        return compared(list(_pairs(results, form, first, others, panels)))

    return check


def _pairs(
    results: Measured, form: Form, first: str, others: Sequence[str], panels: Pick
) -> Iterator[tuple[Cell, Cell]]:
    """Yield the runs of one method and of each other, place by place."""
    for panel in filter(panels, results.experiment.panels):
        for x in results.experiment.axis.values:
            here = results.cell(panel, first, form, x)
            for other in others:
                there = results.cell(panel, other, form, x)
                if here is not None and there is not None:
                    yield here, there


def compared(pairs: Sequence[tuple[Cell, Cell]]) -> Verdict:
    """Return whether the first of each pair is above the second, and by how much."""
    if not pairs:
        return Verdict("not measured")
    gaps = [here.mean - there.mean for here, there in pairs]
    errors = [math.hypot(here.error, there.error) for here, there in pairs]
    wins = sum(gap > 0 for gap in gaps)
    surely = sum(gap > SURE * error for gap, error in zip(gaps, errors, strict=True))
    surely_not = sum(gap < -SURE * error for gap, error in zip(gaps, errors, strict=True))
    words = (
        f"above in {wins} of {len(gaps)} places (clearly in {surely}, clearly below in {surely_not}); "
        f"{min(gaps):+.3f} to {max(gaps):+.3f}, {sum(gaps) / len(gaps):+.3f} on average"
    )
    return Verdict(graded(wins, len(gaps)), words)


def graded(right: int, places: int) -> str:
    """Return how far a claim holds that is right in so many of all places."""
    return "yes" if right == places else "mostly" if right >= MOSTLY * places else "no"


def above_majority(label: str, *, panels: Pick = everywhere) -> Check:
    """Return the check that a method is above the majority rule everywhere."""
    return above(label, list(MAJORITY), panels=panels)


def rises(label: str, *, panels: Pick = everywhere) -> Check:
    """Return the check that a method is clearly better at the end of its curve than at its beginning, in every panel."""
    return _slope(label, panels, 1.0)


def falls(label: str, *, panels: Pick = everywhere) -> Check:
    """Return the check that a method is clearly worse at the end of its curve than at its beginning, in every panel."""
    return _slope(label, panels, -1.0)


def _slope(label: str, panels: Pick, sign: float) -> Check:
    """Return the check that a curve goes up, or with the sign -1 down, by more than the noise of its ends."""

    def check(results: Measured, form: Form) -> Verdict:
        words, right = [], 0
        for panel in filter(panels, results.experiment.panels):
            cells = [results.cell(panel, label, form, x) for x in results.experiment.axis.values]
            there = [cell for cell in cells if cell is not None]
            if len(there) < 2:
                continue
            change = there[-1].mean - there[0].mean
            clearly = abs(change) > SURE * math.hypot(there[0].error, there[-1].error)
            right += clearly and sign * change > 0
            words.append(f"{panel.name}: {change:+.3f}{' (clearly)' if clearly else ''}")
        if not words:
            return Verdict("not measured")
        return Verdict(graded(right, len(words)), f"from the first to the last point {'; '.join(words)}")

    return check


def closest(label: str, others: Sequence[str], target: str) -> Check:
    """Return the check that of all methods one is closest to another, in every panel at every x."""

    def check(results: Measured, form: Form) -> Verdict:
        firsts: list[str] = []
        own: list[float] = []
        for panel in results.experiment.panels:
            for x in results.experiment.axis.values:
                goal = results.cell(panel, target, form, x)
                cells = {name: results.cell(panel, name, form, x) for name in (label, *others)}
                if goal is None or any(cell is None for cell in cells.values()):
                    continue
                gaps = {name: abs(cell.mean - goal.mean) for name, cell in cells.items() if cell is not None}
                firsts.append(min(gaps, key=lambda name: gaps[name]))
                own.append(gaps[label])
        if not firsts:
            return Verdict("not measured")
        right = firsts.count(label)
        ranks = ", ".join(f"{name} {count}" for name, count in Counter(firsts).most_common())
        words = (
            f"closest in {right} of {len(firsts)} places (closest were: {ranks}); "
            f"its distance is {min(own):.3f} to {max(own):.3f}"
        )
        return Verdict(graded(right, len(firsts)), words)

    return check


def reaches(label: str, panel: Panel, x: float, value: float) -> Check:
    """Return the check that a method reaches a number that the paper prints."""

    def check(results: Measured, form: Form) -> Verdict:
        cell = results.cell(panel, label, form, x)
        if cell is None:
            return Verdict("not measured")
        gap = cell.mean - value
        holds = "yes" if gap >= -SURE * cell.error else "no"
        return Verdict(holds, f"{cell.mean:.3f} ± {cell.spread:.3f}, {gap:+.3f} from the paper's {value:.3f}")

    return check


def near_reported(within: float, *, anywhere: bool = False) -> Check:
    """Return the check that every number which the paper prints is met within so much, above or below.

    With ``anywhere`` a number that stands in several panels, since the paper does not name its data set, is met where it is met
    in one of them.
    """

    def check(results: Measured, form: Form) -> Verdict:
        gaps: dict[tuple[object, ...], list[float]] = defaultdict(list)
        for number in results.experiment.reported:
            cell = results.cell(number.panel, number.label, form, number.x)
            if cell is not None:
                gaps[None if anywhere else number.panel, number.label, number.x].append(cell.mean - number.value)
        if not gaps:
            return Verdict("not measured")
        nearest = [min(found, key=abs) for found in gaps.values()]
        right = sum(abs(gap) <= within for gap in nearest)
        words = (
            f"{right} of {len(nearest)} numbers; ours less the paper's is {min(nearest):+.3f} to {max(nearest):+.3f}"
        )
        return Verdict(graded(right, len(nearest)), words)

    return check


def within(label: str, panel: Panel, low: float, high: float) -> Check:
    """Return the check that a whole curve lies between two values."""

    def check(results: Measured, form: Form) -> Verdict:
        cells = [results.cell(panel, label, form, x) for x in results.experiment.axis.values]
        means = [cell.mean for cell in cells if cell is not None]
        if not means:
            return Verdict("not measured")
        right = sum(low <= mean <= high for mean in means)
        return Verdict(graded(right, len(means)), f"ours are {min(means):.3f} to {max(means):.3f}")

    return check
