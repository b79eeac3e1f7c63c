"""What a fit promises, as one value that every layer below uses, and whether its steps keep the promise."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, get_args

from scipy.optimize import brenth

from hedgerow.errors import ConfigurationError
from hedgerow.files import LARGEST_INTEGER, LONGEST_WORDS
from hedgerow.privacy.accounting import Adjacency, Event, check_adjacency, concentrated_rho, cost
from hedgerow.privacy.exact import decimal_text, exact, exact_delta
from hedgerow.texts import counted

SEARCH_PLACES = 1 << 20  # between an amount and twice as much
TINY, HUGE = 1e-300, 1e300  # deltas whose logarithms can be compared
RHO_GUARD = Fraction(1, 2**24)  # relative: what the search for an order, and logarithms, may miss
NEARER, SECANTS, LONGEST_STEP = Fraction(101, 100), 3, 0.2  # the last in the logarithm of rho
LEAST_AMOUNT = Fraction(1, 2**30)  # of rho: noise is near the samplers' largest there
NO_AMOUNT = (
    "no plan of this kind keeps to delta {} at epsilon {}: the samplers' own error, times e^epsilon, is above delta, or the "
    "noise is larger than they draw. Pass another epsilon, a larger delta, fewer rounds, or delta=0."
)


class NoAmountError(ConfigurationError):
    """No amount of noise keeps to a claim."""


@dataclass(frozen=True)
class Claim:  # eDPRF: definition 1
    """(epsilon, delta)-differential privacy for neighbors under an adjacency.

    Neighbors differ by one person, of whom at most ``records_per_person`` records are read: by one record where that is 1.
    Events state what one record costs; docs/proofs/persons.md derives the cost of a person.

    Parameters
    ----------
    epsilon, delta : Fraction
        The parameters.
    adjacency : {"add-remove", "replace-one"}
        How neighbors differ.
    records_per_person : int
        1 for single records.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    adjacency: Adjacency = "add-remove"
    records_per_person: int = 1

    @property
    def pure(self) -> Fraction:
        """The epsilon for one record added or removed of a pure plan that keeps to the claim."""
        # A person has so many records, and one person replaced is one removed and one added.
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
        return cost(event).under(self.adjacency, self.records_per_person).delta(self.epsilon) <= self.delta

    def rho(self, build: Callable[[Fraction], Event]) -> Fraction:
        """Return nearly the largest rho for which the claim covers the event that ``build`` makes of it, or raise NoAmountError.

        ``build(rho)`` must cost at most rho. The result is computed in floats and verified exactly.
        """
        group = self.records_per_person * (1 if self.adjacency == "add-remove" else 2)
        left = float(self.delta) - cost(build(Fraction(1))).delta_of_draws(self.epsilon)
        estimate = concentrated_rho(float(self.epsilon), left) / group**2 if left > 0 else 0.0
        best = Fraction(max(estimate, 0.0)) * (1 - RHO_GUARD)
        while best >= LEAST_AMOUNT and not self.covers(build(best)):
            best *= 1 - RHO_GUARD
        if best < LEAST_AMOUNT:
            raise NoAmountError(NO_AMOUNT.format(decimal_text(self.delta), decimal_text(self.epsilon)))
        # Another accountant may give a smaller epsilon than rho does: secants predict where delta is spent.
        tried, above = [best, best * NEARER], list[float]()
        for step in range(2 + SECANTS if self.delta else 0):
            if step >= 2:
                slope = (above[-1] - above[-2]) / math.log(tried[-1] / tried[-2])
                if not slope > 0:
                    break
                change = min(max(-above[-1] / slope, -LONGEST_STEP), LONGEST_STEP)
                tried.append(tried[-1] * Fraction(math.exp(change)) * (1 - RHO_GUARD))
            delta = cost(build(tried[step])).under(self.adjacency, self.records_per_person).delta(self.epsilon)
            above.append(math.log(max(delta, TINY)) - math.log(float(self.delta)))
            if step >= 2 and delta <= self.delta:
                best = max(best, tried[step])
        return best

    def largest(self, build: Callable[[Fraction], Event]) -> Fraction:
        """Return nearly the largest amount for which the claim covers the event that ``build`` makes of it.

        NoAmountError if there is none. The amount is the last of 2**20 that are evenly between one that the claim covers and its
        double, which it does not. The event's cost must grow with the amount.
        """
        build(Fraction(1))  # an error that no amount mends is raised as it is, not as NoAmountError

        @cache
        def excess(amount: Fraction) -> float:
            """Return by how much the log of delta is above the claim's; below 0 where the claim covers the amount."""
            delta = cost(build(amount)).under(self.adjacency, self.records_per_person).delta(self.epsilon)
            above = math.log(max(min(delta, HUGE), TINY)) - math.log(max(float(self.delta), TINY))
            # The sign is that of the exact comparison, however logarithms round.
            return min(above, -TINY) if delta <= self.delta else max(above, TINY)

        # A guess for normal noise: epsilon is nearly rho + 2 sqrt(rho log(1 / delta)), or delta is sqrt(rho / pi).
        epsilon, delta = float(self.epsilon), max(float(self.delta), TINY)
        root = epsilon / (math.sqrt(epsilon - math.log(delta)) + math.sqrt(-math.log(delta)))
        low = Fraction(2) ** (math.floor(2 * math.log2(max(root, 2 * delta))) + 1)
        mended = None
        try:
            while excess(low) < 0:
                low *= 2
            while low >= LEAST_AMOUNT and excess(low) > 0:
                low /= 2
        except ConfigurationError as error:
            mended = error
        if mended is not None or low < LEAST_AMOUNT:
            raise NoAmountError(NO_AMOUNT.format(decimal_text(self.delta), decimal_text(self.epsilon))) from mended
        unit = low / SEARCH_PLACES
        place = int(brenth(lambda at: excess(low + round(at) * unit), 0, SEARCH_PLACES, xtol=0.5))
        while excess(low + place * unit) > 0:
            place -= 1
        while excess(low + (place + 1) * unit) < 0:
            place += 1
        return low + place * unit


