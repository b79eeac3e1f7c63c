"""eDPRF as printed: the parts that it is made of, the budgets that it states, and the steps that nothing protects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Event, Parallel, Sequence, Unprotected
from hedgerow.privacy.exact import decimal_text
from hedgerow.published.noise import Permutation, RealPermuteAndFlip
from hedgerow.trees.levels import Harmonic

__all__ = ["FixedSize", "Level", "Recipe"]

GINI_SENSITIVITY = 2  # Delta of equation 12; the score is one-sided, so its range is 2 and not 2 * 2
COUNT_SENSITIVITY = 1  # Delta of equation 15
FLOATS = (
    "the noise is drawn in floating point, whose last digits can betray the scores; what the paper proves about real "
    "numbers does not carry over"
)


@dataclass(frozen=True)
class FixedSize:
    """Each of T trees gets floor(n / T) records; none is in two trees, and the rest is left out.

    Algorithm 4 of the paper, with the size taken from all n records: read literally it shrinks from draw to draw and
    would leave a third of the records unused, against the text (docs/proofs/edprf.md).
    """

    parts: int

    def subsets(self, records: int, randomness: Randomness) -> npt.NDArray[np.int64]:
        """Return the rows of each tree, of shape (parts, floor(records / parts))."""
        order: npt.NDArray[np.int64] = randomness.draw(Permutation(), records)
        size = records // self.parts
        return order[: self.parts * size].reshape(self.parts, size)

    def reasons(self, epsilon: Fraction) -> Iterator[str]:
        """Yield what this step reads unprotected."""
        if self.parts > 1:
            yield (
                f"the records are dealt to {self.parts} trees in subsets of one fixed size: one record added or removed can "
                f"change the size of every subset, a loss of T * epsilon / 2 = {decimal_text(self.parts * epsilon / 2)}"
            )


@dataclass(frozen=True)
class Level:
    """What happens to the nodes of one level; the last level has no split."""

    number: int
    leaf: RealPermuteAndFlip
    split: RealPermuteAndFlip | None


@dataclass(frozen=True)
class Recipe:
    """The published forest in its parts.

    Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025, algorithms 2 to 5. Two steps are no choice here: a node
    of a single class is a leaf, and numeric features are binned within each node.

    Parameters
    ----------
    levels : Harmonic
        How a tree's budget is shared along a path; a leaf gets what its path has left (equations 9 and 10).
    """

    levels: Harmonic = Harmonic()

    def schedule(self, epsilon: Fraction, max_depth: int) -> tuple[Level, ...]:
        """Return the mechanisms of every level, root first, for a tree with this budget."""
        levels = []
        left = epsilon
        for number, budget in enumerate(self.levels.budgets(epsilon, max_depth + 1), start=1):
            split = RealPermuteAndFlip(budget, 2 * GINI_SENSITIVITY) if number <= max_depth else None
            levels.append(Level(number, RealPermuteAndFlip(left, 2 * COUNT_SENSITIVITY), split))
            left -= budget
        return tuple(levels)

    def event(self, levels: tuple[Level, ...], subsets: FixedSize, epsilon: Fraction, *, numeric: bool) -> Event:
        """Return every unprotected step, and the budgets that the paper states for the others."""
        reasons = [*_tree_reasons(levels, numeric), *subsets.reasons(epsilon), FLOATS]
        return Sequence((*map(Unprotected, reasons), _stated(levels)))


def _tree_reasons(levels: tuple[Level, ...], numeric: bool) -> Iterator[str]:
    """Yield what growing a tree reads unprotected."""
    if levels[0].split is None:  # one leaf, whatever the records are
        return
    yield (
        "a node becomes a leaf when its records are of a single class, without noise: whether the model has a split "
        "can depend on one record alone, an infinite loss"
    )
    if numeric:
        yield (
            "numeric features are binned between the least and the largest value of each node's own records, and the "
            "model stores these values, an infinite loss"
        )


def _stated(levels: tuple[Level, ...]) -> Event:
    """Return the budgets that the paper states; every tree has records of its own, so one tree stands for all."""
    paths: list[Event] = []
    steps: list[Event] = []
    for level in levels:
        leaf = level.leaf.event("leaf label, as the paper states it", "class counts", level.number)
        paths.append(Sequence((*steps, leaf)))
        if level.split is not None:
            steps.append(level.split.event("test of a node, as the paper states it", "Gini score", level.number))
    return Parallel(tuple(paths), "a record pays for the tests on its path and for the one label at its end")
