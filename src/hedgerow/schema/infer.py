"""Guess a schema, and the formats of its text, from records: for drafts and exploration, outside every guarantee."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError
from hedgerow.reading.cells import (
    MACHINE_NUMBERS,
    SPACE,
    Array,
    CategoryReader,
    Cells,
    as_objects,
    count_values,
    known_key,
    numbers,
    object_array,
    public_value,
)
from hedgerow.reading.formats import NO_MOMENT, SECONDS, DateFormat, NumberFormat, Unit, date_text, microseconds
from hedgerow.schema.features import Categorical, Feature, Numeric, Value
from hedgerow.schema.types import LARGEST, Boolean, Date, Integer

LAST = "9999-12-31 23:59:59"
FEW_NUMBERS = 10  # text of at most this many different numbers is read as categories

Form = NumberFormat | DateFormat

# If several forms read as many cells, the first is taken: if all fractions have three digits, they are more likely groups.
NUMBERS: tuple[Form, ...] = tuple(
    NumberFormat(*marks)
    for marks in ((".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'"), (",", "'"))
)
DATES: tuple[Form, ...] = tuple(
    DateFormat(day + time)
    for day in (
        "%d.%m.%Y",
        "%d/%m/%Y",
        "%m/%d/%Y",
        "%d-%m-%Y",
        "%m-%d-%Y",
        "%Y/%m/%d",
        "%Y.%m.%d",
        "%d.%m.%y",
        "%d/%m/%y",
    )
    for time in ("", " %H:%M", " %H:%M:%S")
)
SAMPLE = 1000  # texts that decide which forms are tried further
SHARE = 0.9  # the share of the present cells that a recognized form must read


def guess_feature(cells: Cells, max_categories: int) -> Feature:
    """Return the entry that the cells of a column suggest.

    Truth values and words for them give ``Boolean``. Dates, and text of dates, give their range. Numbers give their range, of
    whole numbers if all are whole. Another column is numeric if each cell is missing or a number, and more than 10 are distinct.
    Otherwise the entry is the sorted values, at most the ``max_categories`` most frequent ones. Numbers with a decimal comma or
    thousands separators, and dates in formats other than ISO 8601, are read if all cells of the column have the same format.
    """
    form = written(cells, share=1.0)
    if form is not None:
        feature = guess_feature(form.plain(cells), max_categories)
        if isinstance(feature, Numeric):
            return form.put_on(feature)
    kind = cells.dtype.kind
    if _are_truths(cells):
        return Boolean(origin="inferred")
    moments = _moments(cells)
    if moments:
        return _dates(moments)
    counts = {} if kind in MACHINE_NUMBERS + "M" else count_values(cells)
    if not counts or (len(counts) > FEW_NUMBERS and all(isinstance(key, float) for key in counts)):
        return guess_range(cells)
    frequent = set(sorted(counts, key=lambda key: -counts[key])[:max_categories])
    return Categorical([public_value(key) for key in counts if key in frequent], origin="inferred")


def is_truth(cell: Any) -> bool:
    if type(cell) in (str, np.str_):
        return cell.strip(SPACE).lower() in ("true", "false")
    return type(cell) in (bool, np.bool_)


def _are_truths(cells: Cells) -> bool:
    """Return whether the column has cells that are not missing and all of these are truth values or words for them."""
    if cells.dtype.kind in MACHINE_NUMBERS + "M":
        return cells.dtype.kind == "b"
    any_truth = False
    for cell in cells.tolist():
        if is_truth(cell):
            any_truth = True
        elif known_key(cell) is not None:
            return False
    return any_truth


def plain_values(cells: Cells) -> Array:
    """Return each cell as the simplest value of the same category, whatever the type of its column; None if it is missing."""
    as_bool = _are_truths(cells)

    def plain(cell: Any) -> Value | None:
        key = known_key(cell)
        return None if key is None else bool(key) if as_bool else public_value(key)

    return object_array(map(plain, cells.tolist()), len(cells))


def guess_range(cells: Cells) -> Numeric:
    values = numbers(cells)
    values = values[np.isfinite(values)]
    if not values.size:
        return Numeric(0, 1, origin="inferred")
    low, high = float(values.min()), float(values.max())
    if max(-low, high) < LARGEST and (values == np.rint(values)).all():
        return Integer(low, max(high, low + 1), origin="inferred")
    if high <= low:  # a single value: any range around it is valid
        low, high = low - max(abs(low) * 1e-6, 0.5), high + max(abs(high) * 1e-6, 0.5)
        largest = float(np.finfo(np.float64).max)
        low, high = max(low, -largest), min(high, largest)
    return Numeric(low, high, origin="inferred")


def _moments(cells: Cells) -> set[int]:
    """Return the distinct moments of a column, in microseconds since 1970; empty unless all present cells are dates."""
    if cells.dtype.kind in MACHINE_NUMBERS:
        return set()
    moments: set[int] = set()
    seen: set[str] = set()
    for cell in as_objects(cells).tolist():
        if type(cell) is str:
            if cell in seen:
                continue
            seen.add(cell)
        if known_key(cell) is None:
            continue
        moment = microseconds(cell)
        if moment == NO_MOMENT:
            return set()
        moments.add(moment)
    return moments


def _dates(moments: set[int]) -> Date:
    unit: Unit = "day" if all(moment % (10**6 * SECONDS["day"]) == 0 for moment in moments) else "second"
    low, high, last = (moment // (10**6 * SECONDS[unit]) for moment in (min(moments), max(moments), microseconds(LAST)))
    if high <= low:  # a single value: any range with it is valid
        low, high = (low, low + 1) if low < last else (low - 1, low)
    ends = (date_text(end, unit) for end in (low, high))
    return Date(*ends, origin="inferred")  # type: ignore[arg-type]


def guess_classes(labels: Cells) -> list[Value]:
    """Return the sorted distinct labels, as ``numpy.unique`` does, without missing ones."""
    if labels.dtype.kind in MACHINE_NUMBERS:
        classes: list[Value] = [label for label in np.unique(labels).tolist() if np.isfinite(label)]
    else:
        first: dict[float | str, Value] = {}
        for label in labels.astype(object).tolist():
            key = known_key(label)
            if key is not None and not (isinstance(key, float) and np.isinf(key)):
                first.setdefault(key, label if isinstance(label, bool | int | float | str) else public_value(key))
        classes = [first[key] for key in sorted(first, key=lambda key: (isinstance(key, str), key))]
        if all(isinstance(label, str) for label in classes):
            classes.sort()
    if not classes:
        raise ConfigurationError("y holds no label, so there is no class to learn. Pass one label per record.")
    return classes


@dataclass(frozen=True)
class WrittenForm:
    """A form in which text is written, and the other forms that read as many cells of the column."""

    form: Form
    others: tuple[Form, ...]

    def plain(self, cells: Cells) -> Array:
        """Return cells as they would be written in plain numbers or ISO 8601 dates. Cells in another form do not change."""
        if isinstance(self.form, NumberFormat):
            values = self.form.numbers(cells)
            pairs = zip(cells.tolist(), values.tolist(), strict=True)
            return object_array((cell if value != value else value for cell, value in pairs), len(cells))
        form = self.form
        return object_array((_iso(cell, form) for cell in cells.tolist()), len(cells))

    def put_on(self, feature: Numeric) -> Numeric:
        """Return a guessed entry with the form declared, if it is a form of the entry's kind."""
        if isinstance(self.form, DateFormat):
            if not isinstance(feature, Date):
                return feature
            return Date(*feature.ends, date_format=self.form.text, origin=feature.origin)  # type: ignore[arg-type]
        if isinstance(feature, Date):
            return feature
        return replace(feature, decimal=self.form.decimal, thousands=self.form.thousands)

    @property
    def question(self) -> str | None:
        """The owner's question, if other forms read the same cells as other values."""
        if not self.others:
            return None
        names = ", ".join(_named(form) for form in self.others)
        return f"taken for {_named(self.form)}, but all its cells could be {names}, too: which is it?"


