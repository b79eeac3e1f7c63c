"""Compiled loops: each record's channels at its margins, terms added to margins, groups of codes, and posteriors."""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import compiled

TILE = 4096  # records processed at once, so that their cell indices stay in the first-level cache


@compiled
def _quotient(number, inverse):
    """Return number // divisor, all integers held as floats, given inverse = 1 / divisor, rounded; 0 <= number < 2**50.

    Exact, and many times as fast as a division of 64-bit integers: (number + 1/2) / divisor is at least 1 / (2 divisor) away
    from every integer, and two roundings move it by less than number / divisor / 2**51.
    """
    return np.floor((number + 0.5) * inverse)


@compiled
def logistic_channels(margins, labels, exponentials, unit, cap, curvature, by_share, out):
    """Write each record's gradient and curvature of the weighted logistic loss, in units and rounded towards zero.

    p is the softmax of the margins, from a table of integers; t = 1 - p_y; the record weighs w = min(1, cap / t). It adds
    w ([y = k] - p_k) for each class k, then c w p_k (1 - p_k), or with ``by_share`` c w p_k, for c = curvature / 1000. A record
    without a label adds nothing.
    IN margins (records, classes), labels (records,) from -1 to classes - 1, exponentials (places,) int64 up to 2**20,
    0 < cap <= unit <= 2**16, curvature < 2**16.
    OUT out (records, 2 classes) int32, or (records, classes) for gradients alone.
    """
    records, classes = np.uint64(margins.shape[0]), np.uint64(margins.shape[1])
    first, last = np.uint64(0), np.int64(len(exponentials) - 1)
    mass = np.empty(classes, dtype=np.float64)  # integers, held as floats: loops over classes are then vectorized
    for record in range(records):
        label = np.int64(labels[record])
        if label < 0:
            out[record] = 0
            continue
        best, total = np.int64(margins[record, first]), 0.0
        for k in range(classes):
            best = max(best, np.int64(margins[record, k]))
        for k in range(classes):
            mass[k] = exponentials[np.uint64(min(best - margins[record, k], last))]
            total += mass[k]
        others = total - mass[np.uint64(label)]
        wrong = np.int64(others) * unit // np.int64(total)
        of, to = (unit, total) if wrong <= cap else (cap, others)  # of / to: weight / total, in units
        weight, by_to, by_total = np.float64(of), 1 / to, 1 / total
        for k in range(classes):
            out[record, k] = -np.int64(np.int32(_quotient(mass[k] * weight, by_to)))
        out[record, np.uint64(label)] = min(wrong, cap)
        for k in range(classes if np.uint64(out.shape[1]) > classes else first):
            # mass (total - mass) // total, with a numerator below 2**50
            spread = mass[k] if by_share else mass[k] - _quotient(mass[k] * mass[k] + (total - 1), by_total)
            share = _quotient(_quotient(spread * weight, by_to) * curvature, 0.001)
            out[record, classes + k] = np.int64(np.int32(share))


