"""Rules that list the public tests of a tree, and the one that sorts categories by released counts first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.curator import Nodes, Queryable
from hedgerow.mechanisms import Budget, Noise
from hedgerow.privacy.events import Event
from hedgerow.scores import Candidates, binary, mixed, multiway

__all__ = ["Binary", "CandidateRule", "Grouped", "Mixed", "Multiway", "Sorting"]


@dataclass(frozen=True, eq=False)
class Sorting:
    """Noisy counts of some features by code and class, released once for all trees. Cuts follow the order of these counts.

    ``asked`` (features,) marks these features; the others keep the order of their codes.
    """

    noise: Noise
    asked: npt.NDArray[np.bool_]

    def event(self) -> Event:
        """Return what the counts cost."""
        return self.noise.event("counts of categories by class, to sort them")

    def apply(self, curator: Queryable, roots: Nodes, candidates: Candidates) -> Candidates:
        """Return the candidates with codes sorted by their noisy share of the class that has most records by these counts.

        For two classes and exact counts, some cut along that order is the best grouping.
        """
        counts = curator.histogram(roots, self.asked[None, :], self.noise)[0]
        counts = np.maximum(counts, 0)
        share = counts[:, counts.sum(axis=0).argmax()] / np.maximum(counts.sum(axis=1), 1)
        order = candidates.order.copy()
        for feature in np.flatnonzero(self.asked):
            codes = share[candidates.offsets[feature] : candidates.offsets[feature + 1]]
            order[feature, : len(codes)] = np.argsort(codes, kind="stable")
        return candidates.ordered(order)


class CandidateRule(Protocol):
    """A rule that lists the public tests."""

    def build(self, n_codes: Integers, is_numeric: Sequence[bool]) -> Candidates:
        """Return the tests on features with so many codes."""

    @property
    def share(self) -> Fraction:
        """The share of the forest's budget that is spent before any tree grows."""

    def sorting(self, budget: Budget, is_numeric: Sequence[bool]) -> Sorting | None:
        """Return the query that is made before any tree grows, at ``share`` of the forest's budget; None if there is none."""


class _Unsorted:
    """Most rules cut codes in their public order."""

    share: ClassVar[Fraction] = Fraction(0)

    def sorting(self, budget: Budget, is_numeric: Sequence[bool]) -> Sorting | None:
        """Return None: there is no query before the trees grow."""
        return None


@dataclass(frozen=True)
class Multiway(_Unsorted):
    """One test per feature with a branch for each code; no path reads a feature twice."""

    def build(self, n_codes: Integers, is_numeric: Sequence[bool]) -> Candidates:
        """Return the tests on features with so many codes."""
        return multiway(n_codes)


@dataclass(frozen=True)
class Binary(_Unsorted):
    """Tests with two branches: cuts of numeric features, one value of a category against the rest."""

    def build(self, n_codes: Integers, is_numeric: Sequence[bool]) -> Candidates:
        """Return the tests on features with so many codes."""
        return binary(n_codes, is_numeric)


@dataclass(frozen=True)
class Mixed(_Unsorted):
    """Cuts of numeric features, which a path may use again, and one branch for each code of a categorical one."""

    def build(self, n_codes: Integers, is_numeric: Sequence[bool]) -> Candidates:
        """Return the tests on features with so many codes."""
        return mixed(n_codes, is_numeric)


@dataclass(frozen=True)
class Grouped:
    """Tests with two branches: cuts of numeric features, and of categories in the order of their released counts by class.

    ``share`` of the forest's budget buys the counts.
    """

    share: Fraction = Fraction(1, 10)

    def build(self, n_codes: Integers, is_numeric: Sequence[bool]) -> Candidates:
        """Return the tests on features with so many codes, before they are sorted."""
        return binary(n_codes, [True] * len(n_codes))

    def sorting(self, budget: Budget, is_numeric: Sequence[bool]) -> Sorting | None:
        """Return the query that is made before any tree grows, at a part of the forest's budget; None if there is none."""
        asked = ~np.array(is_numeric, dtype=np.bool_)
        if not asked.any():
            return None
        return Sorting((budget * self.share).noise(int(asked.sum())), asked)
