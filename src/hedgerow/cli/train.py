"""``hedgerow train``: fit a model on a CSV file and save it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click

from hedgerow.cli.options import InputFile, OutputFile, checked_epsilon, checked_separator, refuse_overwriting
from hedgerow.cli.settings import read_parameters
from hedgerow.cli.table_file import read_table
from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.estimator import PrivateClassifier
from hedgerow.privacy.accounting import Adjacency
from hedgerow.schema import Schema
from hedgerow.systems import system_class

__all__ = ["train"]

NO_SCHEMA = """\
--schema is missing: ranges, values and classes must be public knowledge, written down by whoever knows the data and not \
read off the records. Write a TOML file such as

  target = "income"
  classes = ["low", "high"]
  missing = ["?"]

  [features.age]
  low = 17
  high = 90

  [features.sex]
  values = ["Female", "Male"]

and pass it with --schema FILE."""


def _required_schema(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path:
    """Return the schema's path; whoever gives none is told first of all how to write one."""
    if value is None:
        raise click.UsageError(NO_SCHEMA, context)
    return value


@click.command()
@click.argument("data", type=InputFile())
@click.option(
    "--schema",
    "schema_path",
    type=InputFile(),
    callback=_required_schema,
    is_eager=True,
    help="TOML file that says what is public about the data.  [required]",
)
@click.option(
    "--epsilon", type=float, callback=checked_epsilon, required=True, help="The whole privacy budget of the fit."
)
@click.option("--out", type=OutputFile(), required=True, help="The model file to write, whole or not at all.")
@click.option("--target", help="The label's column. [default: the schema's target]")
@click.option("--system", default="edprf", show_default=True, help="One of `hedgerow systems`.")
@click.option(
    "--variant",
    type=click.Choice(["private", "published"]),
    default="private",
    show_default=True,
    help="The form whose guarantee is proved, or what the paper prints.",
)
@click.option(
    "--adjacency",
    type=click.Choice(get_args(Adjacency)),
    default="add-remove",
    show_default=True,
    help="What neighboring data sets are.",
)
@click.option("--param", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter of the system; repeatable.")
@click.option(
    "--separator", callback=checked_separator, default=",", show_default=True, help="The character between cells."
)
def train(
    data: Path,
    schema_path: Path,
    epsilon: float,
    out: Path,
    target: str | None,
    system: str,
    variant: str,
    adjacency: str,
    pairs: Sequence[str],
    separator: str,
) -> None:
    """Fit a model on the CSV file DATA and save it; the privacy certificate goes to stdout.

    DATA is UTF-8 text: one line per record, its first line the names of the schema's features and of the target. A line
    with another number of cells, or whose label is missing or undeclared, is left out by public rule, and nobody is told.
    """
    refuse_overwriting(out, data, schema_path)
    kind = system_class(system)
    settings = {**read_parameters(kind, pairs), **_variant(kind, variant)}
    schema = _with_target(Schema.load(schema_path), target, schema_path)
    model = kind(epsilon=epsilon, schema=schema, adjacency=adjacency, **settings)

    columns = read_table(data, separator)
    check_columns(list(columns), schema, data)
    labels = columns.pop(str(schema.target))
    if not len(labels):
        raise ConfigurationError(f"{data} has no records, but a fit rests on there being one. Add records.")

    model.fit(columns, labels)
    model.save(out)
    click.echo(str(model.certificate_))
    if not model.certificate_.holds:
        click.echo("note: no guarantee holds for this model; the certificate says why.", err=True)
    click.echo(f"wrote {out}", err=True)


def _variant(kind: type[PrivateClassifier], variant: str) -> dict[str, str]:
    """Return the variant as a setting; a system of our own has none but the private one."""
    if "variant" in inspect.signature(kind).parameters:
        return {"variant": variant}
    if variant != "private":
        raise click.UsageError(f"{kind.__name__} has no variant {variant!r}; it has only the private one.")
    return {}


def _with_target(schema: Schema, target: str | None, schema_path: Path) -> Schema:
    if target is None and schema.target is None:
        raise click.UsageError(
            f"{schema_path} names no target, so it is open which column holds the labels; pass --target COLUMN."
        )
    return schema if target is None else schema.replace(target=target)


def check_columns(found: Sequence[str], schema: Schema, data: Path) -> None:
    """Raise SchemaError unless the columns are the schema's features and its target, in any order."""
    wanted = [*schema.names, str(schema.target)]
    lacking = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted]
    if len(lacking) == len(wanted):  # a file without a header: its first line is a record and is not to be shown
        raise SchemaError(
            f"{data} names none of the schema's columns in its first line ({', '.join(wanted[:5])}, ...). "
            "Add a header line, or pass the right --separator."
        )
    if lacking:
        raise SchemaError(
            f"{data} lacks {_listed(lacking)}, which a record needs. Add it (empty cells are read as missing), or pass a "
            "schema and a target without it."
        )
    if extra:
        raise SchemaError(
            f"{data} has {_listed(extra)}, about which the schema says nothing public. Drop it from the file, or declare "
            "it in the schema."
        )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    return f"the column{'s' if len(names) > 1 else ''} {shown}"
