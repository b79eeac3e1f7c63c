"""Sending records down finished trees."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["votes"]

BLOCK = 512  # records that walk side by side: while one waits for a node, the others move on


@compiled
def votes(codes, roots, test, next_node, label, feature, branch, steps, out):
    """Add one to out[record, label] for the leaf that each record reaches in each tree.

    A leaf names a test that sends every code to branch 0, and itself as next node, so that records which arrived early
    stay where they are and no step depends on a condition.
    IN codes (records, features), roots (trees,), test next_node label (nodes,), feature (tests,), branch (tests, codes),
    steps: the longest path.  OUT out (records, classes) int32.
    """
    records = codes.shape[0]
    width = np.uint64(branch.shape[1])
    branches = branch.ravel()
    place = np.empty(BLOCK, dtype=np.uint64)
    for start in range(0, records, BLOCK):
        size = np.uint64(min(BLOCK, records - start))
        rows = codes[start : start + BLOCK]
        given = out[start : start + BLOCK]
        for tree in range(len(roots)):
            place[:] = np.uint64(roots[tree])
            for _ in range(steps):
                for i in range(size):
                    node = place[i]
                    asked = np.uint64(test[node])
                    code = np.uint64(rows[i, np.uint64(feature[asked])])
                    place[i] = np.uint64(next_node[node]) + np.uint64(branches[asked * width + code])
            for i in range(size):
                given[i, np.uint64(label[place[i]])] += 1
