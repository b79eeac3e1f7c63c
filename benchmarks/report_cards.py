"""Width, error and coverage of the intervals of report cards, on public sets and on outcomes with a heavy tail.

    python benchmarks/report_cards.py [--sets adult bank ...] [--cards 20] [--size 5000]
    python benchmarks/report_cards.py --coverage 400

A model is fitted once with epsilon 1. Each line is a set, an epsilon of the cards and a figure, over the cards: the median
width of the 95 % interval for these records, the mean distance of the figure from that of the raw records, which is
printed, the share of figures within a quarter of it, and the share of intervals that hold it. ``none`` counts the cards
without a value. ``--sets heavy`` is all outcomes with a heavy tail; ``card_limits.py`` prints what is possible for them.

``--coverage`` draws new made-up records for each card, and prints how many of the 95 % intervals hold the figure of these
records, and that of their population.
"""

from __future__ import annotations

import argparse
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import (
    accuracy_score,
    mean_absolute_error,
    mean_squared_error,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
)

import hedgerow as hr
from accuracy import load

CLASSES = ("adult", "bank", "diabetes", "robot4", "census")
HEAVY = ("stays", "duration", "pareto", "incomes", "costs", "claims")
NUMBERS = (*HEAVY, "even")
EPSILONS = (0.5, 1.0)


def numbers(name: str) -> tuple[hr.Schema, pd.DataFrame, np.ndarray]:
    """Return records with an outcome: the seconds of a call (Bank), or made-up ones of known tails."""
    rng = np.random.default_rng(0)
    if name == "duration":
        schema, X, X_test, _, _ = load("bank") or (None,) * 5
        frame = pd.DataFrame(np.concatenate([X, X_test]), columns=list(schema.names))
        features = {key: kind for key, kind in schema.features.items() if key != "duration"}
        return (
            hr.Schema(features, outcome=hr.Numeric(0, 5000), missing=schema.missing),
            frame[list(features)],
            frame["duration"].astype(float).to_numpy(),
        )
    X = pd.DataFrame({"age": rng.uniform(0, 100, 25_000), "ill": rng.choice(["no", "yes"], 25_000)})
    center = 0.3 + X["age"] / 100 + (X["ill"] == "yes")
    high = {"costs": 20_000, "claims": 10_000}.get(name, 1000)
    if name == "stays":
        y = rng.lognormal(center, 1.2)
    elif name == "pareto":
        y = np.exp(center) * (rng.pareto(2.5, 25_000) + 1)
    elif name == "incomes":
        y = rng.lognormal(center + 0.7, 1.0)
    elif name == "costs":  # most are 0
        y = np.where(rng.random(25_000) < 0.6 - 0.2 * (X["ill"] == "yes"), 0, rng.lognormal(2 * center + 2.4, 1.3))
    elif name == "claims":  # no variance without the range
        y = np.exp(center) * (rng.pareto(1.5, 25_000) + 1)
    else:
        y = 100 * center + rng.normal(0, 60, 25_000)
    schema = hr.Schema({"age": hr.Numeric(0, 100), "ill": hr.Categorical(["no", "yes"])}, outcome=hr.Numeric(0, high))
    return schema, X, np.clip(y, 0, high)


def heavy(name: str, size: int) -> tuple[hr.HedgerowRegressor, pd.DataFrame, np.ndarray]:
    """Return a model of 20 000 records with epsilon 1, and other records."""
    schema, X, y = numbers(name)
    model = hr.HedgerowRegressor(epsilon=1, schema=schema, random_state=0).fit(X[:20_000], y[:20_000])
    return model, X[-size:], y[-size:]


def figures(model: Any, X: Any, y: Any, classes: list[Any]) -> dict[str, float]:
    """Return the figures of the raw records, for whoever reads the benchmark."""
    if not classes:
        predicted = model.predict(X)
        found = {"rmse": math.sqrt(mean_squared_error(y, predicted)), "mae": mean_absolute_error(y, predicted)}
        return {**found, "r2": r2_score(y, predicted), "bias": float(np.mean(y - predicted))}
    probabilities = model.predict_proba(X)
    truth = np.array([list(model.classes_).index(label) for label in y])
    one_hot = np.eye(len(classes))[truth]
    squares = ((probabilities - one_hot) ** 2).sum(axis=1).mean()
    two = len(classes) == 2
    auc = roc_auc_score(truth, probabilities[:, 1]) if two else roc_auc_score(one_hot, probabilities, average="macro")
    predicted, average = probabilities.argmax(axis=1), "binary" if two else "macro"
    shares = {"recall": recall_score(truth, predicted, average=average)}
    shares["precision"] = precision_score(truth, predicted, average=average)
    return {
        "accuracy": accuracy_score(truth, predicted),
        **shares,
        "roc_auc": auc,
        "brier_score": squares / 2 if two else squares,
    }


