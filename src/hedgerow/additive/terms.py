"""Terms: step functions of one feature in each cell of released cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.additive import kernels
from hedgerow.arrays import Floats, Integers, lazy
from hedgerow.curator import Cut, cells_of
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.table import Cells
from hedgerow.texts import short_repr

Codes = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False)
class Measured:
    """Released sums of a term, (cells, codes, columns), and the deviations of their noise.

    All are scaled by ``deviation`` and the curvature multiple.
    """

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
    # (2**K, codes, channels), as released: gradients, then curvatures, in UNIT; None: not kept
    sums: Integers | None = None
    noise: int = 0  # the standard deviation of the noise of a sum, in UNIT, rounded; 0: not known
    unit: int = VOTE_STEPS * UNIT  # votes per unit step of the loss, times UNIT
    deviation: int = UNIT  # gradient scale of the loss, ``gradient_sd``, times UNIT

    __repr__ = short_repr

    @property
    def columns(self) -> int:
        return int(self.votes.shape[2])

    @property
    def features(self) -> tuple[int, ...]:
        return (*(cut.by for cut in self.cuts), self.feature)

    @lazy
    def cells(self) -> Cells:
        return cells_of(self.cuts)

    @lazy
    def key(self) -> tuple[Any, ...]:
        return (*((cut.by, cut.side.tobytes()) for cut in self.cuts), self.feature)

    def __call__(self, codes: Codes, margins: npt.NDArray[np.signedinteger]) -> None:
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
        return self.terms[0].columns

    def __call__(self, codes: Codes, margins: npt.NDArray[np.signedinteger]) -> None:
        for term in self.terms:
            term(codes, margins)


def joined(terms: Sequence[Term]) -> list[Term]:
    """Return terms without sums, those of the same cuts and feature added up into one, in the order of the first of each."""
    by_key: dict[tuple[Any, ...], Term] = {}
    for term in terms:
        votes = term.votes + by_key[term.key].votes if term.key in by_key else term.votes
        by_key[term.key] = Term(term.cuts, term.feature, votes)
    return list(by_key.values())


WIDEST_TABLE = 1 << 17  # margins of which all answers are kept


@dataclass(frozen=True, eq=False)
class Packed:
    """A start and terms as arrays of one kernel, ``kernels.add_terms``."""

    start: Integers  # (columns,): the margin of every record before the first term
    terms: Sequence[Term]  # no two of the same cuts and feature
    dtype: np.dtype[Any]  # of codes

    @lazy
    def reads(self) -> list[int]:
        return sorted({feature for term in self.terms for feature in term.features})

    @lazy
    def ends(self) -> Integers:
        """Bounds of every margin, (2, columns)."""
        low, high = self.start.copy(), self.start.copy()
        for term in self.terms:
            low += term.votes.min(axis=(0, 1))
            high += term.votes.max(axis=(0, 1))
        return np.stack([low, high])

    @lazy
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """What the kernel reads of terms."""
        steps, counts, votes = [], [], []
        for term in self.terms:
            own = [_steps(cut.side) for cut in term.cuts]
            steps += [(cut.by, *step) for cut, made in zip(term.cuts, own, strict=True) for step in made]
            counts.append(sum(map(len, own)))
            turned = sum(int(cut.side[0]) << digit for digit, cut in enumerate(reversed(term.cuts)))
            votes.append(term.votes[np.arange(len(term.votes)) ^ turned].reshape(-1, term.columns))
        # Contiguous, or one step would be another kind of array to numba than several.
        by, at, shift = np.ascontiguousarray(np.array(steps, dtype=np.int64).reshape(-1, 3).T)
        begins = np.cumsum([0, *map(len, votes)])
        all_votes = np.concatenate([np.zeros((0, len(self.start)), dtype=np.int64), *votes]).T
        # What a sum of votes may pass on the way is within what all of them reach together.
        reach = np.abs(self.start).max(initial=0) + sum(int(np.abs(term.votes).max()) for term in self.terms)
        kind = np.int32 if max(reach, begins[-1]) < 1 << 31 else np.int64
        places = np.stack([begins[:-1], [term.votes.shape[1] for term in self.terms]], axis=1)
        return (
            np.array([term.feature for term in self.terms], dtype=np.int64),
            np.cumsum([0, *counts], dtype=np.int64),
            by,
            at.astype(self.dtype),
            shift,
            places.astype(kind),
            np.ascontiguousarray(all_votes, dtype=kind),
        )

    def margins(self, codes: Codes) -> npt.NDArray[np.signedinteger]:
        votes = self.arrays[-1]
        margins = np.repeat(self.start.astype(votes.dtype)[:, None], len(codes), axis=1)
        # By column, any number of records is one kind of array to numba; of those by record, one record is another.
        kernels.add_terms(np.ascontiguousarray(codes.T), *self.arrays, margins)
        return np.ascontiguousarray(margins.T)  # in which order numpy adds up a row depends on how it lies in memory

    def table(
        self, answer: Callable[[Integers], npt.NDArray[Any]], records: int
    ) -> Callable[[npt.NDArray[np.signedinteger]], npt.NDArray[Any]]:
        """Return what answers as ``answer`` does of margins (records, 1), and looks answers up where that takes less time.

        ``answer`` must treat each record by itself, so that what stands in the table is what it would say.
        """
        low, high = self.ends[:, 0].tolist()
        if len(self.start) != 1 or high - low >= min(WIDEST_TABLE, records):
            return answer
        answers = answer(np.arange(low, high + 1)[:, None])
        return lambda margins: answers[margins[:, 0] - low]


def _steps(side: Integers) -> list[tuple[int, int]]:
    """Return the steps that turn a digit, which is side[0] at first, into the side of a code: (last code before it, shift)."""
    turns = np.flatnonzero(np.diff(side)).tolist() or [len(side) - 1]
    return [(turn, place == 0) for place, turn in enumerate(turns)]
