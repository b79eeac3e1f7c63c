"""Counting and moving records, in exact integers.

Records are sorted by node: node i owns rows starts[i] to starts[i + 1] - 1, so every kernel reads them in order.
Indices are unsigned, so that inner loops need no check for negative ones. The encoder's public rules guarantee that codes are
below their feature's number of codes, and labels below the number of classes.
"""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import compiled

TILE = 1 << 13  # records that ``pack`` processes at once, so that their codes stay in the cache
PAIR_TILE = 1 << 10  # the same for ``add_pairs``


@compiled
def histogram(codes, labels, weights, starts, first, last, offsets, out):
    """Add each record's weight to out[node - first, offsets[feature] + code, label] for every feature.

    IN codes (records, features), labels (records,), weights (records,; empty: all 1), starts (nodes + 1,), first <= node < last,
    offsets (features + 1,).  OUT out (last - first, codes, classes) int64, which must be zero before.
    """
    features = np.uint64(codes.shape[1])
    weighted = len(weights) > 0
    for node in range(first, last):
        block = out[node - first]
        for record in range(np.uint64(starts[node]), np.uint64(starts[node + 1])):
            label = np.uint64(labels[record])
            weight = weights[record] if weighted else np.int64(1)
            for feature in range(features):
                block[np.uint64(offsets[feature]) + np.uint64(codes[record, feature]), label] += weight


@compiled
def class_counts(labels, weights, starts, out):
    """Add each record's weight to out[node, label].

    IN labels (records,), weights (records,; empty: all 1), starts (nodes + 1,).  OUT out (nodes, classes) int64.
    """
    weighted = len(weights) > 0
    for node in range(len(starts) - 1):
        for record in range(np.uint64(starts[node]), np.uint64(starts[node + 1])):
            out[node, np.uint64(labels[record])] += weights[record] if weighted else np.int64(1)


@compiled
def group(codes, labels, weights, part, starts, grouped_codes, grouped_labels, grouped_weights):
    """Sort the records that have a label and a part (not -1) by part, keeping their order in each.

    IN codes (records, features), labels part (records,), weights (records,; empty: all 1).
    OUT starts (parts + 1,) zero before, grouped_codes (labeled records, features), grouped_labels (labeled records,),
    grouped_weights (labeled records, or empty).
    """
    weighted = len(weights) > 0
    for record in range(len(part)):
        if labels[record] >= 0 and part[record] >= 0:
            starts[part[record] + 1] += 1
    for i in range(1, len(starts)):
        starts[i] += starts[i - 1]
    place = starts[:-1].copy()
    features = np.uint64(codes.shape[1])
    for record in range(len(part)):
        if labels[record] >= 0 and part[record] >= 0:
            to = np.uint64(place[part[record]])
            place[part[record]] += 1
            grouped_labels[to] = labels[record]
            if weighted:
                grouped_weights[to] = weights[record]
            for feature in range(features):
                grouped_codes[to, feature] = codes[np.uint64(record), feature]


@compiled
def move(
    codes,
    labels,
    weights,
    starts,
    first,
    last,
    test,
    feature,
    branch,
    first_child,
    child_starts,
    moved_codes,
    moved_labels,
    moved_weights,
):
    """Send the records of nodes first to last - 1 to their children by their tests.

    A node's children own the rows of the node, so several nodes can be moved at the same time.
    IN codes (records, features), labels (records,), weights (records,; empty: all 1), starts (nodes + 1,), first <= node < last,
    test (nodes,), feature (tests,), branch (tests, codes), first_child (nodes + 1,).
    OUT child_starts (children + 1,), moved_codes (records, features), moved_labels (records,),
    moved_weights (records, or empty).
    """
    weighted = len(weights) > 0
    features = np.uint64(codes.shape[1])
    place = np.empty(branch.shape[1] + 1, dtype=np.int64)
    for node in range(first, last):
        column = np.uint64(feature[test[node]])
        to_branch = branch[test[node]]
        begin, end = np.uint64(starts[node]), np.uint64(starts[node + 1])
        for child in range(len(place)):
            place[child] = 0
        for record in range(begin, end):
            place[np.uint64(to_branch[np.uint64(codes[record, column])]) + np.uint64(1)] += 1
        place[0] = starts[node]
        one = first_child[node]
        for child in range(first_child[node + 1] - one):
            child_starts[one + child] = place[child]
            place[child + 1] += place[child]
        for record in range(begin, end):
            child = np.uint64(to_branch[np.uint64(codes[record, column])])
            to = np.uint64(place[child])
            place[child] += 1
            moved_labels[to] = labels[record]
            if weighted:
                moved_weights[to] = weights[record]
            for other in range(features):
                moved_codes[to, other] = codes[record, other]


