"""Fits without a seed repeat when a test is run again, and never within it."""

import pytest
from seeds import name_keys

from hedgerow.mechanisms import Randomness, randomness
from hedgerow.mechanisms.kernels import next_word


class Word:
    def sample(self, stream):
        return int(next_word(stream))


def words(name):
    name_keys(name)
    try:
        return [Randomness().draw(Word()) for _ in range(20)]
    finally:
        name_keys(None)


def test_a_name_has_its_own_keys_and_has_them_again():
    assert words("one") == words("one")
    assert len({*words("one"), *words("another")}) == 40


@pytest.mark.entropy
def test_a_test_of_entropy_meets_the_library_itself():
    assert randomness._fresh_key.__module__ == randomness.__name__
    assert randomness._fresh_key() != randomness._fresh_key()


@pytest.mark.entropy
def test_without_a_name_nothing_repeats():
    assert len({*words(None), *words(None)}) == 40
