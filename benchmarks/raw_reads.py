"""Which raw read puts a published tree or forest ahead of its private form, at the papers' sizes and epsilon 1.

    python benchmarks/raw_reads.py [--runs 10]

One step of the published form at a time is replaced by one that reads no record unprotected; and private trees vote the other
way: a single tree with one label, those of a forest with the shares of their leaves. docs/accuracy.md has the table.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow import published
from hedgerow.reproduce.allocations import AllocationForest
from hedgerow.reproduce.tasks import load_split
from hedgerow.schema import Schema
from hedgerow.systems.tradition import TraditionClassifier
from hedgerow.trees import Recipe

Change = Callable[[published.Recipe], published.Recipe]


def without_stop(recipe: published.Recipe) -> published.Recipe:
    """Return a recipe that splits nodes of a single class, too."""
    return replace(recipe, stops=tuple(stop for stop in recipe.stops if stop != published.SingleClass()))


def with_public_bins(recipe: published.Recipe) -> published.Recipe:
    """Return a recipe that bins numbers by the schema's ranges instead of those of a node's records."""
    return replace(recipe, tests=published.SchemaBins())


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

        def _published(self) -> published.Recipe:
            recipe = super()._published()
            for change in changes:
                recipe = change(recipe)
            return recipe

    return Changed


def accuracies(kind: type[Any], data: str, runs: int, **parameters: Any) -> str:
    """Return the mean test accuracy of some runs, and its standard error."""
    split, found = load_split(data), []
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    for line in table(parser.parse_args().runs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
