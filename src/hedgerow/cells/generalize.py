"""Cells as records: what stands for a group of codes in a column that any learner can read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.cells.cut import Cut
from hedgerow.schema import Encoder, Numeric
from hedgerow.schema.features import Feature

__all__ = ["columns_of_cells", "generalize"]


def columns_of_cells(cut: Cut, encoder: Encoder) -> dict[str, npt.NDArray[Any]]:
    """Return one column for each divided feature, with what stands for each cell."""
    return _columns(cut, encoder, np.arange(cut.n_cells))


def generalize(cut: Cut, encoder: Encoder, X: Any) -> dict[str, npt.NDArray[Any]]:
    """Return one column for each divided feature, with what stands for each record's cell."""
    return _columns(cut, encoder, encoder.answers(X, cut.cell))


def _columns(cut: Cut, encoder: Encoder, cells: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
    names, entries = encoder.schema.names, list(encoder.schema.features.values())
    columns = {}
    for feature in reversed(cut.divided):  # the last feature's groups change fastest
        cells, group = np.divmod(cells, cut.shape[feature])
        stands = [
            _representative(entries[feature], encoder.max_bins, cut.codes_of_group(feature, i))
            for i in range(cut.shape[feature])
        ]
        columns[names[feature]] = np.array(stands)[group]
    return dict(reversed(columns.items()))


def _representative(entry: Feature, max_bins: int, codes: list[int]) -> float | str:
    """Return the middle of an interval, NaN for missing cells alone, or the values of a group as text."""
    if not isinstance(entry, Numeric):
        return ", ".join(entry.code_label(code, max_bins) for code in sorted(codes))
    edges = [entry.low, *entry.bin_edges(max_bins).tolist(), entry.high]
    bins = [code for code in codes if code < len(edges) - 1]
    return edges[bins[0]] / 2 + edges[bins[-1] + 1] / 2 if bins else np.nan
