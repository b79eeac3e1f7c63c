"""Fits and comparisons inside one private search: records sent to parts by their own coins, candidates trained on them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Protocol, Self, cast

import numpy as np
import numpy.typing as npt

from hedgerow.analysis.readings import Labelled
from hedgerow.curator import ModelScores, Queryable
from hedgerow.engines.records import table_of
from hedgerow.estimator import (
    ClassModel,
    ClassOrder,
    Model,
    OutcomeModel,
    Plan,
    PrivateEstimator,
    PublicCoins,
    RawPlan,
    answered,
    draw_coins,
    plan_of,
)
from hedgerow.mechanisms import (
    Coins,
    Geometric,
    PermuteAndFlip,
    PerRecordCoin,
    PublicChoice,
    Randomness,
    RandomStopping,
    Words,
)
from hedgerow.privacy.accounting import Cost, cost
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Event, Parallel, Pure
from hedgerow.schema import Encoder, Schema
from hedgerow.schema.columns import Columns
from hedgerow.table import SHARE_BITS, Coded, Keep, PersonPart, Reading, Table
from hedgerow.table.reading import Codes, Labels

SHARES = 1 << SHARE_BITS  # of the persons or records, which parts are made of
ERROR_STEPS = 64  # of an error that counts: a step is far below what candidates differ by
WITNESS_BINS = 255  # by which readings of one search are compared
Split = Coins | Words  # of records, or of persons


@dataclass(frozen=True)
class Found:
    """What a search shows: which candidate, its model, what public coins decided of it, and the warnings of its fit."""

    place: int
    model: Model
    coins: PublicCoins
    doubts: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Right(Labelled):
    """Labelled records with a code for each of some released models: whether it predicts the label."""

    code_type: ClassVar[type] = np.uint8
    models: tuple[Model, ...]

    @property
    def n_codes(self) -> npt.NDArray[np.int64]:
        """Two for each model."""
        return np.full(len(self.models), 2)

    def _codes(self, block: dict[str, Any], truth: Any) -> Any:
        order = ClassOrder.of(self.schema)
        said = [order.columns(cast(ClassModel, model).probabilities(block)).argmax(axis=1) for model in self.models]
        return np.stack(said, axis=1) == order.codes(truth)[:, None]


@dataclass(frozen=True, eq=False)
class Near(Labelled):
    """Records with an outcome and a code for each of some released models: how much smaller its error is than the largest.

    The error is ``min(|y - f|, largest)``, in steps of a 64th of ``largest``, rounded up; the code is what is left of 64.
    """

    code_type: ClassVar[type] = np.uint8
    models: tuple[Model, ...]
    largest: float

    @property
    def n_codes(self) -> npt.NDArray[np.int64]:
        """65 for each model."""
        return np.full(len(self.models), ERROR_STEPS + 1)

    def _codes(self, block: dict[str, Any], truth: Any) -> Any:
        said = [cast(OutcomeModel, model).predictions(block) for model in self.models]
        error = np.abs(truth[:, None] - np.stack(said, axis=1))
        return ERROR_STEPS - np.ceil(np.minimum(error / self.largest, 1) * ERROR_STEPS)


class Scoring(Protocol):
    """How a record scores some models."""

    @property
    def what(self) -> str:
        """How, in words."""

    @property
    def most(self) -> int:
        """The largest score that a record adds."""

    def __call__(self, schema: Schema, models: tuple[Model, ...]) -> Right | Near:
        """Return the reading of the records."""


@dataclass(frozen=True)
class ByRight:
    """A record adds 1 to the score of each classifier that is right about it."""

    what: str = "records predicted right"
    most: int = 1

    def __call__(self, schema: Schema, models: tuple[Model, ...]) -> Right:
        """Return the reading of the records."""
        return Right(schema, models)


@dataclass(frozen=True)
class ByError:
    """A record adds the more to a regressor's score the smaller the error is, in steps from the largest error that counts."""

    largest: float
    what: str = "clipped errors of predictions"
    most: int = ERROR_STEPS

    def __call__(self, schema: Schema, models: tuple[Model, ...]) -> Near:
        """Return the reading of the records."""
        return Near(schema, models, self.largest)


