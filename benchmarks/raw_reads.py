"""Which raw read puts a published tree or forest ahead of its private form, at the papers' sizes and epsilon 1.

    python benchmarks/raw_reads.py [--runs 10]

One step of the published form at a time is replaced by one that reads no record unprotected; and private trees vote the other
way: a single tree with one label, those of a forest with the shares of their leaves. Two smaller tables are of TpDPRF on cuts and
of CART-DPsAdaBoost on few records. docs/accuracy.md has all three.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.papers.cart import CARTDPsAdaBoostClassifier
from hedgerow.papers.edprf import TraditionClassifier
from hedgerow.papers.forest import PrintedForest
from hedgerow.papers.records import schema_bins
from hedgerow.papers.reproduce.fits import load_split
from hedgerow.papers.reproduce.readings import AllocationForest
from hedgerow.papers.rivals import TpDPRFClassifier
from hedgerow.schema import Schema
from hedgerow.trees import Recipe

Change = Callable[[PrintedForest], PrintedForest]


def without_stop(recipe: PrintedForest) -> PrintedForest:
    """Return a recipe that splits nodes of a single class, too."""
    return replace(recipe, pure_leaves=False)


def with_public_bins(recipe: PrintedForest) -> PrintedForest:
    """Return a recipe that bins numbers by the schema's ranges instead of those of a node's records."""
    return replace(recipe, tests=schema_bins)


CHANGES: Mapping[str, tuple[Change, ...]] = {
    "published": (),
    "no single-class stop": (without_stop,),
    "public bins": (with_public_bins,),
    "both": (without_stop, with_public_bins),
}
SINGLE = {"reading": "undivided"}
FOREST = {"tree": "tradition", "n_estimators": 35, "max_depth": 5}
PLACES: Mapping[str, tuple[type[Any], str, Mapping[str, Any]]] = {
    "tradition without counts, 6 tests": (TraditionClassifier, "diabetes", {**SINGLE, "max_depth": 6}),
    "tradition without counts, 7 tests": (TraditionClassifier, "diabetes", {**SINGLE, "max_depth": 7}),
    "DiffPRF_linear, 35 trees": (AllocationForest, "diabetes", {**FOREST, "allocation": "linear"}),
    "DiffPRF_linear, 35 trees, robot": (AllocationForest, "robot", {**FOREST, "allocation": "linear"}),
}


def changed(kind: type[Any], changes: tuple[Change, ...]) -> type[Any]:
    """Return a system whose published form has other steps, and whose private trees vote the other way."""

    class Changed(kind):  # type: ignore[misc]
        __init__ = kind.__init__

        def _private(self, schema: Schema, depth: int) -> Recipe:
            recipe = super()._private(schema, depth)
            return replace(recipe, soft=not recipe.soft)

        def _published(self) -> PrintedForest:
            recipe = super()._published()
            for change in changes:
                recipe = change(recipe)
            return recipe

    return Changed


def accuracies(kind: type[Any], data: str, runs: int, records: int = 0, **parameters: Any) -> str:
    """Return the mean test accuracy of some runs, and its standard error; 0 stands for all records to train on."""
    split, found = load_split(data).first(records), []
    for seed in range(runs):
        model = kind(1.0, schema=split.schema, random_state=seed, **parameters).fit(split.X_train, split.y_train)
        found.append(float(np.mean(model.predict(split.X_test) == split.y_test)))
    return f"{statistics.fmean(found):.3f} ± {statistics.stdev(found) / runs**0.5:.3f}"


def table(runs: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| at epsilon 1 | private | private, other votes | {' | '.join(CHANGES)} |"
    yield f"|{' -- |' * (3 + len(CHANGES))}"
    for title, (kind, data, parameters) in PLACES.items():
        cells = [accuracies(one, data, runs, **parameters) for one in (kind, changed(kind, ()))]
        cells += [
            accuracies(changed(kind, changes), data, runs, variant="published", **parameters)
            for changes in CHANGES.values()
        ]
        yield f"| {title} | {' | '.join(cells)} |"


def tree_without(**setting: Any) -> type[Any]:
    """Return CART-DPsAdaBoost as printed with other settings of its tree."""

    class Other(CARTDPsAdaBoostClassifier):
        __init__ = CARTDPsAdaBoostClassifier.__init__

        def _published(self) -> Any:
            recipe = super()._published()
            return replace(recipe, learner=replace(recipe.learner, **setting))  # type: ignore[type-var]

    return Other


def few_records(runs: int) -> Iterator[str]:
    """Yield the lines of the table of CART-DPsAdaBoost, ten trees of depth 4 on Adult."""
    size = {"n_estimators": 10, "max_depth": 4, "subspace": 5}
    columns: Mapping[str, tuple[type[Any], str]] = {
        "private": (CARTDPsAdaBoostClassifier, "private"),
        "published": (CARTDPsAdaBoostClassifier, "published"),
        "noise on shares": (tree_without(noised="shares"), "published"),
        "and no pruning": (tree_without(noised="shares", pruning=None), "published"),
    }
    yield f"| records | {' | '.join(columns)} |"
    yield f"|{' -- |' * (1 + len(columns))}"
    for records in (200, 700):
        cells = [accuracies(kind, "adult", runs, records, variant=form, **size) for kind, form in columns.values()]
        yield f"| {records} | {' | '.join(cells)} |"


def on_cuts(runs: int) -> Iterator[str]:
    """Yield the lines of the table of TpDPRF on the robot set, 35 trees of five tests."""
    size = {"n_estimators": 35, "max_depth": 5}
    unstopped = changed(TpDPRFClassifier, (without_stop,))
    cells = {
        "private": accuracies(TpDPRFClassifier, "robot", runs, **size),
        "private, 5 bins": accuracies(TpDPRFClassifier, "robot", runs, max_bins=5, **size),
        "published": accuracies(TpDPRFClassifier, "robot", runs, variant="published", **size),
        "no single-class stop": accuracies(unstopped, "robot", runs, variant="published", **size),
    }
    yield f"| {' | '.join(cells)} |"
    yield f"|{' -- |' * len(cells)}"
    yield f"| {' | '.join(cells.values())} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    for lines in (table, on_cuts, few_records):
        for line in lines(runs):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
