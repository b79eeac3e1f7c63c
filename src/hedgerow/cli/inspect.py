"""``hedgerow inspect | card | export``: a saved model as text, as a page, and as ONNX, SQL or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from hedgerow.additive.model import AdditiveModel
from hedgerow.cli.options import (
    InputFile,
    OutputFile,
    force_option,
    json_option,
    ledger_options,
    ledger_or_none,
    refuse_overwriting,
)
from hedgerow.cli.output import model_values, tree_lines, tree_values, write_json
from hedgerow.cli.queries import read_report
from hedgerow.estimator import PrivateEstimator
from hedgerow.export import DIALECTS
from hedgerow.files import atomic_file
from hedgerow.systems import load
from hedgerow.systems.booster import BoostingClassifier
from hedgerow.texts import printable
from hedgerow.trees import ForestModel

__all__ = ["card", "export", "inspect"]

WIDEST = 60  # characters to which names are padded, so that one long name does not widen every line
MARKDOWN = (".md", ".markdown")


@click.command()
@click.argument("model", type=InputFile())
@click.option(
    "--tree", "number", type=click.IntRange(1), metavar="N", help="Print tree N of a private forest, counted from 1."
)
@click.option("--details", "whole", is_flag=True, help="Print every step of the certificate and its cost.")
@json_option
def inspect(model: Path, number: int | None, whole: bool, as_json: bool) -> None:
    """Show the contents of the model file MODEL: class, parameters, certificate, sizes and feature importances.

    With --tree, a tree is printed with its tests. A value outside a feature's range is clipped to the range. Everything shown was
    released by the fit. The certificate covers it, or lists it as not covered.
    """
    estimator = load(model)
    found = {
        **model_values(estimator),
        "sizes": {**_sizes(estimator), "file_bytes": model.stat().st_size},
        "feature_importances": _importances(estimator),
        "importance_rule": estimator.model_.importance_rule,
    }
    tree = None if number is None else _tree(estimator, number)
    if as_json:
        write_json({**found, "tree": tree})
        return
    certificate = estimator.certificate_.details() if whole else str(estimator.certificate_)
    for line in (*_page(found), "", certificate):
        click.echo(line)
    if tree is not None:
        click.echo(f"\ntree {number} of {found['sizes']['trees']}")
        for line in tree_lines(tree, depth=1):
            click.echo(line)


def _sizes(estimator: PrivateEstimator) -> dict[str, int | None]:
    """Return the numbers of rounds, trees, nodes, leaves or cells; None for those that the model does not have."""
    model, arrays = estimator.model_, estimator.model_.to_arrays()
    if isinstance(model, AdditiveModel):
        cuts = [len(term.cuts) for term in model.own.terms]
        sizes = {"rounds": len(cuts), "rounds_with_cuts": sum(map(bool, cuts)), "most_cuts": max(cuts, default=0)}
        if model.parts is not None:
            sizes["terms_of_the_start"] = len(model.parts[0].terms)
        return {**sizes, **dict.fromkeys(("trees", "nodes", "leaves")), "cells": len(arrays["votes"])}
    if not {"roots", "first_child"} <= set(arrays):
        cells = (
            {"cells": len(arrays["counts"]), "specializations": len(arrays["branches"])} if "edges" in arrays else {}
        )
        return {**dict.fromkeys(("trees", "nodes", "leaves")), **cells}
    children = arrays["first_child"]  # 0 for a leaf
    rounds = {"rounds": len(arrays["roots"])} if isinstance(estimator, BoostingClassifier) else {}
    return {
        **rounds,
        "trees": len(arrays["roots"]),
        "nodes": len(children),
        "leaves": int(np.count_nonzero(children == 0)),
    }


def _importances(estimator: PrivateEstimator) -> dict[str, float] | None:
    found = getattr(estimator, "feature_importances_", None)
    if found is None:
        return None
    return dict(zip(estimator.schema_.names, np.asarray(found, dtype=np.float64).tolist(), strict=True))


def _tree(estimator: PrivateEstimator, number: int) -> dict[str, Any]:
    forest = estimator.model_
    if not isinstance(forest, ForestModel):
        raise click.UsageError(f"--tree prints the trees of private forests, and {_form(estimator)} is none.")
    trees = len(forest.forest.roots)
    if number > trees:
        raise click.UsageError(f"--tree {number} does not exist; the model has {trees}, counted from 1.")
    return tree_values(forest, number - 1)


def _form(estimator: PrivateEstimator) -> str:
    return f"{type(estimator).__name__} ({estimator.certificate_.variant})"


def _page(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the page that a person reads."""
    yield found["class"]
    yield from _table("parameters", found["parameters"])
    yield from _table("sizes", {name: size for name, size in found["sizes"].items() if size is not None})
    if found["feature_importances"] is not None:
        ranked = sorted(found["feature_importances"].items(), key=lambda item: -item[1])
        title = f"feature importances ({found['importance_rule']}; from released values)"
        yield from _table(title, {printable(name): f"{value:.4f}" for name, value in ranked})


