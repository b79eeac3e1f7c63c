"""Schemas: what they refuse, that they never change, and that every copy is the same one."""

from __future__ import annotations

import copy
import inspect
import json
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import ConfigurationError, FileFormatError, PrivacyLeakWarning, SchemaError
from hedgerow.reading.cells import category_key
from hedgerow.schema import Boolean, Categorical, Date, Encoder, Integer, Numeric, Schema

AGE = Numeric(17, 90)
SCHEMA = Schema({"age": AGE, "sex": Categorical(["Female", "Male"])}, ["<=50K", ">50K"], missing=["?"], target="income")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Schema({"age": None}, [0, 1]),
            r"feature 'age' has no range and no values. They must be public knowledge. "
            r"Pass hr.Numeric\(0, 120\) or hr.Categorical\(\['no', 'yes'\]\), or use Schema.infer to explore without a",
        ),
        (lambda: Schema({"age": Numeric}, [0, 1]), "'age' has no range"),
        (lambda: Schema({"age": (0, 120)}, [0, 1]), "has no range"),
        (lambda: Schema({"sex": ["f", "m"]}, [0, 1]), r"'sex' has no range and no values.* hr\.Categorical"),
        (lambda: Schema({}, [0, 1]), "no features"),
        (lambda: Schema([AGE], [0, 1]), "no features"),
        (lambda: Schema({3: AGE}, [0, 1]), "the name of a feature is 3"),
        (lambda: Schema({"": AGE}, [0, 1]), "the name of a feature is ''"),
        (lambda: Schema({"age": AGE}, []), "no classes"),
        (lambda: Schema({"age": AGE}, "ab"), "list of classes is 'ab'"),
        (lambda: Schema({"age": AGE}, [1, "1"]), "one class"),
        (lambda: Schema({"age": AGE}, [0, None]), "None"),
        (lambda: Schema({"age": AGE}, [0], missing=[-1]), "marker of missing cells is -1"),
        (lambda: Schema({"age": AGE}, [0], target="age"), "target is 'age'.* which is no feature"),
        (lambda: Schema({"age": AGE}, [0], target=3), "target is 3"),
        (lambda: Schema({"age": AGE}, [0], classes_origin="x"), "classes_origin"),
        (lambda: SCHEMA.confirm("agee"), "no entry 'agee'"),
    ],
)
def test_wrong_schemas_are_refused(make, words):
    with pytest.raises(SchemaError, match=words):
        make()


def test_all_but_features_and_classes_are_passed_by_name():
    parameters = inspect.signature(Schema).parameters.values()
    assert [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY] == ["features", "classes"]


def test_what_a_schema_says():
    assert SCHEMA.names == ("age", "sex")
    assert SCHEMA.features["age"] is AGE
    assert SCHEMA.classes == ("<=50K", ">50K")
    assert (SCHEMA.missing, SCHEMA.target, SCHEMA.is_given, SCHEMA.inferred) == (("?",), "income", True, [])
    assert Schema({"age": AGE}, [0], missing="?").missing == ("?",)
    assert repr(SCHEMA) == (
        "Schema({'age': Numeric(17, 90), 'sex': Categorical(['Female', 'Male'])}, "
        "classes=['<=50K', '>50K'], missing=['?'], target='income')"
    )


def test_a_schema_never_changes():
    features = {"age": AGE}
    schema = Schema(features, [0, 1])
    features["sex"] = AGE
    assert schema.names == ("age",)
    with pytest.raises(AttributeError):
        schema.target = "x"
    with pytest.raises(AttributeError):
        del schema.target
    with pytest.raises(TypeError):
        schema.features["sex"] = AGE


def test_copies_and_pickles():
    assert copy.copy(SCHEMA) is SCHEMA
    assert copy.deepcopy({"schema": SCHEMA})["schema"] is SCHEMA
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA


def test_equality_sees_everything():
    features = dict(SCHEMA.features)
    same = Schema(features, SCHEMA.classes, missing=["?"], target="income")
    assert same == SCHEMA
    assert hash(same) == hash(SCHEMA)
    assert SCHEMA != 3
    others = [
        Schema(dict(reversed(features.items())), SCHEMA.classes, missing=["?"], target="income"),
        SCHEMA.replace({"age": Numeric(0, 90)}),
        SCHEMA.replace({"age": Numeric(17, 90, origin="inferred")}),
        SCHEMA.replace(classes=[">50K", "<=50K"]),
        SCHEMA.replace(missing=[]),
        SCHEMA.replace(target="label"),
    ]
    assert all(other != SCHEMA for other in others)


def test_a_declared_value_is_no_marker():
    schema = Schema(
        {"a": Categorical(["?", "x"]), "b": Categorical(["x"]), "c": Numeric(0, 10)}, [0, 1], missing=["?", "0"]
    )
    assert Encoder(schema, 2).transform([["?", "?", "0"], ["x", "x", 1]]).tolist() == [[0, 1, 2], [1, 0, 0]]
    assert Encoder(schema, 2).labels([0, 1, "?"]).tolist() == [0, 1, -1]


