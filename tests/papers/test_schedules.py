"""The four schedules of DPAda: how many rounds are noisy."""

from itertools import product

import numpy as np
import pytest

from hedgerow.mechanisms import PublicChoice, Randomness
from hedgerow.papers.dpada import SCHEDULES

# The largest number of marked rounds, and the mean of the number over the coins.
LAWS = {
    "all": (lambda n: n, lambda n: n),
    "from-second": (lambda n: n - 1, lambda n: n - 1),
    "swing": (lambda n: n // 2, lambda n: n // 2),
    "random": (lambda n: n - 1, lambda n: (n - 1) / 2),
    "improved": (lambda n: n // 2, lambda n: (n - 1) / 4),
}


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
    assert SCHEDULES["from-second"](rounds, Randomness(1).draw).sum() == all_rounds
    assert SCHEDULES["swing"](rounds, Randomness(1).draw).sum() == even


@pytest.mark.parametrize(("rounds", "coins", "thinned"), [(30, 14.5, 7.24), (50, 24.5, 12.24), (100, 49.5, 24.8)])
def test_mean_numbers_of_noisy_rounds(rounds, coins, thinned):
    randomness = Randomness(7)
    for schedule, mean in (("random", coins), ("improved", thinned)):
        drawn = [SCHEDULES[schedule](rounds, randomness.draw).sum() for _ in range(2000)]
        error = np.std(drawn) / np.sqrt(len(drawn))
        assert abs(np.mean(drawn) - mean) < 5 * error + 0.06


@pytest.mark.parametrize("rounds", range(1, 9))
@pytest.mark.parametrize("name", SCHEDULES)
def test_the_exact_law_of_the_number(name, rounds):
    most, mean = LAWS[name]
    marked = [SCHEDULES[name](rounds, Coins(coins).draw) for coins in product((0, 1), repeat=rounds)]
    numbers = [int(own.sum()) for own in marked]
    assert max(numbers) == most(rounds)
    assert sum(numbers) == mean(rounds) * len(numbers)
    assert any(own[0] for own in marked) == (name == "all")
    assert all(own.shape == (rounds,) and own.dtype == bool for own in marked)


def test_of_each_run_of_ones_the_first_stays():
    marked = SCHEDULES["improved"](9, Coins([1, 1, 0, 1, 1, 1, 0, 0, 1]).draw)
    assert marked.tolist() == [False, False, False, True, False, False, False, False, True]
