"""Random schemas, random records of them, and every private system with settings that keep fits short."""

from __future__ import annotations

import numpy as np
import pandas as pd

import hedgerow as hr
from hedgerow.systems import system_class

DELTA = {"delta": 1e-6}
STARTED = "hedgerow, from a model"
CASES = {
    **{info.name: (info.name, {}) for info in hr.list_systems()},
    "hedgerow, delta": ("hedgerow", DELTA),
    "smooth-boost, delta": ("smooth-boost", DELTA),
    "forest, per record": ("forest", {"assignment": "per-record", "n_estimators": 5}),
    "dpada": ("dpada", {"n_estimators": 4}),
    "edprf, replace-one": ("edprf", {"adjacency": "replace-one"}),
    STARTED: ("hedgerow", DELTA),
}


def random_records(seed: int, records: int | None = None) -> tuple[hr.Schema, pd.DataFrame, pd.Series]:
    generator = np.random.default_rng(seed)
    count = int(generator.integers(200, 500)) if records is None else records
    features, columns, signal = {}, {}, np.zeros(count)
    for name in "abcd"[: generator.integers(1, 5)]:
        if generator.random() < 0.5:
            low = float(generator.uniform(-5, 5))
            features[name] = hr.Numeric(low, low + 10)
            values = generator.normal(low + 5, 4, count)
            signal += values - values.mean()
            columns[name] = np.where(generator.random(count) < 0.1, np.nan, values)
        else:
            declared = ["x", "y", "z", "w"][: generator.integers(1, 5)]
            features[name] = hr.Categorical(declared)
            values = generator.choice([*declared, "other", None], count)
            signal += 3 * (values == declared[0])
            columns[name] = values.astype(object)
    classes = ["no", "yes", "maybe", "never"][: generator.integers(2, 5)]
    place = np.clip(
        ((signal + generator.normal(0, 1, count)) > 0) + (generator.random(count) < 0.1), 0, len(classes) - 1
    )
    labels = np.array(classes, dtype=object)[place]
    labels[generator.random(count) < 0.05] = None
    return hr.Schema(features, classes=classes), pd.DataFrame(columns), pd.Series(labels)


def random_batches(X: pd.DataFrame, y: pd.Series, generator: np.random.Generator) -> list[pd.DataFrame]:
    """The records as consecutive tables, uneven, some of them empty or of one row."""
    ends = np.sort(generator.integers(0, len(X) + 1, generator.integers(0, 9)))
    starts = [0, *ends.tolist()]
    together = X.assign(label=y.to_numpy())
    tables = [together.iloc[start:end] for start, end in zip(starts, [*ends.tolist(), len(X)], strict=True)]
    return [tables[0].iloc[:0], *tables, together.iloc[:1].iloc[:0]]


def saved(model, path) -> bytes:
    model.save(path)
    return path.read_bytes()


def estimator(case: str, schema: hr.Schema, **more):
    name, settings = CASES[case]
    if case == STARTED:
        settings = {**settings, "init": start(schema)}
    return system_class(name)(epsilon=3.0, schema=schema, random_state=7, **settings, **more)


def start(schema: hr.Schema) -> hr.HedgerowClassifier:
    """A model of this schema, of records that have nothing to do with those of a test."""
    generator = np.random.default_rng(8)
    columns = {
        name: generator.uniform(kind.low, kind.high, 300)
        if isinstance(kind, hr.Numeric)
        else generator.choice(list(kind.values), 300)
        for name, kind in schema.features.items()
    }
    labels = generator.choice(list(schema.classes), 300)
    return hr.HedgerowClassifier(20.0, schema=schema, n_estimators=4, random_state=8).fit(columns, labels)
