"""Parameters of estimators, their constraints and one error sentence for all; weights of classes; units of weights and votes."""

from __future__ import annotations

import inspect
import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.errors import ConfigurationError, shown
from hedgerow.reading.cells import CategoryReader
from hedgerow.schema import Schema

Stored = int | str | dict[str, int] | dict[str, int | float] | list[int] | None
RandomSource = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None  # what ``Seed`` allows

LARGEST_WEIGHT = 1e300  # which a float holds
LABELS = str | bool | np.bool_ | int | float | np.integer | np.floating
OR_NONE = ", or None to have it chosen by a public rule"


class Constraint(ABC):
    """A rule for the values of a parameter. As text it is the end of "it must be ..."."""

    rule: str
    or_none: bool = False  # whether None is allowed

    def plain(self, value: Any) -> Any:
        """Return the plain Python value that plans, events and files hold, or raise ValueError if the rule forbids the value.

        It is a new object, so that what the caller changes later changes no plan.
        """
        return None if value is None and self.or_none else self._plain(value)

    @abstractmethod
    def _plain(self, value: Any) -> Any: ...

    def allows(self, value: object) -> bool:
        try:
            self.plain(value)
        except ValueError:
            return False
        return True

    def __str__(self) -> str:
        return self.rule


@dataclass(frozen=True)
class WholeNumber(Constraint):
    low: int
    high: int
    or_none: bool = False

    def _plain(self, value: Any) -> int:
        if not _is_integer(value) or not self.low <= int(value) <= self.high:
            raise ValueError
        return int(value)

    def __str__(self) -> str:
        return f"an integer from {self.low} to {self.high}{OR_NONE if self.or_none else ''}"


@dataclass(frozen=True)
class Choice(Constraint):
    options: tuple[str, ...]
    or_none: bool = False

    def _plain(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.options:
            raise ValueError
        return str(value)

    def __str__(self) -> str:
        return " or ".join(map(repr, self.options)) + (OR_NONE if self.or_none else "")


@dataclass(frozen=True)
class Flag(Constraint):
    rule = "True or False"

    def _plain(self, value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise ValueError
        return bool(value)


@dataclass(frozen=True)
class Exact(Constraint):
    """A number that ``read`` turns into an exact fraction or refuses, such as a privacy budget; ``rule`` says which."""

    read: Callable[[object], Fraction]
    rule: str

    def _plain(self, value: Any) -> float | Fraction:
        """Return the float whose shortest decimal is the number, or the fraction where there is none."""
        number = self.read(value)
        near = float(number)
        return near if Fraction(repr(near)) == number else number


@dataclass(frozen=True)
class Instance(Constraint):
    kind: type
    rule: str

    or_none = True

    def _plain(self, value: Any) -> Any:
        if not isinstance(value, self.kind):
            raise ValueError
        return value


@dataclass(frozen=True)
class Signs(Constraint):
    rule = "a dict of features' names to -1, 0 or 1, a list of these for all features, or None"
    or_none = True

    def _plain(self, value: Any) -> dict[str, int] | list[int]:
        if isinstance(value, Mapping):
            names, signs = list(value), list(value.values())
        elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1):
            names, signs = [], list(value)
        else:
            raise ValueError
        if not all(isinstance(name, str) for name in names) or not all(
            _is_integer(s) and s in (-1, 0, 1) for s in signs
        ):
            raise ValueError
        whole = [int(sign) for sign in signs]
        return dict(zip(map(str, names), whole, strict=True)) if isinstance(value, Mapping) else whole


@dataclass(frozen=True)
class ClassNumbers(Constraint):
    rule = (
        "a dict of classes to positive numbers that are public knowledge, or None, since 'balanced' would read how many "
        "records each class has off the records themselves"
    )
    or_none = True

    def _plain(self, value: Any) -> dict[Any, int | float]:
        if not isinstance(value, Mapping) or not all(isinstance(label, LABELS) for label in value):
            raise ValueError
        plain = {_python(label): _python(weight) for label, weight in value.items()}
        if not all(type(weight) in (int, float) and 0 < weight <= LARGEST_WEIGHT for weight in plain.values()):
            raise ValueError
        return plain


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Seed(Constraint):
    rule = (
        "None (the operating system's entropy, which a guarantee needs), a non-negative integer or a numpy generator; pass "
        "random_state=None"
    )
    or_none = True

    def _plain(self, value: Any) -> Any:
        if isinstance(value, np.random.Generator | np.random.RandomState):
            return value
        if not _is_integer(value) or value < 0:
            raise ValueError
        return int(value)


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def parameter(rule: Constraint, *, default: Any, kw_only: bool = True) -> Any:
    return field(default=default, kw_only=kw_only, metadata={"rule": rule})


def rules_of(kind: type) -> dict[str, Constraint]:
    return {each.name: each.metadata["rule"] for each in fields(kind)}


SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)  # a numpydoc heading
SECTIONS = ("Parameters", "Attributes", "Notes", "Examples")
EXAMPLE = """
>>> import numpy as np, hedgerow as hr
>>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
>>> y = np.where(X[:, 0] > 0.5, "high", "low")
>>> schema = hr.Schema({{"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}}, classes=["low", "high"])
>>> model = hr.{name}(epsilon=1.0, schema=schema).fit(X, y)
>>> model.certificate_.holds, model.predict(X).shape
(True, (2000,))
"""


