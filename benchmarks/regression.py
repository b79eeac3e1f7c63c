"""Test R2 of private regressors beside each other: `python benchmarks/regression.py OUT`.

Writes a table (Markdown) and a picture (PNG) to OUT. HedgerowRegressor with and without a delta, DP-EBM's regressor where
interpret-core is installed (delta 1e-5), diffprivlib's LinearRegression where it is installed, AdaSSP (our implementation of
Wang 2018), the mean, and without privacy gradient boosting and a linear model.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

import hedgerow as hr
from regression_sets import NAMES, Problem, load, split

mpl.use("Agg")
from matplotlib import pyplot as plt

Floats = npt.NDArray[np.float64]
Predictor = Callable[[Problem, npt.NDArray[np.int64], npt.NDArray[np.int64], float, int], Floats]

EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
DELTA = 1e-6
DELTA_OF_EBM = 1e-5  # its default
CHANCE = 0.05  # of AdaSSP's bounds


def schema_of(problem: Problem) -> hr.Schema:
    """Return what is public, as this library reads it."""
    numbers = {name: hr.Numeric(*ends) for name, ends in problem.numbers.items()}
    values = {name: hr.Categorical(known) for name, known in problem.categories.items()}
    return hr.Schema({**numbers, **values}, outcome=hr.Numeric(*problem.outcome))


def hedgerow(delta: float) -> Predictor:
    """Return the shipped estimator's predictions; each fit has a certificate that is checked."""

    def predict(problem: Problem, train, test, epsilon: float, seed: int) -> Floats:
        model = hr.HedgerowRegressor(epsilon, delta=delta, schema=schema_of(problem))
        model.fit(problem.X.iloc[train], problem.y[train])
        assert model.certificate_.holds
        return model.predict(problem.X.iloc[test])

    return predict


def dp_ebm(problem: Problem, train, test, epsilon: float, seed: int) -> Floats:
    from interpret.privacy import DPExplainableBoostingRegressor

    X = problem.X.assign(**{name: problem.X[name].fillna("missing") for name in problem.categories})
    X = X.assign(**{name: X[name].fillna(np.mean(ends)) for name, ends in problem.numbers.items()})
    types = ["continuous" if name in problem.numbers else "nominal" for name in X]
    model = DPExplainableBoostingRegressor(
        epsilon=epsilon,
        delta=DELTA_OF_EBM,
        feature_types=types,
        privacy_bounds=dict(problem.numbers),
        privacy_target_min=problem.outcome[0],
        privacy_target_max=problem.outcome[1],
        random_state=None,
    )
    return model.fit(X.iloc[train], problem.y[train]).predict(X.iloc[test])


def matrix(problem: Problem) -> Floats:
    """Return features on [-1, 1] by their public ranges, one column a category, and an intercept; rows have norm 1 at most."""
    columns = [np.ones(len(problem.X))]
    for name, (low, high) in problem.numbers.items():
        share = (problem.X[name].to_numpy(float) - low) / (high - low)
        columns.append(2 * np.clip(np.nan_to_num(share, nan=0.5), 0, 1) - 1)
    columns += [
        (problem.X[name] == value).to_numpy(float) for name, known in problem.categories.items() for value in known
    ]
    found = np.stack(columns, axis=1)
    most = 1 + len(problem.numbers) + len(problem.categories)  # a public bound of the squared norm
    return found / np.sqrt(most)


def ada_ssp(problem: Problem, train, test, epsilon: float, seed: int) -> Floats:
    """AdaSSP (Wang, UAI 2018, algorithm 2), delta 1e-6: three Gaussian questions of a third of the budget each."""
    X, low, high = matrix(problem), *problem.outcome
    y = (problem.y - (low + high) / 2) / ((high - low) / 2)
    generator, size = np.random.default_rng(seed), X.shape[1]
    noise = np.sqrt(np.log(6 / DELTA)) / (epsilon / 3)
    gram, target = X[train].T @ X[train], X[train].T @ y[train]
    least = max(np.linalg.eigvalsh(gram)[0] + noise * generator.normal() - np.log(6 / DELTA) / (epsilon / 3), 0)
    ridge = max(np.sqrt(size * np.log(6 / DELTA) * np.log(2 * size**2 / CHANCE)) / (epsilon / 3) - least, 0)
    error = np.triu(generator.normal(size=(size, size)))
    gram = gram + noise * (error + np.triu(error, 1).T)
    solved = np.linalg.solve(gram + ridge * np.eye(size), target + noise * generator.normal(size=size))
    return np.clip(X[test] @ solved, -1, 1) * (high - low) / 2 + (low + high) / 2


