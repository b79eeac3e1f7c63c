"""The weights of records, by their margins."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled


@compiled
def look_up(margins, labels, shift, table, out):
    """Write the weight of each record: table[m - shift], m its own class's margin less the largest of the others.

    Places outside the table are its ends; a record without a label weighs nothing. Without other classes it is the last.
    IN margins (records, classes), labels (records,) from -1 to classes - 1, shift int, table (places,) uint64.
    OUT out (records,) uint64.
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
                best = max(best, np.int64(margins[record, other]))
        place = np.int64(margins[record, label]) - best - shift
        out[record] = table[min(max(place, np.int64(0)), last)]
