"""Public taxonomies of categorical features: what they refuse, and that files keep them."""

import pickle

import pytest

from hedgerow.errors import SchemaError
from hedgerow.schema import Categorical, Schema

VALUES = ["a", "b", 1, "d"]


def test_values_are_found_however_they_are_written():
    entry = Categorical(VALUES, [["b", ["1.0", " a "]], "d"])
    assert entry.taxonomy == (("b", (1, "a")), "d")
    assert entry.taxonomy_codes() == ((1, (2, 0)), 3)
    assert Categorical(VALUES).taxonomy_codes() == (0, 1, 2, 3)
    assert repr(entry) == "Categorical(['a', 'b', 1, 'd'], taxonomy=[['b', [1, 'a']], 'd'])"


@pytest.mark.parametrize(
    ("taxonomy", "words"),
    [
        (["a", "b", 1], "lacks the value 'd'"),
        (["a", "a", "b", 1, "d"], "'a' twice"),
        (["a", "b", "1", 1, "d"], "1 twice"),
        ([["a"], "b", 1, "d"], "group of 1 at depth 1"),
        ([["a", []], "b", 1, "d"], "group of 0"),
        ([], "group of 0 at depth 0"),
        ("abcd", "type str"),
        ({"x": ["a", "b"]}, "type dict"),
        (["a", "b", 1, "d", "e"], "'e', which is not among the values"),
        (["a", "b", 1, "d", None], "None"),
    ],
)
def test_wrong_taxonomies_are_refused(taxonomy, words):
    with pytest.raises(SchemaError, match=words):
        Categorical(VALUES, taxonomy)


def test_deep_nests_are_refused_and_do_not_overflow():
    nest = ["a", "b"]
    for i in range(5000):
        nest = [nest, f"v{i}"]
    with pytest.raises(SchemaError, match="at most 32 deep"):
        Categorical(["a", "b", *(f"v{i}" for i in range(5000))], nest)


def test_files_copies_and_confirmation_keep_it():
    entry = Categorical(VALUES, [["b", [1, "a"]], "d"], origin="inferred")
    schema = Schema({"c": entry}, [0, 1])
    assert Schema.from_toml(schema.to_toml()) == schema == Schema.from_dict(schema.to_dict())
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert len({schema, Schema({"c": entry}, [0, 1])}) == 1
    assert schema.confirm("c").features["c"].taxonomy == entry.taxonomy
    assert schema != Schema({"c": Categorical(VALUES, origin="inferred")}, [0, 1])


def test_an_error_in_a_file_names_the_place():
    with pytest.raises(SchemaError, match=r"features\.c: The taxonomy lacks the value 'b'"):
        Schema.from_toml('classes = [0, 1]\n[features.c]\nvalues = ["a", "b"]\ntaxonomy = ["a"]\n')
    with pytest.raises(SchemaError, match="unknown key 'taxonomy'"):
        Schema.from_toml('classes = [0, 1]\n[features.c]\nlow = 0\nhigh = 1\ntaxonomy = ["a"]\n')
