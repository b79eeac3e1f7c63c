"""A schema that is released, not read off: ranges and values by private questions, under a certificate of their own."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from hedgerow.analysis.questions import RULES, claim_of_values, refuse_elsewhere
from hedgerow.analysis.ranges import RangePlan, ReleasedRange
from hedgerow.curator.values import Values
from hedgerow.errors import ConfigurationError, EngineError, HedgerowError, without_sizes
from hedgerow.mechanisms import Geometric, PassesThreshold, Randomness
from hedgerow.parameters import RandomSource, check_parameters
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.certificate import Certificate, certify, warn_of_delta
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Event
from hedgerow.privacy.events import Sequence as InSequence
from hedgerow.privacy.ledger import Ledger
from hedgerow.schema import Categorical, Numeric, Schema
from hedgerow.schema.columns import Columns, read_columns, read_groups, read_records
from hedgerow.schema.features import Feature, Value
from hedgerow.table import Keep, keep_of
from hedgerow.texts import listed

__all__ = ["ReleasedSchema", "private_schema"]

NO_VALUE = "no value was released"  # the one value of a column of which none passed
ASSUMPTIONS = (
    "the names of the columns, and which of them are numeric, being public",
    "X and y as given: what was done to them before by looking at them is not covered",
)


class ReleasedSchema(Schema):
    """A schema whose entries a private operation released.

    It is a ``Schema`` in every way, and holds what was released beside it; copies made by ``replace`` and files hold the
    entries alone, with the digest of the certificate.

    Attributes
    ----------
    certificate_ : Certificate
        What the release cost.
    ranges_ : mapping of str to ReleasedRange
        What was released of each numeric column, and whether its range is promised.
    """

    __slots__ = ("_certificate", "_ranges")

    _certificate: Certificate
    _ranges: Mapping[str, ReleasedRange]

    @classmethod
    def of(cls, schema: Schema, certificate: Certificate, ranges: Mapping[str, ReleasedRange]) -> ReleasedSchema:
        """Return a schema with what was released beside it."""
        made = cls(
            schema.features,
            schema.classes,
            missing=schema.missing,
            target=schema.target,
            classes_origin=schema.classes_origin,
            classes_release=schema.classes_release,
        )
        object.__setattr__(made, "_certificate", certificate)
        object.__setattr__(made, "_ranges", MappingProxyType(dict(ranges)))
        return made

    @property
    def certificate_(self) -> Certificate:
        """What the release cost."""
        return self._certificate

    @property
    def ranges_(self) -> Mapping[str, ReleasedRange]:
        """What was released of each numeric column."""
        return self._ranges


@dataclass(frozen=True)
class ReleasePlan:
    """What a release asks: one share of the budget for each column, and one for the classes where they are not public."""

    share: Fraction
    delta_share: Fraction
    records_per_person: int
    ranges: RangePlan | None
    categorical: tuple[int, ...]
    with_classes: bool
    missing: tuple[str, ...]

    @property
    def threshold(self) -> PassesThreshold:
        """What tells the values of one column."""
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

    def run(
        self, columns: Columns, labels: Any, randomness: Randomness
    ) -> tuple[list[ReleasedRange], list[list[Value]]]:
        """Return the ranges of the numeric columns, and the values of the categorical ones and then of the classes."""
        ranges = [] if self.ranges is None else self.ranges.release(columns, randomness)
        values = Values(self.missing, cost(InSequence(self._listed)), randomness)
        cells = [columns.cells(column) for column in self.categorical] + ([labels] if self.with_classes else [])
        return ranges, [values.shown(column, self.threshold) for column in cells]


def private_schema(
    X: Any,
    y: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    classes: Sequence[Value] | None = None,
    missing: Sequence[str] = (),
    target: str | None = None,
    trimmed: float = 0.01,
    failure: float = 0.05,
    adjacency: str = "add-remove",
    random_state: RandomSource = None,
    ledger: Ledger | None = None,
    groups: Any = None,
    records_per_person: int = 1,
) -> ReleasedSchema:
    """Release a schema of records whose ranges and values are not public.

    Releases  a range and whether numbers are whole, for each numeric column; the values that enough records hold, for each
              categorical one and, where they are not given, for the classes.
    Costs     ``epsilon``, and ``delta`` where values are asked for: equal shares for all columns, and for the classes.
    Assumes   that the names of columns and which are numeric are public.

    Parameters
    ----------
    X : data frame (pandas, polars, pyarrow) or mapping of columns
        The records; ``numeric`` and ``categorical`` together name all its columns.
    y : sequence of length n_samples, optional
        The labels, where ``classes`` are to be released.
    epsilon : float
        The budget of the release, read as its shortest decimal.
    delta : float
        The chance with which a value that one record alone holds may be shown in any column; above 0 where values are asked for.
    numeric, categorical : sequence of str
        Which columns hold numbers, and which values. What is public of another is declared afterwards, with
        ``schema.replace({"sex": hr.Categorical([...])})``, and costs nothing if it is left out here.
    classes : sequence, optional
        The labels, where they are public.
    missing : sequence of str
        What else stands for a missing cell, as for ``Schema``.
    target : str, optional
        The name of the label's column in files.
    trimmed, failure : float
        With a chance of ``1 - failure`` at most ``trimmed * n + q`` of these records lie beyond each end of each range that is
        promised, n and q as ``ranges_`` states them. Others are named in a warning.
    adjacency : {"add-remove", "replace-one"}
        What neighboring data sets are. For one record replaced the release runs at half the budget.
    random_state : None, int or numpy generator
        None draws from the operating system, as a guarantee needs; anything else is for tests.
    ledger : Ledger or None
        Where the release is booked before any record is read.
    groups : sequence of length n_samples, optional
        Who each record is of, as for ``fit``; it is no column of X.
    records_per_person : int, default 1
        The guarantee is for one person, of whom at most so many records are read.

    Returns
    -------
    ReleasedSchema
        A schema whose entries have the origin "released", with its certificate.

    Raises
    ------
    ConfigurationError
        If a parameter or a column is wrong: nothing was booked or drawn. If the classes were asked for and none stands out:
        the budget is spent.
    BudgetExceeded
        If the ledger refuses the release; nothing was drawn.

    Warns
    -----
    UserWarning
        For ranges that are not promised and columns without a value, by their released counts.

    Notes
    -----
    Values are shown where their noisy count passes a threshold; nobody learns the others, or the counts. Korolova, Kenthapadi,
    Mishra and Ntoulas 2009; docs/proofs/released-schemas.md.

    Examples
    --------
    >>> import hedgerow as hr, numpy as np
    >>> X = {"age": np.arange(20_000) % 70 + 18, "job": np.where(np.arange(20_000) % 3, "nurse", "clerk")}
    >>> schema = hr.private_schema(
    ...     X, epsilon=1, delta=1e-6, numeric=["age"], categorical=["job"], classes=["ill", "well"], random_state=0
    ... )
    >>> schema.features["job"].values, type(schema.features["age"]).__name__
    (('clerk', 'nurse'), 'Integer')
    """
    given = {"epsilon": epsilon, "delta": delta, "adjacency": adjacency, "records_per_person": records_per_person}
    claim = claim_of_values(check_parameters({**given, "random_state": random_state, "ledger": ledger}, RULES))
    numeric, categorical = _names(numeric, "numeric"), _names(categorical, "categorical")
    _check(claim, numeric, categorical, classes, y, trimmed, failure)
    # Refuses markers, classes and a target that no schema takes, before anything is spent.
    stand_in = Schema(
        _entries(numeric, categorical), [0] if classes is None else classes, missing=missing, target=target
    )
    columns, labels = _read(X, y if classes is None else None, stand_in)
    persons = read_groups(groups, columns.n_rows, stand_in.missing)
    randomness = Randomness(random_state)
    plan = _plan(claim, columns, numeric, categorical, classes is None, stand_in.missing, (trimmed, failure))
    certificate = certify(
        "private_schema",
        plan.event,
        None,
        variant="private",
        claim=claim,
        seeded=randomness.seeded,
        assumptions=ASSUMPTIONS,
        person=None if persons is None else persons.name,
    )
    warn_of_delta(claim.delta, stacklevel=2)
    with nullcontext() if ledger is None else ledger.reserve(certificate), without_sizes():
        keep = keep_of(persons, claim.records_per_person, randomness)
        if keep is not None:
            columns, labels = _kept(columns, labels, keep)
        ranges, found = plan.run(columns, labels, randomness)
    if classes is None and not found[-1]:
        raise ConfigurationError(
            f"no class stands out: a label is shown where its noisy count reaches {plan.threshold.threshold}. The budget of this "
            "release is spent. Pass classes=[...] if they are public, or a larger epsilon."
        )
    try:
        made = _schema(columns.names, plan, ranges, found, stand_in, certificate)
    except HedgerowError as error:  # otherwise it would pass for a question that was refused before it cost anything
        raise EngineError(f"{error} The budget of this release is spent.") from error
    _warn(made, plan)
    return made


def _names(names: Sequence[str], what: str) -> tuple[str, ...]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise ConfigurationError(f"{what} must be a list of names of columns; pass for example {what}=['age'].")
    return tuple(names)


def _check(
    claim: Claim,
    numeric: Sequence[str],
    categorical: Sequence[str],
    classes: Sequence[Value] | None,
    y: Any,
    trimmed: float,
    failure: float,
) -> None:
    """Raise ConfigurationError where the question makes no sense."""
    twice = [name for name in dict.fromkeys(numeric) if name in categorical or list(numeric).count(name) > 1]
    twice += [name for name in dict.fromkeys(categorical) if list(categorical).count(name) > 1]
    if twice or not (numeric or categorical):
        what = f"{listed(twice)} stands there twice" if twice else "neither names a column"
        raise ConfigurationError(f"numeric and categorical name the columns of X, each once, but {what}.")
    for value, name in ((trimmed, "trimmed"), (failure, "failure")):
        if not isinstance(value, int | float) or not 0 < value < 0.5:
            raise ConfigurationError(f"{name} is {value!r}, but it is a share; pass a number above 0 and below 0.5.")
    if classes is None and y is None:
        raise ConfigurationError("a schema needs classes: pass them if they are public, or y to have them released.")
    asks = bool(categorical) or classes is None
    if asks and claim.delta == 0:
        raise ConfigurationError(
            "values are released where a noisy count passes a threshold, which one record may do with probability delta, so "
            "delta must be above 0; pass for example delta=1e-7, or declare the categories and classes that are public."
        )
    if not asks and claim.delta > 0:
        raise ConfigurationError("ranges are released under pure epsilon, which takes no delta; pass delta=0.")


def _entries(numeric: Sequence[str], categorical: Sequence[str]) -> dict[str, Feature]:
    return {
        **{name: Numeric(0, 1) for name in numeric},
        **{name: Categorical([NO_VALUE]) for name in categorical},
    }


def _read(X: Any, y: Any, stand_in: Schema) -> tuple[Columns, Any]:
    """Return the columns in their own order, and the labels, if any."""
    refuse_elsewhere(X)
    if not (isinstance(X, Mapping) or hasattr(X, "columns") or isinstance(X, Columns)):
        raise ConfigurationError(
            f"X is {type(X).__name__}, whose columns have no names, but numeric and categorical name them. Pass a data frame, or "
            "a mapping of columns."
        )
    if y is None:
        return read_columns(X, stand_in.features, allow_empty=False), None
    return read_records(X, y, stand_in.features, None)


def _kept(columns: Columns, labels: Any, keep: Keep) -> tuple[Columns, Any]:
    """Return the records that count, of all that have an id: which labels there are may be what is asked."""
    kept = keep.of(np.ones(columns.n_rows, dtype=np.bool_))
    parts = [columns.cells(column)[kept] for column in range(len(columns.names))]
    return Columns(columns.names, int(kept.sum()), parts=parts), None if labels is None else labels[kept]


def _plan(
    claim: Claim,
    columns: Columns,
    numeric: Sequence[str],
    categorical: Sequence[str],
    with_classes: bool,
    missing: tuple[str, ...],
    promise: tuple[float, float],
) -> ReleasePlan:
    place = {name: i for i, name in enumerate(columns.names)}
    parts = len(numeric) + len(categorical) + with_classes
    thresholds = len(categorical) + with_classes
    share, pure_delta = claim.pure / parts, claim.pure_delta
    ranges = None
    if numeric:
        ranges = RangePlan(share * len(numeric), tuple(place[name] for name in numeric), *promise, missing)
    places = tuple(place[name] for name in categorical)
    delta_share, most = pure_delta / max(thresholds, 1), claim.records_per_person
    return ReleasePlan(share, delta_share, most, ranges, places, with_classes, missing)


def _schema(
    names: Sequence[str],
    plan: ReleasePlan,
    ranges: Sequence[ReleasedRange],
    found: Sequence[Sequence[Value]],
    stand_in: Schema,
    certificate: Certificate,
) -> ReleasedSchema:
    """Return the schema that was released; every entry carries the digest of the certificate."""
    release = certificate.digest
    numeric = () if plan.ranges is None else plan.ranges.columns
    features: dict[str, Feature] = {}
    for column, one in zip(numeric, ranges, strict=True):
        features[names[column]] = one.feature(release)
    for column, values in zip(plan.categorical, found, strict=False):
        features[names[column]] = Categorical(values or [NO_VALUE], origin="released", release=release)
    ordered = {name: features[name] for name in names}
    classes: dict[str, Any] = {"classes": stand_in.classes}
    if plan.with_classes:
        classes = {"classes": found[-1], "classes_origin": "released", "classes_release": release}
    schema = Schema(ordered, missing=stand_in.missing, target=stand_in.target, **classes)
    return ReleasedSchema.of(schema, certificate, {names[c]: one for c, one in zip(numeric, ranges, strict=True)})


def _warn(schema: ReleasedSchema, plan: ReleasePlan) -> None:
    """Say which released counts were too noisy for what was asked."""
    loose = {name: one for name, one in schema.ranges_.items() if not one.promised}
    if loose:
        worst = max(loose, key=lambda name: loose[name].error)
        one = loose[worst]
        warnings.warn(
            f"no range is promised for {listed(list(loose))}: for {worst!r} the noisy number of records is {one.records} and a "
            f"tail's may be off by {one.error}, more than the share that may be cut off, or the first question had cut off more. "
            "The ranges are the best that these counts show. Pass a larger epsilon, fewer columns or a larger trimmed.",
            UserWarning,
            stacklevel=3,
        )
    bare = [name for name, one in schema.features.items() if isinstance(one, Categorical) and one.values == (NO_VALUE,)]
    if bare:
        warnings.warn(
            f"no value of {listed(bare)} was released: none has a noisy count of {plan.threshold.threshold} or more. All cells "
            "are undeclared there; declare values that are public, or drop the column.",
            UserWarning,
            stacklevel=3,
        )
