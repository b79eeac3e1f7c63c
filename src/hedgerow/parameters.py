"""Parameters of estimators, their constraints and one error sentence for all; weights of classes; units of weights and votes."""

from __future__ import annotations

import inspect
import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from fractions import Fraction
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError, shown
from hedgerow.reading.cells import CategoryReader
from hedgerow.schema import Schema

Stored = int | str | dict[str, int] | dict[str, int | float] | list[int] | None
RandomSource = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None  # what ``Seed`` allows
Method = TypeVar("Method", bound=Callable[..., Any])

LARGEST_WEIGHT = 1e300  # which a float holds
LABELS = str | bool | np.bool_ | int | float | np.integer | np.floating

WEIGHTLESS = {
    "sample_weight": "the noise hides a record that counts once, and a weight would let it count for more. Leave it out",
    "exposure": "an exposure weighs a record, and noise would have to hide the largest weight. Leave it out; declare the "
    "exposure as a feature, or predict the rate, with a public range",
    "class_weight": "the noise hides a record that counts once, whatever its class. Leave it out, and predict a rare class from "
    "a lower predict_proba, or take HedgerowClassifier or ForestClassifier, which have public weights",
}


class Constraint(ABC):
    """A rule that a value meets or not, and that reads as the end of "it must be ..."."""

    @abstractmethod
    def allows(self, value: object) -> bool: ...

    def plain(self, value: Any) -> Any:
        """Return an allowed value as the plain Python value that plans, events and files hold."""
        return value

    def stored(self, value: Any) -> Stored:
        """Return an allowed value as a model file holds it; None for what no file can hold."""
        stored: Stored = self.plain(value)
        return stored

    def shown(self, value: object) -> str:
        """Return a value as an error names it."""
        return shown(value)

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True)
class WholeNumber(Constraint):
    """An integer from ``low`` to ``high``; None too, where it stands for a public rule."""

    low: int
    high: int
    or_none: bool = False

    def allows(self, value: object) -> bool:
        if value is None:
            return self.or_none
        return _is_integer(value) and self.low <= int(value) <= self.high  # type: ignore[call-overload]

    def plain(self, value: Any) -> int | None:
        return None if value is None else int(value)

    def __str__(self) -> str:
        return _or_rule(f"an integer from {self.low} to {self.high}", self.or_none)


@dataclass(frozen=True)
class Flag(Constraint):
    def allows(self, value: object) -> bool:
        return isinstance(value, bool | np.bool_)

    def plain(self, value: Any) -> bool:
        return bool(value)

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class Choice(Constraint):
    """One of a few texts; None too, where it stands for a public rule."""

    options: tuple[str, ...]
    or_none: bool = False

    def allows(self, value: object) -> bool:
        if value is None:
            return self.or_none
        return isinstance(value, str) and value in self.options

    def plain(self, value: Any) -> str | None:
        return None if value is None else str(value)

    def __str__(self) -> str:
        return _or_rule(" or ".join(repr(option) for option in self.options), self.or_none)


@dataclass(frozen=True)
class Exact(Constraint):
    """A number that ``read`` turns into an exact fraction or refuses, such as a privacy budget; ``rule`` says which."""

    read: Callable[[object], Fraction]
    rule: str

    def allows(self, value: object) -> bool:
        try:
            self.read(value)
        except ConfigurationError:
            return False
        return True

    def plain(self, value: Any) -> float | Fraction:
        # The float that stands for the same number, or the fraction where there is none.
        number = self.read(value)
        near = float(number)
        return near if self.allows(near) and self.read(near) == number else number

    def stored(self, value: Any) -> str:
        return str(self.read(value))  # exact, so that 1/3 survives a file

    def __str__(self) -> str:
        return self.rule


@dataclass(frozen=True)
class Instance(Constraint):
    """An object of one class, or None."""

    kind: type
    rule: str

    def allows(self, value: object) -> bool:
        return value is None or isinstance(value, self.kind)

    def stored(self, value: Any) -> None:
        """An object stands elsewhere in a model file, or nowhere."""

    def shown(self, value: object) -> str:
        return type(value).__name__  # the value may be long, or hold records

    def __str__(self) -> str:
        return self.rule


@dataclass(frozen=True)
class Signs(Constraint):
    """-1, 0 or 1 for features, by name or in the schema's order; None for no feature."""

    def allows(self, value: object) -> bool:
        if value is None:
            return True
        signs: Any = value
        if isinstance(value, Mapping):
            signs = value.values() if all(isinstance(name, str) for name in value) else [None]
        elif not isinstance(value, list | tuple) and not (isinstance(value, np.ndarray) and value.ndim == 1):
            return False
        return all(_is_integer(sign) and sign in (-1, 0, 1) for sign in signs)

    def plain(self, value: Any) -> dict[str, int] | list[int] | None:
        # New objects of Python's integers: what the caller changes later changes no plan.
        if value is None:
            return None
        if isinstance(value, Mapping):
            return {str(name): int(sign) for name, sign in value.items()}
        return [int(sign) for sign in value]

    def __str__(self) -> str:
        return "a dict of features' names to -1, 0 or 1, a list of these for all features, or None"


