"""What a fit promises, as one value that every layer below uses, and whether its steps keep the promise."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import groupby
from typing import Any

from scipy.optimize import brenth

from hedgerow.errors import ConfigurationError
from hedgerow.limits import LARGEST_INTEGER, LONGEST_WORDS
from hedgerow.privacy.accounting import (
    Adjacency,
    Event,
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
    Thresholded,
    check_adjacency,
    concentrated_rho,
    cost,
)
from hedgerow.privacy.exact import decimal_text, exact, exact_delta
from hedgerow.texts import shortened

SEARCH_PLACES = 1 << 20  # between an amount and twice as much
TINY, HUGE = 1e-300, 1e300  # deltas whose logarithms can be compared
RHO_GUARD = Fraction(1, 2**24)  # relative: what the search for an order, and logarithms, may miss
NEARER, SECANTS = Fraction(101, 100), 3
LEAST_AMOUNT = Fraction(1, 2**30)  # of rho: noise is near the samplers' largest there


class NoAmountError(ConfigurationError):
    """No amount of noise keeps to a claim."""


@dataclass(frozen=True)
class Claim:
    """(epsilon, delta)-differential privacy for neighbors under an adjacency.

    Neighbors differ by one person, of whom at most ``records_per_person`` records are read: by one record where that is 1.
    Events state what one record costs; docs/proofs/persons.md derives the cost of a person.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    adjacency: Adjacency = "add-remove"
    records_per_person: int = 1

    @property
    def pure(self) -> Fraction:
        """The epsilon for one record added or removed of a pure plan that keeps to the claim.

        A person has so many records, and one person replaced is one removed and one added.
        """
        return self.epsilon / (self.records_per_person * (1 if self.adjacency == "add-remove" else 2))

    @property
    def pure_delta(self) -> Fraction:
        """The delta for one person added or removed of a plan of epsilon ``pure`` with thresholds that keeps to the claim.

        For replace-one it is the claim's, divided by 1 + e^(epsilon/2) and rounded down (docs/proofs/released-schemas.md).
        """
        if self.adjacency == "add-remove" or not self.delta:
            return self.delta
        factor = 1 + Fraction(math.exp(min(float(self.epsilon / 2), 700.0))) * (1 + Fraction(1, 2**30))
        return Fraction(int(self.delta / factor * 2**200), 2**200)

    def covers(self, event: Event) -> bool:
        return cost(event).under(self.adjacency, self.records_per_person).within(self.epsilon, self.delta)

    def rho(self, build: Callable[[Fraction], Event]) -> Fraction:
        """Return nearly the largest rho for which the claim covers the event that ``build`` makes of it, or raise NoAmountError.

        ``build(rho)`` must cost at most rho. The result is computed in floats and verified exactly.
        """
        group = self.records_per_person * (1 if self.adjacency == "add-remove" else 2)
        sampler = cost(build(Fraction(1))).delta_of_draws(self.epsilon)
        left = float(self.delta) - sampler
        estimate = concentrated_rho(float(self.epsilon), left) / group**2 if left > 0 else 0.0
        amount = Fraction(max(estimate, 0.0)) * (1 - RHO_GUARD)
        while amount >= LEAST_AMOUNT:
            if self.covers(build(amount)):
                return self._nearer(build, amount)
            amount *= 1 - RHO_GUARD
        raise NoAmountError(self._no_amount)

    def _nearer(self, build: Callable[[Fraction], Event], amount: Fraction) -> Fraction:
        """Return the largest amount that the claim covers, among this one and those at which secants predict delta spent.

        Another accountant may say less of the event than its rho does.
        """
        if not self.delta:
            return amount

        def excess(tried: Fraction) -> float:
            spent = cost(build(tried)).under(self.adjacency, self.records_per_person)
            return math.log(max(spent.delta(self.epsilon), TINY)) - math.log(float(self.delta))

        tried, best = [amount, amount * NEARER], amount
        above = list(map(excess, tried))
        for _ in range(SECANTS):
            slope = (above[-1] - above[-2]) / math.log(tried[-1] / tried[-2])
            if not slope > 0:
                break
            tried.append(tried[-1] * Fraction(math.exp(-above[-1] / slope)) * (1 - RHO_GUARD))
            above.append(excess(tried[-1]))
            if tried[-1] > best and self.covers(build(tried[-1])):
                best = tried[-1]
        return best

    def largest(self, build: Callable[[Fraction], Event]) -> Fraction:
        """Return nearly the largest amount for which the claim covers the event that ``build`` makes of it.

        Or raise NoAmountError.

        It is the last of 2**20 amounts that are evenly between one that the claim covers and its double, which it does not.
        The event's cost must grow with the amount.
        """
        build(Fraction(1))  # an error that no amount mends is raised as it is, not as NoAmountError

        @cache
        def excess(amount: Fraction) -> float:
            """Return by how much the log of delta is above the claim's; below 0 where the claim covers the amount."""
            spent = cost(build(amount)).under(self.adjacency, self.records_per_person)
            delta = max(min(spent.delta(self.epsilon), HUGE), TINY)
            above = math.log(delta) - math.log(max(float(self.delta), TINY))
            # The sign is what ``within`` says, however logarithms round.
            return min(above, -TINY) if spent.within(self.epsilon, self.delta) else max(above, TINY)

        try:
            low, high = self._around(excess)
        except ConfigurationError as error:
            raise NoAmountError(self._no_amount) from error
        unit = (high - low) / SEARCH_PLACES
        place = int(brenth(lambda at: excess(low + round(at) * unit), 0, SEARCH_PLACES, xtol=0.5))
        while excess(low + place * unit) > 0:
            place -= 1
        while excess(low + (place + 1) * unit) < 0:
            place += 1
        return low + place * unit

    @property
    def _no_amount(self) -> str:
        return (
            f"no plan of this kind keeps to delta {decimal_text(self.delta)} at epsilon {decimal_text(self.epsilon)}. Either "
            "epsilon is so large that the samplers' own error, times e^epsilon, is above delta, or both are so small that "
            "the noise would be larger than the sampler draws. Pass another epsilon, a larger delta, fewer rounds, or "
            "delta=0."
        )

    def _around(self, excess: Callable[[Fraction], float]) -> tuple[Fraction, Fraction]:
        """Return two amounts, the second twice the first, of which the claim covers the first only."""
        # A guess for normal noise: epsilon is nearly rho + 2 sqrt(rho log(1 / delta)), or delta is sqrt(rho / pi).
        epsilon, delta = float(self.epsilon), max(float(self.delta), TINY)
        root = epsilon / (math.sqrt(epsilon - math.log(delta)) + math.sqrt(-math.log(delta)))
        amount = Fraction(2) ** (math.floor(2 * math.log2(max(root, 2 * delta))) + 1)
        while excess(amount) < 0:
            amount *= 2
        while excess(amount) > 0:
            amount /= 2
            if amount < LEAST_AMOUNT:
                raise ConfigurationError("the noise would be larger than the sampler draws.")
        return amount, 2 * amount


