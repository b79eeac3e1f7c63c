"""Scores of whole batches of nodes, in exact integers, and which tests a path has decided."""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import compiled

EACH, CUT, VALUE = 0, 1, 2  # kinds of tests
GINI, MAJORITY, GAIN = 0, 1, 2  # measures of a branch


@compiled
def _branch_score(counts, measure, fraction_bits, table):
    """Return the measure of one branch.  IN counts (classes,), one at least, table (places,), two at least for GAIN.

    n is the branch's count, n_k that of class k.
    GINI      floor(2**fraction_bits * (S / n - n)), S the sum of n_k**2. With n below 2**31, S fits an int64, and so does its
              remainder by n shifted by the fraction bits.
    GAIN      sum of t(n_k) - t(n), t the table, continued beyond its end by its last step.
    MAJORITY  the largest n_k.
    """
    size, total, largest = np.int64(0), np.int64(0), counts[0]
    if measure == GINI:
        for count in counts:
            size += count
            total += count * count
        if size == 0:
            return np.int64(0)
        quotient = total // size
        rest = total - quotient * size
        return ((quotient - size) << fraction_bits) + (rest << fraction_bits) // size
    if measure == GAIN:
        last = len(table) - 1
        step = table[last] - table[last - 1]
        for count in counts:
            size += count
            total += table[min(count, last)] + max(count - last, 0) * step
        return total - table[min(size, last)] - max(size - last, 0) * step
    for count in counts:
        largest = max(largest, count)
    return largest


@compiled
def scores(histogram, offsets, feature, kind, at, measure, fraction_bits, table, out):
    """Write the score of every test in every node: the sum over its branches of a measure.

    Cuts of a feature that stand side by side with codes that ascend share their sums.
    IN histogram (nodes, codes, classes) int64, offsets (features + 1,), feature kind at (tests,), measure,
    fraction_bits for GINI, table (places,), for GAIN: n log2 n in steps.  OUT out (nodes, tests) int64.
    """
    nodes, _, classes = histogram.shape
    total = np.empty(classes, dtype=np.int64)
    lower = np.empty(classes, dtype=np.int64)
    upper = np.empty(classes, dtype=np.int64)
    for node in range(nodes):
        counts = histogram[node]
        for label in range(classes):
            total[label] = 0
        for code in range(offsets[1]):
            for label in range(classes):
                total[label] += counts[code, label]
        cut_feature, reached = np.int64(-1), np.int64(0)
        for test in range(len(feature)):
            f, place = np.int64(feature[test]), np.int64(at[test])
            start = offsets[f]
            if kind[test] == EACH:
                score = np.int64(0)
                for code in range(start, offsets[f + 1]):
                    score += _branch_score(counts[code], measure, fraction_bits, table)
                out[node, test] = score
                continue
            if kind[test] == VALUE:
                cut_feature = np.int64(-1)
                for label in range(classes):
                    lower[label] = counts[start + place, label]
            else:
                if cut_feature != f or place < reached:
                    cut_feature, reached = f, np.int64(0)
                    for label in range(classes):
                        lower[label] = 0
                while reached <= place:
                    code = start + reached
                    for label in range(classes):
                        lower[label] += counts[code, label]
                    reached += 1
            for label in range(classes):
                upper[label] = total[label] - lower[label]
            out[node, test] = _branch_score(lower, measure, fraction_bits, table) + _branch_score(
                upper, measure, fraction_bits, table
            )


@compiled
def undecided(alive, offsets, feature, kind, at, arity, widest, out):
    """Say of every test in every node whether codes on both its sides are alive, and whether it has few enough branches.

    IN alive (nodes, codes) bool, offsets (features + 1,), feature kind at arity (tests,), widest (nodes,).
    OUT out (nodes, tests) bool.
    """
    nodes = len(alive)
    left = np.empty(len(offsets) - 1, dtype=np.int64)
    for node in range(nodes):
        for f in range(len(left)):
            left[f] = 0
            for code in range(offsets[f], offsets[f + 1]):
                left[f] += alive[node, code]
        cut_feature, reached, lower = np.int64(-1), np.int64(0), np.int64(0)
        for test in range(len(feature)):
            f, place = np.int64(feature[test]), np.int64(at[test])
            if arity[test] > widest[node]:
                out[node, test] = False
            elif kind[test] == EACH:
                out[node, test] = left[f] > 1
            elif kind[test] == VALUE:
                out[node, test] = alive[node, offsets[f] + place] and left[f] > 1
            else:
                if cut_feature != f or place < reached:
                    cut_feature, reached, lower = f, np.int64(0), np.int64(0)
                while reached <= place:
                    lower += alive[node, offsets[f] + reached]
                    reached += 1
                out[node, test] = 0 < lower < left[f]


@compiled
def narrow(children, offsets, feature, kind, at, arity, chosen):
    """Clear the codes that the tests of nodes send to other children; a node's children stand side by side.

    IN offsets (features + 1,), feature kind at arity (tests,), chosen (nodes,).
    INOUT children (children, codes) bool: at first what is alive in their parents.
    """
    child = 0
    for test in chosen:
        f, asked = np.int64(feature[test]), kind[test]
        start, codes = offsets[f], offsets[f + 1] - offsets[f]
        for branch in range(arity[test]):
            for code in range(codes):
                if asked == EACH:
                    taken = code
                elif asked == VALUE:
                    taken = 0 if code == at[test] else 1
                else:
                    taken = 0 if code <= at[test] else 1
                if taken != branch:
                    children[child + branch, start + code] = False
        child += arity[test]
