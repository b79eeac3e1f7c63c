"""What a fit may claim: one page that a privacy officer can read and a program can check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hedgerow.errors import FileFormatError
from hedgerow.privacy.accounting import Adjacency, check_adjacency, cost, unprotected
from hedgerow.privacy.events import (
    Event,
    Gaussian,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    event_from_dict,
    event_to_dict,
)
from hedgerow.privacy.exact import decimal_text, read_fraction

__all__ = ["Certificate", "CertificateLine"]

ADJACENCY_TEXT = {"add-remove": "one record added or removed", "replace-one": "one record replaced by another"}


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

    Notes
    -----
    ``holds`` is True only if no step reads records unprotected (an inferred schema is such a step), the steps cost no more
    than the claim, and the entropy was the operating system's. The certificate depends on the schema, the configuration and
    nothing else.
    """

    system: str
    variant: str
    epsilon: Fraction
    delta: Fraction
    adjacency: Adjacency
    event: Event
    seeded: bool = False

    def __post_init__(self) -> None:
        if self.epsilon < 0 or not 0 <= self.delta < 1 or not isinstance(self.seeded, bool):
            raise ValueError("a certificate claims an epsilon that is not negative and a delta from 0 to below 1.")

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason why the claim does not hold; empty if it does."""
        found = list(unprotected(self.event))
        if self.seeded:
            found.append(
                "the noise came from random_state: whoever knows the seed can take the noise away, and other fits with the "
                "same seed share it"
            )
        if not unprotected(self.event) and not cost(self.event).under(self.adjacency).within(self.epsilon, self.delta):
            found.append("the steps cost more than the claim")
        return tuple(found)

    @property
    def holds(self) -> bool:
        """Whether the fit is (epsilon, delta)-differentially private as claimed."""
        return not self.reasons

    @property
    def spent(self) -> Fraction | None:
        """The pure epsilon that the steps cost under the adjacency, exact; None where some step has no bound."""
        total = cost(self.event).under(self.adjacency)
        return total.epsilon if total.protected else None

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
            f"  claim      {claim}, for {ADJACENCY_TEXT[self.adjacency]}",
            f"  holds      {'yes' if self.holds else 'NO'}",
        ]
        rows += [f"             - {reason}" for reason in self.reasons]
        rows += [f"  spent      {self._spent_text()}"]
        if self.lines:
            width = max(len(line.purpose) for line in self.lines)
            title = "what was released" if self.spent is not None else "the budgets that it states"
            width_of_cost = max(len(line.cost) for line in self.lines)
            rows += ["", f"  {title}{self._sharing_text()}"]
            rows += [f"  {rule}" for rule in dict.fromkeys(_rules(self.event))]
            for line in self.lines:
                where = f"level {line.level}" if line.level else ""
                rows.append(f"    {where:<9}{line.purpose:<{width}}  {line.cost:<{width_of_cost}}  {line.mechanism}")
        if self.spent is not None:
            rows += ["", "  rests on"] + [f"    - {fact}" for fact in self._foundations()]
        return "\n".join(rows)

    def _spent_text(self) -> str:
        if self.spent is None:
            return "no finite amount: see the reasons above"
        text = f"{decimal_text(self.spent)} on the costliest path"
        if cost(self.event).mu_squared == 0:
            gap = self.epsilon - self.spent
            return f"{text}; {decimal_text(gap, 2)} unspent" + (" (lost to rounding down)" if 0 < gap < 1e-6 else "")
        return f"{text} and Gaussian noise, together within the claim"

    def _sharing_text(self) -> str:
        for event in self.event.parts if isinstance(self.event, Sequence) else (self.event,):
            if isinstance(event, PerRecordAssignment) and event.count > 1:
                return f" in each of {event.count} trees (every record is in one tree, by its own coin)"
        return ""

    def _foundations(self) -> Iterator[str]:
        yield "the schema (ranges, categories, classes) being public knowledge, as its owner declared"
        if self.seeded:
            yield "a seed: for tests and reproduction only"
        else:
            yield "random bits: ChaCha20 under a fresh 256-bit key from the operating system"
        yield "outside the guarantee: running time, memory use, and that there is at least one record"
        if self.adjacency == "replace-one":
            yield "the number of records being public, as it is for one record replaced"

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
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Certificate:
        """Return the certificate that ``to_dict`` wrote, or raise FileFormatError."""
        try:
            return cls(
                system=str(data["system"]),
                variant=str(data["variant"]),
                epsilon=read_fraction(data["epsilon"]),
                delta=read_fraction(data["delta"]),
                adjacency=check_adjacency(data["adjacency"]),
                event=event_from_dict(data["event"]),
                seeded=data["seeded"],
            )
        except (KeyError, TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
            raise FileFormatError("the file's certificate is damaged; fit the model again.") from error


def _rules(event: Event) -> Iterator[str]:
    """Yield what parallel parts say of how their costs combine."""
    match event:
        case Parallel(parts, label):
            yield from (label,) if label else ()
            for part in parts:
                yield from _rules(part)
        case Sequence(parts):
            for part in parts:
                yield from _rules(part)
        case PerRecordAssignment(part):
            yield from _rules(part)


def _steps(event: Event) -> Iterator[CertificateLine]:
    match event:
        case Pure():
            yield CertificateLine(
                event.level, event.purpose, event.mechanism, f"epsilon {decimal_text(event.epsilon, 4)}"
            )
        case Gaussian():
            mu_squared = decimal_text(event.mu_squared, 4)
            yield CertificateLine(event.level, event.purpose, "rounded normal noise", f"mu^2 {mu_squared}")
        case Sequence() | Parallel():
            for part in event.parts:
                yield from _steps(part)
        case PerRecordAssignment():
            yield from _steps(event.part)
