"""The text of a certificate: a summary of about twelve lines, and the whole page."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby

from hedgerow.limits import LONGEST_QUOTED
from hedgerow.privacy.events import (
    Event,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Sequence,
    Subsampled,
)
from hedgerow.privacy.exact import decimal_text, upper_text
from hedgerow.privacy.guarantee import Guarantee, runs, steps
from hedgerow.privacy.starts import claim_in_words
from hedgerow.texts import shortened

MOST_REASONS = 3
LONGEST_LINE = 160  # characters of a summary's line, so that twelve lines stay below 2000
MARGIN = 13  # characters before a fact, in which its name stands
WEAK_DELTA = Fraction(1, 1000)
WEAK = 10  # from this epsilon on, the certificate explains how weak it is
SHOWN = {"evaluate": "the report card", "private_schema": "the schema", "Curator": "the answers"}  # others: a model
PROMISE = "promises that no person has more than {} records; no column identifies persons, so nothing enforced it"


def title_of(certificate: Guarantee) -> str:
    """Return the first line of a certificate."""
    return f"Privacy certificate of {certificate.system} ({certificate.variant})"


def summary(certificate: Guarantee) -> str:
    """Return a certificate in about twelve lines; what it rests on, which decides, is cut short only beyond two of them."""
    rows = [title_of(certificate)]
    for name, texts in facts(certificate):
        if name == "rests on":
            texts = textwrap.wrap(
                texts[0], LONGEST_LINE - MARGIN, max_lines=2, placeholder="...", break_on_hyphens=False
            )
        rows += [f"  {name if place == 0 else '':<9}  {text}" for place, text in enumerate(texts)]
    return "\n".join(shortened(row, LONGEST_LINE) for row in rows)


def facts(certificate: Guarantee) -> Iterator[tuple[str, list[str]]]:
    """Yield the facts of a summary: what is promised and for whom, whether it holds, what was spent, and its assumptions."""
    yield "promise", [_claim(certificate)]
    if certificate.unit.is_promise:
        yield "owner", [f"promises that no person has more than {certificate.records_per_person} records"]
    if certificate.holds:
        yield "holds", ["yes"]
        yield "meaning", list(_meaning(certificate))
    else:
        reasons = certificate.reasons
        more = [f"and {len(reasons) - MOST_REASONS} more reasons"] * (len(reasons) > MOST_REASONS)
        yield "holds", ["NO", *(f"- {reason}" for reason in reasons[:MOST_REASONS]), *more]
    if certificate.spent is not None:
        yield "spent", [_spent_in_short(certificate)]
        if (shared := shared_in_words(certificate)) is not None:
            yield "starts", textwrap.wrap(shared, LONGEST_LINE - MARGIN, break_on_hyphens=False)
        yield "rests on", ["; ".join(_foundations_in_short(certificate))]
    if certificate.warnings:
        count = len(certificate.warnings)
        yield "WARNING", [certificate.warnings[0] + (f" (and {count - 1} more)" if count > 1 else "")]
    yield (
        "more",
        [
            "certificate.details(), or hedgerow inspect MODEL --details: every step, its cost, and what the guarantee rests on"
        ],
    )


def shared_in_words(certificate: Guarantee) -> str | None:
    """Return what records cost that this fit and its starts share; None if no start has a cost of its own to add."""
    starts = certificate.private_starts
    if not starts or any(start.reasons for start in starts):
        return None
    shared, name = certificate.shared, "its start" if len(starts) == 1 else "its starts"
    if shared is None:
        return (
            f"{name} may have read the same records, under another adjacency or for another unit, so no sum of the costs is "
            "stated: details() names each"
        )
    costs = [(certificate.epsilon, certificate.delta)]
    costs.append((shared.epsilon - certificate.epsilon, shared.delta - certificate.delta))
    own, before = (f"epsilon = {decimal_text(epsilon)}, delta = {decimal_text(delta)}" for epsilon, delta in costs)
    more = " and ".join(dict.fromkeys(one for start in starts for one in start.more))
    besides = f", besides the cost of certificate {more}" if more else ""
    both = f"epsilon = {decimal_text(shared.epsilon)}, delta = {decimal_text(shared.delta)}"
    return f"this fit costs {own}; {name} {before}; records that both read, the sum: {both}{besides}"


def details(certificate: Guarantee) -> str:
    """Return the whole page of a certificate."""
    rows = [title_of(certificate), "", f"  promise    {_claim(certificate)}"]
    if certificate.unit.is_promise:
        rows.append(f"  owner      {PROMISE.format(certificate.records_per_person)}")
    rows.append(f"  holds      {'yes' if certificate.holds else 'NO'}")
    rows += [f"             - {reason}" for reason in certificate.reasons]
    if certificate.holds:
        rows += [f"  {'meaning' if place == 0 else '':<9}  {line}" for place, line in enumerate(_meaning(certificate))]
    rows.append(f"  spent      {_spent(certificate)}")
    if (shared := shared_in_words(certificate)) is not None:
        rows.append(f"  starts     {shared}")
    rows += [f"  WARNING    {warning}" for warning in certificate.warnings]
    rows += _table_of_steps(certificate)
    if certificate.spent is not None:
        rows += ["", "  rests on"] + [f"    - {fact}" for fact in _foundations(certificate)]
    return "\n".join(rows)


def _claim(certificate: Guarantee) -> str:
    return claim_in_words(certificate.claim, certificate.unit)


def _table_of_steps(certificate: Guarantee) -> list[str]:
    lines = certificate.lines
    if not lines:
        return []
    title = "what was released" if certificate.spent is not None else "the budgets that it states"
    title += "" if certificate.records_per_person == 1 else ", and what each step costs for one record"
    width = max(len(line.purpose) for line in lines)
    width_of_cost = max(len(line.cost) for line in lines)
    rows = ["", f"  {title}", *(f"  {rule}" for rule in dict.fromkeys(_rules(certificate.event)))]
    for line in lines:
        where = f"level {line.level}" if line.level else ""
        rows.append(f"    {where:<9}{line.purpose:<{width}}  {line.cost:<{width_of_cost}}  {line.mechanism}")
    return rows


def _meaning(certificate: Guarantee) -> Iterator[str]:
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


def _spent_in_short(certificate: Guarantee) -> str:
    if certificate.total.mu_squared == 0 or certificate.spent is None:
        return _spent(certificate)
    delta = upper_text(certificate.total.delta(certificate.epsilon))
    return f"delta {delta} at epsilon {decimal_text(certificate.epsilon)}, rounded up"


def _spent(certificate: Guarantee) -> str:
    spent, epsilon, total = certificate.spent, certificate.epsilon, certificate.total
    if spent is None:
        return "no finite amount: see the reasons above"
    if total.thresholds and total.mu_squared == 0:
        by_thresholds = upper_text(total.delta(epsilon))
        return f"epsilon {decimal_text(spent)} on the costliest path{_group(certificate)}, delta {by_thresholds} by thresholds"
    if total.mu_squared == 0 and spent <= epsilon:
        gap = epsilon - spent
        text = f"{decimal_text(spent)} on the costliest path{_group(certificate)}; {decimal_text(gap, 2)} unspent"
        if certificate.delta > 0:
            text += "; no noise of a plan with delta keeps to so large an epsilon, so the plan is pure"
        return text + (" (lost to rounding down)" if 0 < gap < 1e-6 else "")
    delta, rho, mu_squared = total.delta(epsilon), total.rho, total.total_mu_squared
    return (
        f"delta {upper_text(delta)} at epsilon {decimal_text(epsilon)}, rounded up: the steps below add up"
        f"{_group(certificate)} as rho = {upper_text(rho)} of zero-concentrated DP, or as mu^2 = "
        f"{upper_text(mu_squared)} of Gaussian DP"
    )


def _group(certificate: Guarantee) -> str:
    """Return the number of records for which a sum is stated if it is not one; the steps state the cost of one record."""
    records = certificate.records_per_person
    return "" if records == 1 else f" for {records} records of a person"


def _foundations_in_short(certificate: Guarantee) -> Iterator[str]:
    if certificate.assumptions:
        yield from (text.partition(":")[0] for text in certificate.assumptions[:2])
    else:
        yield "a public schema, but for released entries" if certificate.releases else "a public schema"
        yield "records as given to fit"
    if certificate.starts:
        nothing = any(start.grounds for start in certificate.starts)
        public = any(start.public for start in certificate.starts)
        yield "a start that promises nothing" if nothing else "the model that it starts from"
        if public:
            yield "records of a start being public, as the caller stated"
    yield "a seed" if certificate.seeded else "random bits of the operating system"
    unit = certificate.unit
    if unit.person is None:
        yield "one record being one row" if unit.records == 1 else "the owner's promise"
    else:
        yield f"column {unit.person!r} telling persons apart" if unit.person else "groups= telling persons apart"


def _foundations(certificate: Guarantee) -> Iterator[str]:
    if certificate.assumptions:
        yield from certificate.assumptions
    else:
        yield "the schema (ranges, categories, classes) being public knowledge, as its owner declared"
    for place, start in enumerate(certificate.starts):
        yield f"{'it' if place == 0 else 'that one'} starts from {start}"
    if certificate.private_starts:
        yield (
            "the cost of a start adds to this one's for records that both read. It is not in this fit's charge to a ledger: a "
            "ledger has it only if the start was charged there"
        )
    for release in certificate.releases:
        yield f"but for the entries that certificate {release[:16]} released: its cost stands there, and adds to this one's"
    if not certificate.assumptions:
        yield (
            "one record of a CSV file being what its writer wrote as one, with quoted cells of at most "
            f"{LONGEST_QUOTED} bytes"
        )
        yield "X and y as given to fit: a scaler, imputer or selection fitted on the same records came before, uncovered"
    if certificate.seeded:
        yield "a seed: for tests and reproduction only"
    else:
        yield "random bits: ChaCha20 under a fresh 256-bit key from the operating system, and BLAKE2b for sub-keys of it"
    ids = "" if certificate.person is None else ", the ids"
    yield f"the types of X, its columns{ids} and y being public: where a reader inferred one, a single cell can change it"
    whom = certificate.unit.rests_on(ids_as_text=certificate.ids_as_text)
    yield f"{whom}; every further fit on the same records adds its own epsilon (see Ledger)"
    yield "outside the guarantee: running time, memory use, and that there is at least one record"
    if certificate.adjacency == "replace-one":
        who = certificate.unit.who
        yield f"the number of {who}s being public, as it is for one {who} replaced"


def _rules(event: Event) -> Iterator[str]:
    """Yield how the costs of parallel parts combine."""
    match event:
        case OneOf(parts, label):
            several = f"; each of the {len(parts)} choices costs no more than the claim leaves, and below is the first"
            yield label + (several if len(parts) > 1 else "; below is what all units cost at most")
            yield from _rules(parts[0])
        case Parallel(parts, label):
            yield from (label,) if label else ()
            for part in runs(parts):
                yield from _rules(part)
        case Sequence(parts):
            for part, run in groupby(parts):
                times = sum(1 for _ in run)
                what = dict.fromkeys(line.purpose for line in steps(part))
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
