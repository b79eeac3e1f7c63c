"""Ids of persons: exactly one for one person, whatever stands in a cell, and by that cell alone."""

from __future__ import annotations

import datetime
import uuid
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

import hedgerow as hr
from hedgerow.errors import ConfigurationError
from hedgerow.reading.cells import object_array
from hedgerow.reading.persons import LONGEST, Groups, person_ids, person_text, read_groups

from schema.odd_cells import CELLS, NOT_A_TIME, ODD, WORST  # isort: skip

pytestmark = pytest.mark.filterwarnings("ignore:groups is a column of floating-point numbers")

KEY = bytes(32)
BIG = 2**53


def ids(*cells, missing=()):
    return [tuple(row) for row in person_ids(object_array(cells, len(cells)), KEY, missing).tolist()]


@pytest.mark.parametrize(
    "same",
    [
        (
            7,
            7.0,
            "7",
            " 7 ",
            "7\r\n",
            np.int8(7),
            np.float32(7),
            np.float16(7),
            Decimal("7"),
            Decimal("7.00"),
            b"7",
        ),
        (1, True, "1", np.bool_(True)),
        (BIG + 1, str(BIG + 1), np.int64(BIG + 1)),
        (10**25, str(10**25), Decimal(10**25)),
        ("p-17", " p-17\n", b"p-17", np.str_("p-17")),
        ("2020-01-02", datetime.date(2020, 1, 2), np.datetime64("2020-01-02")),
        (uuid.UUID(int=5), str(uuid.UUID(int=5))),
        (-0.0, 0, "0"),
        ("Ren\u00e9", "Rene\u0301", "Ren\u00e9".encode(), " Rene\u0301 "),
        ("\u212b", "\u00c5"),  # the sign of the unit is by Unicode the letter
    ],
)
def test_cells_that_differ_only_by_how_they_are_stored_are_one_id(same):
    found = ids(*same)
    assert len(set(found)) == 1
    assert found[0] != (0, 0)


def test_cells_that_differ_by_what_is_written_are_different_ids():
    different = [
        *(
            "1",
            "01",
            "001",
            "+1",
            "1.",
            "1.0",
            "1.1",
            "1.10",
            "1.100",
            "01.1",
            "10",
            "1e1",
            "1e01",
            "1E1",
            "-1",
            "-01",
            "0",
            "-0",
            "00",
        ),
        *(
            "7.0",
            "007",
            "0x7",
            "\u0667",
            "\uff17",
            "\u00b2",
            "2",
            "I",
            "\u2160",
            "100000",
            "1e5",
            "1_000",
            "1000",
            "1,000",
        ),
        *(
            "a",
            "A",
            "a b",
            "ab",
            "a  b",
            "a\xa0",
            "\xa0a",
            "a\u200b",
            "ss",
            "\u00df",
            "\ufb01",
            "fi",
            "true",
            "True",
            "inf",
        ),
        *(
            "\uf900",
            "\u8c48",
            "\U0002f800",
            "\u4e3d",
            "ff",
            "t:1",
            BIG,
            BIG + 1,
            str(BIG + 2),
        ),
    ]
    found = ids(*different)
    assert len(set(found)) == len(different)
    assert (0, 0) not in found


def test_a_column_of_floats_warns_that_only_whole_numbers_are_ids():
    """By the column's type alone: no cell decides whether it warns."""
    for column in ([1.0], [1.5], [float("nan")]):
        with pytest.warns(UserWarning, match="Read ids as text"):
            read_groups(np.array(column), 1, ())
    for column in (["1.5"], pd.Series([1, None], dtype="Int64")):
        read_groups(column, len(column), ())


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.float16])
def test_a_float_is_an_id_only_where_its_type_holds_every_integer_up_to_it(kind):
    """From there on two integers are one float: whoever it was of is lost."""
    end = 2 ** (np.finfo(kind).nmant + 1)
    assert ids(kind(end - 1), kind(1 - end)) == ids(end - 1, 1 - end)
    with np.errstate(over="ignore"):
        assert kind(end) == kind(end + 1)
    for cells in ([kind(end), kind(-end)], np.array([end, -end], dtype=kind), pd.Series([end, -end], dtype=kind)):
        groups = read_groups(cells, 2, ())
        assert not person_ids(groups.cells, KEY).any()


