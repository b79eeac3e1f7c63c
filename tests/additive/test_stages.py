"""The plan of HedgerowClassifier: stages state what they ask, and the curator sees to it that no round costs more."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from costs import sums
from products import thinned

import hedgerow as hr
from hedgerow.additive import plan as plan_module
from hedgerow.additive.cell_round import CellRound, PairRound
from hedgerow.additive.estimate import Estimate
from hedgerow.additive.plan import (
    BUDGET_UNITS,
    CUT_INTERVAL,
    DEPTH_WINDOW,
    MAX_BINS,
    MIN_BINS,
    MIN_ROUNDS,
    AdditivePlan,
    InitialQueries,
    Rounds,
    RoundSchedule,
)
from hedgerow.additive.round import OneRound, TurnRound
from hedgerow.curator import Queryable
from hedgerow.curator import Round as Asked
from hedgerow.errors import BudgetExceeded
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.accounting import Sequence, cost
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.exact import exact
from hedgerow.systems.hedgerow import RULES
from hedgerow.table import MemoryTable

SCHEMA = hr.Schema(
    {
        "a": hr.Numeric(0, 1),
        "b": hr.Numeric(0, 1),
        "c": hr.Categorical(["x", "y", "z"]),
        "d": hr.Numeric(0, 1),
    },
    classes=["no", "yes"],
)
CLAIMS = {"pure": Fraction(0), "delta": Fraction(1, 10**6)}
of_both = pytest.mark.parametrize("delta", CLAIMS.values(), ids=CLAIMS)


def plan_of(epsilon=3, delta=Fraction(0), adjacency="add-remove", schema=SCHEMA, rules=RULES, **given):
    options = {"rounds": None, "bins": None, **given}
    return AdditivePlan(rules, schema, Claim(Fraction(epsilon), delta, adjacency), **options)


def records(count=4000, seed=0):
    """Records of which four cells of two cuts, and a curve in each, say the class."""
    generator = np.random.default_rng(seed)
    a, b, d = generator.uniform(0, 1, (3, count))
    c = generator.choice(["x", "y", "z"], count)
    odds = 4 * np.where((a > 0.5) ^ (c == "x"), 1, -1) * (2 * b - 1) + np.sin(6 * d)
    return {"a": a, "b": b, "c": c, "d": d}, np.where(generator.logistic(size=count) < odds, "yes", "no")


def curator_of(plan, count=4000, ceiling=None, seed=0):
    X, y = records(count, seed)
    table = MemoryTable(plan.encoder.transform(X), plan.encoder.labels(y), plan.encoder.n_codes, 2)
    return Queryable(table, cost(plan.event) if ceiling is None else ceiling, Randomness(seed))


def fitted(plan, *, rounds=None, **given):
    """Return a plan's model, its curator, and the rounds that it made: units, cuts at most, and the term.

    The rounds themselves are added to the list ``rounds``.
    """
    made, rounds = [], [] if rounds is None else rounds

    def one(stage, units, cuts, *kind):
        made.append((units, cuts))
        rounds.append(right(stage, units, cuts, *kind))
        return rounds[-1]

    right, curator = Rounds.one, curator_of(plan, **given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rounds, "one", one)
        model = plan.fit(curator)
    assert len(made) == len(model.terms)
    return model, curator, [(*what, term) for what, term in zip(made, model.terms, strict=True)]


def kind_of(term):
    return OneRound if term.n_codes is None else CellRound


# What is charged.

GIVEN = [{}, {"rounds": 7}, {"most_cuts": 0}, {"bins": 5, "most_cuts": 2}]
BY_CELL = replace(RULES, min_snr_for_cells=1e-3, pure_min_snr_for_cells=1e-3, cell_cuts=(2, 3))
SHARED = replace(RULES, min_snr_for_cells=math.inf, pure_min_snr_for_cells=math.inf)


@pytest.fixture(autouse=True)
def cells_after_one_round(monkeypatch):
    """By these rules cells select features in all rounds but the first, whatever cuts add."""
    right = RoundSchedule.record

    def record(self, *given, **named):
        right(self, *given, **named)
        if self._rules is BY_CELL:
            self.next_cell_cuts = self._cell_cuts

    monkeypatch.setattr(RoundSchedule, "record", record)


def ids_of(given):
    return str({name: value if name != "rules" else "by cell" for name, value in given.items()})


@of_both
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("given", [*GIVEN, {"rules": BY_CELL}, {"rules": BY_CELL, "rounds": 7}], ids=ids_of)
def test_a_fit_spends_what_its_stages_ask_and_no_more_than_the_plan(delta, adjacency, given):
    plan = plan_of(3, delta, adjacency, **given)
    planned = cost(plan.event)
    assert planned.under(adjacency).delta(Fraction(3)) <= delta
    rounds = []
    model, curator, made = fitted(plan, rounds=rounds)
    assert all(amount <= sums(planned)[part] for part, amount in sums(curator.total).items())
    # Charged as it is stated, but for draws of merged bins; rounds with fewer cuts than they may have spend less.
    assert {type(one) for one in rounds} == ({OneRound, CellRound, PairRound} if "rules" in given else {OneRound})
    asked = Sequence((plan._initial_queries.event, *(one.event for one in rounds)))
    assert all(amount <= sums(cost(asked))[part] for part, amount in sums(curator.total).items())
    if not any(cuts for _, cuts, _ in made):
        assert curator.total.epsilon == cost(asked).epsilon
        assert curator.total.mu_squared == cost(asked).mu_squared
    assert len(model.terms) == len(made)


@of_both
@pytest.mark.parametrize("most_cuts", [0, 1, 3, 5, None])
@pytest.mark.parametrize("classes", thinned([2, 3, 7], 2))
def test_no_round_costs_more_than_its_units(delta, most_cuts, classes):
    """By every accountant with a delta; by epsilon without one, which is all that a pure ceiling limits."""
    schema = SCHEMA.replace(classes=list(range(classes)))
    plan = plan_of(1, delta, schema=schema, most_cuts=most_cuts)
    rounds = plan.stage
    unit = rounds._cost
    for units in (1, 2, 3, 4, 7, 16, 60, 119, 120, 239, 240):
        made = [(cuts, OneRound) for cuts in range(plan._most_cuts + 1)]
        if most_cuts is None:
            made += [(cuts, kind) for cuts in range(1, rounds.most_cuts + 1) for kind in (CellRound, PairRound)]
        for cuts, kind in made:
            found, most = cost(rounds.one(units, cuts, kind).event), unit.times(units)
            if delta:
                assert all(amount <= sums(most)[part] for part, amount in sums(found).items()), (units, cuts)
            else:
                assert Fraction(999, 1000) * most.epsilon < found.epsilon <= most.epsilon


@pytest.mark.parametrize("classes", [2, 3])
def test_no_round_with_noise_of_owners_costs_more_than_its_units(classes):
    """Its steps have a rho, and no other accountant."""
    plan = plan_of(1, Fraction(1, 10**6), schema=SCHEMA.replace(classes=list(range(classes))), shares=2)
    for units in (1, 2, 3, 7, 60, 119, 120, 240):
        made = plan.stage.one(units, 0)
        found, most = cost(made.event), plan.stage._cost.times(units)
        assert type(made) is TurnRound
        assert all(amount <= sums(most)[part] for part, amount in sums(found).items())
        assert found.rho > Fraction(999, 1000) * most.rho


@pytest.mark.parametrize("epsilon", ["0.01", "1", "10", "60"])
@pytest.mark.parametrize("classes", [2, 3])
@of_both
def test_a_plan_costs_as_much_as_any_course_by_every_accountant(epsilon, classes, delta):
    """A ledger adds up all numbers of an event: a pure fit of few large rounds costs more by rho and mu than one of many."""
    plan = plan_of(epsilon, delta, schema=SCHEMA.replace(classes=list(range(classes))))
    planned, stage = sums(cost(plan.event)), plan.stage
    for size in (1, 2, 3, 7, 40, 79, 80, 81, 100, 119, 120):
        left, rounds = BUDGET_UNITS, []
        while left:
            units = size if left >= 2 * size else left
            rounds.append(units)
            left -= units
        for cuts, kind in (
            (0, OneRound),
            (1, OneRound),
            (plan._most_cuts, OneRound),
            (stage.most_cuts, CellRound),
            (stage.most_cuts, PairRound),
        ):
            asked = cost(plan._initial_queries.event)
            for units in set(rounds):
                asked += cost(stage.one(units, cuts, kind).event).times(rounds.count(units))
            assert all(amount <= planned[part] for part, amount in sums(asked).items()), (size, cuts)


@of_both
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("given", [{}, {"rounds": 90}, {"most_cuts": 2}], ids=ids_of)
def test_no_course_that_released_values_decide_costs_more_than_the_plan(delta, classes, given):
    """Made-up evidence and gains of any number of records: rounds of all kinds, of units that change as a fit goes on."""
    plan = plan_of(3, delta, schema=SCHEMA.replace(classes=list(range(classes))), **given)
    planned, stage, kinds = sums(cost(plan.event)), plan.stage, set()
    for seed in range(60):
        generator = np.random.default_rng(seed)
        course, asked = RoundSchedule(plan, 2.0 ** generator.uniform(0, 30), stage.units, generator.uniform()), []
        while (units := course.next_units()) and len(asked) <= stage.units:
            kind, cuts = OneRound, course.next_cuts()
            if course.next_cell_cuts:
                kind, cuts = course.next_kind(), min(course.next_cell_cuts, stage.most_cuts)
                course.gains[kind].append(generator.normal())
            else:
                depth = cuts if seed % 2 else generator.integers(cuts + 1)
                evidence = seen(*np.append(np.zeros(depth), generator.uniform(-3, 60)))
                course.record(evidence, generator.integers(4), offered=cuts > 0)
            asked.append((units, cuts, kind))
        assert sum(units for units, _, _ in asked) == stage.units
        spent = cost(plan._initial_queries.event)
        for one in set(asked):
            spent += cost(stage.one(*one).event).times(asked.count(one))
        assert all(amount <= planned[part] for part, amount in sums(spent).items())
        kinds |= {kind for _, _, kind in asked}
    assert (CellRound in kinds) == ("most_cuts" not in given)
    assert stage.most_cuts == given.get("most_cuts", RULES.cell_cuts[1])


def test_no_round_by_cell_has_more_cuts_than_the_plan_charges():
    plan, rounds = plan_of(20, Fraction(1, 10**6), rules=BY_CELL), []
    plan.stage.most_cuts = 1
    fitted(plan, rounds=rounds)
    assert {one.cuts for one in rounds if isinstance(one, CellRound)} == {1}


@of_both
@pytest.mark.parametrize("rounds", [1, 2, 50])
def test_a_plan_of_given_rounds_costs_what_they_cost(delta, rounds):
    plan = plan_of(1, delta, rounds=rounds)
    planned, opening = sums(cost(plan.event)), cost(plan._initial_queries.event)
    dearest = sums(opening + cost(plan.stage.one(1, 0).event).times(rounds))
    assert all(amount <= planned[part] for part, amount in dearest.items())
    whole = "rho" if delta else "epsilon"
    assert planned[whole] <= Fraction(101, 100) * dearest[whole]


@of_both
def test_what_all_rounds_may_cost_is_what_their_units_cost_together(delta):
    plan = plan_of(1, delta)
    planned, units = (
        cost(plan.event),
        cost(plan._initial_queries.event) + cost(plan.stage.event.parts[0].parts[0]).times(BUDGET_UNITS),
    )
    assert (planned.epsilon, planned.mu_squared) == (units.epsilon, units.mu_squared)
    assert planned == units or not delta
    assert plan.stage.units == BUDGET_UNITS
    assert plan_of(1, delta, rounds=9).stage.units == 9


@of_both
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "8"])
def test_the_plan_spends_all_of_its_claim(epsilon, delta, adjacency):
    spent = cost(plan_of(epsilon, delta, adjacency).event).under(adjacency)
    if delta:
        assert 0.6 * float(delta) < spent.delta(exact(float(epsilon))) <= delta
    else:
        assert Fraction(99, 100) * Fraction(epsilon) < spent.epsilon <= Fraction(epsilon)


# What must be caught.


def twice_the_budget(patch):
    right = Rounds.one

    def one(self, units, cuts, *kind):
        made = right(self, units, cuts, *kind)
        return replace(made, budget=made.budget * 2)

    patch.setattr(Rounds, "one", one)


def a_unit_too_many(patch):
    """The last round is made anew for ever."""
    right = RoundSchedule.next_units
    patch.setattr(RoundSchedule, "next_units", lambda self: right(self) or self.size)


def a_selection_that_is_not_in_the_event(patch):
    right = OneRound._select

    def selected(self, asked, *given):
        right(self, asked, *given)
        return right(self, asked, *given)

    patch.setattr(OneRound, "_select", selected)


def a_selection_in_cells_that_is_not_in_the_event(patch):
    right = Asked.select_by_cell
    patch.setattr(Asked, "select_by_cell", lambda *given: (right(*given), right(*given))[1])


def sums_that_are_asked_twice(patch):
    right = Asked.sums

    def twice(self, *given):
        return (right(self, *given) + right(self, *given)) // 2

    patch.setattr(Asked, "sums", twice)


def an_opening_that_is_asked_twice(patch):
    right = InitialQueries.act

    def twice(self, curator):
        right(self, curator)
        return right(self, curator)

    patch.setattr(InitialQueries, "act", twice)


PLANTED = {
    "twice the budget": (twice_the_budget, {}),
    "a unit too many": (a_unit_too_many, {}),
    "a second selection": (a_selection_that_is_not_in_the_event, {}),
    "a second selection in cells": (a_selection_in_cells_that_is_not_in_the_event, {"rules": BY_CELL}),
    "sums twice": (sums_that_are_asked_twice, {}),
    "sums of cells twice": (sums_that_are_asked_twice, {"rules": BY_CELL}),
    "the opening twice": (an_opening_that_is_asked_twice, {}),
}


@of_both
@pytest.mark.parametrize("bug", PLANTED)
def test_a_fit_that_asks_for_more_than_its_plan_is_stopped(bug, delta, monkeypatch):
    plant, given = PLANTED[bug]
    plan = plan_of(3, delta, **given)
    curator = curator_of(plan)
    plant(monkeypatch)
    with pytest.raises(BudgetExceeded):
        plan.fit(curator)


def test_a_round_that_does_not_keep_to_its_units_is_made_smaller(monkeypatch):
    """A mechanism whose cost grows faster than its units: the round's budget falls until it costs no more."""
    right, rounds, amounts = OneRound.event.func, plan_of(1).stage, []

    def dearer(self):
        event = right(self)
        amounts.append(self.budget.amount)
        return Sequence((event, event)) if self.budget.amount == amounts[0] else event

    monkeypatch.setattr(OneRound, "event", property(dearer))
    made = rounds.one(8, 0)
    assert made.budget.amount < amounts[0]
    assert made.budget.amount > amounts[0] * (1 - Fraction(1, 2**20))


