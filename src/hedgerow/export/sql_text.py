"""A released model as one SQL statement, and what differs between engines: how they spell numbers and text, and read cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hedgerow.errors import ConfigurationError
from hedgerow.export.form import Mean, OutcomeLog, OutcomeRange, ScoringForm
from hedgerow.export.readings import WORDS, NumberReading, ValueReading
from hedgerow.reading.cells import SPACE
from hedgerow.reading.formats import SECONDS
from hedgerow.texts import listed

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
        return _quoted(name, '"')

    def literal(self, text: str) -> str:
        return _quoted(text, "'")

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
    return " || ".join(f"{function}({ord(character)})" for character in SPACE)


def _quoted(text: str, mark: str) -> str:
    if "\0" in text:
        raise ConfigurationError(f"{text!r} holds the character NUL, which ends a text in SQL; name it without.")
    return mark + text.replace(mark, 2 * mark) + mark


DIGIT, DIGITS = "[0-9]", "0123456789"
TWO = DIGIT * 2
ZONES = (f"[+-]{TWO}{TWO}", f"[+-]{TWO}:{TWO}", f"[+-]{TWO}:{TWO}:{TWO}")
SEPARATOR = ",\n    "  # between the columns of a step
SHORT = 12  # letters of what may be written again and again
Step = tuple[str, list[str], str]  # of a statement: its name, its columns, and the step that they are read from
MOST_LEAVES = 200_000  # of all trees and classes together; engines parse no statement of hundreds of megabytes


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
    # Whether a text has the form of a date or a moment; whether the day exists is the engine's to say.
    digits = f"length(t{i}) - length(z{i})"
    zone = " OR ".join(sql.matches(f"z{i}", form) for form in ZONES)
    day = sql.matches(f"substr(v{i}, 1, 10)", f"{TWO}{TWO}-{TWO}-{TWO}")
    minute = sql.matches(f"substr(v{i}, 12, 5)", f"[0-2]{DIGIT}:[0-5]{DIGIT}")
    second = sql.matches(f"substr(v{i}, 18, 2)", f"[0-5]{DIGIT}")
    is_moment = (
        f"{day} AND substr(v{i}, 1, 4) > '0000' AND (length(v{i}) = 10 OR ("
        f"substr(v{i}, 11, 1) IN (' ', 'T') AND {minute} "
        f"AND substr(v{i}, 12, 2) < '24' AND (substr(v{i}, 17, 1) <> ':' OR {second}) "
        f"AND CASE WHEN substr(v{i}, 17, 1) = ':' AND substr(v{i}, 20, 1) = '.' THEN {digits} BETWEEN 1 AND 9 "
        f"ELSE {digits} <= 3 END AND (z{i} IN ('', 'Z') OR {zone})))"
    )
    return [
        f"CASE WHEN {is_moment} AND {offset} < 86400 THEN {count} END AS s{i}",
        f"CASE WHEN substr(v{i}, 20, 1) = '.' THEN {fraction} ELSE 0 END AS f{i}",
    ]


def sql_statement(
    form: ScoringForm, table: str | Sequence[str], dialect: str, keep: Sequence[str] = (), *, typed: bool = False
) -> str:
    """Return a form as one SELECT statement, without a semicolon; ``keep`` are columns that stand before the answers."""
    if dialect not in DIALECTS:
        raise ConfigurationError(f"dialect is {dialect!r}; pass one of {', '.join(map(repr, DIALECTS))}.")
    written = [reading.name for reading in form.readings if isinstance(reading, NumberReading) and reading.text]
    if written and not typed:
        raise ConfigurationError(
            f"the schema declares a format of the text in {listed(written)}, which SQL does not read as predict does. Convert "
            "these columns to numbers and dates, and pass typed=True (on the command line --typed)."
        )
    form = form.merged()
    seen: dict[str, str] = {}
    for reading in form.readings:
        other = seen.setdefault(reading.name.casefold(), reading.name)
        if other != reading.name:
            raise ConfigurationError(
                f"the features {other!r} and {reading.name!r} are one column in SQL, which does not tell large letters from "
                "small ones; rename one of them."
            )
    leaves = int((form.test < 0).sum()) * form.votes.shape[1]
    if leaves > MOST_LEAVES:
        raise ConfigurationError(
            f"the model has {leaves} votes of leaves, and a statement holds {MOST_LEAVES}; fit fewer or smaller trees "
            "(HedgerowClassifier and HedgerowRegressor: interaction_cst='pairwise'), or use to_onnx."
        )
    return Writer(DIALECTS[dialect], form, tuple(keep)).statement([table] if isinstance(table, str) else list(table))


class Writer:
    """A statement that is being written; every step is a table of its own, so that nothing is worked out twice."""

    def __init__(self, sql: Dialect, form: ScoringForm, keep: Sequence[str]) -> None:
        self.sql = sql
        self._form = form
        self._keep = keep
        self._kept = [f"k{i}" for i in range(len(keep))]
        self._columns = range(form.votes.shape[1])

    def statement(self, table: Sequence[str]) -> str:
        prefix, roots = "hedgerow_", self._form.roots.tolist()
        while any(part.casefold().startswith(prefix) for part in table):
            prefix += "_"
        trees = ([f"CAST({self._node(root, column)} AS BIGINT)" for root in roots] for column in self._columns)
        sums = [f"{_added(votes)} AS s{column}" for column, votes in enumerate(trees)]
        steps = [*self._codes(), ("votes", [*self._kept, *sums], "codes"), *self._shares()]
        sources = [
            f"{'.'.join(map(self.sql.identifier, table))} AS t",
            *(prefix + source for _, _, source in steps[1:]),
        ]
        text = ",\n".join(
            f"{prefix}{name} AS MATERIALIZED (\n  SELECT {SEPARATOR.join(columns)}\n  FROM {source}\n)"  # noqa: S608 - names are quoted, and literals too
            for (name, columns, _), source in zip(steps, sources, strict=True)
        )
        return f"WITH {text}\nSELECT {SEPARATOR.join(self._answers())}\nFROM {prefix}{steps[-1][0]}"

    def _codes(self) -> list[Step]:
        """Return the steps from cells to codes.

        Cells become numbers or text; a name of no column is an error, since the table is named before it. Dates have two steps of
        their own, through which other columns go as they are.
        """
        sql, number = self.sql, self.sql.number
        cells = [f"t.{sql.identifier(name)} AS {kept}" for name, kept in zip(self._keep, self._kept, strict=True)]
        zoned, dated, numbers, codes = ([*self._kept] for _ in range(4))
        for i, reading in enumerate(self._form.readings):
            cell, passed, value = f"t.{sql.identifier(reading.name)}", [f"v{i}"], f"v{i}"
            if isinstance(reading, ValueReading):
                cells += [f"{cell} AS r{i}"] * bool(reading.numbers) + [f"{sql.text_of(cell)} AS v{i}"]
                passed = [f"r{i}"] * bool(reading.numbers) + passed
                equal = "".join(f" WHEN n{i} = {number(key)} THEN {code}" for key, code in reading.numbers)
                rest = f"CASE{equal} ELSE {reading.undeclared} END" if equal else str(reading.undeclared)
                texts = "".join(f" WHEN {sql.literal(text)} THEN {code}" for text, code in reading.texts)
                code = f"CASE WHEN v{i} IS NULL THEN {reading.missing} ELSE CASE v{i}{texts} ELSE {rest} END END"
            else:
                cells.append(f"{sql.moment_text_of(cell) if reading.unit else sql.number_of(cell)} AS v{i}")
                markers = "".join(f" OR v{i} = {number(marker)}" for marker in reading.markers)
                rules = "".join(f" WHEN v{i} < {number(edge)} THEN {code}" for code, edge in enumerate(reading.edges))
                code = f"CASE WHEN v{i} IS NULL{markers} THEN {reading.missing}{rules} ELSE {len(reading.edges)} END"
                if reading.unit:  # days or seconds of a moment as a number, NULL where there is none or it is a marker
                    missing = "".join(
                        f" WHEN s{i} = {whole} AND f{i} = {rest} THEN NULL"
                        for whole, rest in (divmod(moment, 10**6) for moment in reading.moments)
                    )
                    counted = f"floor(s{i} / {number(SECONDS[reading.unit])})"
                    value = f"CASE WHEN s{i} IS NULL THEN NULL{missing} ELSE {counted} END AS v{i}"
            is_date = reading.unit is not None
            zoned += zones(i) if is_date else passed
            dated += moments(sql, i) if is_date else passed
            numbers.append(value)
            if isinstance(reading, ValueReading) and reading.numbers:
                numbers.append(f"{sql.decimal_of(f'r{i}', f'v{i}')} AS n{i}")
            codes.append(f"{code} AS c{i}")
        steps: list[Step] = [("cells", cells, "")]
        if any(reading.unit for reading in self._form.readings):
            steps += [("zones", zoned, "cells"), ("moments", dated, "zones")]
        return [*steps, ("numbers", numbers, steps[-1][0]), ("codes", codes, "numbers")]

    def _node(self, node: int, column: int) -> str:
        form, test = self._form, int(self._form.test[node])
        if test < 0:
            return str(int(form.votes[node, column]))
        children = [self._node(child, column) for child in form.children(node).tolist()]
        if len(set(children)) == 1:
            return children[0]
        groups: dict[str, list[int]] = {}  # the codes that lead to the same
        for code, branch in enumerate(form.codes_to_branches(test).tolist()):
            groups.setdefault(children[branch], []).append(code)
        *some, (last, _) = sorted(groups.items(), key=lambda group: len(group[1]))
        if not some:  # no code leads elsewhere
            return last
        column_of_codes = f"c{int(form.feature[test])}"
        if all(len(codes) == 1 or len(given) < SHORT for given, codes in some):
            rules = "".join(f" WHEN {one} THEN {given}" for given, codes in some for one in codes)
            return f"CASE {column_of_codes}{rules} ELSE {last} END"
        # The group first, so that no branch is written twice. Lists after IN would be joins to DuckDB, hundreds of them.
        places = "".join(f" WHEN {one} THEN {place}" for place, (_, codes) in enumerate(some) for one in codes)
        rules = "".join(f" WHEN {place} THEN {given}" for place, (given, _) in enumerate(some))
        return f"CASE CASE {column_of_codes}{places} END{rules} ELSE {last} END"

    def _shares(self) -> list[Step]:
        """Return the steps from sums of votes to a prediction y, or to probabilities p0, p1, ... beside the largest sum m."""
        link, number, kept, double = self._form.link, self.sql.number, self._kept, self.sql.double
        if isinstance(link, OutcomeLog):
            log = f"CAST({_within('s0', link.first, link.last)} AS {double}) / {number(link.steps)}"
            value = f"{number(link.base)} * exp({log}) AS p"
            y = f"{_within('p', number(link.low), number(link.high))} AS y"
            return [("values", [*kept, value], "votes"), ("predictions", [*kept, y], "values")]
        if isinstance(link, OutcomeRange):
            share = f"CAST({_within('s0', 0, link.steps)} AS {double}) / {number(link.steps)} AS p"
            y = f"{number(link.low)} * ({number(1)} - p) + {number(link.high)} * p AS y"
            return [("shares", [*kept, share], "votes"), ("predictions", [*kept, y], "shares")]
        sums, odds, shares = ([f"{letter}{i}" for i in self._columns] for letter in "sop")
        most = self.sql.greatest(sums) if len(sums) > 1 else sums[0]
        largest = [*kept, *sums, f"{most} AS m"]
        if isinstance(link, Mean):
            means = [f"CAST(s{i} AS {double}) / {number(link.total)} AS p{i}" for i in self._columns]
            return [("shares", [*largest, *means], "votes")]
        passed = [*kept, *sums, "m"]
        powers = [f"CAST({one} - m AS {double}) / {number(link.steps)}" for one in sums]
        given = [f"{self.sql.exponential(power)} AS o{i}" for i, power in enumerate(powers)]
        divided = [f"{odd} / {_added(odds)} AS {share}" for odd, share in zip(odds, shares, strict=True)]
        steps: list[Step] = [("largest", largest, "votes"), ("odds", [*passed, *given], "largest")]
        steps.append(("shares", [*passed, *divided], "odds"))
        if link.cap is not None:
            cap, one = number(link.cap), number(1)
            capped = [
                f"{share} * CASE WHEN {one} - {share} > {cap} THEN ({one} - {share}) / {cap} ELSE {one} END AS {odd}"
                for odd, share in zip(odds, shares, strict=True)
            ]
            steps += [("weighed", [*passed, *capped], "shares"), ("calibrated", [*passed, *divided], "weighed")]
        return steps

    def _answers(self) -> list[str]:
        kept = [f"{own} AS {self.sql.identifier(name)}" for own, name in zip(self._kept, self._keep, strict=True)]
        if isinstance(self._form.link, OutcomeLog | OutcomeRange):
            return [*kept, f"y AS {self.sql.identifier('prediction')}"]
        rules = ""  # among equals the first
        for i, label in enumerate(self._form.labels):
            text = self.sql.number(label) if isinstance(label, float) else str(label).upper()
            rules += f" WHEN s{i} THEN {self.sql.literal(label) if isinstance(label, str) else text}"
        given = [f"p{i} AS {self.sql.identifier(f'probability_{label}')}" for i, label in enumerate(self._form.classes)]
        return [*kept, f"CASE m{rules} END AS {self.sql.identifier('label')}", *given]


def _added(terms: list[str]) -> str:
    """Return a sum as a balanced tree: engines bound how deep an expression is."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_added(terms[:half])} + {_added(terms[half:])})"


def _within(value: str, low: int | str, high: int | str) -> str:
    return f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"
