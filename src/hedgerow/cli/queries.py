"""``hedgerow evaluate | schema release``: private queries besides fits, and files of report cards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hedgerow.analysis import RegressionCard, ReleasedSchema, ReportCard, private_schema
from hedgerow.analysis import evaluate as evaluate_model
from hedgerow.analysis.figures import Card
from hedgerow.cli import BrokenOff
from hedgerow.cli.inputs import check_columns, check_single, given, with_person
from hedgerow.cli.options import (
    DataOptions,
    InputFile,
    OutputFile,
    adjacency_option,
    checked_delta,
    checked_epsilon,
    data_options,
    files_argument,
    force_option,
    json_option,
    person_options,
    refuse_overwriting,
    target_option,
)
from hedgerow.cli.output import REFUSALS, ShareProgress, card_values, certificate_values, check_stdout, write_json
from hedgerow.errors import EngineError, FileFormatError, SchemaError
from hedgerow.file_objects import read_place
from hedgerow.files import atomic_file
from hedgerow.limits import LARGEST_CARD
from hedgerow.privacy.atomic import Watch
from hedgerow.sources.csv_file import CSVFormat
from hedgerow.sources.table_file import TableFile, check_no_index, places_of
from hedgerow.systems import load
from hedgerow.texts import it_or_them, listed

MODEL = "model_sha256"


def read_report(path: Path, model: Path) -> Card:
    """Return the report card of a model file from a file that ``hedgerow evaluate`` wrote.

    Raises
    ------
    FileFormatError
        If the file contains no report card, or is larger than any.
    click.UsageError
        If the card is of another model.
    """
    content = read_place(path, LARGEST_CARD, "no report card needs as many, so write it again by hedgerow evaluate")
    try:
        values = json.loads(content)
        about = values[MODEL]
        card: Card = (RegressionCard if "outcome" in values else ReportCard).from_dict(values)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise FileFormatError(
            f"{path} is no report card; write one by hedgerow evaluate MODEL DATA --epsilon EPSILON --out {path.name}."
        ) from error
    if about != _digest(model):
        raise click.UsageError(f"the report card in {path} is about another model than that of the file {model}.")
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
@adjacency_option
@person_options
@click.option(
    "--out",
    type=OutputFile(),
    help="Also write the report to this file, as JSON for `hedgerow card --report`.",
)
@force_option
@data_options
@json_option
def evaluate(
    model: Path,
    data: DataOptions,
    epsilon: float,
    delta: float | None,
    target: str | None,
    bins: int,
    adjacency: str,
    person: str | None,
    records_per_person: int | None,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Evaluate the model file MODEL privately on the records of DATA, which were not used in its fit.

    DATA is a file, CSV or Parquet by its name, a folder, or a quoted pattern such as "people/*.parquet". It is read block by
    block.

    The report card is written to stdout, and with --out as JSON to a file. It has accuracy, ROC AUC and Brier score; for a model
    that predicts a number, it has RMSE, MAE, R2 and bias. Each figure has an interval for these records and one for the
    population that they come from. The certificate follows. The costs of evaluations of the same records add up.

    With --ledger and --dataset, the ledger is charged before anything is drawn. If it refuses, the exit code is 3.
    """
    refuse_overwriting(out, force, model, *data.paths)
    estimator = load(model)
    schema = with_person(
        estimator.schema_ if target is None else estimator.schema_.replace(target=target), person, model
    )
    if schema.target is None:
        raise click.UsageError(
            f"{model} names no target, so it does not state which column holds the labels; pass --target COLUMN."
        )
    ledger = data.ledger()
    check_stdout()
    form = CSVFormat.of(schema, data.separator)
    X, y, groups = given(
        data, schema.target, form, lambda table, path: check_columns(table, schema, path), schema.person
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
        raise BrokenOff(error, f"The query may have been made: count epsilon {epsilon:g} as spent.") from error
    found = {MODEL: _digest(model), **card_values(card)}
    if as_json:
        write_json(found)
    else:
        click.echo(f"{card}\n\n{card.certificate_}")
    if out is not None:
        with atomic_file(out, replace=force) as part:
            part.write_text(json.dumps(found, indent=2, allow_nan=False) + "\n", "utf-8")
        click.echo(f"wrote {out}", err=True)


@click.command()
@files_argument
@click.option(
    "--epsilon", type=float, callback=checked_epsilon, required=True, help="The privacy budget of the release."
)
@click.option(
    "--delta",
    type=float,
    callback=checked_delta,
    help="Above 0 if values are released: the probability that the value of a single record is shown.",
)
@click.option("--target", required=True, metavar="COLUMN", help="The column of labels.")
@click.option("--numeric", multiple=True, metavar="COLUMN", help="A column of numbers; repeatable.")
@click.option("--date", "dates", multiple=True, metavar="COLUMN", help="A column of dates or moments; repeatable.")
@click.option("--categorical", multiple=True, metavar="COLUMN", help="A column of values; repeatable.")
@click.option(
    "--class",
    "classes",
    multiple=True,
    metavar="LABEL",
    help="A label, if labels are public; otherwise they are released.",
)
@click.option("--outcome", is_flag=True, help="The target is a number, whose range is released.")
@click.option("--missing", multiple=True, metavar="TEXT", help="A marker of a missing cell, such as ?; repeatable.")
@adjacency_option
@person_options
@click.option("--out", type=OutputFile(), required=True, help="The schema file to write, completely or not at all.")
@force_option
@data_options
@json_option
def release(
    data: DataOptions,
    epsilon: float,
    delta: float | None,
    target: str,
    numeric: Sequence[str],
    dates: Sequence[str],
    categorical: Sequence[str],
    classes: Sequence[str],
    outcome: bool,
    missing: Sequence[str],
    adjacency: str,
    person: str | None,
    records_per_person: int | None,
    out: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Release a schema of DATA: ranges of numbers and dates, and values of other columns. The certificate goes to stdout.

    DATA is a file, CSV or Parquet by its name, a folder, or a quoted pattern such as "people/*.parquet". It is read block by
    block. What is public need not be released: leave such a column out of DATA, or replace its entry afterwards. Name every
    other column except
    the target with --numeric, --date or --categorical. Each gets an equal share of the budget.

    With --ledger and --dataset, the ledger is charged before anything is drawn. If it refuses, the exit code is 3 and nothing is
    written.
    """
    if classes and outcome:
        raise click.UsageError("the target has classes or is a number; pass --class LABEL or --outcome.")
    refuse_overwriting(out, force, *data.paths)
    ledger = data.ledger()
    check_stdout()
    wanted = [*numeric, *dates, *categorical, target, *([] if person is None else [person])]
    form = CSVFormat(data.separator or ",")
    X, y, groups = given(data, target, form, lambda table, path: _check(table, wanted, path), person)
    spent = f"epsilon {epsilon}" + (f", delta {delta}" if delta else "")
    drawn, watch = False, Watch()
    try:
        with watch, ShareProgress() as progress:
            schema = private_schema(
                X.with_progress(progress) if y is None else X,
                None if classes else y,
                epsilon=epsilon,
                delta=delta or 0.0,
                numeric=numeric,
                dates=dates,
                categorical=categorical,
                classes=list(classes) or None,
                outcome=outcome,
                missing=missing,
                target=target,
                adjacency=adjacency,
                groups=groups,
                person=person,
                records_per_person=records_per_person,
                ledger=ledger,
            )
        drawn = True
        schema.save(out)
    except BaseException as error:
        if not watch.begun or (not drawn and isinstance(error, REFUSALS) and not isinstance(error, EngineError)):
            raise
        raise BrokenOff(error, f"The release may have begun: count {spent} as spent.") from error
    _report(schema, out, as_json)


def _check(table: TableFile, wanted: Sequence[str], data: Path) -> None:
    """Raise SchemaError unless the columns are those that the options name."""
    there = places_of(table.header)
    lacking = [name for name in wanted if name not in there]
    others = [name for name in there if name not in wanted]
    check_single(wanted, there, data)
    if lacking:
        raise SchemaError(f"{data} has no column {listed(lacking)}; pass the names in its first line.")
    check_no_index(others, table.index, str(data))
    if others:
        raise SchemaError(
            f"{data} has {listed(others)}, for which no option is given. Name {it_or_them(others)} by --numeric, --date, "
            f"--categorical or --person, or drop {it_or_them(others)}."
        )


def _report(schema: ReleasedSchema, out: Path, as_json: bool) -> None:
    certificate = schema.certificate_
    if as_json:
        ranges = {name: vars(one) for name, one in schema.ranges_.items()}
        write_json({"schema": schema.to_dict(), "ranges": ranges, "certificate": certificate_values(certificate)})
    else:
        click.echo(f"{certificate}\n\ncertificate {certificate.digest}")
    click.echo(f"wrote {out}", err=True)
