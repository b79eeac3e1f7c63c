"""Recipes of shared parts: trees, forests and boosting of papers without a printed form, and a forest of parts of choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any, ClassVar

from hedgerow import trees
from hedgerow.curator.survey import FINE
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Plan, PrivateClassifier, PublicCoins
from hedgerow.mechanisms import SELECTIONS, Exponential
from hedgerow.parameters import Choice, ClassNumbers, WholeNumber, class_weights, parameter
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Schema
from hedgerow.scores import SCORES, Score, binary, mixed, multiway
from hedgerow.systems.base import (
    CANDIDATES,
    ENOUGH,
    LITTLE,
    VOTES,
    BoostedSystem,
    ForestSystem,
    Size,
    TreeSystem,
    by_budget,
)

GAIN = trees.SelectTest(Exponential, SCORES["information-gain"])
# A branch for each code, and levels of one budget; a single tree returns the class shares of its leaf, not one vote.
ID3 = trees.Recipe(
    assign=trees.AllRecords(),
    soft=True,
    candidates=multiway,
    levels=trees.UNIFORM,
    leaf=trees.NoisyCounts(),
    split=trees.NoisyHistograms(),
)


def interval_forest(levels: trees.Levels) -> trees.Recipe:
    """Return a forest that cuts numeric features by the exponential mechanism, for any level budgets."""
    return replace(ID3, soft=False, candidates=mixed, levels=levels, split=trees.SelectTest(Exponential))


class SuLQID3Classifier(TreeSystem):
    """One ID3 tree from noisy counts alone (SuLQ-based ID3).

    Blum, Dwork, McSherry and Nissim, "Practical privacy: the SuLQ framework", PODS 2005; here with pure epsilon.

    Releases  one tree with noisy class counts in each leaf.
    Costs     ``epsilon``, pure: an equal part for each level, and within a level an equal part for the number of records and
              for the counts of each feature by code and class (docs/proofs/id3.md).
    Departs   from the framework. A feature's counts are one query, since a record is in only one of them; SuLQ
              queries each count separately. A leaf gets all of the budget that its path has not spent.
    Defaults  2 tests on a path, 5 bins [our choice].
    """

    _private_size = Size(1, 2, 5)

    def _private(self, schema: Schema, depth: int) -> trees.Recipe:
        return replace(ID3, stop=trees.NoisySize(Fraction(1, 1 + len(schema.names))))


class PINQID3Classifier(TreeSystem):
    """One ID3 tree from noisy counts of partitions (PINQ-based ID3).

    McSherry, "Privacy integrated queries", SIGMOD 2009, with the tree of Friedman and Schuster, KDD 2010.

    Releases  one tree with noisy class counts in each leaf.
    Costs     ``epsilon``, pure: an equal part for each level. Half of it is for the number of records of a node, half is shared
              by the counts of the features by code and class (docs/proofs/id3.md).
    Departs   from the paper. The number of records with a code is the sum over the classes and not another query. A
              leaf gets all of the budget that its path has not spent.
    Defaults  2 tests on a path, 5 bins [our choice].
    """

    _private_size = Size(1, 2, 5)
    _recipe = replace(ID3, stop=trees.NoisySize())


class DiffPID3Classifier(TreeSystem):
    """One ID3 tree whose tests are selected by the exponential mechanism (DiffP-ID3).

    Friedman and Schuster, "Data mining with differential privacy", KDD 2010.

    Releases  one tree with noisy class counts in each leaf.
    Costs     ``epsilon``, pure: an equal part for each level, half of it for a noisy number of records that stops small nodes,
              half for the test (docs/proofs/id3.md).
    Departs   from the paper. The information gain has a public cap in place of the number of records. Selections use
              the one-sided range, which doubles their signal. A leaf gets all of the budget that its path has not spent.
    Defaults  3 tests on a path, 5 bins [our choice].
    """

    _private_size = Size(1, 3, 5)
    _recipe = replace(ID3, split=GAIN, stop=trees.NoisySize())
    _former: ClassVar[Mapping[str, object]] = {"criterion": "information-gain"}


class DiffPC45Classifier(TreeSystem):
    """One C4.5 tree with numeric cuts and pruning on noisy counts (DiffP-C4.5).

    Friedman and Schuster, "Data mining with differential privacy", KDD 2010.

    Releases  one tree with noisy class counts in each leaf. The noisy numbers of records of nodes decide the pruning, by C4.5's
              pessimistic error.
    Costs     ``epsilon``, pure: an equal part for each query on a path, at most epsilon in total (docs/proofs/id3.md).
    Departs   from the paper. Cuts lie on the grid of the schema's ranges. One selection, at the one-sided range, ranks all cuts
              and categorical features by the largest class of their branches, where the paper makes n + 1. A leaf gets all of
              the budget that its path has not spent.
    Defaults  4 tests on a path, cuts on a grid of 128 cells [our choice].
    """

    _private_size = Size(1, 4, 128)
    _former: ClassVar[Mapping[str, object]] = {"criterion": "max", "split": "merged", "pruning": "pessimistic"}

    def _private(self, schema: Schema, depth: int) -> trees.Recipe:
        return replace(
            ID3,
            candidates=mixed,
            levels=trees.LeafShare(
                Fraction(2, 2 * depth + 2)
            ),  # a node has two queries, of size and test, and so has a leaf
            split=trees.SelectTest(Exponential, SCORES["max"]),
            stop=trees.NoisySize(Fraction(1, 2)),
            prune=trees.PessimisticPruning(),
        )


class DiffPRFClassifier(ForestSystem):
    """Differentially private random forest of ID3 trees (DiffPRF).

    Patil and Singh, "Differential private random forest", 2014. We know it from short descriptions only, so most settings are
    ours [inferred].

    Releases  ``n_estimators`` trees with noisy class counts in each leaf. A tree votes for the largest class of its leaf.
    Costs     ``epsilon``, pure: an equal part for each tree, and an equal part of that for each level (docs/proofs/diffprf.md).
    Departs   from the paper, in which a record may enter a bootstrap sample several times. Every tree reads all
              records. Selections use the one-sided range, with a public cap on the number of
              records in place of the number. A leaf gets all of the budget that its path has not spent. No noisy number of
              records stops small nodes [our choice].
    Defaults  3 trees of 3 tests, 5 bins [our choice].
    """

    _private_size = Size(3, 3, 5)
    _recipe = replace(ID3, soft=False, split=GAIN, subspace=trees.Subspace())
    _former: ClassVar[Mapping[str, object]] = {"criterion": "information-gain", "assignment": "all-records"}


class DiffPRFsClassifier(ForestSystem):
    """Differentially private random forest that needs no binning (DiffPRFs).

    Mu, Ding, Song and Lu, "DiffPRFs: random forest under differential privacy", 2016.

    Releases  ``n_estimators`` trees with noisy class counts in each leaf. A tree votes for the largest class of its leaf.
    Costs     ``epsilon``, pure: an equal part for each tree, and an equal part of that for each level (docs/proofs/diffprfs.md).
    Departs   from the paper. Every tree reads all records, not a bootstrap sample. Cuts lie on
              the grid of the schema's ranges. One selection, at the one-sided range, replaces the paper's n + 1. A leaf gets
              all of the budget that its path has not spent. No noisy number of records stops small nodes [our choice: the
              papers' rule is inferred, and at epsilon / T it turns roots into leaves].
    Defaults  3 trees of 4 tests, cuts on a grid of 128 cells [our choice].
    """

    _private_size = Size(3, 4, 128)
    _recipe = interval_forest(trees.UNIFORM)
    _former: ClassVar[Mapping[str, object]] = {"split": "merged", "assignment": "all-records"}


class RandomTreesClassifier(ForestSystem):
    """Differentially private forest whose tests are drawn at random, without reading the records.

    Fletcher and Islam, "Differentially private random decision forests using smooth sensitivity", Expert Systems with
    Applications 78, 2017; Holohan, Braghin, Mac Aonghusa and Levacher, diffprivlib 0.6.6, whose tests with two branches these
    are.

    Releases  ``n_estimators`` trees with one label per leaf.
    Costs     ``epsilon``, pure: each record is assigned to one tree at random and pays for one leaf. Permute-and-flip selects
              the leaf's label by the class counts at their one-sided range (docs/proofs/random-trees.md).
    Departs   from both. Records are assigned to trees independently, not by position or in equal parts. Cuts lie on
              the grid of the schema's ranges. The leaf differs from Fletcher and Islam's, whose noise follows the counts and so
              protects nothing.
    Defaults  10 trees of 5 tests, cuts on a grid of 32 cells [our choice].
    """

    _private_size = Size(10, 5, 32)
    _recipe = trees.Recipe(
        assign=trees.PerRecord(),
        candidates=binary,
        levels=trees.LeafShare(Fraction(1)),  # tests cost nothing
        split=trees.RandomTest(),
        leaf=trees.SelectLabel(),
    )
    _former: ClassVar[Mapping[str, object]] = {"rule": "chunks"}


WEIGHTS: Mapping[str, trees.WeightFamily] = {"madaboost": trees.MadaBoost(), "smoothboost": trees.SmoothBoost()}
EQUAL_VOTES = trees.Discrete(level=2.0)  # SmoothBoost's hypotheses have equal votes


class SmoothBoostClassifier(BoostedSystem):
    """Boosting whose weights never exceed 1 and are never normalized, so that one record changes every count by at most 1.

    Domingo and Watanabe, COLT 2000 (MadaBoost); Servedio, JMLR 2003 (SmoothBoost). Bun, Carmosino and Sorrell, COLT 2020, and
    Asadi, Bun, Carmosino et al. 2022 also boost with bounded weights; here they need no projection.

    Releases  ``n_estimators`` trees with noisy weights of the classes in each leaf.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``): an equal part for each round, a share of it for the test and the
              rest for the leaves (docs/proofs/boosting.md).
    Defaults  8 rounds below a budget of 0.5, 60 from 10 on, otherwise 20; 10 bins [our choice].

    Parameters
    ----------
    weights : {"madaboost", "smoothboost"}
        "madaboost": min(1, exp(-margin / 2)), with votes of the log-odds. "smoothboost": SmoothBoost's, with equal votes.
    max_depth : int
        Maximum number of tests on a path. 1 gives stumps.
    candidates : {"multiway", "binary"}
        "multiway": one branch for each code of a feature. "binary": cuts and single values.
    criterion : {"max", "error"}
        The score that ranks the tests: the weight that majority labels classify correctly, or the weight that they misclassify.
    """

    weights: str = parameter(Choice(tuple(WEIGHTS)), default="madaboost")
    max_depth: int = parameter(WholeNumber(1, 16), default=1)
    candidates: str = parameter(Choice(tuple(CANDIDATES)), default="multiway")
    criterion: str = parameter(Choice(("max", "error")), default="max")

    def _private(self) -> trees.BoostingRecipe:
        tree = trees.Recipe(
            assign=trees.AllRecords(),
            candidates=CANDIDATES[self.candidates],
            levels=trees.LeafShare(Fraction(1, 2)),
            split=trees.SelectTest(score=SCORES[self.criterion]),
            leaf=trees.NoisyCounts(),
        )
        votes = EQUAL_VOTES if self.weights == "smoothboost" else VOTES["real"]
        return trees.BoostingRecipe(tree, votes, WEIGHTS[self.weights])

    def _default_size(self, epsilon: Fraction) -> Size:
        return Size(by_budget(epsilon, 8, 20, 60), 1, 10)


ASSIGNMENTS: Mapping[str, trees.Assignment] = {"per-record": trees.PerRecord(), "all-records": trees.AllRecords()}
CRITERIA: Mapping[str, Score] = {name: SCORES[name] for name in ("gini", "max")}
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
    criterion: str = parameter(Choice(tuple(CRITERIA)), default="gini")
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
            split=trees.SelectTest(selection, CRITERIA[self.criterion]),
            leaf=trees.NoisyCounts() if self.leaf == "counts" else trees.SelectLabel(selection),
            stop=STOPS[self.stop],
            soft=self.voting == "soft",
            weights=weights,
        )
        size = asdict(default.of(self))
        if self.bins == "survey" and any(schema.is_numeric):
            return trees.SurveyedForestPlan(recipe, schema, epsilon, **size)
        return trees.ForestPlan(recipe, schema, epsilon, **size)
