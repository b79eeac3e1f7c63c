"""DPAda and its three relatives: Zhang, Dong, Xu and Wang, Journal on Communications, 2023."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal, cast

from hedgerow.boosting import BoostingRecipe, MadaBoost
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import Choice, Constraint
from hedgerow.published import boosting as published
from hedgerow.scores import Error
from hedgerow.systems.boosted import VOTES, PaperBooster, by_budget
from hedgerow.systems.size import Size
from hedgerow.trees import AllRecords, Binary, LeafShare, NoisyCounts, Recipe, SelectTest
from hedgerow.trees.schedules import AfterFirst, EvenRounds, RandomRounds, RoundSchedule, ThinnedRounds, with_first

__all__ = ["DPAdaClassifier"]

Ties = Literal["each", "shared", "one"]
SCHEDULES: Mapping[str, RoundSchedule] = {
    "all": AfterFirst(),
    "swing": EvenRounds(),
    "random": RandomRounds(),
    "improved": ThinnedRounds(),
}


class DPAdaClassifier(PaperBooster):
    """AdaBoost on stumps that spends budget in some of its rounds only (DPAda, _Swing, _Random, _Improved).

    Zhang, Dong, Xu and Wang, Journal on Communications, 2023.

    Releases  a stump with noisy weights of the classes in each leaf for every round that is paid for.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``): an equal part for each paid round. Which these are is drawn before
              any record is read; the first always is (docs/proofs/dpada.md).
    Departs   (private) from the paper: noise goes where data leave, into the choice of the stump and its leaves, and not into
              weights; rounds that are not paid for read nothing and add nothing; weights are capped and not normalized.
    Published noise on the largest and the least weight, in proportions read off the weights; everything else exact.

    Parameters
    ----------
    epsilon, delta, schema, variant, n_estimators, max_bins, adjacency, random_state, ledger
        See ``PaperBooster``. Defaults: 16 rounds, paid or not, below a budget of 0.5, 100 from 10 on, otherwise 40 [our
        choice]; published: 50; 10 bins.
    schedule : {"all", "swing", "random", "improved"}
        Which rounds are paid for: every one; every second; by a fair coin each; or the first of each run of such coins.
    voting : {"discrete", "real"}
        Private form: a stump votes with one weight from its noisy error, or each leaf with half its log odds.
    ties : {"each", "shared", "one"}
        Published form: whether records that tie for the largest or the least weight get noise each, the same, or one of them.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **PaperBooster._constraints,
        "schedule": Choice(tuple(SCHEDULES)),
        "voting": Choice(tuple(VOTES)),
        "ties": Choice(("each", "shared", "one")),
    }

    _paid: int | None = None

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        schedule: str = "all",
        voting: str = "discrete",
        ties: str = "each",
        **common: Any,
    ) -> None:
        super().__init__(epsilon, **common)
        self.schedule = schedule
        self.voting = voting
        self.ties = ties

    def _private(self) -> BoostingRecipe:
        tree = Recipe(
            assign=AllRecords(),
            candidates=Binary(),
            levels=LeafShare(Fraction(1, 2)),
            split=SelectTest(score=Error()),
            leaf=NoisyCounts(),
        )
        return BoostingRecipe(tree, VOTES[self.voting], MadaBoost())

    def _draw_public(self, randomness: Randomness, epsilon: Fraction) -> None:
        rounds = self._size(epsilon).n_estimators
        self._paid = int(with_first(SCHEDULES[self.schedule].marked(rounds, randomness)).sum())

    def _paid_rounds(self, rounds: int) -> int:
        return rounds if self._paid is None else self._paid

    def _published(self) -> published.PublishedBoosting:
        return published.PublishedBoosting(
            published.ExactStump(),
            perturbation=published.PerturbExtremes(SCHEDULES[self.schedule], cast(Ties, self.ties)),
        )

    def _default_size(self, epsilon: Fraction | None) -> Size:
        return Size(50 if epsilon is None else by_budget(epsilon, 16, 40, 100), 1, 10)
