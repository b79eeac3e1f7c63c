"""Where weights of classes enter: in the rounds, or in the decision alone. On made-up records with a rare class.

    python benchmarks/class_weight.py

Prints the balanced accuracy (mean recall of the classes, in per cent, and the standard error over seeds) of models without
weights, with ``class_weight``, which moves the decision, and of HedgerowClassifier where all that a record adds to a round is
multiplied by its class's weight over the largest instead, which keeps every bound.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import product
from unittest.mock import patch

import numpy as np
from hedgerow.boosting.gradients import Gradients, uncalibrated
from sklearn.metrics import balanced_accuracy_score

import hedgerow as hr
from hedgerow.boosting import additive, additive_round

FEATURES = 8
KINDS = {"HedgerowClassifier": hr.HedgerowClassifier, "ForestClassifier": hr.ForestClassifier}


def records(count: int, rare: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records of which a share is of the rare class: three features say something additive, two something together."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(0, 1, (count, FEATURES))
    odds = 4 * (X[:, 0] - 0.5) + 2 * np.sin(6 * X[:, 1]) + 2 * (X[:, 2] > 0.7)
    odds += 2 * ((X[:, 3] > 0.5) ^ (X[:, 4] > 0.5)) + generator.logistic(size=count)
    return X, (odds > np.quantile(odds, 1 - rare)).astype(int)


@contextmanager
def weighted_rounds(weights: np.ndarray) -> Iterator[None]:
    """Multiply all that records add to rounds by these weights, (classes,), none above 1."""

    class Weighted(Gradients):
        def __call__(self, margins: np.ndarray, labels: np.ndarray) -> np.ndarray:
            return np.rint(super().__call__(margins, labels) * weights[labels][:, None]).astype(np.int64)

        def first_curvature(self, records: float, shares: np.ndarray | None = None) -> np.ndarray:
            even = np.full(len(weights), 1 / len(weights)) if shares is None else shares
            return super().first_curvature(records / float(even @ (1 / weights)), shares)

    def of_weighted(shares: np.ndarray) -> np.ndarray:
        return uncalibrated(shares * weights / (shares @ weights))

    names = {(additive, "Gradients"): Weighted, (additive_round, "Gradients"): Weighted}
    with ExitStack() as stack:
        for (module, name), changed in (names | {(additive_round, "uncalibrated"): of_weighted}).items():
            stack.enter_context(patch.object(module, name, changed))
        yield


def main() -> None:
    """Fit and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    arguments = parser.parse_args()
    schema = hr.Schema({f"f{j}": hr.Numeric(0, 1) for j in range(FEATURES)}, classes=[0, 1])
    print("| system | records | rare class | epsilon | without | class_weight | in the rounds |")
    print("| -- | -- | -- | -- | -- | -- | -- |")
    for (name, kind), count, rare, epsilon in product(KINDS.items(), (3_000, 30_000), (0.02, 0.1), (0.5, 2.0)):
        weights = {1: round((1 - rare) / rare)}
        found = []
        for seed in range(arguments.seeds):
            X, y = records(count, rare, seed)
            test, truth = records(20_000, rare, 10_000 + seed)
            ways = [(None, nullcontext()), (weights, nullcontext())]
            if kind is hr.HedgerowClassifier:
                ways.append((None, weighted_rounds(np.array([1 / weights[1], 1]))))
            scores = []
            for given, rounds in ways:
                with rounds:
                    model = kind(epsilon, schema=schema, random_state=seed, class_weight=given).fit(X, y)
                scores.append(balanced_accuracy_score(truth, model.predict(test)))
            found.append(scores)
        mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
        cells = " | ".join(f"{100 * m:.1f} ± {100 * e:.1f}" for m, e in zip(mean, error, strict=True))
        print(f"| {name} | {count} | {rare:.0%} | {epsilon:g} | {cells} |{' - |' * (3 - len(mean))}", flush=True)


if __name__ == "__main__":
    main()
