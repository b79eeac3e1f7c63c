"""Codes by hand: where each cell falls, in any block of rows, from every kind of column."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.reading.columns import read_columns
from hedgerow.schema import Categorical, Date, Encoder, Integer, Numeric, Schema
from hedgerow.schema import encoder as module
from hedgerow.schema.encoder import raw_columns

SCHEMA = Schema(
    {
        "n": Numeric(0, 4),
        "w": Integer(0, 3),
        "c": Categorical(["x", 1]),
        "d": Date("2020-01-01", "2020-01-05"),
        "m": Categorical([5, 7]),
    },
    classes=["no", "yes"],
    missing=["-9"],
)
ENCODER = Encoder(SCHEMA, 4)
DAY = datetime.date(2020, 1, 1)
# Numbers at, below and above an edge, beyond the range, missing, and a marker of missing cells.
COLUMNS = {
    "n": np.array([0.0, 0.999, 1.0, 3.5, 99.0, -99.0, np.nan, -9.0]),
    "w": np.array([0, 1, 2, 3, 9, -1, 2, -9]),
    "c": np.array(["x", 1, "1", "z", None, "", "-9", " x"], dtype=object),
    "d": [DAY + datetime.timedelta(days) for days in (0, 1, 2, 3, 9, -9)] + [None, "-9"],
    "m": np.array([5, 7, 6, -9, 5, 7, 6, 5]),
}
CODES = np.array(
    [
        [0, 0, 1, 3, 3, 0, 4, 4],
        [0, 1, 2, 3, 3, 0, 2, 4],
        [0, 1, 1, 3, 2, 2, 2, 0],
        [0, 1, 2, 3, 3, 0, 4, 4],
        [0, 1, 3, 2, 0, 1, 3, 0],
    ]
).T


@pytest.fixture(params=[(8_192, 100_000), (3, 100_000), (2, 0), (1, 100_000)], ids=str)
def ways(request, monkeypatch):
    """Blocks, kernels and threads of any kind."""
    for name, value in zip(("BLOCK_ROWS", "SMALL_CELLS"), request.param, strict=True):
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize(
    ("rows", "few", "width", "expected"),
    [
        (3, 1_024, 2, [0, 2, 3, 3]),
        (8_192, 4, 1 << 20, [0, 1, 1, 1, 1, 1, 1, 1, 1]),
        (8_192, 7, 0, [0, 8]),
        (8_192, 8, 1 << 20, [8]),
    ],
)
def test_long_answers_are_made_of_few_records_at_once(rows, few, width, expected, monkeypatch):
    for name, value in (("BLOCK_ROWS", rows), ("TEXT_BLOCKS", 1), ("FEW_ROWS", few), ("BLOCK_VALUES", 1 << 20)):
        monkeypatch.setattr(module, name, value)
    sizes = []

    def answer(codes):
        sizes.append(len(codes))
        return np.broadcast_to(codes[:, 1:2], (len(codes), width)) if width else codes[:, 1]

    found = ENCODER.answers(COLUMNS, answer)
    assert np.array_equal(found if found.ndim == 1 else found[:, 0], CODES[:, 1])
    assert sorted(sizes) == expected


@pytest.mark.usefixtures("ways")
def test_cells_have_the_codes_of_their_bins_and_categories():
    for encoder in (ENCODER, Encoder(SCHEMA, 4)):
        codes = encoder.transform(COLUMNS)
        assert codes.dtype == np.uint8
        assert codes.flags.c_contiguous
        assert np.array_equal(codes, CODES)
    assert np.array_equal(ENCODER.answers(COLUMNS, lambda codes: codes), CODES)
    assert np.array_equal(ENCODER.answers(COLUMNS, lambda codes: 2 * codes[:, 3], by_column=True), 2 * CODES[:, 3])
    for read in ([0], [1, 2], [3, 0], [], range(5)):
        found = ENCODER.answers(COLUMNS, lambda codes, own=list(read): codes[:, own], reads=read)
        assert np.array_equal(found, CODES[:, list(read)])
    numbers = {"n": COLUMNS["n"], "m": COLUMNS["n"][::-1]}
    matrix = np.stack(list(numbers.values()), axis=1)
    plain = Encoder(Schema({"n": Numeric(0, 4), "m": Numeric(0, 4)}, classes=["no"], missing=["-9"]), 4)
    expected = np.stack([CODES[:, 0], CODES[::-1, 0]], axis=1)
    for records in (numbers, matrix, np.asfortranarray(matrix), matrix.tolist()):
        assert np.array_equal(plain.transform(records), expected)


@pytest.mark.usefixtures("ways")
def test_whole_numbers_are_categories_where_these_are_declared_and_missing_under_a_date():
    numbers = np.array([[5, 1], [7, 5], [6, 7], [-9, 5]])
    encoder = Encoder(Schema({"c": Categorical([5, 7]), "d": Categorical([1, 5])}, classes=["no"], missing=["-9"]), 4)
    assert encoder.transform(numbers).tolist() == [[0, 0], [1, 1], [3, 3], [2, 1]]
    dates = Encoder(Schema({"d": Date("2020-01-01", "2020-01-05")}, classes=["no"]), 4)
    assert dates.transform({"d": np.array([18_262, 18_263, 5])}).tolist() == [[4]] * 3


@pytest.mark.usefixtures("ways")
def test_numbers_beyond_64_bit_floats_are_in_the_outer_bins_and_nobody_is_warned():
    """A warning of an overflow would tell that there is such a record."""
    far = np.array([[10**400, -(10**400)], [0.5, 3.5]], dtype=object)
    encoder = Encoder(Schema({"n": Numeric(0, 4), "m": Numeric(0, 4)}, classes=["no"]), 4)
    assert encoder.transform(far).tolist() == [[3, 0], [0, 3]]
    assert encoder.transform({"n": far[:, 0], "m": far[:, 1]}).tolist() == [[3, 0], [0, 3]]


def test_what_an_encoder_says_of_itself():
    encoder = Encoder(SCHEMA, 4)
    assert encoder.n_codes.tolist() == [5, 5, 4, 5, 4]
    assert encoder.edges[0].tolist() == [1, 2, 3]
    assert [len(edges) for edges in encoder.edges] == [3, 3, 0, 3, 0]
    assert encoder.max_bins == 4
    for codes, kind in ((255, np.uint8), (256, np.uint16), (65_535, np.uint16), (65_536, np.uint32)):
        assert Encoder(Schema({"n": Numeric(0, 1)}, classes=["no"]), codes).dtype == kind


def test_a_feature_has_at_most_two_to_the_24_codes():
    most = 1 << 24
    with pytest.raises(SchemaError, match=f"needs {most + 1} codes, of at most {most}"):
        Encoder(Schema({"n": Numeric(0, 1)}, classes=["no"]), most)
    with pytest.raises(SchemaError, match=f"needs {10**12 + 1} codes"):
        Encoder(Schema({"n": Numeric(0, 1)}, classes=["no"]), 10**12)
    cut = Schema({"n": Numeric(0, 1, [0.5])}, classes=["no"])  # its cut points are few, whatever the bins
    assert Encoder(cut, 10**12).n_codes.tolist() == [3]


@pytest.mark.parametrize("most", [4, 5])
def test_the_limit_is_reached_and_not_passed(most, monkeypatch):
    monkeypatch.setattr(module, "MOST_CODES", most)
    schema = Schema({"n": Numeric(0, 1)}, classes=["no"])
    assert Encoder(schema, most - 1).n_codes.tolist() == [most]
    with pytest.raises(SchemaError, match=f"needs {most + 1} codes"):
        Encoder(schema, most)


def test_merged_bins_are_those_whose_codes_stay_apart():
    merged = ENCODER.merged(
        [np.array([0, 0, 1, 1, 2]), np.array([0, 1, 2, 3, 4]), np.arange(4), np.array([0, 0, 0, 1, 2]), np.arange(4)]
    )
    assert merged.edges[0].tolist() == [2]
    assert merged.edges[1].tolist() == ENCODER.edges[1].tolist()
    assert merged.edges[3].tolist() == ENCODER.edges[3][[2]].tolist()
    assert merged.n_codes.tolist() == [3, 5, 4, 3, 4]
    assert merged.max_bins == 4
    with pytest.raises(ValueError, match="shorter"):
        ENCODER.merged([np.arange(5)])


def test_labels_are_places_among_the_classes_or_none():
    labels = ENCODER.labels(["yes", "no", None, "other", "-9", " yes"])
    assert labels.tolist() == [1, 0, -1, -1, -1, 1]
    assert labels.dtype == np.int16
    for classes, kind in ((32_767, np.int16), (32_768, np.int32)):
        many = Encoder(Schema({"n": Numeric(0, 1)}, classes=list(range(classes))), 2)
        found = many.labels([classes - 1, classes, 0])
        assert found.tolist() == [classes - 1, -1, 0]
        assert found.dtype == kind


@pytest.mark.usefixtures("ways")
def test_raw_numbers_are_neither_clipped_nor_binned():
    raw = raw_columns(COLUMNS, SCHEMA)
    assert raw.dtype == np.float64
    assert np.array_equal(raw[:, 0], [0, 0.999, 1, 3.5, 99, -99, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(raw[:, [2, 4]], CODES[:, [2, 4]])
    assert np.isnan(raw[:, 3]).tolist() == [False] * 6 + [True] * 2
    assert np.diff(raw[:4, 3]).tolist() == [raw[1, 3] - raw[0, 3]] * 3


def test_no_records_have_no_codes_where_there_may_be_none():
    nothing = {name: [] for name in SCHEMA.names}
    assert ENCODER.transform(nothing).shape == (0, 5)
    with pytest.raises(ConfigurationError):
        read_columns(nothing, SCHEMA.features, allow_empty=False)