CHANGE = {"add-remove": "added or removed", "replace-one": "replaced by another"}


@dataclass(frozen=True)
class Unit:
    """One record, or one person of at most so many records.

    ``person`` is the column whose values are the persons, "" where it has no name. None: no column tells persons apart, and that
    nobody has more records is the owner's promise.
    """

    records: int = 1
    person: str | None = None

    @property
    def who(self) -> str:
        return "person" if self.records > 1 or self.person is not None else "record"

    @property
    def is_promise(self) -> bool:
        """Whether only the owner promises that nobody has more records, because no column identifies persons."""
        return self.records > 1 and self.person is None

    def neighbors(self, adjacency: Adjacency) -> str:
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
    def in_short(self) -> str:
        """What makes a record, or a person, in few words."""
        if self.person is not None:
            return f"column {self.person!r} telling persons apart" if self.person else "groups= telling persons apart"
        return "one record being one row" if self.records == 1 else "the owner's promise"

    @property
    def _few(self) -> str:
        return "1 record" if self.records == 1 else f"{self.records} records"

    def __str__(self) -> str:
        if self.person is not None:
            column = f"column {self.person!r}" if self.person else "groups without a name"
            return f"a person told by {column}, with at most {self._few}"
        return "a record" if self.records == 1 else f"a person with at most {self._few}"

    def counts(self, plan: Unit) -> bool:
        """Return whether a ledger of this unit may count a plan for another one (docs/proofs/persons.md).

        Where a column tells persons apart, one record less of a person may bring another one in, so such a plan is for persons
        and not for records. A ledger without a column trusts that each plan's column identifies the same persons.
        """
        if plan.records != self.records:
            return False
        if self.person is None:
            return plan.person is None or self.records > 1
        return plan.person == self.person


RECORD = Unit()


MOST_REASON = 400  # characters of a reason, which may name all features
MOST_NAMED = 1000
WRITTEN = re.compile(  # what version 0.3 wrote of a start
    r"(a \w+ of certificate [0-9a-f]{16}), which promises (?:nothing: (.+)|epsilon = (\S+), delta = (\S+), for (.+))",
    re.DOTALL,
)
PUBLIC = "whose records, and those of every model that it started from, are public, as the caller stated with public_start=True"