# How a fit goes on.


@of_both
@pytest.mark.parametrize("count", [30, 4000])
def test_rounds_spend_all_units(delta, count):
    _, _, made = fitted(plan_of(3, delta), count=count)
    assert sum(units for units, _, _ in made) == BUDGET_UNITS
    assert MIN_ROUNDS <= len(made) <= RULES.max_rounds
    assert max(units for units, _, _ in made) < 2 * made[0][0]


@of_both
@pytest.mark.parametrize("rounds", [1, 2, 13, 100])
def test_n_estimators_is_how_many_rounds_there_are(delta, rounds):
    model, _, made = fitted(plan_of(3, delta, rounds=rounds))
    assert [units for units, _, _ in made] == [1] * rounds
    assert len(model.terms) == rounds


def test_more_records_and_more_budget_have_more_rounds_and_bins():
    found = {
        (epsilon, count): fitted(plan_of(epsilon, Fraction(1, 10**6)), count=count)[0]
        for epsilon in ("0.1", "5")
        for count in (100, 4000)
    }
    rounds = {key: len(model.terms) for key, model in found.items()}
    bins = {key: int(model.encoder.n_codes[0]) for key, model in found.items()}
    for of in (rounds, bins):
        assert of["0.1", 100] <= of["0.1", 4000] < of["5", 4000]
        assert of["0.1", 100] < of["5", 100] < of["5", 4000]
    assert all(MIN_BINS / 2 <= n <= MAX_BINS + 1 for n in bins.values())


