"""What records weigh and add by their margins, and votes that are added to these."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled

__all__ = ["add_votes", "logistic_channels", "look_up", "look_up_channels"]


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
def logistic_channels(margins, labels, exponentials, unit, cap, curvature, out):
    """Write what a record adds to gradient and curvature of the weighted logistic loss, in units rounded towards zero.

    Let t be the sum of p_k over the classes that the record is not of: it weighs min(1, cap / t). Two classes: its weight times
    y - p, and times curvature / 1000 * p (1 - p). More: its weight times [y = k] - p_k for each class, then times
    curvature / 1000 * p_k (1 - p_k). p is the softmax of twice the margins, from a table of integers. A record without a label
    adds nothing.
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
        others = total - mass[label]
        wrong = others * unit // total
        of, to = (unit, total) if wrong <= cap else (cap, others)  # of / to: weight / total, in units
        if classes == 2:
            wrong = min(wrong, cap)
            out[record, 0] = wrong if label == 1 else -wrong
            out[record, 1] = mass[0] * mass[1] // total * of // to * curvature // 1000
        else:
            for k in range(classes):
                out[record, k] = min(wrong, cap) if k == label else -(mass[k] * of // to)
                out[record, classes + k] = mass[k] * (total - mass[k]) // total * of // to * curvature // 1000


@compiled
def look_up_channels(margins, labels, table, out):
    """Write table[label, lead], the lead being the second class's, or 0 for a record without a label.

    IN margins (records, 2) int64, labels (records,), table (2, leads, 2) int64, of which lead 0 is in the middle.
    OUT out (records, 2) int64.
    """
    most = np.int64(table.shape[1] // 2)
    for record in range(len(labels)):
        label = np.int64(labels[record])
        if label < 0:
            out[record, 0] = out[record, 1] = 0
            continue
        lead = min(max(margins[record, 1] - margins[record, 0], -most), most) + most
        out[record, 0] = table[label, lead, 0]
        out[record, 1] = table[label, lead, 1]


@compiled
def add_votes(codes, feature, votes, margins):
    """Add votes[code of one feature] to every record's margins.  IN codes, votes (codes, classes)  INOUT margins."""
    for record in range(np.uint64(codes.shape[0])):
        code = np.uint64(codes[record, np.uint64(feature)])
        for k in range(np.uint64(margins.shape[1])):
            margins[record, k] += votes[code, k]
