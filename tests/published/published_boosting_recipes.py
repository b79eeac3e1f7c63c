"""The published form of every boosting system: its recipe and its default size, as the system files use them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hedgerow.published import boosting
from hedgerow.published.boosting import PublishedBoosting
from hedgerow.trees.schedules import AfterFirst, EvenRounds, RandomRounds, Schedule, ThinnedRounds

PRUNING_SHARE = Fraction(3, 10)  # the papers' 70 % for training, 30 % for pruning


def dp_adaboost() -> PublishedBoosting:
    """4.9, Shen 2017."""
    return PublishedBoosting(boosting.AttributeStump())


def cart_dps_adaboost(max_depth: int = 4, subspace: int = 5) -> PublishedBoosting:
    """4.10, algorithms 1, 3 and 4 as printed; d = 4 is the best on Adult, d = 5 on Census-Income."""
    return PublishedBoosting(
        boosting.CartTree(max_depth, subspace), budgets=boosting.LessLogAlpha(), holdout=PRUNING_SHARE
    )


def cart_dps_adaboost_as_coded(max_depth: int = 4) -> PublishedBoosting:
    """4.10, the authors' public code."""
    return PublishedBoosting(
        boosting.CodedTree(max_depth),
        budgets=boosting.WholeRounds(),
        step=boosting.CodedStep(),
        holdout=PRUNING_SHARE,
    )


def adaboost() -> PublishedBoosting:
    """The papers' reference without any noise."""
    return PublishedBoosting(boosting.ExactStump())


def dpada(schedule: Schedule = AfterFirst(), ties: str = "each") -> PublishedBoosting:  # noqa: B008 - a frozen value
    """4.11."""
    return PublishedBoosting(boosting.ExactStump(), perturbation=boosting.PerturbExtremes(schedule, ties))


def dpada_swing(ties: str = "each") -> PublishedBoosting:
    """4.11, noise in every second round."""
    return dpada(EvenRounds(), ties)


def dpada_random(ties: str = "each") -> PublishedBoosting:
    """4.11, noise by a coin per round."""
    return dpada(RandomRounds(), ties)


def dpada_improved(ties: str = "each") -> PublishedBoosting:
    """4.11, noise by a thinned coin per round."""
    return dpada(ThinnedRounds(), ties)


@dataclass(frozen=True)
class System:
    """A recipe and its default number of rounds."""

    recipe: PublishedBoosting
    rounds: int


SYSTEMS = {
    "dp-adaboost": System(dp_adaboost(), 10),
    "cart-dps-adaboost": System(cart_dps_adaboost(), 10),
    "cart-dps-adaboost as coded": System(cart_dps_adaboost_as_coded(), 30),
    "adaboost": System(adaboost(), 50),
    "dpada": System(dpada(), 50),
    "dpada-swing": System(dpada_swing(), 50),
    "dpada-random": System(dpada_random(), 50),
    "dpada-improved": System(dpada_improved(), 50),
}
