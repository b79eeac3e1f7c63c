"""The norms of docs/proofs/hedgerow.md in exact fractions, and what the public parts of a round are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.boosting.gradients import Gradients, cap_of, intercept_of
from hedgerow.boosting.weights import UNIT, VOTE_STEPS

KINDS = [(k, normal, strict) for k in (1, 2, 3, 5, 40) for normal in (True, False) for strict in (True, False)]
of_every_kind = pytest.mark.parametrize(("n_classes", "normal", "strict"), KINDS)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 7, 100, 1000])
def test_a_cap_is_that_of_the_proof_rounded_down(n_classes):
    assert cap_of(n_classes) == math.floor(UNIT * (1 - Fraction(4, 5 * n_classes)))
    assert cap_of(n_classes, strict=True) == math.floor(UNIT * (1 - Fraction(1, 2 * n_classes)))
    for strict in (True, False):
        assert Gradients(n_classes, normal=True, strict=strict).cap == cap_of(n_classes, strict=strict)


@of_every_kind
def test_norms_are_those_of_the_proof_at_the_cap_and_rounded_up(n_classes, normal, strict):
    rule = Gradients(n_classes, normal, strict)
    c, cap = Fraction(rule.curvature), Fraction(rule.cap, UNIT)
    above = cap + Fraction(1, UNIT)  # where a record of more than two classes may be before t is rounded down
    curvature = math.ceil(UNIT * c * cap * (1 - cap))
    usual = {(True, True): 1.5, (True, False): 1, (False, True): 1.5, (False, False): 0.5}[n_classes == 2, normal]
    assert c == (2 if strict and n_classes == 2 and normal else usual)
    if n_classes == 2:
        assert (rule.scored, rule.channels, rule.scored_l1) == (1, 2, rule.cap)
        assert rule.l1 == rule.cap + curvature
        assert rule.l2_squared == rule.cap**2 + curvature**2
        return
    assert (rule.scored, rule.channels, rule.scored_l1) == (n_classes, 2 * n_classes, 2 * rule.cap)
    if rule.by_share:
        assert rule.l2_squared == 2 * (rule.cap + 1) ** 2 + (UNIT * c) ** 2
        assert rule.l1 == 2 * rule.cap + UNIT * c
    else:
        assert rule.l2_squared == 2 * ((rule.cap + 1) ** 2 + curvature**2)
        assert rule.l1 == 2 * rule.cap + math.ceil(UNIT * c * above * (2 - above))


@of_every_kind
def test_shares_stand_for_curvatures_where_more_than_two_classes_are_measured_without_a_delta(
    n_classes, normal, strict
):
    assert Gradients(n_classes, normal, strict).by_share == (n_classes > 2 and not normal)


@of_every_kind
def test_channels_are_whole_numbers(n_classes, normal, strict):
    channels = Gradients(n_classes, normal, strict)(
        np.zeros((3, n_classes), dtype=np.int32), np.array([0, -1, 0], dtype=np.int16)
    )
    assert channels.dtype == np.int64
    assert channels.shape == (3, 2 if n_classes == 2 else 2 * n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_exponentials_fall_from_a_million_to_one(n_classes):
    table = Gradients(n_classes, normal=True)._exponentials.tolist()
    assert table == [round(2**20 * math.exp(-place / VOTE_STEPS)) for place in range(len(table))]
    assert table[0] == 2**20
    assert table[-1] == 1  # beyond the end all are the last: one, so that no mass is none


@pytest.mark.parametrize(
    "shares", [(0.5, 0.5), (0.9, 0.1), (1.0, 0.0), (0.2, 0.3, 0.5), (0.98, 0.01, 0.01), (1.0, 0.0, 0.0)]
)
@pytest.mark.parametrize("strict", [True, False])
def test_the_first_curvature_is_that_of_so_many_records_of_these_shares(shares, strict):
    rule, cap = Gradients(len(shares), normal=True, strict=strict), cap_of(len(shares), strict=strict) / UNIT
    weight = sum(p * (min(1, cap / (1 - p)) if p < 1 else 1) for p in shares)
    expected = [12.5 * weight * p * (1 - p) for p in shares][: rule.scored]
    assert rule.first_curvature(12.5, np.array(shares)).tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_curvatures_are_read_off_shares_and_noise_below_zero_is_none():
    by_share, plain = Gradients(3, normal=False), Gradients(3, normal=True)
    measured = np.array([6.0, 2.0, -1.0])
    assert by_share.curvature_of(measured).tolist() == [6 * (1 - 6 / 8), 2 * (1 - 2 / 8), 0]
    assert by_share.curvature_of(np.array([-1.0, -5.0, 0.0])).tolist() == [0, 0, 0]
    assert plain.curvature_of(measured).tolist() == measured.tolist()


def test_even_weights_move_no_votes_and_others_move_them_against_the_heavier_class():
    """Of two classes whose shares the cap leaves alone the odds move by the quotient of the weights."""
    assert intercept_of(np.ones(4), cap_of(4)).tolist() == [0, 0, 0, 0]
    assert intercept_of(np.ones(4), cap_of(4)).dtype == np.int64
    assert intercept_of(np.array([1.0, 1.5]), cap_of(2)).tolist() == pytest.approx(
        [-VOTE_STEPS * math.log(1.5) / 2, VOTE_STEPS * math.log(1.5) / 2], abs=0.51
    )
