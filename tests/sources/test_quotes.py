"""A record of a file is what its writer wrote as one: in every reader, for any block, beside any other record."""

import csv
import io
import json
import os
from collections import Counter
from pathlib import Path
from threading import Thread

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.files import LONGEST_QUOTED
from hedgerow.reading import table_file
from hedgerow.reading.table_file import CSVFile, FileForm, unread, whole

CELLS = st.text(st.sampled_from('ab",;\r\n é'), max_size=12)
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6)
BYTES = st.text(st.sampled_from('a"",\n\r \xa0'), max_size=40).map(str.encode)


def written(rows, **form):
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL, **form).writerows([("p", "q", "r"), *rows])
    return file.getvalue().encode()


def opened(content, separator=","):
    return CSVFile(io.BytesIO(content), FileForm(separator), "t.csv")


def rows_of(content, separator=","):
    file = opened(content, separator)
    return list(zip(*(column.tolist() for column in whole([file], file.batches()).values()), strict=True))


def short(monkeypatch, length):
    monkeypatch.setattr(table_file, "LONGEST_QUOTED", length)


@given(ROWS, st.sampled_from(",;"))
def test_what_a_standard_writer_wrote_is_read_back(rows, separator):
    content = written(rows, delimiter=separator)
    assert rows_of(content, separator) == rows
    assert (
        rows == [tuple(row) for row in csv.reader(io.StringIO(content.decode(), newline=""), delimiter=separator)][1:]
    )


@given(ROWS)
def test_pandas_reads_the_same_rows_from_what_it_wrote(rows):
    frame = pd.DataFrame(rows, columns=["p", "q", "r"], dtype=str)
    content = frame.to_csv(index=False, quoting=csv.QUOTE_ALL, lineterminator="\n")
    found = pd.read_csv(io.StringIO(content, newline=""), dtype=str, keep_default_na=False, skip_blank_lines=False)
    assert rows_of(content.encode()) == [tuple(row) for row in found.to_numpy().tolist()] == rows


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ('1,"a\nb\r\nc\rd"\n2,x\n', [("1", "a\nb\r\nc\rd"), ("2", "x")]),
        ('1,"a\n\n""b"",\n"\r\n2,x', [("1", 'a\n\n"b",\n'), ("2", "x")]),
        ('"a\nb","c\nd"\n2,x\n', [("a\nb", "c\nd"), ("2", "x")]),
        ('1,"a\nb"c"d\n2,x\n', [("1", 'a\nbc"d'), ("2", "x")]),
        ('1,a"b\n2,x\n', [("1", 'a"b'), ("2", "x")]),
        ('1,"a\n2,x\n3,y\n', [(None, None), ("2", "x"), ("3", "y")]),
        ('"a\nb","c\n2,x\n', [(None, None), ("2", "x")]),
        ('1,"', [(None, None)]),
        ('1,"a""', [(None, None)]),
        ('1,"a"', [("1", "a")]),
    ],
)
def test_quotes_over_lines(content, rows):
    assert rows_of(f"p,q\n{content}".encode()) == rows


@pytest.mark.parametrize("size", range(2, 12))
def test_a_quote_closes_within_the_public_length(size, monkeypatch):
    """Its cell, with both quotes, has at most so many bytes; what lies beyond does not matter."""
    short(monkeypatch, size)
    for inside in range(1, 12):
        cell = "é\n" + "x" * inside
        closes = len(cell.encode()) + 2 <= size
        for beyond in ("", "\n2,y\n", '\n2,"y"\n'):
            found = rows_of(f'p,q\n1,"{cell}"{beyond}'.encode())
            assert found[0] == (("1", cell) if closes else (None, None))
            assert ("x" * inside + '"' in str(found)) <= (not closes)


@given(BYTES, BYTES, st.integers(2, 12))
def test_what_lies_beyond_the_length_does_not_change_how_a_line_is_read(before, after, length):
    with pytest.MonkeyPatch.context() as patch:
        short(patch, length)
        first = b"p,q\n" + before.split(b"\n")[0] + b"\n" + b"a" * length + b"\n"
        plain = rows_of(first)
        assert rows_of(first + after)[: len(plain)] == plain


def plain_records(content, length):
    """The rule of docs/proofs/files.md, byte by byte."""
    records, begin = [], 0
    while begin < len(content):
        at, closed = begin, True
        while True:  # a cell begins
            if content[at : at + 1] == b'"':
                end = at + 1
                while content[end : end + 1] == b'"' == content[end + 1 : end + 2] or content[end : end + 1] not in (
                    b'"',
                    b"",
                ):
                    end += 2 if content[end : end + 1] == b'"' else 1
                closed = content[end : end + 1] == b'"' and end + 1 - at <= length
                at = end if closed else at
            while content[at : at + 1] not in (b",", b"\n", b"") or (content[at : at + 1] == b"," and not closed):
                at += 1
            at += 1
            if content[at - 1 : at] != b",":
                break
        records.append(content[begin:at] if closed else None)
        begin = at
    return records


