"""Tests of raw columns in compiled code: their scores, their branches, and records on their way down finished trees.

A feature's kind is its entry in ``bins``: above 0 so many bins of a node's range, 0 a branch for each code, CUT a cut.
"""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = [
    "CUT",
    "GINI",
    "INFORMATION_GAIN",
    "MAX",
    "branches",
    "grouped",
    "histogram",
    "intervals",
    "largest_of_runs",
    "ranges",
    "score_histograms",
    "votes",
]

CUT = -1
GINI, MAX, INFORMATION_GAIN = 0, 1, 2


@compiled
def _branch(value, bins, low, high):
    """Return the branch that a value takes in a node.

    A category (``bins`` is 0) takes the branch of its code. A number at a cut takes the first branch if it is below
    ``low`` and otherwise, or if it is missing, the second. A number among bins takes one of ``bins`` bins of equal width
    from ``low`` to ``high``, the first or the last if it is outside, and the branch behind them if it is missing.
    """
    if bins == 0:
        return np.int64(value)
    if bins == CUT:
        return np.int64(0) if value < low else np.int64(1)
    if np.isnan(value):
        return np.int64(bins)
    if low == high or value <= low:
        return np.int64(0)
    if value >= high:
        return np.int64(bins - 1)
    scale = 1.0 if high - low < np.inf else 0.5  # a width above the largest float
    place = np.int64((scale * value - scale * low) / (scale * high - scale * low) * bins)
    return min(place, np.int64(bins - 1))


@compiled
def _branch_score(counts, kind):
    """Return what one branch with the class ``counts`` adds to the score of a test.

    GINI: -(n - sum of n_k**2 / n); MAX: the largest n_k; INFORMATION_GAIN: sum of n_k log2(n_k / n).
    """
    size, most, squares = np.int64(0), np.int64(0), 0.0
    for count in counts:
        size += count
        most = max(most, count)
        squares += float(count) * count
    if size == 0:
        return 0.0
    if kind == GINI:
        return squares / size - size
    if kind == MAX:
        return float(most)
    total = 0.0
    for count in counts:
        if count > 0:
            total += count * np.log2(count / size)
    return total


@compiled
def ranges(columns, records, start, offered, bins, low, high):
    """Write the least and the largest finite value of every offered feature with bins in every node.

    Without a finite value the range stays as it is.
    IN columns (features, records) float64, records: those of node i stand from start[i] to start[i + 1], offered (nodes,
    features), bins (features,).  OUT low high (nodes, features).
    """
    for node in range(len(start) - 1):
        rows = records[start[node] : start[node + 1]]
        for feature in range(len(bins)):
            if bins[feature] <= 0 or not offered[node, feature]:
                continue
            least, most = np.inf, -np.inf
            for row in rows:
                value = columns[feature, row]
                if np.isfinite(value):
                    least, most = min(least, value), max(most, value)
            if least <= most:
                low[node, feature], high[node, feature] = least, most


@compiled
def histogram(columns, labels, records, start, offered, bins, offset, low, high, out):
    """Add one to out[node, offset[feature] + branch, class] for every record and offered feature without a cut.

    IN columns (features, records), labels (all records,), records start as above, offered low high (nodes, features), bins
    offset (features,).  OUT out (nodes, codes, classes).
    """
    for node in range(len(start) - 1):
        rows = records[start[node] : start[node + 1]]
        for feature in range(len(bins)):
            kind, least, most = bins[feature], low[node, feature], high[node, feature]
            if kind == CUT or not offered[node, feature]:
                continue
            column, counts = columns[feature], out[node, offset[feature] :]
            if kind == 0:
                for row in rows:
                    counts[np.int64(column[row]), labels[row]] += 1
            else:
                for row in rows:
                    counts[_branch(column[row], kind, least, most), labels[row]] += 1


@compiled
def score_histograms(counts, offset, kind, out):
    """Write the score of the test on each feature, from the class counts of its branches.

    IN counts (nodes, codes, classes), offset (features + 1,): feature i has the codes from offset[i] to offset[i + 1], kind:
    GINI, MAX or INFORMATION_GAIN.  OUT out (nodes, features).
    """
    for node in range(counts.shape[0]):
        for feature in range(len(offset) - 1):
            total = 0.0
            for code in range(offset[feature], offset[feature + 1]):
                total += _branch_score(counts[node, code], kind)
            out[node, feature] = total