@pytest.mark.parametrize("given", [{"most_cuts": 5}, {"most_cuts": 1}, {"signs": (1, 0, 0, 0)}, {}], ids=str)
def test_cells_select_features_only_where_neither_cuts_nor_signs_are_constrained(given):
    model, _, _ = fitted(plan_of(20, Fraction(1, 10**6), rules=BY_CELL, **given))
    assert any(kind_of(term) is CellRound for term in model.terms) == (not given)
    assert given or [kind_of(term) for term in model.terms[:2]] == [OneRound, CellRound]


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_no_round_has_more_cuts_than_it_may(limit):
    model, _, made = fitted(plan_of(20, Fraction(1, 10**6), most_cuts=limit))
    depths = [len(term.cuts) for term in model.terms]
    assert max(depths) == limit
    assert all(len(term.cuts) <= cuts <= limit for _, cuts, term in made)


def test_cuts_come_after_the_first_rounds_and_go_deeper_one_by_one():
    _, _, made = fitted(plan_of(20, Fraction(1, 10**6), rules=SHARED))
    cuts = [most for _, most, _ in made]
    first = next(number for number, most in enumerate(cuts) if most)
    assert 2 <= first <= RULES.rounds_before_cuts
    assert max(cuts) >= 2
    for number, most in enumerate(cuts[first:], first):
        assert most <= 1 + max(cuts[:number])
    assert all(len(term.cuts) <= most for _, most, term in made)


