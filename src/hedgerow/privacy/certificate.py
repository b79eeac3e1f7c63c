"""The guarantee of a fit: one page that a privacy officer can read and a program can check."""

from __future__ import annotations

import hashlib
import json
import math
import re
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hedgerow.errors import BudgetExceeded, ConfigurationError, FileFormatError
from hedgerow.lazy_values import lazy
from hedgerow.privacy.accounting import check_adjacency
from hedgerow.privacy.certificate_text import WEAK_DELTA, details, facts, summary, title_of
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Event, Sequence, Unprotected, event_from_dict, event_to_dict
from hedgerow.privacy.exact import decimal_text, exact, exact_delta, upper_text
from hedgerow.privacy.guarantee import Guarantee
from hedgerow.privacy.starts import Start, short_text, whole_number
from hedgerow.schema import Schema
from hedgerow.texts import html_table

LISTS = ("releases", "assumptions", "warnings")
MOST_LISTED = 1000
NAMED = re.compile(r"\bcertificate ([0-9a-f]{16})\b")
NEXT_TO_NOTHING = 20  # an epsilon above this raises a warning


class Certificate(Guarantee):
    """The guarantee of one fit, or the reasons why there is none.

    Parameters
    ----------
    system, variant : str
        The system that was fitted, and its form.
    epsilon, delta : Fraction
        The claim: the values that the user set.
    adjacency : {"add-remove", "replace-one"}
        What neighboring data sets are.
    event : Event
        Everything that reads records, as it was charged before anything was drawn.
    seeded : bool
        Whether the noise came from ``random_state`` and not from the operating system.
    releases : tuple of str
        The digests of the certificates under which entries of the schema were released.
    assumptions : tuple of str
        The assumptions of an operation other than a fit, in place of a schema and records as given to ``fit``.
    records_per_person : int
        The number of records of one person that are protected together.
    person : str or None
        The column whose values are the persons, "" if it has no name. At most ``records_per_person`` records of each were read.
        None: the data owner promises that no person has more.
    ids_as_text : bool
        Whether ids of persons were compared as they are written. False if version 0.2 read them (SECURITY.md, *Advisories*).
    starts : tuple of Start
        The model from which the fit started, then the model from which that one started, and so on. ``str`` describes each.
    warnings : tuple of str
        Problems that released values show, such as a column of which most cells could not be read. They change neither the claim
        nor the digest, which is known before anything is drawn. Certificates that differ only in warnings are equal.

    Notes
    -----
    ``holds`` is True only if no step reads records unprotected (an inferred schema is such a step), the steps cost no more than
    the claim, the entropy was the operating system's, and the same is true of each start, unless its records were stated to be
    public. The certificate depends only on the schema and the configuration; its
    warnings also depend on released values.

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

    @lazy
    def digest(self) -> str:
        """The SHA-256, in hexadecimal, of the certificate as ``to_dict`` writes it without warnings."""
        plain = {name: value for name, value in self.to_dict().items() if name != "warnings"}
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def __str__(self) -> str:
        return summary(self)

    def __repr__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        return html_table(title_of(self), ((name, "\n".join(texts)) for name, texts in facts(self)))

    def details(self) -> str:
        """Return the whole page: every reason, every step with its cost, and everything that the guarantee rests on."""
        return details(self)

    def to_json(self) -> str:
        """Return the certificate, with every event that was charged, as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

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
            **({"starts": [start.to_dict() for start in self.starts]} if self.starts else {}),
            **({} if self.records_per_person == 1 else {"records_per_person": self.records_per_person}),
            **({} if self.person is None else {"person": self.person}),
            **({} if self.person is None or not self.ids_as_text else {"ids": "text"}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Certificate:
        """Return the certificate that ``to_dict`` wrote, or raise FileFormatError."""
        try:
            return cls(
                system=short_text(data["system"]),
                variant=short_text(data["variant"]),
                epsilon=exact(data["epsilon"]),
                delta=exact_delta(data["delta"]),
                adjacency=check_adjacency(data["adjacency"]),
                event=event_from_dict(data["event"]),
                seeded=data["seeded"],
                **{name: tuple(short_text(text) for text in data.get(name, [])[:MOST_LISTED]) for name in LISTS},
                starts=_read_starts(data.get("starts", [])),
                records_per_person=whole_number(data.get("records_per_person", 1)),
                person=None if data.get("person") is None else short_text(data["person"]),
                ids_as_text=data.get("person") is None or data.get("ids") == "text",
            )
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError("the file's certificate is damaged; fit the model again.") from error


def _read_starts(values: list[Any]) -> tuple[Start, ...]:
    if len(values) > MOST_LISTED:  # one that is left out could be the one without a guarantee
        raise ValueError("more starts than a certificate has")
    return tuple(map(Start.from_dict, values))


def starts_from(certificate: Certificate, *, public: bool) -> tuple[Start, ...]:
    """Return the starts of a fit that starts from a model with this certificate: the model, then its own starts.

    ``public`` says that the caller states the records of all of them to be public.

    Raises
    ------
    ConfigurationError
        If there are more than a certificate lists.
    """
    if len(certificate.starts) >= MOST_LISTED:
        raise ConfigurationError(
            f"init has {len(certificate.starts)} starts behind it, more than a certificate can list. Start from an earlier model."
        )
    more = [release[:16] for release in certificate.releases]
    more += [name for text in certificate.assumptions for name in NAMED.findall(text)]
    own = Start.of_fit(
        f"a {certificate.system} of certificate {certificate.digest[:16]}",
        certificate.claim,
        certificate.person,
        certificate.own_reasons,
        tuple(dict.fromkeys(more)),
    )
    return tuple(replace(start, public=public or start.public) for start in (own, *certificate.starts))


def _with_inferred(event: Event, schema: Schema) -> Event:
    """Return the event of a fit, after a step that reads the schema off the records if it was inferred."""
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
    starts: tuple[Start, ...] = (),
) -> Certificate:
    """Return the certificate of a plan that is about to run; ``schema`` is None if no schema is used to read records.

    ``person`` names the column of persons, None if there is none. ``starts`` are the models from which a fit starts.

    Raises
    ------
    BudgetExceeded
        If the protected steps of the plan cost more than the claim, which is a bug.
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
        starts=starts,
    )
    if not certificate.unprotected and not certificate.covers_its_steps:
        raise BudgetExceeded(
            f"{system} plans to spend more than it claims, so nothing was drawn; this is a bug, please report it."
        )
    return certificate


def warn_of_delta(delta: Fraction, stacklevel: int) -> None:
    """Warn if delta is so large that whole records may be revealed."""
    if delta >= WEAK_DELTA:
        warnings.warn(
            f"delta is {decimal_text(delta)}, the probability with which the guarantee may fail: whoever published each record "
            "with this probability would keep to it. Pass a delta far below one over the number of records, such as 1e-6.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_epsilon(epsilon: Fraction, stacklevel: int) -> None:
    """Warn if epsilon is so large that the guarantee is almost meaningless."""
    if epsilon > NEXT_TO_NOTHING:
        factor = upper_text(math.nextafter(math.exp(min(float(epsilon), 700.0)), math.inf), 3)
        warnings.warn(
            f"epsilon is {decimal_text(epsilon)}, which promises next to nothing: the odds of a guess about one person may "
            f"change by a factor of {factor}{' or more' if epsilon > 700 else ''}. Pass an epsilon of 10 or less, best about 1.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
