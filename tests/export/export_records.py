"""Records with odd cells for exported models, and every form of every system fitted once."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

import hedgerow as hr
from hedgerow.export import NumberReading, ValueReading
from hedgerow.systems import system_class

SCHEMA = hr.Schema(
    {
        "age": hr.Numeric(0, 100),
        "job": hr.Categorical(["nurse", "clerk", "none", 1, 2.5, "0", "Nan ", 'o\'neil "x"', "Zoë\t& co"]),
        "score": hr.Numeric(-1, 1, cuts=[-0.7, -0.1, 0.0, 0.1, 0.3]),
    },
    classes=["no", "yes"],
    missing=["?", "-9", "7"],
)
FORMS = [info.name for info in hr.list_systems()]
ROWS = 50_000

NUMBERS = (0.0, -0.0, math.nan, math.inf, -math.inf, -9.0, 7.0, 5e-324, 1.7e308, -1.7e308, 0.1 + 0.2, 1e-300)
# Words, names, spellings of what is missing, of numbers, of what is nearly one, and marks of engines and patterns.
TEXTS = (
    *'nurse| clerk |\tnone\r\n|none\x0b|Nurse|nurse.|pilot|o\'neil "x"|Zo\u00eb\t& co|Zoe\t& co'.split("|"),
    *"| |nan|NAN| NaN|Nan|nAn|None|none |<NA>|NaT|nat|?| ? |-9|-9.0|7|007".split("|"),
    *"1|1.0| +1.|TRUE|tRue |2.5|25e-1|0.00|-0|false|0e999|1e-400|1e-999|1e999|-1e999|inf|-Infinity".split("|"),
    *("0.99999999999999999999", "1.0000000000000002", "2.50000000000000000000000000001"),
    *".5|.|1e|1e+|--1|0x1|1_0|1 0|\u0661|\xa01|1\xa0".split("|"),
    *("1" * 150, "9" * 400, "0." + "0" * 150 + "1"),
    *"e1|+|fal\u017fe|\u212a|\u6f22\u5b57|\U0001f600|a\nb|'|\"|--|/*|\\|\\x{61}|.*|(a".split("|"),
    "x" * 300,
)


def training(rows: int = 3000):
    """Records that a model has something to learn of, and their labels."""
    generator = np.random.default_rng(0)
    X = {
        "age": generator.uniform(-5, 105, rows).round(1),
        "job": generator.choice(np.array(["nurse", "clerk", "none", "1", "2.5", "0", "pilot", ""], dtype=object), rows),
        "score": generator.uniform(-1.2, 1.2, rows),
    }
    y = np.where((X["age"] > 60) ^ (X["job"] == "nurse"), "yes", "no").astype(object)
    X["age"][::11], X["score"][::13], y[::17] = np.nan, np.inf, "unknown"
    return X, y


@cache
def fitted(name: str):
    """A system, fitted on these records."""
    return system_class(name)(schema=SCHEMA).fit(*training())


def around(edges):
    """Every edge, and the floats beside it."""
    edges = np.asarray(edges, dtype=np.float64)
    with np.errstate(over="ignore"):
        return np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])


def odd_records(model, rows: int = ROWS, texts=TEXTS):
    """Records of all that a cell may be, the edges of this very model among it."""
    generator = np.random.default_rng(1)
    X = {}
    for reading in model.model_.form.readings:
        if isinstance(reading, NumberReading):
            usual = generator.uniform(-120, 120, 500)
            odd = np.concatenate([around(reading.edges), NUMBERS])
            pool = np.where(generator.random(rows) < 0.5, generator.choice(odd, rows), generator.choice(usual, rows))
            X[reading.name] = pool
        else:
            assert isinstance(reading, ValueReading)
            X[reading.name] = generator.choice(np.array(texts, dtype=object), rows)
    return X


def of_text(cell: object) -> str:
    """A cell of a category as programs take it that know text only."""
    return "" if cell is None else str(cell)
