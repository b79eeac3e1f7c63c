"""What happened to the records, as frozen values.

An event says which mechanism ran and what it cost under add/remove adjacency; composite events say how the parts
share the records. ``hedgerow.privacy.accounting`` gives them their meaning, which never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hedgerow.errors import FileFormatError
from hedgerow.privacy.exact import read_fraction

__all__ = [
    "BoundedRange",
    "Event",
    "Gaussian",
    "OneOf",
    "Parallel",
    "PerRecordAssignment",
    "Pure",
    "Sequence",
    "Subsampled",
    "Unprotected",
    "event_from_dict",
    "event_to_dict",
]


@dataclass(frozen=True)
class Event:
    """The parent of all events."""


@dataclass(frozen=True)
class Pure(Event):
    """A mechanism that is epsilon-DP when one record is added or removed.

    ``level`` is the level of the tree it belongs to, 0 where there is none.
    """

    epsilon: Fraction
    mechanism: str
    purpose: str
    level: int = 0

    def __post_init__(self) -> None:
        _check_amount(self.epsilon)


@dataclass(frozen=True)
class BoundedRange(Pure):
    """An exponential mechanism: epsilon-DP, and its loss stays within an interval of length epsilon.

    That is less than any epsilon-DP step may do, so many of them compose to less (docs/proofs/concentrated.md).
    """


@dataclass(frozen=True)
class Gaussian(Event):
    """Gaussian noise that is mu-Gaussian-DP, ``mu**2 = mu_squared``, but for ``draws`` draws of an approximate sampler.

    Each draw is within a total variation of 2**-62 of the exact law (docs/proofs/gaussian.md).
    """

    mu_squared: Fraction
    draws: int
    purpose: str
    level: int = 0

    def __post_init__(self) -> None:
        _check_amount(self.mu_squared)
        _check_amount(self.draws)


@dataclass(frozen=True)
class Sequence(Event):
    """Parts that each read all the records: their costs add up."""

    parts: tuple[Event, ...]


@dataclass(frozen=True)
class Parallel(Event):
    """Parts that read disjoint records by released tests: the largest cost counts.

    ``label`` says in words what one record pays.
    """

    parts: tuple[Event, ...]
    label: str = ""


@dataclass(frozen=True)
class OneOf(Parallel):
    """Alternatives of which one runs, chosen by what was released before: the largest cost counts.

    ``label`` says in words what chooses.
    """

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("a choice needs something to choose from.")


@dataclass(frozen=True)
class PerRecordAssignment(Event):
    """``count`` copies of one plan; each record goes to one of them by its own coin (docs/proofs/composition.md)."""

    part: Event
    count: int

    def __post_init__(self) -> None:
        _check_amount(self.count)


@dataclass(frozen=True)
class Subsampled(Event):
    """A plan on a Poisson sample: each record takes part with probability ``inclusion``, by its own coin.

    docs/proofs/composition.md.
    """

    part: Event
    inclusion: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.inclusion <= 1:
            raise ValueError(f"an inclusion probability is {self.inclusion}, and not above 0 and at most 1.")


@dataclass(frozen=True)
class Unprotected(Event):
    """A step that reads records without protection; it costs infinity. ``reason`` says which and why."""

    reason: str


def _check_amount(amount: Fraction | int) -> None:
    if amount < 0:
        raise ValueError(f"an event has the negative amount {amount}; nothing gives budget back.")


_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (Pure, BoundedRange, Gaussian, Sequence, Parallel, OneOf, PerRecordAssignment, Subsampled, Unprotected)
}


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event as plain values for JSON; fractions become text."""

    def plain(value: object) -> object:
        if isinstance(value, Event):
            return event_to_dict(value)
        if isinstance(value, tuple):
            return [plain(part) for part in value]
        return str(value) if isinstance(value, Fraction) else value

    return {"event": type(event).__name__} | {name: plain(value) for name, value in vars(event).items()}


def event_from_dict(data: object, depth: int = 0) -> Event:
    """Return the event that ``event_to_dict`` wrote.

    Raises
    ------
    FileFormatError
        If the values are not those of an event.
    """
    try:
        if depth > 50 or not isinstance(data, dict):
            raise TypeError
        kind = _KINDS[data["event"]]
        fields: dict[str, Any] = {name: value for name, value in data.items() if name != "event"}
        for name, value in fields.items():
            if name in ("epsilon", "mu_squared", "inclusion"):
                fields[name] = read_fraction(value)
            elif name == "parts" and isinstance(value, list):
                fields[name] = tuple(event_from_dict(part, depth + 1) for part in value)
            elif name == "part":
                fields[name] = event_from_dict(value, depth + 1)
            elif type(value) is not (int if name in ("level", "draws", "count") else str) or name == "parts":
                raise TypeError
        return kind(**fields)
    except (KeyError, TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise FileFormatError("the file's list of privacy events is damaged; fit the model again.") from error
