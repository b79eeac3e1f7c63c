"""What the sources of clusters have in common: how records that stay on workers become a table, or are counted by value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from hedgerow.engines.encode import (
    FEWEST_AT_ONCE,
    Checksums,
    Chosen,
    Counts,
    Fact,
    Facts,
    PersonIds,
    Rows,
    ValueCounts,
    encode,
    placed,
    read_persons,
)
from hedgerow.engines.local import Progress, Silent
from hedgerow.errors import ConfigurationError
from hedgerow.reading.streams import Layout
from hedgerow.schema import Schema
from hedgerow.table import Candidates, Engine, Keep, PartitionedTable, Reading, Share

MANY_CELLS = 1 << 22  # of all answers to a query: from here on they are added up on the workers


@dataclass(frozen=True, eq=False)
class ClusterSource(ABC):
    """Records in partitions on a cluster. ``rows`` stand for encoded partitions there, in any form.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame or pyspark.sql.DataFrame
        The records.
    timeout : float
        Seconds without an answer after which a fit ends.
    """

    frame: Any
    timeout: float
    checksums: Checksums = field(default_factory=Checksums, repr=False, kw_only=True)

    again = True  # the records can be read more than once
    fits_only = False

    def __post_init__(self) -> None:
        timeout = self.timeout
        if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not 0 < timeout < float("inf"):
            raise ConfigurationError(f"timeout is {timeout!r}, but it must be a positive number of seconds.")

    @abstractmethod
    def check(self, schema: Schema, layout: Layout) -> None:
        """Raise SchemaError unless the columns and their declared types match the schema's. Cells are not read."""

    def table(self, reading: Reading, layout: Layout, progress: Progress, keep: Keep | None = None) -> PartitionedTable:
        persons = None if keep is None else self._persons(layout, keep)
        made = [self._encoded(encode, (reading, layout, self.checksums.key, persons))]
        try:
            found = self._facts(made[0], progress)
            for place, (_, digest) in enumerate(found):
                self.checksums.check(reading, place, digest)
            facts, sizes = placed(found), [rows for rows, _ in found]
            if keep is not None:
                chosen = self._chosen(made[0], keep, facts, sizes)
                made.append(self._kept(made[0], chosen))
                facts = [mine.after for mine in chosen]
            return PartitionedTable(self._engine(made[-1], facts, sizes, progress), reading.n_codes, reading.n_classes)
        except BaseException:
            for rows in made:
                self._drop(rows)
            raise

    def values(self, asked: ValueCounts, layout: Layout, progress: Progress, keep: Keep | None = None) -> Counts:
        """Return the number of records with each value, without those that ``keep`` leaves out; workers count them."""
        persons = chosen = None
        if keep is not None:
            persons = self._persons(layout, keep)
            rows = self._encoded(read_persons, (asked, layout, persons))
            try:
                found = self._facts(rows, Silent())
                chosen = self._chosen(rows, keep, placed(found), [rows for rows, _ in found])
            finally:
                self._drop(rows)
        return reduce(asked.sum, self._counted((asked, layout, persons), chosen, progress), asked.nothing)

    def _chosen(self, rows: Any, keep: Keep, facts: list[Facts], sizes: list[int]) -> list[Chosen]:
        """Return which records of each partition count, by the ids of persons that workers hold."""
        masks = keep.chosen(sizes, FEWEST_AT_ONCE, lambda share: self._candidates(rows, facts, share))
        return [Chosen(*one) for one in zip(facts, masks, strict=True)]

    @abstractmethod
    def _persons(self, layout: Layout, keep: Keep) -> PersonIds:
        """Return how workers read ids."""

    @abstractmethod
    def _encoded(self, work: Callable[..., Rows], given: tuple[Any, ...]) -> Any:
        """Return the rows that ``work(*given, tables)`` makes of the tables of each partition."""

    @abstractmethod
    def _facts(self, rows: Any, progress: Progress) -> list[Fact]:
        """Return what each partition's records are, once they are there."""

    @abstractmethod
    def _candidates(self, rows: Any, facts: Sequence[Facts], share: Share) -> Sequence[Candidates]:
        """Return the candidates of each partition."""

    @abstractmethod
    def _kept(self, rows: Any, chosen: Sequence[Chosen]) -> Any:
        """Return the rows without the classes of records that do not count, and without ids, once they are there."""

    @abstractmethod
    def _engine(self, rows: Any, facts: list[Facts], sizes: Sequence[int], progress: Progress) -> Engine:
        """Return what queries the partitions."""

    @abstractmethod
    def _counted(self, given: tuple[Any, ...], chosen: list[Chosen] | None, progress: Progress) -> Iterable[Counts]:
        """Return the counts of each partition by ``value_counts``."""

    @abstractmethod
    def _drop(self, rows: Any) -> None:
        """Let go of rows."""
