"""Sending records down finished trees."""

from __future__ import annotations

from hedgerow.compiled import compiled

__all__ = ["votes"]


@compiled
def votes(codes, roots, test, first_child, label, feature, branch, out):
    """Add one to out[record, label] for the leaf that each record reaches in each tree.

    IN codes (records, features), roots (trees,), test first_child label (nodes,), feature (tests,), branch (tests, codes).
    OUT out (records, classes) int32.
    """
    for record in range(codes.shape[0]):
        for tree in range(len(roots)):
            node = roots[tree]
            while test[node] >= 0:
                node = first_child[node] + branch[test[node], codes[record, feature[test[node]]]]
            out[record, label[node]] += 1
