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
from hedgerow.cli.options import checked_epsilon
from hedgerow.datasets import Dataset, load_affairs, load_doctor_visits
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import PrivateEstimator
from hedgerow.files import atomic_file
from hedgerow.schema import Schema
from hedgerow.systems.hedgerow import HedgerowClassifier
from hedgerow.systems.regressor import HedgerowRegressor

MARK = "written-by-hedgerow-demo.txt"
MARKED = "hedgerow demo wrote the files in this folder, and replaces them when it runs again.\n"
CURVES, CARD, MODEL = "curves.png", "card.html", "model.hedgerow"
TEST_SHARE = 0.2


@dataclass(frozen=True)
class Subject:
    """A public data set and its measurements. The first rule is the library's, and the one named ``baseline`` ignores features.

    ``figures`` take a fitted rule, features and labels. Each rule in ``private`` is fitted with the demo's epsilon.
    """

    title: str
    question: str
    load: Callable[[], Dataset]
    rules: Callable[[float, Schema], Mapping[str, BaseEstimator]]
    private: tuple[str, ...]
    baseline: str
    figures: Mapping[str, Callable[[Any, Any, Any], float]]
    notes: tuple[str, ...]


def _named(schema: Schema) -> Any:
    """Return the positions of the features that are not numeric."""
    return np.flatnonzero(~np.array(schema.is_numeric))


def _scaled(schema: Schema) -> Any:
    """Return the preprocessing of features for a linear model."""
    return make_column_transformer((OneHotEncoder(), _named(schema)), remainder=StandardScaler())


def _classifiers(epsilon: float, schema: Schema) -> dict[str, BaseEstimator]:
    return {
        "HedgerowClassifier": HedgerowClassifier(epsilon, schema=schema),
        "eDPRF": EDPRFClassifier(epsilon, schema=schema),
        "majority rule": DummyClassifier(),
        "logistic regression": make_pipeline(_scaled(schema), LogisticRegression(max_iter=1000)),
        "gradient boosting": HistGradientBoostingClassifier(categorical_features=_named(schema), random_state=0),
    }


def _regressors(epsilon: float, schema: Schema) -> dict[str, BaseEstimator]:
    return {
        "HedgerowRegressor": HedgerowRegressor(epsilon, loss="poisson", schema=schema),
        "mean": DummyRegressor(),
        "ridge regression": make_pipeline(_scaled(schema), Ridge()),
        "gradient boosting": HistGradientBoostingRegressor(
            loss="poisson", categorical_features=_named(schema), random_state=0
        ),
    }


AFFAIRS = Subject(
    title="Fair's survey of extramarital affairs",
    question="who had one?",
    load=load_affairs,
    rules=_classifiers,
    private=("HedgerowClassifier", "eDPRF"),
    baseline="majority rule",
    figures={
        "test accuracy": lambda rule, X, y: float(accuracy_score(y, rule.predict(X))),
        "ROC AUC": lambda rule, X, y: float(roc_auc_score(y, rule.predict_proba(X)[:, 1])),
    },
    notes=(
        "HedgerowClassifier  the library's own ensemble: a sum of curves of one feature each.",
        "eDPRF               a forest by permute-and-flip (Wang et al., 2025). Both private rules are",
        "                    fitted once per split, each with the whole epsilon; new noise at each run.",
        "majority rule       always predicts the largest training class; it ranks nobody: AUC 0.5.",
        "logistic regression and gradient boosting (HistGradientBoostingClassifier) are scikit-learn's,",
        "                    at their defaults and without privacy: compare the private rules with these.",
    ),
)

VISITS = Subject(
    title="Doctor visits in the RAND Health Insurance Experiment",
    question="how many a year?",
    load=load_doctor_visits,
    rules=_regressors,
    private=("HedgerowRegressor",),
    baseline="mean",
    figures={
        "test R2": lambda rule, X, y: float(r2_score(y, rule.predict(X))),
        "mean absolute error": lambda rule, X, y: float(mean_absolute_error(y, rule.predict(X))),
    },
    notes=(
        'HedgerowRegressor   the library\'s own ensemble for numbers, with loss="poisson" for counts: curves',
        "                    of the log of the count, which add up. It is fitted once per split, each time",
        "                    with the whole epsilon; new noise at each run.",
        "mean                always predicts the mean of the training records: R2 0, except for chance.",
        "ridge regression and gradient boosting (HistGradientBoostingRegressor with the Poisson loss) are",
        "                    scikit-learn's, otherwise at their defaults, without privacy: compare the",
        "                    private rule with these. Years of one person may be in both parts of a split,",
        "                    which flatters every rule that can recognize persons.",
        "How often somebody sees a doctor is hard to predict from these seven features, in any way.",
    ),
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
        _write(mark, MARKED.encode())
    except FileExistsError as error:
        raise click.UsageError(f"{folder} is no folder; name another one by --out FOLDER.") from error


def fill_folder(folder: Path, model: PrivateEstimator, title: str) -> list[str]:
    """Write what the model learned to the demo's folder, and return lines that describe it."""
    from hedgerow.plots.axes import png_bytes
    from hedgerow.plots.card import Page, curves_figure, write_card

    model.save(folder / MODEL)
    page = Page(title)
    write_card(model, page)
    page.write(folder / CARD)
    said = [
        f"What the last fit learned is in the folder {folder}; showing it costs nothing:",
        f"  {CARD:<15} its card: guarantee, schema, curves, limits",
        f"  {MODEL:<15} the model itself, for hedgerow predict, inspect and export",
    ]
    try:
        figure, words = curves_figure(model)
        picture = png_bytes(figure)
    except ConfigurationError as error:
        (folder / CURVES).unlink(missing_ok=True)  # of an earlier model
        return [*said, f"  There is no {CURVES}: {error}"]
    _write(folder / CURVES, picture)
    return [*said, f"  {CURVES:<15} {words}"]


def _write(path: Path, content: bytes) -> None:
    with atomic_file(path) as part:
        part.write_bytes(content)


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
        "These figures are measured on held-out records of a public data set. On private records such",
        "figures are queries of the records, too: they would need a budget of their own, and the",
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
