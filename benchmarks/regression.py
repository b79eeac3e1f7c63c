"""Test R2 of private regressors beside each other: `python benchmarks/regression.py OUT`.

Writes a page of the rows and their counts (Markdown) and a picture (PNG) to OUT. HedgerowRegressor with and without a delta,
DP-EBM's regressor (delta 1e-5) and diffprivlib's LinearRegression, each in an environment of its own that the first run makes
under ``--peers``, AdaSSP (our implementation of Wang 2018), the mean, and without privacy gradient boosting and a linear
model. A system that cannot be had has no rows, and the page says why. ``--earlier PAGE`` adds the rows of an earlier table to
those that this run measures. It prints the lowest R2 of single fits for each epsilon. ``--sets`` also takes made-up sets on which
a private mean or clip may be far off.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

import hedgerow as hr
from peer_environment import PEERS, PeerError, make_environment
from regression_sets import HARD, NAMES, Problem, load, split
from regression_summary import (
    ADA_SSP,
    BOOSTING,
    DIFFPRIVLIB,
    EBM,
    OURS,
    OURS_PURE,
    Tables,
    markdown,
    merge,
    prototype_table,
    read,
    summary,
)

mpl.use("Agg")
from matplotlib import pyplot as plt

Floats = npt.NDArray[np.float64]
Split = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]  # training and test rows
Predictor = Callable[[Problem, npt.NDArray[np.int64], npt.NDArray[np.int64], float, int], Floats]
Fits = Callable[
    [Problem, Sequence[Split], float, Path], list[Floats]
]  # the last argument is where environments are kept

EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
DELTA = 1e-6
CHANCE = 0.05  # of AdaSSP's bounds
HERE = Path(__file__).resolve().parent


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


def dp_ebm(problem: Problem, parts: Sequence[Split], epsilon: float, peers: Path) -> list[Floats]:
    """Fit DP-EBM's regressor in its own environment; a missing value is a category of its own, or the middle of a range."""
    columns = [problem.X[name].fillna(np.mean(ends)).to_numpy(float) for name, ends in problem.numbers.items()]
    columns += [
        pd.Categorical(problem.X[name], known).codes.astype(int) % (len(known) + 1)
        for name, known in problem.categories.items()
    ]
    counts = [0] * len(problem.numbers) + [len(known) + 1 for known in problem.categories.values()]
    bounds = [*problem.numbers.values(), *((0, count - 1) for count in counts if count)]
    data = {"X": np.column_stack(columns), "counts": counts, "bounds": bounds}
    return peer("interpret", problem, parts, epsilon, peers, data)


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


def diffprivlib_linear(problem: Problem, parts: Sequence[Split], epsilon: float, peers: Path) -> list[Floats]:
    """Fit in diffprivlib's own environment, with the bounds of each column; predictions are clipped to the public range.

    Its sensitivities are too small for such bounds; see ``diffprivlib_regression.py``.
    """
    X = matrix(problem)[:, 1:]
    high = np.full(X.shape[1], 1 / np.sqrt(1 + len(problem.numbers) + len(problem.categories)))
    low = np.where(np.arange(len(high)) < len(problem.numbers), -high, 0)
    found = peer("diffprivlib", problem, parts, epsilon, peers, {"X": X, "low": low, "high": high})
    return [np.clip(predictions, *problem.outcome) for predictions in found]


