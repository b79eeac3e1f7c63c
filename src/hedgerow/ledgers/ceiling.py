"""A ledger's limits: its ceiling, how a fit counts against it, and what the ceiling guarantees (docs/proofs/ledgers.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

from hedgerow.errors import BudgetExceeded, ConfigurationError, shown
from hedgerow.files import LONGEST_WORDS, MOST_RECORDS_OF_ONE
from hedgerow.privacy.accounting import FLOAT_GUARD, SAMPLER_ERROR, Adjacency, check_adjacency, concentrated_delta, cost
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.claim import RECORD, Unit
from hedgerow.privacy.exact import decimal_text, exact, exact_delta, read_fraction

DRAWS = 2**30  # default ceiling on normal draws beside a rho: their term is about 1e-9 at epsilon 1
MOST_DRAWS = 2**60
LONGEST_SUM = 12_000  # bits of the numerator and denominator of a sum: Python reads and writes at most 4300 digits
SEARCH_STEPS = 50
GRID = tuple(1e-6 * 1.02**step for step in range(900))  # of epsilon, up to 55: above that a single draw has no bound


def _plain(value: Any) -> dict[str, Any]:
    return {name: str(part) if isinstance(part, Fraction) else part for name, part in vars(value).items()}


@dataclass(frozen=True)
class Amount:
    """The total of fits in one ledger, under its adjacency.

    Parameters
    ----------
    epsilon, delta, rho : Fraction
        Exact sums.
    draws : int
        The number of normal draws, where the ceiling is a rho.
    fits, seeded : int
        The numbers of fits and of seeded fits.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    draws: int = 0
    fits: int = 0
    seeded: int = 0

    to_dict = _plain

    def __add__(self, other: Amount) -> Amount:
        return Amount(**{part.name: getattr(self, part.name) + getattr(other, part.name) for part in fields(self)})

    def covers(self, other: Amount) -> bool:
        return all(getattr(self, part.name) >= getattr(other, part.name) for part in fields(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Amount:
        # A sum may be longer than a number that a user may pass.
        parts = [data[name].partition("/") for name in ("epsilon", "delta", "rho")]
        epsilon, delta, rho = (Fraction(int(above), int(below or 1)) for above, _, below in parts)
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

    to_dict = _plain

    @classmethod
    def of(
        cls,
        epsilon: object,
        delta: object = 0,
        adjacency: str = "add-remove",
        *,
        rho: object = None,
        draws: int | None = None,
        records_per_person: int = 1,
        person: str | None = None,
    ) -> Ceiling:
        if (epsilon is None) == (rho is None):
            raise ConfigurationError("a ledger has one ceiling: pass epsilon=..., or rho=..., and not both.")
        if rho is None and draws is not None:
            raise ConfigurationError("draws are capped beside a rho only; pass rho=... too, or leave draws out.")
        draws = DRAWS if draws is None else draws
        whole = ("records_per_person", records_per_person, MOST_RECORDS_OF_ONE), ("draws", draws, MOST_DRAWS)
        for name, number, most in whole:
            if type(number) is not int or not 1 <= number <= most:
                raise ConfigurationError(f"{name} is {shown(number)}, and must be a whole number from 1 to {most}.")
        unit = records_per_person, _column(person)
        allowed, kind = exact_delta(delta), check_adjacency(adjacency)
        if rho is None:
            return cls(exact(epsilon), allowed, None, 0, kind, *unit)
        return cls(None, allowed, exact(rho, "rho"), draws, kind, *unit)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Ceiling:
        epsilon, rho = (None if data[name] is None else read_fraction(data[name]) for name in ("epsilon", "rho"))
        unit = int(data["records_per_person"]), _column(data.get("person"))
        adjacency = check_adjacency(data["adjacency"])
        return cls(epsilon, read_fraction(data["delta"]), rho, int(data["draws"]), adjacency, *unit)

    @property
    def unit(self) -> Unit:
        return Unit(self.records_per_person, self.person)

    @property
    def kind(self) -> str:
        return "epsilon" if self.rho is None else "rho"

    @property
    def parts(self) -> dict[str, str]:
        if self.rho is None:
            return {"epsilon": "epsilon", "delta": "delta"}
        return {"rho": "rho", "draws": "normal draws", "delta": "delta of thresholded steps"}

    def in_words(self, amounts: Any) -> str:
        texts = ((what, decimal_text(Fraction(getattr(amounts, part)))) for part, what in self.parts.items())
        return ", ".join(f"{what} {text}" for what, text in texts)

    def left(self, spent: Amount) -> Amount:
        return Amount(**{part: getattr(self, part) - getattr(spent, part) for part in self.parts})

    def amount(self, certificate: Certificate) -> Amount:
        label = certificate.system
        if certificate.unprotected:
            raise BudgetExceeded(
                f"{label} has unprotected steps, so it was refused: {'; '.join(certificate.unprotected)}."
            )
        if not self.unit.counts(certificate.unit):
            person = f", person={certificate.person!r}" if certificate.person else ""
            raise BudgetExceeded(
                f"{label} protects {certificate.unit}, but the ledger {self.unit}. Fit for that, or create another ledger with "
                f"records_per_person={certificate.records_per_person}{person}. Nothing was drawn."
            )
        if certificate.adjacency == "replace-one" and self.adjacency == "add-remove":
            raise BudgetExceeded(
                f"{label} is planned for replace-one, which says nothing of add-remove; pass adjacency='add-remove', or create "
                "another ledger with adjacency='replace-one'."
            )
        if not certificate.covers_its_steps:
            raise BudgetExceeded(f"{label} plans to spend more than it claims; this is a bug, please report it.")
        seeded = int(certificate.seeded)
        if self.rho is not None:
            total = cost(certificate.event).under(self.adjacency, self.records_per_person)
            return Amount(delta=total.thresholds, rho=total.rho, draws=total.draws, fits=1, seeded=seeded)
        epsilon, delta = certificate.epsilon, certificate.delta
        if certificate.adjacency != self.adjacency:
            if delta:
                # Above 700, the factor is beyond the largest float; no ceiling below 1 allows it.
                factor = Fraction(math.exp(float(epsilon))) * (1 + Fraction(1, 2**40)) if epsilon <= 700 else None
                delta = Fraction(1) if factor is None else delta * (1 + factor)
            epsilon = 2 * epsilon
        return Amount(epsilon, delta, fits=1, seeded=seeded)

    def check(self, label: str, amount: Amount, before: Amount, name: str = "the ledger") -> Amount:
        after = before + amount
        sums = (after.epsilon, after.delta, after.rho)
        if max(max(part.numerator.bit_length(), part.denominator.bit_length()) for part in sums) > LONGEST_SUM:
            raise BudgetExceeded(f"{label} makes the sum of {name} too long a fraction; pass short decimals.")
        if any(getattr(after, part) > getattr(self, part) for part in self.parts):
            raise BudgetExceeded(
                f"{label} asks for {self.in_words(amount)}, but {name} has {self.in_words(self.left(before))} left of "
                f"{self.in_words(self)}; nothing was drawn."
            )
        return after

    def raised_to(self, other: Ceiling) -> Ceiling:
        if (self.adjacency, self.unit, self.kind) != (other.adjacency, other.unit, other.kind):
            raise ConfigurationError(f"a ceiling keeps its kind, adjacency and unit: {self} cannot become {other}.")
        if other == self or any(getattr(other, part) < getattr(self, part) for part in self.parts):
            raise ConfigurationError(f"the ceiling is {self}, and can only be raised; pass more.")
        return other

    def delta_at(self, epsilon: float) -> float:
        """Return, rounded up, the delta with which all fits together are (epsilon, delta)-DP, for a ceiling on rho."""
        assert self.rho is not None
        grown = math.exp(min(epsilon, 700.0))
        draws = float(self.draws * SAMPLER_ERROR) * (1 + grown)
        thresholds = float(self.delta) * (1 if self.adjacency == "add-remove" else 1 + grown)
        of_rho = concentrated_delta(epsilon, float(self.rho) * (1 + FLOAT_GUARD))
        return (of_rho + thresholds + draws) * (1 + FLOAT_GUARD)

    def epsilon_at(self, delta: object) -> float:
        """Return about the least epsilon with which all fits are (epsilon, delta)-DP together, or raise ConfigurationError."""
        wanted = exact_delta(delta)
        refusal = f"the ceiling says nothing for a delta of {decimal_text(wanted)}; pass a larger one."
        if self.epsilon is not None:
            if wanted >= self.delta:
                number = float(self.epsilon)
                return number if Fraction(number) >= self.epsilon else math.nextafter(number, math.inf)
            raise ConfigurationError(refusal)
        low = 0.0
        for high in GRID:  # the bound decreases, and increases again once the term of the draws dominates
            if Fraction(self.delta_at(high)) <= wanted:
                break
            low = high
        else:
            raise ConfigurationError(refusal)
        for _ in range(SEARCH_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if Fraction(self.delta_at(middle)) <= wanted else (middle, high)
        return high

    def __str__(self) -> str:
        unit = "" if self.unit == RECORD else f", for {self.unit}"
        return f"{self.in_words(self)}, {self.adjacency}{unit}"


def _column(name: object) -> str | None:
    if name is not None and (not isinstance(name, str) or not 0 < len(name) <= LONGEST_WORDS):
        raise ConfigurationError(
            f"person is {shown(name)}; pass the name of the column that identifies persons, or None."
        )
    return name


@dataclass(frozen=True)
class Standing:
    """The state of a ledger. Every stored link contains that after it, so a reservation reads only the last link."""

    ceiling: Ceiling
    spent: Amount = field(default_factory=Amount)
    closed: bool = False

    def __str__(self) -> str:
        spent = f"spent: {self.ceiling.in_words(self.spent)} in {self.spent.fits} fits"
        seeded = "; a seeded fit voids the guarantee" if self.spent.seeded else ""
        return f"ceiling: {self.ceiling}; {spent}{seeded}{'; closed' if self.closed else ''}"

    def to_dict(self) -> dict[str, Any]:
        return {"ceiling": self.ceiling.to_dict(), "spent": self.spent.to_dict(), "closed": self.closed}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Standing:
        return cls(Ceiling.from_dict(data["ceiling"]), Amount.from_dict(data["spent"]), data["closed"] is True)
