"""The command ``hedgerow``. The imports of a command are made when it runs, so that help is fast."""

from __future__ import annotations

import click

from hedgerow import __version__
from hedgerow.cli.group import LazyGroup, show_help_if_alone

__all__ = ["main"]

# Each command's module contains a click command of the same name.
COMMANDS = {
    "demo": ("hedgerow.cli.demo", "Train on a public survey and compare with other rules."),
    "plan": ("hedgerow.cli.plan", "Show what a fit would cost, before anything is spent."),
    "train": ("hedgerow.cli.train", "Fit a model on a file of records and save it."),
    "search": ("hedgerow.cli.plan", "Select parameters privately, and save the model."),
    "predict": ("hedgerow.cli.predict", "Predict the records of a file with a saved model."),
    "evaluate": ("hedgerow.cli.queries", "Evaluate a saved model privately."),
    "inspect": ("hedgerow.cli.inspect", "Show a saved model: certificate, sizes, trees."),
    "card": ("hedgerow.cli.inspect", "Write a page about a saved model."),
    "export": ("hedgerow.cli.inspect", "Write a saved model as ONNX, SQL or JSON."),
    "budget": ("hedgerow.cli.group", "Manage the budget of a data set across processes."),
    "schema": ("hedgerow.cli.group", "Draft or release a schema, or check one."),
    "data": ("hedgerow.cli.papers", "Write a published data set as CSV, with its schema."),
    "reproduce": ("hedgerow.cli.papers", "Run the papers' experiments again."),
    "audit": ("hedgerow.cli.audit", "Attack a privacy claim, or check a saved model."),
    "doctor": ("hedgerow.cli.doctor", "Check the installation and a ledger store."),
    "systems": ("hedgerow.cli.plan", "List every system and what it guarantees."),
}


@click.group("hedgerow", cls=LazyGroup, commands_by_name=COMMANDS, invoke_without_command=True)
@click.version_option(__version__, prog_name="hedgerow", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Differentially private tree ensembles for tabular data.

    Results go to stdout, notes and errors to stderr; with --json, stdout is one JSON document and nothing else.

    \b
    Exit codes:
      0    done
      1    unexpected failure, or a file that could not be read or written
      2    wrong usage: an option, a path, the schema, the columns or the format of a file
      3    the privacy budget was refused; nothing was drawn
      4    an audit refuted a guarantee
      5    a column, or the labels, have nothing that the schema can read (schema check)
      130  interrupted; no file is incomplete, and no budget was spent unless the message says so
    """
    show_help_if_alone(context)
