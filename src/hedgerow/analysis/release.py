"""Release a schema by private queries of ranges and values, with a certificate of its own."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from hedgerow.analysis.ranges import RangePlan, ReleasedRange, entry_of, unread_warnings
from hedgerow.arrays import without_sizes
from hedgerow.curator.given import check_alone, promised
from hedgerow.curator.queryable import Values
from hedgerow.engines.encode import ValueCounts
from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError, EngineError, HedgerowError
from hedgerow.ledgers.ledger import Ledger
from hedgerow.mechanisms import Geometric, PassesThreshold, Randomness
from hedgerow.parameters import RandomSource
from hedgerow.privacy.accounting import Event, cost
from hedgerow.privacy.accounting import Sequence as InSequence
from hedgerow.privacy.certificate import Certificate, certify, warn_of_claim
from hedgerow.privacy.claim import Claim
from hedgerow.reading.columns import Columns, check_same_order, read_columns, read_records
from hedgerow.reading.persons import Groups, read_groups, split_groups
from hedgerow.schema import Categorical, Date, Numeric, Schema
from hedgerow.schema.features import Feature, Value
from hedgerow.schema.types import as_outcome
from hedgerow.table import Keep, keep_of
from hedgerow.texts import listed

NO_VALUE = "no value was released"  # the only value of a column, or the only class, where none passed


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
    features, classes, outcome, missing, target, person, records_per_person, delimiter, encoding
        As for ``Schema``.
    classes_origin, classes_release, classes_reason, ignore
        As for ``Schema``.

    Examples
    --------
    >>> import hedgerow as hr, numpy as np
    >>> schema = hr.private_schema({"age": np.arange(20_000) % 70 + 18}, epsilon=3, numeric=["age"], classes=["ill", "well"])
    >>> schema.certificate_.holds, schema.features["age"].origin
    (True, 'released')
    """

    __slots__ = ("certificate_", "ranges_")

    certificate_: Certificate
    ranges_: Mapping[str, ReleasedRange]

    @classmethod
    def of(cls, schema: Schema, certificate: Certificate, ranges: Mapping[str, ReleasedRange]) -> ReleasedSchema:
        made = cls.from_dict(schema.to_dict())
        object.__setattr__(made, "certificate_", certificate)
        object.__setattr__(made, "ranges_", MappingProxyType(dict(ranges)))
        return made


# Released ranges, with that of an outcome last; values of categorical columns; and the classes if they are queried.
Answers = tuple[Sequence[ReleasedRange], Sequence[Sequence[Value]], Sequence[Value] | None]


