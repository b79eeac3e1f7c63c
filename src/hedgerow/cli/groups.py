"""The commands that are groups, ``hedgerow budget`` and ``hedgerow schema``, whose commands are imported when they run."""

from __future__ import annotations

import click

from hedgerow.cli.group import LazyGroup, show_help_if_alone

__all__ = ["budget", "schema"]

BUDGET = {
    "create": ("hedgerow.cli.budget", "Create a ledger, and its store if there is none."),
    "show": ("hedgerow.cli.budget", "Show a ledger: its ceiling, what is left, its entries."),
    "list": ("hedgerow.cli.budget", "List the ledgers of a store."),
    "raise": ("hedgerow.cli.budget", "Raise a ledger's ceiling."),
    "close": ("hedgerow.cli.budget", "Close a ledger for good."),
    "verify": ("hedgerow.cli.budget", "Check every link of a ledger's chain."),
    "report": ("hedgerow.cli.budget", "Write a page about a ledger for the officer."),
}


@click.group("budget", cls=LazyGroup, commands_by_name=BUDGET, invoke_without_command=True)
@click.pass_context
def budget(context: click.Context) -> None:
    """Manage the privacy budgets of data sets, across processes and people.

    These commands show no contents of records: a ledger contains queries, never their answers.
    """
    show_help_if_alone(context)


SCHEMA = {
    "init": ("hedgerow.cli.schema", "Draft a schema from a file of records."),
    "release": ("hedgerow.cli.schema_release", "Release a schema from a file of records, privately."),
    "check": ("hedgerow.cli.schema", "Count what a schema does not cover in a file."),
}


@click.group("schema", cls=LazyGroup, commands_by_name=SCHEMA, invoke_without_command=True)
@click.pass_context
def schema(context: click.Context) -> None:
    """Draft a schema, release one, or check one against its data.

    Init and check read records without protection and are for the data owner only: what they write must not leave the building.
    The output of release is covered by the certificate that it prints.
    """
    show_help_if_alone(context)