def plain_cells(record):
    """The text of each cell of a record: without its end, and without the quotes around its first part."""
    text, cells = record.removesuffix(b"\n").removesuffix(b"\r").decode(), []
    while True:
        quoted, end = "", 0
        if text.startswith('"'):
            end = 1
            while text[end] != '"' or text[end + 1 : end + 2] == '"':
                quoted, end = quoted + text[end], end + (2 if text[end] == '"' else 1)
            end += 1
        stop = text.find(",", end)
        cells.append(quoted + text[end : stop if stop >= 0 else None])
        if stop < 0:
            return tuple(cells)
        text = text[stop + 1 :]


@given(BYTES, st.integers(2, 60), st.integers(1, 3), st.sampled_from([1, 7, 1 << 22]))
def test_rows_are_those_of_the_rule_byte_by_byte(content, length, width, buffer):
    with pytest.MonkeyPatch.context() as patch:
        short(patch, length)
        patch.setattr(table_file, "BUFFER_BYTES", buffer)
        patch.setattr(table_file, "LEAST_LINES", 1)  # the shortest buffer has eight bytes for each cell of these
        records = plain_records(content, length)
        rows = [None if one is None else plain_cells(one) for one in records if one is None or one.decode().strip()]
        expected = [row if row is not None and len(row) == width else (None,) * width for row in rows]
        assert rows_of(b",".join([b"p", b"q", b"r"][:width]) + b"\n" + content) == expected


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16384])
def test_rows_are_the_same_for_any_size_of_block(size, monkeypatch):
    content = b"p,q\n" + b'1,"a\nb"\n2,x\n\n3,"open\n4,yyyyyyyyyyyyyyyyyyyyyyyyy\n"c\nd",z\n5\n' * 5
    short(monkeypatch, 20)
    expected = rows_of(content)
    monkeypatch.setattr(table_file, "BLOCK_LINES", size)
    assert rows_of(content) == expected
    assert expected.count((None, None)) == 5 + 5


@given(ROWS, st.tuples(CELLS, CELLS, CELLS), st.integers(0, 6))
def test_one_record_more_is_one_row_more(rows, record, place):
    """The exact law of neighbors: whatever a record's cells hold, the multiset of rows that a fit counts gains that row."""
    more = Counter(rows_of(written([*rows[:place], record, *rows[place:]])))
    assert more - Counter(rows_of(written(rows))) == Counter([record])


def test_a_note_of_lines_that_look_like_records_is_one_row():
    note = "hello\n" + "\n".join(["20,short,yes"] * 2000)
    assert rows_of(written([("30", note, "no"), ("40", "short", "no")])) == [("30", note, "no"), ("40", "short", "no")]


def test_a_header_is_one_line_and_no_record_decides_whether_it_is_refused():
    for rest in (b"", b"1,2\n", b'1,"secret"\n'):
        with pytest.raises(hr.SchemaError, match="quote in its first line") as raised:
            opened(b'p,"q\n' + rest)
        assert "secret" not in str(raised.value)


def test_a_separator_that_the_encoding_lacks_is_refused():
    with pytest.raises(hr.SchemaError, match="one character of iso-8859-1"):
        CSVFile(io.BytesIO(b"p\n"), FileForm("\u20ac", "iso-8859-1"), "t.csv")


def test_what_could_not_be_read_is_counted():
    table = opened(b'p,q\n1\n\xff,2\n1,"open\n3,4\n')
    whole([table], table.batches())
    assert (table.malformed, table.open_quotes, table.unreadable.total()) == (2, 1, 1)
    bad, malformed, quotes = unread([table])
    assert "1 cell of the column 'p'" in bad
    assert "number of cells than the header's in 1 record:" in malformed
    assert quotes.startswith("open quote in 1 record:")


SCHEMA = hr.Schema({"age": hr.Numeric(0, 120), "note": hr.Categorical(["short"])}, classes=["no", "yes"], target="y")


@pytest.fixture
def notes(folder):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 400)
    note = np.where(np.arange(400) % 3, "short", 'first "line"\n20,short,yes\r\nlast,')
    frame = pd.DataFrame({"age": age, "note": note, "y": np.where(age > 50, "yes", "no")})
    frame.to_csv("notes.csv", index=False)
    SCHEMA.save("notes.toml")
    return frame


