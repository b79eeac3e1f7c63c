"""Permute-and-flip and the exponential mechanism: draws against laws, laws against brute force."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from costs import event_of, stated
from goodness import FITS, p_value
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import moved_key

from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Exponential, PermuteAndFlip, PublicChoice
from hedgerow.mechanisms.kernels import open_stream
from hedgerow.privacy.accounting import cost

KEY = moved_key(bytes(range(7, 39)))
DRAWS = 40_000
BOTH = [PermuteAndFlip, Exponential]

score_rows = st.lists(st.integers(-40, 40), min_size=1, max_size=5)


def drawn(mechanism, scores, offered, number=1, draws=DRAWS):
    rows = np.tile(np.asarray(scores, dtype=np.int64), (draws, 1)), np.tile(np.asarray(offered), (draws, 1))
    chosen = mechanism.sample(open_stream(KEY, number), *rows)
    return np.bincount(chosen, minlength=len(scores))


def brute_force(accept: list[Fraction]) -> list[Fraction]:
    """Permute-and-flip by its definition: all orders, and in each the first candidate whose coin succeeds."""
    law = [Fraction(0)] * len(accept)
    for order in permutations(range(len(accept))):
        still = Fraction(1, math.factorial(len(accept)))
        for candidate in order:
            law[candidate] += still * accept[candidate]
            still *= 1 - accept[candidate]
    return law


@given(score_rows, st.sampled_from(["1/100", "1/3", "2"]))
@settings(max_examples=60, deadline=None)
def test_permute_and_flip_law_is_the_brute_force_over_all_orders(scores, epsilon):
    mechanism = PermuteAndFlip(Fraction(epsilon), 2)
    rate = float(mechanism.rate.fraction)
    accept = [Fraction(math.exp(-rate * (max(scores) - score))) for score in scores]
    law = mechanism.law(np.array(scores), np.ones(len(scores), dtype=bool))
    np.testing.assert_allclose(law, [float(mass) for mass in brute_force(accept)], rtol=1e-12)


@given(score_rows, st.data())
@settings(max_examples=60, deadline=None)
def test_law_leaves_out_what_is_not_offered(scores, data):
    offered = np.array(data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores))))
    offered[data.draw(st.integers(0, len(scores) - 1))] = True
    for kind in BOTH:
        mechanism = kind(Fraction(1, 3), 2)
        law = mechanism.law(np.array(scores), offered)
        alone = mechanism.law(np.array(scores)[offered], np.ones(offered.sum(), dtype=bool))
        assert (law[~offered] == 0).all()
        np.testing.assert_allclose(law[offered], alone, rtol=1e-12)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_laws_sum_to_one(scores):
    for kind in BOTH:
        law = kind(Fraction(1, 10), 100).law(np.array(scores), np.ones(len(scores), dtype=bool))
        assert law.sum() == pytest.approx(1, abs=1e-10)
        assert (law >= 0).all()


@given(score_rows, st.integers(-(2**50), 2**50))
@settings(max_examples=30, deadline=None)
def test_only_differences_of_scores_count(scores, shift):
    for kind in BOTH:
        mechanism, everything = kind(Fraction(1), 2), np.ones(len(scores), dtype=bool)
        np.testing.assert_allclose(
            mechanism.law(np.array(scores), everything), mechanism.law(np.array(scores) + shift, everything), rtol=1e-12
        )
        rows = np.array([scores], dtype=np.int64), everything[None]
        assert mechanism.sample(open_stream(KEY, 1), *rows) == mechanism.sample(
            open_stream(KEY, 1), rows[0] + shift, rows[1]
        )


def test_exponential_law_is_the_definition_with_weights():
    mechanism, scores, weights = Exponential(Fraction(1), 2), np.array([3, -4, 0, 9]), np.array([5, 1, 0, 2])
    mass = weights * np.exp(float(mechanism.rate.fraction) * scores)
    np.testing.assert_allclose(mechanism.law(scores, weights), mass / mass.sum(), rtol=1e-12)


CASES = [
    ([0, 3, 5, 5, -2], [True] * 5),
    ([10, 6, 9, 2, 7, 10, 8], [True, True, False, True, True, True, False]),
    ([4, 100, 3, 1], [True, False, True, True]),
    ([2, 0], [True, True]),
]


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("scores", "offered"), CASES)
def test_draws_follow_the_law_and_no_other(kind, scores, offered):
    scores, offered, epsilon = np.array(scores), np.array(offered), Fraction(1, 2)
    mechanism = kind(epsilon, 1)
    counts = drawn(mechanism, scores, offered)
    assert p_value(counts, mechanism.law(scores, offered)) > FITS
    assert (counts[~offered] == 0).all()
    for wrong in (Fraction(115, 100), Fraction(85, 100)):
        assert p_value(counts, kind(epsilon * wrong, 1).law(scores, offered)) < FITS


@pytest.mark.parametrize("kind", BOTH)
def test_a_rate_ten_percent_wrong_is_seen(kind):
    scores, offered = np.arange(12) * 2, np.ones(12, dtype=bool)
    counts = drawn(kind(Fraction(1, 4), 1), scores, offered)
    assert p_value(counts, kind(Fraction(1, 4), 1).law(scores, offered)) > FITS
    for wrong in (Fraction(11, 40), Fraction(9, 40)):
        assert p_value(counts, kind(wrong, 1).law(scores, offered)) < FITS


@pytest.mark.parametrize("kind", BOTH)
def test_draws_follow_the_law_where_differences_have_high_digits(kind):
    """Gini steps at 1e9 records: differences beyond 2**40, rates of a billionth."""
    scores = np.array([2**42, 2**42 - 2**41 - 2**22 - 5, 2**42 - 3 * 2**39, -(2**30), 2**42 - 1])
    mechanism = kind(Fraction(1, 10**9), 2048)
    counts = drawn(mechanism, scores, np.ones(5, dtype=bool))
    assert mechanism.law(scores, np.ones(5, dtype=bool)).min() > 0.01
    assert p_value(counts, mechanism.law(scores, np.ones(5, dtype=bool))) > FITS
    wrong = kind(Fraction(5, 4) / 10**9, 2048)
    assert p_value(counts, wrong.law(scores, np.ones(5, dtype=bool))) < FITS


def test_the_two_mechanisms_are_not_the_same():
    scores, offered = np.array([0, 1, 2]), np.ones(3, dtype=bool)
    counts = drawn(PermuteAndFlip(Fraction(1), 1), scores, offered)
    assert p_value(counts, Exponential(Fraction(1), 1).law(scores, offered)) < FITS


def test_exponential_draws_by_weights():
    mechanism, scores, weights = Exponential(Fraction(1, 2), 1), np.array([9, 3, 1, 4, 0]), np.array([0, 1, 7, 2, 20])
    counts = drawn(mechanism, scores, weights)
    assert counts[0] == 0
    assert p_value(counts, mechanism.law(scores, weights)) > FITS
    assert p_value(counts, mechanism.law(scores, np.array([0, 1, 8, 2, 20]))) < FITS
    assert p_value(counts, Exponential(Fraction(11, 20), 1).law(scores, weights)) < FITS


def test_exponential_with_the_largest_weights():
    scores, weights = np.array([0, 0, 5]), np.array([2**61, 2**60, 2**60 - 1])
    counts = drawn(Exponential(Fraction(1, 10), 1), scores, weights, draws=20_000)
    assert p_value(counts, Exponential(Fraction(1, 10), 1).law(scores, weights)) > FITS


@pytest.mark.parametrize("kind", BOTH)
def test_one_offered_candidate_is_chosen(kind):
    scores, offered = np.array([50, -(2**40), 60]), np.array([False, True, False])
    assert drawn(kind(Fraction(1), 1), scores, offered, draws=100).tolist() == [0, 100, 0]


@pytest.mark.parametrize("kind", BOTH)
def test_rows_are_independent_and_keep_their_order(kind):
    """Row i of a batch answers for row i, whatever stands in the others."""
    scores = np.array([[0, 1000, 0], [1000, 0, 0], [0, 0, 1000]] * 50)
    offered = np.ones(scores.shape, dtype=bool)
    assert kind(Fraction(1), 1).sample(open_stream(KEY, 1), scores, offered).tolist() == [1, 0, 2] * 50
    ties = kind(Fraction(1), 1).sample(open_stream(KEY, 2), np.zeros((DRAWS, 2), np.int64), np.ones((DRAWS, 2), bool))
    pairs = np.bincount(2 * ties[:-1:2] + ties[1::2], minlength=4)
    assert p_value(pairs, np.full(4, 1 / 4)) > FITS


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("score_range", [1, 2, 3, 2048])
@pytest.mark.parametrize("epsilon", ["1/1000000000", "1/10", "1", "1000000000"])
def test_selection_costs_at_most_its_budget_and_hardly_less(kind, epsilon, score_range):
    mechanism = kind(Fraction(epsilon), score_range)
    assert Fraction(epsilon) * (1 - Fraction(1, 2**42)) <= stated(mechanism) <= Fraction(epsilon)
    event = mechanism.event("test of a node", "Gini score", 2)
    assert (event.epsilon, event.level, event.purpose) == (mechanism.rate.fraction * score_range, 2, "test of a node")
    assert event.mechanism == f"{mechanism.name}, Gini score, range {score_range}"
    assert mechanism.rate.numerator < 2**43
    assert mechanism.rate.bits <= 120


def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism():
    generator = np.random.default_rng(5)
    for _ in range(200):
        scores = generator.integers(-9, 10, generator.integers(2, 7))
        everything = np.ones(len(scores), dtype=bool)
        gain = [kind(Fraction(1, 2), 1).law(scores, everything) @ scores for kind in BOTH]
        assert gain[0] >= gain[1] - 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("kind", BOTH)
def test_draws_follow_the_law_at_a_million_draws(kind):
    scores, offered = np.arange(10) * 3, np.ones(10, dtype=bool)
    counts = drawn(kind(Fraction(1, 4), 1), scores, offered, draws=1_000_000)
    assert p_value(counts, kind(Fraction(1, 4), 1).law(scores, offered)) > FITS
    assert p_value(counts, kind(Fraction(51, 200), 1).law(scores, offered)) < FITS


@pytest.mark.parametrize("kind", BOTH)
def test_what_is_not_offered_moves_no_probability_however_high_its_score(kind):
    mechanism, offered = kind(Fraction(1), 1), np.array([True, True, False])
    law = mechanism.law(np.array([0, 1, 10**6]), offered)
    np.testing.assert_allclose(law, [*mechanism.law(np.array([0, 1]), offered[:2]), 0], rtol=1e-12)


def test_a_public_choice_follows_its_weights_alone():
    weights = np.tile(np.array([5, 0, 2, 9]), (DRAWS, 1))
    counts = np.bincount(PublicChoice().sample(open_stream(KEY, 3), weights), minlength=4)
    assert counts[1] == 0
    assert p_value(counts[[0, 2, 3]], PublicChoice().law(np.array([5, 2, 9]))) > FITS
    assert p_value(counts[[0, 2, 3]], PublicChoice().law(np.array([5, 3, 9]))) < FITS
    np.testing.assert_allclose(PublicChoice().law(np.array([5, 0, 2, 9])), np.array([5, 0, 2, 9]) / 16, rtol=1e-15)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_a_selection_is_as_concentrated_as_its_price(kind, epsilon):
    """Permute-and-flip's loss spreads further than epsilon, so it must not be priced like the exponential mechanism."""
    mechanism, every = kind(Fraction(epsilon), 1), np.ones(2, dtype=bool)
    divergences = []
    for gap in range(-40, 41):
        law, moved = (mechanism.law(np.array([gap, 0]), every), mechanism.law(np.array([gap + 1, 0]), every))
        divergences += [(law * np.log(law / moved)).sum(), (moved * np.log(moved / law)).sum()]
    rho = float(cost(event_of(mechanism)).rho)
    assert max(divergences) <= rho * (1 + 1e-9)
    assert mechanism.event("test", "score").level == 0
    if kind is PermuteAndFlip:
        assert max(divergences) > float(cost(event_of(Exponential(Fraction(epsilon), 1))).rho)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("epsilon", "score_range"), [(0, 1), (-1, 1), (1, 0), (1, -2), (-1, -1)])
def test_nothing_is_chosen_for_nothing(kind, epsilon, score_range):
    with pytest.raises(ConfigurationError, match="both must be positive"):
        _ = kind(Fraction(epsilon), score_range).rate
