"""The model of the additive engine: a start, and terms, each a step function of one feature in each cell of released cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
from hedgerow.curator import Cut, cells_of
from hedgerow.export import ScoringForm, Softmax
from hedgerow.margins import UNIT, VOTE_STEPS
from hedgerow.schema import Encoder
from hedgerow.schema.columns import read_columns
from hedgerow.survey import merged_to_arrays
from hedgerow.table import Cells

__all__ = ["AdditiveModel", "Measured", "Term", "joined"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.unsignedinteger]

USUAL = Logistic.tenths  # of a loss whose cap no file needs to say


@dataclass(frozen=True, eq=False)
class Measured:
    """What a round released of a term's cells: noisy gradients and curvatures, each (cells, codes, columns), and their noise.

    ``noise`` and ``curvature_noise`` are standard deviations; all four are in units of one record.
    """

    gradient: Floats
    curvature: Floats
    noise: float
    curvature_noise: float


@dataclass(frozen=True, eq=False)
class Term:
    """A step function of one feature in each cell of K cuts.

    Parameters
    ----------
    cuts : tuple of Cut
        Released cuts of other features, one after another; none for a curve of the feature alone.
    feature : int
        The feature in bins.
    votes : ndarray of shape (2**K, codes, columns), int64
        What a record of each cell and code gets, in 1 / ``VOTE_STEPS`` of a log-odds. Cells are counted by the sides of the cuts,
        the first cut's being the highest binary digit.
    sums : ndarray of shape (2**K, codes, channels), int64, or None
        What was released of these cells, in ``UNIT``: gradients first. None where the model keeps none.
    noise : int
        The standard deviation of the noise of a sum, in ``UNIT``, rounded; 0 where it is not known.
    """

    cuts: tuple[Cut, ...]
    feature: int
    votes: Integers
    sums: Integers | None = None
    noise: int = 0

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
        """Add it to ``margins`` (records, columns) of ``codes`` (records, features)."""
        kernels.add_term(codes, self.cells.by, self.cells.side, self.feature, self.votes, margins)

    def measured(self, multiple: float) -> Measured | None:
        """Return what was released of its cells, of a loss that measures a multiple of the curvature."""
        if self.sums is None:
            return None
        gradient, curvature = np.split(self.sums / UNIT, 2, axis=2)
        return Measured(gradient, curvature / multiple, self.noise / UNIT, self.noise / UNIT / multiple)

    @cached_property
    def mass(self) -> Floats:
        """How much its cells and codes hold, (2**K, codes): the released curvature, above zero; alike where none is kept."""
        if self.sums is None:
            return np.ones(self.votes.shape[:2])
        curvature = self.sums[..., self.sums.shape[2] // 2 :].sum(axis=2, dtype=np.float64) / UNIT
        return np.asarray(np.maximum(curvature, 0) + 1e-9)

    def means(self, mass: Floats) -> list[Floats]:
        """Return what it says on average of all records, of each side of the first cut, of each cell of the first two, and so on.

        Entry l is of shape (2**l, columns), in votes; ``mass`` (2**K, codes) says how much cells and codes count.
        """
        total, held = (self.votes * mass[..., None]).sum(axis=1), mass.sum(axis=1)
        found = [total / held[:, None]]
        for _ in self.cuts:
            total, held = total.reshape(-1, 2, self.columns).sum(axis=1), held.reshape(-1, 2).sum(axis=1)
            found.append(total / held[:, None])
        return found[::-1]

    def spread(self) -> Floats:
        """Return how far what each of ``features`` tells apart spreads, (cuts + 1,), in log-odds; all cells count alike.

        A cut tells apart the means of its two sides, the feature in bins what its codes say beyond the mean of their cell.
        """
        means = self.means(np.ones(self.votes.shape[:2]))
        apart = [after - np.repeat(before, 2, axis=0) for before, after in pairwise(means)]
        apart.append((self.votes - means[-1][:, None]).reshape(-1, self.columns))
        return np.array([np.sqrt((part**2).mean(axis=0)).sum() for part in apart]) / VOTE_STEPS


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A start and terms, whose votes add up to margins.

    Parameters
    ----------
    encoder : Encoder
        How records are read.
    loss : Logistic or Squared
        What margins say.
    start : ndarray of shape (columns,), int64
        The margin of every record before the first term.
    terms : tuple of Term
        In the order of their rounds.
    signs : tuple of int
        How the margin may go with each feature, 0 for either way.
    """

    encoder: Encoder
    loss: Logistic | Squared
    start: Integers
    terms: tuple[Term, ...]
    signs: tuple[int, ...] = field(default=())

    scale: ClassVar[Literal["log-odds", "outcome"]] = "log-odds"
    importance_rule: ClassVar[str] = "share of the spread of what its curves and cuts tell apart, over their cells"

    @property
    def origin(self) -> float:
        """What the model says where all votes add up to zero."""
        return 0.0

    @property
    def vote_steps(self) -> float:
        """How many votes a unit of what the model says is, here a log-odds of 1."""
        return VOTE_STEPS

    def curve(self, feature: int) -> Floats:
        """Return the terms of one feature without cuts added up by code, (codes, columns), in log-odds."""
        total = np.zeros((int(self.encoder.n_codes[feature]), len(self.start)), dtype=np.int64)
        for term in self.terms:
            if term.feature == feature and not term.cuts:
                total += term.votes[0]
        return np.asarray(total / self.vote_steps)

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
        """Yield the margins (records, columns) of the start with the first terms, one more each time, in log-odds."""
        codes = self.encoder.transform(X)
        margins = np.tile(self.start, (len(codes), 1))
        for term in self.terms:
            term(codes, margins)
            yield margins / self.vote_steps

    def staged_decision(self, X: Any) -> Iterator[Floats]:
        """Yield ``decision`` of the first terms, one more each time."""
        return map(self.shown, self.staged_margins(X))

    def staged_probabilities(self, X: Any) -> Iterator[Floats]:
        """Yield ``probabilities`` of the first terms, one more each time."""
        return map(self._logistic.probabilities, self.staged_margins(X))

    def importances(self) -> Floats:
        """Return the share of each feature in the spread of all terms, (features,); zeros where none has a slope."""
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

    def _cap_to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {} if self._logistic.tenths == USUAL else {"cap": np.array([self._logistic.cap], dtype=np.int64)}

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything as named arrays: those of format 3 of the model files, which ``files.restored`` reads."""
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
            **self._cap_to_arrays(),
            **merged_to_arrays(self.encoder),
        }


def joined(terms: Sequence[Term]) -> list[Term]:
    """Return terms with the votes of those of the same cuts and feature added up, the first found first; without sums."""
    found: dict[tuple[Any, ...], Term] = {}
    for term in terms:
        votes = term.votes + found[term.key].votes if term.key in found else term.votes
        found[term.key] = Term(term.cuts, term.feature, votes)
    return list(found.values())