def test_inference_taints_until_the_owner_speaks():
    X = pd.DataFrame({"age": [20, 30, 30], "work": ["b", "a", None], "flag": [True, False, True]})
    with pytest.warns(PrivacyLeakWarning, match="no guarantee"):
        schema = Schema.infer(X, pd.Series(["no", "yes", "no"], name="buys"))
    assert schema.features["age"] == Integer(20, 30, origin="inferred")
    assert schema.features["work"] == Categorical(["a", "b"], origin="inferred")
    assert schema.features["flag"] == Boolean(origin="inferred")
    assert (schema.classes, schema.target) == (("no", "yes"), "buys")
    assert schema.inferred == ["age", "work", "flag", "classes"]
    assert not schema.is_given
    partly = schema.confirm("work", "classes").replace({"age": AGE})
    assert partly.inferred == ["flag"]
    assert schema.replace(classes=["no", "yes"]).classes_origin == "given"
    assert partly.confirm().is_given
    assert schema.confirm().is_given
    assert schema.confirm().features["age"] == Integer(20, 30)


@pytest.mark.parametrize(
    ("column", "entry"),
    [
        (np.array([5, 5]), Integer(5, 6, origin="inferred")),
        (np.array([4.5, 4.5]), Numeric(4.0, 5.0, origin="inferred")),
        (np.array([2.0**60, 1.0]), Numeric(1, 2.0**60, origin="inferred")),
        (np.array([2.0, np.nan, -3.0]), Integer(-3, 2, origin="inferred")),
        (np.array(["2020-01-02", "2019-05-05", ""]), Date("2019-05-05", "2020-01-02", origin="inferred")),
        (np.array(["2020-01-02", "NaT"], dtype="M8[s]"), Date("2020-01-02", "2020-01-03", origin="inferred")),
        (np.array(["9999-12-31"]), Date("9999-12-30", "9999-12-31", origin="inferred")),
        (
            np.array(["2020-01-02 12:00", "2020-01-02"], dtype=object),
            Date("2020-01-02 00:00:00", "2020-01-02 12:00:00", origin="inferred"),
        ),
        (np.array(["2020-01-02", "soon"]), Categorical(["2020-01-02", "soon"], origin="inferred")),
        (np.array([np.nan, np.inf]), Numeric(0, 1, origin="inferred")),
        (np.array([None, None]), Numeric(0, 1, origin="inferred")),
        (np.array([*map(str, range(12)), ""]), Integer(0, 11, origin="inferred")),
        (np.array(["2", "1", "3", "3", "2", "1", "0", ""]), Integer(0, 3, origin="inferred")),
        (np.array([*map(str, range(12)), "x", "5", "x", "4"]), Categorical([4, 5, "x"], origin="inferred")),
        (np.array(["10", "9", "a"]), Categorical([9, 10, "a"], origin="inferred")),
        (np.array([["x"], None, "y"], dtype=object), Categorical(["y"], origin="inferred")),
        (np.array([True, None], dtype=object), Boolean(origin="inferred")),
        (np.array(["True", " false", "", "nan"]), Boolean(origin="inferred")),
        (np.array(["true", True, None], dtype=object), Boolean(origin="inferred")),
        (np.array(["true", 0, None], dtype=object), Categorical([0, 1], origin="inferred")),
        (np.array([*map(str, range(30)), "N/A", "N/A", "5", "4"]), Integer(0, 29, origin="inferred")),
        (np.array([*map(str, range(16)), "N/A", "N/A", "5", "4"]), Integer(0, 15, origin="inferred")),
        (np.array([*map(str, range(15)), "N/A", "N/A", "5", "4"]), Categorical([4, 5, "N/A"], origin="inferred")),
    ],
)
def test_guesses(column, entry):
    with pytest.warns(PrivacyLeakWarning):
        schema = Schema.infer({"a": column}, [0] * len(column), max_categories=3)
    assert schema.features["a"] == entry


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array([2, 0, 2]), (0, 2)),
        (np.array([2.0, np.nan, 0]), (0.0, 2.0)),
        (["b", "a", None], ("a", "b")),
        (["10", "9", "10"], ("10", "9")),
        ([True, False, True], (False, True)),
        (pl.Series(["b", "a", "b"]), ("a", "b")),
        (["x", 2, "2"], (2, "x")),
    ],
)
def test_guessed_classes(y, classes):
    with pytest.warns(PrivacyLeakWarning):
        schema = Schema.infer(np.ones((3, 1)), y)
    assert schema.classes == classes
    assert [type(label) for label in schema.classes] == [type(label) for label in classes]
    assert schema.names == ("x0",)


