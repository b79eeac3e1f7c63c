"""``hedgerow demo``: private models beside other rules on a public data set."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hedgerow import EDPRFClassifier
from hedgerow.arrays import Floats
from hedgerow.cli.options import epsilon_option
from hedgerow.datasets import Dataset, load_affairs, load_doctor_visits
from hedgerow.files import atomic_file
from hedgerow.schema import Schema
from hedgerow.systems.hedgerow import HedgerowClassifier, HedgerowRegressor

MARK = "written-by-hedgerow-demo.txt"
MARKED = "hedgerow demo wrote the files in this folder, and replaces them when it runs again.\n"
CARD, MODEL = "card.html", "model.hedgerow"
TEST_SHARE = 0.2


@dataclass(frozen=True)
class Subject:
    """A public data set, and the figures by which rules are compared on it."""

    title: str
    question: str
    load: Callable[[], Dataset]
    private: int  # rules with a guarantee, which come first; then one that ignores the features, then others
    figures: Mapping[str, Callable[[Any, Any, Any], float]]
    notes: str
    own_file: tuple[str, str, str]  # name, target and further options of the commands that are shown at the end


def _rules(epsilon: float, schema: Schema) -> dict[str, BaseEstimator]:
    categories = np.flatnonzero(~np.array(schema.is_numeric))
    scaled = make_column_transformer((OneHotEncoder(), categories), remainder=StandardScaler())
    boosting = {"categorical_features": categories, "random_state": 0}
    if schema.outcome is not None:
        return {
            "HedgerowRegressor": HedgerowRegressor(epsilon, loss="poisson", schema=schema),
            "mean": DummyRegressor(),
            "ridge regression": make_pipeline(scaled, Ridge()),
            "gradient boosting": HistGradientBoostingRegressor(loss="poisson", **boosting),
        }
    return {
        "HedgerowClassifier": HedgerowClassifier(epsilon, schema=schema),
        "eDPRF": EDPRFClassifier(epsilon, schema=schema),
        "majority rule": DummyClassifier(),
        "logistic regression": make_pipeline(scaled, LogisticRegression(max_iter=1000)),
        "gradient boosting": HistGradientBoostingClassifier(**boosting),
    }


AFFAIRS = Subject(
    title="Fair's survey of extramarital affairs",
    question="who had one?",
    load=load_affairs,
    private=2,
    figures={
        "test accuracy": lambda rule, X, y: float(accuracy_score(y, rule.predict(X))),
        "ROC AUC": lambda rule, X, y: float(roc_auc_score(y, rule.predict_proba(X)[:, 1])),
    },
    notes="""\
  HedgerowClassifier  the library's own ensemble: a sum of curves of one feature each.
  eDPRF               a forest by permute-and-flip (Wang et al., 2025). Both private rules are
                      fitted once per split, each with the whole epsilon; new noise at each run.
  majority rule       always predicts the largest training class; it ranks nobody: AUC 0.5.
  logistic regression and gradient boosting (HistGradientBoostingClassifier) are scikit-learn's,
                      at their defaults and without privacy: compare the private rules with these.""",
    own_file=("people", "income", ""),
)

VISITS = Subject(
    title="Doctor visits in the RAND Health Insurance Experiment",
    question="how many a year?",
    load=load_doctor_visits,
    private=1,
    figures={
        "test R2": lambda rule, X, y: float(r2_score(y, rule.predict(X))),
        "mean absolute error": lambda rule, X, y: float(mean_absolute_error(y, rule.predict(X))),
    },
    notes="""\
  HedgerowRegressor   the library's own ensemble for numbers, with loss="poisson" for counts: curves
                      of the log of the count, which add up. It is fitted once per split, each time
                      with the whole epsilon; new noise at each run.
  mean                always predicts the mean of the training records: R2 0, except for chance.
  ridge regression and gradient boosting (HistGradientBoostingRegressor with the Poisson loss) are
                      scikit-learn's, otherwise at their defaults, without privacy: compare the
                      private rule with these. Years of one person may be in both parts of a split,
                      which flatters every rule that can recognize persons.
  How often somebody sees a doctor is hard to predict from these seven features, in any way.""",
    own_file=("prices", "price", " --outcome"),
)

PAGE = """\
{subject.title}: {size[0]} records, {size[1]} features; {subject.question}
Mean +- standard error over {splits} random splits, 80 % for training and 20 % for testing.

{table}

{subject.notes}