@dataclass(frozen=True)
class Start:
    """A model from which a fit started, by its class and the first digits of its certificate's digest.

    ``claim`` and ``person`` are those of its own fit; None if version 0.3 described it, in ``text``, for another unit than
    one record. ``reasons`` say why its own fit has no guarantee; its own starts are not counted here. ``public``: the caller
    of the fit, or of a fit between the two, stated that its records are public. ``more`` are the first digits of certificates
    whose cost adds to its own: of a released schema, or of a search.
    """

    model: str
    claim: Claim | None = None
    person: str | None = None
    reasons: tuple[str, ...] = ()
    public: bool = False
    more: tuple[str, ...] = ()
    text: str | None = None

    def __str__(self) -> str:
        if self.public:
            return f"{self.model}, {PUBLIC}"
        if self.reasons:
            return f"{self.model}, which promises nothing: {'; '.join(self.reasons)}"
        if self.claim is None:
            return str(self.text)
        more = f", besides the cost of certificate {' and '.join(self.more)}" if self.more else ""
        return f"{self.model}, which promises {claim_in_words(self.claim, self.unit)}{more}"

    @property
    def unit(self) -> Unit:
        return Unit(1 if self.claim is None else self.claim.records_per_person, self.person)

    @property
    def grounds(self) -> tuple[str, ...]:
        """The reasons why a fit that starts from it has no guarantee; empty if its records are public."""
        return () if self.public else tuple(f"it starts from {self.model}: {reason}" for reason in self.reasons)

    @classmethod
    def of_fit(
        cls, model: str, claim: Claim, person: str | None, reasons: tuple[str, ...], more: tuple[str, ...]
    ) -> Start:
        return cls(model, claim, person, tuple(shortened(reason, MOST_REASON) for reason in reasons), more=more)

    def to_dict(self) -> dict[str, Any] | str:
        """Return the start as plain values for JSON, or the text of version 0.3."""
        if self.text is not None:
            return {"text": self.text, "public": True} if self.public else self.text
        assert self.claim is not None
        return {
            "model": self.model,
            "epsilon": str(self.claim.epsilon),
            "delta": str(self.claim.delta),
            "adjacency": self.claim.adjacency,
            **({} if self.claim.records_per_person == 1 else {"records_per_person": self.claim.records_per_person}),
            **({} if self.person is None else {"person": self.person}),
            **{name: list(getattr(self, name)) for name in ("reasons", "more") if getattr(self, name)},
            **({"public": True} if self.public else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | str) -> Start:
        """Return the start that ``to_dict`` wrote, or raise KeyError, TypeError or ValueError."""
        if isinstance(data, str):
            return cls._written(data)
        public = data.get("public", False)
        if not isinstance(public, bool):
            raise TypeError("a start's records are public or not.")
        if "text" in data:
            return cls._written(data["text"], public=public)
        claim = Claim(
            exact(data["epsilon"]),
            exact_delta(data["delta"]),
            check_adjacency(data["adjacency"]),
            whole_number(data.get("records_per_person", 1)),
        )
        reasons, more = (tuple(map(short_text, data.get(name, []))) for name in ("reasons", "more"))
        if max(len(reasons), len(more)) > MOST_NAMED:
            raise ValueError("more than a start has.")
        person = None if data.get("person") is None else short_text(data["person"])
        return cls(short_text(data["model"]), claim, person, reasons, public, more)

    @classmethod
    def _written(cls, text: str, *, public: bool = False) -> Start:
        """Return the start that version 0.3 described. One that it described in other words has no guarantee."""
        match = WRITTEN.fullmatch(short_text(text))
        if match is None:
            reason = "the certificate of an earlier version describes it in words that cannot be read"
            return cls("a model", None, None, (reason,), public, text=text)
        model, reason, epsilon, delta, neighbors = match.groups()
        if reason is not None:
            return cls(model, None, None, (reason,), public, text=text)
        claim = None
        for adjacency in ("add-remove", "replace-one"):
            if RECORD.neighbors(adjacency) == neighbors and not (epsilon + delta).count("..."):
                claim = Claim(exact(epsilon), exact_delta(delta), adjacency)
        return cls(model, claim, None, (), public, text=text)


def claim_in_words(claim: Claim, unit: Unit) -> str:
    return f"epsilon = {decimal_text(claim.epsilon)}, delta = {decimal_text(claim.delta)}, for {unit.neighbors(claim.adjacency)}"


def short_text(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_WORDS:
        raise TypeError("no short text")
    return value


def whole_number(value: object) -> int:
    if type(value) is not int or not 1 <= value < LARGEST_INTEGER:
        raise TypeError("no number of records")
    return value


@dataclass(frozen=True)
class CertificateLine:
    """One kind of step: on which level (0 for none), what it released, by what, at what cost on each path."""

    level: int
    purpose: str
    mechanism: str
    cost: str


def steps(event: Event) -> Iterator[CertificateLine]:
    """Yield the protected steps; of equal ones in a row, the first."""
    match event:
        case Pure():
            delta = f", delta {decimal_text(event.delta, 4)}" if isinstance(event, Thresholded) else ""
            amount = f"epsilon {decimal_text(event.epsilon, 4)}{delta}"
            yield CertificateLine(event.level, event.purpose, event.mechanism, amount)
        case Gaussian():
            mu_squared = decimal_text(event.mu_squared, 4)
            yield CertificateLine(event.level, event.purpose, "rounded normal noise", f"mu^2 {mu_squared}")
        case OneOf():
            yield from steps(event.parts[0])
        case Sequence() | Parallel():
            for part in runs(event.parts):
                yield from steps(part)
        case PerRecordAssignment() | Subsampled():
            yield from steps(event.part)


def runs(parts: Iterable[Event]) -> Iterator[Event]:
    """Yield each run of equal parts once: rounds are equal, and there may be many."""
    return (part for part, _ in groupby(parts))
