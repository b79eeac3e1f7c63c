"""Private report cards in files: which model they are about, and what was released."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import click

from hedgerow.analysis import RegressionCard, ReportCard
from hedgerow.analysis.figures import Card
from hedgerow.cli.output import card_values
from hedgerow.errors import FileFormatError

__all__ = ["read_report", "report_values"]

MODEL = "model_sha256"


def report_values(card: Card, model: Path) -> dict[str, Any]:
    """Return a report card as plain values for JSON, with the digest of the model file that it is about."""
    return {MODEL: _digest(model), **card_values(card)}


def read_report(path: Path, model: Path) -> Card:
    """Return the report card of a model file that ``hedgerow evaluate`` wrote to a file.

    Raises
    ------
    FileFormatError
        If the file holds no report card.
    click.UsageError
        If it is another model's.
    """
    try:
        values = json.loads(path.read_bytes())
        about = values[MODEL]
        card: Card = (RegressionCard if "outcome" in values else ReportCard).from_dict(values)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise FileFormatError(
            f"{path} is no report card; write one by hedgerow evaluate MODEL DATA --epsilon EPSILON --out {path.name}."
        ) from error
    if about != _digest(model):
        raise click.UsageError(f"the report card in {path} is about another model than the file {model} holds.")
    return card


def _digest(model: Path) -> str:
    with model.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
