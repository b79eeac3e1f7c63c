"""A forest in two parts; the second one prefers records that the first one gets wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.curator import Queryable
from hedgerow.privacy.events import Event, Sequence
from hedgerow.schema import Encoder
from hedgerow.trees.forest import ForestModel, ForestPlan
from hedgerow.trees.model import Forest

__all__ = ["HardRecords", "TwoPhasePlan"]


@dataclass(frozen=True, eq=False)
class HardRecords:
    """The probability that a record takes part: 1 if the vote of released trees is wrong, otherwise ``easy``.

    It is given as a number of 2**32 equally probable values. With equal votes the first class wins.
    """

    easy: Fraction

    def __call__(self, margins: npt.NDArray[np.int64], labels: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.uint64]:
        """Return a number for each record of ``margins`` (records, classes) and ``labels`` (records,)."""
        right = margins.argmax(axis=1) == labels
        return np.where(right, np.uint64(int(self.easy * 2**32)), np.uint64(2**32))


@dataclass(frozen=True, eq=False)
class ForestVotes:
    """The number of trees of a forest that predict each class, in the ``columns`` of margins, for a record."""

    forest: Forest
    columns: int

    def __call__(self, codes: npt.NDArray[np.unsignedinteger], margins: npt.NDArray[np.signedinteger]) -> None:
        """Add it to ``margins`` (records, classes) of ``codes`` (records, features)."""
        self.forest.add_votes(codes, margins)


class TwoPhasePlan:
    """The plan of two private forests that are grown one after the other on the same records; all their trees vote.

    Parameters
    ----------
    first, second : ForestPlan
        The forests, of the same schema and bins; the second samples records by weighted coins. Their budgets add up.
    easy : Fraction
        The probability that a record that the first forest gets right takes part in a tree of the second.
    """

    def __init__(self, first: ForestPlan, second: ForestPlan, easy: Fraction) -> None:
        self._first, self._second, self._easy = first, second, easy

    @property
    def event(self) -> Event:
        """Everything that will read records."""
        return Sequence((self._first.event, self._second.event))

    @property
    def encoder(self) -> Encoder:
        """How records are read."""
        return self._first.encoder

    @property
    def most_trees(self) -> int:
        """How many trees the model has at most."""
        return self._first.most_trees + self._second.most_trees

    def fit(self, curator: Queryable) -> ForestModel:
        """Grow the forests from a curator's answers."""
        first = self._first.grow(curator)
        curator.update_margins(ForestVotes(first, curator.n_classes))
        second = self._second.grow(curator, HardRecords(self._easy))
        return self._first.model(Forest.joined(first, second))

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ForestModel:
        """Return the model of the trees in the arrays."""
        return self._first.restore(arrays)
