"""Sending records down finished trees."""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import compiled

BLOCK = 512  # records that walk side by side: while one waits for a node, the others move on


@compiled
def _walk(codes, first, rows, root, test, next_node, feature, branch, steps, place):
    """Write the leaf that each of so many records from the first on reaches.

    A leaf names a test that sends every code to branch 0, and itself as next node, so that records which arrived early
    stay where they are and no step depends on a condition.
    IN codes (records, features), first + rows <= records, both uint64, root < nodes, test next_node (nodes,), feature (tests,),
    branch (tests, codes of the widest feature), steps: the longest path.
    OUT place (rows or more,) uint64.
    """
    for i in range(rows):
        place[i] = np.uint64(root)
    for _ in range(steps):
        for i in range(rows):
            node = place[i]
            asked = np.uint64(test[node])
            code = np.uint64(codes[first + i, np.uint64(feature[asked])])
            place[i] = np.uint64(next_node[node]) + np.uint64(branch[asked, code])


@compiled
def add_votes(codes, roots, test, next_node, feature, branch, steps, votes, out):
    """Add the votes of the leaf that each record reaches in each tree to out[record], or one for its label.

    IN codes (records, features), roots (trees,), test next_node (nodes,), votes (nodes, classes) or labels (nodes,), feature
    branch steps as for _walk.  OUT out (records, classes).
    """
    place = np.empty(BLOCK, dtype=np.uint64)
    for start in range(0, codes.shape[0], BLOCK):
        first, rows = np.uint64(start), np.uint64(min(BLOCK, codes.shape[0] - start))
        for tree in range(len(roots)):
            _walk(codes, first, rows, roots[tree], test, next_node, feature, branch, steps, place)
            for i in range(rows):
                if votes.ndim == 1:  # numba compiles one of the two
                    out[first + i, np.uint64(votes[place[i]])] += 1
                else:
                    for label in range(np.uint64(out.shape[1])):
                        out[first + i, label] += votes[place[i], label]
