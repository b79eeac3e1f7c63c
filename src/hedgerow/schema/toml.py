"""Schemas as TOML text: tomllib reads it, and the few forms that a schema needs are written here."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from hedgerow.errors import FileFormatError, SchemaError

__all__ = ["dump_toml", "parse_toml"]

ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def dump_toml(schema: Mapping[str, Any]) -> str:
    """Return the TOML text of a schema given in the form of ``Schema.to_dict``."""
    lines = ["# What is public about the records. Nothing here may be read off them."]
    lines += [
        f"{key} = {_value(schema[key])}" for key in ("target", "missing", "classes", "classes_origin") if key in schema
    ]
    for entry in schema["features"]:
        lines += ["", f"[features.{_value(entry['name'])}]"]
        lines += [f"{key} = {_value(value)}" for key, value in entry.items() if key != "name"]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)  # Python writes integers and finite floats as TOML does


def _quoted(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"The schema holds the text {text!a}, which no file can hold as UTF-8. Rename it.") from None
    return '"' + "".join(ESCAPES.get(c) or (c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}") for c in text) + '"'


def parse_toml(text: str, place: str) -> dict[str, Any]:
    """Return a schema in the form of ``Schema.to_dict``; ``place`` names the file in errors."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(
            f"{place} is not TOML: {error}. A schema must be read without guessing. Correct the file there."
        ) from error
    features = document.get("features")
    if not isinstance(features, dict):
        raise SchemaError(
            f"{place} has no [features.NAME] tables, so it declares nothing. Add one per feature, with low and high or "
            "with values."
        )
    entries = []
    for name, entry in features.items():
        if not isinstance(entry, dict):
            raise SchemaError(
                f"{place}: features.{name} is no table. Write [features.{name}] and below it low and high, or values."
            )
        entries.append({**entry, "name": name})
    return {**document, "features": entries}
