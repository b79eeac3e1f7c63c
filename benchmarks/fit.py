"""Time to fit and to predict, beside LightGBM and scikit-learn's forest, in one process.

    python benchmarks/fit.py [--rows 1000000] [--features 20] [--trees 35] [--depth 5] [--repeats 3] [--skip-forest]

Every system is compiled or warmed up on a few rows first; the median of the repeats is printed with its ratio to ours, and
how much the resident memory of the process rose above the data at the peak of our fit. Machines differ: compare ratios.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import hedgerow as hr


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--trees", type=int, default=35)
    parser.add_argument("--depth", type=int, default=5, help="tests on a path of ours")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--skip-forest", action="store_true")
    options = parser.parse_args()

    generator = np.random.default_rng(0)
    X = generator.random((options.rows, options.features))
    y = (X[:, 0] + 0.5 * X[:, 1] + generator.normal(0, 0.1, options.rows) > 0.75).astype(int)
    schema = hr.Schema({f"f{i}": hr.Numeric(0, 1) for i in range(options.features)}, classes=[0, 1])
    ours = hr.EDPRFClassifier(schema=schema, n_estimators=options.trees, max_depth=options.depth, max_bins=5)
    systems = {
        f"hedgerow eDPRF ({options.trees} trees, {options.depth} tests, 5 bins)": ours,
        "hedgerow ForestClassifier (defaults)": hr.ForestClassifier(schema=schema),
        "LightGBM (defaults)": LGBMClassifier(verbose=-1),
        "scikit-learn HistGradientBoosting": HistGradientBoostingClassifier(),
    }
    if not options.skip_forest:
        name = f"scikit-learn forest ({options.trees} trees, depth {options.depth + 1}, 2 jobs)"
        systems[name] = RandomForestClassifier(options.trees, max_depth=options.depth + 1, n_jobs=2)

    few = min(2000, options.rows)
    for model in systems.values():
        model.fit(X[:few], y[:few]).predict(X[:few])
    before = peak_mib()
    ours.fit(X, y)
    memory = peak_mib() - before

    print(f"{options.rows} rows x {options.features} floats, median of {options.repeats} (forest: one run)\n")
    print("| system | fit, s | times ours | predict, s | times ours |")
    print("| -- | -- | -- | -- | -- |")
    base: tuple[float, float] | None = None
    for name, model in systems.items():
        repeats = 1 if isinstance(model, RandomForestClassifier) else options.repeats
        fit = median_seconds(lambda model=model: model.fit(X, y), repeats)
        predict = median_seconds(lambda model=model: model.predict(X), repeats)
        base = base or (fit, predict)
        print(f"| {name} | {fit:.2f} | {fit / base[0]:.1f} | {predict:.2f} | {predict / base[1]:.1f} |", flush=True)
    print(f"\npeak memory of our fit above the data: {memory:.0f} MiB")
    small = median_seconds(lambda: ours.fit(X[:100], y[:100]), 20)
    print(f"fit on 100 rows, the same forest: {1000 * small:.1f} ms")
    defaults = hr.EDPRFClassifier(schema=schema)
    small = median_seconds(lambda: defaults.fit(X[:100], y[:100]), 20)
    print(f"fit on 100 rows, defaults: {1000 * small:.1f} ms")


if __name__ == "__main__":
    main()
