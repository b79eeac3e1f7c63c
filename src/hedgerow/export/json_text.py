"""A released model as JSON: what it says of itself, and how it answers, for people and other programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from hedgerow.errors import ConfigurationError
from hedgerow.export.form import OutcomeLog, OutcomeRange, ScoringForm
from hedgerow.export.readings import NumberReading, Reading

JSON_FORMAT = 1  # version of what stands under "answers"
ENDS = (np.inf, -np.inf)
MOST_VALUES = 1 << 24  # each takes eight bytes and more as a value of Python
TREES = (
    "A cell becomes a code. Number (where there is a 'unit', a date as so many since 1970): how many edges are not "
    "above it; 'missing' if it is no number or among 'missing_numbers', or a date among 'missing_dates'. Text of a number is in "
    "the format 'text', if there is one, and of a date in it or ISO 8601. "
    "Category: text without white space around it, no-break spaces too, is looked up in 'texts', a decimal number (true is 1, "
    "false 0) in 'numbers'; empty is 'missing', anything else 'undeclared'. A record starts at each root; a node with a test "
    "sends it to the child whose place is the test's branch of the code; a leaf gives votes. "
)
CLASSES = (
    "The label is the first class with the largest sum of "
    "votes. Probabilities: sums over 'total'; or the softmax of sums over 'steps', each p then times max(1, (1 - p) / cap) if "
    "there is a cap, and divided by their sum."
)
RULES: dict[type, str] = {
    OutcomeRange: "The prediction is low * (1 - share) + high * share, where share is the sum of votes, at least 0 and at most "
    "'steps', over 'steps'.",
    OutcomeLog: "The prediction is base * exp(sum / steps), where sum is that of votes, at least 'first' and at most 'last'; it "
    "is at least 'low' and at most 'high'.",
}


def json_text(document: Mapping[str, Any], form: ScoringForm) -> str:
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    answers = {name: encode(value) for name, value in answers_of(form).items()}
    for name in ("tests", "nodes"):  # a line each: they hold no text that could look like the end of one
        answers[name] = answers[name].replace("}, {", "},\n{")
    parts = {name: encode(value) for name, value in {"hedgerow": JSON_FORMAT, **document}.items()}
    return _object({**parts, "answers": _object(answers)}) + "\n"


def _object(parts: Mapping[str, str]) -> str:
    return "{" + ",\n".join(f'"{name}": {text}' for name, text in parts.items()) + "}"


def answers_of(form: ScoringForm) -> dict[str, Any]:
    size = form.branch.size + form.votes.size
    if size > MOST_VALUES:
        raise ConfigurationError(
            f"the model has {size} branches and votes, and JSON is written of {MOST_VALUES} at most; use model.save(path)."
        )
    form = form.merged()
    tests, firsts = form.test.tolist(), form.first_child.tolist()
    ends = (form.first_child + np.append(form.arity, 0)[form.test]).tolist()
    return {
        "rule": TREES + RULES.get(type(form.link), CLASSES),
        "features": [_feature(reading) for reading in form.readings],
        "classes": list(form.classes),
        "roots": form.roots.tolist(),
        "tests": [
            {"feature": reading, "branches": form.codes_to_branches(test).tolist()}
            for test, reading in enumerate(form.feature.tolist())
        ],
        "nodes": [
            {"votes": votes} if test < 0 else {"test": test, "children": list(range(first, end))}
            for votes, test, first, end in zip(form.votes.tolist(), tests, firsts, ends, strict=True)
        ],
        "outcome" if type(form.link) in RULES else "probabilities": asdict(form.link),
    }


def _feature(reading: Reading) -> dict[str, Any]:
    if isinstance(reading, NumberReading):
        dates = [str(np.datetime64(moment, "us")) for moment in reading.moments]
        return {
            "name": reading.name,
            **({} if reading.unit is None else {"unit": reading.unit, "missing_dates": dates}),
            **({"text": reading.text} if reading.text else {}),
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


def _plain(values: Sequence[float]) -> list[float | str]:
    """Return numbers as JSON holds them: infinite ones as text, "inf" or "-inf"."""
    return [repr(value) if value in ENDS else value for value in values]