@compiled
def look_up_channels(margins, labels, table, out):
    """Write table[label, margin of the second class] for each record, or 0 for one without a label.

    IN margins (records, 1), labels (records,) from -1 to 1, table (2, margins, channels) with margin 0 in the middle.
    OUT out (records, channels) int32, of one channel or two.
    """
    most, first, second = np.int64(table.shape[1] // 2), np.uint64(0), np.uint64(1)
    for record in range(np.uint64(len(labels))):
        label = np.int64(labels[record])
        known = np.int64(label >= 0)  # a factor, which is faster than an unpredictable branch
        lead = min(max(np.int64(margins[record, first]), -most), most) + most
        row, place = np.uint64(label * known), np.uint64(lead)
        out[record, first] = known * table[row, place, first]
        if out.shape[1] > 1:
            out[record, second] = known * table[row, place, second]


@compiled
def group_codes(possible, mass, least, offsets, numeric, sizes, group, n_groups):
    """Write the group of each code in each cell, and how many groups each feature has there, for each size.

    A numeric feature with more possible codes than ``size`` has at most that many groups of about equal mass, each beginning at a
    possible code. Other features have one group for each possible code. A numeric feature's last code, for missing values, is its
    own group if it has mass or no other code is possible. Categorical features have groups of the first size only.
    IN possible (cells, codes), mass (codes,), least (features,): the lower bound of a code's mass, offsets (features + 1,),
    numeric (features,), sizes (sizes,).
    OUT group (sizes, cells, codes), n_groups (sizes, cells, features), which must be zero before.
    """
    for cell in range(len(possible)):
        for j in range(len(numeric)):
            first, last, total, many = offsets[j], offsets[j + 1] - 1, 0.0, 0
            is_same = cell > 0  # if the cell before has the same codes, it has the same groups
            for code in range(np.uint64(first), np.uint64(last + 1)):
                is_same &= possible[cell, code] == possible[cell - 1, code]
            if is_same:
                for number in range(len(sizes)):
                    n_groups[number, cell, j] = n_groups[number, cell - 1, j]
                    for code in range(np.uint64(first), np.uint64(last + 1)):
                        group[number, cell, code] = group[number, cell - 1, code]
                continue
            for code in range(first, last):
                if possible[cell, code]:
                    total += max(mass[code], least[j])
                    many += 1
            for number in range(len(sizes) if numeric[j] else 1):
                size, part_before, below, count = sizes[number], -1, 0.0, 0
                whole = total if total > 0 else 1.0
                for code in range(first, last + 1):
                    begins = possible[cell, code]
                    if begins and numeric[j] and code == last:
                        begins = mass[code] > 0 or many == 0
                    elif begins and numeric[j] and many > size:
                        weight = max(mass[code], least[j])
                        part = min(np.int64((below + weight / 2) / whole * size), size - 1)
                        below += weight
                        begins = part > part_before
                        part_before = max(part, part_before)
                    count += begins
                    group[number, cell, code] = max(count - 1, 0)
                n_groups[number, cell, j] = count


@compiled
def inverses(matrices, inverse, log_determinant):
    """Write the inverses of symmetric positive definite matrices, and the logs of their determinants.

    IN matrices (matrices, codes, codes).  OUT inverse likewise, log_determinant (matrices,).
    """
    codes = matrices.shape[1]
    root = np.empty((codes, codes))  # the inverse of the lower root, whose rows are read in order
    for m in range(len(matrices)):
        factor = np.linalg.cholesky(matrices[m])
        total = 0.0
        for i in range(codes):
            total += 2.0 * np.log(factor[i, i])
            for j in range(i):
                root[i, j] = 0.0
            for k in range(i):
                for j in range(k + 1):
                    root[i, j] -= factor[i, k] * root[k, j]
            for j in range(i):
                root[i, j] /= factor[i, i]
            root[i, i] = 1.0 / factor[i, i]
        log_determinant[m] = total
        for i in range(codes):
            for j in range(i + 1):
                inverse[m, i, j] = 0.0
        for k in range(codes):
            for i in range(k + 1):
                for j in range(i + 1):
                    inverse[m, i, j] += root[k, i] * root[k, j]
        for i in range(codes):
            for j in range(i):
                inverse[m, j, i] = inverse[m, i, j]


@compiled
def posteriors(priors, root, scaled, errors, without, likely, means):
    """Write the log likelihood and the posterior mean of each curve s under each prior, given scaled = root * s + error.

    Errors are normal with covariance E: ``errors``, or its only entry for all curves. With M = E + diag(root) P diag(root) = L L'
    for a prior's covariance P, twice the log likelihood minus that of s = 0 is
    scaled' E^-1 scaled + log det E - |L^-1 scaled|^2 - log det M, and the mean is P diag(root) M^-1 scaled.
    IN priors (priors, codes, codes), root scaled (curves, codes), errors (curves or 1, codes, codes), without (curves,): the
    first two terms.  OUT likely (priors, curves), means (priors, curves, codes).
    """
    codes = priors.shape[1]
    matrix, explained = np.empty((codes, codes)), np.empty(codes)
    for p in range(len(priors)):
        for m in range(len(root)):
            error = errors[m % len(errors)]
            for i in range(codes):
                for j in range(codes):
                    matrix[i, j] = root[m, i] * priors[p, i, j] * root[m, j] + error[i, j]
            factor = np.linalg.cholesky(matrix)
            twice = without[m]
            for i in range(codes):  # L^-1 scaled
                rest = scaled[m, i]
                for j in range(i):
                    rest -= factor[i, j] * explained[j]
                explained[i] = rest / factor[i, i]
                twice -= explained[i] ** 2 + 2.0 * np.log(factor[i, i])
            likely[p, m] = 0.5 * twice
            for i in range(codes - 1, -1, -1):  # M^-1 scaled, times the roots
                rest = explained[i]
                for j in range(i + 1, codes):
                    rest -= factor[j, i] * explained[j]
                explained[i] = rest / factor[i, i]
            for i in range(codes):
                mean = 0.0
                for j in range(codes):
                    mean += priors[p, i, j] * root[m, j] * explained[j]
                means[p, m, i] = mean


@compiled
def residual_channels(margins, labels, expected, clip, cap, unit, constant, out):
    """Write the clipped residual of a label over ``clip``, in units rounded towards zero, and the curvature.

    The prediction is expected[margin + places - 1], with the place clipped to the table, or the margin itself if that is empty.
    The curvature is constant * min(prediction, cap) / cap, rounded towards zero, or ``constant`` if ``cap`` is 0.
    IN margins (records, 1), labels (records,) below 2**31, expected (places,) up to 2**31, 1 <= clip < 2**31, cap < 2**31,
    unit, constant up to 2**16.
    OUT out (records, 2) int32, or (records, 1) for the residual alone.
    """
    last, by_clip, by_cap = np.int64(len(expected) - 1), 1 / np.float64(clip), 1 / np.float64(max(cap, 1))
    for record in range(len(labels)):
        label = np.int64(labels[record])
        if label < 0:
            out[record] = 0
            continue
        mean = np.int64(margins[record, 0])
        if last >= 0:
            mean = expected[min(max(mean + last, 0), last)]
        residual = min(max(label - mean, -clip), clip)
        share = np.int64(_quotient(np.float64(abs(residual) * unit), by_clip))
        out[record, 0] = share if residual >= 0 else -share
        if out.shape[1] > 1:
            out[record, 1] = constant
            if cap > 0:
                out[record, 1] = np.int64(_quotient(np.float64(min(mean, cap) * constant), by_cap))


@compiled
def add_term(codes, by, side, feature, votes, part, margins):
    """Add votes[cell, code of feature[cell]] to every record's margins.

    A record's cell is ``part`` with the binary digits side[c, code of by[c]] appended; ``by`` is empty if ``part`` has the cells.
    IN codes (records, features), by (cuts,), side (cuts, codes) of 0 and 1, feature (cells,), votes (cells, codes, columns).
    INOUT part (records,), unsigned, which becomes the cell; margins (records, columns).
    """
    columns = np.uint64(margins.shape[1])
    if len(feature) == 1 and columns == 1:  # the most frequent shape, which this makes twice as fast
        curve, column = votes[0, :, 0], np.uint64(feature[0])
        for record in range(np.uint64(codes.shape[0])):
            margins[record, np.uint64(0)] += curve[np.uint64(codes[record, column])]
        return
    for cut in range(len(by)):
        column, of_code = np.uint64(by[cut]), side[cut]
        for record in range(np.uint64(codes.shape[0])):
            part[record] = np.uint32(2) * part[record] + np.uint32(of_code[np.uint64(codes[record, column])])
    for record in range(np.uint64(codes.shape[0])):
        cell = np.uint64(part[record])
        code = np.uint64(codes[record, np.uint64(feature[cell])])
        for k in range(columns):
            margins[record, k] += votes[cell, code, k]


@compiled
def add_terms(codes, feature, cells, starts, by, at, shift, offsets, votes, margins):
    """Add votes[k, offsets[t, 0] + cell * offsets[t, 1] + code] to every record's margin k, for each term t.

    The code is that of the cell's feature, feature[cells[t] + cell]. The cell index is built bit by bit: step s shifts it by
    shift[s], 0 or 1, and flips the last bit if the code of feature by[s] is above at[s]. The order is tile by tile, term by term,
    so that loops over a tile have no branches, and a term's votes stay in the first-level cache.
    IN codes (features, records), feature (entries,): an entry for each cell, or one for a term whose cells have the same feature;
    cells (terms + 1,): where the entries of a term begin; starts (terms + 1,): where its steps begin; by shift (steps,),
    at (steps,) of the type of codes; offsets (terms, 2): where its votes begin, and how many codes it has; votes (columns, all
    cells and codes).
    INOUT margins (columns, records), of the type of votes.
    """
    place = np.empty(TILE, dtype=votes.dtype)
    for begin in range(0, codes.shape[1], TILE):
        top = np.uint64(begin)
        rows = np.uint64(min(TILE, codes.shape[1] - begin))
        for term in range(len(cells) - 1):
            for i in range(rows):
                place[i] = 0
            for step in range(starts[term], starts[term + 1]):
                cut, last, by_digits = np.uint64(by[step]), at[step], np.int32(shift[step])
                for i in range(rows):
                    place[i] = (place[i] << by_digits) ^ (codes[cut, top + i] > last)
            if cells[term + 1] - cells[term] == 1:
                column = np.uint64(feature[cells[term]])
                for i in range(rows):
                    place[i] = place[i] * offsets[term, 1] + codes[column, top + i] + offsets[term, 0]
            else:
                first = cells[term]
                for i in range(rows):
                    column = np.uint64(feature[first + place[i]])
                    place[i] = place[i] * offsets[term, 1] + codes[column, top + i] + offsets[term, 0]
            for k in range(np.uint64(votes.shape[0])):
                for i in range(rows):
                    margins[k, top + i] += votes[k, np.uint64(place[i])]
