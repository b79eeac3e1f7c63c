"""How the defaults of ForestClassifier were chosen: one part changed at a time, on the papers' training parts only.

    python benchmarks/parts.py [--data diabetes robot2 ...] [--epsilons .1 .5 1 5] [--repeats 3]

prints held-out accuracy / ROC AUC, the mean of repeated random 80/20 cuts of the training part; no test part is read.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import hedgerow as hr
from accuracy import TASKS, auc, load

FORMS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "multiway, 2 tests": {"candidates": "multiway", "max_depth": 2},
    "multiway, 3 tests": {"candidates": "multiway", "max_depth": 3},
    "multiway, 3 tests, 8 bins": {"candidates": "multiway", "max_depth": 3, "max_bins": 8},
    "binary, 3 tests": {"candidates": "binary", "max_depth": 3},
    "binary, 5 tests": {"candidates": "binary", "max_depth": 5},
    "binary, 6 tests": {"candidates": "binary", "max_depth": 6},
    "binary, 6 tests, uniform levels": {"candidates": "binary", "max_depth": 6, "levels": "uniform"},
    "binary, 6 tests, half for leaves": {"candidates": "binary", "max_depth": 6, "levels": "leaf-half"},
    "binary, 6 tests, labels": {"candidates": "binary", "max_depth": 6, "leaf": "label", "voting": "hard"},
    "binary, 6 tests, noisy stop": {"candidates": "binary", "max_depth": 6, "stop": "noisy-minority"},
    "binary, 6 tests, max score": {"candidates": "binary", "max_depth": 6, "criterion": "max"},
    "binary, 4 tests, 16 trees on all records": {"candidates": "binary", "max_depth": 4, "n_estimators": 16},
    "binary, 4 tests, 16 trees, record in one": {
        "candidates": "binary",
        "max_depth": 4,
        "n_estimators": 16,
        "assignment": "per-record",
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", nargs="+", default=["adult", "bank", "diabetes", "robot2", "robot4"], choices=list(TASKS)
    )
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.25, 0.5, 1, 5])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    splits = {task: load(task) for task in options.data}
    tasks = [task for task in options.data if splits[task] is not None]
    for epsilon in options.epsilons:
        print(f"\nepsilon {epsilon:g}\n\n| parts | " + " | ".join(tasks) + " |\n| -- |" + " -- |" * len(tasks))
        for name, parts in FORMS.items():
            cells = [name]
            for task in tasks:
                schema, X, _, y, _ = splits[task]
                accuracies, aucs = [], []
                for repeat in range(options.repeats):
                    held, rest = np.split(np.random.RandomState(100 + repeat).permutation(len(y)), [len(y) // 5])
                    model = hr.ForestClassifier(epsilon, schema=schema, **parts).fit(X[rest], y[rest])
                    probabilities = model.predict_proba(X[held])
                    accuracies.append(np.mean(model.classes_[probabilities.argmax(axis=1)] == y[held]))
                    aucs.append(auc(model.classes_, y[held], probabilities))
                cells.append(f"{np.mean(accuracies):.3f} / {np.mean(aucs):.3f}")
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
