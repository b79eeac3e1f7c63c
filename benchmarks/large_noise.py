"""What noise costs HedgerowClassifier on large data, by where it is added: hold-outs within the records to fit of large.py.

    python benchmarks/large_noise.py [--data census] [--epsilons 1 3] [--holdouts 4] [--records 4e5] [--boosted]

Means of held-out ROC AUC over hold-outs of a fifth of the records, drawn with the seeds 100, 101 and so on. The lines
without noise have no guarantee. Test parts are never read. ``--boosted`` adds HistGradientBoosting with its defaults.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow.additive.estimate import Measured
from hedgerow.additive.round import OneRound
from hedgerow.mechanisms import Exponential, RoundedNormal
from hedgerow.systems import hedgerow
from large import SETS, Split, auc, boosted

KNOWN = 0.01  # share of the noise that estimates assume, if they know that there is none
ADDITIVE = {"interaction_cst": "no_interactions"}


def best(mechanism: Exponential, stream: Any, scores: Any, weights: Any) -> Any:
    if mechanism.score_range == 1:  # a public choice at random
        return SAMPLE(mechanism, stream, scores, weights)
    return np.where(np.asarray(weights) > 0, scores, np.iinfo(np.int64).min).argmax(axis=1)


def measured(a_round: OneRound, *arguments: Any) -> Measured:
    of = MEASURED(a_round, *arguments)
    return replace(of, noise=KNOWN * of.noise, curvature_noise=KNOWN * of.curvature_noise)


SAMPLE, MEASURED = Exponential.sample, OneRound.measured
SHARED = replace(hedgerow.RULES, min_snr_for_cells=np.inf, pure_min_snr_for_cells=np.inf)
SELECTED = (Exponential, "sample", best)
UNCHANGED = (RoundedNormal, "sample", lambda noise, stream, values: np.array(values))
LINES: dict[str, tuple[list[tuple[Any, str, Any]], dict[str, Any]]] = {
    "as it is": ([], {}),
    "no rounds by cell": ([(hedgerow, "RULES", SHARED)], {}),
    "curves alone": ([], ADDITIVE),
    "no noise in selections": ([SELECTED], {}),
    "no noise in sums": ([UNCHANGED], {}),
    "no noise": ([SELECTED, UNCHANGED], {}),
    "no noise, and estimates assume none": ([SELECTED, UNCHANGED, (OneRound, "measured", measured)], {}),
}


@contextmanager
def changed(values: list[tuple[Any, str, Any]]) -> Iterator[None]:
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in values]
    try:
        for owner, name, value in values:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def held_out(data: Split, number: int) -> Split:
    schema, X, _, y, _ = data
    held, rest = np.split(np.random.RandomState(100 + number).permutation(len(y)), [len(y) // 5])
    of = (lambda rows: X.iloc[rows]) if hasattr(X, "iloc") else (lambda rows: X[rows])
    return schema, of(rest), of(held), y[rest], y[held]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["census"], choices=list(SETS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 3.0])
    parser.add_argument("--holdouts", type=int, default=4)
    parser.add_argument("--records", type=lambda text: int(float(text)), default=400_000)
    parser.add_argument("--boosted", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data | line | " + " | ".join(f"{epsilon:g}" for epsilon in options.epsilons) + " |")
    print("| -- | -- |" + " -- |" * len(options.epsilons))
    for name in options.data:
        data = SETS[name](options.records)
        if data is None:
            continue
        parts = [held_out(data, number) for number in range(options.holdouts)]
        for line, (values, settings) in LINES.items():
            row = []
            for epsilon in options.epsilons:
                scores = []
                for number, (schema, X, X_held, y, y_held) in enumerate(parts):
                    model = hr.HedgerowClassifier(epsilon, delta=1e-6, schema=schema, random_state=number, **settings)
                    with changed(values):
                        model.fit(X, y)
                    scores.append(auc(y_held, model.predict_proba(X_held)))
                row.append(f"{np.mean(scores):.4f}")
            print(f"| {name} | {line} | " + " | ".join(row) + " |", flush=True)
        if options.boosted:
            score = np.mean([boosted(part, {}) for part in parts])
            print(f"| {name} | HGB |" + f" {score:.4f} |" * len(options.epsilons))


if __name__ == "__main__":
    main()