def written(cells: Cells, missing: Iterable[str] = (), share: float = SHARE) -> WrittenForm | None:
    """Return how a column of text is written; None if it is surely plain, no text, or in no known form.

    A form is recognized if it reads a large enough share of the present cells. A plain form takes precedence.
    """
    if cells.dtype.kind != "O":
        return None
    absent = CategoryReader((), tuple(missing))
    there = as_objects(cells[absent.codes(cells) != absent.missing])
    if not len(there) or not all(isinstance(cell, str) for cell in there.tolist()):
        return None
    distinct = dict.fromkeys(cell.strip() for cell in there.tolist())
    texts = object_array(distinct, len(distinct))
    plain = max(int(np.isfinite(numbers(texts)).sum()), _count(texts, microseconds))
    sample = texts[:SAMPLE]
    likely = [form for form in NUMBERS + DATES if _read(sample, form) >= share * len(sample) / 2]
    counts = [_read(texts, form) for form in likely]
    most = max([plain, *counts])
    alike = [form for form, count in zip(likely, counts, strict=True) if count == most]
    if not alike or most < share * len(texts):
        return None
    first = NumberFormat() if plain == most else alike[0]
    others: tuple[Form, ...] = ()
    for form in alike:
        if not any(_same(texts, known, form) for known in (first, *others)):
            others = (*others, form)
    return None if plain == most and not others else WrittenForm(first, others)


def _count(texts: Cells, read: Callable[[Any], int]) -> int:
    return sum(read(text) != NO_MOMENT for text in texts.tolist())


def _read(texts: Cells, form: Form) -> int:
    if isinstance(form, NumberFormat):
        return int(np.isfinite(form.numbers(texts)).sum())
    return _count(texts, lambda text: microseconds(text, form))


def _values(texts: Cells, form: Form) -> npt.NDArray[Any]:
    if isinstance(form, NumberFormat):
        return form.numbers(texts)
    return np.array([microseconds(text, form) for text in texts.tolist()])


def _same(texts: Cells, one: Form, other: Form) -> bool:
    """Return whether two forms read the same values from all texts. A plain form also reads ISO dates."""
    if type(one) is not type(other):
        return one == NumberFormat() and not np.isfinite(numbers(texts)).any()
    return np.array_equal(_values(texts, one), _values(texts, other), equal_nan=True)


def _iso(cell: Any, form: DateFormat) -> Any:
    moment = form.moment(cell.strip()) if isinstance(cell, str) else None
    return cell if moment is None else str(moment).removesuffix(" 00:00:00")


def _named(form: Form) -> str:
    if isinstance(form, DateFormat):
        return f"dates {form.text}"
    return f"numbers with decimal {form.decimal!r}" + (f" and thousands {form.thousands!r}" if form.thousands else "")
