"""Terms: step functions of one feature in each cell of released cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.additive import kernels
from hedgerow.arrays import Floats, Integers
from hedgerow.curator import Cut, cells_of
from hedgerow.lazy_values import lazy
from hedgerow.margins import UNIT, VOTE_STEPS
from hedgerow.table import Cells
from hedgerow.texts import short_repr

__all__ = ["Measured", "Term", "Terms", "joined"]

Codes = npt.NDArray[np.unsignedinteger]


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

    @lazy
    def cells(self) -> Cells:
        """The cells of its cuts."""
        return cells_of(self.cuts)

    @lazy
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

    @lazy
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


def joined(terms: Sequence[Term]) -> list[Term]:
    """Return terms without sums, those of the same cuts and feature added up into one, in the order of the first of each."""
    by_key: dict[tuple[Any, ...], Term] = {}
    for term in terms:
        votes = term.votes + by_key[term.key].votes if term.key in by_key else term.votes
        by_key[term.key] = Term(term.cuts, term.feature, votes)
    return list(by_key.values())
