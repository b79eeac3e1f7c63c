"""``hedgerow train``: fit a model on a file of records and save it. What it runs is imported when it runs."""

from __future__ import annotations

from typing import Any

import click

from hedgerow.cli.options import InputFile, epsilon_option, options, query_options, share_option


@click.command()
@options("schema", "target", "system", "param")
@click.option(
    "--init",
    type=InputFile(),
    metavar="MODEL",
    help="Start from a model of public records or an earlier release. Costs for the same records add up.",
)
@click.option(
    "--public-start",
    is_flag=True,
    help="State that the records of the model of --init, and of its own starts, are public. The certificate repeats it.",
)
@share_option(
    "--holdout",
    "Keep about this share of the persons (or lines) out of training and print the accuracy on them. No guarantee covers it.",
)
@epsilon_option(
    "Evaluate on the held-out lines privately, with this budget: a report card in place of raw figures.",
    "--holdout-epsilon",
    metavar="EPSILON",
)
@query_options(
    "The whole privacy budget of the fit.",
    "The delta of the guarantee, if the system has one.",
    "The model file to write, completely or not at all.",
)
def train(**given: Any) -> None:
    """Fit a model on the records of DATA and save it. The privacy certificate goes to stdout.

    A file is Parquet if its name ends in .parquet or .pq. Otherwise it is CSV, in UTF-8 with commas unless the schema's delimiter
    and encoding say otherwise. Its first line has the names of the schema's features and of the target. A cell in quotes may hold
    line breaks. Several files are read in the order of their names; with --holdout, the file must fit in memory. A public rule
    leaves out each record that has another number of cells, an open quote, a missing or undeclared label, or an outcome that is
    not a number. The number of these records is not reported.
    """
    from hedgerow.cli.training import run_training

    run_training(**given)
