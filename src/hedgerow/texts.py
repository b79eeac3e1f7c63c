"""Names and values as messages show them."""

from __future__ import annotations

import json
from collections.abc import Sequence

__all__ = ["counted", "it_or_them", "listed", "printable"]


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
