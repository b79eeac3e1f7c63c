"""The predictions of diffprivlib's forest. `peers.py` runs this in diffprivlib's own environment."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from diffprivlib.models import RandomForestClassifier

from peer_environment import answer


def predict(path: str, epsilon: float, runs: list[int], settings: dict[str, int]) -> list[dict[str, Any]]:
    """Return the probabilities of the second class on the test part, one fit a run."""
    with np.load(path) as file:
        data = dict(file)
    bounds = (data["bounds"][:, 0], data["bounds"][:, 1])
    found = []
    for _ in runs:
        model = RandomForestClassifier(epsilon=epsilon, bounds=bounds, classes=[0, 1], **settings)
        start = time.perf_counter()
        model.fit(data["X_train"], data["y_train"])
        seconds = time.perf_counter() - start
        found.append({"probabilities": model.predict_proba(data["X_test"])[:, 1].tolist(), "seconds": seconds})
    return found


def work(job: str, **arguments: Any) -> Any:
    return {"predict": predict}[job](**arguments)


if __name__ == "__main__":
    answer(work)
