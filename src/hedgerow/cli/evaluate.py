"""``hedgerow evaluate``: a private report card of a saved model on a file of records, and files of such cards."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, get_args

import click

from hedgerow.analysis import RegressionCard, ReportCard
from hedgerow.analysis import evaluate as evaluate_model
from hedgerow.analysis.figures import Card
from hedgerow.cli.group import BrokenOff
from hedgerow.cli.options import (
    InputFile,
    OutputFile,
    checked_delta,
    checked_epsilon,
    files_argument,
    force_option,
    json_option,
    ledger_options,
    ledger_or_none,
    memory_option,
    person_options,
    refuse_overwriting,
    separator_option,
    spill_option,
    target_option,
)
from hedgerow.cli.output import card_values, check_stdout, write_json
from hedgerow.cli.records import check_columns, given, with_person
from hedgerow.cli.spending import REFUSALS, ShareProgress
from hedgerow.errors import EngineError, FileFormatError
from hedgerow.files import atomic_file
from hedgerow.privacy.accounting import Adjacency
from hedgerow.privacy.began import Watch
from hedgerow.sources.tables import CSVFormat
from hedgerow.systems import load

__all__ = ["evaluate", "read_report", "report_values"]

MODEL = "model_sha256"


def report_values(card: Card, model: Path) -> dict[str, Any]:
    """Return a report card as plain values for JSON, with the digest of its model file."""
    return {MODEL: _digest(model), **card_values(card)}


def read_report(path: Path, model: Path) -> Card:
    """Return the report card of a model file from a file that ``hedgerow evaluate`` wrote.

    Raises
    ------
    FileFormatError
        If the file contains no report card.
    click.UsageError
        If the card is of another model.
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


@click.command()
@click.argument("model", type=InputFile())
@files_argument
@click.option(
    "--epsilon", type=float, callback=checked_epsilon, required=True, help="The privacy budget of the report."
)
@click.option(
    "--delta", type=float, callback=checked_delta, help="Above 0: normal noise, which is smaller for many classes."
)
@target_option
@click.option(
    "--bins",
    type=int,
    default=64,
    show_default=True,
    help="Number of public bins of a probability or residual; even.",
)
@click.option(
    "--adjacency",
    type=click.Choice(get_args(Adjacency)),
    default="add-remove",
    show_default=True,
    help="What neighboring data sets are.",
)
@person_options
@click.option(
    "--out",
    type=OutputFile(),
    help="Also write the report to this file, as JSON for `hedgerow card --report`.",
)
@force_option
@memory_option
@spill_option
@ledger_options
@separator_option
@json_option
def evaluate(
    model: Path,
    data: tuple[Path, ...],
    epsilon: float,
    delta: float | None,
    target: str | None,
    bins: int,
    adjacency: str,
    person: str | None,
    records_per_person: int | None,
    out: Path | None,
    force: bool,
    memory: int,
    spill: Path | None,
    address: str | None,
    dataset: str | None,
    separator: str | None,
    as_json: bool,
) -> None:
    """Evaluate the model file MODEL privately on the records of DATA, which were not used in its fit.

    DATA is a file, CSV or Parquet by its name, or a quoted pattern such as "people/*.parquet". It is read block by block.

    The report card is written to stdout, and with --out as JSON to a file. It has accuracy, ROC AUC and Brier score; for a model
    that predicts a number, it has RMSE, MAE, R2 and bias. Each figure has an interval for these records and one for the
    population that they come from. The certificate follows. The costs of evaluations of the same records add up.

    With --ledger and --dataset, the ledger is charged before anything is drawn. If it refuses, the exit code is 3.
    """
    if out is not None:
        refuse_overwriting(out, force, model, *data)
    estimator = load(model)
    schema = with_person(
        estimator.schema_ if target is None else estimator.schema_.replace(target=target), person, model
    )
    if schema.target is None:
        raise click.UsageError(
            f"{model} names no target, so it is open which column holds the labels; pass --target COLUMN."
        )
    ledger = ledger_or_none(address, dataset)
    check_stdout()
    X, y, groups = given(
        data,
        schema.target,
        CSVFormat.of(schema, separator),
        memory,
        spill,
        lambda table, path: check_columns(table, schema, path),
        schema.person,
    )
    settings: dict[str, Any] = {"epsilon": epsilon, "delta": delta or 0.0, "bins": bins, "adjacency": adjacency}
    settings |= {"groups": groups, "records_per_person": records_per_person}
    watch = Watch()
    try:
        with watch, ShareProgress() as progress:
            card = evaluate_model(
                estimator, X.with_progress(progress) if y is None else X, y, ledger=ledger, **settings
            )
    except BaseException as error:
        if not watch.begun or (isinstance(error, REFUSALS) and not isinstance(error, EngineError)):
            raise
        raise BrokenOff(error, f"The question may have been asked: count epsilon {epsilon:g} as spent.") from error
    found = report_values(card, model)
    if as_json:
        write_json(found)
    else:
        click.echo(f"{card}\n\n{card.certificate_}")
    if out is not None:
        with atomic_file(out, replace=force) as part:
            part.write_text(json.dumps(found, indent=2, allow_nan=False) + "\n", "utf-8")
        click.echo(f"wrote {out}", err=True)
