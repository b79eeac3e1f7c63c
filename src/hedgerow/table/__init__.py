"""The records of one fit, and exact integer counts over them."""

from hedgerow.table.memory import MemoryTable
from hedgerow.table.rules import CellRule, ChannelRule, CodeGroups, RecordRule, RecordVotes, WeightRule
from hedgerow.table.table import Frontier, Table

__all__ = [
    "CellRule",
    "ChannelRule",
    "CodeGroups",
    "Frontier",
    "MemoryTable",
    "RecordRule",
    "RecordVotes",
    "Table",
    "WeightRule",
]
