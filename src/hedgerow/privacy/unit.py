"""The unit of a guarantee: one record, or one person with several, as text and as ledgers compare it."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.privacy.accounting import Adjacency

__all__ = ["RECORD", "Unit"]

CHANGE = {"add-remove": "added or removed", "replace-one": "replaced by another"}


@dataclass(frozen=True)
class Unit:
    """One record, or one person.

    Parameters
    ----------
    records : int
        How many records of one person are protected together.
    person : str or None
        The column whose values are the persons, "" where it has no name. None: no column tells persons apart, and that nobody has
        more records is the owner's promise.
    """

    records: int = 1
    person: str | None = None

    @property
    def who(self) -> str:
        """Whom the guarantee is for: a record, or a person."""
        return "person" if self.records > 1 or self.person is not None else "record"

    @property
    def is_promise(self) -> bool:
        """Whether only the owner promises that nobody has more records, because no column identifies persons."""
        return self.records > 1 and self.person is None

    def neighbors(self, adjacency: Adjacency) -> str:
        """Return in words how neighboring data sets differ."""
        change = f"one {self.who} {CHANGE[adjacency]}"
        if self.who == "record":
            return change
        return f"{change}, {'with at most' if self.person is None else 'of whom at most'} {self._few}" + (
            "" if self.person is None else " counts" if self.records == 1 else " count"
        )

    def rests_on(self, *, ids_as_text: bool = True) -> str:
        """Return what makes a record, or a person; version 0.2 did not compare ids as text."""
        if self.person is not None:
            column = f"column {self.person!r}" if self.person else "groups="
            read = (
                "as it is written (1.1 and 1.10 are two)"
                if ids_as_text
                else "as version 0.2 read it (1.1 and 1.10 are one)"
            )
            return (
                f"a person being one id in {column}, {read}: of each at most {self._few} drawn at random, "
                "and none without an id"
            )
        if self.records > 1:
            return f"nobody having more than {self._few}, as the owner promises"
        return "one record being one row"

    @property
    def _few(self) -> str:
        return "1 record" if self.records == 1 else f"{self.records} records"

    def __str__(self) -> str:
        if self.person is not None:
            told = f"column {self.person!r}" if self.person else "groups without a name"
            return f"a person told by {told}, with at most {self._few}"
        return "a record" if self.records == 1 else f"a person with at most {self._few}"

    def counts(self, plan: Unit) -> bool:
        """Say whether a ledger of this unit may count a plan for another one (docs/proofs/persons.md).

        Where a column tells persons apart, one record less of a person may bring another one in, so such a plan is for persons
        and not for records. A ledger that names no column takes its word for it that it tells the same persons as others.
        """
        if plan.records != self.records:
            return False
        if self.person is None:
            return plan.person is None or self.records > 1
        return plan.person == self.person


RECORD = Unit()
