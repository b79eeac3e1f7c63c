"""What is public about generalizing records: a line of all codes, and how each run of it may be divided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Integers
from hedgerow.lazy_values import lazy
from hedgerow.schema import Encoder, Numeric
from hedgerow.schema.features import Codes

__all__ = ["Edges", "Hierarchy"]

Edges = tuple[int, ...]
Run = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The line of codes of a schema, and the divisions of its runs.

    The bins of a numeric feature stand in their order, and behind them the code of missing cells; every place between two
    of them may be cut, the last cut sets missing cells apart. The values of a categorical feature stand in the order of its
    taxonomy, so that each group is a run; missing and undeclared stand behind them and are parts of their own as soon as the
    feature is divided.

    Parameters
    ----------
    line : ndarray of shape (places,)
        The code, counted through all features, at each place.
    features : ndarray of shape (features + 1,)
        Where each feature's places begin, and their number.
    is_numeric : tuple of bool
        Which features are numeric.
    taxonomy : dict
        The one division of each run that a categorical feature's taxonomy divides.
    """

    line: Integers
    features: Integers
    is_numeric: tuple[bool, ...]
    taxonomy: dict[Run, Edges]

    @classmethod
    def of(cls, encoder: Encoder) -> Hierarchy:
        """Return the hierarchy of an encoder's schema."""
        features = np.concatenate(([0], np.cumsum(encoder.n_codes)))
        line = np.arange(features[-1])
        taxonomy: dict[Run, Edges] = {}
        entries = list(encoder.schema.features.values())
        for entry, start, stop in zip(entries, features[:-1].tolist(), features[1:].tolist(), strict=True):
            if isinstance(entry, Numeric):
                continue
            n_values = len(entry.values)
            codes = (*entry.taxonomy_codes(), n_values, n_values + 1)
            leaves: list[int] = []
            taxonomy |= dict(_divisions(codes, start, leaves))
            line[start:stop] = start + np.array(leaves)
        return cls(line, features, tuple(isinstance(entry, Numeric) for entry in entries), taxonomy)

    @lazy
    def place_of_code(self) -> Integers:
        """The place of each code, of shape (codes of all features,)."""
        return np.argsort(self.line)

    @property
    def roots(self) -> list[Run]:
        """The run of all codes of each feature."""
        return list(zip(self.features[:-1].tolist(), self.features[1:].tolist(), strict=True))

    def feature(self, place: int) -> int:
        """Return the feature to which a place belongs."""
        return int(np.searchsorted(self.features, place, side="right")) - 1

    def n_declared(self, feature: int) -> int:
        """Return how many codes of a feature stand for declared values; the others mean missing or undeclared."""
        start, stop = self.features[feature : feature + 2].tolist()
        return int(stop - start - (1 if self.is_numeric[feature] else 2))

    def divisions(self, run: Run) -> list[Edges]:
        """Return every way to divide a run: each cut of an interval, or what the taxonomy says."""
        low, high = run
        if self.is_numeric[self.feature(low)]:
            return [(low, cut, high) for cut in range(low + 1, high)]
        return [self.taxonomy[run]] if run in self.taxonomy else []


def _divisions(codes: Codes, start: int, leaves: list[int]) -> list[tuple[Run, Edges]]:
    """Return the division of a group that begins at a place, and of all groups in it; add its codes to ``leaves``."""
    found: list[tuple[Run, Edges]] = []
    edges, first = [start], len(leaves)
    for part in codes:
        if isinstance(part, tuple):
            found += _divisions(part, edges[-1], leaves)
        else:
            leaves.append(part)
        edges.append(start + len(leaves) - first)
    return [((edges[0], edges[-1]), tuple(edges)), *found]
