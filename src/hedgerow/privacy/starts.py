"""The models from which a fit started, as its certificate states them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hedgerow.limits import LARGEST_INTEGER, LONGEST_WORDS
from hedgerow.privacy.accounting import check_adjacency
from hedgerow.privacy.claim import RECORD, Claim, Unit
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
    """A model from which a fit started.

    Parameters
    ----------
    model : str
        The class of the model, and the first digits of its certificate's digest.
    claim : Claim or None
        What its own fit promised; None if version 0.3 described it for another unit than one record.
    person : str or None
        The column of persons of its fit.
    reasons : tuple of str
        Why its own fit has no guarantee; empty if it has one. Its own starts are not counted here.
    public : bool
        Whether the caller of the fit, or of a fit between the two, stated that its records are public.
    more : tuple of str
        The first digits of certificates whose cost adds to its own: of a released schema, or of a search.
    text : str or None
        The description by version 0.3, if it is all that is known.
    """

    model: str
    claim: Claim | None = None
    person: str | None = None
    reasons: tuple[str, ...] = ()
    public: bool = False
    more: tuple[str, ...] = ()
    text: str | None = None

    def __str__(self) -> str:
        """Return what it is and what it promises."""
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
        """Whom its guarantee is for."""
        return Unit(1 if self.claim is None else self.claim.records_per_person, self.person)

    @property
    def grounds(self) -> tuple[str, ...]:
        """The reasons why a fit that starts from it has no guarantee; empty if its records are public."""
        return () if self.public else tuple(f"it starts from {self.model}: {reason}" for reason in self.reasons)

    @classmethod
    def of_fit(
        cls, model: str, claim: Claim, person: str | None, reasons: tuple[str, ...], more: tuple[str, ...]
    ) -> Start:
        """Return the start that a fitted model is, by its certificate."""
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
        found = WRITTEN.fullmatch(short_text(text))
        if found is None:
            reason = "the certificate of an earlier version describes it in words that cannot be read"
            return cls("a model", None, None, (reason,), public, text=text)
        model, reason, epsilon, delta, neighbors = found.groups()
        if reason is not None:
            return cls(model, None, None, (reason,), public, text=text)
        claim = None
        for adjacency in ("add-remove", "replace-one"):
            if RECORD.neighbors(adjacency) == neighbors and not (epsilon + delta).count("..."):
                claim = Claim(exact(epsilon), exact_delta(delta), adjacency)
        return cls(model, claim, None, (), public, text=text)


def claim_in_words(claim: Claim, unit: Unit) -> str:
    """Return an epsilon, a delta and for whom they are."""
    return f"epsilon = {decimal_text(claim.epsilon)}, delta = {decimal_text(claim.delta)}, for {unit.neighbors(claim.adjacency)}"


def short_text(value: object) -> str:
    """Return a text of a file, or raise TypeError."""
    if not isinstance(value, str) or len(value) > LONGEST_WORDS:
        raise TypeError("no short text")
    return value


def whole_number(value: object) -> int:
    """Return a number of records of a file, or raise TypeError."""
    if type(value) is not int or not 1 <= value < LARGEST_INTEGER:
        raise TypeError("no number of records")
    return value
