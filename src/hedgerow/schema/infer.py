"""Guess a schema, and the formats of its text, from records: for drafts and exploration, outside every guarantee."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.errors import ConfigurationError
from hedgerow.reading.cells import (
    HASHABLE,
    MACHINE_NUMBERS,
    SPACE,
    CategoryReader,
    Cells,
    as_objects,
    count_values,
    known_key,
    numbers,
    object_array,
    public_value,
)
from hedgerow.reading.formats import SECONDS, DateFormat, NumberFormat, Unit, date_reader, date_text, microseconds
from hedgerow.reading.text_cells import Texts
from hedgerow.schema.features import Categorical, Feature, Numeric, Value
from hedgerow.schema.types import LARGEST, Boolean, Date, Integer

LAST = microseconds("9999-12-31 23:59:59") // 10**6  # in seconds
IN_MOSTLY = 10  # one in this many cells of a column of numbers may be something else
SAMPLE = 1000  # texts that decide which forms are tried further
SHARE = 0.9  # the share of the distinct cells that a recognized form must read

Form = NumberFormat | DateFormat

# If several forms read as many cells, the first is taken: if all fractions have three digits, they are more likely groups.
NUMBERS = tuple(NumberFormat(*marks) for marks in (".,", (",", ""), ",.", ", ", ". ", ".'", ",'"))
ORDERS = "%d.%m.%Y %d/%m/%Y %m/%d/%Y %d-%m-%Y %m-%d-%Y %Y/%m/%d %Y.%m.%d %d.%m.%y %d/%m/%y".split()
DATES = tuple(DateFormat(day + time) for day in ORDERS for time in ("", " %H:%M", " %H:%M:%S"))
DATES = (*DATES, DateFormat("%Y%m%d"))
AMOUNTS = tuple(NumberFormat(form.decimal, form.thousands, True) for form in (NumberFormat(), *NUMBERS))

# Texts that stand for a missing cell, and those that may also be a value of a category.
MARKERS = tuple(r"? ?? -- --- . .. #N/A #NA #NULL! #VALUE! #DIV/0! N/A n/a NULL null \N".split())
WORDS = (
    *"- * NA na n.a. N.A. k.A. none missing Missing unknown Unknown unbekannt fehlt n/d N/D ND s/d".split(),
    *("k. A.", "keine Angabe"),
)
# Numbers and days that stand for a missing cell where they lie far from all others.
CODE = re.compile("-?(9+[789]?|8+|7+)|-[1239]")
DAYS = tuple("0001-01-01 1753-01-01 1800-01-01 1899-12-30 1899-12-31 1900-01-01 1901-01-01 1970-01-01".split())
DAYS += ("2099-12-31", "2199-12-31", "2999-12-31", "9999-12-31")
FEW_DIGITS = 100
MANY_NUMBERS = 30  # different ones, among which a single word is no value
FEW_TEXTS = 10  # texts among numbers that are listed as markers
LEADING_ZERO = re.compile("0[0-9]+")


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of a column that are not missing, text once, and how many records have each.

    ``numbers`` and ``seconds`` since 1970 are NaN where a cell is no number, or no date. ``forms`` are the ways in which text may
    be written, of which the first is taken; none if it is plain.
    """

    cells: Cells
    counts: Integers
    numbers: Floats
    seconds: Floats
    are_truths: Truth
    forms: tuple[Form, ...]

    @property
    def present(self) -> int:
        return int(self.counts.sum())

    def where(self, kept: Truth) -> Column:
        names = ("cells", "counts", "numbers", "seconds", "are_truths")
        return replace(self, **{name: getattr(self, name)[kept] for name in names})


def records_with(cells: Cells, counts: Integers, values: Sequence[Value]) -> Integers:
    """Return how many records have each value, (values,), from distinct cells and their ``counts``."""
    codes = CategoryReader(values).codes(cells)
    return np.bincount(codes, counts, minlength=len(values) + 2)[: len(values)].astype(np.int64)


def column_of(cells: Cells) -> Column:
    return _column(*_distinct(cells), ())


