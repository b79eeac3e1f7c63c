"""``hedgerow budget``: the ledgers of whoever keeps a budget."""

from __future__ import annotations

import click

from hedgerow.cli.group import LazyGroup, show_help_if_alone

__all__ = ["budget"]

COMMANDS = {
    "create": ("hedgerow.cli.budget_change", "Create a ledger, and its store if there is none."),
    "show": ("hedgerow.cli.budget_show", "Show a ledger: its ceiling, what is left, its entries."),
    "list": ("hedgerow.cli.budget_show", "List the ledgers of a store."),
    "raise": ("hedgerow.cli.budget_change", "Raise a ledger's ceiling."),
    "close": ("hedgerow.cli.budget_change", "Close a ledger for good."),
    "verify": ("hedgerow.cli.budget_show", "Check every link of a ledger's chain."),
    "report": ("hedgerow.cli.budget_report", "Write a page about a ledger for the officer."),
}


@click.group("budget", cls=LazyGroup, commands_by_name=COMMANDS, invoke_without_command=True)
@click.pass_context
def budget(context: click.Context) -> None:
    """Keep the privacy budgets of data sets, across processes and people.

    What these commands show holds no record: a ledger knows what was asked, never what was answered.
    """
    show_help_if_alone(context)
