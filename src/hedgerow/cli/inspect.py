"""``hedgerow inspect``: what a model file holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from hedgerow.additive.terms import AdditiveModel
from hedgerow.cli.options import InputFile, json_option
from hedgerow.cli.output import model_values, write_json
from hedgerow.cli.tree_text import tree_lines, tree_values
from hedgerow.estimator import PrivateEstimator
from hedgerow.systems import load
from hedgerow.systems.booster import BoostingClassifier
from hedgerow.texts import printable
from hedgerow.trees import ForestModel

__all__ = ["inspect"]

WIDEST = 60  # letters to which names are padded: one long name must not make every line as long


@click.command()
@click.argument("model", type=InputFile())
@click.option(
    "--tree", "number", type=click.IntRange(1), metavar="N", help="Print tree N of a private forest, from 1 on."
)
@click.option("--details", "whole", is_flag=True, help="Print every step of the certificate and its cost.")
@json_option
def inspect(model: Path, number: int | None, whole: bool, as_json: bool) -> None:
    """Show what the model file MODEL holds: class, parameters, certificate, sizes and feature importances.

    With --tree, a tree is printed with its tests. A value outside a feature's range counts as the nearer end of it.
    All that is shown was released by the fit; it is covered by the certificate, or listed there as not covered.
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
    """Return how many rounds ran, and how many trees, nodes and leaves there are, or cells; None of what the model has not."""
    model, arrays = estimator.model_, estimator.model_.to_arrays()
    if isinstance(model, AdditiveModel):
        cuts = [len(term.cuts) for term in model.terms]
        sizes = {"rounds": len(cuts), "rounds_with_cuts": sum(map(bool, cuts)), "most_cuts": max(cuts, default=0)}
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
