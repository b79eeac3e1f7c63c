"""The predictions of diffprivlib's LinearRegression. `regression.py` runs this in diffprivlib's own environment."""

from __future__ import annotations

import numpy as np
from diffprivlib.models import LinearRegression

from peer_environment import answer


def predict(path: str, epsilon: float) -> list[list[float]]:
    """Return the predictions on the test part of every split, one fit a split."""
    with np.load(path) as file:
        data = dict(file)
    found = []
    for train, test in zip(data["train"], data["test"], strict=True):
        # Its noise for a squared feature takes the lower bound twice, where the upper may be the larger (issues 104 and 105):
        # bounds (0, b) give a sensitivity of zero. With an intercept both bounds first move by the released mean, so the noise
        # is too small wherever that mean lies below the middle of the bounds. The claimed epsilon does not hold then.
        model = LinearRegression(
            epsilon=epsilon, bounds_X=(data["low"], data["high"]), bounds_y=tuple(data["outcome"].tolist())
        )
        found.append(model.fit(data["X"][train], data["y"][train]).predict(data["X"][test]).tolist())
    return found


if __name__ == "__main__":
    answer(predict)
