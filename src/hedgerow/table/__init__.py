"""The records of one fit, and exact integer counts over them."""

from hedgerow.table.table import CellRule, Frontier, RecordRule, RecordVotes, Table, WeightRule

__all__ = ["CellRule", "Frontier", "RecordRule", "RecordVotes", "Table", "WeightRule"]
