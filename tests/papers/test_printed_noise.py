"""Floating-point noise has the law that the paper states, and a slightly wrong factor is found out."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare
from seeds import FITS

from hedgerow.mechanisms import Randomness
from hedgerow.papers.noise import Permutation, RealPermuteAndFlip

COUNTS = np.array([12, 9, 3, 11])
EVERY = np.ones(4, dtype=bool)


def drawn(mechanism, scores, offered, draws=100_000):
    rows = (np.tile(scores, (draws, 1)), np.tile(offered, (draws, 1)))
    return np.bincount(Randomness(3).draw(mechanism, *rows), minlength=len(scores))


def permute_and_flip(scores, factor):
    """The law of permute-and-flip from its definition: every order, every flip."""
    accept = np.exp(factor * (scores - scores.max()))
    law = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1 / len(orders)
        for candidate in order:
            law[candidate] += left * accept[candidate]
            left *= 1 - accept[candidate]
    return law


@pytest.mark.parametrize(("factor", "fits"), [(1.0, True), (1.25, False), (0.8, False)])
def test_a_leaf_flips_with_half_of_its_budget_per_record(factor, fits):
    found = drawn(RealPermuteAndFlip(Fraction(1, 2), 2), COUNTS, EVERY)
    p = chisquare(found, permute_and_flip(COUNTS, factor * 0.5 / 2) * found.sum()).pvalue
    assert p > FITS if fits else p < FITS


def test_the_law_is_that_of_permute_and_flip():
    scores = np.array([-1.25, -3.5, -0.75])
    law = RealPermuteAndFlip(Fraction(2), 4).law(scores, np.ones(3, dtype=bool))
    np.testing.assert_allclose(law, permute_and_flip(scores, 0.5), rtol=1e-9)


def test_what_is_not_offered_is_never_chosen():
    found = drawn(RealPermuteAndFlip(Fraction(1), 4), np.array([0.0, -3.0, -4.0]), np.array([False, True, True]))
    assert found[0] == 0
    assert chisquare(found[1:], permute_and_flip(np.array([-3.0, -4.0]), 0.25) * found.sum()).pvalue > FITS


def test_every_order_of_the_records_is_equally_likely():
    randomness = Randomness(4)
    found = Counter(tuple(randomness.draw(Permutation(), 3).tolist()) for _ in range(6000))
    expected = Permutation().law(3) * 6000
    assert chisquare([found[order] for order in permutations(range(3))], expected).pvalue > FITS
