"""How far a fit is, for the owner's eyes: what is told depends on how many records there are."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Whoever shows how far a fit is."""

    def read(self, share: float | None) -> None:
        """Take the share of the source's bytes, or partitions, that were read; None where nobody knows."""

    def counted(self, question: int, share: float) -> None:
        """Take the share of the partitions that were counted for a query, numbered from 1; it may come from any thread."""


class Silent:
    """Shows nothing."""

    def read(self, share: float | None) -> None:
        """Show nothing."""

    def counted(self, question: int, share: float) -> None:
        """Show nothing."""
