"""The predictions of DP-EBM's regressor. `regression.py` runs this in interpret-core's own environment."""

from __future__ import annotations

import numpy as np
from interpret.privacy import DPExplainableBoostingRegressor

from interpret_accuracy import DELTA, frame
from peer_environment import answer


def predict(path: str, epsilon: float) -> list[list[float]]:
    """Return the predictions on the test part of every split, one fit a split."""
    with np.load(path) as file:
        data = dict(file)
    X, (low, high) = frame(data["X"], data["counts"]), data["outcome"].tolist()
    ranges = {
        name: tuple(ends)
        for name, ends, count in zip(X, data["bounds"].tolist(), data["counts"], strict=True)
        if not count
    }
    found = []
    for train, test in zip(data["train"], data["test"], strict=True):
        model = DPExplainableBoostingRegressor(
            epsilon=epsilon,
            delta=DELTA,
            feature_types=["nominal" if count else "continuous" for count in data["counts"]],
            privacy_bounds=ranges,
            privacy_target_min=low,
            privacy_target_max=high,
            random_state=None,
        )
        found.append(model.fit(X.iloc[train], data["y"][train]).predict(X.iloc[test]).tolist())
    return found


if __name__ == "__main__":
    answer(predict)
