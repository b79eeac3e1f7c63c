"""The exact law of the shipped grower: never above the claim, and close enough to it to mean something."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from audit_helpers import TwiceTheRate, worst_over
from helpers import PoissonCoin, data_sets, exact_law, grow, released, total
from scipy.stats import chi2
from seeds import FITS, moved_key

from hedgerow.audit import Grid
from hedgerow.audit.exact import Replay, open_law, worst_event, worst_loss
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Budget, Geometric, PerRecordCoin, Randomness, RoundedNormal
from hedgerow.mechanisms.kernels import open_stream
from hedgerow.papers.noise import Permutation
from hedgerow.privacy.accounting import before_amplification
from hedgerow.trees import AllRecords, Forest, NoisyMinority, Recipe, SelectLabel
from hedgerow.trees.parts import Sampling


def law_of(records: tuple, fit: Callable[[tuple, Randomness], Forest] = grow) -> dict:
    return open_law(lambda source: released(fit(records, source)))


def worst_over_neighbors(most: int, fit: Callable[[tuple, Randomness], Forest]) -> tuple[float, int]:
    laws = {records: law_of(records, fit) for records in data_sets(most)}
    return worst_over(laws), len(laws)


def test_exact_law_is_a_law_and_agrees_with_the_sampler() -> None:
    records = ((0, 0, 0), (0, 1, 1), (1, 1, 1))
    law = exact_law(lambda source: released(grow(records, source, epsilon=Fraction(4))))
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    runs = 1000
    seen = [released(grow(records, Randomness(seed), epsilon=Fraction(4))) for seed in range(runs)]
    counts = np.array([seen.count(key) for key in law])
    expected = np.array([probability * runs for probability in law.values()])
    assert counts.sum() == runs
    statistic = float(((counts - expected) ** 2 / expected).sum())
    freedom = len(law) - 1
    assert chi2.sf(statistic, freedom) > FITS
    wrong = exact_law(lambda source: released(grow(records, source, epsilon=Fraction(6))))
    expected = np.array([wrong[key] * runs for key in law])
    assert chi2.sf(float(((counts - expected) ** 2 / expected).sum()), freedom) < FITS


@pytest.mark.parametrize("most", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_private_tree_costs_at_most_epsilon_on_all_data_sets_of_so_few_records(most: int) -> None:
    worst, count = worst_over_neighbors(most, grow)
    assert count == {3: 165, 4: 495}[most]
    assert 0.6 < worst <= 1 + 1e-9


GROWN = {
    "noisy stop": ({"recipe": Recipe(stop=NoisyMinority())}, 0.8),
    "two trees": ({"trees": 2, "depth": 1}, 0.6),
    "shared records": ({"recipe": Recipe(assign=AllRecords()), "trees": 2, "depth": 0}, 0.8),
}


@pytest.mark.parametrize("most", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", GROWN)
def test_private_trees_cost_at_most_epsilon_on_small_data_sets(name: str, most: int) -> None:
    settings, floor = GROWN[name]
    worst, _ = worst_over_neighbors(most, lambda records, source: grow(records, source, **settings))
    assert floor < worst <= 1 + 1e-9


@dataclass(frozen=True)
class PoissonSample:
    """Every tree reads each record with one probability."""

    probability: Fraction

    def sampling(self, budget, trees) -> Sampling:
        amount = before_amplification(budget.amount / trees, self.probability)
        return Sampling(trees, PoissonCoin(self.probability), Budget(amount))


def test_a_poisson_sample_costs_its_amplified_budget():
    """Five records of one class and one of the other: the loss is just below epsilon, and above it at a larger budget."""

    def loss(epsilon: Fraction) -> float:
        recipe = Recipe(assign=PoissonSample(Fraction(3, 4)))
        laws = [
            law_of(d, lambda records, source: grow(records, source, recipe=recipe, depth=0, epsilon=epsilon))
            for d in (((0, 0, 0),) * 5, ((0, 0, 0),) * 5 + ((0, 0, 1),))
        ]
        return worst_loss(*laws)

    assert 0.85 < loss(Fraction(1)) <= 1 + 1e-9
    assert loss(Fraction(12, 10)) > 1


def test_replace_one_plan_costs_at_most_epsilon_when_a_record_is_replaced() -> None:
    sets = list(data_sets(2))
    laws = {d: law_of(d, lambda records, source: grow(records, source, epsilon=Fraction(1, 2))) for d in sets}
    pairs = [(a, b) for a in sets for b in sets if len(a) == len(b) == 2 and len(set(a) & set(b)) == 1]
    worst = max(worst_loss(laws[a], laws[b]) for a, b in pairs)
    assert 0.5 < worst <= 1 + 1e-9


def test_the_audit_catches_a_label_mechanism_that_books_half_of_its_cost() -> None:
    recipe = Recipe(leaf=SelectLabel(TwiceTheRate))
    worst, _ = worst_over_neighbors(3, lambda records, source: grow(records, source, recipe=recipe, depth=0))
    assert worst > 1.5


def test_supports_that_differ_are_an_infinite_loss() -> None:
    assert worst_loss({"a": 1.0}, {"a": 0.5, "b": 0.5}) == math.inf


def test_a_delta_forgives_releases_of_as_much_probability() -> None:
    law, other = {"a": 0.9, "b": 0.1}, {"a": 0.5, "c": 0.5}
    assert worst_loss(law, other, 0.1) == math.inf
    assert worst_loss(law, other, 0.5) == pytest.approx(math.log((0.9 + 0.1 - 0.5) / 0.5))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_loss_at_a_delta_is_where_the_hockey_stick_is_that_large(epsilon: float) -> None:
    rng = np.random.default_rng(int(10 * epsilon))
    p, q = rng.dirichlet(np.full(12, 0.5), 2)
    delta = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
    assert worst_event(dict(enumerate(p)), dict(enumerate(q)), delta).loss == pytest.approx(epsilon)


def test_orders_of_records_are_walked_through_and_not_told() -> None:
    law = exact_law(lambda source: (source.draw(Permutation(), 3).tobytes(), tuple(source.told)))
    drawn = {Permutation().sample(open_stream(moved_key(b"0" * 32), number), 3).tobytes() for number in range(300)}
    assert sum(law.values()) == pytest.approx(1)
    assert drawn <= {rows for rows, _ in law}
    assert {told for _, told in law} == {()}
    assert len(law) == 6


@pytest.mark.parametrize("noise", [Geometric(Fraction(1)), RoundedNormal(Fraction(1))])
def test_a_grid_tells_all_of_a_count(noise: Geometric | RoundedNormal) -> None:
    grid = Grid((-2, 0, 3), (-2, 0, 3, 4))
    law = grid.law(noise, 1)
    assert law.sum() == pytest.approx(1)
    drawn = noise.sample(open_stream(moved_key(b"1" * 32), 1), np.ones(20_000, dtype=np.int64))
    cells = np.bincount(np.searchsorted(np.array(grid.ends), drawn), minlength=4) / 20_000
    assert np.abs(cells - law).max() < 0.02


def test_a_grid_without_ends_tells_nothing() -> None:
    nothing = Grid((), (3,))
    assert nothing.law(Geometric(Fraction(1)), 7).tolist() == [1.0]
    noise, counts = Geometric(Fraction(1)), np.array([1, 2])
    assert exact_law(lambda source: tuple(source.draw(noise, counts).tolist()), nothing) == {(3, 3): 1.0}


def test_items_of_a_last_draw_that_a_record_does_not_move_are_left_out() -> None:
    """400 counts have 2**400 joint outcomes, but one record is in one of them."""
    noise, few = Geometric(Fraction(1)), np.zeros(400, dtype=np.int64)
    more = few + (np.arange(400) == 7)
    laws = [open_law(lambda source, counts=counts: source.draw(noise, counts).size) for counts in (few, more)]
    assert worst_loss(*laws) == pytest.approx(1)
    assert total(laws[0]) == pytest.approx(1)
    assert worst_loss(laws[0], laws[0]) == 0


def test_too_many_outcomes_that_a_record_moves_are_refused() -> None:
    noise, few = Geometric(Fraction(1)), np.zeros(40, dtype=np.int64)
    laws = [open_law(lambda source, counts=counts: source.draw(noise, counts).size) for counts in (few, few + 1)]
    with pytest.raises(ConfigurationError, match="too many outcomes"):
        worst_loss(*laws)


def test_a_mixture_over_hidden_coins_is_that_of_the_whole_law() -> None:
    """Items that only one of the coins moves are not independent of the others, and are not left out."""
    coin, noise = PerRecordCoin(2), Geometric(Fraction(1))

    def told(records: int) -> tuple[dict, dict]:
        def fit(source: Replay) -> tuple:
            part = source.coins(coin).parts(0, records)
            source.draw(noise, np.bincount(part, minlength=2))
            return ()

        def whole(source: Replay) -> tuple:
            fit(source)
            return tuple(source.told)

        return open_law(fit), exact_law(whole)

    (first, first_whole), (second, second_whole) = told(2), told(3)
    assert worst_loss(first, second) == pytest.approx(worst_loss(first_whole, second_whole))
    assert worst_loss(first, second, 0.01) == pytest.approx(worst_loss(first_whole, second_whole, 0.01))
    assert 0.3 < worst_loss(first, second) <= 1


def test_a_grid_needs_an_answer_for_every_cell() -> None:
    with pytest.raises(ConfigurationError, match="one answer more"):
        Grid((0,), (0, 1, 2))
