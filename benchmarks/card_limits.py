"""What is possible for a private figure of heavy-tailed residuals, whatever the mechanism (docs/decisions/0022).

    python benchmarks/card_limits.py [--sets stays pareto ...] [--epsilon 1] [--size 5000]

For the outcomes of ``report_cards.py`` and a figure, each with one to three records less, those that change the figure most, or
with one more, whose outcome is the end of the range: the figure then, and what follows from its change.

- ``floor``: on one of the two tables every epsilon-DP figure is off by this share of the present figure, in the mean, or more.
- ``at most``: the probability of being within a quarter of the truth on both tables, where both quarters are disjoint.

Then the mean error of a sum of residuals clipped at the best bound, with Laplace noise for all of epsilon or a fifth of it. No
mechanism knows this bound: it is chosen by the records.
"""

from __future__ import annotations

import argparse
import math
import warnings

import numpy as np

from report_cards import HEAVY, figures, heavy

MOST_REMOVED = 3
QUARTER = 0.25


def figure_of(name: str, outcomes: np.ndarray, predictions: np.ndarray) -> float:
    residuals = outcomes - predictions
    if name == "r2":
        return float(1 - (residuals**2).sum() / ((outcomes - outcomes.mean()) ** 2).sum())
    means = {"rmse": np.sqrt(np.mean(residuals**2)), "mae": np.abs(residuals).mean(), "bias": residuals.mean()}
    return float(means[name])


def without_one(name: str, outcomes: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return a figure without each one of the records, from sums."""
    rest, residuals = len(outcomes) - 1, outcomes - predictions
    if name == "r2":
        mean = (outcomes.sum() - outcomes) / rest
        squares = (outcomes**2).sum() - outcomes**2 - rest * mean**2
        return 1 - ((residuals**2).sum() - residuals**2) / squares
    parts = {"rmse": residuals**2, "mae": np.abs(residuals), "bias": residuals}[name]
    means = (parts.sum() - parts) / rest
    return np.sqrt(means) if name == "rmse" else means


def neighbors(name: str, outcomes: np.ndarray, predictions: np.ndarray, high: float) -> list[tuple[str, int, float]]:
    """Return tables near this one: what changed, in how many records, and the figure then."""
    found, true = [], figure_of(name, outcomes, predictions)
    kept_outcomes, kept = outcomes, predictions
    for removed in range(1, MOST_REMOVED + 1):
        most = np.abs(without_one(name, kept_outcomes, kept) - true).argmax()
        kept_outcomes, kept = np.delete(kept_outcomes, most), np.delete(kept, most)
        found.append((f"{removed} less", removed, figure_of(name, kept_outcomes, kept)))
    more = [figure_of(name, np.append(outcomes, high), np.append(predictions, at)) for at in np.unique(predictions)]
    return [*found, ("1 more", 1, max(more, key=lambda value: abs(value - true)))]


def disjoint(one: float, other: float) -> bool:
    ends = [sorted((value * (1 - QUARTER), value * (1 + QUARTER))) for value in (one, other)]
    return ends[0][1] < ends[1][0] or ends[1][1] < ends[0][0]


def limits(name: str, epsilon: float, size: int) -> None:
    model, X, y = heavy(name, size)
    predictions = model.predict(X)
    truth, high = figures(model, X, y, []), model.schema_.outcome.high
    print(f"{name}: {len(y)} records, mean outcome {y.mean():.4g}, range to {high:g}, epsilon {epsilon:g}")
    for figure, true in truth.items():
        print(f"  {figure:5} {true:9.4f}", end="")
        for change, records, value in neighbors(figure, y, predictions, high):
            floor = abs(value / true - 1) / (1 + math.exp(records * epsilon))
            most = f", at most {1 / (1 + math.exp(-records * epsilon)):.2f}" if disjoint(true, value) else ""
            print(f" | {change}: {value:.4f} ({value / true - 1:+.0%}), floor {floor:.1%}{most}", end="")
        print()
    residuals = y - predictions
    for share in (1.0, 0.2):
        bounds = np.geomspace(residuals.std() / 10, high, 400)
        lost = np.array([abs(np.clip(residuals, -bound, bound).mean() - residuals.mean()) for bound in bounds])
        errors = lost + bounds / (share * epsilon * size)
        best = int(errors.argmin())
        print(
            f"  clipped sum for {share:.0%} of epsilon: bound {bounds[best]:.4g}, mean error at most {errors[best]:.4f}, "
            f"which is {errors[best] / abs(truth['bias']):.0%} of the bias and {errors[best] / y.mean():.2%} of the mean outcome"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=HEAVY, default=HEAVY)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--size", type=int, default=5000)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in given.sets:
        limits(name, given.epsilon, given.size)


if __name__ == "__main__":
    main()
