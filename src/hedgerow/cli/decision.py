"""Facts for the decision whether a model may leave: a table for the card, and an entry for a registry of deployments."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hedgerow import __version__
from hedgerow.arrays import lazy
from hedgerow.audit.contents import UNTOLD, check_model
from hedgerow.cli.inputs import file_digest
from hedgerow.estimator import PrivateEstimator
from hedgerow.export.signature import Signature, signature_of
from hedgerow.ledgers.ledger import Ledger
from hedgerow.privacy.certificate import facts, spent_in_words
from hedgerow.privacy.claim import claim_in_words
from hedgerow.privacy.exact import decimal_text
from hedgerow.texts import listed

NOT_SAID = "not stated"
MOST_REASONS = 3
UNCHECKED = (
    f"{UNTOLD} Whether the noise came from a seed that somebody knows. Whether what it rests on is true. Whether the model is "
    "right or fair."
)
TRUST = "central: the owner's machine reads the raw records, and the guarantee covers everything that it releases"
STATED = {  # facts of a certificate, and how the table calls them
    "meaning": "What that means",
    "owner": "What its owner promised",
    "WARNING": "Warning",
    "spent": "Spent by this fit",
    "starts": "Spent with its starts",
}


@dataclass(frozen=True)
class Decision:
    path: Path
    estimator: PrivateEstimator
    key: Path | None = None
    purpose: str | None = None
    author: str | None = None
    has_report: bool = False
    date: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y-%m-%d}")

    @lazy
    def signature(self) -> Signature:
        return signature_of(self.path, self.key)

    @lazy
    def refusals(self) -> tuple[str, ...]:
        found = (finding.words for finding in check_model(self.path) if finding.refuted)
        words = [f"what the file contains contradicts its certificate: {text}" for text in found]
        unsigned = [f"the file is {self.signature}"] * self.signature.refuted
        return tuple(dict.fromkeys([*self.estimator.certificate_.reasons, *words, *unsigned]))

    @property
    def accounting(self) -> str:
        certificate = self.estimator.certificate_
        total = certificate.total
        if certificate.spent is None:
            return "none: a step has no finite cost"
        if total.by_rho:
            return "zero-concentrated differential privacy; the delta of the sum is rounded up"
        if total.mu_squared == 0 and total.epsilon <= certificate.epsilon:
            return "pure differential privacy: the costs of steps on the same records are added"
        return "Gaussian and zero-concentrated differential privacy; the delta of the sum is rounded up"

    @property
    def trust_model(self) -> str:
        premises = self.estimator.certificate_.premises
        return f"several owners; it rests on {'; on '.join(premises)}" if premises else TRUST

    @property
    def schema_digest(self) -> str:
        return hashlib.sha256(self.estimator.schema_.to_toml().encode()).hexdigest()

    def rows(self, ledger: Ledger | None) -> Iterator[tuple[str, str]]:
        certificate, schema = self.estimator.certificate_, self.estimator.schema_
        reasons, read_off = schema.reasons, schema.inferred
        silent = [name for name in schema.names if name not in {*reasons, *read_off}]
        if schema.labels.reason is None and schema.labels.origin != "inferred":
            silent.append("the labels")
        if self.refusals:
            more = [f"and {len(self.refusals) - MOST_REASONS} more, below"] * (len(self.refusals) > MOST_REASONS)
            yield "May this model leave?", "NO: " + "; ".join([*self.refusals[:MOST_REASONS], *more])
        else:
            yield (
                "May this model leave?",
                "Nothing in the file speaks against it. Whoever decides accepts the promise below, and what it rests on.",
            )
        broken = "" if certificate.holds else "NOT KEPT; it was to be: "
        if certificate.holds and self.refusals:
            broken = "NOT TO BE RELIED ON; the certificate in the file says: "
        yield "What was promised, and for whom", broken + claim_in_words(certificate.claim, certificate.unit)
        stated = {name: " ".join(lines) for name, lines in facts(certificate)}
        stated["spent"] = f"{spent_in_words(certificate)}. Accounting: {self.accounting}"
        if self.refusals:
            stated.pop("meaning", None)
        yield from ((question, stated[name]) for name, question in STATED.items() if name in stated)
        total = "not known: no ledger was named. Other fits and reports on the same records add to it"
        if ledger is not None:
            total = f"{ledger.ceiling.in_words(ledger.total)}, by the ledger, of {ledger.ceiling}"
            if replace(certificate, warnings=()) not in [entry.certificate for entry in ledger.entries]:
                total += "; this fit is NOT in it, so its cost adds to this"
            if not ledger.holds:
                total += "; a seeded fit in it voids the sum"
        yield "Spent on these records in all", total
        for release in certificate.releases:
            yield (
                "Spent besides",
                f"what certificate {release[:16]} states, by which entries of the schema were released",
            )
        yield "Who is trusted", self.trust_model
        for name, reason in reasons.items():
            yield f"It rests on {name!r} being public", f"because, in its owner's words: {reason}"
        if read_off:
            yield "These are NOT public", f"{listed(read_off)}: read off the records of the fit"
        if silent:
            yield "It rests on these being public", f"{listed(silent)}: the owner gave no reason"
        for start in certificate.starts:
            yield "It rests on a start", str(start)
        yield "Not checked", UNCHECKED
        known = (
            "measured by a private report, below" if self.has_report else "NOT known: no private report card was passed"
        )
        yield "Accuracy", known
        yield "Purpose", self.purpose or NOT_SAID
        yield "Who answers for this page", self.author or NOT_SAID
        yield "Written", f"{self.date}, with hedgerow {__version__}"
        yield "Signature of the model file", str(self.signature)
        yield "SHA-256 of the model file", file_digest(self.path)
        yield "SHA-256 of its schema, as TOML", self.schema_digest

    def entry(self, title: str) -> dict[str, Any]:
        certificate, schema = self.estimator.certificate_, self.estimator.schema_
        unit = certificate.unit
        return {
            "name": title,
            "product": f"a model that predicts {schema.target or 'a label'!r}: {certificate.system}, {certificate.variant}",
            "purpose": self.purpose,
            "author": self.author,
            "date": self.date,
            "unit": {
                "protected": str(unit),
                "neighbors": unit.neighbors(certificate.adjacency),
                "adjacency": certificate.adjacency,
                "records_per_person": certificate.records_per_person,
            },
            "epsilon": decimal_text(certificate.epsilon),
            "delta": decimal_text(certificate.delta),
            "holds": not self.refusals,
            "refusals": list(self.refusals),
            "trust_model": self.trust_model,
            "accounting": self.accounting,
            "starts": [str(start) for start in certificate.starts],
            "implementation": f"hedgerow {__version__}",
            "rests_on": {"reasons": schema.reasons, "released_by": schema.releases, "inferred": schema.inferred},
            "accuracy_known": self.has_report,
            "signature": {"state": self.signature.state, "key": self.signature.key},
            "model_sha256": file_digest(self.path),
            "schema_sha256": self.schema_digest,
        }