@dataclass(frozen=True)
class ClassNumbers(Constraint):
    """A positive number for some classes; None for all alike."""

    def allows(self, value: object) -> bool:
        if value is None:
            return True
        return (
            isinstance(value, Mapping)
            and all(isinstance(label, LABELS) for label in value)
            and all(map(_is_weight, value.values()))
        )

    def plain(self, value: Any) -> dict[Any, int | float] | None:
        # A new dictionary of Python's values: what the caller changes later changes no plan.
        return None if value is None else {_python(label): _python(weight) for label, weight in value.items()}

    def stored(self, value: Any) -> dict[str, int | float] | None:
        # By the classes' text, which is read as the classes are: a file's names are text.
        if value is None:
            return None
        return {
            str(int(label) if isinstance(label, bool) else label): weight
            for label, weight in self.plain(value).items()  # type: ignore[union-attr]
        }

    def __str__(self) -> str:
        return (
            "a dict of classes to positive numbers that are public knowledge, or None, since 'balanced' would read how many "
            "records each class has off the records themselves"
        )


def _is_weight(value: object) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return number and 0 < _python(value) <= LARGEST_WEIGHT


def _python(value: Any) -> Any:
    if isinstance(value, np.floating):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Seed(Constraint):
    """Where random bits come from."""

    def allows(self, value: object) -> bool:
        if value is None or isinstance(value, np.random.Generator | np.random.RandomState):
            return True
        return _is_integer(value) and int(value) >= 0  # type: ignore[call-overload]

    def plain(self, value: Any) -> Any:
        return int(value) if _is_integer(value) else value

    def stored(self, value: Any) -> int | None:
        return int(value) if _is_integer(value) else None  # the state of a generator has moved on

    def __str__(self) -> str:
        return (
            "None (the operating system's entropy, which a guarantee needs), a non-negative integer or a numpy "
            "generator; pass random_state=None"
        )


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _or_rule(rule: str, or_none: bool) -> str:
    return f"{rule}, or None to have it chosen by a public rule" if or_none else rule


def check_keywords(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise TypeError for the first keyword that is not known, naming ``what`` was called and the way out."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1)
            way = WEIGHTLESS.get(name) or (f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}")
            raise TypeError(f"{what} takes no {name}: {way}{'' if way.endswith('?') else '.'}")


def checks_keywords(method: Method) -> Method:
    """Return a method that refuses unknown keywords in the name of the class that it is called on."""
    known = list(inspect.signature(method).parameters)[1:]  # without self

    @wraps(method)
    def checked(self: Any, *args: Any, **keywords: Any) -> Any:
        check_keywords(f"{type(self).__name__}.{method.__name__}", keywords, known)
        return method(self, *args, **keywords)

    return cast(Method, checked)


def called_as(example: str) -> Callable[[Method], Method]:
    """Return a decorator after which a wrong call is a TypeError that says how to call the function."""

    def decorate(function: Method) -> Method:
        signature = inspect.signature(function)

        @wraps(function)
        def checked(*given: Any, **keywords: Any) -> Any:
            try:
                signature.bind(*given, **keywords)
            except TypeError as error:
                raise TypeError(
                    f"{function.__name__} was called with other arguments: {error}. Call it as {example}."
                ) from None
            return function(*given, **keywords)

        return cast(Method, checked)

    return decorate


def parameter(rule: Constraint, *, default: Any, kw_only: bool = True) -> Any:
    """Return the field of an estimator's parameter, with the rule for its values."""
    return field(default=default, kw_only=kw_only, metadata={"rule": rule})


def rules_of(kind: type) -> dict[str, Constraint]:
    try:
        return {each.name: each.metadata["rule"] for each in fields(kind)}
    except KeyError:
        name = next(each.name for each in fields(kind) if "rule" not in each.metadata)
        raise TypeError(
            f"{kind.__name__}.{name} has no rule, so nothing checks it. Declare it as parameter(rule, default=...)."
        ) from None


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
    """Complete the docstring of an estimator by what it inherits from ``base`` on: parameters, attributes, and an example.

    A class describes its own parameters and those that mean something else in it.
    """
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
    """Return what a section says of each name: its type, and the description below it."""
    _, *parts = SECTION.split(doc)
    text = dict(zip(parts[::2], parts[1::2], strict=True)).get(title, "")
    entries: dict[str, str] = {}
    for names, rest in re.findall(r"^([\w, ]+?)( :.*(?:\n(?: .*)?)*)", text, re.MULTILINE):
        entries |= dict.fromkeys(names.split(", "), rest.rstrip())
    return entries


def check_parameters(values: Mapping[str, object], constraints: Mapping[str, Constraint]) -> dict[str, Any]:
    """Return all values as plain ones, or raise ConfigurationError for the first that breaks its constraint."""
    for name, constraint in constraints.items():
        if not constraint.allows(values[name]):
            raise ConfigurationError(f"{name} is {constraint.shown(values[name])}, but it must be {constraint}.")
    return {name: constraints[name].plain(value) for name, value in values.items()}


def stored_parameters(values: Mapping[str, object], constraints: Mapping[str, Constraint]) -> dict[str, Stored]:
    """Return all values as a model file holds them, after the check of ``check_parameters``."""
    check_parameters(values, constraints)
    return {name: constraints[name].stored(value) for name, value in values.items()}


UNIT = 1 << 16  # the weight of a record that counts in full
VOTE_STEPS = 1 << 9  # of a log-odds of 1, the unit of votes, margins and decisions everywhere


LEAST = Fraction(1, 10**9)  # of the largest weight


@dataclass(frozen=True)
class ClassWeights:
    """How much each class of a schema counts, in its order, as a share of the largest weight."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, given: Mapping[Any, float] | None, schema: Schema) -> ClassWeights:
        """Return the weights that a parameter states for a schema; a class that is left out weighs 1.

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
        return cls(tuple(float(max(LEAST, weight / most)) for weight in weights))

    def __bool__(self) -> bool:
        """Whether some class counts less than another."""
        return min(self.values) < 1

    def array(self) -> npt.NDArray[np.float64]:
        return np.array(self.values)
