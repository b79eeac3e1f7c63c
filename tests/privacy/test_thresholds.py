"""Thresholded steps in sums: their deltas add up apart from every other sum, and twice for one record replaced."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

import hedgerow as hr
from hedgerow.privacy.accounting import (
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
    Thresholded,
    cost,
)
from hedgerow.privacy.filter import PrivacyFilter

ONE = Thresholded(Fraction(1, 2), "m", "p", delta=Fraction(1, 1000))
OTHER = Pure(Fraction(1, 2), "m", "p")


def test_deltas_of_thresholds_add_up_and_count_once_where_one_of_several_runs():
    assert cost(ONE).thresholds == Fraction(1, 1000)
    assert cost(Sequence((ONE, ONE, ONE, OTHER))).thresholds == Fraction(3, 1000)
    assert cost(Parallel((ONE, ONE))).thresholds == Fraction(2, 1000)
    assert cost(OneOf((ONE, OTHER, ONE))).thresholds == Fraction(1, 1000)
    assert cost(PerRecordAssignment(ONE, 5)).thresholds == Fraction(5, 1000)
    assert not cost(Subsampled(ONE, Fraction(1, 2))).protected
    assert cost(ONE).rho == cost(OTHER).rho


def test_within_is_exact_and_takes_thresholds_twice_for_one_record_replaced():
    total = cost(Sequence((ONE, ONE)))
    assert total.delta(Fraction(1)) <= Fraction(2, 1000)
    assert not total.delta(Fraction(1)) <= Fraction(2, 1000) - Fraction(1, 10**30)
    assert not total.delta(Fraction(999, 1000)) <= Fraction(2, 1000)
    replaced = total.under("replace-one")
    needed = Fraction(2, 1000) * (1 + Fraction(math.e))
    assert replaced.delta(Fraction(2)) <= needed * Fraction(10**6 + 1, 10**6)
    assert not replaced.delta(Fraction(2)) <= needed * Fraction(10**6 - 1, 10**6)


def test_deltas_of_one_record_replaced_are_rounded_up_and_hardly():
    for step in range(1, 200):
        epsilon, delta = Fraction(step, 50), Fraction(step, 10**6)
        found = cost(Thresholded(epsilon, "m", "p", delta=delta)).under("replace-one")
        with localcontext(prec=50):
            right = delta * (1 + Fraction((Decimal(step) / 50).exp()))
        assert not found.delta(2 * epsilon) <= right - Fraction(1, 10**30)
        assert found.delta(2 * epsilon) <= right * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("parts", [(ONE, OTHER), (OTHER, ONE), (ONE, ONE)])
def test_sums_and_maxima_of_costs_for_one_record_replaced_are_those_of_the_plans(parts):
    one, other = (cost(part).under("replace-one") for part in parts)
    assert one + other == cost(Sequence(parts)).under("replace-one")
    assert one | other == cost(Parallel(parts)).under("replace-one")


def test_beside_normal_noise_they_are_added():
    noise = Gaussian(Fraction(1, 100), 10, "p")
    both = cost(Sequence((noise, ONE)))
    alone = cost(Sequence((noise, OTHER)))
    assert both.delta(Fraction(2)) == pytest.approx(alone.delta(Fraction(2)) + 1e-3)
    replaced = both.under("replace-one").delta(Fraction(3)) - alone.under("replace-one").delta(Fraction(3))
    assert replaced == pytest.approx(1e-3 * (1 + math.exp(3)))


def test_a_filter_stops_at_its_ceiling():
    spent = PrivacyFilter(cost(Sequence((ONE, ONE)))).charged(cost(ONE)).charged(cost(ONE))
    assert spent.total.thresholds == Fraction(2, 1000)
    for extra in (ONE, OTHER):
        with pytest.raises(hr.BudgetExceeded):
            spent.charged(cost(extra))
    with pytest.raises(hr.BudgetExceeded):
        PrivacyFilter(cost(Sequence((OTHER, OTHER)))).charged(cost(ONE))
    wide = replace(cost(Sequence((ONE,) * 3)), thresholds=Fraction(1, 1000), thresholds_for=1)
    with pytest.raises(hr.BudgetExceeded):
        PrivacyFilter(wide).charged(cost(ONE)).charged(cost(ONE))
