"""Exact coins and samplers, word by word against plain Python, and at the very edge of each probability."""

import math
from fractions import Fraction

import numpy as np
import pytest
import word_reference as reference
from goodness import FITS, p_value
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import moved_key
from word_reference import Words, stream_of, words_used

from hedgerow.mechanisms import kernels

KEY = moved_key(bytes(range(100, 132)))
TOP = 2**64 - 1


def agree(kernel, plain, streams=range(60), repeats=4):
    """Both must give the same outcomes from the same words, and read equally many."""
    for stream in streams:
        state, words = kernels.open_stream(KEY, stream), Words(KEY, stream)
        for _ in range(repeats):
            assert kernel(state) == plain(words)
            assert words_used(state) == words.used


# uniform_below


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 1000, 2**32 + 1, 2**62 - 57, 2**62, 2**62 + 1, 2**63 - 1])
def test_uniform_below_reads_the_reference_words(bound):
    agree(lambda state: kernels.uniform_below(state, bound), lambda words: reference.below(words, bound), range(10))


@pytest.mark.parametrize("bound", [3, 5, 7, 11])
def test_uniform_below_is_uniform(bound):
    state = kernels.open_stream(KEY, bound)
    counts = np.bincount([kernels.uniform_below(state, bound) for _ in range(40_000)], minlength=bound)
    tilted = np.where(np.arange(bound) < bound // 2, 1.1, 1.0)
    assert p_value(counts, np.full(bound, 1 / bound)) > FITS
    assert p_value(counts, tilted / tilted.sum()) < FITS


def test_uniform_below_one_reads_nothing():
    state = kernels.open_stream(KEY, 0)
    assert kernels.uniform_below(state, 1) == 0
    assert words_used(state) == 0


@pytest.mark.parametrize("bound", [3, 2**40 + 1, 2**62 - 1, 2**62 + 1])
def test_uniform_below_takes_every_number_once(bound):
    top = 1 << (bound - 1).bit_length()
    for number in (0, 1, bound - 1):
        assert kernels.uniform_below(stream_of(number), bound) == number
    assert kernels.uniform_below(stream_of(bound, 1), bound) == 1  # refused, the next word counts
    assert kernels.uniform_below(stream_of(top + 1 if top < 2**64 else 1), bound) == 1  # higher bits are not read


# bernoulli


@pytest.mark.parametrize(
    ("numerator", "bits"), [(1, 1), (1, 2), (3, 2), (5, 10), (2**52 - 1, 52), (2**62 + 1, 63), (1, 63)]
)
def test_bernoulli_at_its_edge(numerator, bits):
    """The word is a uniform number; exactly the first ``numerator`` of its 2**bits values succeed."""
    assert kernels.bernoulli(stream_of((numerator << (64 - bits)) - 1), numerator, bits)
    assert not kernels.bernoulli(stream_of(numerator << (64 - bits)), numerator, bits)
    assert kernels.bernoulli(stream_of(0), numerator, bits)
    assert not kernels.bernoulli(stream_of(TOP), numerator, bits)


@pytest.mark.parametrize("bits", [64, 70, 95, 96, 120, 127, 160])
def test_bernoulli_beyond_63_bits_at_its_edge(bits):
    chunks = -(-(bits - 63) // 32)
    numerator = 12345
    last = numerator << 1  # the last word's 63 leading bits are compared
    assert kernels.bernoulli(stream_of(*[0] * chunks, last - 1), numerator, bits)
    assert not kernels.bernoulli(stream_of(*[0] * chunks, last), numerator, bits)
    for place in range(chunks):  # the last of the leading bits decides
        width = min(bits - 63 - 32 * place, 32)
        words = [0] * chunks
        words[place] = 1 << (64 - width)
        assert not kernels.bernoulli(stream_of(*words, 0), numerator, bits)
        words[place] -= 1  # bits behind the chunk are not read
        assert kernels.bernoulli(stream_of(*words, 0), numerator, bits)


@pytest.mark.parametrize("bits", [0, 1, 30, 63, 64, 100])
def test_bernoulli_of_nothing_never_succeeds(bits):
    assert not any(kernels.bernoulli(kernels.open_stream(KEY, i), 0, bits) for i in range(50))


@pytest.mark.parametrize("bits", [0, 1, 30, 62])
def test_bernoulli_of_one_always_succeeds(bits):
    assert all(kernels.bernoulli(kernels.open_stream(KEY, i), 2**bits, bits) for i in range(50))
    assert kernels.bernoulli(stream_of(TOP), 2**bits, bits)


@given(st.integers(0, 120), st.data())
@settings(max_examples=80, deadline=None)
def test_bernoulli_follows_the_reference(bits, data):
    numerator = data.draw(st.integers(0, min(2**bits, 2**63 - 1)))
    agree(
        lambda state: kernels.bernoulli(state, numerator, bits),
        lambda words: reference.bernoulli(words, numerator, bits),
        range(5),
    )


# bernoulli_exp

EXPONENTS = [(0, 0), (1, 0), (2, 0), (1, 1), (3, 1), (5, 3), (1, 20), (2**20 - 1, 20), (2**20 + 1, 20), (2**62 + 1, 62)]
EXPONENTS += [(2**63 - 1, 62), (2**62, 63), (2**63 - 1, 63), (2**62, 64), (2**63 - 1, 80), (3, 120)]


@pytest.mark.parametrize(("numerator", "bits"), EXPONENTS)
def test_bernoulli_exp_follows_algorithm_1(numerator, bits):
    exponent = Fraction(numerator, 2**bits)
    agree(
        lambda state: kernels.bernoulli_exp(state, numerator, bits),
        lambda words: reference.coin_exp(words, exponent, bits),
    )


@given(st.integers(0, 10), st.integers(0, 130), st.data())
@settings(max_examples=60, deadline=None)
def test_bernoulli_exp_follows_algorithm_1_everywhere(size, bits, data):
    numerator = data.draw(st.integers(0, min(2 ** (bits + size), 2**63) - 1))
    exponent = Fraction(numerator, 2**bits)
    agree(
        lambda state: kernels.bernoulli_exp(state, numerator, bits),
        lambda words: reference.coin_exp(words, exponent, bits),
        range(6),
    )


def successes(coin, draws, stream=1):
    state = kernels.open_stream(KEY, stream)
    return sum(bool(coin(state)) for _ in range(draws))


@pytest.mark.parametrize("exponent", [Fraction(1, 8), Fraction(3, 4), Fraction(1), Fraction(5, 2), Fraction(13, 4)])
def test_bernoulli_exp_has_its_probability(exponent):
    bits = exponent.denominator.bit_length() - 1
    yes = successes(lambda state: kernels.bernoulli_exp(state, exponent.numerator, bits), draws := 60_000)
    for scale, fits in ((1.0, True), (1.1, False), (0.9, False)):
        right = math.exp(-float(exponent) * scale)
        assert (p_value([yes, draws - yes], [right, 1 - right]) > FITS) == fits, scale


def test_bernoulli_exp_of_zero_is_certain_and_free():
    state = kernels.open_stream(KEY, 1)
    assert all(kernels.bernoulli_exp(state, 0, bits) for bits in (0, 1, 63, 120))
    assert words_used(state) == 0


def test_bernoulli_exp_of_a_large_argument_fails():
    assert not any(kernels.bernoulli_exp(kernels.open_stream(KEY, i), 2**63 - 1, 0) for i in range(200))


# bernoulli_exp_product

PRODUCTS = [
    (1, 0, 0),
    (1, 0, 1),
    (3, 2, 1),
    (2**43 - 1, 43, 1),
    (2**43 - 1, 64, 2**20 + 3),
    (2**43 - 1, 83, 2**40 - 1),
    (2**43 - 1, 103, 2**60 - 1),
    (2**42 + 1, 102, 3 << 58),
    (5, 42, 2**40 + 2**21 + 1),
    (1, 41, 2**41),  # the high digit's exponent is positive, the coin's argument one
    (1, 38, 2**38),  # the high digit stands for less than a step: the coin is repeated
    (1, 15, 2**20),
    (1, 18, 2**21 + 3),
    (1, 19, 2**20 + 1),  # and once more
    (1, 59, 2**60),
    (1, 62, 2**63 - 1),
    (2**43 - 1, 105, 2**62 + 2**60 + 7),
]


@pytest.mark.parametrize(("factor", "bits", "difference"), PRODUCTS)
def test_product_coin_follows_the_reference(factor, bits, difference):
    agree(
        lambda state: kernels.bernoulli_exp_product(state, factor, bits, difference),
        lambda words: reference.coin_exp_product(words, factor, bits, difference),
    )


@given(st.integers(1, 2**43 - 1), st.integers(0, 2**63 - 1), st.integers(-3, 12))
@settings(max_examples=60, deadline=None)
def test_product_coin_follows_the_reference_everywhere(factor, difference, size):
    bits = min(max((factor * max(difference, 1)).bit_length() + size, 0), 120)
    agree(
        lambda state: kernels.bernoulli_exp_product(state, factor, bits, difference),
        lambda words: reference.coin_exp_product(words, factor, bits, difference),
        range(6),
    )


@pytest.mark.parametrize("difference", [1, 2**20 - 1, 2**20, 2**21 + 5, 2**40 - 1, 2**40 + 2**20, 2**59 + 2**39 + 1])
def test_product_coin_has_its_probability(difference):
    """Whatever digits a difference has, the coin of rate 3/4 / difference is exp(-3/4), and no other."""
    bits = 120
    rate = Fraction(3, 4 * difference)
    while rate * 2**bits >= 2**43:
        bits -= 1
    factor = int(rate * 2**bits)
    yes = successes(
        lambda state: kernels.bernoulli_exp_product(state, factor, bits, difference), draws := 40_000, difference
    )
    right = math.exp(-factor * difference / 2**bits)
    wrong = math.exp(-1.1 * factor * difference / 2**bits)
    assert p_value([yes, draws - yes], [right, 1 - right]) > FITS
    assert p_value([yes, draws - yes], [wrong, 1 - wrong]) < FITS


def test_product_coin_of_no_difference_is_certain():
    assert all(kernels.bernoulli_exp_product(kernels.open_stream(KEY, i), 2**43 - 1, 0, 0) for i in range(50))


# samplers


def added_to_zero(name, *arguments):
    value = np.zeros(1, dtype=np.int64)
    getattr(kernels, name)(*arguments, value)
    return value[0]


@pytest.mark.parametrize(
    ("factor", "bits"), [(1, 0), (1, 1), (3, 2), (1, 10), (2**43 - 1, 46), (2**43 - 1, 43), (2**23 + 1, 52), (7, 0)]
)
def test_two_sided_geometric_follows_algorithm_2(factor, bits):
    agree(
        lambda state: added_to_zero("add_geometric", state, factor, bits),
        lambda words: reference.two_sided_geometric(words, factor, bits),
        range(25),
    )


@pytest.mark.parametrize(("factor", "bits"), [(1, 58), (1, 60), (3, 60), (1, 61), (5, 62)])
def test_a_geometrics_count_ends_before_its_magnitude_passes_62_bits(factor, bits):
    """So early only for more bits than are asked for."""
    agree(
        lambda state: added_to_zero("add_geometric", state, factor, bits),
        lambda words: reference.two_sided_geometric(words, factor, bits),
        range(40),
    )


def test_normal_follows_karney():
    agree(
        lambda state: tuple(map(int, kernels._normal(state))),
        lambda words: tuple(map(int, reference.normal_cell(words))),
        range(80),
    )


@pytest.mark.parametrize("x", [0, 1, 2**62, 2**63 - 1])
def test_half_square_follows_the_reference(x):
    agree(lambda state: kernels._half_square(state, x), lambda words: reference.half_square(words, x))


@pytest.mark.parametrize(
    ("sigma", "bits"),
    [
        *((1, bits) for bits in (1, 20)),
        (3, 1),
        (2**30 - 1, 30),
        *((2**31 - 1, bits) for bits in (1, 0, -16)),
        (2**30 + 1, 12),
    ],
)
def test_rounded_normal_follows_the_reference(sigma, bits):
    agree(
        lambda state: added_to_zero("add_normal", state, sigma, bits),
        lambda words: reference.rounded_normal(words, sigma, bits),
    )


@given(st.integers(0, 40), st.integers(0, 2**63 - 1), st.integers(1, 2**31 - 1), st.integers(-16, 30))
@settings(max_examples=300, deadline=None)
def test_rounding_agrees_with_exact_fractions(k, x, sigma, bits):
    """The answer lies between the roundings of the cell's two ends, and is theirs where they agree."""
    scale = sigma / Fraction(2) ** bits
    low, high = (scale * (k + Fraction(end, 2**63)) + Fraction(1, 2) for end in (x, x + 1))
    noise = kernels._rounded_scaled(kernels.open_stream(KEY, x % 1000), k, x, sigma, bits)
    assert math.floor(low) <= noise <= math.ceil(high) - 1


def cell_below_a_multiple(sigma: int, rest: int, parity: int) -> tuple[int, int, int]:
    """A cell (k, x) whose scaled lower end is ``rest`` below an odd or even multiple of 2**63; odd ones are halves with 1 bit."""
    for multiple in range(sigma, 5 * sigma):
        total, remainder = divmod(multiple * 2**63 - rest, sigma)
        if multiple % 2 == parity and remainder == 0:
            return total >> 63, total % 2**63, multiple
    raise AssertionError("no such cell")


@pytest.mark.parametrize(("sigma", "rest"), [(s, rest) for s in (3, 7) for rest in range(s + 1)])
def test_rounding_splits_a_cell_in_exact_shares(sigma, rest):
    """Where a rounding boundary cuts a cell, each side gets exactly its share of the cell's length."""
    k, x, multiple = cell_below_a_multiple(sigma, rest, 1)
    streams = [stream_of(u) for u in range(sigma)]
    unread = int(streams[0][kernels.POSITION])
    draws = [kernels._rounded_scaled(stream, k, x, sigma, 1) for stream in streams]
    assert all((stream[kernels.POSITION] > unread) == (0 < rest < sigma) for stream in streams)  # read where it matters
    assert sorted(draws) == [multiple // 2] * rest + [multiple // 2 + 1] * (sigma - rest)


@pytest.mark.parametrize(("sigma", "rest"), [(s, rest) for s in (3, 7) for rest in range(s + 1)])
def test_a_cell_far_from_a_rounding_boundary_has_one_answer(sigma, rest):
    k, x, multiple = cell_below_a_multiple(sigma, rest, 0)
    assert {kernels._rounded_scaled(stream_of(u), k, x, sigma, 1) for u in range(sigma)} == {multiple // 2}


FACTOR, BITS = 2**42 + 3, 53


def agree_on_a_choice(name, scores, weights, stream):
    kernel, plain = getattr(kernels, name), getattr(reference, name)
    rows = np.array([scores]), np.array([weights])

    def choice(state):
        room, chosen = np.empty(len(scores), dtype=np.int64), np.empty(1, dtype=np.int64)
        kernel(state, FACTOR, BITS, *rows, room, chosen)
        return chosen[0]

    agree(
        choice,
        lambda words: plain(words, FACTOR, BITS, scores.tolist(), weights.tolist()),
        [stream],
        repeats=2,
    )


@pytest.mark.parametrize("seed", range(6))
def test_permute_and_flip_follows_the_reference(seed):
    generator = np.random.default_rng(seed)
    for stream in range(20):
        offered = generator.random(7) < 0.6
        offered[stream % 7] = True
        agree_on_a_choice("permute_and_flip", generator.integers(-5000, 5000, 7), offered, stream)


@pytest.mark.parametrize("seed", range(6))
def test_exponential_follows_the_reference(seed):
    generator = np.random.default_rng(seed)
    for stream in range(20):
        weights = generator.integers(0, 3, 7) * generator.integers(1, 50, 7)
        weights[stream % 7] = 2**60 if seed == 5 else 1
        agree_on_a_choice("exponential", generator.integers(-5000, 5000, 7), weights, stream)


# Rows. A stream with given words in its first block, the last one that was computed, whose rows are 0 to 7.


def rows_of(*words):
    state = stream_of(*words, *[0] * (8 - len(words)))
    state[12] = 1
    return state


def of_rows(name, words, *arguments, first_row=0, kind=np.int32):
    out = np.full(len(words) - first_row, 77, dtype=kind)
    getattr(kernels, name)(rows_of(*words), first_row, *arguments, out)
    return out.tolist()


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 1000, 2**31 - 1])
def test_a_part_is_an_even_share_of_the_words_to_the_last(parts):
    for part in {1, parts // 2, parts - 1} - {0}:
        first = -(-part * 2**32 // parts) << 32  # the first word of the part; its lower half says nothing
        if first < 2**64:
            assert of_rows("assign", [first, first - 1, first | 2**32 - 1], parts) == [part, part - 1, part]
    assert of_rows("assign", [0, TOP, 0], parts, first_row=1) == [parts - 1, 0]


@pytest.mark.parametrize("threshold", [1, 2, 1000, 2**31, 2**32 - 1])
def test_a_row_is_in_below_its_threshold_and_not_at_it(threshold):
    edge = threshold << 32
    words = [edge - 1, edge, 0, TOP]
    assert of_rows("include_each", words, np.full(4, threshold, dtype=np.uint64)) == [0, -1, 0, -1]
    own = np.array([threshold, 2**32, 0, threshold], dtype=np.uint64)
    assert of_rows("include_each", words, own) == [0, 0, -1, -1]
    assert of_rows("include_each", words, own[1:], first_row=1) == [0, -1, -1]


def test_the_words_of_rows_are_written_whole():
    words = [1, TOP, 2**63 + 5, 2**32, 2**32 - 1]
    assert of_rows("words", words, kind=np.uint64) == words
    assert of_rows("words", words, first_row=2, kind=np.uint64) == words[2:]
