"""Printed trees on raw columns in compiled code: scores and branches of tests, and records on their way down finished trees.

A feature has a kind in ``bins`` (features,): a number of bins of a node's range, 0 a branch for each code, CUT a cut, and
GROUPS two groups of codes: a code goes left if the node's row of ``left`` says so. Columns are (features, records); the
``records`` of node i stand from start[i] to start[i + 1], and codes of feature i from offset[i] to offset[i + 1].
"""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import compiled

CUT = -1
GROUPS = -2


@compiled
def _bin(value, bins, low, high):
    """Return which of ``bins`` bins of equal width from ``low`` to ``high`` a number is in.

    It is the first or the last bin if the number is outside, and the branch behind them if it is missing.
    """
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
def _branch(value, kind, node, low, high, left):
    """Return the branch that a value takes in a node; a number at a cut goes left if it is below ``low`` and not missing."""
    if kind > 0:
        return _bin(value, kind, low[node], high[node])
    if kind == 0:
        return np.int64(value)
    if kind == CUT:
        return np.int64(0) if value < low[node] else np.int64(1)
    return np.int64(0) if left[node, np.int64(value)] else np.int64(1)


@compiled
def _branch_score(counts):  # eDPRF: equations 7, 8 and 11; definitions 5 and 6
    """Return what one branch with the class ``counts`` adds to the Gini score of a test: -(n - sum of n_k**2 / n)."""
    size, squares = np.int64(0), 0.0
    for count in counts:
        size += count
        squares += float(count) * count
    return squares / size - size if size > 0 else 0.0


@compiled
def ranges(columns, records, start, offered, bins, low, high):
    """Write the least and the largest finite value of every offered feature with bins in every node that has one.

    IN columns (features, all records), records (records,) sorted by node, start (nodes + 1,), offered (nodes, features), bins
    (features,).  OUT low high (nodes, features).
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

    IN columns (features, all records), labels (all records,), records (records,) sorted by node, start (nodes + 1,), offered low
    high (nodes, features), bins (features,), offset (features + 1,).  OUT out (nodes, codes, classes).
    """
    for node in range(len(start) - 1):
        rows = records[start[node] : start[node + 1]]
        for feature in range(len(bins)):
            kind, least, most = bins[feature], low[node, feature], high[node, feature]
            if kind == CUT or not offered[node, feature]:
                continue
            column, counts = columns[feature], out[node, offset[feature] :]
            for row in rows:
                code = _bin(column[row], kind, least, most) if kind > 0 else np.int64(column[row])
                counts[code, labels[row]] += 1


@compiled
def score_histograms(counts, offset, out):
    """Write the score of the test on each feature.

    IN counts (nodes, codes, classes), offset (features + 1,).  OUT out (nodes, features).
    """
    for node in range(counts.shape[0]):
        for feature in range(len(offset) - 1):
            total = 0.0
            for code in range(offset[feature], offset[feature + 1]):
                total += _branch_score(counts[node, code])
            out[node, feature] = total


@compiled
def intervals(ranks, values, labels, records, start, node, feature, low, high, n_classes, score, left, right):
    """Write the intervals between neighboring values of a feature in a node, and the score of a cut inside each.

    One run of intervals for each pair of a node and a feature; a cut sends the values below it left and the others, and the
    missing, right. Returns where each run starts, and where the last one ends.
    IN ranks (features, all records): where each value stands among ``values`` (values,); labels (all records,), records
    (records,) sorted by node, start (nodes + 1,), node feature low high (pairs,), n_classes.
    OUT score left right (at least the number of intervals,).
    """
    ends = np.zeros(len(node) + 1, dtype=np.int64)
    counts = np.zeros((len(values), n_classes), dtype=np.int64)
    touched = np.empty(len(values), dtype=np.int64)
    sides = np.zeros((2, n_classes), dtype=np.int64)
    out = 0
    for pair in range(len(node)):
        sides[:] = 0
        n_distinct = 0
        for row in records[start[node[pair]] : start[node[pair] + 1]]:
            sides[1, labels[row]] += 1
            rank = ranks[feature[pair], row]
            if not np.isnan(values[rank]):
                if counts[rank].sum() == 0:
                    touched[n_distinct] = rank
                    n_distinct += 1
                counts[rank, labels[row]] += 1
        touched[:n_distinct].sort()
        edge = low[pair]
        for place_below in range(n_distinct + 1):
            score[out] = _branch_score(sides[0]) + _branch_score(sides[1])
            left[out] = edge
            edge = high[pair]
            if place_below < n_distinct:
                below = touched[place_below]
                edge = values[below]
                for label in range(n_classes):
                    sides[0, label] += counts[below, label]
                    sides[1, label] -= counts[below, label]
                    counts[below, label] = 0
            right[out] = edge
            out += 1
        ends[pair + 1] = out
    return ends


@compiled
def branches(columns, records, node, feature, low, high, left, bins, out):
    """Write the branch that each record takes in its node.

    IN columns (features, all records), records node (records,), feature low high (nodes,), left (nodes, codes), bins (features,).
    OUT out (records,).
    """
    for i in range(len(records)):
        tested = feature[node[i]]
        out[i] = _branch(columns[tested, records[i]], bins[tested], node[i], low, high, left)


@compiled
def class_weights(ranks, records, labels, weights, out):
    """Add the weight of each of some records to out[rank, class], once for each feature; its ranks are its own.

    Side by side, no sum waits for the one before. Numbers without a sign need no look whether they count from the end.
    IN ranks (features, all records), records (records,), labels weights (all records,).  OUT out (ranks, classes).
    """
    for i in range(len(records)):
        record = np.uint64(records[i])
        label, weight = np.uint64(labels[record]), weights[record]
        for feature in range(np.uint64(ranks.shape[0])):
            out[np.uint64(ranks[feature, record]), label] += weight


@compiled
def best_stump(sums, start, candidates, numeric, tolerance):
    """Return feature, rank and label on the left of the first stump of least weighted error, and that error.

    Feature i has the ranks from start[i] to start[i + 1] and its candidates first: for a number a cut behind each of
    ``candidates[i]`` ranks, otherwise one of these codes against the rest. An error counts as less only by more than
    ``tolerance``. Without candidates the feature is -1.
    IN sums (ranks, 2), start (features + 1,), candidates numeric (features,).
    """
    feature, place, label, least = -1, 0, 0, np.inf
    all_0, all_1 = 0.0, 0.0
    for rank in range(start[0], start[1]):
        all_0 += sums[rank, 0]
        all_1 += sums[rank, 1]
    for i in range(len(candidates)):
        left_0, left_1 = 0.0, 0.0
        for j in range(candidates[i]):
            if not numeric[i]:
                left_0, left_1 = 0.0, 0.0
            left_0 += sums[start[i] + j, 0]
            left_1 += sums[start[i] + j, 1]
            error = left_0 + all_1 - left_1
            if error < least - tolerance:
                feature, place, label, least = i, j, 1, error
            error = left_1 + all_0 - left_0
            if error < least - tolerance:
                feature, place, label, least = i, j, 0, error
    return feature, place, label, least
