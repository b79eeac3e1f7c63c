"""What a paper says of a figure, as a function of what was measured, that can be wrong.

Every statement becomes contrasts: numbers that are positive where it is right, each with a standard error. It *holds* if every
contrast is positive and nine in ten of them clearly (of fewer than ten, all), or if none is clearly negative and their mean, the
pooled contrast, is clearly positive; against several rivals, that with each of them. It *does not* if one is clearly negative or
a pooled one is, and otherwise it *cannot be told* from these runs. Clearly means at the two-sided 5 % level of Student's t, and
for a contradiction at one place at that level over all contrasts together: of many places that agree by chance alone, one would
soon be found to contradict.

What does not hold names the worst place, what cannot be told the number of runs that would tell.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import wraps
from typing import Any

import numpy as np
from scipy.stats import t as student

from hedgerow.errors import DatasetError
from hedgerow.reproduce.experiment import MAJORITY, Cell, Check, Form, Measured, Panel, Verdict

LEVEL = 0.05
MOST = 0.9  # of many places, all of which agree, so many have to agree clearly
ROUNDING = 1e-9  # of sums of values that are kept with four digits
FLAT = 0.005  # a change between the ends of a curve of less than this is none
MANY = 1000  # runs: a difference that takes more is a tie for this page

EVERY = ("*",)


def panels_of(results: Measured, patterns: Sequence[str]) -> list[Panel]:
    """Return the panels whose names match one of some patterns, in which ``*`` stands for anything."""
    return [panel for panel in results.experiment.panels if any(fnmatchcase(panel.name, one) for one in patterns)]


def fact(find: Callable[..., Verdict]) -> Callable[..., Check]:
    """Turn a function that asks for no runs into one that returns its check: the same for all forms.

    What needs data that are not at hand is not measured.
    """

    @wraps(find)
    def of(**arguments: Any) -> Check:
        def check(results: Measured, form: Form) -> Verdict:
            try:
                return find(**arguments)
            except DatasetError:
                return Verdict("not measured")

        return check

    return of


def stated(right: bool, words: str) -> Verdict:
    """Return whether something that has no noise is as the paper says."""
    return Verdict("holds" if right else "does not", words)


@dataclass(frozen=True)
class Contrast:
    """A number that is positive where a statement is right, its standard error, and the degrees of freedom of that.

    ``runs`` are the values of single runs where the gap is their mean.
    """

    gap: float
    error: float = 0.0
    freedom: float = math.inf
    runs: tuple[float, ...] = ()

    def bound(self, level: float) -> float:
        """Return how far the gap may be off at a two-sided level."""
        if self.error == 0:
            return 0.0
        return math.inf if math.isinf(self.error) else float(student.isf(level / 2, self.freedom)) * self.error

    @property
    def holds(self) -> bool:
        """Whether the gap is clearly positive."""
        return self.gap > self.bound(LEVEL)

    def fails(self, contrasts: int = 1) -> bool:
        """Say whether the gap is clearly negative, as one of so many; without noise, whether it is not positive."""
        return self.gap <= 0 if self.error == 0 else self.gap < -self.bound(LEVEL / contrasts)

    def __neg__(self) -> Contrast:
        return Contrast(-self.gap, self.error, self.freedom, tuple(-value for value in self.runs))

    def __add__(self, constant: float) -> Contrast:
        return Contrast(self.gap + constant, self.error, self.freedom, tuple(value + constant for value in self.runs))

    def __str__(self) -> str:
        if self.error == 0:
            return f"{self.gap:+.4f} (no noise)"
        return f"{self.gap:+.4f} ± {self.error:.4f} ({self.count} runs)"

    @property
    def count(self) -> int:
        """How many runs stand behind it."""
        return len(self.runs) or (1 if math.isinf(self.freedom) else math.ceil(self.freedom) + 1)

    def needed(self, contrasts: int = 1) -> float:
        """Return how many runs would make it clear, if means and spreads stay."""
        needed = self.count * (self.bound(LEVEL / contrasts) / abs(self.gap)) ** 2 if self.gap else math.inf
        return math.inf if math.isnan(needed) else needed


def combined(weights: Sequence[float], cells: Sequence[Cell]) -> Contrast:
    """Return a weighted sum of means; runs of one seed are taken together where all points have as many.

    Runs share their seeds, so that two points may move together or not; otherwise the degrees of freedom are those of Welch and
    Satterthwaite.
    """
    gap = sum(weight * cell.mean for weight, cell in zip(weights, cells, strict=True))
    noisy = [(weight, cell) for weight, cell in zip(weights, cells, strict=True) if not cell.certain]
    if len({len(cell.values) for _, cell in noisy}) == 1 and len(noisy[0][1].values) > 1:
        runs = np.sum([weight * np.array(cell.values) for weight, cell in noisy], axis=0)
        error = float(np.std(runs, ddof=1)) / math.sqrt(len(runs))
        single = tuple((runs - runs.mean() + gap).tolist())  # with what has no noise
        return Contrast(gap, error if error > ROUNDING else 0.0, len(runs) - 1, single)
    variances = [(weight * cell.error) ** 2 for weight, cell in noisy]
    total = sum(variances)
    if not 0 < total < math.inf:
        return Contrast(gap, math.sqrt(total))
    spread = sum(variance**2 / cell.freedom for variance, (_, cell) in zip(variances, noisy, strict=True) if variance)
    return Contrast(gap, math.sqrt(total), total**2 / spread)


def difference(here: Cell, there: Cell) -> Contrast:
    """Return the mean of one point less that of another."""
    return combined((1.0, -1.0), (here, there))


def pooled(contrasts: Sequence[Contrast]) -> Contrast:
    """Return the mean of contrasts, run by run where all have as many; otherwise as if all of them moved together."""
    gap = sum(contrast.gap for contrast in contrasts) / len(contrasts)
    noisy = [contrast for contrast in contrasts if contrast.error]
    if not noisy:
        return Contrast(gap)
    if len({len(contrast.runs) for contrast in noisy}) == 1 and noisy[0].runs:
        runs = np.sum([contrast.runs for contrast in noisy], axis=0) / len(contrasts)
        error = float(np.std(runs, ddof=1)) / math.sqrt(len(runs))
        return Contrast(gap, error, len(runs) - 1, tuple((runs - runs.mean() + gap).tolist()))
    error = sum(contrast.error for contrast in contrasts) / len(contrasts)
    return Contrast(gap, error, min(contrast.freedom for contrast in noisy))


def judged(contrasts: Sequence[Contrast], words: str, pool: Sequence[str] = (), details: str = "") -> Verdict:
    """Return the verdict on a statement that needs all contrasts to be positive.

    ``pool`` names what each contrast may be pooled with, such as its rival; without it none has a mean that means anything. The
    figures that decide follow the ``words``; ``details`` are kept apart.
    """
    if not contrasts:
        return Verdict("not measured")
    wholes = _pools(contrasts, pool) if len(contrasts) > 1 else []
    if wholes:
        words = _joined(words, f"pooled {'' if len(wholes) == 1 else 'least '}{min(wholes, key=_clarity)}")
    failing = [contrast for contrast in contrasts if contrast.fails(len(contrasts))]
    if failing:
        return Verdict("does not", _joined(words, f"worst place {min(failing, key=_clarity)}"), details)
    if any(whole.fails(len(wholes)) for whole in wholes):
        return Verdict("does not", words, details)
    clear = sum(contrast.holds for contrast in contrasts) >= MOST * len(contrasts)
    if clear and all(contrast.gap > 0 for contrast in contrasts):
        return Verdict("holds", words, details)
    if wholes and all(whole.holds for whole in wholes):
        return Verdict("holds", words, details)
    return Verdict("cannot be told", _joined(words, _settled(contrasts, wholes)), details)


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def counted(contrasts: Sequence[Contrast]) -> str:
    """Return in how many places contrasts are significant."""
    right, wrong = sum(c.holds for c in contrasts), sum(c.fails(len(contrasts)) for c in contrasts)
    return f"significant in {right}, significantly wrong in {wrong}"


def _pools(contrasts: Sequence[Contrast], pool: Sequence[str]) -> list[Contrast]:
    """Return the pooled contrast of each name."""
    groups: dict[str, list[Contrast]] = {}
    for name, contrast in zip(pool, contrasts, strict=bool(pool)):
        groups.setdefault(name, []).append(contrast)
    return [pooled(group) for group in groups.values()]


def _clarity(contrast: Contrast) -> float:
    """Return the gap in standard errors."""
    return contrast.gap / contrast.error if contrast.error else -math.inf


def _settled(contrasts: Sequence[Contrast], wholes: Sequence[Contrast]) -> str:
    """Return what would settle a sentence that cannot be told: the runs that it takes at the means and spreads so far."""
    if any(math.isinf(contrast.error) for contrast in contrasts):
        return "a second run of every point would give it an error"
    wrong = [contrast.needed(len(contrasts)) for contrast in contrasts if contrast.gap <= 0]
    right = sorted(contrast.needed() for contrast in contrasts)
    needed = [min(wrong) if wrong else right[math.ceil(MOST * len(right)) - 1]]
    if wholes:
        needed.append(max(whole.needed() for whole in wholes))
    runs = min(needed)
    if runs > MANY:
        nearest = min(contrasts, key=lambda contrast: abs(contrast.gap))
        return f"a tie for this many runs: nearest {nearest}, more than {MANY} runs would tell"
    return f"about {math.ceil(runs)} runs of every point would tell"


def cells_of(results: Measured, form: Form, label: str, panel: Panel) -> dict[float, Cell]:
    """Return the points of one curve by x, those that were measured."""
    cells = {x: results.cell(panel, label, form, x) for x in results.experiment.axis.values}
    return {x: cell for x, cell in cells.items() if cell is not None}


def above(first: str, others: Sequence[str], *, panels: Sequence[str] = EVERY, by: float = 0.0) -> Check:
    """Return the check that one method is above all others (by at least so much) in every panel at every x."""

    def check(results: Measured, form: Form) -> Verdict:
        found = [
            (other, difference(here, there))
            for other in others
            for here, there in _pairs(results, form, first, other, panels)
        ]
        return compared([gap for _, gap in found], by, [other for other, _ in found])

    return check


def compared(gaps: Sequence[Contrast], by: float = 0.0, rivals: Sequence[str] = ()) -> Verdict:
    """Return whether every gap is more than ``by``, with how many are and how large they are; gaps to one rival are pooled."""
    if not gaps:
        return Verdict("not measured")
    contrasts = [gap + -by for gap in gaps]
    sizes = [gap.gap for gap in gaps]
    words = f"above in {sum(size > by for size in sizes)} of {len(sizes)} places"
    details = f"{counted(contrasts)}; {min(sizes):+.3f} to {max(sizes):+.3f}, {sum(sizes) / len(sizes):+.3f} on average"
    return judged(contrasts, words, rivals or ["all"] * len(gaps), details)


def _pairs(results: Measured, form: Form, first: str, other: str, panels: Sequence[str]) -> Iterator[tuple[Cell, Cell]]:
    """Yield the runs of one method and of another, place by place."""
    for panel in panels_of(results, panels):
        here, there = (cells_of(results, form, label, panel) for label in (first, other))
        yield from ((here[x], there[x]) for x in here if x in there)


def above_majority(label: str, *, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that a method is above the majority rule everywhere."""
    return above(label, list(MAJORITY), panels=panels)


