"""JSON from strangers: its size, depth and numbers are looked at before it is parsed."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

import numpy as np

from hedgerow.errors import FileFormatError
from hedgerow.limits import DEEPEST_DOCUMENT, LONGEST_NUMBER

__all__ = ["read_document"]

TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (LONGEST_NUMBER + 1))
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def read_document(content: bytes, most_values: int) -> dict[str, Any]:
    """Return the object that a JSON text in UTF-8 spells.

    Raises
    ------
    FileFormatError
        If the text is no JSON object, or one with more values, deeper brackets or longer numbers than the limits, with
        a key twice, a number that is not finite, or text that UTF-8 cannot hold.
    """
    _check_size(content, most_values)
    try:
        document = json.loads(
            content.decode(), object_pairs_hook=_object, parse_float=_finite, parse_constant=_no_constant
        )
        json.dumps(document, ensure_ascii=False).encode()  # a lone half of a surrogate pair is found here
    except (ValueError, RecursionError) as error:
        raise FileFormatError("its document is no JSON that save writes") from error
    if not isinstance(document, dict):
        raise FileFormatError("its document is no JSON object")
    return document


def _check_size(content: bytes, most_values: int) -> None:
    """Raise FileFormatError where parsing would take too much memory, in time that grows with the length alone."""
    bare = TEXT.sub(b"", content)
    if sum(map(bare.count, (b",", b"[", b"{"))) > most_values:
        raise FileFormatError(f"its document has more than {most_values} values")
    brackets = np.frombuffer(bare.translate(None, NO_BRACKETS), dtype=np.uint8)
    steps = np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1)
    if len(steps) and int(np.cumsum(steps).max()) > DEEPEST_DOCUMENT:
        raise FileFormatError(f"its document is more than {DEEPEST_DOCUMENT} brackets deep")
    if LONG_NUMBER.search(bare):
        raise FileFormatError(f"its document has a number of more than {LONGEST_NUMBER} digits")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large for a float")
    return value


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")
