"""Where the published forms are not epsilon-DP: the counterexamples of docs/proofs, by exact laws.

The single-class stop and the bins in nodes stand in test_printed_trees.py.
"""

import math
from fractions import Fraction

import laws
import numpy as np
import pytest
from printed_recipes import SYSTEMS, forest_plan, shipped

from hedgerow.papers.forest import TWICE_COUNT
from hedgerow.papers.noise import Laplace, RealPermuteAndFlip
from hedgerow.privacy.accounting import cost
from hedgerow.schema import Categorical, Schema

COIN = Schema({"c": Categorical(["a", "b"])}, classes=["no", "yes"])
BOTH = np.ones(2, dtype=bool)


@pytest.mark.parametrize("trees", [2, 3, 4, 35])
def test_subsets_of_one_size_lose_on_every_tree(trees):
    """Lemma 5: n = m T + T - 1 equal records and one more make every subset larger."""
    leaf = RealPermuteAndFlip(shipped("edprf").shares(Fraction(1), trees, 0)[0].leaf, TWICE_COUNT)
    records = 5 * trees + trees - 1
    before, after = records // trees, (records + 1) // trees
    loss = trees * math.log(leaf.law(np.array([before, 0]), BOTH)[1] / leaf.law(np.array([after, 0]), BOTH)[1])
    assert loss == pytest.approx(trees / 2, rel=1e-6)


def test_a_bootstrap_record_is_there_many_times():
    """Lemma 6: one record of class 1 is added to 59 of class 0, and its class's noisy count is far out."""
    leaf = Laplace(shipped("diffprf_deng").shares(Fraction(2), 1, 0)[0].leaf)  # half of it for the count of the node
    assert leaf.epsilon == 1
    n, far = 60, 200.0
    weights = np.full(n, 1 / n)
    with_record = math.fsum(
        laws.of_resample(weights, times, 0) * laws.of_laplace(leaf, times, far)[1] for times in range(n + 1)
    )
    loss = math.log(with_record / laws.of_laplace(leaf, 0, far)[1])
    assert loss == pytest.approx(n * math.log1p(math.expm1(1) / n), rel=1e-9)
    assert f"{loss:.3f}" == "1.694"


def test_every_failure_is_in_its_certificate():
    said = {name: " ".join(reasons_of(name)) for name in SYSTEMS}
    assert "17.5" in said["edprf"]
    assert "0.0408108" in said["diffprf_deng"]  # e^0.04 - 1: 25 trees at epsilon 1


def reasons_of(name):
    plan = forest_plan(SYSTEMS[name].recipe, COIN, Fraction(1), n_estimators=SYSTEMS[name].n_estimators, max_depth=2)
    return cost(plan.event).reasons
