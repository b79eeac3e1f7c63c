"""One budget for many fits, which nothing can copy and nothing can overdraw."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from getpass import getuser
from types import TracebackType
from typing import Any, Literal, Self

from hedgerow.errors import BudgetExceeded, ConfigurationError, LedgerPickleError
from hedgerow.ledgers.ceiling import Amount, Ceiling
from hedgerow.notebook import html_table
from hedgerow.privacy.accounting import Adjacency
from hedgerow.privacy.atomic import Atomic
from hedgerow.privacy.certificate import Certificate, warn_of_delta
from hedgerow.privacy.exact import decimal_text
from hedgerow.texts import short_repr

__all__ = ["Ledger", "LedgerEntry", "Reservation", "who_am_i"]

LONGEST_WHO = 200
LATEST = 10  # entries that notebooks show
State = Literal["unfinished", "finished", "failed"]


@dataclass(frozen=True, repr=False)
class LedgerEntry:
    """One booked fit.

    Parameters
    ----------
    label : str
        The system that was fitted.
    epsilon, delta, rho : Fraction
        What it counts under the ledger's adjacency: an epsilon and a delta, or a rho where the ceiling is one.
    certificate : Certificate
        The plan that was booked.
    draws : int
        The normal draws that it counts, where the ceiling is a rho.
    state : {"unfinished", "finished", "failed"}
        What became of the fit. Its charge is the same in all three.
    time : datetime
        When it was booked, in UTC, by the clock of the machine that booked it.
    who : str
        The user and the machine that booked it.
    process : int
        The number of the process there.
    through : str or None
        The sub-ledger that it was booked through, if any.
    """

    label: str
    epsilon: Fraction
    delta: Fraction
    certificate: Certificate = field(repr=False)
    rho: Fraction = Fraction(0)
    draws: int = 0
    state: State = "unfinished"
    time: datetime = field(default_factory=lambda: datetime.now(UTC))
    who: str = field(default_factory=lambda: who_am_i())
    process: int = field(default_factory=os.getpid)
    through: str | None = None

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def age(self) -> timedelta:
        """How long ago it was booked; never negative."""
        return max(datetime.now(UTC) - self.time, timedelta(0))


class Reservation:
    """A booked plan that is about to run: leaving its context notes how it ended. Its charge stands either way."""

    def __init__(self, end: Callable[[State], None]) -> None:
        self._end = end

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end("finished" if error is None else "failed")


@dataclass(frozen=True, eq=False)
class _Booked:
    """An entry, or an entry's end, behind those before it, and what all of them add up to."""

    before: _Booked | None = None
    entry: LedgerEntry | None = None
    ends: tuple[LedgerEntry, State] | None = None
    spent: Amount = field(default_factory=Amount)

    def entries(self) -> Iterator[LedgerEntry]:
        """Yield the entries, the last first."""
        booked: _Booked | None = self
        ended: dict[int, State] = {}
        while booked is not None:
            if booked.ends is not None:
                ended[id(booked.ends[0])] = booked.ends[1]
            if booked.entry is not None:
                yield replace(booked.entry, state=ended.get(id(booked.entry), "unfinished"))
            booked = booked.before


