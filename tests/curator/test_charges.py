"""What each question charges, draw by draw, and the least noise and range that it takes: one less is refused."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from costs import cost_of
from helpers import PoissonCoin, make_table

from hedgerow.curator import (
    Candidate,
    CompareMinorities,
    Cut,
    Nodes,
    Queryable,
    SelectLabels,
    SelectSpecializations,
    SelectTests,
    Splits,
)
from hedgerow.curator.rounds import check_cuts
from hedgerow.curator.survey import Ones
from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import AtMost, Geometric, PermuteAndFlip, PerRecordCoin, Randomness, RoundedNormal
from hedgerow.privacy.accounting import BoundedRange, Gaussian, Pure, Sequence, cost
from hedgerow.scores import Gini, Majority, Max, Specializations, multiway
from hedgerow.table import CellCounts, ClassCounts, Histogram, MemoryTable, Sizes

RECORDS = [(a, b, (a + b) % 3) for a in (0, 1) for b in (0, 1, 2) for _ in range(2 + a)]
N_CODES = (2, 3)
TESTS = multiway(N_CODES)
ASKED = np.array([[True, True], [False, True]])
ONE, HALF = Fraction(1), Fraction(1, 2)


class Told(Randomness):
    """Tells what was drawn, and answers what it was asked about."""

    def __init__(self):
        super().__init__(0)
        self.drawn = []

    def draw(self, mechanism, *statistics):
        self.drawn.append((mechanism, *statistics))
        return statistics[0].argmax(axis=1) if isinstance(mechanism, PermuteAndFlip) else statistics[0]


@dataclass(frozen=True)
class Weights:
    """Every record counts as much as it may."""

    unit: int = 4

    def __call__(self, margins, labels):
        return np.full(len(labels), self.unit, dtype=np.uint64)


class Channels:
    """Three channels, of which two rank: their norms are told apart."""

    columns, scored, channels = 0, 2, 3
    scored_l1, l1, l2_squared = 3, 5, 9

    def __call__(self, margins, labels):
        return np.where(labels[:, None] == np.arange(3), [1, -2, 2], 0)


class Cells:
    n_cells = 3

    def cell(self, codes):
        return codes[:, 1].astype(np.int64)


def opened(weights=None, ceiling=None):
    curator = Queryable(make_table(RECORDS, N_CODES, 3), ceiling or cost_of(1000, 1000, 10**6), Told())
    return curator, curator.assign(PerRecordCoin(1), weights=weights)


def parted(weights=None):
    curator, root = opened(weights)
    return curator, curator.partition(root, TESTS, np.array([0]))


# The question, how many counts one record is in, whether its weight matters, and how many numbers are released.
OF_NODES = {
    "count": (lambda c, n, noise: c.answer(Sizes(n), noise), 1, False, 2),
    "class_counts": (lambda c, n, noise: c.answer(ClassCounts(n), noise), 1, True, 6),
    "histogram": (lambda c, n, noise: c.answer(Histogram(n, ASKED), noise), 2, True, (5 + 3) * 3),
    "cell_counts": (lambda c, n, noise: c.answer(CellCounts(n[np.array([True, False])], Cells()), noise), 1, True, 9),
}
# The question, the L1 and the squared L2 norm of what one record adds, and how many numbers are released.
ON_A, ON_B = Cut(0, np.array([0, 1])), Cut(1, np.array([0, 1, 1]))
BY_A = Splits((0,), [np.array([0, 1])], [False])
OF_ALL = {
    "sums": (lambda asked, noise: asked.sums(Candidate(1), noise), 5, 9, 3 * 3),
    "sums of a split": (lambda asked, noise: asked.sums(Candidate(1, 0, ON_A), noise), 5, 9, 2 * 3 * 3),
    "whole_sums": (lambda asked, noise: asked.whole_sums(noise), 5, 9, 3),
}


def check_least(curator, ask, l1, l2_squared, draws):
    """Noise for these norms is charged as it states, with all its draws; for less it is refused, and nothing is drawn."""
    before = len(curator._randomness.drawn)
    for too_little in (Geometric(ONE, l1 - Fraction(1, 8)), RoundedNormal(ONE, l2_squared - Fraction(1, 8))):
        with pytest.raises(ConfigurationError, match="build"):
            ask(too_little)
    assert cost_of() == curator.total
    assert len(curator._randomness.drawn) == before
    noise = RoundedNormal(ONE, Fraction(l2_squared))
    ask(noise)
    assert curator.total == cost(noise.event("", draws=draws))
    ask(Geometric(ONE, l1))
    assert curator.total == cost(noise.event("", draws=draws)) + cost(Geometric(ONE, l1).event(""))
    assert [drawn[0] for drawn in curator._randomness.drawn[-2:]] == [noise, Geometric(ONE, l1)]
    assert sum(np.size(drawn[1]) for drawn in curator._randomness.drawn[-2:]) == 2 * draws


@pytest.mark.parametrize("weights", [None, Weights()], ids=["ones", "weighted"])
@pytest.mark.parametrize("name", OF_NODES)
def test_counts_of_nodes_are_charged_draw_by_draw_and_need_noise_for_a_records_weight_in_each(name, weights):
    ask, cells, weighs, draws = OF_NODES[name]
    unit = 4 if weights and weighs else 1
    curator, nodes = parted(weights)
    check_least(curator, lambda noise: ask(curator, nodes, noise), cells * unit, cells * unit**2, draws)


@pytest.mark.parametrize("name", OF_ALL)
def test_sums_of_all_records_are_charged_draw_by_draw_and_need_noise_for_their_norms(name):
    ask, l1, l2_squared, draws = OF_ALL[name]
    for cuts in ((), (ON_B,), (ON_B, ON_A)):
        curator, _ = opened()
        asked = curator.open_round(Channels(), None, cuts, BY_A)
        cells = 1 if name == "whole_sums" else 2 ** len(cuts)
        check_least(curator, lambda noise, asked=asked: ask(asked, noise), l1, l2_squared, cells * draws)


@pytest.mark.parametrize("weights", [None, Weights()], ids=["ones", "weighted"])
def test_a_minority_count_needs_noise_for_a_records_weight(weights):
    curator, nodes = parted(weights)
    unit = 1 if weights is None else 4
    with pytest.raises(ConfigurationError, match="build the noise"):
        curator.answer(CompareMinorities(nodes), AtMost(Geometric(ONE, unit - Fraction(1, 2)), 1))
    assert curator.spent == 0
    curator.answer(CompareMinorities(nodes), AtMost(Geometric(ONE, unit), 1))
    assert curator.total == cost(Geometric(ONE, unit).event(""))


SELECTIONS = {
    "select": (
        lambda c, n, mechanism: c.answer(SelectTests(n, TESTS, np.ones((len(n), 2), dtype=bool), Max()), mechanism),
        lambda unit: Max().range * unit,
    ),
    "select_label": (lambda c, n, mechanism: c.answer(SelectLabels(n), mechanism), lambda unit: unit),
}


@pytest.mark.parametrize("weights", [None, Weights()], ids=["ones", "weighted"])
@pytest.mark.parametrize("name", SELECTIONS)
def test_a_selection_needs_the_range_of_a_records_weight_and_is_charged_once(name, weights):
    ask, range_of = SELECTIONS[name]
    curator, nodes = parted(weights)
    least = range_of(1 if weights is None else 4)
    with pytest.raises(ConfigurationError, match="range"):
        ask(curator, nodes, PermuteAndFlip(ONE, least - Fraction(1, 2)))
    assert curator.spent == 0
    mechanism = PermuteAndFlip(ONE, least)
    ask(curator, nodes, mechanism)
    assert curator.total == cost(mechanism.event("", ""))


def test_a_candidate_or_a_cut_needs_twice_what_a_record_adds_to_its_score_and_a_candidate_loses_its_penalty():
    curator, _ = opened()
    asked, penalty = curator.open_round(Channels()), np.array([[5, -8]])
    every, ordered = np.ones(5, dtype=np.bool_), [False, True]
    for ask in (lambda m: asked.select(m, penalty), lambda m: asked.select_cut(m, ordered, every)):
        with pytest.raises(ConfigurationError, match="up to 6"):
            ask(PermuteAndFlip(ONE, Fraction(11, 2)))
    assert curator.spent == 0
    mechanism = PermuteAndFlip(ONE, 6)
    asked.select(mechanism, penalty)
    asked.select(mechanism, penalty, np.array([[False, True]]))
    asked.select_cut(mechanism, ordered, every)
    assert curator.total == cost(mechanism.event("", "")).times(3)
    # Of five records of each class those of the first add 1 to the first channel, and those of the second take 2 from the next.
    *candidates, cut = curator._randomness.drawn
    for (_, scores, offered), may in zip(candidates, (True, False), strict=True):
        assert scores.tolist() == [[15 - 5, 15 + 8]]
        assert offered.dtype == np.bool_
        assert offered.tolist() == [[may, True]]
    assert cut[1].tolist() == [[15] * 5]


def test_a_round_that_ranks_nothing_is_asked_for_no_selection_and_charges_nothing():
    curator, _ = opened()
    asked = curator.open_round(Ones())
    for ask in (
        lambda: asked.select(PermuteAndFlip(ONE, 1), np.zeros((1, 2), dtype=np.int64)),
        lambda: asked.select_cut(PermuteAndFlip(ONE, 1), [False, True], np.ones(5, dtype=np.bool_)),
    ):
        with pytest.raises(ConfigurationError, match="ranks no features"):
            ask()
    assert curator.spent == 0


def test_the_sums_of_a_round_are_those_of_each_code_and_of_all_records_and_are_not_shown():
    """Five records of each class: of b = 0 the classes 0 and 1 have two and three, and so on around."""
    curator, _ = opened()
    asked = curator.open_round(Channels())
    noise = Geometric(ONE, 5)
    assert repr(asked) == "Round()"
    assert asked.whole_sums(noise).tolist() == [5, -10, 10]
    assert asked.sums(Candidate(0), noise).tolist() == [[[2, -4, 4], [3, -6, 6]]]
    assert asked.sums(Candidate(1), noise).tolist() == [[[2, -6, 0], [0, -4, 6], [3, 0, 4]]]
    on_b = curator.open_round(Channels(), None, (ON_B,))
    assert on_b.sums(Candidate(0), noise).tolist() == [[[2, 0, 0], [0, -6, 0]], [[0, -4, 4], [3, 0, 6]]]


def cuts(*edges):
    return Specializations(np.arange(5), edges, np.ones(len(edges), dtype=np.int64))


def test_choices_that_one_record_may_concern_are_charged_each():
    """Two of one feature that overlap count twice, two that share no code once, and those of other features besides."""
    mechanism = PermuteAndFlip(ONE, Majority.range)
    for choices, concerned in [
        ([cuts((0, 1, 2))], 1),
        ([cuts((2, 3, 5)), cuts((2, 4, 5))], 2),
        ([cuts((2, 3, 4)), cuts((0, 1, 2))], 2),
    ]:
        curator, root = opened()
        assert len(curator.answer(SelectSpecializations(root, choices, Majority()), mechanism)) == len(choices)
        assert curator.total == cost(mechanism.event("", "")).times(concerned)
    curator, root = opened()
    with pytest.raises(ConfigurationError, match="range"):
        curator.answer(SelectSpecializations(root, [cuts((0, 1, 2))], Majority()), PermuteAndFlip(ONE, Fraction(1, 2)))
    curator, nodes = parted()
    with pytest.raises(ConfigurationError, match="one node, not in 2"):
        curator.answer(SelectSpecializations(nodes, [cuts((2, 3, 5))], Majority()), mechanism)
    with pytest.raises(ConfigurationError, match="one node, not in 2"):
        curator.answer(CellCounts(nodes, Cells()), Geometric(ONE))
    assert curator.spent == 0


@pytest.mark.parametrize("unit", [2, 4])
def test_what_squares_or_divides_counts_is_asked_of_records_that_count_one(unit):
    curator, root = opened(Weights(unit))
    with pytest.raises(ConfigurationError, match="count 1 only"):
        curator.answer(SelectSpecializations(root, [cuts((0, 1, 2))], Majority()), PermuteAndFlip(ONE, unit))
    with pytest.raises(ConfigurationError, match="squares counts"):
        curator.answer(SelectTests(root, TESTS, ASKED[:1], Gini()), PermuteAndFlip(ONE, Gini().range * unit**2))
    assert curator.spent == 0


@pytest.mark.parametrize("shape", [(2, 1), (1, 2), (3, 2), (2, 3)])
def test_what_is_asked_or_offered_has_a_row_for_each_node_and_a_column_for_each_feature_or_test(shape):
    curator, nodes = parted()
    for truth in (np.ones(shape, dtype=bool), np.ones((2, 2), dtype=np.int64)):
        with pytest.raises(ConfigurationError, match="of shape"):
            curator.answer(Histogram(nodes, truth), Geometric(ONE, 9))
        with pytest.raises(ConfigurationError, match="of shape"):
            curator.answer(SelectTests(nodes, TESTS, truth, Gini()), PermuteAndFlip(ONE, Gini().range))
    one_is_offered_nothing = np.array([[True, True], [False, False]])
    with pytest.raises(ConfigurationError, match="offered no test"):
        curator.answer(SelectTests(nodes, TESTS, one_is_offered_nothing, Gini()), PermuteAndFlip(ONE, Gini().range))
    assert curator.spent == 0


def test_every_node_gets_a_test_of_its_own_scores_in_chunks_of_any_size(monkeypatch):
    for chunk in (1, 2, 4, 6, 1 << 22):
        monkeypatch.setattr("hedgerow.curator.queries.CHUNK", chunk)
        curator, nodes = parted()
        chosen = curator.answer(SelectTests(nodes, TESTS, ASKED, Max()), PermuteAndFlip(ONE, 1))
        scores = np.concatenate([drawn[1] for drawn in curator._randomness.drawn])
        offered = np.concatenate([drawn[2] for drawn in curator._randomness.drawn])
        # Of the node of a = 0 two records are in each of three cells; of a = 1 three are.
        assert np.abs(scores - scores[:, :1]).tolist() == [[0, 4], [0, 6]]
        assert chosen.tolist() == [1, 1]
        assert offered.tolist() == ASKED.tolist()
        assert len(curator._randomness.drawn) == (2 if chunk < 4 else 1)


def test_labels_are_chosen_among_all_classes_by_their_counts():
    curator, nodes = parted()
    assert curator.answer(SelectLabels(nodes), PermuteAndFlip(ONE, 1)).tolist() == [0, 0]
    ((_, counts, offered),) = curator._randomness.drawn
    assert counts.tolist() == [[2, 2, 2], [3, 3, 3]]
    assert offered.all()
    assert offered.dtype == np.bool_


def test_no_node_may_be_asked_about_and_nothing_comes_back():
    curator, nodes = parted()
    none = nodes[np.zeros(2, dtype=np.bool_)]
    assert curator.answer(Histogram(none, np.ones((0, 2), dtype=np.bool_)), Geometric(ONE)).shape == (0, 5, 3)


def test_a_question_that_costs_nothing_is_refused_and_any_that_costs_is_not():
    curator, root = opened()
    for noise in (Geometric(Fraction(1, 10**6)), RoundedNormal(Fraction(1, 10**6))):
        assert curator.answer(Sizes(root), noise).tolist() == [15]
    with pytest.raises(ConfigurationError, match="costs nothing"):
        curator.for_learner(Sequence(()))


def test_a_sample_costs_less_and_all_roots_of_one_assignment_count_once():
    curator, _ = opened()
    sample = curator.assign(PoissonCoin(Fraction(1, 4)))
    curator.answer(Sizes(sample), Geometric(ONE))
    noise = cost(Geometric(ONE).event(""))
    assert curator.total == noise.sampled(Fraction(1, 4))
    trees = curator.assign(PerRecordCoin(3))
    assert len(trees) == 3
    curator.answer(Sizes(trees), Geometric(ONE))
    assert curator.total == noise.sampled(Fraction(1, 4)) + noise


def test_a_learner_gets_what_was_reserved_for_it_and_no_more():
    curator, root = opened(ceiling=ONE)
    plan = Geometric(HALF).event("")
    learner = curator.for_learner(plan)
    assert curator.total == cost(plan)
    asked = learner.assign(PerRecordCoin(1))
    learner.answer(Sizes(asked), Geometric(HALF))
    for late, nodes, noise in ((learner, asked, Geometric(Fraction(1, 1000))), (curator, root, Geometric(ONE))):
        with pytest.raises(BudgetExceeded):
            late.answer(Sizes(nodes), noise)


def test_a_learner_that_spends_all_at_once_costs_no_more_than_was_reserved_for_it():
    """Its budget limits epsilon alone, but steps of a bounded range and small steps cost less than one step of their sum."""
    step = BoundedRange(Fraction(1, 10), "m", "p")
    for plan in (step, Sequence((step,) * 10)):
        ceiling = cost(Gaussian(Fraction(4), 9, "p")) + cost(Pure(ONE, "m", "p"))
        curator = Queryable(make_table(RECORDS, N_CODES, 3), ceiling, Told())
        learner = curator.for_learner(plan)
        learner.answer(ClassCounts(learner.assign(PerRecordCoin(1))), Geometric(cost(plan).epsilon))
        for account in ("epsilon", "total_mu_squared", "rho"):
            assert getattr(learner.total, account) <= getattr(curator.total, account)


def test_codes_are_merged_whole_and_before_nodes_hold_them():
    curator, _ = opened()
    into = [np.array([0, 0]), np.array([0, 1, 1])]
    with pytest.raises(ConfigurationError, match="before records are assigned"):
        curator.merge(into)
    for wrong in (into[:1], [into[1], into[0]], [into[0], into[1][:2]]):
        fresh = Queryable(make_table(RECORDS, N_CODES, 3), ONE, Told())
        with pytest.raises(ConfigurationError, match="every code of every feature"):
            fresh.merge(wrong)
    fresh.merge(into)
    root = fresh.assign(PerRecordCoin(1))
    with pytest.raises(ConfigurationError, match="other features or codes"):
        fresh.partition(root, TESTS, np.array([0]))
    with pytest.raises(ConfigurationError, match="other features or codes"):
        fresh.answer(SelectTests(root, TESTS, np.ones((1, 2), dtype=bool), Max()), PermuteAndFlip(ONE, 1))
    assert len(fresh.partition(root, multiway((1, 2)), np.array([1]))) == 2


def split_by(by=(0,), group=((0, 1),), ordered=(True,)):
    return Splits(by, [np.array(codes, dtype=np.int64) for codes in group], ordered)


def cut_by(by, *side):
    return Cut(by, np.array(side))


def test_cuts_are_taken_where_each_record_is_in_one_cell_of_each_and_refused_elsewhere():
    offsets = np.array([0, 2, 5])
    for fine in (
        ((), split_by()),
        ((), split_by((1,), ((0, 1, 1),))),
        ((), split_by((1, 0), ((1, 0, 1), (0, 0)), (False, True))),
        ((cut_by(1, 1, 0, 1),), None),
        ((cut_by(1, 0, 0, 1), cut_by(0, 1, 0)), split_by()),
    ):
        check_cuts(*fine, offsets, None, None)
    for wrong in (
        ((), split_by((-1,), ((0, 1, 1),))),
        ((), split_by((-2,))),
        ((), split_by((2,))),
        ((), split_by((1,))),
        ((), split_by(group=((0, -1),))),
        ((), split_by(group=((-1, 1),))),
        ((), split_by(group=((0, 2),))),  # a sum of group 1 is asked for and none comes back
        ((), split_by((0, 0), ((0, 1), (0, 0)), (True, True))),
        ((), split_by((0, 1))),
        ((), split_by(ordered=())),
        ((), split_by((), (), ())),
        ((cut_by(1, 0, 1),), None),
        ((cut_by(2, 0, 1),), None),
        ((cut_by(-2, 0, 1),), None),
        ((cut_by(0, 0, 2),), None),
        ((cut_by(0, 1, 1),), None),
        ((cut_by(1, 0, 1, 2),), split_by()),
        ((cut_by(0, 0, 1), cut_by(1, 0, 1, -1)), split_by()),
    ):
        with pytest.raises(ConfigurationError, match="other features or codes"):
            check_cuts(*wrong, offsets, None, None)


@pytest.mark.parametrize("index", [np.array([0, 1]), [0, 1], np.array([0, 1], dtype=np.int16)])
def test_nodes_may_be_named_in_part_and_in_any_integers_of_a_sign(index):
    curator, children = parted()
    assert curator.answer(Sizes(Nodes(children.generation, index)), Geometric(ONE)).tolist() == [6, 9]
    assert curator.answer(Sizes(Nodes(children.generation, np.array([1]))), Geometric(ONE)).tolist() == [9]


def test_a_histogram_of_a_node_is_read_once_for_all_its_specializations_and_never_for_another():
    class Counted(MemoryTable):
        """Counts how often it is asked."""

        asked = 0

        def answer(self, query):
            type(self).asked += 1
            return super().answer(query)

    table = make_table(RECORDS, N_CODES, 3)
    table.__class__ = Counted
    curator = Queryable(table, Fraction(100), Told())
    first, second = curator.assign(PerRecordCoin(1)), curator.assign(PoissonCoin(Fraction(1, 4)))
    mechanism = PermuteAndFlip(ONE, Majority.range)
    for node in (first, first, second):
        curator.answer(SelectSpecializations(node, [cuts((0, 1, 2), (2, 3, 5))], Majority()), mechanism)
    scores = [drawn[1].tolist() for drawn in curator._randomness.drawn]
    assert scores[0] == scores[1] != scores[2]
    assert Counted.asked == 2


def test_a_histogram_keeps_the_features_that_it_was_made_with():
    """They decide the charge before the draw and what is released after it, so nobody may change them in between."""
    asked = np.array([[True, False]])
    query = Histogram(Nodes(0, np.array([0])), asked)
    asked[:] = True
    assert query.asked.tolist() == [[True, False]]
    assert not query.asked.flags.writeable
