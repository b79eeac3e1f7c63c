"""Everything random in a private fit: words, exact coins, and the samplers made of them, in compiled code.

Words   the ChaCha20 stream cipher of Bernstein (2008), with a 64-bit block counter and a 64-bit stream number; RFC 8439
        has its test vectors. One key of 256 bits belongs to one fit, and a stream is named by a number under that key.
Coins   each reads whole words and succeeds with an exact probability, never a rounded float: Canonne, Kamath and
        Steinke, "The discrete Gaussian for differential privacy", 2020, algorithm 1, on dyadic arguments.
Samplers one call draws for a whole batch of nodes.

``state`` is a stream: what ``open_stream`` returns, (33,) uint32. ``factor`` and ``bits`` are the rate factor / 2**bits.

A kernel keeps its compiled form on disk and notices a change of its own file only. So no kernel of this library calls
one of another file (a test holds this), and this file is one.

numba compiles a callee once more for each number that is written in a call, and np.int64(0) is not such a number: so
numbers that are passed have their type written around them, but for the normals', which are faster so. No kernel makes an array:
callers pass what it writes to.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import compiled as compiled_with_arrays

DIGIT = 20  # bits of the second factor that one coin of bernoulli_exp_product handles
FACTOR_BITS = 43  # bits of the first factor: FACTOR_BITS + DIGIT = 63 keeps every product in an int64
OUTPUT = 16  # where the current block stands, behind the cipher's 16 input words
POSITION = 32  # where the number of used words of that block stands
CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4")
# Without numba's reference counts: two atomic changes for each call of a kernel that reads the state took most of the time.
compiled = partial(compiled_with_arrays, _nrt=False)

Stream = npt.NDArray[np.uint32]


def open_stream(key: bytes, stream: int) -> Stream:
    """Return the state of stream number ``stream`` under the 32-byte ``key``, at its beginning."""
    state = np.zeros(POSITION + 1, dtype=np.uint32)
    state[0:4] = CONSTANTS
    state[4:12] = np.frombuffer(key, dtype="<u4")
    state[14] = stream & 0xFFFFFFFF
    state[15] = stream >> 32
    state[POSITION] = 16
    return state


@compiled
def _rotated(word, left):
    return np.uint32(np.uint32(word << left) | np.uint32(word >> np.uint32(32 - left)))


@compiled
def _quarter_round(a, b, c, d):
    a = np.uint32(a + b)
    d = _rotated(np.uint32(d ^ a), np.uint32(16))
    c = np.uint32(c + d)
    b = _rotated(np.uint32(b ^ c), np.uint32(12))
    a = np.uint32(a + b)
    d = _rotated(np.uint32(d ^ a), np.uint32(8))
    c = np.uint32(c + d)
    b = _rotated(np.uint32(b ^ c), np.uint32(7))
    return a, b, c, d


@compiled
def _refill(state):
    """Compute the next block and advance the counter.  INOUT state."""
    x0, x1, x2, x3, x4, x5, x6, x7 = state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]
    x8, x9, x10, x11 = state[8], state[9], state[10], state[11]
    x12, x13, x14, x15 = state[12], state[13], state[14], state[15]
    for _ in range(10):
        x0, x4, x8, x12 = _quarter_round(x0, x4, x8, x12)
        x1, x5, x9, x13 = _quarter_round(x1, x5, x9, x13)
        x2, x6, x10, x14 = _quarter_round(x2, x6, x10, x14)
        x3, x7, x11, x15 = _quarter_round(x3, x7, x11, x15)
        x0, x5, x10, x15 = _quarter_round(x0, x5, x10, x15)
        x1, x6, x11, x12 = _quarter_round(x1, x6, x11, x12)
        x2, x7, x8, x13 = _quarter_round(x2, x7, x8, x13)
        x3, x4, x9, x14 = _quarter_round(x3, x4, x9, x14)
    rounds = (x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15)
    for i in range(16):
        state[OUTPUT + i] = np.uint32(rounds[i] + state[i])
    state[12] = np.uint32(state[12] + np.uint32(1))
    if state[12] == 0:
        state[13] = np.uint32(state[13] + np.uint32(1))
    state[POSITION] = np.uint32(0)


@compiled
def next_word(state):
    """Return the next 64 random bits of the stream.  INOUT state."""
    if state[POSITION] >= 16:
        _refill(state)
    position = state[POSITION]
    state[POSITION] = np.uint32(position + 2)
    return np.uint64(state[OUTPUT + position]) | (np.uint64(state[OUTPUT + position + 1]) << np.uint64(32))


@compiled
def word_at(state, row):
    """Return the 64 random bits at position ``row`` of the stream, whatever was read before.  INOUT state.

    Rows read in rising order cost no more than ``next_word``.
    """
    block = np.uint64(row) >> np.uint64(3)
    counter = np.uint64(state[12]) | (np.uint64(state[13]) << np.uint64(32))
    if state[POSITION] >= 16 or counter != block + np.uint64(1):
        state[12] = np.uint32(block & np.uint64(0xFFFFFFFF))
        state[13] = np.uint32(block >> np.uint64(32))
        _refill(state)
    state[POSITION] = np.uint32(2 * (np.uint64(row) & np.uint64(7)))
    return next_word(state)


@compiled
def uniform_below(state, bound):
    """Return an integer uniform in [0, bound).  INOUT state, IN bound >= 1 (int64)."""
    mask = np.uint64(bound - 1)
    mask |= mask >> np.uint64(1)
    mask |= mask >> np.uint64(2)
    mask |= mask >> np.uint64(4)
    mask |= mask >> np.uint64(8)
    mask |= mask >> np.uint64(16)
    mask |= mask >> np.uint64(32)
    if mask == 0:
        return np.int64(0)
    while True:
        word = next_word(state) & mask
        if word < np.uint64(bound):
            return np.int64(word)


@compiled
def bernoulli(state, numerator, bits):
    """Return True with probability numerator / 2**bits.  INOUT state, IN 0 <= numerator <= 2**bits, below 2**63."""
    while bits > 63:  # the leading bits must all be zero
        chunk = min(bits - 63, 32)
        if next_word(state) >> np.uint64(64 - chunk) != 0:
            return False
        bits -= chunk
    if bits == 0:
        return numerator >= 1
    return (next_word(state) >> np.uint64(64 - bits)) < np.uint64(numerator)


@compiled
def _bernoulli_exp_one(state):
    """Return True with probability exp(-1): what follows, without its coins that always succeed.  INOUT state."""
    k = np.int64(1)
    while uniform_below(state, k) == 0:
        k += 1
    return k % 2 == 1


@compiled
def bernoulli_exp(state, numerator, bits):
    """Return True with probability exp(-numerator / 2**bits).  INOUT state, IN 0 <= numerator < 2**63, bits >= 0."""
    if numerator == 0:
        return True
    if bits <= 62:
        whole = numerator >> bits
        numerator -= whole << bits
        for _ in range(whole):
            if not _bernoulli_exp_one(state):
                return False
        if numerator == 0:
            return True
    k = np.int64(1)  # the argument is in (0, 1]
    while uniform_below(state, k) == 0 and bernoulli(state, numerator, bits):
        k += 1
    return k % 2 == 1


@compiled
def bernoulli_exp_product(state, factor, bits, difference):
    """Return True with probability exp(-factor * difference / 2**bits), without ever forming the long product.

    The difference is read in digits of 20 bits, the highest first, one coin for each.
    INOUT state, IN 0 <= factor < 2**43, 0 <= difference < 2**63, bits >= 0.
    """
    for digit in range(3, -1, -1):
        part = (difference >> (digit * DIGIT)) & ((1 << DIGIT) - 1)
        if part == 0:
            continue
        product = factor * part
        exponent = bits - digit * DIGIT
        if exponent < 0:
            # exp(-product * 2**-exponent) is the coin exp(-product), 2**-exponent times over; the first
            # failure ends it, so the expected number of coins is below 1 / (1 - exp(-1)).
            for _ in range(1 << -exponent):
                if not bernoulli_exp(state, product, np.int64(0)):
                    return False
        elif not bernoulli_exp(state, product, exponent):
            return False
    return True


@compiled
def _two_sided_geometric(state, factor, bits):
    """Return k with probability proportional to exp(-abs(k) * factor / 2**bits).  INOUT state.

    With t = 2**bits: u uniform below t, kept with probability exp(-u/t), and v counted with coins exp(-1) make u + t v
    geometric at rate 1/t; its quotient by the factor has the rate wanted. The count v ends at 2**(62 - bits) - 1, which
    it reaches with probability below exp(-1023) for the bits <= 52 that are asked for.
    """
    size = np.int64(1) << bits
    while True:
        low = uniform_below(state, size)
        while not bernoulli_exp(state, low, bits):
            low = uniform_below(state, size)
        high = np.int64(0)
        while high < (np.int64(1) << (62 - bits)) - 1 and _bernoulli_exp_one(state):
            high += 1
        magnitude = (low + (high << bits)) // factor
        negative = next_word(state) & np.uint64(1) == 1
        if magnitude != 0:
            return -magnitude if negative else magnitude
        if not negative:  # zero must not be counted twice
            return magnitude


@compiled
def add_geometric(state, factor, bits, values):
    """Add independent two-sided geometric noise to values.

    IN 0 < factor < 2**43, bits <= 52.  INOUT state, values (values,) int64.
    """
    for i in range(len(values)):
        values[i] += _two_sided_geometric(state, factor, bits)


@compiled
def _half_square(state, x):
    """Return True with probability exp(-t * t / 2), t = x / 2**63.  INOUT state."""
    k = np.int64(1)
    while (
        uniform_below(state, 2 * k) == 0  # probability (1 / k) * (1 / 2)
        and bernoulli(state, x, 63)
        and bernoulli(state, x, 63)
    ):
        k += 1
    return k % 2 == 1


@compiled
def _normal(state):
    """Return (k, x, negative): a standard normal is in the cell k + [x, x + 1) / 2**63, with the sign given.  INOUT state.

    Karney, "Sampling exactly from the normal distribution", 2016, algorithm N, stopped at 63 bits: the density at the
    lower end of the cell stands for the density in it. docs/proofs/gaussian.md bounds the total variation by 2**-62.
    """
    while True:
        k = np.int64(0)
        while bernoulli_exp(state, np.int64(1), 1):  # k with probability proportional to exp(-k / 2)
            k += 1
        accepted = True
        for _ in range(k * (k - 1)):
            if not bernoulli_exp(state, np.int64(1), 1):
                accepted = False
                break
        if not accepted:
            continue
        x = np.int64(next_word(state) >> np.uint64(1))
        for _ in range(k):  # exp(-k t)
            if not bernoulli_exp(state, x, 63):
                accepted = False
                break
        if accepted and _half_square(state, x):
            return k, x, next_word(state) & np.uint64(1) == 1


@compiled
def _rounded_scaled(state, k, x, sigma, bits):
    """Return the integer nearest to (k + t) * sigma / 2**bits, t uniform in [x, x + 1) / 2**63.  INOUT state.

    With S = sigma, the answer is floor((S * (k * 2**63 + x + u) + half) / 2**(63 + bits)) for u uniform in [0, 1). The long
    product S * x is formed in two halves; a further draw settles u only where it matters. Where bits < 1, 2**63 is divided by
    2**(1 - bits), and one bit is left to be rounded.
    """
    more = np.uint64(max(1 - bits, 0))
    shift = np.uint64(63) - more
    scale = np.uint64(sigma)
    # S * x in base 2**shift: x = x1 * 2**32 + x0, S < 2**31 keeps every part below 2**63.
    x1 = np.uint64(x) >> np.uint64(32)
    x0 = np.uint64(x) & np.uint64(0xFFFFFFFF)
    part = scale * x0
    upper = scale * x1 + (part >> np.uint64(32))  # S * x = upper * 2**32 + lower
    lower = part & np.uint64(0xFFFFFFFF)
    high = shift - np.uint64(32)
    quotient = upper >> high
    # S * x = quotient * 2**shift + rest
    rest = ((upper & ((np.uint64(1) << high) - np.uint64(1))) << np.uint64(32)) | lower
    if rest + scale > (np.uint64(1) << shift):  # S * (x + u) passes a multiple of 2**shift for some u
        to_next = (np.uint64(1) << shift) - rest
        if np.uint64(uniform_below(state, np.int64(scale))) >= to_next:
            quotient += np.uint64(1)
    total = ((scale * np.uint64(k)) << more) + quotient
    rounded = np.uint64(max(bits, 1))
    half = (np.uint64(1) << rounded) >> np.uint64(1)
    return np.int64((total + half) >> rounded)


@compiled
def add_normal(state, sigma, bits, values):
    """Add rounded normals of standard deviation sigma / 2**bits to values.

    IN 0 < sigma < 2**31, bits > -20.  INOUT state, values (values,) int64.
    """
    for i in range(len(values)):
        k, x, negative = _normal(state)
        noise = _rounded_scaled(state, k, x, sigma, bits)
        values[i] += -noise if negative else noise


@compiled
def _bernoulli_exp_ratio(state, numerator, denominator):
    """Return True with probability exp(-numerator / denominator).  INOUT state, IN numerator >= 0, denominator < 2**62."""
    for _ in range(numerator // denominator):
        if not _bernoulli_exp_one(state):
            return False
    rest = numerator % denominator
    k = np.int64(1)
    while uniform_below(state, k) == 0 and uniform_below(state, denominator) < rest:
        k += 1
    return k % 2 == 1


@compiled
def add_discrete_gaussian(state, sigma, values):
    """Add independent noise to values: k with probability proportional to exp(-k**2 / (2 sigma**2)).

    Canonne, Kamath and Steinke 2020, algorithm 3, from geometric noise of scale sigma.
    IN 0 < sigma < 2**30.  INOUT state, values (values,) int64.
    """
    for i in range(len(values)):
        while True:
            low = uniform_below(state, sigma)
            while not _bernoulli_exp_ratio(state, low, sigma):
                low = uniform_below(state, sigma)
            high = np.int64(0)
            while high < 1023 and _bernoulli_exp_one(state):
                high += 1
            size = low + sigma * high
            negative = next_word(state) & np.uint64(1) == 1
            if size == 0 and negative:  # zero must not be counted twice
                continue
            # exp(-(size - sigma)**2 / (2 sigma**2)), by the whole and the rest of the distance in sigmas, so that it fits 64 bits
            distance = abs(size - sigma)
            whole, rest = distance // sigma, distance % sigma
            accepted = True
            for _ in range(whole):
                if not (accepted and _bernoulli_exp_ratio(state, whole * sigma + 2 * rest, 2 * sigma)):
                    accepted = False
            if accepted and _bernoulli_exp_ratio(state, rest * rest, 2 * sigma * sigma):
                values[i] += -size if negative else size
                break


@compiled
def permute_and_flip(state, factor, bits, scores, weights, left, chosen):
    """Choose one candidate in each row: random order, the first whose coin exp(-rate * (best - score)) succeeds.

    INOUT state, IN 0 <= factor < 2**43, bits >= 0, scores weights (rows, candidates) int64, at least one weight above 0 in each
    row: these are offered.  OUT left (candidates,) int64 for its own use, chosen (rows,) int64.
    """
    rows, candidates = scores.shape
    for row in range(rows):
        count = np.int64(0)
        best = np.int64(0)
        for candidate in range(candidates):
            if weights[row, candidate] > 0:
                if count == 0 or scores[row, candidate] > best:
                    best = scores[row, candidate]
                left[count] = candidate
                count += 1
        while True:
            position = uniform_below(state, count)
            candidate = left[position]
            if bernoulli_exp_product(state, factor, bits, best - scores[row, candidate]):
                chosen[row] = candidate
                break
            count -= 1
            left[position] = left[count]


@compiled
def exponential(state, factor, bits, scores, weights, total, chosen):
    """Choose one candidate in each row with probability proportional to weight * exp(rate * score), by rejection.

    INOUT state, IN 0 <= factor < 2**43, bits >= 0, scores (rows, candidates) int64, weights (rows, candidates) int64 >= 0 with a
    positive sum below 2**62 in each row.  OUT total (candidates,) int64 for its own use, chosen (rows,) int64.
    """
    rows, candidates = scores.shape
    for row in range(rows):
        best = np.int64(0)
        running = np.int64(0)
        for candidate in range(candidates):
            if weights[row, candidate] > 0 and (running == 0 or scores[row, candidate] > best):
                best = scores[row, candidate]
            running += weights[row, candidate]
            total[candidate] = running
        while True:
            candidate = np.searchsorted(total, uniform_below(state, running), side="right")
            if bernoulli_exp_product(state, factor, bits, best - scores[row, candidate]):
                chosen[row] = candidate
                break


@compiled
def assign(state, first_row, parts, out):
    """Send each record to one of the parts by the word that belongs to its row.

    INOUT state, IN first_row >= 0, 0 < parts < 2**31, OUT out (rows,) int32.

    The part is floor(word * parts / 2**64): its law need not be uniform for the privacy proof, only the record's own.
    """
    for i in range(len(out)):
        word = word_at(state, first_row + i) >> np.uint64(32)
        out[i] = np.int32((word * np.uint64(parts)) >> np.uint64(32))


@compiled
def words(state, first_row, out):
    """Write the word that belongs to each row.  INOUT state, IN first_row >= 0, OUT out (rows,) uint64."""
    for i in range(len(out)):
        out[i] = word_at(state, first_row + i)


@compiled
def include_each(state, first_row, thresholds, out):
    """Let each record in if the upper half of its row's word is below its own threshold.

    INOUT state, IN first_row >= 0, thresholds (rows,) uint64, OUT out (rows,) int32.
    """
    for i in range(len(out)):
        word = word_at(state, first_row + i) >> np.uint64(32)
        out[i] = np.int32(0) if word < thresholds[i] else np.int32(-1)
