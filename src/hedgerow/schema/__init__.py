"""What is public about the data, and the codes that records get from it."""

from __future__ import annotations

from hedgerow.schema.check import SchemaReport
from hedgerow.schema.encoder import Encoder
from hedgerow.schema.features import Categorical, Numeric
from hedgerow.schema.schema import Schema
from hedgerow.schema.types import Boolean, Date, Integer

__all__ = ["Boolean", "Categorical", "Date", "Encoder", "Integer", "Numeric", "Schema", "SchemaReport"]
