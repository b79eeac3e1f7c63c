"""Spellings of ids, by the person that each means, and what a fit makes of them (docs/proofs/persons.md)."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np

import hedgerow as hr

BIG = 2**53

# Each line is one person.
TEXTS = [
    *(["1", " 1", "1\t"], ["01"], ["001"], ["+1"], ["1."], ["1.0"], ["1.1"], ["1.10"], ["1.100"], ["01.1"], ["1.1.1"]),
    *(
        ["10"],
        ["1e1"],
        ["1E1"],
        ["7"],
        ["007"],
        ["7.0"],
        ["0x7"],
        ["\u0667"],
        ["\uff17"],
        ["-1"],
        ["-01"],
        ["0"],
        ["-0"],
    ),
    *(["100000"], ["1e5"], ["1_000"], ["1000"], [str(BIG)], [str(BIG + 1)], [f"{BIG}.0"]),
    *(
        ["a", "a "],
        ["A"],
        ["a b"],
        ["ab"],
        ["true"],
        ["True"],
        ["inf"],
        ["S-01"],
        ["S-1"],
        ["\xdf"],
        ["ss"],
        ["\ufb01"],
        ["fi"],
    ),
    *(["Ren\xe9", "Rene\u0301"], ["Rene"], ["\uf900"], ["\u8c48"], ["2020-01-02"], ["2020-01-02 00:00:00"]),
]
NOBODY = ["", " ", "NA", "n/a", "NULL", "?", "-", "nan", "None", "<NA>", "x" * 257]

# What else cells of a table in memory may be, beside the text that they are one id with.
CELLS = [
    ["1", 1, 1.0, True, np.int8(1), np.float16(1), np.float32(1), Decimal("1.0"), Fraction(1), b"1", 1 + 0j],
    ["7", 7, 7.0, np.uint64(7), np.bytes_(b"7")],
    [str(BIG), BIG, Decimal(BIG)],
    [str(BIG + 1), BIG + 1, np.int64(BIG + 1)],
    ["2020-01-02", datetime.date(2020, 1, 2)],
    ["a", b"a", np.str_("a")],
    ["-1", -1, -1.0],
    ["0", 0, -0.0, False],
]
NO_ID = [None, 1.1, float(BIG), float("inf"), float("nan"), Decimal("1.1"), np.float32(2**24), [1], object()]

SCHEMA = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])


def labelled(persons):
    """Return all spellings, and a label for each: its person's number, then its own."""
    pairs = [(spelling, f"{i}-{j}") for i, person in enumerate(persons) for j, spelling in enumerate(person)]
    return [spelling for spelling, _ in pairs], [label for _, label in pairs]


def schema_of(labels):
    """Return a schema of one feature whose classes are so many labels."""
    return hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=sorted(labels), target="label", missing=["unlabelled"])


def counted(fit, schema, seed):
    """Return the labels of the records that a fit of one record for each person counts; the noise is nearly none."""
    model = hr.ForestClassifier(
        epsilon=2000, schema=schema, records_per_person=1, n_estimators=1, max_depth=0, random_state=seed
    )
    shares = fit(model).predict_proba([["x"]])[0]
    return [label for label, share in zip(schema.classes, shares, strict=True) if share > shares.max() / 2]


def check_reader(persons, nobody, fit_of, seeds=range(6)):
    """Check that a fit counts one record of each person, and none of nobody, however the ids are spelled.

    ``fit_of(ids, labels)`` returns a function that fits a model on such records. Two persons that were read as one would count
    once, and one that was read as two would count twice.
    """
    ids, labels = labelled([*persons, nobody])
    schema = schema_of(labels)
    fit = fit_of(ids, labels)
    for seed in seeds:
        found = counted(fit, schema, seed)
        assert [label.split("-")[0] for label in found] == sorted(map(str, range(len(persons))))
