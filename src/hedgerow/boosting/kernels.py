"""Weights of records by lookup from their margins."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["logistic_channels", "look_up"]


@compiled
def look_up(margins, labels, shift, table, out):
    """Write the weight of each record: table[m - shift], m its own class's margin less the largest of the others.

    Places outside the table are its ends; a record without a label weighs nothing.
    IN margins (records, classes) int64, labels (records,), shift int, table (places,) uint64.  OUT out (records,) uint64.
    """
    last = np.int64(len(table) - 1)
    for record in range(len(labels)):
        label = np.int64(labels[record])
        if label < 0:
            out[record] = 0
            continue
        best = np.int64(-(1 << 62))
        for other in range(margins.shape[1]):
            if other != label:
                best = max(best, margins[record, other])
        place = margins[record, label] - best - shift
        out[record] = table[min(max(place, np.int64(0)), last)]


@compiled
def logistic_channels(margins, labels, exponentials, unit, curvature, out):
    """Write what a record adds to the gradient and to the curvature of the logistic loss, in units rounded towards zero.

    Two classes: r = y - p and curvature / 1000 * p (1 - p). More: r_k = [y = k] - p_k for each class, then
    curvature / 1000 * p_k (1 - p_k). p is the softmax of twice the margins, from a table of integers. A record without a
    label adds nothing.
    IN margins (records, classes) int64, labels (records,), exponentials (places,) int64.
    OUT out (records, 2) or (records, 2 classes) int64.
    """
    records, classes = margins.shape
    last = np.int64(len(exponentials) - 1)
    mass = np.empty(classes, dtype=np.int64)
    for record in range(records):
        label = np.int64(labels[record])
        if label < 0:
            out[record] = 0
            continue
        best = margins[record, 0]
        for k in range(1, classes):
            best = max(best, margins[record, k])
        total = np.int64(0)
        for k in range(classes):
            mass[k] = exponentials[min(best - margins[record, k], last)]
            total += mass[k]
        if classes == 2:
            wrong = mass[1 - label] * unit // total
            out[record, 0] = wrong if label == 1 else -wrong
            out[record, 1] = mass[0] * mass[1] // total * unit // total * curvature // 1000
        else:
            for k in range(classes):
                rest = total - mass[k]
                out[record, k] = rest * unit // total if k == label else -(mass[k] * unit // total)
                out[record, classes + k] = mass[k] * rest // total * unit // total * curvature // 1000
