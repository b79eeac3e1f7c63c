"""Queries and commands as bytes, and back: values of the library's frozen classes, so that a message can run no code.

Equal values give equal bytes; the mask of a query depends on their digest.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import EngineError

# Packages whose frozen values may be part of a query: rules, votes, cuts and layouts
KNOWN = ("additive", "curator", "export", "mechanisms", "papers", "schema", "scores", "systems", "table", "trees")
NUMBERS = "biuf"  # kinds of arrays that are sent; never objects
MOST_BYTES = 1 << 30  # of a message when it is unpacked
OF_TASK = (
    "log",
    "n_codes",
    "n_classes",
    "end",
    "query",
    "live",
)  # of a query's task: all that is sent but the commands


def packed(value: Any, level: int = 6) -> bytes:
    """Return a value as bytes, compressed to a level of zlib. TypeError for a class that is no part of a query."""
    arrays: list[npt.NDArray[Any]] = []
    text = json.dumps(_plain(value, arrays), separators=(",", ":")).encode()
    content = len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in arrays)
    return zlib.compress(content, level)


def unpacked(data: bytes) -> Any:
    """Return the value that ``packed`` wrote, or raise EngineError if these bytes are none."""
    try:
        unzip = zlib.decompressobj()
        content = unzip.decompress(data, MOST_BYTES)
        if unzip.unconsumed_tail or not unzip.eof:
            raise ValueError("a message has an end, within the limit")
        begin = 8 + int.from_bytes(content[:8], "little")
        return _Reader(content, begin).value(json.loads(content[8:begin]))
    except (ValueError, TypeError, KeyError, AttributeError, ImportError, zlib.error, RecursionError):
        raise EngineError(
            "a message is not one of this version of the library. Use the same version everywhere."
        ) from None


def _plain(value: Any, arrays: list[npt.NDArray[Any]]) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
        arrays.append(np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<")))
        return {"array": value.dtype.newbyteorder("<").str, "shape": list(value.shape)}
    if isinstance(value, np.integer | np.bool_ | np.floating):
        return _plain(value.item(), arrays)
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, list):
        return [_plain(part, arrays) for part in value]
    if isinstance(value, tuple | frozenset):
        ordered = sorted(value) if isinstance(value, frozenset) else value
        return {type(value).__name__: [_plain(part, arrays) for part in ordered]}
    if isinstance(value, dict):
        return {"map": [[_plain(key, arrays), _plain(part, arrays)] for key, part in value.items()]}
    kind = type(value)
    _, package, *_ = kind.__module__.split(".")
    if not (is_dataclass(value) and package in KNOWN):
        raise TypeError(f"{kind.__qualname__} is no part of a query")
    given = {one.name: _plain(getattr(value, one.name), arrays) for one in fields(value) if one.init}
    return {"class": f"{kind.__module__.removeprefix('hedgerow.')}:{kind.__name__}", "fields": given}


class _Reader:
    """Reads arrays in the order in which they were written."""

    def __init__(self, content: bytes, place: int) -> None:
        self._content, self._place = content, place

    def value(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return self._parts(plain)
        if not isinstance(plain, dict):
            return plain
        match plain:
            case {"float": str(text)}:
                return float.fromhex(text)
            case {"array": str(kind), "shape": shape}:
                dtype = np.dtype(kind)
                if dtype.kind not in NUMBERS:
                    raise ValueError("arrays hold numbers")
                begin, self._place = self._place, self._place + dtype.itemsize * math.prod(shape)
                return np.frombuffer(self._content[begin : self._place], dtype=dtype).reshape(shape).copy()
            case {"fraction": str(text)}:
                return Fraction(text)
            case {"bytes": str(text)}:
                return base64.b64decode(text)
            case {"dtype": str(text)}:
                return np.dtype(text)
            case {"tuple": parts}:
                return tuple(self._parts(parts))
            case {"frozenset": parts}:
                return frozenset(self._parts(parts))
            case {"map": pairs}:
                return {self.value(key): self.value(part) for key, part in pairs}
            case {"class": str(name), "fields": dict(given)}:
                return _class_of(name)(**{key: self.value(part) for key, part in given.items()})
        raise ValueError("an unknown kind")

    def _parts(self, parts: Sequence[Any]) -> list[Any]:
        return [self.value(part) for part in parts]


@lru_cache(256)
def _class_of(name: str) -> type:
    module, _, kind = name.partition(":")
    if module.split(".")[0] not in KNOWN:
        raise ValueError("a class of another package")
    found = getattr(import_module(f"hedgerow.{module}"), kind)
    if not (isinstance(found, type) and is_dataclass(found)):
        raise ValueError("no value")
    return found
