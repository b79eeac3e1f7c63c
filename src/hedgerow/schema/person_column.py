"""The column that says who records are of: taken out of their table, or given beside it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow.errors import ConfigurationError
from hedgerow.schema.columns import Columns, as_frame, one_column
from hedgerow.schema.parts import Part
from hedgerow.schema.persons import Groups

__all__ = ["another_person", "read_groups", "split_groups", "without_person"]


def without_person(X: Any, person: str | None) -> tuple[Any, Any]:
    """Return records without the column that says who they are of, and that column; None where X has no such column."""
    if person is None or isinstance(X, Columns):
        return X, None
    if isinstance(X, Mapping):
        if person not in X:
            return X, None
        return {name: column for name, column in X.items() if name != person}, {person: X[person]}
    frame = as_frame(X, "X")
    if frame is None or person not in frame.columns:
        return X, None
    return frame.drop([person]).to_native(), frame[person].to_native()


def split_groups(X: Any, groups: Any, person: str | None) -> tuple[Any, Any]:
    """Return records without the column that says who they are of, and that column, or the one that is given.

    Raises
    ------
    ConfigurationError
        When the schema names a column of persons, ``person``, and there is none, another one, or two.
    """
    X, own = without_person(X, person)
    if person is None:
        return X, groups
    if own is not None and groups is not None:
        raise ConfigurationError(
            f"X has the column {person!r}, which says who the records are of, so groups must be left out; pass one of the two."
        )
    if own is None and groups is None:
        raise ConfigurationError(
            f"The schema says that {person!r} tells persons apart, but X has no such column. Add it to X, or pass it as groups=."
        )
    return X, groups if own is None else own


def read_groups(
    groups: Any, rows: int, missing: Sequence[str], person: str | None = None, *, warn: bool = True
) -> Groups | None:
    """Return who each of so many records is of, None where that is not told; every cell may be anything.

    Raises
    ------
    ConfigurationError
        When there is not one id per record in one column, or its name is not ``person``, where that names a column.

    Warns
    -----
    UserWarning
        When the column's type is floating-point and ``warn`` is set: ids such as 1.10 or 007 were lost when it was read.
    """
    if groups is None:
        return None
    name: Any = getattr(groups, "name", None)
    if isinstance(groups, Mapping) and len(groups) == 1:
        ((name, groups),) = groups.items()
    if isinstance(groups, str | Mapping):
        raise ConfigurationError(
            f"groups is a {type(groups).__name__}, but it holds an id for each record; pass the column, and leave it out of X."
        )
    if hasattr(groups, "columns"):
        name = next(iter(groups.columns), None)
    part = one_column(groups, "groups")
    if len(part) != rows:
        raise ConfigurationError("X and groups have different lengths, so it is open who the records are of.")
    cells = Columns(["groups"], len(part), parts=[part]).cells(0)
    if isinstance(part, Part) and part.whole is not None and cells.dtype.kind == "f":
        cells = part.whole(0, len(part))  # a missing cell must not take digits from the other ids
    if warn and cells.dtype.kind == "f":
        warnings.warn(
            f"{person or 'groups'} is a column of floating-point numbers, in which only whole numbers are ids and "
            "records with any other cell are left out. Read ids as text, for example with "
            f"pandas.read_csv(path, dtype={{{person or 'patient'!r}: str}}).",
            UserWarning,
            stacklevel=2,
        )
    name = name if isinstance(name, str) else ""
    if person is not None and name not in ("", person):
        raise another_person(person, name)
    return Groups(person or name, cells, tuple(missing))


def another_person(person: str, name: str) -> ConfigurationError:
    """Return the error of a column of persons that is not the schema's."""
    return ConfigurationError(
        f"The schema says that {person!r} tells persons apart, but {name!r} was passed. A guarantee is for the persons of one "
        "column: leave it out, or pass a schema that names it."
    )
