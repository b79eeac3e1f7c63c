"""HedgerowClassifier's method: each round selects one feature and takes one damped Newton step for each of its bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.boosting.gradients import Gradients, calibrated, uncalibrated
from hedgerow.boosting.plan import BoostedModel, lead, restored
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.boosting.steps import (
    Step,
    can_be_cut,
    condition,
    constant,
    largest,
    one_sided,
    splits_of,
    test_of,
    two_sided,
    widest_side,
)
from hedgerow.boosting.survey import CLEAR, FINE, Ones, OnesByClass, Survey, SurveyRecipe
from hedgerow.boosting.weights import UNIT, VOTE_STEPS
from hedgerow.curator import Queryable, Round, Splits
from hedgerow.errors import FileFormatError
from hedgerow.mechanisms import Budget, Noise, PermuteAndFlip, PublicChoice, Selection
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Event, OneOf, Sequence
from hedgerow.schema import Encoder, Schema
from hedgerow.scores import Candidates, multiway_or_binary
from hedgerow.trees import Forest

__all__ = ["AdditiveModel", "AdditivePlan", "AdditiveRecipe", "Sizes"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LONGEST = 1.0  # step of a class: far from the best margin the curvature says too little of the way there
LARGEST_PENALTY = 2.0**61  # where noise is near the samplers' largest
MENU = (2, 3, 5, 8, 12, 18, 28, 42, 63, 94)  # rounds to choose from
MORE_THAN_CHANCE = (
    1.25  # times what chance adds to a score on average: with ten cells and more it hardly ever adds so much
)
MOST_SPLIT_SUMS = 1 << 21  # of a round, more than which are not worked out


@dataclass(frozen=True)
class Sizes:
    """Rounds and bins by precision: how many times the noise of one count, at the whole budget, there are records.

    Parameters
    ----------
    rounds, bins : (float, float)
        A factor, and the power of the precision that it is for.
    least_bins, most_bins : int
        The range of bins.
    """

    rounds: tuple[float, float]
    bins: tuple[float, float]
    least_bins: int = 8
    most_bins: int = 40

    def rounds_at(self, precision: float) -> int:
        """Return the number of rounds in the menu that is nearest to what the precision asks for."""
        wanted = self.rounds[0] * precision ** self.rounds[1]
        return min(MENU, key=lambda rounds: abs(np.log(rounds / wanted)))

    def bins_at(self, precision: float) -> int:
        """Return the number of bins of a numeric feature."""
        return int(np.clip(round(self.bins[0] * precision ** self.bins[1]), self.least_bins, self.most_bins))


@dataclass(frozen=True)
class SplitRecipe:
    """Which rounds have splits, and what these lose by themselves.

    Parameters
    ----------
    least_rounds : int
        Only plans of so many rounds have splits.
    after : int
        The rounds of single features before the first splits.
    largest, drawn : int
        How many features are cut in a round: those with the largest curves, and others by public coins; half of them where the
        released number of records is above ``many_records``, so that a round stays affordable.
    penalty, many : float
        The factor of a split's penalty, and of what splits lose together for being many: the logarithm of how many there are for
        each feature, over the rate of the selection.
    """

    least_rounds: int = 12
    after: int = 3
    largest: int = 2
    drawn: int = 2
    penalty: float = 1.2
    many: float = 2.0
    many_records: float = 250_000.0


@dataclass(frozen=True)
class AdditiveRecipe:
    """Additive boosting in its parts.

    Parameters
    ----------
    survey : SurveyRecipe
        What is asked before the first round.
    share : Fraction
        The share of a round's budget that the selection gets.
    pure, concentrated : Sizes
        How many rounds and bins without and with a delta.
    smoothing : Smoothing
        What is known of steps beforehand.
    splits : SplitRecipe
        The rounds that may split.
    chance : float
        How much of what chance adds to a score by itself a candidate loses.
    scores, shares : Fraction
        The shares of the budget that the scores of all features get, and the shares of the classes, where they are asked for.
    precise : float
        The precision from which they are asked for.
    per_feature : float
        Rounds for each feature that carries signal.
    """

    survey: SurveyRecipe
    share: Fraction
    pure: Sizes
    concentrated: Sizes
    smoothing: Smoothing
    splits: SplitRecipe = SplitRecipe()
    chance: float = 0.5
    scores: Fraction = Fraction(3, 100)
    shares: Fraction = Fraction(1, 200)
    precise: float = 400.0
    per_feature: float = 2.0

    def round(self, budget: Budget, n_classes: int, most_cells: int) -> OneRound:
        """Return a round that costs at most the budget, of candidates with at most so many cells."""
        rule = Gradients(n_classes, normal=budget.concentrated)
        selection = (budget * self.share).selection(PermuteAndFlip, 2 * rule.scored_l1)
        noise = (budget * (1 - self.share)).noise_for(rule.l1, rule.l2_squared)
        return OneRound(self, rule, selection, noise, most_cells)

    def sizes(self, budget: Budget) -> Sizes:
        """Return the sizes for a kind of budget."""
        return self.concentrated if budget.concentrated else self.pure


@dataclass(frozen=True, eq=False)
class OneRound:
    """Select one candidate by the absolute gradients of its cells, and measure gradients and curvatures of these cells only."""

    recipe: AdditiveRecipe
    gradients: Gradients
    selection: Selection
    noise: Noise
    most_cells: int

    @property
    def event(self) -> Event:
        """What it costs."""
        return Sequence(
            (
                self.selection.event("candidate of a round", "absolute gradients summed over its cells"),
                self.noise.event(
                    "gradients and curvatures of the candidate's cells",
                    draws=self.most_cells * 2 * self.gradients.scored,
                ),
            )
        )

    def run(self, asked: Round, encoder: Encoder, splits: Splits | None, curvature: Floats) -> tuple[Step, Floats]:
        """Return what the round adds, and the curvature of all records.

        The curvature is known from what was released before: its sum over the records for each scored channel.
        """
        penalty = self.penalty(encoder.n_codes, curvature)
        if splits is not None:
            of_splits = self.penalty(splits.n_cells, curvature, self.recipe.splits.penalty)
            many = (
                self.recipe.splits.many
                * np.log(max(len(splits) / len(penalty), 1))
                / float(self.selection.rate.fraction)
            )
            of_splits = np.minimum(of_splits + many, LARGEST_PENALTY).astype(np.int64)
            penalty = np.concatenate([penalty, of_splits])
        chosen = asked.select(self.selection, penalty)
        sums, scored = asked.sums(chosen, self.noise), self.gradients.scored
        gradient, measured = sums[:, :scored] / UNIT, sums[:, scored:] / (UNIT * self.gradients.curvature)
        after = self.gradients.curvature_of(measured.sum(axis=0))
        numeric = encoder.schema.is_numeric
        if chosen < len(numeric):
            return one_sided(chosen, self._votes(gradient, measured, numeric=numeric[chosen])), after
        assert splits is not None
        split = splits[chosen - len(numeric)]
        sides = zip(np.split(gradient, 2), np.split(measured, 2), strict=True)
        votes = [self._votes(*side, numeric=numeric[split.feature]) for side in sides]
        return two_sided(split, np.concatenate(votes)), after

    def penalty(self, n_cells: Integers, curvature: Floats, factor: float = 1.0) -> Integers:
        """Return what a score loses for its cells: what noise of their sums, and part of what chance, would add by themselves."""
        noise, chance = self.by_itself(n_cells, curvature)
        by_itself = np.rint(factor * (noise + self.recipe.chance * chance))
        penalty: Integers = np.minimum(by_itself, LARGEST_PENALTY).astype(np.int64)
        return penalty

    def by_itself(self, n_cells: Integers, curvature: Floats) -> tuple[Floats, Floats]:
        """Return what noise, and what chance, add to a score of so many cells that says nothing.

        By chance alone residuals of records add up to about the root of their curvature in each cell, most where cells are even.
        """
        cells = np.sqrt(2 / np.pi * n_cells)
        chance = UNIT * np.sqrt(np.maximum(curvature, 0)).sum()
        return cells * self.noise.deviation * self.gradients.scored, cells * chance

    def _votes(self, gradient: Floats, measured: Floats, *, numeric: bool) -> Integers:
        curvature, deviation = self.gradients.curvature, self.noise.deviation / UNIT
        steps = self.recipe.smoothing.steps(gradient, measured, deviation, deviation / curvature, numeric)
        if self.gradients.n_classes == 2:
            steps = np.hstack([-steps / 2, steps / 2])
        steps = np.clip(steps, -LONGEST, LONGEST)
        steps = steps - steps.mean(axis=1, keepdims=True)
        votes: Integers = np.trunc(steps * VOTE_STEPS).astype(np.int64)
        return votes


@dataclass(frozen=True, eq=False)
class Scout:
    """What is asked of all features before the first round: the classes' shares, and every feature's score beside these.

    ``left`` is what it leaves of the budget.
    """

    rule: Gradients
    class_noise: Noise
    score_noise: Noise
    features: int
    left: Budget

    @property
    def events(self) -> tuple[Event, ...]:
        """What it costs."""
        return (
            self.class_noise.event("number of records of each class", draws=self.rule.n_classes),
            self.score_noise.event("scores of all features", draws=self.features),
        )

    def classes(self, curator: Queryable) -> tuple[Floats, Integers]:
        """Return what a model says at which gradients cancel, drawn towards even shares by the noise, and the votes for it."""
        released = curator.open_round(OnesByClass(self.rule.n_classes)).whole_sums(self.class_noise)
        counts = np.maximum(released, 0) + 1 + CLEAR * self.class_noise.deviation
        shares = uncalibrated(counts / counts.sum())
        odds = np.log(shares)
        votes: Integers = np.trunc((odds - odds.mean()) * VOTE_STEPS).astype(np.int64)
        return shares, votes


@dataclass(frozen=True, eq=False)
class Interaction:
    """A cut of one feature and the curves of another one on its two sides, as released.

    ``curves``, (2, codes, classes) or for two classes (2, codes), are what ``decision`` adds up, the first side's first, and
    ``condition`` says which records are on it.
    """

    feature: int
    by: int
    condition: str
    curves: Floats


class AdditiveModel(BoostedModel):
    """Curves of one feature, and two-sided ones, whose votes add up to the margins of capped gradients."""

    def said(self, sums: Floats) -> Floats:
        """Return the probabilities that sums of votes (records, classes) stand for."""
        return calibrated(super().said(sums))

    def curve(self, feature: int) -> Floats:
        """Return the sum of the votes of one-sided curves of one feature for each of its codes, as ``decision`` returns sums."""
        codes = int(self.encoder.n_codes[feature])
        total = np.zeros((codes, len(self.encoder.schema.classes)))
        for root in self._roots(self.forest.test[self.forest.roots] == feature):
            total += self._leaves(root, codes)
        return lead(total)

    def interactions(self) -> list[Interaction]:
        """Return every cut with its two curves; those of one cut of the same two features are added up."""
        forest = self.forest
        found: dict[tuple[int, int], Interaction] = {}
        for root in self._roots(forest.test[forest.roots] >= len(self.encoder.n_codes)):
            test, child = int(forest.test[root]), int(forest.first_child[root])
            feature = int(forest.test[child])
            codes = int(self.encoder.n_codes[feature])
            curves = np.stack([lead(self._leaves(node, codes)) for node in (child, child + 1)])
            if (test, feature) in found:
                curves = curves + found[test, feature].curves
            by, at = int(forest.candidates.feature[test]), int(forest.candidates.at[test])
            found[test, feature] = Interaction(feature, by, condition(self.encoder, by, at), curves)
        return list(found.values())

    def _roots(self, chosen: npt.NDArray[np.bool_]) -> Iterator[int]:
        yield from self.forest.roots[chosen].tolist()

    def _leaves(self, node: int, codes: int) -> Floats:
        """Return the votes below a node that tests a feature of so many codes, (codes, classes)."""
        assert self.share is not None
        first = int(self.forest.first_child[node])
        return self.share[first : first + codes]

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees, their votes and the cut points as named arrays."""
        edges = self.encoder.edges
        return {
            **super().to_arrays(),
            "edges": np.concatenate(edges),
            "edge_counts": np.array([len(cuts) for cuts in edges], dtype=np.int64),
        }


