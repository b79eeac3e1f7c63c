"""How the time of a fit grows with records, features, classes, rounds and depth: docs/scaling.md.

    python benchmarks/growth_time.py [--records 1e6] [--repeats 3]

Each line changes one of them and prints the median seconds of whole fits in memory, and how many times as many they are each time
that there is twice as much of it (of depth: three levels more). Records are made up: even numbers; the first says the class.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import numpy as np

import hedgerow as hr
from timing import median_seconds


def seconds(system: str, *, records: int, features: int, classes: int, rounds: int, depth: int, repeats: int) -> float:
    """Return the median time of a fit, after one on few records that compiles."""
    generator = np.random.default_rng(0)
    X = generator.random((records, features), dtype=np.float32)
    y = np.minimum((X[:, 0] * classes).astype(np.int64), classes - 1)
    schema = hr.Schema({f"f{i}": hr.Numeric(0, 1) for i in range(features)}, classes=list(range(classes)))
    if system == "hedgerow":
        model = hr.HedgerowClassifier(1.0, delta=1e-6, schema=schema, n_estimators=rounds, random_state=0)
    else:
        model = hr.ForestClassifier(1.0, schema=schema, n_estimators=rounds, max_depth=depth, random_state=0)
    model.fit(X[:20_000], y[:20_000])
    return median_seconds(lambda: model.fit(X, y), repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    most = options.records
    common = {"records": most, "features": 20, "classes": 2, "rounds": 24, "depth": 6}
    lines = [
        ("hedgerow", "records", (most // 4, most // 2, most)),
        ("hedgerow", "features", (10, 20, 40)),
        ("hedgerow", "classes", (3, 6, 12)),
        ("hedgerow", "rounds", (12, 24, 48)),
        ("forest", "records", (most // 4, most // 2, most)),
        ("forest", "features", (10, 20, 40)),
        ("forest", "classes", (3, 6, 12)),
        ("forest", "depth", (3, 6, 9)),
    ]
    print("| system | with | seconds | times as many, each time |\n| -- | -- | -- | -- |")
    for system, what, values in lines:
        asked = common | ({"rounds": 1} if system == "forest" else {})
        found = [seconds(system, **(asked | {what: value}), repeats=options.repeats) for value in values]
        times = [f"{later / sooner:.2f}" for sooner, later in pairwise(found)]
        words = ", ".join(f"{value:g}: {spent:.2f}" for value, spent in zip(values, found, strict=True))
        print(f"| {system} | {what} | {words} | {', '.join(times)} |", flush=True)


if __name__ == "__main__":
    main()
