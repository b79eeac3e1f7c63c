"""A wrong call in bare Python says what is wrong and what to write instead."""

import pytest

import hedgerow as hr

SCHEMA = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])


def test_a_schema_without_classes_says_what_to_pass():
    with pytest.raises(hr.SchemaError, match=r"Pass classes=\[\.\.\.\] for a classifier, or outcome="):
        hr.Schema({"a": hr.Numeric(0, 1)})


def test_a_file_that_is_not_there_is_no_riddle(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.hedgerow"):
        hr.load(tmp_path / "none.hedgerow")
    with pytest.raises(hr.FileFormatError, match="no regular file"):
        hr.load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none\.toml"):
        hr.Schema.load(tmp_path / "none.toml")
