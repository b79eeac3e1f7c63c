"""The guarantee of a fit: one page that a privacy officer can read and a program can check."""

from __future__ import annotations

import hashlib
import json
import math
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import groupby
from typing import Any

from hedgerow.arrays import lazy
from hedgerow.errors import BudgetExceeded, ConfigurationError, FileFormatError
from hedgerow.files import LONGEST_QUOTED
from hedgerow.privacy import accounting
from hedgerow.privacy.accounting import Event, cost
from hedgerow.privacy.claim import Claim, Start, Unit, claim_from_dict, claim_in_words, claim_to_dict, short_text
from hedgerow.privacy.exact import decimal_text, upper_text
from hedgerow.schema import Schema
from hedgerow.texts import html_table, shortened

MOST_REASONS = 3
LONGEST_LINE = 160  # characters of a summary's line, so that twelve lines stay below 2000
MARGIN = 13  # characters before a fact, in which its name stands
WEAK_DELTA = Fraction(1, 1000)
WEAK = 10  # from this epsilon on, the certificate explains how weak it is
SHOWN = {"evaluate": "the report card", "private_schema": "the schema", "Curator": "the answers"}  # others: a model
PROMISE = "promises that no person has more than {} records; no column identifies persons, so nothing enforced it"
MOST_NAME = 80  # characters of a feature's name
LISTS = ("releases", "assumptions", "public", "premises", "warnings")
MOST_LISTED = 1000
MOST_REASON = 400  # characters of a start's reason, which may name all features
NAMED = re.compile(r"\bcertificate ([0-9a-f]{16})\b")
NEXT_TO_NOTHING = 20  # an epsilon above this raises a warning


