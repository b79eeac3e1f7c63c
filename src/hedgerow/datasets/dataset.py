"""A data set in memory: its records, their labels and its public schema; and how it is read from the published files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.datasets.fetch import Source, read_files
from hedgerow.errors import ConfigurationError
from hedgerow.schema import Numeric, Schema
from hedgerow.texts import short_repr


@dataclass(frozen=True, eq=False)
class Dataset:
    """A published data set with its public schema.

    Parameters
    ----------
    name : str
        The name of the set.
    X : ndarray of shape (n_records, n_features)
        Columns in the order of the schema: float64, or dtype object if the set has words in it. Cells of numeric features are
        then floats, and those of categories text.
    y : ndarray of shape (n_records,)
        The labels.
    schema : Schema
        What is public about the set: written by hand from its codebook, not read off the records.
    X_test, y_test : ndarray or None
        The test part, if the set is published with one.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    >>> made_up = hr.datasets.Dataset("made up", X=np.array([[0.5]]), y=np.array(["no"]), schema=schema)
    >>> made_up.schema.names, made_up.X_test is None
    (('a',), True)
    """

    name: str
    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    schema: Schema
    X_test: npt.NDArray[Any] | None = None
    y_test: npt.NDArray[Any] | None = None

    __repr__ = short_repr

    def split(
        self, test_size: float, seed: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Split `X` and `y` at random, as the figures that this library is compared with were split.

        The test part is the first ``ceil(n * test_size)`` of ``numpy.random.RandomState(seed).permutation(n)``, the
        rest trains. A published test part (`X_test`) stays out of it.

        Returns
        -------
        X_train, X_test, y_train, y_test : ndarray

        Raises
        ------
        ConfigurationError
            `test_size` does not leave both parts at least one record.
        """
        n = len(self.y)
        size = math.ceil(n * test_size) if 0 < test_size < 1 else 0
        if not 0 < size < n:
            raise ConfigurationError(
                f"test_size={test_size!r} leaves one part of the {n} records empty. Pass a fraction between 0 and 1."
            )
        # The legacy generator, because the published splits came from it.
        order = np.random.RandomState(seed).permutation(n)
        test, train = order[:size], order[size:]
        return self.X[train], self.X[test], self.y[train], self.y[test]


@dataclass(frozen=True)
class Published:
    """A data set as its publisher has it: a file of records to train on and, if there is one, a file of records to test on.

    ``rows`` gives the cells of each record, the label last, from the lines of a file.
    """

    name: str
    source: Source
    rows: Callable[[list[str]], Iterable[Sequence[str]]]
    schema: Callable[[], Schema]
    dtype: Any = object

    def load(self, data_home: str | os.PathLike[str] | None = None) -> Dataset:
        texts = read_files(self.source, data_home)
        schema = self.schema()
        parts: list[npt.NDArray[Any]] = []
        for name in self.source.hashes:  # each text is let go once it is read: those of Census-Income have 156 MB
            parts += self._records(texts.pop(name).splitlines(), schema)
        return Dataset(self.name, parts[0], parts[1], schema, *parts[2:])

    def _records(self, lines: list[str], schema: Schema) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        cells = (cell for row in self.rows(lines) for cell in row)
        records = np.fromiter(cells, dtype=object).reshape(-1, len(schema.names) + 1)
        X = records[:, :-1]
        return with_numbers(X, schema) if self.dtype is object else X.astype(self.dtype), records[:, -1].astype(str)


def with_numbers(X: npt.NDArray[Any], schema: Schema) -> npt.NDArray[Any]:
    """Return text cells after those of numeric features became floats, in place, except where they are missing."""
    for place, feature in enumerate(schema.features.values()):
        if isinstance(feature, Numeric):
            known = ~np.isin(X[:, place], schema.missing)
            X[known, place] = X[known, place].astype(np.float64)
    return X


def packaged_schema(name: str) -> Schema:
    with resources.as_file(resources.files("hedgerow.datasets") / f"{name}.toml") as path:
        return Schema.load(path)
