"""The compiled loop from numbers to bins."""

from __future__ import annotations

from numba import njit

__all__ = ["bin_columns"]

LINEAR_EDGES = 32  # up to here, counting all edges without a branch is faster than halving


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _count_linear(value, edges, first, last):  # type: ignore[no-untyped-def]
    """Return the number of edges that are not above the value."""
    count = 0
    for e in range(first, last):
        count += value >= edges[e]
    return count


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _count_halving(value, edges, first, last):  # type: ignore[no-untyped-def]
    """Return the same number for ascending edges, by halving."""
    base = first
    length = last - first
    while length > 1:
        half = length // 2
        if edges[base + half - 1] <= value:
            base += half
        length -= half
    return base - first + (1 if edges[base] <= value else 0)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def bin_columns(cells, sources, targets, edges, starts, markers, out):  # type: ignore[no-untyped-def]
    """Write the bins of numeric columns.  IN cells sources targets edges starts markers  OUT out.

    Column ``sources[k]`` of cells is feature ``targets[k]``, whose edges are edges[starts[f]:starts[f + 1]]. A NaN and
    a marker get the code behind the bins.
    """
    for k in range(sources.size):
        source = sources[k]
        target = targets[k]
        first = starts[target]
        last = starts[target + 1]
        missing = last - first + 1
        for row in range(cells.shape[0]):
            value = cells[row, source]
            code = (
                _count_linear(value, edges, first, last)
                if missing <= LINEAR_EDGES + 1
                else _count_halving(value, edges, first, last)
            )
            if value != value:
                code = missing
            for m in range(markers.size):
                if value == markers[m]:
                    code = missing
            out[row, target] = code
