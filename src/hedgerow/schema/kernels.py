"""The compiled loop from numbers to bins."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["bin_columns"]

TILE = 256  # rows taken at once: their values and counts stay in the first cache
FEW_EDGES = 40  # counting so many is faster than a look at where they should stand
LINEAR_EDGES = 128  # up to here, counting every edge with vector instructions is faster than halving


@compiled
def _count(values, rows, edges, first, last, counts):
    """Count the edges that are not above each of the first values, without a branch; the edges ascend.

    IN values (rows or more,), edges (edges,), first <= last <= edges.  OUT counts (rows or more,).
    """
    if last - first <= LINEAR_EDGES:
        for i in range(rows):
            counts[i] = 0
        for e in range(first, last):
            edge = edges[e]
            for i in range(rows):
                counts[i] += values[i] >= edge
        return
    for i in range(rows):
        value = values[i]
        base = first
        length = last - first
        while length > 1:
            half = length // 2
            base += half if edges[base + half - 1] <= value else 0
            length -= half
        counts[i] = base - first + (edges[base] <= value)


@compiled
def _are_even(edges, first, last):
    """Say whether edges stand within half a step of where evenly spaced ones would.

    IN edges (edges,), first + 1 < last <= edges.
    """
    step = (edges[last - 1] - edges[first]) / (last - 1 - first)
    even = 0.0 < step < np.inf
    for e in range(first, last):
        even &= abs(edges[e] - edges[first] - (e - first) * step) <= step / 2
    return even


@compiled
def _count_even(values, rows, edges, first, last, counts):
    """Count the same for two or more edges that are nearly even: begin where even ones would stand, and step to the right place.

    IN values (rows or more,), edges (edges,), first + 1 < last <= edges.  OUT counts (rows or more,).
    """
    low, most = edges[first], last - first
    by_step = (most - 1) / (edges[last - 1] - low)
    for i in range(rows):
        value = values[i]
        place = (value - low) * by_step
        place = place if place > 0.0 else 0.0  # also of a NaN
        count = np.int64(min(place, np.float64(most - 1)))
        while count < most and edges[first + count] <= value:
            count += 1
        while count > 0 and edges[first + count - 1] > value:
            count -= 1
        counts[i] = count


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
    even = np.zeros(sources.size, dtype=np.bool_)
    for k in range(sources.size):
        first, last = starts[targets[k]], starts[targets[k] + 1]
        even[k] = last - first > FEW_EDGES and _are_even(edges, first, last)
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
            if even[k]:
                _count_even(values, rows, edges, first, last, counts)
            else:
                _count(values, rows, edges, first, last, counts)
            for m in range(markers.size):
                for i in range(rows):
                    if values[i] == markers[m]:
                        counts[i] = missing
            for i in range(rows):
                out[top + i, target] = counts[i] if values[i] == values[i] else missing
