"""The compiled loops from bytes of CSV to cells, from text to numbers and distinct texts, and from numbers to bins."""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from hedgerow.arrays import compiled

TILE = 256  # rows of a block, whose values and counts stay in the first cache
POWERS = 10.0 ** np.arange(23)  # of ten: each is exact in float64
OPEN_QUOTE, PERHAPS_BLANK = -1, -2  # in place of a record's number of cells
BELOW_EXACT = np.uint64(2**53)  # integers up to here are exact in float64
EIGHT_MORE = np.uint64(10**11)  # integers below here have room for eight digits more
FACTOR = 0x9E3779B97F4A7C15  # odd, with no pattern in its bits
WORD = np.uint64(8)  # bytes that are read at once, the first as the lowest
LAST = np.uint64(1 << 56)  # the least word whose last byte is not zero; known text has no zero byte at its end
ASCII, FLOAT, KNOWN = 1, 2, 3  # in place of the address of an object's type
ONES, HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)  # in each byte of a word
DIGITS = np.uint64(0x3030303030303030)  # eight zeros as text


@compiled
def bin_columns(cells, sources, targets, edges, starts, low, slots_by_unit, before, halvings, markers, steps, out):
    """Write the bin of each numeric cell: the number of edges that are not above it. NaN and markers get the code after the bins.

    Column ``sources[k]`` of cells is feature ``targets[k]``. A larger value never has a lower slot, whatever is rounded. So the
    edges in the slots before a value's own are not above it, and those in the slots after are. Halving finds its place among the
    at most 2**halvings[f] - 1 edges of its slot. No branch depends on a value.
    IN cells (rows, columns) float64, sources targets (numeric columns,), edges (edges of all features,), starts (features + 1,),
    low slots_by_unit halvings (features,), before (features, slots) int32, which ``encoder.slots_of`` makes; markers (markers,).
    OUT out (rows * features,): the bin of row r and feature f is out[r * steps[0] + f * steps[1]].
    """
    values = np.empty(TILE, dtype=np.float64)
    counts = np.empty(TILE, dtype=np.int32)
    by_row, by_feature = np.uint64(steps[0]), np.uint64(steps[1])
    last = np.float64(before.shape[1] - 1)
    for begin in range(0, cells.shape[0], TILE):
        top = np.uint64(begin)
        rows = np.uint64(min(TILE, cells.shape[0] - begin))
        for k in range(sources.size):
            source, target = np.uint64(sources[k]), np.uint64(targets[k])
            first, own = starts[target], np.int32(starts[target + np.uint64(1)] - starts[target])
            lowest, by_unit = low[target], slots_by_unit[target]
            for i in range(rows):
                value = cells[top + i, source]
                values[i] = value
                place = (value - lowest) * by_unit
                place = place if place > 0.0 else 0.0  # also of a NaN
                counts[i] = before[target, np.uint32(np.int32(min(place, last)))]
            for step in range(halvings[target]):
                half = np.int32(1 << (halvings[target] - 1 - step))
                for i in range(rows):
                    count = min(counts[i] + half, own)
                    counts[i] = count if edges[np.uint64(first + count - 1)] <= values[i] else counts[i]
            for i in range(rows):
                counts[i] = counts[i] if values[i] == values[i] else own + np.int32(1)
            for m in range(markers.size):
                for i in range(rows):
                    counts[i] = own + np.int32(1) if values[i] == markers[m] else counts[i]
            begins = top * by_row + target * by_feature
            for i in range(rows):
                out[begins + i * by_row] = counts[i]


@compiled
def _word(data, i):
    """Return the eight bytes from ``i`` on; LLVM makes one load of it."""
    return (
        np.uint64(data[i])
        | np.uint64(data[i + np.uint64(1)]) << np.uint64(8)
        | np.uint64(data[i + np.uint64(2)]) << np.uint64(16)
        | np.uint64(data[i + np.uint64(3)]) << np.uint64(24)
        | np.uint64(data[i + np.uint64(4)]) << np.uint64(32)
        | np.uint64(data[i + np.uint64(5)]) << np.uint64(40)
        | np.uint64(data[i + np.uint64(6)]) << np.uint64(48)
        | np.uint64(data[i + np.uint64(7)]) << np.uint64(56)
    )


@compiled
def _zeros(word):
    """Return a word in which the lowest bit that is set is the highest of the first byte that is zero; no bit without one."""
    return (word - ONES) & ~word & HIGH


