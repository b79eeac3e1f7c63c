"""What differs between SQL engines: how they spell numbers and text, and how a cell of any type becomes one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hedgerow.errors import ConfigurationError
from hedgerow.export.readings import SPACE, WORDS

DECIMAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
LARGEST_POWER = 62  # of two that is a whole number of 64 bits

# PostgreSQL: decimals whose float64 is neither too large nor too small if they are short, the parts of any, and what rounds to
# zero or infinity.
USUAL = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?"
PARTS = r"^([+-]?)0*([0-9]*)\.?([0-9]*)(?:[eE]([+-]?)0*([0-9]+))?$"
MANY_DIGITS = 800  # decide a float64 of any text
BELOW_HALF, ABOVE_LARGEST = "2.4703282292062327209e-324", "1.7976931348623158079e308"
DAY = "(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
LONGEST_NAME = 63  # bytes


class Dialect:
    """One engine's SQL. This is that of DuckDB 1 and later, and the others write what differs."""

    double = "DOUBLE"  # the type float64

    def identifier(self, name: str) -> str:
        """Return a name that is taken as it stands."""
        _refuse_nul(name)
        return '"' + name.replace('"', '""') + '"'

    def literal(self, text: str) -> str:
        """Return a text that is taken as it stands."""
        _refuse_nul(text)
        return "'" + text.replace("'", "''") + "'"

    def number(self, value: float) -> str:
        """Return exactly this float64. DuckDB reads a literal with an exponent as one, and rounds it correctly."""
        text = repr(float(value))
        if "inf" in text:
            return f"CAST('{text}' AS DOUBLE)"
        return text if "e" in text else f"{text}e0"

    def text_of(self, cell: str) -> str:
        """Return a cell as text without the white space around it, NULL where there is none."""
        return f"trim(CAST({cell} AS VARCHAR), {_characters('chr')})"

    def number_of(self, cell: str) -> str:
        """Return the number that a cell holds or spells as a decimal or a word, as float64; NULL where it does not."""
        word = self.words(self.text_of(cell), "NULL")  # DuckDB looks at text only where the cell is no number
        return f"nullif(coalesce(TRY_CAST({cell} AS DOUBLE), {word}), CAST('nan' AS DOUBLE))"

    def decimal_of(self, cell: str, text: str) -> str:
        """Return the number that a cell holds or spells as a category does; ``text`` is its ``text_of``."""
        number = f"CASE WHEN regexp_full_match({text}, {self.literal(DECIMAL)}) THEN TRY_CAST({text} AS DOUBLE) END"
        return self.words(text, number)

    def moment_text_of(self, cell: str) -> str:
        """Return a cell as the text that a date or a moment of any type has, NULL where there is none."""
        text = self.text_of(cell)  # DuckDB writes an offset with hours alone where these are whole
        whole = f"regexp_replace({text}, '([+-][0-9]{{2}})$', '\\1:00')"
        return f"CASE WHEN typeof({cell}) = 'TIMESTAMP WITH TIME ZONE' THEN {whole} ELSE {text} END"

    def day_of(self, text: str) -> str:
        """Return the days since 1970 of a text of the form 2024-12-31; NULL where there is no such day."""
        return f"CAST(TRY_CAST({text} AS DATE) - DATE '1970-01-01' AS BIGINT)"

    def whole_of(self, text: str) -> str:
        """Return the whole number of some digits."""
        return f"TRY_CAST({text} AS BIGINT)"

    def greatest(self, values: Sequence[str]) -> str:
        return f"greatest({', '.join(values)})"

    def matches(self, text: str, pattern: str) -> str:
        """Return whether a text as a whole has a form: letters, and sets of letters in brackets."""
        return f"{text} GLOB '{pattern}'"

    def exponential(self, value: str) -> str:
        """Return e to the power of a value that is 0 at most."""
        return f"exp({value})"

    def words(self, text: str, otherwise: str) -> str:
        """Return the number of a word, such as true or infinity, and ``otherwise`` for any other text."""
        rules = "".join(
            f" WHEN {self.literal(word)} THEN {self.number(number)}" for number, own in WORDS.items() for word in own
        )
        return f"CASE lower({text}){rules} ELSE {otherwise} END"


