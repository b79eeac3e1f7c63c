"""A drafted schema and unusual facts about its entries: raw values, for the data owner only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.reading.cells import count_values, public_value
from hedgerow.reading.persons import person_text
from hedgerow.schema import Categorical, Date, Numeric, Schema, infer
from hedgerow.schema.features import Feature, Value
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
    "household mrn ssn patienten patientin probanden teilnehmer versicherter versicherten kunde kunden mitglied mitglieder"
).split()
NUMBER_WORDS = ("no", "nr", "num", "number", "nummer", "code", "ref")
RECORDS_OF_ONE = 20  # maximum mean number of records per person, for a column that is called an id


@dataclass(frozen=True)
class Note:
    name: str
    entry: str
    oddities: tuple[str, ...]
    is_id: bool = False
    is_empty: bool = False


def draft_schema(
    columns: Mapping[str, Any], target: str, missing: Sequence[str], *, outcome: bool = False
) -> tuple[Schema, list[Note]]:
    """Return the schema that the columns of cells suggest, with every entry marked as inferred, and a note on each entry.

    A column that looks like an id becomes the schema's ``person``, with one record for each person, and is not a feature. Other
    columns that look like ids or free text, and those without a cell, are to be ignored, as long as a feature remains.
    """

    def guess(column: infer.Column) -> Feature:
        return infer.guess_feature(column, MOST_VALUES)

    read = {name: infer.draft_of(cells, missing, guess) for name, cells in columns.items() if name != target}
    label = infer.draft_of(columns[target], missing, infer.guess_range if outcome else guess)
    records, labels = len(columns[target]), label.column
    person = likely_person({name: draft.column for name, draft in read.items()}, records, missing)
    notes = [] if person is None else [person]
    features = {name: draft.feature for name, draft in read.items() if person is None or name != person.name}
    notes += [_note_on(name, read[name]) for name in features]
    ignore = [note.name for note in notes if (note.is_id or note.is_empty) and note.name in features]
    if len(ignore) == len(features):
        ignore = [note.name for note in notes if note.is_empty][: len(features) - 1]
    features = {name: feature for name, feature in features.items() if name not in ignore}
    markers = dict.fromkeys([*missing, *(marker for draft in (*read.values(), label) for marker in draft.markers)])
    declared: dict[str, Any] = {"target": target, "missing": [*markers], "ignore": ignore}
    declared["person"] = None if person is None else person.name
    if outcome:
        schema = Schema(features, outcome=label.feature, **declared)  # type: ignore[arg-type]
        numbers = int(labels.counts[~np.isnan(labels.numbers)].sum())
        entry = f"of the target {target!r}: {_range_of(label.feature)}"  # type: ignore[arg-type]
        oddities = [f"{counted(records - numbers, 'record')} with no number"] * (numbers < records)
        if not numbers:
            entry, oddities = f"of the target {target!r}: no cell is a number, and the range 0 to 1 is made up", []
        notes.append(Note("outcome", entry, (*oddities, *_absent(label), *infer.question_of(labels))))
        return schema, notes
    classes = infer.guess_classes(labels, plain=True)
    oddities = _odd_values(classes, infer.records_with(labels.cells, labels.counts, classes))
    if len(classes) > MANY_CLASSES:
        oddities = ["so many that --target may name the wrong column; pass --outcome if it is a number to predict"]
    notes.append(Note("classes", f"of the target {target!r}: {listed(classes)}", tuple(oddities)))
    return Schema(features, classes, classes_origin="inferred", **declared), notes


def likely_person(columns: Mapping[str, infer.Column], records: int, missing: Sequence[str]) -> Note | None:
    """Return a note on the column that most likely identifies persons, by its name or values; None if no column does."""
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


def _are_ids(column: infer.Column) -> bool:
    there = column.numbers[np.isfinite(column.numbers)]
    if not column.forms and infer.IN_MOSTLY * (len(column.cells) - len(there)) <= len(column.cells):
        distinct = np.unique(there)
        if (there == np.rint(there)).all():
            return _is_numbering(distinct)
        return len(column.cells) > len(distinct) and column.cells.dtype.kind == "O"  # such as 1.10 and 1.1
    if column.forms or not np.isnan(column.seconds).all():
        return False
    texts = [str(cell).strip() for cell in column.cells.tolist()]
    plain = sum(not re.search(r"\s", text) and any(map(str.isdigit, text)) for text in texts)
    return plain > 0.9 * len(texts)


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


def _absent(draft: infer.Draft) -> Iterator[str]:
    texts = {**draft.markers, **draft.own}
    if texts:
        lists = [listed([*draft.markers])] * bool(draft.markers)
        lists += [f"in this column alone {listed([*draft.own])}"] * bool(draft.own)
        yield f"{counted(sum(texts.values()), 'other cell')} will count as missing: {'; '.join(lists)}"


def _note_on(name: str, draft: infer.Draft) -> Note:
    column, feature = draft.column, draft.feature
    if isinstance(feature, Categorical):
        return _note_on_values(name, draft, feature)
    is_date = isinstance(feature, Date)
    read = column.seconds if is_date else column.numbers
    known = np.isfinite(read)
    values, counts = read[known], column.counts[known]
    if not column.present:
        return Note(name, "no cell holds anything", tuple(_absent(draft)), is_empty=True)
    if not values.size:
        return Note(name, "no cell is a number, and the range 0 to 1 is made up", tuple(_absent(draft)))
    entry = f"dates {feature.in_words()}" if isinstance(feature, Date) else _range_of(feature)
    others = {} if draft.own else {str(cell): 0 for cell in column.cells[np.isnan(read)].tolist()}
    if others:
        others[next(iter(others))] = int(column.counts[np.isnan(read)].sum())
    oddities = [*_absent(replace(draft, markers=draft.markers | dict(sorted(others.items()))))]
    if not is_date and infer.codes_as_text(column):
        oddities.append(
            "codes that begin with 0, or 1.1 and 1.10? Then list them as values, with as_text = true, or ignore them"
        )
    distinct = np.unique(values)
    whole = bool((values == np.rint(values)).all()) and not is_date
    is_money = isinstance(feature, Numeric) and feature.amounts
    is_id = whole and not is_money and _is_id(len(distinct), int(counts.sum()))
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
    return Note(name, entry, (*oddities, *infer.question_of(column)), is_id)


def _note_on_values(name: str, draft: infer.Draft, feature: Categorical) -> Note:
    column = draft.column
    found = count_values(column.cells, (), column.counts)
    values, counts = [public_value(key) for key in found], np.array([*found.values()])
    distinct, kept = len(values), len(feature.values)
    marks = [value for value in values if value in infer.WORDS]
    is_marker = [
        f"is {listed(marks)} a value? If it is a missing cell, write it under missing, not under values"
    ] * bool(marks)
    if feature.as_text:
        distinct = len({str(cell).strip() for cell in column.cells.tolist()})
        oddities = [*_absent(draft), *[f"the {kept} most frequent ones are kept"] * (kept < distinct)]
        oddities += ["codes, compared as text; if they are numbers, write low and high in place of values", *is_marker]
        return Note(name, counted(distinct, "value"), tuple(oddities))
    words = [value for value in values if isinstance(value, str)]
    has_marks = 0 < len(words) <= min(FEW, (distinct - 1) // 2)
    is_id = not has_marks and _is_id(distinct, int(counts.sum()))
    oddities = [*_absent(draft), *[f"the {kept} most frequent ones are kept"] * (kept < distinct)]
    if has_marks:
        oddities.append(f"most are numbers, but not {listed(words)}: if that is a missing cell, pass --missing")
    else:
        oddities += ["free text or an id?"] if is_id or kept < distinct else _odd_values(values, counts)
        oddities += is_marker
    return Note(name, counted(distinct, "value"), (*oddities, *infer.question_of(column)), is_id)


def _range_of(feature: Numeric) -> str:
    return f"range {feature.low:.15g} to {feature.high:.15g}"


def _is_id(distinct: int, cells: int) -> bool:
    return distinct == cells > 1 or (cells >= TELLING and distinct > cells / 2)


def _is_numbering(distinct: npt.NDArray[np.float64]) -> bool:
    return len(distinct) > 0 and bool(distinct[-1] - distinct[0] < 2 * len(distinct) or distinct[0] >= LONG)


def _words_of(name: str) -> set[str]:
    """Return the words of a name such as "customer_id", "userId", "patientid" or "ID number", in lower case."""
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    ends = "|".join((*ID_WORDS, *NUMBER_WORDS))
    parts = {word: re.fullmatch(f"(.+?)({ends})", word) for word in words}
    return {
        part for word, two in parts.items() for part in (two.groups() if two and two[1] in PERSON_WORDS else (word,))
    }


def _odd_values(values: Sequence[Value], counts: npt.NDArray[np.int64]) -> list[str]:
    rare = [value for value, count in zip(values, counts.tolist(), strict=True) if count < RARE]
    return [f"fewer than {RARE} records each: {listed(rare)}"] * bool(rare)
