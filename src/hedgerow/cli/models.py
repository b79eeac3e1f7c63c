"""``hedgerow predict | inspect | card | export``: what a saved model predicts, and the model as text, page, ONNX, SQL or JSON."""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import click
import numpy as np

from hedgerow.additive.model import AdditiveModel
from hedgerow.analysis.group_cards import GroupCards
from hedgerow.cli import AUDIT_REFUTED
from hedgerow.cli.inputs import check_stdout, model_values, opened, write_json, write_out
from hedgerow.cli.options import command, ledger_or_none, refuse_overwriting
from hedgerow.cli.queries import read_report
from hedgerow.errors import UnreadColumnWarning
from hedgerow.estimator import PrivateEstimator, PrivateRegressor
from hedgerow.export import DIALECTS
from hedgerow.export.signature import signature_of
from hedgerow.files import atomic_file
from hedgerow.plots.card import Page, write_card
from hedgerow.plots.model import tree_lines
from hedgerow.reading.table_file import check_header, check_types, unread
from hedgerow.schema.check import Checker
from hedgerow.systems import load
from hedgerow.systems.base import BoostingClassifier
from hedgerow.texts import printable
from hedgerow.trees import ForestModel

WIDEST = 60  # characters to which names are padded, so that one long name does not widen every line


@command("predict")
def predict(
    model: Path,
    data: tuple[Path, ...],
    out: Path | None,
    force: bool,
    proba: bool,
    level: float | None,
    report: Path | None,
    keep: tuple[str, ...],
    separator: str | None,
) -> None:
    refuse_overwriting(out, force, model, *data, report)
    check_stdout(out)
    estimator = load(model)
    schema, answers = estimator.schema_, ["prediction"]
    numbers = isinstance(estimator, PrivateRegressor)
    if proba and numbers:
        raise click.UsageError(f"{model} predicts a number, which has no probabilities; leave out --proba.")
    if level is not None and not numbers:
        raise click.UsageError(f"{model} predicts classes, which have no intervals; leave out --interval.")
    if (level is None) != (report is None):
        raise click.UsageError(
            "--interval LEVEL and --report FILE go together: the interval of a predicted number follows from a "
            f"private report card on records that were not used in the fit. Make one by `hedgerow evaluate {model} DATA "
            "--epsilon EPSILON --out report.json`; if the schema has persons, add --records-per-person 1."
        )
    card = None if report is None else read_report(report, model)
    if isinstance(card, GroupCards):
        raise click.UsageError(
            f"{report} has cards of groups, but intervals follow from one card: evaluate without --by."
        )
    if proba:
        answers = [f"probability_{label}" for label in estimator.classes_]
    elif level is not None:
        answers = ["prediction", "low", "high"]
    for name in answers:
        if name in keep:
            raise click.UsageError(
                f"--keep {name} names a column that the predictions have, too; rename it in the file."
            )
    kept, look = tuple(dict.fromkeys(keep)), Checker(schema.features, schema.missing, quick=True)
    columns = [*schema.names, *kept]

    def rows() -> Iterator[Iterable[list[Any]]]:
        for batch in batches(columns):
            X = {name: batch[name] for name in schema.names}
            look.add(X)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnreadColumnWarning)  # of a single batch: all are reported at the end
                predicted = estimator.predict_proba(X) if proba else estimator.predict(X)[:, None]
                if level is not None:
                    predicted = np.column_stack([predicted, estimator.predict_interval(X, level, card=card)])
            found = predicted.tolist()
            cells = zip(*(map(_cell, batch[name]) for name in kept), strict=True)
            yield ([*own, *row] for own, row in zip(cells, found, strict=True)) if kept else found

    # On a terminal, the predictions themselves show the progress.
    shown = out is not None or sys.stdout is None or not sys.stdout.isatty()
    with ExitStack() as stack:
        tables, batches = stack.enter_context(opened(data, schema.file_form.replaced(separator), shown=shown))
        for table, path in zip(tables, data, strict=True):
            check_header(table, columns, path, more=True)
            check_types(table, schema.features)
        file = sys.stdout
        if out is not None:
            part = stack.enter_context(atomic_file(out, replace=force))
            file = stack.enter_context(open(part, "w", encoding="utf-8", newline=""))
        writer = csv.writer(file, lineterminator="\n")
        for block in chain([[[*kept, *answers]]], rows()):
            writer.writerows(block)
    for warning in [*unread(tables), *look.findings()]:
        click.echo(f"WARNING: {warning}", err=True)
    if out is not None:
        click.echo(f"wrote {out}", err=True)


def _cell(cell: Any) -> Any:
    try:
        return cell.as_py() if hasattr(cell, "as_py") else cell
    except Exception:
        return None


