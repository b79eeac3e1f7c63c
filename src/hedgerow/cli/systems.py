"""``hedgerow systems``: what there is to train."""

from __future__ import annotations

from dataclasses import asdict

import click

from hedgerow.cli.options import json_option
from hedgerow.cli.output import write_json
from hedgerow.systems import list_systems

__all__ = ["systems"]


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
