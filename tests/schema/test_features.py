"""Entries of a schema: what they refuse, and which bins they make."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.schema import Categorical, Numeric


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Numeric(None, 3), "of a numeric feature is None"),
        (lambda: Numeric(5, 3), "low 5 and high 3"),
        (lambda: Numeric(3, 3), "its range is empty"),
        (lambda: Numeric(0, math.inf), "high end.*finite"),
        (lambda: Numeric(math.nan, 1), "low end.*finite"),
        (lambda: Numeric(0, 10**400), "finite"),
        (lambda: Numeric("0", 1), "finite number"),
        (lambda: Numeric(0, 1, [0.5, 0.2]), "ascend"),
        (lambda: Numeric(0, 1, [0, 0.5]), "strictly inside"),
        (lambda: Numeric(0, 1, [0.5, 0.5]), "ascend"),
        (lambda: Numeric(0, 1, 3), "list of numbers"),
        (lambda: Numeric(0, 1, origin="guess"), "origin"),
        (lambda: Categorical([]), "no values"),
        (lambda: Categorical("abc"), "must be a list"),
        (lambda: Categorical({"a", "b"}), "order"),
        (lambda: Categorical([1, "1.0"]), "1 and '1.0' are one value"),
        (lambda: Categorical(["a", "a"]), "one value"),
        (lambda: Categorical(["a", " a\n"]), "one value"),
        (lambda: Categorical([True, "TRUE"]), "one value"),
        (lambda: Categorical([2**53, 2**53 + 1]), "float64"),
        (lambda: Categorical(["a", None]), "None"),
        (lambda: Categorical(["a", math.nan]), "finite"),
        (lambda: Categorical(["a", "1e999"]), "finite"),
        *((lambda text=text: Categorical(["a", text]), "finite") for text in ("inf", " -Infinity", "+INF")),
        (lambda: Categorical([("a",)]), "text, numbers"),
        (lambda: Categorical(["a"], origin=""), "origin"),
    ],
)
def test_wrong_entries_are_refused(make, words):
    with pytest.raises(SchemaError, match=words):
        make()


def test_equal_widths():
    assert Numeric(17, 90).bin_edges(5).tolist() == pytest.approx([31.6, 46.2, 60.8, 75.4])
    assert Numeric(0, 1).bin_edges(1).size == 0
    assert Numeric(0, 8).n_codes(4) == 5


def test_cuts_may_be_as_far_apart_as_floats_are():
    assert Numeric(-1.7e308, 1.7e308, [1e308]).cuts == (1e308,)
    with pytest.raises(SchemaError, match="ascend strictly"):
        Numeric(-1.7e308, 1.7e308, [1e308, -1e308])


def test_public_cuts():
    feature = Numeric(0, 10, range(1, 10))
    assert feature.bin_edges(10).tolist() == list(range(1, 10))
    assert feature.bin_edges(5).tolist() == [2, 4, 6, 8]
    assert feature.bin_edges(2).tolist() == [5]
    assert feature.bin_edges(1).size == 0


@pytest.mark.parametrize("max_bins", [0, -1, 2.0, True, "5"])
def test_max_bins_must_be_a_count(max_bins):
    with pytest.raises(ConfigurationError, match="max_bins"):
        Numeric(0, 1).bin_edges(max_bins)


@settings(deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=40, unique=True),
    st.integers(1, 300),
    st.booleans(),
)
def test_edges_ascend_inside_the_range(points, max_bins, with_cuts):
    low, *cuts, high = sorted(points)
    feature = Numeric(low, high, cuts if with_cuts else None)
    edges = feature.bin_edges(max_bins)
    assert edges.dtype == np.float64
    assert edges.size < max_bins
    ends = [low, *edges, high]
    assert all(left < right for left, right in pairwise(ends))
    if with_cuts and cuts:
        assert edges.size == min(len(cuts), max_bins - 1)
        assert set(edges) <= set(cuts)


def test_code_labels():
    age = Numeric(17, 90)
    assert [age.code_label(code, 5) for code in (0, 4, 5)] == ["[17, 31.6)", "[75.4, 90]", "missing"]
    narrow = Numeric(1, 1 + 1e-12)
    assert len({narrow.code_label(code, 4) for code in range(5)}) == 5
    work = Categorical(["Private", 3])
    assert [work.code_label(code, 5) for code in range(4)] == ["Private", "3", "missing", "undeclared"]
    for feature, code in ((age, 6), (age, -1), (work, 4)):
        with pytest.raises(ConfigurationError, match="Code"):
            feature.code_label(code, 5)


def test_entries_are_values():
    assert Numeric(0, 1) == Numeric(0.0, 1.0)
    assert Numeric(0, 1) != Numeric(0, 1, origin="inferred")
    assert repr(Numeric(0, 1.5, [1], origin="inferred")) == "Numeric(0, 1.5, [1], origin='inferred')"
    assert Categorical(np.array(["a", "b"])).values == ("a", "b")
    assert [type(value) for value in Categorical(np.array([1, 2])).values] == [int, int]
    assert hash(Categorical(["a"])) == hash(Categorical(("a",)))
    with pytest.raises(AttributeError):
        Numeric(0, 1).low = 3


def test_values_with_commas_can_be_told_from_a_list():
    assert Categorical(["ok", "no"]).in_words() == "ok, no"
    assert Categorical(["ok", "later, urgent", 3]).in_words() == "'ok', 'later, urgent', 3"
    assert Categorical([f"{i},5" for i in range(14)]).in_words().endswith("'11,5' and 2 more")
