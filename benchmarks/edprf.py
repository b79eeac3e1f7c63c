"""eDPRF on held-out data: defaults, and the paper's 35 trees of treeDepth 6, in both variants.

Splits are fixed (those of the papers' comparisons); only the noise differs between runs. Usage:

    python benchmarks/edprf.py [--runs 10] [--epsilon 1.0]

prints a Markdown table of mean accuracy and standard deviation over the runs. Data sets that are not at hand are left out.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from typing import Any

import hedgerow as hr
from hedgerow import datasets

PAPER = {"n_estimators": 35, "max_depth": 5}
FORMS: dict[str, dict[str, Any]] = {
    "private, defaults": {},
    "private, 35 trees, treeDepth 6": PAPER,
    "published, 35 trees, treeDepth 6": {**PAPER, "variant": "published"},
}


def tasks() -> Iterator[tuple[str, hr.Schema, Any, Any, Any, Any]]:
    """Yield the name, the schema and the split of every data set that can be found."""
    loaders = {
        "diabetes, 7000 + 7000": lambda: datasets.load_diabetes_prediction(balanced=True),
        "robot, 2 classes": lambda: datasets.load_wall_following(classes=2),
        "robot, 4 classes": datasets.load_wall_following,
        "Adult": datasets.load_adult,
    }
    for name, loader in loaders.items():
        try:
            data = loader()
        except hr.DatasetError as error:
            print(f"<!-- {name} left out: {error} -->")
            continue
        if data.X_test is None:
            X_train, X_test, y_train, y_test = data.split(0.2, 42)
        else:
            X_train, X_test, y_train, y_test = data.X, data.X_test, data.y, data.y_test
        yield name, data.schema, X_train, X_test, y_train, y_test


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    print(f"Accuracy at epsilon {options.epsilon:g}, mean +- standard deviation of {options.runs} runs.\n")
    print("| data | majority rule | " + " | ".join(FORMS) + " |")
    print("| -- | -- |" + " -- |" * len(FORMS))
    for name, schema, X_train, X_test, y_train, y_test in tasks():
        cells = [name, f"{max((y_test == label).mean() for label in schema.classes):.3f}"]
        for parameters in FORMS.values():
            scores = []
            for _ in range(options.runs):
                model = hr.EDPRFClassifier(options.epsilon, schema=schema, **parameters).fit(X_train, y_train)
                scores.append(float((model.predict(X_test) == y_test).mean()))
            cells.append(f"{statistics.mean(scores):.3f} +- {statistics.stdev(scores):.3f}")
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
