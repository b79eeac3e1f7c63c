"""Schemas as TOML text: tomllib reads it, and the few forms that a schema needs are written here."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from hedgerow.errors import FileFormatError, SchemaError

__all__ = ["dump_toml", "parse_toml"]

HEAD = ("delimiter", "encoding", "target", "person", "records_per_person", "missing", "classes")
ORIGINS = ("classes_origin", "classes_release")
ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}

LARGEST = 2**23  # characters: schemas of 100 000 features have half of that
DEEPEST = 64  # brackets that are open at once, or names in a row with dots between them: twice what a taxonomy may have
LONGEST = 1000  # characters of a bare word, which is a name, a number or a date

# What TOML is made of, as far as nesting goes. Nothing here is tried twice on the same text, so a scan takes linear time.
TOKEN = re.compile(
    r'''
      """(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}|\\?\Z)
    | \'{3}(?:[^']|'(?!\'\'))*+(?:'{3,5}|\Z)
    | "(?:[^"\\\n]|\\.)*+"?
    | '[^'\n]*+'?
    | \#[^\n]*+
    | (?P<word>[^\s.,=#"'\[\]{}]++)
    | (?P<open>[\[{])
    | (?P<close>[\]}])
    | (?P<dot>\.)
    | (?P<space>[ \t]++)
    | .
    ''',
    re.VERBOSE | re.DOTALL,
)


def dump_toml(schema: Mapping[str, Any]) -> str:
    """Return the TOML text of a schema given in the form of ``Schema.to_dict``."""
    lines = ["# What is public about the records. Nothing here may be read off them."]
    lines += [f"{key} = {_value(schema[key])}" for key in HEAD + ORIGINS if key in schema]
    tables = [("outcome", schema["outcome"])] if "outcome" in schema else []
    tables += [(f"features.{_value(entry['name'])}", entry) for entry in schema["features"]]
    for title, entry in tables:
        lines += ["", f"[{title}]", *(f"{key} = {_value(value)}" for key, value in entry.items() if key != "name")]
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
    _check_size(text, place)
    try:
        document = tomllib.loads(text)
    except ValueError as error:  # of the parser's own kind, or a number of more digits than Python reads
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


def _check_size(text: str, place: str) -> None:
    """Raise FileFormatError if a text is larger or nested deeper than any schema: the parser has no limits of its own."""
    if len(text) > LARGEST:
        raise _no_schema(place, f"has {len(text)} characters, more than {LARGEST}")
    depth = dots = 0
    for token in TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "word" and token.end() - token.start() > LONGEST:
            raise _no_schema(place, f"has a name or a number of more than {LONGEST} characters without quotes")
        # A name, a dot and white space go on with a row of names; everything else begins a new one.
        if kind == "dot":
            dots += 1
        elif kind in ("open", "close") or (kind is None and token[0] in ",=\n"):
            dots = 0
        if max(depth, dots) > DEEPEST:
            raise _no_schema(place, f"is nested more than {DEEPEST} levels deep")


def _no_schema(place: str, what: str) -> FileFormatError:
    return FileFormatError(f"{place} {what}, as no schema is or has, and reading it might take all memory. Correct it.")
