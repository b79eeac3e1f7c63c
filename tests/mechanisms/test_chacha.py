"""The stream cipher against its standard, and random access against reading in order."""

import struct
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_reference import Words, chacha_block

from hedgerow.mechanisms import kernels

KEY = bytes(range(32))
RFC_2_3_2 = (
    "e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3 "
    "466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2"
)
RFC_A1 = (  # RFC 8439, appendix A.1: key, counter, nonce, first words of the block
    (bytes(32), 0, bytes(12), "ade0b876 903df1a0 e56a5d40 28bd8653"),
    (bytes(32), 1, bytes(12), "bee7079f 7a385155 7c97ba98 0d082d73"),
    (bytes(31) + b"\1", 1, bytes(12), "2452eb3a 9249f8ec 8d829d9b ddd4ceb1"),
    (b"\0\xff" + bytes(30), 2, bytes(12), "fb4dd572 4bc42ef1 df922636 327f1394"),
    (bytes(32), 0, bytes(11) + b"\2", "374dc6c2 3736d58c b904e24a cd3f93ef"),
)


def block_of(key: bytes, counter: int, nonce: bytes) -> list[int]:
    """One block by the kernel, with the RFC's 32-bit counter and 96-bit nonce in state words 12 to 15."""
    state = kernels.open_stream(key, 0)
    state[12] = counter
    state[13:16] = struct.unpack("<3I", nonce)
    words = [int(kernels.next_word(state)) for _ in range(8)]
    return [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]


def test_block_of_rfc_8439():
    nonce = bytes.fromhex("000000090000004a00000000")
    assert " ".join(f"{word:08x}" for word in block_of(KEY, 1, nonce)) == RFC_2_3_2


@pytest.mark.parametrize(("key", "counter", "nonce", "words"), RFC_A1)
def test_blocks_of_rfc_8439_appendix(key, counter, nonce, words):
    assert " ".join(f"{word:08x}" for word in block_of(key, counter, nonce)[:4]) == words


def test_reference_cipher_follows_the_rfc_too():
    stream = struct.unpack("<Q", bytes.fromhex("0000004a00000000"))[0]
    counter = 1 | 0x09000000 << 32  # the nonce's first word stands in the counter's upper half
    assert " ".join(f"{word:08x}" for word in chacha_block(KEY, counter, stream)) == RFC_2_3_2


@given(st.binary(min_size=32, max_size=32), st.integers(0, 2**64 - 1))
@settings(max_examples=20, deadline=None)
def test_words_follow_the_reference(key, stream):
    state, words = kernels.open_stream(key, stream), Words(key, stream)
    assert [int(kernels.next_word(state)) for _ in range(20)] == [words.next() for _ in range(20)]


@given(st.lists(st.integers(0, 100), max_size=30))
@settings(max_examples=50, deadline=None)
def test_word_at_is_the_sequential_word_in_any_order(rows):
    sequential = kernels.open_stream(KEY, 7)
    expected = [int(kernels.next_word(sequential)) for _ in range(101)]
    state = kernels.open_stream(KEY, 7)
    assert [int(kernels.word_at(state, row)) for row in rows] == [expected[row] for row in rows]


@given(st.lists(st.one_of(st.none(), st.integers(0, 40)), max_size=30))
@settings(max_examples=50, deadline=None)
def test_word_at_sets_the_place_where_next_word_reads_on(steps):
    sequential = kernels.open_stream(KEY, 7)
    expected = [int(kernels.next_word(sequential)) for _ in range(80)]
    state, place = kernels.open_stream(KEY, 7), 0
    for row in steps:
        place = place if row is None else row
        word = kernels.next_word(state) if row is None else kernels.word_at(state, row)
        assert int(word) == expected[place]
        place += 1


@pytest.mark.parametrize("row", [2**35 - 1, 2**35, 2**35 + 9, 2**60 + 3])
def test_word_at_far_rows_use_both_counter_words(row):
    half = chacha_block(KEY, row // 8, 5)[2 * (row % 8) :][:2]
    assert int(kernels.word_at(kernels.open_stream(KEY, 5), row)) == half[1] << 32 | half[0]


@pytest.mark.parametrize("stream", [0, 1, 5])
@pytest.mark.parametrize("block", [3, 2**31 + 3, 2**32 - 1])
def test_rows_far_apart_share_no_word_where_their_blocks_numbers_end_alike(stream, block):
    """Which block is at hand is told by both halves of its number."""
    blocks = [block + (upper << 32) for upper in (0, 1, 2, 3, 4)]
    halves = {number: chacha_block(KEY, number, stream)[6:8] for number in blocks}
    state = kernels.open_stream(KEY, stream)
    for number in [number for pair in product(blocks, repeat=2) for number in pair]:
        assert int(kernels.word_at(state, 8 * number + 3)) == halves[number][1] << 32 | halves[number][0]


@pytest.mark.parametrize("upper", [0, 1, 6])
def test_counter_carries_into_its_upper_word(upper):
    state = kernels.open_stream(KEY, 5)
    state[12:14] = 2**32 - 1, upper
    words = [int(kernels.next_word(state)) for _ in range(9)]
    after = chacha_block(KEY, (upper + 1) << 32, 5)
    assert words[8] == after[1] << 32 | after[0]


def test_an_opened_stream_is_the_ciphers_input_before_an_empty_block():
    state = kernels.open_stream(KEY, 3 | 4 << 32)
    start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", KEY), 0, 0, 3, 4]
    assert state.tolist() == [*start, *[0] * 16, 16]
    assert state.dtype == np.uint32


@pytest.mark.parametrize("counter", [1, 2, 2**32])
def test_word_at_never_reads_a_block_that_was_not_computed(counter):
    """Neither an empty one, nor where all of it was read."""
    block = chacha_block(KEY, counter - 1, 5)
    state = kernels.open_stream(KEY, 5)
    state[12:14] = counter & 0xFFFFFFFF, counter >> 32  # as if the block before had been computed
    for place in (7, 0):
        assert int(kernels.word_at(state, 8 * (counter - 1) + place)) == block[2 * place + 1] << 32 | block[2 * place]


def test_streams_and_keys_differ():
    first = {
        int(kernels.next_word(kernels.open_stream(key, stream)))
        for key in (KEY, bytes(32))
        for stream in (0, 1, 2**32, 2**64 - 1)
    }
    assert len(first) == 8


def test_the_bits_of_a_word_are_balanced():
    state = kernels.open_stream(KEY, 1)
    words = np.array([kernels.next_word(state) for _ in range(4000)], dtype=np.uint64)
    ones = np.array([int(((words >> np.uint64(bit)) & np.uint64(1)).sum()) for bit in range(64)])
    assert np.abs(ones - 2000).max() < 6 * np.sqrt(1000)
