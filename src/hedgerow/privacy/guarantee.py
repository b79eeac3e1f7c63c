"""The promise of a fit and of the models from which it started, the costs of its steps, and so whether the promise holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import Any

from hedgerow.lazy_values import lazy
from hedgerow.limits import LARGEST_INTEGER, LONGEST_WORDS
from hedgerow.privacy.accounting import Adjacency, Cost, check_adjacency, cost, unprotected
from hedgerow.privacy.claim import RECORD, Claim, Unit
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
from hedgerow.privacy.exact import decimal_text, exact, exact_delta
from hedgerow.texts import shortened

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
        return Claim(self.epsilon, self.delta, self.adjacency, self.records_per_person)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason why the claim does not hold; empty if it does."""
        return (*dict.fromkeys(ground for start in self.starts for ground in start.grounds), *self.own_reasons)

    @property
    def own_reasons(self) -> tuple[str, ...]:
        """The reasons that are not those of a start."""
        reasons = list(self.unprotected)
        if not self.ids_as_text:
            reasons.append(
                "version 0.2 read ids of persons that are equal as numbers, such as 1.1 and 1.10, as one person; SECURITY.md "
                "says how to find out whether these records have such ids"
            )
        if self.seeded:
            reasons.append(
                "the noise came from random_state: whoever knows the seed can take the noise away, and other fits with the "
                "same seed share it"
            )
        if not self.unprotected and not self.covers_its_steps:
            reasons.append("the steps cost more than the claim")
        return tuple(reasons)

    @lazy
    def unprotected(self) -> tuple[str, ...]:
        return unprotected(self.event)

    @lazy
    def total(self) -> Cost:
        return cost(self.event).under(self.adjacency, self.records_per_person)

    @property
    def covers_its_steps(self) -> bool:
        return self.total.within(self.epsilon, self.delta)

    @property
    def holds(self) -> bool:
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
        return tuple(sorted(dict.fromkeys(steps(self.event)), key=lambda line: line.level))

    @property
    def unit(self) -> Unit:
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
