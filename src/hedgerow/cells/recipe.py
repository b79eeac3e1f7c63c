"""What a private release of cells will do, fixed before any record is read: its mechanisms and its event."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hedgerow.mechanisms import Exponential, Geometric, PermuteAndFlip, Selection
from hedgerow.privacy.events import Event, Sequence
from hedgerow.scores import BranchScore

__all__ = ["CellsRecipe", "CellsSchedule", "MergedCuts", "SeparateCuts"]


@dataclass(frozen=True)
class CellsSchedule:
    """The mechanisms of a release and what they cost together.

    Parameters
    ----------
    specializations : int
        How many selections of a specialization there are at most.
    score : BranchScore
        What ranks specializations and cuts.
    step : Selection
        Chooses a specialization.
    cut : Selection or None
        Chooses where an interval may be cut, before its specialization is offered; None where every cut is offered.
    counts : Geometric
        The noise of the cells' class counts.
    event : Event
        All of these.
    """

    specializations: int
    score: BranchScore
    step: Selection
    cut: Selection | None
    counts: Geometric
    event: Event


def _schedule(
    epsilon: Fraction, numeric: int, specializations: int, score: BranchScore, step: Selection, cut: Selection | None
) -> CellsSchedule:
    """Return the schedule whose counts get all that the selections leave."""
    parts = [step.event(f"each of {specializations} specializations", score.detail)] * specializations
    if cut is not None:
        # Every numeric feature has a cut first, and the two halves of a divided interval, which share no record, have the
        # next ones; none is needed after the last specialization.
        asked = numeric + specializations - 1
        parts += [cut.event(f"cuts of intervals, {asked} in all on each path", score.detail)] * asked
    counts = Geometric(epsilon - sum((part.epsilon for part in parts), Fraction(0)))
    event = Sequence((*parts, counts.event("class counts of all cells")))
    return CellsSchedule(specializations, score, step, cut, counts, event)


@dataclass(frozen=True)
class SeparateCuts:
    """DiffGen: a selection chooses where an interval would be cut, and later ones whether it is specialized there.

    Half of the budget is shared by one selection for each of A numeric features and two for each of h specializations, so
    each gets epsilon / (2 (A + 2h)); without numeric features there are no cuts and each gets epsilon / (2h) [our choice].
    """

    selection: type[Selection] = PermuteAndFlip

    def schedule(self, epsilon: Fraction, numeric: int, specializations: int, score: BranchScore) -> CellsSchedule:
        """Return the schedule for a number of numeric features and of specializations."""
        shares = numeric + 2 * specializations if numeric else specializations
        step = self.selection(epsilon / (2 * shares), score.range)
        return _schedule(epsilon, numeric, specializations, score, step, step if numeric else None)


@dataclass(frozen=True)
class MergedCuts:
    """DT-Diff: one selection for each specialization, over all cuts of all intervals and all groups that can be divided.

    Half of the budget is shared by h selections, so each gets epsilon / (2h). The cuts of one interval together weigh as
    much as one group of a categorical feature [our reconstruction].
    """

    selection: type[Selection] = Exponential

    def schedule(self, epsilon: Fraction, numeric: int, specializations: int, score: BranchScore) -> CellsSchedule:
        """Return the schedule for a number of numeric features and of specializations."""
        step = self.selection(epsilon / (2 * specializations), score.range)
        return _schedule(epsilon, numeric, specializations, score, step, None)


@dataclass(frozen=True)
class CellsRecipe:
    """A private release of cells in its parts.

    Parameters
    ----------
    cuts : SeparateCuts or MergedCuts
        How numeric features are cut.
    score : BranchScore
        What ranks specializations.
    max_cells : int
        A public bound: a specialization that would take the number of cells above it is not offered. All cells are
        released, also empty ones, so their number depends on the cut alone.
    """

    cuts: SeparateCuts | MergedCuts
    score: BranchScore
    max_cells: int
