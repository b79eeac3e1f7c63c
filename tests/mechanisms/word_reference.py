"""The samplers once more, slowly: ChaCha20 and every coin in plain Python integers of any length.

Each function reads the same words as its kernel, so both must agree outcome by outcome and read equally many words.
It follows Canonne, Kamath and Steinke 2020 (algorithms 1 and 2) and Karney 2016 (algorithm N), not the kernels' text.
"""

import struct
from fractions import Fraction

import numpy as np

from hedgerow.mechanisms import kernels

MASK = 2**32 - 1


def chacha_block(key: bytes, counter: int, stream: int) -> list[int]:
    """The 16 output words of one block; counter and stream number are 64 bits each."""

    def quarter(x, a, b, c, d):
        for target, other, mixed, left in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[target] = (x[target] + x[other]) & MASK
            turned = x[mixed] ^ x[target]
            x[mixed] = (turned << left | turned >> (32 - left)) & MASK

    start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key)]
    start += [counter & MASK, counter >> 32, stream & MASK, stream >> 32]
    x = list(start)
    for _ in range(10):
        for column in range(4):
            quarter(x, column, 4 + column, 8 + column, 12 + column)
        for diagonal in range(4):
            quarter(x, diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4)
    return [(a + b) & MASK for a, b in zip(x, start, strict=True)]


class Words:
    """The 64-bit words of one stream, and how many of them were read."""

    def __init__(self, key: bytes, stream: int) -> None:
        self.key, self.stream, self.used = key, stream, 0
        self._block: list[int] = []

    def next(self) -> int:
        if self.used % 8 == 0:
            self._block = chacha_block(self.key, self.used // 8, self.stream)
        low, high = self._block[2 * (self.used % 8) :][:2]
        self.used += 1
        return high << 32 | low

    def top(self, bits: int) -> int:
        return self.next() >> (64 - bits)


def words_used(state: kernels.Stream) -> int:
    """How many words a kernel has read from a stream that was opened at its beginning."""
    blocks = int(state[12]) | int(state[13]) << 32
    return 8 * blocks - (16 - int(state[kernels.POSITION])) // 2


def stream_of(*words: int) -> kernels.Stream:
    """A stream whose next words (at most eight) are the given ones."""
    state = kernels.open_stream(bytes(32), 0)
    place = 8 - len(words)
    for i, word in enumerate(words):
        state[kernels.OUTPUT + 2 * (place + i)] = word & MASK
        state[kernels.OUTPUT + 2 * (place + i) + 1] = word >> 32
    state[kernels.POSITION] = np.uint32(2 * place)
    return state


def below(words: Words, bound: int) -> int:
    bits = (bound - 1).bit_length()
    while bits:
        number = words.next() % 2**bits
        if number < bound:
            return number
    return 0


def bernoulli(words: Words, numerator: int, bits: int) -> bool:
    """Form a number of so many bits, leading bits first, until it is known whether it is below the numerator."""
    assert numerator < 2**63
    number, left = 0, bits
    while left > 63:
        chunk = min(left - 63, 32)
        number, left = number << chunk | words.top(chunk), left - chunk
        if number:  # the leading bits alone are above every numerator below 2**63
            return False
    return (number << left | (words.top(left) if left else 0)) < numerator


def coin_exp(words: Words, exponent: Fraction, bits: int) -> bool:
    """Canonne, Kamath and Steinke, algorithm 1: True with probability exp(-exponent), a fraction over 2**bits."""

    def at_most_one(argument: Fraction, bits: int) -> bool:
        k = 1
        while below(words, k) == 0 and bernoulli(words, int(argument * 2**bits), bits):
            k += 1
        return k % 2 == 1

    whole = exponent.numerator // exponent.denominator
    if not all(at_most_one(Fraction(1), 0) for _ in range(whole)):
        return False
    return exponent == whole or at_most_one(exponent - whole, bits)


def coin_exp_product(words: Words, factor: int, bits: int, difference: int) -> bool:
    """exp(-factor * difference / 2**bits) as a product over the difference's digits in base 2**20, highest first."""
    for place in (3, 2, 1, 0):
        digit = difference // 2 ** (20 * place) % 2**20
        exponent = Fraction(factor * digit * 2 ** (20 * place), 2**bits)
        step, times, left = exponent, 1, bits - 20 * place
        if left < 0:  # the kernel repeats the coin of the integer product
            step, times, left = Fraction(factor * digit), 2**-left, 0
        if digit and not all(coin_exp(words, step, left) for _ in range(times)):
            return False
    return True


def two_sided_geometric(words: Words, factor: int, bits: int) -> int:
    """Canonne, Kamath and Steinke, algorithm 2, with a count that ends where its magnitude would pass 62 bits."""
    while True:
        while not coin_exp(words, Fraction(low := below(words, 2**bits), 2**bits), bits):
            pass
        high = 0
        while high < 2 ** (62 - bits) - 1 and coin_exp(words, Fraction(1), 0):
            high += 1
        magnitude = (low + high * 2**bits) // factor
        negative = words.next() % 2 == 1
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def normal_cell(words: Words) -> tuple[int, int, bool]:
    """Karney's algorithm N with the uniform number of step N3 taken as x / 2**63."""
    half = Fraction(1, 2)
    while True:
        k = 0
        while coin_exp(words, half, 1):
            k += 1
        if not all(coin_exp(words, half, 1) for _ in range(k * (k - 1))):
            continue
        x = words.top(63)
        if all(coin_exp(words, Fraction(x, 2**63), 63) for _ in range(k)) and half_square(words, x):
            return k, x, words.next() % 2 == 1


def half_square(words: Words, x: int) -> bool:
    k = 1
    while below(words, 2 * k) == 0 and bernoulli(words, x, 63) and bernoulli(words, x, 63):
        k += 1
    return k % 2 == 1


def rounded_normal(words: Words, sigma: int, bits: int) -> int:
    k, x, negative = normal_cell(words)
    # The smallest and the largest integer below S * (k + (x + u) / 2**63) for u in [0, 1), where bits < 1 times 2**(1 - bits);
    # they differ by at most one.
    more = max(1 - bits, 0)
    unit = 2 ** (63 - more)
    first = sigma * (k * 2**63 + x) // unit
    next_one = (first + 1) * unit - sigma * (k * 2**63 + x)  # passed where S * u is at least this
    if next_one < sigma and below(words, sigma) >= next_one:
        first += 1
    noise = int(Fraction(first, 2 ** (bits + more)) + Fraction(1, 2))
    return -noise if negative else noise


def permute_and_flip(words: Words, factor: int, bits: int, scores: list[int], offered: list[bool]) -> int:
    left = [i for i, truth in enumerate(offered) if truth]
    best = max(scores[i] for i in left)
    while True:
        place = below(words, len(left))
        if coin_exp_product(words, factor, bits, best - scores[left[place]]):
            return left[place]
        left[place] = left[-1]
        left.pop()


def exponential(words: Words, factor: int, bits: int, scores: list[int], weights: list[int]) -> int:
    best = max(score for score, weight in zip(scores, weights, strict=True) if weight)
    while True:
        rest, chosen = below(words, sum(weights)), 0
        while rest >= weights[chosen]:
            rest, chosen = rest - weights[chosen], chosen + 1
        if coin_exp_product(words, factor, bits, best - scores[chosen]):
            return chosen