class SQLite(Dialect):
    """SQLite 3.35 and later, where each cell has a type of its own."""

    def number(self, value: float) -> str:
        # SQLite may read long decimals a little wrong, and divides by powers of two exactly.
        if value in (float("inf"), float("-inf")):
            return "9e999" if value > 0 else "-9e999"
        if float(value).is_integer() and abs(value) < 1 << 53:
            return f"{int(value)}.0"
        top, bottom = float(value).as_integer_ratio()
        power = bottom.bit_length() - 1
        while abs(top) >= 1 << 53 and top % 2 == 0:
            top, power = top // 2, power - 1
        sign, (whole, rest) = "/" if power > 0 else "*", divmod(abs(power), LARGEST_POWER)
        steps = [LARGEST_POWER] * whole + [rest] * (rest > 0)
        return f"(CAST({top} AS REAL){''.join(f' {sign} {1 << step}' for step in steps)} /* {float(value)!r} */)"

    def text_of(self, cell: str) -> str:
        return f"trim(CAST({cell} AS TEXT), {_characters('char')})"

    def number_of(self, cell: str) -> str:
        return self.decimal_of(cell, self.text_of(cell))

    def decimal_of(self, cell: str, text: str) -> str:
        # Text that is a number as a whole becomes one before it is compared with a number; other text is above every number.
        number = f"CASE WHEN {text} <= CAST(9e999 AS REAL) THEN CAST({text} AS REAL) END"
        return f"CASE WHEN typeof({cell}) IN ('integer', 'real') THEN CAST({cell} AS REAL) ELSE {self.words(text, number)} END"

    def moment_text_of(self, cell: str) -> str:
        return self.text_of(cell)  # SQLite has no other dates

    def day_of(self, text: str) -> str:
        # SQLite reads 2024-02-30 as the first of March, which is another text.
        return f"CASE WHEN date(julianday({text})) = {text} THEN CAST(julianday({text}) - 2440587.5 AS INTEGER) END"

    def whole_of(self, text: str) -> str:
        return f"CAST({text} AS INTEGER)"

    def greatest(self, values: Sequence[str]) -> str:
        most = 100  # SQLite compares 127 at once at most
        groups = [values[start : start + most] for start in range(0, len(values), most)]
        largest = [f"max({', '.join(group)})" if len(group) > 1 else group[0] for group in groups]
        return largest[0] if len(largest) == 1 else self.greatest(largest)