class AdditivePlan:
    """Additive boosting that is about to be fitted: a survey, then as many rounds as its answer asks for.

    Parameters
    ----------
    recipe : AdditiveRecipe
        Its parts.
    schema : Schema
        What is public about the records.
    claim : Claim
        What the plan keeps to.
    rounds, bins : int or None
        Rounds, and bins of a numeric feature; None: by the precision that the noisy number of records shows.
    """

    def __init__(
        self,
        recipe: AdditiveRecipe,
        schema: Schema,
        claim: Claim,
        *,
        rounds: int | None,
        bins: int | None,
    ) -> None:
        self._recipe = recipe
        self._rounds, self._bins = rounds, bins
        self._menu = MENU if rounds is None else (rounds,)
        self._encoder = Encoder(schema, FINE)
        self._counts = rounds is None or (bins is None and any(map(len, self._encoder.edges)))
        bins = bins or max(recipe.pure.most_bins, recipe.concentrated.most_bins)
        n_codes, numeric = self._encoder.n_codes, np.array(schema.is_numeric)
        n_codes = np.where(numeric, np.minimum(n_codes, bins + 1), n_codes)
        self._most_cells = {False: int(n_codes.max()), True: max(int(n_codes.max()), 2 * widest_side(n_codes, numeric))}
        self._budget = Budget.of(claim, self._event)

    def _survey(self, budget: Budget) -> Survey:
        return self._recipe.survey.survey(budget, self._encoder, counts=self._counts)

    def _round(self, budget: Budget, rounds: int) -> OneRound:
        most = self._most_cells[rounds >= self._recipe.splits.least_rounds]
        return self._recipe.round(budget / rounds, len(self._encoder.schema.classes), most)

    def _scout(self, left: Budget) -> Scout:
        """Return what is asked of all features before the first round."""
        recipe, n_classes, features = self._recipe, len(self._encoder.schema.classes), len(self._encoder.schema.names)
        rule = Gradients(n_classes, normal=left.concentrated)
        scores = (left * recipe.scores).noise_for(features * rule.scored_l1, features * rule.scored_l1**2)
        return Scout(rule, (left * recipe.shares).noise(), scores, features, left * (1 - recipe.scores - recipe.shares))

    @property
    def _asks_scores(self) -> bool:
        """Whether the scores of all features may be asked for: where the rounds are to be found, and there are some to choose."""
        return self._rounds is None and len(self._encoder.schema.names) > 1

    def _event(self, budget: Budget) -> Event:
        left = budget * self._survey(budget).left
        choices = [Sequence((self._round(left, rounds).event,) * rounds) for rounds in self._menu]
        if self._asks_scores:
            scout = self._scout(left)
            choices += [
                Sequence((*scout.events, *(self._round(scout.left, rounds).event,) * rounds)) for rounds in self._menu
            ]
        label = f"{', '.join(map(str, self._menu))} rounds, as noisy numbers of records and scores say"
        boosting = choices[0] if len(choices) == 1 else OneOf(tuple(choices), label)
        return Sequence((*self._survey(budget).event.parts, boosting))

    @property
    def event(self) -> Event:
        """Everything that will read records."""
        return self._event(self._budget)

    @property
    def encoder(self) -> Encoder:
        """How records are read: numeric features in fine bins, which the survey merges."""
        return self._encoder

    def fit(self, curator: Queryable) -> AdditiveModel:
        """Boost by asking a curator."""
        survey = self._survey(self._budget)
        asked = curator.open_round(Ones())
        released = survey.records(asked)
        curator.doubts += survey.doubts(released)
        records = None if released is None else max(float(released), 1.0)
        rounds, bins = self._sizes(records)
        merges = survey.merges(asked, bins)
        curator.merge(merges)
        encoder, left = self._encoder.merged(merges), self._budget * survey.left
        last: Step | None = None
        if records is not None and self._asks_scores and self._precision(records) >= self._recipe.precise:
            scout = self._scout(left)
            dense, last = self._for_dense(curator, scout, encoder, records)
            rounds, left = max(rounds, dense), scout.left
        one = self._round(left, rounds)
        curvature = one.gradients.first_curvature(records or 0.0)
        steps: list[Step] = []
        for number in range(rounds):
            splits = self._splits(curator, encoder, steps, rounds, number, records)
            last, curvature = one.run(curator.open_round(one.gradients, last, splits), encoder, splits, curvature)
            steps.append(last)
        return additive_model(encoder, steps)

    def _sizes(self, records: float | None) -> tuple[int, int]:
        """Return rounds and bins; what the user asked for comes first."""
        if records is None:
            assert self._rounds is not None
            return self._rounds, self._bins or FINE
        precision, sizes = self._precision(records), self._recipe.sizes(self._budget)
        return self._rounds or sizes.rounds_at(precision), self._bins or sizes.bins_at(precision)

    def _precision(self, records: float) -> float:
        """Return how many times the noise of one count, at the budget that is left, there are records."""
        left = float(self._budget.amount * self._survey(self._budget).left)
        return float(records * (np.sqrt(2 * left) if self._budget.concentrated else left))

    def _for_dense(self, curator: Queryable, scout: Scout, encoder: Encoder, records: float) -> tuple[int, Step]:
        """Return how many rounds the features ask for, and the step that takes the margins back to zero.

        There are some rounds for each feature whose noisy score stands out of the noise of so many rounds. So many alike features
        carry as much as (sum q)^2 / sum q^2 of scores q, less what noise and chance add to them. The scores are asked where the
        margins say the classes' shares, which otherwise every score would hold.
        """
        shares, intercept = scout.classes(curator)
        scores = curator.open_round(scout.rule, constant(encoder, intercept)).scores(scout.score_noise)
        curvature = scout.rule.first_curvature(records, shares)
        found, doubt = 0, CLEAR * scout.score_noise.deviation
        for rounds in self._menu:
            noise, chance = self._round(scout.left, rounds).by_itself(encoder.n_codes, curvature)
            # What a signal and chance add to a score grows as the root of their squares.
            signal = np.sqrt(np.maximum(np.maximum(scores, 0.0) ** 2 - chance**2, 0))
            clear = np.where(scores > chance + doubt, np.maximum(signal - noise, 0), 0)
            if clear.any() and self._recipe.per_feature * clear.sum() ** 2 / (clear**2).sum() >= rounds:
                found = rounds
        return found, constant(encoder, -intercept)

    def _splits(
        self, curator: Queryable, encoder: Encoder, steps: list[Step], rounds: int, number: int, records: float | None
    ) -> Splits | None:
        """Return the splits of a round, by public coins and what was released; None where it has none."""
        recipe, can = self._recipe.splits, can_be_cut(encoder)
        if rounds < recipe.least_rounds or number < recipe.after or len(can) < 2:
            return None
        part = 2 if records is not None and records > recipe.many_records else 1
        by = largest(steps, can, recipe.largest // part)
        others = can.copy()
        others[by] = False
        for _ in range(min((recipe.largest + recipe.drawn) // part - len(by), int(others.sum()))):
            drawn = int(curator.draw_public(PublicChoice(), others[None].astype(np.int64))[0])
            by.append(drawn)
            others[drawn] = False
        if not by:
            return None
        splits = splits_of(encoder, by)
        channels = Gradients(len(encoder.schema.classes), normal=self._budget.concentrated).channels
        return splits if splits.groups.n_groups * int(encoder.n_codes.sum()) * channels <= MOST_SPLIT_SUMS else None

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> AdditiveModel:
        """Return the model whose steps, votes and cut points stand in the arrays, or raise FileFormatError."""
        encoder = _with_edges(self._encoder, arrays)
        model = restored(arrays, encoder, candidates_of(encoder), max(self._menu))
        forest = model.forest
        features = len(encoder.n_codes)
        test, first = forest.test, forest.first_child
        inner = test >= 0
        split = np.zeros(len(test), dtype=np.bool_)
        split[forest.roots] = test[forest.roots] >= features
        below = np.zeros(len(test), dtype=np.bool_)
        for root in np.flatnonzero(split).tolist():
            children = test[first[root] : first[root] + 2]
            by = int(forest.candidates.feature[test[root]])
            if children[0] != children[1] or not 0 <= children[0] < features or children[0] == by:
                raise FileFormatError(NO_STEPS)
            below[first[root] : first[root] + 2] = True
        single = np.zeros(len(test), dtype=np.bool_)
        single[forest.roots] = inner[forest.roots] & ~split[forest.roots]
        if not np.array_equal(inner, split | below | single) or not inner[forest.roots].all():
            raise FileFormatError(NO_STEPS)
        return AdditiveModel(model.encoder, model.forest, model.share)


NO_STEPS = "the file's trees are no steps of one or two features, as this model's are; fit the model again."


def candidates_of(encoder: Encoder) -> Candidates:
    """Return the tests of a model's trees: each feature by code, and every cut."""
    return multiway_or_binary(encoder.n_codes, encoder.schema.is_numeric)


def additive_model(encoder: Encoder, steps: list[Step]) -> AdditiveModel:
    """Return the model of steps: a stump for each of one side, a tree of two levels for each of two."""
    candidates = candidates_of(encoder)
    trees, shares = [], []
    for step in steps:
        sides, codes, classes = step.votes.shape
        if sides == 1:
            test, first_child = _each(step.feature, codes, 1)
            votes = np.concatenate([np.zeros((1, classes), dtype=np.int64), step.votes[0]])
        else:
            inner = [_each(step.feature, codes, 3 + side * codes) for side in range(2)]
            test = np.concatenate([[test_of(encoder, step)], *(t[:1] for t, _ in inner), *(t[1:] for t, _ in inner)])
            first_child = np.concatenate([[1], *(c[:1] for _, c in inner), *(c[1:] for _, c in inner)])
            votes = np.concatenate([np.zeros((3, classes), dtype=np.int64), *step.votes])
        label = np.where(test < 0, 0, -1)
        root = np.zeros(1, dtype=np.int32)
        tests, firsts, labels = (array.astype(np.int32) for array in (test, first_child, label))
        trees.append(Forest(root, tests, firsts, labels, candidates))
        shares.append(votes)
    return AdditiveModel(encoder, Forest.joined(*trees), np.concatenate(shares) / VOTE_STEPS)


def _each(feature: int, codes: int, first: int) -> tuple[Integers, Integers]:
    """Return tests and first children of a node with a leaf for every code of a feature, and of these leaves."""
    test, first_child = np.full(codes + 1, -1), np.zeros(codes + 1, dtype=np.int64)
    test[0], first_child[0] = feature, first
    return test, first_child


def _with_edges(fine: Encoder, arrays: Mapping[str, npt.NDArray[Any]]) -> Encoder:
    """Return the encoder whose edges stand in the arrays: some of the fine ones."""
    edges, counts = arrays.get("edges"), arrays.get("edge_counts")
    if (
        edges is None
        or counts is None
        or edges.dtype != np.float64
        or counts.dtype != np.int64
        or counts.shape != (len(fine.edges),)
        or np.any(counts < 0)
        or np.any(counts > FINE)
        or edges.shape != (int(counts.sum()),)
    ):
        raise FileFormatError("the file's cut points are damaged; fit the model again.")
    cuts = np.split(edges, np.cumsum(counts)[:-1])
    for kept, known in zip(cuts, fine.edges, strict=True):
        if (len(kept) > 0) != (len(known) > 0) or not np.isin(kept, known).all() or np.any(np.diff(kept) <= 0):
            raise FileFormatError("the file's cut points are damaged; fit the model again.")
    return Encoder(
        fine.schema.cut_at({name: kept.tolist() for name, kept in zip(fine.schema.names, cuts, strict=True)}), FINE
    )
