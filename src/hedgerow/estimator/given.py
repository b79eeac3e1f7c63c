"""What a fit is given, told apart and checked before anything is booked."""

from __future__ import annotations

from typing import Any

from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError
from hedgerow.schema import Schema
from hedgerow.schema.columns import read_records
from hedgerow.schema.person_column import read_groups, split_groups
from hedgerow.schema.persons import Groups

__all__ = ["read_given"]


def read_given(
    X: Any, y: Any, groups: Any, schema: Schema, *, again: bool = False
) -> tuple[Any, Any, bool, Groups | None]:
    """Return the records and their labels, whether the records have column names, and who they are of.

    ``again`` says that records are to be read several times.

    Raises
    ------
    SchemaError, ConfigurationError
        As ``read_records`` and ``Records.check`` do; for ``Records`` also with labels beside them.
    """
    if isinstance(X, Records):
        if y is not None:
            raise ConfigurationError(
                "hr.Records hold their labels, so y must be left out; name their column by label=."
            )
        if groups is not None:
            raise ConfigurationError(
                "hr.Records hold who they are of, so groups must be left out; name its column by group=."
            )
        X.check(schema, again=again)
        return X, None, True, X.groups_by(schema)
    X, groups = split_groups(X, groups, schema.person)
    columns, labels = read_records(X, y, schema.features, schema.labels)
    return columns, labels, columns.named, read_groups(groups, columns.n_rows, schema.missing, schema.person)