def _distinct(cells: Cells) -> tuple[Cells, Integers]:
    if isinstance(cells, Texts):
        distinct, places = cells.distinct()
        return distinct, np.bincount(places, minlength=len(distinct))
    if cells.dtype.kind in MACHINE_NUMBERS:
        return cells, np.ones(len(cells), dtype=np.int64)
    number: Counter[tuple[type, Any]] = Counter()
    for cell in as_objects(cells).tolist():
        plain = cell if id(type(cell)) in HASHABLE else known_key(cell)
        number[type(plain), None if plain != plain else plain] += 1
    return object_array((cell for _, cell in number), len(number)), np.array([*number.values()], dtype=np.int64)


def _column(cells: Cells, counts: Integers, missing: Sequence[str]) -> Column:
    plain_numbers, absent = numbers(cells), CategoryReader((), missing)
    there = ~np.isin(plain_numbers, NumberFormat().markers(missing))
    odd = np.flatnonzero(np.isnan(plain_numbers))  # a number that is no marker is not missing
    there[odd] = absent.codes(cells[odd]) != absent.missing
    cells, counts = cells[there], counts[there].astype(np.int64)
    forms = _forms(cells)
    form = forms[0] if forms else NumberFormat()
    is_date = isinstance(form, DateFormat)
    values = _read(cells, NumberFormat() if is_date else form)
    # No date is a number, but for 20240131.
    odd = np.arange(len(cells)) if is_date else np.flatnonzero(np.isnan(values))
    seconds = np.full(len(cells), np.nan)
    seconds[odd] = _read(cells[odd], form if is_date else None)
    values = np.where(np.isnan(seconds), values, np.nan)
    truths = np.full(len(cells), cells.dtype.kind == "b")
    if cells.dtype.kind not in MACHINE_NUMBERS:
        for place in np.flatnonzero((values == 0) | (values == 1)).tolist():
            cell = cells[place : place + 1].tolist()[0]
            word = isinstance(cell, str) and cell.strip(SPACE).lower() in ("true", "false")
            truths[place] = word or isinstance(cell, bool | np.bool_)
    return Column(cells, counts, values, seconds, truths, forms)


def _read(cells: Cells, form: Form | None) -> Floats:
    if isinstance(form, NumberFormat):
        return form.numbers(cells)
    return date_reader("second", (), form)(cells)


def _forms(cells: Cells) -> tuple[Form, ...]:
    """Return the forms that read the most distinct texts, each of them other values; none if the text is surely plain."""
    if not len(cells) or not (isinstance(cells, Texts) or all(isinstance(cell, str) for cell in cells.tolist())):
        return ()
    sample = cells[:SAMPLE]
    likely = [form for form in NUMBERS + DATES if _n_finite(_read(sample, form)) >= SHARE * len(sample) / 2]
    values: dict[Form | None, Floats] = {None: max(numbers(cells), _read(cells, None), key=_n_finite)}
    values |= {form: _read(cells, form) for form in likely}
    if max(map(_n_finite, values.values())) < len(cells):
        amounts = [form for form in AMOUNTS if _n_finite(_read(sample, form)) >= SHARE * len(sample)]
        values |= {form: _read(cells, form) for form in amounts}
    most = max(map(_n_finite, values.values()))
    forms: list[Form | None] = []
    for form, mine in values.items() if most >= SHARE * len(cells) else ():
        if _n_finite(mine) == most and not any(np.array_equal(mine, values[one], equal_nan=True) for one in forms):
            forms.insert(0 if forms == [None] and isinstance(form, DateFormat) else len(forms), form)
    return () if forms == [None] else tuple(form or NumberFormat() for form in forms)


def _n_finite(values: Floats) -> int:
    return int(np.isfinite(values).sum())


def question_of(column: Column) -> list[str]:
    if len(column.forms) < 2:
        return []
    taken, *others = map(_named, column.forms)
    return [f"taken for {taken}, but all its cells could be {', '.join(others)}, too: which is it?"]


def _named(form: Form) -> str:
    if isinstance(form, DateFormat):
        return f"dates {form.text}"
    what = "amounts" if form.amounts else "numbers"
    return f"{what} with decimal {form.decimal!r}" + (f" and thousands {form.thousands!r}" if form.thousands else "")


