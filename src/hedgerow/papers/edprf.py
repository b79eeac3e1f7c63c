"""eDPRF, its tree, and what its paper compares them with: the traditional tree, Deng's DiffPRF, DiffPRF_linear and TpDPRF."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, replace
from fractions import Fraction
from typing import ClassVar

from hedgerow import trees
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Plan, PublicCoins
from hedgerow.mechanisms import SELECTIONS, Exponential, PermuteAndFlip
from hedgerow.papers.forest import Bootstrap, FixedSize, PaperForest, PaperTree, PrintedForest, Samples, TwoPhases
from hedgerow.papers.noise import RealExponential, RealPermuteAndFlip
from hedgerow.papers.records import cut_ranges, node_bins, schema_bins
from hedgerow.parameters import Choice, WholeNumber, parameter
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Schema
from hedgerow.scores import Gini, mixed, multiway
from hedgerow.systems.base import ENOUGH, Size
from hedgerow.systems.trees import interval_forest

SMALL = trees.NoisyMinority(Fraction(3, 10), Fraction(1, 2))  # docs/decisions/0005-edprf-defaults.md
STOPS: Mapping[str, trees.Stop | None] = {"none": None, "noisy-minority": SMALL}
SHALLOW = 3  # a tree with at most this many tests on a path has no stop, at any budget
MAX_BINS = 5
LEAVES: Mapping[str, trees.Leaf] = {"counts": trees.NoisyCounts(), "label": trees.SelectLabel()}


class PFDPDTClassifier(PaperTree):
    """One differentially private decision tree by permute-and-flip (pfDPDT), the tree of eDPRF.

    Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025, algorithm 5.

    Releases  one tree with one label per leaf.
    Costs     ``epsilon``, pure: on each path the levels' budgets add up to at most ``epsilon`` (docs/proofs/edprf.md).
    Departs   from the paper as ``EDPRFClassifier`` does.

    Parameters
    ----------
    max_depth : int or None
        Maximum number of tests on a path, one less than the paper's treeDepth. None: 4 if the add/remove budget is at least 0.5,
        otherwise 3 [our choice]; published: 5.
    stop : {"auto", "none", "noisy-minority"}
        For the private form. "none": every path grows to its end. "noisy-minority": a node whose noisy minority count is small
        becomes a leaf, which takes three tenths of each level's budget. "auto": "noisy-minority" for a single tree of more
        than 3 tests on a path, otherwise "none", because small trees and trees that share the records cannot afford it.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.PFDPDTClassifier(epsilon=1.0, schema=schema, max_depth=2, variant="published").fit(X, y)
    >>> model.certificate_.holds, len(model.certificate_.reasons) > 0
    (False, True)
    """

    stop: str = parameter(Choice(("auto", *STOPS)), default="auto")

    def _private(self, schema: Schema, depth: int) -> trees.Recipe:
        return trees.Recipe(
            assign=trees.PerRecord(),  # the paper: parts of one fixed size
            candidates=multiway,  # bins from the schema; the paper: from each node's records
            levels=trees.Harmonic(),  # equations 9 and 10
            split=trees.SelectTest(PermuteAndFlip, Gini()),  # at range 2; the paper: 4, half the signal
            leaf=trees.SelectLabel(PermuteAndFlip),  # at range 1; the paper: 2
            stop=self._stop(depth),  # the paper: nodes of a single class
        )

    def _stop(self, depth: int) -> trees.Stop | None:
        return STOPS["noisy-minority" if depth > SHALLOW else "none"] if self.stop == "auto" else STOPS[self.stop]

    _published_size = Size(1, 5, MAX_BINS)

    def _published(self) -> PrintedForest:
        return PrintedForest(
            samples=FixedSize(),
            tests=node_bins,  # the paper does not say how and where
            levels=trees.Harmonic(),
            sharing="aligned",  # equations 9 and 10
            selection=RealPermuteAndFlip,  # equation 12
            leaf="label",  # equation 15
        )

    def _default_size(self, epsilon: Fraction) -> Size:
        return Size(1, 4 if epsilon >= ENOUGH else 3, MAX_BINS)


class EDPRFClassifier(PFDPDTClassifier, PaperForest):  # eDPRF: figure 1
    """Differentially private random forest by permute-and-flip (eDPRF).

    Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025, algorithms 2 to 5.

    Releases  ``n_estimators`` trees with one label per leaf.
    Costs     ``epsilon``, pure. Private form: each record is assigned to one tree at random, independently of the others, and on
              each path of a tree the levels' budgets add up to at most ``epsilon`` (docs/proofs/edprf.md).
    Departs   (private) from the paper where its steps read raw data. Records are assigned to trees independently, not in equal
              parts. Bins are cut from the schema's ranges. No node stops because it is pure. Every branch exists, whether or
              not a record takes it. Selections use the one-sided ranges, with twice the paper's signal at the same epsilon.
    Published the paper's steps as printed, for reproduction. Its certificate says that no guarantee holds, and why. Trees get
              equal parts of all records [inferred]. A leaf without records gets a label at random [our choice].

    Parameters
    ----------
    n_estimators : int or None
        Number of trees. None: 11 if the add/remove budget is at least 0.5, otherwise 5 [our choice]; published: 35.
    max_depth : int or None
        Maximum number of tests on a path, one less than the paper's treeDepth. None: 3 if the add/remove budget is at least 0.5,
        otherwise 2; for a single tree (``n_estimators=1``) one more [our choice]; published: 5.
    max_bins : int or None
        Number of equal-width bins of a numeric feature. None: 5 [our choice; the paper does not say].
    parts : {"equal", "shrinking"}
        Published form: the records of each tree. "equal": a part of all records, as the text says [inferred]. "shrinking": a
        part of the records that no tree before got, as algorithm 4 prints; a third of the records is then in no tree.

    Notes
    -----
    ``predict_proba`` returns each class's share of the trees' votes. It ranks records but is not a calibrated probability. Ties
    go to the first class of the schema.
    """

    parts: str = parameter(Choice(("equal", "shrinking")), default="equal")

    def _stop(self, depth: int) -> trees.Stop | None:
        return None if self.stop == "auto" and self.n_estimators != 1 else super()._stop(depth)

    _published_size = Size(35, 5, MAX_BINS)  # treeDepth 6

    def _published(self) -> PrintedForest:
        return replace(super()._published(), samples=FixedSize(shrinking=self.parts == "shrinking"))

    def _default_size(self, epsilon: Fraction) -> Size:
        enough = epsilon >= ENOUGH
        return Size(11 if enough else 5, (3 if enough else 2) + (self.n_estimators == 1), MAX_BINS)


class TraditionClassifier(PaperTree):
    """One tree built the traditional way: exponential mechanism for tests, noisy class counts for leaves.

    Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025: "tradition", with ``split="permute-and-flip"`` their
    "tradition_spl_imp", with ``leaf="label"`` their "tradition_leaf_imp".

    Releases  one tree with noisy class counts, or a label, in each leaf.
    Costs     ``epsilon``, pure: every level gets the same budget (docs/proofs/tradition.md).
    Departs   (private) from the paper. Bins come from the schema and not from each node's records. No node stops because it
              is pure. Selections use the one-sided ranges. A leaf gets all of the budget that its path has not spent.
    Published the paper's steps as printed. The paper does not say how a level's budget is shared, so there are two readings
              [inferred].
    Defaults  3 tests on a path (published: 5), 5 bins.

    Parameters
    ----------
    split : {"exponential", "permute-and-flip"}
        The mechanism that selects tests.
    leaf : {"counts", "label"}
        What a leaf releases: noisy counts, the largest of which gives its label, or a label selected by permute-and-flip.
    reading : {"halved", "undivided"}
        "halved" (R1): half of a level's budget is for a noisy number of records, which stops small nodes, and half is for the
        test or the leaf. "undivided" (R2): there is no query of the number of records.
    """

    split: str = parameter(Choice(tuple(SELECTIONS)), default="exponential")
    leaf: str = parameter(Choice(tuple(LEAVES)), default="counts")
    reading: str = parameter(Choice(("halved", "undivided")), default="halved")

    def _private(self, schema: Schema, depth: int) -> trees.Recipe:
        return trees.Recipe(
            assign=trees.AllRecords(),
            soft=self.leaf == "counts",  # a single tree returns the class shares of its leaf, not one vote
            candidates=multiway,
            levels=trees.UNIFORM,
            split=trees.SelectTest(SELECTIONS[self.split], Gini()),
            leaf=LEAVES[self.leaf],
            stop=trees.NoisySize() if self.reading == "halved" else None,
        )

    _private_size = Size(1, 3, MAX_BINS)
    _published_size = Size(1, 5, MAX_BINS)

    def _published(self) -> PrintedForest:
        return PrintedForest(
            samples=Samples(),
            tests=node_bins,
            levels=trees.UNIFORM,
            sharing="halved" if self.reading == "halved" else "undivided",  # no step reads the count [inferred]
            selection=RealPermuteAndFlip if self.split == "permute-and-flip" else RealExponential,
            leaf="counts" if self.leaf == "counts" else "label",
        )


EASY = Fraction(3, 10)
LEVELS: Mapping[str, trees.Levels] = {
    "geometric": trees.Geometric(),
    "arithmetic": trees.Linear(1, 0),
    "uniform": trees.UNIFORM,
}


class RivalForest(PaperForest):
    """``DiffPRFsClassifier`` with other level budgets, in both forms.

    Published: bootstrap samples, intervals between the values of a node, n + 1 selections, and noisy numbers of records.
    Defaults  25 trees of 5 tests [inferred]; private: 3 trees of 4 tests, cuts on a grid of 128 cells [our choice].
    """

    _private_size = Size(3, 4, 128)
    _published_size = Size(25, 5, 128)
    _former: ClassVar[Mapping[str, object]] = {"split": "merged", "assignment": "all-records"}

    @abstractmethod
    def _levels(self) -> trees.Levels:
        """Return how the levels of a tree share its budget."""

    def _private(self, schema: Schema, depth: int) -> trees.Recipe:
        return interval_forest(self._levels())

    def _published(self) -> PrintedForest:
        return PrintedForest(
            samples=Bootstrap(),
            tests=cut_ranges,
            levels=self._levels(),
            sharing="halved",
            selection=RealExponential,
            pure_leaves=False,
            counted=True,
        )


class DengDiffPRFClassifier(RivalForest):
    """Differentially private random forest whose level budgets grow towards the leaves (DiffPRF of Deng et al.).

    Deng, Chen, Zhang and Wang, Journal of Chongqing University of Posts and Telecommunications 32(5), 2020. The formula is
    not public. We assume that each level gets twice the budget of the level above it [inferred, low confidence].

    Releases, costs, departs, published
              as ``DiffPRFsClassifier``, with these level budgets (docs/proofs/diffprfs.md).

    Parameters
    ----------
    levels : {"geometric", "arithmetic", "uniform"}
        How the levels of a tree share its budget.
    """

    levels: str = parameter(Choice(tuple(LEVELS)), default="geometric")

    def _levels(self) -> trees.Levels:
        return LEVELS[self.levels]


class DiffPRFLinearClassifier(RivalForest):
    """Differentially private random forest whose level budgets are linear in the level (DiffPRF_linear).

    Dong, Zhang, Xu, Wang and Liu, Journal of Database Management 33(2), 2022. The share of level k, 1 for the root, is
    proportional to ``slope`` k + ``constant``. The paper leaves both to the user; the defaults are ours [inferred].

    Releases, costs, departs, published
              as ``DiffPRFsClassifier``, with these level budgets (docs/proofs/diffprfs.md).

    Parameters
    ----------
    slope, constant : int
        The coefficients, which are not both 0. Slope 0 gives every level the same; constant 0 is the arithmetic allocation.
    """

    slope: int = parameter(WholeNumber(0, 1000), default=1)
    constant: int = parameter(WholeNumber(0, 1000), default=1)

    def _levels(self) -> trees.Levels:
        if self.slope == self.constant == 0:
            raise ConfigurationError(
                "slope and constant are both 0, so no level has a budget; make one of them positive."
            )
        return trees.Linear(self.slope, self.constant)


class TpDPRFClassifier(PaperForest):
    """Differentially private random forest in two phases (TpDPRF).

    Liu, Li, Wei, Liu, Liu and Wang, Applied Intelligence 53, 2023. We know it from its abstract, so most settings are ours
    [inferred].

    Releases  ``n_estimators`` trees with noisy class counts in each leaf. A tree votes for the largest class of its leaf. The
              first half of the trees, rounded up, reads all records. A tree of the second half reads the records that the first
              half misclassifies, and each of the others with probability 0.3.
    Costs     ``epsilon``, pure: an equal part for each tree, with harmonic level budgets that are not divided, because each node
              has one query (docs/proofs/tpdprf.md).
    Departs   (private) from the paper. A record's probability of being read follows from the released trees and the record
              alone, without training error or normalization. Selections use the one-sided range. A leaf gets all of the budget
              that its path has not spent.
    Published weights from the exact training error, and bootstrap samples drawn by these weights.
    Defaults  25 trees of 5 tests [inferred]; private: 4 trees of 4 tests, cuts on a grid of 128 cells [our choice].
    """

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        size = self._private_size.of(self)
        n_trees = size.n_estimators
        if n_trees == 1:
            return super()._plan(schema, claim, coins)
        first, second = (
            trees.ForestPlan(
                self._of(assign), schema, claim.pure * part / n_trees, **asdict(replace(size, n_estimators=part))
            )
            for assign, part in ((trees.AllRecords(), n_trees - n_trees // 2), (trees.Weighted(), n_trees // 2))
        )
        return trees.TwoPhasePlan(first, second, EASY)

    def _private(self, schema: Schema, depth: int) -> trees.Recipe:
        return self._of(trees.AllRecords())

    def _of(self, assign: trees.Assignment) -> trees.Recipe:
        return trees.Recipe(
            assign=assign,
            candidates=mixed,
            levels=trees.Harmonic(),
            split=trees.SelectTest(Exponential, Gini()),
            leaf=trees.NoisyCounts(),
        )

    _private_size = Size(4, 4, 128)
    _published_size = Size(25, 5, 5)

    def _published(self) -> PrintedForest:
        return PrintedForest(
            samples=TwoPhases(),
            tests=schema_bins,
            levels=trees.Harmonic(),
            selection=RealExponential,
            pure_leaves=True,  # inferred: without it, features with many categories exhaust the memory
        )
