"""Columns whose cells are numbers of words: every chunk has words of its own, wherever it comes from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.reading.cells import CategoryReader
from hedgerow.reading.columns import read_columns, read_labels
from hedgerow.reading.table_file import open_table
from hedgerow.reading.text_cells import CodedTexts, Texts
from hedgerow.schema import Encoder
from hedgerow.table import Coded

CHUNKS = (["x", None, "y"], ["y", "z"], [], ["z", "y", None, "x"])
TEXT = pa.string()
CELLS = [cell for chunk in CHUNKS for cell in chunk]


def column(kind=TEXT, chunks=CHUNKS):
    """One column in which the number 0 is another word in each chunk."""
    parts = [pa.array(chunk, kind).dictionary_encode() for chunk in chunks]
    return pa.chunked_array(parts, parts[0].type)


def cells_of(found):
    return [None if cell is None or cell != cell else cell for cell in found.tolist()]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_each_chunk_is_read_by_its_own_dictionary(kind):
    given = column(kind)
    assert {str(chunk.dictionary) for chunk in given.chunks if len(chunk)} != {str(given.chunk(0).dictionary)}
    for found in (read_columns({"a": given}), read_columns(pa.table({"a": given}))):
        assert cells_of(found.cells(0)) == CELLS
    assert cells_of(read_labels(given)) == CELLS


def test_numbers_of_each_chunk_are_read_by_its_own_dictionary():
    given = column(pa.int64(), ([5, None, 7], [7, 9], [9, 5]))
    assert cells_of(read_columns({"a": given}).cells(0).astype(float)) == [5, None, 7, 7, 9, 9, 5]


@pytest.mark.parametrize("blocks", [1, 4])
def test_row_groups_of_a_parquet_file_are_read_by_their_own_dictionaries(tmp_path, blocks, monkeypatch):
    monkeypatch.setattr("hedgerow.reading.table_file.BATCH_ROWS", blocks)
    path = tmp_path / "a.parquet"
    with pq.ParquetWriter(path, pa.schema([("a", column().type)])) as writer:
        for chunk in CHUNKS:
            writer.write_table(pa.table({"a": column(chunks=(chunk,))}))
    with open_table(path) as file:
        assert [cell for block in file.batches() for cell in block["a"].to_pylist()] == CELLS


@pytest.mark.parametrize(
    "made",
    [
        lambda: pl.from_arrow(pa.table({"a": column()})),
        lambda: pa.table({"a": column()}).to_pandas(),
        lambda: pd.DataFrame({"a": pd.Series(CELLS, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))}),
        lambda: pa.table({"a": column()}).to_batches()[1],
    ],
    ids=["polars", "pandas", "pandas of arrow", "one batch"],
)
def test_frames_that_were_made_of_chunks_hold_the_same_cells(made):
    given = made()
    expected = CELLS if len(given) != len(CHUNKS[1]) else list(CHUNKS[1])
    assert cells_of(read_columns(given).cells(0)) == expected


def test_batches_are_encoded_by_their_own_dictionaries():
    schema = hr.Schema({"a": hr.Categorical(["x", "y", "z"])}, classes=["no", "yes"])
    table = pa.table({"a": column(), "label": pa.array(["no"] * len(CELLS))})
    records = hr.Records.from_batches(lambda: table.to_reader(), label="label")
    found = records.read(Coded(Encoder(schema, 2)))
    codes = np.concatenate([part.arrays["codes"][:, 0] for part in found._engine._partitions])
    found.close()
    assert codes.tolist() == Encoder(schema, 2).transform({"a": CELLS})[:, 0].tolist()


# Text that stands in many cells is read once.

ODD_TEXTS = ["x", None, "", "NA", " y", "y", "x", "nan", "1.0", "1", "z" * 300, "\u00e9"]
NOT_UTF8 = pa.chunked_array([pa.array([b"x", b"\xff", None, b"y", b"\xff"]).cast(pa.string(), safe=False)])
TEXTS = {
    **{
        str(kind): pa.chunked_array([pa.array(ODD_TEXTS, kind), pa.array(ODD_TEXTS[:3], kind)])
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    },
    "dictionary": column(),
    "no UTF-8": NOT_UTF8,
    "no cell": pa.chunked_array([], pa.string()),
    "nothing there": pa.chunked_array([pa.array([None, None], pa.string())]),
}


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize(
    "wrap", [lambda c: c, lambda c: pd.Series(c, dtype=pd.ArrowDtype(c.type))], ids=["arrow", "pandas"]
)
def test_each_cell_of_text_is_read_as_if_it_stood_alone(texts, wrap):
    reader = CategoryReader(["x", "y", 1, "\u00e9"], ["NA"])
    columns = read_columns({"a": wrap(texts)})
    for start, stop in ((0, len(texts)), (1, max(1, len(texts) - 1))):
        cells = columns.cells(0, start, stop)
        assert reader.codes(cells).tolist() == [reader.code(cell) for cell in cells]


DICTIONARY = pa.chunked_array(
    [
        pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), pa.array(["w", "x", "y", "x", None]))
        for places in ([1, None, 2], [3, 4] * 1000)
    ]
)


@pytest.mark.parametrize("texts", [pa.array(["x", "y", None] * 1000), DICTIONARY], ids=["text", "dictionary"])
def test_text_that_many_cells_hold_is_asked_about_once(texts):
    """Of a dictionary each value, which may be equal to another, missing, or no cell's."""
    columns, asked = read_columns({"a": texts}), []
    columns.cells(0).through(lambda cells: asked.extend(cells) or np.zeros(len(cells), dtype=int))
    assert {"x", "y", None} <= set(asked) <= {"w", "x", "y", None}
    assert len(asked) <= 6


def test_what_another_thread_reads_in_a_dictionary_is_not_taken_for_ones_own():
    class Shared(Texts):  # another thread replaces the results after every step
        results = property(lambda self: (len, np.array([9, 9, 9])), lambda self, made: None)

    values = Shared(np.frombuffer(b"xy", dtype=np.uint8), np.array([0, 1, -1]), np.array([1, 2, -1]))
    cells = CodedTexts(values, np.array([1, 0, -1, 1]))
    assert CategoryReader(["x", "y"]).codes(cells).tolist() == [1, 0, 2, 1]


def test_of_a_dictionary_with_more_values_than_cells_no_other_value_is_read():
    values = pa.array([f"v{place}" for place in range(1000)])
    given = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([3, None, 999, 3]), values)])
    asked = []
    cells = read_columns({"a": given}).cells(0)
    found = cells.through(lambda texts: asked.extend(texts) or np.array([str(text) for text in texts]))
    assert found.tolist() == ["v3", "None", "v999", "v3"]
    assert sorted(map(str, asked)) == ["None", "v3", "v999"]