@pytest.mark.parametrize(
    "nobody",
    [
        *(
            None,
            float("nan"),
            "",
            " ",
            "nan",
            "NaN",
            "NaT",
            "None",
            "<NA>",
            "NA",
            "na",
            "N/A",
            "NULL",
            "null",
            "?",
            "-",
            "--",
            ".",
            "\\N",
        ),
        *(
            "#N/A",
            "missing",
            "unknown",
            "\u2014",
            b"NA",
            " NA ",
            float("inf"),
            -float("inf"),
            0.5,
            1.1,
            np.float32(0.1),
            1e300,
        ),
        *(
            "x" * (LONGEST + 1),
            pd.NA,
            pd.NaT,
            [1],
            {},
            "\ud800",
            b"Jos\xe9".decode(errors="replace"),
            b"\xff",
            NOT_A_TIME,
        ),
        *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1.1"), Decimal("1e999999"), Decimal("1e-300")),
        *(
            Fraction(1),
            bytearray(b"1"),
            1 + 2j,
            7 + 0j,
            np.longdouble(7),
            datetime.timedelta(1),
            datetime.time(12),
            object(),
        ),
    ],
)
def test_a_cell_that_identifies_no_person_has_no_id(nobody):
    assert ids(nobody) == [(0, 0)]


def test_ids_end_at_256_letters_or_digits_and_use_all_their_bits():
    longest = ["x" * 256, "é" * 256, 10**255, -(10**254), "8" * 256]
    assert (0, 0) not in ids(*longest)
    assert len(set(ids(*longest))) == len(longest)
    assert set(ids("x" * 257, 10**256, "9" * 257, Decimal("1e257"), 10**5000)) == {(0, 0)}
    words = np.array(ids(*range(100)), dtype=np.uint64)
    assert (words >> np.uint64(56)).any(axis=0).all()
    assert (words & np.uint64(255)).any(axis=0).all()


def test_who_records_are_of_is_not_shown():
    assert "secret" not in repr(Groups("x" * 1000, object_array(["secret"], 1)))


def test_a_declared_marker_of_missing_cells_identifies_no_person():
    assert ids("x", "-9", 5, missing=("x", "-9"))[:2] == [(0, 0)] * 2
    assert (0, 0) not in ids("x", "-9", "X", 5)
    assert (0, 0) not in ids("X", "-90", "-09", "9", 5, missing=("x", "-9"))


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\u200b", "\ufeff", "\x00", " \u2003\t", "NA\u00a0", "\ufeff-"])
def test_text_of_nothing_but_blanks_and_a_marker_between_them_identify_no_person(blank):
    """Spreadsheets and web pages write such blanks; everybody with one would be one person."""
    assert ids(blank) == [(0, 0)]
    assert ids(f"S{blank}7")[0] != (0, 0)


@pytest.mark.parametrize("marker", ["-1", "-1.0"])
def test_a_numeric_marker_stands_for_its_number_however_that_is_stored(marker):
    assert ids(-1, "-1", -1.0, "-1.0", "-1.00", Decimal(-1), missing=(marker,)) == [(0, 0)] * 6


def test_equal_numbers_of_different_types_are_not_remembered_for_one_another():
    assert ids(2**53, 2.0**53, 2**53) == [ids(2**53)[0], (0, 0), ids(2**53)[0]]
    assert ids(2.0**53, 2**53) == [(0, 0), ids(2**53)[0]]
    assert ids(2**53)[0] != (0, 0)


@pytest.mark.parametrize("odd", range(len(ODD) + len(WORST)))
def test_an_odd_cell_says_nothing_of_others(odd):
    cell = [*ODD, *WORST][odd]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone, beside = ids(cell), ids("a", cell, 7, cell)
    assert beside == [ids("a")[0], alone[0], ids(7)[0], alone[0]]


@given(first=CELLS, second=CELLS)
@settings(max_examples=300)
def test_an_id_is_a_function_of_its_cell(first, second):
    one, other = ids(first)[0], ids(second)[0]
    assert ids(first, second, first) == [one, other, one]
    assert (one == other) == (person_text(first) == person_text(second))


def test_every_container_gives_the_same_ids():
    numbers = [3, 1, 3, 2]
    plain = person_ids(object_array(numbers, 4), KEY)
    for column in (
        np.array(numbers),
        np.array(numbers, dtype=np.uint8),
        np.array(numbers, dtype=float),
        np.array(numbers).astype(str),
        pd.Series(numbers),
        pd.Series(numbers, dtype="Int64"),
        pd.Series(map(str, numbers), dtype="category"),
        pl.Series(numbers),
        pa.array(numbers),
        tuple(numbers),
        pd.DataFrame({"id": numbers}),
        {"id": numbers},
    ):
        groups = read_groups(column, 4, ())
        assert np.array_equal(person_ids(groups.cells, KEY), plain), type(column)


