"""Text that kernels read: each cell as the plain rules read it alone (docs/proofs/files.md)."""

from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.reading import cells as cells_module
from hedgerow.reading import formats, text_cells
from hedgerow.reading.cells import CategoryReader, Rule, number, numbers
from hedgerow.reading.columns import arrow_texts
from hedgerow.reading.formats import NO_FIELDS, PLAIN, DateFormat, NumberFormat, date_reader, microseconds
from hedgerow.reading.kernels import POWERS, find_distinct, read_moments, read_numbers
from hedgerow.reading.persons import person_ids
from hedgerow.reading.text_cells import Texts, joined, one_after_another
from hedgerow.schema import Categorical, Encoder, Numeric, Schema

FORMS = [NumberFormat(*marks) for marks in (".", ",", (".", ","), (",", "."), (",", " "), (".", "'"), (",", "\u2019"))]
WORDS = [
    "",
    " ",
    "NA",
    "nan",
    "-Infinity",
    "true",
    "1_0",
    "\u0663",
    "0x1",
    "1e400",
    "-1e-400",
    "+",
    "-.",
    "1e",
    "\xa05",
    "5\x1c",
    "x",
    "Not a number",
    "Total",
    "Inf ",
    "\tFALSE",
]
DIGITS = st.text("0123456789", max_size=22)
NUMBERS = st.one_of(
    st.sampled_from(WORDS),
    st.text("0123456789.,'eE+- _\u2019", max_size=12),
    st.floats().map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: f"{value:.{abs(hash(value)) % 20}e}"),
    st.builds("{}{}.{}e{}".format, st.sampled_from(["", "+", "-", " "]), DIGITS, DIGITS, st.integers(-30, 30)),
    st.builds("{:,}".format, st.integers(-(10**12), 10**12)),
)


def texts(cells):
    """The column of these cells, with bytes between them that belong to none."""
    raw = [b"" if cell is None else cell.encode("utf-8", "surrogatepass") for cell in cells]
    ends = np.cumsum([2, *(len(one) + 2 for one in raw)], dtype=np.int64)
    starts = np.where([cell is None for cell in cells], -1, ends[:-1]) if cells else ends[:-1]
    return Texts(np.frombuffer(b"7\xff" + b"".join(one + b"7\xff" for one in raw), np.uint8), starts, ends[1:] - 2)


def bits(values):
    return np.where(np.isnan(values), np.nan, values).view(np.int64).tolist()


@given(st.lists(st.none() | NUMBERS, max_size=20), st.sampled_from(FORMS))
def test_numbers_are_those_of_the_plain_rule(cells, form):
    expected = [number(cell) if form == PLAIN else form.number(cell) for cell in cells]
    assert bits(form.numbers(texts(cells))) == bits(np.array(expected, dtype=float))


@pytest.mark.parametrize("digits", [15, 16, 17, 19])
@pytest.mark.parametrize("decimal", [".", ","])
def test_the_kernel_rounds_as_python_does(digits, decimal):
    """Every power of ten that it reads, and halves between two floats; nearly none is left to Python."""
    rng = np.random.default_rng(digits)
    whole = rng.integers(10 ** (digits - 1), min(10**digits, 2**63 - 1), 4000).tolist()
    cells = [f"{value}e{power}" for value, power in zip(whole, rng.integers(-22, 23, 4000).tolist(), strict=True)]
    cells += [f"{value % 10**9}{decimal}{value // 10**9}" for value in whole]
    cells += [f"{2**53 + 2 * step + 1}" for step in range(500)] + [
        f"0{decimal}500000000000000166533453694",
        "-0",
        "-0e5",
    ]
    expected = [float(cell.replace(",", ".")) for cell in cells]
    column = texts(cells)
    out, odd = np.empty(len(cells)), np.empty(len(cells), dtype=bool)
    marks = np.array([ord(decimal), 0], dtype=np.uint8)
    read_numbers(*column.places, marks, POWERS, out, odd)
    assert bits(out[~odd]) == bits(np.array(expected)[~odd])
    assert odd.mean() < 0.1
    assert bits(NumberFormat(decimal).numbers(column)) == bits(np.array(expected))


