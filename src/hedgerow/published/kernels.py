"""Tests of raw columns in compiled code: their scores, their branches, and records on their way down finished trees."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["branches", "score_tests", "votes"]


@compiled
def _branch(value, bins, low, high):
    """Return the branch that a value takes in a node.

    A category (``bins`` is 0) takes the branch of its code. A number takes one of ``bins`` bins of equal width from ``low``
    to ``high``, the first or the last if it is outside, and the branch behind them if it is missing.
    """
    if bins == 0:
        return np.int64(value)
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
def score_tests(columns, labels, records, start, unused, bins, arity, n_classes, score, low, high):
    """Write the range of every unused feature in every node, and the Gini score of the test on it.

    The score is -sum over branches of (n - sum of n_k**2 / n), as a float.
    IN columns (records, features) float64, labels (records,), records: those of node i stand from start[i] to
    start[i + 1], unused (nodes, features), bins arity (features,).  OUT score low high (nodes, features).
    """
    counts = np.zeros((arity.max(), n_classes), dtype=np.int64)
    for node in range(len(start) - 1):
        rows = records[start[node] : start[node + 1]]
        for feature in range(len(bins)):
            if not unused[node, feature]:
                continue
            if bins[feature] > 0:
                least, most = np.inf, -np.inf
                for row in rows:
                    value = columns[row, feature]
                    if np.isfinite(value):
                        least, most = min(least, value), max(most, value)
                if least <= most:  # no finite value leaves the range [0, 0]
                    low[node, feature], high[node, feature] = least, most
            counts[: arity[feature]] = 0
            for row in rows:
                branch = _branch(columns[row, feature], bins[feature], low[node, feature], high[node, feature])
                counts[branch, labels[row]] += 1
            total = 0.0
            for branch in range(arity[feature]):
                size, squares = 0, 0.0
                for label in range(n_classes):
                    size += counts[branch, label]
                    squares += float(counts[branch, label]) * counts[branch, label]
                if size > 0:
                    total -= size - squares / size
            score[node, feature] = total


@compiled
def branches(columns, records, node, feature, bins, low, high, out):
    """Write the branch that each record takes in its node.

    IN columns (records, features), records node (moving records,), feature low high (nodes,), bins (features,).
    OUT out (moving records,).
    """
    for i in range(len(records)):
        tested = feature[node[i]]
        out[i] = _branch(columns[records[i], tested], bins[tested], low[node[i]], high[node[i]])


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
