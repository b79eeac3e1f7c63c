"""What each rule of HedgerowClassifier is worth: hold-outs within the papers' training parts, and made-up data of many shapes.

    python benchmarks/recipes.py [--data adult ... linear spiked ...] [--epsilons .1 1] [--deltas 1e-6 0] [--repeats 5]
                                 [--without RULE ...] [--reference OTHER/src]

The first line is the held-out ROC AUC of what ships, each further line by how much it changes without one rule, with its standard
error. ``--reference`` adds a line for another version of the package, its folder ``src``. Test parts are never read. Every line
sees the same splits, and the noise is seeded by the split.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow as hr
from accuracy import TASKS, auc, load
from hedgerow.additive import cell_round, estimate, plan
from hedgerow.additive import round as round_
from hedgerow.additive.estimate import Prior, Visits
from hedgerow.additive.losses import Logistic
from hedgerow.curator import survey
from hedgerow.systems import hedgerow

Drawn = tuple[hr.Schema, dict[str, Any], Any]


def made_up(n: int, features: int, log_odds: Callable[[Any], Any], draw: Callable[[Any, Any], Any]) -> Drawn:
    """Return records whose features are drawn alike, on the range from 0 to 1, and whose labels follow the log odds."""
    generator = np.random.default_rng(0)
    values = draw(generator, (n, features))
    labels = np.where(generator.random(n) < 1 / (1 + np.exp(-log_odds(values))), "yes", "no")
    schema = hr.Schema({f"f{i}": hr.Numeric(0, 1) for i in range(features)}, classes=["no", "yes"])
    return schema, {f"f{i}": values[:, i] for i in range(features)}, labels


def categories() -> Drawn:
    """Return records of categories with few and with many values."""
    generator = np.random.default_rng(0)
    arities = [2, 5, 20, 100, 400]
    codes = [generator.integers(0, arity, 20_000) for arity in arities]
    effects = [generator.normal(0, 0.7, arity) for arity in arities]
    odds = sum(effect[code] for effect, code in zip(effects, codes, strict=True))
    labels = np.where(generator.random(20_000) < 1 / (1 + np.exp(-odds)), "yes", "no")
    schema = hr.Schema(
        {f"f{i}": hr.Categorical(list(range(arity))) for i, arity in enumerate(arities)}, classes=["no", "yes"]
    )
    return schema, {f"f{i}": code for i, code in enumerate(codes)}, labels


def normal(n: int, log_odds: Callable[[Any], Any]) -> Drawn:
    """Return records of twenty normal features, on a range of four deviations, whose labels follow the log odds."""
    generator = np.random.default_rng(101)
    values = generator.normal(size=(n, 20))
    labels = np.where(generator.random(n) < 1 / (1 + np.exp(-log_odds(values))), "yes", "no")
    schema = hr.Schema({f"f{i}": hr.Numeric(-4, 4) for i in range(20)}, classes=["no", "yes"])
    return schema, {f"f{i}": values[:, i] for i in range(20)}, labels


def zones() -> Drawn:
    """Return records of seven classes, of which each is likely where one number is in a zone that two categories move."""
    generator = np.random.default_rng(5)
    n, classes = 60_000, 7
    numbers = generator.random((n, 10))
    area, soil = generator.integers(0, 4, n), generator.integers(0, 6, n)
    centre, moved = generator.uniform(0.1, 0.9, classes), generator.normal(0, 0.15, (classes, 4, 6))
    slope = generator.normal(0, 2, (classes, 2))
    log_odds = -8 * np.abs(numbers[:, [0]] + moved[:, area, soil].T - centre) + numbers[:, [1]] * slope[:, 0]
    log_odds += ((numbers[:, [2]] > 0.5) ^ (numbers[:, [3]] > 0.4)) * slope[:, 1]
    labels = (1.5 * log_odds + generator.gumbel(size=log_odds.shape)).argmax(axis=1)
    kinds = {f"f{i}": hr.Numeric(0, 1) for i in range(10)} | {
        "area": hr.Categorical(list(range(4))),
        "soil": hr.Categorical(list(range(6))),
    }
    columns = {f"f{i}": numbers[:, i] for i in range(10)} | {"area": area, "soil": soil}
    return hr.Schema(kinds, classes=list(range(classes))), columns, labels


def even(generator: Any, size: Any) -> Any:
    return generator.random(size)


def spiked(generator: Any, size: Any) -> Any:
    return np.where(generator.random(size) < 0.8, 0, generator.random(size) ** 4)


SHAPES: dict[str, Callable[[], Drawn]] = {
    "linear": lambda: made_up(5_000, 10, lambda x: 4 * (x[:, :5].sum(axis=1) - 2.5), even),
    "noise": lambda: made_up(20_000, 100, lambda x: 6 * (x[:, 0] - 0.5) + 3 * (x[:, 1] > 0.3), even),
    "spiked": lambda: made_up(20_000, 10, lambda x: 6 * (x[:, :4] > 0.01).sum(axis=1) - 5, spiked),
    "waves": lambda: made_up(50_000, 8, lambda x: 2 * np.sin(12 * x[:, :3]).sum(axis=1), even),
    "pairs": lambda: made_up(20_000, 8, lambda x: 20 * (x[:, 0] - 0.5) * (x[:, 1] - 0.5) + 2 * x[:, 2], even),
    "rare": lambda: made_up(50_000, 8, lambda x: 5 * x[:, 0] - 6, even),
    "few": lambda: made_up(500, 5, lambda x: 8 * (x[:, 0] - 0.5), even),
    "categories": categories,
    "alike": lambda: normal(6_250, lambda x: 0.5 * x.sum(axis=1)),
    "stronger": lambda: normal(6_250, lambda x: 0.8 * x.sum(axis=1)),
    "many alike": lambda: normal(62_500, lambda x: 0.5 * x.sum(axis=1)),
    "uneven": lambda: normal(12_500, lambda x: x @ np.linspace(0.1, 0.8, 20)),
    "squares": lambda: normal(6_250, lambda x: 0.4 * (x**2 - 1).sum(axis=1)),
    "zones": zones,
    "two": lambda: normal(6_250, lambda x: 1.5 * x[:, :2].sum(axis=1)),
}


class Alone(Visits):
    """Visits of a feature, none of which knows of the others."""

    def steps(self, *args: Any, **keywords: Any) -> Any:
        """Return what the last visit says alone."""
        self.pools.clear()
        return super().steps(*args, **keywords)


# What a model without a rule has in its place: for each, modules of additive/ (or the recipe of the survey) and their names
# with other values.
WITHOUT: dict[str, list[tuple[Any, str, Any]]] = {
    "cuts": [(hedgerow, "RULES", replace(hedgerow.RULES, max_cuts=0))],
    "second cuts": [(hedgerow, "RULES", replace(hedgerow.RULES, max_cuts=1))],
    "cuts of drawn features": [(hedgerow, "RULES", replace(hedgerow.RULES, random_cut_features=0))],
    "rounds before cuts": [(hedgerow, "RULES", replace(hedgerow.RULES, rounds_before_cuts=1))],
    "cuts seldom where they say nothing": [(plan, "CUT_INTERVAL", 1)],
    "cuts by interactions alone": [(estimate, "_log_likelihood_of_shared_curve", lambda *_: -np.inf)],
    "smaller rounds for many features": [(plan, "NEW_FEATURES_IN_A_ROW", 10_000)],
    "bins by precision": [
        (hedgerow, "RULES", replace(hedgerow.RULES, bins_by_snr=(20.0, 0.0), pure_bins_by_snr=(20.0, 0.0)))
    ],
    "penalty for chance": [(module, "SAMPLING_PENALTY", 0.0) for module in (round_, cell_round)],
    "penalty for many splits": [(round_, "CANDIDATE_PENALTY", 0.0)],
    "another basis": [(round_, "broad_basis", lambda codes: None)],
    "visits together": [(round_, "Visits", Alone)],
    "the cap on residuals": [(plan, "Logistic", partial(Logistic, tenths=0))],
    "a quarter for selections": [(round_.OneRound, "selection_share", Fraction(1, 2))],
    "spreads": [(Logistic, "prior", Prior((1.0,), 1.0))],
    "reaches": [(estimate, "CORRELATION_RANGES", ((False, 0.1),))],
    "bins by records": [(survey, "BY_MASS", 0.0)],
    "fewer rounds": [
        (hedgerow, "RULES", replace(hedgerow.RULES, rounds_by_snr=(0.5, 0.45), pure_rounds_by_snr=(0.09, 0.45)))
    ],
    "more rounds": [
        (hedgerow, "RULES", replace(hedgerow.RULES, rounds_by_snr=(1.3, 0.45), pure_rounds_by_snr=(0.25, 0.45)))
    ],
}


@contextmanager
def without(rule: str | None) -> Iterator[None]:
    """Let models be fitted without a rule."""
    changed = [] if rule is None else WITHOUT[rule]
    before = [getattr(module, name) for module, name, _ in changed]
    estimate._priors.cache_clear()
    for module, name, value in changed:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(changed, before, strict=True):
            setattr(module, name, value)
        estimate._priors.cache_clear()


REFERENCE = """
import json, pickle, sys
import numpy as np, hedgerow as hr
folder, epsilon, delta, repeats = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
schema, (X, y), scores = hr.Schema.load(folder + "/schema.toml"), pickle.load(open(folder + "/records", "rb")), []
of = lambda rows: {name: column[rows] for name, column in X.items()} if isinstance(X, dict) else X[rows]
for repeat in range(repeats):
    held, rest = np.split(np.random.RandomState(100 + repeat).permutation(len(y)), [len(y) // 5])
    model = hr.HedgerowClassifier(epsilon, delta=delta, schema=schema, random_state=repeat).fit(of(rest), y[rest])
    scores.append((model.classes_.tolist(), model.predict_proba(of(held)).tolist()))
json.dump(scores, sys.stdout)
"""


def of_reference(source: str, drawn: Drawn, epsilon: float, delta: float, repeats: int) -> Any:
    """Return what ``held_out`` returns, of another version of the package."""
    schema, X, y = drawn
    y = np.asarray(y)
    with tempfile.TemporaryDirectory() as folder:
        schema.save(f"{folder}/schema.toml")
        Path(folder, "records").write_bytes(pickle.dumps((X, y)))
        command = [sys.executable, "-W", "ignore", "-c", REFERENCE, folder, str(epsilon), str(delta), str(repeats)]
        given = {**os.environ, "PYTHONPATH": source}
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=given).stdout
    held = [np.split(np.random.RandomState(100 + one).permutation(len(y)), [len(y) // 5])[0] for one in range(repeats)]
    return np.array(
        [
            auc(np.array(classes), y[rows], np.array(proba))
            for rows, (classes, proba) in zip(held, json.loads(text), strict=True)
        ]
    )


def rows(X: Any, index: Any) -> Any:
    return {name: column[index] for name, column in X.items()} if isinstance(X, dict) else X[index]


def held_out(rule: str | None, drawn: Drawn, epsilon: float, delta: float, repeats: int) -> Any:
    """Return ROC AUC on a fifth of the records for each repeat, (repeats,)."""
    schema, X, y = drawn
    y = np.asarray(y)
    scores = []
    for repeat in range(repeats):
        order = np.random.RandomState(100 + repeat).permutation(len(y))
        held, rest = np.split(order, [len(y) // 5])
        model = hr.HedgerowClassifier(epsilon, delta=delta, schema=schema, random_state=repeat)
        with without(rule):
            model.fit(rows(X, rest), y[rest])
        scores.append(auc(model.classes_, y[held], model.predict_proba(rows(X, held))))
    return np.array(scores)


def error(scores: Any) -> float:
    """Return the standard error of a mean."""
    return float(np.std(scores, ddof=1) / len(scores) ** 0.5) if len(scores) > 1 else float("nan")


def drawn_of(name: str) -> Drawn | None:
    if name in SHAPES:
        return SHAPES[name]()
    split = load(name)
    return None if split is None else (split[0], split[1], split[3])


def main() -> None:
    names = ["adult", "bank", "diabetes", "robot2", "robot4", *SHAPES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=names, choices=[*TASKS, *SHAPES])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1.0])
    parser.add_argument("--deltas", nargs="+", type=float, default=[1e-6, 0.0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--without", nargs="*", default=list(WITHOUT), choices=list(WITHOUT), metavar="RULE")
    parser.add_argument("--reference", help="the folder src of another version")
    options = parser.parse_args()
    data = {name: drawn for name in options.data if (drawn := drawn_of(name)) is not None}
    for delta in options.deltas:
        for epsilon in options.epsilons:
            print(f"\nepsilon {epsilon:g}, delta {delta:g}: ROC AUC, and by how much it is higher without a rule\n")
            print("| without | " + " | ".join(data) + " | mean |\n| -- |" + " -- |" * (len(data) + 1))
            base = [held_out(None, drawn, epsilon, delta, options.repeats) for drawn in data.values()]
            print("| - | " + " | ".join(f"{s.mean():.3f}" for s in base) + f" | {np.mean(base):.4f} |", flush=True)
            lines = [(rule, partial(held_out, rule)) for rule in options.without]
            if options.reference:
                lines.append(("all that is new", partial(of_reference, options.reference)))
            for rule, of in lines:
                found = [of(drawn, epsilon, delta, options.repeats) for drawn in data.values()]
                gain = np.array(found) - np.array(base)
                cells = " | ".join(f"{one.mean():+.3f} ±{error(one):.3f}" for one in gain)
                print(f"| {rule} | {cells} | {gain.mean():+.4f} ±{error(gain.mean(axis=0)):.4f} |", flush=True)


if __name__ == "__main__":
    main()
