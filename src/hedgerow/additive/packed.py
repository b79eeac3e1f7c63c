"""Terms packed for predictions: one curve for each feature, cells by few comparisons, probabilities by looking them up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.additive import kernels
from hedgerow.additive.terms import Term
from hedgerow.arrays import Integers
from hedgerow.lazy_values import lazy

__all__ = ["Packed"]

Codes = npt.NDArray[np.unsignedinteger]

WIDEST_TABLE = 1 << 17  # margins of which all answers are kept


@dataclass(frozen=True, eq=False)
class Packed:
    """A start and terms as arrays of one kernel, ``kernels.add_terms``.

    Parameters
    ----------
    start : ndarray of shape (columns,), int64
        The margin of every record before the first term.
    terms : sequence of Term
        No two of the same cuts and feature.
    dtype : dtype
        Of codes.
    """

    start: Integers
    terms: Sequence[Term]
    dtype: np.dtype[Any]

    @lazy
    def reads(self) -> list[int]:
        """The features whose codes are read."""
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
        by, at, shift = np.array(steps, dtype=np.int64).reshape(-1, 3).T
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
        """Return the margins of records by their codes (records, features), of shape (records, columns), in votes."""
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
        found = answer(np.arange(low, high + 1)[:, None])
        return lambda margins: found[margins[:, 0] - low]


def _steps(side: Integers) -> list[tuple[int, int]]:
    """Return the steps that turn a digit, which is side[0] at first, into the side of a code: (last code before it, shift)."""
    turns = np.flatnonzero(np.diff(side)).tolist() or [len(side) - 1]
    return [(turn, place == 0) for place, turn in enumerate(turns)]
