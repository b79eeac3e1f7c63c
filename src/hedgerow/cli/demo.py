"""``hedgerow demo``: private models beside non-private models and a rule without features, on a public data set."""

from __future__ import annotations

import io
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from hedgerow.arrays import Floats
from hedgerow.cli.demo_folder import claim_folder, fill_folder
from hedgerow.cli.demo_subjects import AFFAIRS, VISITS, Subject
from hedgerow.cli.options import checked_epsilon
from hedgerow.datasets import Dataset

__all__ = ["demo"]

TEST_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Comparison:
    """The demo's measurements: scores (splits, rules, figures), the rules' names, and the library's model of the last split."""

    scores: Floats
    rules: tuple[str, ...]
    model: Any


@click.command()
@click.option("--regression", is_flag=True, help="Predict a number: visits to a doctor.")
@click.option(
    "--epsilon",
    type=float,
    callback=checked_epsilon,
    default=1.0,
    show_default=True,
    help="The privacy budget of each fit.",
)
@click.option("--splits", type=click.IntRange(2, 1000), default=10, show_default=True, help="Number of random splits.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Fixes the splits, not the noise.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="hedgerow-demo",
    show_default=True,
    help="The folder for a picture, a card and the model: new, empty, or of an earlier demo.",
)
def demo(regression: bool, epsilon: float, splits: int, seed: int, out: Path) -> None:
    """Train on a public survey, compare with other rules, and show what was learned.

    The survey (Fair, 1978) comes with statsmodels, and so do the doctor visits of --regression (the RAND Health Insurance
    Experiment). No network is used. The splits are the same in each run. The noise of the private fits is not: it comes from the
    operating system.
    """
    subject = VISITS if regression else AFFAIRS
    records = subject.load()
    claim_folder(out)
    found = _compare(subject, records, epsilon, splits, seed)
    for line in [
        *_report(subject, records, found, epsilon),
        "",
        *fill_folder(out, found.model, subject.title),
        "",
        *_next(regression),
    ]:
        click.echo(line)


def _compare(subject: Subject, records: Dataset, epsilon: float, splits: int, seed: int) -> Comparison:
    """Measure the rules on the same splits."""
    seeds = np.random.SeedSequence(seed).generate_state(splits).tolist()
    scores = []
    with click.progressbar(seeds, label="fitting", file=sys.stderr or io.StringIO()) as progress:
        for split in progress:
            X_train, X_test, y_train, y_test = records.split(TEST_SHARE, split)
            fitted = {name: rule.fit(X_train, y_train) for name, rule in subject.rules(epsilon, records.schema).items()}
            scores.append(
                [[figure(rule, X_test, y_test) for figure in subject.figures.values()] for rule in fitted.values()]
            )
    return Comparison(np.array(scores), tuple(fitted), next(iter(fitted.values())))


def _mean_and_error(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def _cell(values: Floats) -> str:
    mean, error = _mean_and_error(values)
    return f"{mean:.3f} +- {error:.3f}"


def _report(subject: Subject, records: Dataset, found: Comparison, epsilon: float) -> list[str]:
    """Return the page that the demo prints, at most 100 columns wide."""
    n_records, n_features = records.X.shape
    splits = len(found.scores)
    names = [_with_privacy(subject, name, epsilon) for name in found.rules]
    width, cell = max(map(len, names)), max(14, *map(len, subject.figures))
    table = [
        f"  {name:<{width}}   {'   '.join(f'{_cell(column):<{cell}}' for column in rule.T)}".rstrip()
        for name, rule in zip(names, found.scores.transpose(1, 0, 2), strict=True)
    ]
    return [
        f"{subject.title}: {n_records} records, {n_features} features; {subject.question}",
        f"Mean +- standard error over {splits} random splits, 80 % for training and 20 % for testing.",
        "",
        f"  {'':<{width}}   {'   '.join(f'{name:<{cell}}' for name in subject.figures)}".rstrip(),
        *table,
        "",
        f"  {_lead(subject, found)}",
        "",
        *(f"  {line}" for line in subject.notes),
        "",
        "These figures are measured on held-out records of a set that is public. On private records",
        "such figures are answers about the records too: they would need budget of their own, and the",
        f"epsilons of the {len(subject.private) * splits} fits would add up.",
        "",
        str(found.model.certificate_),
    ]


def _with_privacy(subject: Subject, name: str, epsilon: float) -> str:
    if name == subject.baseline:
        return name
    return f"{name}, private, epsilon {epsilon:g}" if name in subject.private else f"{name}, not private"


def _next(regression: bool) -> list[str]:
    name, target, outcome = ("prices", "price", " --outcome") if regression else ("people", "income", "")
    return [
        "Next, with your own CSV file and a schema of what is public about it (see hedgerow train --help):",
        f"  hedgerow schema init {name}.csv --target {target}{outcome} --out {name}.toml",
        f"  hedgerow train {name}.csv --schema {name}.toml --epsilon 1 --out {name}.hedgerow",
        f"  hedgerow predict {name}.hedgerow new.csv --keep id --out predictions.csv",
    ]


def _lead(subject: Subject, found: Comparison) -> str:
    """Return by how many standard errors the ensemble beats the baseline on the same records."""
    baseline = found.rules.index(subject.baseline)
    figure = next(iter(subject.figures)).removeprefix("test ")
    mean, error = _mean_and_error(found.scores[:, 0, 0] - found.scores[:, baseline, 0])
    whose = f"{found.rules[0]}'s {figure} is"
    if error <= 1e-12:  # the same difference in every split, up to the rounding of its mean
        return f"{whose} {mean:+.3f} from the {subject.baseline}'s in every split."
    side = "above" if mean >= 0 else "below"
    return f"{whose} {abs(mean) / error:.1f} standard errors {side} the {subject.baseline}'s, paired."