CHANGE = {"add-remove": "added or removed", "replace-one": "replaced by another"}


@dataclass(frozen=True)
class Unit:
    """One record, or one person of at most so many records: whom a guarantee protects.

    Parameters
    ----------
    records : int
        The largest number of records of a person.
    person : str or None
        The column whose values are the persons, "" where it has no name. None: no column tells persons apart, and that nobody
        has more records is the owner's promise.
    """

    records: int = 1
    person: str | None = None

    @property
    def who(self) -> str:
        return "person" if self.records > 1 or self.person is not None else "record"

    @property
    def is_promise(self) -> bool:
        return self.records > 1 and self.person is None

    def neighbors(self, adjacency: Adjacency) -> str:
        change = f"one {self.who} {CHANGE[adjacency]}"
        if self.who == "record":
            return change
        if self.person is None:
            return f"{change}, with at most {self._few}"
        return f"{change}, of whom at most {self._few} {'counts' if self.records == 1 else 'count'}"

    @property
    def _few(self) -> str:
        return counted(self.records, "record")

    def rests_on(self, *, ids_as_text: bool = True) -> tuple[str, str]:
        """Return what makes a record, or a person, in few words and in full; version 0.2 did not compare ids as text."""
        if self.person is None:
            if self.records == 1:
                return ("one record being one row",) * 2
            return "the owner's promise", f"nobody having more than {self._few}, as the owner promises"
        column = f"column {self.person!r}" if self.person else "groups="
        read = "as version 0.2 read it (1.1 and 1.10 are one)"
        if ids_as_text:
            read = "as it is written (1.1 and 1.10 are two)"
        return f"{column} telling persons apart", (
            f"a person being one id in {column}, {read}: of each at most {self._few} drawn at random, and none without an id"
        )

    def __str__(self) -> str:
        if self.person is not None:
            column = f"column {self.person!r}" if self.person else "groups without a name"
            return f"a person identified by {column}, with at most {self._few}"
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


MOST_NAMED = 1000
WRITTEN = re.compile(  # what version 0.3 wrote of a start
    r"(a \w+ of certificate [0-9a-f]{16}), which promises (?:nothing: (.+)|epsilon = (\S+), delta = (\S+), for (.+))",
    re.DOTALL,
)
UNREADABLE = "the certificate of an earlier version describes it in words that cannot be read"
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

    def to_dict(self) -> dict[str, Any] | str:
        if self.text is not None:
            return {"text": self.text, "public": True} if self.public else self.text
        assert self.claim is not None
        return {
            "model": self.model,
            **claim_to_dict(self.claim, self.person),
            **{name: list(getattr(self, name)) for name in ("reasons", "more") if getattr(self, name)},
            **({"public": True} if self.public else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | str) -> Start:
        values = {"text": data} if isinstance(data, str) else data
        public = values.get("public", False)
        if not isinstance(public, bool):
            raise TypeError("a start's records are public or not.")
        if "text" in values:  # of version 0.3
            text = short_text(values["text"])
            match = WRITTEN.fullmatch(text)
            model, reason, epsilon, delta, neighbors = match.groups() if match else ("a model", UNREADABLE, "", "", "")
            claim = None
            for adjacency in get_args(Adjacency):
                if RECORD.neighbors(adjacency) == neighbors and "..." not in epsilon + delta:
                    claim = Claim(exact(epsilon), exact_delta(delta), adjacency)
            return cls(model, claim, None, () if reason is None else (reason,), public, text=text)
        reasons, more = (tuple(map(short_text, values.get(name, []))) for name in ("reasons", "more"))
        if max(len(reasons), len(more)) > MOST_NAMED:
            raise ValueError("more than a start has.")
        return cls(short_text(values["model"]), *claim_from_dict(values), reasons, public, more)


def claim_in_words(claim: Claim, unit: Unit) -> str:
    return f"epsilon = {decimal_text(claim.epsilon)}, delta = {decimal_text(claim.delta)}, for {unit.neighbors(claim.adjacency)}"


def short_text(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_WORDS:
        raise TypeError("no short text")
    return value


def claim_to_dict(claim: Claim, person: str | None) -> dict[str, Any]:
    records = {} if claim.records_per_person == 1 else {"records_per_person": claim.records_per_person}
    column = {} if person is None else {"person": person}
    amounts = {"epsilon": str(claim.epsilon), "delta": str(claim.delta), "adjacency": claim.adjacency}
    return {**amounts, **records, **column}


def claim_from_dict(data: Mapping[str, Any]) -> tuple[Claim, str | None]:
    amounts = exact(data["epsilon"]), exact_delta(data["delta"])
    records = data.get("records_per_person", 1)
    if type(records) is not int or not 1 <= records < LARGEST_INTEGER:
        raise TypeError("no number of records")
    claim = Claim(*amounts, check_adjacency(data["adjacency"]), records)
    return claim, None if data.get("person") is None else short_text(data["person"])
