"""DP-EBM's predictions and its time to fit. `peers.py` runs this in interpret-core's own environment."""

from __future__ import annotations

import time
from typing import Any

import interpret
import numpy as np
import pandas as pd
from interpret.privacy import DPExplainableBoostingClassifier

from peer_environment import answer
from timing import made_up, median_seconds, peak_mib

DELTA = 1e-5  # its default


def model(
    epsilon: float, bounds: Any, counts: Any, settings: dict[str, Any] | None = None
) -> DPExplainableBoostingClassifier:
    """Return a model that is told all that is public: a range of each number, and the values of each other column."""
    types = [[str(code) for code in range(count)] if count else "continuous" for count in counts]
    ranges = {i: (float(low), float(high)) for i, (low, high) in enumerate(bounds) if not counts[i]}
    return DPExplainableBoostingClassifier(
        epsilon=epsilon, delta=DELTA, feature_types=types, privacy_bounds=ranges, **(settings or {})
    )


def frame(X: Any, counts: Any) -> pd.DataFrame:
    """Return the columns with codes as texts, which is how it knows values from numbers."""
    columns = {f"f{i}": X[:, i].astype(int).astype(str) if count else X[:, i] for i, count in enumerate(counts)}
    return pd.DataFrame(columns)


def predict(path: str, epsilon: float, runs: list[int], settings: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the probabilities of the second class on the test part, one fit a run."""
    with np.load(path) as file:
        data = dict(file)
    train, test = frame(data["X_train"], data["counts"]), frame(data["X_test"], data["counts"])
    found = []
    for _ in runs:
        start = time.perf_counter()
        fitted = model(epsilon, data["bounds"], data["counts"], settings).fit(train, data["y_train"])
        seconds = time.perf_counter() - start
        found.append({"probabilities": fitted.predict_proba(test)[:, 1].tolist(), "seconds": seconds})
    return found


def speed(rows: int, features: int, repeats: int) -> dict[str, Any]:
    X, y = made_up(rows, features)
    fitted = model(1.0, [(0, 1)] * features, [0] * features)
    few = min(2000, rows)
    fitted.fit(X[:few], y[:few])
    before = peak_mib()
    fit = median_seconds(lambda: fitted.fit(X, y), repeats)
    return {"fit": fit, "memory": peak_mib() - before, "versions": f"interpret-core {interpret.__version__}"}


def work(job: str, **arguments: Any) -> Any:
    return {"predict": predict, "speed": speed}[job](**arguments)


if __name__ == "__main__":
    answer(work)
