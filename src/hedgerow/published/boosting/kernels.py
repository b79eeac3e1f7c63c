"""Boosted trees on raw columns in compiled code: weights by value, the best stump, groupings, and paths down trees.

A test has two branches. A number goes left if it is at most the node's cut, and right if it is above it or missing; a
code goes left if the node's row of ``left`` says so.
"""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["best_groupings", "best_stump", "class_weights", "errors_on_paths", "labels", "sides"]


@compiled
def class_weights(ranks, records, labels, weights, out):
    """Add the weight of each of some records to out[rank, class], once for each feature.

    Features have ranks of their own: side by side, no sum waits for the one before. Numbers without a sign need no look whether
    they count from the end.
    IN ranks (features, all records), labels weights (all records,), records (some,).  OUT out (ranks, 2).
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


@compiled
def _impurity(count_0, count_1):
    """Return n times the Gini index of two class counts."""
    size = count_0 + count_1
    return 2.0 * count_0 * count_1 / size if size > 0 else 0.0


@compiled
def best_groupings(counts, offset, offered, score, left):
    """Write, for every offered feature of codes, the two groups of codes with the least Gini index, and its score.

    The score is -n times the Gini index of the two groups. For two classes the best groups are among the cuts along the
    codes sorted by their share of class 1 (Breiman, Friedman, Olshen and Stone 1984, 4.2.2). Codes without records stay out
    of the left group; a feature with one code only keeps its score.
    IN counts (nodes, codes, 2), offset (features + 1,), offered (nodes, features).  OUT score (nodes, features), left
    (nodes, codes).
    """
    for node in range(counts.shape[0]):
        for feature in range(len(offset) - 1):
            if not offered[node, feature]:
                continue
            first, last = offset[feature], offset[feature + 1]
            share = np.full(last - first, np.inf)
            right_0, right_1, found = 0, 0, 0
            for code in range(first, last):
                count_0, count_1 = counts[node, code, 0], counts[node, code, 1]
                if count_0 + count_1 > 0:
                    share[code - first] = count_1 / (count_0 + count_1)
                    right_0, right_1, found = right_0 + count_0, right_1 + count_1, found + 1
            order = np.argsort(share, kind="mergesort")
            left_0, left_1, best, size = 0, 0, -np.inf, 0
            for place in range(found - 1):
                code = first + order[place]
                left_0, left_1 = left_0 + counts[node, code, 0], left_1 + counts[node, code, 1]
                right_0, right_1 = right_0 - counts[node, code, 0], right_1 - counts[node, code, 1]
                found_score = -_impurity(left_0, left_1) - _impurity(right_0, right_1)
                if found_score > best:
                    best, size = found_score, place + 1
            if size > 0:
                score[node, feature] = best
                for place in range(size):
                    left[node, first + order[place]] = True


@compiled
def _goes_left(value, numeric, cut, left):
    """Return whether a value takes the left branch of a node."""
    return value <= cut if numeric else left[np.int64(value)]


@compiled
def sides(columns, records, node, feature, numeric, cut, left, out):
    """Write the branch, 0 or 1, that each record takes in its node.

    IN columns (features, all records), records node (moving records,), numeric (features,), feature cut (nodes,), left
    (nodes, codes).  OUT out (moving records,).
    """
    for i in range(len(records)):
        here, tested = node[i], feature[node[i]]
        out[i] = 0 if _goes_left(columns[tested, records[i]], numeric[tested], cut[here], left[here]) else 1


@compiled
def labels(columns, root, feature, first_child, label, numeric, cut, left, out):
    """Write the label of the leaf that each record reaches.

    IN columns (features, records), root < nodes, feature first_child label cut (nodes,), left (nodes, codes), numeric
    (features,).  OUT out (records,).
    """
    if feature[root] >= 0 and feature[first_child[root]] < 0 and feature[first_child[root] + 1] < 0:  # a stump, at once
        tested, of_left, of_right = feature[root], label[first_child[root]], label[first_child[root] + 1]
        for record in range(columns.shape[1]):
            goes = _goes_left(columns[tested, record], numeric[tested], cut[root], left[root])
            out[record] = of_left if goes else of_right
        return
    for record in range(columns.shape[1]):
        node = np.int64(root)
        while feature[node] >= 0:
            tested = feature[node]
            goes = _goes_left(columns[tested, record], numeric[tested], cut[node], left[node])
            node = np.int64(first_child[node]) + (0 if goes else 1)
        out[record] = label[node]


@compiled
def errors_on_paths(columns, classes, records, feature, first_child, label, numeric, cut, left, out):
    """Add one to out[node] for every record that passes a node of another label, the root being node 0.

    IN columns (features, all records), classes (all records,), records (some,), feature first_child label cut (nodes,), left
    (nodes, codes), numeric (features,).  OUT out (nodes,).
    """
    for record in records:
        node = np.int64(0)
        while True:
            if label[node] != classes[record]:
                out[node] += 1
            if feature[node] < 0:
                break
            tested = feature[node]
            goes = _goes_left(columns[tested, record], numeric[tested], cut[node], left[node])
            node = np.int64(first_child[node]) + (0 if goes else 1)
