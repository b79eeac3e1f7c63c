"""The records of one fit, and exact integer counts over them."""

from hedgerow.table.log import Behind, Memo, Partition, Question, Task
from hedgerow.table.memory import MOST_RECORDS, MemoryTable
from hedgerow.table.partitioned import Engine, PartitionedTable
from hedgerow.table.persons import SHARE_BITS, Bits, Candidates, Keep, PersonPart, Share, keep_of, only, unpacked
from hedgerow.table.reading import Coded, Reading, classes_of
from hedgerow.table.table import (
    CellRule,
    Cells,
    ChannelRule,
    CodeGroups,
    Frontier,
    Layout,
    RecordRule,
    RecordVotes,
    Table,
    WeightRule,
)

__all__ = [
    "MOST_RECORDS",
    "SHARE_BITS",
    "Behind",
    "Bits",
    "Candidates",
    "CellRule",
    "Cells",
    "ChannelRule",
    "CodeGroups",
    "Coded",
    "Engine",
    "Frontier",
    "Keep",
    "Layout",
    "Memo",
    "MemoryTable",
    "Partition",
    "PartitionedTable",
    "PersonPart",
    "Question",
    "Reading",
    "RecordRule",
    "RecordVotes",
    "Share",
    "Table",
    "Task",
    "WeightRule",
    "classes_of",
    "keep_of",
    "only",
    "unpacked",
]
