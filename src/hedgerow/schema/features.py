"""The public knowledge about one feature: a range with its cut points, or a list of values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.errors import SchemaError, require
from hedgerow.reading.cells import NUMBER, CategoryReader, Cells, Key, category_key, text_key
from hedgerow.reading.columns import Holds
from hedgerow.reading.formats import PLAIN, NumberFormat
from hedgerow.texts import LONGEST_REPR, shortened

Origin = Literal["given", "inferred", "released"]
ENTRY = ("missing", "origin", "release", "reason")  # arguments of every feature, which are written last
LONGEST_REASON = 200  # characters
Value = bool | int | float | str

LONGEST_CUTS = 200  # characters of a list of cut points in messages
MOST_VALUES = 12  # values of a category that descriptions list
HASH = re.compile("[0-9a-f]{64}")  # the form of ``Certificate.digest``


def missing_markers(given: Any) -> tuple[str, ...]:
    markers = (given,) if isinstance(given, str) else tuple(given)
    for marker in markers:
        rule = "text; text of a number also marks that number"
        require(isinstance(marker, str), "a marker of missing cells", marker, rule)
    return markers


def _finite(value: Any, what: str) -> float:
    try:
        result = float(value) if isinstance(value, NUMBER) and not isinstance(value, bool | np.bool_) else math.nan
    except (OverflowError, ValueError):
        result = math.inf
    require(math.isfinite(result), f"the {what} of a numeric feature", value, "a finite number")
    return result


@dataclass(frozen=True, repr=False)
class _Entry:
    missing: Sequence[str] = field(default=(), kw_only=True)
    origin: Origin = field(default="given", kw_only=True)
    release: str | None = field(default=None, kw_only=True)
    reason: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        origin, release, reason = self.origin, self.release, self.reason
        origins = ("given", "inferred", "released")
        rule = "'given', 'inferred' or 'released'"
        require(origin in origins, "the origin of an entry (classes_origin for classes)", origin, rule)
        if (origin == "released") != (isinstance(release, str) and HASH.fullmatch(release) is not None):
            raise SchemaError(
                f"An entry has the origin {origin!r} and {'no' if release is None else 'a'} release, but an entry has the hash "
                "of a certificate if and only if it was released. Take both from hr.private_schema."
            )
        rule = f"a text on one line of up to {LONGEST_REASON} characters, such as 'register form 12'"
        is_line = isinstance(reason, str) and reason.strip() and len(reason) <= LONGEST_REASON and reason.isprintable()
        require(reason is None or is_line, "the reason of an entry (classes_reason for classes)", reason, rule)
        object.__setattr__(self, "missing", missing_markers(self.missing))

    def entry(self) -> dict[str, Any]:
        """Return the arguments that make this feature, without defaults, as values that JSON and TOML hold."""
        known = sorted((one for one in fields(self) if one.init), key=lambda one: one.name in ENTRY)
        return {one.name: self._plain(one.name) for one in known if getattr(self, one.name) != one.default}

    def _plain(self, name: str) -> Any:
        value = getattr(self, name)
        return list(value) if isinstance(value, tuple) else value

    def replaced(self, **changes: Any) -> Self:
        return type(self)(**{**self.entry(), **changes})

    def given(self, reason: str | None = None) -> Self:
        return self.replaced(origin="given", release=None, **({} if reason is None else {"reason": reason}))

    def __repr__(self) -> str:
        entry = self.entry()
        first = [_short(entry.pop(name)) for name in ("low", "high", "cuts", "values") if name in entry]
        rest = [f"{name}={value!r}" for name, value in entry.items()]
        return shortened(f"{type(self).__name__}({', '.join([*first, *rest])})", LONGEST_REPR)


@dataclass(frozen=True, repr=False)
class Numeric(_Entry):
    """A numeric feature with a public range.

    Parameters
    ----------
    low, high
        The range. Values outside it are clipped to it. Values that are not numbers are missing.
    cuts
        Public cut points in ascending order, strictly inside the range. Without them bins have equal widths.
    decimal, thousands
        The format of numbers in text: the decimal separator, "." or ",", and the separator of groups of three digits: "", ".",
        ",", " " or "'". Text in another format is missing. Cells that are numbers, not text, are unaffected.
    amounts
        Whether text may also be an amount: "(1,234.50)", "1.5-" and a long minus sign are negative, and "12 %", "$5" and "5 EUR"
        are 12 and 5.
    missing
        Markers of a missing cell in this column, such as "999", besides those of the schema.
    origin
        "given"; "inferred" if the entry was read off the records, in which case no guarantee holds; or "released" if a private
        operation released it.
    release
        The hash of that operation's certificate, for a released entry.
    reason
        Why the entry is public, in a few words of its owner, such as "register form 12". Certificates and cards show it.

    Raises
    ------
    SchemaError
        If the range is absent, empty or infinite, or the cut points are not in ascending order inside it.

    Examples
    --------
    >>> Numeric(0, 120).bin_edges(4)
    array([30., 60., 90.])
    >>> Numeric(0, 5000, decimal=",", thousands=".").reader()(np.array(["1.234,5", "7"], dtype=object))
    array([1234.5,    7. ])
    """

    low: float
    high: float
    cuts: Sequence[float] | None = None
    decimal: str = field(default=".", kw_only=True)
    thousands: str = field(default="", kw_only=True)
    amounts: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        NumberFormat(self.decimal, self.thousands)
        low, high = _finite(self.low, "low end"), _finite(self.high, "high end")
        if high <= low:
            raise SchemaError(
                f"hr.{type(self).__name__} has low {self.end_text(low)} and high {self.end_text(high)}, so its range is empty. "
                "Pass the smaller end first, as in hr.Numeric(0, 120)."
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.cuts is not None:
            object.__setattr__(self, "cuts", self._checked_cuts(self.cuts))

    def cut_at(self, cuts: Sequence[float]) -> Self:
        """Return the same feature with these cut points, which alone are checked, or raise SchemaError."""
        feature = object.__new__(type(self))
        vars(feature).update(vars(self), cuts=self._checked_cuts(cuts))
        return feature

    def _checked_cuts(self, given: Iterable[Any]) -> tuple[float, ...] | None:
        is_list = isinstance(given, Iterable) and not isinstance(given, str)
        require(is_list, "cuts", given, "a list of numbers inside the range, in ascending order")
        given = tuple(given)
        numbers = set(map(type, given)) <= {float}  # a merged encoder has hundreds of them
        cuts = given if numbers and np.isfinite(given).all() else tuple(_finite(cut, "cut point") for cut in given)
        ends = np.array([self.low, *cuts])
        if (ends[1:] <= ends[:-1]).any() or not self._has_value_from(ends[-1]):
            raise SchemaError(
                f"The cut points {shortened(str(list(cuts)), LONGEST_CUTS)} do not ascend strictly inside ({_short(self.low)}, "
                f"{_short(self.high)}), so some bins would be empty. Pass each cut once, in order, without the ends."
            )
        return cuts or None

    def _has_value_from(self, cut: float) -> bool:
        return cut < self.high

    def end_text(self, end: float) -> str:
        """Return a number of the range as text."""
        return _short(end)

    @property
    def end(self) -> float:
        """Where the last bin ends."""
        return self.high

    def bin_edges(self, max_bins: int) -> Floats:
        """Return the inner cut points of at most ``max_bins`` bins, ascending.

        Public cut points are used if given. If there are too many, evenly spaced ones are used. A range that is too narrow for
        that many distinct numbers has fewer bins.
        """
        is_count = isinstance(max_bins, int | np.integer) and not isinstance(max_bins, bool) and max_bins > 0
        require(is_count, "max_bins", max_bins, "an integer from 1 up")
        if self.cuts is not None and len(self.cuts) < max_bins:
            return np.array(self.cuts, dtype=np.float64)
        steps = np.arange(1, max_bins)
        if self.cuts is not None:  # more cuts than steps: the stride is above 1, so the places differ
            places = steps * (len(self.cuts) + 1) // max_bins - 1
            return np.array(self.cuts, dtype=np.float64)[places]
        with np.errstate(over="ignore", invalid="ignore"):
            edges = self.low + (self.high - self.low) * steps / max_bins
        if not np.isfinite(edges).all():  # the width is above the largest float64
            share = steps / max_bins
            edges = self.low * (1 - share) + self.high * share
        edges = np.unique(edges)
        return edges[(edges > self.low) & (edges < self.high)]

    def n_codes(self, max_bins: int) -> int:
        """Return the number of codes: one per bin, then one for missing."""
        return len(self.bin_edges(max_bins)) + 2

    def code_label(self, code: int, max_bins: int) -> str:
        """Return what a code means, such as "[17, 31.6)" or "missing"."""
        edges = self.bin_edges(max_bins)
        require(0 <= code <= len(edges) + 1, "Code", code, f"from 0 to {len(edges) + 1}")
        return "missing" if code == len(edges) + 1 else self.interval_label(code, code, max_bins)

    def interval_label(self, first: int, last: int, max_bins: int) -> str:
        """Return what the bins from ``first`` to ``last`` mean together, such as "[17, 46.2)"."""
        ends = [self.low, *self.bin_edges(max_bins).tolist(), self.high]
        texts = _texts(ends)
        return f"[{texts[first]}, {texts[last + 1]}{']' if last + 2 == len(ends) else ')'}"

    def in_words(self) -> str:
        """Return the range, such as "[17, 90]"."""
        return self.code_label(0, 1)

    def edge_label(self, edge: float) -> str:
        """Return an upper bound of all values below an edge, as text."""
        return f"{edge:g}"

    @property
    def number_format(self) -> NumberFormat:
        """The format of numbers in text."""
        return NumberFormat(self.decimal, self.thousands, self.amounts) if self.reads_text else PLAIN

    @property
    def reads_text(self) -> bool:
        """Whether the text of numbers has a format of its own, which Python would read differently."""
        return (self.decimal, self.thousands, self.amounts) != (PLAIN.decimal, PLAIN.thousands, PLAIN.amounts)

    def reader(self, missing: Sequence[str] = ()) -> Callable[[Cells], Floats]:
        """Return a function that reads the cells of one column as float64, NaN if missing; ``missing`` are further markers."""
        form = self.number_format
        markers = form.markers((*missing, *self.missing))

        def read(cells: Cells) -> Floats:
            values = form.numbers(cells)
            return np.where(np.isin(values, markers), np.nan, values) if markers.size else values

        return read

    def takes(self, holds: Holds) -> bool:
        """Return whether a column whose cells are all of one kind, by its type, can hold such numbers."""
        return holds in ("anything", "numbers")


@dataclass(frozen=True, repr=False)
class Categorical(_Entry):
    """A categorical feature with its public list of values.

    Parameters
    ----------
    values
        Texts, numbers or truth values, in the order of their codes. Numbers are compared as float64, and text of a number equals
        the number: 1, 1.0, True and "1" are one value.
    as_text
        Whether cells are compared as text alone, so that the codes 345.1 and 345.10 differ. Such a column must hold text, because
        numbers do not keep the zero.
    missing, origin, release, reason
        As for ``Numeric``.

    Raises
    ------
    SchemaError
        If there are no values, if a value is missing, infinite or of another type, or if two values are equal.

    Examples
    --------
    >>> Categorical(["Married", "Widowed", "Single"]).code_label(1, 16)
    'Widowed'
    """

    values: Sequence[Value]
    as_text: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        values = distinct_values(self.values, "value", self.key)
        object.__setattr__(self, "values", values)

    @property
    def key(self) -> Callable[[object], Key]:
        return text_key if self.as_text else category_key

    def reader(self, missing: Sequence[str] = ()) -> Callable[[Cells], npt.NDArray[np.int32]]:
        """Return a function that reads the cells of one column as codes; ``missing`` are further markers."""
        return CategoryReader(self.values, (*missing, *self.missing), as_text=self.as_text).codes

    def n_codes(self, max_bins: int) -> int:
        """Return the number of codes: one per value, then one for missing and one for undeclared."""
        return len(self.values) + 2

    def code_label(self, code: int, max_bins: int) -> str:
        """Return what a code means: a value, "missing" or "undeclared"."""
        require(0 <= code <= len(self.values) + 1, "Code", code, f"from 0 to {len(self.values) + 1}")
        if code >= len(self.values):
            return ("missing", "undeclared")[code - len(self.values)]
        return str(self.values[code])

    def takes(self, holds: Holds) -> bool:
        """Return whether a column whose cells are all of one kind, by its type, can hold one of the values."""
        kind = {"anything": object, "numbers": float, "times": str}.get(holds, ())
        return self.as_text or any(isinstance(category_key(value), kind) for value in self.values)

    def in_words(self) -> str:
        """Return the values, in quotes if one has a comma; of more than twelve, the first twelve."""
        more, shown = len(self.values) - MOST_VALUES, self.values[:MOST_VALUES]
        spell = repr if any("," in str(value) for value in shown) else str
        return ", ".join(map(spell, shown)) + (f" and {more} more" if more > 0 else "")


Feature = Numeric | Categorical


def distinct_values(values: Any, noun: str, key_of: Callable[[object], Key] = category_key) -> tuple[Value, ...]:
    plural = "classes" if noun == "class" else f"{noun}s"
    is_list = isinstance(values, Iterable) and not isinstance(values, str | bytes | set | frozenset)
    require(is_list, f"the list of {plural}", values, "a list, because codes follow its order")
    seen: dict[Key, Value] = {}
    for given in values:
        value = given.item() if isinstance(given, np.generic) else given
        kind = next((kind for kind in (bool, str, int, float) if isinstance(value, kind)), None)
        rule = "among text, numbers and truth values, since what is missing has a code of its own"
        require(kind, f"a {noun}", value, rule)
        value = str.__str__(value) if kind is str else kind(value)  # type: ignore[misc]
        key = key_of(value)
        is_told_apart = not isinstance(key, float) or math.isfinite(key)
        require(is_told_apart, f"a {noun}", value, "text that is no number, or a finite float64")
        if key in seen:
            raise SchemaError(
                f"{seen[key]!r} and {value!r} are one {noun}: numbers are compared as float64 whether written as text or not, "
                "and text without the white space around it. Keep one of them, or declare as_text if they are codes."
            )
        seen[key] = value
    if not seen:
        raise SchemaError(f"There are no {plural}, so no record could be told from another. List them.")
    return tuple(seen.values())


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    return repr(value).removesuffix(".0") if isinstance(value, float) else repr(value)


def _texts(ends: list[float]) -> list[str]:
    for digits in range(6, 17):
        texts = [f"{end:.{digits}g}" for end in ends]
        if len(set(texts)) == len(ends):
            return texts
    return [_short(end) for end in ends]
