"""What the sources of clusters have in common: how records that stay on workers become a table, or are counted by value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from hedgerow.engines import encode
from hedgerow.engines.local import Progress, Silent
from hedgerow.errors import ConfigurationError
from hedgerow.reading.streams import Layout
from hedgerow.schema import Schema
from hedgerow.table import Candidates, Engine, Keep, PartitionedTable, Reading, Share

MANY_CELLS = 1 << 22  # of all answers to a query: from here on they are added up on the workers


@dataclass(frozen=True, eq=False)
class ClusterSource(ABC):
    """Records in partitions on a cluster. ``rows`` stand for encoded partitions there, in any form."""

    frame: Any
    timeout: float  # seconds without an answer after which a fit ends
    checksums: encode.Checksums = field(default_factory=encode.Checksums, repr=False, kw_only=True)

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
        made = [self._encoded(encode.encode, (reading, layout, self.checksums.key, persons))]
        try:
            result = self._facts(made[0], progress)
            for place, (_, digest) in enumerate(result):
                self.checksums.check(reading, place, digest)
            facts, sizes = encode.placed(result), [rows for rows, _ in result]
            if keep is not None:
                chosen = self._chosen(made[0], keep, facts, sizes)
                made.append(self._kept(made[0], chosen))
                facts = [mine.after for mine in chosen]
            return PartitionedTable(self._engine(made[-1], facts, sizes, progress), reading.n_codes, reading.n_classes)
        except BaseException:
            for rows in made:
                self._drop(rows)
            raise

    def values(
        self, asked: encode.ValueCounts, layout: Layout, progress: Progress, keep: Keep | None = None
    ) -> encode.Counts:
        """Return the number of records with each value, without those that ``keep`` leaves out; workers count them."""
        persons = chosen = None
        if keep is not None:
            persons = self._persons(layout, keep)
            rows = self._encoded(encode.read_persons, (asked, layout, persons))
            try:
                result = self._facts(rows, Silent())
                chosen = self._chosen(rows, keep, encode.placed(result), [rows for rows, _ in result])
            finally:
                self._drop(rows)
        return reduce(asked.sum, self._counted((asked, layout, persons), chosen, progress), asked.nothing)

    def _chosen(self, rows: Any, keep: Keep, facts: list[encode.Facts], sizes: list[int]) -> list[encode.Chosen]:
        """Return which records of each partition count, by the ids of persons that workers hold."""
        masks = keep.chosen(sizes, encode.FEWEST_AT_ONCE, lambda share: self._candidates(rows, facts, share))
        return [encode.Chosen(*one) for one in zip(facts, masks, strict=True)]

    @abstractmethod
    def _persons(self, layout: Layout, keep: Keep) -> encode.PersonIds: ...

    @abstractmethod
    def _encoded(self, work: Callable[..., encode.Rows], given: tuple[Any, ...]) -> Any:
        """Return the rows that ``work(*given, tables)`` makes of the tables of each partition."""

    @abstractmethod
    def _facts(self, rows: Any, progress: Progress) -> list[encode.Fact]: ...

    @abstractmethod
    def _candidates(self, rows: Any, facts: Sequence[encode.Facts], share: Share) -> Sequence[Candidates]: ...

    @abstractmethod
    def _kept(self, rows: Any, chosen: Sequence[encode.Chosen]) -> Any:
        """Return the rows without the classes of records that do not count, and without ids, once they are there."""

    @abstractmethod
    def _engine(self, rows: Any, facts: list[encode.Facts], sizes: Sequence[int], progress: Progress) -> Engine: ...

    @abstractmethod
    def _counted(
        self, given: tuple[Any, ...], chosen: list[encode.Chosen] | None, progress: Progress
    ) -> Iterable[encode.Counts]:
        """Return the counts of each partition by ``value_counts``."""

    @abstractmethod
    def _drop(self, rows: Any) -> None: ...
