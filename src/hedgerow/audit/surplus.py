"""What an object in memory holds that another one, restored from released values, does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["surplus"]

MOST_DEEP = 30


def surplus(held: Any, declared: Any, path: str, depth: int = 0) -> Iterator[str]:
    """Yield in words each attribute or value of ``held`` that ``declared`` does not have; ``path`` names the object.

    Values that a class works out on demand and keeps are compared with what the declared object works out.
    """
    if held is declared or depth > MOST_DEEP:
        return
    if type(held) is not type(declared):
        yield f"{path} is of the type {type(held).__name__}, but what is released gives {type(declared).__name__}"
    elif isinstance(held, np.ndarray):
        if held.dtype != declared.dtype or not np.array_equal(held, declared, equal_nan=held.dtype.kind == "f"):
            yield f"{path} holds other values than what is released"
    elif isinstance(held, Mapping):
        yield from (f"{path}[{key!r}] is not released" for key in held if key not in declared)
        for key in held.keys() & declared.keys():
            yield from surplus(held[key], declared[key], f"{path}[{key!r}]", depth + 1)
    elif isinstance(held, list | tuple):
        if len(held) != len(declared):
            yield f"{path} has {len(held)} values, but what is released gives {len(declared)}"
        for i, (mine, theirs) in enumerate(zip(held, declared, strict=False)):
            yield from surplus(mine, theirs, f"{path}[{i}]", depth + 1)
    elif hasattr(held, "__dict__") and not isinstance(held, type) and not callable(held):
        for name in vars(held):
            if name in vars(declared) or isinstance(getattr(type(held), name, None), cached_property):
                yield from surplus(getattr(held, name), getattr(declared, name), f"{path}.{name}", depth + 1)
            else:
                yield f"the fitted model has the attribute {path}.{name}, which no step releases"
    elif not callable(held) and held != declared and held == held:  # a NaN differs from itself
        yield f"{path} is {held!r}, but what is released gives {declared!r}"