def test_inference_checks_its_arguments():
    with pytest.warns(PrivacyLeakWarning), pytest.raises(ConfigurationError, match="max_categories"):
        Schema.infer(np.ones((2, 1)), [0, 1], max_categories=0)
    with pytest.warns(PrivacyLeakWarning), pytest.raises(ConfigurationError, match="no label"):
        Schema.infer(np.ones((2, 1)), [None, math.nan])
    with pytest.warns(PrivacyLeakWarning), pytest.raises(ConfigurationError, match="minimum of 1"):
        Schema.infer(np.ones((0, 1)), [])


FINITE = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ORIGIN = st.sampled_from(["given", "inferred"])


def told_apart(value):
    try:
        key = category_key(value)
        return not isinstance(key, float) or math.isfinite(key)
    except OverflowError:
        return False


VALUES = st.lists(
    st.one_of(TEXT, FINITE, st.integers(), st.booleans()).filter(told_apart),
    min_size=1,
    max_size=5,
    unique_by=category_key,
)


@st.composite
def numerics(draw):
    low, *cuts, high = sorted(draw(st.lists(FINITE, min_size=2, max_size=5, unique=True)))
    return Numeric(low, high, draw(st.sampled_from([None, cuts])), origin=draw(ORIGIN))


SCHEMAS = st.builds(
    Schema,
    st.dictionaries(
        TEXT.filter(bool), st.one_of(numerics(), st.builds(Categorical, VALUES, origin=ORIGIN)), min_size=1, max_size=4
    ),
    VALUES,
    missing=st.lists(TEXT, max_size=3),
    classes_origin=ORIGIN,
)


def types(schema):
    return [type(value) for f in schema.features.values() if isinstance(f, Categorical) for value in f.values] + [
        type(value) for value in schema.classes
    ]


@settings(deadline=None)
@given(SCHEMAS)
def test_files_hold_a_schema_exactly(schema):
    """Names, values with their types, order and origins survive TOML, JSON and pickle."""
    for other in (
        Schema.from_toml(schema.to_toml()),
        Schema.from_dict(json.loads(json.dumps(schema.to_dict(), allow_nan=False))),
        Schema.from_dict(json.loads(json.dumps(schema.to_dict(), sort_keys=True))),
        pickle.loads(pickle.dumps(schema)),
    ):
        assert other == schema
        assert types(other) == types(schema)


def test_a_file(tmp_path):
    path = tmp_path / "schema.toml"
    SCHEMA.save(path)
    assert Schema.load(path) == SCHEMA
    assert "origin" not in path.read_text()
    assert '[features."age"]\nlow = 17.0\nhigh = 90.0\n' in path.read_text()
    path.write_bytes(b"\xff")
    with pytest.raises(FileFormatError, match=r"schema\.toml is not UTF-8"):
        Schema.load(path)
    path.write_text("classes = [")
    with pytest.raises(FileFormatError, match=r"schema\.toml is not TOML.*"):
        Schema.load(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("classes = [0]", "no .features.NAME. tables"),
        ("classes = [0]\nfeatures = 3", "no .features.NAME. tables"),
        ("classes = [0]\n[features]\nage = 3", "features.age is no table"),
        ("[features.age]\nlow = 0\nhigh = 1", "lacks 'classes'"),
        ("classes = [0]\n[features.age]\nlow = 0", "features.age lacks 'high'"),
        ("classes = [0]\n[features.age]\nlow = 0\nhihg = 1\nhigh = 1", "features.age has the unknown key 'hihg'"),
        ("classes = [0]\n[features.age]\nvalues = [1]\nhigh = 1", "features.age has the unknown key 'high'"),
        ("classes = [0]\n[features.age]\nlow = 3\nhigh = 1", "features.age: .*its range is empty"),
        ("classes = [0]\n[features.age]\nlow = '3'\nhigh = 4", "features.age: .*'3'"),
        ("classes = [0]\n[features.age]\nvalues = [2020-01-01]", "features.age: .*text, numbers"),
        ("classes = 3\n[features.age]\nvalues = [1]", "schema: .*must be a list"),
        ("missing = 3\nclasses = [0]\n[features.age]\nvalues = [1]", "wrong type"),
        ("target = 3\nclasses = [0]\n[features.age]\nvalues = [1]", "target is 3"),
    ],
)
def test_errors_in_a_file_name_the_place(text, words):
    with pytest.raises(SchemaError, match=words):
        Schema.from_toml(text)


def test_dictionaries_are_checked():
    entry = {"name": "a", "low": 0, "high": 1}
    with pytest.raises(SchemaError, match="'a' is declared twice"):
        Schema.from_dict({"features": [entry, entry], "classes": [0]})
    with pytest.raises(SchemaError, match="no list of entries"):
        Schema.from_dict({"features": [{"low": 0}], "classes": [0]})


def test_text_that_no_file_holds():
    schema = Schema({"a": Categorical(["\ud800"])}, [0])
    assert Encoder(schema, 2).transform([["\ud800"]]).tolist() == [[0]]
    with pytest.raises(SchemaError, match="UTF-8"):
        schema.to_toml()
