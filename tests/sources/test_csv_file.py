import bz2
import csv
import gzip
import io
import lzma
import os
import time
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import FileFormatError, SchemaError
from hedgerow.reading import table_file
from hedgerow.reading.table_file import CSVFile, FileForm, guess_format, open_table, read_table, unread, whole

TEXTS = st.text(st.sampled_from('ab ",;\t0é'), max_size=20)


@pytest.fixture
def table(tmp_path):
    def read(content, separator=","):
        path = tmp_path / "t.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return {name: cells.tolist() for name, cells in read_table(path, FileForm(separator)).items()}

    return read


@given(st.lists(TEXTS, min_size=1), st.sampled_from(",;\t"))
def test_what_the_csv_module_writes_is_read_back(cells, separator):
    file = io.StringIO()
    csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(cells)
    assert cells_of(file.getvalue(), separator) == tuple(cells)


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("a,b", ("a", "b")),
        (",", ("", "")),
        ('"a,b",c', ("a,b", "c")),
        ('"a ""b""",c', ('a "b"', "c")),
        ('"open,c', (None, None)),
        ('a,"open', (None, None)),
        ('a"b,c', ('a"b', "c")),
        ('"a"b"c,d', ('ab"c', "d")),
        ('"a""b"c"",d', ('a"bc""', "d")),
        ('"é""",c', ('é"', "c")),
        ('"",c', ("", "c")),
        ('""', ("",)),
        ('""""', ('"',)),
        ('"', (None,)),
        ("\xa0", ()),
        ("\xa0,", ("\xa0", "")),
    ],
)
def test_quotes(line, cells):
    assert cells_of(line) == cells


def cells_of(line, separator=","):
    """The cells of a file's only record; none if its line is blank."""
    width, form = line.count(separator) + 1, FileForm(separator)
    for columns in range(1, width + 1):
        header = separator.join(f"x{place}" for place in range(columns))
        file = CSVFile(io.BytesIO(f"{header}\n{line}".encode()), form, "t.csv")
        table = whole([file], file.batches())
        rows = list(zip(*(column.tolist() for column in table.values()), strict=True))
        if not rows or rows[0][0] is not None:
            break
    return rows[0] if rows else ()


def test_a_quote_that_does_not_close_is_a_record_without_cells(table):
    assert table('a,b\n1,2\n3,"4\n5,6\n7,8\n') == {"a": ["1", None, "5", "7"], "b": ["2", None, "6", "8"]}


def test_a_wrong_number_of_cells_is_a_record_without_cells(table):
    assert table("a,b\n1\n1,2,3\n1,2\n") == {"a": [None, None, "1"], "b": [None, None, "2"]}


def test_blank_lines_are_skipped(table):
    assert table("\n  \na,b\n\n1,2\n \t \n,\n") == {"a": ["1", ""], "b": ["2", ""]}
    assert table("a\tb\n\t\n", "\t") == {"a": [""], "b": [""]}


def test_a_line_of_other_letters_alone_is_blank_or_one_cell(table):
    """The kernel tells white space of ASCII only; what else such a line holds decides."""
    assert table("a,b\n\u00a0\u3000\n1,2\n\u00e9\u00a0\n3,4\n") == {"a": ["1", None, "3"], "b": ["2", None, "4"]}
    assert table("a\n\u00a0\n\u00e9\n1\n") == {"a": ["\u00e9", "1"]}


def test_line_ends_marks_and_bytes(table):
    assert table(b"\xef\xbb\xbfa, b \r\n1,2\r\n3,\xff\n\xe2\x82,4") == {"a": ["1", "3", "�"], "b": ["2", "�", "4"]}


def test_only_a_line_feed_ends_a_record(table):
    odd = "1\r2,x\x0b\x0c\x1c\x85\u2028y"
    assert table(f"a,b\n{odd}\n3,4\n") == {"a": ["1\r2", "3"], "b": [odd.split(",")[1], "4"]}


def test_long_cells_and_nul_bytes(table):
    long = "x" * 200_000
    assert table(f'a,b\n"{long}",\0\n') == {"a": [long], "b": ["\0"]}


def test_blocks_make_one_table(table, monkeypatch):
    monkeypatch.setattr(table_file, "BLOCK_LINES", 3)
    text = [str(i) for i in range(10)]
    assert table("a,b\n" + "".join(f"{i},{i}\n" for i in text)) == {"a": text, "b": text}


