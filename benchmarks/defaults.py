"""How default sizes were chosen: repeated hold-out within the papers' training parts, never on a test part.

    python benchmarks/defaults.py [--system edprf] [--data adult ...] [--epsilons .1 ...] [--repeats 5] [--bins 3 4 5 8] [--auc]

prints the mean held-out accuracy for numbers of trees, rounds or specializations (rows) and of tests on a path or cells
(columns), whichever the system has. ``--rows`` and ``--columns`` give other sizes, ``--stop`` another stop of eDPRF's trees. With
``--auc`` it prints ROC AUC in place of accuracy. Data sets that are not at hand are left out.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import Any

import numpy as np

import hedgerow as hr
from accuracy import TASKS, auc, load
from hedgerow.parameters import rules_of
from hedgerow.systems import system_class

FOREST, BOOSTER = (1, 3, 5, 11, 17, 35), (4, 8, 16, 32)
ROWS = {"n_estimators": ("trees", FOREST), "specializations": ("specializations", (2, 4, 10, 20))}
COLUMNS = {"max_depth": ("tests", (1, 2, 3, 4)), "max_cells": ("cells", (64, 512, 4096))}
BINS = {"edprf": [3, 4, 5, 8]}  # of the others: their own default
Axis = tuple[str, str, list[int | None]]  # a parameter, what it counts, and its values


def axis(known: dict[str, tuple[str, tuple[int, ...]]], system: str, given: list[int] | None) -> Axis:
    """Return the first of the parameters that a system has, or one that stands for none."""
    constraints = rules_of(system_class(system))
    for parameter, (noun, values) in known.items():
        if parameter not in constraints:
            continue
        if parameter == "n_estimators" and "delta" in constraints:
            noun, values = "rounds", BOOSTER
        return parameter, noun, list(given or values)
    return "", "size", [None]


def held_out(model: Any, X: Any, y: Any, repeats: int, by_auc: bool) -> float:
    """Return the mean accuracy, or ROC AUC, on a fifth of the records, which the fit did not see."""
    scores = []
    for repeat in range(repeats):
        order = np.random.RandomState(100 + repeat).permutation(len(y))
        held, rest = np.split(order, [len(y) // 5])
        fitted = model.fit(X[rest], y[rest])
        if by_auc:
            scores.append(auc(fitted.classes_, y[held], fitted.predict_proba(X[held])))
        else:
            scores.append((fitted.predict(X[held]) == y[held]).mean())
    return float(np.mean(scores))


def table(options: argparse.Namespace, schema: hr.Schema, X: Any, y: Any, epsilon: float, bins: int | None) -> None:
    """Print the grid of one data set at one budget."""
    row, row_noun, row_values = axis(ROWS, options.system, options.rows)
    column, column_noun, column_values = axis(COLUMNS, options.system, options.columns)
    heads = [str(value or "default") for value in column_values]
    print(f"| {row_noun} \\ {column_noun} | " + " | ".join(heads) + " |")
    print("| -- |" + " -- |" * len(heads))
    for many in row_values:
        cells = [str(many or "default")]
        for deep in column_values:
            given = {row: many, column: deep, "max_bins": bins, "stop": options.stop}
            parameters = {name: value for name, value in given.items() if value is not None}
            model = system_class(options.system)(epsilon=epsilon, schema=schema, **parameters)
            cells.append(f"{held_out(model, X, y, options.repeats, options.auc):.3f}")
        print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", default="edprf", choices=[info.name for info in hr.list_systems()])
    parser.add_argument("--data", nargs="+", default=["diabetes", "robot2", "robot4", "adult"], choices=list(TASKS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.25, 0.5, 1.0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--bins", type=int, nargs="+")
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--columns", type=int, nargs="+")
    parser.add_argument("--stop")
    parser.add_argument("--auc", action="store_true")
    options = parser.parse_args()
    for task in options.data:
        split = load(task)
        if split is None:
            continue
        schema, X, _, y, _ = split  # the test part stays untouched
        for bins, epsilon in product(options.bins or BINS.get(options.system, [None]), options.epsilons):
            said = f"{bins} bins" if bins else "its own bins"
            print(f"\n{options.system}, {task}, {said}, epsilon {epsilon:g}, {options.repeats} repeats\n")
            table(options, schema, X, y, epsilon, bins)


if __name__ == "__main__":
    main()
