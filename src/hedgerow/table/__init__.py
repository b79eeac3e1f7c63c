"""The records of one fit, and exact integer counts over them."""

from hedgerow.table.table import CellRule, ChannelRule, Frontier, RecordRule, RecordVotes, Table, WeightRule

__all__ = ["CellRule", "ChannelRule", "Frontier", "RecordRule", "RecordVotes", "Table", "WeightRule"]
