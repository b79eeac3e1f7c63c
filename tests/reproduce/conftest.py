import numpy as np
import pytest

import hedgerow as hr
from hedgerow.datasets import Dataset
from hedgerow.errors import DatasetError
from hedgerow.papers.reproduce import fits

SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Categorical(["x", "y"])}, classes=["no", "yes"])


def made_up(records=120):
    """A small set of text cells, as the papers' sets are, whose label follows from `a`."""
    generator = np.random.default_rng(0)
    a = generator.uniform(0, 1, records)
    X = np.array([[f"{value:.3f}", "x" if i % 2 else "y"] for i, value in enumerate(a)], dtype=object)
    return Dataset("made up", X, np.where(a > 0.4, "yes", "no"), SCHEMA)


def lost():
    raise DatasetError("the set is on no disk; put it there.")


@pytest.fixture
def small_tasks(monkeypatch):
    """Two tasks in place of the papers': one that can be had and one that cannot."""
    small = {"small": fits.Task("made up", made_up, 0.25, 3), "lost": fits.Task("the lost set", lost)}
    for name, task in small.items():
        monkeypatch.setitem(fits.TASKS, name, task)
    fits.load_split.cache_clear()
    yield small
    fits.load_split.cache_clear()
