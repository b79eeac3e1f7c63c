"""``hedgerow schema``: what is public about the data, drafted and checked."""

from __future__ import annotations

import click

from hedgerow.cli.group import LazyGroup, show_help_if_alone

__all__ = ["schema"]

COMMANDS = {
    "init": ("hedgerow.cli.schema_init", "Draft a schema from a file of records."),
    "check": ("hedgerow.cli.schema_check", "Count what a schema does not cover in a file."),
}


@click.group("schema", cls=LazyGroup, commands_by_name=COMMANDS, invoke_without_command=True)
@click.pass_context
def schema(context: click.Context) -> None:
    """Draft a schema, or check one against its data.

    Both read records without protection and are for their owner alone: what they write must not leave the building.
    """
    show_help_if_alone(context)
