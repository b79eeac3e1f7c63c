"""The private forest with all its parts as parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from hedgerow import trees
from hedgerow.curator.survey import FINE
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Plan, PrivateClassifier, PublicCoins
from hedgerow.mechanisms import SELECTIONS
from hedgerow.parameters import Choice, ClassNumbers, WholeNumber, class_weights, parameter
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Schema
from hedgerow.scores import Gini, Max, Score
from hedgerow.systems.base import CANDIDATES, ENOUGH, LITTLE, Size

ASSIGNMENTS: Mapping[str, trees.Assignment] = {"per-record": trees.PerRecord(), "all-records": trees.AllRecords()}
SCORES: Mapping[str, Score] = {"gini": Gini(), "max": Max()}
LEVELS: Mapping[str, trees.Levels] = {
    "harmonic": trees.Harmonic(),
    "uniform": trees.UNIFORM,
    "leaf-half": trees.LeafShare(),
}
STOPS: Mapping[str, trees.Stop | None] = {"none": None, "noisy-minority": trees.NoisyMinority()}


class ForestClassifier(PrivateClassifier):
    """A configurable differentially private tree or forest, for ablations that change one argument.

    Releases  the bins of numeric features, and ``n_estimators`` trees with noisy class counts or a label in each leaf.
    Costs     ``epsilon``, pure. 2 % pays for the survey, if it places the bins of a feature. The assignment of records decides
              what part of the rest each tree has, and the levels of a path share that part (docs/proofs/forest.md).

    The defaults are one tree on all records whose leaves give class shares. They were chosen by the comparison in
    docs/decisions/0008-forest-defaults.md and depend only on the add/remove budget.

    Parameters
    ----------
    n_estimators : int or None
        Number of trees. None: 1.
    max_depth : int or None
        Maximum number of tests on a path. None: 2 below a budget of 0.25, 5 below 0.5, otherwise 6; with multiway tests, 2 below
        0.25, otherwise 3.
    max_bins : int or None
        Maximum number of bins of a numeric feature. None: 5 with multiway tests, 10 with binary tests.
    bins : {"survey", "equal-width"}
        How bins are placed: by a noisy survey of the records' values, or with equal width.
    assignment : {"all-records", "per-record"}
        Which records each tree reads. "all-records": every tree reads all records with an equal part of the budget.
        "per-record": each record is assigned to one tree at random, and each tree has the whole budget.
    candidates : {"auto", "binary", "multiway"}
        The candidate tests. "binary": two branches (a cut, or one value against the rest); a path may use a feature again.
        "multiway": one branch for each code; a path uses each feature once. "auto": multiway below a budget of 0.25, otherwise
        binary.
    criterion : {"gini", "max"}
        The score that ranks the tests: the Gini score, or the number of records that majority labels classify correctly.
    selection : {"permute-and-flip", "exponential"}
        The mechanism that selects tests and labels.
    levels : {"harmonic", "uniform", "leaf-half"}
        How the levels of a path share its budget.
    stop : {"none", "noisy-minority"}
        "none": every path grows to its end. "noisy-minority": a node whose noisy minority count is small becomes a leaf.
    leaf : {"counts", "label"}
        What a leaf releases.
    voting : {"soft", "hard"}
        What a leaf adds to the forest's sum: its class shares, which require counts, or one vote. It is post-processing.
    class_weight : dict of class to float, or None
        The weight of each class: positive numbers, of which only the ratios matter. A class that is left out has weight 1. The
        weights multiply the noisy counts of every leaf, so they require counts. They do not affect the selection of tests.
        ``predict_proba`` is the share of weighted records. It is post-processing, so it costs nothing. It must be public
        knowledge: "balanced" is refused. ``HedgerowClassifier`` is the other system that takes it.
    """

    n_estimators: int | None = parameter(WholeNumber(1, 100_000, or_none=True), default=None)
    max_depth: int | None = parameter(WholeNumber(0, 64, or_none=True), default=None)
    max_bins: int | None = parameter(WholeNumber(2, FINE, or_none=True), default=None)
    bins: str = parameter(Choice(("survey", "equal-width")), default="survey")
    assignment: str = parameter(Choice(tuple(ASSIGNMENTS)), default="all-records")
    candidates: str = parameter(Choice(("auto", *CANDIDATES)), default="auto")
    criterion: str = parameter(Choice(tuple(SCORES)), default="gini")
    selection: str = parameter(Choice(tuple(SELECTIONS)), default="permute-and-flip")
    levels: str = parameter(Choice(tuple(LEVELS)), default="harmonic")
    stop: str = parameter(Choice(tuple(STOPS)), default="none")
    leaf: str = parameter(Choice(("label", "counts")), default="counts")
    voting: str = parameter(Choice(("hard", "soft")), default="soft")
    class_weight: dict[Any, float] | None = parameter(ClassNumbers(), default=None)

    _former: ClassVar[Mapping[str, object]] = {"subspace": "all"}

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        if self.voting == "soft" and self.leaf == "label":
            raise ConfigurationError(
                "voting is 'soft', but leaves that release a label have no shares; pass leaf='counts' or voting='hard'."
            )
        weights = class_weights(self.class_weight, schema)
        if min(weights) < 1 and self.leaf == "label":
            raise ConfigurationError(
                "class_weight multiplies noisy class counts, but leaves that release a label have none; pass leaf='counts' or "
                "class_weight=None."
            )
        candidates, epsilon = self.candidates, claim.pure
        if candidates == "auto":
            candidates = "multiway" if epsilon < LITTLE else "binary"
        if candidates == "multiway":
            default = Size(1, 2 if epsilon < LITTLE else 3, 5)
        else:
            default = Size(1, 2 if epsilon < LITTLE else 5 if epsilon < ENOUGH else 6, 10)
        selection = SELECTIONS[self.selection]
        recipe = trees.Recipe(
            assign=ASSIGNMENTS[self.assignment],
            candidates=CANDIDATES[candidates],
            levels=LEVELS[self.levels],
            split=trees.SelectTest(selection, SCORES[self.criterion]),
            leaf=trees.NoisyCounts() if self.leaf == "counts" else trees.SelectLabel(selection),
            stop=STOPS[self.stop],
            soft=self.voting == "soft",
            weights=weights,
        )
        size = asdict(default.of(self))
        if self.bins == "survey" and any(schema.is_numeric):
            return trees.SurveyedForestPlan(recipe, schema, epsilon, **size)
        return trees.ForestPlan(recipe, schema, epsilon, **size)
