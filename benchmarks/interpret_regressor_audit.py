"""What DP-EBM's regressor releases, fit after fit. `audit_peers.py` runs this in interpret-core's own environment."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from interpret.privacy import DPExplainableBoostingRegressor

from peer_environment import answer

DELTA = 1e-6
LOW, HIGH = 999_000.0, 1_000_000.0  # the bounds of the target
FEWER = 300  # rows; the other data set has one more


def answers(
    X: dict[str, list[Any]], y: list[float], runs: int, epsilon: float, settings: dict[str, int]
) -> list[dict[str, Any]]:
    """Return whether the noisy sum of the first round's residuals is that of more rows, one fit a run."""
    table, found = pd.DataFrame(X), []
    for _ in range(runs):
        model = DPExplainableBoostingRegressor(
            epsilon=epsilon,
            delta=DELTA,
            feature_types=["continuous"],
            privacy_bounds=dict.fromkeys(X, (0, 1)),
            privacy_target_min=LOW,
            privacy_target_max=HIGH,
            **settings,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(table, np.array(y))
        found.append({"more rows": bool(residuals(model, table.iloc[0, 0]) > (FEWER + 0.5) * HIGH)})
    return found


def residuals(model: DPExplainableBoostingRegressor, value: float) -> float:
    """Return the noisy sum of residuals in the part of the axis that holds a value, from what one round released.

    The round adds ``learning_rate * sum / weight`` to each bin of a part, and bins' noisy weights stand in the model.
    """
    scores = np.asarray(model.term_scores_[0]) + model.intercept_
    weights = np.asarray(model.bin_weights_[0])
    place = first = last = 1 + int(np.digitize(value, model.bins_[0][0]))
    while first > 1 and np.isclose(scores[first - 1], scores[place]):
        first -= 1
    while last + 2 < len(scores) and np.isclose(scores[last + 1], scores[place]):
        last += 1
    return float(scores[place] * weights[first : last + 1].sum() / model.learning_rate)


if __name__ == "__main__":
    answer(answers)