@compiled
def _write_cells(codes, cut_by, cut_side, part):
    """Append to the cell of each record the binary digits cut_side[c, code of cut_by[c]], the sides of further cuts.

    IN codes (records, features), cut_by (cuts,), cut_side (cuts, codes).  INOUT part (records,), unsigned.
    """
    for cut in range(len(cut_by)):
        column, side = np.uint64(cut_by[cut]), cut_side[cut]
        for record in range(np.uint64(codes.shape[0])):
            part[record] = np.uint64(2) * part[record] + np.uint64(side[np.uint64(codes[record, column])])


@compiled
def pack(codes, channels, used, offsets, cut_by, cut_side, side, by, group, n_groups, part, row, packed):
    """Add the first ``used`` channels of every record to packed[part, offsets[feature] + code] for every feature.

    A record's cell is ``part`` with the binary digits cut_side[c, code of cut_by[c]] appended. With a ``side`` only records on
    that side of the last cut are added, in the cells of the cuts before it. These are listed first, so that the inner loop has no
    branch. For each p a record is added to the part cell * n_groups + group[p, code of by[p]]. If ``by`` is empty, it is added to
    the part of its cell. The partitions p are processed one after another, so that the parts of each stay in the cache.
    Two channels share an integer. Integer q has the sum of channel q in its upper half. If there is a channel pairs + q, its sum
    is in the lower half. If there is only one channel, the integer is its sum.
    IN codes (records, features), channels (records, channels), offsets (features + 1,), cut_by (cuts,), cut_side (cuts,
    codes), side 0, 1 or -1 (both), by (partitions,), group (partitions, codes).
    OUT row (pairs,) int64 for its own use.
    INOUT part (records,), unsigned: then the cell; packed (parts, codes, pairs) int64, pairs = ceil(used / 2). No half may exceed
    2**31 - 1 in absolute value.
    """
    features, pairs, records = np.uint64(codes.shape[1]), packed.shape[2], len(part)
    kept, halved = np.empty(min(TILE, records), dtype=np.uint32), np.uint64(side >= 0)
    for begin in range(0, records, TILE):
        end = min(begin + TILE, records)
        _write_cells(codes[begin:end], cut_by, cut_side, part[begin:end])
        count = np.uint64(0 if side >= 0 else end - begin)
        for record in range(np.uint64(begin), np.uint64(end if side >= 0 else begin)):
            kept[count] = record
            count += np.uint64((part[record] & 1) == side)
        for p in range(max(len(by), 1)):
            for i in range(count):
                record = np.uint64(kept[i]) if side >= 0 else np.uint64(begin) + np.uint64(i)
                own = (np.uint64(part[record]) >> halved) * np.uint64(n_groups)
                if len(by):
                    own += np.uint64(group[p, np.uint64(codes[record, np.uint64(by[p])])])
                if pairs == 1:
                    both = np.int64(channels[record, 0])
                    if used == 2:
                        both = (both << 32) + np.int64(channels[record, 1])
                    for feature in range(features):
                        packed[own, np.uint64(offsets[feature]) + np.uint64(codes[record, feature]), np.uint64(0)] += (
                            both
                        )
                    continue
                for pair in range(pairs):
                    row[pair] = np.int64(channels[record, pair]) << 32
                    if pairs + pair < used:
                        row[pair] += np.int64(channels[record, pairs + pair])
                for feature in range(features):
                    code = np.uint64(offsets[feature]) + np.uint64(codes[record, feature])
                    for pair in range(pairs):
                        packed[own, code, pair] += row[pair]