These figures are measured on held-out records of a public data set. On private records such
figures are queries of the records, too: they would need a budget of their own, and the
epsilons of the {fits} fits would add up.

{certificate}

What the last fit learned is in the folder {out}; showing it costs nothing:
  card.html       its card: guarantee, schema, curves, limits
  model.hedgerow  the model itself, for hedgerow predict, inspect and export

Next, with your own CSV file and a schema of what is public about it (see hedgerow train --help):
  hedgerow schema init {name}.csv --target {target}{outcome} --out {name}.toml
  hedgerow train {name}.csv --schema {name}.toml --epsilon 1 --out {name}.hedgerow
  hedgerow predict {name}.hedgerow new.csv --keep id --out predictions.csv"""


@click.command()
@click.option("--regression", is_flag=True, help="Predict a number: visits to a doctor.")
@epsilon_option("The privacy budget of each fit.", default=1.0, show_default=True)
@click.option("--splits", type=click.IntRange(2, 1000), default=10, show_default=True, help="Number of random splits.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Fixes the splits, not the noise.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="hedgerow-demo",
    show_default=True,
    help="The folder for a card and the model: new, empty, or of an earlier demo.",
)
def demo(regression: bool, epsilon: float, splits: int, seed: int, out: Path) -> None:
    """Train on a public survey, compare with other rules, and show what was learned.

    The survey (Fair, 1978) comes with statsmodels, and so do the doctor visits of --regression (the RAND Health Insurance
    Experiment). No network is used. The splits are the same in each run. The noise of the private fits is not: it comes from the
    operating system.
    """
    from hedgerow.plots.card import Page, write_card

    subject = VISITS if regression else AFFAIRS
    records = subject.load()
    claim_folder(out)
    scores, rules = [], {}
    seeds = np.random.SeedSequence(seed).generate_state(splits).tolist()
    with click.progressbar(seeds, label="fitting", file=sys.stderr or io.StringIO()) as progress:
        for split in progress:
            X_train, X_test, y_train, y_test = records.split(TEST_SHARE, split)
            rules = {name: rule.fit(X_train, y_train) for name, rule in _rules(epsilon, records.schema).items()}
            scores.append(
                [[figure(rule, X_test, y_test) for figure in subject.figures.values()] for rule in rules.values()]
            )
    model: Any = next(iter(rules.values()))
    model.save(out / MODEL)
    page = Page(subject.title)
    write_card(model, page)
    page.write(out / CARD)
    name, target, outcome = subject.own_file
    click.echo(
        PAGE.format(
            subject=subject,
            size=records.X.shape,
            splits=splits,
            table="\n".join(_table(subject, list(rules), np.array(scores), epsilon)),
            fits=subject.private * splits,
            certificate=model.certificate_,
            out=out,
            name=name,
            target=target,
            outcome=outcome,
        )
    )


def claim_folder(folder: Path) -> None:
    """Claim the folder for the demo, or raise UsageError if it contains other files."""
    mark = folder / MARK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_own = mark.is_file() and mark.read_bytes() == MARKED.encode()
        if not is_own and any(folder.iterdir()):
            raise click.UsageError(
                f"the folder {folder} holds files that the demo did not write; name another one by --out FOLDER."
            )
        with atomic_file(mark) as part:
            part.write_bytes(MARKED.encode())
    except FileExistsError as error:
        raise click.UsageError(f"{folder} is no folder; name another one by --out FOLDER.") from error


def _table(subject: Subject, rules: list[str], scores: Floats, epsilon: float) -> list[str]:
    """Return the lines of the rules' figures; ``scores`` has the shape (splits, rules, figures)."""
    kinds = [f", private, epsilon {epsilon:g}"] * subject.private + [""]
    names = [name + (kinds[i] if i < len(kinds) else ", not private") for i, name in enumerate(rules)]
    means, errors = scores.mean(axis=0), scores.std(axis=0, ddof=1) / math.sqrt(len(scores))
    width, cell = max(map(len, names)), max(14, *map(len, subject.figures))
    rows = [["", *subject.figures]]
    for name, mean, error in zip(names, means.tolist(), errors.tolist(), strict=True):
        rows.append([name, *(f"{figure:.3f} +- {off:.3f}" for figure, off in zip(mean, error, strict=True))])
    return [f"  {row[0]:<{width}}   {'   '.join(f'{text:<{cell}}' for text in row[1:])}".rstrip() for row in rows]