@command("inspect")
def inspect(model: Path, number: int | None, whole: bool, key: Path | None, as_json: bool) -> None:
    estimator, signature = load(model), signature_of(model, key)
    contents = {
        **model_values(estimator),
        "sizes": {**_sizes(estimator), "file_bytes": model.stat().st_size},
        "feature_importances": dict(zip(estimator.schema_.names, estimator.feature_importances_.tolist(), strict=True)),
        "importance_rule": estimator.model_.importance_rule,
    }
    tree = None
    if number is not None:
        forest = estimator.model_
        if not isinstance(forest, ForestModel):
            raise click.UsageError(f"--tree prints the trees of forests, and {type(estimator).__name__} is none.")
        if number > (trees := len(forest.forest.roots)):
            raise click.UsageError(f"--tree {number} does not exist; the model has {trees}, counted from 1.")
        tree = [*tree_lines(forest, number - 1)]
    if as_json:
        signed = {**vars(signature), "refuted": signature.refuted}
        write_json({**contents, "signature": signed, "tree": tree})
        click.get_current_context().exit(AUDIT_REFUTED if signature.refuted else 0)
    ranked = sorted(contents["feature_importances"].items(), key=lambda item: -item[1])
    chosen = {"loss": f"auto: {estimator.loss_}"} if contents["parameters"].get("loss") == "auto" else {}
    tables: dict[str, Mapping[str, Any]] = {
        "parameters": {**contents["parameters"], **chosen},
        "sizes": contents["sizes"],
        f"feature importances ({contents['importance_rule']}; from released values)": {
            printable(name): f"{value:.4f}" for name, value in ranked
        },
    }
    click.echo(f"{contents['class']}\nthe file is {signature}")
    for title, rows in tables.items():
        width = min(max(map(len, rows)), WIDEST)
        click.echo(f"\n{title}")
        for name, value in rows.items():
            click.echo(f"  {name:<{width}}  {value}")
    click.echo("\n" + (estimator.certificate_.details() if whole else str(estimator.certificate_)))
    if tree is not None:
        click.echo(f"\ntree {number} of {contents['sizes']['trees']}")
        click.echo("\n".join(tree))
    click.get_current_context().exit(AUDIT_REFUTED if signature.refuted else 0)


def _sizes(estimator: PrivateEstimator) -> dict[str, int]:
    model, arrays = estimator.model_, estimator.model_.to_arrays()
    if isinstance(model, AdditiveModel):
        cuts = [len(term.cuts) for term in model.own.terms]
        sizes = {"rounds": len(cuts), "rounds_with_cuts": sum(map(bool, cuts)), "most_cuts": max(cuts, default=0)}
        if model.parts is not None:
            sizes["terms_of_the_start"] = len(model.parts[0].terms)
        return {**sizes, "cells": len(arrays["votes"])}
    if "first_child" not in arrays:
        return {"cells": len(arrays["counts"]), "specializations": len(arrays["branches"])}
    trees, children = len(arrays["roots"]), arrays["first_child"]  # 0 for a leaf
    rounds = {"rounds": trees} if isinstance(estimator, BoostingClassifier) else {}
    leaves = int(np.count_nonzero(children == 0))
    return {**rounds, "trees": trees, "nodes": len(children), "leaves": leaves}


@command("card")
def card(
    model: Path,
    out: Path | None,
    title: str | None,
    report_path: Path | None,
    key: Path | None,
    purpose: str | None,
    author: str | None,
    address: str | None,
    dataset: str | None,
    force: bool,
    as_json: bool,
) -> None:
    from hedgerow.cli.decision import Decision  # the check of a model takes its time to import

    if out is None and not as_json:
        raise click.UsageError("--out FILE is missing, the HTML file to write; or pass --json for the facts alone.")
    refuse_overwriting(out, force, model, report_path, key)
    estimator, ledger = load(model), ledger_or_none(address, dataset)
    report = None if report_path is None else read_report(report_path, model)
    decision = Decision(model, estimator, key, purpose, author, has_report=report is not None)
    title = title or f"Model card: {model.name}"
    if out is not None:
        page = Page(title).heading("May it leave?").table(("question", "answer"), decision.rows(ledger))
        write_card(estimator, page, ledger, report, decision.refusals)
        page.write(out, replace=force)
    if as_json:
        write_json(decision.entry(title))
    if out is not None:
        click.echo(f"wrote {out}", err=True)


@command("export", dialect={"choice": sorted(DIALECTS)})
def export(
    model: Path,
    kind: str,
    out: Path | None,
    force: bool,
    table: str | None,
    dialect: str,
    keep: tuple[str, ...],
    typed: bool,
) -> None:
    if kind == "sql" and not table:
        raise click.UsageError("--to sql needs the name of the table whose records are predicted; pass --table NAME.")
    if kind == "onnx" and out is None:
        raise click.UsageError("--to onnx writes bytes, which no terminal shows; pass --out FILE.")
    refuse_overwriting(out, force, model)
    estimator = load(model)
    if kind == "onnx":
        content = estimator.to_onnx().SerializeToString()
    elif kind == "json":
        content = estimator.to_json().encode()
    else:
        content = (estimator.to_sql((table or "").split("."), dialect, keep=keep, typed=typed) + "\n").encode()
    write_out(content, out, force=force)