@compiled
def add_pairs(codes, channels, used, order, n_first, offsets, number, sums):
    """Add the first ``used`` channels of every record to sums[number of one code, number of the other] for pairs of features.

    The first feature of a pair is among the first ``n_first`` of ``order``. The second is any later one in ``order``. The pairs
    of two first features are processed together, so that each number is read once for both.
    IN codes (records, features), channels (records, channels), order (features,), offsets (features + 1,), number (codes of all
    features,).  INOUT sums (numbers of the first features, numbers, channels) int64.
    """
    features, records = np.uint64(len(order)), np.uint64(len(codes))
    numbers = np.empty((PAIR_TILE, len(order)), dtype=np.uint32)
    for begin in range(np.uint64(0), records, np.uint64(PAIR_TILE)):
        rows = min(np.uint64(PAIR_TILE), records - begin)
        for row in range(rows):
            for place in range(features):
                feature = np.uint64(order[place])
                numbers[row, place] = number[np.uint64(offsets[feature]) + np.uint64(codes[begin + row, feature])]
        for first in range(np.uint64(0), np.uint64(n_first), np.uint64(2)):
            # If there is no second one, it is the first again, and adds 0.
            second = min(first + np.uint64(1), np.uint64(n_first - 1))
            for channel in range(used):
                for row in range(rows):
                    of_first, of_second = np.uint64(numbers[row, first]), np.uint64(numbers[row, second])
                    one = np.int64(channels[begin + row, channel])
                    other = one if second > first else np.int64(0)
                    sums[of_first, of_second, channel] += other
                    for place in range(second + np.uint64(1), features):
                        at = np.uint64(numbers[row, place])
                        sums[of_first, at, channel] += one
                        sums[of_second, at, channel] += other


@compiled
def pack_one(codes, channels, used, feature, group, cut_by, cut_side, part, packed):
    """Add the first ``used`` channels of every record to packed[cell, group[cell, code of feature[cell]]], as ``pack`` does.

    IN codes (records, features), channels (records, channels), feature (cells,), group (cells, codes), cut_by (cuts,),
    cut_side (cuts, codes).  INOUT part (records,), packed (cells, groups, pairs) int64.
    """
    pairs = packed.shape[2]
    _write_cells(codes, cut_by, cut_side, part)
    if used == 2:  # the shape of most measurements, in less time
        first, second = np.uint64(0), np.uint64(1)
        for record in range(np.uint64(codes.shape[0])):
            both = (np.int64(channels[record, first]) << 32) + np.int64(channels[record, second])
            cell = np.uint64(part[record])
            code = np.uint64(codes[record, np.uint64(feature[cell])])
            packed[cell, np.uint64(group[cell, code]), first] += both
        return
    for record in range(np.uint64(codes.shape[0])):
        cell = np.uint64(part[record])
        own = np.uint64(group[cell, np.uint64(codes[record, np.uint64(feature[cell])])])
        for pair in range(pairs):
            both = np.int64(channels[record, pair])
            if used > 1:
                both <<= 32
            if pairs + pair < used:
                both += np.int64(channels[record, pairs + pair])
            packed[cell, own, pair] += both


