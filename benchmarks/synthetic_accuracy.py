"""LightGBM fitted to synthetic records by OpenDP's MST: predictions and time to fit, for `peers.py`, in its own environment.

Each number is cut into 16 bins of its public range; the label is a column like the others. LightGBM has its defaults.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
from lightgbm import LGBMClassifier
from scipy.optimize import brentq

from peer_environment import answer

BINS = 16
DELTA = 1e-6
LABEL = "label"


def codes(X: Any, bounds: Any, counts: Any) -> tuple[Any, list[int]]:
    """Return each cell's bin or category, and how many each column may have."""
    low, high = np.asarray(bounds).T
    share = (X - low) / np.where(high > low, high - low, 1)
    binned = np.where(counts > 0, X, np.clip((share * BINS).astype(int), 0, BINS - 1)).astype(np.int64)
    return binned, [int(count) or BINS for count in counts]


def rho_of(epsilon: float) -> float:
    """Return the largest rho of zero-concentrated DP that implies (epsilon, DELTA)-DP (Canonne, Kamath and Steinke, 2020)."""
    orders = 1 + np.logspace(-3, 4, 4000)

    def log_delta(rho: float) -> float:
        return float(
            np.min((orders - 1) * (orders * rho - epsilon) - np.log(orders - 1) + orders * np.log1p(-1 / orders))
        )

    return float(brentq(lambda rho: log_delta(rho) - np.log(DELTA), 1e-9, epsilon))


def synthetic(X: Any, y: Any, sizes: list[int], epsilon: float) -> tuple[Any, Any]:
    """Return made-up records and labels drawn from released marginals."""
    names = [f"f{place}" for place in range(len(sizes))]
    frame = pl.DataFrame({name: X[:, place] for place, name in enumerate(names)} | {LABEL: y.astype(np.int64)})
    rho = rho_of(epsilon)
    context = dp.Context.compositor(
        data=frame.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho)
    )
    keys = {name: list(range(size)) for name, size in zip(names, sizes, strict=True)} | {LABEL: [0, 1]}
    # A little less than all, because OpenDP's sum of the parts may be a rounding above the whole.
    query = context.query(rho=rho * (1 - 1e-6)).select(*names, LABEL)
    algorithm = dp.mbi.AIM(queries=[dp.mbi.Count((name, LABEL)) for name in names])
    made = query.contingency_table(keys=keys, algorithm=algorithm).release().synthesize()
    made = made.drop_nulls()
    return made.select(names).to_numpy(), made[LABEL].to_numpy()


def predict(path: str, epsilon: float, runs: list[int], settings: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the probabilities of the second class on the test part, one fit a run."""
    warnings.filterwarnings("ignore")
    dp.enable_features("contrib")
    with np.load(path) as file:
        data = dict(file)
    (train, sizes), (test, _) = (codes(data[part], data["bounds"], data["counts"]) for part in ("X_train", "X_test"))
    found = []
    for _ in runs:
        start = time.perf_counter()
        X, y = synthetic(train, data["y_train"], sizes, epsilon)
        model = LGBMClassifier(verbose=-1).fit(X, y)
        seconds = time.perf_counter() - start
        found.append({"probabilities": model.predict_proba(test)[:, 1].tolist(), "seconds": seconds})
    return found


def work(job: str, **arguments: Any) -> Any:
    return {"predict": predict}[job](**arguments)


if __name__ == "__main__":
    answer(work)