@dataclass(frozen=True, eq=False)
class Again:
    """A reading of records that are read several times in one search, in which each must keep its row number.

    A record's part is its row's, so checksums are of what all readings of one search find alike.
    """

    of: Reading
    same: Coded

    @property
    def schema(self) -> Schema:
        """Whose features the columns are."""
        return self.of.schema

    @property
    def n_codes(self) -> npt.NDArray[np.int64]:
        """As the reading has it."""
        return self.of.n_codes

    @property
    def n_classes(self) -> int:
        """As the reading has it."""
        return self.of.n_classes

    @property
    def dtype(self) -> np.dtype[Any]:
        """As the reading has it."""
        return self.of.dtype

    @property
    def label_dtype(self) -> np.dtype[Any]:
        """As the reading has it."""
        return self.of.label_dtype

    @property
    def name(self) -> str:
        """That of what all readings find alike."""
        return self.same.name

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        """Return what the reading finds."""
        return self.of.read(columns, y)

    def witness(self, columns: Columns, y: Any, found: tuple[Codes, Labels]) -> tuple[Codes, Labels]:
        """Return what all readings find alike."""
        return found if self.of.name == self.same.name else self.same.read(columns, y)


class Tables:
    """The records of a search as tables, of which the last one is kept: candidates are mostly read alike.

    Parameters
    ----------
    schema : Schema
        What is public about the records.
    records, labels
        Columns in memory and their labels, or ``Records``.
    keep : Keep or None
        Which records of each person count, where it is told who they are of: the same ones in every table.
    """

    def __init__(self, schema: Schema, records: Any, labels: Any, keep: Keep | None = None) -> None:
        self._same = Coded(Encoder(schema, WITNESS_BINS))
        self._records, self._labels, self._keep = records, labels, keep
        self._kept: tuple[tuple[str, PersonPart | None], Table] | None = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    @property
    def by_person(self) -> bool:
        """Whether it is told who the records are of."""
        return self._keep is not None

    def of(self, reading: Reading, part: PersonPart | None = None) -> Table:
        """Return the records as a reading has them, or those of some persons; it is gone when another one is asked for."""
        wanted = reading.name, part
        if self._kept is None or self._kept[0] != wanted:
            self._kept = None
            self._open.close()
            keep = None if self._keep is None else replace(self._keep, part=part)
            table = self._open.enter_context(table_of(self._records, self._labels, Again(reading, self._same), keep))
            self._kept = wanted, table
        return self._kept[1]


@dataclass(frozen=True, eq=False)
class Trials:
    """The records of a search, which candidates are trained on and compared by.

    Parameters
    ----------
    candidates : sequence of PrivateEstimator
        Unfitted, with the epsilon of one fit.
    schema : Schema
        What is public about the records.
    tables : Tables
        The records.
    randomness : Randomness
        Where every draw comes from.
    scoring : Scoring
        How a record scores a candidate's model.
    """

    candidates: Sequence[PrivateEstimator]
    schema: Schema
    tables: Tables
    randomness: Randomness
    scoring: Scoring = field(default_factory=ByRight)

    def split(self) -> Split:
        """Return coins that send each person, or each record where nothing tells persons apart, to one of 1024 shares."""
        if self.tables.by_person:
            return self.randomness.words()
        return self.randomness.coins(PerRecordCoin(SHARES))

    def part(self, reading: Reading, split: Split, shares: range) -> Table:
        """Return the records of some shares as a reading has them: the others have no class, so they are nowhere."""
        if isinstance(split, Words):
            return self.tables.of(reading, PersonPart(split.key, shares.start, shares.stop))
        return self.tables.of(reading).sampled(split, shares.start, shares.stop)

    def fit(self, plan: Plan, split: Split, shares: range) -> tuple[Model, Sequence[str]]:
        """Return the model of one candidate on the records of some shares, and the warnings for its user."""
        return answered(plan, self.part(Coded(plan.encoder), split, shares), self.randomness)

    def scored(self, models: Sequence[Model], split: Split, shares: range, ceiling: Cost, mechanism: Any) -> int:
        """Return the best of several models by a selection, or the only one's score by noise, on the records of some shares."""
        table = self.part(self.scoring(self.schema, tuple(models)), split, shares)
        curator = Queryable(table, ceiling, self.randomness)
        everyone = curator.assign(PerRecordCoin(1))
        return int(curator.answer(ModelScores(everyone, self.scoring.most), mechanism)[0])

    def plans(self, claim: Claim) -> list[tuple[Plan, PublicCoins]]:
        """Return each candidate's plan for a claim, with public coins of its own."""
        return [planned(candidate, self.schema, claim, self.randomness) for candidate in self.candidates]


