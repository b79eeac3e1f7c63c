"""Fits and comparisons inside one private search: records sent to parts by their own coins, candidates trained on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hedgerow.curator.contest import SCORE, Contest
from hedgerow.estimator import Model, Plan, PrivateClassifier, PublicCoins, RawPlan, answered, draw_coins, plan_of
from hedgerow.mechanisms import Geometric, PermuteAndFlip, PerRecordCoin, PublicChoice, Randomness, RandomStopping
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Event, Parallel, Pure
from hedgerow.schema import Encoder, Schema
from hedgerow.schema.cells import Cells
from hedgerow.schema.columns import Columns
from hedgerow.table import Keep, MemoryTable

__all__ = ["Disjoint", "Found", "Stopping", "Trials"]

SHARES = 1024  # of the records, which parts are made of
BLOCK_ROWS = 8_192


@dataclass(frozen=True)
class Found:
    """What a search shows: which candidate, its model, and what public coins decided of it."""

    place: int
    model: Model
    coins: PublicCoins


@dataclass(frozen=True, eq=False)
class Trials:
    """The records of a search, which candidates are trained on and compared by.

    Parameters
    ----------
    candidates : sequence of PrivateClassifier
        Unfitted, with the epsilon of one fit.
    schema : Schema
        What is public about the records.
    columns, labels
        The records.
    randomness : Randomness
        Where every draw comes from.
    keep : Keep or None
        Which records of each person count, where it is told who they are of.
    """

    candidates: Sequence[PrivateClassifier]
    schema: Schema
    columns: Columns
    labels: Cells
    randomness: Randomness
    keep: Keep | None = None

    @cached_property
    def _counts(self) -> npt.NDArray[np.bool_] | None:
        """Which records count; None: all. The same ones in every part and fit."""
        return None if self.keep is None else self.keep.of(Encoder(self.schema, 2).labels(self.labels) >= 0)

    def parts(self, sizes: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the part of each record, by a coin of its own, of parts that get so many of 1024 shares; -1: none."""
        bounds = np.cumsum(sizes)
        assert bounds[-1] == SHARES
        share = self.randomness.coins(PerRecordCoin(SHARES)).parts(0, self.columns.n_rows)
        part: npt.NDArray[np.int64] = np.searchsorted(bounds, share, side="right")
        return part if self._counts is None else np.where(self._counts, part, -1)

    def fit(self, plan: Plan, mine: npt.NDArray[np.bool_]) -> Model:
        """Return the model of one candidate on the records of one part: the others have no label, so they are nowhere."""
        encoder = plan.encoder
        labels = np.where(mine, encoder.labels(self.labels), -1)
        table = MemoryTable(encoder.transform(self.columns), labels, encoder.n_codes, len(self.schema.classes))
        return answered(plan, table, self.randomness)[0]

    def right(self, models: Sequence[Model], mine: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return for each labelled record of one part which models predict its label."""
        known = np.asarray(Encoder(self.schema, 2).labels(self.labels), dtype=np.int64)
        rows = []
        for start in range(0, self.columns.n_rows, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, self.columns.n_rows)
            chosen = mine[start:stop] & (known[start:stop] >= 0)
            if chosen.any():
                block = {name: self.columns.cells(i, start, stop)[chosen] for i, name in enumerate(self.schema.names)}
                truth = known[start:stop][chosen]
                rows.append(np.column_stack([model.probabilities(block).argmax(axis=1) == truth for model in models]))
        return np.concatenate(rows) if rows else np.zeros((0, len(models)), dtype=np.bool_)

    def plans(self, claim: Claim) -> list[tuple[Plan, PublicCoins]]:
        """Return each candidate's plan for a claim, with public coins of its own."""
        return [_plan(candidate, self.schema, claim, self.randomness) for candidate in self.candidates]


def _plan(
    candidate: PrivateClassifier, schema: Schema, claim: Claim, randomness: Randomness
) -> tuple[Plan, PublicCoins]:
    coins = draw_coins(candidate, claim, randomness.draw)
    plan = plan_of(candidate, schema, claim, coins)
    assert not isinstance(plan, RawPlan), "private forms only are searched"
    return plan, coins


@dataclass(frozen=True, eq=False)
class Disjoint:
    """Each candidate gets records of its own, and the winner is chosen on others.

    Parameters
    ----------
    trials : Trials
        The records and the candidates.
    claim : Claim
        What the whole search promises: each part runs at all of it.
    validation : float
        The share of the records that the winner is chosen on.
    planned : sequence of (Plan, PublicCoins)
        Of the candidates.
    """

    trials: Trials
    claim: Claim
    validation: float
    planned: Sequence[tuple[Plan, PublicCoins]]

    @property
    def mechanism(self) -> PermuteAndFlip:
        """What chooses the winner."""
        return PermuteAndFlip(self.claim.pure, 1)

    @property
    def event(self) -> Event:
        """What the search costs: a record is in one part."""
        label = "every record is in one part, by its own coin: one candidate's, or that on which the best is chosen"
        chosen = self.mechanism.event("the best candidate", SCORE)
        return Parallel((*(plan.event for plan, _ in self.planned), chosen), label)

    def run(self) -> Found:
        """Return the winner."""
        trials = self.trials
        count, kept = len(self.planned), max(1, round(self.validation * SHARES))
        each, more = divmod(SHARES - kept, count)
        part = trials.parts([kept, *(each + (i < more) for i in range(count))])
        models = [trials.fit(plan, part == 1 + i) for i, (plan, _) in enumerate(self.planned)]
        contest = Contest(
            trials.right(models, part == 0), cost(self.mechanism.event("the best candidate", SCORE)), trials.randomness
        )
        place = contest.winner(self.mechanism)
        return Found(place, models[place], self.planned[place][1])


@dataclass(frozen=True, eq=False)
class Stopping:
    """A random number of candidates, drawn one by one and trained afresh, of which that with the best noisy score is shown.

    Parameters
    ----------
    trials : Trials
        The records and the candidates.
    claim : Claim
        What the whole search promises.
    validation : float
        The share of the records that a score is counted on, others in each run.
    law : RandomStopping
        Of the number.
    """

    trials: Trials
    claim: Claim
    validation: float
    law: RandomStopping

    @property
    def each(self) -> Claim:
        """What one run promises, its noisy score included."""
        return replace(self.claim, epsilon=self.claim.epsilon / self.law.factor)

    @property
    def event(self) -> Event:
        """What the search costs."""
        kind = "logarithmic" if self.law.logarithmic else "geometric"
        words = f"best of a hidden, {kind} number of runs, {self.law.factor} times the epsilon of one"
        return Pure(self.claim.pure, words, "a model with its noisy score")

    def run(self) -> Found:
        """Return the best run; how many there were, and the others, are gone."""
        trials, each = self.trials, self.each
        kept = max(1, round(self.validation * SHARES))
        weights = np.ones((1, len(trials.candidates)), dtype=np.int64)
        noise = Geometric(each.pure)
        best: tuple[int, Found] | None = None
        for _ in range(trials.randomness.draw(self.law)):
            place = int(trials.randomness.draw(PublicChoice(), weights)[0])
            plan, coins = _plan(trials.candidates[place], trials.schema, each, trials.randomness)
            part = trials.parts([kept, SHARES - kept])
            model = trials.fit(plan, part == 1)
            contest = Contest(trials.right([model], part == 0), cost(noise.event(SCORE)), trials.randomness)
            score = contest.count(noise)
            if best is None or score > best[0]:
                best = score, Found(place, model, coins)
        assert best is not None, "there is at least one run"
        return best[1]
