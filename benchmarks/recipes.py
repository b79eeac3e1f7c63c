"""How HedgerowClassifier's recipe was chosen: hold-outs within the papers' training parts, and synthetic data of many shapes.

    python benchmarks/recipes.py [--data adult ... linear spiked ...] [--epsilons .1 1] [--deltas 1e-6 0] [--repeats 5]
                                 [--only share rounds ...]

Each line changes one part of the recipe and prints the mean held-out ROC AUC and log loss for each data set; the first line is
the recipe that ships. Test parts are never read. Every line sees the same splits, and the noise is seeded by the split, so
lines differ by the change and by luck of the draw: the last column is the standard error of the mean AUC.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

import hedgerow as hr
from accuracy import TASKS, auc, load
from hedgerow.boosting.additive_round import AdditiveRecipe, Sizes
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.systems import hedgerow

Drawn = tuple[hr.Schema, dict[str, Any], Any]
SHIPPED = hedgerow.RECIPE


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


def changes() -> Iterator[tuple[str, AdditiveRecipe]]:
    """Yield what is changed, and the changed recipe."""
    yield "shipped", SHIPPED
    for share in (Fraction(1, 8), Fraction(2, 5)):
        yield f"share {share}", replace(SHIPPED, share=share)
    for factor in (0.6, 1.6):
        yield f"rounds x {factor}", scaled(rounds=factor)
        yield f"bins x {factor}", scaled(bins=factor)
    for histograms in (Fraction(1, 100), Fraction(1, 20)):
        yield f"histograms {histograms}", replace(SHIPPED, survey=replace(SHIPPED.survey, histograms=histograms))
    for many in (0.0, 1.0):
        yield f"many {many}", replace(SHIPPED, splits=replace(SHIPPED.splits, many=many))
    for chance in (0.0, 1.0):
        yield f"chance {chance}", replace(SHIPPED, chance=chance)
    yield "no splits", replace(SHIPPED, splits=replace(SHIPPED.splits, least_rounds=10_000))
    for name, value in (
        ("from", float("inf")),
        ("cuts", (2, 2)),
        ("cuts", (4, 4)),
        ("by", 4),
    ):
        yield f"deep {name} {value}", replace(SHIPPED, splits=replace(SHIPPED.splits, **{f"deep_{name}": value}))
    for chance in (0.5, 1.0):
        yield f"strict chance {chance}", replace(SHIPPED, splits=replace(SHIPPED.splits, strict_chance=chance))
    for clear in (0.0, float("inf")):
        yield f"clear {clear}", replace(SHIPPED, splits=replace(SHIPPED.splits, clear=clear))
    for precision in (0.0, float("inf")):
        yield f"strict from {precision}", replace(SHIPPED, strict_from=precision)
    for what, value in (
        ("even", 2.0),
        ("clear", 1.25),
        ("per_feature", 3.0),
        ("alone", 4.0),
        ("share", SHIPPED.share),
        ("least", 400.0),
    ):
        yield f"dense {what} {value}", replace(SHIPPED, dense=replace(SHIPPED.dense, **{what: value}))
    for by_mass in (0.0, 0.3, 0.9):
        yield f"by mass {by_mass}", replace(SHIPPED, survey=replace(SHIPPED.survey, by_mass=by_mass))
    for spreads in ((1.0,), (0.5, 1.0), (0.125, 0.25, 0.5, 1.0)):
        yield f"spreads {spreads}", replace(SHIPPED, smoothing=Smoothing(spreads=spreads))
    for rough, smooth in (((0.25,), ()), ((), (0.5,)), ((0.1, 0.25), (0.5,)), ((0.1, 0.25), (0.5, 1.0, 4.0))):
        yield f"reach {rough} {smooth}", replace(SHIPPED, smoothing=Smoothing(rough=rough, smooth=smooth))


def scaled(*, rounds: float = 1.0, bins: float = 1.0) -> AdditiveRecipe:
    def times(sizes: Sizes) -> Sizes:
        return replace(
            sizes, rounds=(rounds * sizes.rounds[0], sizes.rounds[1]), bins=(bins * sizes.bins[0], sizes.bins[1])
        )

    return replace(SHIPPED, pure=times(SHIPPED.pure), concentrated=times(SHIPPED.concentrated))


def rows(X: Any, index: Any) -> Any:
    return {name: column[index] for name, column in X.items()} if isinstance(X, dict) else X[index]


def held_out(recipe: AdditiveRecipe, drawn: Drawn, epsilon: float, delta: float, repeats: int) -> Any:
    """Return ROC AUC and log loss on a fifth of the records for each repeat, (repeats, 2)."""
    schema, X, y = drawn
    y = np.asarray(y)
    hedgerow.RECIPE = recipe
    scores = []
    for repeat in range(repeats):
        order = np.random.RandomState(100 + repeat).permutation(len(y))
        held, rest = np.split(order, [len(y) // 5])
        model = hr.HedgerowClassifier(epsilon, delta=delta, schema=schema, random_state=repeat)
        found = model.fit(rows(X, rest), y[rest]).predict_proba(rows(X, held))
        columns = {label: column for column, label in enumerate(model.classes_)}
        place = [columns[label] for label in y[held]]
        scores.append((auc(model.classes_, y[held], found), log_loss(place, found, labels=range(len(columns)))))
    return np.array(scores)


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
    parser.add_argument("--only", nargs="+", default=[""], help="how the changes begin that are tried, besides none")
    options = parser.parse_args()
    data = {name: drawn for name in options.data if (drawn := drawn_of(name)) is not None}
    for delta in options.deltas:
        for epsilon in options.epsilons:
            print(f"\nepsilon {epsilon:g}, delta {delta:g}: ROC AUC / log loss\n")
            print("| change | " + " | ".join(data) + " | mean AUC |\n| -- |" + " -- |" * (len(data) + 1))
            for what, recipe in changes():
                if what != "shipped" and not what.startswith(tuple(options.only)):
                    continue
                found = [held_out(recipe, drawn, epsilon, delta, options.repeats) for drawn in data.values()]
                cells = [f"{s[:, 0].mean():.3f} / {s[:, 1].mean():.3f}" for s in found]
                mean = np.mean([s[:, 0] for s in found], axis=0)
                error = mean.std(ddof=1) / len(mean) ** 0.5 if len(mean) > 1 else float("nan")
                print(f"| {what} | " + " | ".join(cells) + f" | {mean.mean():.4f} ±{error:.4f} |", flush=True)


if __name__ == "__main__":
    main()
