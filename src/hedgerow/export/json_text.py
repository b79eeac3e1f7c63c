"""A released model as JSON: what ``load`` reads, and beside it how the model answers, for people and other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.export.form import Link, Mean, NumberReading, OutcomeLog, OutcomeRange, Reading, ScoringForm

JSON_FORMAT = 1  # version of the JSON files
DTYPES = {np.dtype(kind).name: np.dtype(kind) for kind in (np.bool_, np.int32, np.int64, np.float64)}
ENDS = (np.inf, -np.inf)
MOST_VALUES = 1 << 24  # each takes eight bytes and more as a value of Python
WIDTH = 128  # of a line
TREES = (
    "A cell becomes a code. Number (where there is a 'unit', a date as so many since 1970): how many edges are not "
    "above it; 'missing' if it is no number or among 'missing_numbers'. "
    "Category: text without white space around it is looked up in 'texts', a decimal number (true is 1, false 0) in 'numbers'; "
    "empty is 'missing', anything else 'undeclared'. A record starts at each root; a node with a test sends it to the child "
    "whose place is the test's branch of the code; a leaf gives votes. "
)
CLASSES = (
    "The label is the first class with the largest sum of "
    "votes. Probabilities: sums over 'total'; or the softmax of sums over 'steps', each p then times max(1, (1 - p) / cap) if "
    "there is a cap, and divided by their sum."
)
OUTCOME = (
    "The prediction is low * (1 - share) + high * share, where share is the sum of votes, at least 0 and at most 'steps', "
    "over 'steps'."
)
LOG_OUTCOME = (
    "The prediction is base * exp(sum / steps), where sum is that of votes, at least 'first' and at most 'last'; it is at least "
    "'low' and at most 'high'."
)


def json_text(document: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], form: ScoringForm) -> str:
    """Return a model as JSON text.

    Parameters
    ----------
    document : mapping
        What a model file says of itself.
    arrays : mapping of str to ndarray
        What the model is made of.
    form : ScoringForm
        How it answers.
    """
    parts = {
        "hedgerow": JSON_FORMAT,
        **document,
        "answers": answers_of(form),
        "arrays": {name: _array(array) for name, array in arrays.items()},
    }
    return "".join(_lines(parts)) + "\n"


def answers_of(form: ScoringForm) -> dict[str, Any]:
    """Return how a model answers, as plain values; trees that ask the same are one.

    Raises
    ------
    ConfigurationError
        If it would take more values than a text should hold.
    """
    size = form.branch.size + form.votes.size
    if size > MOST_VALUES:
        raise ConfigurationError(
            f"the model has {size} branches and votes, and JSON is written of {MOST_VALUES} at most; use model.save(path)."
        )
    form = form.merged()
    nodes = range(len(form.test))
    return {
        "rule": TREES + _rule(form.link),
        "features": [_feature(reading) for reading in form.readings],
        "classes": list(form.classes),
        "roots": form.roots.tolist(),
        "tests": [
            {"feature": reading, "branches": form.codes_to_branches(test).tolist()}
            for test, reading in enumerate(form.feature.tolist())
        ],
        "nodes": [
            {"votes": form.votes[node].tolist()}
            if form.test[node] < 0
            else {"test": int(form.test[node]), "children": form.children(node).tolist()}
            for node in nodes
        ],
        **_link(form.link),
    }


def plain_answers(form: ScoringForm) -> Any:
    """Return ``answers_of`` a form as they come back from JSON."""
    return json.loads(json.dumps(answers_of(form), allow_nan=False))


def _rule(link: Link) -> str:
    if isinstance(link, OutcomeLog):
        return LOG_OUTCOME
    return OUTCOME if isinstance(link, OutcomeRange) else CLASSES


def _link(link: Link) -> dict[str, Any]:
    if isinstance(link, OutcomeLog):
        return {"outcome": asdict(link)}
    if isinstance(link, OutcomeRange):
        return {"outcome": {"low": link.low, "high": link.high, "steps": link.steps}}
    return {
        "probabilities": {"total": link.total} if isinstance(link, Mean) else {"steps": link.steps, "cap": link.cap}
    }


def _feature(reading: Reading) -> dict[str, Any]:
    if isinstance(reading, NumberReading):
        return {
            "name": reading.name,
            **({} if reading.unit is None else {"unit": reading.unit}),
            "edges": _plain(reading.edges),
            "missing": reading.missing,
            "missing_numbers": _plain(reading.markers),
        }
    return {
        "name": reading.name,
        "texts": dict(reading.texts),
        "numbers": [[*_plain([key]), code] for key, code in reading.numbers],
        "missing": reading.missing,
        "undeclared": reading.undeclared,
    }


def _array(array: npt.NDArray[Any]) -> dict[str, Any]:
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": _plain(array.reshape(-1).tolist())}


def _plain(values: Sequence[float]) -> list[float | str]:
    """Return numbers as JSON holds them: infinite ones as text, "inf" or "-inf"."""
    return [repr(value) if value in ENDS else value for value in values]


def _lines(value: Any, indent: str = "") -> Iterator[str]:
    """Yield JSON in which whatever fits a line stands on one."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(indent) + len(text) <= WIDTH or not value or not isinstance(value, dict | list):
        yield text
    elif isinstance(value, list) and not any(isinstance(part, dict | list) for part in value):
        yield from _filled(value, indent + " ")
    else:
        inner = indent + " "
        names = (
            [f"{json.dumps(name, ensure_ascii=False)}: " for name in value]
            if isinstance(value, dict)
            else [""] * len(value)
        )
        parts = value.values() if isinstance(value, dict) else value
        yield "{" if isinstance(value, dict) else "["
        for place, (name, part) in enumerate(zip(names, parts, strict=True)):
            yield f"{',' if place else ''}\n{inner}{name}"
            yield from _lines(part, inner)
        yield f"\n{indent}" + ("}" if isinstance(value, dict) else "]")


