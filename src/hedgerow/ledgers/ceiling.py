"""A ledger's limits: its ceiling, how a fit counts against it, and what the ceiling guarantees (docs/proofs/ledgers.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from hedgerow.errors import BudgetExceeded, ConfigurationError, shown
from hedgerow.limits import LONGEST_WORDS, MOST_RECORDS_OF_ONE
from hedgerow.privacy.accounting import FLOAT_GUARD, SAMPLER_ERROR, Adjacency, check_adjacency, concentrated_delta, cost
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.claim import RECORD, Unit
from hedgerow.privacy.exact import decimal_text, exact, exact_delta, read_fraction

DRAWS = 2**30  # default ceiling on normal draws beside a rho: their term is about 1e-9 at epsilon 1
MOST_DRAWS = 2**60
LONGEST_SUM = 12_000  # bits of the numerator and denominator of a sum: Python reads and writes at most 4300 digits
SEARCH_STEPS = 50
GRID = tuple(1e-6 * 1.02**step for step in range(900))  # of epsilon, up to 55: above that a single draw has no bound


@dataclass(frozen=True)
class Amount:
    """The total of fits in one ledger, under its adjacency: exact sums, and the numbers of fits and of seeded fits."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    draws: int = 0
    fits: int = 0
    seeded: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(**{part.name: getattr(self, part.name) + getattr(other, part.name) for part in fields(self)})

    def covers(self, other: Amount) -> bool:
        return all(getattr(self, part.name) >= getattr(other, part.name) for part in fields(self))

    def to_dict(self) -> dict[str, Any]:
        return {part.name: _plain(getattr(self, part.name)) for part in fields(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Amount:
        epsilon, delta, rho = (_sum(data[name]) for name in ("epsilon", "delta", "rho"))
        return cls(epsilon, delta, rho, int(data["draws"]), int(data["fits"]), int(data["seeded"]))


@dataclass(frozen=True)
class Ceiling:
    """The limit on the sums of all fits of a ledger: of epsilons and deltas, or of rho (zero-concentrated DP).

    With a rho, ``delta`` limits the deltas of thresholded steps, and ``draws`` the number of normal draws. ``person`` is the
    column whose values are the persons; None if only the data owner knows them.
    """

    epsilon: Fraction | None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    draws: int = 0
    adjacency: Adjacency = "add-remove"
    records_per_person: int = 1
    person: str | None = None

    @classmethod
    def of(
        cls,
        epsilon: object,
        delta: object = 0,
        adjacency: str = "add-remove",
        *,
        rho: object = None,
        draws: object = None,
        records_per_person: object = 1,
        person: object = None,
    ) -> Ceiling:
        """Return the ceiling that a user specifies, or raise ConfigurationError."""
        if (epsilon is None) == (rho is None):
            raise ConfigurationError(
                "a ledger has one ceiling: pass epsilon=..., which basic composition adds up, or rho=..., which "
                "zero-concentrated DP adds up, and not both."
            )
        if rho is None and draws is not None:
            raise ConfigurationError(
                "draws are capped beside a rho only; pass rho=... with draws=..., or leave draws out."
            )
        unit = _whole(records_per_person, "records_per_person", MOST_RECORDS_OF_ONE), _column(person)
        allowed, kind = exact_delta(delta), check_adjacency(adjacency)
        if rho is None:
            return cls(exact(epsilon), allowed, None, 0, kind, *unit)
        most = DRAWS if draws is None else _whole(draws, "draws", MOST_DRAWS)
        return cls(None, allowed, exact(rho, "rho"), most, kind, *unit)

    def to_dict(self) -> dict[str, Any]:
        return {part.name: _plain(getattr(self, part.name)) for part in fields(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Ceiling:
        epsilon, rho = (None if data[name] is None else read_fraction(data[name]) for name in ("epsilon", "rho"))
        adjacency = check_adjacency(data["adjacency"])
        return cls(
            epsilon,
            read_fraction(data["delta"]),
            rho,
            int(data["draws"]),
            adjacency,
            int(data["records_per_person"]),
            _column(data.get("person")),
        )

    @property
    def unit(self) -> Unit:
        return Unit(self.records_per_person, self.person)

    def amount(self, certificate: Certificate) -> Amount:
        """Return what a plan counts in this ledger, or raise BudgetExceeded if it cannot be counted."""
        label = certificate.system
        if certificate.unprotected:
            raise BudgetExceeded(
                f"{label} has unprotected steps, so no budget covers it and the ledger refused it: "
                f"{'; '.join(certificate.unprotected)}."
            )
        if not self.unit.counts(certificate.unit):
            raise BudgetExceeded(
                f"{label} protects {certificate.unit} and the ledger {self.unit}; one ledger counts one unit of protection. "
                f"Fit for the ledger's unit, or open another ledger with {_as_arguments(certificate.unit)}. Nothing was drawn."
            )
        if certificate.adjacency == "replace-one" and self.adjacency == "add-remove":
            raise BudgetExceeded(
                f"{label} is planned for one record replaced, which says nothing about one record added or removed; "
                "fit with adjacency='add-remove' or open the ledger with adjacency='replace-one'."
            )
        if not certificate.covers_its_steps:
            raise BudgetExceeded(f"{label} plans to spend more than it claims; this is a bug, please report it.")
        epsilon, delta = certificate.epsilon, certificate.delta
        if certificate.adjacency != self.adjacency:
            epsilon, delta = 2 * epsilon, _group_delta(epsilon, delta)
        seeded = int(certificate.seeded)
        if self.rho is None:
            return Amount(epsilon, delta, fits=1, seeded=seeded)
        total = cost(certificate.event).under(self.adjacency, self.records_per_person)
        rho = total.rho
        return Amount(delta=total.thresholds, rho=rho, draws=total.draws, fits=1, seeded=seeded)

    def check(self, label: str, amount: Amount, before: Amount, name: str = "the ledger") -> Amount:
        """Return the sum, or raise BudgetExceeded if it is above the ceiling."""
        after = before + amount
        parts = (after.epsilon, after.delta, after.rho)
        if max(max(part.numerator.bit_length(), part.denominator.bit_length()) for part in parts) > LONGEST_SUM:
            raise BudgetExceeded(
                f"{label} would make the sum of {name} a fraction of thousands of digits; pass budgets that are short decimals. "
                "Nothing was drawn."
            )
        if self.rho is None:
            assert self.epsilon is not None
            if after.epsilon > self.epsilon or after.delta > self.delta:
                raise BudgetExceeded(
                    f"{label} asks for epsilon {decimal_text(amount.epsilon)} and delta {decimal_text(amount.delta)}, but "
                    f"{name} has {decimal_text(self.epsilon - before.epsilon)} and "
                    f"{decimal_text(self.delta - before.delta)} left of {decimal_text(self.epsilon)} and "
                    f"{decimal_text(self.delta)}; nothing was drawn."
                )
        elif after.rho > self.rho or after.draws > self.draws or after.delta > self.delta:
            raise BudgetExceeded(
                f"{label} asks for rho {decimal_text(amount.rho)}, {amount.draws} normal draws and a delta of "
                f"{decimal_text(amount.delta)} of thresholded steps, but {name} has {decimal_text(self.rho - before.rho)}, "
                f"{self.draws - before.draws} and {decimal_text(self.delta - before.delta)} left of {decimal_text(self.rho)}, "
                f"{self.draws} and {decimal_text(self.delta)}; nothing was drawn."
            )
        return after

    def raised_to(self, other: Ceiling) -> Ceiling:
        """Return the other ceiling, or raise ConfigurationError unless it is this ceiling raised."""
        kind = (self.adjacency, self.unit, self.rho is None, self.epsilon is None)
        if kind != (other.adjacency, other.unit, other.rho is None, other.epsilon is None):
            raise ConfigurationError(
                f"a ceiling keeps its kind, adjacency and unit: it is {self}, and cannot become {other}; create another ledger."
            )
        if other.limit < self.limit or other.delta < self.delta or other.draws < self.draws or other == self:
            raise ConfigurationError(
                f"the ceiling is {self}, and a ceiling can only be raised, as what was spent under it is spent; pass more."
            )
        return other

    def left(self, spent: Amount) -> Fraction:
        return self.limit - self.counted(spent)

    @property
    def limit(self) -> Fraction:
        limit = self.epsilon if self.rho is None else self.rho
        assert limit is not None
        return limit

    def counted(self, spent: Amount) -> Fraction:
        """Return the part of an amount that counts against ``limit``."""
        return spent.epsilon if self.rho is None else spent.rho

    def delta_at(self, epsilon: float) -> float:
        """Return, rounded up, the delta with which all fits together are (epsilon, delta)-DP, for a ceiling on rho."""
        assert self.rho is not None
        rho = float(self.rho) * (1 + FLOAT_GUARD)
        draws = float(self.draws * SAMPLER_ERROR) * (1 + math.exp(min(epsilon, 700.0)))
        thresholds = float(self.delta) * (1 if self.adjacency == "add-remove" else 1 + math.exp(min(epsilon, 700.0)))
        return (concentrated_delta(epsilon, rho) + thresholds + draws) * (1 + FLOAT_GUARD)

    def epsilon_at(self, delta: object) -> float:
        """Return the smallest epsilon, up to rounding, with which all fits together are (epsilon, delta)-DP.

        ConfigurationError if the ceiling implies none for this delta.
        """
        wanted = exact_delta(delta)
        if self.rho is None:
            if wanted >= self.delta:
                assert self.epsilon is not None
                return _up(self.epsilon)
            raise ConfigurationError(
                f"the ledger's ceiling allows a delta of {decimal_text(self.delta)}, so it says nothing for "
                f"{decimal_text(wanted)}; ask for a delta that is no smaller."
            )
        low = 0.0
        for high in GRID:  # the bound decreases, and increases again once the term of the draws dominates
            if Fraction(self.delta_at(high)) <= wanted:
                break
            low = high
        else:
            raise ConfigurationError(
                f"the ledger's ceiling says nothing for a delta of {decimal_text(wanted)}: its rho is too large, or its draws "
                "and thresholded steps alone may take more. Ask for a larger delta."
            )
        for _ in range(SEARCH_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if Fraction(self.delta_at(middle)) <= wanted else (middle, high)
        return high

    def __str__(self) -> str:
        unit = "" if self.unit == RECORD else f", for {self.unit}"
        if self.rho is None:
            assert self.epsilon is not None
            return f"epsilon {decimal_text(self.epsilon)}, delta {decimal_text(self.delta)}, {self.adjacency}{unit}"
        return (
            f"rho {decimal_text(self.rho)}, {self.draws} normal draws, delta {decimal_text(self.delta)} of thresholded steps, "
            f"{self.adjacency}{unit}"
        )


def _column(name: object) -> str | None:
    if name is not None and (not isinstance(name, str) or not 0 < len(name) <= LONGEST_WORDS):
        raise ConfigurationError(
            f"person is {shown(name)}, but it is the name of the column that tells persons apart, or None."
        )
    return name


def _up(value: Fraction) -> float:
    number = float(value)
    return number if Fraction(number) >= value else math.nextafter(number, math.inf)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _sum(text: str) -> Fraction:
    """Return a sum that was stored. It may be longer than a number that a user may pass."""
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator or 1))


def _whole(value: object, name: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ConfigurationError(f"{name} is {shown(value)}, and must be a whole number from 1 to {most}.")
    return value


def _group_delta(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return at least (1 + e**epsilon) delta: what an add/remove delta becomes if one record is replaced."""
    if delta == 0:
        return delta
    if epsilon > 700:  # above the largest float; no ceiling below 1 allows it
        return Fraction(1)
    return delta * (1 + Fraction(math.exp(float(epsilon))) * (1 + Fraction(1, 2**40)))


def _as_arguments(unit: Unit) -> str:
    person = "" if not unit.person else f", person={unit.person!r}"
    return f"records_per_person={unit.records}{person}"
