"""Scores of whole batches of nodes, in exact integers."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["gini", "majority", "minority"]


@compiled
def _count_branches(histogram, node, start, codes, branch, counts):
    """Add up the class counts of a test's branches.  IN histogram (nodes, codes, classes)  OUT counts (branches, classes)."""
    for code in range(codes):
        for label in range(counts.shape[1]):
            counts[branch[code], label] += histogram[node, start + code, label]


@compiled
def gini(histogram, offsets, feature, branch, arity, fraction_bits, out):
    """Write the Gini score of every test in every node: the sum over branches of floor(2**fraction_bits * (S / n - n)).

    n is the branch's count and S the sum of its squared class counts. With n below 2**31, S fits an int64, and so does
    its remainder by n shifted by the fraction bits.
    IN histogram (nodes, codes, classes) int64, offsets (features + 1), feature arity (tests), branch (tests, codes).
    OUT out (nodes, tests) int64.
    """
    nodes, _, classes = histogram.shape
    counts = np.empty((arity.max(), classes), dtype=np.int64)
    for node in range(nodes):
        for test in range(len(feature)):
            counts[: arity[test]] = 0
            start = offsets[feature[test]]
            _count_branches(histogram, node, start, offsets[feature[test] + 1] - start, branch[test], counts)
            score = np.int64(0)
            for to in range(arity[test]):
                size = np.int64(0)
                squares = np.int64(0)
                for label in range(classes):
                    size += counts[to, label]
                    squares += counts[to, label] * counts[to, label]
                if size > 0:
                    quotient = squares // size
                    rest = squares - quotient * size
                    score += ((quotient - size) << fraction_bits) + (rest << fraction_bits) // size
            out[node, test] = score


@compiled
def majority(histogram, offsets, feature, branch, arity, out):
    """Write the sum over branches of the largest class count of every test in every node.

    IN histogram (nodes, codes, classes) int64, offsets (features + 1), feature arity (tests), branch (tests, codes).
    OUT out (nodes, tests) int64.
    """
    nodes, _, classes = histogram.shape
    counts = np.empty((arity.max(), classes), dtype=np.int64)
    for node in range(nodes):
        for test in range(len(feature)):
            counts[: arity[test]] = 0
            start = offsets[feature[test]]
            _count_branches(histogram, node, start, offsets[feature[test] + 1] - start, branch[test], counts)
            score = np.int64(0)
            for to in range(arity[test]):
                largest = np.int64(0)
                for label in range(classes):
                    largest = max(largest, counts[to, label])
                score += largest
            out[node, test] = score


@compiled
def minority(counts, out):
    """Write how many records of each node are not of its largest class.  IN counts (nodes, classes)  OUT out (nodes,)."""
    nodes, classes = counts.shape
    for node in range(nodes):
        size = np.int64(0)
        largest = np.int64(0)
        for label in range(classes):
            size += counts[node, label]
            largest = max(largest, counts[node, label])
        out[node] = size - largest
