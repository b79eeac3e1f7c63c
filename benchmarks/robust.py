"""HedgerowClassifier at the ends of what people have: few and many records, features, categories, little and much epsilon.

    python benchmarks/robust.py [--runs 10] [--records 50 500 ...] [--epsilons .01 .1 1 10] [--deltas 1e-6 0] [--only noise ...]
    python benchmarks/robust.py --adult [--runs 5]
    python benchmarks/robust.py --wide [--runs 5]

Each line compares mean accuracy on fresh records with that of a majority rule chosen from noisy class counts at the same epsilon
(two-sided geometric noise), over the same draws of records; `below` is said where it is lower by more than two standard errors
of the difference. Warnings are errors, and so are probabilities that are not finite. ``--adult`` adds 100 features of pure noise
to Adult instead and prints what they cost in ROC AUC at epsilon 1. ``--wide`` makes all of Adult's ranges ten, a hundred and a
thousand times as wide, about their middle and upwards.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

import hedgerow as hr
from accuracy import load
from hedgerow.mechanisms import Geometric, Randomness

TESTED = 2000
Drawn = tuple[hr.Schema, dict[str, Any], Any]


def numbers(features: int, slope: float, base: float) -> Callable[[Any, int], Drawn]:
    """Return a source of numeric features of which the first one says something, and of labels with a base rate."""

    def draw(generator: Any, n: int) -> Drawn:
        X = {f"f{i}": generator.random(n) for i in range(features)}
        odds = slope * (X["f0"] - 0.5) + base
        schema = hr.Schema(dict.fromkeys(X, hr.Numeric(0, 1)), classes=["no", "yes"])
        return schema, X, np.where(generator.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")

    return draw


def categories(arity: int) -> Callable[[Any, int], Drawn]:
    """Return a source of one feature with so many values, each with odds of its own, and one with two values."""
    effect = np.random.default_rng(0).normal(0, 1, arity)

    def draw(generator: Any, n: int) -> Drawn:
        X = {"wide": generator.integers(0, arity, n), "narrow": generator.integers(0, 2, n)}
        odds = effect[X["wide"]] + X["narrow"] - 0.5
        features = {"wide": hr.Categorical(list(range(arity))), "narrow": hr.Categorical([0, 1])}
        schema = hr.Schema(features, classes=["no", "yes"])
        return schema, X, np.where(generator.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")

    return draw


SHAPES = {
    "one feature": numbers(1, 6, 0),
    "rare class": numbers(5, 3, -3),
    "noise alone": numbers(20, 0, -1),
    "500 features": numbers(500, 8, 0),
    "1000 values": categories(1000),
}


def majority(y: Any, epsilon: float, run: int) -> str:
    """Return the class of the larger noisy count."""
    counts = np.array([np.count_nonzero(y == label) for label in ("no", "yes")])
    noisy = Randomness(run).draw(Geometric(Fraction(str(epsilon))), counts)
    return "yes" if noisy[1] > noisy[0] else "no"


def compare(draw: Callable[[Any, int], Drawn], n: int, epsilon: float, delta: float, runs: int) -> str:
    """Return a line's cells: both accuracies, and what is to be said of them."""
    scores = []
    for run in range(runs):
        generator = np.random.default_rng(run)
        schema, X, y = draw(generator, n + TESTED)
        train, test = ({name: column[part] for name, column in X.items()} for part in (slice(n), slice(n, None)))
        model = hr.HedgerowClassifier(epsilon, delta=delta, schema=schema, random_state=run).fit(train, y[:n])
        found = model.predict_proba(test)
        if not np.isfinite(found).all():
            return "not finite"
        ours = (model.classes_[found.argmax(axis=1)] == y[n:]).mean()
        scores.append((ours, (majority(y[:n], epsilon, run) == y[n:]).mean()))
    mean, gaps = np.mean(scores, axis=0), np.subtract(*np.transpose(scores))
    error = gaps.std(ddof=1) / len(gaps) ** 0.5
    return (
        f"{mean[0]:.3f} | {mean[1]:.3f} | {gaps.mean():+.3f} ±{error:.3f}{' below' if gaps.mean() < -2 * error else ''}"
    )


def adult(runs: int) -> None:
    split = load("adult")
    if split is None:
        return
    schema, X, X_test, y, y_test = split
    generator = np.random.default_rng(0)

    def widened(table: Any) -> dict[str, Any]:
        columns = {name: table[:, i] for i, name in enumerate(schema.names)}
        return {**columns, **{f"noise{i}": generator.random(len(table)) for i in range(100)}}

    wide = hr.Schema(
        {**schema.features, **{f"noise{i}": hr.Numeric(0, 1) for i in range(100)}},
        schema.classes,
        missing=schema.missing,
    )
    tables = {"Adult": (schema, X, X_test), "Adult and 100 of noise": (wide, widened(X), widened(X_test))}
    print("| data | delta | ROC AUC at epsilon 1 |\n| -- | -- | -- |")
    for (name, (known, train, test)), delta in product(tables.items(), (1e-6, 0.0)):
        scores = []
        for run in range(runs):
            model = hr.HedgerowClassifier(1.0, delta=delta, schema=known, random_state=run).fit(train, y)
            scores.append(roc_auc_score(y_test, model.predict_proba(test)[:, 1]))
        print(f"| {name} | {delta:g} | {np.mean(scores):.4f} |", flush=True)


def wide(runs: int) -> None:
    split = load("adult")
    if split is None:
        return
    schema, X, X_test, y, y_test = split
    print("| ranges | delta 1e-6 | delta 0 |\n| -- | -- | -- |")
    for factor, upwards in ((1, False), *product((10, 100, 1000), (False, True))):
        features = {name: widened(kind, factor, upwards) for name, kind in schema.features.items()}
        known = hr.Schema(features, schema.classes, missing=schema.missing)
        cells = []
        for delta in (1e-6, 0.0):
            scores = []
            for run in range(runs):
                model = hr.HedgerowClassifier(1.0, delta=delta, schema=known, random_state=run).fit(X, y)
                scores.append(roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]))
            cells.append(f"{np.mean(scores):.4f}")
        print(f"| {factor} times{', upwards' if upwards else ''} | {' | '.join(cells)} |", flush=True)


def widened(kind: Any, factor: int, upwards: bool) -> Any:
    if not isinstance(kind, hr.Numeric):
        return kind
    more = (factor - 1) * (kind.high - kind.low)
    return hr.Numeric(kind.low - (0 if upwards else more / 2), kind.high + (more if upwards else more / 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--records", nargs="+", type=int, default=[50, 500, 5_000])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.01, 0.1, 1.0, 10.0])
    parser.add_argument("--deltas", nargs="+", type=float, default=[1e-6, 0.0])
    parser.add_argument("--only", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--adult", action="store_true")
    parser.add_argument("--wide", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("error")
    if options.adult:
        adult(options.runs)
        return
    if options.wide:
        wide(options.runs)
        return
    print(
        "| shape | records | epsilon | delta | ours | majority | gap | seconds |\n| -- | -- | -- | -- | -- | -- | -- | -- |"
    )
    for shape, n, epsilon, delta in product(options.only, options.records, options.epsilons, options.deltas):
        start = time.perf_counter()
        cells = compare(SHAPES[shape], n, epsilon, delta, options.runs)
        seconds = (time.perf_counter() - start) / options.runs
        print(f"| {shape} | {n} | {epsilon:g} | {delta:g} | {cells} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
