"""What records add by their margins, and terms that are added to these."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["add_term", "add_terms", "logistic_channels", "look_up_channels", "squared_channels"]

TILE = 4096  # records taken at once, so that what is known of them stays in the first cache


@compiled
def _quotient(number, inverse):
    """Return number // divisor as a float, of integers held as floats: 0 <= number < 2**50, inverse = 1 / divisor rounded.

    It is exact: (number + 1/2) / divisor is at least 1 / (2 divisor) away from every integer, and two roundings move it by less
    than number / divisor / 2**51. A division of 64-bit integers takes many times as long.
    """
    return np.floor((number + 0.5) * inverse)


@compiled
def logistic_channels(margins, labels, exponentials, unit, cap, curvature, by_share, out):
    """Write what a record adds to gradient and curvature of the weighted logistic loss, in units rounded towards zero.

    Let t be the sum of p_k over the classes that the record is not of: it weighs min(1, cap / t). For each class its weight
    times [y = k] - p_k, then for each class its weight times curvature / 1000 * p_k (1 - p_k), or where
    ``by_share`` times curvature / 1000 * p_k.
    p is the softmax of the margins, from a table of integers. A record without a label adds nothing.
    IN margins (records, classes), labels (records,) from -1 to classes - 1, exponentials (places,) int64 up to 2**20,
    0 < cap <= unit <= 2**16, curvature < 2**16.
    OUT out (records, 2 classes) int64.
    """
    records, classes = margins.shape[0], np.uint64(margins.shape[1])
    last = np.int64(len(exponentials) - 1)
    place = np.empty(classes, dtype=np.uint32)
    mass = np.empty(classes, dtype=np.float64)
    for record in range(records):
        row, given, label = margins[record], out[record], np.int64(labels[record])
        if label < 0:
            given[:] = 0
            continue
        best = np.int64(row.max())
        for k in range(classes):
            place[k] = min(best - row[k], last)
        total = np.int64(0)
        for k in range(classes):
            one = exponentials[place[k]]
            total += one
            mass[k] = one
        others = total - exponentials[place[label]]
        wrong = others * unit // total
        of, to = (unit, total) if wrong <= cap else (cap, others)  # of / to: weight / total, in units
        weight, by_to, by_total = np.float64(of), 1 / np.float64(to), 1 / np.float64(total)
        for k in range(classes):
            given[k] = -np.int64(_quotient(mass[k] * weight, by_to))
        given[label] = min(wrong, cap)
        for k in range(classes):
            # mass (total - mass) // total, with a numerator below 2**50
            spread = mass[k] if by_share else mass[k] - _quotient(mass[k] * mass[k] + (total - 1), by_total)
            given[classes + k] = np.int64(_quotient(_quotient(spread * weight, by_to) * curvature, 0.001))


@compiled
def look_up_channels(margins, labels, table, out):
    """Write table[label, lead], the lead being the second class's, or 0 for a record without a label.

    IN margins (records, 1), labels (records,) from -1 to 1, table (2, leads, 2) int64, of which lead 0 is in the middle.
    OUT out (records, 2) int64.
    """
    most = np.int64(table.shape[1] // 2)
    for record in range(len(labels)):
        label = np.int64(labels[record])
        if label < 0:
            out[record] = 0
            continue
        lead = np.int64(margins[record, 0])
        lead = min(max(lead, -most), most) + most
        for channel in range(out.shape[1]):
            out[record, channel] = table[label, lead, channel]


@compiled
def squared_channels(margins, labels, clip, unit, constant, out):
    """Write a residual clipped at ``clip``, as a share of it in units rounded towards zero, and a constant.

    IN margins (records, 1), labels (records,) below 2**31, 1 <= clip < 2**31, unit, constant int.
    OUT out (records, 2) int64.
    """
    for record in range(len(labels)):
        label = np.int64(labels[record])
        if label < 0:
            out[record] = 0
            continue
        residual = min(max(label - np.int64(margins[record, 0]), -clip), clip)
        share = abs(residual) * unit // clip
        out[record, 0] = share if residual >= 0 else -share
        out[record, 1] = constant


@compiled
def add_term(codes, by, side, feature, votes, margins):
    """Add votes[s, code of ``feature``] to every record's margins, s having side[c, code of by[c]] for its binary digits.

    IN codes (records, features), by (cuts,), side (cuts, codes) of 0 and 1, feature int, votes (2**cuts, codes, columns).
    INOUT margins (records, columns).
    """
    columns, feature = np.uint64(margins.shape[1]), np.uint64(feature)
    if len(by) == 0 and columns == 1:  # most terms, in half the time
        curve = votes[0, :, 0]
        for record in range(np.uint64(codes.shape[0])):
            margins[record, np.uint64(0)] += curve[np.uint64(codes[record, feature])]
        return
    for record in range(np.uint64(codes.shape[0])):
        place = np.uint64(0)
        for cut in range(len(by)):
            place = np.uint64(2) * place + np.uint64(side[cut, np.uint64(codes[record, np.uint64(by[cut])])])
        code = np.uint64(codes[record, feature])
        for k in range(columns):
            margins[record, k] += votes[place, code, k]


@compiled
def add_terms(codes, feature, starts, by, at, shift, offsets, votes, margins):
    """Add votes[k, offsets[t] + place of t + cell of t * codes of t] to every record's margin k, for each term t.

    The place is the code of feature[t]. The cell's binary digits are made by steps: step s shifts them by shift[s], which is 0
    or 1, and turns the last one over where the code of by[s] is above at[s]. Records are taken tile by tile, term by term: all
    loops over a tile are without branches, and the votes of a term stay in the first cache.
    IN codes (records, features), feature (terms,), starts (terms + 1,) of steps, by shift (steps,), at (steps,) of the type of
    codes, offsets (terms + 1, 2): where its votes begin, and how many codes it has; votes (columns, all cells and codes).
    INOUT margins (columns, records), of the type of votes.
    """
    place = np.empty(TILE, dtype=votes.dtype)
    for begin in range(0, codes.shape[0], TILE):
        top = np.uint64(begin)
        rows = np.uint64(min(TILE, codes.shape[0] - begin))
        for term in range(len(feature)):
            for i in range(rows):
                place[i] = 0
            for step in range(starts[term], starts[term + 1]):
                cut, last, by_digits = np.uint64(by[step]), at[step], np.int32(shift[step])
                for i in range(rows):
                    place[i] = (place[i] << by_digits) ^ (codes[top + i, cut] > last)
            column = np.uint64(feature[term])
            for i in range(rows):
                place[i] = place[i] * offsets[term, 1] + codes[top + i, column] + offsets[term, 0]
            for k in range(np.uint64(votes.shape[0])):
                for i in range(rows):
                    margins[k, top + i] += votes[k, np.uint64(place[i])]
