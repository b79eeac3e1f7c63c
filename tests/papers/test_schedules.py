"""The four schedules of DPAda: how many rounds are noisy."""

from itertools import product

import numpy as np
import pytest

from hedgerow.mechanisms import PublicChoice, Randomness
from hedgerow.trees.parts import AfterFirst, EvenRounds, RandomRounds, ThinnedRounds

SCHEDULES = (AfterFirst(), EvenRounds(), RandomRounds(), ThinnedRounds())


class Coins:
    """Randomness with given coins."""

    def __init__(self, coins):
        self.coins = np.array(coins)

    def draw(self, mechanism, weights):
        assert isinstance(mechanism, PublicChoice)
        assert weights.tolist() == [[1, 1]] * len(self.coins)  # fair
        return self.coins


@pytest.mark.parametrize(("rounds", "all_rounds", "even"), [(30, 29, 15), (50, 49, 25), (100, 99, 50)])
def test_schedules_without_coins(rounds, all_rounds, even):
    assert AfterFirst().marked(rounds, Randomness(1).draw).sum() == AfterFirst().most(rounds) == all_rounds
    assert EvenRounds().marked(rounds, Randomness(1).draw).sum() == EvenRounds().most(rounds) == even


@pytest.mark.parametrize(("rounds", "coins", "thinned"), [(30, 14.5, 7.24), (50, 24.5, 12.24), (100, 49.5, 24.8)])
def test_mean_numbers_of_noisy_rounds(rounds, coins, thinned):
    assert RandomRounds().expected(rounds) == coins
    assert float(ThinnedRounds().expected(rounds)) == pytest.approx(thinned, abs=0.06)
    randomness = Randomness(7)
    for schedule in (RandomRounds(), ThinnedRounds()):
        drawn = [schedule.marked(rounds, randomness.draw).sum() for _ in range(2000)]
        error = np.std(drawn) / np.sqrt(len(drawn))
        assert abs(np.mean(drawn) - float(schedule.expected(rounds))) < 5 * error


@pytest.mark.parametrize("rounds", range(1, 9))
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: type(schedule).__name__)
def test_the_exact_law_of_the_number(schedule, rounds):
    marked = [schedule.marked(rounds, Coins(coins).draw) for coins in product((0, 1), repeat=rounds)]
    numbers = [int(own.sum()) for own in marked]
    assert max(numbers) == schedule.most(rounds)
    assert sum(numbers) == schedule.expected(rounds) * len(numbers)
    assert not any(own[0] for own in marked)
    assert all(own.shape == (rounds,) and own.dtype == bool for own in marked)


def test_of_each_run_of_ones_the_first_stays():
    marked = ThinnedRounds().marked(9, Coins([1, 1, 0, 1, 1, 1, 0, 0, 1]).draw)
    assert marked.tolist() == [False, False, False, True, False, False, False, False, True]


def test_theorem_1_of_the_paper():
    for rounds in range(2, 60):
        assert ThinnedRounds().most(rounds) <= EvenRounds().most(rounds) <= AfterFirst().most(rounds)
