"""How published algorithms read columns, and the branches of the test on each feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hedgerow.arrays import Floats, Integers
from hedgerow.published.kernels import CUT
from hedgerow.schema import Encoder, Numeric, Schema
from hedgerow.schema.encoder import raw_columns

__all__ = ["Branching", "BranchingRule", "CutCodes", "CutRanges", "NodeBins", "SchemaBins"]


@dataclass(frozen=True, eq=False)
class Branching:
    """The branches of the test on each feature.

    Parameters
    ----------
    schema : Schema
        What the columns are read by.
    bins : ndarray of shape (features,)
        Above 0 the bins of a numeric feature in a node, 0 for a branch per code, -1 for a cut with two branches.
    arity : ndarray of shape (features,)
        How many branches there are.
    low, high : ndarray of shape (features,)
        The public range of a feature that is cut, 0 for others.
    encoder : Encoder or None
        What turns all cells into codes; None where numbers are read as they are.
    """

    schema: Schema
    bins: Integers
    arity: Integers
    low: Floats
    high: Floats
    encoder: Encoder | None = None

    @property
    def cuts(self) -> Integers:
        """The features that are cut."""
        return np.flatnonzero(self.bins == CUT)

    def read(self, X: Any) -> Floats:
        """Return records as float64 of shape (records, features); what is cut is clipped to its public range."""
        if self.encoder is not None:
            return self.encoder.transform(X).astype(np.float64)
        columns = raw_columns(X, self.schema)
        columns[:, self.cuts] = np.clip(columns[:, self.cuts], self.low[self.cuts], self.high[self.cuts])
        return columns

    def clipped(self, feature: int, values: Floats) -> Floats:
        """Return numbers of a feature as ``read`` returns them."""
        return np.clip(values, self.low[feature], self.high[feature]) if feature in self.cuts else values


class BranchingRule(Protocol):
    """A rule that gives each feature its test."""

    def branching(self, schema: Schema, max_bins: int) -> Branching:
        """Return the branches for a schema and a number of bins."""


@dataclass(frozen=True)
class NodeBins:
    """One branch per bin between the least and the largest finite value in the node, and one for missing cells.

    That is the reading of eDPRF's binning [our choice, the paper is silent]; cut points and ranges of the schema are not
    used. A categorical feature has one branch for each of its values, one for missing and one for undeclared cells.
    """

    def branching(self, schema: Schema, max_bins: int) -> Branching:
        """Return the branches for a schema and a number of bins."""
        bins, none = _numeric(schema) * max_bins, np.zeros(len(schema.names))
        return Branching(schema, bins, np.where(bins > 0, bins + 1, _codes(schema, max_bins)), none, none)


@dataclass(frozen=True)
class SchemaBins:
    """One branch per category, or per public bin of a numeric feature, and one for missing cells.

    For algorithms on discrete data; that they meet numbers in public bins is our choice.
    """

    def branching(self, schema: Schema, max_bins: int) -> Branching:
        """Return the branches for a schema and a number of bins."""
        encoder, none = Encoder(schema, max_bins), np.zeros(len(schema.names))
        return Branching(schema, none.astype(np.int64), encoder.n_codes, none, none, encoder)


@dataclass(frozen=True)
class CutRanges:
    """A cut of a numeric feature inside its public range, which the cuts above it narrow; categories branch by value.

    A number is read as the nearer end of its range if it is outside, and goes right if it is missing [our choice, the
    papers are silent]. A cut feature can be cut again below.
    """

    def branching(self, schema: Schema, max_bins: int) -> Branching:
        """Return the branches for a schema; ``max_bins`` has no use here."""
        numeric = _numeric(schema) > 0
        ranges = [(f.low, f.high) if isinstance(f, Numeric) else (0.0, 0.0) for f in schema.features.values()]
        low, high = np.array(ranges).T
        arity = np.where(numeric, 2, _codes(schema, 2))
        return Branching(schema, np.where(numeric, CUT, 0), arity, low, high)


@dataclass(frozen=True)
class CutCodes:
    """A cut of every feature: an algorithm that knows numbers only meets a category as the number of its code [our choice]."""

    def branching(self, schema: Schema, max_bins: int) -> Branching:
        """Return the branches for a schema; ``max_bins`` has no use here."""
        cut = CutRanges().branching(schema, max_bins)
        category = cut.bins == 0
        high = np.where(category, cut.arity - 1, cut.high)
        return Branching(schema, np.full_like(cut.bins, CUT), np.full_like(cut.arity, 2), cut.low, high)


def _numeric(schema: Schema) -> Integers:
    return np.array([isinstance(feature, Numeric) for feature in schema.features.values()], dtype=np.int64)


def _codes(schema: Schema, max_bins: int) -> Integers:
    return np.array([feature.n_codes(max_bins) for feature in schema.features.values()], dtype=np.int64)
