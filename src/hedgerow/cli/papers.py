"""``hedgerow data | reproduce``: published data sets as files, and the papers' experiments."""

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

__all__ = ["data", "reproduce"]


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


@click.command("reproduce")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--seeds", type=click.IntRange(1), help="Runs per point.  [default: as in the paper, or 10; with --quick 2]"
)
@click.option(
    "--jobs",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Number of parallel fits; 0 writes the pages from existing rows.",
)
@click.option("--quick", is_flag=True, help="Fewer values and records: to see it work, not for conclusions.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproductions"),
    show_default=True,
    help="The folder for figures, tables and pages. It is created if it does not exist.",
)
@click.option(
    "--rows",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for rows of single fits, a CSV file for each data set. Existing rows are not run again.  "
    "[default: rows in --out]",
)
@click.option("--pack", is_flag=True, help="Pack the rows into one compressed file for each paper, with hashes.")
def reproduce(
    names: tuple[str, ...], seeds: int | None, jobs: int, quick: bool, out: Path, rows: Path | None, pack: bool
) -> None:
    """Run experiments of the papers again: figures, small tables and a page that says which claims hold.

    NAME is an experiment such as edprf/fig9, a paper (edprf, cart-dps-adaboost, dpada), or all. `hedgerow reproduce list` shows
    all names. An interrupted run continues where it stopped.

    The noise comes from seeds, so that the same command gives the same figures. Use it on public data only.
    """
    from hedgerow.reproduce import PAPERS, Request
    from hedgerow.reproduce import reproduce as run

    if names == ("list",):
        width = max(len(experiment.name) for paper in PAPERS for experiment in paper.experiments)
        for paper in PAPERS:
            click.echo(f"{paper.title}: {paper.reference}")
            for experiment in paper.experiments:
                click.echo(f"  {experiment.name:<{width}}  {experiment.title}")
        return
    request = Request(names, seeds, jobs, quick, out, rows or out / "rows", pack)
    for path in run(request, say=lambda text: click.echo(text, err=True)):
        click.echo(path)
