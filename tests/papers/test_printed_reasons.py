"""Certificates of boosting systems as printed name every unprotected step."""

from fractions import Fraction

import pytest
from printed_boosting_recipes import SYSTEMS, adaboost, cart_dps_adaboost, dp_adaboost, dpada
from printed_recipes import boosting_plan

from hedgerow.papers.cart import CartTree, PrintedCart
from hedgerow.privacy.accounting import cost, event_from_dict, event_to_dict
from hedgerow.privacy.certificate import Certificate
from hedgerow.schema import Categorical, Numeric, Schema

SCHEMA = Schema({"x": Numeric(0, 1), "c": Categorical(["a", "b", "d"])}, classes=["no", "yes"])


def plan(recipe, epsilon=1, rounds=5):
    return boosting_plan(recipe, SCHEMA, Fraction(epsilon), rounds=rounds)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("rounds", [1, 2, 30])
def test_the_certificate_never_holds(system, rounds):
    event = plan(SYSTEMS[system].recipe, rounds=rounds).event
    certificate = Certificate("DPAda", "published", Fraction(1), Fraction(0), "add-remove", event)
    assert not certificate.holds
    assert certificate.spent is None
    assert event_from_dict(event_to_dict(event)) == event
    assert all(reason in certificate.details() for reason in cost(event).reasons)


def reasons(recipe, rounds=10, epsilon=1):
    return cost(plan(recipe, epsilon, rounds).event).reasons


def test_every_unprotected_step_of_dpada_is_named():
    stump, scale, budgets, weights, ends, floats = reasons(dpada(), 30)
    assert "best one by the raw records" in stump
    assert "0.297" in scale
    assert "bound nothing" in budgets
    assert "delta = 1" in weights
    assert "number of rounds" in ends
    assert "floating point" in floats
    assert not any("scale" in reason for reason in reasons(dpada(), 1))
    assert not any("scale" in reason for reason in reasons(adaboost(), 30))


def test_every_unprotected_step_of_dp_adaboost_is_named():
    feature, scale, weights, ends, floats = reasons(dp_adaboost())
    assert "feature of every stump" in feature
    assert ".983" in scale
    assert "delta = 1" in weights
    assert "number of rounds" in ends
    assert "floating point" in floats


def test_every_unprotected_step_of_cart_dps_adaboost_is_named():
    sample, single, split, overspent, scale, pruning, budgets, weights, ends, floats = reasons(cart_dps_adaboost())
    assert "with replacement" in sample
    assert ".63" in single
    assert "least raw Gini" in split
    assert "times the tree's budget" in overspent
    assert "max w / e'" in scale
    assert "held out" in pruning
    assert "after an error of 0.2 really 0.4665" in budgets
    assert "negative" in budgets
    assert "delta = 1" in weights
    assert "number of rounds" in ends
    assert "floating point" in floats
    bare = PrintedCart(CartTree(max_depth=0, pruning=None))
    assert not any("single class" in reason or "held out" in reason for reason in reasons(bare))
    assert not any("read off the raw training error" in reason for reason in reasons(bare, rounds=1))


def test_the_papers_tree_spends_more_than_its_budget():
    schema = Schema({str(i): Numeric(0, 1) for i in range(5)}, classes=[0, 1])
    event = boosting_plan(cart_dps_adaboost(), schema, Fraction(1), rounds=10).event
    assert any("1.73 times" in reason for reason in cost(event).reasons)


def test_every_unprotected_step_of_the_code_with_noise_on_votes_is_named():
    found = reasons(SYSTEMS["cart-dps-adaboost as coded"].recipe)
    raw, midpoints, single, pruning, answers, whole, weights, floats = found
    assert "without any noise" in raw
    assert "midpoints" in midpoints
    assert "single class" in single
    assert "lacks" not in single
    assert "held out" in pruning
    assert "what it stores is raw" in answers
    assert "of 10 trees spends the whole epsilon" in whole
    assert "200 epsilon" in whole
    assert "log10" in weights
    assert "floating point" in floats


def test_every_unprotected_step_of_the_code_is_named():
    mean, midpoints, single, pruning, whole, weights, floats = reasons(SYSTEMS["cart-dps-adaboost, noisy gini"].recipe)
    assert "100 epsilon" in mean
    assert "midpoints" in midpoints
    assert "single class" in single
    assert "held out" in pruning
    assert "whole epsilon" in whole
    assert "log10" in weights
    assert "floating point" in floats
