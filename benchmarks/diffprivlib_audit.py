"""What diffprivlib's forest releases, fit after fit. `audit_peers.py` runs this in diffprivlib's own environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from diffprivlib.models import RandomForestClassifier

from peer_environment import answer


def answers(
    X: dict[str, list[float]], y: list[int], runs: int, epsilon: float, settings: dict[str, int]
) -> list[dict[str, Any]]:
    """Return the label of every tree for the first record, one fit a run."""
    table = np.column_stack(list(X.values()))
    found = []
    for _ in range(runs):
        model = RandomForestClassifier(epsilon=epsilon, bounds=(0, 1), classes=[0, 1], **settings)
        model.fit(table, np.array(y))
        found.append({"labels of the trees": [int(tree.predict(table[:1])[0]) for tree in model.estimators_]})
    return found


if __name__ == "__main__":
    answer(answers)
