"""The model of the additive engine: a start, and terms, each a step function of one feature in each cell of released cuts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.additive import kernels
from hedgerow.additive.losses import Logistic
from hedgerow.curator import Cut, cells_of
from hedgerow.margins import UNIT, VOTE_STEPS
from hedgerow.schema import Encoder
from hedgerow.table import Cells

__all__ = ["AdditiveModel", "Term", "lead_of"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.unsignedinteger]

BLOCK = 1 << 16  # records that are predicted at once


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
        The standard deviation of the noise of a sum, in ``UNIT``, rounded; 0 without sums.
    """

    cuts: tuple[Cut, ...]
    feature: int
    votes: Integers
    sums: Integers | None = None
    noise: int = 0

    @property
    def columns(self) -> int:
        """How many margins a record has."""
        return self.votes.shape[2]

    @property
    def features(self) -> tuple[int, ...]:
        """The features that it reads: those that are cut, and the one in bins."""
        return (*(cut.by for cut in self.cuts), self.feature)

    @cached_property
    def cells(self) -> Cells:
        """The cells of its cuts."""
        return cells_of(self.cuts)

    def __call__(self, codes: Codes, margins: npt.NDArray[np.signedinteger]) -> None:
        """Add it to ``margins`` (records, columns) of ``codes`` (records, features)."""
        kernels.add_term(codes, self.cells.by, self.cells.side, self.feature, self.votes, margins)

    def measured(self, multiple: float) -> Measured | None:
        """Return what was released of its cells, of a loss that measures a multiple of the curvature."""
        if self.sums is None:
            return None
        gradient, curvature = np.split(self.sums / UNIT, 2, axis=2)
        return Measured(gradient, curvature / multiple, self.noise / UNIT, self.noise / UNIT / multiple)


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A start and terms, whose votes add up to margins.

    Parameters
    ----------
    encoder : Encoder
        How records are read.
    loss : Logistic
        What margins say.
    start : ndarray of shape (columns,), int64
        The margin of every record before the first term.
    terms : tuple of Term
        In the order of their rounds.
    signs : tuple of int
        How the margin may go with each feature, 0 for either way.
    """

    encoder: Encoder
    loss: Logistic
    start: Integers
    terms: tuple[Term, ...]
    signs: tuple[int, ...] = field(default=())

    importance_rule: ClassVar[str] = (
        "share of the spread of the curves over their cells; curves in the cells of cuts count for the feature whose curves they are"
    )

    @cached_property
    def offsets(self) -> Integers:
        """Where the codes of each feature begin when all stand in a row, and their number."""
        return np.concatenate([[0], np.cumsum(self.encoder.n_codes)]).astype(np.int64)

    @cached_property
    def curves(self) -> Integers:
        """The terms without cuts added up by code, (codes of all features, columns)."""
        total = np.zeros((int(self.offsets[-1]), len(self.start)), dtype=np.int64)
        for term in self.terms:
            if not term.cuts:
                total[self.offsets[term.feature] : self.offsets[term.feature + 1]] += term.votes[0]
        return total

    def curve(self, feature: int) -> Floats:
        """Return the terms of one feature without cuts added up by code, (codes, columns), in log-odds."""
        return np.asarray(self.curves[self.offsets[feature] : self.offsets[feature + 1]] / VOTE_STEPS)

    def margins(self, codes: Codes) -> Integers:
        """Return the margins of records by their codes (records, features), of shape (records, columns), in votes."""
        margins = np.tile(self.start, (len(codes), 1))
        features = np.array(sorted({term.feature for term in self.terms if not term.cuts}), dtype=np.int64)
        kernels.add_curves(codes, features, self.offsets, self.curves, margins)
        for term in self.terms:
            if term.cuts:
                term(codes, margins)
        return margins

    def decision(self, X: Any) -> Floats:
        """Return the margins of records, (records, classes), or for two classes the second's log-odds, (records,)."""
        return self._joined(lead_of(self.margins(codes) / VOTE_STEPS) for _, codes in self.encoder.blocks(X, BLOCK))

    def probabilities(self, X: Any) -> Floats:
        """Return the probabilities of the classes, of shape (records, classes)."""
        return self._joined(
            self.loss.probabilities(self.margins(codes) / VOTE_STEPS) for _, codes in self.encoder.blocks(X, BLOCK)
        )

    def _joined(self, parts: Iterator[Floats]) -> Floats:
        found = list(parts)
        return np.concatenate(found) if found else self.loss.probabilities(np.empty((0, len(self.start))))

    def staged_margins(self, X: Any) -> Iterator[Floats]:
        """Yield the margins (records, columns) of the start with the first terms, one more each time, in log-odds."""
        codes = self.encoder.transform(X)
        margins = np.tile(self.start, (len(codes), 1))
        for term in self.terms:
            term(codes, margins)
            yield margins / VOTE_STEPS

    def staged_decision(self, X: Any) -> Iterator[Floats]:
        """Yield ``decision`` of the first terms, one more each time."""
        return map(lead_of, self.staged_margins(X))

    def staged_probabilities(self, X: Any) -> Iterator[Floats]:
        """Yield ``probabilities`` of the first terms, one more each time."""
        return map(self.loss.probabilities, self.staged_margins(X))

    def spread(self) -> Floats:
        """Return how far each feature's curves spread over their cells, (features,); terms under one set of cuts are one."""
        spread = [float(np.std(self.curve(j), axis=0).sum()) for j in range(len(self.encoder.n_codes))]
        for term in joined(self.terms):
            spread[term.feature] += float(np.std(term.votes.reshape(-1, term.columns) / VOTE_STEPS, axis=0).sum())
        return np.array(spread)

    def importances(self) -> Floats:
        """Return the share of each feature in the spread of all curves, (features,); zeros where no curve has a slope."""
        spread = self.spread()
        return spread / spread.sum() if spread.sum() > 0 else spread


def joined(terms: Sequence[Term]) -> list[Term]:
    """Return the terms with cuts, those of the same cuts and feature added up to one, the first found first."""
    found: dict[tuple[Any, ...], Term] = {}
    for term in terms:
        if term.cuts:
            key = (tuple((cut.by, cut.side.tobytes()) for cut in term.cuts), term.feature)
            votes = term.votes + found[key].votes if key in found else term.votes
            found[key] = Term(term.cuts, term.feature, votes)
    return list(found.values())


def lead_of(margins: Floats) -> Floats:
    """Return margins (records, columns) as ``decision`` does: of one column as (records,)."""
    return margins[:, 0] if margins.shape[1] == 1 else margins
