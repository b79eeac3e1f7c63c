"""``hedgerow demo``: private models beside the majority rule and models without privacy, on a public survey."""

from __future__ import annotations

import io
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hedgerow.cli.demo_folder import claim_folder, fill_folder
from hedgerow.cli.options import checked_epsilon
from hedgerow.datasets import Dataset, load_affairs
from hedgerow.systems.edprf import EDPRFClassifier
from hedgerow.systems.hedgerow import HedgerowClassifier

__all__ = ["demo"]

TEST_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Figures:
    """Accuracy and area under the ROC curve of one rule, one value per split."""

    accuracy: npt.NDArray[np.float64]
    auc: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """What the demo measured, and the ensemble of its last split."""

    model: HedgerowClassifier
    hedgerow: Figures
    edprf: Figures
    majority: Figures
    logistic: Figures
    boosting: Figures


@click.command()
@click.option(
    "--epsilon",
    type=float,
    callback=checked_epsilon,
    default=1.0,
    show_default=True,
    help="The privacy budget of each fit.",
)
@click.option("--splits", type=click.IntRange(2, 1000), default=10, show_default=True, help="How many random splits.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Fixes the splits, not the noise.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="hedgerow-demo",
    show_default=True,
    help="The folder for a picture, a card and the model: a new or empty one, or one of an earlier demo.",
)
def demo(epsilon: float, splits: int, seed: int, out: Path) -> None:
    """Train on a public survey, compare with other rules, and show what was learned.

    The survey (Fair, 1978) comes with statsmodels; no network is used. The splits are the same at each run; the noise of
    the private fits comes from the operating system and never is.
    """
    survey = load_affairs()
    claim_folder(out)
    found = _compare(survey, epsilon, splits, seed)
    for line in [*_report(survey, found, epsilon, splits), "", *fill_folder(out, found.model), "", *_next()]:
        click.echo(line)


def _compare(survey: Dataset, epsilon: float, splits: int, seed: int) -> Comparison:
    """Measure the five rules on the same splits."""
    named = np.flatnonzero(~np.array(survey.schema.is_numeric))
    codes = make_column_transformer((OneHotEncoder(), named), remainder=StandardScaler())
    scores = np.empty((splits, 5, 2))
    seeds = np.random.SeedSequence(seed).generate_state(splits).tolist()
    with click.progressbar(seeds, label="fitting", file=sys.stderr or io.StringIO()) as progress:
        for row, split in enumerate(progress):
            X_train, X_test, y_train, y_test = survey.split(TEST_SHARE, split)
            model = HedgerowClassifier(epsilon, schema=survey.schema).fit(X_train, y_train)
            edprf = EDPRFClassifier(epsilon, schema=survey.schema).fit(X_train, y_train)
            logistic = make_pipeline(codes, LogisticRegression(max_iter=1000)).fit(X_train, y_train)
            boosting = HistGradientBoostingClassifier(categorical_features=named, random_state=0).fit(X_train, y_train)
            labels, counts = np.unique(y_train, return_counts=True)
            scores[row, 0] = _measure(model, X_test, y_test)
            scores[row, 1] = _measure(edprf, X_test, y_test)
            scores[row, 2] = np.mean(y_test == labels[counts.argmax()]), 0.5
            scores[row, 3] = _measure(logistic, X_test, y_test)
            scores[row, 4] = _measure(boosting, X_test, y_test)
    return Comparison(model, *(Figures(scores[:, rule, 0], scores[:, rule, 1]) for rule in range(5)))


def _measure(model: Any, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the accuracy and the AUC of a fitted classifier on held-out records."""
    return float(np.mean(model.predict(X) == y)), float(roc_auc_score(y, model.predict_proba(X)[:, 1]))


def _mean_and_error(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def _cell(values: npt.NDArray[np.float64]) -> str:
    mean, error = _mean_and_error(values)
    return f"{mean:.3f} +- {error:.3f}"


def _report(survey: Dataset, found: Comparison, epsilon: float, splits: int) -> list[str]:
    """Return the page that the demo prints, no line wider than 100 columns."""
    n_records, n_features = survey.X.shape
    rules = (
        (f"HedgerowClassifier, private, epsilon {epsilon:g}", found.hedgerow),
        (f"eDPRF, private, epsilon {epsilon:g}", found.edprf),
        ("majority rule", found.majority),
        ("logistic regression, not private", found.logistic),
        ("gradient boosting, not private", found.boosting),
    )
    width = max(len(name) for name, _ in rules)
    table = [f"  {name:<{width}}   {_cell(figures.accuracy)}   {_cell(figures.auc)}" for name, figures in rules]
    return [
        f"Fair's survey of extramarital affairs: {n_records} answers, {n_features} features; who had one?",
        f"Mean +- standard error over {splits} random splits, 80 % for training and 20 % for testing.",
        "",
        f"  {'':<{width}}   {'test accuracy':<14}   ROC AUC",
        *table,
        "",
        f"  {_lead(found)}",
        "",
        "  HedgerowClassifier  the library's own ensemble: a sum of curves of one feature each.",
        "  eDPRF               a forest by permute-and-flip (Wang et al., 2025). Both private rules are",
        "                      fitted once per split, each with the whole epsilon; new noise at each run.",
        "  majority rule       always answers what most training answers are; it ranks nobody: AUC 0.5.",
        "  logistic regression and gradient boosting (HistGradientBoostingClassifier) are scikit-learn's,",
        "                      at their defaults and with no privacy at all: what privacy is to be judged by.",
        "",
        "These figures are measured on held-out answers of a survey that is public. On private records",
        "such figures are answers about the records too: they would need budget of their own, and the",
        f"epsilons of the {2 * splits} fits would add up.",
        "",
        str(found.model.certificate_),
    ]


def _next() -> list[str]:
    return [
        "Next, with your own CSV file and a schema of what is public about it (see hedgerow train --help):",
        "  hedgerow schema init people.csv --target income --out people.toml",
        "  hedgerow train people.csv --schema people.toml --epsilon 1 --out people.hedgerow",
        "  hedgerow predict people.hedgerow new.csv --keep id --out predictions.csv",
    ]


def _lead(found: Comparison) -> str:
    """Say by how many standard errors the ensemble beats the majority rule; both answer for the same records."""
    mean, error = _mean_and_error(found.hedgerow.accuracy - found.majority.accuracy)
    if error <= 1e-12:  # the same difference in every split, but for the rounding of its mean
        return f"HedgerowClassifier's accuracy is {mean:+.3f} from the majority rule's in every split."
    side = "above" if mean >= 0 else "below"
    return (
        f"HedgerowClassifier's accuracy is {abs(mean) / error:.1f} standard errors {side} the majority rule's, paired."
    )
