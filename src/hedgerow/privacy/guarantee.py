"""The promise of a fit, the costs of its steps, and so whether the promise holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby

from hedgerow.lazy_values import lazy
from hedgerow.privacy.accounting import Adjacency, Cost, cost, unprotected
from hedgerow.privacy.claim import Claim, Unit
from hedgerow.privacy.events import (
    Event,
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
    Thresholded,
)
from hedgerow.privacy.exact import decimal_text
from hedgerow.privacy.starts import Start


@dataclass(frozen=True)
class CertificateLine:
    """One kind of step: on which level (0 for none), what it released, by what, at what cost on each path."""

    level: int
    purpose: str
    mechanism: str
    cost: str


@dataclass(frozen=True, repr=False)
class Guarantee:
    """What a certificate is about; ``Certificate`` says what each part is."""

    system: str
    variant: str
    epsilon: Fraction
    delta: Fraction
    adjacency: Adjacency
    event: Event
    seeded: bool = False
    releases: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    records_per_person: int = 1
    person: str | None = None
    ids_as_text: bool = True
    starts: tuple[Start, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.records_per_person < 1:
            raise ValueError("a certificate is for one person of at least one record.")
        if self.epsilon < 0 or not 0 <= self.delta < 1 or not isinstance(self.seeded, bool):
            raise ValueError("a certificate claims an epsilon that is not negative and a delta from 0 to below 1.")

    @property
    def claim(self) -> Claim:
        """What the fit promises."""
        return Claim(self.epsilon, self.delta, self.adjacency, self.records_per_person)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason why the claim does not hold; empty if it does."""
        return (*dict.fromkeys(ground for start in self.starts for ground in start.grounds), *self.own_reasons)

    @property
    def own_reasons(self) -> tuple[str, ...]:
        """The reasons that are not those of a start."""
        found = list(self.unprotected)
        if not self.ids_as_text:
            found.append(
                "version 0.2 read ids of persons that are equal as numbers, such as 1.1 and 1.10, as one person; SECURITY.md "
                "says how to find out whether these records have such ids"
            )
        if self.seeded:
            found.append(
                "the noise came from random_state: whoever knows the seed can take the noise away, and other fits with the "
                "same seed share it"
            )
        if not self.unprotected and not self.covers_its_steps:
            found.append("the steps cost more than the claim")
        return tuple(found)

    @lazy
    def unprotected(self) -> tuple[str, ...]:
        """What reads records without protection, each reason once."""
        return unprotected(self.event)

    @lazy
    def total(self) -> Cost:
        """What all steps cost together under the adjacency."""
        return cost(self.event).under(self.adjacency, self.records_per_person)

    @property
    def covers_its_steps(self) -> bool:
        """Whether the steps cost no more than the claim under its adjacency."""
        return self.total.within(self.epsilon, self.delta)

    @property
    def holds(self) -> bool:
        """Whether the fit is (epsilon, delta)-differentially private as claimed."""
        return not self.reasons

    @property
    def private_starts(self) -> tuple[Start, ...]:
        """The starts whose records nobody stated to be public, so that their costs add to this one if the records are shared."""
        return tuple(start for start in self.starts if not start.public)

    @property
    def shared(self) -> Claim | None:
        """The guarantee for records that this fit and its starts all read: the sum of their claims, by basic composition.

        None if a start has no guarantee, or one under another adjacency or for another unit, with which no sum is stated.
        """
        epsilon, delta = self.epsilon, self.delta
        for start in self.private_starts:
            if (
                start.reasons
                or start.claim is None
                or start.unit != self.unit
                or start.claim.adjacency != self.adjacency
            ):
                return None
            epsilon, delta = epsilon + start.claim.epsilon, delta + start.claim.delta
        return Claim(epsilon, delta, self.adjacency, self.records_per_person)

    @property
    def spent(self) -> Fraction | None:
        """The pure epsilon that the steps cost under the adjacency, exact; None where some step has no bound."""
        return self.total.epsilon if self.total.protected else None

    @property
    def lines(self) -> tuple[CertificateLine, ...]:
        """The protected steps, each kind once, by level."""
        found = dict.fromkeys(steps(self.event))
        return tuple(sorted(found, key=lambda line: line.level))

    @property
    def unit(self) -> Unit:
        """The adjacency of the claim."""
        return Unit(self.records_per_person, self.person)


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
