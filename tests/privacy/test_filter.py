"""What a filter has charged: sums along paths, the largest of siblings, what is approximate once and of all nodes."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.privacy.accounting import (
    BoundedRange,
    Gaussian,
    Parallel,
    Pure,
    SelectAndMeasure,
    Sequence,
    Thresholded,
    amplified,
    cost,
)
from hedgerow.privacy.filter import PrivacyFilter

QUARTER, MILLIONTH = cost(Pure(Fraction(1, 4), "m", "p")), Fraction(1, 10**6)
NOISE = cost(Gaussian(Fraction(1, 100), 5, "p"))
SHOWN = cost(Thresholded(Fraction(1, 4), "m", "p", delta=MILLIONTH))
ONE = PrivacyFilter(cost(Pure(Fraction(1), "m", "p")))
WIDE = PrivacyFilter(
    cost(Sequence((Gaussian(Fraction(1), 20, "p"), Thresholded(Fraction(1), "m", "p", delta=3 * MILLIONTH))))
)


def nodes(*index):
    return np.array(index, dtype=np.intp)


def test_costs_add_up_along_a_path_and_the_largest_of_siblings_counts():
    begun = ONE.assigned(None, 1, 2).charged(QUARTER, 0, nodes(0, 1))
    parted = begun.charged(QUARTER, 0, nodes(1)).partitioned(0, nodes(1), np.array([2]))
    both = parted.charged(QUARTER, 1, nodes(0)).charged(QUARTER, 1, nodes(1))
    assert [one.total.epsilon for one in (ONE, begun, parted, both)] == [
        0,
        Fraction(1, 4),
        Fraction(1, 2),
        Fraction(3, 4),
    ]
    assert both.charged(QUARTER, 0, nodes(0)).total.epsilon == Fraction(3, 4)  # the root that is left has spent a half
    full = both.charged(QUARTER, 1, nodes(1))
    assert full.total.epsilon == 1
    with pytest.raises(BudgetExceeded):
        full.charged(QUARTER, 1, nodes(1))
    assert full.charged(QUARTER, 1, nodes(0)).total.epsilon == 1


def test_nodes_that_were_charged_differently_keep_what_each_has_paid():
    begun = ONE.assigned(None, 1, 3).charged(QUARTER, 0, nodes(1)).charged(QUARTER, 0, nodes(0, 1, 2))
    assert begun.total.epsilon == Fraction(1, 2)
    assert begun.charged(QUARTER, 0, nodes(0, 2)).total.epsilon == Fraction(1, 2)
    assert begun.charged(QUARTER, 0, nodes(1, 2)).total.epsilon == Fraction(3, 4)


def test_assignments_and_questions_to_all_records_add_up():
    first = ONE.charged(QUARTER).assigned(None, 1, 1).charged(QUARTER, 0, nodes(0))
    second = first.assigned(None, 1, 1).charged(QUARTER, 1, nodes(0)).charged(QUARTER)
    assert (first.total.epsilon, second.total.epsilon) == (Fraction(1, 2), 1)
    with pytest.raises(BudgetExceeded):
        second.charged(QUARTER)
    with pytest.raises(BudgetExceeded):
        second.charged(QUARTER, 1, nodes(0))


def test_a_sample_costs_its_amplified_budget_and_not_that_of_the_records():
    sampled = ONE.assigned(Fraction(1, 3), 1, 1).charged(QUARTER, 0, nodes(0)).charged(QUARTER, 0, nodes(0))
    assert sampled.total.epsilon == amplified(Fraction(1, 2), Fraction(1, 3))


@pytest.mark.parametrize("everyone", [True, False])
def test_what_is_approximate_counts_once_for_every_node_that_draws(everyone):
    charged = WIDE.assigned(None, 1, 2)
    for question in range(2):
        for amount in (NOISE, SHOWN):
            charged = charged.charged(amount) if everyone else charged.charged(amount, 0, nodes(question))
    assert (charged.total.draws, charged.total.thresholds) == (10, 2 * MILLIONTH)
    assert charged.total.mu_squared == Fraction(2 if everyone else 1, 100)


def test_children_are_as_many_as_said_and_begin_where_their_parents_stood():
    begun = ONE.assigned(None, 3, 2).charged(QUARTER, 0, nodes(0))
    parted = begun.partitioned(0, nodes(0, 1), np.array([1, 3]))
    assert (begun.made, parted.made, parted.generations[1].unit) == (1, 2, 3)
    assert 0 not in parted.generations
    parted.check_open(1, nodes(0, 1, 2, 3))
    with pytest.raises(ConfigurationError, match="not this curator's"):
        parted.check_open(1, nodes(4))
    assert parted.charged(QUARTER, 1, nodes(1, 2, 3)).total.epsilon == Fraction(1, 4)
    assert parted.charged(QUARTER, 1, nodes(0)).total.epsilon == Fraction(1, 2)


TWICE_OR_BACKWARDS = [(0, [1, 0]), (0, [0, 0]), (0, [0, 1, 1]), (0, [0, 2, 1])]
OF_ANOTHER = [(0, [-1]), (0, [-1, 0]), (0, [3]), (0, [0, 3]), (-1, [0]), (1, [0]), (1, [])]


@pytest.mark.parametrize(("generation", "index"), [*TWICE_OR_BACKWARDS, *OF_ANOTHER])
def test_a_node_that_is_none_is_refused(generation, index):
    opened = ONE.assigned(None, 1, 3)
    opened.check_open(0, nodes(0, 1, 2))
    opened.check_open(0, nodes())
    with pytest.raises(ConfigurationError, match="not this curator's"):
        opened.check_open(generation, nodes(*index))


def test_a_partitioned_node_is_closed_and_the_others_are_not():
    parted = ONE.assigned(None, 1, 3).partitioned(0, nodes(1), np.array([2]))
    parted.check_open(0, nodes(0, 2))
    for closed in (nodes(1), nodes(0, 1)):
        with pytest.raises(ConfigurationError, match="query its children"):
            parted.check_open(0, closed)
    whole = parted.partitioned(0, nodes(0, 2), np.array([2, 2]))
    for closed in (nodes(0), nodes()):
        with pytest.raises(ConfigurationError, match="query its children"):
            whole.check_open(0, closed)


SELECTION, MEASUREMENT = BoundedRange(Fraction(1, 5), "m", "p"), Gaussian(Fraction(3, 50), 8, "p")
ROUND = SelectAndMeasure((SELECTION, SELECTION, MEASUREMENT))
LEAF = Gaussian(Fraction(1, 10), 8, "p")
TREE = Parallel((Sequence((LEAF,)), SelectAndMeasure((SELECTION, MEASUREMENT)), ROUND))
ROOMY = PrivacyFilter(cost(Sequence((ROUND, ROUND, ROUND, LEAF))))
of_both = pytest.mark.parametrize("where", [(), (0, nodes(0))], ids=["records", "node"])


def reserved(where=(), event=ROUND):
    """Return a filter that reserved a round for all records, or for one of two roots."""
    return (ROOMY.assigned(None, 1, 2) if where else ROOMY).reserving(event, *where)


def taken(begun, where, *steps):
    """Return the filter after steps, and for each whether it was charged again."""
    again = []
    for step in steps:
        after = begun.charged(cost(step), *where, step=step)
        again.append(after.total.epsilon > begun.total.epsilon or after.total.mu_squared > begun.total.mu_squared)
        begun = after
    return begun, again


@of_both
def test_reserved_steps_are_charged_once_together_and_each_is_taken_once(where):
    begun = reserved(where)
    assert begun.total == replace(cost(ROUND), draws=0)
    after, again = taken(begun, where, SELECTION, SELECTION, MEASUREMENT)
    assert after.total == cost(ROUND)
    assert again == [False] * 3
    assert taken(after, where, MEASUREMENT)[1] == [True]
    assert taken(begun, where, SELECTION, SELECTION, SELECTION)[1] == [False, False, True]
    assert begun.reserving(ROUND, *where).total == replace(cost(Sequence((ROUND, ROUND))), draws=0)


@of_both
def test_no_selection_is_taken_after_the_measurement(where):
    assert taken(reserved(where), where, SELECTION, MEASUREMENT, SELECTION)[1] == [False, False, True]
    assert taken(reserved(where), where, MEASUREMENT, SELECTION)[1] == [False, True]


@pytest.mark.parametrize(
    "step",
    [
        BoundedRange(Fraction(21, 100), "m", "p"),
        Pure(Fraction(1, 5), "permute-and-flip", "p"),
        Pure(Fraction(1, 20), "permute-and-flip", "p"),
        Gaussian(Fraction(7, 100), 8, "p"),
        Sequence((SELECTION,)),
    ],
    ids=str,
)
@of_both
def test_a_step_that_was_not_reserved_is_charged_and_gives_up_the_others(step, where):
    assert taken(reserved(where), where, step, MEASUREMENT)[1] == [True, True]


@of_both
def test_a_step_that_costs_less_than_a_reserved_one_is_taken(where):
    less = BoundedRange(Fraction(1, 6), "m", "p"), Gaussian(Fraction(1, 50), 7, "p")
    assert taken(reserved(where), where, *less)[1] == [False, False]


@pytest.mark.parametrize(
    ("steps", "again"),
    [
        ([LEAF], [False]),
        ([SELECTION, MEASUREMENT], [False, False]),
        ([SELECTION, SELECTION, MEASUREMENT], [False] * 3),
        ([SELECTION, LEAF], [False, True]),  # a leaf of the root costs more than one below its test
        ([SELECTION, MEASUREMENT, SELECTION], [False, False, True]),
        ([SELECTION, SELECTION, SELECTION], [False, False, True]),
    ],
)
def test_one_of_the_reserved_courses_runs(steps, again):
    assert taken(reserved((0, nodes(0)), TREE), (0, nodes(0)), *steps)[1] == again


def test_children_go_on_with_what_their_parent_reserved_and_other_nodes_have_none():
    begun = taken(reserved((0, nodes(0))), (0, nodes(0)), SELECTION)[0]
    parted = begun.partitioned(0, nodes(0), np.array([2]))
    for child in (0, 1):
        assert taken(parted, (1, nodes(child)), SELECTION, MEASUREMENT)[1] == [False, False]
    assert (
        parted.charged(cost(SELECTION), 0, nodes(1), step=SELECTION).total == begun.total
    )  # another path, no costlier
    several = taken(parted, (0, nodes(1)), SELECTION, SELECTION, SELECTION)[0]
    assert several.total.epsilon == begun.total.epsilon + SELECTION.epsilon


def test_another_query_gives_up_what_was_reserved():
    begun = ROOMY.assigned(None, 1, 1).reserving(ROUND)
    for where in ((), (0, nodes(0))):
        other = begun.charged(cost(SELECTION), *where)
        assert taken(other, (), MEASUREMENT)[1] == [True]


@pytest.mark.parametrize(
    "other", [SelectAndMeasure((SELECTION, MEASUREMENT), 1), Sequence((SELECTION, MEASUREMENT))], ids=["ratio", "apart"]
)
def test_alternatives_of_several_ratios_are_not_reserved(other):
    """A selection chooses the course, and what is proved of one needs the ratio before."""
    with pytest.raises(ValueError, match="one ratio"):
        ROOMY.reserving(Parallel((ROUND, other)))


def test_a_reservation_above_the_ceiling_is_refused():
    with pytest.raises(BudgetExceeded):
        PrivacyFilter(cost(ROUND)).reserving(TREE)
    with pytest.raises(BudgetExceeded):
        ONE.reserving(ROUND)
    begun = PrivacyFilter(replace(cost(ROUND), draws=7)).reserving(ROUND)
    with pytest.raises(BudgetExceeded):  # draws are charged step by step
        begun.charged(cost(MEASUREMENT), step=MEASUREMENT)
