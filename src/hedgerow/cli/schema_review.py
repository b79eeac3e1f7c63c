"""A drafted schema and unusual facts about its entries: raw values, for the data owner only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.reading.cells import count_values, public_value
from hedgerow.reading.persons import person_text
from hedgerow.schema import Categorical, Date, Schema
from hedgerow.schema.features import Feature, Value
from hedgerow.schema.infer import (
    IN_MOSTLY,
    SHARE,
    Column,
    column_of,
    guess_classes,
    guess_feature,
    guess_range,
    question_of,
)
from hedgerow.texts import counted, listed

RARE = 10  # a value with fewer records may identify a person
FEW = 10  # whole numbers that may be codes of categories, or texts among numbers that may be markers of missing cells
MOST_VALUES = 50  # of a categorical feature
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


@dataclass(frozen=True)
class Note:
    """What a data owner should know about one entry: its contents and unusual facts."""

    name: str
    entry: str
    oddities: tuple[str, ...]
    is_id: bool = False


def draft_schema(
    columns: Mapping[str, Any], target: str, missing: Sequence[str], *, outcome: bool = False
) -> tuple[Schema, list[Note]]:
    """Return the schema that the columns of cells suggest, with every entry marked as inferred, and a note on each entry.

    A column that looks like an id becomes the schema's ``person``, with one record for each person, and is not a feature.
    """
    read = {name: column_of(cells, missing, SHARE) for name, cells in columns.items()}
    records, labels = len(columns[target]), read.pop(target)
    person = likely_person(read, records, missing)
    notes = [] if person is None else [person]
    features = {}
    for name, column in read.items():
        if person is None or name != person.name:
            features[name] = guess_feature(column, MOST_VALUES, lenient=True)
            notes.append(_note_on(name, column, features[name]))
    declared: dict[str, Any] = {"target": target, "missing": missing, "person": None if person is None else person.name}
    if outcome:
        schema = Schema(features, outcome=guess_range(labels), **declared)
        numbers = int(labels.counts[~np.isnan(labels.numbers)].sum())
        entry = f"of the target {target!r}: {schema.labels.in_words()}"
        oddities = [f"{counted(records - numbers, 'record')} with no number"] * (numbers < records)
        if not numbers:
            entry, oddities = f"of the target {target!r}: no cell is a number, and the range 0 to 1 is made up", []
        notes.append(Note("outcome", entry, (*oddities, *question_of(labels))))
        return schema, notes
    classes = guess_classes(labels, plain=True)
    oddities = _rare(classes, labels.records_with(classes))
    if len(classes) > MANY_CLASSES:
        oddities = ["so many that --target may name the wrong column; pass --outcome if it is a number to predict"]
    notes.append(Note("classes", f"of the target {target!r}: {listed(classes)}", tuple(oddities)))
    return Schema(features, classes, classes_origin="inferred", **declared), notes


def likely_person(columns: Mapping[str, Column], records: int, missing: Sequence[str]) -> Note | None:
    """Return a note on the column that most likely identifies persons, by its name or values; None if no column does.

    Among several, a column named after a person comes first, then one that is called an id, then one in which nearly every record
    has its own value. Among equals, the one with the most values is chosen. At least one column remains a feature.
    """
    candidates = []
    for name, column in columns.items() if len(columns) > 1 else ():
        words = _words_of(name)
        is_person = bool(words & set(PERSON_WORDS)) and words <= {*PERSON_WORDS, *ID_WORDS, *NUMBER_WORDS}
        if not is_person and not _are_ids(column):
            continue
        ids: Counter[str | None] = Counter()
        for cell, count in zip(column.cells.tolist(), column.counts.tolist(), strict=True):
            ids[person_text(cell, missing)] += count
        del ids[None]
        known, rank = ids.total(), 0
        if len(ids) > 1 and records / 2 < known <= RECORDS_OF_ONE * len(ids) and (is_person or words & set(ID_WORDS)):
            rank = 4 if is_person else 3 if known > len(ids) else 2
        elif len(ids) >= TELLING and 0.9 * records < known < 1.1 * len(ids) and _are_ids(column):
            rank = 1
        if rank:
            candidates.append((rank, len(ids), _note_on_person(name, [*ids.values()], records)))
    return max(candidates, key=lambda one: one[:2])[2] if candidates else None


def _are_ids(column: Column) -> bool:
    """Return whether cells look like ids: consecutive numbers, or words that are neither dates nor amounts."""
    there = column.numbers[np.isfinite(column.numbers)]
    if not column.forms and IN_MOSTLY * (len(column.cells) - len(there)) <= len(column.cells):
        distinct = np.unique(there)
        if (there == np.rint(there)).all():
            return _is_numbering(distinct)
        return len(column.cells) > len(distinct) and column.cells.dtype.kind == "O"  # such as 1.10 and 1.1
    if column.forms or not np.isnan(column.seconds).all():
        return False
    texts = [str(cell).strip() for cell in column.cells.tolist()]
    plain = sum(not re.search(r"\s", text) and any(map(str.isdigit, text)) for text in texts)
    return plain > 0.9 * len(texts) and not _are_amounts(texts)


def _note_on_person(name: str, sizes: Sequence[int], records: int) -> Note:
    largest, nobody = max(sizes), records - sum(sizes)
    persons = f"{counted(len(sizes), 'person')}, with up to {counted(largest, 'record')} each"
    oddities = ["is it a key of rows? If persons have several rows, name the column of persons instead"]
    if largest > 1:
        oddities = [
            f"records_per_person = 1 reads one record of each person ({sizes.count(1) / len(sizes):.0%} have only one), and a "
            "larger number reads more, with more noise"
        ]
    if nobody:
        oddities.append(f"{counted(nobody, 'record')} without an id will be left out")
    return Note(name, f"identifies persons, so it is no feature: {persons}", tuple(oddities))


def _note_on(name: str, column: Column, feature: Feature) -> Note:
    if isinstance(feature, Categorical):
        return _note_on_values(name, column, feature)
    is_date = isinstance(feature, Date)
    read = column.seconds if is_date else column.numbers
    known = np.isfinite(read)
    values, counts = read[known], column.counts[known]
    if not values.size:
        return Note(name, "no cell is a number, and the range 0 to 1 is made up", ())
    entry = (
        "dates {} to {}".format(*feature.ends)
        if isinstance(feature, Date)
        else f"range {feature.low:g} to {feature.high:g}"
    )
    others = column.cells[np.isnan(read)].tolist()
    oddities = []
    if others:
        number = counted(int(column.counts[np.isnan(read)].sum()), "other cell")
        oddities = [f"{number} will count as missing: {listed(sorted(set(map(str, others))))}"]
    distinct = np.unique(values)
    whole = bool((values == np.rint(values)).all()) and not is_date
    is_id = whole and _is_id(len(distinct), int(counts.sum()))
    if is_id:
        is_id = _is_numbering(distinct) or bool(_words_of(name) & set(ID_WORDS))
        guess = "an id?" if is_id else "an amount, or an id to be dropped?"
        oddities.append(f"(nearly) every record has its own whole number: {guess}")
    else:
        ends = (("low", distinct[0]), ("high", distinct[-1]))
        oddities += [f"its {side} end is one record's value" for side, end in ends if counts[values == end].sum() == 1]
        if whole and len(distinct) <= FEW:
            oddities.append(
                f"only {counted(len(distinct), 'whole number')}: codes of categories, to be written as values?"
            )
    return Note(name, entry, (*oddities, *question_of(column)), is_id)


def _note_on_values(name: str, column: Column, feature: Categorical) -> Note:
    found = count_values(column.cells, (), column.counts)
    values, counts = [public_value(key) for key in found], np.array([*found.values()])
    distinct, kept = len(values), len(feature.values)
    words = [value for value in values if isinstance(value, str)]
    has_marks = 0 < len(words) <= min(FEW, (distinct - 1) // 2)
    are_amounts = _are_amounts(values)
    is_id = not has_marks and not are_amounts and (kept < distinct or _is_id(distinct, int(counts.sum())))
    oddities = [f"the {kept} most frequent ones are kept"] * (kept < distinct)
    if are_amounts:
        oddities.append("amounts that are not read as numbers: write them without a sign of money")
    elif has_marks:
        oddities.append(f"most are numbers, but not {listed(words)}: if that is a missing cell, pass --missing")
    else:
        oddities += ["free text or an id?"] if is_id else _rare(values, counts)
    return Note(name, counted(distinct, "value"), (*oddities, *question_of(column)), is_id)


def _is_id(distinct: int, cells: int) -> bool:
    return distinct == cells > 1 or (cells >= TELLING and distinct > cells / 2)


def _is_numbering(distinct: npt.NDArray[np.float64]) -> bool:
    """Return whether sorted whole numbers are nearly consecutive or too long for an amount, which amounts of money are not."""
    return len(distinct) > 0 and bool(distinct[-1] - distinct[0] < 2 * len(distinct) or distinct[0] >= LONG)


def _are_amounts(values: Sequence[Value]) -> bool:
    count = sum(isinstance(value, str) and AMOUNT.fullmatch(value) is not None for value in values)
    return IN_MOSTLY * (len(values) - count) <= len(values)


def _words_of(name: str) -> set[str]:
    """Return the words of a name such as "customer_id", "userId" or "ID number", in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def _rare(values: Sequence[Value], counts: npt.NDArray[np.int64]) -> list[str]:
    rare = [value for value, count in zip(values, counts.tolist(), strict=True) if count < RARE]
    return [f"fewer than {RARE} records each: {listed(rare)}"] if rare else []
