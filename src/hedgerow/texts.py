"""Names and values as messages show them."""

from __future__ import annotations

import json
from collections.abc import Sequence

__all__ = ["listed", "printable"]


def listed(names: Sequence[object]) -> str:
    """Return names in a row as Python writes them, the first ten of them."""
    return ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def printable(text: str) -> str:
    """Return a text on one line, without characters that would steer a terminal."""
    return text if text.isprintable() else json.dumps(text)[1:-1]
