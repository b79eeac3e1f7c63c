"""``hedgerow data``: write a published data set to files that the other commands read."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import click
import numpy.typing as npt

from hedgerow import datasets
from hedgerow.cli.options import force_option, refuse_overwriting
from hedgerow.datasets.dataset import Dataset
from hedgerow.files import atomic_file

__all__ = ["data"]

LOADERS = {
    "adult": datasets.load_adult,
    "affairs": datasets.load_affairs,
    "bank": datasets.load_bank,
    "census-income": datasets.load_census_income,
    "diabetes": datasets.load_diabetes_prediction,
    "doctor-visits": datasets.load_doctor_visits,
    "wall-following": datasets.load_wall_following,
}


@click.command("data")
@click.argument("name", type=click.Choice(list(LOADERS)), metavar="NAME")
@click.option(
    "--out",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    default=".",
    show_default=True,
    help="The folder to write to. It is created if it does not exist.",
)
@force_option
def data(name: str, out: Path, force: bool) -> None:
    """Write the published data set NAME: its records as CSV and its public schema as TOML.

    The files are NAME.csv, NAME.toml and, if the set has a separate test part, NAME-test.csv. The set is looked for in the folder
    HEDGEROW_DATA, then in the cache. Otherwise it is downloaded, if its licence allows that.
    """
    found: Dataset = LOADERS[name]()
    tables = {out / f"{name}.csv": (found.X, found.y)}
    if found.X_test is not None and found.y_test is not None:
        tables[out / f"{name}-test.csv"] = (found.X_test, found.y_test)
    toml = out / f"{name}.toml"
    for path in (toml, *tables):
        refuse_overwriting(path, force)
    out.mkdir(parents=True, exist_ok=True)
    schema = found.schema if found.schema.target else found.schema.replace(target="label")
    with atomic_file(toml, replace=force) as part:
        part.write_text(schema.to_toml(), encoding="utf-8")
    for path, (X, y) in tables.items():
        _write(path, found, X, y, force)
    for path in (toml, *tables):
        click.echo(path)


def _write(path: Path, found: Dataset, X: npt.NDArray[Any], y: npt.NDArray[Any], force: bool) -> None:
    """Write records and labels to a CSV file."""
    with atomic_file(path, replace=force) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*found.schema.names, found.schema.target or "label"])
        writer.writerows([*row, label] for row, label in zip(X.tolist(), y.tolist(), strict=True))
