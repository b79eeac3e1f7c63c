"""The papers' data sets, split as the papers say; where they do not say how, by a fixed permutation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import datasets
from hedgerow.datasets import Dataset
from hedgerow.schema import Categorical, Numeric, Schema
from hedgerow.schema.encoder import category_readers, raw_columns

Columns = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Split:
    """Records to train on and to test on, column by column, and what is public about them."""

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


def _bank() -> Dataset:
    """Return Bank Marketing with ``pdays`` in bins of equal width, by which the figures of the papers are reproduced."""
    data = datasets.load_bank()
    return replace(data, schema=data.schema.replace({"pdays": Numeric(0, 999)}))


MADE_UP = (64, 128, 256, 512)  # features of the sets on which time is measured

TASKS: Mapping[str, Task] = {
    "diabetes": Task("diabetes", lambda: datasets.load_diabetes_prediction(balanced=True), 0.2, 42),
    "robot": Task("wall-following robot", lambda: datasets.load_wall_following(classes=2), 0.2, 42),
    "robot-moves": Task("wall-following robot, four moves", datasets.load_wall_following, 0.2, 42),
    "adult": Task("Adult", datasets.load_adult),
    "adult-us": Task("Adult, born in the US", lambda: datasets.load_adult(us_born=True, drop_fnlwgt=True), apart=True),
    "adult-us-fnlwgt": Task(
        "Adult, born in the US, with fnlwgt", lambda: datasets.load_adult(us_born=True), apart=True
    ),
    "bank": Task("Bank Marketing", _bank, 0.3, 0, apart=True),
    "census": Task("Census-Income", datasets.load_census_income),
    "adult-filled": Task("Adult", datasets.load_adult, filled=True),
    "census-drawn": Task("Census-Income", datasets.load_census_income, drawn=13_000, filled=True),
    "made-up": Task("made up, 8 features", partial(_made_up, 8, 80_000), 0.2, 0),
    **{f"made-up-{n}": Task(f"made up, {n} features", partial(_made_up, n, 5000), 0.2, 0) for n in MADE_UP},
}


# What the public code of CART-DPsAdaBoost makes of the sets before it reads them.
CODED_DATA: Mapping[str, str] = {"adult": "adult-filled", "census": "census-drawn"}


@lru_cache(maxsize=len(TASKS))
def load_split(name: str) -> Split:
    """Return the records of a task.

    Raises
    ------
    DatasetError
        If the data set is not at hand; the message says where to get it.
    """
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
    if task.drawn:
        rows = _drawn(y_train, task.drawn, task.seed)
        X_train, y_train = X_train[rows], y_train[rows]
    schema = _in_numbers(data.schema)
    return Split(schema, _columns(data.schema, X_train), y_train, _columns(data.schema, X_test), y_test)


def _in_numbers(schema: Schema) -> Schema:
    """Return a schema whose categories are named by their codes instead of by words."""
    features = {
        name: feature if isinstance(feature, Numeric) else Categorical(range(len(feature.values)))
        for name, feature in schema.features.items()
    }
    return Schema(features, schema.classes)


def _columns(schema: Schema, X: npt.NDArray[Any]) -> Columns:
    """Return records as float64, column by column, for the schema in numbers: text is read once, and not in every fit."""
    values = raw_columns(X, schema)
    for place, reader in enumerate(category_readers(schema)):
        if reader is not None:
            values[values[:, place] == reader.missing, place] = np.nan
    return dict(zip(schema.names, np.ascontiguousarray(values.T), strict=True))


def _filled(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return text cells in which each ``?`` is the value of the record before; of the first record it stays."""
    known = X != "?"
    known[0] = True
    last = np.maximum.accumulate(np.where(known, np.arange(len(X))[:, None], 0), axis=0)
    return np.asarray(np.take_along_axis(X, last, axis=0))


def _drawn(y: npt.NDArray[Any], records: int, seed: int) -> npt.NDArray[np.int64]:
    """Return, in random order, so many rows of the larger class with replacement, and every one of the others."""
    classes, counts = np.unique(y, return_counts=True)
    random = np.random.RandomState(seed)
    larger = y == classes[counts.argmax()]
    rows = np.concatenate((random.choice(np.flatnonzero(larger), records), np.flatnonzero(~larger)))
    return np.asarray(random.permutation(rows))