def measure(name: str, size: int, cards: int) -> None:
    if name in NUMBERS:
        model: Any
        model, test, y_test = heavy(name, size)
        classes: list[Any] = []
    else:
        schema, X, X_test, y, y_test = load(name) or (None,) * 5
        chosen = np.random.default_rng(0).permutation(len(X_test))[:size]
        test, y_test = pd.DataFrame(X_test, columns=list(schema.names)).iloc[chosen], np.asarray(y_test)[chosen]
        model = hr.HedgerowClassifier(epsilon=1, schema=schema, random_state=0)
        model.fit(pd.DataFrame(X, columns=list(schema.names)), y)
        classes = list(schema.classes)
    truth = figures(model, test, y_test, classes)
    for epsilon in EPSILONS:
        found = [hr.evaluate(model, test, y_test, epsilon=epsilon, random_state=seed) for seed in range(cards)]
        for figure, true in truth.items():
            ends = np.array([card.interval(figure, sampling=False) for card in found])
            values = np.array([getattr(card, figure) for card in found])
            known = values[np.isfinite(values)]
            width = np.median(ends[:, 1] - ends[:, 0])
            off = np.mean(np.abs(known - true)) if len(known) else math.nan
            held = np.mean((ends[:, 0] <= true) & (true <= ends[:, 1]))
            near = np.mean(np.abs(values / true - 1) <= 0.25)
            mean = known.mean() if len(known) else math.nan
            print(
                f"{name:10} n {len(y_test):6} eps {epsilon:4} {figure:12} true {true:9.4f} mean {mean:9.4f} off {off:9.4f} "
                f"near {near:.2f} width {width:9.4f} held {held:.2f} none {cards - len(known)}",
                flush=True,
            )


def drawn(name: str, size: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return made-up records of two or three classes, or with an outcome of a light or a heavy tail."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.exponential(8, size).clip(0, 100), "b": rng.choice(["x", "y"], size, p=[0.8, 0.2])})
    center = X["a"] / 16 + (X["b"] == "y")
    if name in MADE_UP:
        classes = MADE_UP[name]
        return X, np.array(classes)[np.digitize(center + rng.logistic(0, 0.4, size), [0.9, 1.9][: len(classes) - 1])]
    return X, np.clip(rng.lognormal(center, 1.0) if name == "heavy" else 40 * center + rng.normal(0, 30, size), 0, 1000)


MADE_UP = {"two": ["no", "yes"], "three": ["a", "b", "c"]}


def cover(name: str, size: int, cards: int, epsilon: float) -> None:
    """Print how often intervals hold the figures of their records, and of the population."""
    classes = MADE_UP.get(name, [])
    labels: dict[str, Any] = {"classes": classes} if classes else {"outcome": hr.Numeric(0, 1000)}
    schema = hr.Schema({"a": hr.Numeric(0, 100), "b": hr.Categorical(["x", "y"])}, **labels)
    kind = hr.HedgerowClassifier if classes else hr.HedgerowRegressor
    model = kind(epsilon=1, schema=schema, random_state=0).fit(*drawn(name, 10_000, 0))
    population = figures(model, *drawn(name, 200_000, 1), classes)
    held = {figure: np.zeros(2) for figure in population}
    for seed in range(cards):
        X, y = drawn(name, size, seed + 2)
        truth = figures(model, X, y, classes)
        card = hr.evaluate(model, X, y, epsilon=epsilon, random_state=seed)
        for figure in truth:
            for place, true in enumerate((truth, population)):
                low, high = card.interval(figure, sampling=bool(place))
                held[figure][place] += low <= true[figure] <= high
    for figure, (own, every) in held.items():
        print(
            f"{name:6} n {size} eps {epsilon} {figure:12} these {own / cards:.3f} population {every / cards:.3f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--cards", type=int, default=20)
    parser.add_argument("--size", type=int, default=5000)
    parser.add_argument("--coverage", type=int, metavar="CARDS")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.coverage:
        for name in given.sets or ("two", "three", "light", "heavy"):
            for epsilon in EPSILONS:
                cover(name, given.size, given.coverage, epsilon)
        return
    if given.sets == ["heavy"]:
        given.sets = list(HEAVY)
    for name in given.sets or ("adult", "bank", "diabetes", "robot4", "stays"):
        measure(name, given.size, given.cards)


if __name__ == "__main__":
    main()
