"""How the cells of each feature become codes, as plain values: what ``schema.cells`` and ``schema.encoder`` do."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from hedgerow.errors import ConfigurationError
from hedgerow.schema import Boolean, Categorical, Date, Encoder, Integer, Numeric, Schema
from hedgerow.schema.cells import MISSING_TEXTS, category_key
from hedgerow.schema.dates import NO_MOMENT, Unit, microseconds
from hedgerow.schema.features import Feature, Value
from hedgerow.schema.formats import DateFormat

__all__ = ["NumberReading", "Reading", "ValueReading", "readings_of"]


@dataclass(frozen=True)
class NumberReading:
    """A number's code is how many edges are not above it; what is no number, or a marker, has the code behind the bins.

    Parameters
    ----------
    name : str
        The feature.
    edges : tuple of float
        Where bins begin, ascending and finite; a bin holds its lower edge.
    markers : tuple of float
        Numbers that stand for a missing cell.
    unit : {"day", "second"} or None
        What a date or moment is counted in, rounded down, since 1970; it is given as such a number, and a marker as none.
    moments : tuple of int
        Microseconds since 1970 of the moments that stand for a missing cell, for whoever reads dates as text.
    """

    name: str
    edges: tuple[float, ...]
    markers: tuple[float, ...]
    unit: Unit | None = None
    moments: tuple[int, ...] = ()

    @property
    def missing(self) -> int:
        """The code of a missing cell."""
        return len(self.edges) + 1

    @property
    def n_codes(self) -> int:
        """How many codes there are."""
        return len(self.edges) + 2


@dataclass(frozen=True)
class ValueReading:
    """A category's code is that of its text or number; others have the code of what is undeclared.

    Text is taken without the white space around it. Decimal numbers are compared as float64, true and false being 1 and 0.

    Parameters
    ----------
    name : str
        The feature.
    values : tuple of bool, int, float or str
        What is declared, in the order of its codes.
    texts : tuple of (str, int)
        The code of each text, those of missing cells among them.
    numbers : tuple of (float, int)
        The code of each number.
    """

    name: str
    values: tuple[Value, ...]
    texts: tuple[tuple[str, int], ...]
    numbers: tuple[tuple[float, int], ...]

    @property
    def missing(self) -> int:
        """The code of a missing cell."""
        return len(self.values)

    @property
    def undeclared(self) -> int:
        """The code of a value that is not declared."""
        return len(self.values) + 1

    @property
    def n_codes(self) -> int:
        """How many codes there are."""
        return len(self.values) + 2


Reading = NumberReading | ValueReading


def readings_of(encoder: Encoder) -> tuple[Reading, ...]:
    """Return how an encoder reads each feature.

    Raises
    ------
    ConfigurationError
        If a feature is of a type that no other program is told of yet.
    SchemaError
        If the schema holds a text that UTF-8 cannot hold.
    """
    schema = encoder.schema
    schema.check_text()
    features = schema.features.items()
    return tuple(
        _reading(name, feature, tuple(edges.tolist()), schema)
        for (name, feature), edges in zip(features, encoder.edges, strict=True)
    )


def _reading(name: str, feature: Feature, edges: tuple[float, ...], schema: Schema) -> Reading:
    # By the type itself: a type derived from these may read cells in another way.
    if type(feature) is Date:
        form = None if feature.date_format is None else DateFormat(feature.date_format)
        found = dict.fromkeys(microseconds(marker, form) for marker in schema.missing)
        return NumberReading(name, edges, (), feature.unit, tuple(moment for moment in found if moment != NO_MOMENT))
    if type(feature) in (Numeric, Integer):
        assert isinstance(feature, Numeric)
        return NumberReading(name, edges, tuple(dict.fromkeys(feature.number_format.markers(schema.missing).tolist())))
    if type(feature) in (Categorical, Boolean):
        assert isinstance(feature, Categorical)
        return _value_reading(name, feature, schema)
    raise ConfigurationError(
        f"feature {name!r} is of the type {type(feature).__name__}, which cannot be told to other programs yet; keep the model "
        "in hedgerow, by model.save(path)."
    )


def _value_reading(name: str, feature: Categorical, schema: Schema) -> ValueReading:
    missing = len(feature.values)
    spellings = {"".join(letters) for letters in product("nN", "aA", "nN")} | MISSING_TEXTS
    codes = dict.fromkeys(sorted(spellings), missing)
    keys = {category_key(marker): missing for marker in schema.missing}
    keys.update((category_key(value), code) for code, value in enumerate(feature.values))
    codes.update((key, code) for key, code in keys.items() if isinstance(key, str))
    numbers = tuple((key, code) for key, code in keys.items() if isinstance(key, float))
    return ValueReading(name, tuple(feature.values), tuple(codes.items()), numbers)
