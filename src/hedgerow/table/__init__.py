"""The records of one fit, and exact integer counts over them."""

from hedgerow.table.table import Frontier, RecordRule, Table

__all__ = ["Frontier", "RecordRule", "Table"]
