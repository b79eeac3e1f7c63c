"""A schema's entries as plain values, and as TOML."""

from __future__ import annotations

import io
import json
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from hedgerow.errors import FileFormatError, SchemaError
from hedgerow.files import Place, place_name, read_place
from hedgerow.schema.features import Categorical, Feature, Numeric
from hedgerow.schema.types import Boolean, Date, Integer

HEAD = ("delimiter", "encoding", "target", "person", "records_per_person", "ignore", "missing", "classes")
ORIGINS = ("classes_origin", "classes_release", "classes_reason")

# By the entry's type. Files leave out the first two, which the other keys determine.
KINDS: dict[str, type[Feature]] = {
    kind.__name__.lower(): kind for kind in (Numeric, Categorical, Integer, Date, Boolean)
}

LARGEST = 2**23  # characters; a schema of 100 000 features has half as many


def dump_toml(schema: Mapping[str, Any]) -> str:
    lines = ["# What is public about the records. Nothing here may be read off them."]
    lines += [f"{key} = {_value(schema[key])}" for key in HEAD + ORIGINS if key in schema]
    tables = [("outcome", schema["outcome"])] if "outcome" in schema else []
    tables += [(f"features.{_value(entry['name'])}", entry) for entry in schema["features"]]
    for title, entry in tables:
        lines += ["", f"[{title}]", *(f"{key} = {_value(value)}" for key, value in entry.items() if key != "name")]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML, but for this letter


def read_toml(path: Place) -> str:
    try:
        # UTF-8 takes up to four bytes for a character.
        content = read_place(path, 4 * LARGEST, "no schema needs as many, so correct it")
        return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig").read()
    except UnicodeDecodeError:
        raise FileFormatError(f"{place_name(path)} is not UTF-8 text, as TOML must be. Save it as UTF-8.") from None


def parse_toml(text: str, place: str) -> dict[str, Any]:
    if len(text) > LARGEST:
        raise FileFormatError(f"{place} has {len(text)} characters, more than any schema needs. Correct it.")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of more digits than Python reads, and deep brackets
        raise FileFormatError(f"{place} is not TOML: {error}. Correct the file there.") from error


def read_features(given: Any, place: str) -> dict[str, Feature]:
    """Return features by their names: those of tables, as TOML has them, or of a list of entries, as ``to_dict`` writes it."""
    if isinstance(given, dict):
        given = [{**table_of(entry, f"{place}: features.{name}"), "name": name} for name, entry in given.items()]
    if not isinstance(given, list) or not all(isinstance(e, dict) and isinstance(e.get("name"), str) for e in given):
        raise SchemaError(
            f"{place} has no [features.NAME] tables, and no list of entries with names, so it declares nothing. Add one per "
            "feature, with low and high or with values."
        )
    features: dict[str, Feature] = {}
    for entry in given:
        if entry["name"] in features:
            raise SchemaError(f"{place}: feature {entry['name']!r} is declared twice. Keep one of the entries.")
        features[entry["name"]] = read_entry(entry, f"{place}: features.{entry['name']}")
    return features


def table_of(entry: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping) or "name" in entry:
        raise SchemaError(f"{place} is no table. Write its name in brackets, and below it low and high, or values.")
    return entry


def entry_of(feature: Feature) -> dict[str, Any]:
    kind = type(feature)
    return ({} if kind in (Numeric, Categorical) else {"type": kind.__name__.lower()}) | feature.entry()


def read_entry(entry: Mapping[str, Any], place: str) -> Feature:
    kind = entry.get("type", "categorical" if "values" in entry else "numeric")
    if not isinstance(kind, str) or kind not in KINDS:
        raise SchemaError(f"{place} has the type {kind!r}; write one of {list(KINDS)}.")
    known = {one.name: one.default is MISSING for one in fields(KINDS[kind]) if one.init}
    unused = {"type", "taxonomy"} if kind == "categorical" else {"type"}  # 0.3 wrote taxonomies, which no learner reads
    check_keys(entry, {"name", *(name for name in known if known[name])}, {*known, *unused}, place)
    feature: Feature = made_at(place, KINDS[kind], **{name: entry[name] for name in known if name in entry})
    return feature


def check_keys(values: Mapping[str, Any], needed: set[str], allowed: set[str], place: str) -> None:
    for key in sorted(needed - set(values)):
        raise SchemaError(f"{place} lacks {key!r}, which it needs. Add it.")
    for key in sorted(set(values) - needed - allowed):
        raise SchemaError(f"{place} has the unknown key {key!r}. Use {sorted(needed | allowed)}.")


def made_at(place: str, make: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return make(*args, **kwargs)
    except SchemaError as error:
        raise SchemaError(f"{place}: {error}") from error
    except (TypeError, RecursionError) as error:
        raise SchemaError(f"{place} holds a value of the wrong type ({error}). Correct it.") from error