@compiled
def add_cut_scores(sums, offsets, ordered, scores):
    """Add the absolute sums of both sides of the cut at each code, in each cell and channel, to ``scores``.

    A cut's first side has all codes up to its own, or its own alone if the feature's codes are not ordered.
    IN sums (cells, codes, channels), offsets (features + 1,), ordered (features,).  INOUT scores (codes of all features,).
    """
    for cell in range(len(sums)):
        for feature in range(len(ordered)):
            for channel in range(sums.shape[2]):
                first, total = np.int64(0), np.int64(0)
                for code in range(np.uint64(offsets[feature]), np.uint64(offsets[feature + 1])):
                    total += sums[cell, code, channel]
                for code in range(np.uint64(offsets[feature]), np.uint64(offsets[feature + 1])):
                    first = sums[cell, code, channel] + (first if ordered[feature] else np.int64(0))
                    scores[code] += abs(first) + abs(total - first)


@compiled
def add_group_scores(sums, group, offsets, width, scores):
    """Add the absolute sums over the groups of each feature, in each cell and way of grouping, to ``scores``.

    IN sums (cells, codes, channels), group (ways, cells, codes) from 0 to width - 1, offsets (features + 1,).
    INOUT scores (ways, cells, features).
    """
    of_groups = np.zeros(width, dtype=np.int64)
    for way in range(len(group)):
        for cell in range(len(sums)):
            for feature in range(len(offsets) - 1):
                for channel in range(sums.shape[2]):
                    highest = 0
                    for code in range(np.uint64(offsets[feature]), np.uint64(offsets[feature + 1])):
                        own = np.uint64(group[way, cell, code])
                        highest = max(highest, np.int64(own))
                        of_groups[own] += sums[cell, code, channel]
                    for own in range(highest + 1):
                        scores[way, cell, feature] += abs(of_groups[own])
                        of_groups[own] = 0


@compiled
def unpack(packed, sums):
    """Add the sums of channels that ``pack`` packed to ``sums``, and set the packed ones to zero.

    INOUT packed (groups, codes, pairs) int64, sums (groups, codes, channels) int64, pairs = ceil(channels / 2).
    """
    pairs, channels = packed.shape[2], sums.shape[2]
    for group in range(np.uint64(packed.shape[0])):
        for code in range(np.uint64(packed.shape[1])):
            for pair in range(pairs):
                both = packed[group, code, pair]
                low = (both << 32) >> 32  # with its sign
                sums[group, code, pair] += (both - low) >> 32
                if pairs + pair < channels:
                    sums[group, code, pairs + pair] += low
                packed[group, code, pair] = 0


@compiled
def merge(codes, offsets, into):
    """Replace every code by into[offsets[feature] + code].

    IN offsets (features + 1,), into (codes of all features,).  INOUT codes (records, features).
    """
    for record in range(np.uint64(codes.shape[0])):
        for feature in range(np.uint64(codes.shape[1])):
            codes[record, feature] = into[np.uint64(offsets[feature]) + np.uint64(codes[record, feature])]


@compiled
def route(codes, part, test, feature, branch, first_child, out):
    """Write the child of each record's node that the record goes to; -1 if there is none.

    IN codes (records, features), part (records,), test (nodes,; -1: no test), feature (tests,), branch (tests, codes),
    first_child (nodes,).  OUT out (records,).
    """
    for record in range(len(part)):
        out[record] = -1
        node = part[record]
        if node >= 0 and test[node] >= 0:
            code = np.uint64(codes[record, np.uint64(feature[test[node]])])
            out[record] = first_child[node] + np.int64(branch[test[node], code])


@compiled
def block_sums(words, keys, out):
    """Write the multilinear hash of each block of words: the upper half of sum(keys[i] * words[i]) modulo 2**64.

    With secret keys, two different blocks have the same hash with probability 2**-32 (Lemire and Kaser, "Strongly
    universal string hashing is fast", The Computer Journal 57(11), 2014, multilinear hashing without its constant).
    IN words (words,) uint32, keys (words of a block,) uint64.  OUT out (blocks,) uint32.
    """
    size = len(keys)
    for block in range(len(out)):
        part = words[block * size : (block + 1) * size]
        total = np.uint64(0)
        for i in range(len(part)):
            total += keys[i] * np.uint64(part[i])
        out[block] = np.uint32(total >> np.uint64(32))


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
