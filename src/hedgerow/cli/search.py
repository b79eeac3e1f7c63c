"""``hedgerow search``: select parameters privately within one budget, and save the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click

from hedgerow.analysis import PrivateSearchCV
from hedgerow.cli.options import (
    OutputFile,
    checked_epsilon,
    files_argument,
    force_option,
    json_option,
    ledger_options,
    ledger_or_none,
    memory_option,
    person_options,
    refuse_overwriting,
    schema_option,
    separator_option,
    spill_option,
    target_option,
)
from hedgerow.cli.output import certificate_values, check_stdout, write_json
from hedgerow.cli.records import check_columns, given, load_schema
from hedgerow.cli.settings import read_parameters
from hedgerow.cli.spending import ShareProgress, Spending
from hedgerow.estimator import PrivateEstimator
from hedgerow.privacy.accounting import Adjacency
from hedgerow.privacy.exact import decimal_text, exact
from hedgerow.sources.tables import CSVFormat
from hedgerow.systems import system_class

__all__ = ["search"]


@click.command()
@files_argument
@schema_option
@click.option(
    "--epsilon", type=float, callback=checked_epsilon, required=True, help="The budget of the search and the final fit."
)
@click.option(
    "--try",
    "tried",
    multiple=True,
    required=True,
    metavar="NAME=VALUE,...",
    help="The values of a parameter to try; repeatable. Every combination is a candidate.",
)
@click.option("--out", type=OutputFile(), required=True, help="The model file to write, completely or not at all.")
@force_option
@target_option
@click.option("--system", default="edprf", show_default=True, help="One of `hedgerow systems`.")
@click.option(
    "--param", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter of all candidates; repeatable."
)
@click.option(
    "--strategy",
    type=click.Choice(["disjoint", "random-stopping"]),
    default="disjoint",
    show_default=True,
    help="Give each candidate a share of the records, or try a random number of candidates on most records.",
)
@click.option("--refit", type=float, default=0.5, show_default=True, help="The share of epsilon for the final fit.")
@click.option(
    "--adjacency",
    type=click.Choice(get_args(Adjacency)),
    default="add-remove",
    show_default=True,
    help="What neighboring data sets are.",
)
@person_options
@memory_option
@spill_option
@ledger_options
@separator_option
@json_option
def search(
    data: tuple[Path, ...],
    schema_path: Path,
    epsilon: float,
    tried: Sequence[str],
    out: Path,
    force: bool,
    target: str | None,
    system: str,
    pairs: Sequence[str],
    strategy: str,
    refit: float,
    adjacency: str,
    person: str | None,
    records_per_person: int | None,
    memory: int,
    spill: Path | None,
    address: str | None,
    dataset: str | None,
    separator: str | None,
    as_json: bool,
) -> None:
    """Select parameters by the records of DATA within one budget, save the model, and write the certificate to stdout.

    DATA is a file, CSV or Parquet by its name, or a quoted pattern such as "people/*.parquet". Only the selected candidate
    and its model are shown. Defaults are usually better, because they get the whole budget: docs/tuning.md.

    With --ledger and --dataset, the ledger is charged before anything is drawn. If it refuses, the exit code is 3 and no model is
    written.
    """
    refuse_overwriting(out, force, *data, schema_path)
    kind = system_class(system)
    schema = load_schema(schema_path, target, person)
    found = PrivateSearchCV(
        kind(schema=schema, **read_parameters(kind, pairs)),
        _grid(kind, tried),
        epsilon=epsilon,
        strategy=strategy,
        refit=refit,
        adjacency=adjacency,
        records_per_person=records_per_person,
        ledger=ledger_or_none(address, dataset),
    )
    check_stdout()
    label = str(schema.target)
    form = CSVFormat.of(schema, separator)
    X, y, groups = given(
        data, label, form, memory, spill, lambda table, path: check_columns(table, schema, path), schema.person
    )
    with Spending(f"epsilon {decimal_text(exact(epsilon))}", out) as spending:
        with ShareProgress() as progress:
            spending.fit(found, X.with_progress(progress) if y is None else X, y, groups)
        spending.save(found.best_estimator_, force=force)
        _report(found, out, as_json)


def _grid(kind: type[PrivateEstimator], tried: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values of each parameter, read as the class's annotations say."""
    grid: dict[str, list[Any]] = {}
    for pair in tried:
        name, _, values = pair.partition("=")
        if name.strip() in grid:
            raise click.UsageError(f"--try {name.strip()} is given twice; keep one, with all its values.")
        pairs = [f"{name}={value}" for value in values.split(",")] if "=" in pair else [pair]
        grid[name.strip()] = [value for one in pairs for value in read_parameters(kind, [one]).values()]
    return grid


def _report(found: PrivateSearchCV, out: Path, as_json: bool) -> None:
    certificate = found.certificate_
    if as_json:
        write_json(
            {"model": str(out), "best_params": found.best_params_, "certificate": certificate_values(certificate)}
        )
    else:
        best = ", ".join(f"{name}={value}" for name, value in found.best_params_.items())
        click.echo(f"{certificate}\n\nbest of the candidates: {best}")
    click.echo(f"wrote {out}", err=True)
