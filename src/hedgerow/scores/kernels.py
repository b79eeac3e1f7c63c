"""Scores of whole batches of nodes, in exact integers, and which tests a path has decided."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["CUT", "EACH", "GAIN", "GINI", "MAJORITY", "VALUE", "minority", "narrow", "scores", "undecided"]

EACH, CUT, VALUE = 0, 1, 2  # kinds of tests
GINI, MAJORITY, GAIN = 0, 1, 2  # measures of a branch


@compiled
def _gini(counts, fraction_bits):
    """Return floor(2**fraction_bits * (S / n - n)) of counts (classes,).

    n is the branch's count and S the sum of its squared class counts. With n below 2**31, S fits an int64, and so does its
    remainder by n shifted by the fraction bits.
    """
    size = np.int64(0)
    squares = np.int64(0)
    for count in counts:
        size += count
        squares += count * count
    if size == 0:
        return np.int64(0)
    quotient = squares // size
    rest = squares - quotient * size
    return ((quotient - size) << fraction_bits) + (rest << fraction_bits) // size


@compiled
def _entropy_term(count, table):
    """Return the value of a table (places,), two at least, continued beyond its end by its last step.  IN count >= 0."""
    last = len(table) - 1
    if count <= last:
        return table[count]
    return table[last] + (count - last) * (table[last] - table[last - 1])


@compiled
def _gain(counts, table):
    """Return sum of t(n_k) - t(n), t the table of n log2 n in steps.  IN counts (classes,), table (places,)."""
    size = np.int64(0)
    total = np.int64(0)
    for count in counts:
        size += count
        total += _entropy_term(count, table)
    return total - _entropy_term(size, table)


@compiled
def _branch_score(counts, measure, fraction_bits, table):
    """Return the measure of one branch.  IN counts (classes,), one at least, table (places,)."""
    if measure == GINI:
        return _gini(counts, fraction_bits)
    if measure == GAIN:
        return _gain(counts, table)
    return counts.max()


@compiled
def scores(histogram, offsets, feature, kind, at, order, measure, fraction_bits, table, out):
    """Write the score of every test in every node: the sum over its branches of a measure.

    Cuts of a feature that stand side by side with places that ascend share their sums.
    IN histogram (nodes, codes, classes) int64, offsets (features + 1,), feature kind at (tests,), order (features, codes of the
    widest), measure, fraction_bits for GINI, table (places,), for GAIN: n log2 n in steps.  OUT out (nodes, tests) int64.
    """
    nodes, _, classes = histogram.shape
    total = np.empty(classes, dtype=np.int64)
    lower = np.empty(classes, dtype=np.int64)
    upper = np.empty(classes, dtype=np.int64)
    for node in range(nodes):
        counts = histogram[node]
        total[:] = 0
        for code in range(offsets[1]):
            for label in range(classes):
                total[label] += counts[code, label]
        cut_feature, reached = -1, 0
        for test in range(len(feature)):
            start = offsets[feature[test]]
            if kind[test] == EACH:
                score = np.int64(0)
                for code in range(start, offsets[feature[test] + 1]):
                    score += _branch_score(counts[code], measure, fraction_bits, table)
                out[node, test] = score
                continue
            if kind[test] == VALUE:
                cut_feature = -1
                for label in range(classes):
                    lower[label] = counts[start + at[test], label]
            else:
                if cut_feature != feature[test] or at[test] < reached:
                    cut_feature, reached = feature[test], 0
                    lower[:] = 0
                while reached <= at[test]:
                    code = start + order[cut_feature, reached]
                    for label in range(classes):
                        lower[label] += counts[code, label]
                    reached += 1
            for label in range(classes):
                upper[label] = total[label] - lower[label]
            out[node, test] = _branch_score(lower, measure, fraction_bits, table) + _branch_score(
                upper, measure, fraction_bits, table
            )


@compiled
def undecided(alive, offsets, feature, kind, at, order, arity, widest, out):
    """Say of every test in every node whether codes on both its sides are alive, and whether it has few enough branches.

    IN alive (nodes, codes) bool, offsets (features + 1,), feature kind at arity (tests,), order (features, codes), widest
    (nodes,).  OUT out (nodes, tests) bool.
    """
    nodes = len(alive)
    left = np.empty(len(offsets) - 1, dtype=np.int64)
    for node in range(nodes):
        for f in range(len(left)):
            left[f] = 0
            for code in range(offsets[f], offsets[f + 1]):
                left[f] += alive[node, code]
        cut_feature, reached, lower = -1, 0, 0
        for test in range(len(feature)):
            f = feature[test]
            if arity[test] > widest[node]:
                out[node, test] = False
            elif kind[test] == EACH:
                out[node, test] = left[f] > 1
            elif kind[test] == VALUE:
                out[node, test] = alive[node, offsets[f] + at[test]] and left[f] > 1
            else:
                if cut_feature != f or at[test] < reached:
                    cut_feature, reached, lower = f, 0, 0
                while reached <= at[test]:
                    lower += alive[node, offsets[f] + order[f, reached]]
                    reached += 1
                out[node, test] = 0 < lower < left[f]


@compiled
def narrow(children, offsets, feature, kind, at, order, arity, chosen):
    """Clear the codes that the tests of nodes send to other children; a node's children stand side by side.

    IN offsets (features + 1,), feature kind at arity (tests,), order (features, codes), chosen (nodes,).
    INOUT children (children, codes) bool: at first what is alive in their parents.
    """
    child = 0
    for test in chosen:
        start, codes = offsets[feature[test]], offsets[feature[test] + 1] - offsets[feature[test]]
        for branch in range(arity[test]):
            for place in range(codes):
                code = order[feature[test], place] if kind[test] == CUT else place
                if kind[test] == EACH:
                    taken = code
                elif kind[test] == VALUE:
                    taken = 0 if code == at[test] else 1
                else:
                    taken = 0 if place <= at[test] else 1
                if taken != branch:
                    children[child + branch, start + code] = False
        child += arity[test]


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