@compiled
def intervals(
    ranks, values, place, labels, records, start, node, feature, low, high, n_classes, kind, score, left, right
):
    """Write the intervals between neighboring values of a feature in a node, and the score of a cut inside each.

    One run of intervals for each pair of a node and a feature that may be cut; a cut sends the values below it left and
    the others, and the missing, right. Returns where each run starts, and where the last one ends.
    IN ranks (features, records) int32: the rank of each value among the feature's distinct ``values``, which stand from
    place[feature] on, or -1; labels (all records,) below n_classes, records start as above, node feature low high (pairs,), kind.
    OUT score left right (at least the number of intervals,).
    """
    ends = np.zeros(len(node) + 1, dtype=np.int64)
    counts = np.zeros((len(values), n_classes), dtype=np.int64)
    touched = np.empty(len(values), dtype=np.int64)
    sides = np.zeros((2, n_classes), dtype=np.int64)
    out = 0
    for pair in range(len(node)):
        sides[:] = 0
        first, found = place[feature[pair]], 0
        for row in records[start[node[pair]] : start[node[pair] + 1]]:
            sides[1, labels[row]] += 1
            rank = ranks[feature[pair], row]
            if rank >= 0:
                if counts[first + rank].sum() == 0:
                    touched[found] = first + rank
                    found += 1
                counts[first + rank, labels[row]] += 1
        touched[:found].sort()
        edge = low[pair]
        for place_below in range(found + 1):
            score[out] = _branch_score(sides[0], kind) + _branch_score(sides[1], kind)
            left[out] = edge
            if place_below < found:
                below = touched[place_below]
                edge = values[below]
                for label in range(n_classes):
                    sides[0, label] += counts[below, label]
                    sides[1, label] -= counts[below, label]
                    counts[below, label] = 0
                right[out] = edge
            else:
                right[out] = high[pair]
            out += 1
        ends[pair + 1] = out
    return ends


@compiled
def largest_of_runs(keys, start, out):
    """Write where the largest key of each run stands.  IN keys (keys,), start (runs + 1,).  OUT out (runs,)."""
    for run in range(len(start) - 1):
        best = start[run]
        for place in range(start[run] + 1, start[run + 1]):
            if keys[place] > keys[best]:
                best = place
        out[run] = best


@compiled
def branches(columns, records, node, feature, bins, low, high, out):
    """Write the branch that each record takes in its node.

    IN columns (features, records), records node (moving records,), feature low high (nodes,), bins (features,).
    OUT out (moving records,).
    """
    for i in range(len(records)):
        tested = feature[node[i]]
        out[i] = _branch(columns[tested, records[i]], bins[tested], low[node[i]], high[node[i]])


@compiled
def grouped(records, node, n_nodes):
    """Return the records sorted by node, in their order within each, and the node of each.

    IN records (records,), node (records,) below n_nodes.
    """
    place = np.zeros(n_nodes + 1, dtype=np.int64)
    for i in range(len(node)):
        place[node[i] + 1] += 1
    for i in range(n_nodes):
        place[i + 1] += place[i]
    out, out_node = np.empty_like(records), np.empty_like(node)
    for i in range(len(records)):
        to = place[node[i]]
        place[node[i]] += 1
        out[to], out_node[to] = records[i], node[i]
    return out, out_node


@compiled
def votes(columns, roots, feature, first_child, label, low, high, bins, out):
    """Add one to out[record, label] for the leaf that each record reaches in each tree.

    IN columns (records, features), roots (trees,), feature first_child label low high (nodes,), bins (features,).
    OUT out (records, classes) int32.
    """
    for tree in range(len(roots)):
        for record in range(columns.shape[0]):
            node = np.int64(roots[tree])
            while feature[node] >= 0:
                tested = feature[node]
                node = first_child[node] + _branch(columns[record, tested], bins[tested], low[node], high[node])
            out[record, label[node]] += 1
