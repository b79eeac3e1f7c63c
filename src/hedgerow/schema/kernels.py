"""The compiled loop from numbers to bins."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["bin_columns"]

TILE = 256  # rows taken at once: their values and counts stay in the first cache
LINEAR_EDGES = 128  # up to here, counting every edge with vector instructions is faster than halving


@compiled
def _count_all(values, edges, first, last, counts):
    """Count the edges that are not above each value, without a branch.

    IN values (rows,), edges (edges,), first <= last <= edges.  OUT counts (rows,).
    """
    counts[:] = 0
    for e in range(first, last):
        edge = edges[e]
        for i in range(values.size):
            counts[i] += values[i] >= edge


@compiled
def _count_halving(values, edges, first, last, counts):
    """Count the same for one edge or more that ascend, by halving.

    IN values (rows,), edges (edges,), first < last <= edges.  OUT counts (rows,).
    """
    for i in range(values.size):
        value = values[i]
        base = first
        length = last - first
        while length > 1:
            half = length // 2
            base += half if edges[base + half - 1] <= value else 0
            length -= half
        counts[i] = base - first + (edges[base] <= value)


@compiled
def bin_columns(cells, sources, targets, edges, starts, markers, out):
    """Write the bins of numeric columns.

    Column ``sources[k]`` of cells is feature ``targets[k]``, whose edges are edges[starts[f]:starts[f + 1]]. A NaN and
    a marker get the code behind the bins.
    IN cells (rows, columns) float64, sources targets (numeric columns,), edges (edges of all features,), starts (features + 1,),
    markers (markers,).  OUT out (rows, features).
    """
    values = np.empty(TILE, dtype=np.float64)
    counts = np.empty(TILE, dtype=np.int64)
    for top in range(0, cells.shape[0], TILE):
        rows = min(TILE, cells.shape[0] - top)
        for k in range(sources.size):
            source = sources[k]
            target = targets[k]
            first = starts[target]
            last = starts[target + 1]
            missing = last - first + 1
            for i in range(rows):
                values[i] = cells[top + i, source]
            if last - first <= LINEAR_EDGES:
                _count_all(values[:rows], edges, first, last, counts[:rows])
            else:
                _count_halving(values[:rows], edges, first, last, counts[:rows])
            for m in range(markers.size):
                for i in range(rows):
                    if values[i] == markers[m]:
                        counts[i] = missing
            for i in range(rows):
                out[top + i, target] = counts[i] if values[i] == values[i] else missing
