"""A drafted schema and unusual facts about its entries: raw values, for the data owner only."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import PrivacyLeakWarning
from hedgerow.reading.cells import MACHINE_NUMBERS, CategoryReader, category_key, numbers, object_array
from hedgerow.reading.persons import person_ids
from hedgerow.schema import Categorical, Date, Numeric, Schema
from hedgerow.schema.features import Value
from hedgerow.schema.infer import WrittenForm, guess_feature, is_truth, plain_values, written
from hedgerow.texts import counted, listed

RARE = 10  # a value with fewer records may identify a person
FEW = 10  # whole numbers that may be codes of categories, or texts among numbers that may be markers of missing cells
IN_MOSTLY = 10  # one in this many cells of a column of numbers may be something else
MANY_CLASSES = 20
TELLING = 20  # with at least this many cells, most of them must be distinct in a column of ids
LONG = 10**8  # whole numbers from here on have nine digits, as those of telephones, accounts and public registers
ID_WORDS = ("id", "ids", "key", "uid", "uuid", "ssn", "index", "rowid", "serial", "mrn", "pid")
PERSON_WORDS = (
    "patient pat pseudonym proband subject person participant respondent customer client member user employee student pupil "
    "household patientid subjectid personid userid customerid clientid memberid mrn ssn"
).split()
NUMBER_WORDS = ("no", "nr", "num", "number", "code", "ref")
RECORDS_OF_ONE = 20  # maximum mean number of records per person, for a column that is called an id

MONEY = r"(?:[$€£¥]|[A-Z]{3})"
GROUPED = r"\d{1,3}(?:[,.']\d{3})+(?:[.,]\d+)?|\d+,\d+"
AMOUNT = re.compile(
    rf"-?{MONEY}\s?-?(?:{GROUPED}|\d+(?:\.\d+)?)|-?(?:{GROUPED}|\d+(?:\.\d+)?)\s?{MONEY}|-?(?:{GROUPED})"
)

Cells = npt.NDArray[Any]
Arrays = dict[str, Cells]


@dataclass(frozen=True)
class Column:
    """One column, read by the contents of its cells and not by how a file stores them."""

    cells: Cells  # machine numbers, NaN if missing, where (nearly) all present cells are numbers; otherwise objects or None
    others: Cells  # present cells that count as missing among numbers


@dataclass(frozen=True)
class Note:
    """What a data owner should know about one entry: its contents and unusual facts."""

    name: str
    entry: str
    oddities: tuple[str, ...]
    is_id: bool = False


def draft_schema(
    columns: Arrays, labels: Cells, target: str, missing: Sequence[str], *, outcome: bool = False
) -> tuple[Schema, list[Note]]:
    """Return the schema that the records suggest, with every entry marked as inferred, and a note on each entry.

    A column that looks like an id becomes the schema's ``person``, with one record for each person, and is not a feature.
    """
    absent = CategoryReader((), missing)
    person = likely_person(columns, missing)
    columns = {name: cells for name, cells in columns.items() if person is None or name != person.name}
    forms = {name: written(cells, missing) for name, cells in columns.items()}
    plain = {name: cells if (form := forms[name]) is None else form.plain(cells) for name, cells in columns.items()}
    read = {name: _read(cells, absent) for name, cells in plain.items()}
    known = {name: column.cells for name, column in read.items()}
    form_of_outcome = written(labels, missing) if outcome else None
    if form_of_outcome is not None:
        labels = form_of_outcome.plain(labels)
    labels = plain_values(_objects(labels, absent))
    schema = _inferred(known, labels, outcome=outcome)
    whole = _inferred(known, labels, outcome=outcome, max_categories=max(1, len(labels)))
    notes = [] if person is None else [person]
    declared = {
        name: form.put_on(entry)
        for name, form in forms.items()
        if form is not None and isinstance(entry := schema.features[name], Numeric)
    }
    if form_of_outcome is not None and schema.outcome is not None:
        schema = schema.replace(outcome=form_of_outcome.put_on(schema.outcome))
    schema = schema.replace(declared)
    for name, column in read.items():
        feature, values = schema.features[name], whole.features[name]
        if isinstance(feature, Date):
            dates = feature.reader()(column.cells)
            oddities = tuple(_ends_of_one(dates[np.isfinite(dates)]))
            note = Note(name, "dates {} to {}".format(*feature.ends), oddities)
        elif isinstance(feature, Categorical):
            assert isinstance(values, Categorical)
            note = _note_on_values(name, column.cells, feature, values)
        else:
            note = _note_on_range(name, column, feature)
        notes.append(_with_question(note, forms[name]))
    notes.append(_with_question(_note_on_labels(labels, schema, target), form_of_outcome))
    return schema.replace(target=target, missing=missing, person=None if person is None else person.name), notes


def _with_question(note: Note, form: WrittenForm | None) -> Note:
    """Return a note that also asks for the form of its column, if several forms read the same cells."""
    return note if form is None or form.question is None else replace(note, oddities=(*note.oddities, form.question))


def likely_person(columns: Arrays, missing: Sequence[str]) -> Note | None:
    """Return a note on the column that most likely identifies persons, by its name or values; None if no column does.

    Among several, a column named after a person comes first, then one that is called an id, then one in which nearly every record
    has its own value. Among equals, the one with the most values is chosen. At least one column remains a feature.
    """
    candidates = []
    for name, cells in columns.items() if len(columns) > 1 else ():
        ids = person_ids(cells, bytes(32), missing)
        sizes = np.unique(ids[ids.any(axis=1)], axis=0, return_counts=True)[1]
        rank = _rank_of(name, cells, sizes)
        if rank:
            candidates.append((rank, len(sizes), _note_on_person(name, sizes, len(cells))))
    return max(candidates, key=lambda one: one[:2])[2] if candidates else None


def _rank_of(name: str, cells: Cells, sizes: npt.NDArray[np.int64]) -> int:
    """Return how likely a column identifies persons (0: it does not), by the number of records of each id."""
    words, ids, known = _words_of(name), len(sizes), int(sizes.sum())
    if ids > 1 and len(cells) / 2 < known <= RECORDS_OF_ONE * ids:
        if words & set(PERSON_WORDS) and words <= {*PERSON_WORDS, *ID_WORDS, *NUMBER_WORDS}:
            return 4
        if _is_called_id(name) and _are_ids(cells):
            return 3 if known > ids else 2
    return int(ids >= TELLING and 0.9 * len(cells) < known < 1.1 * ids and _are_ids(cells))


def _are_ids(cells: Cells) -> bool:
    """Return whether cells look like ids: consecutive numbers, or words that are neither dates nor amounts."""
    values = numbers(cells)
    there = values[np.isfinite(values)]
    if IN_MOSTLY * (len(cells) - len(there)) <= len(cells):
        distinct = len(np.unique(there))
        if (there == np.rint(there)).all():
            return _is_numbering(there, distinct)
        return cells.dtype.kind == "O" and len(set(map(str, cells.tolist()))) > distinct  # such as 1.10 and 1.1
    texts = [str(cell).strip() for cell in cells.tolist() if cell is not None]
    plain = sum(not re.search(r"\s", text) and any(map(str.isdigit, text)) for text in texts)
    guessed = guess_feature(object_array(texts, len(texts)), max_categories=2)
    return not isinstance(guessed, Date) and plain > 0.9 * len(texts) and not _are_amounts(texts)


def _note_on_person(name: str, sizes: npt.NDArray[np.int64], records: int) -> Note:
    largest, nobody = int(sizes.max()), records - int(sizes.sum())
    persons = f"{counted(len(sizes), 'person')}, with up to {counted(largest, 'record')} each"
    oddities = ["is it a key of rows? If persons have several rows, name the column of persons instead"]
    if largest > 1:
        share = np.count_nonzero(sizes == 1) / len(sizes)
        oddities = [
            f"records_per_person = 1 reads one record of each person ({share:.0%} have only one), and a larger number reads "
            "more, with more noise"
        ]
    if nobody:
        oddities.append(f"{counted(nobody, 'record')} without an id will be left out")
    return Note(name, f"identifies persons, so it is no feature: {persons}", tuple(oddities))


def _read(cells: Cells, absent: CategoryReader) -> Column:
    """Return a column as numbers if at most one in ten of its cells is something else, else as objects."""
    there = absent.codes(cells) != absent.missing
    values = numbers(cells)
    others = there & np.isnan(values)
    if IN_MOSTLY * np.count_nonzero(there & (others | _truths(cells))) <= np.count_nonzero(there):
        return Column(np.where(there, values, np.nan), cells[others])
    return Column(_objects(cells, absent), cells[:0])


def _truths(cells: Cells) -> npt.NDArray[np.bool_]:
    if cells.dtype.kind in MACHINE_NUMBERS:
        return np.full(len(cells), cells.dtype.kind == "b")
    return np.fromiter(map(is_truth, cells.tolist()), dtype=bool, count=len(cells))


def _objects(cells: Cells, absent: CategoryReader) -> Cells:
    """Return cells as objects; None if they are missing."""
    result = cells.astype(object)
    result[absent.codes(cells) == absent.missing] = None
    return result


def _inferred(columns: Arrays, labels: Cells, **options: Any) -> Schema:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)  # the command explains it in detail
        return Schema.infer(columns, labels, **options)


def _note_on_range(name: str, column: Column, feature: Numeric) -> Note:
    values = numbers(column.cells)
    values = values[np.isfinite(values)]
    if not values.size:
        return Note(name, "no cell is a number, and the range 0 to 1 is made up", ())
    entry = f"range {feature.low:g} to {feature.high:g}"
    distinct = len(np.unique(values))
    whole = bool((values == np.rint(values)).all())
    others = []
    if len(column.others):
        texts = listed(sorted(set(map(str, column.others))))
        others = [f"{counted(len(column.others), 'other cell')} will count as missing: {texts}"]
    if whole and _is_id(distinct, values.size):
        is_id = _is_numbering(values, distinct) or _is_called_id(name)
        guess = "an id?" if is_id else "an amount, or an id to be dropped?"
        return Note(name, entry, (*others, f"(nearly) every record has its own whole number: {guess}"), is_id=is_id)
    oddities = others + _ends_of_one(values)
    if whole and distinct <= FEW:
        oddities.append(f"only {counted(distinct, 'whole number')}: codes of categories, to be written as values?")
    return Note(name, entry, tuple(oddities))


def _ends_of_one(values: npt.NDArray[np.float64]) -> list[str]:
    """Return a sentence for each end of a range that is the value of a single record."""
    ends = (("low", values.min()), ("high", values.max()))
    return [f"its {side} end is one record's value" for side, end in ends if np.count_nonzero(values == end) == 1]


def _note_on_values(name: str, cells: Cells, feature: Categorical, every: Categorical) -> Note:
    distinct, kept = len(every.values), len(feature.values)
    counts = np.bincount(CategoryReader(every.values).codes(cells), minlength=distinct)[:distinct]
    words = [value for value in every.values if isinstance(category_key(value), str)]
    has_marks = 0 < len(words) <= min(FEW, (distinct - 1) // 2)
    are_amounts = _are_amounts(every.values)
    is_id = not has_marks and not are_amounts and (kept < distinct or _is_id(distinct, int(counts.sum())))
    oddities = []
    if kept < distinct:
        oddities.append(f"the {kept} most frequent ones are kept")
    if are_amounts:
        oddities.append("amounts that are not read as numbers: write them without a sign of money")
    elif is_id:
        oddities.append("free text or an id?")
    elif not has_marks:
        oddities += _rare(every.values, counts)
    if has_marks:
        oddities.append(f"most are numbers, but not {listed(words)}: if that is a missing cell, pass --missing")
    return Note(name, counted(distinct, "value"), tuple(oddities), is_id)


def _note_on_labels(labels: Cells, schema: Schema, target: str) -> Note:
    if schema.outcome is None:
        return _note_on_classes(labels, schema.classes, target)
    unread = int(np.count_nonzero(np.isnan(numbers(labels))))
    if unread == len(labels):
        return Note("outcome", f"of the target {target!r}: no cell is a number, and the range 0 to 1 is made up", ())
    oddities = (f"{counted(unread, 'record')} with no number",) if unread else ()
    return Note("outcome", f"of the target {target!r}: {schema.outcome.low:g} to {schema.outcome.high:g}", oddities)


def _note_on_classes(labels: Cells, classes: Sequence[Value], target: str) -> Note:
    counts = np.bincount(CategoryReader(classes).codes(labels), minlength=len(classes))[: len(classes)]
    oddities = _rare(classes, counts)
    if len(classes) > MANY_CLASSES:
        oddities = ["so many that --target may name the wrong column; pass --outcome if it is a number to predict"]
    return Note("classes", f"of the target {target!r}: {listed(classes)}", tuple(oddities))


def _is_id(distinct: int, cells: int) -> bool:
    return distinct == cells > 1 or (cells >= TELLING and distinct > cells / 2)


def _is_numbering(values: npt.NDArray[np.float64], distinct: int) -> bool:
    """Return whether whole numbers are nearly consecutive or too long for an amount, which amounts of money are not."""
    return bool(values.max() - values.min() < 2 * distinct or values.min() >= LONG)


def _are_amounts(values: Sequence[Value]) -> bool:
    count = sum(isinstance(value, str) and AMOUNT.fullmatch(value) is not None for value in values)
    return IN_MOSTLY * (len(values) - count) <= len(values)


def _is_called_id(name: str) -> bool:
    return bool(_words_of(name) & set(ID_WORDS))


def _words_of(name: str) -> set[str]:
    """Return the words of a name such as "customer_id", "userId" or "ID number", in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def _rare(values: Sequence[Value], counts: npt.NDArray[np.int64]) -> list[str]:
    rare = [value for value, count in zip(values, counts.tolist(), strict=True) if count < RARE]
    return [f"fewer than {RARE} records each: {listed(rare)}"] if rare else []
