"""The records of one fit, and exact integer counts over them."""

from hedgerow.table.memory import MOST_RECORDS, MemoryTable
from hedgerow.table.partitioned import Cache, Engine, OutdatedCache, OwnersTable, Partition, PartitionedTable, Task
from hedgerow.table.reading import (
    SHARE_BITS,
    Bits,
    Candidates,
    Coded,
    Keep,
    PersonPart,
    Reading,
    Share,
    classes_of,
    keep_of,
    only,
    unpacked,
)
from hedgerow.table.table import (
    UNCUT,
    CellBins,
    CellCounts,
    Cells,
    ChannelRule,
    ClassCounts,
    CodeGroups,
    Frontier,
    Histogram,
    Layout,
    Pairs,
    Query,
    RecordRule,
    RecordVotes,
    Sizes,
    Sums,
    Table,
    WeightRule,
)
