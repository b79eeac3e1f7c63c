"""S-BDT's predictions and time to fit, for `peers.py`, by an interpreter that can import its authors' extension `sbdt`.

The settings are those that had the highest ROC AUC on Adult in the runs that the authors keep beside their code, at the
largest epsilon that is not above ours; all of those spend the budget on leaves only. The code takes one range for all numbers,
so each number is brought from its public range to 0 to 100. It draws its noise from a generator seeded with the
clock's second, hence the wait between fits.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import sbdt

from peer_environment import answer

TOP = 100.0
SHARED = {
    "subsampling_ratio": 1.0,
    "learning_rate": 0.1,
    "max_depth": 6,
    "newton_boosting": True,
    "balance_partition": True,
    "lambda_reg_mode": 1,  # add
    "reg_delta": 2.0,
    "min_samples_split": 0,
    "ignore_split_constraints": True,
    "max_features": 0,  # at random
    "max_feature_values": 0,  # at random
    "criterion": 0,
    "reuse_attr": True,
    "use_dp": True,
    "privacy_budget_init_score_ratio": 0.0,
    "privacy_budget_gain_ratio": 0.0,
    "leaf_denom_noise_weight": 0.04,
    "hess_l2_threshold": 0.1,
    "init_score_threshold": 1.0,
    "numeric_feature_weight": 1.0,
    "leaf_noise": 1,  # Gaussian
    "use_privacy_filter": False,
    "approximate_privacy_filter": False,
    "pf_additional_nb_trees": 0,
    "pf_l2_threshold": 0.1,
    "pf_hess_l2_threshold": 0.1,
    "pf_subsampling_ratio_factor": 1.0,
    "additional_nb_trees": 0,
    "refine_splits_rounds": 0,
    "num_split_candidates": 32,
    "gradient_filtering": False,
    "leaf_clipping": False,
    "cyclical_feature_interactions": True,
    "refine_splits": False,
    "random_splits_from_candidates": True,
    "refine_splits_subsample": 1.0,
    "cut_off_leaf_denom": True,
    "custom_noise_scale": -1.0,
    "verbosity": 4,
    "continuous_learning": False,
}
# By the smallest epsilon that they serve.
SETTINGS: dict[float, dict[str, float]] = {
    0.0: {"nb_trees": 100, "l2_threshold": 0.5, "l2_lambda": 10.0, "subsampling_ratio": 0.01},
    0.1: {"nb_trees": 400, "l2_threshold": 0.3, "l2_lambda": 10.0},
    0.5: {"nb_trees": 200, "l2_threshold": 0.8, "l2_lambda": 5.0},
}


def scaled(X: Any, bounds: Any, counts: Any) -> Any:
    """Return numbers from 0 to 100, and codes of categories as they are."""
    low, high = np.asarray(bounds).T
    return np.where(np.asarray(counts) > 0, X, (X - low) / np.where(high > low, high - low, 1) * TOP)


def model(epsilon: float, counts: Any) -> Any:
    chosen = SETTINGS[max(least for least in SETTINGS if least <= epsilon)]
    return sbdt.S_BDT(
        **(SHARED | chosen),
        privacy_budget=epsilon,
        task="BinaryClassification",
        feature_val_border=(0.0, TOP),
        scale_y=False,
        cat_idx=[place for place, count in enumerate(counts) if count],
        num_idx=[place for place, count in enumerate(counts) if not count],
        cat_values=[[float(code) for code in range(count)] for count in counts],
    )


def predict(path: str, epsilon: float, runs: list[int], settings: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the probabilities of the second class on the test part, one fit a run."""
    with np.load(path) as file:
        data = dict(file)
    counts = data["counts"].tolist()
    train, test = (scaled(data[part], data["bounds"], counts) for part in ("X_train", "X_test"))
    found = []
    for _ in runs:
        time.sleep(1.0)
        fitted = model(epsilon, counts)
        start = time.perf_counter()
        fitted.train(train, data["y_train"].astype(float), "records")
        seconds = time.perf_counter() - start
        log_odds = np.asarray(fitted.predict(test), float)
        found.append({"probabilities": (1 / (1 + np.exp(-log_odds))).tolist(), "seconds": seconds})
    return found


def work(job: str, **arguments: Any) -> Any:
    return {"predict": predict}[job](**arguments)


if __name__ == "__main__":
    answer(work)
