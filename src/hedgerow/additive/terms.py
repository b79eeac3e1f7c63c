"""The model: a start and terms, each term a step function of one feature in each cell of released cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt

from hedgerow.additive import kernels
from hedgerow.additive.losses import Logistic
from hedgerow.additive.packed import Packed
from hedgerow.additive.squared import Squared
from hedgerow.additive.trees import scoring
from hedgerow.arrays import Floats, Integers
from hedgerow.curator import Cut, cells_of
from hedgerow.export import ScoringForm, Softmax
from hedgerow.margins import UNIT, VOTE_STEPS
from hedgerow.schema import Encoder
from hedgerow.schema.columns import read_columns
from hedgerow.survey import merged_to_arrays
from hedgerow.table import Cells
from hedgerow.texts import short_repr

__all__ = ["AdditiveModel", "Measured", "Term", "Terms", "joined"]

Codes = npt.NDArray[np.unsignedinteger]

OF_START = "init_"  # begins the names of the arrays of a start
USUAL = Logistic.tenths  # of a loss whose cap is not written to files


@dataclass(frozen=True, eq=False)
class Measured:
    """What a round released of a term's cells: noisy sums (cells, codes, columns), their deviations; in units of a record's."""

    gradient: Floats
    curvature: Floats
    noise: float
    curvature_noise: float


@dataclass(frozen=True, eq=False)
class Term:
    """A step function of one feature in each cell of K cuts.

    Cells are numbered by the sides of the cuts, the first cut's being the highest binary digit.
    """

    cuts: tuple[Cut, ...]  # of other features
    feature: int  # the feature in bins
    votes: Integers  # (2**K, codes, columns), what a record of each cell and code gets
    sums: Integers | None = (
        None  # (2**K, codes, channels), as released: gradients, then curvatures, in UNIT; None: not kept
    )
    noise: int = 0  # the standard deviation of the noise of a sum, in UNIT, rounded; 0: not known
    unit: int = VOTE_STEPS * UNIT  # how many votes a step of 1 of its loss is, in 1 / UNIT
    deviation: int = UNIT  # of what one record adds to a gradient, in UNIT

    __repr__ = short_repr

    @property
    def columns(self) -> int:
        """How many margins a record has."""
        return int(self.votes.shape[2])

    @property
    def features(self) -> tuple[int, ...]:
        """The features that it reads: those that are cut, and the one in bins."""
        return (*(cut.by for cut in self.cuts), self.feature)

    @cached_property
    def cells(self) -> Cells:
        """The cells of its cuts."""
        return cells_of(self.cuts)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """What it tells apart: its cuts and its feature."""
        return (*((cut.by, cut.side.tobytes()) for cut in self.cuts), self.feature)

    def __call__(self, codes: Codes, margins: npt.NDArray[np.signedinteger]) -> None:
        """Add the votes to ``margins`` (records, columns) of ``codes`` (records, features)."""
        kernels.add_term(codes, self.cells.by, self.cells.side, self.feature, self.votes, margins)

    def measured(self, multiple: float) -> Measured | None:
        """Return what was released of its cells; ``multiple`` is the loss's ``curvature``."""
        if self.sums is None:
            return None
        gradient, curvature = np.split(self.sums, 2, axis=2)
        noise = self.noise / self.deviation, self.noise / UNIT / multiple
        return Measured(gradient / self.deviation, curvature / UNIT / multiple, *noise)

    @property
    def steps(self) -> Floats:
        """What it says in steps of its loss, (2**K, codes, columns)."""
        return np.asarray(self.votes * UNIT / self.unit)

    @cached_property
    def mass(self) -> Floats:
        """The weight of each cell and code in averages, (2**K, codes): its released curvature, above zero; 1 if not kept."""
        if self.sums is None:
            return np.ones(self.votes.shape[:2])
        curvature = self.sums[..., self.sums.shape[2] // 2 :].sum(axis=2, dtype=np.float64) / UNIT
        return np.asarray(np.maximum(curvature, 0) + 1e-9)

    def means(self, mass: Floats) -> list[Floats]:
        """Return the mean votes over everything, over each side of the first cut, over each cell of the first two, and so on.

        Entry l is of shape (2**l, columns); ``mass`` (2**K, codes) weighs cells and codes.
        """
        total, held = (self.votes * mass[..., None]).sum(axis=1), mass.sum(axis=1)
        means = [total / held[:, None]]
        for _ in self.cuts:
            total, held = total.reshape(-1, 2, self.columns).sum(axis=1), held.reshape(-1, 2).sum(axis=1)
            means.append(total / held[:, None])
        return means[::-1]

    def spread(self) -> Floats:
        """Return the spread, in log-odds, of what each of ``features`` adds, (cuts + 1,); all cells count alike.

        A cut adds what a side's mean is above the mean of both, the feature in bins what a code is above the mean of its cell.
        """
        means = self.means(np.ones(self.votes.shape[:2]))
        apart = [after - np.repeat(before, 2, axis=0) for before, after in pairwise(means)]
        apart.append((self.votes - means[-1][:, None]).reshape(-1, self.columns))
        return np.array([np.sqrt((part**2).mean(axis=0)).sum() for part in apart]) / VOTE_STEPS


@dataclass(frozen=True, eq=False)
class Terms:
    """At least one term, whose votes are added one after another."""

    terms: tuple[Term, ...]

    __repr__ = short_repr

    @property
    def columns(self) -> int:
        """How many margins a record has."""
        return self.terms[0].columns

    def __call__(self, codes: Codes, margins: npt.NDArray[np.signedinteger]) -> None:
        """Add the votes to ``margins`` (records, columns) of ``codes`` (records, features)."""
        for term in self.terms:
            term(codes, margins)


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A start and terms, whose votes add up to margins."""

    encoder: Encoder
    loss: Logistic | Squared
    start: Integers  # (columns,), the margin of every record before the first term
    terms: tuple[Term, ...]  # in the order of their rounds
    signs: tuple[int, ...] = ()  # how the margin may go with each feature: 1 rising, -1 falling, 0 either
    parts: tuple[AdditiveModel, AdditiveModel] | None = (
        None  # a start, and what was learned beyond it, of which it is the sum
    )

    importance_rule: ClassVar[str] = "share of the spread of what its curves and cuts tell apart, over their cells"

    __repr__ = short_repr

    @property
    def scale(self) -> Literal["log-odds", "outcome", "log outcome"]:
        """What margins say."""
        return "log-odds"

    @property
    def origin(self) -> float:
        """What the model says where all votes add up to zero."""
        return 0.0

    @property
    def vote_steps(self) -> float:
        """How many votes a unit of what the model says is, here a log-odds of 1."""
        return VOTE_STEPS

    def curve(self, feature: int) -> Floats:
        """Return the sum of a feature's terms without cuts, (codes, columns), in log-odds."""
        total = np.zeros((int(self.encoder.n_codes[feature]), len(self.start)), dtype=np.int64)
        for term in self.terms:
            if term.feature == feature and not term.cuts:
                total += term.votes[0]
        return np.asarray(total / self.vote_steps)

    @property
    def own(self) -> AdditiveModel:
        """What a fit learned itself: the model, or what it holds beyond its start."""
        return self if self.parts is None else self.parts[1]

    @cached_property
    def packed(self) -> Packed:
        """The terms as predictions read them."""
        return Packed(self.start, joined(self.terms), self.encoder.dtype)

    def margins(self, codes: Codes) -> npt.NDArray[np.signedinteger]:
        """Return the margins of records by their codes (records, features), of shape (records, columns), in votes."""
        return self.packed.margins(codes)

    def answers(self, X: Any, answer: Callable[[Integers], Floats]) -> Floats:
        """Return what ``answer`` says of the margins (records, columns) of records, each by itself."""
        columns = read_columns(X, self.encoder.schema.features)
        packed = self.packed
        looked_up = packed.table(answer, columns.n_rows)
        return self.encoder.answers(
            columns, lambda codes: looked_up(packed.margins(codes)), reads=packed.reads, by_column=True
        )

    def decision(self, X: Any) -> Floats:
        """Return the margins of records, (records, classes), or for two classes the second's log-odds, (records,)."""
        return self.answers(X, lambda margins: self.shown(margins / self.vote_steps))

    def shown(self, values: Floats) -> Floats:
        """Return values (..., columns) as ``decision`` shows them: without the only column of two classes."""
        return values[..., 0] if len(self.encoder.schema.classes) in (0, 2) else values

    def probabilities(self, X: Any) -> Floats:
        """Return the probabilities of the classes, of shape (records, classes)."""
        return self.answers(X, lambda margins: self._logistic.probabilities(margins / VOTE_STEPS))

    def staged_margins(self, X: Any) -> Iterator[Floats]:
        """Yield the margins (records, columns), in log-odds, after each of the fit's own terms."""
        codes = self.encoder.transform(X)
        for margins in self.staged(codes):
            yield margins / self.vote_steps

    def staged(self, codes: Codes) -> Iterator[Integers]:
        """Yield the margins of records by their codes, in votes, after each of the fit's own terms; the array is used again."""
        margins = np.tile(self.start, (len(codes), 1))
        given = len(self.terms) - len(self.own.terms)
        for number, term in enumerate(self.terms):
            term(codes, margins)
            if number >= given:
                yield margins

    def staged_decision(self, X: Any) -> Iterator[Floats]:
        """Yield ``decision`` after each of the terms."""
        return map(self.shown, self.staged_margins(X))

    def staged_probabilities(self, X: Any) -> Iterator[Floats]:
        """Yield ``probabilities`` after each of the terms."""
        return map(self._logistic.probabilities, self.staged_margins(X))

    def importances(self) -> Floats:
        """Return the share of each feature in the spread of all terms, (features,); zeros where no term spreads."""
        spread = np.zeros(len(self.encoder.n_codes))
        for term in joined(self.terms):
            np.add.at(spread, list(term.features), term.spread())
        return spread / spread.sum() if spread.sum() > 0 else spread

    def scoring(self) -> ScoringForm:
        """Return how the model answers, for programs that do not know this library."""
        return scoring(self.encoder, self.start, joined(self.terms), Softmax(VOTE_STEPS, self._logistic.cap / UNIT))

    @property
    def _logistic(self) -> Logistic:
        return cast(Logistic, self.loss)  # or another loss of classes

    def _loss_to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {} if self._logistic.tenths == USUAL else {"cap": np.array([self._logistic.cap], dtype=np.int64)}

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the named arrays of format 3 of the model files, or 4 with a start, which ``files.restored`` reads."""
        if self.parts is not None:
            start, own = (part.to_arrays() for part in self.parts)
            return {**own, **{f"{OF_START}{name}": array for name, array in start.items()}}
        about = [(term.feature, len(term.cuts), term.sums is not None, term.noise) for term in self.terms]
        cuts = [(cut.by, cut.code) for term in self.terms for cut in term.cuts]
        votes = [term.votes.reshape(-1, term.columns) for term in self.terms]
        sums = [term.sums.reshape(-1, term.sums.shape[2]) for term in self.terms if term.sums is not None]
        return {
            "start": self.start,
            "terms": np.array(about, dtype=np.int64).reshape(-1, 4),
            "cuts": np.array(cuts, dtype=np.int64).reshape(-1, 2),
            "votes": np.concatenate([np.zeros((0, len(self.start)), dtype=np.int64), *votes]),
            "sums": np.concatenate([np.zeros((0, self.loss.channels), dtype=np.int64), *sums]),
            **self._loss_to_arrays(),
            **merged_to_arrays(self.encoder),
        }


def joined(terms: Sequence[Term]) -> list[Term]:
    """Return terms without sums, those of the same cuts and feature added up into one, in the order of the first of each."""
    by_key: dict[tuple[Any, ...], Term] = {}
    for term in terms:
        votes = term.votes + by_key[term.key].votes if term.key in by_key else term.votes
        by_key[term.key] = Term(term.cuts, term.feature, votes)
    return list(by_key.values())
