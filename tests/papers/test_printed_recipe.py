"""The published budgets, and every unprotected step in the certificate."""

from fractions import Fraction

import numpy as np
import pytest
from printed_recipes import forest_plan, shipped

from hedgerow.mechanisms import Randomness
from hedgerow.papers.forest import TWICE_COUNT, TWICE_GINI, FixedSize
from hedgerow.papers.noise import RealPermuteAndFlip
from hedgerow.privacy.accounting import cost
from hedgerow.schema import Categorical, Numeric, Schema

MIXED = Schema({"x": Numeric(0, 1), "c": Categorical(["a", "b"])}, classes=["no", "yes"])
CATEGORIES = Schema({"c": Categorical(["a", "b"])}, classes=["no", "yes"])


def reasons(schema=MIXED, n_estimators=35, max_depth=5):
    plan = forest_plan(shipped("edprf"), schema, Fraction(1), n_estimators=n_estimators, max_depth=max_depth)
    return cost(plan.event).reasons


def levels_of_figure_3():
    return shipped("edprf").shares(Fraction(1), 1, 2)


def test_figure_3_of_the_paper():
    levels = levels_of_figure_3()
    assert [f"{float(level.test):.2f}" for level in levels[:2]] == ["0.18", "0.27"]
    assert [f"{float(level.leaf):.2f}" for level in levels[1:]] == ["0.82", "0.55"]


def test_the_factors_are_those_of_equations_12_and_15():
    root = levels_of_figure_3()[0]
    assert float(RealPermuteAndFlip(root.test, TWICE_GINI).rate.fraction) == pytest.approx(2 / 11 / 4, rel=1e-9)
    assert float(RealPermuteAndFlip(root.leaf, TWICE_COUNT).rate.fraction) == pytest.approx(1 / 2, rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "absent"),
    [
        ({"n_estimators": 1}, "subsets"),
        ({"schema": CATEGORIES}, "numeric features"),
        ({"max_depth": 0}, "single class"),
    ],
)
def test_a_step_that_is_not_taken_is_not_named(settings, absent):
    assert any(absent in reason for reason in reasons())
    assert not any(absent in reason for reason in reasons(**settings))


@pytest.mark.parametrize(("records", "size"), [(10, 3), (12, 4), (2, 0)])
def test_subsets_have_one_size_and_share_no_record(records, size):
    subsets = FixedSize().subsets(np.ones(records, dtype=bool), 3, Randomness(1))
    assert [len(subset) for subset in subsets] == [size] * 3
    assert len(np.unique(np.concatenate(subsets))) == 3 * size
