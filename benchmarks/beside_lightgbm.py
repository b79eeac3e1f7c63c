"""Time to fit beside LightGBM's defaults, on data with and without interactions: processor and wall seconds, and ROC AUC.

    python benchmarks/beside_lightgbm.py [--records 1e6] [--epsilon 1] [--deltas 1e-6 0] [--shapes additive] [--repeats 3]
        [--regression]

Records are those of ``growth.py``: 20 features, tested on 200 000 others. With ``--regression`` the outcome is a number, and R2
takes the place of ROC AUC. All fits run in turn in one process, after one on few
records each; printed are medians, and how many times as fast as LightGBM ours is.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.metrics import r2_score, roc_auc_score

import hedgerow as hr
from growth import SCHEMA, SHAPES, TEST, drawn

FEW = 20_000
NUMBERS = hr.Schema(SCHEMA.features, outcome=hr.Numeric(-8, 8))


def timed(model: Any, X: Any, y: Any) -> tuple[float, float, float]:
    """Return processor and wall seconds of a fit on all but the test part, and the ROC AUC or R2 there."""
    processor, wall = time.process_time(), time.perf_counter()
    model.fit(X[:-TEST], y[:-TEST])
    spent = time.process_time() - processor, time.perf_counter() - wall
    if not hasattr(model, "predict_proba"):
        return *spent, float(r2_score(y[-TEST:], model.predict(X[-TEST:])))
    return *spent, float(roc_auc_score(y[-TEST:], model.predict_proba(X[-TEST:])[:, 1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--deltas", nargs="+", type=float, default=[1e-6, 0.0])
    parser.add_argument("--shapes", nargs="+", default=["additive", "four-way"], choices=list(SHAPES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--regression", action="store_true")
    options = parser.parse_args()
    score = "R2" if options.regression else "ROC AUC"
    print(f"| data | model | processor, s | times as fast | wall, s | times as fast | {score} |\n" + "| -- " * 7 + "|")
    theirs, ours, schema = LGBMClassifier, hr.HedgerowClassifier, SCHEMA
    if options.regression:
        theirs, ours, schema = LGBMRegressor, hr.HedgerowRegressor, NUMBERS
    for shape in options.shapes:
        X, y = drawn(shape, options.records, numbers=options.regression)
        seen: dict[str, list[tuple[float, float, float]]] = {}
        for repeat in range(-1, options.repeats):
            models: dict[str, Any] = {"LightGBM": theirs(verbose=-1)}
            for delta in options.deltas:
                models[f"hedgerow, delta {delta:g}"] = ours(
                    options.epsilon, delta=delta, schema=schema, random_state=repeat + 1
                )
            for name, model in models.items():
                if repeat < 0:
                    model.fit(X[:FEW], y[:FEW])
                else:
                    seen.setdefault(name, []).append(timed(model, X, y))
        medians = {
            name: [statistics.median(values) for values in zip(*runs, strict=True)] for name, runs in seen.items()
        }
        base = medians["LightGBM"]
        for name, (processor, wall, auc) in medians.items():
            times = f"{processor:.2f} | {base[0] / processor:.1f} | {wall:.2f} | {base[1] / wall:.1f}"
            print(f"| {shape} | {name} | {times} | {auc:.4f} |", flush=True)


if __name__ == "__main__":
    main()
