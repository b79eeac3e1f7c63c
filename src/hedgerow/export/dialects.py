"""What differs between SQL engines: how they spell numbers and text, and how a cell of any type becomes one of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from hedgerow.errors import ConfigurationError
from hedgerow.export.spellings import SPACE, WORDS

__all__ = ["DIALECTS", "Dialect"]

DECIMAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
LARGEST_POWER = 62  # of two that is a whole number of 64 bits


class Dialect(ABC):
    """One engine's SQL."""

    def identifier(self, name: str) -> str:
        """Return a name that is taken as it stands."""
        _refuse_nul(name)
        return '"' + name.replace('"', '""') + '"'

    def literal(self, text: str) -> str:
        """Return a text that is taken as it stands."""
        _refuse_nul(text)
        return "'" + text.replace("'", "''") + "'"

    @abstractmethod
    def number(self, value: float) -> str:
        """Return exactly this float64."""

    @abstractmethod
    def text_of(self, cell: str) -> str:
        """Return a cell as text without the white space around it, NULL where there is none."""

    @abstractmethod
    def number_of(self, cell: str) -> str:
        """Return the number that a cell holds or spells as a decimal or a word, as float64; NULL where it does not."""

    @abstractmethod
    def decimal_of(self, cell: str, text: str) -> str:
        """Return the number that a cell holds or spells as a category does; ``text`` is its ``text_of``."""

    @abstractmethod
    def moment_text_of(self, cell: str) -> str:
        """Return a cell as the text that a date or a moment of any type has, NULL where there is none."""

    @abstractmethod
    def day_of(self, text: str) -> str:
        """Return the days since 1970 of a text of the form 2024-12-31; NULL where there is no such day."""

    @abstractmethod
    def whole_of(self, text: str) -> str:
        """Return the whole number of some digits."""

    @abstractmethod
    def greatest(self, values: Sequence[str]) -> str:
        """Return the largest of some values."""

    def words(self, text: str, otherwise: str) -> str:
        """Return the number that a word stands for."""
        rules = "".join(
            f" WHEN {self.literal(word)} THEN {self.number(number)}" for number, own in WORDS.items() for word in own
        )
        return f"CASE lower({text}){rules} ELSE {otherwise} END"


class DuckDB(Dialect):
    """DuckDB 1 and later."""

    def number(self, value: float) -> str:
        """Return exactly this float64: a literal with an exponent is one, and is rounded correctly."""
        text = repr(float(value))
        if "inf" in text:
            return f"CAST('{text}' AS DOUBLE)"
        return text if "e" in text else f"{text}e0"

    def text_of(self, cell: str) -> str:
        """Return a cell as text without the white space around it."""
        return f"trim(CAST({cell} AS VARCHAR), {_characters('chr')})"

    def number_of(self, cell: str) -> str:
        """Return the number that a cell holds; only what is none is looked at as text."""
        word = self.words(self.text_of(cell), "NULL")
        return f"nullif(coalesce(TRY_CAST({cell} AS DOUBLE), {word}), CAST('nan' AS DOUBLE))"

    def decimal_of(self, cell: str, text: str) -> str:
        """Return the number that the text of a cell spells: what is cast from a number is one."""
        number = f"CASE WHEN regexp_full_match({text}, {self.literal(DECIMAL)}) THEN TRY_CAST({text} AS DOUBLE) END"
        return self.words(text, number)

    def moment_text_of(self, cell: str) -> str:
        """Return the text of a cell; a moment with an offset is written with hours alone where these are whole."""
        text = self.text_of(cell)
        whole = f"regexp_replace({text}, '([+-][0-9]{{2}})$', '\\1:00')"
        return f"CASE WHEN typeof({cell}) = 'TIMESTAMP WITH TIME ZONE' THEN {whole} ELSE {text} END"

    def day_of(self, text: str) -> str:
        """Return the days since 1970 of a text of the form 2024-12-31."""
        return f"CAST(TRY_CAST({text} AS DATE) - DATE '1970-01-01' AS BIGINT)"

    def whole_of(self, text: str) -> str:
        """Return the whole number of some digits."""
        return f"TRY_CAST({text} AS BIGINT)"

    def greatest(self, values: Sequence[str]) -> str:
        """Return the largest of some values."""
        return f"greatest({', '.join(values)})"


class SQLite(Dialect):
    """SQLite 3.35 and later, where each cell has a type of its own."""

    def number(self, value: float) -> str:
        """Return exactly this float64: SQLite may read long decimals a little wrong, and divides powers of two exactly."""
        if value in (float("inf"), float("-inf")):
            return "9e999" if value > 0 else "-9e999"
        if float(value).is_integer() and abs(value) < 1 << 53:
            return f"{int(value)}.0"
        top, bottom = float(value).as_integer_ratio()
        power, result = bottom.bit_length() - 1, ""
        while abs(top) >= 1 << 53 and top % 2 == 0:
            top, power = top // 2, power - 1
        sign = "/" if power > 0 else "*"
        for step in _steps(abs(power)):
            result += f" {sign} {1 << step}"
        return f"(CAST({top} AS REAL){result} /* {float(value)!r} */)"

    def text_of(self, cell: str) -> str:
        """Return a cell as text without the white space around it."""
        return f"trim(CAST({cell} AS TEXT), {_characters('char')})"

    def number_of(self, cell: str) -> str:
        """Return the number that a cell holds, or that its text spells."""
        return self.decimal_of(cell, self.text_of(cell))

    def decimal_of(self, cell: str, text: str) -> str:
        """Return the number that a cell holds, or that its text spells.

        Text that is a number as a whole becomes one before it is compared with a number, and other text is above every number.
        """
        number = f"CASE WHEN {text} <= CAST(9e999 AS REAL) THEN CAST({text} AS REAL) END"
        return f"CASE WHEN typeof({cell}) IN ('integer', 'real') THEN CAST({cell} AS REAL) ELSE {self.words(text, number)} END"

    def moment_text_of(self, cell: str) -> str:
        """Return the text of a cell: the engine has no other dates."""
        return self.text_of(cell)

    def day_of(self, text: str) -> str:
        """Return the days since 1970 of a text; the engine reads 2024-02-30 as the first of March, which is another text."""
        return f"CASE WHEN date(julianday({text})) = {text} THEN CAST(julianday({text}) - 2440587.5 AS INTEGER) END"

    def whole_of(self, text: str) -> str:
        """Return the whole number of some digits."""
        return f"CAST({text} AS INTEGER)"

    def greatest(self, values: Sequence[str]) -> str:
        """Return the largest of some values; SQLite compares 127 at once at most."""
        most = 100
        groups = [values[start : start + most] for start in range(0, len(values), most)]
        found = [f"max({', '.join(group)})" if len(group) > 1 else group[0] for group in groups]
        return found[0] if len(found) == 1 else self.greatest(found)


DIALECTS: Mapping[str, Dialect] = {"duckdb": DuckDB(), "sqlite": SQLite()}


def _steps(power: int) -> list[int]:
    """Return powers that are small enough, and add up to one."""
    return [LARGEST_POWER] * (power // LARGEST_POWER) + [power % LARGEST_POWER] * (power % LARGEST_POWER > 0)


def _characters(function: str) -> str:
    """Return the characters that stand around text without being part of it."""
    return " || ".join(f"{function}({ord(character)})" for character in SPACE)


def _refuse_nul(text: str) -> None:
    if "\0" in text:
        raise ConfigurationError(f"{text!r} holds the character NUL, which ends a text in SQL; name it without.")
