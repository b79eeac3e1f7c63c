"""What a paper says of a figure becomes contrasts: numbers that are positive where it is right, each with a standard error.

``rules.md`` says how they decide. A contradiction at one place is tested at the level of all contrasts together: of many places
that agree by chance alone, one would soon seem to contradict.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t as student

Answer = Literal["holds", "does not", "cannot be told", "not judged", "not measured"]
ANSWERS: tuple[Answer, ...] = ("holds", "does not", "cannot be told", "not judged")
LEVEL = 0.05
MOST = 0.9  # of many places, all of which agree, so many have to agree clearly
ROUNDING = 1e-9  # of sums of values that are kept with four digits
MANY_RUNS = 1000  # a difference that takes more is a tie for this page


@dataclass(frozen=True)
class Cell:
    values: tuple[float, ...]
    certain: bool = False

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float:
        return statistics.stdev(self.values) if len(self.values) > 1 else 0.0

    @property
    def error(self) -> float:
        """The standard error of their mean; infinite of a single run, and of runs with noise that are all the same."""
        if self.certain:
            return 0.0
        return self.spread / math.sqrt(len(self.values)) if self.spread > ROUNDING else math.inf

    @property
    def freedom(self) -> float:
        return math.inf if self.certain else len(self.values) - 1

    def less(self, value: float) -> Contrast:
        return Contrast(self.mean - value, self.error, self.freedom)


@dataclass(frozen=True)
class Verdict:
    answer: Answer
    words: str = ""

    def __str__(self) -> str:
        return f"{self.answer}: {self.words}" if self.words else self.answer


NOT_MEASURED = Verdict("not measured")


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
            return f"{self.gap:+.4f} ({f'the same in {self.count} runs' if self.runs else 'no noise'})"
        if math.isinf(self.error):
            return f"{self.gap:+.4f} (equal runs)" if self.count > 1 else f"{self.gap:+.4f} (one run)"
        return f"{self.gap:+.4f} ± {self.error:.4f} ({self.count} runs)"

    @property
    def count(self) -> int:
        return len(self.runs) or (1 if math.isinf(self.freedom) else math.ceil(self.freedom) + 1)

    @property
    def clarity(self) -> float:
        """The gap in standard errors; without noise it is the least of all."""
        return self.gap / self.error if self.error else -math.inf

    def within(self, tolerance: float) -> Contrast:
        return Contrast(tolerance - abs(self.gap), self.error, self.freedom)


def combined(weights: Sequence[float], cells: Sequence[Cell]) -> Contrast:
    """Return a weighted sum of means; runs of one seed are taken together where all points have as many.

    Runs share their seeds, so that two points may move together or not; otherwise the degrees of freedom are those of Welch and
    Satterthwaite.
    """
    gap = sum(weight * cell.mean for weight, cell in zip(weights, cells, strict=True))
    noisy = [(weight, cell) for weight, cell in zip(weights, cells, strict=True) if not cell.certain]
    if len({len(cell.values) for _, cell in noisy}) == 1 and len(noisy[0][1].values) > 1:
        runs = np.sum([weight * np.array(cell.values) for weight, cell in noisy], axis=0)
        return _of_runs(gap, runs, moving=any(cell.spread > ROUNDING for _, cell in noisy))
    variances = [(weight * cell.error) ** 2 for weight, cell in noisy]
    total = sum(variances)
    if not 0 < total < math.inf:
        return Contrast(gap, math.sqrt(total))
    spread = sum(variance**2 / cell.freedom for variance, (_, cell) in zip(variances, noisy, strict=True) if variance)
    return Contrast(gap, math.sqrt(total), total**2 / spread)


def _of_runs(gap: float, runs: np.ndarray, *, moving: bool = True) -> Contrast:
    """Return a contrast whose runs are moved to the gap, which what has no noise is part of.

    Points that do not move, though noise was drawn, do not show their error: it is infinite.
    """
    error = float(np.std(runs, ddof=1)) / math.sqrt(len(runs))
    values = tuple((runs - runs.mean() + gap).tolist())
    return Contrast(gap, (error if error > ROUNDING else 0.0) if moving else math.inf, len(runs) - 1, values)


def difference(here: Cell, there: Cell) -> Contrast:
    return combined((1.0, -1.0), (here, there))


def trend(cells: Sequence[Cell]) -> Contrast:
    """Return the change from the first to the last of some points on the line fitted to them, evenly spaced."""
    places = np.arange(len(cells)) - (len(cells) - 1) / 2
    weights = places / (places @ places) * (len(cells) - 1)
    return combined(weights.tolist(), cells)


def averaged(cells: Sequence[Cell]) -> Cell:
    """Return the average of several points run by run: the noise of a run, its schedule too, is the same in all of them."""
    certain = all(cell.certain for cell in cells)
    runs = min((len(cell.values) for cell in cells if not cell.certain), default=1)
    rows = [cell.values[:1] * runs if cell.certain else cell.values[:runs] for cell in cells]
    return Cell(tuple(statistics.fmean(values) for values in zip(*rows, strict=True)), certain)


def pooled(contrasts: Sequence[Contrast]) -> Contrast:
    """Return the mean of contrasts, run by run where all have as many; otherwise as if all of them moved together."""
    gap = sum(contrast.gap for contrast in contrasts) / len(contrasts)
    noisy = [contrast for contrast in contrasts if contrast.error]
    if not noisy:
        return Contrast(gap)
    if len({len(contrast.runs) for contrast in noisy}) == 1 and noisy[0].runs:
        runs = np.sum([contrast.runs for contrast in noisy], axis=0) / len(contrasts)
        return _of_runs(gap, runs, moving=any(math.isfinite(contrast.error) for contrast in noisy))
    error = sum(contrast.error for contrast in contrasts) / len(contrasts)
    return Contrast(gap, error, min(contrast.freedom for contrast in noisy))


def judged(contrasts: Sequence[Contrast], words: str, pool: Sequence[str] = ()) -> Verdict:
    """Return the verdict on a statement that needs all contrasts to be positive; the figures that decide follow the ``words``.

    ``pool`` names what each contrast may be pooled with, such as its rival; without it none has a mean that means anything.
    """
    groups: dict[str, list[Contrast]] = {}
    for name, contrast in zip(pool, contrasts, strict=bool(pool)):
        groups.setdefault(name, []).append(contrast)
    wholes = [pooled(group) for group in groups.values()] if len(contrasts) > 1 else []
    if wholes:
        least = min(wholes, key=lambda whole: whole.clarity)
        words = joined(words, f"pooled {'' if len(wholes) == 1 else 'least '}{least}")
    failing = [contrast for contrast in contrasts if contrast.fails(len(contrasts))]
    if failing:
        words = joined(words, f"worst place {min(failing, key=lambda contrast: contrast.clarity)}")
    if failing or any(whole.fails(len(wholes)) for whole in wholes):
        return Verdict("does not", words)
    clear = sum(contrast.holds for contrast in contrasts) >= MOST * len(contrasts)
    right = clear and all(contrast.gap > 0 for contrast in contrasts)
    if right or (wholes and all(whole.holds for whole in wholes)):
        return Verdict("holds", words)
    return Verdict("cannot be told", joined(words, _what_would_tell(contrasts, wholes)))


def joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def low_to_high(numbers: Sequence[float], digits: str = "+.4f") -> str:
    ends = dict.fromkeys(f"{number:{digits}}" for number in (min(numbers), max(numbers)))
    return " to ".join(ends)


def _what_would_tell(contrasts: Sequence[Contrast], wholes: Sequence[Contrast]) -> str:
    """Return how many runs would settle a sentence that cannot be told, at the means and spreads so far."""
    if not all(math.isfinite(contrast.error) for contrast in contrasts):
        return "runs that differ would give it an error"

    def needed(contrast: Contrast, places: int = 1) -> float:
        return contrast.count * (contrast.bound(LEVEL / places) / abs(contrast.gap)) ** 2 if contrast.gap else math.inf

    wrong = [needed(contrast, len(contrasts)) for contrast in contrasts if contrast.gap <= 0]
    right = sorted(map(needed, contrasts))
    runs = min(wrong) if wrong else right[math.ceil(MOST * len(right)) - 1]
    if wholes:
        runs = min(runs, max(map(needed, wholes)))
    if runs > MANY_RUNS:
        nearest = min(contrasts, key=lambda contrast: abs(contrast.gap))
        return f"a tie for this many runs: nearest {nearest}, more than {MANY_RUNS} runs would tell"
    return f"about {math.ceil(runs)} runs of every point would tell"
