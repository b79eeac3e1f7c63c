"""The table of public benchmarks that ``hedgerow plan --out`` draws: `python benchmarks/outlook.py`.

It writes src/hedgerow/analysis/outlook.csv. A line has a public set, the number of records that are drawn of it, an epsilon
(pure, one record added or removed), the score of the Hedgerow system on other records, that of gradient boosting without privacy
on the same records, and the width of the score's 95 % interval for the noise, in a report card of the same epsilon on a quarter
as many records. Scores are ROC AUC less 1/2 (the mean of one class against the rest for more classes) or R2. Each is a mean over
``--runs`` draws. Sets that are not found are skipped, and named on standard error.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import r2_score

import accuracy
import hedgerow as hr
import regression_sets
from regression import schema_of

CLASSES = ("adult", "bank", "diabetes", "robot4", "census")
NUMBERS = ("diamonds", "CPS1988", "gss_wages", "flights", "friedman1")
RECORDS = (500, 2000, 8000, 32_000)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
FIELDS = ("kind", "data", "records", "epsilon", "score", "boosting", "width")
OUT = Path(__file__).resolve().parents[1] / "src/hedgerow/analysis/outlook.csv"
Parts = tuple[hr.Schema, pd.DataFrame, pd.DataFrame, Any, Any]


def parts_of(name: str) -> Parts | None:
    """Return the schema, training and test records, and their labels or outcomes."""
    if name in CLASSES:
        split = accuracy.load(name)
        if split is None:
            return None
        schema, X, X_test, y, y_test = split
        frames = (pd.DataFrame(part, columns=list(schema.names)) for part in (X, X_test))
        return schema, *frames, np.asarray(y), np.asarray(y_test)
    try:
        problem = regression_sets.load(name)
    except ImportError as error:
        print(f"{name} left out: {error}", file=sys.stderr)
        return None
    train, test = regression_sets.split(problem, 0)
    return schema_of(problem), problem.X.iloc[train], problem.X.iloc[test], problem.y[train], problem.y[test]


def plain(schema: hr.Schema, X: pd.DataFrame) -> pd.DataFrame:
    """Return features as gradient boosting of scikit-learn reads them: numbers, and categories as their places."""
    columns = {}
    for name, kind in schema.features.items():
        if isinstance(kind, hr.Categorical):
            columns[name] = X[name].map({value: place for place, value in enumerate(kind.values)})
        else:
            columns[name] = pd.to_numeric(X[name], errors="coerce")
    return pd.DataFrame(columns).astype(float)


def score(model: Any, X: pd.DataFrame, y: Any) -> float:
    if hasattr(model, "predict_proba"):
        return accuracy.auc(model.classes_, y, model.predict_proba(X)) - 0.5
    return float(r2_score(y, model.predict(X)))


def lines(name: str, runs: int) -> Iterator[tuple[Any, ...]]:
    parts = parts_of(name)
    if parts is None:
        return
    schema, X, X_test, y, y_test = parts
    classes = bool(schema.classes)
    kind = hr.HedgerowClassifier if classes else hr.HedgerowRegressor
    booster = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    figure = "roc_auc" if classes else "r2"
    for records in RECORDS:
        if records > len(X):
            continue
        found: dict[float, list[tuple[float, float, float]]] = {epsilon: [] for epsilon in EPSILONS}
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            own = rng.choice(len(X), records, replace=False)
            others = rng.choice(len(X_test), min(records // 4, len(X_test)), replace=False)
            train, labels = X.iloc[own], y[own]
            best = score(booster(random_state=0).fit(plain(schema, train), labels), plain(schema, X_test), y_test)
            for epsilon in EPSILONS:
                model = kind(epsilon=epsilon, schema=schema, random_state=seed).fit(train, labels)
                card = hr.evaluate(model, X_test.iloc[others], y_test[others], epsilon=epsilon, random_state=seed)
                low, high = card.interval(figure, sampling=False)
                found[epsilon].append((score(model, X_test, y_test), best, min(high - low, 1.0)))
        for epsilon, values in found.items():
            means = (f"{value:.3f}" for value in np.mean(values, axis=0))
            yield "classes" if classes else "numbers", name, records, f"{epsilon:g}", *means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=[*CLASSES, *NUMBERS])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with given.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for name in given.sets:
            for line in lines(name, given.runs):
                writer.writerow(line)
                file.flush()


if __name__ == "__main__":
    main()
