"""Dates and moments in SQL: the text of a cell becomes seconds since 1970, as ``schema.dates`` reads it.

A statement has two steps for it: ``zones`` cuts off what stands behind the digits of the time, ``moments`` counts. Places of
letters are fixed up to there, so no regular expression is needed: SQLite has none.
"""

from __future__ import annotations

from hedgerow.export.dialects import Dialect
from hedgerow.export.readings import NumberReading
from hedgerow.schema.dates import SECONDS

__all__ = ["count_of", "moments", "zones"]

DIGIT, DIGITS = "[0-9]", "0123456789"
TWO = DIGIT * 2
ZONES = (f"[+-]{TWO}{TWO}", f"[+-]{TWO}:{TWO}", f"[+-]{TWO}:{TWO}:{TWO}")


def zones(i: int) -> list[str]:
    """Return the columns t, all behind minutes or whole seconds, and z, what follows the digits that it begins with."""
    tail = (
        f"CASE WHEN length(v{i}) = 10 THEN '' WHEN substr(v{i}, 17, 1) <> ':' THEN substr(v{i}, 17) "
        f"WHEN substr(v{i}, 20, 1) = '.' THEN substr(v{i}, 21) ELSE substr(v{i}, 20) END"
    )
    return [f"v{i}", f"{tail} AS t{i}", f"ltrim({tail}, '{DIGITS}') AS z{i}"]


def moments(sql: Dialect, i: int) -> list[str]:
    """Return the columns s, seconds since 1970 in UTC, rounded down, NULL without a moment, and f, microseconds beyond."""

    def part(column: str, start: int, length: int) -> str:
        return f"coalesce({sql.whole_of(f'substr({column}{i}, {start}, {length})')}, 0)"

    seconds = f"CASE WHEN substr(v{i}, 17, 1) = ':' THEN {part('v', 18, 2)} ELSE 0 END"
    minutes = f"CASE WHEN substr(z{i}, 4, 1) = ':' THEN {part('z', 5, 2)} ELSE {part('z', 4, 2)} END"
    offset = f"({part('z', 2, 2)} * 3600 + {minutes} * 60 + {part('z', 8, 2)})"
    time = f"{part('v', 12, 2)} * 3600 + {part('v', 15, 2)} * 60 + {seconds}"
    signed = f"CASE substr(z{i}, 1, 1) WHEN '-' THEN -{offset} ELSE {offset} END"
    count = f"{sql.day_of(f'substr(v{i}, 1, 10)')} * 86400 + {time} - ({signed})"
    fraction = sql.whole_of(f"substr(substr(t{i}, 1, length(t{i}) - length(z{i})) || '000000', 1, 6)")
    return [
        f"CASE WHEN {_is_moment(sql, i)} AND {offset} < 86400 THEN {count} END AS s{i}",
        f"CASE WHEN substr(v{i}, 20, 1) = '.' THEN {fraction} ELSE 0 END AS f{i}",
    ]


def _is_moment(sql: Dialect, i: int) -> str:
    """Return whether a text has the form of a date or a moment; whether the day exists is the engine's to say."""
    digits = f"length(t{i}) - length(z{i})"
    zone = " OR ".join(sql.matches(f"z{i}", form) for form in ZONES)
    day = sql.matches(f"substr(v{i}, 1, 10)", f"{TWO}{TWO}-{TWO}-{TWO}")
    minute = sql.matches(f"substr(v{i}, 12, 5)", f"[0-2]{DIGIT}:[0-5]{DIGIT}")
    second = sql.matches(f"substr(v{i}, 18, 2)", f"[0-5]{DIGIT}")
    return (
        f"{day} AND substr(v{i}, 1, 4) > '0000' AND (length(v{i}) = 10 OR ("
        f"substr(v{i}, 11, 1) IN (' ', 'T') AND {minute} "
        f"AND substr(v{i}, 12, 2) < '24' AND (substr(v{i}, 17, 1) <> ':' OR {second}) "
        f"AND CASE WHEN substr(v{i}, 17, 1) = ':' AND substr(v{i}, 20, 1) = '.' THEN {digits} BETWEEN 1 AND 9 "
        f"ELSE {digits} <= 3 END AND (z{i} IN ('', 'Z') OR {zone})))"
    )


def count_of(sql: Dialect, i: int, reading: NumberReading) -> str:
    """Return the column v, the days or seconds of a moment as a number, NULL where there is none or it is a marker."""
    assert reading.unit is not None
    second = 10**6
    missing = "".join(
        f" WHEN s{i} = {moment // second} AND f{i} = {moment % second} THEN NULL" for moment in reading.moments
    )
    return (
        f"CASE WHEN s{i} IS NULL THEN NULL{missing} ELSE floor(s{i} / {sql.number(SECONDS[reading.unit])}) END AS v{i}"
    )
