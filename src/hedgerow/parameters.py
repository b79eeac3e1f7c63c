"""Constraints on estimators' parameters: declared once per class, checked in ``fit``, one error sentence for all."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from hedgerow.errors import ConfigurationError

__all__ = ["Choice", "Constraint", "Integer", "check_parameters"]


class Constraint(Protocol):
    """A rule that a value meets or not, and that reads as the end of "it must be ..."."""

    def allows(self, value: object) -> bool:
        """Say whether the value meets the rule."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Integer:
    """An integer from ``low`` to ``high``; None too, where it stands for a public rule."""

    low: int
    high: int
    or_none: bool = False

    def allows(self, value: object) -> bool:
        """Say whether the value meets the rule."""
        if value is None:
            return self.or_none
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            return False
        return self.low <= int(value) <= self.high

    def __str__(self) -> str:
        rule = f"an integer from {self.low} to {self.high}"
        return f"{rule}, or None to have it chosen by a public rule" if self.or_none else rule


@dataclass(frozen=True)
class Choice:
    """One of a few texts."""

    options: tuple[str, ...]

    def allows(self, value: object) -> bool:
        """Say whether the value meets the rule."""
        return isinstance(value, str) and value in self.options

    def __str__(self) -> str:
        return " or ".join(repr(option) for option in self.options)


def check_parameters(values: Mapping[str, object], constraints: Mapping[str, Constraint]) -> None:
    """Raise ConfigurationError for the first parameter that breaks its constraint."""
    for name, constraint in constraints.items():
        if not constraint.allows(values[name]):
            raise ConfigurationError(f"{name} is {values[name]!r}, but it must be {constraint}.")
