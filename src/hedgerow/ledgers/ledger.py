"""One budget for many fits, which cannot be copied or overdrawn."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from getpass import getuser
from types import TracebackType
from typing import Any, Literal, Self

from hedgerow.errors import BudgetExceeded, ConfigurationError, LedgerPickleError
from hedgerow.ledgers.ceiling import Amount, Ceiling
from hedgerow.privacy.accounting import Adjacency
from hedgerow.privacy.certificate import Certificate, warn_of_delta
from hedgerow.privacy.exact import decimal_text
from hedgerow.privacy.filter import Atomic
from hedgerow.texts import html_table, short_repr

LONGEST_WHO = 200
LATEST = 10  # entries that notebooks show
State = Literal["unfinished", "finished", "failed"]


@dataclass(frozen=True, repr=False)
class LedgerEntry:
    """One charged fit.

    Parameters
    ----------
    label : str
        The system that was fitted.
    epsilon, delta, rho : Fraction
        What it counts under the ledger's adjacency: an epsilon and a delta, or a rho if the ceiling is one.
    certificate : Certificate
        The certificate of the plan.
    draws : int
        The number of normal draws that it counts, if the ceiling is a rho.
    state : {"unfinished", "finished", "failed"}
        How the fit ended. The charge is the same in all three cases.
    time : datetime
        When it was charged, in UTC, by the clock of the machine that charged it.
    who : str
        The user and the machine that charged it.
    process : int
        The process id on that machine.
    through : str or None
        The sub-ledger through which it was charged, if any.
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

    __repr__ = short_repr

    @property
    def age(self) -> timedelta:
        """The time since it was charged; never negative."""
        return max(datetime.now(UTC) - self.time, timedelta(0))


class Reservation:
    """A charged plan that is about to run. Leaving its context records how it ended; the charge stands either way."""

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
    """The entries in order, each under a key of its own, and their total."""

    entries: Mapping[object, LedgerEntry] = field(default_factory=dict)
    spent: Amount = field(default_factory=Amount)


