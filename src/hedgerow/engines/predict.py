"""Prediction at the location of the records: block by block here, or in partitions on the workers of Dask and Spark."""

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


def predict(records: Any, model: Any, *, proba: bool = False) -> Any:
    """Predict records that exceed memory with a fitted model. Records of Dask and Spark stay on their workers.

    Parameters
    ----------
    records : Records, dask.dataframe.DataFrame or pyspark.sql.DataFrame
        The records. Columns are matched by name; those that the model does not read are ignored.
    model : fitted estimator
        The model.
    proba : bool, default False
        Whether to return the probability of each class, in the order of ``model.classes_``, and not the predicted value.

    Returns
    -------
    iterator of ndarray, dask.dataframe.DataFrame or pyspark.sql.DataFrame
        For Records from files and batches: the predictions block by block, in order, ``model.predict(block)`` or
        ``model.predict_proba(block)``. For frames: a lazy frame with the column ``prediction``, or one column for each class, and
        one row for each record. Workers compute it on demand.

    Raises
    ------
    ConfigurationError
        If ``records`` is of another type, or if ``proba`` is true for a regressor. For frames in memory, use ``model.predict``.

    Examples
    --------
    >>> import hedgerow as hr, numpy as np
    >>> schema = hr.Schema({"age": hr.Numeric(0, 100)}, classes=["no", "yes"])
    >>> model = hr.EDPRFClassifier(epsilon=9.0, schema=schema).fit({"age": np.arange(100.0)}, ["no", "yes"] * 50)
    >>> records = hr.Records.from_batches([{"age": [1.0, 2.0]}, {"age": [3.0]}])
    >>> [len(block) for block in hr.engines.predict(records, model)]
    [2, 1]
    """
    if proba and not hasattr(model, "classes_"):
        raise ConfigurationError(f"proba is True, but a {type(model).__name__} has no classes. Leave proba out.")
    answer, source = _Answer(model, proba), records.source if isinstance(records, Records) else None
    if isinstance(source, LocalSource):
        return map(answer, source.stream.tables(model.schema_.file_form))
    frame: Any = records if source is None else source.frame
    kind = type(frame).__module__.partition(".")[0]
    if kind == "dask":
        return frame.map_partitions(answer.frame, meta=answer.frame(frame._meta))
    if kind == "pyspark":
        return frame.mapInArrow(answer.batches, answer.types())
    raise ConfigurationError(
        f"a {type(records).__name__} is no hr.Records and no Dask or Spark frame; pass it to model.predict."
    )


class _Answer:
    """The predictions of a model for tables; it is pickled to workers."""

    def __init__(self, model: Any, proba: bool) -> None:
        bare = copy.copy(model)
        bare.ledger = bare.random_state = None  # workers get neither
        self._model, self._proba = pickle.dumps(bare), proba
        self._names, self._classes = list(model.schema_.names), getattr(model, "classes_", np.array([0.0]))

    def __call__(self, table: Any) -> npt.NDArray[Any]:
        model = pickle.loads(self._model)  # noqa: S301 - from the driver
        answers: npt.NDArray[Any] = (model.predict_proba if self._proba else model.predict)(self._read(table))
        return answers

    def _read(self, table: Any) -> Any:
        if isinstance(table, Mapping):
            return {name: table[name] for name in self._names}
        return table.select(self._names) if hasattr(table, "select") else table[self._names]

    def _columns(self, table: Any) -> dict[str, npt.NDArray[Any]]:
        result = self(table)
        if self._proba:
            return {str(label): result[:, place] for place, label in enumerate(self._classes.tolist())}
        return {"prediction": result}

    def frame(self, table: Any) -> Any:
        return type(table)(self._columns(table), index=table.index)

    def batches(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield type(batch).from_pydict(self._columns(batch))

    def types(self) -> str:
        """Return the types of the columns of ``batches``, as Spark spells them."""
        if self._proba:
            return ", ".join(f"`{str(label).replace('`', '``')}` double" for label in self._classes.tolist())
        kinds = {"i": "long", "f": "double", "b": "boolean"}
        return f"prediction {kinds.get(np.asarray(self._classes).dtype.kind, 'string')}"