@dataclass(frozen=True, eq=False)
class Draft:
    """A column of a draft, its entry, and how many records have each marker of missing cells.

    ``markers`` are those for the whole schema; those of the entry itself are among ``own``.
    """

    column: Column
    feature: Feature
    markers: dict[str, int]
    own: dict[str, int]


def draft_of(cells: Cells, missing: Sequence[str], guess: Callable[[Column], Feature]) -> Draft:
    """Return the draft of a column: markers, which are no values, are recognized by public rules, and listed."""
    distinct, counts = _distinct(cells)
    markers = (*MARKERS, *WORDS)
    found = dict(zip(markers, records_with(distinct, counts, markers).tolist(), strict=True))
    for allowed in (markers, MARKERS):  # in a column of categories a word may be a category
        there = {one: number for one, number in found.items() if number and one in allowed and one not in missing}
        column = _column(distinct, counts, (*missing, *there))
        feature = guess(column)
        if type(feature) is not Categorical:
            break
    own: dict[str, int] = {}
    if isinstance(feature, Numeric):
        read = column.seconds if isinstance(feature, Date) else column.numbers
        far = _far_codes(read, column.counts, feature)
        own = {text: int(column.counts[read == value].sum()) for text, value in far.items()}
        if far:
            rest = ~np.isin(read, [*far.values()])
            feature = guess(column.where(rest & ~np.isnan(read)))
            column, read = column.where(rest), read[rest]
        texts, number = column.cells[np.isnan(read)].tolist(), column.counts[np.isnan(read)].tolist()
        if isinstance(feature, Numeric) and len(texts) <= FEW_TEXTS:
            own |= {
                text.strip(SPACE): count for text, count in zip(texts, number, strict=True) if isinstance(text, str)
            }
    return Draft(column, feature.replaced(missing=[*own]) if own else feature, there, own)