def test_a_key_hides_ids():
    assert ids("a") != [tuple(row) for row in person_ids(object_array(["a"], 1), bytes([1] * 32)).tolist()]


@pytest.mark.parametrize(
    ("column", "name"),
    [
        (pd.Series([1], name="patient"), "patient"),
        (pl.Series("patient", [1]), "patient"),
        (pd.DataFrame({"patient": [1]}), "patient"),
        ({"patient": [1]}, "patient"),
        ([1], ""),
        (np.array([1]), ""),
        (pd.Series([1], name=3), ""),
    ],
)
def test_a_column_is_known_by_its_name(column, name):
    assert read_groups(column, 1, ()).name == name


@pytest.mark.parametrize(
    "wrong", ["patient", [1, 2], np.ones((1, 2)), pd.DataFrame({"a": [1], "b": [1]}), {"a": [1], "b": [1]}, 5]
)
def test_what_is_no_column_is_refused_before_anything_is_booked(wrong):
    with pytest.raises(ConfigurationError):
        read_groups(wrong, 1, ())


@pytest.mark.parametrize(
    "column",
    [
        lambda cells: np.ma.MaskedArray(cells, [False] * 3),
        lambda cells: pd.Series(pd.Categorical(cells)),
        lambda cells: pd.Series(cells).astype("Float32"),
        lambda cells: pd.Series(cells, dtype="float[pyarrow]"),
        lambda cells: pl.Series(cells),
        lambda cells: pa.array(cells).dictionary_encode(),
        list,
    ],
)
def test_every_container_keeps_the_type_that_says_which_integers_are_exact(column):
    groups = read_groups(column(np.array([2**24, 2**24 + 2, 5], dtype=np.float32)), 3, ())
    assert person_ids(groups.cells, KEY).any(axis=1).tolist() == [False, False, True]


def test_reading_ids_changes_nothing_of_the_callers():
    masked = np.ma.MaskedArray(["a", "b"], [False, True], dtype=object)
    read_groups(masked, 2, ())
    assert masked.data.tolist() == ["a", "b"]


SIGNED, UNSIGNED = [BIG, BIG + 1, 7], [2**64 - 1, 2**64 - 2, 7]


@pytest.mark.parametrize(
    "column",
    [
        lambda cells: pa.array(cells, pa.uint64()),
        lambda cells: pa.chunked_array([pa.array(cells[:2], pa.uint64()), pa.array(cells[2:], pa.uint64())]),
        lambda cells: pa.array(cells, pa.uint64()).dictionary_encode(),
        lambda cells: pd.Series(cells, dtype="UInt64"),
        lambda cells: pd.Series(cells, dtype="uint64[pyarrow]"),
        lambda cells: pd.DataFrame({"who": pd.Series(cells, dtype="UInt64")}),
        lambda cells: pl.Series(cells, dtype=pl.UInt64),
        lambda cells: np.ma.MaskedArray([cell or 0 for cell in cells], [cell is None for cell in cells], np.uint64),
    ],
)
@pytest.mark.parametrize("cells", [SIGNED, UNSIGNED])
def test_a_missing_id_among_integers_makes_nobody_another(column, cells):
    """Tables hand integers with missing cells out as 64-bit floats, in which two persons may be one."""

    def found(given):
        groups = read_groups(column(given), len(given), ())
        return [tuple(row) for row in person_ids(groups.cells, KEY).tolist()]

    alone = found(cells)
    assert len(set(alone)) == 3
    assert found([*cells, None]) == [*alone, (0, 0)]


@pytest.mark.parametrize("name", ["x" * 1001, "\ud800"])
def test_a_name_that_no_file_holds_is_refused_before_anything_is_booked(name):
    """Otherwise a model whose budget is spent could be saved and not be loaded."""
    schema, ledger = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"]), hr.Ledger(9, records_per_person=2)
    model = hr.EDPRFClassifier(schema=schema, records_per_person=2, ledger=ledger)
    with pytest.raises(ConfigurationError, match="Rename it"):
        model.fit([[0.5]], ["no"], groups=pd.Series([1], name=name))
    batches = hr.Records.from_batches([{"a": [0.5], "y": ["no"], name: [1]}], "y", group=name)
    with pytest.raises(ConfigurationError, match="Rename it"):
        model.fit(batches)
    assert ledger.spent == 0