def _filled(values: list[Any], indent: str) -> Iterator[str]:
    """Yield a long list of numbers or texts, as many to a line as fit."""
    yield "["
    line = ""
    for place, value in enumerate(values):
        text = json.dumps(value, ensure_ascii=False, allow_nan=False) + ("," if place + 1 < len(values) else "")
        if line and len(indent) + len(line) + 1 + len(text) > WIDTH:
            yield f"\n{indent}{line}"
            line = text
        else:
            line = f"{line} {text}" if line else text
    yield f"\n{indent}{line}\n{indent[:-1]}]"


class JsonArrays(Mapping[str, npt.NDArray[Any]]):
    """The arrays of a JSON model by name, each made when it is asked for."""

    def __init__(self, parts: object) -> None:
        if not isinstance(parts, dict):
            raise FileFormatError("the model's arrays are damaged; write it again.")
        self._parts = parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        part = self._parts[name]
        try:
            values, shape, dtype = part["values"], part["shape"], DTYPES[part["dtype"]]
            return _read(values, dtype).reshape(_sizes(shape))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FileFormatError(f"the model's array {name} is damaged; write it again.") from error


def _sizes(shape: object) -> tuple[int, ...]:
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError("no shape")
    return tuple(shape)


def _read(values: object, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return a flat list of numbers of exactly one type."""
    if not isinstance(values, list):
        raise TypeError("no list")
    kinds = {type(value) for value in values}
    if dtype.kind == "f":
        if not kinds <= {int, float, str} or not {value for value in values if isinstance(value, str)} <= {
            "inf",
            "-inf",
        }:
            raise TypeError("no numbers")
    elif not kinds <= {bool if dtype.kind == "b" else int}:
        raise TypeError("no whole numbers")
    return np.array([float(value) for value in values] if dtype.kind == "f" else values, dtype=dtype)
