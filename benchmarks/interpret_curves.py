"""What DP-EBM shows of a model. `pictures.py` runs this in interpret-core's own environment."""

from __future__ import annotations

from typing import Any

import interpret
import numpy as np

from interpret_accuracy import frame, model
from peer_environment import answer


def show(path: str, epsilon: float, seed: int, record: int) -> dict[str, Any]:
    """Fit one model and return what its `explain_global` and `explain_local` hold."""
    with np.load(path) as file:
        data = dict(file)
    train, test = frame(data["X_train"], data["counts"]), frame(data["X_test"], data["counts"])
    fitted = model(epsilon, data["bounds"], data["counts"], {"random_state": seed})
    fitted.fit(train, data["y_train"])
    globally, locally = fitted.explain_global(), fitted.explain_local(test[record : record + 1])
    terms = [globally.data(place) for place in range(len(fitted.term_names_))]
    one = locally.data(0)
    return {
        "version": interpret.__version__,
        "importances": fitted.term_importances().tolist(),
        "curves": [
            {
                "names": [str(name) for name in term["names"]],
                "scores": np.asarray(term["scores"]).tolist(),
                "spread": [
                    float(np.ptp(np.asarray(term[end]) - term["scores"])) for end in ("upper_bounds", "lower_bounds")
                ]
                if term.get("upper_bounds") is not None
                else None,
            }
            for term in terms
        ],
        "baseline": float(np.ravel(fitted.intercept_)[0]),
        "contributions": [float(score) for score in one["scores"]],
        "decision": float(np.ravel(fitted.decision_function(test[record : record + 1]))[0]),
        "bags": len(fitted.bagged_scores_[0]),
    }


if __name__ == "__main__":
    answer(show)