@dataclass(frozen=True)
class ReleasePlan:
    """The queries of a release: an equal share of the budget for each column, and for classes or an outcome if not public.

    ``stand_in`` has stand-in entries for all that is queried. ``share`` is the pure share of a column, and ``delta_share`` the
    delta of a query of values. Thresholds are set for ``records_per_person``.
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
        return tuple(i for i, one in enumerate(self.stand_in.features.values()) if isinstance(one, Categorical))

    @property
    def threshold(self) -> PassesThreshold:
        return PassesThreshold(Geometric(self.share), self.delta_share, self.records_per_person)

    @property
    def _listed(self) -> tuple[Event, ...]:
        if not self.categorical and not self.with_classes:
            return ()
        values = (self.threshold.event("values of one column"),) * len(self.categorical)
        return values + (self.threshold.event("classes"),) * self.with_classes

    @property
    def event(self) -> Event:
        return InSequence((*(() if self.ranges is None else self.ranges.events), *self._listed))

    def run(self, X: Any, y: Any, randomness: Randomness, keep: Keep | None = None) -> Answers:
        """Return the answers for columns and labels in memory, or ``Records``; ``keep`` selects the records of each person."""
        ranges = [] if self.ranges is None else self.ranges.release(X, y, randomness, keep)
        if not self._listed:
            return ranges, (), None
        asked = ValueCounts(self.stand_in, self.categorical, self.with_classes)
        if isinstance(X, Records):
            counts = X.values(asked, keep)
        else:
            counts = asked(X, y, None if keep is None else keep.of(np.ones(X.n_rows, dtype=np.bool_)))
        door = Values(counts, cost(InSequence(self._listed)), randomness)
        shown = [door.shown(place, self.threshold) for place in range(len(counts))]
        return ranges, shown[: len(self.categorical)], shown[-1] if self.with_classes else None

    def schema(self, answers: Answers, certificate: Certificate) -> ReleasedSchema:
        release, names = certificate.digest, self.stand_in.names
        released, values, classes = answers
        features: dict[str, Feature] = dict(self.stand_in.features)
        for place, shown in zip(self.categorical, values, strict=True):
            features[names[place]] = Categorical(shown or [NO_VALUE], origin="released", release=release)
        on_lines = [] if self.ranges is None else [names[i] for i in self.ranges.columns]
        ranges = dict(zip(on_lines, released, strict=False))  # that of an outcome is after them
        for name, one in ranges.items():
            features[name] = entry_of(features[name], one.low, one.high, one.whole, release)
        labels: dict[str, Any] = {"classes": self.stand_in.classes}
        if classes is not None:
            labels = {"classes": classes or [NO_VALUE], "classes_origin": "released", "classes_release": release}
        if self.stand_in.outcome is not None:
            labels = {"outcome": self.stand_in.outcome}
        if self.ranges is not None and self.ranges.with_outcome:
            one = ranges[str(self.stand_in.target)] = released[-1]
            labels = {"outcome": as_outcome(entry_of(self.stand_in.labels, one.low, one.high, one.whole, release))}
        schema = Schema(
            features,
            missing=self.stand_in.missing,
            target=self.stand_in.target,
            person=certificate.person or None,
            records_per_person=certificate.records_per_person,
            **labels,
        )
        return ReleasedSchema.of(schema, certificate, ranges)

    def warnings_of(self, schema: ReleasedSchema) -> Iterator[str]:
        loose = {name: one for name, one in schema.ranges_.items() if not one.promised}
        if loose:
            worst = max(loose, key=lambda name: loose[name].error)
            yield (
                f"no range is promised for {listed(list(loose))}: for {worst!r} the noisy number of records is "
                f"{loose[worst].records} and a tail's may be off by {loose[worst].error}, more than the share that may be cut "
                "off, or the first question had cut off more. The ranges are the best that these counts show. Pass a larger "
                "epsilon, fewer columns or a larger trimmed."
            )
        if self.ranges is not None:
            yield from unread_warnings(schema.ranges_, self.ranges.deviation)
        entries = schema.features.items()
        bare = [name for name, one in entries if isinstance(one, Categorical) and one.values == (NO_VALUE,)]
        if bare:
            yield (
                f"no value of {listed(bare)} was released: none has a noisy count of {self.threshold.threshold} or more. All "
                "cells are undeclared there; declare values that are public, or drop the column."
            )
        if NO_VALUE in schema.classes:
            yield (
                f"no class stands out: a label is released if its noisy count reaches {self.threshold.threshold}. The rest of "
                "the schema was released and is kept. Replace its classes by public ones, or release again with a larger epsilon."
            )


UNKNOWN = (0, "no class is public")  # stand-in classes of two types, since labels of any type may be released
ASSUMPTIONS = (
    "the names of the columns, and which of them are numeric, being public",
    "X and y as given: what was done to them before by looking at them is not covered",
)


def private_schema(
    X: Any,
    y: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    numeric: Sequence[str] = (),
    dates: Sequence[str] = (),
    categorical: Sequence[str] = (),
    classes: Sequence[Value] | None = None,
    outcome: bool | Numeric = False,
    missing: Sequence[str] = (),
    target: str | None = None,
    trimmed: float = 0.01,
    failure: float = 0.05,
    adjacency: str = "add-remove",
    random_state: RandomSource = None,
    ledger: Ledger | None = None,
    groups: Any = None,
    person: str | None = None,
    records_per_person: int | None = None,
) -> ReleasedSchema:
    """Release a schema of records whose ranges and values are not public.

    Releases  for each numeric column, a range and whether its numbers are whole; the same for dates; for each categorical column,
              the values that enough records have; for the labels, unless they are public, the classes or the outcome's range.
    Costs     ``epsilon``, and ``delta`` if values are queried: equal shares for all columns, and for the labels.
    Assumes   that the names of columns are public, and whether each holds numbers, dates or values.

    Parameters
    ----------
    X : data frame (pandas, polars, pyarrow), mapping of columns, or Records
        The records. ``numeric``, ``dates`` and ``categorical`` together must name all columns. ``hr.Records`` are read block by
        block, up to three times; the column of their labels is not a feature.
    y : sequence of length n_samples, optional
        The labels, if ``classes`` or an ``outcome`` are to be released; None with ``hr.Records``, which contain them.
    epsilon : float
        The budget of the release, read as its shortest decimal.
    delta : float
        The maximum probability that a value of a single record is shown in any column. It must be above 0 if values are queried.
    numeric, dates, categorical : sequence of str
        The columns of numbers, of dates or moments, and of values. Leave out a column whose entry is public: it then costs
        nothing. Declare it afterwards with ``schema.replace({"sex": hr.Categorical([...]), "smokes": hr.Boolean()})``.
    classes : sequence, optional
        The labels, if they are public.
    outcome : bool or Numeric, default False
        True: labels are numbers, whose range is released like that of a numeric column. If the range is public, pass it as an
        ``hr.Numeric`` or ``hr.Integer``. Outcomes outside a released range are clipped to it. With a long tail, a smaller
        ``trimmed`` keeps more of the mean.
    missing : sequence of str
        Further markers of a missing cell, as for ``Schema``.
    target : str, optional
        The name of the column of labels in files. ``outcome=True`` requires it.
    trimmed, failure : float
        With a probability of ``1 - failure``, at most ``trimmed * n + q`` of these records are beyond each end of each range that
        is guaranteed; ``ranges_`` has n and q. A warning names the other ranges.
    adjacency, random_state, ledger, groups
        As for an estimator and its ``fit``. The ledger is charged before any record is read.
    person : str, optional
        In place of groups: the column of X that identifies the person. The released schema names this column, or that of groups.
    records_per_person : int, optional
        The guarantee protects a person, of whom at most this many records are read. None: one. The released schema states it.

    Returns
    -------
    ReleasedSchema
        A schema whose entries have the origin "released", with its certificate.

    Raises
    ------
    ConfigurationError
        If a parameter or a column is wrong: nothing was charged or drawn.
    BudgetExceeded
        If the ledger refuses the release. Nothing was drawn.

    Warns
    -----
    UserWarning
        For ranges that are not guaranteed and columns without a value, by their released counts.

    Notes
    -----
    A value is released if its noisy count passes a threshold. Other values, and the counts, are not released. Korolova,
    Kenthapadi, Mishra and Ntoulas 2009; docs/proofs/released-schemas.md.

    Examples
    --------
    >>> import hedgerow as hr, numpy as np
    >>> X = {"age": np.arange(20_000) % 70 + 18, "job": np.where(np.arange(20_000) % 3, "nurse", "clerk")}
    >>> schema = hr.private_schema(
    ...     X, epsilon=6, delta=1e-6, numeric=["age"], categorical=["job"], classes=["ill", "well"], random_state=0
    ... )
    >>> schema.features["job"].values, type(schema.features["age"]).__name__
    (('clerk', 'nurse'), 'Integer')
    """
    claim, randomness = promised(
        1,
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        records_per_person=records_per_person,
        random_state=random_state,
        ledger=ledger,
    )
    columns: dict[str, tuple[Sequence[str], Feature]] = {
        "numeric": (numeric, Numeric(0, 1)),
        "dates": (dates, Date("2000-01-01", "2000-01-02")),  # type: ignore[arg-type]
        "categorical": (categorical, Categorical([NO_VALUE])),
    }
    stand_in = _stand_in(columns, classes, outcome, missing, target)
    stand_in = stand_in if person is None else stand_in.replace(person=person)
    with_outcome, with_classes = outcome is True, classes is None and stand_in.outcome is None
    _check(claim, bool(categorical) or with_classes, trimmed, failure)
    records, labels, persons = _read(X, y, groups, stand_in, with_labels=with_classes or with_outcome)
    plan = ReleasePlan.of(claim, stand_in, (trimmed, failure), with_classes=with_classes, with_outcome=with_outcome)
    who, seeded = None if persons is None else persons.name, randomness.seeded
    certificate = certify("private_schema", plan.event, None, claim, seeded=seeded, assumptions=ASSUMPTIONS, person=who)
    warn_of_claim(2, claim.delta)
    with nullcontext() if ledger is None else ledger.reserve(certificate), without_sizes():
        keep = keep_of(persons, claim.records_per_person, randomness)
        answers = plan.run(records, labels, randomness, keep)
    try:
        made = plan.schema(answers, certificate)
    except HedgerowError as error:  # otherwise it would look like a query that was refused before it cost anything
        raise EngineError(f"{error} The budget of this release is spent.") from error
    for text in plan.warnings_of(made):
        warnings.warn(text, UserWarning, stacklevel=2)
    return made


def _stand_in(
    columns: Mapping[str, tuple[Sequence[str], Feature]],
    classes: Sequence[Value] | None,
    outcome: bool | Numeric,
    missing: Sequence[str],
    target: str | None,
) -> Schema:
    """Return a schema with stand-ins for all that is queried; raise ConfigurationError for invalid names, markers and labels."""
    for what, (names, _) in columns.items():
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ConfigurationError(f"{what} must be a list of names of columns; pass for example {what}=['age'].")
    entries = {name: entry for names, entry in columns.values() for name in names}
    times = Counter(name for names, _ in columns.values() for name in names)
    twice = [name for name, number in times.items() if number > 1]
    if twice or not entries:
        what = f"{listed(twice)} stands there twice" if twice else "none names a column"
        raise ConfigurationError(f"numeric, dates and categorical name the columns of X, each once, but {what}.")
    labels: dict[str, Any] = {"classes": UNKNOWN if classes is None else classes}
    if outcome is not False and outcome is not None:
        if classes is not None:
            raise ConfigurationError("labels are classes or an outcome; pass classes=[...] or outcome, not both.")
        if outcome is True and target is None:
            raise ConfigurationError(
                "the outcome's range is released under its name; pass target='price', or what it is."
            )
        labels = {"outcome": Numeric(0, 1) if outcome is True else outcome}
    return Schema(entries, missing=missing, target=target, **labels)


def _check(claim: Claim, asks_values: bool, trimmed: float, failure: float) -> None:
    for value, name in ((trimmed, "trimmed"), (failure, "failure")):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 0.5:
            raise ConfigurationError(f"{name} is {value!r}, but it is a share; pass a number above 0 and below 0.5.")
    if asks_values and claim.delta == 0:
        raise ConfigurationError(
            "values are released where a noisy count passes a threshold, which one record may do with probability delta, so "
            "delta must be above 0; pass for example delta=1e-7, or declare the categories and classes that are public."
        )
    if not asks_values and claim.delta > 0:
        raise ConfigurationError("ranges are released under pure epsilon, which takes no delta; pass delta=0.")


@without_sizes()
def _read(
    X: Any, y: Any, groups: Any, stand_in: Schema, *, with_labels: bool
) -> tuple[Columns | Records, Any, Groups | None]:
    if isinstance(X, Records):
        check_alone(y, groups)
        X.check(stand_in, again=True)
        return X, None, X.groups_by(stand_in)
    check_same_order(X, groups, "groups")
    X, groups = split_groups(X, groups, stand_in.person)
    if with_labels and y is None:
        raise ConfigurationError(
            "a schema needs classes or an outcome: pass classes=[...] or outcome=hr.Numeric(low, high) where they are public, or "
            "y to have them released."
        )
    if not (isinstance(X, Mapping) or hasattr(X, "columns") or isinstance(X, Columns)):
        raise ConfigurationError(
            f"X is {type(X).__name__}, whose columns have no names, but numeric, dates and categorical name them. Pass a data "
            "frame, or a mapping of columns."
        )
    labels = None
    if with_labels:
        columns, labels = read_records(X, y, stand_in.features, None)
    else:
        columns = read_columns(X, stand_in.features, allow_empty=False)
    return columns, labels, read_groups(groups, columns.n_rows, stand_in.missing, stand_in.person)
