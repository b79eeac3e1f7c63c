"""What a file may ask of the machine that reads it: every limit, once, with its reason. Most are of model files.

What a file unpacks to is bounded in bytes, by ``hedgerow.load(path, max_bytes=...)``, and what is made of it follows from
these bytes. The other limits are far above what ``save`` writes.
"""

from __future__ import annotations

from dataclasses import dataclass

# Bytes from the quote that begins a cell to the quote that ends it. A spreadsheet's cell has 2**17 at most, and Python's csv
# module refuses a cell of more; a stray quote can take no more than this with it. The value is part of the guarantee's unit.
LONGEST_QUOTED = 2**20

BASE_BYTES = 2**27  # any file may unpack to 128 MiB: a forest of a million leaves takes 40
MOST_TIMES = 64  # a larger file to so many times its own size: models pack 3 to 30 times, deflated zeros 1000 times

LARGEST_MODEL = 2**30  # bytes of a model's file that are read unless the caller allows more, since all of it is held
LARGEST_CARD = 2**26  # bytes of a report card, whose table has a million counts for a thousand classes

MOST_MEMBERS = 64  # a model has up to ten arrays; zipfile keeps half a kilobyte for each member
DEEPEST_DOCUMENT = 80  # brackets: taxonomies are up to 32 deep, events take two brackets for each of up to 20
LONGEST_NUMBER = 4000  # digits in a row; Python itself neither reads nor writes more than 4300

MOST_EVENTS = 50_000  # a run of equal ones counts once; 65 levels, each with a path of its own, take 4500
DEEPEST_EVENT = 20  # events in events; plans nest up to seven
LONGEST_WORDS = 1000  # letters of a mechanism, a purpose or a rule; the certificate pads all to the longest
SMALLEST_AMOUNT, LARGEST_AMOUNT = 1e-100, 1e18  # between them squares and quotients of budgets are finite floats
LARGEST_INTEGER = 2**63  # and levels and trees: integers of a machine
MOST_DENOMINATOR_BITS = 2**13  # of the common denominator of all budgets: sums have it, and adding is quadratic in it
# Of the different tests of a forest times codes, two bytes each: 3800 values of 70 000 tested apart.
MOST_BRANCHES = 2**28
LEAST_MEMORY = 2**26  # bytes that codes and counts of records must be given
MOST_RECORDS_OF_ONE = 2**31  # records of one person: more than a table holds


@dataclass(frozen=True)
class Allowance:
    """What one file may unpack to, in bytes, and the most of other things that follow from that."""

    bytes: int

    @classmethod
    def of_file(cls, size: int, max_bytes: int | None = None) -> Allowance:
        return cls(max(BASE_BYTES, MOST_TIMES * size) if max_bytes is None else max_bytes)

    @property
    def document(self) -> int:
        return self.bytes // 2  # bytes, which take several times as much memory when they are parsed

    @property
    def values(self) -> int:
        return self.bytes // 64  # values of the document: one of few letters takes up to 250 bytes of memory

    @property
    def tests(self) -> int:
        return self.bytes // 32  # codes of all features together: as many tests may be listed, of 20 bytes each

    @property
    def cells(self) -> int:
        return self.bytes // 4  # cells of a table of features by codes, whose rows are as wide as the widest feature

    @property
    def letters(self) -> int:
        return self.bytes // 16  # letters of an array of the classes, in which each takes as much as the longest
