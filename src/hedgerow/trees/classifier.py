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
from hedgerow.scores import Gini, Max, Score
from hedgerow.trees.forest import ForestPlan
from hedgerow.trees.levels import Harmonic, LeafShare, Levels, Uniform
from hedgerow.trees.recipe import (
    AllRecords,
    Assignment,
    Binary,
    CandidateRule,
    Leaf,
    Multiway,
    NoisyCounts,
    NoisyMinority,
    PerRecord,
    Poisson,
    Recipe,
    SelectLabel,
    SelectTest,
)

__all__ = ["ForestClassifier"]

ASSIGNMENTS: Mapping[str, Assignment] = {"per-record": PerRecord(), "all-records": AllRecords(), "poisson": Poisson()}
CANDIDATES: Mapping[str, CandidateRule] = {"multiway": Multiway(), "binary": Binary()}
SCORES: Mapping[str, Score] = {"gini": Gini(), "max": Max()}
SELECTIONS: Mapping[str, type[Selection]] = {"permute-and-flip": PermuteAndFlip, "exponential": Exponential}
LEVELS: Mapping[str, Levels] = {"harmonic": Harmonic(), "uniform": Uniform(), "leaf-half": LeafShare()}
STOPS: Mapping[str, NoisyMinority | None] = {"none": None, "noisy-minority": NoisyMinority()}


class ForestClassifier(PrivateClassifier):
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "assignment": Choice(tuple(ASSIGNMENTS)),
        "candidates": Choice(tuple(CANDIDATES)),
        "score": Choice(tuple(SCORES)),
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
        candidates: str = "binary",
        score: str = "gini",
        selection: str = "permute-and-flip",
        levels: str = "leaf-half",
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
        self.score = score
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
        selection = SELECTIONS[self.selection]
        leaf: Leaf = NoisyCounts() if self.leaf == "counts" else SelectLabel(selection)
        recipe = Recipe(
            assign=ASSIGNMENTS[self.assignment],
            candidates=CANDIDATES[self.candidates],
            levels=LEVELS[self.levels],
            split=SelectTest(selection, SCORES[self.score]),
            leaf=leaf,
            stop=STOPS[self.stop],
            soft=self.voting == "soft",
        )
        return ForestPlan(
            recipe,
            schema,
            epsilon,
            n_estimators=self.n_estimators or 1,
            max_depth=4 if self.max_depth is None else self.max_depth,
            max_bins=self.max_bins or 8,
        )
