"""The compiled loop from numbers to bins."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

TILE = 256  # rows of a block, whose values and counts stay in the first cache


@compiled
def bin_columns(cells, sources, targets, edges, starts, low, slots_by_unit, before, halvings, markers, steps, out):
    """Write the bin of each numeric cell: the number of edges that are not above it. NaN and markers get the code after the bins.

    Column ``sources[k]`` of cells is feature ``targets[k]``, whose edges are edges[starts[f]:starts[f + 1]]. A larger value
    never has a lower slot, whatever is rounded. So the edges in the slots before a value's own are not above it, and those in
    the slots after are. Halving finds its place among the at most 2**halvings[f] - 1 edges of its slot. No branch depends on a
    value.
    IN cells (rows, columns) float64, sources targets (numeric columns,), edges (edges of all features,), starts (features + 1,),
    low slots_by_unit halvings (features,), before (features, slots) int32, which ``encoder.slots_of`` makes; markers (markers,).
    OUT out (rows * features,): the bin of row r and feature f is out[r * steps[0] + f * steps[1]].
    """
    values = np.empty(TILE, dtype=np.float64)
    counts = np.empty(TILE, dtype=np.int32)
    by_row, by_feature = np.uint64(steps[0]), np.uint64(steps[1])
    last = np.float64(before.shape[1] - 1)
    for begin in range(0, cells.shape[0], TILE):
        top = np.uint64(begin)
        rows = np.uint64(min(TILE, cells.shape[0] - begin))
        for k in range(sources.size):
            source, target = np.uint64(sources[k]), np.uint64(targets[k])
            first, own = starts[target], np.int32(starts[target + np.uint64(1)] - starts[target])
            lowest, by_unit = low[target], slots_by_unit[target]
            for i in range(rows):
                value = cells[top + i, source]
                values[i] = value
                place = (value - lowest) * by_unit
                place = place if place > 0.0 else 0.0  # also of a NaN
                counts[i] = before[target, np.uint32(np.int32(min(place, last)))]
            for step in range(halvings[target]):
                half = np.int32(1 << (halvings[target] - 1 - step))
                for i in range(rows):
                    count = min(counts[i] + half, own)
                    counts[i] = count if edges[np.uint64(first + count - 1)] <= values[i] else counts[i]
            for i in range(rows):
                counts[i] = counts[i] if values[i] == values[i] else own + np.int32(1)
            for m in range(markers.size):
                for i in range(rows):
                    counts[i] = own + np.int32(1) if values[i] == markers[m] else counts[i]
            begins = top * by_row + target * by_feature
            for i in range(rows):
                out[begins + i * by_row] = counts[i]
