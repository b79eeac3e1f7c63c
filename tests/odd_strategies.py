"""Strategies of cells of any kind: spelled numbers, dates and words, numbers of every type, and what no table should hold."""

from __future__ import annotations

import math

import pandas as pd
from hypothesis import strategies as st

texts = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["1", "1.0", " 1 ", "yes", "nan", "inf", "?", "", "1e999", "0x1", "1_0", "TRUE", "a", "ä b"]),
    st.sampled_from(
        ["2020-02-29", "2020-02-30", "1999-01-01T12:00Z", "2020-01-01 00:00:00.5+14:00", "0001-01-01+14:00"]
    ),
)
numbers = st.one_of(
    st.floats(width=64), st.integers(-(10**30), 10**30), st.booleans(), st.decimals(allow_nan=True), st.fractions()
)
odd = st.one_of(
    st.none(),
    st.just(pd.NA),
    st.just(pd.NaT),
    st.binary(max_size=4),
    st.complex_numbers(),
    st.lists(st.integers(), max_size=2),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.just(object()),
    st.just(math.nan),
)
cells = st.one_of(texts, numbers, odd)
