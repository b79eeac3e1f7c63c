"""A schema's entries as plain values, as files hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow.errors import SchemaError
from hedgerow.schema.features import Categorical, Feature, Numeric, as_lists
from hedgerow.schema.types import Boolean, Date, Integer

__all__ = ["check_keys", "entry_of", "made_at", "read_entry", "read_outcome"]

# By the entry's type, which is left out where the other keys tell it.
RANGES: dict[str, type[Numeric]] = {"numeric": Numeric, "integer": Integer, "date": Date}
LISTS: dict[str, type[Categorical]] = {"categorical": Categorical, "boolean": Boolean}
ORIGIN = {"origin", "release"}


def entry_of(feature: Feature) -> dict[str, Any]:
    """Return a feature as JSON-able values."""
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
        if feature.taxonomy is not None:
            entry["taxonomy"] = as_lists(feature.taxonomy)
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
    feature: Feature = made_at(
        place, made, **{key: value for key, value in entry.items() if key not in ("name", "type")}
    )
    return feature


def read_outcome(entry: Any, place: str) -> Feature:
    """Return the outcome that ``entry_of`` wrote; ``place`` names the schema in errors."""
    if not isinstance(entry, Mapping) or "name" in entry:
        raise SchemaError(f"{place}: outcome is no table of a range. Write [outcome] and below it low and high.")
    return read_entry({**entry, "name": "outcome"}, f"{place}: outcome")


def check_keys(values: Mapping[str, Any], needed: set[str], allowed: set[str], place: str) -> None:
    """Raise SchemaError where a key lacks, or is unknown."""
    for key in sorted(needed - set(values)):
        raise SchemaError(f"{place} lacks {key!r}, without which it says too little. Add it.")
    for key in sorted(set(values) - needed - allowed):
        raise SchemaError(
            f"{place} has the unknown key {key!r}, which may be a misspelling. Use {sorted(needed | allowed)}."
        )


def made_at(place: str, make: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a part of a schema; an error names the place it was read from."""
    try:
        return make(*args, **kwargs)
    except SchemaError as error:
        raise SchemaError(f"{place}: {error}") from error
    except TypeError as error:
        raise SchemaError(f"{place} holds a value of the wrong type ({error}). Correct it.") from error