class Ledger:
    """A ceiling on the total privacy loss of several fits on the same records.

    Parameters
    ----------
    epsilon : float or None
        The ceiling, read as its shortest decimal.
    delta : float, default 0
        The ceiling on the sum of the fits' deltas. With a rho, it is the ceiling on the deltas of thresholded steps, which
        ``private_schema`` has.
    adjacency : {"add-remove", "replace-one"}
        What neighboring data sets are, for the ceiling. A replace-one ledger charges a fit planned for add/remove twice its
        epsilon and (1 + e**epsilon) times its delta (four times its rho). An add/remove ledger refuses a fit planned for
        replace-one.
    rho : float or None
        In place of epsilon: a ceiling on the sum of the fits' costs in zero-concentrated DP. Costs of many fits then add up to
        less (docs/proofs/ledgers.md), and ``epsilon_at`` converts the ceiling to an epsilon.
    draws : int, default 2**30
        With a rho: the ceiling on the number of normal draws.
    records_per_person : int, default 1
        The unit of protection: one record, or one person of at most this many records. Fits that protect another unit are
        refused, because their costs do not add up (docs/proofs/persons.md).
    person : str or None
        The column that identifies persons. Only fits whose ``groups`` have that name are then accepted. None: the caller is
        responsible for what a person is, and fits with ``groups`` are accepted if ``records_per_person`` is above 1.

    Notes
    -----
    A fit is charged for its whole plan before anything is drawn. Nothing is refunded once a draw has begun, so an interrupted
    fit stays charged. Copies made by ``sklearn.base.clone``, ``copy`` and ``deepcopy`` are this same ledger. Pickling is
    refused, because two copies of a budget are two budgets; between processes, use a ledger of an ``hr.LedgerStore``. A
    ledger is thread-safe. Basic composition: Dwork and Roth 2014, theorem 3.16.

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
        """Charge a plan by its certificate, or raise BudgetExceeded and charge nothing.

        The result is a context in which the plan runs. Leaving it records whether the plan finished or failed.
        """
        label, amount = certificate.system, self._fixed.amount(certificate)
        if os.getpid() != self._process:
            raise BudgetExceeded(
                f"{label} runs in another process than its ledger, where it would spend a copy of the budget; nothing was drawn."
            )
        key, entry = object(), LedgerEntry(label, amount.epsilon, amount.delta, certificate, amount.rho, amount.draws)

        def booked(before: _Booked) -> _Booked:
            return _Booked({**before.entries, key: entry}, self._fixed.check(label, amount, before.spent))

        def end(state: State) -> None:
            ended = replace(entry, state=state)
            self._booked.update(lambda before: _Booked({**before.entries, key: ended}, before.spent))

        self._booked.update(booked)
        return Reservation(end)

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon such that everything that this ledger will ever charge is (epsilon, delta)-DP together.

        It follows from the ceiling, whatever was spent, and holds for all deltas at once. If the ceiling was raised, see
        docs/proofs/ledgers.md.

        Raises
        ------
        ConfigurationError
            If the ceiling implies no epsilon for this delta, or a seeded fit was charged, for which no guarantee holds.
        """
        if not self.holds:
            raise ConfigurationError(
                "a fit with a random_state was charged, and whoever knows the seed can take its noise away, so no epsilon holds "
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
        """The ceiling on the sum of epsilons, exact; None if the ceiling is a rho."""
        return self._ceiling.epsilon

    @property
    def delta(self) -> Fraction:
        """The ceiling on the sum of deltas, exact."""
        return self._ceiling.delta

    @property
    def rho(self) -> Fraction | None:
        """The ceiling on the sum of rho, exact; None if the ceiling is an epsilon."""
        return self._ceiling.rho

    @property
    def draws(self) -> int:
        """The ceiling on the number of normal draws, if the ceiling is a rho."""
        return self._ceiling.draws

    @property
    def adjacency(self) -> Adjacency:
        """What neighboring data sets are, for the ceiling."""
        return self._ceiling.adjacency

    @property
    def records_per_person(self) -> int:
        """The number of records of one person that are protected together. Fits that protect another number are refused."""
        return self._ceiling.records_per_person

    @property
    def person(self) -> str | None:
        """The column that identifies persons, if the ledger names one."""
        return self._ceiling.person

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Every charged fit, in order."""
        return tuple(self._booked.value.entries.values())

    @property
    def spent(self) -> Fraction:
        """The epsilon spent so far, exact; the rho if the ceiling is one, which is no guarantee by itself."""
        return self._ceiling.counted(self._spent)

    @property
    def spent_delta(self) -> Fraction:
        """The delta spent so far, exact."""
        return self._spent.delta

    @property
    def spent_draws(self) -> int:
        """The number of normal draws charged so far, if the ceiling is a rho."""
        return self._spent.draws

    @property
    def remaining(self) -> Fraction:
        """The epsilon left, exact; the rho if the ceiling is one."""
        return self._ceiling.left(self._spent)

    @property
    def holds(self) -> bool:
        """Whether every charged fit drew its noise from the operating system; a seeded fit voids the sum."""
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
        """Return the lines that a ledger shows of itself."""
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
    try:
        user = getuser()
    except (OSError, KeyError, ImportError):  # the system knows the user only by a number
        user = str(os.getuid())
    # The environment may contain any text as the user, and a terminal or page shows it.
    return "".join(letter if letter.isprintable() else "?" for letter in f"{user}@{socket.gethostname()}"[:LONGEST_WHO])


TOLD_AT = 3  # fits of one class

_is_counted: ContextVar[bool] = ContextVar("is_counted", default=True)


@contextmanager
def uncounted() -> Iterator[None]:
    """Leave fits on this thread uncounted: an audit fits synthetic records, or records that the auditor holds."""
    token = _is_counted.set(False)
    try:
        yield
    finally:
        _is_counted.reset(token)


class Repeats:
    """Counts the private fits of each class that have no ledger, and reports their total cost at one of them."""

    def __init__(self) -> None:
        self.told_at: float = TOLD_AT
        self._fits: Atomic[dict[str, tuple[int, Fraction, Fraction]]] = Atomic({})

    def count(self, kind: str, epsilon: Fraction, delta: Fraction) -> str | None:
        """Count a fit with this claim. Return a warning for its user, once for each class."""
        if not _is_counted.get():
            return None

        def counted(before: dict[str, tuple[int, Fraction, Fraction]]) -> dict[str, tuple[int, Fraction, Fraction]]:
            fits, total, deltas = before.get(kind, (0, Fraction(0), Fraction(0)))
            if fits >= self.told_at:  # sums of any number of fits could grow without end
                return {**before, kind: (fits + 1, total, deltas)}
            return {**before, kind: (fits + 1, total + epsilon, deltas + delta)}

        fits, total, deltas = self._fits.update(counted)[kind]
        if fits != self.told_at:
            return None
        together = f"epsilon {decimal_text(total)}" + (f" and delta {decimal_text(deltas)}" if deltas else "")
        return (
            f"{kind} was fitted {fits} times in this process without a ledger: on the same records these fits add up to "
            f"{together}, and every further one adds its own. ledger=hr.Ledger(epsilon=...) counts them and refuses what goes "
            "beyond; hr.PrivateSearchCV chooses parameters within one budget."
        )


repeats = Repeats()