def describe(kind: type, base: type) -> None:
    """Complete the docstring of an estimator by what it inherits from ``base`` on: parameters, attributes, and an example."""
    if not kind.__doc__:
        return
    head, *parts = SECTION.split(inspect.cleandoc(kind.__doc__))
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    parents = [parent for parent in reversed(kind.__mro__[1:]) if issubclass(parent, base)]
    for title in ("Parameters", "Attributes"):
        entries: dict[str, str] = {}
        for doc in (*(parent.__doc__ or "" for parent in parents), kind.__doc__):
            entries |= _entries(inspect.cleandoc(doc), title)
        names = dict.fromkeys([*(each.name for each in fields(kind) if title == "Parameters"), *entries])
        sections[title] = "\n".join(f"{name}{entries[name]}" for name in names if name in entries)
    if "\nReleases" in head and kind.__module__.startswith("hedgerow."):  # a system, and not a base class
        sections.setdefault("Examples", EXAMPLE.format(name=kind.__name__))
    order = dict.fromkeys([*SECTIONS, *sections])
    texts = [f"{title}\n{'-' * len(title)}\n{sections[title].strip()}" for title in order if sections.get(title)]
    kind.__doc__ = "\n\n".join([head.strip(), *texts]) + "\n"


def _entries(doc: str, title: str) -> dict[str, str]:
    _, *parts = SECTION.split(doc)
    text = dict(zip(parts[::2], parts[1::2], strict=True)).get(title, "")
    entries: dict[str, str] = {}
    for names, rest in re.findall(r"^([\w, ]+?)( :.*(?:\n(?: .*)?)*)", text, re.MULTILINE):
        entries |= dict.fromkeys(names.split(", "), rest.rstrip())
    return entries


def check_parameters(values: Mapping[str, object], constraints: Mapping[str, Constraint]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, constraint in constraints.items():
        value = values[name]
        try:
            plain[name] = constraint.plain(value)
        except ValueError:  # an object may be long, or hold records
            what = type(value).__name__ if isinstance(constraint, Instance) else shown(value)
            raise ConfigurationError(f"{name} is {what}, but it must be {constraint}.") from None
    return plain


def stored_parameters(plain: Mapping[str, Any]) -> dict[str, Stored]:
    """Return plain values as a model file holds them; None for objects, which no file holds."""
    stored: dict[str, Stored] = {}
    for name, value in plain.items():
        stored[name] = value if isinstance(value, int | str | list) else None
        if isinstance(value, float | Fraction):  # exact, so that 1/3 survives a file
            stored[name] = str(Fraction(repr(value) if isinstance(value, float) else value))
        elif isinstance(
            value, dict
        ):  # classes by their text, which is read as the classes are: a file's names are text
            stored[name] = {str(int(key) if isinstance(key, bool) else key): each for key, each in value.items()}
    return stored


UNIT = 1 << 16  # the weight of a record that counts in full
VOTE_STEPS = 1 << 9  # of a log-odds of 1, the unit of votes, margins and decisions everywhere
LEAST = Fraction(1, 10**9)  # of the largest weight


def class_weights(given: Mapping[Any, float] | None, schema: Schema) -> tuple[float, ...]:
    """Return the weights of a schema's classes, in its order, as shares of the largest; a class that is left out weighs 1.

    Only their ratios matter; below a billionth of the largest all count a billionth. Names are read as labels are: 1, 1.0 and
    "1" are one class.
    """
    weights, reader = [Fraction(1)] * len(schema.classes), CategoryReader(schema.classes, schema.missing)
    named: set[int] = set()
    for label, weight in (given or {}).items():
        place = reader.code(label)
        if not 0 <= place < len(weights):
            raise ConfigurationError(
                f"class_weight names {shown(label)}, which is no class; name some of {', '.join(map(str, schema.classes))}."
            )
        if place in named:
            raise ConfigurationError(f"class_weight names the class {schema.classes[place]!r} twice; keep one.")
        named.add(place)
        weights[place] = Fraction(weight)
    most = max(weights)
    return tuple(float(max(LEAST, weight / most)) for weight in weights)
