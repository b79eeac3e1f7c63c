"""A logistic regression on one-hot bins by Opacus: predictions and time to fit, for `peers.py`, in an environment of its own.

Each number is cut at 31 places into 32 bins of its public range, and each bin and each category is one input. Opacus trains by
DP-Adam on samples in which each record is with equal probability, and says the noise that keeps to the epsilon. The settings
were chosen on a fifth of Adult's training part that was held out.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

from peer_environment import answer

BINS = 32
DELTA = 1e-6
SETTINGS = {"epochs": 20, "batch": 2048, "rate": 0.02, "clip": 1.0}


def codes(X: Any, bounds: Any, counts: Any) -> tuple[Any, int]:
    """Return the place of each cell's input, and the number of inputs."""
    low, high = np.asarray(bounds).T
    share = (X - low) / np.where(high > low, high - low, 1)
    binned = np.where(counts > 0, X, np.clip((share * BINS).astype(int), 0, BINS - 1)).astype(np.int64)
    sizes = np.where(counts > 0, counts, BINS)
    return binned + np.concatenate([[0], np.cumsum(sizes)[:-1]]), int(sizes.sum())


def one_hot(places: Any, width: int) -> torch.Tensor:
    return torch.zeros(len(places), width).scatter_(1, torch.from_numpy(places), 1.0)


def fitted(X: torch.Tensor, y: torch.Tensor, epsilon: float, settings: dict[str, Any]) -> torch.nn.Module:
    model: Any = torch.nn.Linear(X.shape[1], 1)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    loader = DataLoader(TensorDataset(X, y), batch_size=min(settings["batch"], len(y)))
    model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=settings["rate"]),
        data_loader=loader,
        target_epsilon=epsilon,
        target_delta=DELTA,
        epochs=settings["epochs"],
        max_grad_norm=settings["clip"],
    )
    loss_of = torch.nn.BCEWithLogitsLoss()
    for _ in range(settings["epochs"]):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss_of(model(inputs)[:, 0], labels).backward()
            optimizer.step()
    return model


def predict(path: str, epsilon: float, runs: list[int], settings: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the probabilities of the second class on the test part, one fit a run."""
    warnings.filterwarnings("ignore")
    with np.load(path) as file:
        data = dict(file)
    (train, width), (test, _) = (codes(data[part], data["bounds"], data["counts"]) for part in ("X_train", "X_test"))
    X, y = one_hot(train, width), torch.from_numpy(data["y_train"].astype(np.float32))
    found = []
    for _ in runs:
        start = time.perf_counter()
        model = fitted(X, y, epsilon, SETTINGS | (settings or {}))
        seconds = time.perf_counter() - start
        with torch.no_grad():
            probabilities = torch.sigmoid(model(one_hot(test, width))[:, 0]).numpy()
        found.append({"probabilities": probabilities.astype(float).tolist(), "seconds": seconds})
    return found


def work(job: str, **arguments: Any) -> Any:
    return {"predict": predict}[job](**arguments)


if __name__ == "__main__":
    answer(work)
