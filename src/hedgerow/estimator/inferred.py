"""A schema that is read off the records if none was given, which voids the guarantee."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from hedgerow.errors import ConfigurationError
from hedgerow.schema import Schema
from hedgerow.schema.cells import numbers
from hedgerow.schema.columns import read_columns, read_labels

__all__ = ["inferred_outcome_schema", "inferred_schema"]


def inferred_schema(X: Any, y: Any) -> Schema:
    """Return a schema read off the records, after scikit-learn's checks, which may refuse values: there is no public rule."""
    y = _checked(X, y)
    try:
        with np.errstate(invalid="ignore"):  # scikit-learn casts labels to integers before it reports a NaN
            check_classification_targets(np.asarray(read_labels(y).tolist()))
    except TypeError:
        raise ConfigurationError(
            "y holds labels that cannot be compared, such as text and None, so no classes can be inferred. "
            "Leave out records without a label, or pass a schema."
        ) from None
    return Schema.infer(X, y)


def inferred_outcome_schema(X: Any, y: Any) -> Schema:
    """Return a schema with an outcome read off the records, after scikit-learn's checks."""
    y = _checked(X, y)
    values = numbers(read_labels(y))
    if not np.isfinite(values).all():
        raise ConfigurationError(
            "Input y contains NaN, infinity or what is no number, so no range can be inferred. Leave out such records, or pass a "
            "schema."
        )
    return Schema.infer(X, y, outcome=True)


def _checked(X: Any, y: Any) -> Any:
    """Return the labels as one column, after scikit-learn's checks of the records."""
    columns = read_columns(X, allow_empty=False)
    if any(columns.cells(i, 0, 1).dtype.kind == "c" for i in range(len(columns.names))):
        raise ConfigurationError(
            "Complex data not supported: a schema cannot be inferred from complex numbers. Pass real ones."
        )
    return column_or_1d(y, warn=True) if getattr(y, "ndim", 1) == 2 else y