ZONED, LONG = "%Y-%m-%d %H:%M:%S+02:00", "%d %m %Y Uhr %H:%M:%S"
DATES = [None, *map(DateFormat, ("%d.%m.%Y", "%m/%d/%y %H:%M", ZONED, LONG, "%d%m%Y", "%d\u00b7%m\u00b7%y"))]
ODD_DATES = [
    "",
    "NA",
    "2024-02-30",
    "2023-02-29",
    "0000-01-01",
    "2024-12-31T23:59:59.5",
    "2024-12-31 23:59Z",
    "1.2.2024",
]
MOMENTS = st.one_of(
    st.sampled_from(ODD_DATES),
    st.builds(
        lambda text, moment: moment.strftime(text.text if text else "%Y-%m-%d"),
        st.sampled_from(DATES),
        st.datetimes(datetime(1000, 1, 1)),
    ),
    st.datetimes().map(str),
    st.dates().map(lambda day: f"{day.day}.{day.month}.{day.year:04}"),
    st.builds(
        "{:04}-{:02}-{:02}{}{:02}:{:02}".format,
        *[st.integers(0, 99)] * 3,
        st.sampled_from(" T"),
        *[st.integers(0, 61)] * 2,
    ),
    st.text("0123456789.-/: T", max_size=19),
)


@given(st.lists(st.none() | MOMENTS, max_size=20), st.sampled_from(DATES), st.sampled_from(["day", "second"]))
def test_moments_are_those_of_the_plain_rule(cells, form, unit):
    objects = np.array([*cells, None], dtype=object)[:-1]
    assert bits(date_reader(unit, ["1999-09-09"], form)(texts(cells))) == bits(
        date_reader(unit, ["1999-09-09"], form)(objects)
    )


ASCII = list(map(chr, range(128)))


def with_each_character(cells):
    """These cells with each ASCII character before them, behind them and in them, once and twice."""
    return [text for one in cells for mark in (*ASCII, *(2 * each for each in ASCII))
            for text in (mark + one, one + mark, one[:1] + mark + one[1:])]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_numbers_with_any_character_are_those_of_the_plain_rule(form):
    cells = with_each_character(["12", "1234", "-1.5", "1,25"])
    expected = [number(cell) if form == PLAIN else form.number(cell) for cell in cells]
    assert bits(form.numbers(texts(cells))) == bits(np.array(expected, dtype=float))


@pytest.mark.parametrize("form", DATES, ids=str)
def test_moments_with_any_character_are_those_of_the_plain_rule(form):
    cells = with_each_character(["2024-05-06", "2024-05-06 07:08", "06.05.2024", "05/06/24 07:08"])
    read = date_reader("second", [], form)
    assert bits(read(texts(cells))) == bits(read(np.array(cells, dtype=object)))


def test_the_kernel_reads_every_day():
    days = np.arange(np.datetime64("0001-01-01"), np.datetime64("9999-12-31"), 17).astype(str).tolist()
    column = texts(days)
    out, odd = np.zeros(len(days), dtype=np.int64), np.empty(len(days), dtype=bool)
    read_moments(*column.places, NO_FIELDS, False, out, odd)
    assert not odd.any()
    assert out.tolist() == [microseconds(day) for day in days]


OF_WORDS = st.text("ab1 .\xe9", max_size=3) | st.sampled_from(
    [
        "a long text",
        "a long text ",
        "x long text",
        "a long texts",
        "nan",
        "NAN",
        "Inf",
        "true",
        "None",
        "naT",
        "b\x1c",
        "xb\xe9",
        "b" * 20,
    ]
)


@given(st.lists(st.none() | OF_WORDS, max_size=40))
def test_distinct_texts_and_their_places(cells):
    column = texts(cells)
    distinct, places = column.distinct()
    found = distinct.tolist()
    assert found == list(dict.fromkeys(cells))
    assert [found[place] for place in places] == cells == column.tolist()
    objects = column.astype(object)
    reader = CategoryReader(["a", 1, "\xe9", "a long text"], ["b", "xb"])
    assert reader.codes(column).tolist() == reader.codes(objects).tolist()
    assert bits(numbers(column)) == bits(numbers(objects))
    assert person_ids(column, bytes(32)).tolist() == person_ids(objects, bytes(32)).tolist()


