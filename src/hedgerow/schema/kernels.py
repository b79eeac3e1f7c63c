"""The compiled loops from text to numbers and distinct texts, and from numbers to bins."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

TILE = 256  # rows of a block, whose values and counts stay in the first cache
POWERS = 10.0 ** np.arange(23)  # of ten: each is exact in float64
BELOW_EXACT = np.uint64(2**53)  # integers up to here are exact in float64


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


@compiled
def find_distinct(data, starts, stops, table, firsts, places):
    """Number distinct cells in the order of their first ones, and return how many there are.

    IN data (bytes,), starts stops (cells,). OUT table, all -1, of more than twice as many slots as cells, a power of two;
    firsts (cells,): the row of the first cell of each number; places (cells,): the number of each cell.
    """
    count, mask, absent = 0, np.uint64(len(table) - 1), np.int32(-1)
    for row in range(len(starts)):
        start, stop = starts[row], stops[row]
        if start < 0:
            if absent < 0:
                absent = np.int32(count)
                firsts[count] = row
                count += 1
            places[row] = absent
            continue
        key = np.uint64(14695981039346656037)  # FNV-1a
        for i in range(start, stop):
            key = (key ^ np.uint64(data[i])) * np.uint64(1099511628211)
        slot = (key ^ (key >> np.uint64(29))) & mask
        while True:
            known = table[slot]
            if known < 0:
                table[slot] = count
                firsts[count] = row
                places[row] = count
                count += 1
                break
            first = firsts[known]
            same = starts[first] >= 0 and stops[first] - starts[first] == stop - start
            i = 0
            while same and i < stop - start:
                same = data[starts[first] + i] == data[start + i]
                i += 1
            if same:
                places[row] = known
                break
            slot = (slot + np.uint64(1)) & mask
    return count


@compiled
def read_numbers(data, starts, stops, marks, powers, out, odd):
    """Read cells as decimal numbers, each the nearest float64.

    A cell is read if, without ASCII white space at its ends, it is empty (NaN) or [+-]digits with a decimal mark and an exponent,
    has at most 19 digits after leading zeros, and is an integer times a power of ten within 10**-22 and 10**22. Marks between
    groups of three digits, if there are any, stand at each group or none.
    IN data (bytes,), starts stops (cells,), marks (2,): bytes of the decimal and the thousands mark, 0 for none; powers (23,).
    OUT out (cells,); odd (cells,): whether a cell is in another form.
    """
    decimal, thousands = marks[0], marks[1]
    ten, most = np.uint64(10), np.uint64(10**18)  # a digit more still fits
    for row in range(len(starts)):
        i, stop = starts[row], stops[row]
        out[row], odd[row] = np.nan, False
        if i < 0:
            continue
        while i < stop and (data[i] == 32 or 9 <= data[i] <= 13):
            i += 1
        while stop > i and (data[stop - 1] == 32 or 9 <= data[stop - 1] <= 13):
            stop -= 1
        if i == stop:
            continue
        odd[row] = True
        negative = data[i] == 45
        if negative or data[i] == 43:
            i += 1
        whole, digits, fraction, groups, in_group = np.uint64(0), 0, 0, 0, 0
        starts_with_zero = i < stop and data[i] == 48
        fits = True
        while i < stop:
            byte = data[i]
            if 48 <= byte <= 57:
                fits = fits and whole < most
                whole = whole * ten + np.uint64(byte - 48)
                digits += 1
                in_group += 1
            elif thousands != 0 and byte == thousands:
                right = in_group == 3 or (groups == 0 and 0 < in_group < 3)
                fits = fits and right and not starts_with_zero
                groups += 1
                in_group = 0
            else:
                break
            i += 1
        fits = fits and (groups == 0 or in_group == 3)
        if i < stop and data[i] == decimal:
            i += 1
            while i < stop and 48 <= data[i] <= 57:
                fits = fits and whole < most
                whole = whole * ten + np.uint64(data[i] - 48)
                digits += 1
                fraction += 1
                i += 1
        power = 0
        if digits > 0 and i < stop and (data[i] == 101 or data[i] == 69):
            i += 1
            down = i < stop and data[i] == 45
            if i < stop and (down or data[i] == 43):
                i += 1
            fits = fits and i < stop and stop - i <= 4
            while i < stop and 48 <= data[i] <= 57:
                power = power * 10 + np.int64(data[i] - 48)
                i += 1
            power = -power if down else power
        power -= fraction
        if not fits or digits == 0 or i < stop or not -22 <= power <= 22:
            continue
        scale = powers[abs(power)]
        if whole < BELOW_EXACT:  # one rounding of exact numbers
            value = np.float64(whole) * scale if power >= 0 else np.float64(whole) / scale
        else:  # the sum of two floats, and what both may be wrong by together
            high = np.float64(whole >> np.uint64(11)) * 2048.0
            low = np.float64(whole & np.uint64(2047))
            first = high * scale if power >= 0 else high / scale
            factor = high if power >= 0 else first
            product = factor * scale
            split = 134217729.0 * factor
            factor_top = split - (split - factor)
            split = 134217729.0 * scale
            scale_top = split - (split - scale)
            factor_rest, scale_rest = factor - factor_top, scale - scale_top
            rest = factor_rest * scale_rest - (
                ((product - factor_top * scale_top) - factor_rest * scale_top) - factor_top * scale_rest
            )  # factor * scale is exactly product + rest
            if power >= 0:
                second = rest + low * scale
                error = (abs(rest) + low * scale) * 2.0**-50
            else:
                second = ((high - product) - rest + low) / scale
                error = (abs(high - product) + abs(rest) + low) / scale * 2.0**-50
            value = first + (second - error)
            if value != first + (second + error):
                continue
        out[row], odd[row] = -value if negative else value, False