def peer(
    name: str, problem: Problem, parts: Sequence[Split], epsilon: float, peers: Path, data: Mapping[str, npt.ArrayLike]
) -> list[Floats]:
    """Return the predictions that ``NAME_regression.py`` gives for every split in the environment of a peer."""
    environment = make_environment(name, peers)
    train, test = (np.stack(rows) for rows in zip(*parts, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.npz")
        np.savez(path, y=problem.y, outcome=problem.outcome, train=train, test=test, **data)
        found = environment.run(HERE / f"{name}_regression.py", {"path": str(path), "epsilon": epsilon})
    return [np.array(predictions) for predictions in found]


def mean(problem: Problem, train, test, epsilon: float, seed: int) -> Floats:
    return np.full(len(test), problem.y[train].mean())


def boosting(problem: Problem, train, test, epsilon: float, seed: int) -> Floats:
    X = problem.X.assign(**{name: problem.X[name].astype("category") for name in problem.categories})
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=seed)
    return model.fit(X.iloc[train], problem.y[train]).predict(X.iloc[test])


def linear(problem: Problem, train, test, epsilon: float, seed: int) -> Floats:
    X = matrix(problem)
    return LinearRegression().fit(X[train], problem.y[train]).predict(X[test])


def each_split(predict: Predictor) -> Fits:
    """Fit split by split in this process."""

    def fits(problem: Problem, parts: Sequence[Split], epsilon: float, peers: Path) -> list[Floats]:
        return [predict(problem, *part, epsilon, seed) for seed, part in enumerate(parts)]

    return fits


PRIVATE: dict[str, Fits] = {
    OURS: each_split(hedgerow(DELTA)),
    OURS_PURE: each_split(hedgerow(0.0)),
    EBM: dp_ebm,
    ADA_SSP: each_split(ada_ssp),
    DIFFPRIVLIB: diffprivlib_linear,
}
OPEN: dict[str, Fits] = {"mean": each_split(mean), "linear": each_split(linear), BOOSTING: each_split(boosting)}
SYSTEMS = {**PRIVATE, **OPEN}


def scores(
    problem: Problem,
    systems: Sequence[str],
    epsilons: Sequence[float],
    seeds: int,
    peers: Path = PEERS,
    absent: dict[str, str] | None = None,
) -> pd.DataFrame:
    """Return the test R2 of every seed, a list, by system, a row each, and epsilon.

    A system that cannot be had has no row, and its reason is put into `absent`; what is in there already is not tried.
    """
    absent = {} if absent is None else absent
    parts = [split(problem, seed) for seed in range(seeds)]
    found: dict[str, dict[float, list[float]]] = {}
    for name in systems:
        if name in absent:
            continue
        row = {}
        try:
            for epsilon in epsilons if name in PRIVATE else epsilons[:1]:
                predictions = SYSTEMS[name](problem, parts, epsilon, peers)
                pairs = zip(parts, predictions, strict=True)
                row[epsilon] = [r2_score(problem.y[test], said) for (_, test), said in pairs]
        except PeerError as error:
            absent[name] = str(error)
            continue
        found[name] = row if name in PRIVATE else dict.fromkeys(epsilons, row[epsilons[0]])
    return pd.DataFrame(found).T


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="*", default=list(NAMES), choices=(*NAMES, *HARD))
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--epsilons", nargs="*", type=float, default=list(EPSILONS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--earlier", type=Path, help="a page whose rows stand where this run measures none")
    parser.add_argument("--peers", type=Path, default=PEERS, help="where the environments of other libraries are kept")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    given.out.mkdir(parents=True, exist_ok=True)
    tables: Tables = {}
    fits: Tables = {}
    absent: dict[str, str] = {}
    for name in given.sets:
        fits[name] = scores(load(name), given.systems, given.epsilons, given.seeds, given.peers, absent)
        tables[name] = fits[name].map(np.mean)
        print(f"\n{name}\n{tables[name].round(3).to_string()}", flush=True)
    print("\n".join(["", *lowest(fits)]))
    earlier = read(given.earlier) if given.earlier else {}
    write(merge(earlier, tables, list(SYSTEMS)), absent, given.out)


def lowest(fits: Tables) -> Iterator[str]:
    """Yield the lowest R2 of all fits of each private system at each epsilon; cells are the R2 of several fits."""
    rows = pd.concat(fits, names=["data", "system"]).stack().explode().astype(float)
    for (system, epsilon), own in rows.groupby(level=[1, 2], sort=False):
        if system in PRIVATE:
            yield f"{system}, epsilon {epsilon:g}: the lowest of {len(own)} fits is {own.min():.3f}, on {own.idxmin()[0]}"


def page(tables: Tables, absent: dict[str, str]) -> str:
    """Return the counts, what has no rows and why, the rows, and ours less the prototype."""
    missing = [f"{name} could not be run on every set: {reason}" for name, reason in absent.items()]
    return "\n\n".join([summary(tables), *missing, markdown(tables), prototype_table(tables)]) + "\n"


def write(tables: Tables, absent: dict[str, str], out: Path) -> None:
    """Print and write the page, and draw the picture."""
    text = page(tables, absent)
    print(f"\n{text}", flush=True)
    (out / "regression.md").write_text(text)
    columns = min(4, len(tables))
    rows = -(-len(tables) // columns)
    figure, axes = plt.subplots(rows, columns, squeeze=False, figsize=(3.2 * columns, 2.6 * rows + 0.4))
    for (name, table), ax in zip(tables.items(), axes.flat, strict=False):
        for system, row in table.iterrows():
            ax.plot(row.index, np.maximum(row, -0.1), marker="o" if system in PRIVATE else None, ms=3, label=system)
        ax.set(title=name, xscale="log", xlabel="epsilon", ylabel="test R2")
    for ax in axes.flat[len(tables) :]:
        ax.set_axis_off()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncols=4, fontsize=7)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(out / "regression.png", dpi=100)


if __name__ == "__main__":
    main()
