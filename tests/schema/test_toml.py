"""Schemas as text."""

import pytest

import hedgerow as hr
from hedgerow.schema import toml
from hedgerow.schema.toml import parse_toml

HEAD = 'classes = ["a", "b"]\n[features.x]\nlow = 0\n'


@pytest.mark.parametrize("value", ["[" * 5000 + "]" * 5000, "[" * 5000, "{a=" * 5000, "1" * 5000])
def test_what_the_parser_cannot_hold_is_no_toml(value):
    with pytest.raises(hr.FileFormatError, match=r"s\.toml is not TOML"):
        parse_toml(f"{HEAD}high = {value}", "s.toml")


def test_a_deep_name_is_no_number():
    with pytest.raises(hr.SchemaError, match=r"features\.x"):
        hr.Schema.from_toml(HEAD + "high" + ".a" * 5000 + " = 1\n")


def test_a_large_text_is_refused_before_it_is_parsed(monkeypatch):
    monkeypatch.setattr(toml, "LARGEST", 1000)
    with pytest.raises(hr.FileFormatError, match="1001 characters"):
        parse_toml("#" * 1001, "s.toml")


@pytest.mark.parametrize("word", ["1" * 999, "0x" + "f" * 998, "1e999"])
def test_a_number_that_python_reads_and_no_feature_holds_is_a_schema_error(word):
    with pytest.raises(hr.SchemaError, match=r"features\.x"):
        hr.Schema.from_toml(HEAD + f"high = {word}\n")


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
