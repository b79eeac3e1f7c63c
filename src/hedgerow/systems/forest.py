"""The private forest with all its parts as parameters."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from hedgerow.class_weights import ClassWeights
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Plan, PrivateClassifier, PublicCoins
from hedgerow.ledgers.ledger import Ledger
from hedgerow.mechanisms import SELECTIONS, Exponential, PermuteAndFlip
from hedgerow.parameters import Choice, ClassNumbers, Constraint, Integer, RandomSource
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Schema
from hedgerow.scores import SCORES, Score
from hedgerow.survey import FINE, SurveyRecipe
from hedgerow.systems.size import ENOUGH, LITTLE
from hedgerow.trees import (
    AllRecords,
    Assignment,
    Binary,
    CandidateRule,
    ForestPlan,
    Geometric,
    Grouped,
    Harmonic,
    Leaf,
    LeafShare,
    Levels,
    Linear,
    Mixed,
    Multiway,
    NoisyCounts,
    NoisyHistograms,
    NoisyMinority,
    NoisySize,
    PerRecord,
    Poisson,
    RandomTest,
    Recipe,
    SelectCutsThenTest,
    SelectLabel,
    SelectTest,
    Split,
    Stop,
    Subspace,
    SurveyedForestPlan,
    Uniform,
)

__all__ = ["ASSIGNMENTS", "ForestClassifier"]

ASSIGNMENTS: Mapping[str, Assignment] = {"per-record": PerRecord(), "all-records": AllRecords(), "poisson": Poisson()}
CANDIDATES: Mapping[str, CandidateRule] = {
    "multiway": Multiway(),
    "binary": Binary(),
    "mixed": Mixed(),
    "grouped": Grouped(),
}
LEVELS: Mapping[str, Levels] = {
    "harmonic": Harmonic(),
    "uniform": Uniform(),
    "linear": Linear(),
    "arithmetic": Linear(Fraction(1), Fraction(0)),
    "geometric": Geometric(),
    "leaf-half": LeafShare(),
}
STOPS: Mapping[str, Stop | None] = {"none": None, "noisy-minority": NoisyMinority(), "noisy-size": NoisySize()}
SUBSPACES: Mapping[str, Subspace | None] = {"all": None, "sqrt": Subspace()}


class ForestClassifier(PrivateClassifier):
    """Differentially private trees put together from parts: an ablation is one argument.

    Releases  the bins of numeric features, and ``n_estimators`` trees with noisy class counts or a label in each leaf.
    Costs     ``epsilon``, pure: 2 % for the survey, where it places the bins of a feature; the levels of a path share
              what the assignment leaves of the rest to a tree (docs/proofs/forest.md).

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
        The most bins of a numeric feature. None: 5 with multiway tests, 10 with binary ones.
    bins : {"survey", "equal-width"}
        Whether a survey of where the records are places the bins, or they have one width.
    assignment : {"all-records", "per-record", "poisson"}
        Every tree reads all records at an equal part of the budget; or each record is in one tree, by its own coin, at the
        whole budget; or every tree reads a sample in which each record is with probability 1/2.
    candidates : {"auto", "binary", "multiway", "mixed", "grouped"}
        Tests with two branches (a cut, one value against the rest), which a path may use again; one branch for each code,
        each feature once on a path; cuts of numeric features and one branch for each code of the others; or cuts only, of
        categories in the order of noisy counts by class that a tenth of the budget buys. Auto: multiway below a budget of
        0.25, otherwise binary.
    criterion : {"gini", "max", "information-gain", "error"}
        What ranks the tests: the Gini score, the records that majority labels would get right, information gain with its
        public cap of 65 536 records, or the records that majority labels would get wrong.
    selection : {"permute-and-flip", "exponential", "cuts-then-test", "random", "noisy-histograms"}
        The mechanism that chooses tests, and labels: permute-and-flip or the exponential mechanism for both; with the latter,
        one selection for each numeric feature and one among the features; at random, reading no record; or by noisy counts of
        every feature, which needs multiway tests. Labels are chosen by permute-and-flip in the last two.
    subspace : {"all", "sqrt"}
        Offer a node all tests, or those of ceil(sqrt(features)) features drawn at random.
    levels : {"harmonic", "uniform", "linear", "arithmetic", "geometric", "leaf-half"}
        How a path's budget is shared among its levels; random tests leave all of it to the leaves.
    stop : {"none", "noisy-minority", "noisy-size"}
        Grow every path to its end, or make a node a leaf where its noisy minority count, or its noisy size, is small.
    leaf : {"counts", "label"}
        What a leaf releases.
    voting : {"soft", "hard"}
        Whether leaves give their class shares to the sum, or one vote; soft needs counts. Post-processing.
    class_weight : dict of class to float, or None
        What the classes count, positive numbers of which the ratios matter; a class that is left out counts 1. Every leaf's
        noisy counts are multiplied by them, so it needs counts; tests are chosen without them. ``predict_proba`` is the share of
        weighted records. It is post-processing and costs nothing, and must be public knowledge: "balanced" is refused.
        ``HedgerowClassifier`` is the other system that takes it.
    adjacency, records_per_person, random_state, ledger
        See ``EDPRFClassifier``.

    Attributes
    ----------
    classes_, schema_, certificate_, n_features_in_
        See ``PrivateClassifier``.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.ForestClassifier(epsilon=1.0, schema=schema, n_estimators=3, selection="exponential").fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "assignment": Choice(tuple(ASSIGNMENTS)),
        "candidates": Choice(("auto", *CANDIDATES)),
        "criterion": Choice(tuple(SCORES)),
        "selection": Choice((*SELECTIONS, "cuts-then-test", "random", "noisy-histograms")),
        "subspace": Choice(tuple(SUBSPACES)),
        "levels": Choice(tuple(LEVELS)),
        "stop": Choice(tuple(STOPS)),
        "leaf": Choice(("label", "counts")),
        "voting": Choice(("hard", "soft")),
        "n_estimators": Integer(1, 100_000, or_none=True),
        "max_depth": Integer(0, 64, or_none=True),
        "max_bins": Integer(2, FINE, or_none=True),
        "bins": Choice(("survey", "equal-width")),
        "class_weight": ClassNumbers(),
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        n_estimators: int | None = None,
        max_depth: int | None = None,
        max_bins: int | None = None,
        bins: str = "survey",
        assignment: str = "all-records",
        candidates: str = "auto",
        criterion: str = "gini",
        selection: str = "permute-and-flip",
        subspace: str = "all",
        levels: str = "harmonic",
        stop: str = "none",
        leaf: str = "counts",
        voting: str = "soft",
        class_weight: dict[Any, float] | None = None,
        schema: Schema | None = None,
        adjacency: str = "add-remove",
        records_per_person: int | None = None,
        random_state: RandomSource = None,
        ledger: Ledger | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            schema=schema,
            adjacency=adjacency,
            records_per_person=records_per_person,
            random_state=random_state,
            ledger=ledger,
        )
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.bins = bins
        self.assignment = assignment
        self.candidates = candidates
        self.criterion = criterion
        self.selection = selection
        self.subspace = subspace
        self.levels = levels
        self.stop = stop
        self.leaf = leaf
        self.voting = voting
        self.class_weight = class_weight

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        if self.voting == "soft" and self.leaf == "label":
            raise ConfigurationError(
                "voting is 'soft', but leaves that release a label have no shares; pass leaf='counts' or voting='hard'."
            )
        candidates = self.candidates
        if candidates == "auto":
            candidates = "multiway" if claim.pure < LITTLE else "binary"
        if self.selection == "noisy-histograms" and candidates != "multiway":
            raise ConfigurationError(
                "selection is 'noisy-histograms', which reads a branch for each code; pass candidates='multiway'."
            )
        depth, bins = _default_size(candidates, claim.pure)
        split = _split(self.selection, SCORES[self.criterion])
        leaf: Leaf = NoisyCounts() if self.leaf == "counts" else _label(self.selection)
        recipe = Recipe(
            assign=ASSIGNMENTS[self.assignment],
            candidates=CANDIDATES[candidates],
            levels=LeafShare(Fraction(1)) if self.selection == "random" else LEVELS[self.levels],
            split=split,
            leaf=leaf,
            stop=STOPS[self.stop],
            subspace=SUBSPACES[self.subspace],
            soft=self.voting == "soft",
            weights=self._weights(schema),
        )
        size: dict[str, Any] = {
            "n_estimators": 1 if self.n_estimators is None else self.n_estimators,
            "max_depth": depth if self.max_depth is None else self.max_depth,
            "max_bins": bins if self.max_bins is None else self.max_bins,
        }
        if self.bins == "survey" and any(schema.is_numeric):
            return SurveyedForestPlan(recipe, SurveyRecipe(), schema, claim.pure, **size)
        return ForestPlan(recipe, schema, claim.pure, **size)

    def _weights(self, schema: Schema) -> ClassWeights:
        weights = ClassWeights.of(self.class_weight, schema)
        if weights and self.leaf == "label":
            raise ConfigurationError(
                "class_weight multiplies noisy class counts, but leaves that release a label have none; pass leaf='counts' or "
                "class_weight=None."
            )
        return weights


def _split(selection: str, score: Score) -> Split:
    if selection == "random":
        return RandomTest()
    if selection == "noisy-histograms":
        return NoisyHistograms()
    if selection == "cuts-then-test":
        return SelectCutsThenTest(Exponential, score)
    return SelectTest(SELECTIONS[selection], score)


def _label(selection: str) -> Leaf:
    return SelectLabel(Exponential if selection == "cuts-then-test" else SELECTIONS.get(selection, PermuteAndFlip))


def _default_size(candidates: str, epsilon: Fraction) -> tuple[int, int]:
    """Return tests on a path and bins of a numeric feature for a budget."""
    if candidates == "multiway":
        return (2 if epsilon < LITTLE else 3), 5
    return (2 if epsilon < LITTLE else 5 if epsilon < ENOUGH else 6), 10
