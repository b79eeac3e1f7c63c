"""Streams of one fit: what they depend on, and what they never share."""

import os

import numpy as np
import pytest

from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import PerRecordCoin, Randomness
from hedgerow.mechanisms.kernels import next_word

pytestmark = pytest.mark.entropy


class Words:
    """A mechanism that returns its stream's first words."""

    def sample(self, stream, count):
        return [int(next_word(stream)) for _ in range(count)]

    def law(self, count):
        raise NotImplementedError


def draws(randomness, number=4):
    return [tuple(randomness.draw(Words(), 3)) for _ in range(number)]


@pytest.mark.parametrize("seed", [0, 7, 2**70, np.int64(7), np.uint8(3)])
def test_the_same_seed_draws_the_same(seed):
    assert draws(Randomness(seed)) == draws(Randomness(seed))


def test_numpy_and_python_integers_are_one_seed():
    assert draws(Randomness(7)) == draws(Randomness(np.int32(7)))


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_generators_are_seeds_that_move_on(kind):
    generator, twin = kind(3), kind(3)
    first = draws(Randomness(generator))
    assert first == draws(Randomness(twin))
    assert first != draws(Randomness(generator))


def test_different_seeds_and_draws_have_different_streams():
    words = [word for seed in (0, 1, 10, 2**64) for draw in draws(Randomness(seed), 6) for word in draw]
    assert len(set(words)) == len(words)


def test_a_draw_depends_on_its_number_and_not_on_what_was_read_before():
    short, long = Randomness(5), Randomness(5)
    short.draw(Words(), 1)
    long.draw(Words(), 1000)
    assert short.draw(Words(), 3) == long.draw(Words(), 3)


def test_without_a_seed_every_fit_has_its_own_key():
    words = [word for _ in range(20) for draw in draws(Randomness()) for word in draw]
    assert len(set(words)) == len(words)


def test_without_a_seed_the_key_is_the_operating_systems(monkeypatch):
    asked = []

    def urandom(size):
        asked.append(size)
        return bytes(size)

    monkeypatch.setattr("os.urandom", urandom)
    assert Randomness()._key == bytes(32)
    Randomness(3)
    assert asked == [32]


@pytest.mark.parametrize("seed", [None, 3])
def test_a_copy_in_another_process_is_refused_before_it_repeats_the_noise(seed, monkeypatch):
    randomness = Randomness(seed)
    draws(randomness, 1)
    own = os.getpid()
    monkeypatch.setattr("os.getpid", lambda: own + 1)
    with pytest.raises(BudgetExceeded, match="a copy would repeat its noise"):
        draws(randomness, 1)


def test_global_seeds_change_nothing():
    np.random.seed(1)  # noqa: NPY002 - the very thing that must not matter
    first = draws(Randomness())
    np.random.seed(1)  # noqa: NPY002
    assert first != draws(Randomness())


def test_seeded_says_where_the_entropy_came_from():
    assert not Randomness().seeded
    assert all(Randomness(state).seeded for state in (0, 1, np.int64(2), np.random.default_rng(0)))


@pytest.mark.parametrize("state", [-1, True, False, 1.0, "7", b"7", [1], np.bool_(True), np.float64(2), np.random])
def test_anything_else_is_refused(state):
    with pytest.raises(ConfigurationError, match="random_state"):
        Randomness(state)


def test_coins_and_words_have_keys_of_their_own_that_are_never_shown():
    """Same numbers, another use; same use, another number; and none is the fit's own."""
    keys = []
    for seed in (1, 2):
        one, other = Randomness(seed), Randomness(seed)
        keys += [
            one._key,
            *(one.coins(PerRecordCoin(4)).key for _ in range(3)),
            *(other.random_bits().key for _ in range(3)),
        ]
    assert len(set(keys)) == 14
    assert {len(key) for key in keys} == {32}
    randomness = Randomness(1)
    coins, words = randomness.coins(PerRecordCoin(4)), randomness.random_bits()
    assert repr(coins.key) not in repr(coins)
    assert repr(words.key) not in repr(words)


def test_coins_and_words_are_read_at_each_records_row():
    randomness = Randomness(1)
    coins, words = randomness.coins(PerRecordCoin(1000)), randomness.random_bits()
    for read in (coins.parts, words.of):
        whole = read(0, 500)
        assert len(set(whole.tolist())) > 300
        np.testing.assert_array_equal(np.concatenate([read(0, 3), read(3, 290), read(293, 207)]), whole)
    assert words.of(0, 500).dtype == np.uint64