def test_more_texts_than_the_first_table_holds_are_told_apart():
    cells = [f"{place:04}" for place in range(6000)] * 2
    distinct, places = texts(cells).distinct()
    assert distinct.tolist() == cells[:6000]
    assert places.tolist() == [*range(6000)] * 2


@given(st.lists(st.lists(st.none() | st.text(max_size=3).filter(str.isprintable), max_size=5), min_size=1, max_size=4))
def test_columns_one_after_another(columns):
    (found,) = one_after_another([[texts(cells)] for cells in columns])
    assert found.tolist() == [cell for cells in columns for cell in cells]


def test_parts_that_share_their_bytes_share_them_when_joined():
    """One record's long cell must not be copied for each block."""
    column = texts(["a", "bc", "d"])
    found, other = one_after_another([[column[:2], column[1:]], [column[2:], column[:1]], [column[:1], column[:1]]])
    assert found.tolist() == ["a", "bc", "d", "a"]
    assert other.tolist() == ["bc", "d", "a", "a"]
    assert len(found.places[0]) == len(column.places[0]) == len(other.places[0])


@given(st.lists(st.none() | st.floats() | st.booleans() | OF_WORDS | st.text(max_size=3), max_size=30))
def test_objects_are_read_alike_whatever_is_beside_them(cells):
    """Text that is most of a block is read by the kernels, and otherwise cell by cell."""
    reader, words = CategoryReader(["a", 1, "\xe9", "a long text"], ["b"]), ["a long text"] * (1 + len(cells))
    for beside in ([], words, [object()] * len(words), [*cells] * 300):
        objects = np.array([*cells, *beside, None], dtype=object)[:-1]
        assert reader.codes(objects)[: len(cells)].tolist() == [reader.code(cell) for cell in cells]
        assert bits(numbers(objects)[: len(cells)]) == bits(np.array([number(cell) for cell in cells], dtype=float))


@pytest.mark.parametrize("known", [True, False])
def test_objects_are_read_alike_where_python_keeps_them_and_elsewhere(known, monkeypatch):
    assert text_cells.layout()  # of each Python that is tested
    if not known:
        monkeypatch.setattr(text_cells, "layout", lambda: ())
    kind = type("Kind", (str,), {})
    cells = [
        str(1.5),
        "a" * 500,
        "",
        "\0",
        "x\xe9",
        "\u20ac",
        "\ud800",
        kind("a"),
        1.5,
        -0.0,
        np.float64(2),
        7,
        10**400,
        None,
        b"a",
    ]
    reader = CategoryReader(["a" * 500, "x\xe9", "\u20ac", "a", 1.5, 7])
    for beside in ([], ["text"] * 9, [2.5] * 9, ["\xe9"] * 9, [None] * 9):
        for some in (cells, cells[:3], cells[:6], cells[8:10], cells[8:]):
            objects = np.array([*some, *beside, None], dtype=object)[:-1]
            assert reader.codes(objects).tolist() == [reader.code(cell) for cell in objects]
            assert bits(numbers(objects)) == bits(np.array([number(cell) for cell in objects], dtype=float))


LONG = [
    f"{first}{middle}{last}"
    for first in ("", "begin it")
    for middle in ("", "a", "ab", "b")
    for last in ("", "12345678")
]


@given(st.lists(st.none() | st.sampled_from(LONG) | st.text("ab\0", max_size=10) | st.text(max_size=9), max_size=30))
def test_a_known_spelling_is_told_by_all_its_bytes(cells):
    reader = CategoryReader([*LONG[1:], "\xe9", "a" * 9, "b" * 9, 10**15, True], ["?"])
    for column in (texts(cells), Texts(*texts(cells).places, decode=lambda cell: cell.decode("latin-1"))):
        assert reader.codes(column).tolist() == [reader.code(cell) for cell in column.tolist()]


