"""``hedgerow reproduce``: run the papers' experiments again."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["reproduce"]


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