@pytest.mark.parametrize("separator", [",", "\u20ac"])
@pytest.mark.parametrize("least", [1, 2, 3, 7, 50])
def test_buffers_make_one_table(table, monkeypatch, least, separator):
    """The shortest ones hold less than a record, and end at each of its bytes."""
    monkeypatch.setattr(table_file, "BUFFER_BYTES", 1)
    monkeypatch.setattr(table_file, "LEAST_LINES", least)
    cells = ["x" * length for length in range(40)] + [
        "\u00e9\u20ac\U0001f333" * 3,
        "a\nb",
        'say "no"',
        "1,2",
        "y" * 500,
        "z",
    ]
    rows = list(zip(cells, reversed(cells), strict=True))
    text = "".join(separator.join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in rows)
    found = table(f"a{separator}b\n{text}", separator)
    assert found == {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}


def test_no_records(table):
    assert table("a,b") == {"a": [], "b": []}


def test_a_quoted_header(table):
    assert table('"a,1" , b\nx,y\n') == {"a,1": ["x"], "b": ["y"]}


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "is empty"), (" \n\n", "is empty"), ("a,b\r1,2\r", "carriage")],
)
def test_a_wrong_header(table, content, words):
    with pytest.raises(SchemaError, match=words):
        table(content)


def test_a_name_over_two_columns_is_that_of_none(table, tmp_path):
    assert table("a,b, a\n1,2,3\n") == {"b": ["2"]}
    assert table("a,a,b\n") == {"b": []}
    with open_table(tmp_path / "t.csv") as opened:
        assert opened.header == ("a", "a", "b")


WRONG_BYTES = {
    "bzip2": bz2.compress(b"a,b\n1,2\n"),
    "xz": lzma.compress(b"a,b\n1,2\n"),
    "7-Zip": b"7z\xbc\xaf\x27\x1c\x00\x04",
    "zip archive": b"PK\x03\x04\x14\x00\x00\x00",
    "Parquet file": b"PAR1\x15\x04\x15\x10\x00",
    "Feather": b"ARROW1\x00\x00\xff\xff\xff\xff",
    "ORC": b"ORC\x00\n\x0b",
    "Excel": bytes.fromhex("d0cf11e0a1b11ae1") + bytes(20),
    "HDF5": b"\x89HDF\r\n\x1a\n",
    "SQLite": b"SQLite format 3\x00\x10\x00",
    "UTF-16": "a,b\n1,2\n".encode("utf-16-le"),
    "UTF-16 with a mark": "\ufeffa,b\n1,2\n".encode("utf-16-be"),
    "UTF-32": "\ufeffa,b\n1,2\n".encode("utf-32-le"),
    "Latin-1": "größe,b\n1,2\n".encode("latin-1"),
}


def packed(kind, content):
    if kind == "gzip":
        return gzip.compress(content, mtime=0)
    return pytest.importorskip("pyarrow").compress(content, codec="zstd", asbytes=True)


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_packed_files_are_read_as_what_is_in_them(table, tmp_path, kind):
    content = b"a;b\n" + b"".join(b"%d;x%d\n" % (i, i % 7) for i in range(20_000))
    assert table(packed(kind, content), ";") == table(content, ";")
    (tmp_path / "p.csv.gz").write_bytes(packed(kind, content))
    assert guess_format(tmp_path / "p.csv.gz").separator == ";"
    for wrong in (packed(kind, content)[:-20], packed(kind, content)[:3000] + bytes(4000)):
        with pytest.raises(FileFormatError, match="is damaged"):
            table(wrong, ";")
    with pytest.raises(FileFormatError, match="first line"):
        table(packed(kind, WRONG_BYTES["Parquet file"]))


@pytest.mark.parametrize("kind", ["plain", "gzip", "zstd"])
def test_a_pipe_may_begin_with_one_byte(tmp_path, kind):
    content = b"a,b\n1,2\n" if kind == "plain" else packed(kind, b"a,b\n1,2\n")
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write():
        with path.open("wb", buffering=0) as pipe:
            pipe.write(content[:1])
            time.sleep(0.05)
            pipe.write(content[1:])

    writer = Thread(target=write)
    writer.start()
    assert {name: cells.tolist() for name, cells in read_table(path).items()} == {"a": ["1"], "b": ["2"]}
    writer.join()


