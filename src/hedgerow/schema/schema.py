"""The schema: everything that a private fit may know about the records before it queries them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from hedgerow.errors import PrivacyLeakWarning, SchemaError, require
from hedgerow.files import LONGEST_WORDS, MOST_RECORDS_OF_ONE, Place, atomic_file, is_path, place_name, write_object
from hedgerow.reading.columns import read_columns, read_labels, read_records
from hedgerow.reading.persons import without_column
from hedgerow.reading.table_file import COMMAS, FileForm
from hedgerow.schema.check import Checker, SchemaReport
from hedgerow.schema.features import Categorical, Feature, Numeric, Origin, Value, distinct_values, missing_markers
from hedgerow.schema.infer import column_of, guess_classes, guess_feature, guess_range
from hedgerow.schema.toml import (
    ORIGINS,
    check_keys,
    dump_toml,
    entry_of,
    made_at,
    parse_toml,
    read_entry,
    read_features,
    read_toml,
    table_of,
)
from hedgerow.schema.types import OutcomeGrid, check_outcome, grid_of
from hedgerow.texts import LONGEST_REPR, shortened

CLASSES, OUTCOME = "classes", "outcome"  # the names of the entry of the labels in lists and for ``confirm``
COLUMNS = ("target", "person", "records_per_person", "ignore", "delimiter", "encoding")


@dataclass(frozen=True, eq=False, repr=False)
class Schema:
    """The public description of records: their features, and their labels, which are classes or an outcome.

    Parameters
    ----------
    features
        A ``Numeric`` or ``Categorical`` for each column name. Columns without names are in this order.
    classes
        The labels, in an order for people to read. Columns of probabilities follow the sorted labels. As in categories, 1 and "1"
        are the same label.
    outcome
        For regressors, in place of classes: the range of the number to predict, an ``hr.Numeric`` or, for counts, an
        ``hr.Integer``. It is public knowledge, like every range. A value outside the range is clipped to it. A record whose
        outcome is not a number is left out.
    missing
        Further markers of a missing cell in any column, such as "?". If a categorical feature or the classes declare the same
        value, it is that value.
    target
        The name of the column of labels in files that contain records and labels.
    person
        The name of the column that identifies the person of each record. It must not be one of the features. A fit finds it
        among the columns and reads at most ``records_per_person`` records of each person, drawn at random.
    records_per_person
        The number of records of one person that a guarantee covers, unless an estimator sets another number. Without ``person``,
        it is the data owner's promise that no person has more.
    ignore
        Names of columns of files and tables that are neither features nor labels, such as a free text: nothing reads them.
    delimiter, encoding
        The format of CSV files of these records: the character between cells (None: a comma), and the encoding, which is UTF-8
        (None) or a single-byte extension of ASCII such as "windows-1252". Readers use them unless their arguments say otherwise.
    classes_origin, classes_release, classes_reason
        The origin is "given", "inferred" if the classes were read off the records, or "released" if a private operation released
        them. In that case ``classes_release`` is the hash of the operation's certificate. The reason says why they are public.

    Raises
    ------
    SchemaError
        If an entry is wrong, or the schema has both classes and an outcome, or neither.

    Notes
    -----
    A schema is immutable; copying returns the schema itself. Two schemas are equal if their entries and the order of these,
    classes or outcome, missing markers, target, person and origins are equal.

    Examples
    --------
    >>> schema = Schema({"age": Numeric(17, 90), "sex": Categorical(["Female", "Male"])}, classes=["<=50K", ">50K"])
    >>> schema.names
    ('age', 'sex')
    >>> Schema({"carat": Numeric(0, 5)}, outcome=Numeric(0, 20_000), target="price").outcome
    Numeric(0, 20000)
    """

    features: Mapping[str, Feature]
    classes: Sequence[Value] = None  # type: ignore[assignment]  # only of a schema with an outcome, where it becomes ()
    outcome: Numeric | None = field(default=None, kw_only=True)
    missing: Sequence[str] = field(default=(), kw_only=True)
    target: str | None = field(default=None, kw_only=True)
    person: str | None = field(default=None, kw_only=True)
    records_per_person: int = field(default=1, kw_only=True)
    ignore: Sequence[str] = field(default=(), kw_only=True)
    delimiter: str | None = field(default=None, kw_only=True)
    encoding: str | None = field(default=None, kw_only=True)
    classes_origin: Origin = field(default="given", kw_only=True)
    classes_release: str | None = field(default=None, kw_only=True)
    classes_reason: str | None = field(default=None, kw_only=True)
    labels: Feature = field(init=False)

    def __post_init__(self) -> None:
        labels = _checked_labels(self)
        features = _checked_features(self.features)
        _check_columns(self, features)
        COMMAS.replaced(self.delimiter, self.encoding)  # raises SchemaError if one is wrong
        values = {
            "features": MappingProxyType(features),
            "classes": labels.values if isinstance(labels, Categorical) else (),
            "missing": missing_markers(self.missing),
            "ignore": tuple(self.ignore),
            "records_per_person": int(self.records_per_person),
            "labels": labels,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def file_form(self) -> FileForm:
        labels = {self.target} if isinstance(self.target, str) and self.outcome is None else set()
        categories = {name for name, feature in self.features.items() if isinstance(feature, Categorical)}
        return FileForm(categories=frozenset(categories | labels)).replaced(self.delimiter, self.encoding)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features, in order."""
        return tuple(self.features)

    @property
    def is_numeric(self) -> tuple[bool, ...]:
        """Which of the features are numeric, in order."""
        return tuple(isinstance(feature, Numeric) for feature in self.features.values())

    @property
    def outcome_grid(self) -> OutcomeGrid:
        """The public grid on which outcomes are read as integers; SchemaError if the schema has classes."""
        if self.outcome is None:
            raise SchemaError("The schema has classes and no outcome, so it has no grid of outcomes.")
        return grid_of(self.outcome)

    @property
    def _labels_name(self) -> str:
        return CLASSES if self.outcome is None else OUTCOME

    @property
    def _entries(self) -> list[tuple[str, Feature]]:
        return [*self.features.items(), (self._labels_name, self.labels)]

    @property
    def releases(self) -> dict[str, list[str]]:
        """The names of the released entries by the hash of the certificate; "classes" or "outcome" is last."""
        found: dict[str, list[str]] = {}
        for name, entry in self._entries:
            if entry.release is not None:
                found.setdefault(entry.release, []).append(name)
        return found

    @property
    def reasons(self) -> dict[str, str]:
        """Why entries are public, by their names, where it was said; "classes" or "outcome" is last."""
        return {name: entry.reason for name, entry in self._entries if entry.reason is not None}

    @property
    def inferred(self) -> list[str]:
        """The names of the entries that were read off the records; "classes" or "outcome" is last."""
        return [name for name, entry in self._entries if entry.origin == "inferred"]

    @property
    def is_given(self) -> bool:
        """Whether all entries were given, or released at a cost of their own: none was read off the records unprotected."""
        return not self.inferred

    def replace(self, features: Mapping[str, Feature] | None = None, **entries: Any) -> Schema:
        """Return a schema with some entries replaced: arguments of ``Schema``, of which None keeps the present value.

        New features come last. New classes, or a new outcome, take the place of the former ones and of their origin.

        Examples
        --------
        >>> Schema({"age": Numeric(17, 90)}, [0, 1]).replace({"age": Numeric(0, 120)})
        Schema({'age': Numeric(0, 120)}, classes=[0, 1])
        """
        changes = {name: value for name, value in entries.items() if value is not None}
        kept = {one.name: getattr(self, one.name) for one in fields(Schema) if one.init}
        if {"classes", "outcome"} & set(changes):
            kept |= {"outcome": None, "classes_origin": "given", "classes_release": None, "classes_reason": None}
        if kept["outcome"] is not None or "outcome" in changes:
            kept["classes"] = None
        return Schema(**{**kept, **changes, "features": {**self.features, **(features or {})}})

    def confirm(self, *names: str, reason: str | None = None) -> Schema:
        """Return a schema in which these inferred entries count as given; without arguments, all inferred entries.

        By calling this you state that the entries are public knowledge and would have been the same without a look at the
        records. "classes" or "outcome" names the entry of the labels (and a feature of that name, if there is one). A ``reason``
        says why they are public.
        """
        known = {*self.features, self._labels_name}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise SchemaError(f"The schema has no entry {unknown[0]!r} to confirm. Pass names out of schema.inferred.")
        chosen = set(names) if names else known
        labels: dict[str, Any] = {}
        if self._labels_name in chosen:
            given = self.labels.given(reason)
            classes = {"classes": self.classes, "classes_reason": given.reason}
            labels = classes if self.outcome is None else {"outcome": given}
        return self.replace(
            {name: self.features[name].given(reason) for name in chosen if name in self.features}, **labels
        )

    def without_ignored(self, X: Any) -> Any:
        for name in self.ignore:
            X = without_column(X, name)[0]
        return X

    def cut_at(self, cuts: Mapping[str, Sequence[float]]) -> Schema:
        """Return this schema with other cut points for the named numeric features. The cut points are public or released."""
        features = dict(self.features)
        for name, own in cuts.items():
            if isinstance(entry := features.get(name), Numeric):
                features[name] = entry.cut_at(own)
        schema = object.__new__(Schema)  # nothing but the cut points needs a check, and a fit's have hundreds
        vars(schema).update(vars(self), features=MappingProxyType(features))
        return schema

    @classmethod
    def infer(cls, X: Any, y: Any, max_categories: int = 50, *, outcome: bool = False) -> Schema:
        """Guess a schema from records, for exploration only.

        The ranges, values and classes are read off the records, by the rule of ``hedgerow schema init``. No guarantee holds for
        a fit with this schema until the data owner replaces or confirms each entry.

        Parameters
        ----------
        X, y
            Records and their labels.
        max_categories
            The maximum number of values of a categorical feature. The most frequent values are kept.
        outcome
            Whether the labels are numbers to predict, not classes.

        Warns
        -----
        PrivacyLeakWarning
            Always.
        """
        warnings.warn(
            "Schema.infer reads ranges, values and classes off the records, which no guarantee covers. "
            "Replace or confirm each entry by public knowledge before you rely on a certificate.",
            PrivacyLeakWarning,
            stacklevel=2,
        )
        require(max_categories >= 1, "max_categories", max_categories, "1 or more")
        columns = read_columns(X, allow_empty=False)
        features = {
            name: guess_feature(column_of(columns.cells(i)), max_categories) for i, name in enumerate(columns.names)
        }
        name = getattr(y, "name", None)
        target = name if isinstance(name, str) and name and name not in features else None
        labels = column_of(read_labels(y))
        if outcome:
            return cls(features, outcome=guess_range(labels), target=target)
        return cls(features, guess_classes(labels), target=target, classes_origin="inferred")

    def check_text(self) -> None:
        """Raise SchemaError if the schema contains text that cannot be encoded in UTF-8, and so cannot be written to a file."""
        try:
            json.dumps(self.to_dict(), ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            text = error.object[error.start : error.end]
            raise SchemaError(f"The schema has {text!a}, which UTF-8 cannot encode. Rename what contains it.") from None

    def check(self, X: Any, y: Any = None) -> SchemaReport:
        """Count the disagreements between records and the schema, without protection: only the data owner may see the counts.

        A fit never calls this and does not report these counts, because they would reveal facts about the records.

        Parameters
        ----------
        X, y
            Records and their labels, as for ``fit``. None: the labels of the target column of ``X``, if it has one.

        Returns
        -------
        SchemaReport
            For each column, the numbers of cells that are missing, undeclared or out of range. It also lists the columns of which
            no cell can be read, and whether no label is one of the classes. It prints as a page.

        Raises
        ------
        ConfigurationError
            As ``fit`` does, if ``X`` or ``y`` has a type or shape that cannot be records of this schema.

        Examples
        --------
        >>> schema = Schema({"age": Numeric(17, 90)}, classes=["no", "yes"])
        >>> report = schema.check({"age": [20, 95]}, ["No", "Yes"])
        >>> report.unlabeled, report.features["age"].above
        (True, 1)
        """
        X, own = without_column(self.without_ignored(without_column(X, self.person)[0]), self.target)
        y = own if y is None else y
        if y is None:
            columns, labels = read_columns(X, self.features, allow_empty=False), None
        else:
            columns, labels = read_records(X, y, self.features, self.labels)
        checker = Checker(self.features, self.missing, None if labels is None else self.labels)
        checker.add(columns, labels)
        return checker.report("y", "pass the right labels")

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as JSON-able values, with the features as a list in order."""
        result = {name: value for name in COLUMNS if (value := getattr(self, name)) not in (None, ())}
        if self.ignore:
            result["ignore"] = list(self.ignore)
        if self.person is None and self.records_per_person == 1:
            del result["records_per_person"]
        result["missing"] = list(self.missing)
        if self.outcome is None:
            result[CLASSES] = list(self.classes)
            result |= {name: value for name in ORIGINS if (value := getattr(self, name)) not in (None, "given")}
        else:
            result[OUTCOME] = entry_of(self.outcome)
        return {**result, "features": [{"name": name, **entry_of(one)} for name, one in self.features.items()]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], place: str = "schema") -> Self:
        """Return the schema that ``to_dict`` wrote; errors name its source as ``place``."""
        known = {"missing", *COLUMNS, *ORIGINS}
        labels = OUTCOME if OUTCOME in values else CLASSES
        check_keys(values, {labels}, {"features", *known}, place)
        features = read_features(values.get("features"), place)
        rest = {key: value for key, value in values.items() if key != "features"}
        if labels == OUTCOME:
            where = f"{place}: {OUTCOME}"
            rest[OUTCOME] = read_entry({**table_of(values[OUTCOME], where), "name": OUTCOME}, where)
        schema: Self = made_at(place, cls, features, **rest)
        return schema

    def to_toml(self) -> str:
        """Return the schema as TOML text."""
        self.check_text()
        return dump_toml(self.to_dict())

    @classmethod
    def from_toml(cls, text: str, place: str = "schema") -> Schema:
        """Return the schema that a TOML text describes.

        Raises
        ------
        FileFormatError
            If the text is not TOML.
        SchemaError
            If the text does not describe a schema; the message names the place.
        """
        return cls.from_dict(parse_toml(text, place), place)

    def save(self, path: Place) -> None:
        """Write the schema to a TOML file, completely or not at all. An existing file is replaced.

        ``path`` may also be a binary file object.
        """
        content = self.to_toml().encode()
        if is_path(path, "write"):
            with atomic_file(path) as part:
                part.write_bytes(content)
        else:
            write_object(path, content)

    @classmethod
    def load(cls, path: Place) -> Schema:
        """Read a schema from a TOML file, or from a binary file object. Errors are those of ``from_toml``."""
        return cls.from_toml(read_toml(path), place_name(path))

    def _state(self) -> tuple[Any, ...]:
        return tuple(self.features.items()), self.labels, self.missing, *(getattr(self, name) for name in COLUMNS)

    def __eq__(self, other: object) -> bool:
        return self._state() == other._state() if isinstance(other, Schema) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._state())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        given = {} if self.classes == () else {"classes": self.classes}
        options = {one.name: one.default for one in fields(self) if one.kw_only}
        given |= {name: getattr(self, name) for name, default in options.items() if getattr(self, name) != default}
        texts = [f"{name}={list(value) if isinstance(value, tuple) else value!r}" for name, value in given.items()]
        return shortened(f"Schema({', '.join([repr(dict(self.features)), *texts])})", LONGEST_REPR)


def _checked_labels(schema: Schema) -> Feature:
    classes, outcome, reason = schema.classes, schema.outcome, schema.classes_reason
    origin, release = schema.classes_origin, schema.classes_release
    if (classes is None) == (outcome is None):
        raise SchemaError(
            f"The schema has {'neither classes nor an outcome' if classes is None else 'classes and an outcome'}. Pass "
            "classes=[...] for a classifier, or outcome=hr.Numeric(low, high) for a regressor."
        )
    if outcome is None:
        values = distinct_values(classes, "class")
        return Categorical(values, origin=origin, release=release, reason=reason)
    if (origin, release, reason) != ("given", None, None):
        raise SchemaError(
            "classes_origin, classes_release and classes_reason must be left out: an outcome has its own."
        )
    return check_outcome(outcome)


def _checked_features(features: Any) -> dict[str, Feature]:
    if not isinstance(features, Mapping) or not features:
        raise SchemaError('The schema has no features. Pass a mapping such as {"age": hr.Numeric(0, 120)}.')
    for name, feature in features.items():
        require(isinstance(name, str) and name, "the name of a feature", name, "that of its column, as text")
        if not isinstance(feature, Numeric | Categorical):
            raise SchemaError(
                f"feature {name!r} has no range and no values. They must be public knowledge. Pass hr.Numeric(0, 120) or "
                "hr.Categorical(['no', 'yes']), or use Schema.infer to explore without a guarantee."
            )
    return dict(features)


def _check_columns(schema: Schema, features: Mapping[str, Feature]) -> None:
    target, person, records = schema.target, schema.person, schema.records_per_person
    is_target = target is None or (isinstance(target, str) and target not in features)
    require(is_target, "target", target, "the name of the column of the labels, which is no feature")
    others, ignored = [*features, target], schema.ignore
    is_list = not isinstance(ignored, str)
    are_others = is_list and all(isinstance(name, str) and name not in (*others, person) for name in ignored)
    require(are_others, "ignore", ignored, "a list of columns that are neither features nor the target nor the person")
    is_name = isinstance(person, str) and 0 < len(person) <= LONGEST_WORDS and person not in others
    rule = f"the name of a column of its own, of up to {LONGEST_WORDS} characters: nothing is learned from ids"
    require(person is None or is_name, "person", person, rule)
    is_number = isinstance(records, int | np.integer) and not isinstance(records, bool)
    rule = f"an integer from 1 to {MOST_RECORDS_OF_ONE}, how many records of one person a guarantee covers"
    require(is_number and 1 <= records <= MOST_RECORDS_OF_ONE, "records_per_person", records, rule)
