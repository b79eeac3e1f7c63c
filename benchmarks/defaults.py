"""How the defaults of eDPRF were chosen: repeated hold-out within the papers' training parts, never on a test part.

    python benchmarks/defaults.py [--repeats 5] [--bins 3 4 5 8]

prints the mean held-out accuracy for numbers of trees (rows) and of tests on a path (columns).
"""

from __future__ import annotations

import argparse

import numpy as np

import hedgerow as hr
from edprf import tasks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--bins", type=int, nargs="+", default=[3, 4, 5, 8])
    options = parser.parse_args()
    for name, schema, X, _, y, _ in tasks():
        for bins in options.bins:
            for epsilon in (0.1, 0.25, 0.5, 1.0):
                print(f"\n{name}, {bins} bins, epsilon {epsilon:g}\n")
                print("| trees | 1 test | 2 | 3 | 4 |")
                print("| -- | -- | -- | -- | -- |")
                for trees in (1, 5, 11, 17, 35):
                    row = [f"| {trees}"]
                    for depth in (1, 2, 3, 4):
                        model = hr.EDPRFClassifier(
                            epsilon, schema=schema, n_estimators=trees, max_depth=depth, max_bins=bins
                        )
                        scores = []
                        for repeat in range(options.repeats):
                            order = np.random.RandomState(100 + repeat).permutation(len(y))
                            held, rest = np.split(order, [len(y) // 5])
                            scores.append((model.fit(X[rest], y[rest]).predict(X[held]) == y[held]).mean())
                        row.append(f"{np.mean(scores):.3f}")
                    print(" | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
