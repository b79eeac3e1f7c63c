"""``hedgerow predict``: answer for the records of a CSV file with a saved model."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import click

from hedgerow.archive import atomic_file
from hedgerow.cli.options import InputFile, OutputFile, checked_separator, refuse_overwriting
from hedgerow.cli.table_file import TableFile, open_table
from hedgerow.errors import SchemaError
from hedgerow.estimator import PrivateClassifier
from hedgerow.systems import load

__all__ = ["predict"]


@click.command()
@click.argument("model", type=InputFile())
@click.argument("data", type=InputFile())
@click.option("--out", type=OutputFile(), help="The CSV file to write, whole or not at all. [default: stdout]")
@click.option("--proba", is_flag=True, help="Write one column per class with its share of the vote.")
@click.option(
    "--separator",
    callback=checked_separator,
    default=",",
    show_default=True,
    help="The character between cells of DATA.",
)
def predict(model: Path, data: Path, out: Path | None, proba: bool, separator: str) -> None:
    """Predict the records of the CSV file DATA with the model file MODEL.

    The schema's features are found in DATA by name; other columns, the target among them, are ignored. The output is CSV
    with a header and one line per line of DATA that is not blank: a line with a wrong number of cells counts as a record
    whose cells are all missing.
    """
    if out is not None:
        refuse_overwriting(out, model, data)
    estimator = load(model)
    with open_table(data, separator) as table:
        _check_features(table, estimator, data)
        rows = _answers(estimator, table, proba)
        if out is None:
            _write(sys.stdout, rows)
            return
        with atomic_file(out) as part, open(part, "w", encoding="utf-8", newline="") as file:
            _write(file, rows)
    click.echo(f"wrote {out}", err=True)


def _check_features(table: TableFile, estimator: PrivateClassifier, data: Path) -> None:
    lacking = [name for name in estimator.schema_.names if name not in table.header]
    if lacking:
        shown = ", ".join(map(repr, lacking[:10])) + (f" and {len(lacking) - 10} more" if len(lacking) > 10 else "")
        raise SchemaError(
            f"{data} lacks {shown} of the model's features, from which every record is read. Add a column of that name "
            "(empty cells are read as missing), or pass the right --separator."
        )


def _answers(estimator: PrivateClassifier, table: TableFile, proba: bool) -> Iterator[list[Any]]:
    """Yield the output's header and lines, holding one block of records at a time."""
    yield list(estimator.schema_.classes) if proba else ["prediction"]
    for block in table.blocks():
        X = {name: block[name] for name in estimator.schema_.names}
        if proba:
            yield from estimator.predict_proba(X).tolist()
        else:
            yield from ([label] for label in estimator.predict(X).tolist())


def _write(file: TextIO, rows: Iterator[list[Any]]) -> None:
    csv.writer(file, lineterminator="\n").writerows(rows)
