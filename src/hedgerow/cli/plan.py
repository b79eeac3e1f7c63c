"""``hedgerow plan | search``: the cost of a fit, and the choice of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hedgerow.analysis import PrivateSearchCV
from hedgerow.analysis import plan as plan_fit
from hedgerow.cli.inputs import check_columns, given, load_schema, read_delta, read_parameters
from hedgerow.cli.options import (
    DataOptions,
    OutputFile,
    adjacency_option,
    checked_delta,
    checked_epsilon,
    data_options,
    files_argument,
    force_option,
    json_option,
    person_options,
    records_per_person_option,
    refuse_overwriting,
    schema_option,
    system_option,
    target_option,
)
from hedgerow.cli.output import ShareProgress, Spending, certificate_values, check_stdout, write_json
from hedgerow.estimator import PrivateEstimator
from hedgerow.privacy.exact import decimal_text, exact
from hedgerow.schema import Schema
from hedgerow.sources.csv_file import CSVFormat
from hedgerow.systems import default_system, system_class


@click.command()
@schema_option
@click.option("--records", type=int, required=True, help="The number of records, as their owner states it.")
@click.option("--epsilon", type=float, callback=checked_epsilon, required=True, help="The budget to plan for.")
@click.option("--delta", type=float, callback=checked_delta, help="The delta, if the system has one.")
@system_option
@adjacency_option
@records_per_person_option
@click.option("--param", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter of the system; repeatable.")
@click.option("--no-data", is_flag=True, help="Do not try the fit on synthetic records.")
@json_option
def plan(
    schema_path: Path,
    records: int,
    epsilon: float,
    delta: float | None,
    system: str | None,
    adjacency: str,
    records_per_person: int | None,
    pairs: Sequence[str],
    no_data: bool,
    as_json: bool,
) -> None:
    """Show what a fit would cost and how large its noise would be, before anything is spent.

    It reads a schema and no records. The scores of a trial fit on synthetic records of that shape do not predict the scores on
    other records.
    """
    schema = Schema.load(schema_path)
    kind = system_class(system or default_system(schema))
    settings: dict[str, Any] = {**read_parameters(kind, pairs), **read_delta(kind, delta)}
    seed = settings.pop("random_state", None)
    found = plan_fit(
        schema,
        records=records,
        epsilon=epsilon,
        system=system,
        adjacency=adjacency,
        records_per_person=records_per_person,
        made_up=not no_data,
        seed=0 if seed is None else seed,
        **settings,
    )
    if as_json:
        write_json(found.to_dict())
    else:
        click.echo(str(found))


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
@click.option("--system", default="edprf", show_default=True, help="One of hedgerow.list_systems().")
@click.option(
    "--param", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter of all candidates; repeatable."
)
@click.option("--refit", type=float, default=0.5, show_default=True, help="The share of epsilon for the final fit.")
@adjacency_option
@person_options
@data_options
@json_option
def search(
    data: DataOptions,
    schema_path: Path,
    epsilon: float,
    tried: Sequence[str],
    out: Path,
    force: bool,
    target: str | None,
    system: str,
    pairs: Sequence[str],
    refit: float,
    adjacency: str,
    person: str | None,
    records_per_person: int | None,
    as_json: bool,
) -> None:
    """Select parameters by the records of DATA within one budget, save the model, and write the certificate to stdout.

    DATA is a file, CSV or Parquet by its name, a folder, or a quoted pattern such as "people/*.parquet". Only the selected
    candidate and its model are shown. Defaults are usually better, because they get the whole budget: docs/tuning.md.

    With --ledger and --dataset, the ledger is charged before anything is drawn. If it refuses, the exit code is 3 and no model is
    written.
    """
    refuse_overwriting(out, force, *data.paths, schema_path)
    kind = system_class(system)
    schema = load_schema(schema_path, target, person)
    found = PrivateSearchCV(
        kind(schema=schema, **read_parameters(kind, pairs)),
        _grid(kind, tried),
        epsilon=epsilon,
        refit=refit,
        adjacency=adjacency,
        records_per_person=records_per_person,
        ledger=data.ledger(),
    )
    check_stdout()
    form = CSVFormat.of(schema, data.separator)
    X, y, groups = given(
        data, str(schema.target), form, lambda table, path: check_columns(table, schema, path), schema.person
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
