"""What comes before and after a fit, under the same ledger: released schemas, report cards, private search, planning."""

from __future__ import annotations

from hedgerow.analysis.release import ReleasedSchema, private_schema

__all__ = ["ReleasedSchema", "private_schema"]
