import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.schema.check import Checker

SCHEMA = hr.Schema(
    {"age": hr.Numeric(18, 90), "sex": hr.Categorical(["f", "m"]), "day": hr.Date("2024-01-01", "2024-12-31")},
    ["no", "yes"],
    missing=["?"],
)
RANDOM = np.random.default_rng(1)
GOOD = {
    "age": RANDOM.integers(18, 90, 50),
    "sex": RANDOM.choice(["f", "m"], 50),
    "day": np.array(["2024-05-06"] * 50, dtype=object),
}
MODEL = hr.EDPRFClassifier(1.0, schema=SCHEMA, random_state=0).fit(GOOD, RANDOM.choice(["no", "yes"], 50))


def findings(**columns):
    look = Checker(SCHEMA.features, SCHEMA.missing, quick=True)
    look.add({**GOOD, **columns})
    return look.findings()


def test_good_records_say_nothing():
    assert findings() == []


@pytest.mark.parametrize(
    ("name", "cells", "words"),
    [
        ("age", ["40,5"] * 50, "no cell of the column 'age' could be read"),
        ("age", ["7 years"] * 49 + ["40"], "hardly any cell of the column 'age' could be read"),
        ("age", [None] * 50, "no cell of the column 'age' holds anything"),
        ("age", ["?"] * 50, "no cell of the column 'age' holds anything"),
        ("age", RANDOM.normal(0, 1, 50), "nearly all numbers of the column 'age' lie outside"),
        ("age", [1000] * 48 + [40, 41], "nearly all numbers of the column 'age' lie outside"),
        ("sex", ["female"] * 50, "no cell of the column 'sex' is a declared value"),
        ("day", ["31.12.2024"] * 50, "no cell of the column 'day' could be read"),
        ("day", ["1999-12-31"] * 50, "nearly all numbers of the column 'day' lie outside"),
    ],
)
def test_a_column_of_which_nothing_is_read_is_named(name, cells, words):
    found = findings(**{name: cells})
    assert len(found) == 1
    assert found[0].startswith(words)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("age", [None] * 49 + [40]),
        ("age", [1000] * 40 + [40] * 10),
        ("age", ["x"] * 40 + ["40"] * 10),
        ("sex", ["x"] * 45 + ["f"] * 5),
        ("day", ["1999-12-31"] * 40 + ["2024-05-06"] * 10),
    ],
)
def test_a_column_of_which_some_is_read_says_nothing(name, cells):
    assert findings(**{name: cells}) == []


def test_a_few_records_say_nothing_unless_text_is_there_that_is_no_number():
    few = {name: cells[:3] for name, cells in GOOD.items()}
    for odd in ({"age": [1000] * 3}, {"sex": ["x"] * 3}, {"age": [None] * 3}):
        MODEL.predict({**few, **odd})
    with pytest.warns(hr.UnreadColumnWarning, match="'age'"):
        MODEL.predict({**few, "age": ["40,5"] * 3})


@pytest.mark.parametrize("answer", [MODEL.predict, MODEL.predict_proba])
def test_predict_warns_once_for_each_column_and_points_at_its_caller(answer):
    with pytest.warns(hr.UnreadColumnWarning) as told:
        answer(pd.DataFrame({**GOOD, "age": ["40,5"] * 50, "sex": ["x"] * 50}))
    assert [str(one.message).split("'")[1] for one in told] == ["age", "sex"]
    assert {one.filename for one in told} == {__file__}


def test_blocks_are_looked_at_together():
    look = Checker(SCHEMA.features, SCHEMA.missing, quick=True)
    look.add({**GOOD, "age": ["x"] * 50})
    assert len(look.findings()) == 1
    look.add(GOOD)
    assert look.findings() == []


def test_a_late_cell_that_is_read_is_found():
    n = 200_000
    look = Checker(SCHEMA.features, SCHEMA.missing, quick=True)
    late = np.full(n, "x", dtype=object)
    late[n // 2 :] = "40"
    look.add({"age": late, "sex": ["f"] * n, "day": ["2024-05-06"] * n})
    assert look.findings() == []


def test_private_questions_look_at_no_record():
    """They read through the model itself: a warning about records that others hold would be an answer about them."""
    odd = {**GOOD, "age": ["40,5"] * 50}
    hr.evaluate(MODEL, odd, ["no", "yes"] * 25, epsilon=1.0)
