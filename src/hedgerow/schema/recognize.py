"""A guess of the form in which a column of text is written, from its cells; for drafts of schemas, outside every guarantee."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.schema.cells import CategoryReader, Cells, numbers, object_array
from hedgerow.schema.dates import NO_MOMENT, microseconds
from hedgerow.schema.features import Numeric
from hedgerow.schema.formats import DateFormat, NumberFormat
from hedgerow.schema.types import Date

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


@dataclass(frozen=True)
class WrittenForm:
    """A form in which text is written, and the other forms that read as many cells of the column."""

    form: Form
    others: tuple[Form, ...]

    def plain(self, cells: Cells) -> Cells:
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
    def doubt(self) -> str | None:
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
    there = cells[absent.codes(cells) != absent.missing]
    if not len(there) or not all(isinstance(cell, str) for cell in there.tolist()):
        return None
    distinct = dict.fromkeys(cell.strip() for cell in there.tolist())
    texts = object_array(distinct, len(distinct))
    plain = max(int(np.isfinite(numbers(texts)).sum()), _count(texts, microseconds))
    sample = texts[:SAMPLE]
    likely = [form for form in NUMBERS + DATES if _read(sample, form) >= share * len(sample) / 2]
    found = [(form, _read(texts, form)) for form in likely]
    most = max([plain, *(count for _, count in found)])
    alike = [form for form, count in found if count == most]
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
    """Return how many texts a form reads."""
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
    text = form.iso(cell.strip()) if isinstance(cell, str) else None
    return cell if text is None else text.removesuffix(" 00:00:00")


def _named(form: Form) -> str:
    if isinstance(form, DateFormat):
        return f"dates {form.text}"
    return f"numbers with decimal {form.decimal!r}" + (f" and thousands {form.thousands!r}" if form.thousands else "")
