"""``hedgerow demo``: a private forest beside the majority rule and a forest without privacy, on a public survey."""

from __future__ import annotations

import io
import math
import sys
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

from hedgerow.cli.options import checked_epsilon
from hedgerow.datasets import Dataset, load_affairs
from hedgerow.privacy.certificate import Certificate
from hedgerow.systems.edprf import EDPRFClassifier

__all__ = ["demo"]

TEST_SHARE = 0.2
TREES = 100


@dataclass(frozen=True)
class Figures:
    """Accuracy and area under the ROC curve of one rule, one value per split."""

    accuracy: npt.NDArray[np.float64]
    auc: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """What the demo measured, and the certificate of its last private fit."""

    certificate: Certificate
    private: Figures
    majority: Figures
    raw: Figures


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
def demo(epsilon: float, splits: int, seed: int) -> None:
    """Train eDPRF on a public survey and compare it with other rules.

    The survey (Fair, 1978) comes with statsmodels; no network is used. The splits are the same at each run; the noise of
    the private fits comes from the operating system and never is.
    """
    survey = load_affairs()
    found = _compare(survey, epsilon, splits, seed)
    for line in _report(survey, found, epsilon, splits):
        click.echo(line)


def _compare(survey: Dataset, epsilon: float, splits: int, seed: int) -> Comparison:
    """Measure the three rules on the same splits."""
    scores = np.empty((splits, 3, 2))
    seeds = np.random.SeedSequence(seed).generate_state(splits).tolist()
    with click.progressbar(seeds, label="fitting", file=sys.stderr or io.StringIO()) as progress:
        for row, split in enumerate(progress):
            X_train, X_test, y_train, y_test = survey.split(TEST_SHARE, split)
            private = EDPRFClassifier(epsilon, schema=survey.schema).fit(X_train, y_train)
            raw = RandomForestClassifier(TREES, random_state=0).fit(X_train, y_train)
            labels, counts = np.unique(y_train, return_counts=True)
            scores[row, 0] = _measure(private, X_test, y_test)
            scores[row, 1] = np.mean(y_test == labels[counts.argmax()]), 0.5
            scores[row, 2] = _measure(raw, X_test, y_test)
    return Comparison(private.certificate_, *(Figures(scores[:, rule, 0], scores[:, rule, 1]) for rule in range(3)))


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
        (f"eDPRF, private, epsilon {epsilon:g}", found.private),
        ("majority rule", found.majority),
        (f"random forest, {TREES} trees, not private", found.raw),
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
        "  eDPRF           one fit per split, each with the whole epsilon; new noise at each run.",
        "  majority rule   always answers what most training answers are; it ranks nobody, so its AUC is 0.5.",
        "  random forest   scikit-learn's, with no privacy at all: what the same records give without noise.",
        "",
        "These figures are measured on held-out answers of a survey that is public. On private records",
        "such figures are answers about the records too: they would need budget of their own, and the",
        f"epsilons of the {splits} fits would add up.",
        "",
        str(found.certificate),
        "",
        "Next, with your own CSV file and a schema of what is public about it (see hedgerow train --help):",
        "  hedgerow train people.csv --schema people.toml --epsilon 1 --out people.hedgerow",
        "  hedgerow predict people.hedgerow new.csv --out predictions.csv",
    ]


def _lead(found: Comparison) -> str:
    """Say by how many standard errors eDPRF beats the majority rule; both answer for the same records."""
    mean, error = _mean_and_error(found.private.accuracy - found.majority.accuracy)
    if error <= 1e-12:  # the same difference in every split, but for the rounding of its mean
        return f"eDPRF's accuracy is {mean:+.3f} from the majority rule's in every split."
    side = "above" if mean >= 0 else "below"
    return f"eDPRF's accuracy is {abs(mean) / error:.1f} standard errors {side} the majority rule's, paired over the splits."