def planned(
    candidate: PrivateEstimator, schema: Schema, claim: Claim, randomness: Randomness
) -> tuple[Plan, PublicCoins]:
    """Return the plan of a candidate for a claim, and what public coins decided of it."""
    coins = draw_coins(candidate, claim, randomness.draw)
    plan = plan_of(candidate, schema, claim, coins)
    assert not isinstance(plan, RawPlan), "private forms only are searched"
    return plan, coins


def divided(validation: float, candidates: int) -> list[range]:
    """Return the shares of records that candidates are compared on, and then those of each candidate."""
    kept = max(1, round(validation * SHARES))
    each, more = divmod(SHARES - kept, candidates)
    bounds = [0, *accumulate([each + (i < more) for i in range(candidates)], initial=kept)]
    return [range(first, last) for first, last in pairwise(bounds)]


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
        return PermuteAndFlip(self.claim.pure, self.trials.scoring.most)

    @property
    def _chosen(self) -> Event:
        return self.mechanism.event("the best candidate", self.trials.scoring.what)

    @property
    def event(self) -> Event:
        """What the search costs: a record is in one part."""
        who = "person" if self.trials.tables.by_person else "record"
        label = f"every {who} is in one part, by its own coin: one candidate's, or that on which the best is chosen"
        chosen = self._chosen
        return Parallel((*(plan.event for plan, _ in self.planned), chosen), label)

    def run(self) -> Found:
        """Return the winner."""
        trials, split = self.trials, self.trials.split()
        compared, *parts = divided(self.validation, len(self.planned))
        fits = [trials.fit(plan, split, part) for (plan, _), part in zip(self.planned, parts, strict=True)]
        ceiling = cost(self._chosen)
        place = trials.scored([model for model, _ in fits], split, compared, ceiling, self.mechanism)
        model, doubts = fits[place]
        return Found(place, model, self.planned[place][1], doubts)


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
        best: tuple[int, Found] | None = None
        for _ in range(self.trials.randomness.draw(self.law)):
            score, found = self.trial()
            if best is None or score > best[0]:
                best = score, found
        assert best is not None, "there is at least one run"
        return best[1]

    def trial(self) -> tuple[int, Found]:
        """Return one run: a candidate, drawn and trained afresh, and its noisy score."""
        trials, each = self.trials, self.each
        compared, trained = divided(self.validation, 1)
        weights = np.ones((1, len(trials.candidates)), dtype=np.int64)
        noise = Geometric(each.pure, trials.scoring.most)
        place = int(trials.randomness.draw(PublicChoice(), weights)[0])
        plan, public = planned(trials.candidates[place], trials.schema, each, trials.randomness)
        split = trials.split()
        model, doubts = trials.fit(plan, split, trained)
        score = trials.scored([model], split, compared, cost(noise.event(trials.scoring.what)), noise)
        return score, Found(place, model, public, doubts)