@compiled
def _first(bits):
    """Return the place of the byte of the lowest bit, which is the highest of its byte; 7 without one."""
    below = (bits & (~bits + np.uint64(1))) - np.uint64(1)
    return (((below & ONES) * ONES) >> np.uint64(56)) - np.uint64(1)


@compiled
def _find(data, at, size, one, other):
    """Return where one of two bytes stands first from ``at`` on, ``size`` if neither does."""
    ones, others = np.uint64(one) * ONES, np.uint64(other) * ONES
    at, size, end = np.uint64(at), np.uint64(size), np.uint64(len(data))
    while at < size:
        if at + WORD <= end:
            word = _word(data, at)
            bits = _zeros(word ^ ones) | _zeros(word ^ others)
            if bits != np.uint64(0):
                return np.int64(min(at + _first(bits), size))
            at += WORD
        elif data[at] == one or data[at] == other:
            return np.int64(at)
        else:
            at += np.uint64(1)
    return np.int64(size)


@compiled
def _end(data, start, stop):
    """Return the last eight bytes of a text, or as many as it has, the last as the highest."""
    length = np.uint64(stop - start)
    if length == np.uint64(0):
        return np.uint64(0)
    if stop >= 8:
        before = np.uint64(8) * (WORD - min(length, WORD))  # bits of what is before the text
        return _word(data, np.uint64(stop) - WORD) >> before << before
    word = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        word = word >> np.uint64(8) | np.uint64(data[i]) << np.uint64(56)
    return word


@compiled
def _hash(data, start, stop, end):
    factor = np.uint64(FACTOR)
    key = (end ^ np.uint64(stop - start)) * factor
    at = np.uint64(start)
    while at + WORD < np.uint64(stop):
        key = (key ^ (key >> np.uint64(32)) ^ _word(data, at)) * factor
        at += WORD
    key = (key ^ (key >> np.uint64(32))) * factor  # the last byte changes high bits alone until here
    return key ^ (key >> np.uint64(32))


@compiled
def _same(data, start, other, begin, length):
    """Return whether two texts of this length with the same last eight bytes, or as many as they have, are the same."""
    at, shift = np.uint64(start), np.uint64(begin) - np.uint64(start)
    while at + WORD < np.uint64(start + length):
        if _word(data, at) != _word(other, at + shift):
            return False
        at += WORD
    return True


@compiled
def find_distinct(data, starts, stops, table, words, lengths, firsts, places):
    """Number distinct cells in the order of their first ones, and return how many there are; -1 if the table is too small.

    IN data (bytes,), starts stops (cells,). OUT table, all -1, words and lengths, as many slots, a power of two; firsts (cells,):
    the row of the first cell of each number; places (cells,): the number of each cell.
    """
    count, mask, absent = 0, np.uint64(len(table) - 1), np.int32(-1)
    for row in range(len(starts)):
        start, stop = starts[row], stops[row]
        if start < 0:
            if absent < 0:
                absent, firsts[count] = np.int32(count), row
                count += 1
            places[row] = absent
            continue
        length, end = stop - start, _end(data, start, stop)
        slot = _hash(data, start, stop, end) & mask
        while table[slot] >= 0:
            begin = starts[firsts[table[slot]]]
            if words[slot] == end and lengths[slot] == length and _same(data, start, data, begin, length):
                break
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            if 2 * count >= len(table):
                return -1
            table[slot], words[slot], lengths[slot] = count, end, length
            firsts[count] = row
            count += 1
        places[row] = table[slot]
    return count


