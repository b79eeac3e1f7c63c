"""One budget for many fits, which nothing can copy and nothing can overdraw."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from hedgerow.errors import BudgetExceeded, LedgerPickleError
from hedgerow.privacy.accounting import Adjacency, check_adjacency
from hedgerow.privacy.atomic import Atomic
from hedgerow.privacy.certificate import Certificate, warn_of_delta
from hedgerow.privacy.exact import decimal_text, exact, exact_delta

__all__ = ["Ledger", "LedgerEntry"]


@dataclass(frozen=True)
class LedgerEntry:
    """One booked fit: its certificate, and its (epsilon, delta) under the ledger's adjacency."""

    label: str
    epsilon: Fraction
    delta: Fraction
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class _Booked:
    """An entry behind those before it, and what all of them add up to."""

    before: _Booked | None = None
    entry: LedgerEntry | None = None
    spent: Fraction = Fraction(0)
    spent_delta: Fraction = Fraction(0)

    def entries(self) -> Iterator[LedgerEntry]:
        """Yield the entries, the last first."""
        booked: _Booked | None = self
        while booked is not None and booked.entry is not None:
            yield booked.entry
            booked = booked.before


class Ledger:
    """A ceiling on the privacy loss of several fits on the same records, which add up.

    Parameters
    ----------
    epsilon : float
        The ceiling, read as its shortest decimal.
    delta : float, default 0
        The ceiling on the sum of the fits' deltas.
    adjacency : {"add-remove", "replace-one"}
        What a neighboring data set is, for the ceiling. In a replace-one ledger a fit planned for add/remove is booked
        at twice its epsilon and (1 + e**epsilon) times its delta; a fit planned for replace-one is refused in an
        add/remove ledger.

    Notes
    -----
    A fit books its whole plan before anything is drawn, and nothing is refunded once a draw began; a fit that is interrupted
    stays booked. Copies made by
    ``sklearn.base.clone``, ``copy`` and ``deepcopy`` are this same ledger; pickling is refused, since two copies of a
    budget are two budgets. Thread-safe. Basic composition: Dwork and Roth 2014, theorem 3.16.

    Examples
    --------
    >>> from hedgerow import Ledger
    >>> ledger = Ledger(epsilon=1.0)
    >>> float(ledger.remaining)
    1.0
    """

    def __init__(self, epsilon: float, delta: float = 0.0, adjacency: Adjacency = "add-remove") -> None:
        self._epsilon = exact(epsilon)
        self._delta = exact_delta(delta)
        warn_of_delta(self._delta, stacklevel=2)
        self._adjacency = check_adjacency(adjacency)
        self._booked = Atomic(_Booked())
        self._process = os.getpid()

    def reserve(self, certificate: Certificate) -> None:
        """Book a plan by its certificate, or raise BudgetExceeded with nothing booked."""
        label, epsilon, delta = certificate.system, certificate.epsilon, certificate.delta
        if certificate.unprotected:
            raise BudgetExceeded(
                f"{label} has unprotected steps, so no budget covers it and the ledger refused it: "
                f"{'; '.join(certificate.unprotected)}."
            )
        if certificate.adjacency == "replace-one" and self.adjacency == "add-remove":
            raise BudgetExceeded(
                f"{label} is planned for one record replaced, which says nothing about one record added or removed; "
                "fit with adjacency='add-remove' or open the ledger with adjacency='replace-one'."
            )
        if not certificate.covers_its_steps:
            raise BudgetExceeded(f"{label} plans to spend more than it claims; this is a bug, please report it.")
        if certificate.adjacency != self.adjacency:
            delta = _group_delta(epsilon, delta)
            epsilon = 2 * epsilon
        if os.getpid() != self._process:
            raise BudgetExceeded(
                f"{label} runs in another process than its ledger, where it would spend a copy of the budget; nothing was drawn."
            )
        entry = LedgerEntry(label, epsilon, delta, certificate)

        def booked(before: _Booked) -> _Booked:
            after = _Booked(before, entry, before.spent + epsilon, before.spent_delta + delta)
            if after.spent > self.epsilon or after.spent_delta > self.delta:
                raise BudgetExceeded(
                    f"{label} asks for epsilon {decimal_text(epsilon)} and delta {decimal_text(delta)}, but the ledger has "
                    f"{decimal_text(self.epsilon - before.spent)} and {decimal_text(self.delta - before.spent_delta)} left of "
                    f"{decimal_text(self.epsilon)} and {decimal_text(self.delta)}; nothing was drawn."
                )
            return after

        self._booked.update(booked)

    @property
    def epsilon(self) -> Fraction:
        """The ceiling on the sum of epsilons, exact."""
        return self._epsilon

    @property
    def delta(self) -> Fraction:
        """The ceiling on the sum of deltas, exact."""
        return self._delta

    @property
    def adjacency(self) -> Adjacency:
        """What a neighboring data set is, for the ceiling."""
        return self._adjacency

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Everything booked so far, in order."""
        return tuple(self._booked.value.entries())[::-1]

    @property
    def spent(self) -> Fraction:
        """The epsilon booked so far, exact."""
        return self._booked.value.spent

    @property
    def spent_delta(self) -> Fraction:
        """The delta booked so far, exact."""
        return self._booked.value.spent_delta

    @property
    def remaining(self) -> Fraction:
        """The epsilon left, exact."""
        return self.epsilon - self.spent

    @property
    def holds(self) -> bool:
        """Whether every booked fit drew its noise from the operating system; a seeded fit voids the sum."""
        return not any(entry.certificate.seeded for entry in self.entries)

    def __repr__(self) -> str:
        note = "" if self.holds else ", a seeded fit voids the guarantee"
        return (
            f"Ledger(epsilon={decimal_text(self.epsilon)}, delta={decimal_text(self.delta)}, adjacency={self.adjacency!r}, "
            f"spent={decimal_text(self.spent)} in {len(self.entries)} fits{note})"
        )

    def __sklearn_clone__(self) -> Ledger:
        return self

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Ledger:
        return self

    def __reduce__(self) -> NoReturn:
        raise LedgerPickleError(
            "a ledger cannot be pickled or sent to another process, because each copy would spend the whole budget again; "
            "use n_jobs=1 or a threading backend, and save models with model.save(path)."
        )


def _group_delta(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return at least (1 + e**epsilon) delta: what an add/remove delta becomes for one record replaced."""
    if delta == 0:
        return delta
    if epsilon > 700:  # beyond the largest float; no ceiling below 1 could hold it
        return Fraction(1)
    return delta * (1 + Fraction(math.exp(float(epsilon))) * (1 + Fraction(1, 2**40)))
