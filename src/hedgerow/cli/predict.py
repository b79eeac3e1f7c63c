"""``hedgerow predict``: predict the records of a file with a saved model."""

from __future__ import annotations

import csv
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, repeat
from pathlib import Path
from typing import Any, TextIO, cast

import click
import numpy as np

from hedgerow.analysis import RegressionCard
from hedgerow.cli.inputs import check_single
from hedgerow.cli.options import (
    InputFile,
    OutputFile,
    files_argument,
    force_option,
    json_option,
    refuse_overwriting,
    separator_option,
)
from hedgerow.cli.output import ShareProgress
from hedgerow.cli.queries import read_report
from hedgerow.errors import SchemaError, UnreadColumnWarning
from hedgerow.estimator import PrivateEstimator, PrivateRegressor
from hedgerow.files import atomic_file
from hedgerow.schema.unread import UnreadColumns
from hedgerow.sources.table_file import TableFile, places_of
from hedgerow.sources.tables import CSVFormat, open_table
from hedgerow.systems import load
from hedgerow.texts import listed

__all__ = ["predict"]

Answer = Callable[[Mapping[str, Any]], list[Any]]  # from records by columns to a row of predictions for each record

OPEN = (np.inf, -np.inf)  # ends of an interval


@click.command()
@click.argument("model", type=InputFile())
@files_argument
@click.option("--out", type=OutputFile(), help="The file to write, completely or not at all. [default: stdout]")
@force_option
@click.option("--proba", is_flag=True, help="Write one column per class with its probability, named probability_CLASS.")
@click.option(
    "--interval",
    "level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="LEVEL",
    help="For a regressor: also write the columns low and high, between which a new outcome is with this probability, such as "
    "0.9. Requires --report.",
)
@click.option(
    "--report",
    type=InputFile(),
    help="The report card for intervals, from `hedgerow evaluate --out`. Reading it costs nothing.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="Also write this column of DATA, such as a key, before the predictions; repeatable.",
)
@separator_option
@json_option
def predict(
    model: Path,
    data: tuple[Path, ...],
    out: Path | None,
    force: bool,
    proba: bool,
    level: float | None,
    report: Path | None,
    keep: tuple[str, ...],
    separator: str | None,
    as_json: bool,
) -> None:
    """Predict the records of DATA with the model file MODEL. DATA is a CSV or Parquet file by its name, or a quoted pattern.

    The schema's features are found in DATA by name. Other columns, including the target, are ignored, except those that --keep
    names. In Python, a model's predict refuses a frame with other columns, as scikit-learn's models do; there, pass
    X[list(schema.names)].

    Records are read and predicted block by block. The output is CSV with a header and one line per record, in the order of DATA.
    The files of a pattern are read in the order of their names. A blank line of a CSV file is not a record. A line with a wrong
    number of cells is a record whose cells are all missing.

    With --interval, an end that reaches the end of the outcome's range is open: inf or -inf in CSV, null in JSON.
    """
    if as_json and out is not None:
        raise click.UsageError("--json writes to stdout and --out a CSV file; choose one of them.")
    if as_json and keep:
        raise click.UsageError("--json writes answers alone; leave out --keep, or write CSV.")
    if out is not None:
        refuse_overwriting(out, force, model, *data, *([report] if report else []))
    estimator = load(model)
    answer = _answer(estimator, model, proba, level, report)
    form = CSVFormat.of(estimator.schema_, separator)
    with ExitStack() as stack:
        tables = [stack.enter_context(open_table(path, form)) for path in data]
        for table, path in zip(tables, data, strict=True):
            _check_features(table, estimator, path)
            _check_kept(table, keep, path)
        classes = list(estimator.schema_.classes)
        header = _header(classes, proba, level, kept := tuple(dict.fromkeys(keep)))
        # On a terminal, the predictions themselves show the progress.
        progress = stack.enter_context(
            ShareProgress(shown=out is not None or sys.stdout is None or not sys.stdout.isatty())
        )
        look = UnreadColumns(estimator.schema_)
        sizes = [path.stat().st_size for path in data]
        rows = _rows(estimator, answer, tables, sizes, kept, progress, look)
        if as_json:
            _write_json(
                sys.stdout, classes, rows, "probabilities" if proba else "intervals" if level else "predictions"
            )
        elif out is None:
            _write_csv(sys.stdout, chain([header], rows))
        else:
            with atomic_file(out, replace=force) as part, open(part, "w", encoding="utf-8", newline="") as file:
                _write_csv(file, chain([header], rows))
    for warning in look.findings():
        click.echo(f"WARNING: {warning}", err=True)
    if out is not None:
        click.echo(f"wrote {out}", err=True)


