"""Sending records down finished trees."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["shares", "votes"]

BLOCK = 512  # records that walk side by side: while one waits for a node, the others move on


@compiled
def _walk(rows, root, test, next_node, feature, branch, steps, place):
    """Write the leaf that each record reaches.

    A leaf names a test that sends every code to branch 0, and itself as next node, so that records which arrived early
    stay where they are and no step depends on a condition.
    IN rows (records, features), root < nodes, test next_node (nodes,), feature (tests,), branch (tests, codes of the widest
    feature), steps: the longest path.
    OUT place (at least as many as records) uint64.
    """
    width = np.uint64(branch.shape[1])
    branches = branch.ravel()
    place[:] = np.uint64(root)
    for _ in range(steps):
        for i in range(np.uint64(rows.shape[0])):
            node = place[i]
            asked = np.uint64(test[node])
            code = np.uint64(rows[i, np.uint64(feature[asked])])
            place[i] = np.uint64(next_node[node]) + np.uint64(branches[asked * width + code])


@compiled
def votes(codes, roots, test, next_node, feature, branch, steps, label, out):
    """Add one to out[record, label] for the leaf that each record reaches in each tree.

    IN codes (records, features), roots (trees,), test next_node label (nodes,), feature branch steps as for _walk.
    OUT out (records, classes).
    """
    place = np.empty(BLOCK, dtype=np.uint64)
    for start in range(0, codes.shape[0], BLOCK):
        rows = codes[start : start + BLOCK]
        given = out[start : start + BLOCK]
        for tree in range(len(roots)):
            _walk(rows, roots[tree], test, next_node, feature, branch, steps, place)
            for i in range(np.uint64(rows.shape[0])):
                given[i, np.uint64(label[place[i]])] += 1


@compiled
def shares(codes, roots, test, next_node, feature, branch, steps, share, out):
    """Add the class shares of the leaf that each record reaches in each tree to out[record].

    IN codes (records, features), roots (trees,), test next_node (nodes,), share (nodes, classes), feature branch steps as for
    _walk.  OUT out (records, classes).
    """
    place = np.empty(BLOCK, dtype=np.uint64)
    for start in range(0, codes.shape[0], BLOCK):
        rows = codes[start : start + BLOCK]
        given = out[start : start + BLOCK]
        for tree in range(len(roots)):
            _walk(rows, roots[tree], test, next_node, feature, branch, steps, place)
            for i in range(np.uint64(rows.shape[0])):
                for label in range(out.shape[1]):
                    given[i, label] += share[place[i], label]
