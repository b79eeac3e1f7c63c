"""A schema's entries as plain values, and as TOML."""

from __future__ import annotations

import errno
import io
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from hedgerow.errors import FileFormatError, SchemaError
from hedgerow.files import Place, place_name, read_place
from hedgerow.schema.features import Categorical, Feature, Numeric
from hedgerow.schema.types import Boolean, Date, Integer

HEAD = ("delimiter", "encoding", "target", "person", "records_per_person", "missing", "classes")
ORIGINS = ("classes_origin", "classes_release")
ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}

# By the entry's type. Files leave it out if the other keys determine it.
RANGES: dict[str, type[Numeric]] = {"numeric": Numeric, "integer": Integer, "date": Date}
LISTS: dict[str, type[Categorical]] = {"categorical": Categorical, "boolean": Boolean}
ORIGIN = {"origin", "release"}
UNUSED = ("name", "type", "taxonomy")  # of an entry; versions up to 0.3 wrote taxonomies, which no learner reads

LARGEST = 2**23  # characters; a schema of 100 000 features has half as many
DEEPEST = 64  # brackets that are open at once, or names joined by dots; 0.3 wrote taxonomies, which are up to 32 deep
LONGEST = 1000  # characters of a bare word, which is a name, a number or a date

# The tokens of TOML that matter for nesting. No alternative is tried twice on the same text, so a scan takes linear time.
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


def read_toml(path: Place) -> str:
    """Return the text of a TOML file or a binary file object, unless it is larger than any schema."""
    try:
        # UTF-8 takes up to four bytes for a character.
        content = read_place(path, 4 * LARGEST, "no schema needs as many, so correct it")
        return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig").read()
    except FileNotFoundError:
        way = "there is no such file; pass a TOML file that Schema.save or hedgerow schema init wrote"
        raise FileNotFoundError(errno.ENOENT, way, str(path)) from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{place_name(path)} is not UTF-8 text, as TOML must be. Save it as UTF-8.") from None


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
    """Raise FileFormatError if a text is larger or nested deeper than any schema. The parser has no limits of its own."""
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
        # A name, a dot and white space continue a dotted name. Everything else begins a new one.
        if kind == "dot":
            dots += 1
        elif kind in ("open", "close") or (kind is None and token[0] in ",=\n"):
            dots = 0
        if max(depth, dots) > DEEPEST:
            raise _no_schema(place, f"is nested more than {DEEPEST} levels deep")


def _no_schema(place: str, what: str) -> FileFormatError:
    return FileFormatError(f"{place} {what}, which no schema needs, and reading it might take all memory. Correct it.")


def entry_of(feature: Feature) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if isinstance(feature, Date):
        low, high = feature.ends
        entry = {"type": "date", "low": low, "high": high}
        if feature.cuts is not None:
            entry["cuts"] = [feature.cut_value(cut) for cut in feature.cuts]
        if feature.date_format is not None:
            entry["date_format"] = feature.date_format
    elif isinstance(feature, Numeric):
        whole = isinstance(feature, Integer)
        ends = (int(feature.low), int(feature.high)) if whole else (feature.low, feature.high)
        entry = {"type": "integer"} if whole else {}
        entry |= {"low": ends[0], "high": ends[1]}
        if feature.cuts is not None:
            entry["cuts"] = list(feature.cuts)
        entry |= {"decimal": feature.decimal} if feature.decimal != "." else {}
        entry |= {"thousands": feature.thousands} if feature.thousands else {}
    elif isinstance(feature, Boolean):
        entry = {"type": "boolean"}
    else:
        entry = {"values": list(feature.values)}
    if feature.origin != "given":
        entry["origin"] = feature.origin
    return entry if feature.release is None else {**entry, "release": feature.release}


def read_entry(entry: Mapping[str, Any], place: str) -> Feature:
    """Return the feature that ``entry_of`` wrote; ``place`` names it in errors."""
    kind = entry.get("type", "categorical" if "values" in entry else "numeric")
    made: type[Feature]
    if isinstance(kind, str) and kind in RANGES:
        written = {"date_format"} if kind == "date" else {"decimal", "thousands"}
        check_keys(entry, {"name", "low", "high"}, {"type", "cuts", *written, *ORIGIN}, place)
        made = RANGES[kind]
    elif isinstance(kind, str) and kind in LISTS:
        own = {"values"} if kind == "categorical" else set()
        check_keys(entry, {"name", *own}, {"type", *ORIGIN, *(own and {"taxonomy"})}, place)
        made = LISTS[kind]
    else:
        raise SchemaError(f"{place} has the type {kind!r}; write one of {[*RANGES, *LISTS]}.")
    feature: Feature = made_at(place, made, **{key: value for key, value in entry.items() if key not in UNUSED})
    return feature


def read_outcome(entry: Any, place: str) -> Feature:
    if not isinstance(entry, Mapping) or "name" in entry:
        raise SchemaError(f"{place}: outcome is no table of a range. Write [outcome] and below it low and high.")
    return read_entry({**entry, "name": "outcome"}, f"{place}: outcome")


def check_keys(values: Mapping[str, Any], needed: set[str], allowed: set[str], place: str) -> None:
    for key in sorted(needed - set(values)):
        raise SchemaError(f"{place} lacks {key!r}, which it needs. Add it.")
    for key in sorted(set(values) - needed - allowed):
        raise SchemaError(
            f"{place} has the unknown key {key!r}, which may be misspelled. Use {sorted(needed | allowed)}."
        )


def made_at(place: str, make: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a part of a schema. An error names the place from which it was read."""
    try:
        return make(*args, **kwargs)
    except SchemaError as error:
        raise SchemaError(f"{place}: {error}") from error
    except TypeError as error:
        raise SchemaError(f"{place} holds a value of the wrong type ({error}). Correct it.") from error
