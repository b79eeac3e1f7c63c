"""What a fit is given, told apart and checked before anything is booked."""

from __future__ import annotations

from typing import Any

from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError
from hedgerow.estimator.inferred import inferred_schema
from hedgerow.schema import Schema
from hedgerow.schema.columns import read_records
from hedgerow.schema.person_column import read_groups, split_groups
from hedgerow.schema.persons import Groups

__all__ = ["read_given"]


def read_given(
    X: Any, y: Any, groups: Any, schema: Schema | None, *, again: bool = False
) -> tuple[Schema, Any, Any, bool, Groups | None]:
    """Return the schema, the records and their labels, whether the records have column names, and who they are of.

    ``again`` says that records are to be read several times.

    Raises
    ------
    SchemaError, ConfigurationError
        As ``read_records`` and ``Records.check`` do; for ``Records`` also without a schema, or with labels beside them.
    """
    if isinstance(X, Records):
        if schema is None:
            raise ConfigurationError(
                "schema is None, but hr.Records are read by a public schema, block by block. Pass an hr.Schema."
            )
        if y is not None:
            raise ConfigurationError(
                "hr.Records hold their labels, so y must be left out; name their column by label=."
            )
        if groups is not None:
            raise ConfigurationError(
                "hr.Records hold who they are of, so groups must be left out; name its column by group=."
            )
        X.check(schema, again=again)
        return schema, X, None, True, X.groups_by(schema)
    found = inferred_schema(X, y) if schema is None else schema
    X, groups = split_groups(X, groups, found.person)
    columns, labels = read_records(X, y, found.features, found.classes)
    return found, columns, labels, columns.named, read_groups(groups, columns.n_rows, found.missing, found.person)