@intrinsic
def _pointer(context, address):
    """Return an address as a pointer for ``carray``. The caller holds the object at that address."""

    def cast(context, builder, signature, given):
        return builder.inttoptr(given[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.uint64), cast


@compiled
def look_up(data, starts, stops, valid, first, known, missing, out):
    """Replace each -2 in ``out`` by the code of the cell's text, or by -1 if that is unknown. Return whether any is unknown.

    Cells without text get the code ``missing``. Texts are compared byte by byte.
    IN data (bytes,), starts stops (cells,); valid (bytes,): a bit for each cell from the bit ``first`` on, 0 for a cell without
    text, or empty if all have text; known: a table of ``spelling_table``. OUT out (cells,), in which -2 marks cells to look up.
    """
    texts, begins, table, ends, lengths, code_of = known[4:]
    mask, unknown = np.uint64(len(table) - 1), False
    for row in range(np.uint64(len(starts))):
        start, stop, bit = starts[row], stops[row], np.uint64(first) + row
        if start < 0 or (len(valid) > 0 and valid[bit >> np.uint64(3)] >> (bit & np.uint64(7)) & 1 == 0):
            out[row] = missing
        elif out[row] == -2:
            end, length, code = _end(data, start, stop), stop - start, np.int32(-1)
            slot = _hash(data, start, stop, end) & mask
            while table[slot] >= 0:
                begin = begins[table[slot]]
                if ends[slot] == end and lengths[slot] == length and _same(data, start, texts, begin, length):
                    code = code_of[table[slot]]
                    break
                slot = (slot + np.uint64(1)) & mask
            out[row] = code
            unknown = unknown or code < 0
    return unknown


@compiled
def look_up_chunks(chunks, none, known, missing, out):
    """Write the codes of all cells of Arrow's chunks, read in their own memory, as ``look_up`` does; return the same.

    IN chunks (chunks, 7): ``ArrowTexts.chunks``; none (0,): an array of the type of their offsets; known, missing as of
    ``look_up``. OUT out (cells,).
    """
    words, codes, factor, shift = known[:4]
    unknown, last = False, np.uint64(0)
    for chunk in range(len(chunks)):
        data = carray(_pointer(chunks[chunk, 0]), (np.int64(chunks[chunk, 1]),), np.uint8)
        valid = carray(_pointer(chunks[chunk, 2]), (np.int64(chunks[chunk, 3]),), np.uint8)
        offsets = carray(_pointer(chunks[chunk, 4]), (np.int64(chunks[chunk, 6]) + 1,), none.dtype)
        head, begin, first, last, signs = np.uint64(0), last, chunks[chunk, 5], last + chunks[chunk, 6], np.int32(0)
        own = out[begin:last]
        while head < len(own) and offsets[head + np.uint64(1)] < 8:
            own[head] = -2
            head += np.uint64(1)
        unknown |= look_up(data, offsets[:head], offsets[1:], valid, first, known, missing, own)
        start = np.int64(offsets[head])
        for row in range(head, np.uint64(len(own))):  # short texts here, without a branch; all others below
            stop, code = np.int64(offsets[row + np.uint64(1)]), np.int32(-2)
            length, word = np.uint64(stop - start), _word(data, np.uint64(stop) - WORD)
            is_short = (length - np.uint64(1) < WORD) & (word >= LAST)
            word >>= (np.uint64(64) - np.uint64(8) * length) & np.uint64(63)
            slot = (word * factor) >> shift
            code = codes[slot] if (words[slot] == word) & is_short else code
            own[row] = code
            signs |= code
            start = stop
        if signs < 0 or len(valid) > 0:
            unknown |= look_up(data, offsets[:-1], offsets[1:], valid, first, known, missing, own)
    return unknown


@compiled
def _memory(address):
    """Return the eight bytes at an address in an object that the caller holds."""
    return carray(_pointer(address), (1,), np.uint64)[0]


@partial(compiled, nogil=False)  # with the interpreter lock, no thread lets an object go in the meantime
def read_objects(objects, layout, words, codes, factor, shift, kinds, numbers, rows, starts, stops, data):
    """Read floats and text of ASCII where Python keeps them.

    Return the number of known texts, the number of other texts, and the number of bytes of the latter.
    IN objects (cells,): addresses, 0 for none; layout: that of ``text_cells.layout``; words codes (slots,), factor, shift: the
    short texts of ``spelling_table``. OUT kinds (cells,): ``FLOAT``, ``KNOWN``, ``ASCII`` or the address of the object's type;
    numbers (cells,): the bits of floats, the codes of known texts; rows starts stops (cells,): first the rows of the other texts
    and their places in data; data (bytes,): these texts, as many as it has room for.
    """
    of_float, of_text, head, state, flags, first = layout
    known, others, size, room = 0, np.uint64(0), np.uint64(0), np.uint64(len(data))
    for row in range(np.uint64(len(objects))):
        at = objects[row]
        kind = _memory(at + head - WORD) if at != np.uint64(0) else at
        if kind == of_float:
            kind, numbers[row] = np.uint64(FLOAT), _memory(at + head)
        elif kind == of_text and _memory(at + state) & flags == flags:
            length, at = _memory(at + head), at + first
            code, word = np.int32(-2), _memory(at + length - WORD)
            if length - np.uint64(1) < WORD and word >= LAST:
                word >>= np.uint64(64) - np.uint64(8) * length
                slot = (word * factor) >> shift
                code = codes[slot] if words[slot] == word else code
            if code >= 0:
                kind, numbers[row] = np.uint64(KNOWN), np.uint64(code)
                known += 1
            else:
                kind, rows[others], starts[others], stops[others] = np.uint64(ASCII), row, size, size + length
                others += np.uint64(1)
                if size + length + WORD <= room:
                    for begin in range(np.uint64(0), length, WORD):  # words, in each of which a byte is the text's
                        word, to = _memory(at + begin), size + begin
                        for byte in range(np.uint64(8)):
                            data[to + byte] = word >> (np.uint64(8) * byte) & np.uint64(255)
                size += length
        kinds[row] = kind
    return known, others, size


@compiled
def _are_digits(word):
    tops = np.uint64(0xF0F0F0F0F0F0F0F0)
    return (word & tops) | (((word + np.uint64(0x0606060606060606)) & tops) >> np.uint64(4)) == np.uint64(
        0x3333333333333333
    )


@compiled
def _number(word):
    pairs = (word - DIGITS) * np.uint64(10) + ((word - DIGITS) >> np.uint64(8))
    fours = np.uint64(0x000000FF000000FF)
    high = (pairs & fours) * np.uint64(100 + (1000000 << 32))
    low = ((pairs >> np.uint64(16)) & fours) * np.uint64(1 + (10000 << 32))
    return (high + low) >> np.uint64(32)


@compiled
def _short_number(data, start, stop, decimal, powers):
    """Return whether a cell of at most eight bytes, without a sign, is digits with a decimal mark or none, and its number."""
    length = np.uint64(stop - start)
    if stop < 8 or length - np.uint64(1) >= WORD:  # an empty one, too
        return False, 0.0
    before = (np.uint64(1) << (np.uint64(8) * (WORD - length))) - np.uint64(1)  # the bits of bytes before the cell
    word = (_word(data, np.uint64(stop) - WORD) & ~before) | (DIGITS & before)
    mark = _zeros(word ^ np.uint64(decimal) * ONES)
    fraction = np.uint64(0)
    if mark != np.uint64(0):  # close the gap: the bytes before the mark are one further
        mark &= ~mark + np.uint64(1)
        fraction = np.uint64(7) - _first(mark)
        left = (mark >> np.uint64(7)) - np.uint64(1)
        word = (word & left) << np.uint64(8) | np.uint64(48) | (word & (~(mark + mark) + np.uint64(1)))
        length -= np.uint64(1)
    if length == np.uint64(0) or not _are_digits(word):
        return False, 0.0
    return True, np.float64(np.int64(_number(word))) / powers[fraction]


@compiled
def read_numbers(data, starts, stops, marks, powers, out, odd):
    """Read cells as decimal numbers, each the nearest float64.

    A cell is read if, without ASCII white space at its ends, it is empty (NaN) or [+-]digits with a decimal mark and an exponent,
    has at most 19 digits after leading zeros, and is an integer times a power of ten within 10**-22 and 10**22. Marks between
    groups of three digits, if there are any, stand at each group or none.
    IN data (bytes,), starts stops (cells,); marks (2,): bytes of the decimal and the thousands mark, 0 for none; powers (23,).
    OUT out odd (cells,): the number, and whether a cell is in another form.
    """
    decimal, thousands = marks[0], marks[1]
    ten, most = np.uint64(10), np.uint64(10**18)  # a digit more still fits
    for row in range(len(starts)):
        i, stop = starts[row], stops[row]
        out[row], odd[row] = np.nan, False
        if i < 0 or i == stop:
            continue
        negative = data[np.uint64(i)] == 45
        done, value = _short_number(data, i + negative, stop, decimal, powers)
        if done:
            out[row] = -value if negative else value
            continue
        while i < stop and (data[i] == 32 or 9 <= data[i] <= 13):
            i += 1
        while stop > i and (data[stop - 1] == 32 or 9 <= data[stop - 1] <= 13):
            stop -= 1
        if i == stop:
            continue
        letter = data[i] | 32
        if 97 <= letter <= 122 and letter not in (102, 105, 116):  # no number, as it is not inf, true or false
            continue
        odd[row] = True
        negative = data[i] == 45
        if negative or data[i] == 43:
            i += 1
        whole, digits, fraction, groups, in_group = np.uint64(0), 0, 0, 0, 0
        starts_with_zero, fits, after = i < stop and data[i] == 48, True, 0  # 1 after the decimal mark
        while i < stop:
            byte = data[i]
            if 48 <= byte <= 57:
                if after == 1 and stop - i >= 8 and whole < EIGHT_MORE and _are_digits(_word(data, np.uint64(i))):
                    whole = whole * np.uint64(10**8) + _number(_word(data, np.uint64(i)))
                    digits += 8
                    fraction += 8
                    i += 8
                    continue
                fits = fits and whole < most
                whole = whole * ten + np.uint64(byte - 48)
                digits += 1
                fraction += after
                in_group += 1 - after
            elif after == 0 and thousands != 0 and byte == thousands:
                right = in_group == 3 or (groups == 0 and 0 < in_group < 3)
                fits = fits and right and not starts_with_zero
                groups += 1
                in_group = 0
            elif after == 0 and byte == decimal:
                after = 1
            else:
                break
            i += 1
        fits = fits and (groups == 0 or in_group == 3)
        power = 0
        if digits > 0 and i < stop and (data[i] == 101 or data[i] == 69):
            i += 1
            down = i < stop and data[i] == 45
            if i < stop and (down or data[i] == 43):
                i += 1
            fits = fits and i < stop and stop - i <= 4
            while i < stop and 48 <= data[i] <= 57:
                power = power * 10 + np.int64(data[i] - 48)
                i += 1
            power = -power if down else power
        power -= fraction
        if not fits or digits == 0 or i < stop or not -22 <= power <= 22:
            continue
        scale = powers[abs(power)]
        if whole < BELOW_EXACT:  # one rounding of exact numbers
            value = np.float64(whole) * scale if power >= 0 else np.float64(whole) / scale
        else:  # the sum of two floats, and what both may be wrong by together
            high = np.float64(whole >> np.uint64(11)) * 2048.0
            low = np.float64(whole & np.uint64(2047))
            first = high * scale if power >= 0 else high / scale
            factor = high if power >= 0 else first
            product = factor * scale
            split = 134217729.0 * factor
            factor_top = split - (split - factor)
            split = 134217729.0 * scale
            scale_top = split - (split - scale)
            factor_rest, scale_rest = factor - factor_top, scale - scale_top
            rest = factor_rest * scale_rest - (
                ((product - factor_top * scale_top) - factor_rest * scale_top) - factor_top * scale_rest
            )  # factor * scale is exactly product + rest
            if power >= 0:
                second = rest + low * scale
                error = (abs(rest) + low * scale) * 2.0**-50
            else:
                second = ((high - product) - rest + low) / scale
                error = (abs(high - product) + abs(rest) + low) / scale * 2.0**-50
            value = first + (second - error)
            if value != first + (second + error):
                continue
        out[row], odd[row] = -value if negative else value, False


@compiled
def read_moments(data, starts, stops, fields, letters, out, odd):
    """Read cells as moments, in microseconds since 1970: ISO 8601 dates, with hours and minutes or not, or a declared format.

    Text that begins as an ISO 8601 date does is never read by the format. A cell without text keeps its value in ``out``.
    IN data (bytes,), starts stops (cells,), fields (parts,): the declared format, negative for a field of ``formats.FIELDS`` by
    its place there, otherwise an ASCII byte; nothing if there is none; letters: whether a moment may begin with a letter.
    OUT out (cells,); odd (cells,): whether a cell is in another form, or no moment.
    """
    iso = np.array([-3, 45, -2, 45, -1, 32, -5, 58, -6, 58, -7], dtype=np.int64)
    part = np.zeros(7, dtype=np.int64)
    for row in range(len(starts)):
        start, stop = starts[row], stops[row]
        odd[row] = False
        if start < 0:
            continue
        while start < stop and (data[start] == 32 or 9 <= data[start] <= 13):
            start += 1
        while stop > start and (data[stop - 1] == 32 or 9 <= data[stop - 1] <= 13):
            stop -= 1
        if start == stop or (not letters and 97 <= (data[start] | 32) <= 122):
            continue
        odd[row] = True
        length = stop - start
        is_iso = length >= 10 and data[start + 4] == 45 and data[start + 7] == 45
        form = fields
        if is_iso:
            form = iso[: 5 if length == 10 else 9 if length == 16 else 11]
        part[:] = 0
        i, good = start, len(form) > 0
        for code in form:
            if code >= 0:
                good = good and i < stop and (data[i] == code or (is_iso and code == 32 and data[i] == 84))
                i += 1
                continue
            field = -code - 1
            digits = 0
            most = 4 if field == 2 else 2
            value = 0
            while i < stop and digits < most and 48 <= data[i] <= 57:
                value = value * 10 + np.int64(data[i] - 48)
                digits += 1
                i += 1
            # Days, months and hours of a declared format may have one digit.
            good = good and digits > 0 and (digits == most or (not is_iso and (field == 0 or field == 1 or field == 4)))
            part[field] = value
            if field == 3:
                part[2] = value + (1900 if value >= 69 else 2000)
        if not good or i != stop:
            continue
        day, month, year, hour, minute, second = part[0], part[1], part[2], part[4], part[5], part[6]
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        longest = 28 + leap if month == 2 else 30 if month in (4, 6, 9, 11) else 31
        if year < 1 or not 1 <= month <= 12 or not 1 <= day <= longest or hour > 23 or minute > 59 or second > 59:
            continue
        # Days since 1 March of the year 0, whose leap day is the last of a year.
        years = year - 1 if month < 3 else year
        months = (month + 9) % 12
        days = 365 * years + years // 4 - years // 100 + years // 400 + (153 * months + 2) // 5 + day - 1
        out[row] = ((days - 719468) * 86400 + hour * 3600 + minute * 60 + second) * 1000000
        odd[row] = False


@compiled
def split_records(data, position, size, ended, longest, separator, starts, stops, counts):
    """Find the cells of records from ``position`` on, and return how many records and where the next one begins.

    It ends where the arrays are full, the bytes end or, unless the file ``ended``, a record goes on beyond them. A quoted cell
    whose text differs from its bytes (by its quotes) is rewritten in place. Lines of ASCII white space are skipped.
    IN data (bytes,) of which ``size`` are read, longest: bytes of a quoted text; separator (bytes,).
    OUT starts stops (columns, records): -1 where a record has another number of cells; counts (records,): the number of cells,
    ``OPEN_QUOTE``, or ``PERHAPS_BLANK`` for a line without separators that has only white space and non-ASCII bytes.
    """
    width, most = starts.shape
    first_byte, breadth = separator[0], len(separator)
    records = 0
    while records < most and position < size:
        at, count, quoted, rewrite, opened, complete = position, 0, False, False, False, False
        while True:  # a cell
            start = at
            inside = start  # from here on, quotes are ordinary characters
            plain = True
            if at < size and data[at] == 34:
                quoted = True
                at += 1
                limit = min(start + longest, size)
                while True:
                    at = _find(data, at, limit, 34, 34)
                    if at == limit or at + 1 >= size or data[at + 1] != 34:
                        break
                    plain = False
                    at = min(at + 2, limit)
                closed = at < limit and (ended or at + 1 < size)
                if not closed:
                    opened = at >= start + longest or ended
                    at = start
                    if opened:  # to the end of its line
                        at = _find(data, at, size, 10, 10)
                        complete = ended or at < size
                    break
                at += 1
                inside = at
            while True:
                at = _find(data, at, size, first_byte, 10)
                if at == size or data[at] == 10:
                    break
                same = at + breadth <= size
                for i in range(1, breadth):
                    same = same and data[at + i] == separator[i]
                if same:
                    break
                at += 1
            if at == size and not ended:
                break
            stop, last = at, at == size or data[at] == 10
            if last and stop > inside and data[stop - 1] == 13:
                stop -= 1
            if count < width:
                if inside > start and plain and stop == inside:  # the text is what is between the quotes
                    starts[count, records], stops[count, records] = start + 1, inside - 1
                else:
                    starts[count, records], stops[count, records] = start, stop
                    rewrite = rewrite or inside > start
            count += 1
            if last:
                complete = True
                break
            at += breadth
        if not complete:
            break
        begin, position = position, at + 1
        if opened:
            count = OPEN_QUOTE
        elif count == 1 and not quoted:
            blank, odd = True, False
            for i in range(begin, at):
                byte = data[i]
                odd = odd or byte >= 128
                blank = blank and (byte >= 128 or byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31)
            if blank and not odd:
                continue
            count = PERHAPS_BLANK if blank else 1
        if count in (width, PERHAPS_BLANK):
            for cell in range(width if rewrite else 0):
                start, stop = starts[cell, records], stops[cell, records]
                if start == stop or data[start] != 34:
                    continue
                to, at, closed = start, start + 1, False
                while at < stop:
                    if data[at] == 34 and not closed:
                        if at + 1 < stop and data[at + 1] == 34:
                            at += 1
                        else:
                            closed = True
                            at += 1
                            continue
                    data[to] = data[at]
                    to += 1
                    at += 1
                stops[cell, records] = to
        else:
            for cell in range(width):
                starts[cell, records] = stops[cell, records] = -1
        counts[records] = count
        records += 1
    return records, min(position, size)
