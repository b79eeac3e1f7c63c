"""``hedgerow schema``: what is public about the data, drafted, released and checked."""

from __future__ import annotations

import click

from hedgerow.cli.group import LazyGroup, show_help_if_alone

__all__ = ["schema"]

COMMANDS = {
    "init": ("hedgerow.cli.schema_init", "Draft a schema from a file of records."),
    "release": ("hedgerow.cli.schema_release", "Release a schema from a file of records, privately."),
    "check": ("hedgerow.cli.schema_check", "Count what a schema does not cover in a file."),
}


@click.group("schema", cls=LazyGroup, commands_by_name=COMMANDS, invoke_without_command=True)
@click.pass_context
def schema(context: click.Context) -> None:
    """Draft a schema, release one, or check one against its data.

    Init and check read records without protection and are for their owner alone: what they write must not leave the building.
    What release writes is covered by the certificate that it prints.
    """
    show_help_if_alone(context)