def rises(label: str, *, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that a curve rises with the axis in every panel: its fitted line, over all points, is clearly up.

    A line that clearly changes by less than ``FLAT`` from the first point to the last does not rise.
    """
    return _trend(label, panels, 1.0)


def falls(label: str, *, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that a curve falls with the axis in every panel; see ``rises``."""
    return _trend(label, panels, -1.0)


def trend(cells: Sequence[Cell]) -> Contrast:
    """Return the change from the first to the last of some points on the line fitted to them, evenly spaced."""
    places = np.arange(len(cells)) - (len(cells) - 1) / 2
    weights = places / (places @ places) * (len(cells) - 1)
    return combined(weights.tolist(), cells)


def _trend(label: str, panels: Sequence[str], sign: float) -> Check:
    def check(results: Measured, form: Form) -> Verdict:
        words, contrasts = [], []
        for panel in panels_of(results, panels):
            cells = list(cells_of(results, form, label, panel).values())
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

    return check


def less_flat(change: Contrast, contrasts: int = 1) -> Contrast:
    """Return a change; if it is clearly less than ``FLAT``, what is missing of that."""
    return change + -FLAT if change.gap + change.bound(LEVEL / contrasts) < FLAT else change


def closest(label: str, others: Sequence[str], target: str, *, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that of all methods one is closest to another, in every panel at every x."""

    def check(results: Measured, form: Form) -> Verdict:
        contrasts, pool, nearest, own = [], [], [], []
        for panel in panels_of(results, panels):
            curves = {name: cells_of(results, form, name, panel) for name in (label, *others, target)}
            for x in results.experiment.axis.values:
                if not all(x in cells for cells in curves.values()):
                    continue
                goal = curves[target][x]
                far = {name: abs(curves[name][x].mean - goal.mean) for name in (label, *others)}
                nearest.append(min(far, key=lambda name: far[name]))
                own.append(far[label])
                for name in others:  # the target's own error is in both distances; that of the methods remains
                    noise = difference(curves[label][x], curves[name][x])
                    contrasts.append(Contrast(far[name] - far[label], noise.error, noise.freedom))
                    pool.append(name)
        if not contrasts:
            return Verdict("not measured")
        ranks = ", ".join(f"{name} {count}" for name, count in Counter(nearest).most_common())
        words = f"closest in {nearest.count(label)} of {len(nearest)} places"
        return judged(contrasts, words, pool, f"{ranks}; {min(own):.3f} to {max(own):.3f} away")

    return check


def _near(cell: Cell, value: float, tolerance: float) -> Contrast:
    """Return how far inside the tolerance around a number a point lies."""
    return Contrast(tolerance - abs(cell.mean - value), cell.error, cell.freedom)


def is_near(label: str, panel: str, x: float, value: float, tolerance: float = 0.02) -> Check:
    """Return the check that a method meets a number which the paper prints, above or below, within a tolerance.

    If the majority rule, which reads nothing, meets it too, the number does not show that the method works: that cannot be told.
    """

    def check(results: Measured, form: Form) -> Verdict:
        here = panels_of(results, [panel])
        cell = results.cell(here[0], label, form, x) if here else None
        if cell is None:
            return Verdict("not measured")
        words = f"{cell.mean:.3f} ± {cell.spread:.3f}, {cell.mean - value:+.3f} from the paper's {value:.3f}"
        verdict = judged([_near(cell, value, tolerance)], words)
        for rule in MAJORITY:
            trivial = results.cell(here[0], rule, form, x)
            if verdict.answer == "holds" and trivial is not None and abs(trivial.mean - value) <= tolerance:
                also = f"the {rule} meets it too ({trivial.mean:.3f}): a number that it misses would tell"
                return Verdict("cannot be told", f"{words}; {also}")
        return verdict

    return check


def near_reported(tolerance: float, *, anywhere: bool = False, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that every number which the paper prints is met within a tolerance, above or below.

    With ``anywhere`` a number that stands in several panels, since the paper does not name its data set, is met where it is met
    in one of them.
    """

    def check(results: Measured, form: Form) -> Verdict:
        found: dict[tuple[object, ...], list[tuple[Contrast, float]]] = {}
        chosen = panels_of(results, panels)
        for number in results.experiment.reported:
            cell = results.cell(number.panel, number.label, form, number.x) if number.panel in chosen else None
            if cell is not None:
                place = None if anywhere else number.panel, number.label, number.x
                near = _near(cell, number.value, tolerance)
                found.setdefault(place, []).append((near, cell.mean - number.value))
        nearest = [max(candidates, key=lambda pair: pair[0].gap) for candidates in found.values()]
        if not nearest:
            return Verdict("not measured")
        gaps = [gap for _, gap in nearest]
        words = (
            f"{sum(abs(gap) <= tolerance for gap in gaps)} of {len(gaps)} numbers; ours less the paper's is {min(gaps):+.3f} to "
            f"{max(gaps):+.3f}"
        )
        return judged([contrast for contrast, _ in nearest], words)

    return check


def steady(label: str, most: float, *, panels: Sequence[str] = EVERY) -> Check:
    """Return the check that any two points of a curve differ by so much at most, in every panel."""

    def check(results: Measured, form: Form) -> Verdict:
        contrasts, words = [], []
        for panel in panels_of(results, panels):
            cells = sorted(cells_of(results, form, label, panel).values(), key=lambda cell: cell.mean)
            if len(cells) > 1:
                size = difference(cells[-1], cells[0])
                contrasts.append(-size + most)
                words.append(f"{panel.name}: {size.gap:.3f} ± {size.error:.3f}")
        return judged(contrasts, f"moves by {'; '.join(words)}")

    return check