def _table(title: str, rows: Mapping[str, Any]) -> Iterator[str]:
    width = min(max(map(len, rows)), WIDEST)
    yield from ("", title)
    yield from (f"  {name:<{width}}  {value}" for name, value in rows.items())


@click.command()
@click.argument("model", type=InputFile())
@click.option(
    "--out", type=OutputFile(), required=True, help="The file to write: Markdown if it ends in .md, else HTML."
)
@click.option("--title", help="The card's heading. [default: the model file's name]")
@click.option(
    "--report",
    "report_path",
    type=InputFile(),
    help="A report card of this model from `hedgerow evaluate --out`.",
)
@ledger_options
@force_option
def card(
    model: Path,
    out: Path,
    title: str | None,
    report_path: Path | None,
    address: str | None,
    dataset: str | None,
    force: bool,
) -> None:
    """Write the card of the model file MODEL: its guarantee, what it reads, what it learned, and its limits.

    With --report, the card also shows the model's performance. With --ledger and --dataset, it shows what was spent on the
    records, and by whom. The page opens from disk: pictures, which need the extra "plot", are embedded, and there are no web
    addresses and no scripts. Everything on the page was released, so it costs nothing.
    """
    from hedgerow.plots import MarkdownPage, Page
    from hedgerow.plots.card import write_card

    refuse_overwriting(out, force, model, *([report_path] if report_path else []))
    estimator = load(model)
    report = None if report_path is None else read_report(report_path, model)
    heading = title or f"Model card: {model.name}"
    page = MarkdownPage(heading) if out.suffix.lower() in MARKDOWN else Page(heading)
    write_card(estimator, page, ledger_or_none(address, dataset), report)
    page.write(out, replace=force)
    click.echo(f"wrote {out}", err=True)


@click.command()
@click.argument("model", type=InputFile())
@click.option("--to", "kind", type=click.Choice(["onnx", "sql", "json"]), required=True, help="The format.")
@click.option(
    "--out", type=OutputFile(), help="The file to write, completely or not at all; required for onnx. [default: stdout]"
)
@force_option
@click.option(
    "--table", help="sql: the table of records to predict, optionally with a schema's name and a dot before it."
)
@click.option(
    "--dialect", type=click.Choice(sorted(DIALECTS)), default="duckdb", show_default=True, help="sql: the engine."
)
@click.option("--keep", multiple=True, metavar="COLUMN", help="sql: a column to copy to the result; repeatable.")
def export(
    model: Path, kind: str, out: Path | None, force: bool, table: str | None, dialect: str, keep: tuple[str, ...]
) -> None:
    """Write the model file MODEL for other programs: an ONNX graph, one SQL statement, or JSON.

    All of them give the same predictions as `hedgerow predict`. Nothing is spent, because they use released values only. ONNX
    needs the package onnx. If the name of a table contains a dot, use Python's model.to_sql.
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
