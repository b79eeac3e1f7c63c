"""What pseudo-votes do to the log-loss and the Brier score of forests of votes, on hold-outs of the training parts.

    python benchmarks/vote_smoothing.py [--systems edprf pfdpdt ...] [--epsilons .5 1 3] [--runs 3]

A forest of T trees that gives class k of K classes v votes says (v + a / K) / (T + a); a = 0 is the plain share. One line for
each data set and budget: the log-loss (probabilities of 0 are taken as 1e-15) and the Brier score for each a. Labels and AUC are
the same for all. Training parts are divided in halves; no test part is read. Two sets are made up: of 5 000 records, one dense
and one of few features.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

import hedgerow as hr
from accuracy import TASKS, load
from hedgerow.systems import system_class

PSEUDO_VOTES = (0.0, 0.5, 1.0, 2.0, 4.0)
MOST = 20_000  # records of a training part


def made_up() -> Iterator[tuple[str, hr.Schema, Any, Any]]:
    """Yield two made-up sets: twenty features that all say a little, and five of which two decide."""
    for name, features, weights in (("dense", 20, np.full(20, 0.4)), ("sparse", 5, np.array([2.0, -2.0, 0, 0, 0]))):
        generator = np.random.default_rng(7)
        X = generator.normal(size=(5000, features))
        y = (generator.logistic(size=5000) < X @ weights).astype(int)
        names = [f"x{i}" for i in range(features)]
        yield name, hr.Schema({n: hr.Numeric(-3, 3) for n in names}, classes=[0, 1]), X, y


def halves(X: Any, y: Any, run: int) -> tuple[Any, Any, Any, Any]:
    order = np.random.default_rng(run).permutation(len(y))[: 2 * MOST]
    first, second = np.array_split(order, 2)
    return X[first], X[second], y[first], y[second]


def losses(proba: Any, truth: Any) -> tuple[float, float]:
    own = np.maximum(proba[np.arange(len(truth)), truth], 1e-15)
    brier = ((proba - np.eye(proba.shape[1])[truth]) ** 2).sum(axis=1).mean()
    return float(-np.log(own).mean()), float(brier)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--systems", nargs="+", default=["edprf", "pfdpdt", "tradition", "diffprf", "diffp-c45"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0, 3.0])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    sets = [(task, part[0], np.asarray(part[1]), np.asarray(part[3])) for task in TASKS if (part := load(task))]
    print("log-loss / Brier by pseudo-votes", *PSEUDO_VOTES)
    for system in options.systems:
        for name, schema, X, y in [*sets, *made_up()]:
            for epsilon in options.epsilons:
                found = np.zeros((options.runs, len(PSEUDO_VOTES), 2))
                for run in range(options.runs):
                    X_train, X_test, y_train, y_test = halves(X, y, run)
                    model = system_class(system)(epsilon=epsilon, schema=schema).fit(X_train, y_train)
                    trees = len(model.model_.forest.roots)
                    forest, codes = model.model_.forest, model.model_.encoder.transform(X_test)
                    votes = forest.trees.sums_of(codes, forest.label, len(schema.classes))
                    truth = np.array([list(schema.classes).index(label) for label in y_test.tolist()])
                    for place, pseudo in enumerate(PSEUDO_VOTES):
                        proba = (votes + pseudo / votes.shape[1]) / (trees + pseudo)
                        found[run, place] = losses(proba, truth)
                cells = " ".join(f"{a:.3f}/{b:.3f}" for a, b in found.mean(axis=0))
                print(f"{system:<10} {name:<10} {epsilon:<5g} T={trees:<4} {cells}", flush=True)


if __name__ == "__main__":
    main()
