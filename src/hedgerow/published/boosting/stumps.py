"""The weak learners of DP-AdaBoost and DPAda: one exact test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Event, Pure
from hedgerow.published.boosting import kernels
from hedgerow.published.boosting.learner import Ranked, midpoint, tested_codes
from hedgerow.published.boosting.model import BinaryTrees, most_codes
from hedgerow.published.branching import Branching, BranchingRule, SchemaBins
from hedgerow.published.case import Case
from hedgerow.published.kernels import CUT
from hedgerow.published.noise import Laplace
from hedgerow.published.records import RawRecords
from hedgerow.schema import Numeric, Schema

__all__ = ["AttributeStump", "ExactStump", "RawNumbers"]


TIE = 1e-10  # weighted errors that differ by less are equal: sums of floats never are
UNIT = Laplace(Fraction(1))


@dataclass(frozen=True)
class RawNumbers:
    """A cut of a numeric feature anywhere, whatever its public range; categories by their codes.

    A missing number goes right [our choice, the papers are silent].
    """

    def branching(self, schema: Schema, max_bins: int) -> Branching:
        """Return the branches for a schema; ``max_bins`` has no use here."""
        features = schema.features.values()
        numeric = np.array([isinstance(feature, Numeric) for feature in features])
        arity = np.array([2 if isinstance(feature, Numeric) else feature.n_codes(2) for feature in features])
        end = np.full(len(arity), np.inf)
        return Branching(schema, np.where(numeric, CUT, 0), arity, -end, end)


@dataclass(frozen=True)
class ExactStump:
    """The stump of least weighted error, without noise: the weak learner of DPAda [inferred: the paper names none].

    Candidates are x_j <= c, with c the midpoints of the sorted distinct values of a numeric feature, and x_j == v for each
    value v that a categorical one takes among the records, each with both signs. The first one wins: features in the schema's
    order, their values in ascending order (codes: in the schema's), then the second class on the left before the first.
    """

    tests: ClassVar[BranchingRule] = RawNumbers()
    max_depth: ClassVar[int] = 1

    def fitter(self, training: RawRecords, holdout: RawRecords) -> ExactStumpFitter:
        """Return the learner with its records."""
        return ExactStumpFitter(Ranked.of(training))

    def stated(self, case: Case) -> Event | None:
        """Return what one round costs as the paper states it: nothing here, noise goes to the weights."""
        return None

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        yield (
            "the stump of every round is the best one by the raw records, and so are its error and the stop at an error "
            "above 1/2: noise on the weights only changes which weighted problem is solved exactly, and the first two rounds "
            "see none, an infinite loss"
        )


@dataclass(frozen=True, eq=False)
class ExactStumpFitter:
    """The exact search on ranked records."""

    records: Ranked

    def fit(self, weights: Floats, budget: float, randomness: Randomness) -> BinaryTrees:
        """Return the best stump; a leaf with the heavier class where there is no candidate [our choice]."""
        ranked, branching = self.records, self.records.data.branching
        sums = ranked.class_weights(np.arange(len(weights)), weights)
        feature, place, label, _ = kernels.best_stump(sums, ranked.start, ranked.candidates, ranked.numeric, TIE)
        if feature < 0:
            ahead = weights @ (2 * ranked.data.labels - 1)
            return BinaryTrees.leaf(int(ahead > 0), most_codes(branching))
        rank = ranked.start[feature] + place
        if ranked.numeric[feature]:
            none = tested_codes(branching, np.empty(0, dtype=np.int64))
            return BinaryTrees.stump(feature, label, midpoint(ranked.values[rank], ranked.values[rank + 1]), none)
        code = ranked.values[[rank]].astype(np.int64)
        return BinaryTrees.stump(feature, label, 0.0, tested_codes(branching, code))


@dataclass(frozen=True)
class AttributeStump:
    """One feature with a leaf for each of its values: the weak learner of DP-AdaBoost (Shen 2017).

    The feature has the largest weighted information gain, the first one on ties; a leaf's label is that of its larger noisy
    weight, each weight having Laplace noise of the scale max w / budget. Both [inferred] from what papers 002 and 003 say of
    the thesis. Numeric features are read in public bins, and missing and undeclared cells are values [our choice].
    """

    tests: ClassVar[BranchingRule] = SchemaBins()
    max_depth: ClassVar[int] = 1

    def fitter(self, training: RawRecords, holdout: RawRecords) -> AttributeStumpFitter:
        """Return the learner with its records."""
        return AttributeStumpFitter(Ranked.of_codes(training))

    def stated(self, case: Case) -> Event | None:
        """Return what one round costs as the paper states it."""
        noise = "Laplace noise in floating point, scale max w / epsilon"
        return Pure(case.epsilon / case.trees, noise, "weights of the classes in each leaf, as the paper states it")

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        yield (
            "the feature of every stump is the best one by the raw weighted information gain, without noise: one record can "
            "change it for certain, an infinite loss"
        )
        yield (
            "the noise of the leaves has the scale max w / e, with the largest normalized weight read off the records: it is "
            "no sensitivity, for one record changes every weight. With 1000 records and a hard one more the weights differ by "
            ".0089 in total after 1 round, and by .983 of at most 1 after 5"
        )


@dataclass(frozen=True, eq=False)
class AttributeStumpFitter:
    """The exact choice of a feature and the noisy labels of its values."""

    records: Ranked

    def fit(self, weights: Floats, budget: float, randomness: Randomness) -> BinaryTrees:
        """Return a stump of the best feature: the codes with the second class go left."""
        ranked = self.records
        sums = np.asarray(ranked.class_weights(np.arange(len(weights)), weights), dtype=np.float64)
        gain = np.add.reduceat(_information(sums), ranked.start[:-1])
        feature = int((gain >= gain.max() - TIE).argmax())
        leaves = sums[ranked.start[feature] : ranked.start[feature + 1]]
        noisy = leaves + weights.max() / budget * randomness.draw(UNIT, np.zeros(leaves.shape))
        left = tested_codes(ranked.data.branching, np.flatnonzero(noisy[:, 1] > noisy[:, 0]))
        return BinaryTrees.stump(feature, 1, 0.0, left)


def _information(sums: Floats) -> Floats:
    """Return the sum over classes of w_k log2(w_k / w) for each code."""
    share = np.divide(sums, sums.sum(axis=1, keepdims=True), out=np.ones_like(sums), where=sums > 0)
    return np.asarray((sums * np.log2(share)).sum(axis=1))
