"""One budget for many fits, which cannot be copied or overdrawn."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from getpass import getuser
from operator import attrgetter
from typing import Any, Literal

from hedgerow.errors import BudgetExceeded, ConfigurationError, LedgerPickleError
from hedgerow.ledgers.ceiling import Amount, Ceiling, Standing
from hedgerow.privacy.accounting import Adjacency
from hedgerow.privacy.certificate import Certificate, warn_of_claim
from hedgerow.privacy.exact import decimal_text
from hedgerow.privacy.filter import Atomic
from hedgerow.texts import short_repr

LONGEST_WHO = 200
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


Booked = tuple[Mapping[object, LedgerEntry], Standing]  # the entries in order, each under a key of its own


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
        ceiling = Ceiling.of(
            epsilon, delta, adjacency, rho=rho, draws=draws, records_per_person=records_per_person, person=person
        )
        warn_of_claim(2, ceiling.delta)
        self._booked: Atomic[Booked] = Atomic(({}, Standing(ceiling)))
        self._process = os.getpid()

    def reserve(self, certificate: Certificate) -> AbstractContextManager[object]:
        """Charge a plan by its certificate, or raise BudgetExceeded and charge nothing.

        The result is a context in which the plan runs. Leaving it records whether the plan finished or failed.
        """
        label, ceiling = certificate.system, self.ceiling
        amount = ceiling.amount(certificate)
        if os.getpid() != self._process:
            raise BudgetExceeded(
                f"{label} runs in another process than its ledger, on a copy of it; pass n_jobs=1, or a ledger of an "
                "hr.LedgerStore. Nothing was drawn."
            )
        key, entry = object(), LedgerEntry(label, amount.epsilon, amount.delta, certificate, amount.rho, amount.draws)

        def booked(before: Booked) -> Booked:
            return {**before[0], key: entry}, Standing(ceiling, ceiling.check(label, amount, before[1].spent))

        def end(kind: object, error: object, trace: object) -> None:
            ended = replace(entry, state="finished" if kind is None else "failed")
            self._booked.update(lambda before: ({**before[0], key: ended}, before[1]))

        self._booked.update(booked)
        reservation = ExitStack()
        reservation.push(end)
        return reservation

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
            raise ConfigurationError("a seeded fit was charged, so no epsilon holds; charge others to another ledger.")
        return self.ceiling.epsilon_at(delta)

    @property
    def _standing(self) -> Standing:
        return self._booked.value[1]

    @property
    def ceiling(self) -> Ceiling:
        """The ceiling: epsilon (None if it is a rho), delta, rho, draws, adjacency, records_per_person and person."""
        return self._standing.ceiling

    @property
    def total(self) -> Amount:
        """What has been charged: epsilon, delta, rho, draws, and the numbers of fits and of seeded fits."""
        return self._standing.spent

    epsilon = property(attrgetter("ceiling.epsilon"), doc="The epsilon that operations may cost together.")
    delta = property(attrgetter("ceiling.delta"), doc="The delta that they may cost together.")
    rho = property(attrgetter("ceiling.rho"), doc="The rho of a ledger of rho, else None.")
    draws = property(attrgetter("ceiling.draws"), doc="How many normal draws a ledger of rho allows.")
    adjacency = property(attrgetter("ceiling.adjacency"), doc="What two neighboring data sets are.")
    records_per_person = property(attrgetter("ceiling.records_per_person"), doc="The records of a person it protects.")
    person = property(attrgetter("ceiling.person"), doc="The column that identifies persons, else None.")
    spent_delta = property(attrgetter("total.delta"), doc="The delta that was spent.")
    spent_draws = property(attrgetter("total.draws"), doc="The normal draws that were spent.")

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Every charged fit, in order."""
        return tuple(self._booked.value[0].values())

    @property
    def spent(self) -> Fraction:
        """The epsilon spent so far, exact; the rho if the ceiling is one, which is no guarantee by itself."""
        standing = self._standing
        return Fraction(getattr(standing.spent, standing.ceiling.kind))

    @property
    def remaining(self) -> Fraction:
        """The epsilon left, exact; the rho if the ceiling is one. Ledgers of which this one is a share may have less."""
        standing = self._standing
        return Fraction(getattr(standing.ceiling.left(standing.spent), standing.ceiling.kind))

    @property
    def holds(self) -> bool:
        """Whether every charged fit drew its noise from the operating system; a seeded fit voids the sum."""
        return self.total.seeded == 0

    def __repr__(self) -> str:
        return f"Ledger({self._standing})"

    def __sklearn_clone__(self) -> Ledger:
        return self

    __copy__ = __sklearn_clone__

    def __deepcopy__(self, memo: dict[int, object]) -> Ledger:
        return self

    def __reduce__(self) -> Any:
        raise LedgerPickleError(
            "a ledger cannot be pickled, because each copy would spend the budget again; use n_jobs=1, a threading backend, "
            "or a ledger of an hr.LedgerStore; save models with model.save(path)."
        )


def who_am_i() -> str:
    try:
        user = getuser()
    except (OSError, KeyError, ImportError):  # the system knows the user only by a number
        user = str(os.getuid())
    # The environment may contain any text as the user, and a terminal or page shows it.
    return "".join(letter if letter.isprintable() else "?" for letter in f"{user}@{socket.gethostname()}"[:LONGEST_WHO])


COUNTED_AT: float = 3  # fits of one class

_is_counted: ContextVar[bool] = ContextVar("is_counted", default=True)
Counts = Mapping[str, tuple[int, Fraction, Fraction]]  # of each class: fits, and the sums of epsilons and deltas
private_fits: Atomic[Counts] = Atomic({})


@contextmanager
def uncounted() -> Iterator[None]:
    """Leave fits on this thread uncounted: an audit fits synthetic records, or records that the auditor holds."""
    token = _is_counted.set(False)
    try:
        yield
    finally:
        _is_counted.reset(token)


def count_fit(kind: str, epsilon: Fraction, delta: Fraction) -> str | None:
    """Count a private fit without a ledger. Return a warning with the total cost for its user, once for each class."""
    if not _is_counted.get():
        return None

    def counted(before: Counts) -> Counts:
        fits, total, deltas = before.get(kind, (0, Fraction(0), Fraction(0)))
        if fits < COUNTED_AT:  # sums of any number of fits could grow without end
            total, deltas = total + epsilon, deltas + delta
        return {**before, kind: (fits + 1, total, deltas)}

    fits, total, deltas = private_fits.update(counted)[kind]
    if fits != COUNTED_AT:
        return None
    together = f"epsilon {decimal_text(total)}" + (f" and delta {decimal_text(deltas)}" if deltas else "")
    return (
        f"{kind} was fitted {fits} times in this process without a ledger: on the same records these fits add up to {together}, "
        "and every further one adds its own. Pass ledger=hr.Ledger(epsilon=...), or search by hr.PrivateSearchCV."
    )
