"""A limit on the memory that the tables of a schema take, since a file alone must not decide it."""

from __future__ import annotations

from typing import Any

from hedgerow.errors import FileFormatError
from hedgerow.limits import Allowance
from hedgerow.schema.features import Numeric
from hedgerow.schema.schema import Schema

USUAL_BINS, MOST_BINS = 16, 1024  # bins if no parameter gives their number, and the most that estimators allow
FINE_CODES = 257  # HedgerowClassifier reads every numeric feature in so many codes, for any max_bins


def check_size(schema: Schema, max_bins: Any, allowed: Allowance) -> None:
    """Raise FileFormatError if lists and tables of a schema's codes would take more memory than is allowed."""
    bins = max_bins if isinstance(max_bins, int) and 0 < max_bins <= MOST_BINS else USUAL_BINS
    codes = [
        (bins if feature.cuts is None else min(bins, len(feature.cuts) + 1)) + 1
        if isinstance(feature, Numeric)
        else len(feature.values) + 2
        for feature in schema.features.values()
    ]
    letters = max((len(label) for label in schema.classes if isinstance(label, str)), default=0) * len(schema.classes)
    for count, most, what in (
        (sum(codes), allowed.tests, "codes of all features together"),
        (len(codes) * max(FINE_CODES, *codes), allowed.cells, "cells in the table of its features by codes"),
        (letters, allowed.letters, "letters in the table of its classes"),
    ):
        if count > most:
            raise FileFormatError(
                f"the file's schema has {count} {what}, and {most} are allowed; if you trust the file, pass more as max_bytes "
                "to hedgerow.load."
            )