class Ledger:
    """A ceiling on the privacy loss of several fits on the same records, which add up.

    Parameters
    ----------
    epsilon : float or None
        The ceiling, read as its shortest decimal.
    delta : float, default 0
        The ceiling on the sum of the fits' deltas. Beside a rho: on the deltas of thresholded steps, which
        ``private_schema`` has.
    adjacency : {"add-remove", "replace-one"}
        What a neighboring data set is, for the ceiling. In a replace-one ledger a fit planned for add/remove is booked
        at twice its epsilon and (1 + e**epsilon) times its delta (four times its rho); a fit planned for replace-one is
        refused in an add/remove ledger.
    rho : float or None
        In place of epsilon: a ceiling on the sum of what the fits cost in zero-concentrated DP. Many fits then add up to less
        (docs/proofs/ledgers.md), and ``epsilon_at`` says what the ceiling is worth.
    draws : int, default 2**30
        Beside a rho: the ceiling on the number of normal draws.
    records_per_person : int, default 1
        The unit: one record, or one person of at most so many records. Fits that protect another one are refused, since their
        costs do not add up (docs/proofs/persons.md).
    person : str or None
        The column that tells persons apart. Only fits whose ``groups`` have that name are then booked. None: whoever books knows
        what a person is, and fits with ``groups`` are booked where ``records_per_person`` is above 1.

    Notes
    -----
    A fit books its whole plan before anything is drawn, and nothing is refunded once a draw began; a fit that is interrupted
    stays booked. Copies made by
    ``sklearn.base.clone``, ``copy`` and ``deepcopy`` are this same ledger; pickling is refused, since two copies of a
    budget are two budgets: between processes, use a ledger of an ``hr.LedgerStore``. Thread-safe. Basic composition: Dwork
    and Roth 2014, theorem 3.16.

    Examples
    --------
    >>> from hedgerow import Ledger
    >>> ledger = Ledger(epsilon=1.0)
    >>> float(ledger.remaining)
    1.0
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 0.0,
        adjacency: Adjacency = "add-remove",
        *,
        rho: float | None = None,
        draws: int | None = None,
        records_per_person: int = 1,
        person: str | None = None,
    ) -> None:
        self._fixed = Ceiling.of(
            epsilon, delta, adjacency, rho=rho, draws=draws, records_per_person=records_per_person, person=person
        )
        warn_of_delta(self._fixed.delta, stacklevel=2)
        self._booked = Atomic(_Booked())
        self._process = os.getpid()

    def reserve(self, certificate: Certificate) -> Reservation:
        """Book a plan by its certificate, or raise BudgetExceeded with nothing booked.

        What is returned is a context in which the plan runs; leaving it notes whether the plan finished or failed.
        """
        label, amount = certificate.system, self._fixed.amount(certificate)
        if os.getpid() != self._process:
            raise BudgetExceeded(
                f"{label} runs in another process than its ledger, where it would spend a copy of the budget; nothing was drawn."
            )
        entry = LedgerEntry(label, amount.epsilon, amount.delta, certificate, amount.rho, amount.draws)

        def booked(before: _Booked) -> _Booked:
            return _Booked(before, entry, spent=self._fixed.check(label, amount, before.spent))

        def end(state: State) -> None:
            self._booked.update(lambda before: _Booked(before, ends=(entry, state), spent=before.spent))

        self._booked.update(booked)
        return Reservation(end)

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon such that everything that this ledger will ever book is (epsilon, delta)-DP together.

        It is read off the ceiling, whatever was spent, and holds for all deltas at once; with a ceiling that was raised, see
        docs/proofs/ledgers.md.

        Raises
        ------
        ConfigurationError
            If the ceiling says nothing for such a delta, or a seeded fit was booked, for which nothing holds.
        """
        if not self.holds:
            raise ConfigurationError(
                "a fit with a random_state was booked, and whoever knows the seed can take its noise away, so no epsilon holds "
                "for this ledger; fit without random_state, in a ledger of its own."
            )
        return self._ceiling.epsilon_at(delta)

    @property
    def _ceiling(self) -> Ceiling:
        return self._fixed

    @property
    def _spent(self) -> Amount:
        return self._booked.value.spent

    @property
    def epsilon(self) -> Fraction | None:
        """The ceiling on the sum of epsilons, exact; None where the ceiling is a rho."""
        return self._ceiling.epsilon

    @property
    def delta(self) -> Fraction:
        """The ceiling on the sum of deltas, exact."""
        return self._ceiling.delta

    @property
    def rho(self) -> Fraction | None:
        """The ceiling on the sum of rho, exact; None where the ceiling is an epsilon."""
        return self._ceiling.rho

    @property
    def draws(self) -> int:
        """The ceiling on normal draws, where the ceiling is a rho."""
        return self._ceiling.draws

    @property
    def adjacency(self) -> Adjacency:
        """What a neighboring data set is, for the ceiling."""
        return self._ceiling.adjacency

    @property
    def records_per_person(self) -> int:
        """How many records of one person are protected together; a fit that protects another number is refused."""
        return self._ceiling.records_per_person

    @property
    def person(self) -> str | None:
        """The column that tells persons apart, if the ledger names one."""
        return self._ceiling.person

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Everything booked so far, in order."""
        return tuple(self._booked.value.entries())[::-1]

    @property
    def spent(self) -> Fraction:
        """The epsilon booked so far, exact; the rho where the ceiling is one, which is no guarantee by itself."""
        return self._ceiling.counted(self._spent)

    @property
    def spent_delta(self) -> Fraction:
        """The delta booked so far, exact."""
        return self._spent.delta

    @property
    def spent_draws(self) -> int:
        """The normal draws booked so far, where the ceiling is a rho."""
        return self._spent.draws

    @property
    def remaining(self) -> Fraction:
        """The epsilon left, exact; the rho where the ceiling is one."""
        return self._ceiling.left(self._spent)

    @property
    def holds(self) -> bool:
        """Whether every booked fit drew its noise from the operating system; a seeded fit voids the sum."""
        return self._spent.seeded == 0

    def __repr__(self) -> str:
        return f"Ledger({', '.join(self._shown(self._ceiling, self._spent))})"

    def _repr_html_(self) -> str:
        kind = "epsilon" if self.rho is None else "rho"
        entries = self.entries[-LATEST:]
        rows = [
            ("ceiling", f"{kind} = {decimal_text(self._ceiling.limit)}, delta = {decimal_text(self.delta)}"),
            ("spent", f"{kind} = {decimal_text(self.spent)}, delta = {decimal_text(self.spent_delta)}"),
            ("remaining", f"{kind} = {decimal_text(self.remaining)}"),
            ("holds", "yes" if self.holds else "NO: a seeded fit voids the guarantee"),
            *(
                (
                    f"{entry.time:%Y-%m-%d %H:%M} UTC",
                    f"{entry.label}: {decimal_text(entry.epsilon or entry.rho)}, {entry.state}",
                )
                for entry in entries
            ),
        ]
        earlier = len(self.entries) - len(entries)
        return html_table(self._title, rows, note=f"{earlier} earlier entries: ledger.entries" if earlier else "")

    @property
    def _title(self) -> str:
        return "Ledger"

    @staticmethod
    def _shown(ceiling: Ceiling, spent: Amount) -> list[str]:
        """Return what a ledger shows of itself."""
        kind = "epsilon" if ceiling.rho is None else "rho"
        draws = [] if ceiling.rho is None else [f"draws={ceiling.draws}"]
        note = [] if spent.seeded == 0 else ["a seeded fit voids the guarantee"]
        return [
            f"{kind}={decimal_text(ceiling.limit)}",
            f"delta={decimal_text(ceiling.delta)}",
            *draws,
            f"adjacency={ceiling.adjacency!r}",
            *([] if ceiling.records_per_person == 1 else [f"records_per_person={ceiling.records_per_person}"]),
            *([] if ceiling.person is None else [f"person={ceiling.person!r}"]),
            f"spent={decimal_text(ceiling.counted(spent))} in {spent.fits} fits",
            *note,
        ]

    def __sklearn_clone__(self) -> Ledger:
        return self

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Ledger:
        return self

    def __reduce__(self) -> Any:
        raise LedgerPickleError(
            "a ledger cannot be pickled or sent to another process, because each copy would spend the whole budget again; "
            "use n_jobs=1 or a threading backend, or a ledger of an hr.LedgerStore, which all processes share; save models with "
            "model.save(path)."
        )


def who_am_i() -> str:
    """Return the user and the machine of this process."""
    try:
        user = getuser()
    except (OSError, KeyError, ImportError):  # the system knows the user by a number alone
        user = str(os.getuid())
    # The environment may name anything as the user; a terminal and a page show it.
    return "".join(letter if letter.isprintable() else "?" for letter in f"{user}@{socket.gethostname()}"[:LONGEST_WHO])
