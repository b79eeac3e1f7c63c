"""Names are looked up, not searched for: with 100 000 columns a search for each takes minutes."""

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest

import hedgerow as hr
from hedgerow.cli.inputs import check_columns
from hedgerow.reading.table_file import check_no_name_twice, single
from hedgerow.schema import Encoder

ROOT = Path(__file__).parents[1] / "src" / "hedgerow"
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
CONTAINERS = ("set", "frozenset", "list", "tuple", "dict", "sorted")


def slow_conditions(source):
    """Yield the lines of comprehensions that build a container anew for each item that they look up in it."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, COMPREHENSIONS):
            continue
        for condition in (part for generator in node.generators for part in generator.ifs):
            for compare in (part for part in ast.walk(condition) if isinstance(part, ast.Compare)):
                for operator, right in zip(compare.ops, compare.comparators, strict=True):
                    builds = isinstance(right, ast.Call) and getattr(right.func, "id", None) in CONTAINERS
                    if isinstance(operator, ast.In | ast.NotIn) and builds:
                        yield node.lineno


def test_no_lookup_builds_what_it_looks_into():
    found = {str(path): list(slow_conditions(path.read_text("utf-8"))) for path in ROOT.rglob("*.py")}
    assert len(found) > 150
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_a_slow_condition_is_found():
    assert list(slow_conditions("[a for a in b if a not in set(c)]")) == [1]
    assert list(slow_conditions("{a for a in b if x and a in list(c)}")) == [1]
    assert list(slow_conditions("d = set(c)\n[a for a in b if a not in d and f(set(c))]")) == []


class Name(str):
    """Text that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)

    def __hash__(self):
        return str.__hash__(self)


COUNT = 300


def names(suffix="x"):
    return [Name(f"{suffix}{i}") for i in range(COUNT)]


def schema():
    return hr.Schema({name: hr.Numeric(0, 1) for name in names()}, classes=["a", "b"], target="label")


def compare(header):
    """As for a file of these columns."""
    table = SimpleNamespace(header=header, index=(), types=lambda: dict.fromkeys(header, ()))
    check_columns(table, schema(), Path("t.csv"))


@pytest.mark.parametrize("extra", [[], names("y")])
def test_columns_are_compared_with_a_schema_by_lookup(extra):
    Name.compared = 0
    header = [*names(), "label", *extra]
    check_no_name_twice(header, "t.csv")
    assert len(single(header)) == len(header)
    if extra:
        with pytest.raises(hr.SchemaError, match="290 more"):
            compare(header)
    else:
        compare(header)
    assert Name.compared < 20 * COUNT


@pytest.mark.parametrize("change", ["none", "one more", "one less"])
def test_a_table_is_read_by_lookup(change):
    encoder = Encoder(schema(), 2)
    X = {name: [0.0, 1.0] for name in names()}
    if change == "one more":
        X["more"] = [0, 1]
    elif change == "one less":
        X.popitem()
    Name.compared = 0
    if change == "none":
        encoder.transform(X)
    else:
        with pytest.raises(hr.SchemaError):
            encoder.transform(X)
    assert Name.compared < 20 * COUNT