@dataclass(frozen=True, repr=False)
class Certificate:
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
    public : tuple of str
        Why entries of the schema are public, in the words of their owner, where the schema has reasons.
    records_per_person : int
        The number of records of one person that are protected together.
    person : str or None
        The column whose values are the persons, "" if it has no name. At most ``records_per_person`` records of each were read.
        None: the data owner promises that no person has more.
    ids_as_text : bool
        Whether ids of persons were compared as they are written. False if version 0.2 read them (SECURITY.md, *Advisories*).
    starts : tuple of Start
        The model from which the fit started, then the model from which that one started, and so on. ``str`` describes each.
    premises : tuple of str
        What else the guarantee rests on, as where several owners keep their records to themselves: in few words, then in full.
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

    system: str
    variant: str
    epsilon: Fraction
    delta: Fraction
    adjacency: accounting.Adjacency
    event: Event
    seeded: bool = False
    releases: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    records_per_person: int = 1
    person: str | None = None
    ids_as_text: bool = True
    starts: tuple[Start, ...] = ()
    public: tuple[str, ...] = ()
    premises: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        sound = self.epsilon >= 0 and 0 <= self.delta < 1 and self.records_per_person >= 1
        if not sound or not isinstance(self.seeded, bool):
            raise ValueError("a certificate claims an epsilon from 0 up, and a delta from 0 to below 1, for a record.")

    @property
    def claim(self) -> Claim:
        return Claim(self.epsilon, self.delta, self.adjacency, self.records_per_person)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason why the claim does not hold; empty if it does."""
        reasons: list[str] = []
        for start in self.starts:
            reasons += start.grounds
        reasons = [*dict.fromkeys(reasons), *self.total.reasons]
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
        if not self.total.reasons and not self.covers_its_steps:
            reasons.append("the steps cost more than the claim")
        return tuple(reasons)

    @lazy
    def total(self) -> accounting.Cost:
        """The cost of the steps under the adjacency, for one person."""
        return cost(self.event).under(self.adjacency, self.records_per_person)

    @property
    def unprotected(self) -> tuple[str, ...]:
        return self.total.reasons

    @property
    def covers_its_steps(self) -> bool:
        return self.total.delta(self.epsilon) <= self.delta

    @property
    def holds(self) -> bool:
        return not self.reasons

    @property
    def spent(self) -> Fraction | None:
        """The pure epsilon that the steps cost under the adjacency, exact; None where some step has no bound."""
        return self.total.epsilon if self.total.protected else None

    @property
    def lines(self) -> tuple[CertificateLine, ...]:
        """The protected steps, each kind once, by level."""
        lines = dict.fromkeys(part for part in steps(self.event) if isinstance(part, CertificateLine))
        return tuple(sorted(lines, key=lambda line: line.level))

    @property
    def unit(self) -> Unit:
        return Unit(self.records_per_person, self.person)

    @lazy
    def digest(self) -> str:
        """The SHA-256, in hexadecimal, of the certificate as ``to_dict`` writes it without warnings."""
        plain = {name: value for name, value in self.to_dict().items() if name != "warnings"}
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def _rows(self, *, whole: bool) -> list[str]:
        rows = [f"Privacy certificate of {self.system} ({self.variant})", *([""] if whole else [])]
        for name, texts in facts(self, whole=whole):
            rows += [f"  {name if place == 0 else '':<9}  {text}" for place, text in enumerate(texts)]
        return rows

    def __str__(self) -> str:
        return "\n".join(shortened(row, LONGEST_LINE) for row in self._rows(whole=False))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = ((name, "\n".join(texts)) for name, texts in facts(self))
        return html_table(f"Privacy certificate of {self.system} ({self.variant})", rows)

    def details(self) -> str:
        """Return the whole page: every reason, every step with its cost, and everything that the guarantee rests on."""
        rows, lines = self._rows(whole=True), self.lines
        if lines:
            title = "what was released" if self.spent is not None else "the budgets that it states"
            title += "" if self.records_per_person == 1 else ", and what each step costs for one record"
            rules = dict.fromkeys(rule for rule in steps(self.event) if isinstance(rule, str))
            rows += ["", f"  {title}", *(f"  {rule}" for rule in rules)]
            width, width_of_cost = (max(len(getattr(line, name)) for line in lines) for name in ("purpose", "cost"))
            for line in lines:
                where = f"level {line.level}" if line.level else ""
                rows.append(f"    {where:<9}{line.purpose:<{width}}  {line.cost:<{width_of_cost}}  {line.mechanism}")
        if self.spent is not None:
            rows += ["", "  rests on", *(f"    - {text}" for _, text in _foundations(self) if text)]
        return "\n".join(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate, with every event that was charged, as plain values for JSON."""
        return {
            "system": self.system,
            "variant": self.variant,
            **claim_to_dict(self.claim, self.person),
            "seeded": self.seeded,
            "event": accounting.event_to_dict(self.event),
            **{name: list(getattr(self, name)) for name in LISTS if getattr(self, name)},
            **({"starts": [start.to_dict() for start in self.starts]} if self.starts else {}),
            **({} if self.person is None or not self.ids_as_text else {"ids": "text"}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Certificate:
        """Return the certificate that ``to_dict`` wrote, or raise FileFormatError."""
        try:
            claim, person = claim_from_dict(data)
            starts = data.get("starts", [])
            if len(starts) > MOST_LISTED:  # one that is left out could be the one without a guarantee
                raise ValueError("more starts than a certificate has")
            lists: dict[str, Any] = {name: tuple(map(short_text, data.get(name, [])[:MOST_LISTED])) for name in LISTS}
            return cls(
                system=short_text(data["system"]),
                variant=short_text(data["variant"]),
                **vars(claim),
                event=accounting.event_from_dict(data["event"]),
                seeded=data["seeded"],
                **lists,
                starts=tuple(map(Start.from_dict, starts)),
                person=person,
                ids_as_text=person is None or data.get("ids") == "text",
            )
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError("the file's certificate is damaged; fit the model again.") from error


def starts_from(certificate: Certificate, *, public: bool) -> tuple[Start, ...]:
    if len(certificate.starts) >= MOST_LISTED:
        raise ConfigurationError(f"init has {len(certificate.starts)} starts behind it; start from an earlier model.")
    more = [release[:16] for release in certificate.releases]
    more += [name for text in certificate.assumptions for name in NAMED.findall(text)]
    reasons = tuple(shortened(reason, MOST_REASON) for reason in replace(certificate, starts=()).reasons)
    model = f"a {certificate.system} of certificate {certificate.digest[:16]}"
    own = Start(model, certificate.claim, certificate.person, reasons, more=tuple(dict.fromkeys(more)))
    return tuple(replace(start, public=public or start.public) for start in (own, *certificate.starts))


def certify(
    system: str,
    event: Event,
    schema: Schema | None,
    claim: Claim,
    *,
    seeded: bool,
    variant: str = "private",
    assumptions: tuple[str, ...] = (),
    person: str | None = None,
    starts: tuple[Start, ...] = (),
    premises: tuple[str, ...] = (),
) -> Certificate:
    """Return the certificate of a plan that is about to run; ``schema`` is None if no schema is used to read records.

    BudgetExceeded is a bug: the protected steps of the plan cost more than the claim.
    """
    if schema is not None and (inferred := schema.inferred):
        reason = f"the schema was read off the data ({', '.join(inferred)})"
        event = accounting.Sequence((accounting.Unprotected(reason), event))
    releases, reasons = ((), {}) if schema is None else (tuple(schema.releases), schema.reasons)
    public = tuple(f"{shortened(repr(name), MOST_NAME)}: {why}" for name, why in [*reasons.items()][:MOST_LISTED])
    lists: dict[str, Any] = {"releases": releases, "assumptions": assumptions, "public": public, "premises": premises}
    certificate = Certificate(
        system, variant, event=event, seeded=seeded, person=person, starts=starts, **vars(claim), **lists
    )
    if not certificate.total.reasons and not certificate.covers_its_steps:
        raise BudgetExceeded(
            f"{system} plans to spend more than it claims: a bug, please report it. Nothing was drawn."
        )
    return certificate


def warn_of_claim(stacklevel: int, delta: Fraction, epsilon: Fraction = accounting.NONE) -> None:
    texts = []
    if delta >= WEAK_DELTA:
        texts.append(
            f"delta is {decimal_text(delta)}, the probability with which the guarantee may fail: whoever published each record "
            "with this probability would keep to it. Pass a delta far below one over the number of records, such as 1e-6."
        )
    if epsilon > NEXT_TO_NOTHING:
        factor = upper_text(math.nextafter(math.exp(min(float(epsilon), 700.0)), math.inf), 3)
        texts.append(
            f"epsilon is {decimal_text(epsilon)}, which promises next to nothing: the odds of a guess about one person may "
            f"change by a factor of {factor}{' or more' if epsilon > 700 else ''}. Pass an epsilon of 10 or less, best about 1."
        )
    for text in texts:
        warnings.warn(text, UserWarning, stacklevel=stacklevel + 1)


@dataclass(frozen=True)
class CertificateLine:
    level: int
    purpose: str
    mechanism: str
    cost: str


def steps(event: Event) -> Iterator[CertificateLine | str]:
    """Yield the protected steps, of equal ones in a row the first, and as text how the costs of parts combine."""
    match event:
        case accounting.Pure():
            delta = f", delta {decimal_text(event.delta, 4)}" if isinstance(event, accounting.Thresholded) else ""
            amount = f"epsilon {decimal_text(event.epsilon, 4)}{delta}"
            yield CertificateLine(event.level, event.purpose, event.mechanism, amount)
        case accounting.Gaussian():
            mu_squared = decimal_text(event.mu_squared, 4)
            yield CertificateLine(event.level, event.purpose, "rounded normal noise", f"mu^2 {mu_squared}")
        case accounting.Concentrated():
            yield CertificateLine(event.level, event.purpose, event.mechanism, f"rho {decimal_text(event.rho, 4)}")
        case accounting.OneOf(parts, label):
            several = f"; each of the {len(parts)} alternatives costs at most what the claim leaves; the first is below"
            yield label + (several if len(parts) > 1 else "; all of them together cost at most the lines below")
            for part in parts[:1]:
                yield from steps(part)
        case accounting.Parallel(parts, label):
            yield from (label,) if label else ()
            for part, _ in groupby(parts):
                yield from steps(part)
        case accounting.Sequence(parts):
            if isinstance(event, accounting.SelectAndMeasure):
                yield "selections and the measurement after them are charged together, which costs less than apart (Gaussian DP)"
            for part, run in groupby(parts):  # rounds are equal, and there may be many
                times, within = sum(1 for _ in run), list(steps(part))
                what = dict.fromkeys(line.purpose for line in within if isinstance(line, CertificateLine))
                if times > 1 and what:
                    yield f"{times} times on the same records, each time at the cost below: {'; '.join(what)}"
                yield from within
        case accounting.PerRecordAssignment(part, count):
            if count > 1:
                yield f"{count} trees; every record is in one of them, by its own coin"
            yield from steps(part)
        case accounting.Subsampled(part, inclusion):
            yield f"a record is in a tree's sample with probability {decimal_text(inclusion)}, by its own coin"
            yield from steps(part)


def facts(certificate: Certificate, *, whole: bool = False) -> Iterator[tuple[str, list[str]]]:
    yield "promise", [claim_in_words(certificate.claim, certificate.unit)]
    if certificate.unit.is_promise:
        yield "owner", [PROMISE.format(certificate.records_per_person)]
    reasons = certificate.reasons
    if reasons:
        shown = len(reasons) if whole else MOST_REASONS
        more = [f"and {len(reasons) - shown} more reasons"] * (len(reasons) > shown)
        yield "holds", ["NO", *(f"- {reason}" for reason in reasons[:shown]), *more]
    else:
        yield "holds", ["yes"]
        yield "meaning", list(_meaning(certificate))
    if whole or certificate.spent is not None:
        yield "spent", [spent_in_words(certificate, whole=whole)]
        if (shared := shared_in_words(certificate)) is not None:
            wrapped = textwrap.wrap(shared, LONGEST_LINE - MARGIN, break_on_hyphens=False)
            yield "starts", [shared] if whole else wrapped
    warnings = certificate.warnings
    if whole:
        yield from (("WARNING", [warning]) for warning in warnings)
        return
    if certificate.spent is not None:  # it decides, so it is cut short only beyond two lines
        rests_on = "; ".join(text for text, _ in _foundations(certificate) if text)
        width = LONGEST_LINE - MARGIN
        yield "rests on", textwrap.wrap(rests_on, width, max_lines=2, placeholder="...", break_on_hyphens=False)
    if warnings:
        yield "WARNING", [warnings[0] + (f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else "")]
    page = "certificate.details()" + (", or hedgerow inspect MODEL --details" if not certificate.assumptions else "")
    yield "more", [f"{page}: every step, its cost, and what the guarantee rests on"]


def shared_in_words(certificate: Certificate) -> str | None:
    """Return what records cost that this fit and its starts share; None if no start has a cost of its own to add."""
    starts = [start for start in certificate.starts if not start.public]
    if not starts or any(start.reasons for start in starts):
        return None
    name, before = "its start" if len(starts) == 1 else "its starts", [accounting.NONE, accounting.NONE]
    for start in starts:
        if start.claim is None or (start.unit, start.claim.adjacency) != (certificate.unit, certificate.adjacency):
            return (
                f"{name} may have read the same records, under another adjacency or for another unit, so no sum of the costs is "
                "stated: details() names each"
            )
        before = [before[0] + start.claim.epsilon, before[1] + start.claim.delta]
    own = certificate.epsilon, certificate.delta
    sums = own, before, (own[0] + before[0], own[1] + before[1])
    this, those, both = (f"epsilon = {decimal_text(epsilon)}, delta = {decimal_text(delta)}" for epsilon, delta in sums)
    more = " and ".join(dict.fromkeys(one for start in starts for one in start.more))
    besides = f", besides the cost of certificate {more}" if more else ""
    return f"this fit costs {this}; {name} {those}; records that both read, the sum: {both}{besides}"


def _meaning(certificate: Certificate) -> Iterator[str]:
    epsilon, delta = certificate.epsilon, certificate.delta
    factor = math.nextafter(math.exp(min(float(epsilon), 700.0)), math.inf) if epsilon else 1.0
    bound = f"at most {upper_text(factor, 3)}" if epsilon <= 700 else "more than 1e300"
    seen = SHOWN.get(certificate.system, "the model")
    who = certificate.unit.who
    yield f"whoever sees {seen} can change the odds of any guess about one {who} by a factor of {bound}"
    if delta:
        yield f"(but for a probability of {decimal_text(delta)})"
    if delta >= WEAK_DELTA:
        yield f"which may give whole records away: delta should be far below one over the number of {who}s"
    if epsilon >= WEAK:
        yield "which is hardly any protection: choose a smaller epsilon"


def spent_in_words(certificate: Certificate, *, whole: bool = False) -> str:
    spent, epsilon, total = certificate.spent, certificate.epsilon, certificate.total
    records = certificate.records_per_person  # the steps state the cost of one record
    group = "" if records == 1 else f" for {records} records of a person"
    if spent is None:
        return "no finite amount: see the reasons above"
    if total.thresholds and total.mu_squared == 0:
        by_thresholds = upper_text(total.delta(epsilon))
        return f"epsilon {decimal_text(spent)} on the costliest path{group}, delta {by_thresholds} by thresholds"
    if total.mu_squared == 0 and spent <= epsilon and not total.by_rho:
        gap = epsilon - spent
        text = f"epsilon {decimal_text(spent)} on the costliest path{group}; {decimal_text(gap, 2)} unspent"
        if certificate.delta > 0:
            text += "; no noise of a plan with delta keeps to so large an epsilon, so the plan is pure"
        return text + (" (lost to rounding down)" if 0 < gap < 1e-6 else "")
    text = f"delta {upper_text(total.delta(epsilon))} at epsilon {decimal_text(epsilon)}, rounded up"
    if not whole and (total.mu_squared or total.by_rho):
        return text
    if total.by_rho:
        return f"{text}: the steps below add up{group} as rho = {upper_text(total.rho)} of zero-concentrated DP"
    return (
        f"{text}: the steps below add up{group} as rho = {upper_text(total.rho)} of zero-concentrated DP, or as "
        f"mu^2 = {upper_text(total.total_mu_squared)} of Gaussian DP"
    )


def _foundations(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Yield what the guarantee rests on, in few words for the summary and in full; "" where one of the two leaves it out."""
    unit, starts, given = certificate.unit, certificate.starts, not certificate.assumptions
    for place, text in enumerate(certificate.assumptions):
        yield text.partition(":")[0] if place < 2 else "", text
    for text in certificate.premises:
        yield text.partition(":")[0], text
    if given:
        yield (
            "a public schema, but for released entries" if certificate.releases else "a public schema",
            "the schema (ranges, categories, classes) being public knowledge, as its owner declared",
        )
    for text in certificate.public:
        yield "", f"why public, in the owner's words: {text}"
    for release in certificate.releases:
        released = (
            f"the entries that certificate {release[:16]} released: its cost stands there, and adds to this one's"
        )
        yield "", f"but for {released}"
    if given:
        yield (
            "",
            "one record of a CSV file being what its writer wrote as one, with quoted cells of at most "
            f"{LONGEST_QUOTED} bytes",
        )
        yield (
            "records as given to fit",
            "X and y as given to fit: a scaler, imputer or selection fitted on the same records came before, uncovered",
        )
    if starts:
        nothing = any(start.grounds for start in starts)
        yield "a start that promises nothing" if nothing else "the model that it starts from", ""
        yield from (
            ("", f"{'it' if place == 0 else 'that one'} starts from {start}") for place, start in enumerate(starts)
        )
        if any(start.public for start in starts):
            yield "records of a start being public, as the caller stated", ""
    if not all(start.public for start in starts):
        yield (
            "",
            "the cost of a start adds to this one's for records that both read. It is not in this fit's charge to a ledger: a "
            "ledger has it only if the start was charged there",
        )
    if certificate.seeded:
        yield "a seed", "a seed: for tests and reproduction only"
    else:
        yield (
            "random bits of the operating system",
            "random bits: ChaCha20 under a fresh 256-bit key from the operating system, and BLAKE2b for sub-keys of it",
        )
    ids = "" if certificate.person is None else ", the ids"
    yield (
        "",
        f"the types of X, its columns{ids} and y being public: where a reader inferred one, a single cell can change it",
    )
    in_short, in_full = unit.rests_on(ids_as_text=certificate.ids_as_text)
    yield in_short, f"{in_full}; every further fit on the same records adds its own epsilon (see Ledger)"
    yield "", "outside the guarantee: running time, memory use, and that there is at least one record"
    if certificate.adjacency == "replace-one":
        yield "", f"the number of {unit.who}s being public, as it is for one {unit.who} replaced"
