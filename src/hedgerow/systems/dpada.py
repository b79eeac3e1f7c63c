"""DPAda and its three variants: Zhang, Dong, Xu and Wang, Journal on Communications, 2023."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, cast

import numpy as np

from hedgerow.boosting import BoostingRecipe, MadaBoost
from hedgerow.estimator import Draw, PublicCoins
from hedgerow.parameters import Choice, parameter
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Sequence, Unprotected
from hedgerow.published import boosting as published
from hedgerow.scores import Error
from hedgerow.systems.boosted import VOTES, PaperBooster, by_budget
from hedgerow.systems.size import Size
from hedgerow.trees import AllRecords, Binary, LeafShare, NoisyCounts, Recipe, SelectTest
from hedgerow.trees.schedules import AfterFirst, EvenRounds, RandomRounds, RoundSchedule, ThinnedRounds

__all__ = ["DPAdaClassifier"]

Ties = Literal["each", "shared", "one"]
SCHEDULES: Mapping[str, RoundSchedule] = {
    "all": AfterFirst(),
    "swing": EvenRounds(),
    "random": RandomRounds(),
    "improved": ThinnedRounds(),
}


class DPAdaClassifier(PaperBooster):
    """AdaBoost on stumps that spends budget only in some of its rounds (DPAda, _Swing, _Random, _Improved).

    Zhang, Dong, Xu and Wang, Journal on Communications, 2023.

    Releases  for each paid round a stump with noisy weights of the classes in each leaf.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``): an equal part for each paid round. Paid rounds are drawn before any
              record is read; the first round is always paid (docs/proofs/dpada.md).
    Departs   (private) from the paper. Noise is added to what is released, the selection of the stump and its leaves, and not to
              the weights. Rounds that are not paid read nothing and add nothing. Weights are capped and not normalized.
    Published noise on the largest and the smallest weight, in proportions that depend on the weights; everything else exact.

    Parameters
    ----------
    epsilon, delta, schema, variant, n_estimators, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperBooster``. Defaults: 16 rounds, paid or not, below a budget of 0.5, 100 from 10 on, otherwise 40 [our
        choice]; published: 50; 10 bins.
    schedule : {"all", "swing", "random", "improved"}
        The rounds that are paid: every round; every second round; each round by a fair coin; or the first of each run of such
        coins.
    voting : {"discrete", "real"}
        Private form: a stump votes with one weight from its noisy error, or each leaf votes with its log-odds.
    ties : {"each", "shared", "one"}
        Published form: whether records that tie for the largest or the smallest weight each get noise, share one noise, or only
        one of them gets noise.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.DPAdaClassifier(epsilon=1.0, schema=schema, schedule="swing", n_estimators=10).fit(X, y)
    >>> model.certificate_.holds, float(model.certificate_.epsilon)
    (True, 1.0)
    """

    schedule: str = parameter(Choice(tuple(SCHEDULES)), default="all")
    voting: str = parameter(Choice(tuple(VOTES)), default="discrete")
    ties: str = parameter(Choice(("each", "shared", "one")), default="each")

    def _private(self) -> BoostingRecipe:
        tree = Recipe(
            assign=AllRecords(),
            candidates=Binary(),
            levels=LeafShare(Fraction(1, 2)),
            split=SelectTest(score=Error()),
            leaf=NoisyCounts(),
        )
        return BoostingRecipe(tree, VOTES[self.voting], MadaBoost())

    def _draw_coins(self, claim: Claim, draw: Draw) -> PublicCoins:
        """Return the numbers of the marked rounds."""
        rounds = self._size(None if self.variant == "published" else claim.pure).n_estimators
        marked = SCHEDULES[self.schedule].marked(rounds, draw)
        return tuple((np.flatnonzero(marked) + 1).tolist())

    def _paid_rounds(self, rounds: int, coins: PublicCoins) -> int:
        return len({1, *coins})

    @classmethod
    def _coins_of(cls, certificate: Certificate) -> PublicCoins:
        """Return as many marked rounds as steps were charged. A private plan depends only on their number, others on none."""
        event = certificate.event
        if isinstance(event, Sequence) and isinstance(event.parts[0], Unprotected):  # the schema was inferred
            event = event.parts[-1]
        if certificate.variant == "published" or not isinstance(event, Sequence):
            return ()
        return tuple(range(2, len(event.parts) + 1))

    def _check_coins(self, coins: PublicCoins, certificate: Certificate) -> None:
        rounds = self._size(None if self.variant == "published" else certificate.claim.pure).n_estimators
        known = all(1 <= marked <= rounds for marked in coins) and list(coins) == sorted(set(coins))
        booked = {1, *self._coins_of(certificate)}
        if not known or (self.variant == "private" and len({1, *coins}) != len(booked)):
            raise ValueError("no fit with this certificate marked these rounds.")

    def _published(self) -> published.PublishedBoosting:
        return published.PublishedBoosting(
            published.ExactStump(),
            perturbation=published.PerturbExtremes(SCHEDULES[self.schedule], cast(Ties, self.ties)),
        )

    def _default_size(self, epsilon: Fraction | None) -> Size:
        return Size(50 if epsilon is None else by_budget(epsilon, 16, 40, 100), 1, 10)
