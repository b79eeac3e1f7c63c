"""Schemas as text: limits before the parser, which has none of its own, and no text that hides behind another."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.schema import toml
from hedgerow.schema.toml import parse_toml

HEAD = 'classes = ["a", "b"]\n[features.x]\nlow = 0\n'


def deep(open_, close):
    return HEAD + "high = " + open_ * 65 + close * 65


TOO_DEEP = {
    "brackets": deep("[", "]"),
    "braces": deep("{a=", "}"),
    "both": deep("[{a=", "}]"),
    "dots": ".".join(["a"] * 66) + " = 1",
    "dots of quoted names": ".".join(['"a b"', "'c.d'"] * 33) + " = 1",
    "dots with spaces": " . ".join(["a"] * 66) + " = 1",
    "dots of a table": "[" + ".".join(["a"] * 66) + "]",
    "dots in braces": "x = {" + ".".join(["a"] * 66) + " = 1}",
    "after a string": 'x = "[" \ny = ' + "[" * 65,
    "after a string that ends in quotes": 'x = ["""a"""", ' + "[" * 65,
    "after a literal that ends in quotes": "x = ['''a''''', " + "[" * 65,
    "after an escape": r'x = "\\" ' + "\ny=" + "[" * 65,
    "after an escaped quote": r'x = ["""\"""", ' + "[" * 65,
    "after a literal backslash": "x = ['\\', " + "[" * 65,
    "after an empty string": "x = [\"\", '', \"\"\"\"\"\", '''''', " + "[" * 65,
    "after a comment": "# ' \" [\nx = " + "[" * 65,
}


@pytest.mark.parametrize("name", TOO_DEEP)
def test_deep_texts_are_refused_before_they_are_parsed(name, monkeypatch):
    monkeypatch.setattr(toml.tomllib, "loads", lambda _: pytest.fail("it was parsed"))
    with pytest.raises(hr.FileFormatError, match=r"s\.toml is nested more than 64 levels deep"):
        parse_toml(TOO_DEEP[name], "s.toml")


def test_a_large_text_is_refused_before_it_is_parsed(monkeypatch):
    monkeypatch.setattr(toml, "LARGEST", 1000)
    with pytest.raises(hr.FileFormatError, match="1001 characters"):
        parse_toml("#" * 1001, "s.toml")


@pytest.mark.parametrize("word", ["1" * 1001, "0x" + "f" * 1001, "a" * 1001])
def test_a_long_number_is_refused_before_it_is_parsed(word):
    with pytest.raises(hr.FileFormatError, match="more than 1000 characters"):
        parse_toml(f"x = {word}", "s.toml")


@pytest.mark.parametrize("word", ["1" * 999, "0x" + "f" * 998, "1e999"])
def test_a_number_that_python_reads_and_no_feature_holds_is_a_schema_error(word):
    with pytest.raises(hr.SchemaError, match=r"features\.x"):
        hr.Schema.from_toml(HEAD + f"high = {word}\n")


PLAIN = {
    "closed brackets": "[" + ", ".join(["[1]"] * 500) + "]",
    "numbers with dots": "[" + ", ".join(["1.5"] * 500) + "]",
    "dots in strings": '"' + "a." * 500 + '"',
    "brackets in strings": "['" + "[{" * 500 + '\', "\\"' + "[" * 500 + '"]',
    "brackets in long strings": '["""' + '["\n' * 500 + '"""", \'\'\'' + "['\n" * 500 + "''']",
    "brackets in a comment": "1 # " + "[a." * 500,
    "64 deep": "[" * 64 + "]" * 64,
}


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_not_deep_passes(name):
    value = tomllib.loads(f"x = {PLAIN[name]}")["x"]
    assert parse_toml(f"x = {PLAIN[name]}\n[features]", "s.toml")["x"] == value


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(['"', "'", '"""', "'''", "\\", "[", "]", "{", "}", "a", ".", "=", ",", "#", "\n", " "]))
)
def test_no_valid_text_is_deeper_than_it_was_measured(pieces):
    """What the parser accepts has the depth that the scan finds: no string or comment hides a bracket from it."""
    text = "x = " + "".join(pieces)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    for limit in range(len(text)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(toml, "DEEPEST", limit)
            try:
                toml._check_size(text, "")
            except hr.FileFormatError:
                continue
        assert depth_of(document) - 1 <= limit
        return


def depth_of(value):
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@pytest.mark.parametrize(
    "hostile",
    [
        '"""\\' * 50_000,
        "'''" * 50_000,
        '"' * 100_000,
        '"\\' * 50_000,
        "''''" * 50_000,
        '"""a' * 50_000 + "\\",
        "a " * 50_000,
    ],
)
def test_the_scan_reads_no_text_twice(hostile):
    """A scan that begins again at each mark would take hours here."""
    toml._check_size(hostile, "s.toml")


def test_a_byte_order_mark_is_passed_over(tmp_path):
    schema = hr.Schema({"age": hr.Numeric(0, 120)}, classes=["a", "b"])
    (tmp_path / "s.toml").write_text("\ufeff" + schema.to_toml(), "utf-8")
    assert hr.Schema.load(tmp_path / "s.toml") == schema


def test_saving_is_whole_or_not_at_all(tmp_path, monkeypatch):
    schema = hr.Schema({"age": hr.Numeric(0, 120)}, classes=["a", "b"])
    (tmp_path / "s.toml").write_text("old")
    schema.save(tmp_path / "s.toml")
    assert hr.Schema.load(tmp_path / "s.toml") == schema
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        hr.Schema({"size": hr.Numeric(0, 3)}, classes=["a", "b"]).save(tmp_path / "s.toml")
    assert hr.Schema.load(tmp_path / "s.toml") == schema
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]
