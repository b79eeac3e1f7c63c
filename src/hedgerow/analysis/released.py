"""The plan of a schema's release, and the released schema."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from hedgerow.analysis.ranges import RangePlan, ReleasedRange, read_doubts
from hedgerow.curator.values import Values
from hedgerow.engines.records import Records
from hedgerow.engines.values import ValueCounts
from hedgerow.mechanisms import Geometric, PassesThreshold, Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Event
from hedgerow.privacy.events import Sequence as InSequence
from hedgerow.schema import Categorical, Schema
from hedgerow.schema.features import Feature, Value
from hedgerow.schema.types import as_outcome
from hedgerow.table import Keep
from hedgerow.texts import listed

NO_VALUE = "no value was released"  # the only value of a column of which no value passed


class ReleasedSchema(Schema):
    """A schema whose entries a private operation released.

    It behaves as a ``Schema`` and also has the certificate and ranges of the release. Copies made by ``replace``, and files, have
    the entries only, with the digest of the certificate.

    Attributes
    ----------
    certificate_ : Certificate
        The certificate of the release.
    ranges_ : mapping of str to ReleasedRange
        The release for each column of numbers or dates, and for an outcome under the target's name, and whether the range is
        guaranteed.

    Parameters
    ----------
    features, classes, outcome, missing, target, person, records_per_person, delimiter, encoding, classes_origin, classes_release
        As for ``Schema``.

    Examples
    --------
    >>> import hedgerow as hr, numpy as np
    >>> schema = hr.private_schema({"age": np.arange(20_000) % 70 + 18}, epsilon=3, numeric=["age"], classes=["ill", "well"])
    >>> schema.certificate_.holds, schema.features["age"].origin
    (True, 'released')
    """

    __slots__ = ("_certificate", "_ranges")

    _certificate: Certificate
    _ranges: Mapping[str, ReleasedRange]

    @classmethod
    def of(cls, schema: Schema, certificate: Certificate, ranges: Mapping[str, ReleasedRange]) -> ReleasedSchema:
        """Return a schema with the certificate and ranges of its release."""
        made = cls.from_dict(schema.to_dict())
        object.__setattr__(made, "_certificate", certificate)
        object.__setattr__(made, "_ranges", MappingProxyType(dict(ranges)))
        return made

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the release."""
        return self._certificate

    @property
    def ranges_(self) -> Mapping[str, ReleasedRange]:
        """The release for each column of numbers or dates, and for an outcome."""
        return self._ranges


@dataclass(frozen=True)
class Answers:
    """The released answers: ranges, with that of an outcome last; values of categorical columns; the classes if queried."""

    ranges: Sequence[ReleasedRange]
    values: Sequence[Sequence[Value]]
    classes: Sequence[Value] | None