def test_an_ascii_separator_is_its_ascii_byte_in_every_encoding(table, tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a|b\n1|2\n")
    found = read_table(tmp_path / "t.csv", FileForm("|", "mac_arabic"))
    assert {name: cells.tolist() for name, cells in found.items()} == {"a": ["1"], "b": ["2"]}


@pytest.mark.parametrize("kind", WRONG_BYTES)
def test_a_first_line_that_is_no_text_in_utf_8_is_named(table, kind):
    with pytest.raises(FileFormatError, match=r"zero bytes in its first line|first line that is not in utf-8"):
        table(WRONG_BYTES[kind])


@pytest.mark.parametrize("name", ["PAR1", "ORC", "FEA1", "BZh9", "PK", "ARROW1", "SQLite format 3"])
def test_a_header_that_begins_like_a_mark_is_a_header(table, name):
    assert table(f"{name},x\n1,2\n") == {name: ["1"], "x": ["2"]}


def test_a_first_line_that_never_ends_is_no_csv(table, monkeypatch):
    monkeypatch.setattr(table_file, "LONGEST_HEADER", 1000)
    with pytest.raises(FileFormatError, match="does not end"):
        table("a" * 1001)


@pytest.mark.parametrize("size", [900, 1000, 5000])
@pytest.mark.parametrize("begin", ["a,b\n", "\na,b\n", "\ufeffa,b\n"])
def test_the_length_of_a_first_record_is_no_error(table, monkeypatch, size, begin):
    monkeypatch.setattr(table_file, "LONGEST_HEADER", 1000)
    assert table(f"{begin}{'x' * size},1\n2,3\n") == {"a": ["x" * size, "2"], "b": ["1", "3"]}


def test_bytes_that_are_not_utf_8_are_counted_by_column(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b,c\n\xfc,1,2\n\xfcx,\xfc,2\n1,2,3\n\xfc,1\n")
    with open_table(tmp_path / "t.csv") as opened:
        whole([opened], opened.batches())
        assert (opened.unreadable, opened.malformed) == ({"a": 2, "b": 1}, 1)
    warning, _ = unread([opened])
    assert warning.startswith("3 cells of the columns 'a', 'b' have bytes that are not of the file's encoding")


@pytest.mark.parametrize("blank", [b"", b"\n", b"\n" * 40])
def test_no_byte_after_the_header_is_an_error(table, blank):
    for content in (b"\xfc,\x00", b"\xff\xfe,1", b"PK\x03\x04,2", b"\x1f\x8b,3"):
        found = table(blank + b"a,b\n" + content + b"\n1,2\n")
        assert [found["a"][-1], found["b"][-1], len(found["a"])] == ["1", "2", 2]


@given(
    odd=st.binary(max_size=12).map(lambda content: content.replace(b"\n", b"").replace(b",", b"")),
    separator=st.sampled_from(",;\té§\u20ac"),
    column=st.integers(0, 2),
)
def test_odd_bytes_in_a_cell_change_no_other_cell_unless_they_are_a_quote_or_a_separator(
    tmp_path_factory, odd, separator, column
):
    path = tmp_path_factory.getbasetemp() / "bytes.csv"
    cells = [b"1", "ü".encode(), b"x"]
    cells[column] = odd
    lines = [b"a", b"b", b"c"], [b"0", b"0", b"0"], cells, [b"9", b"9", b"9"]
    path.write_bytes(b"\n".join(separator.encode().join(line) for line in lines))
    found = list(zip(*(column.tolist() for column in read_table(path, FileForm(separator)).values()), strict=True))
    assert [found[0], found[-1]] == [("0", "0", "0"), ("9", "9", "9")]
    assert len(found) == 3
    if b'"' in odd or separator in odd.decode("utf-8", "replace"):
        return
    expected = ["1", "ü", "x"]
    expected[column] = odd.decode("utf-8", "replace")
    if column == 2:
        expected[2] = expected[2].removesuffix("\r")
    assert list(found[1]) == expected


@pytest.mark.parametrize("separator", [",", "§", "\u20ac"])
def test_a_cut_letter_swallows_no_separator_and_no_line_end(table, separator):
    for lead in range(0x80, 0x100):
        line = bytes([lead])
        content = f"a{separator}b\n".encode() + line + separator.encode() + line + b"\n1" + separator.encode() + b"2\n"
        assert table(content, separator) == {"a": ["\ufffd", "1"], "b": ["\ufffd", "2"]}


def test_the_file_is_closed(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with open_table(tmp_path / "t.csv") as opened:
        assert opened.header == ("a",)
    with pytest.raises(ValueError, match="closed"):
        next(opened.batches())


@given(odd=st.text(max_size=30).filter(lambda text: not {"\n", '"'} & set(text)), place=st.integers(0, 4))
def test_an_odd_line_without_quotes_changes_no_other_record(tmp_path_factory, odd, place):
    path = tmp_path_factory.getbasetemp() / "odd.csv"
    lines = ["1,x", '2,y"', "3", '"4,",z']
    path.write_text("\n".join(["a,b", *lines]), "utf-8", newline="")
    plain = list(zip(*(cells.tolist() for cells in read_table(path).values()), strict=True))
    path.write_bytes("\n".join(["a,b", *lines[:place], odd, *lines[place:]]).encode("utf-8", "surrogatepass"))
    rows = list(zip(*(cells.tolist() for cells in read_table(path).values()), strict=True))
    if len(rows) > len(plain):
        del rows[place]
    assert rows == plain
