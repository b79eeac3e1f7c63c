"""A released model as one SQL statement: codes of cells, whole votes of trees, a label and probabilities, or a prediction."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.errors import ConfigurationError
from hedgerow.export.dialects import DIALECTS, Dialect
from hedgerow.export.form import Mean, OutcomeLog, OutcomeRange, ScoringForm, Softmax
from hedgerow.export.readings import NumberReading, Reading, ValueReading
from hedgerow.schema.features import Value
from hedgerow.schema.formats import SECONDS

DIGIT, DIGITS = "[0-9]", "0123456789"
TWO = DIGIT * 2
ZONES = (f"[+-]{TWO}{TWO}", f"[+-]{TWO}:{TWO}", f"[+-]{TWO}:{TWO}:{TWO}")
SEPARATOR = ",\n    "  # between the columns of a step
SHORT = 12  # letters of what may be written again and again
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


def count_of(sql: Dialect, i: int, reading: Reading) -> str:
    """Return the column v, the days or seconds of a moment as a number, NULL where there is none or it is a marker."""
    assert isinstance(reading, NumberReading)
    assert reading.unit is not None
    second = 10**6
    missing = "".join(
        f" WHEN s{i} = {moment // second} AND f{i} = {moment % second} THEN NULL" for moment in reading.moments
    )
    return (
        f"CASE WHEN s{i} IS NULL THEN NULL{missing} ELSE floor(s{i} / {sql.number(SECONDS[reading.unit])}) END AS v{i}"
    )


def sql_statement(form: ScoringForm, table: str | Sequence[str], dialect: str, keep: Sequence[str] = ()) -> str:
    """Return a form as one SELECT statement, without a semicolon; ``keep`` are columns that stand before the answers."""
    if dialect not in DIALECTS:
        raise ConfigurationError(f"dialect is {dialect!r}; pass one of {', '.join(map(repr, DIALECTS))}.")
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
            f"the model has {leaves} votes of leaves, and a statement holds {MOST_LEAVES}; fit fewer or smaller trees, or use "
            "to_onnx."
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
        """Return the statement for a table, whose name none of the steps may have."""
        prefix = "hedgerow_"
        while any(part.casefold().startswith(prefix) for part in table):
            prefix += "_"
        codes = [*self._kept, *(f"{self._code(i, reading)} AS c{i}" for i, reading in enumerate(self._form.readings))]
        sums = [*self._kept, *(f"{_added(self._trees(column))} AS s{column}" for column in self._columns)]
        steps = self._dated() if any(reading.unit for reading in self._form.readings) else []
        steps += [("numbers", self._numbers(), steps[-1][0] if steps else "cells"), ("codes", codes, "numbers")]
        steps += [("votes", sums, "codes"), *self._shares()]
        parts = [("cells", self._cells(), f"{'.'.join(map(self.sql.identifier, table))} AS t")]
        parts += [(name, columns, f"{prefix}{source}") for name, columns, source in steps]
        text = ",\n".join(
            f"{prefix}{name} AS MATERIALIZED (\n  SELECT {SEPARATOR.join(columns)}\n  FROM {source}\n)"  # noqa: S608 - names are quoted, and literals too
            for name, columns, source in parts
        )
        return f"WITH {text}\nSELECT {SEPARATOR.join(self._answers())}\nFROM {prefix}{steps[-1][0]}"

    def _cells(self) -> list[str]:
        """Return the cells as numbers or text; a name of no column is an error, since the table is named before it."""
        columns = [
            f"t.{self.sql.identifier(name)} AS {kept}" for name, kept in zip(self._keep, self._kept, strict=True)
        ]
        for i, reading in enumerate(self._form.readings):
            cell = f"t.{self.sql.identifier(reading.name)}"
            if reading.unit:
                columns.append(f"{self.sql.moment_text_of(cell)} AS v{i}")
            elif isinstance(reading, NumberReading):
                columns.append(f"{self.sql.number_of(cell)} AS v{i}")
            else:
                columns += [f"{cell} AS r{i}"] * bool(reading.numbers) + [f"{self.sql.text_of(cell)} AS v{i}"]
        return columns

    def _dated(self) -> list[tuple[str, list[str], str]]:
        """Return the steps that make counts of dates; the other columns go through as they are."""
        before, after = [*self._kept], [*self._kept]
        for i, reading in enumerate(self._form.readings):
            raw = [f"r{i}"] if isinstance(reading, ValueReading) and reading.numbers else []
            before += zones(i) if reading.unit else [*raw, f"v{i}"]
            after += moments(self.sql, i) if reading.unit else [*raw, f"v{i}"]
        return [("zones", before, "cells"), ("moments", after, "zones")]

    def _numbers(self) -> list[str]:
        columns = [*self._kept]
        for i, reading in enumerate(self._form.readings):
            columns.append(count_of(self.sql, i, reading) if reading.unit else f"v{i}")
            if isinstance(reading, ValueReading) and reading.numbers:
                columns.append(f"{self.sql.decimal_of(f'r{i}', f'v{i}')} AS n{i}")
        return columns

    def _code(self, i: int, reading: Reading) -> str:
        number = self.sql.number
        if isinstance(reading, NumberReading):
            markers = "".join(f" OR v{i} = {number(marker)}" for marker in reading.markers)
            rules = "".join(f" WHEN v{i} < {number(edge)} THEN {code}" for code, edge in enumerate(reading.edges))
            return f"CASE WHEN v{i} IS NULL{markers} THEN {reading.missing}{rules} ELSE {len(reading.edges)} END"
        numbers = "".join(f" WHEN n{i} = {number(key)} THEN {code}" for key, code in reading.numbers)
        rest = f"CASE{numbers} ELSE {reading.undeclared} END" if numbers else str(reading.undeclared)
        texts = "".join(f" WHEN {self.sql.literal(text)} THEN {code}" for text, code in reading.texts)
        return f"CASE WHEN v{i} IS NULL THEN {reading.missing} ELSE CASE v{i}{texts} ELSE {rest} END END"

    def _trees(self, column: int) -> list[str]:
        return [f"CAST({self._node(root, column)} AS BIGINT)" for root in self._form.roots.tolist()]

    def _node(self, node: int, column: int) -> str:
        """Return what a node gives to a class, or to the prediction."""
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

    def _shares(self) -> list[tuple[str, list[str], str]]:
        """Return the steps from sums of votes to probabilities p0, p1 and so on, beside the largest sum m."""
        link, number = self._form.link, self.sql.number
        if isinstance(link, OutcomeLog | OutcomeRange):
            return self._prediction(link)
        sums, odds, shares = ([f"{letter}{i}" for i in self._columns] for letter in "sop")
        most = self.sql.greatest(sums) if len(sums) > 1 else sums[0]
        if isinstance(link, Mean):
            given = [
                f"CAST({one} AS {self.sql.double}) / {number(link.total)} AS {share}"
                for one, share in zip(sums, shares, strict=True)
            ]
            return [("shares", [*self._kept, *sums, f"{most} AS m", *given], "votes")]
        assert isinstance(link, Softmax)
        steps = [("largest", [*self._kept, *sums, f"{most} AS m"], "votes")]
        given = [
            f"{self.sql.exponential(f'CAST({one} - m AS {self.sql.double}) / {number(link.steps)}')} AS {odd}"
            for one, odd in zip(sums, odds, strict=True)
        ]
        passed = [*self._kept, *sums, "m"]
        divided = [f"{odd} / {_added(odds)} AS {share}" for odd, share in zip(odds, shares, strict=True)]
        steps += [("odds", [*passed, *given], "largest"), ("shares", [*passed, *divided], "odds")]
        if link.cap is not None:
            cap, one = number(link.cap), number(1)
            capped = [
                f"{share} * CASE WHEN {one} - {share} > {cap} THEN ({one} - {share}) / {cap} ELSE {one} END AS {odd}"
                for odd, share in zip(odds, shares, strict=True)
            ]
            steps += [("weighed", [*passed, *capped], "shares"), ("calibrated", [*passed, *divided], "weighed")]
        return steps

    def _prediction(self, link: OutcomeLog | OutcomeRange) -> list[tuple[str, list[str], str]]:
        """Return the steps from a sum of votes to a prediction y."""
        number = self.sql.number
        if isinstance(link, OutcomeLog):
            log = f"CAST({_within('s0', link.first, link.last)} AS {self.sql.double}) / {number(link.steps)}"
            value = f"{number(link.base)} * exp({log}) AS p"
            y = f"{_within('p', number(link.low), number(link.high))} AS y"
            return [("values", [*self._kept, value], "votes"), ("predictions", [*self._kept, y], "values")]
        within = _within("s0", 0, link.steps)
        share = f"CAST({within} AS {self.sql.double}) / {number(link.steps)} AS p"
        value = f"{number(link.low)} * ({number(1)} - p) + {number(link.high)} * p AS y"
        return [("shares", [*self._kept, share], "votes"), ("predictions", [*self._kept, value], "shares")]

    def _answers(self) -> list[str]:
        """Return the columns of the result: what is kept, and the prediction, or the label and the probabilities by class."""
        kept = [f"{own} AS {self.sql.identifier(name)}" for own, name in zip(self._kept, self._keep, strict=True)]
        if isinstance(self._form.link, OutcomeLog | OutcomeRange):
            return [*kept, f"y AS {self.sql.identifier('prediction')}"]
        labels = [_label(self.sql, label) for label in self._form.labels]
        rules = "".join(f" WHEN s{i} THEN {label}" for i, label in enumerate(labels))  # among equals the first
        names = [self.sql.identifier(f"probability_{label}") for label in self._form.classes]
        given = [f"p{i} AS {name}" for i, name in enumerate(names)]
        return [*kept, f"CASE m{rules} END AS {self.sql.identifier('label')}", *given]


def _added(terms: list[str]) -> str:
    """Return a sum as a balanced tree: engines bound how deep an expression is."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_added(terms[:half])} + {_added(terms[half:])})"


def _within(value: str, low: int | str, high: int | str) -> str:
    return f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"


def _label(sql: Dialect, label: Value) -> str:
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, int):
        return str(label)
    return sql.number(label) if isinstance(label, float) else sql.literal(label)
