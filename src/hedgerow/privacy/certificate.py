"""What a fit may claim: one page that a privacy officer can read and a program can check."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from typing import Any

from hedgerow.errors import BudgetExceeded, FileFormatError
from hedgerow.limits import LARGEST_INTEGER, LONGEST_WORDS
from hedgerow.privacy.accountants import Concentrated, GaussianDP
from hedgerow.privacy.accounting import Adjacency, Cost, check_adjacency, cost, unprotected
from hedgerow.privacy.claim import Claim
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
    Unprotected,
    event_from_dict,
    event_to_dict,
)
from hedgerow.privacy.exact import decimal_text, exact, exact_delta, upper_text
from hedgerow.privacy.unit import Unit
from hedgerow.schema import Schema

__all__ = ["Certificate", "CertificateLine", "certify", "warn_of_delta", "warn_of_epsilon"]

LISTS = ("releases", "assumptions", "warnings")
MOST_LISTED = 1000
WEAK_DELTA = Fraction(1, 1000)
SHOWN = {"evaluate": "the report card", "private_schema": "the schema", "Curator": "the answers"}  # others show a model
PROMISE = (
    "the owner promises that no person has more than {} records; no column identifies persons, so nothing enforced it"
)
NEXT_TO_NOTHING = 20  # an epsilon above it warns
WEAK = 10  # from this epsilon on the certificate says what it is worth


@dataclass(frozen=True)
class CertificateLine:
    """One kind of step: on which level (0 for none), what it released, by what, at what cost on each path."""

    level: int
    purpose: str
    mechanism: str
    cost: str


@dataclass(frozen=True)
class Certificate:
    """The guarantee of one fit, or the reasons why there is none.

    Parameters
    ----------
    system, variant : str
        What was fitted.
    epsilon, delta : Fraction
        What the user asked for: the claim.
    adjacency : {"add-remove", "replace-one"}
        What a neighboring data set is.
    event : Event
        Everything that reads records, as it was booked before anything was drawn.
    seeded : bool
        Whether the noise came from ``random_state`` and not from the operating system.
    releases : tuple of str
        The digests of the certificates under which entries of the schema were released.
    assumptions : tuple of str
        What an operation other than a fit rests on, in place of a schema and records as given to ``fit``.
    records_per_person : int
        How many records of one person are protected together.
    person : str or None
        The column whose values are the persons, "" where it has no name: of each so many records at most were read. None: the
        owner's promise is that nobody has more.
    ids_as_text : bool
        Whether ids of persons were compared as they are written. False where version 0.2 read them (SECURITY.md, *Advisories*).
    warnings : tuple of str
        What released values say against the fit, such as a column that was hardly read. They change neither the claim nor the
        digest, which is known before anything is drawn, and certificates that differ in them alone are equal.

    Notes
    -----
    ``holds`` is True only if no step reads records unprotected (an inferred schema is such a step), the steps cost no more
    than the claim, and the entropy was the operating system's. The certificate depends on the schema, the configuration and
    nothing else; its warnings on what was released as well.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> certificate = hr.EDPRFClassifier(epsilon=1.0, schema=schema).fit(X, y).certificate_
    >>> certificate.holds, certificate.epsilon, certificate.adjacency
    (True, Fraction(1, 1), 'add-remove')
    >>> seeded = hr.EDPRFClassifier(epsilon=1.0, schema=schema, random_state=0).fit(X, y).certificate_
    >>> seeded.holds, len(seeded.reasons)
    (False, 1)
    """

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

    @cached_property
    def unprotected(self) -> tuple[str, ...]:
        """What reads records without protection, each reason once."""
        return unprotected(self.event)

    @cached_property
    def _total(self) -> Cost:
        """What all steps cost under the adjacency; it is looked at several times, and there may be many steps."""
        return cost(self.event).under(self.adjacency, self.records_per_person)

    @property
    def covers_its_steps(self) -> bool:
        """Whether the steps cost no more than the claim under its adjacency."""
        return self._total.within(self.epsilon, self.delta)

    @property
    def holds(self) -> bool:
        """Whether the fit is (epsilon, delta)-differentially private as claimed."""
        return not self.reasons

    @property
    def spent(self) -> Fraction | None:
        """The pure epsilon that the steps cost under the adjacency, exact; None where some step has no bound."""
        return self._total.epsilon if self._total.protected else None

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the certificate as ``to_dict`` writes it without warnings, in hexadecimal."""
        plain = {name: value for name, value in self.to_dict().items() if name != "warnings"}
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def lines(self) -> tuple[CertificateLine, ...]:
        """The protected steps, each kind once, by level."""
        found = dict.fromkeys(_steps(self.event))
        return tuple(sorted(found, key=lambda line: line.level))

    def __str__(self) -> str:
        claim = f"epsilon = {decimal_text(self.epsilon)}, delta = {decimal_text(self.delta)}"
        rows = [
            f"Privacy certificate of {self.system} ({self.variant})",
            "",
            f"  claim      {claim}, for {self.unit.neighbors(self.adjacency)}",
            *([f"  promise    {PROMISE.format(self.records_per_person)}"] if self.unit.is_promise else []),
            f"  holds      {'yes' if self.holds else 'NO'}",
        ]
        rows += [f"             - {reason}" for reason in self.reasons]
        if self.holds:
            rows += [
                f"  meaning    {line}" if i == 0 else f"             {line}" for i, line in enumerate(self._meaning())
            ]
        rows += [f"  spent      {self._spent_text()}"]
        rows += [f"  WARNING    {warning}" for warning in self.warnings]
        if self.lines:
            width = max(len(line.purpose) for line in self.lines)
            title = "what was released" if self.spent is not None else "the budgets that it states"
            title += "" if self.records_per_person == 1 else ", and what each step costs for one record"
            width_of_cost = max(len(line.cost) for line in self.lines)
            rows += ["", f"  {title}"]
            rows += [f"  {rule}" for rule in dict.fromkeys(_rules(self.event))]
            for line in self.lines:
                where = f"level {line.level}" if line.level else ""
                rows.append(f"    {where:<9}{line.purpose:<{width}}  {line.cost:<{width_of_cost}}  {line.mechanism}")
        if self.spent is not None:
            rows += ["", "  rests on"] + [f"    - {fact}" for fact in self._foundations()]
        return "\n".join(rows)

    @property
    def unit(self) -> Unit:
        """What the claim is for."""
        return Unit(self.records_per_person, self.person)

    def _meaning(self) -> Iterator[str]:
        factor = math.nextafter(math.exp(min(float(self.epsilon), 700.0)), math.inf) if self.epsilon else 1.0
        bound = f"at most {upper_text(factor, 3)}" if self.epsilon <= 700 else "more than 1e300"
        seen = SHOWN.get(self.system, "the model")
        yield f"whoever sees {seen} can change the odds of any guess about one {self.unit.who} by a factor of {bound}"
        if self.delta:
            yield f"(but for a probability of {decimal_text(self.delta)})"
        if self.delta >= WEAK_DELTA:
            yield f"which may give whole records away: delta should be far below one over the number of {self.unit.who}s"
        if self.epsilon >= WEAK:
            yield "which is hardly any protection: choose a smaller epsilon"

    def _spent_text(self) -> str:
        if self.spent is None:
            return "no finite amount: see the reasons above"
        total = self._total
        if total.thresholds and total.mu_squared == 0:
            by_thresholds = upper_text(total.delta(self.epsilon))
            return f"epsilon {decimal_text(self.spent)} on the costliest path{self._group}, delta {by_thresholds} by thresholds"
        if total.mu_squared == 0 and self.spent <= self.epsilon:
            gap = self.epsilon - self.spent
            text = f"{decimal_text(self.spent)} on the costliest path{self._group}; {decimal_text(gap, 2)} unspent"
            if self.delta > 0:
                text += "; no noise of a plan with delta keeps to so large an epsilon, so the plan is pure"
            return text + (" (lost to rounding down)" if 0 < gap < 1e-6 else "")
        delta, rho, mu_squared = total.delta(self.epsilon), total.by(Concentrated).rho, total.by(GaussianDP).mu_squared
        return (
            f"delta {upper_text(delta)} at epsilon {decimal_text(self.epsilon)}, rounded up: the steps below add up"
            f"{self._group} as rho = {upper_text(rho)} of zero-concentrated DP, or as mu^2 = "
            f"{upper_text(mu_squared)} of Gaussian DP"
        )

    @property
    def _group(self) -> str:
        """Of how many records a sum is, where it is not of one: the steps state what one record costs."""
        return "" if self.records_per_person == 1 else f" for {self.records_per_person} records of a person"

    def _foundations(self) -> Iterator[str]:
        if self.assumptions:
            yield from self.assumptions
        else:
            yield "the schema (ranges, categories, classes) being public knowledge, as its owner declared"
        for release in self.releases:
            yield f"but for the entries that certificate {release[:16]} released: its cost stands there, and adds to this one's"
        if not self.assumptions:
            yield "X and y as given to fit: a scaler, imputer or selection fitted on the same records came before, uncovered"
        if self.seeded:
            yield "a seed: for tests and reproduction only"
        else:
            yield "random bits: ChaCha20 under a fresh 256-bit key from the operating system, and BLAKE2b for sub-keys of it"
        ids = "" if self.person is None else ", the ids"
        yield f"the types of X, its columns{ids} and y being public: where a reader inferred one, a single cell can change it"
        whom = self.unit.rests_on(ids_as_text=self.ids_as_text)
        yield f"{whom}; every further fit on the same records adds its own epsilon (see Ledger)"
        yield "outside the guarantee: running time, memory use, and that there is at least one record"
        if self.adjacency == "replace-one":
            yield f"the number of {self.unit.who}s being public, as it is for one {self.unit.who} replaced"

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values for JSON."""
        return {
            "system": self.system,
            "variant": self.variant,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "adjacency": self.adjacency,
            "seeded": self.seeded,
            "event": event_to_dict(self.event),
            **{name: list(getattr(self, name)) for name in LISTS if getattr(self, name)},
            **({} if self.records_per_person == 1 else {"records_per_person": self.records_per_person}),
            **({} if self.person is None else {"person": self.person}),
            **({} if self.person is None or not self.ids_as_text else {"ids": "text"}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Certificate:
        """Return the certificate that ``to_dict`` wrote, or raise FileFormatError."""
        try:
            return cls(
                system=_short_text(data["system"]),
                variant=_short_text(data["variant"]),
                epsilon=exact(data["epsilon"]),
                delta=exact_delta(data["delta"]),
                adjacency=check_adjacency(data["adjacency"]),
                event=event_from_dict(data["event"]),
                seeded=data["seeded"],
                **{name: tuple(_short_text(text) for text in data.get(name, [])[:MOST_LISTED]) for name in LISTS},
                records_per_person=_whole_number(data.get("records_per_person", 1)),
                person=None if data.get("person") is None else _short_text(data["person"]),
                ids_as_text=data.get("person") is None or data.get("ids") == "text",
            )
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError("the file's certificate is damaged; fit the model again.") from error


def _whole_number(value: object) -> int:
    if type(value) is not int or value >= LARGEST_INTEGER:  # one below 1 is no certificate's
        raise TypeError("no number of records")
    return value


def _short_text(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_WORDS:
        raise TypeError("no short text")
    return value


def _runs(parts: Iterable[Event]) -> Iterator[Event]:
    """Yield each run of equal parts once: rounds are alike, and there may be many."""
    return (part for part, _ in groupby(parts))


def _with_inferred(event: Event, schema: Schema) -> Event:
    """Return the event of a fit, after the step of reading the schema off the records where that was done."""
    if schema.is_given:
        return event
    reason = f"the schema was read off the data ({', '.join(schema.inferred)})"
    return Sequence((Unprotected(reason), event))


def certify(
    system: str,
    event: Event,
    schema: Schema | None,
    *,
    variant: str,
    claim: Claim,
    seeded: bool,
    assumptions: tuple[str, ...] = (),
    person: str | None = None,
) -> Certificate:
    """Return the certificate of a plan that is about to run; ``schema`` is None where records are read by none.

    ``person`` names the column whose values are the persons, None where there is none.

    Raises
    ------
    BudgetExceeded
        If the plan's protected steps cost more than the claim, which is a bug.
    """
    certificate = Certificate(
        system,
        variant,
        claim.epsilon,
        claim.delta,
        claim.adjacency,
        event if schema is None else _with_inferred(event, schema),
        seeded,
        () if schema is None else tuple(schema.releases),
        assumptions,
        claim.records_per_person,
        person,
    )
    if not certificate.unprotected and not certificate.covers_its_steps:
        raise BudgetExceeded(
            f"{system} plans to spend more than it claims, so nothing was drawn; this is a bug, please report it."
        )
    return certificate


def warn_of_delta(delta: Fraction, stacklevel: int) -> None:
    """Warn where a delta is so large that it may give whole records away."""
    if delta >= WEAK_DELTA:
        warnings.warn(
            f"delta is {decimal_text(delta)}, the probability with which the guarantee may fail: whoever published each record "
            "with this probability would keep to it. Pass a delta far below one over the number of records, such as 1e-6.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_epsilon(epsilon: Fraction, stacklevel: int) -> None:
    """Warn where an epsilon is so large that it promises next to nothing."""
    if epsilon > NEXT_TO_NOTHING:
        factor = upper_text(math.nextafter(math.exp(min(float(epsilon), 700.0)), math.inf), 3)
        warnings.warn(
            f"epsilon is {decimal_text(epsilon)}, which promises next to nothing: the odds of a guess about one person may "
            f"change by a factor of {factor}{' or more' if epsilon > 700 else ''}. Pass an epsilon of 10 or less, best about 1.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def _rules(event: Event) -> Iterator[str]:
    """Yield what parallel parts say of how their costs combine."""
    match event:
        case OneOf(parts, label):
            several = f"; each of the {len(parts)} choices costs no more than the claim leaves, and below is the first"
            yield label + (several if len(parts) > 1 else "; below is what all units cost at most")
            yield from _rules(parts[0])
        case Parallel(parts, label):
            yield from (label,) if label else ()
            for part in _runs(parts):
                yield from _rules(part)
        case Sequence(parts):
            for part, run in groupby(parts):
                times = sum(1 for _ in run)
                what = dict.fromkeys(line.purpose for line in _steps(part))
                if times > 1 and what:
                    yield f"{times} times on the same records, each time at the cost below: {'; '.join(what)}"
                yield from _rules(part)
        case PerRecordAssignment(part, count):
            if count > 1:
                yield f"{count} trees; every record is in one of them, by its own coin"
            yield from _rules(part)
        case Subsampled(part, inclusion):
            yield f"a record is in a tree's sample with probability {decimal_text(inclusion)}, by its own coin"
            yield from _rules(part)


def _steps(event: Event) -> Iterator[CertificateLine]:
    match event:
        case Pure():
            delta = f", delta {decimal_text(event.delta, 4)}" if isinstance(event, Thresholded) else ""
            amount = f"epsilon {decimal_text(event.epsilon, 4)}{delta}"
            yield CertificateLine(event.level, event.purpose, event.mechanism, amount)
        case Gaussian():
            mu_squared = decimal_text(event.mu_squared, 4)
            yield CertificateLine(event.level, event.purpose, "rounded normal noise", f"mu^2 {mu_squared}")
        case OneOf():
            yield from _steps(event.parts[0])
        case Sequence() | Parallel():
            for part in _runs(event.parts):
                yield from _steps(part)
        case PerRecordAssignment() | Subsampled():
            yield from _steps(event.part)