@dataclass(frozen=True)
class ReleasePlan:
    """The queries of a release: an equal share of the budget for each column, and for classes or an outcome if not public.

    Parameters
    ----------
    stand_in : Schema
        The columns with stand-in entries, and the classes or the outcome, with stand-ins if they are queried.
    share, delta_share : Fraction
        The pure share of each column, and the delta of each query of values.
    ranges : RangePlan or None
        The queries of columns of numbers and dates, and of an outcome.
    with_classes : bool
        Whether the classes are queried.
    records_per_person : int
        The number of records of one person for which thresholds are set.
    """

    stand_in: Schema
    share: Fraction
    delta_share: Fraction
    ranges: RangePlan | None
    with_classes: bool
    records_per_person: int = 1

    @classmethod
    def of(
        cls,
        claim: Claim,
        stand_in: Schema,
        promise: tuple[float, float],
        *,
        with_classes: bool,
        with_outcome: bool = False,
    ) -> ReleasePlan:
        """Return the plan that divides a claim among columns; ``promise`` is the trimmed share and the failure probability."""
        on_lines = tuple(i for i, one in enumerate(stand_in.features.values()) if not isinstance(one, Categorical))
        parts, lines = len(stand_in.names) + with_classes + with_outcome, len(on_lines) + with_outcome
        share = claim.pure / parts
        ranges = RangePlan(share * lines, on_lines, *promise, stand_in, with_outcome) if lines else None
        delta_share = claim.pure_delta / max(parts - lines, 1)
        return cls(stand_in, share, delta_share, ranges, with_classes, claim.records_per_person)

    @property
    def categorical(self) -> tuple[int, ...]:
        """The columns whose values are queried."""
        return tuple(i for i, one in enumerate(self.stand_in.features.values()) if isinstance(one, Categorical))

    @property
    def threshold(self) -> PassesThreshold:
        """The threshold that the values of one column must pass."""
        return PassesThreshold(Geometric(self.share), self.delta_share, self.records_per_person)

    @property
    def _listed(self) -> tuple[Event, ...]:
        if not self.categorical and not self.with_classes:
            return ()
        values = (self.threshold.event("values of one column"),) * len(self.categorical)
        return values + (self.threshold.event("classes"),) * self.with_classes

    @property
    def event(self) -> Event:
        """Everything that reads records."""
        return InSequence((*(() if self.ranges is None else self.ranges.events), *self._listed))

    def run(self, X: Any, y: Any, randomness: Randomness, keep: Keep | None = None) -> Answers:
        """Return the answers for columns and labels in memory, or ``Records``; ``keep`` selects the records of each person."""
        ranges = [] if self.ranges is None else self.ranges.release(X, y, randomness, keep)
        if not self._listed:
            return Answers(ranges, (), None)
        asked = ValueCounts(self.stand_in, self.categorical, self.with_classes)
        if isinstance(X, Records):
            counts = X.values(asked, keep)
        else:
            counts = asked(X, y, None if keep is None else keep.of(np.ones(X.n_rows, dtype=np.bool_)))
        door = Values(counts, cost(InSequence(self._listed)), randomness)
        found = [door.shown(place, self.threshold) for place in range(len(counts))]
        return Answers(ranges, found[: len(self.categorical)], found[-1] if self.with_classes else None)

    def schema(self, answers: Answers, certificate: Certificate) -> ReleasedSchema:
        """Return the released schema. Every entry has the digest of the certificate."""
        release, names = certificate.digest, self.stand_in.names
        features: dict[str, Feature] = dict(self.stand_in.features)
        for place, values in zip(self.categorical, answers.values, strict=True):
            features[names[place]] = Categorical(values or [NO_VALUE], origin="released", release=release)
        on_lines = [] if self.ranges is None else [names[i] for i in self.ranges.columns]
        ranges = dict(zip(on_lines, answers.ranges, strict=False))  # that of an outcome is after them
        for name, one in ranges.items():
            features[name] = one.feature(features[name], release)
        labels: dict[str, Any] = {"classes": self.stand_in.classes}
        if answers.classes is not None:
            labels = {"classes": answers.classes, "classes_origin": "released", "classes_release": release}
        if self.stand_in.outcome is not None:
            labels = {"outcome": self.stand_in.outcome}
        if self.ranges is not None and self.ranges.with_outcome:
            of_outcome = ranges[str(self.stand_in.target)] = answers.ranges[-1]
            labels = {"outcome": as_outcome(of_outcome.feature(self.stand_in.labels, release))}
        schema = Schema(
            features,
            missing=self.stand_in.missing,
            target=self.stand_in.target,
            person=certificate.person or None,
            records_per_person=certificate.records_per_person,
            **labels,
        )
        return ReleasedSchema.of(schema, certificate, ranges)

    def warn(self, schema: ReleasedSchema, stacklevel: int) -> None:
        """Warn of released counts that were too noisy for the query."""
        loose = {name: one for name, one in schema.ranges_.items() if not one.promised}
        if loose:
            worst = max(loose, key=lambda name: loose[name].error)
            one = loose[worst]
            warnings.warn(
                f"no range is promised for {listed(list(loose))}: for {worst!r} the noisy number of records is {one.records} and "
                f"a tail's may be off by {one.error}, more than the share that may be cut off, or the first question had cut off "
                "more. The ranges are the best that these counts show. Pass a larger epsilon, fewer columns or a larger trimmed.",
                UserWarning,
                stacklevel=stacklevel + 1,
            )
        if self.ranges is not None:
            for text in read_doubts(schema.ranges_, self.ranges.deviation):
                warnings.warn(text, UserWarning, stacklevel=stacklevel + 1)
        entries = schema.features.items()
        bare = [name for name, one in entries if isinstance(one, Categorical) and one.values == (NO_VALUE,)]
        if bare:
            warnings.warn(
                f"no value of {listed(bare)} was released: none has a noisy count of {self.threshold.threshold} or more. All "
                "cells are undeclared there; declare values that are public, or drop the column.",
                UserWarning,
                stacklevel=stacklevel + 1,
            )
