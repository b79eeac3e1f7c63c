"""Cells to codes in an ONNX graph: numbers by their edges, text by its spelling."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hedgerow.export.onnx_writer import GraphWriter
from hedgerow.export.readings import NumberReading, ValueReading
from hedgerow.export.spellings import DECIMAL, SPACES, exact_texts, spellings

__all__ = ["number_codes", "value_codes"]

AT_ONCE = 1000  # alternatives in a regular expression, so that no runtime's limit of their size is met


def number_codes(writer: GraphWriter, reading: NumberReading) -> str:
    """Return the codes of a numeric feature, (records, 1)."""
    edges = writer.constant(np.array([reading.edges], dtype=np.float64).reshape(1, -1))
    above = writer.cast(writer.node("GreaterOrEqual", reading.name, edges), "INT64")
    codes = writer.node("ReduceSum", above, writer.constant(np.array([1])), keepdims=1)
    missing = writer.node("IsNaN", reading.name)
    for marker in reading.markers:
        missing = writer.node("Or", missing, writer.node("Equal", reading.name, writer.number(marker)))
    return writer.node("Where", missing, writer.constant(np.array(reading.missing)), codes)


def value_codes(writer: GraphWriter, reading: ValueReading) -> str:
    """Return the codes of a categorical feature, (records, 1).

    Text that is declared as it stands is looked up. What is not, often nothing, is read letter by letter.
    """
    cells = writer.node("Reshape", reading.name, writer.constant(np.array([-1])))
    texts = exact_texts(reading)
    known = writer.node(
        "LabelEncoder",
        cells,
        domain="ai.onnx.ml",
        keys_strings=[text.encode() for text in texts],
        values_int64s=list(texts.values()),
        default_int64=-1,
    )
    unknown = writer.node("Less", known, writer.constant(np.array(0)))
    places = writer.node("Reshape", writer.node("NonZero", unknown), writer.constant(np.array([-1])))
    codes = _spelled(writer, reading, writer.node("Gather", cells, places))
    column = writer.constant(np.array([-1, 1]))
    codes = writer.node("ScatterND", known, writer.node("Reshape", places, column), codes)
    return writer.node("Reshape", codes, column)


def _spelled(writer: GraphWriter, reading: ValueReading, cells: str) -> str:
    """Return the codes of cells, (cells,), however they are spelled."""
    found = None  # the code and 1, or 0
    for bit, part in _patterns(reading):
        matches = writer.node("RegexFullMatch", cells, pattern=part)
        given = writer.node("Where", matches, writer.constant(np.array(1 << bit)), writer.constant(np.array(0)))
        found = given if found is None else writer.node("Add", found, given)
    assert found is not None, "missing cells have spellings"
    if reading.numbers:
        found = writer.node("Max", found, _decimals(writer, reading, cells))
    minus_one = writer.node("Sub", found, writer.constant(np.array(1)))
    none = writer.node("Less", minus_one, writer.constant(np.array(0)))
    return writer.node("Where", none, writer.constant(np.array(reading.undeclared)), minus_one)


def _patterns(reading: ValueReading) -> Iterator[tuple[int, str]]:
    """Yield what matches the spellings of codes of which a bit, after 1 is added, is set: a few patterns for many values."""
    spelled = list(spellings(reading))
    for bit in range((reading.undeclared + 1).bit_length()):
        own = [one for one, code in spelled if (code + 1) >> bit & 1]
        for start in range(0, len(own), AT_ONCE):
            yield bit, f"{SPACES}(?:{'|'.join(own[start : start + AT_ONCE])}){SPACES}"


def _decimals(writer: GraphWriter, reading: ValueReading, cells: str) -> str:
    """Return the codes and 1 of cells that are decimal numbers, 0 for others."""
    is_number = writer.node("RegexFullMatch", cells, pattern=f"{SPACES}(?:{DECIMAL}){SPACES}")
    places = writer.node("Transpose", writer.node("NonZero", is_number))
    numbers = writer.cast(writer.node("GatherND", cells, places), "DOUBLE")
    one_each = writer.node("Reshape", numbers, writer.constant(np.array([-1, 1])))
    keys = writer.constant(np.array([[key for key, _ in reading.numbers]]))
    equal = writer.cast(writer.node("Equal", one_each, keys), "INT64")
    codes = writer.constant(np.array([[code + 1] for _, code in reading.numbers]))
    found = writer.node("Reshape", writer.node("MatMul", equal, codes), writer.constant(np.array([-1])))
    none = writer.node("ConstantOfShape", writer.node("Shape", cells), value=writer.zero())
    return writer.node("ScatterND", none, places, found)