@of_both
def test_of_few_records_no_round_has_cuts(delta):
    _, _, made = fitted(plan_of("0.5", delta), count=200)
    assert [cuts for _, cuts, _ in made] == [0] * len(made)


def course_at(precision, epsilon=20):  # at 20 the budget is pure, whatever delta is
    return RoundSchedule(plan_of(epsilon, Fraction(1, 10**6)), precision, BUDGET_UNITS)


def seen(*evidence):
    """Return an estimate of this evidence, whose most likely depth is one of interactions."""
    return Estimate(np.zeros((1, 1, 1)), np.array(evidence), int(np.argmax(evidence)))


@pytest.mark.parametrize(
    ("classes", "power", "cuts"), [(2, 15, 5), (4, 15, 4), (4, 16, 5), (8, 16, 4), (2, 13, 3), (16, 13, 2)]
)
def test_a_round_by_cell_has_a_cut_for_each_doubling_of_the_records_of_a_class(classes, power, cuts):
    plan = plan_of(1, Fraction(1, 10**6), schema=SCHEMA.replace(classes=list(range(classes))))
    course = RoundSchedule(plan, 2.0**power, BUDGET_UNITS)
    for _ in range(DEPTH_WINDOW):
        assert course.next_cell_cuts == 0
        course.record(seen(0.0, 5.0, 50.0), 0, offered=True)
    assert course.next_cell_cuts == cuts


