"""Accuracy and ROC AUC of every system on the papers' data sets, epsilon by epsilon, resumable.

    python benchmarks/accuracy.py [--systems forest edprf ...] [--epsilons .1 .25 ...] [--runs 5] [--out FILE.csv] [--table]

Each line of the CSV is one fit; lines that stand in the file already are not run again. Splits are fixed: Adult's and
Census-Income's own test parts, Bank 70/30 and the balanced diabetes set and the robot 80/20 by a fixed permutation; only the
noise differs between runs. A bar on standard error tells how far it is and how long it has to go. ``--table`` prints a
Markdown table of what the file holds. Data sets that are not at hand are left out.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

import hedgerow as hr
from hedgerow import datasets
from hedgerow.datasets.dataset import Dataset
from hedgerow.papers.reproduce.fits import TASKS as REPRODUCED
from hedgerow.systems import system_class
from hedgerow.texts import progress_bar

FIELDS = ("system", "variant", "data", "epsilon", "run", "accuracy", "auc", "seconds")
Key = tuple[str, str, str, str, str]  # the first five fields of a line
TASKS: dict[str, tuple[Callable[[], Dataset], float, int]] = {
    "adult": (datasets.load_adult, 0.0, 0),
    "bank": (REPRODUCED["bank"].load, 0.3, 0),  # pdays in bins of equal width, as when the pages were made
    "diabetes": (lambda: datasets.load_diabetes_prediction(balanced=True), 0.2, 42),
    "robot2": (lambda: datasets.load_wall_following(classes=2), 0.2, 42),
    "robot4": (datasets.load_wall_following, 0.2, 42),
    "census": (datasets.load_census_income, 0.0, 0),
}


def load(task: str) -> tuple[hr.Schema, Any, Any, Any, Any] | None:
    """Return the schema and the fixed split of a task, or None where the data are not at hand."""
    loader, share, seed = TASKS[task]
    try:
        data = loader()
    except hr.DatasetError as error:
        print(f"{task} left out: {error}", file=sys.stderr)
        return None
    if data.X_test is not None:
        return data.schema, data.X, data.X_test, data.y, data.y_test
    return (data.schema, *data.split(share, seed))


def auc(classes: Any, y: Any, probabilities: Any) -> float:
    """Return the ROC AUC of the second class, or the mean of one class against the rest."""
    if len(classes) == 2:
        return float(roc_auc_score(y == classes[1], probabilities[:, 1]))
    return statistics.mean(float(roc_auc_score(y == c, probabilities[:, i])) for i, c in enumerate(classes))


def wanted_fits(options: argparse.Namespace) -> list[Key]:
    """Return the key of every fit that is asked for, task by task, each once."""
    order = product(options.data, options.systems, options.epsilons, range(options.runs))
    return list(
        dict.fromkeys((s, options.variant, task, f"{epsilon:g}", str(number)) for task, s, epsilon, number in order)
    )


def fit(key: Key, split: tuple[hr.Schema, Any, Any, Any, Any]) -> dict[str, str]:
    """Fit once and return the line of the file."""
    system, variant, _, epsilon, _ = key
    schema, X_train, X_test, y_train, y_test = split
    model = system_class(system)(epsilon=float(epsilon), schema=schema)
    if variant.startswith("delta="):
        model.set_params(delta=float(variant.removeprefix("delta=")))
    elif variant != "private":
        model.set_params(variant=variant)
    start = time.perf_counter()
    model.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    probabilities = model.predict_proba(X_test)
    accuracy = float(np.mean(model.classes_[probabilities.argmax(axis=1)] == y_test))
    value = auc(model.classes_, y_test, probabilities)
    return dict(zip(FIELDS, (*key, f"{accuracy:.5f}", f"{value:.5f}", f"{seconds:.3f}"), strict=True))


def run(options: argparse.Namespace) -> None:
    """Run what the file lacks, line by line."""
    path = Path(options.out)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = read(path)
    done = {tuple(row[field] for field in FIELDS[:5]) for row in rows}
    left = [key for key in wanted_fits(options) if key not in done]
    with (
        path.open("a", newline="") as file,
        progress_bar(len(left), "fitting") as progress,
    ):
        writer = csv.DictWriter(file, FIELDS)
        if not rows:
            writer.writeheader()
        for task, keys in groupby(left, key=lambda key: key[2]):
            split = load(task)
            if split is None:
                continue
            for key in keys:
                writer.writerow(fit(key, split))
                file.flush()
                progress.update(1, f"{key[0]} {task} epsilon {key[3]}")


def read(path: Path) -> list[dict[str, str]]:
    """Return the lines of a results file; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def table(path: Path) -> None:
    """Print mean accuracy / mean AUC and the standard deviation of the accuracy."""
    found: dict[tuple[str, str, str], dict[float, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in read(path):
        key = (row["data"], row["system"], row["variant"])
        found[key][float(row["epsilon"])].append((float(row["accuracy"]), float(row["auc"])))
    epsilons = sorted({epsilon for cells in found.values() for epsilon in cells})
    print("| data | system | " + " | ".join(f"{epsilon:g}" for epsilon in epsilons) + " |")
    print("| -- | -- |" + " -- |" * len(epsilons))
    for (data, system, variant), cells in sorted(found.items()):
        texts = []
        for epsilon in epsilons:
            values = cells.get(epsilon, [])
            if not values:
                texts.append("")
                continue
            accuracies, aucs = zip(*values, strict=True)
            spread = f" ±{statistics.stdev(accuracies):.3f}" if len(values) > 1 else ""
            texts.append(f"{statistics.mean(accuracies):.3f}{spread} / {statistics.mean(aucs):.3f}")
        name = system if variant == "private" else f"{system} ({variant})"
        print(f"| {data} | {name} | " + " | ".join(texts) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="+", default=[info.name for info in hr.list_systems()])
    parser.add_argument("--variant", default="private", help="private, published, or for boosters delta=1e-06")
    parser.add_argument("--data", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.25, 0.5, 0.75, 1, 3, 5])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", default="benchmarks/results/accuracy.csv")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        table(Path(options.out))
    else:
        run(options)


if __name__ == "__main__":
    main()
