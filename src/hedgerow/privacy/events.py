"""What happened to the records, as frozen values.

An event states which mechanism ran and its cost under add/remove adjacency. Composite events state how the parts
share the records. ``hedgerow.privacy.accounting`` gives them their meaning, which never changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hedgerow.errors import FileFormatError
from hedgerow.limits import (
    DEEPEST_EVENT,
    LARGEST_AMOUNT,
    LARGEST_INTEGER,
    LONGEST_WORDS,
    MOST_DENOMINATOR_BITS,
    MOST_EVENTS,
    SMALLEST_AMOUNT,
)
from hedgerow.privacy.exact import read_fraction
from hedgerow.texts import short_repr


@dataclass(frozen=True, repr=False)
class Event:
    __repr__ = short_repr


@dataclass(frozen=True, repr=False)
class Pure(Event):
    """A mechanism that is epsilon-DP when one record is added or removed.

    ``level`` is the level of the tree it belongs to, 0 if there is none.
    """

    epsilon: Fraction
    mechanism: str
    purpose: str
    level: int = 0

    def __post_init__(self) -> None:
        _check_amount(self.epsilon)


@dataclass(frozen=True, repr=False)
class BoundedRange(Pure):
    """An exponential mechanism: epsilon-DP, and its loss stays within an interval of length epsilon.

    That is less than an epsilon-DP step may lose in general, so many of them compose to less (docs/proofs/concentrated.md).
    """


@dataclass(frozen=True, repr=False)
class Thresholded(Pure):
    """A mechanism that is (epsilon, delta)-DP: it releases what passes a threshold; a single record does with probability delta.

    With one record more, its law is epsilon-close to the law without that record, except for a probability of delta
    (docs/proofs/released-schemas.md). So delta adds up apart from every other sum. It holds for a person of at most ``records``
    records, where epsilon is that of one record, as everywhere.
    """

    delta: Fraction = Fraction(0)
    records: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_amount(self.delta)
        if self.records < 1:
            raise ValueError(f"a threshold is for {self.records} records of a person, which is nobody's.")


@dataclass(frozen=True, repr=False)
class Gaussian(Event):
    """Gaussian noise that is mu-Gaussian-DP, ``mu**2 = mu_squared``, except for ``draws`` draws of an approximate sampler.

    Each draw is within a total variation of 2**-62 of the exact law (docs/proofs/gaussian.md).
    """

    mu_squared: Fraction
    draws: int
    purpose: str
    level: int = 0

    def __post_init__(self) -> None:
        _check_amount(self.mu_squared)
        _check_amount(self.draws)


@dataclass(frozen=True, repr=False)
class Sequence(Event):
    """Parts that each read all the records: their costs add up."""

    parts: tuple[Event, ...]


@dataclass(frozen=True, repr=False)
class Parallel(Event):
    """Parts that read disjoint records by released tests: the largest cost counts.

    ``label`` describes what one record pays.
    """

    parts: tuple[Event, ...]
    label: str = ""


@dataclass(frozen=True, repr=False)
class OneOf(Parallel):
    """Alternatives of which one runs, chosen by what was released before: the largest cost counts.

    ``label`` describes what chooses.
    """

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("a choice needs something to choose from.")


@dataclass(frozen=True, repr=False)
class PerRecordAssignment(Event):
    """``count`` copies of one plan; each record goes to one of them by its own coin (docs/proofs/composition.md)."""

    part: Event
    count: int

    def __post_init__(self) -> None:
        _check_amount(self.count)


@dataclass(frozen=True, repr=False)
class Subsampled(Event):
    """A plan on a Poisson sample: each record takes part with probability ``inclusion``, by its own coin.

    docs/proofs/composition.md.
    """

    part: Event
    inclusion: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.inclusion <= 1:
            raise ValueError(f"an inclusion probability is {self.inclusion}, and not above 0 and at most 1.")


@dataclass(frozen=True, repr=False)
class Unprotected(Event):
    """A step that reads records without protection; its cost is infinite. ``reason`` says which and why."""

    reason: str


def _check_amount(amount: Fraction | int) -> None:
    if amount < 0:
        raise ValueError(f"an event has the negative amount {amount}; nothing gives budget back.")


_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (
        Pure,
        BoundedRange,
        Thresholded,
        Gaussian,
        Sequence,
        Parallel,
        OneOf,
        PerRecordAssignment,
        Subsampled,
        Unprotected,
    )
}


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event as plain values for JSON; fractions become text."""

    def plain(value: object) -> object:
        if isinstance(value, Event):
            return event_to_dict(value)
        if isinstance(value, tuple):
            return [plain(part) for part in value]
        return str(value) if isinstance(value, Fraction) else value

    written = {name: plain(value) for name, value in vars(event).items() if (name, value) != ("records", 1)}
    return {"event": type(event).__name__} | written


def event_from_dict(data: object) -> Event:
    """Return the event that ``event_to_dict`` wrote; equal neighbors in a list of parts are one object.

    Raises
    ------
    FileFormatError
        If the values are not those of an event, or beyond the limits in ``hedgerow.limits``.
    """
    try:
        return _Reader().event(data, 0)
    except (KeyError, TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise FileFormatError("the file's list of privacy events is damaged; fit the model again.") from error


class _Reader:
    """Reads one tree of events within limits on its size and on the work to add it up."""

    def __init__(self) -> None:
        self._events = 0
        self._denominator = 1  # common to all amounts

    def event(self, data: Any, depth: int) -> Event:
        self._events += 1
        if depth > DEEPEST_EVENT or self._events > MOST_EVENTS:
            raise ValueError("too many events, or too deep")
        kind = _KINDS[data["event"]]
        return kind(**{name: self._field(name, value, depth) for name, value in data.items() if name != "event"})

    def _field(self, name: str, value: Any, depth: int) -> Any:
        if name in ("epsilon", "delta", "mu_squared", "inclusion"):
            return self._amount(value)
        if name == "part":
            return self.event(value, depth + 1)
        if name == "parts" and isinstance(value, list):
            return self._parts(value, depth)
        if name in ("level", "draws", "count", "records") and type(value) is int and value < LARGEST_INTEGER:
            return value
        if name == "reason" and isinstance(value, str):  # it may name all features
            return value
        if name in ("mechanism", "purpose", "label") and isinstance(value, str) and len(value) <= LONGEST_WORDS:
            return value
        raise TypeError(name)

    def _parts(self, values: list[Any], depth: int) -> tuple[Event, ...]:
        parts: list[Event] = []
        for before, value in zip([None, *values], values, strict=False):
            parts.append(parts[-1] if parts and value == before else self.event(value, depth + 1))
        return tuple(parts)

    def _amount(self, value: object) -> Fraction:
        amount = read_fraction(value)
        if amount and not SMALLEST_AMOUNT <= amount <= LARGEST_AMOUNT:
            raise ValueError("an amount out of all bounds")
        self._denominator = math.lcm(self._denominator, amount.denominator)
        if self._denominator.bit_length() > MOST_DENOMINATOR_BITS:
            raise ValueError("amounts that take long to add")
        return amount
