"""The papers' data sets, split as the papers say or by a fixed permutation; fits on them; and their rows, lines of CSV files."""

from __future__ import annotations

import csv
import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import roc_auc_score, roc_curve

from hedgerow import datasets
from hedgerow.arrays import single
from hedgerow.datasets import Dataset
from hedgerow.errors import ConfigurationError
from hedgerow.files import packaged_table
from hedgerow.papers.reproduce.readings import READINGS
from hedgerow.schema import Categorical, Numeric, Schema
from hedgerow.schema.encoder import raw_columns
from hedgerow.systems import system_class
from hedgerow.texts import progress_bar

Columns = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Split:
    schema: Schema
    X_train: Columns
    y_train: npt.NDArray[Any]
    X_test: Columns
    y_test: npt.NDArray[Any]

    def first(self, records: int) -> Split:
        """Return the split with fewer records to train on: the first of a fixed permutation; 0 stands for all."""
        if not 0 < records < len(self.y_train):
            return self
        rows = np.random.RandomState(1).permutation(len(self.y_train))[:records]
        X_train = {name: column[rows] for name, column in self.X_train.items()}
        return Split(self.schema, X_train, self.y_train[rows], self.X_test, self.y_test)


@dataclass(frozen=True)
class Task:
    """A data set and how it is split: a share for testing by a fixed permutation, or the set's own test part.

    ``apart`` says that the noise of published fits is independent from place to place; otherwise, and in the private form, which
    decides nothing about a paper, run number r is seed r everywhere.
    """

    title: str
    load: Callable[[], Dataset]
    test_share: float = 0.0
    seed: int = 0
    drawn: int = 0  # so many records to train on of the larger class, drawn with replacement once; 0 takes all
    filled: bool = False  # a cell that says ? gets the value of the record before
    apart: bool = False


def _made_up(features: int, records: int) -> Dataset:
    """Return numbers between 0 and 1; the label says of nine records in ten whether their first one is above 1/2."""
    generator = np.random.RandomState(0)
    X = generator.uniform(size=(records, features))
    above = (X[:, 0] > 0.5) ^ (generator.uniform(size=records) < 0.1)
    schema = Schema({f"f{place}": Numeric(0, 1) for place in range(features)}, classes=["no", "yes"])
    return Dataset("made up", X, np.where(above, "yes", "no"), schema)


def _loaded(data: str, options: Mapping[str, Any] = {}, ranges: Mapping[str, Any] = {}) -> Dataset:
    loaded: Dataset = _made_up(**options) if data == "made_up" else getattr(datasets, f"load_{data}")(**options)
    read_otherwise = {name: Numeric(*ends) for name, ends in ranges.items()}
    return replace(loaded, schema=loaded.schema.replace(read_otherwise)) if ranges else loaded


def _task(table: dict[str, Any]) -> Task:
    of = {name: table.pop(name) for name in ("data", "options", "ranges") if name in table}
    return Task(load=partial(_loaded, **of), **table)


TASKS = {name: _task(table) for name, table in packaged_table("hedgerow.papers.reproduce", "tasks").items()}
# What the public code of CART-DPsAdaBoost makes of the sets before it reads them.
CODED_DATA: Mapping[str, str] = {"adult": "adult-filled", "census": "census-drawn"}


@lru_cache(maxsize=len(TASKS))
def load_split(name: str) -> Split:
    """Return the records of a task, or raise a DatasetError that says where to get them."""
    task = TASKS[name]
    data = task.load()
    if task.test_share:
        X_train, X_test, y_train, y_test = data.split(task.test_share, task.seed)
    else:
        assert data.X_test is not None
        assert data.y_test is not None
        X_train, X_test, y_train, y_test = data.X, data.X_test, data.y, data.y_test
    if task.filled:
        X_train, X_test = _filled(X_train), _filled(X_test)
    if task.drawn:  # in random order, ``drawn`` of the larger class with replacement, and all others
        classes, counts = np.unique(y_train, return_counts=True)
        random, larger = np.random.RandomState(task.seed), y_train == classes[counts.argmax()]
        rows = np.concatenate((random.choice(np.flatnonzero(larger), task.drawn), np.flatnonzero(~larger)))
        rows = random.permutation(rows)
        X_train, y_train = X_train[rows], y_train[rows]
    features = {
        name: feature if isinstance(feature, Numeric) else Categorical(range(len(feature.values)))
        for name, feature in data.schema.features.items()
    }
    coded = Schema(features, data.schema.classes)  # categories are named by their codes instead of by words
    return Split(coded, _columns(data.schema, X_train), y_train, _columns(data.schema, X_test), y_test)


def _columns(schema: Schema, X: npt.NDArray[Any]) -> Columns:
    """Return records as float64, column by column: text is read once, and not in every fit."""
    values = raw_columns(X, schema)
    for place, feature in enumerate(schema.features.values()):
        if isinstance(feature, Categorical):
            values[values[:, place] == len(feature.values), place] = np.nan
    return dict(zip(schema.names, np.ascontiguousarray(values.T), strict=True))


