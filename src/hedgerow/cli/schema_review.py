"""A drafted schema and what is odd about its entries: raw values, for the owner of the records alone."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.cli.output import counted, listed
from hedgerow.cli.table_file import Columns
from hedgerow.errors import PrivacyLeakWarning
from hedgerow.schema import Categorical, Numeric, Schema
from hedgerow.schema.cells import MACHINE_NUMBERS, CategoryReader, category_key, numbers
from hedgerow.schema.features import Value

__all__ = ["Note", "draft_schema"]

RARE = 10  # a value of fewer records may name a person
FEW = 10  # so few whole numbers may be codes of categories
MANY_CLASSES = 20
ENOUGH = 20  # from so many cells on, most of them need differ for an id

Cells = npt.NDArray[Any]


@dataclass(frozen=True)
class Note:
    """What an owner should know about one entry: what it says, what is odd about it, and whether it looks like an id."""

    name: str
    entry: str
    oddities: tuple[str, ...]
    is_id: bool = False


def draft_schema(columns: Columns, labels: Cells, target: str, missing: Sequence[str]) -> tuple[Schema, list[Note]]:
    """Return the schema that the records suggest, every entry marked as inferred, and a note on each entry."""
    absent = CategoryReader((), missing)
    known = {name: _present(cells, absent) for name, cells in columns.items()}
    labels = _present(labels, absent)
    schema = _inferred(known, labels)
    whole = _inferred(known, labels, max_categories=max(1, len(labels)))
    notes = []
    for name, cells in known.items():
        feature, values = schema.features[name], whole.features[name]
        if isinstance(feature, Categorical):
            assert isinstance(values, Categorical)
            notes.append(_note_on_values(name, cells, feature, values))
        else:
            notes.append(_note_on_range(name, cells, feature))
    notes.append(_note_on_classes(labels, schema.classes))
    return schema.replace(target=target, missing=missing), notes


def _present(cells: Cells, absent: CategoryReader) -> Cells:
    """Return cells with None, or NaN among machine numbers, where they are missing."""
    missing = absent.codes(cells) == absent.missing
    if not missing.any():
        return cells
    result = cells.astype(np.float64 if cells.dtype.kind in MACHINE_NUMBERS else object)
    result[missing] = None  # NaN among machine numbers
    return result


def _inferred(columns: Columns, labels: Cells, **options: int) -> Schema:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)  # the command says it at length
        return Schema.infer(columns, labels, **options)


def _note_on_range(name: str, cells: Cells, feature: Numeric) -> Note:
    values = numbers(cells)
    values = values[np.isfinite(values)]
    if not values.size:
        return Note(name, "no cell is a number, and the range 0 to 1 is made up", ())
    entry = f"range {feature.low:g} to {feature.high:g}"
    distinct = len(np.unique(values))
    whole = bool((values == np.rint(values)).all())
    if whole and _is_id(distinct, values.size):
        return Note(name, entry, ("(nearly) every record has its own whole number: an id?",), is_id=True)
    oddities = [
        f"its {side} end is one record's value"
        for side, end in (("low", values.min()), ("high", values.max()))
        if np.count_nonzero(values == end) == 1
    ]
    if whole and distinct <= FEW:
        oddities.append(f"only {counted(distinct, 'whole number')}: codes of categories, to be written as values?")
    return Note(name, entry, tuple(oddities))


def _note_on_values(name: str, cells: Cells, feature: Categorical, every: Categorical) -> Note:
    """Return what is odd about the values; ``feature`` keeps the most frequent ones of ``every``."""
    distinct, kept = len(every.values), len(feature.values)
    counts = np.bincount(CategoryReader(every.values).codes(cells), minlength=distinct)[:distinct]
    is_id = kept < distinct or _is_id(distinct, int(counts.sum()))
    oddities = []
    if kept < distinct:
        oddities.append(f"the {kept} most frequent ones are kept")
    if is_id:
        oddities.append("free text or an id?")
    else:
        oddities += _rare(every.values, counts)
    words = [value for value in every.values if isinstance(category_key(value), str)]
    if 0 < len(words) < distinct / 2:
        oddities.append(f"most are numbers, but not {listed(words)}: if that is a missing cell, pass --missing")
    return Note(name, counted(distinct, "value"), tuple(oddities), is_id)


def _note_on_classes(labels: Cells, classes: Sequence[Value]) -> Note:
    counts = np.bincount(CategoryReader(classes).codes(labels), minlength=len(classes))[: len(classes)]
    oddities = _rare(classes, counts)
    if len(classes) > MANY_CLASSES:
        oddities = ["so many that --target may name the wrong column"]
    return Note("classes", listed(classes), tuple(oddities))


def _is_id(distinct: int, cells: int) -> bool:
    return distinct == cells > 1 or (cells >= ENOUGH and distinct > cells / 2)


def _rare(values: Sequence[Value], counts: npt.NDArray[np.int64]) -> list[str]:
    rare = [value for value, count in zip(values, counts.tolist(), strict=True) if count < RARE]
    return [f"fewer than {RARE} records each: {listed(rare)}"] if rare else []
