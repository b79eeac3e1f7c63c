"""What class weights are worth on synthetic records with a rare class.

    python benchmarks/class_weight.py

Prints the balanced accuracy (mean recall of the classes, in per cent, and the standard error over seeds) of models without
weights and with ``class_weight``, which moves the decision.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from sklearn.metrics import balanced_accuracy_score

import hedgerow as hr

FEATURES = 8
KINDS = {"HedgerowClassifier": hr.HedgerowClassifier, "ForestClassifier": hr.ForestClassifier}


def records(count: int, rare: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records of which a share is of the rare class: three features say something additive, two something together."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(0, 1, (count, FEATURES))
    odds = 4 * (X[:, 0] - 0.5) + 2 * np.sin(6 * X[:, 1]) + 2 * (X[:, 2] > 0.7)
    odds += 2 * ((X[:, 3] > 0.5) ^ (X[:, 4] > 0.5)) + generator.logistic(size=count)
    return X, (odds > np.quantile(odds, 1 - rare)).astype(int)


def main() -> None:
    """Fit and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    arguments = parser.parse_args()
    schema = hr.Schema({f"f{j}": hr.Numeric(0, 1) for j in range(FEATURES)}, classes=[0, 1])
    print("| system | records | rare class | epsilon | without | class_weight |")
    print("| -- | -- | -- | -- | -- | -- |")
    for (name, kind), count, rare, epsilon in product(KINDS.items(), (3_000, 30_000), (0.02, 0.1), (0.5, 2.0)):
        weights = {1: round((1 - rare) / rare)}
        scores = []
        for seed in range(arguments.seeds):
            X, y = records(count, rare, seed)
            test, truth = records(20_000, rare, 10_000 + seed)
            models = [kind(epsilon, schema=schema, random_state=seed, class_weight=given) for given in (None, weights)]
            scores.append([balanced_accuracy_score(truth, model.fit(X, y).predict(test)) for model in models])
        mean, error = np.mean(scores, axis=0), np.std(scores, axis=0, ddof=1) / np.sqrt(len(scores))
        cells = " | ".join(f"{100 * m:.1f} ± {100 * e:.1f}" for m, e in zip(mean, error, strict=True))
        print(f"| {name} | {count} | {rare:.0%} | {epsilon:g} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