def _filled(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return text cells in which each ``?`` is the value of the record before; of the first record it stays."""
    known = X != "?"
    known[0] = True
    last = np.maximum.accumulate(np.where(known, np.arange(len(X))[:, None], 0), axis=0)
    return np.asarray(np.take_along_axis(X, last, axis=0))


BASELINES: Mapping[str, Any] = {"adaboost": AdaBoostClassifier, "majority": DummyClassifier}


class Baseline:
    """A classifier of scikit-learn on the columns of a split: numbers as they are, one column for each declared category.

    AdaBoost's stumps then cut a number or single out a category, as those of DPAda do.
    """

    def __init__(self, system: str, schema: Schema, **settings: Any) -> None:
        self._schema = schema
        self._reads = system != "majority"
        self._model = BASELINES[system](**settings)

    def fit(self, columns: Columns, y: npt.NDArray[Any]) -> Self:
        self._model.fit(self._matrix(columns), y)
        self.classes_ = self._model.classes_
        return self

    def predict_proba(self, columns: Columns) -> npt.NDArray[np.float64]:
        probabilities: npt.NDArray[np.float64] = self._model.predict_proba(self._matrix(columns))
        return probabilities

    def _matrix(self, columns: Columns) -> npt.NDArray[np.float32]:
        if not self._reads:
            return np.zeros((len(next(iter(columns.values()))), 1), dtype=np.float32)
        parts = [
            columns[name][:, None] == np.array(feature.values, dtype=object)
            if isinstance(feature, Categorical)
            else columns[name][:, None]
            for name, feature in self._schema.features.items()
        ]
        return np.concatenate(parts, axis=1, dtype=np.float32, casting="unsafe")


Setting = str | int | bool
Row = dict[str, str]

TINY = 1e-300
KEY = ("data", "records", "system", "variant", "epsilon", "settings", "run")
MEASURES = ("accuracy", "auc", "auc40", "precision", "recall", "f1", "training_accuracy", "seconds", "roc")
THRESHOLDS = np.linspace(-1, 1, 40)  # of the public code of CART-DPsAdaBoost, on half the log-odds
FALSE_RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)  # where ROC curves are kept


@dataclass(frozen=True)
class Fit:
    """One fit, on a task of ``TASKS``; ``records`` train, 0 for all, and the split is the same for every run.

    ``system`` is one of the registry, another reading of one (``READINGS``), ``"adaboost"``, scikit-learn's, or ``"majority"``;
    ``variant`` is ``"published"``, ``"private"``, or ``"none"`` where there is no privacy.
    """

    data: str
    system: str
    variant: str
    epsilon: float = 1.0
    settings: tuple[tuple[str, Setting], ...] = ()
    records: int = 0
    run: int = 0

    @property
    def key(self) -> tuple[str, ...]:
        settings = " ".join(f"{name}={value}" for name, value in sorted(self.settings))
        return (self.data, str(self.records), self.system, self.variant, f"{self.epsilon:g}", settings, str(self.run))

    @property
    def seed(self) -> int:
        """The seed of the noise: the number of the run, or where printed forms are independent a hash of what decides the fit."""
        if self.variant == "published" and self.data in TASKS and TASKS[self.data].apart:
            return int.from_bytes(hashlib.sha256(" ".join(self.key).encode()).digest()[:4], "big")
        return self.run

    @property
    def is_certain(self) -> bool:
        return self.system in BASELINES

    def numbered(self, run: int) -> Fit:
        """Return the same fit with the noise of another run; what has no noise is run once."""
        return replace(self, run=0 if self.is_certain else run)


def estimator(fit: Fit, schema: Schema, random_state: int | None) -> Any:
    if fit.system in BASELINES:
        return Baseline(fit.system, schema, **dict(fit.settings))
    kind: Callable[..., Any] = READINGS.get(fit.system) or system_class(fit.system)
    given = {"epsilon": fit.epsilon, "schema": schema, "random_state": random_state, "variant": fit.variant}
    return kind(**given, **dict(fit.settings))


# CART-DPsAdaBoost: equations 9 to 11
def measured(fit: Fit, wanted: Mapping[str, Collection[str]] | None = None) -> dict[str, str]:  # eDPRF: equation 19
    """Fit, and return the row of the results: the key, and the measures that are ``wanted`` of its data, or all.

    Precision, recall and F1 are those of the schema's first class, which is the larger one of every set: only so do the
    papers' own figures for them fit their accuracies.
    """
    split, names = load_split(fit.data).first(fit.records), wanted[fit.data] if wanted else MEASURES
    start = time.perf_counter()
    model = estimator(fit, split.schema, fit.seed).fit(split.X_train, split.y_train)
    seconds = time.perf_counter() - start
    probabilities = model.predict_proba(split.X_test)
    predicted = model.classes_[probabilities.argmax(axis=1)]
    first, called = (labels == split.schema.classes[0] for labels in (split.y_test, predicted))
    right = float(np.sum(first & called))
    precision, recall = right / max(1, int(called.sum())), right / max(1, int(first.sum()))
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    numbers = {"accuracy": float(np.mean(first == called)), "precision": precision, "recall": recall, "f1": f1}
    numbers["seconds"] = seconds
    actual, score = split.y_test == model.classes_[1], probabilities[:, 1]
    if "auc" in names:
        numbers["auc"] = float(roc_auc_score(actual, score))
    if "auc40" in names:
        numbers["auc40"] = area_by_thresholds(actual, np.log(np.maximum(score, TINY) / np.maximum(1 - score, TINY)) / 2)
    if "training_accuracy" in names:
        trained = model.classes_[model.predict_proba(split.X_train).argmax(axis=1)]
        numbers["training_accuracy"] = float(np.mean(trained == split.y_train))
    texts = {name: f"{value:.4g}" for name, value in numbers.items()}
    if "roc" in names:
        false, true, _ = roc_curve(actual, score)
        texts["roc"] = " ".join(f"{rate:.3f}" for rate in np.interp(FALSE_RATES, false, true))
    kept = {name: texts[name] if name in names else "" for name in MEASURES}
    return {**dict(zip(KEY, fit.key, strict=True)), **kept}


def area_by_thresholds(actual: npt.NDArray[np.bool_], votes: npt.NDArray[np.float64]) -> float:
    """Return the area under the ROC curve by trapezoids between 40 thresholds from -1 to 1, and its two ends.

    ``votes`` (records,) are the weighted sums; a record is taken for one of the class above a threshold.
    """
    false, true = (
        np.array([1.0, *(np.mean(votes[actual == label] > at) for at in THRESHOLDS), 0.0]) for label in (False, True)
    )
    return float(np.sum((false[:-1] - false[1:]) * (true[:-1] + true[1:]) / 2))


def number_of(row: Mapping[str, str], measure: str, x: float) -> float | None:
    """Return a measure of a fit's row, of a ROC curve the share of true positives where that of false ones is x."""
    text = row[measure]
    if measure == "roc":
        return float(text.split()[FALSE_RATES.index(x)]) if text else None
    return float(text) if text else None


FIELDS = (*KEY, *MEASURES)
PACKED = ".csv.xz"


def read_rows(folder: str | os.PathLike[str]) -> dict[tuple[str, ...], Row]:
    """Return the whole lines of all results files in a folder by the key of their fit; none where there is no folder.

    A file with other columns is a ConfigurationError.
    """
    rows: dict[tuple[str, ...], Row] = {}
    for path in sorted(Path(folder).glob(f"*{PACKED}")):
        import lzma  # not every build of Python has it

        rows.update(_rows(path, lzma.decompress(path.read_bytes()).decode("utf-8")))
    for path in sorted(Path(folder).glob("*.csv")):
        rows.update(_rows(path, path.read_text(encoding="utf-8")))
    return rows


def _rows(path: Path, text: str) -> dict[tuple[str, ...], Row]:
    reader = csv.DictReader(text[: text.rfind("\n") + 1].splitlines())  # the last line may have been cut by a crash
    if tuple(reader.fieldnames or FIELDS) != FIELDS:
        raise ConfigurationError(f"{path} is no file of rows of this version: it has other columns. Move it away.")
    return {tuple(row[name] for name in KEY): row for row in reader}


def run_grid(
    fits: Iterable[Fit],
    folder: str | os.PathLike[str],
    *,
    jobs: int = 1,
    work: Callable[[Fit], Row] = measured,
) -> dict[tuple[str, ...], Row]:
    """Run the fits that the folder lacks, each once, write each as soon as it is done, and return all rows in the folder.

    The folder has one CSV file for each data set. ``jobs`` fits run at once, in processes of their own; 0 runs none.
    """
    rows = read_rows(folder)
    left = [fit for fit in dict.fromkeys(fits) if fit.key not in rows]
    if not left or not jobs:
        return rows
    paths = {fit.data: Path(folder) / f"{fit.data}.csv" for fit in left}
    for path in paths.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():  # a last line that was not written to its end is cut off
            os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
    done: Iterable[tuple[Fit, Row]] = ((fit, work(fit)) for fit in left)
    if jobs > 1:
        from sklearn.utils.parallel import Parallel, delayed

        done = Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(_alone)(fit, work) for fit in left)
    with progress_bar(len(left), "fitting") as bar:
        for fit, row in done:
            with paths[fit.data].open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if not file.tell():
                    writer.writeheader()
                writer.writerow(row)
            rows[fit.key] = row
            bar.update(1, f"{fit.data} {fit.system} {fit.variant}")
    return rows


def _alone(fit: Fit, work: Callable[[Fit], Row]) -> tuple[Fit, Row]:
    with single():  # the other jobs have the other processors
        return fit, work(fit)