def _far_codes(read: Floats, counts: Integers, feature: Numeric) -> dict[str, float]:
    """Return the numbers, or days, that are usual codes of missing cells, and far from all others, by their text.

    A number of up to two digits must be that of several records: one may be 97 years old.
    """
    values = np.unique(read[np.isfinite(read)])
    if isinstance(feature, Date):
        texts = {microseconds(day) // 10**6: day for day in DAYS}
    else:
        texts = {value: f"{value:.15g}" for value in values.tolist()}
        texts = {value: text for value, text in texts.items() if CODE.fullmatch(text.replace(".", ""))}
        texts = {value: text.replace(".", feature.decimal) for value, text in texts.items()}
    others = values[~np.isin(values, [*texts])]
    if not len(others):
        return {}
    low, high = float(others[0]), float(others[-1])
    span = max(high - low, 1.0)
    is_far = {value: value > high + span or value < low - (1 if value < 0 <= low else span) for value in texts}
    often = {value for value in texts if abs(value) >= FEW_DIGITS or counts[read == value].sum() > 1}
    return {text: value for value, text in texts.items() if value in values and value in often and is_far[value]}


def codes_as_text(column: Column) -> Counter[str]:
    """Return how many records have each text, if these are codes and not numbers: some differ as text alone, or begin with 0."""
    texts: Counter[str] = Counter()
    if column.forms or not isinstance(column.cells, Texts):
        return texts
    cells = [str(cell).strip(SPACE) for cell in column.cells.tolist()]  # none is absent
    for text, count in zip(cells, column.counts.tolist(), strict=True):
        texts[text] += count
    values = dict(zip(cells, column.numbers.tolist(), strict=True))
    whole = Counter((value, text.partition(".")[0]) for text, value in values.items() if "." in text and value == value)
    are_codes = any(number > 1 for number in whole.values()) or any(map(LEADING_ZERO.fullmatch, texts))
    return texts if are_codes else Counter()


def guess_feature(column: Column, max_categories: int) -> Feature:
    """Return the entry that a column suggests.

    Numbers give their range, of whole numbers if all are whole. Truth values and words for them give ``Boolean``. Dates give
    their range. Some cells of a range may be something else (``_are_markers``), which is read as missing. Otherwise the entry
    is the sorted values, at most the ``max_categories`` most frequent ones.
    """
    codes = codes_as_text(column)
    frequent = sorted(text for text, _ in codes.most_common(max_categories))
    if 0 < len(codes) <= max_categories:
        return Categorical(frequent, as_text=True, origin="inferred")
    if _are_markers(column, np.isnan(column.numbers) | column.are_truths):
        return guess_range(column)
    if column.are_truths.all():
        return Boolean(origin="inferred")
    if _are_markers(column, np.isnan(column.seconds)):
        return _guess_dates(column)
    if codes:
        return Categorical(frequent, as_text=True, origin="inferred")
    values = count_values(column.cells, (), column.counts)
    if not values:
        return guess_range(column)
    kept = set(sorted(values, key=lambda key: -values[key])[:max_categories])
    return Categorical([public_value(key) for key in values if key in kept], origin="inferred")


def _are_markers(column: Column, others: Truth) -> bool:
    """Return whether the cells that are no numbers, or no dates, may all be markers of missing cells.

    They may if they are at most one in ten. Texts without letters and digits, and a single word among more than ``MANY_NUMBERS``
    different numbers or dates, may be up to half of the cells.
    """
    words = sum(any(map(str.isalnum, str(cell))) for cell in column.cells[others].tolist())
    few = words == 0 or (words == 1 and len(others) > MANY_NUMBERS)
    return (2 if few else IN_MOSTLY) * int(column.counts[others].sum()) <= column.present


def guess_range(column: Column) -> Numeric:
    values = column.numbers[np.isfinite(column.numbers)]
    form = column.forms[0] if column.forms and isinstance(column.forms[0], NumberFormat) else NumberFormat()
    told: dict[str, Any] = {name: getattr(form, name) for name in ("decimal", "thousands", "amounts")}
    told["origin"] = "inferred"
    if not values.size:
        return Numeric(0, 1, **told)
    low, high = float(values.min()), float(values.max())
    if max(-low, high) < LARGEST and (values == np.rint(values)).all():
        return Integer(low, max(high, low + 1), **told)
    if high <= low:  # a single value: any range around it is valid
        room, largest = max(abs(low) * 1e-6, 0.5), np.finfo(np.float64).max
        low, high = np.clip([low - room, high + room], -largest, largest).tolist()
    return Numeric(low, high, **told)


def _guess_dates(column: Column) -> Date:
    seconds = column.seconds[~np.isnan(column.seconds)]
    unit: Unit = "day" if (seconds % SECONDS["day"] == 0).all() else "second"
    low, high, last = (int(one // SECONDS[unit]) for one in (seconds.min(), seconds.max(), LAST))
    if high <= low:  # a single value: any range with it is valid
        low, high = (low, low + 1) if low < last else (low - 1, low)
    form = column.forms[0].text if column.forms and isinstance(column.forms[0], DateFormat) else None
    ends: Any = (date_text(end, unit) for end in (low, high))
    return Date(*ends, date_format=form, origin="inferred")


def guess_classes(column: Column, *, plain: bool = False) -> list[Value]:
    """Return the sorted distinct labels as ``numpy.unique`` does, or each as the ``plain`` value of its category."""
    cells = np.unique(column.cells) if column.cells.dtype.kind in MACHINE_NUMBERS else column.cells
    first: dict[float | str, Any] = {}
    for label in cells.tolist():
        key = known_key(label)
        if key is not None and not (isinstance(key, float) and np.isinf(key)):
            as_it_is = isinstance(label, bool | int | float | str) and not plain
            first.setdefault(key, label if as_it_is else public_value(key))
    if not first:
        raise ConfigurationError("y holds no label, so there is no class to learn. Pass one label per record.")
    if plain and column.are_truths.all():
        first = {key: bool(key) for key in first}
    classes = [first[key] for key in sorted(first, key=lambda key: (isinstance(key, str), key))]
    return sorted(classes) if all(isinstance(label, str) for label in classes) else classes