def _answer(estimator: PrivateEstimator, model: Path, proba: bool, level: float | None, report: Path | None) -> Answer:
    """Return the function that predicts records, or raise UsageError if the model does not support the request."""
    numbers = isinstance(estimator, PrivateRegressor)
    if proba and numbers:
        raise click.UsageError(f"{model} predicts a number, which has no probabilities; leave out --proba.")
    if level is None:
        if report is not None:
            raise click.UsageError("--report is what intervals follow from; pass --interval LEVEL too, such as 0.9.")
        predict = estimator.predict_proba if proba else lambda X: estimator.predict(X)[:, None]
        return lambda X: predict(X).tolist()
    if not isinstance(estimator, PrivateRegressor):
        raise click.UsageError(
            f"{model} predicts classes, which have no intervals; leave out --interval, or pass --proba."
        )
    if report is None:
        raise click.UsageError(
            "--interval follows from a private report card on records that the model was not fitted on. Make one by "
            f"`hedgerow evaluate {model} DATA --epsilon EPSILON --out report.json`, and pass --report report.json. Where "
            "the schema has persons, add --records-per-person 1."
        )
    card, share = cast(RegressionCard, read_report(report, model)), level
    return lambda X: np.column_stack([estimator.predict(X), estimator.predict_interval(X, share, card=card)]).tolist()


def _check_features(table: TableFile, estimator: PrivateEstimator, data: Path) -> None:
    there = places_of(table.header)
    check_single(estimator.schema_.names, there, data)
    lacking = [name for name in estimator.schema_.names if name not in there]
    if lacking:
        wanted = "a column of that name" if len(lacking) == 1 else "columns of those names"
        raise SchemaError(
            f"{data} lacks {listed(lacking)} of the model's features, from which every record is read. Add {wanted} "
            "(empty cells are read as missing), or pass the right --separator."
        )
    table.check_types(estimator.schema_)


def _check_kept(table: TableFile, keep: Sequence[str], data: Path) -> None:
    there = places_of(table.header)
    lacking = [name for name in keep if name not in there]
    if lacking:
        raise SchemaError(f"{data} has no column {listed(lacking)}, which --keep names. Name one of its columns.")
    check_single(keep, there, data)


def _header(classes: Sequence[Any], proba: bool, level: float | None, keep: Sequence[str]) -> list[str]:
    """Return the names of the output columns, or raise UsageError if two are the same."""
    answers = (
        [f"probability_{label}" for label in classes] if proba else ["prediction", *(["low", "high"] if level else [])]
    )
    both = [name for name in keep if name in answers]
    if both:
        raise click.UsageError(f"--keep {both[0]} names a column that the answers have too; rename it in the file.")
    return [*keep, *answers]


def _rows(
    estimator: PrivateEstimator,
    answer: Answer,
    tables: Sequence[TableFile],
    sizes: Sequence[int],
    keep: Sequence[str],
    progress: ShareProgress,
    look: UnreadColumns,
) -> Iterator[list[Any]]:
    """Yield one row per record, with one block of records in memory at a time, which is passed to ``look``."""
    total = max(sum(sizes), 1)
    for place, table in enumerate(tables):
        for block in table.blocks():
            share = table.share
            progress.read(None if share is None else (sum(sizes[:place]) + sizes[place] * share) / total)
            look.add({name: block[name] for name in estimator.schema_.names})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnreadColumnWarning)  # of a single block: all are reported at the end
                answers = answer({name: block[name] for name in estimator.schema_.names})
            kept = zip(*(block[name].tolist() for name in keep), strict=True) if keep else repeat(())
            yield from ([*own, *found] for own, found in zip(kept, answers, strict=False))


def _write_csv(file: TextIO, rows: Iterable[list[Any]]) -> None:
    csv.writer(file, lineterminator="\n").writerows(rows)


def _write_json(file: TextIO, classes: Sequence[Any], rows: Iterable[list[Any]], name: str) -> None:
    """Write one document: the classes if there are any, then a list of predictions under a name, one record per line."""
    head = f'"classes": {json.dumps(classes)}, ' if classes else ""
    file.write(f'{{{head}"{name}": [')
    for place, row in enumerate(rows):
        told = row[0] if name == "predictions" else [None if value in OPEN else value for value in row]
        file.write((",\n" if place else "\n") + json.dumps(told, allow_nan=False))
    file.write("\n]}\n")
