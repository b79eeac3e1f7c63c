"""Sending records down finished trees."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["votes"]

BLOCK = 2048  # records that pass one tree before the next one's nodes are fetched


@compiled
def votes(codes, roots, test, first_child, label, feature, branch, out):
    """Add one to out[record, label] for the leaf that each record reaches in each tree.

    IN codes (records, features), roots (trees,), test first_child label (nodes,), feature (tests,), branch (tests, codes).
    OUT out (records, classes) int32.
    """
    records = codes.shape[0]
    for start in range(0, records, BLOCK):
        for tree in range(len(roots)):
            for record in range(np.uint64(start), np.uint64(min(start + BLOCK, records))):
                node = np.uint64(roots[tree])
                while test[node] >= 0:
                    asked = np.uint64(test[node])
                    code = np.uint64(codes[record, np.uint64(feature[asked])])
                    node = np.uint64(first_child[node]) + np.uint64(branch[asked, code])
                out[record, np.uint64(label[node])] += 1
