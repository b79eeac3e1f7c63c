"""The compiled loop from numbers to bins."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["bin_columns"]

TILE = 256  # rows taken at once: their values and counts stay in the first cache
FEW_EDGES = 40  # counting so many is faster than a look at where they should stand
LINEAR_EDGES = 64  # up to here, counting every edge with vector instructions is faster than slots
SLOTS = 1024  # of equal width, from the first edge to the last


@compiled
def _count(values, rows, edges, first, last, counts):
    """Count the edges that are not above each of the first values, without a branch.

    IN values (rows or more,), edges (edges,), first <= last <= edges.  OUT counts (rows or more,).
    """
    for i in range(rows):
        counts[i] = 0
    for e in range(first, last):
        edge = edges[e]
        for i in range(rows):
            counts[i] += values[i] >= edge


@compiled
def _slot(value, low, slots_by_unit):
    """Return the slot of a value: never a lower one for a larger value, whatever is rounded; 0 for a NaN."""
    place = (value - low) * slots_by_unit
    place = place if place > 0.0 else 0.0
    return np.int64(min(place, np.float64(SLOTS - 1)))


@compiled
def _slots_by_unit(edges, first, last):
    """Return how many slots there are for each unit of the values, 0 where all stand in one.

    IN edges (edges,), first < last <= edges.
    """
    width = edges[last - 1] - edges[first]
    return SLOTS / width if 0.0 < width < np.inf else 0.0


@compiled
def _fill_slots(edges, first, last, before):
    """Write how many edges stand in the slots before each slot.

    IN edges (edges,), first < last <= edges.  OUT before (SLOTS + 1,).
    """
    low, slots_by_unit = edges[first], _slots_by_unit(edges, first, last)
    before[:] = 0
    for e in range(first, last):
        before[_slot(edges[e], low, slots_by_unit) + 1] += 1
    for slot in range(SLOTS):
        before[slot + 1] += before[slot]


@compiled
def _count_by_slot(values, rows, edges, first, last, before, counts):
    """Count the same for ascending edges: those of earlier slots stand below a value, its own slot's are searched by halving.

    IN values (rows or more,), edges (edges,), first < last <= edges, before (SLOTS + 1,).  OUT counts (rows or more,).
    """
    low, slots_by_unit = edges[first], _slots_by_unit(edges, first, last)
    for i in range(rows):
        value = values[i]
        slot = _slot(value, low, slots_by_unit)
        count = before[slot]
        left = before[slot + 1] - count
        while left > 0:  # no branch on what a comparison says
            half = (left + 1) >> 1
            count += half * np.int64(edges[first + count + half - 1] <= value)
            left -= half
        counts[i] = count


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
    before = np.empty((sources.size, SLOTS + 1), dtype=np.int64)
    for k in range(sources.size):
        first, last = starts[targets[k]], starts[targets[k] + 1]
        even[k] = last - first > FEW_EDGES and _are_even(edges, first, last)
        if not even[k] and last - first > LINEAR_EDGES:
            _fill_slots(edges, first, last, before[k])
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
            elif last - first > LINEAR_EDGES:
                _count_by_slot(values, rows, edges, first, last, before[k], counts)
            else:
                _count(values, rows, edges, first, last, counts)
            for m in range(markers.size):
                for i in range(rows):
                    if values[i] == markers[m]:
                        counts[i] = missing
            for i in range(rows):
                out[top + i, target] = counts[i] if values[i] == values[i] else missing
