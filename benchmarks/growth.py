"""How ROC AUC grows with records, beside boosting without privacy: a table and a picture for docs/scaling.md.

    python benchmarks/growth.py [--shapes additive pairs four-way] [--epsilons .1 1 3] [--most 1e6] [--repeats 3] [--out
    docs/images/growth.png]

Records are made up: additive log-odds, pairs of features, sums over cells of four cuts each. Every size is the first so many
records of one draw, tested on 200 000 others. Noise is seeded by the repeat. LightGBM is left out where it is not installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

import hedgerow as hr

TEST = 200_000
FEATURES = 20
SCHEMA = hr.Schema({f"f{i}": hr.Numeric(0, 1) for i in range(FEATURES)}, classes=[0, 1])


def additive(values: Any, generator: Any) -> Any:
    slopes, waves = generator.normal(size=10), generator.uniform(2, 12, 10)
    return (slopes * np.sin(waves * values[:, :10])).sum(axis=1)


def pairs(values: Any, generator: Any) -> Any:
    return sum(generator.normal() * (values[:, i] - 0.5) * (values[:, i + 1] - 0.5) for i in range(0, 10, 2))


def four_way(values: Any, generator: Any) -> Any:
    found = np.zeros(len(values))
    for _ in range(30):
        features, at = generator.integers(0, 10, 4), generator.uniform(0.25, 0.75, 4)
        cell = sum((values[:, j] > cut).astype(int) << k for k, (j, cut) in enumerate(zip(features, at, strict=True)))
        found += generator.normal(size=16)[cell]
    return found


SHAPES: dict[str, Callable[[Any, Any], Any]] = {"additive": additive, "pairs": pairs, "four-way": four_way}


def drawn(shape: str, most: int, *, numbers: bool = False) -> tuple[Any, Any]:
    """Return records, and their classes by log-odds of deviation 1.5; or these log-odds with standard normal errors."""
    generator = np.random.default_rng(5)
    values = generator.random((most + TEST, FEATURES))
    odds = SHAPES[shape](values, generator)
    odds = 1.5 * (odds - odds.mean()) / odds.std()
    if numbers:
        return values, odds + generator.normal(size=len(values))
    return values, (generator.random(len(values)) < 1 / (1 + np.exp(-odds))).astype(int)


def private(epsilon: float, repeat: int) -> Any:
    return hr.HedgerowClassifier(epsilon, delta=1e-6, schema=SCHEMA, random_state=repeat)


def without_privacy() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {"HistGradientBoosting": HistGradientBoostingClassifier}
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return found
    return {**found, "LightGBM": lambda: LGBMClassifier(verbose=-1)}


def draw(path: str, sizes: list[int], rows: dict[str, dict[str, list[float]]]) -> None:
    import matplotlib.pyplot as plt

    figure, every = plt.subplots(1, len(rows), figsize=(4.2 * len(rows), 3.4), sharex=True, squeeze=False)
    for ax, (shape, lines) in zip(every[0], rows.items(), strict=True):
        for name, values in lines.items():
            style = {"HistGradientBoosting": ":", "LightGBM": "--"}.get(name, "-")
            color = None if style == "-" else "grey"
            ax.plot(sizes, values, marker="o", markersize=3, label=name, linestyle=style, color=color)
        ax.set(xscale="log", title=shape, xlabel="records")
        ax.spines[["top", "right"]].set_visible(False)
    every[0][0].set_ylabel("ROC AUC")
    every[0][0].legend(loc="lower right", frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1.0, 3.0])
    parser.add_argument("--most", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out")
    options = parser.parse_args()
    count = int(np.log2(options.most / 10_000)) + 1
    sizes = [options.most >> shift for shift in reversed(range(count))]
    rows: dict[str, dict[str, list[float]]] = {}
    print("| shape | model | " + " | ".join(map(str, sizes)) + " |\n| -- | -- |" + " -- |" * len(sizes))
    for shape in options.shapes:
        X, y = drawn(shape, options.most)
        makers: dict[str, list[Callable[[], Any]]] = {
            f"epsilon {epsilon:g}": [lambda e=epsilon, r=r: private(e, r) for r in range(options.repeats)]
            for epsilon in options.epsilons
        } | {name: [maker] for name, maker in without_privacy().items()}
        for name, models in makers.items():
            values = [
                float(
                    np.mean(
                        [
                            roc_auc_score(y[-TEST:], make().fit(X[:n], y[:n]).predict_proba(X[-TEST:])[:, 1])
                            for make in models
                        ]
                    )
                )
                for n in sizes
            ]
            rows.setdefault(shape, {})[name] = values
            print(f"| {shape} | {name} | " + " | ".join(f"{value:.4f}" for value in values) + " |", flush=True)
    if options.out:
        draw(options.out, sizes, rows)


if __name__ == "__main__":
    main()