def test_a_course_follows_the_evidence_of_its_last_rounds_with_cuts():
    course, clear = course_at(1e4), seen(40.0)
    for _ in range(RULES.rounds_before_cuts):
        assert course.next_cuts() == 0
        course.record(clear, 0, offered=False)
    for evidence, expected in (([1.0], 1), ([1.0, 50.0], 2), ([1.0, 50.0, 60.0], 3)):
        course.record(seen(*evidence), 0, offered=True)
        assert course.next_cuts() == expected
    for expected in (3, 3):  # the deepest of the last three
        course.record(seen(80.0, 50.0, 60.0, 0.0), 0, offered=True)
        assert course.next_cuts() == expected
    course.record(clear, 0, offered=False)
    assert course.next_cuts() == 3  # a round without cuts says nothing of them


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize(("epsilon", "least"), [(3, RULES.min_snr_for_cells), (20, RULES.pure_min_snr_for_cells)])
def test_cells_select_features_after_rounds_in_a_row_whose_second_cuts_mattered(epsilon, least, allowed):
    course, deep = course_at(least if allowed else least - 1, epsilon), seen(1.0, 50.0, 60.0)
    for number in range(DEPTH_WINDOW):
        assert course.next_cell_cuts == 0
        course.record(deep, 0, offered=False)  # a round without cuts says nothing of them
        course.record(seen(1.0, 50.0), 0, offered=number == 1)  # nor is it enough if one of them did not matter
        course.record(deep, 0, offered=True)
    assert course.next_cell_cuts == 0
    course.record(deep, 0, offered=True)
    assert (course.next_cell_cuts > 0) == allowed


