"""Prediction where the records are: block by block here, in their partitions on the workers of Dask and Spark."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.engines.local import LocalSource
from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError
from hedgerow.sources.csv_file import CSVFormat

__all__ = ["predict"]


def predict(records: Any, model: Any, *, proba: bool = False) -> Any:
    """Predict records that do not fit memory, with a fitted model; no record comes to this process that is elsewhere.

    Parameters
    ----------
    records : Records, dask.dataframe.DataFrame or pyspark.sql.DataFrame
        The records. Their columns are found by name; those that the model does not read are passed over.
    model : fitted estimator
        What predicts.
    proba : bool, default False
        Whether to return the share of each class, in the order of ``model.classes_``, and not the most probable class.

    Returns
    -------
    iterator of ndarray, dask.dataframe.DataFrame or pyspark.sql.DataFrame
        Of Records from files and batches, the answers block by block, in their order: ``model.predict(block)`` or
        ``model.predict_proba(block)``. Of others a lazy frame with the column ``prediction``, or one for each class, and a
        row for each of theirs, computed by the workers when it is asked for.

    Raises
    ------
    ConfigurationError
        If ``records`` is something else; frames that fit memory are what ``model.predict`` takes.

    Examples
    --------
    >>> import hedgerow as hr, numpy as np
    >>> schema = hr.Schema({"age": hr.Numeric(0, 100)}, classes=["no", "yes"])
    >>> model = hr.EDPRFClassifier(epsilon=9.0, schema=schema).fit({"age": np.arange(100.0)}, ["no", "yes"] * 50)
    >>> records = hr.Records.from_batches([{"age": [1.0, 2.0]}, {"age": [3.0]}])
    >>> [len(block) for block in hr.engines.predict(records, model)]
    [2, 1]
    """
    answer, source = _Answer(_bare(model), proba), records.source if isinstance(records, Records) else None
    if isinstance(source, LocalSource):
        return map(answer, source.stream.tables(CSVFormat.of(model.schema_)))
    frame: Any = records if source is None else source.frame
    kind = type(frame).__module__.partition(".")[0]
    if kind == "dask":
        return frame.map_partitions(answer.frame, meta=answer.frame(frame._meta))
    if kind == "pyspark":
        return frame.mapInArrow(answer.batches, answer.types())
    raise ConfigurationError(
        f"a {type(records).__name__} is no hr.Records and no Dask or Spark frame; pass it to model.predict."
    )


def _bare(model: Any) -> Any:
    """Return a model as it goes to workers: without a ledger, which stays where it is, and without a generator."""
    bare = copy.copy(model)
    bare.ledger = bare.random_state = None
    return bare


class _Answer:
    """What a model says of tables; it is pickled to workers."""

    def __init__(self, model: Any, proba: bool) -> None:
        self._model, self._proba = pickle.dumps(model), proba
        self._names, self._classes = list(model.schema_.names), model.classes_

    def __call__(self, table: Any) -> npt.NDArray[Any]:
        """Return it as an array."""
        model = pickle.loads(self._model)  # noqa: S301 - from the driver
        found: npt.NDArray[Any] = (
            model.predict_proba(self._read(table)) if self._proba else model.predict(self._read(table))
        )
        return found

    def _read(self, table: Any) -> Any:
        """Return the columns that the model reads."""
        if isinstance(table, Mapping):
            return {name: table[name] for name in self._names}
        return table.select(self._names) if hasattr(table, "select") else table[self._names]

    def _columns(self, table: Any) -> dict[str, npt.NDArray[Any]]:
        found = self(table)
        if self._proba:
            return {str(label): found[:, place] for place, label in enumerate(self._classes.tolist())}
        return {"prediction": found}

    def frame(self, table: Any) -> Any:
        """Return it as a pandas frame with the table's index."""
        return type(table)(self._columns(table), index=table.index)

    def batches(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield it as Arrow batches."""
        for batch in batches:
            yield type(batch).from_pydict({name: column.tolist() for name, column in self._columns(batch).items()})

    def types(self) -> str:
        """Return the columns' types, as Spark spells them."""
        if self._proba:
            return ", ".join(f"`{str(label).replace('`', '``')}` double" for label in self._classes.tolist())
        kinds = {"i": "long", "f": "double", "b": "boolean"}
        return f"prediction {kinds.get(np.asarray(self._classes).dtype.kind, 'string')}"