@given(
    st.lists(
        st.none() | st.sampled_from(LONG) | st.text("ab\0", max_size=9) | st.text("1\xe9", max_size=3), max_size=30
    ),
    st.integers(0, 30),
    st.integers(0, 30),
    st.sampled_from(["string", "large_string", "string_view"]),
)
def test_arrow_text_is_looked_up_in_any_chunks(cells, one, other, kind):
    """Also in slices of chunks, and where the bytes of a text are the first of all."""
    pa = pytest.importorskip("pyarrow")
    first, last = sorted((one, other))
    parts = cells[:first], cells[first:last], cells[last:]
    whole = pa.chunked_array([pa.array(part, pa.string()).cast(getattr(pa, kind)()) for part in parts])
    reader = CategoryReader([*LONG[1:], "\xe9", "1", "a" * 9, "b" * 9], ["?"])
    expected = [reader.code(cell) for cell in cells]
    assert reader.codes(arrow_texts(whole)).tolist() == expected
    assert reader.codes(arrow_texts(whole.slice(first // 2, last))).tolist() == expected[first // 2 : first // 2 + last]


@given(st.lists(st.sampled_from([*LONG, None, 1.0, 2.5, 1, "?"]) | st.text("ab\0", max_size=9), max_size=30))
def test_objects_of_known_text_are_told_by_all_their_bytes(cells):
    reader = CategoryReader([*LONG[1:], 1, "a" * 9, "b" * 9], ["?"])
    for some in (cells, [cell for cell in cells if isinstance(cell, str)], cells[:1]):
        objects = np.array([*some, None], dtype=object)[:-1]
        assert reader.codes(objects).tolist() == [reader.code(cell) for cell in some]


def test_long_texts_that_end_alike_are_told_apart():
    """More than a table has slots, so that some of them begin where the known one is."""
    cells = [f"{place:05}12345678" for place in range(20_000)]
    assert np.flatnonzero(CategoryReader(cells[5:6]).codes(texts(cells)) == 0).tolist() == [5]


def test_the_codes_of_cells_in_no_encoding_of_the_schema():
    """The bytes of one text in UTF-8 are another text in an encoding of a byte for each character."""
    reader, cells = CategoryReader(["\xe9", "\xc3\xa9"]), texts(["\xe9"])
    assert reader.codes(cells).tolist() == [0]
    assert reader.codes(Texts(*cells.places, decode=lambda cell: cell.decode("latin-1"))).tolist() == [1]


def test_many_objects_are_read_in_pieces(monkeypatch):
    monkeypatch.setattr(cells_module, "AT_ONCE", 3)
    cells = np.array(["a", None, 1, "b", 2.5, "a", "z", 1], dtype=object)
    reader = CategoryReader(["a", "b", 1])
    assert reader.codes(cells).tolist() == [reader.code(cell) for cell in cells]
    assert bits(numbers(cells)) == bits(np.array([number(cell) for cell in cells]))


def test_each_object_of_a_column_is_read_once():
    asked = []
    rule = Rule(lambda cell: asked.append(cell) or len(asked), np.int64)
    objects = [1.5, None, "x", float("nan")]
    cells = np.empty(4000, dtype=object)
    cells[:] = [objects[place % 4] for place in range(4000)]
    assert len(set(rule(cells).tolist())) == len(asked) == 4


def test_rows_and_arrays_are_taken_as_of_an_array():
    column = texts(["a", None, "c"])
    assert column[1:].tolist() == [None, "c"]
    assert column[:0].tolist() == [] == column[0:0].tolist()
    assert column[np.array([True, False, True])].tolist() == list(column[[0, 2]]) == ["a", "c"]
    assert np.asarray(column).tolist() == ["a", None, "c"]
    assert len(column) == column.shape[0] == 3


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_arrow_text_is_read_where_it_lies(kind):
    pa = pytest.importorskip("pyarrow")
    cells = ["x", None, "", "\xe9\xe9", "12.5"] * 3
    whole = pa.chunked_array([pa.array(cells[:4]), pa.array(cells[4:])]).cast(getattr(pa, kind)())
    for start, count in ((0, 15), (2, 7), (5, 0)):
        assert arrow_texts(whole.slice(start, count)).tolist() == cells[start : start + count]


def test_arrow_text_that_is_not_utf8_is_no_id():
    """Different bytes would read as one U+FFFD."""
    pa = pytest.importorskip("pyarrow")
    column = arrow_texts(pa.chunked_array([pa.array([b"\xff", b"\xfe", b"a"], pa.binary()).view(pa.string())]))
    assert column.tolist() == ["\ufffd", "\ufffd", "a"]
    assert person_ids(column, bytes(32)).any(axis=1).tolist() == [False, False, True]


def test_one_long_text_in_many_records_is_not_joined(monkeypatch):
    monkeypatch.setattr(text_cells, "MOST_JOINED", 1000)
    long = "a" * 500
    assert joined([long, long]) is None
    assert joined([long, "b"]).tolist() == [long, "b"]
    cells = np.array([long, "b", None] * 300, dtype=object)
    assert CategoryReader(["b"]).codes(cells).tolist() == [2, 0, 1] * 300


def test_no_record_decides_which_kernels_run():
    """A kernel is compiled, and kept on disk, for each kind of array: nulls or odd cells must not make another one."""
    pa = pytest.importorskip("pyarrow")
    kernels = find_distinct, read_moments, read_numbers

    def read(cells):
        for column in (texts(cells), texts(cells)[::2], arrow_texts(pa.chunked_array([pa.array(cells, pa.string())]))):
            numbers(column)
            date_reader("day")(column)

    read(["1", "2"])
    known = [kernel.signatures for kernel in kernels]
    for cells in ([], ["1"], [None], ["1", None, "x"], ["2020-01-01", "x"], ["\0"]):
        read(cells)
    assert [kernel.signatures for kernel in kernels] == known
    assert list(map(len, known)) == [1, 1, 1]


@pytest.mark.parametrize("cells", [[], [1.5, 2], [None], ["1", "x", 3], [1, "x", 3], ["\0"], ["\ud800"]])
def test_a_kernel_runs_whatever_a_column_of_objects_holds(cells, monkeypatch):
    calls, objects = set(), np.array([*cells, None], dtype=object)[:-1]
    for module, name in ((text_cells, "look_up"), (formats, "read_moments"), (cells_module, "read_numbers")):
        kernel = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, name=name, kernel=kernel: calls.add(name) or kernel(*given))
    for read, name in (
        (numbers, "read_numbers"),
        (date_reader("day"), "read_moments"),
        (CategoryReader(["x"]).codes, "look_up"),
    ):
        calls.clear()
        read(objects)
        assert name in calls


def test_a_kernel_for_odd_cells_runs_without_any(monkeypatch):
    calls = []
    monkeypatch.setattr(text_cells, "find_distinct", lambda *given: calls.append(1) or find_distinct(*given))
    for read in (numbers, date_reader("day"), CategoryReader(["1", "2"]).codes):
        text_cells.ready.cache_clear()
        read(texts(["1", "2"]))
        assert calls.pop() == 1


def test_whether_a_dictionary_has_more_values_than_records_or_odd_cells_decides_no_kernel(monkeypatch):
    pa, calls = pytest.importorskip("pyarrow"), {2: [], 5: []}
    for rows, seen in calls.items():
        monkeypatch.setattr(
            text_cells, "find_distinct", lambda *given, seen=seen: seen.append(1) or find_distinct(*given)
        )
        text_cells.ready.cache_clear()
        words = pa.DictionaryArray.from_arrays(
            pa.array([0, None, 2, 0, 1][:rows], pa.int8()), pa.array(["a", "b", "c"])
        )
        schema = Schema({"k": Categorical(["a", "b", "c"])}, classes=[0, 1])
        assert Encoder(schema, 16).transform(pa.table({"k": words})).ravel().tolist() == [0, 3, 2, 0, 1][:rows]
        digits = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1, 1][:rows], pa.int8()), pa.array(["1", "x", " 3"]))
        encoder = Encoder(Schema({"n": Numeric(0, 4)}, classes=[0, 1]), 4)
        assert encoder.transform(pa.table({"n": digits})).ravel().tolist() == [1, 4, 3, 4, 4][:rows]
    assert calls[2] == calls[5]
