"""The compiled loop from the bytes of a CSV file to the places of its cells."""

from __future__ import annotations

from hedgerow.compiled import compiled

OPEN_QUOTE, PERHAPS_BLANK = -1, -2  # in place of a record's number of cells


@compiled
def split_records(data, position, size, ended, longest, separator, starts, stops, counts):
    """Find the cells of records from ``position`` on, and return how many records and where the next one begins.

    It ends where the arrays are full, the bytes end or, unless the file ``ended``, a record goes on beyond them. A
    quoted cell whose text differs from its bytes (doubled quotes, text after the closing quote) is rewritten in place. Lines
    of ASCII white space are skipped.
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
                while at < limit:
                    if data[at] != 34:
                        at += 1
                    elif at + 1 < size and data[at + 1] == 34:
                        plain = False
                        at += 2
                    else:
                        break
                closed = at < limit and (ended or at + 1 < size)
                if not closed:
                    opened = at >= start + longest or ended
                    at = start
                    if opened:  # to the end of its line
                        while at < size and data[at] != 10:
                            at += 1
                        complete = ended or at < size
                    break
                at += 1
                inside = at
            while at < size and data[at] != 10:
                if data[at] == first_byte:
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
