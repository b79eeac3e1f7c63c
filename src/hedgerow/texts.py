"""Names and values as messages show them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from reprlib import Repr
from typing import Any

__all__ = ["LONGEST_REPR", "counted", "it_or_them", "listed", "printable", "short_repr", "shortened"]

LONGEST_REPR = 2000  # characters
FEW = Repr()
FEW.maxlevel, FEW.maxother, FEW.maxstring = 3, 120, 120


def listed(names: Sequence[object]) -> str:
    """Return names in a row as Python writes them, the first ten of them."""
    return ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def printable(text: str) -> str:
    """Return a text on one line, without characters that would steer a terminal."""
    return text if text.isprintable() else json.dumps(text)[1:-1]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it must be."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def it_or_them(names: Sequence[object]) -> str:
    """Return the pronoun for so many names."""
    return "it" if len(names) == 1 else "them"


def shortened(text: str, longest: int) -> str:
    """Return a text of at most so many characters; where it is longer, dots stand for its end."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def short_repr(value: Any) -> str:
    """Return the fields of a dataclass or named tuple on one line: long texts, long sequences and arrays are cut short."""
    names = getattr(value, "_fields", None) or [part.name for part in fields(value) if part.repr]
    shown = (f"{name}={_few(getattr(value, name))}" for name in names)
    return shortened(f"{type(value).__name__}({', '.join(shown)})", LONGEST_REPR)


def _few(value: Any) -> str:
    shape = getattr(value, "shape", ())
    return f"<array of shape {shape}>" if shape else FEW.repr(value)