def test_rounds_have_more_units_once_they_are_by_cell():
    course = course_at(2.0**16, epsilon=3)
    for _ in range(DEPTH_WINDOW):
        assert course.size == BUDGET_UNITS / RULES.max_rounds
        course.record(seen(1.0, 50.0, 60.0), 0, offered=True)
    assert course.size == round(BUDGET_UNITS / RULES.cell_rounds_by_snr[0])


def test_cuts_that_do_not_matter_are_offered_seldom():
    course, offered = course_at(1e4), []
    while len(offered) < 60:
        offered.append(course.next_cuts())
        course.record(seen(40.0, 0.0), 0, offered=offered[-1] > 0)
    assert set(offered) == {0, 1}
    assert sum(offered[-30:]) == 30 // CUT_INTERVAL
    assert sum(offered[RULES.rounds_before_cuts : RULES.rounds_before_cuts + DEPTH_WINDOW]) == DEPTH_WINDOW


@pytest.mark.parametrize(("precision", "most"), [(RULES.min_snr_for_cuts, 1), (RULES.min_snr_for_cuts - 1, 0)])
def test_cuts_come_early_where_a_round_found_nothing_and_records_are_many_enough(precision, most):
    course = course_at(precision)
    for _ in range(3):
        course.record(seen(-5.0), 0, offered=False)
        assert course.next_cuts() == most


@pytest.mark.parametrize("size", [1, 3, 4, 7, 119, 120, 121, 240])
def test_units_of_rounds_of_any_size_add_up(size):
    course = RoundSchedule(plan_of(1), 100.0, BUDGET_UNITS)
    course.size = size
    spent = []
    while units := course.next_units():
        spent.append(units)
    assert sum(spent) == BUDGET_UNITS
    assert all(size <= units < 2 * size for units in spent)
    assert course.next_units() == 0


@pytest.mark.parametrize("rules", [SHARED, BY_CELL], ids=["shared", "by cell"])
def test_scans_of_deep_rounds_stay_small(rules, monkeypatch):
    monkeypatch.setattr(plan_module, "MAX_SCAN_SUMS", 1)
    _, _, made = fitted(plan_of(20, Fraction(1, 10**6), rules=rules))
    assert max(cuts for _, cuts, _ in made) == 1
    alone = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    assert plan_of(20, schema=alone)._most_cuts == 0


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_noisy_number_of_records_is_what_decides(adjacency, monkeypatch):
    """The same released opening gives the same course, however many records there are."""
    right = InitialQueries.act
    monkeypatch.setattr(
        InitialQueries, "act", lambda self, curator: replace(right(self, curator), records=4000.0, spread=1.0)
    )
    few, many = (fitted(plan_of(3, Fraction(1, 10**6), adjacency), count=count)[2] for count in (10, 4000))
    assert [units for units, *_ in few] == [units for units, *_ in many]


@of_both
def test_signs_and_weights_cost_nothing(delta):
    free = plan_of(3, delta, most_cuts=1)
    bound = plan_of(3, delta, most_cuts=1, signs=(1, 0, 0, 0))
    assert bound.event == free.event
    assert plan_of(3, delta, signs=(1, 0, 0, 0)).event == free.event  # with signs a round has one cut at most
    model, _, _ = fitted(bound)
    assert model.signs == (1, 0, 0, 0)


def test_a_plan_is_made_in_few_steps(monkeypatch):
    """The search for the largest budget makes no more plans than it needs, and none of their rounds."""
    made = []
    right = AdditivePlan._queries
    monkeypatch.setattr(AdditivePlan, "_queries", lambda self, budget: made.append(budget) or right(self, budget))
    plan_of(1, Fraction(1, 10**6))
    assert len(made) <= 12


@pytest.mark.parametrize("found", [1.0, -0.5])
def test_many_features_that_matter_ask_for_smaller_rounds(found):
    """After six rounds in a row on a new feature each that is likely to matter; at most to a quarter."""
    course = RoundSchedule(plan_of(1, Fraction(1, 10**6)), 400.0, BUDGET_UNITS)
    sizes = []
    for feature in [*range(14), *range(14)]:
        sizes.append(course.next_units())
        course.record(seen(found), feature, offered=False)
    first = sizes[0]
    later = [first // 2, max(first // 4, round(BUDGET_UNITS / RULES.max_rounds))] if found > 0 else [first, first]
    assert sizes[:6] == [first] * 6
    assert sizes[6:12] == [later[0]] * 6
    assert sizes[12] == later[1] or found < 0
