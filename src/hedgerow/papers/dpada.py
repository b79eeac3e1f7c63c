"""AdaBoost on stumps: DPAda and its three variants, and the DP-AdaBoost that its paper compares them with.

DPAda: Zhang, Dong, Xu and Wang, Journal on Communications, 2023. DP-AdaBoost: Shen, thesis, Nanjing University of Aeronautics and
Astronautics, 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, cast

import numpy as np

from hedgerow import trees
from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.estimator import Draw, PublicCoins
from hedgerow.mechanisms import PublicChoice, Randomness
from hedgerow.papers import kernels
from hedgerow.papers.boosting import UNIT, Fit, PaperBooster, PrintedBoosting, class_weights, cut_between, stump
from hedgerow.papers.kernels import CUT
from hedgerow.papers.records import Branching, Ranked, RawRecords, raw_numbers, schema_bins
from hedgerow.papers.trees import PrintedTrees, reason
from hedgerow.parameters import Choice, parameter
from hedgerow.privacy.accounting import Sequence, Unprotected
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.exact import decimal_text
from hedgerow.schema import Schema
from hedgerow.scores import Error, Max, binary, multiway
from hedgerow.systems.base import VOTES, Size, by_budget

TIE = 1e-10  # weighted errors that differ by less are equal: sums of floats never are
EQUAL = 1e-9  # weights that differ by less, relatively, are equal: they differ by rounding
LARGEST_SCALE = 1e300  # a least weight of 0 has no budget; its noisy value is then 1/N or 0 by a fair coin
EXAMPLE = 101  # records, half of them less one misclassified

Ties = Literal["each", "shared", "one"]


def _coins(rounds: int, draw: Draw) -> Truth:  # DPAda: equation 19; definition 6
    return np.asarray(draw(PublicChoice(), np.ones((rounds, 2), dtype=np.int64)) == 1)


def _thinned(coin: Truth) -> Truth:
    """Mark a one after a zero: of each run of ones only the first.

    The paper states this for runs between two zeros. A run that begins in the first round leaves nothing, and one that lasts to
    the end its first, since only then theorem 1 is true [inferred].
    """
    return np.asarray(coin & ~np.append(True, coin[:-1]))


# From a number of rounds and a source of draws to which rounds are marked.
# DPAda: algorithm 3; equation 21
# DPAda: algorithm 4; equations 17, 18 and 22; definition 5
# DPAda: algorithm 5; equations 20 and 23
# DPAda: algorithm 6; equation 24; definition 7
SCHEDULES: Mapping[str, Callable[[int, Draw], Truth]] = {
    "all": lambda rounds, draw: np.ones(rounds, dtype=np.bool_),
    "from-second": lambda rounds, draw: np.arange(rounds) > 0,
    "swing": lambda rounds, draw: np.arange(rounds) % 2 == 1,
    "random": lambda rounds, draw: _coins(rounds, draw) & (np.arange(rounds) > 0),
    "improved": lambda rounds, draw: _thinned(_coins(rounds, draw)),
}


@dataclass(frozen=True)
class ExactStump:
    """The stump of least weighted error, without noise: the weak learner of DPAda [inferred: the paper names none].

    Candidates are x_j <= c, with c the midpoints of the sorted distinct values of a numeric feature, and x_j == v for each
    value v that a categorical one takes among the records, each with both signs. The first one wins: features in the schema's
    order, their values in ascending order (codes: in the schema's), then the second class on the left before the first.
    """

    tests = staticmethod(raw_numbers)

    def fitter(self, training: RawRecords, holdout: RawRecords) -> Fit:
        branching, ranked = training.branching, Ranked.of(training.columns)
        numeric = branching.bins == CUT
        candidates = np.where(numeric, ranked.numbers - 1, np.diff(ranked.start)).clip(0)

        def fit(weights: Floats, budget: float, randomness: Randomness) -> PrintedTrees:
            sums = class_weights(ranked, training.labels, np.arange(len(weights)), weights)
            feature, place, label, _ = kernels.best_stump(sums, ranked.start, candidates, numeric, TIE)
            if feature < 0:  # no candidate: a leaf with the heavier class [our choice]
                return PrintedTrees.of_leaves(branching, [weights @ (2 * training.labels - 1) > 0])
            value = ranked.values[ranked.start[feature] + place :]
            if numeric[feature]:
                return stump(branching, feature, label, cut_between(value[0], value[1]))
            return stump(branching, feature, label, 0.0, value[:1].astype(np.int64))

        return fit

    def reasons(self, branching: Branching) -> Iterator[str]:
        yield reason("exact-stump")


# DPAda: algorithm 2, steps 1 to 3; equations 14 to 16; equation 2; definition 2
def noise_scales(weights: Floats, epsilon: float, rounds: int) -> tuple[float, float]:
    """Return the scales of the noise on the largest and the least of normalized ``weights`` (records,).

    Algorithm 2: Delta / e with e = (B / m) max w and Delta = max w - 1/N, and e = (B / m) min w and Delta = 1/N - min w.
    """
    mean = 1 / len(weights)
    most, least = float(weights.max()), float(weights.min())
    return _scale(most - mean, mean, epsilon / rounds * most), _scale(mean - least, mean, epsilon / rounds * least)


def _scale(change: float, mean: float, budget: float) -> float:
    if change <= EQUAL * mean:
        return 0.0
    return change / budget if budget > change / LARGEST_SCALE else LARGEST_SCALE


@dataclass(frozen=True)
class PrintedDPAda(PrintedBoosting):
    """AdaBoost with Laplace noise on the largest and the least weight of some rounds, cut off at 1/N, before normalization.

    A noisy largest weight below 1/N becomes 1/N, and so does a noisy least weight above it; a noisy least weight below 0
    becomes 0 [inferred, the paper has no rule].

    Of all records with the largest (least) weight each gets noise of its own (``ties``: "each", the likely reading, since the
    paper's proof counts them all), all get one noisy value ("shared"), or only the first one is changed ("one"). The scale on
    the largest weight is (m / B) (1 - 1 / (N max w)), above 16 at m = 30 and B = 1 for the weights of order 1e-4 that thousands
    of records have: the next stump fits the noise. Where the least weight is 0, its budget is 0 and its scale has no bound: the
    noisy weight is 1/N or 0 by a fair coin.
    """

    ties: Ties = "each"

    # DPAda: algorithm 2, steps 4 to 10; equations 12 and 13
    def perturbed(self, weights: Floats, epsilon: float, rounds: int, randomness: Randomness) -> Floats:
        mean = 1 / len(weights)
        of_most, of_least = noise_scales(weights, epsilon, rounds)
        extremes = weights >= weights.max() * (1 - EQUAL), weights <= weights.min() * (1 + EQUAL)
        most, least = (np.flatnonzero(tied)[: 1 if self.ties == "one" else None] for tied in extremes)

        def noise(rows: Integers) -> Floats:
            draws: Floats = randomness.draw(UNIT, np.zeros(len(rows) if self.ties == "each" else 1))
            return draws

        noisy = weights.copy()
        noisy[most] = np.maximum(weights[most] + of_most * noise(most), mean)
        if of_least > 0:  # otherwise all weights are the same
            noisy[least] = np.clip(weights[least] + of_least * noise(least), 0, mean)
        return np.asarray(noisy / noisy.sum())

    def noise_reasons(self, epsilon: Fraction, rounds: int) -> Iterator[str]:
        if rounds == 1:
            return
        scale = decimal_text(rounds / epsilon / EXAMPLE, 3)
        yield reason("scale-by-weights", records=EXAMPLE - 1, scale=scale)
        yield reason("no-sensitivity")


class DPAdaClassifier(PaperBooster):
    """AdaBoost on stumps that spends budget only in some of its rounds (DPAda, _Swing, _Random, _Improved).

    Zhang, Dong, Xu and Wang, Journal on Communications, 2023.

    Releases  for each paid round a stump with noisy weights of the classes in each leaf.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``): an equal part for each paid round. Paid rounds are drawn before any
              record is read; the first round is always paid (docs/proofs/dpada.md).
    Departs   (private) from the paper. Noise is added to what is released, the selection of the stump and its leaves, and not to
              the weights. Rounds that are not paid read nothing and add nothing. Weights are capped and not normalized.
    Published noise on the largest and the smallest weight, in proportions that depend on the weights; everything else exact. The
              weak learner is the best stump [inferred]. A noisy weight below 0 becomes 0 [inferred]. "improved" also thins runs
              of coins that begin with the first round or last to the end [inferred].
    Defaults  16 rounds, paid or not, below a budget of 0.5, 100 from 10 on, otherwise 40 [our choice]; published: 50; 10 bins.

    Parameters
    ----------
    schedule : {"all", "from-second", "swing", "random", "improved"}
        The rounds that are paid, or as published followed by noise: every round (algorithm 3); every round but the first
        (equation 21; private: the first is paid too, as with "all"); every second round; each round by a fair coin; or the first
        of each run of such coins.
    voting : {"discrete", "real"}
        Private form: a stump votes with one weight from its noisy error, or each leaf votes with its log-odds.
    ties : {"each", "shared", "one"}
        Published form: whether records that tie for the largest or the smallest weight each get noise, share one noise, or only
        one of them gets noise.
    """

    schedule: str = parameter(Choice(tuple(SCHEDULES)), default="all")
    voting: str = parameter(Choice(tuple(VOTES)), default="discrete")
    ties: str = parameter(Choice(("each", "shared", "one")), default="each")

    def _private(self) -> trees.BoostingRecipe:  # DPAda: algorithm 2
        tree = trees.Recipe(
            assign=trees.AllRecords(),
            candidates=binary,
            levels=trees.LeafShare(Fraction(1, 2)),
            split=trees.SelectTest(score=Error()),
            leaf=trees.NoisyCounts(),
        )
        return trees.BoostingRecipe(tree, VOTES[self.voting], trees.MadaBoost())

    def _draw_coins(self, claim: Claim, draw: Draw) -> PublicCoins:  # DPAda: algorithms 4 to 6
        rounds = self._rounds(claim)
        marked = SCHEDULES[self.schedule](rounds, draw)
        return tuple((np.flatnonzero(marked) + 1).tolist())

    def _rounds(self, claim: Claim) -> int:
        default = self._published_size if self.variant == "published" else self._default_size(claim.pure)
        return default.of(self).n_estimators

    def _paid_rounds(self, rounds: int, coins: PublicCoins) -> int:
        return len({1, *coins})

    def _check_coins(self, coins: PublicCoins, certificate: Certificate) -> None:
        known = all(1 <= marked <= self._rounds(certificate.claim) for marked in coins)
        event = certificate.event
        if isinstance(event, Sequence) and isinstance(event.parts[0], Unprotected):  # the schema was inferred
            event = event.parts[-1]
        booked = len(event.parts) if isinstance(event, Sequence) else 1
        if not known or list(coins) != sorted(set(coins)) or len({1, *coins}) != booked:
            raise ValueError("no fit with this certificate marked these rounds.")

    _published_size = Size(50, 1, 10)

    def _published(self) -> PrintedBoosting:
        return PrintedDPAda(ExactStump(), cast(Ties, self.ties))

    def _default_size(self, epsilon: Fraction) -> Size:
        return Size(by_budget(epsilon, 16, 40, 100), 1, 10)


@dataclass(frozen=True)
class AttributeStump:
    """One feature with a leaf for each of its values: the weak learner of DP-AdaBoost (Shen 2017).

    The feature has the largest weighted information gain, the first one on ties; a leaf's label is that of its larger noisy
    weight, each weight having Laplace noise of the scale max w / budget. Both [inferred] from what papers 002 and 003 say of
    the thesis. Numeric features are read in public bins, and missing and undeclared cells are values [our choice].
    """

    @staticmethod
    def tests(schema: Schema, max_bins: int) -> Branching:
        return schema_bins(schema, max_bins).grouped()

    def fitter(self, training: RawRecords, holdout: RawRecords) -> Fit:
        branching = training.branching
        start = np.concatenate(([0], np.cumsum(branching.arity)))
        ranks = (training.columns + start[:-1, None]).astype(np.int32)
        ranked = Ranked(ranks, start, np.concatenate([np.arange(float(codes)) for codes in branching.arity]))

        def fit(weights: Floats, budget: float, randomness: Randomness) -> PrintedTrees:
            sums = class_weights(ranked, training.labels, np.arange(len(weights)), weights)
            share = np.divide(sums, sums.sum(axis=1, keepdims=True), out=np.ones_like(sums), where=sums > 0)
            gain = np.add.reduceat((sums * np.log2(share)).sum(axis=1), start[:-1])  # less the same of the whole
            feature = int((gain >= gain.max() - TIE).argmax())
            leaves = sums[start[feature] : start[feature + 1]]
            noisy = leaves + weights.max() / budget * randomness.draw(UNIT, np.zeros(leaves.shape))
            return stump(branching, feature, 1, 0.0, np.flatnonzero(noisy[:, 1] > noisy[:, 0]))

        return fit

    def reasons(self, branching: Branching) -> Iterator[str]:
        yield reason("raw-attribute")
        yield reason("leaf-noise-by-weights")


class DPAdaBoostClassifier(PaperBooster):
    """AdaBoost on stumps of one attribute, with one leaf per value and noisy leaves (DP-AdaBoost).

    Shen, 2017. We know it from the descriptions in two later papers, so most settings are ours [inferred].

    Releases  ``n_estimators`` stumps with noisy weights of the classes in each leaf.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``): an equal part for each round (docs/proofs/dp-adaboost.md).
    Departs   (private) from the paper. The attribute is selected with noise, or at random, while the paper reads it off the
              records. Weights are capped and not normalized. Votes follow from the noisy leaves alone.
    Published the attribute with the largest exact weighted information gain, noise proportional to the largest weight, exact
              alpha.
    Defaults  8 rounds below a budget of 0.5, 60 from 10 on, otherwise 16; published: 10; 10 bins [our choice].

    Parameters
    ----------
    attribute : {"selected", "random"}
        How the private form selects the attribute. "selected": by permute-and-flip (with ``delta`` above 0 by the exponential
        mechanism) on the weight that majority labels classify correctly, with half of a round's budget. "random": at random, so
        the whole budget is for the leaves, as in the paper.
    """

    attribute: str = parameter(Choice(("selected", "random")), default="selected")

    def _private(self) -> trees.BoostingRecipe:
        selected = self.attribute == "selected"
        split: trees.Split = trees.SelectTest(score=Max()) if selected else trees.RandomTest()
        tree = trees.Recipe(
            assign=trees.AllRecords(),
            candidates=multiway,
            levels=trees.LeafShare(Fraction(1, 2) if selected else Fraction(1)),
            split=split,
            leaf=trees.NoisyCounts(),
        )
        return trees.BoostingRecipe(tree, VOTES["real"], trees.MadaBoost())

    _published_size = Size(10, 1, 10)

    def _published(self) -> PrintedBoosting:
        return PrintedBoosting(AttributeStump())

    def _default_size(self, epsilon: Fraction) -> Size:
        return Size(by_budget(epsilon, 8, 16, 60), 1, 10)