def diffprivlib_linear(problem: Problem, train, test, epsilon: float, seed: int) -> Floats:
    from diffprivlib.models import LinearRegression as Private

    X = matrix(problem)[:, 1:]
    most = 1 / np.sqrt(1 + len(problem.numbers) + len(problem.categories))
    model = Private(epsilon=epsilon, bounds_X=(-most, most), bounds_y=problem.outcome)
    return model.fit(X[train], problem.y[train]).predict(X[test])


def mean(problem: Problem, train, test, epsilon: float, seed: int) -> Floats:
    return np.full(len(test), problem.y[train].mean())


def boosting(problem: Problem, train, test, epsilon: float, seed: int) -> Floats:
    X = problem.X.assign(**{name: problem.X[name].astype("category") for name in problem.categories})
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=seed)
    return model.fit(X.iloc[train], problem.y[train]).predict(X.iloc[test])


def linear(problem: Problem, train, test, epsilon: float, seed: int) -> Floats:
    X = matrix(problem)
    return LinearRegression().fit(X[train], problem.y[train]).predict(X[test])


PRIVATE: dict[str, Predictor] = {
    "HedgerowRegressor, delta 1e-6": hedgerow(DELTA),
    "HedgerowRegressor, pure": hedgerow(0.0),
    "DP-EBM, delta 1e-5": dp_ebm,
    "AdaSSP (ours), delta 1e-6": ada_ssp,
    "diffprivlib LinearRegression, pure": diffprivlib_linear,
}
OPEN: dict[str, Predictor] = {"mean": mean, "linear": linear, "HistGradientBoosting": boosting}


def scores(problem: Problem, systems: Sequence[str], epsilons: Sequence[float], seeds: int) -> pd.DataFrame:
    """Return the mean test R2 over seeds by system, a row each, and epsilon; a system that is not installed has none."""
    found: dict[str, dict[float, float]] = {}
    for name in systems:
        predict = PRIVATE.get(name) or OPEN[name]
        for epsilon in epsilons if name in PRIVATE else epsilons[:1]:
            parts = [split(len(problem.y), seed) for seed in range(seeds)]
            try:
                said = [predict(problem, *part, epsilon, seed) for seed, part in enumerate(parts)]
            except ImportError:
                continue
            r2 = float(np.mean([r2_score(problem.y[part[1]], one) for part, one in zip(parts, said, strict=True)]))
            found.setdefault(name, {}).update({epsilon: r2} if name in PRIVATE else dict.fromkeys(epsilons, r2))
    return pd.DataFrame(found).T


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="*", default=list(NAMES), choices=NAMES)
    parser.add_argument("--systems", nargs="*", default=[*PRIVATE, *OPEN], choices=[*PRIVATE, *OPEN])
    parser.add_argument("--epsilons", nargs="*", type=float, default=list(EPSILONS))
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    given.out.mkdir(parents=True, exist_ok=True)
    tables = {}
    for name in given.sets:
        tables[name] = scores(load(name), given.systems, given.epsilons, given.seeds)
        print(f"\n{name}\n{tables[name].round(3).to_string()}", flush=True)
    write(tables, given.out)


def write(tables: dict[str, pd.DataFrame], out: Path) -> None:
    """Write the table and the picture."""
    lines = ["| data | system | " + " | ".join(f"{epsilon:g}" for epsilon in next(iter(tables.values()))) + " |"]
    lines.append("|" + "---|" * (lines[0].count("|") - 1))
    for name, table in tables.items():
        lines += [
            f"| {name} | {system} | " + " | ".join(f"{r2:.3f}" for r2 in row) + " |" for system, row in table.iterrows()
        ]
    (out / "regression.md").write_text("\n".join(lines) + "\n")
    columns = min(5, len(tables))
    figure, axes = plt.subplots(
        -(-len(tables) // columns), columns, squeeze=False, figsize=(3.2 * columns, 5.6), sharex=True
    )
    for (name, table), ax in zip(tables.items(), axes.flat, strict=False):
        for system, row in table.iterrows():
            ax.plot(row.index, np.maximum(row, -0.1), marker="o" if system in PRIVATE else None, ms=3, label=system)
        ax.set(title=name, xscale="log", xlabel="epsilon", ylabel="test R2")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncols=4, fontsize=7)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(out / "regression.png", dpi=120)


if __name__ == "__main__":
    main()
