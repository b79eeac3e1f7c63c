"""What a fit promises: one value, made once from the parameters, that every layer below uses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from scipy.optimize import brenth

from hedgerow.errors import ConfigurationError
from hedgerow.privacy.accounting import Adjacency, Cost, concentrated_rho, cost
from hedgerow.privacy.events import Event
from hedgerow.privacy.exact import decimal_text

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
    Events, and so plans, state what one record costs; docs/proofs/persons.md says what it makes of them.
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
        return self._of_one_added / self.records_per_person

    @property
    def _of_one_added(self) -> Fraction:
        return self.epsilon if self.adjacency == "add-remove" else self.epsilon / 2

    @property
    def pure_delta(self) -> Fraction:
        """The delta for one person added or removed of a plan of epsilon ``pure`` with thresholds that keeps to the claim.

        For replace-one it is the claim's, divided by 1 + e^(epsilon/2) and rounded down (docs/proofs/released-schemas.md).
        """
        if self.adjacency == "add-remove" or not self.delta:
            return self.delta
        factor = 1 + Fraction(math.exp(min(float(self._of_one_added), 700.0))) * (1 + Fraction(1, 2**30))
        return Fraction(int(self.delta / factor * 2**200), 2**200)

    def covers(self, event: Event) -> bool:
        return self._spent(event).within(self.epsilon, self.delta)

    def _spent(self, event: Event) -> Cost:
        return cost(event).under(self.adjacency, self.records_per_person)

    def rho(self, build: Callable[[Fraction], Event]) -> Fraction:
        """Return nearly the largest rho for which the claim covers the event that ``build`` makes of it, or raise NoAmountError.

        Of plans that cost at most the rho that they are built for: it is worked out in floats, and verified exactly.
        """
        group = self.records_per_person * (1 if self.adjacency == "add-remove" else 2)
        sampler = cost(build(Fraction(1))).delta_of_draws(self.epsilon)
        left = float(self.delta) - sampler
        found = concentrated_rho(float(self.epsilon), left) / group**2 if left > 0 else 0.0
        amount = Fraction(max(found, 0.0)) * (1 - RHO_GUARD)
        while amount >= LEAST_AMOUNT:
            if self.covers(build(amount)):
                return self._nearer(build, amount)
            amount *= 1 - RHO_GUARD
        raise NoAmountError(self._no_amount)

    def _nearer(self, build: Callable[[Fraction], Event], amount: Fraction) -> Fraction:
        """Return the largest of a few amounts that the claim covers, this one and where secants say that its delta is spent.

        Another accountant may say less of the event than its rho does.
        """
        if not self.delta:
            return amount

        def excess(tried: Fraction) -> float:
            spent = max(self._spent(build(tried)).delta(self.epsilon), TINY)
            return math.log(spent) - math.log(float(self.delta))

        tried, best = [amount, amount * NEARER], amount
        above = [excess(one) for one in tried]
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
            spent = self._spent(build(amount))
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