def test_every_reader_reads_the_records_that_pandas_wrote(notes, run):
    """A fit on the file is bit for bit the one on the frame; commands count its records."""
    model = hr.EDPRFClassifier(epsilon=5.0, schema=SCHEMA, random_state=0)
    expected = model.fit(notes[["age", "note"]], notes.y).predict(notes[["age", "note"]]).tolist()
    records = hr.Records.from_csv("notes.csv", "y")
    found = model.fit(records)
    assert found.predict(notes[["age", "note"]]).tolist() == expected
    assert [one for block in hr.engines.predict(records, found) for one in block.tolist()] == expected
    options = ("--schema", "notes.toml", "--epsilon", "5")
    for data in ("notes.csv", "pipe"):
        if data == "pipe":
            os.mkfifo("pipe")
            writer = Thread(target=lambda: Path("pipe").write_bytes(Path("notes.csv").read_bytes()))
            writer.start()
        system = ("--system", "edprf", "--param", "random_state=0")
        done = run("train", data, *options, *system, "--force", "--out", "n.hedgerow")
        assert done.exit_code == 0, done.output
        assert hr.load("n.hedgerow").predict(notes[["age", "note"]]).tolist() == expected
    writer.join()
    done = run("predict", "n.hedgerow", "notes.csv", "--out", "p.csv")
    assert done.exit_code == 0, done.output
    assert pd.read_csv("p.csv").prediction.tolist() == expected
    done = run("schema", "check", "notes.csv", "--schema", "notes.toml", "--json")
    assert json.loads(done.stdout)["lines"] == 400
    assert json.loads(done.stdout)["features"]["note"]["undeclared"] == 134
    done = run("schema", "init", "notes.csv", "--target", "y")
    assert done.exit_code == 0, done.output
    assert "short" in done.stdout
    assert hr.Schema.from_toml(done.stdout).classes == ("no", "yes")
    done = run("evaluate", "n.hedgerow", "notes.csv", "--epsilon", "1000")
    assert done.exit_code == 0, done.output
    done = run("search", "notes.csv", *options, "--try", "n_estimators=2,3", "--out", "s.hedgerow")
    assert done.exit_code == 0, done.output


def test_predict_says_what_schema_check_says_and_train_says_no_count(notes, run, folder):
    (folder / "odd.csv").write_bytes((folder / "notes.csv").read_bytes() + b'20,caf\xe9,no\n30\n40,"open,no\n')
    done = run(
        "train", "odd.csv", "--schema", "notes.toml", "--epsilon", "5", "--system", "edprf", "--out", "o.hedgerow"
    )
    assert done.exit_code == 0, done.output
    assert not any(word in done.output for word in ("open quote", "not of the file's encoding", "number of cells than"))
    check = run("schema", "check", "odd.csv", "--schema", "notes.toml")
    done = run("predict", "o.hedgerow", "odd.csv", "--out", "o.csv")
    assert done.exit_code == 0, done.output
    said = [line for line in check.stderr.splitlines() if line.startswith("WARNING")][:3]
    assert [line for line in done.stderr.splitlines() if line.startswith("WARNING")][:3] == said
    assert "open quote in 1 record:" in said[2]
    with pytest.warns(hr.errors.UnreadColumnWarning, match="open quote in 1 record:"):
        list(hr.engines.predict(hr.Records.from_csv("odd.csv", "y"), hr.load("o.hedgerow")))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_commands_read_a_folder_as_records_do(notes, run, folder, ending):
    pytest.importorskip("pyarrow")
    (folder / "parts").mkdir()
    for place, part in enumerate((notes[:100], notes[100:])):
        path = folder / "parts" / f"part-{place}.{ending}"
        part.to_csv(path, index=False) if ending == "csv" else part.to_parquet(path, index=False)
    options = ("--schema", "notes.toml", "--epsilon", "5", "--system", "edprf", "--param", "random_state=0")
    for data in ("notes.csv", "parts"):
        done = run("train", data, *options, "--out", f"{data}.hedgerow")
        assert done.exit_code == 0, done.output
    X = notes[["age", "note"]]
    assert (hr.load("parts.hedgerow").predict_proba(X) == hr.load("notes.csv.hedgerow").predict_proba(X)).all()
    whole, parts = (run("predict", "parts.hedgerow", data).stdout for data in ("notes.csv", "parts"))
    assert whole == parts
    whole, parts = (run("schema", "check", data, "--schema", "notes.toml").stdout for data in ("notes.csv", "parts"))
    assert whole == parts
    whole, parts = (run("schema", "init", data).stdout for data in ("notes.csv", "parts"))
    assert whole == parts
    (folder / "empty").mkdir()
    assert "no file is named like empty" in run("predict", "parts.hedgerow", "empty").stderr


@pytest.mark.parametrize("name", [None, "id"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_index_of_a_pandas_table_is_a_column_that_is_not_declared(notes, run, ending, name):
    pytest.importorskip("pyarrow")
    if ending == "csv" and name is not None:
        pytest.skip("a named index of a CSV file is a column like any other")
    table = notes[notes.age > 30].rename_axis(name)
    (table.to_csv if ending == "csv" else table.to_parquet)(f"index.{ending}")
    done = run("train", f"index.{ending}", "--schema", "notes.toml", "--epsilon", "5", "--out", "i.hedgerow")
    assert done.exit_code != 0
    assert "which the schema does not declare" in done.stderr
    assert "index=False" in done.stderr
    records = getattr(hr.Records, f"from_{ending}")(f"index.{ending}", "y")
    with pytest.raises(hr.SchemaError, match="which the schema does not declare"):
        hr.EDPRFClassifier(epsilon=1.0, schema=SCHEMA).fit(records)


def test_the_certificate_states_the_length():
    fitted = hr.EDPRFClassifier(epsilon=1.0, schema=SCHEMA).fit(
        {"age": [1.0, 2.0], "note": ["short"] * 2}, ["no", "yes"]
    )
    assert f"at most {LONGEST_QUOTED} bytes" in fitted.certificate_.details()
