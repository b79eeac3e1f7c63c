"""``hedgerow export``: a saved model as ONNX, SQL or JSON."""

from __future__ import annotations

from pathlib import Path

import click

from hedgerow.cli.options import InputFile, OutputFile, force_option, refuse_overwriting
from hedgerow.estimator import PrivateEstimator
from hedgerow.export import DIALECTS
from hedgerow.files import atomic_file
from hedgerow.systems import load

__all__ = ["export"]


@click.command()
@click.argument("model", type=InputFile())
@click.option("--to", "kind", type=click.Choice(["onnx", "sql", "json"]), required=True, help="What is written.")
@click.option(
    "--out", type=OutputFile(), help="The file to write, whole or not at all. [default, but for onnx: stdout]"
)
@force_option
@click.option(
    "--table", help="sql: the table whose records are predicted; with a schema's name and a dot before it, or without."
)
@click.option(
    "--dialect", type=click.Choice(sorted(DIALECTS)), default="duckdb", show_default=True, help="sql: the engine."
)
@click.option("--keep", multiple=True, metavar="COLUMN", help="sql: a column that the result holds too; repeatable.")
def export(
    model: Path, kind: str, out: Path | None, force: bool, table: str | None, dialect: str, keep: tuple[str, ...]
) -> None:
    """Write the model file MODEL for other programs: an ONNX graph, one SQL statement, or JSON.

    All of them answer as `hedgerow predict` does, label by label. Nothing is spent: they are made of what the fit released. ONNX
    needs the package onnx. A table whose own name has a dot is for Python's model.to_sql.
    """
    if kind == "sql" and not table:
        raise click.UsageError("--to sql needs the name of the table whose records are predicted; pass --table NAME.")
    if kind == "onnx" and out is None:
        raise click.UsageError("--to onnx writes bytes, which no terminal shows; pass --out FILE.")
    if out is not None:
        refuse_overwriting(out, force, model)
    content = _content(load(model), kind, (table or "").split("."), dialect, keep)
    if out is None:
        click.echo(content, nl=False)
        return
    with atomic_file(out, replace=force) as part:
        part.write_bytes(content)
    click.echo(f"wrote {out}", err=True)


def _content(estimator: PrivateEstimator, kind: str, table: list[str], dialect: str, keep: tuple[str, ...]) -> bytes:
    if kind == "onnx":
        written: bytes = estimator.to_onnx().SerializeToString()
        return written
    text = estimator.to_json() if kind == "json" else estimator.to_sql(table, dialect, keep=keep) + "\n"
    return text.encode()
