"""``hedgerow demo``: private models beside other rules on a public data set."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, roc_auc_score

from hedgerow import EDPRFClassifier
from hedgerow.cli import TEXTS
from hedgerow.cli.options import command
from hedgerow.datasets import load_doctor_visits
from hedgerow.files import atomic_file
from hedgerow.plots.card import Page, write_card
from hedgerow.schema import Schema
from hedgerow.systems.hedgerow import HedgerowClassifier
from hedgerow.texts import progress_bar

MARK = "written-by-hedgerow-demo.txt"
MARKED = "hedgerow demo wrote the files in this folder, and replaces them when it runs again.\n"
CARD, MODEL = "card.html", "model.hedgerow"
TEST_SHARE = 0.2


FIGURES: dict[str, Callable[[Any, Any, Any], float]] = {
    "test accuracy": lambda rule, X, y: float(accuracy_score(y, rule.predict(X))),
    "ROC AUC": lambda rule, X, y: float(roc_auc_score(y, rule.predict_proba(X)[:, 1])),
}
TITLE = "RAND Health Insurance Experiment"


def _rules(epsilon: float, schema: Schema) -> dict[str, BaseEstimator]:
    categories, private = np.flatnonzero(~np.array(schema.is_numeric)), f"private, epsilon {epsilon:g}"
    return {
        f"HedgerowClassifier, {private}": HedgerowClassifier(epsilon, schema=schema),
        f"eDPRF, {private}": EDPRFClassifier(epsilon, schema=schema),
        "majority rule": DummyClassifier(),
        "gradient boosting, not private": HistGradientBoostingClassifier(
            categorical_features=categories, random_state=0
        ),
    }


@command("demo")
def demo(epsilon: float, splits: int, seed: int, out: Path) -> None:
    counts = load_doctor_visits()
    schema = counts.schema.replace(classes=["no", "yes"], target="visit")
    records = replace(counts, y=np.where(counts.y > 0, "yes", "no"), schema=schema)
    mark = out / MARK
    out.mkdir(parents=True, exist_ok=True)
    is_own = mark.is_file() and mark.read_bytes() == MARKED.encode()
    if not is_own and any(out.iterdir()):
        raise click.UsageError(
            f"the folder {out} holds files that the demo did not write; name another one by --out FOLDER."
        )
    with atomic_file(mark) as part:
        part.write_bytes(MARKED.encode())
    scores, rules = [], {}
    seeds = np.random.SeedSequence(seed).generate_state(splits).tolist()
    with (
        warnings.catch_warnings(),
        progress_bar(splits, "fitting") as progress,
    ):
        # The page says that the epsilons of the fits would add up
        warnings.filterwarnings("ignore", message=r"\w+ was fitted \d+ times")
        for split in seeds:
            X_train, X_test, y_train, y_test = records.split(TEST_SHARE, split)
            rules = {name: rule.fit(X_train, y_train) for name, rule in _rules(epsilon, records.schema).items()}
            scores.append([[figure(rule, X_test, y_test) for figure in FIGURES.values()] for rule in rules.values()])
            progress.update(1)
    model: Any = next(iter(rules.values()))
    model.save(out / MODEL)
    page = Page(TITLE)
    write_card(model, page)
    page.write(out / CARD)
    means, errors = np.mean(scores, axis=0), np.std(scores, axis=0, ddof=1) / math.sqrt(splits)
    width = max(map(len, rules))
    table = [f"  {'':<{width}}   {'   '.join(f'{name:<14}' for name in FIGURES)}".rstrip()]
    for name, mean, deviation in zip(rules, means.tolist(), errors.tolist(), strict=True):
        figures = "   ".join(f"{figure:.3f} +- {off:.3f}" for figure, off in zip(mean, deviation, strict=True))
        table.append(f"  {name:<{width}}   {figures}")
    facts = {"title": TITLE, "size": records.X.shape, "splits": splits, "table": "\n".join(table), "fits": 2 * splits}
    click.echo(TEXTS["demo-page"].format(**facts, certificate=model.certificate_, out=out))