class PostgreSQL(Dialect):
    """PostgreSQL 12 and later, with its default settings.

    A cell is read from its text, as the type of the column is not known and each expression has one type. The server ends a
    statement at a cast or a power that a float64 cannot hold, so each has a guard, in a CASE: nothing else has an order.
    """

    double = "DOUBLE PRECISION"

    def identifier(self, name: str) -> str:
        if len(name.encode()) > LONGEST_NAME:
            raise ConfigurationError(
                f"the name {name!r} has more than {LONGEST_NAME} bytes, to which PostgreSQL shortens names; use a shorter one."
            )
        return super().identifier(name)

    def literal(self, text: str) -> str:
        literal = super().literal(text)  # a backslash is one under each setting of the server
        return "E" + literal.replace("\\", "\\\\") if "\\" in text else literal

    def number(self, value: float) -> str:
        return f"CAST('{float(value)!r}' AS {self.double})"  # a bare literal would be a decimal

    def text_of(self, cell: str) -> str:
        # Compared letter by letter, whatever the server's collation is.
        return f'(btrim(CAST({cell} AS TEXT), {_characters("chr")}) COLLATE "C")'

    def number_of(self, cell: str) -> str:
        return self.decimal_of(cell, self.text_of(cell))

    def decimal_of(self, cell: str, text: str) -> str:
        # A float32 is written with the digits that tell it from other float32s.
        number = f"CAST({text} AS {self.double})"
        single = f"pg_typeof({cell}) = CAST('real' AS regtype)"
        usual = f"CASE WHEN {single} THEN CAST(CAST({text} AS REAL) AS {self.double}) ELSE {number} END"
        short = f"length({text}) < 200 AND {self.matches(text, USUAL)}"
        return self.words(text, f"CASE WHEN {short} THEN {usual} ELSE {self._unusual(text)} END")

    def _unusual(self, text: str) -> str:
        """Return the number of any decimal: digits after the point and a power of ten, which say whether a float64 holds it."""
        digits, sign = "ltrim(d[2] || d[3], '0')", "CASE d[4] WHEN '-' THEN -1 ELSE 1 END"
        power = f"CASE WHEN length(d[5]) > 6 THEN 999999 WHEN d[5] > '' THEN CAST(d[5] AS BIGINT) ELSE 0 END * {sign}"
        point = f"length(d[2]) - length(d[2] || d[3]) + length({digits})"
        parts = f"d[1] AS s, left({digits}, {MANY_DIGITS}) AS z, {point} + {power} AS e"
        size, value = "CAST('0.' || z || 'e' || e AS NUMERIC)", f"CAST(s || '0.' || z || 'e' || e AS {self.double})"
        zero, infinity = self.number(0), f"CAST(s || 'inf' AS {self.double})"
        return (  # the quoted parts are ours, and a cell
            f"(SELECT CASE WHEN z = '' OR e < -323 THEN {zero} WHEN e > 309 THEN {infinity} "  # noqa: S608
            f"WHEN {size} < {BELOW_HALF} THEN {zero} WHEN {size} > {ABOVE_LARGEST} THEN {infinity} ELSE {value} END "
            f"FROM (SELECT {parts} FROM regexp_match({text}, '{PARTS}') AS d WHERE {self.matches(text, DECIMAL)} OFFSET 0) AS p)"
        )

    def moment_text_of(self, cell: str) -> str:
        # JSON writes a date in ISO 8601 under each setting of the server.
        return f"(btrim(to_jsonb({cell}) #>> '{{}}', {_characters('chr')}) COLLATE \"C\")"

    def day_of(self, text: str) -> str:
        # The first of the month exists, and the day must be in that month.
        day = f"(CAST(substr({text}, 1, 8) || '01' AS DATE) + (CAST(substr({text}, 9, 2) AS INTEGER) - 1))"
        counted = f"CAST({day} - DATE '1970-01-01' AS BIGINT)"
        inside = f"CASE WHEN to_char({day}, 'YYYY-MM-DD') = {text} THEN {counted} END"
        return f"CASE WHEN {self.matches(text, DAY)} THEN {inside} END"

    def whole_of(self, text: str) -> str:
        return f"CASE WHEN {self.matches(text, '[0-9]{1,18}')} THEN CAST({text} AS BIGINT) END"

    def matches(self, text: str, pattern: str) -> str:
        return f"{text} ~ '^({pattern})$'"

    def exponential(self, value: str) -> str:
        # e to -700 stands for what is smaller, of which some would end the statement.
        return f"exp(greatest({value}, {self.number(-700)}))"


DIALECTS: Mapping[str, Dialect] = {"duckdb": Dialect(), "postgresql": PostgreSQL(), "sqlite": SQLite()}


def _characters(function: str) -> str:
    """Return the characters that stand around text without being part of it."""
    return " || ".join(f"{function}({ord(character)})" for character in SPACE)


def _refuse_nul(text: str) -> None:
    if "\0" in text:
        raise ConfigurationError(f"{text!r} holds the character NUL, which ends a text in SQL; name it without.")
