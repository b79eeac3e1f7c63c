"""The records of one fit, and exact integer counts over them."""

from hedgerow.table.log import Cache, OutdatedCache, Partition, Task
from hedgerow.table.memory import MOST_RECORDS, MemoryTable
from hedgerow.table.partitioned import Engine, PartitionedTable
from hedgerow.table.persons import SHARE_BITS, Bits, Candidates, Keep, PersonPart, Share, keep_of, only, unpacked
from hedgerow.table.reading import Coded, Reading, classes_of
from hedgerow.table.table import (
    CellCounts,
    CellRule,
    Cells,
    ChannelRule,
    ClassCounts,
    CodeGroups,
    Frontier,
    Histogram,
    Layout,
    Query,
    RecordRule,
    RecordVotes,
    Sizes,
    Sums,
    Table,
    WeightRule,
)

__all__ = [
    "MOST_RECORDS",
    "SHARE_BITS",
    "Bits",
    "Cache",
    "Candidates",
    "CellCounts",
    "CellRule",
    "Cells",
    "ChannelRule",
    "ClassCounts",
    "CodeGroups",
    "Coded",
    "Engine",
    "Frontier",
    "Histogram",
    "Keep",
    "Layout",
    "MemoryTable",
    "OutdatedCache",
    "Partition",
    "PartitionedTable",
    "PersonPart",
    "Query",
    "Reading",
    "RecordRule",
    "RecordVotes",
    "Share",
    "Sizes",
    "Sums",
    "Table",
    "Task",
    "WeightRule",
    "classes_of",
    "keep_of",
    "only",
    "unpacked",
]
