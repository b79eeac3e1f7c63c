"""``hedgerow systems | plan``: the systems, and the cost of a fit, from public numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import click

from hedgerow.analysis import plan as plan_fit
from hedgerow.cli.options import checked_delta, checked_epsilon, json_option, records_per_person_option, schema_option
from hedgerow.cli.output import write_json
from hedgerow.cli.settings import read_delta, read_parameters
from hedgerow.privacy.accounting import Adjacency
from hedgerow.schema import Schema
from hedgerow.systems import default_system, list_systems, system_class

__all__ = ["plan", "systems"]


@click.command()
@json_option
def systems(as_json: bool) -> None:
    """List every system: its name for --system, its class, variants, paper and guarantee."""
    found = list_systems()
    if as_json:
        write_json([asdict(info) for info in found])
        return
    width = max(len(info.name) for info in found)
    widest = max(len(info.class_name) for info in found)
    click.echo(f"{'name':<{width}}  {'class':<{widest}}  variants")
    for info in found:
        click.echo(f"{info.name:<{width}}  {info.class_name:<{widest}}  {', '.join(info.variants)}")
        click.echo(f"{'':<{width}}  private form: {info.guarantee}")
        click.echo(f"{'':<{width}}  {info.paper}")


@click.command()
@schema_option
@click.option("--records", type=int, required=True, help="The number of records, as their owner states it.")
@click.option("--epsilon", type=float, callback=checked_epsilon, required=True, help="The budget to plan for.")
@click.option("--delta", type=float, callback=checked_delta, help="The delta, if the system has one.")
@click.option(
    "--system",
    help="One of `hedgerow systems`. [default: hedgerow, or hedgerow-regressor if the schema has an outcome]",
)
@click.option(
    "--adjacency",
    type=click.Choice(get_args(Adjacency)),
    default="add-remove",
    show_default=True,
    help="What neighboring data sets are.",
)
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
