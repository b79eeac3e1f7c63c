"""Records that are not in memory: where they are, how a fit reads them, and how each source counts them."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import without_sizes
from hedgerow.engines.encode import Counts, ValueCounts
from hedgerow.engines.local import LocalSource, Progress, Silent
from hedgerow.errors import ConfigurationError, EngineError, HedgerowError, imported
from hedgerow.privacy.certificate import Certificate
from hedgerow.reading.persons import Groups, another_person
from hedgerow.reading.streams import Batches, Files, Layout, files_of, is_frame_of, wrong_kind
from hedgerow.schema import Schema
from hedgerow.table import Keep, MemoryTable, PartitionedTable, Reading, Table

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

DEFAULT_MEMORY = 1 << 30
DEFAULT_TIMEOUT = 300.0  # seconds


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Records that are read block by block, from files or a reader, for tables larger than memory.

    ``model.fit(records)`` accepts them in place of ``X`` and ``y``, and so does ``hr.Curator(records, None, schema, ...)``. The
    model is bit-identical to one fitted on a frame of the same rows in the same order. Before the fit, only the names and types
    of columns are read. Each record is read once, cell by cell as in a frame, into codes of one or two bytes per feature. Codes
    that exceed ``memory`` are written to files that only this user may read, and are removed afterwards.

    The records must not change while they are used. Files that changed are refused. So are records whose codes differ from an
    earlier reading with the same schema and bins. The ``repr`` and errors never reveal the number of records.

    See also
    --------
    hedgerow.engines.predict : Predict where the records are.

    Notes
    -----
    Create them with ``from_parquet``, ``from_csv``, ``from_batches``, ``from_dask`` or ``from_spark``.

    Examples
    --------
    >>> import hedgerow as hr, numpy as np
    >>> age = np.random.default_rng(0).uniform(0, 100, 2000)
    >>> batches = [{"age": part, "ill": np.where(part > 60, "yes", "no")} for part in np.split(age, 4)]
    >>> schema = hr.Schema({"age": hr.Numeric(0, 100)}, classes=["no", "yes"])
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit(hr.Records.from_batches(batches, label="ill"))
    >>> model.predict([[90], [10]]).tolist()
    ['yes', 'no']
    """

    _source: Any  # LocalSource, ClusterSource or FederatedSource
    _shown: str
    _label: str | None
    _group: str | None
    _drop: Sequence[str]
    _progress: Progress = field(default_factory=Silent)

    def __post_init__(self) -> None:
        group, drop = self._group, self._drop
        if group is not None and (not isinstance(group, str) or group in (self._label, *drop)):
            raise ConfigurationError(f"group is {group!r}, but it is the name of a column that is no other one's part.")
        if isinstance(drop, str):
            raise ConfigurationError(f"drop is {drop!r}, but it must be a sequence of names; pass ({drop!r},).")
        object.__setattr__(self, "_drop", tuple(drop))

    @classmethod
    def from_parquet(
        cls,
        paths: Paths,
        label: str | None = None,
        *,
        group: str | None = None,
        drop: Sequence[str] = (),
        memory: int = DEFAULT_MEMORY,
        spill: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Return the records of Parquet files.

        Parameters
        ----------
        paths : path, or sequence of paths
            A pattern such as ``"people/*.parquet"``, or a folder, whose files are read in the order of their names; or paths,
            which are read in the given order.
        label : str or None
            The column of the labels. None: the schema's target.
        group : str or None
            The column that identifies the person of each record. Of each person, at most the fit's ``records_per_person`` records
            are read, wherever they are. None: the schema's ``person``; if the schema names none, each row is a record of its own.
        drop : sequence of str
            Columns to ignore. All others must be the schema's features.
        memory : int, default 2**30
            Approximate memory in bytes for codes and counts, at least 2**26. Python and its packages need more in addition.
        spill : path or None
            The folder for codes that exceed ``memory``. None: the system's folder for temporary files.

        Raises
        ------
        ConfigurationError
            If there is no such file, if a file is named twice, or if another argument is wrong.
        """
        source = LocalSource(Files(files_of(paths, ".parquet"), parquet=True), memory, spill)
        return cls(source, f"from_parquet({_shown(paths)}", label, group, drop)

    @classmethod
    def from_csv(
        cls,
        paths: Paths,
        label: str | None = None,
        *,
        separator: str | None = None,
        encoding: str | None = None,
        group: str | None = None,
        drop: Sequence[str] = (),
        memory: int = DEFAULT_MEMORY,
        spill: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Return the records of CSV files, each with a header. All cells are text; in quotes, they may hold line breaks.

        ``separator`` is the character between cells and ``encoding`` that of the text. None: the schema's ``delimiter`` and
        ``encoding``, or a comma and UTF-8 if it has none. The other parameters, and errors, are those of ``from_parquet``.
        """
        files = Files(files_of(paths, ".csv"), parquet=False, separator=separator, encoding=encoding)
        return cls(LocalSource(files, memory, spill), f"from_csv({_shown(paths)}", label, group, drop)

    @classmethod
    def from_batches(
        cls,
        batches: Any,
        label: str | None = None,
        *,
        group: str | None = None,
        drop: Sequence[str] = (),
        memory: int = DEFAULT_MEMORY,
        spill: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Return the records of batches.

        Parameters
        ----------
        batches
            An Arrow reader (``pyarrow.RecordBatchReader``); a query with ``__arrow_c_stream__`` (a DuckDB relation); an iterable
            of pandas, polars or pyarrow tables or mappings of columns (polars' ``collect_batches()``); or a function that
            returns one of these. A source that can be read only once serves one fit; a function can serve any number of fits.
        label, group, drop, memory, spill
            As in ``from_parquet``.
        """
        source = LocalSource(Batches(batches), memory, spill)
        return cls(source, f"from_batches(<{type(batches).__name__}>", label, group, drop)

    @classmethod
    def from_dask(
        cls,
        frame: Any,
        label: str | None = None,
        *,
        client: Any = None,
        group: str | None = None,
        drop: Sequence[str] = (),
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Self:
        """Return the records of a Dask dataframe. Its workers encode and count them; no record comes to this process.

        The order of the records is the order of the partitions and of the rows in each. It must be the same whenever a partition
        is computed again, as it is with files. A partition that changes ends the fit.

        Parameters
        ----------
        frame : dask.dataframe.DataFrame
            The features, the labels and, if ``group`` names them, the ids. A partition whose ids have another type than the frame
            declares ends the fit, because one person could be read as two. ``read_csv`` needs ``dtype={"patient": str}``.
            Without it, "01" is 1 in some blocks of a file, which cannot be detected later.
        label, group, drop
            As in ``from_parquet``.
        client : distributed.Client or None
            The client whose workers count. None: the current client.
        timeout : float
            A fit ends with an ``EngineError`` if no answer comes for this number of seconds. The answers of all workers to a
            query come together, so it must be longer than the slowest worker takes.

        Raises
        ------
        ConfigurationError
            If there is no client, or an argument is wrong, such as a frame of another package.
        MissingExtraError
            If Dask is not installed.
        """
        if not is_frame_of(frame, "dask"):
            raise wrong_kind("from_dask", "a dask.dataframe.DataFrame", frame)
        dask = import_module("hedgerow.engines.dask")
        source = dask.DaskSource(frame, timeout, dask.client_of(client))
        return cls(source, f"from_dask(<{type(frame).__name__}>", label, group, drop)

    @classmethod
    def from_spark(
        cls,
        frame: Any,
        label: str | None = None,
        *,
        group: str | None = None,
        drop: Sequence[str] = (),
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Self:
        """Return the records of a Spark dataframe. Its executors encode and count them; no record comes to this process.

        The order of the records is the order in which Spark reads partitions and rows. It must be the same whenever a partition
        is computed again, as it is with files. A partition that changes ends the fit.

        Parameters
        ----------
        frame : pyspark.sql.DataFrame
            The features, the labels and, if ``group`` names them, the ids.
        label, group, drop
            As in ``from_parquet``.
        timeout : float
            A fit ends with an ``EngineError`` if no task of a query finishes for this number of seconds.

        Raises
        ------
        ConfigurationError
            If an argument is wrong.
        MissingExtraError
            If pyspark is not installed.
        """
        if not is_frame_of(frame, "pyspark"):
            raise wrong_kind("from_spark", "a pyspark.sql.DataFrame", frame)
        imported("pyspark", "records of Spark need pyspark, and Java beside it", "spark")
        source = import_module("hedgerow.engines.spark").SparkSource(frame, timeout)
        return cls(source, f"from_spark(<{type(frame).__name__}>", label, group, drop)

    def __repr__(self) -> str:
        """Return the location of the records, but nothing of their contents."""
        label = "" if self._label is None else f", label={self._label!r}"
        group = "" if self._group is None else f", group={self._group!r}"
        return f"Records.{self._shown}{label}{group})"

    def with_progress(self, progress: Progress) -> Self:
        """Return the same records, which report their progress to ``progress``. Only the data owner may see it."""
        return replace(self, _progress=progress)

    @property
    def source(self) -> Any:
        return self._source

    def groups_by(self, schema: Schema) -> Groups | None:
        """Return the persons of the records, which the records contain; None if neither they nor the schema name a column."""
        group = self.layout(schema).group
        return None if group is None else Groups(group, None)

    @property
    def premises(self) -> tuple[str, ...]:
        """What a guarantee rests on besides, where the records are not in one hand."""
        return getattr(self._source, "premises", ())

    def proposed(self, certificate: Certificate, reading: Reading) -> Self:
        """Return the records for the fit of a certificate, or raise EngineError if one of several owners refuses it."""
        propose = getattr(self._source, "proposed", None)
        return self if propose is None else replace(self, _source=propose(certificate, reading))

    def check(self, schema: Schema, *, again: bool = False, fit: bool = False) -> None:
        """Raise SchemaError unless the columns are the schema's features and the label, and there is a record.

        Only names and declared types of columns are checked, not cells. ``again`` means that the records will be read several
        times. Batches that can be read only once then raise ConfigurationError.
        """
        if self._source.fits_only and not fit:
            raise ConfigurationError("records of several owners answer fits and nothing else: call model.fit(records).")
        self._source.check(schema, self.layout(schema))
        if again and not self._source.again:
            raise ConfigurationError("these batches can be read once only; pass a function that opens them, or files.")

    def read(self, reading: Reading, keep: Keep | None = None) -> PartitionedTable:
        """Return the records as a table for a reading. ``close`` the table to remove temporary files.

        The records that ``keep`` excludes have no class. EngineError if they cannot be read or changed.
        """
        with _begun():
            table: PartitionedTable = self._source.table(reading, self.layout(reading.schema), self._progress, keep)
            return table

    def values(self, asked: ValueCounts, keep: Keep | None = None) -> Counts:
        """Return the number of records with each value, without those that ``keep`` excludes; raises as ``read`` does."""
        with _begun():
            counts: Counts = self._source.values(asked, self.layout(asked.schema), self._progress, keep)
            return counts

    def layout(self, schema: Schema) -> Layout:
        label = schema.target if self._label is None else self._label
        if label is None:
            raise ConfigurationError("name the column of labels: pass label= to hr.Records, or a schema with a target.")
        if None not in (self._group, schema.person) and self._group != schema.person:
            raise another_person(str(schema.person), str(self._group))
        group = schema.person if self._group is None else self._group
        if group is not None and group in (label, *self._drop):
            raise ConfigurationError(f"{group!r} names persons; pass another label=, or leave it out of drop=.")
        ignored = tuple(name for name in schema.ignore if name not in (label, *self._drop, group))
        return Layout(label, tuple(self._drop), group, schema.file_form, ignored)


@contextmanager
def table_of(X: Any, y: Any, reading: Reading, keep: Keep | None = None) -> Iterator[Table]:
    if isinstance(X, Records):
        with closing(X.read(reading, keep)) as table:
            yield table
    else:
        yield MemoryTable.by(reading, X, y, keep)


@contextmanager
def _begun() -> Iterator[None]:
    """Raise errors, which occur after the charge, as EngineError, without those of a reader, whose texts may have sizes."""
    with without_sizes():
        try:
            yield
        except EngineError:
            raise
        except HedgerowError as error:
            raise EngineError(str(error)) from None


def _shown(paths: Paths) -> str:
    if isinstance(paths, str | os.PathLike):
        return repr(os.fspath(paths))
    return repr([os.fspath(path) for path in paths])


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
    raise ConfigurationError(f"a {type(records).__name__} is no hr.Records, nor of Dask or Spark; use model.predict.")


class _Answer:
    def __init__(self, model: Any, proba: bool) -> None:
        bare = copy.copy(model)
        bare.ledger = bare.random_state = None  # workers get neither
        self._model, self._proba = pickle.dumps(bare), proba
        self._names, self._classes = list(model.schema_.names), getattr(model, "classes_", np.array([0.0]))

    def __call__(self, table: Any) -> npt.NDArray[Any]:
        model = pickle.loads(self._model)  # noqa: S301 - from the driver
        return np.asarray((model.predict_proba if self._proba else model.predict)(self._read(table)))

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
        if self._proba:
            return ", ".join(f"`{str(label).replace('`', '``')}` double" for label in self._classes.tolist())
        kinds = {"i": "long", "f": "double", "b": "boolean"}
        return f"prediction {kinds.get(np.asarray(self._classes).dtype.kind, 'string')}"
