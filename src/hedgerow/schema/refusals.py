"""Containers and types that cannot hold what the schema declares.

They are recognized by their type alone, which is public if the owner declares it. No cell is read. As features, numbers, truth
values and objects are all accepted. If a reader inferred a type, one cell can change it. Certificates state this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.schema.cells import category_key
from hedgerow.schema.features import Feature, Numeric, Value
from hedgerow.schema.parts import Holds
from hedgerow.schema.types import Date
from hedgerow.texts import listed

# Methods that turn a table that holds a query, not records, into a frame. Spark's frames collect rows, so collect is last.
COLLECTORS = ("toPandas", "df", "compute", "to_pandas", "collect")


def refuse_lazy(given: Any, what: str, *, known: bool = False) -> None:
    """Raise ConfigurationError if ``given`` is an iterator, or a table that holds a query and not yet records.

    With ``known``, narwhals knows it as such a table. Other tables are recognized by their methods.
    """
    if isinstance(given, Iterator):
        raise ConfigurationError(
            f"{what} is an iterator, which can be read only once, but records are read several times. Pass list({what})."
        )
    collector = next((name for name in COLLECTORS if hasattr(type(given), name)), None)
    is_array = (hasattr(given, "__array__") or isinstance(given, Sequence | Mapping)) and not hasattr(given, "columns")
    if known or (collector and not is_array):
        way = f"{what}.{collector}()" if collector else "a pandas, polars or pyarrow table"
        raise ConfigurationError(
            f"{what} is a lazy table ({type(given).__name__}), which holds a query and no records, but records are read "
            f"several times. Pass {way}."
        )


def refuse_objects(rows: Sequence[Any]) -> None:
    """Raise ConfigurationError if a list holds dicts or other objects, and no rows.

    If one element is a row, or None for a missing row, the list is a list of rows. The other elements are then records whose
    cells are all missing.
    """
    if rows and not any(row is None or issubclass(type(row), list | tuple | np.ndarray) for row in rows):
        raise ConfigurationError(
            "X is a list of objects of which none is a list, a tuple or an array of cells, such as a list of dicts, so no "
            "cell could be read. Pass a list of rows, or a frame, as pandas.DataFrame(X) makes of dicts. Reshape your data "
            "with [X] if it is one record."
        )


def check_column_types(types: Mapping[str, Holds], features: Mapping[str, Feature] | None) -> None:
    """Raise SchemaError if a column's type cannot be read, or cannot hold what the schema declares for the column."""
    for name, holds in types.items():
        if holds == "unreadable":
            raise SchemaError(
                f"the column {name!r} has a type whose cells are lists, structs, intervals, periods or the like, so none "
                "could be read. Pass a column of numbers or text for each part, or one of text, or leave it out."
            )
        if holds == "times" and features is not None and not _takes_times(features[name]):
            raise SchemaError(
                f"the column {name!r} has a type of dates, times or durations, which are not numbers, but the schema declares "
                'numbers for it, so no cell could be read. Declare a range of dates, as in hr.Date("2020-01-01", "2024-12-31"), '
                "or pass numbers."
            )


def check_label_type(entry: Feature, holds: Holds) -> None:
    """Raise SchemaError if the type of the labels excludes all classes or, if an outcome is declared, all numbers."""
    kind = {"numbers": "numbers", "times": "dates, times or durations"}.get(holds, "lists, structs or the like")
    if isinstance(entry, Numeric):
        if holds in ("unreadable", "times"):
            raise SchemaError(
                f"y has a type of {kind}, but the schema declares an outcome, which is a number, so no record could have one. "
                "Pass the outcomes as numbers."
            )
    elif (
        holds == "unreadable"
        or (holds == "times" and not _has_text(entry.values))
        or (holds == "numbers" and not _has_number(entry.values))
    ):
        raise SchemaError(
            f"y has a type of {kind}, but the schema declares the classes {listed(entry.values)}, none of which has this "
            "type, so no record could have a label. Pass the labels as the schema spells them, or correct its classes."
        )


def _takes_times(feature: Feature) -> bool:
    return isinstance(feature, Date) or (not isinstance(feature, Numeric) and _has_text(feature.values))


def _has_text(values: Sequence[Value]) -> bool:
    return any(isinstance(category_key(value), str) for value in values)


def _has_number(values: Sequence[Value]) -> bool:
    return any(isinstance(category_key(value), float) for value in values)
