"""``hedgerow train``: fit a model on a file of records and save it. What it runs is imported when it runs."""

from __future__ import annotations

from typing import Any

import click

from hedgerow.cli.options import (
    ADJACENCIES,
    InputFile,
    OutputFile,
    checked_delta,
    checked_epsilon,
    checked_share,
    files_argument,
    force_option,
    json_option,
    ledger_options,
    memory_option,
    person_options,
    schema_option,
    separator_option,
    spill_option,
    target_option,
)

__all__ = ["train"]


def _checked_holdout_epsilon(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    return None if value is None else checked_epsilon(context, parameter, value)


@click.command()
@files_argument
@schema_option
@click.option(
    "--epsilon", type=float, callback=checked_epsilon, required=True, help="The whole privacy budget of the fit."
)
@click.option(
    "--delta",
    type=float,
    callback=checked_delta,
    help="The probability that the guarantee fails, where a system has one.",
)
@click.option("--out", type=OutputFile(), required=True, help="The model file to write, whole or not at all.")
@force_option
@target_option
@click.option(
    "--system",
    help="One of `hedgerow systems`. [default: hedgerow, or hedgerow-regressor where the schema has an outcome]",
)
@click.option(
    "--variant",
    type=click.Choice(["private", "published"]),
    default="private",
    show_default=True,
    help="The form whose guarantee is proved, or what the paper prints.",
)
@click.option(
    "--adjacency",
    type=click.Choice(ADJACENCIES),
    default="add-remove",
    show_default=True,
    help="What neighboring data sets are.",
)
@person_options
@click.option(
    "--init",
    type=InputFile(),
    metavar="MODEL",
    help="Start from a model of public records or an earlier release; what it cost the same records adds up.",
)
@click.option("--param", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter of the system; repeatable.")
@click.option(
    "--holdout",
    type=float,
    callback=checked_share,
    metavar="SHARE",
    help="Keep about this share of the persons (or lines) out of training and print the accuracy on them: no guarantee "
    "covers it.",
)
@click.option(
    "--holdout-epsilon",
    type=float,
    callback=_checked_holdout_epsilon,
    metavar="EPSILON",
    help="Ask about the held-out lines privately, with this budget: a report card in place of raw figures.",
)
@memory_option
@spill_option
@ledger_options
@separator_option
@json_option
def train(**given: Any) -> None:
    """Fit a model on the records of DATA and save it; the privacy certificate goes to stdout.

    DATA is a file, or a quoted pattern such as "people/*.parquet", whose files are read in the order of their names. It is
    Parquet if its name ends in .parquet or .pq. Otherwise it is CSV, in UTF-8 with commas unless the schema says by delimiter and
    encoding how it is written: one line per record, its first line the names of the schema's features and of the target.
    Records are read block by block, so they may be more than fit memory, but with --holdout or for a published form. A line
    with another number of cells, or whose label is missing or undeclared, or an outcome that is no
    number, is left out by public rule, and nobody is told.

    With --ledger and --dataset the budget is booked there before anything is drawn; if it is refused, the exit code is 3, and
    no model is written.
    """
    from hedgerow.cli.training import run_training

    run_training(**given)
