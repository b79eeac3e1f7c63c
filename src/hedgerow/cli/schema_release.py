"""``hedgerow schema release``: ranges and values by private queries, written as a schema."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click

from hedgerow.analysis import ReleasedSchema, private_schema
from hedgerow.cli.group import BrokenOff
from hedgerow.cli.options import (
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
)
from hedgerow.cli.output import certificate_values, check_stdout, write_json
from hedgerow.cli.records import check_single, given
from hedgerow.cli.spending import REFUSALS, ShareProgress
from hedgerow.errors import EngineError, SchemaError
from hedgerow.privacy.accounting import Adjacency
from hedgerow.privacy.began import Watch
from hedgerow.sources.table_file import TableFile, places_of
from hedgerow.sources.tables import CSVFormat
from hedgerow.texts import it_or_them, listed

__all__ = ["release"]


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
@click.option(
    "--adjacency",
    type=click.Choice(get_args(Adjacency)),
    default="add-remove",
    show_default=True,
    help="What neighboring data sets are.",
)
@person_options
@click.option("--out", type=OutputFile(), required=True, help="The schema file to write, completely or not at all.")
@force_option
@memory_option
@spill_option
@ledger_options
@separator_option
@json_option
def release(
    data: tuple[Path, ...],
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
    memory: int,
    spill: Path | None,
    address: str | None,
    dataset: str | None,
    separator: str | None,
    as_json: bool,
) -> None:
    """Release a schema of DATA: ranges of numbers and dates, and values of other columns. The certificate goes to stdout.

    DATA is a file, CSV or Parquet by its name, or a quoted pattern such as "people/*.parquet". It is read block by block. What is
    public need not be released: leave such a column out of DATA, or replace its entry afterwards. Name every other column except
    the target with --numeric, --date or --categorical. Each gets an equal share of the budget.

    With --ledger and --dataset, the ledger is charged before anything is drawn. If it refuses, the exit code is 3 and nothing is
    written.
    """
    if classes and outcome:
        raise click.UsageError("the target has classes or is a number; pass --class LABEL or --outcome.")
    refuse_overwriting(out, force, *data)
    ledger = ledger_or_none(address, dataset)
    check_stdout()
    wanted = [*numeric, *dates, *categorical, target, *([] if person is None else [person])]
    X, y, groups = given(
        data,
        target,
        CSVFormat(separator or ","),
        memory,
        spill,
        lambda table, path: _check(table, wanted, path),
        person,
    )
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
    if others:
        raise SchemaError(
            f"{data} has {listed(others)}, of which nothing is said. Name {it_or_them(others)} by --numeric, --date, "
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
