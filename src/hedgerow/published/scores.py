"""Scores of the published splits on raw records, with the sensitivities that their authors state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

from hedgerow.published import kernels

__all__ = ["Gini", "InformationGain", "Max", "Score"]


class Score(Protocol):
    """What ranks the tests of a node: a sum over their branches."""

    @property
    def kind(self) -> int:
        """The number by which kernels know the score."""

    @property
    def name(self) -> str:
        """What certificates call the score."""

    def sensitivity(self, records: int) -> int:
        """Return the authors' Delta for a tree with so many records."""

    def reasons(self) -> Iterator[str]:
        """Yield what the sensitivity reads unprotected."""
        yield from ()


@dataclass(frozen=True)
class Gini(Score):
    """-(n - sum of n_k**2 / n); Delta = 2 (eDPRF, equations 11 to 14)."""

    kind: ClassVar[int] = kernels.GINI
    name: ClassVar[str] = "Gini score"

    def sensitivity(self, records: int) -> int:
        """Return the authors' Delta for a tree with so many records."""
        return 2


@dataclass(frozen=True)
class Max(Score):
    """The largest class count; Delta = 1 (Friedman and Schuster 2010)."""

    kind: ClassVar[int] = kernels.MAX
    name: ClassVar[str] = "count of the largest class"

    def sensitivity(self, records: int) -> int:
        """Return the authors' Delta for a tree with so many records."""
        return 1


@dataclass(frozen=True)
class InformationGain:
    """The sum of n_k log2(n_k / n); Delta = log2(N) + 1 with N the next power of two, as in the authors' public code.

    Friedman and Schuster 2010 print log2(N + 1) + 1 / ln 2. The true range under add/remove is log2(N) + 1.4427, which the
    generic factor 1 / (2 Delta) covers (docs/proofs/information-gain.md).

    Parameters
    ----------
    records : int or None
        A public bound on the number of records; None takes N from the data, as the code does.
    """

    records: int | None = None

    kind: ClassVar[int] = kernels.INFORMATION_GAIN
    name: ClassVar[str] = "information gain"

    def sensitivity(self, records: int) -> int:
        """Return the authors' Delta for a tree with so many records."""
        known = records if self.records is None else self.records
        return (max(known, 1) - 1).bit_length() + 1

    def reasons(self) -> Iterator[str]:
        """Yield what the sensitivity reads unprotected."""
        if self.records is None:
            yield (
                "the sensitivity of the information gain, log2(N) + 1, takes N = 2^ceil(log2 n) from the records: where one "
                "record takes n past a power of two, the factor of every selection jumps, a loss that grows with the "
                "gaps between scores without bound"
            )
