import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import SchemaError
from hedgerow.cli import csv_file
from hedgerow.cli.csv_file import cells_of_line
from hedgerow.cli.tables import open_table, read_table

TEXTS = st.text(st.sampled_from('ab ",;\t0é'), max_size=20)


@pytest.fixture
def table(tmp_path):
    def read(content, separator=","):
        path = tmp_path / "t.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return {name: cells.tolist() for name, cells in read_table(path, separator).items()}

    return read


@given(TEXTS, st.sampled_from(",;\t"))
def test_a_line_is_read_as_the_csv_module_reads_it_alone(line, separator):
    [expected] = csv.reader([line], delimiter=separator) if line else [[""]]
    assert cells_of_line(line, separator) == (expected or [""])


@given(st.lists(TEXTS, min_size=1))
def test_what_the_csv_module_writes_is_read_back(cells):
    line = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    assert cells_of_line(line) == cells


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("a,b", ["a", "b"]),
        ("", [""]),
        (",", ["", ""]),
        ('"a,b",c', ["a,b", "c"]),
        ('"a ""b""",c', ['a "b"', "c"]),
        ('"open,c', ["open,c"]),
        ('a,"open', ["a", "open"]),
        ('a"b,c', ['a"b', "c"]),
        ('"a"b"c,d', ['ab"c', "d"]),
        ('"', [""]),
        ('""', [""]),
        ('"""', ['"']),
    ],
)
def test_quotes(line, cells):
    assert cells_of_line(line) == cells


def test_a_stray_quote_ends_with_its_line(table):
    assert table('a,b\n1,2\n"3,4\n5,"6\n7,8\n') == {"a": ["1", None, "5", "7"], "b": ["2", None, "6", "8"]}


def test_a_wrong_number_of_cells_is_a_record_without_cells(table):
    assert table("a,b\n1\n1,2,3\n1,2\n") == {"a": [None, None, "1"], "b": [None, None, "2"]}


def test_blank_lines_are_skipped(table):
    assert table("\n  \na,b\n\n1,2\n \t \n,\n") == {"a": ["1", ""], "b": ["2", ""]}
    assert table("a\tb\n\t\n", "\t") == {"a": [""], "b": [""]}


def test_line_ends_marks_and_bytes(table):
    assert table(b"\xef\xbb\xbfa, b \r\n1,2\r\n3,\xff\n\xe2\x82,4") == {"a": ["1", "3", "�"], "b": ["2", "�", "4"]}


def test_only_a_line_feed_ends_a_record(table):
    odd = "1\r2,x\x0b\x0c\x1c\x85\u2028y"
    assert table(f"a,b\n{odd}\n3,4\n") == {"a": ["1\r2", "3"], "b": [odd.split(",")[1], "4"]}


def test_long_cells_and_nul_bytes(table):
    long = "x" * 200_000
    assert table(f'a,b\n"{long}",\0\n') == {"a": [long], "b": ["\0"]}


def test_blocks_make_one_table(table, monkeypatch):
    monkeypatch.setattr(csv_file, "BLOCK_LINES", 3)
    text = [str(i) for i in range(10)]
    assert table("a,b\n" + "".join(f"{i},{i}\n" for i in text)) == {"a": text, "b": text}


def test_no_records(table):
    assert table("a,b") == {"a": [], "b": []}


def test_a_quoted_header(table):
    assert table('"a,1" , b\nx,y\n') == {"a,1": ["x"], "b": ["y"]}


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "is empty"), (" \n\n", "is empty"), ("a,b, a\n", "columns 1 and 3"), ("a,b\r1,2\r", "carriage")],
)
def test_a_wrong_header(table, content, words):
    with pytest.raises(SchemaError, match=words):
        table(content)


def test_no_header_error_quotes_a_line(table):
    with pytest.raises(SchemaError) as caught:
        table("secret,secret\n")
    assert "secret" not in str(caught.value)


def test_the_file_is_closed(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with open_table(tmp_path / "t.csv") as opened:
        assert opened.header == ("a",)
    with pytest.raises(ValueError, match="closed"):
        next(opened.blocks())


@given(odd=st.text(max_size=30).filter(lambda text: "\n" not in text), place=st.integers(0, 4))
def test_an_odd_line_changes_no_other_record(tmp_path_factory, odd, place):
    path = tmp_path_factory.getbasetemp() / "odd.csv"
    lines = ["1,x", '2,"y', "3", '"4,",z']
    path.write_text("\n".join(["a,b", *lines]), "utf-8", newline="")
    plain = list(zip(*(cells.tolist() for cells in read_table(path).values()), strict=True))
    path.write_bytes("\n".join(["a,b", *lines[:place], odd, *lines[place:]]).encode("utf-8", "surrogatepass"))
    rows = list(zip(*(cells.tolist() for cells in read_table(path).values()), strict=True))
    if len(rows) > len(plain):
        del rows[place]
    assert rows == plain
