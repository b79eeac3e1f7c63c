"""What DP-EBM releases, fit after fit. `audit_peers.py` runs this in interpret-core's own environment."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from interpret.privacy import DPExplainableBoostingClassifier

from peer_environment import answer

DELTA = 1e-5  # its default


def answers(
    X: dict[str, list[Any]], y: list[int], runs: int, epsilon: float, settings: dict[str, int]
) -> list[dict[str, Any]]:
    """Return whether a category stands in the model by its name, one fit a run."""
    table, found = pd.DataFrame(X), []
    for _ in range(runs):
        model = DPExplainableBoostingClassifier(epsilon=epsilon, delta=DELTA, feature_types=["nominal"], **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of every fit, that it may have read the classes off the data
            model.fit(table, np.array(y))
        found.append({"rare by name": any("rare" in bins[0] for bins in model.bins_)})
    return found


if __name__ == "__main__":
    answer(answers)
