"""A private forest in its parts, and the schedule that they make of a budget.

A schedule is fixed before anything reads a record: it holds the mechanisms of every level and the event of the whole
fit. The grower runs exactly these mechanisms, so what is charged is what is spent.
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import dataclass
from fractions import Fraction

from hedgerow.arrays import Integers
from hedgerow.errors import ConfigurationError
from hedgerow.margins import ClassWeights
from hedgerow.mechanisms import Budget
from hedgerow.mechanisms.noise import MOST_DRAWS
from hedgerow.privacy.events import Event, Parallel, Sequence
from hedgerow.scores import Candidates
from hedgerow.trees.assignments import Assignment, PerRecord, Sampling
from hedgerow.trees.candidates import CandidateRule, Multiway, Sorting
from hedgerow.trees.leaves import Leaf, LeafMechanism, SelectLabel
from hedgerow.trees.levels import Harmonic, Levels
from hedgerow.trees.pruning import PessimisticPruning
from hedgerow.trees.splits import SelectTest, Split, SplitMechanism, Subspace
from hedgerow.trees.stops import Stop, StopMechanism

__all__ = ["Level", "Recipe", "Schedule"]

MOST_CELLS = 1 << 32  # one byte each: the codes that remain for the children of one level


@dataclass(frozen=True)
class Level:
    """What happens to the nodes of one level: first its stop, if there is one, then its split; the last level has no split."""

    number: int
    leaf: LeafMechanism
    stopped_leaf: LeafMechanism
    split: SplitMechanism | None = None
    stop: StopMechanism | None = None


@dataclass(frozen=True, eq=False)
class Schedule:
    """The tests, the sampling, the mechanisms of every level, root first, and what the whole forest costs.

    ``sorting`` is queried before the trees grow, if the tests depend on released counts.
    """

    candidates: Candidates
    sorting: Sorting | None
    sampling: Sampling
    levels: tuple[Level, ...]
    subspace: Subspace | None
    allowance: int
    prune: PessimisticPruning | None
    event: Event

    @property
    def releases_counts(self) -> bool:
        """Whether a leaf releases a count per class, and not a label."""
        return self.levels[-1].leaf.releases_counts


@dataclass(frozen=True)
class Recipe:
    """A private forest in its parts.

    Parameters
    ----------
    assign : Assignment
        Which records each tree reads.
    candidates : CandidateRule
        The public tests.
    levels : Levels
        How a path's budget is shared.
    split : Split
        How a node chooses its test.
    leaf : Leaf
        What a leaf releases.
    soft : bool
        Whether leaves with counts vote with class shares instead of one vote; post-processing.
    weights : ClassWeights or None
        The weights of the classes in leaves with counts; None: equal weights. Post-processing.
    stop : Stop or None
        When a node becomes a leaf early; None grows every path to its end.
    subspace : Subspace or None
        The random rule for which tests a node is offered; None offers all.
    prune : PessimisticPruning or None
        How grown trees are pruned, by released counts alone.
    allowance : int
        A public bound on the descendants of a root. A split divides the remaining allowance among its children. A test with
        more branches than that is not offered, and a node without offered tests is a leaf. So features with many categories
        cannot fill the memory, whatever the records are.
    """

    assign: Assignment = PerRecord()
    candidates: CandidateRule = Multiway()
    levels: Levels = Harmonic()
    split: Split = SelectTest()
    leaf: Leaf = SelectLabel()
    soft: bool = False
    weights: ClassWeights | None = None
    stop: Stop | None = None
    subspace: Subspace | None = None
    prune: PessimisticPruning | None = None
    allowance: int = 2**20

    def schedule(
        self,
        epsilon: Fraction | Budget,
        n_codes: Integers,
        is_numeric: Several[bool],
        *,
        n_estimators: int,
        max_depth: int,
        n_classes: int | None = None,
        candidates: Candidates | None = None,
    ) -> Schedule:
        """Return the schedule and the event of a forest with this add/remove budget, for features with these numbers of codes.

        On each path the levels' budgets sum to at most the budget of a tree (docs/proofs/composition.md), since a leaf gets the
        remaining budget of its path. ``n_classes`` bounds the draws of normal noise; None assumes ``MOST_DRAWS``.
        ``candidates`` are the tests, if they were listed before.
        """
        candidates = self.candidates.build(n_codes, is_numeric) if candidates is None else candidates
        budget = epsilon if isinstance(epsilon, Budget) else Budget(epsilon)
        sorting = self.candidates.sorting(budget, is_numeric)
        trees = budget if sorting is None else budget * (1 - self.candidates.share)
        sampling = self.assign.sampling(trees, n_estimators)
        _check_table(sampling.coin.parts * int(candidates.arity.max()) * int(candidates.offsets[-1]), max_depth)
        budgets = self.levels.budgets(sampling.budget, max_depth + 1)
        levels: list[Level] = []
        paths: list[Event] = []
        steps: list[Event] = []
        left = sampling.budget
        for number, part in enumerate(budgets, start=1):
            level = self._level(number, part, left, candidates if number < len(budgets) else None)
            levels.append(level)
            leaves = min(self.allowance + 1, int(candidates.arity.max()) ** (number - 1)) * sampling.coin.parts
            cells = MOST_DRAWS if n_classes is None else leaves * n_classes
            paths.append(Sequence((*steps, level.leaf.event(number, cells))))
            if level.stop is not None:
                steps.append(level.stop.event(number))
                paths.append(Sequence((*steps, level.stopped_leaf.event(number, cells))))
            if level.split is not None:
                steps += level.split.events(number)
            left -= part
        rule = "a record pays for the tests on its path and for what is released of the leaf at its end"
        event = sampling.event(Parallel(tuple(paths), rule))
        if sorting is not None:
            event = Sequence((sorting.event(), event))
        return Schedule(candidates, sorting, sampling, tuple(levels), self.subspace, self.allowance, self.prune, event)

    def _level(self, number: int, budget: Budget, left: Budget, candidates: Candidates | None) -> Level:
        """Return one level's mechanisms; ``left`` is what remains of its path's budget. Without ``candidates`` it is the last."""
        if candidates is None:
            leaf = self.leaf.mechanism(left)
            return Level(number, leaf, leaf)
        stop = None if self.stop is None else self.stop.mechanism(budget)
        asked = budget * (0 if self.stop is None else self.stop.share)
        return Level(
            number,
            leaf=self.leaf.mechanism(left),
            stopped_leaf=self.leaf.mechanism(left - asked),
            split=self.split.mechanism(budget - asked, candidates),
            stop=stop,
        )


def _check_table(cells: int, max_depth: int) -> None:
    """Raise ConfigurationError if the table of the codes that the first tests leave to their children would be too large."""
    if max_depth > 1 and cells > MOST_CELLS:
        raise ConfigurationError(
            f"trees with a branch for each of so many values need a table of {cells / 2**30:.0f} GiB below their first test, "
            f"and {MOST_CELLS / 2**30:.0f} GiB are allowed. Pass max_depth=1, fewer trees, a schema that groups the values, or a "
            'system whose tests have two branches, such as ForestClassifier(candidates="binary").'
        )
