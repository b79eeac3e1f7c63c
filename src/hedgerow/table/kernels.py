"""Counting and moving records, in exact integers.

Records are named by row. ``order`` lists the rows node by node, and node i owns order[starts[i]:starts[i + 1]].
"""

from __future__ import annotations

from hedgerow.compiled import compiled

__all__ = ["class_counts", "group", "histogram", "move"]


@compiled
def histogram(codes, labels, order, starts, first, last, offsets, out):
    """Add one to out[node - first, offsets[feature] + code, label] for every feature of every record of the nodes.

    IN codes (records, features), labels (records,), order, starts, first <= node < last, offsets (features + 1).
    OUT out (last - first, codes, classes) int64, which must be zero before.
    """
    features = codes.shape[1]
    for node in range(first, last):
        for i in range(starts[node], starts[node + 1]):
            record = order[i]
            label = labels[record]
            for feature in range(features):
                out[node - first, offsets[feature] + codes[record, feature], label] += 1


@compiled
def class_counts(labels, order, starts, out):
    """Add one to out[node, label] for every record of every node.  IN labels, order, starts  OUT out (nodes, classes)."""
    for node in range(len(starts) - 1):
        for i in range(starts[node], starts[node + 1]):
            out[node, labels[order[i]]] += 1


@compiled
def group(part, labels, starts, order):
    """Sort the records that have a label by part, keeping their order in each.

    IN part labels (records,)  OUT starts (parts + 1,) zero before, order (labeled records,).
    """
    for record in range(len(part)):
        if labels[record] >= 0:
            starts[part[record] + 1] += 1
    for i in range(1, len(starts)):
        starts[i] += starts[i - 1]
    place = starts[:-1].copy()
    for record in range(len(part)):
        if labels[record] >= 0:
            order[place[part[record]]] = record
            place[part[record]] += 1


@compiled
def move(codes, order, starts, test, feature, branch, first_child, child_starts, child_order):
    """Send the records of each node to its children by its test.

    IN codes (records, features), order, starts, test (nodes,), feature (tests,), branch (tests, codes), first_child (nodes,).
    OUT child_starts (children + 1,) zero before, child_order (records,).
    """
    for node in range(len(test)):
        column = feature[test[node]]
        for i in range(starts[node], starts[node + 1]):
            child_starts[first_child[node] + branch[test[node], codes[order[i], column]] + 1] += 1
    for i in range(1, len(child_starts)):
        child_starts[i] += child_starts[i - 1]
    place = child_starts[:-1].copy()
    for node in range(len(test)):
        column = feature[test[node]]
        for i in range(starts[node], starts[node + 1]):
            child = first_child[node] + branch[test[node], codes[order[i], column]]
            child_order[place[child]] = order[i]
            place[child] += 1
