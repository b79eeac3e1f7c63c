"""No two draws of a fit read the same random words: every draw has a stream of its own, as long as any draw."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest
from helpers import make_table
from word_reference import chacha_block

import hedgerow as hr
from hedgerow.curator import Queryable
from hedgerow.mechanisms import Geometric, PerRecordCoin, Randomness, kernels
from hedgerow.privacy.filter import Atomic
from hedgerow.systems import system_class
from hedgerow.table import ClassCounts

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")  # of few records nothing stands out

KEY = bytes(range(32))
COUNTER, STREAM = slice(12, 14), slice(14, 16)  # words of a state


class State:
    """A mechanism that returns the state that it would draw from: the cipher's input words."""

    def sample(self, stream):
        return stream[:16].copy()


class Word:
    """A mechanism that returns its stream's first word."""

    def sample(self, stream):
        return int(kernels.next_word(stream))


def after(number, seed=0):
    """Return the randomness of a fit that has drawn so often."""
    randomness = Randomness(seed)
    randomness._draws = Atomic(number)
    return randomness


def states(randomness, draws):
    return np.array([randomness.draw(State()) for _ in range(draws)])


def apart(read):
    """Say whether no two draws began alike."""
    return len(np.unique(read, axis=0)) == len(read)


def test_the_first_draws_have_streams_of_their_own():
    """2**16 + 1 draws: a number cut to 8 or to 16 bits would come again."""
    read = states(Randomness(0), 2**16 + 1)
    assert apart(read)
    assert (read[:, 4:12] == read[0, 4:12]).all()  # one key
    assert not read[:, COUNTER].any()  # each from its beginning


def test_the_first_draws_have_words_of_their_own():
    randomness = Randomness(0)
    assert len({randomness.draw(Word()) for _ in range(2**16 + 1)}) == 2**16 + 1


@pytest.mark.parametrize("bits", [8, 16, 31, 32, 33, 48, 63])
def test_draws_around_a_power_of_two_have_streams_of_their_own(bits):
    first, around = states(Randomness(0), 40), states(after(2**bits - 20), 40)
    assert apart(np.concatenate([first, around]))
    numbers = around[:, STREAM].astype(object) @ [1, 2**32]
    assert numbers.tolist() == list(range(2**bits - 19, 2**bits + 21))


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_numbers_that_are_cut_are_noticed(bits, monkeypatch):
    monkeypatch.setattr(
        "hedgerow.mechanisms.randomness.open_stream",
        lambda key, number: kernels.open_stream(key, number & (2**bits - 1)),
    )
    if bits < 32:
        assert not apart(states(Randomness(0), 2**16 + 1))
    assert not apart(np.concatenate([states(Randomness(0), 40), states(after(2**bits - 20), 40)]))


@pytest.mark.parametrize("stream", [-1, 2**64, 2**64 + 1, 2**96])
def test_a_stream_that_has_no_number_of_its_own_is_refused(stream):
    with pytest.raises(OverflowError):
        kernels.open_stream(KEY, stream)


def test_draws_of_many_threads_have_streams_of_their_own():
    randomness, read = Randomness(0), []
    threads = [threading.Thread(target=lambda: read.extend(states(randomness, 500).tolist())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({tuple(state) for state in read}) == 4000


def test_counts_of_one_curator_have_noise_of_their_own():
    """A thousand times the same question: no stretch of its noise comes again."""
    curator = Queryable(make_table([(0, 0, 0)] * 8), Fraction(1000), Randomness(0))
    nodes, noise = curator.assign(PerRecordCoin(4)), Geometric(Fraction(1, 1000))
    answers = np.concatenate([curator.answer(ClassCounts(nodes), noise).ravel() for _ in range(1000)])
    stretches = np.lib.stride_tricks.sliding_window_view(answers, 8)[::8]
    assert len(np.unique(stretches, axis=0)) == 1000


@pytest.mark.parametrize("name", [info.name for info in hr.list_systems()])
def test_a_fit_opens_each_stream_once_and_coins_under_keys_of_their_own(name, monkeypatch):
    opened = []

    def witnessed(key, number):
        opened.append((key, number))
        return kernels.open_stream(key, number)

    monkeypatch.setattr("hedgerow.mechanisms.randomness.open_stream", witnessed)
    schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
    generator = np.random.default_rng(0)
    X = {"a": generator.random(200), "b": generator.choice(["x", "y"], 200)}
    system_class(name)(schema=schema).fit(X, np.where(X["a"] > 0.5, "yes", "no"))
    assert len(set(opened)) == len(opened)
    coins = [key for key, number in opened if number == 0]
    keys = {key for key, number in opened if number}
    assert len(keys) <= 1  # of the noise; published forms may draw none of it
    assert len({*coins, *keys}) == len(coins) + len(keys)
    numbers = [number for _, number in opened if number]
    assert numbers == sorted(numbers)
    assert set(numbers) <= set(range(1, len(opened) + 1))
    assert len(numbers) + len(coins) == len(opened)


def test_the_last_draw_is_answered_and_one_more_is_refused():
    """A number that began again would repeat the noise of the first draws."""
    randomness = after(2**64 - 2)
    assert randomness.draw(State())[STREAM].tolist() == [2**32 - 1] * 2
    for _ in range(3):  # also when it is tried again
        with pytest.raises(OverflowError):
            randomness.draw(State())
    randomness = after(2**64 - 1)
    for _ in range(2):
        with pytest.raises(OverflowError):
            randomness.coins(PerRecordCoin(2))


# Inside one stream.


def at_block(block, stream=5):
    """Return a stream that has read so many blocks."""
    state = kernels.open_stream(KEY, stream)
    state[COUNTER] = block & 0xFFFFFFFF, block >> 32
    return state


@pytest.mark.parametrize("block", [2**32 - 2, 2**33 - 2, 2**48 - 2])
def test_a_long_draw_reads_on_beyond_32_bits_of_blocks(block):
    """A counter of 32 bits would begin again after 256 GiB, or run into the number of the stream."""
    state = at_block(block)
    words = [int(kernels.next_word(state)) for _ in range(32)]
    expected = [half for i in range(4) for half in chacha_block(KEY, block + i, 5)]
    assert words == [low | high << 32 for low, high in zip(expected[::2], expected[1::2], strict=True)]
    assert state[STREAM].tolist() == [5, 0]
    beginning = kernels.open_stream(KEY, 5)
    assert not {int(kernels.next_word(beginning)) for _ in range(32)} & set(words)


def test_a_batch_across_the_32nd_bit_of_blocks_draws_from_new_words():
    noise = Geometric(Fraction(1, 1000))
    at_the_end, at_the_start = (
        noise.sample(at_block(block), np.zeros(2000, dtype=np.int64)) for block in (2**32 - 2, 0)
    )
    assert not np.array_equal(at_the_end[-1000:], at_the_start[-1000:])
    assert len(np.unique(np.lib.stride_tricks.sliding_window_view(at_the_end, 4)[::4], axis=0)) == 500


def test_a_stream_never_reads_into_the_next_one():
    """At the last of 2**64 blocks, which no machine gets to, the number of the stream stands as it is."""
    state = at_block(2**64 - 1)
    for _ in range(24):
        kernels.next_word(state)
    assert state[STREAM].tolist() == [5, 0]


@pytest.mark.parametrize("row", [2**35 - 1, 2**35, 2**40, 2**63 - 1])
def test_coins_of_far_rows_have_words_of_their_own(row):
    near = {int(kernels.word_at(kernels.open_stream(KEY, 5), near)) for near in range(1000)}
    assert int(kernels.word_at(kernels.open_stream(KEY, 5), row)) not in near
