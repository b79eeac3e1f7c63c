"""How trees share records and a budget: which coin, how often, at what cost."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Budget, PerRecordCoin, WeightedCoin
from hedgerow.privacy.accounting import PerRecordAssignment, Pure, Sequence, Subsampled, amplified, before_amplification
from hedgerow.trees.parts import AllRecords, PerRecord, Sampling, Weighted

TREE = Pure(Fraction(1, 3), "any", "any")
HALF = Fraction(1, 2)


@pytest.mark.parametrize("concentrated", [False, True])
def test_trees_of_their_own_records_spend_the_whole_budget_and_those_of_all_records_a_part(concentrated):
    budget = Budget(Fraction(1), concentrated)
    assert PerRecord().sampling(budget, 5) == Sampling(1, PerRecordCoin(5), budget)
    assert AllRecords().sampling(budget, 5) == Sampling(5, PerRecordCoin(1), budget / 5)
    assert PerRecord().sampling(budget, 5).event(TREE) == PerRecordAssignment(TREE, 5)
    assert AllRecords().sampling(budget, 1).event(TREE) == PerRecordAssignment(TREE, 1)
    assert AllRecords().sampling(budget, 5).event(TREE) == Sequence((PerRecordAssignment(TREE, 1),) * 5)


@pytest.mark.parametrize("inclusion", [Fraction(1, 4), HALF])
def test_trees_of_samples_spend_what_amplification_leaves_of_their_part(inclusion):
    sampling = Weighted(inclusion).sampling(Budget(Fraction(1)), 4)
    assert sampling == Sampling(4, WeightedCoin(inclusion), Budget(before_amplification(Fraction(1, 4), inclusion)))
    assert amplified(sampling.budget.amount, inclusion) <= Fraction(1, 4) < sampling.budget.amount
    assert sampling.event(TREE) == Sequence((Subsampled(TREE, inclusion),) * 4)
    assert Weighted(inclusion).sampling(Budget(Fraction(1)), 1).event(TREE) == Subsampled(TREE, inclusion)


def test_a_sample_has_no_guarantee_with_delta_but_where_every_record_is_in_it():
    budget = Budget(Fraction(1), True)
    with pytest.raises(ConfigurationError, match="only pure epsilon is amplified"):
        Weighted(HALF).sampling(budget, 2)
    assert Weighted().sampling(budget, 2) == Sampling(2, WeightedCoin(Fraction(1)), budget / 2)
