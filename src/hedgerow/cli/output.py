"""The output of commands: JSON documents, and the public values of a model."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import click

from hedgerow.analysis.figures import Card
from hedgerow.estimator import PrivateEstimator
from hedgerow.plots.tree_values import branch_text, leaf_text, tree_values
from hedgerow.privacy.certificate import Certificate

__all__ = [
    "branch_text",
    "card_values",
    "certificate_values",
    "check_stdout",
    "model_values",
    "tree_lines",
    "tree_values",
    "write_json",
]


def write_json(value: Any) -> None:
    """Write the one JSON document of a command to stdout."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def check_stdout() -> None:
    """Raise OSError if stdout accepts nothing, as /dev/full, before a result costs budget."""
    if sys.stdout is None:
        return
    try:
        with suppress(io.UnsupportedOperation):  # no file of the system's
            os.write(sys.stdout.fileno(), b"")
    except OSError as error:
        raise OSError(error.errno, error.strerror, "stdout") from error


def model_values(model: PrivateEstimator) -> dict[str, Any]:
    """Return the public values of a fitted model, without what it learned, as plain values for JSON."""
    return {
        "class": type(model).__name__,
        "parameters": {
            name: value
            for name, value in model.get_params(deep=False).items()
            if name not in ("schema", "ledger") and isinstance(value, int | float | str | dict | list | None)
        },
        "certificate": certificate_values(model.certificate_),
    }


def certificate_values(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate as plain values for JSON."""
    return {
        "holds": certificate.holds,
        "reasons": list(certificate.reasons),
        **certificate.to_dict(),
        "text": certificate.details(),
    }


def card_values(card: Card) -> dict[str, Any]:
    """Return a report card as plain values for JSON."""
    return {**card.to_dict(), "certificate": certificate_values(card.certificate_)}


def tree_lines(node: dict[str, Any], depth: int = 0) -> Iterator[str]:
    """Yield the lines of a tree in the form of ``tree_values``, indented below each test."""
    if "branches" not in node:
        yield f"{'  ' * depth}always: {leaf_text(node)}"
        return
    for branch in node["branches"]:
        below = branch["node"]
        if "branches" in below:
            yield f"{'  ' * depth}{branch['when']}"
            yield from tree_lines(below, depth + 1)
        else:
            yield f"{'  ' * depth}{branch['when']}: {leaf_text(below)}"
