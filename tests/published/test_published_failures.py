"""Where the published forms are not epsilon-DP: the counterexamples of docs/proofs, by exact laws.

The single-class stop and the bins in nodes stand in test_published_trees.py.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hedgerow.published import PublishedForestPlan
from hedgerow.published.case import Case
from hedgerow.published.noise import Resample
from published_recipes import SYSTEMS, diffp_id3_with_a_bound, shipped

from hedgerow.privacy.accounting import unprotected
from hedgerow.schema import Categorical, Schema

COIN = Schema({"c": Categorical(["a", "b"])}, classes=["no", "yes"])
BOTH = np.ones(2, dtype=bool)


def leaf_of(recipe, epsilon, trees=1):
    """The leaf mechanism of trees that are one leaf."""
    plan = PublishedForestPlan(recipe, COIN, Fraction(epsilon), n_estimators=trees, max_depth=0)
    return plan.levels[0].leaf


@pytest.mark.parametrize("trees", [2, 3, 4, 35])
def test_subsets_of_one_size_lose_on_every_tree(trees):
    """Lemma 5: n = m T + T - 1 equal records and one more make every subset larger."""
    leaf = leaf_of(shipped("edprf"), 1, trees).selection
    records = 5 * trees + trees - 1
    before, after = records // trees, (records + 1) // trees
    loss = trees * math.log(leaf.law(np.array([before, 0]), BOTH)[1] / leaf.law(np.array([after, 0]), BOTH)[1])
    assert loss == pytest.approx(trees / 2, rel=1e-6)


@pytest.mark.parametrize("trees", [2, 3, 4, 5])
def test_chunks_lose_at_every_border(trees):
    """All data sets of n labels, one record in front: the worst loss over the labels of all trees is (2 T - 1) epsilon."""
    chunks, leaf = shipped("random_chunks").assign, leaf_of(shipped("random_chunks"), 1, trees).selection
    n = 2 * trees - 1

    def logs(labels):
        """The log-probability of each label in each tree, of shape (trees, 2)."""
        subsets = chunks.subsets(np.ones(len(labels), dtype=bool), trees, None)
        counts = [np.bincount(np.array(labels)[subset], minlength=2) for subset in subsets]
        return np.array([table[tuple(pair)] for pair in counts])

    table = {pair: np.log(leaf.law(np.array(pair), BOTH)) for pair in product(range(n + 2), repeat=2)}
    worst = 0.0
    for labels in product((0, 1), repeat=n):
        before = logs(labels)
        for new in (0, 1):
            ratio = before - logs((new, *labels))
            worst = max(worst, ratio.max(axis=1).sum(), (-ratio).max(axis=1).sum())
    assert worst == pytest.approx(2 * trees - 1, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "gap", "about"), [("1", 3, 17.3), ("1", 10, 18924), ("1/2", 8, 8.9)])
def test_a_smooth_label_loses_more_with_every_record(epsilon, gap, about):
    """The minority label after one more record of the majority."""
    leaf = leaf_of(shipped("random_smooth"), epsilon).selection
    loss = leaf.log_law(np.array([gap, 0]))[1] - leaf.log_law(np.array([gap + 1, 0]))[1]
    e = float(Fraction(epsilon))
    assert loss == pytest.approx(e / 2 * math.exp(e * gap) * math.expm1(e), rel=1e-3)
    assert loss == pytest.approx(about, rel=0.01)


def test_a_bootstrap_record_is_there_many_times():
    """Lemma 6: one record of class 1 is added to 59 of class 0, and its class's noisy count is far out."""
    leaf = leaf_of(shipped("diffprf_patil"), 2)  # half of it for the count of the node
    assert leaf.noise.epsilon == 1
    n, far = 60, 200.0
    weights = np.full(n, 1 / n)
    with_record = math.fsum(Resample().law(weights, times, 0) * leaf.noise.law(times, far)[1] for times in range(n + 1))
    loss = math.log(with_record / leaf.noise.law(0, far)[1])
    assert loss == pytest.approx(n * math.log1p(math.expm1(1) / n), rel=1e-9)
    assert f"{loss:.3f}" == "1.694"


@pytest.mark.parametrize(("records", "gap", "loss"), [(1024, 100, "0.37"), (32768, 15000, "27.6")])
def test_a_power_of_two_of_records_moves_the_factor(records, gap, loss):
    """4.14: the worse of two tests, the scores the same, when one record takes n past a power of two."""
    case = Case(shipped("diffp_id3").tests.branching(COIN, 5), Fraction(1), 1, 1)

    def unlikely(n, recipe):
        selection = recipe.split.mechanism(Fraction(1), case, 1).mechanism(n)
        return math.log(selection.law(np.array([0.0, -gap]), BOTH)[1])

    change = unlikely(records + 1, shipped("diffp_id3")) - unlikely(records, shipped("diffp_id3"))
    assert f"{change:.{len(loss.split('.')[1])}f}" == loss
    bounded = diffp_id3_with_a_bound(10**6)
    assert unlikely(records + 1, bounded) == unlikely(records, bounded)


def test_every_failure_is_in_its_certificate():
    said = {name: " ".join(unprotected(system.recipe.event(case_of(name, system)))) for name, system in SYSTEMS.items()}
    assert "(2 T - 1) epsilon = 19" in said["random_chunks"]
    assert "17.3" in said["random_smooth"]
    assert "17.5" in said["edprf"]
    assert "0.105171" in said["diffprf_patil"]  # e^0.1 - 1: ten trees at epsilon 1


def case_of(name, system):
    return Case(system.recipe.tests.branching(COIN, 5), Fraction(1), system.n_estimators, 2)
