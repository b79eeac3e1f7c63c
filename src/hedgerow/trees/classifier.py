"""The private forest with all its parts as parameters."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Plan, PrivateClassifier
from hedgerow.mechanisms import Exponential, PermuteAndFlip, Selection
from hedgerow.parameters import Choice, Constraint, Integer
from hedgerow.privacy.ledger import Ledger
from hedgerow.schema import Schema
from hedgerow.scores import Error, Gini, InformationGain, Max, Score
from hedgerow.trees import (
    AllRecords,
    Assignment,
    Binary,
    CandidateRule,
    ForestPlan,
    Grouped,
    Harmonic,
    Leaf,
    LeafShare,
    Levels,
    Mixed,
    Multiway,
    NoisyCounts,
    NoisyMinority,
    NoisySize,
    PerRecord,
    Poisson,
    Recipe,
    SelectLabel,
    SelectTest,
    Stop,
    Subspace,
    Uniform,
)

__all__ = ["ForestClassifier"]

ASSIGNMENTS: Mapping[str, Assignment] = {"per-record": PerRecord(), "all-records": AllRecords(), "poisson": Poisson()}
CANDIDATES: Mapping[str, CandidateRule] = {
    "multiway": Multiway(),
    "binary": Binary(),
    "mixed": Mixed(),
    "grouped": Grouped(),
}
SCORES: Mapping[str, Score] = {
    "gini": Gini(),
    "max": Max(),
    "information-gain": InformationGain(),
    "error": Error(),
}
SELECTIONS: Mapping[str, type[Selection]] = {"permute-and-flip": PermuteAndFlip, "exponential": Exponential}
LEVELS: Mapping[str, Levels] = {"harmonic": Harmonic(), "uniform": Uniform(), "leaf-half": LeafShare()}
LITTLE, ENOUGH = Fraction(1, 4), Fraction(1, 2)  # budgets from which finer trees are worth their noise
STOPS: Mapping[str, Stop | None] = {"none": None, "noisy-minority": NoisyMinority(), "noisy-size": NoisySize()}
SUBSPACES: Mapping[str, Subspace | None] = {"all": None, "sqrt": Subspace()}


class ForestClassifier(PrivateClassifier):
    """Differentially private trees put together from parts: an ablation is one argument.

    Releases  ``n_estimators`` trees, with noisy class counts or a label in each leaf.
    Costs     ``epsilon``, pure: the levels of a path share what the assignment leaves to a tree (docs/proofs/forest.md).

    The defaults are one tree on all records whose leaves give class shares, chosen by the comparison of
    docs/decisions/0008-forest-defaults.md; they depend on the add/remove budget and on nothing else.

    Parameters
    ----------
    epsilon : float, default 1.0
        The total privacy budget, read as its shortest decimal.
    schema : Schema or None
        What is public about the data. None infers it from the records, which voids the guarantee.
    n_estimators : int or None
        Number of trees. None: 1.
    max_depth : int or None
        Tests on a path. None: 2 below a budget of 0.25, 5 below 0.5, otherwise 6; with multiway tests 2 below 0.25, else 3.
    max_bins : int or None
        Equal-width bins of a numeric feature. None: 5 with multiway tests, 10 with binary ones.
    assignment : {"all-records", "per-record", "poisson"}
        Every tree reads all records at an equal part of the budget; or each record is in one tree, by its own coin, at the
        whole budget; or every tree reads a sample in which each record is with probability 1/2.
    candidates : {"auto", "binary", "multiway"}
        Tests with two branches (a cut, one value against the rest), which a path may use again; or one branch for each code,
        each feature once on a path. Auto: multiway below a budget of 0.25, otherwise binary.
    criterion : {"gini", "max"}
        What ranks the tests: the Gini score or the records that majority labels would get right.
    selection : {"permute-and-flip", "exponential"}
        The mechanism that chooses tests, and labels.
    levels : {"harmonic", "uniform", "leaf-half"}
        How a path's budget is shared among its levels.
    stop : {"none", "noisy-minority"}
        Grow every path to its end, or make a node a leaf where its noisy minority count is small.
    leaf : {"counts", "label"}
        What a leaf releases.
    voting : {"soft", "hard"}
        Whether leaves give their class shares to the sum, or one vote; soft needs counts. Post-processing.
    adjacency, random_state, ledger
        See ``EDPRFClassifier``.

    Attributes
    ----------
    classes_, schema_, certificate_, n_features_in_
        See ``PrivateClassifier``.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "assignment": Choice(tuple(ASSIGNMENTS)),
        "candidates": Choice(("auto", *CANDIDATES)),
        "criterion": Choice(tuple(SCORES)),
        "selection": Choice(tuple(SELECTIONS)),
        "levels": Choice(tuple(LEVELS)),
        "stop": Choice(tuple(STOPS)),
        "leaf": Choice(("label", "counts")),
        "voting": Choice(("hard", "soft")),
        "n_estimators": Integer(1, 100_000, or_none=True),
        "max_depth": Integer(0, 64, or_none=True),
        "max_bins": Integer(2, 1024, or_none=True),
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        schema: Schema | None = None,
        n_estimators: int | None = None,
        max_depth: int | None = None,
        max_bins: int | None = None,
        assignment: str = "all-records",
        candidates: str = "auto",
        criterion: str = "gini",
        selection: str = "permute-and-flip",
        levels: str = "harmonic",
        stop: str = "none",
        leaf: str = "counts",
        voting: str = "soft",
        adjacency: str = "add-remove",
        random_state: Any = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.assignment = assignment
        self.candidates = candidates
        self.criterion = criterion
        self.selection = selection
        self.levels = levels
        self.stop = stop
        self.leaf = leaf
        self.voting = voting
        self.adjacency = adjacency
        self.random_state = random_state
        self.ledger = ledger

    def _plan(self, schema: Schema, epsilon: Fraction) -> Plan:
        if self.voting == "soft" and self.leaf == "label":
            raise ConfigurationError(
                "voting is 'soft', but leaves that release a label have no shares; pass leaf='counts' or voting='hard'."
            )
        candidates = self.candidates
        if candidates == "auto":
            candidates = "multiway" if epsilon < LITTLE else "binary"
        depth, bins = _default_size(candidates, epsilon)
        selection = SELECTIONS[self.selection]
        leaf: Leaf = NoisyCounts() if self.leaf == "counts" else SelectLabel(selection)
        recipe = Recipe(
            assign=ASSIGNMENTS[self.assignment],
            candidates=CANDIDATES[candidates],
            levels=LEVELS[self.levels],
            split=SelectTest(selection, SCORES[self.criterion]),
            leaf=leaf,
            stop=STOPS[self.stop],
            soft=self.voting == "soft",
        )
        return ForestPlan(
            recipe,
            schema,
            epsilon,
            n_estimators=1 if self.n_estimators is None else self.n_estimators,
            max_depth=depth if self.max_depth is None else self.max_depth,
            max_bins=bins if self.max_bins is None else self.max_bins,
        )


def _default_size(candidates: str, epsilon: Fraction) -> tuple[int, int]:
    """Return tests on a path and bins of a numeric feature for a budget."""
    if candidates == "multiway":
        return (2 if epsilon < LITTLE else 3), 5
    return (2 if epsilon < LITTLE else 5 if epsilon < ENOUGH else 6), 10
