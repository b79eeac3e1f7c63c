"""A system's settings: its own parameters as ``--param name=value``, and the options that not all systems have."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from hedgerow.estimator import PrivateEstimator
from hedgerow.systems import load

__all__ = ["own_parameters", "read_delta", "read_init", "read_parameters", "read_variant"]

ELSEWHERE = (
    "epsilon",
    "delta",
    "schema",
    "variant",
    "adjacency",
    "records_per_person",
    "ledger",
    "init",
)  # these have options of their own, or none


def own_parameters(kind: type[PrivateEstimator]) -> dict[str, str]:
    """Return the parameters that ``--param`` sets, each with its annotation."""
    parameters = inspect.signature(kind, eval_str=True).parameters.items()  # names of unions are resolved
    return {name: _text(parameter.annotation) for name, parameter in parameters if name not in ELSEWHERE}


def read_parameters(kind: type[PrivateEstimator], pairs: Iterable[str]) -> dict[str, Any]:
    """Return the values of ``name=value`` texts, read by the class's annotations, or raise UsageError."""
    known = own_parameters(kind)
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals:
            raise click.UsageError(f"--param {pair!r} has no '='; write it as name=value.")
        if name in ELSEWHERE and name != "ledger":
            raise click.UsageError(f"{name} is no --param but an option; write --{name.replace('_', '-')} {text}.")
        if name not in known:
            raise click.UsageError(f"{kind.__name__} has no parameter {name!r}; it has {', '.join(known)}.")
        if name in found:
            raise click.UsageError(f"--param {name} is given twice; keep one.")
        found[name] = _value(name, text, known[name])
    return found


def read_variant(kind: type[PrivateEstimator], variant: str) -> dict[str, str]:
    """Return the variant as a setting. The library's own systems only have the private variant."""
    if "variant" in inspect.signature(kind).parameters:
        return {"variant": variant}
    if variant != "private":
        raise click.UsageError(f"{kind.__name__} has no variant {variant!r}; it has only the private one.")
    return {}


def read_delta(kind: type[PrivateEstimator], delta: float | None) -> dict[str, float]:
    """Return the delta as a setting, if it is given. A system without Gaussian noise has none."""
    if delta is None:
        return {}
    if "delta" not in inspect.signature(kind).parameters:
        raise click.UsageError(
            f"{kind.__name__} is pure epsilon: its guarantee never fails, so there is no --delta to spend. Leave it out."
        )
    return {"delta": delta}


def read_init(kind: type[PrivateEstimator], path: Path | None) -> dict[str, PrivateEstimator]:
    """Return the model of a file as the setting to start from, if it is given. Most systems do not support it."""
    if path is None:
        return {}
    if "init" not in inspect.signature(kind).parameters:
        raise click.UsageError(
            f"{kind.__name__} starts from no model; leave out --init, or take hedgerow or hedgerow-regressor."
        )
    return {"init": load(path)}


def _text(annotation: Any) -> str:
    return inspect.formatannotation(annotation).replace("typing.", "")


def _none(text: str) -> None:
    if text.lower() != "none":
        raise ValueError(text)


def _truth(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _json(kind: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        found = json.loads(text)
        if not isinstance(found, kind):
            raise ValueError(text)
        return found

    return read


READERS: dict[str, Callable[[str], Any]] = {
    "None": _none,
    "bool": _truth,
    "int": int,
    "float": float,
    "dict[str, int]": _json(dict),
    "list[int]": _json(list),
    "dict[Any, float]": _json(dict),
}
NOUNS = {
    "None": "none",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "dict[str, int]": 'an object such as {"age": 1}',
    "list[int]": "a list such as [1, 0]",
    "dict[Any, float]": 'an object such as {"yes": 3}',
}


def _value(name: str, text: str, annotation: str) -> Any:
    """Return the first reading that the annotation allows; text if it is not a union of plain types."""
    kinds = {kind.strip() for kind in annotation.split("|")}
    readable = [kind for kind in READERS if kind in kinds or "Any" in kinds]
    for kind in readable:
        try:
            return READERS[kind](text)
        except (ValueError, KeyError, RecursionError):
            continue
    if kinds <= set(READERS):
        wanted = " or ".join(NOUNS[kind] for kind in reversed(readable))
        raise click.UsageError(f"--param {name}={text}: {name} takes {wanted}.")
    return text
