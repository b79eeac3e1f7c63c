"""What a fit asks and what it leaves behind follow from the schema, its settings and what was released, and nothing else.

A fit runs on records, numbers of records and raw sums that have nothing in common, while its mechanisms answer alike: the
questions and the model must then be the same, byte for byte. A plan that looks at the records beside the mechanisms asks or
keeps something else in one of the worlds.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from every_system import DELTA, EVERY_CHOICE, NEEDS, PRIVATE, WITH_DELTA, build, records
from helpers import select_by_cell
from planted import boost_by_the_exact_number
from products import thinned
from released_only import QUESTIONS, World, fit_in

from hedgerow.additive import cell_round
from hedgerow.additive.plan import AdditivePlan, RoundSchedule
from hedgerow.additive.round import OneRound
from hedgerow.curator import Cut, Queryable, Round
from hedgerow.curator.rounds import cut_scores
from hedgerow.parameters import rules_of
from hedgerow.systems import hedgerow, system_class
from hedgerow.systems.cells import CellsPlan
from hedgerow.table import Sizes
from hedgerow.trees.boosting import BoostingPlan
from hedgerow.trees.forest import Grower
from hedgerow.trees.parts import SelectLabel

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")  # of few records nothing stands out

WORLDS = {
    "everything, false sums": World(*records(300, seed=3), lies=10),
    "one class": World({name: column[:40] for name, column in records(40)[0].items()}, np.full(40, "no", dtype=object)),
    "five records, false and large sums": World(*records(5, seed=4), lies=10**6),
    "forty records, large sums of one sign": World(*records(40, seed=5), lies=10**6, rising=True),
}
ONE = World({name: column[:1] for name, column in records(1)[0].items()}, np.array([None], dtype=object))
SIZES = {"n_estimators": 3, "max_depth": 3, "specializations": 6}


def small(name, **parameters):
    """Return a system that is quickly fitted."""
    kind = system_class(name)
    sizes = {key: value for key, value in SIZES.items() if key in rules_of(kind)}
    return build(name, "private", **{**sizes, **parameters})


FURTHEST = ("everything, false sums", "forty records, large sums of one sign")  # from one record, each in another way


def same_everywhere(estimator, seed, worlds=tuple(WORLDS)):
    model, asked = fit_in(ONE, estimator, seed)
    for name in worlds:
        other, asked_there = fit_in(WORLDS[name], estimator, seed)
        for number, (here, there) in enumerate(zip(asked, asked_there, strict=False)):
            assert here == there, f"question {number}, {here[0]}, is another one in the world of {name}"
        assert len(asked) == len(asked_there), f"there are {len(asked)} questions, and {len(asked_there)} in {name}"
        assert model == other, f"the model is another one in the world of {name}"
    return asked


@pytest.mark.parametrize("seed", thinned(range(3), 3))
@pytest.mark.parametrize(("name", "delta"), [*((name, 0) for name in PRIVATE), *((name, DELTA) for name in WITH_DELTA)])
def test_a_fit_follows_from_what_is_released(name, delta, seed):
    asked = same_everywhere(small(name, **({"delta": delta} if delta else {})), seed)
    assert len(asked) >= 3


@pytest.mark.parametrize("name", thinned(PRIVATE, 3))
def test_a_fit_as_it_comes_follows_from_what_is_released(name):
    same_everywhere(build(name, "private"), 0)


@pytest.mark.parametrize(("name", "seed"), [("hedgerow", 0), ("hedgerow", 3), ("forest", 0)])
def test_what_classes_weigh_follows_from_the_parameter(name, seed):
    same_everywhere(small(name, class_weight={"yes": 7}), seed)


# Numbers by which released values decide how many rounds and bins there are, and how many cuts a round may have.
BETWEEN = 15.0  # records, and with a delta those of a precision a fifth as large: in some worlds there are more, in others fewer
THRESHOLDS = {
    "cuts": ({"min_snr_for_cuts": BETWEEN, "rounds_before_cuts": 0}, {"min_snr_for_cuts": np.inf}),
    "cuts after some rounds": (
        {"min_snr_for_cuts": 0.0, "rounds_before_cuts": 2},
        {"min_snr_for_cuts": 0.0, "rounds_before_cuts": 3},
    ),
    "samples": ({"cut_sample": BETWEEN / 4}, {"cut_sample": np.inf}),
    "samples of rounds without cuts": (
        {"curve_sample": BETWEEN / 4, "curve_sample_snr": 1e-6},
        {"curve_sample": np.inf},
    ),
    "cuts of fewer features": (
        {"min_snr_for_cuts": 0.0, "rounds_before_cuts": 0, "fewer_features_from_snr": BETWEEN},
        {"min_snr_for_cuts": 0.0, "rounds_before_cuts": 0, "fewer_features_from_snr": np.inf},
    ),
    "cells": (
        {"min_snr_for_cells": BETWEEN, "pure_min_snr_for_cells": BETWEEN},
        {"min_snr_for_cells": np.inf, "pure_min_snr_for_cells": np.inf},
    ),
    "cuts of cells": ({"cell_cuts_below": np.log2(BETWEEN) - 2, "cell_cuts": (1, 3)}, {"cell_cuts": (0, 0)}),
    "rounds": (
        {"rounds_by_snr": (12 / BETWEEN, 1.0), "pure_rounds_by_snr": (12 / BETWEEN, 1.0)},
        {"rounds_by_snr": (2.0, 0), "pure_rounds_by_snr": (2.0, 0)},
    ),
    "bins": (
        {"bins_by_snr": (24 / BETWEEN, 1.0), "pure_bins_by_snr": (24 / BETWEEN, 1.0)},
        {"bins_by_snr": (8.0, 0), "pure_bins_by_snr": (8.0, 0)},
    ),
}


@pytest.mark.parametrize(("threshold", "delta"), thinned(product(THRESHOLDS, [0, DELTA]), 3))
def test_what_kind_of_round_there_is_follows_from_what_is_released(threshold, delta, monkeypatch):
    """With each threshold between two worlds: the released numbers are the same, so what follows from them must be."""
    between, other = THRESHOLDS[threshold]
    if "cells" in threshold:
        select_by_cell(monkeypatch)
    estimator = build("hedgerow", "private", **({"delta": delta} if delta else {}))
    monkeypatch.setattr(hedgerow, "RULES", replace(hedgerow.RULES, **between))
    asked = same_everywhere(estimator, 0)
    monkeypatch.setattr(hedgerow, "RULES", replace(hedgerow.RULES, **other))
    assert fit_in(ONE, estimator, 0)[1] != asked  # the threshold decides something here


@pytest.fixture
def deep(monkeypatch):
    """Rounds have as many cuts as they may."""
    monkeypatch.setattr(
        hedgerow, "RULES", replace(hedgerow.RULES, min_snr_for_cuts=0.0, rounds_before_cuts=0, max_cuts=3)
    )
    monkeypatch.setattr(RoundSchedule, "next_cuts", lambda self: self._most)


@pytest.mark.usefixtures("deep")
@pytest.mark.parametrize("seed", thinned(range(2), 2))
@pytest.mark.parametrize("delta", [0, DELTA])
def test_deep_rounds_follow_from_what_is_released(delta, seed):
    asked = same_everywhere(small("hedgerow", **({"delta": delta} if delta else {})), seed)
    assert {"select_cut", "select", "sums"} <= {question for question, _ in asked}


@pytest.fixture
def by_cell(monkeypatch):
    """All rounds but the first let each cell select a feature."""
    select_by_cell(monkeypatch)


@pytest.mark.usefixtures("by_cell")
@pytest.mark.parametrize("seed", thinned(range(2), 2))
@pytest.mark.parametrize("delta", [0, DELTA])
def test_rounds_by_cell_follow_from_what_is_released(delta, seed):
    asked = same_everywhere(small("hedgerow", **({"delta": delta} if delta else {})), seed)
    assert [question for question, _ in asked].count("select_by_cell") == SIZES["n_estimators"] - 1


CHOICES = [(name, choice, value) for name, variant, choice, value in EVERY_CHOICE if variant == "private"]


@pytest.mark.parametrize(("name", "choice", "value"), thinned(CHOICES, 2))
def test_a_choice_follows_from_what_is_released(name, choice, value):
    same_everywhere(small(name, **{choice: value, **NEEDS.get((name, choice, value), {})}), 1, FURTHEST)


def test_every_question_is_asked_by_some_system(monkeypatch):
    """A question of the curator that no system here asks would not be watched."""
    asked = set()
    for name in PRIVATE:
        asked |= {question for question, _ in fit_in(ONE, small(name), 0)[1]}
    with monkeypatch.context() as patch:
        patch.setattr(RoundSchedule, "next_cuts", lambda self: self._most)
        asked |= {question for question, _ in fit_in(ONE, small("hedgerow"), 0)[1]}
        select_by_cell(patch)
        asked |= {question for question, _ in fit_in(ONE, small("hedgerow"), 0)[1]}
    asked |= {question for question, _ in fit_in(ONE, small("hedgerow", delta=1e-6), 0)[1]}
    for choices in ({"stop": "noisy-minority"}, {"split": "cuts-then-test"}):
        for name in PRIVATE:
            kind = system_class(name)
            if all(key in rules_of(kind) and rules_of(kind)[key].allows(value) for key, value in choices.items()):
                asked |= {question for question, _ in fit_in(ONE, small(name, **choices), 0)[1]}
    # Draws are noted beside the questions; what is left out analysts' curators ask.
    assert asked - {"a draw"} == {name for _, name in QUESTIONS} - {"for_learner", "draw_sample"}


# What must be noticed.

SHIPPED = RoundSchedule.next_cuts


def sizes_of(curator, nodes):
    return curator._table.answer(Sizes(curator._state.value.frontier(nodes, curator._table)))


def close_nodes_without_records(plant):
    grow_level = Grower._grow_level

    def grown(self, frontier, level):
        empty = sizes_of(self._curator, frontier.nodes) == 0
        self._finish(frontier[empty], level.leaf)
        return grow_level(self, frontier[~empty], level)

    plant.setattr(Grower, "_grow_level", grown)


def label_nodes_without_records_by_the_first_class(plant):
    ask = SelectLabel.ask

    def asked(self, curator, nodes):
        return np.where(sizes_of(curator, nodes)[:, None] == 0, 0, ask(self, curator, nodes))

    plant.setattr(SelectLabel, "ask", asked)


def end_when_there_are_as_many_trees_as_records(plant):
    fit = BoostingPlan.fit

    def boosted(self, curator):
        self._rounds = min(self._rounds, len(curator._table))
        return fit(self, curator)

    plant.setattr(BoostingPlan, "fit", boosted)


def cut_no_interval_of_few_records(plant):
    fit = CellsPlan.fit

    def released(self, curator):
        self._cuts = self._cuts and len(curator._table) > 1
        return fit(self, curator)

    plant.setattr(CellsPlan, "fit", released)


def weigh_classes_by_the_number_of_records(plant):
    fit = AdditivePlan.fit

    def boosted(self, curator):
        self._weights = (1 / (1 + len(curator._table)), 1.0)
        return fit(self, curator)

    plant.setattr(AdditivePlan, "fit", boosted)


def cut_as_often_as_the_exact_number_allows(plant):
    fit, begin = AdditivePlan.fit, RoundSchedule.__init__
    records = []

    def boosted(self, curator):
        records.append(len(curator._table))
        return fit(self, curator)

    def began(self, *given):
        begin(self, *given)
        self._may_cut = self._cutting = records[-1] > 100

    plant.setattr(AdditivePlan, "fit", boosted)
    plant.setattr(RoundSchedule, "__init__", began)


def go_as_deep_as_the_raw_sums_tell_cells_apart(plant):
    """K comes from the sums before noise."""
    select, next_cuts, raw = Round.select, RoundSchedule.next_cuts, []

    def selected(self, *given):
        raw.append(int(np.abs(self._sums[..., : self._rule.scored]).sum()))
        return select(self, *given)

    plant.setattr(Round, "select", selected)
    plant.setattr(RoundSchedule, "next_cuts", lambda self: 1 + raw[-1] % 2 if raw else next_cuts(self))


def cut_where_exact_gradients_are_largest(plant):
    chosen = Round.select_cut

    def exactly(self, mechanism, ordered, offered):
        chosen(self, mechanism, ordered, offered)
        scores = cut_scores(self._by_code[..., : self._rule.scored], self._offsets, np.array(ordered))
        best = int(np.argmax(np.where(offered, scores, -1)))
        feature = int(np.searchsorted(self._offsets, best, side="right")) - 1
        codes = int(np.diff(self._offsets)[feature])
        return Cut.at(feature, best - int(self._offsets[feature]), codes, ordered=bool(ordered[feature]))

    plant.setattr(Round, "select_cut", exactly)


def spend_less_where_records_are_few(plant):
    run = OneRound.run

    def ran(self, curator, fit, by):
        return run(replace(self, cuts=0) if len(curator._table) < 30 else self, curator, fit, by)

    plant.setattr(OneRound, "run", ran)


PLANTED = {
    "classes weigh what the number of records says": (weigh_classes_by_the_number_of_records, "hedgerow"),
    "a penalty comes from the exact number of records": (boost_by_the_exact_number, "hedgerow"),
    "a node without records is closed": (close_nodes_without_records, "edprf"),
    "a leaf without records gets the first class": (label_nodes_without_records_by_the_first_class, "pfdpdt"),
    "rounds end with the records": (end_when_there_are_as_many_trees_as_records, "dp-adaboost"),
    "intervals of few records stay whole": (cut_no_interval_of_few_records, "diffgen"),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_plan_that_looks_at_the_records_is_noticed(bug, monkeypatch):
    plant, name = PLANTED[bug]
    same_everywhere(small(name), 0)
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=r"is another one|questions"):
        same_everywhere(small(name), 0)


def select_in_cells_with_records_only(plant):
    select = Round.select_by_cell

    def selected(self, *given):
        return tuple(np.where(self._sums.any(axis=(1, 2, 3)), chosen, 0) for chosen in select(self, *given))

    plant.setattr(Round, "select_by_cell", selected)


def offer_in_cells_what_their_records_tell_apart(plant):
    select = Round.select_by_cell

    def selected(self, mechanism, group, penalty, offered):
        codes = (self._sums[:, 0] != 0).any(axis=2)
        several = np.add.reduceat(codes, self._offsets[:-1], axis=1) > 1
        return select(self, mechanism, group, penalty, np.where(several.any(axis=1, keepdims=True), several, offered))

    plant.setattr(Round, "select_by_cell", selected)


def measure_groups_of_as_many_records(plant):
    """The groups of a number in a cell hold about as many of its records, by raw sums."""
    groups = cell_round.groupings

    def grouped(fit, cuts):
        fit.mass = fit.mass + counts[-1]
        return groups(fit, cuts)

    merge, counts = Queryable.merge, [0]

    def merged(self, into):
        merge(self, into)
        counts.append(len(self._table) * np.arange(self._table.offsets[-1]))

    plant.setattr(Queryable, "merge", merged)
    plant.setattr(cell_round, "groupings", grouped)


IN_CELLS = {
    "no selection in a cell without records": select_in_cells_with_records_only,
    "features by what records of a cell tell apart": offer_in_cells_what_their_records_tell_apart,
    "groups by the records": measure_groups_of_as_many_records,
}


@pytest.mark.usefixtures("by_cell")
@pytest.mark.parametrize("bug", IN_CELLS)
def test_a_round_by_cell_that_looks_at_the_records_is_noticed(bug, monkeypatch):
    IN_CELLS[bug](monkeypatch)
    with pytest.raises(AssertionError, match=r"is another one|questions"):
        same_everywhere(small("hedgerow", n_estimators=4), 0)


DEEP = {
    "cuts by the exact number of records": cut_as_often_as_the_exact_number_allows,
    "cuts by raw sums": go_as_deep_as_the_raw_sums_tell_cells_apart,
    "the cut of the largest exact gradients": cut_where_exact_gradients_are_largest,
    "no cuts of few records": spend_less_where_records_are_few,
}


@pytest.mark.usefixtures("deep")
@pytest.mark.parametrize("bug", DEEP)
def test_a_deep_round_that_looks_at_the_records_is_noticed(bug, monkeypatch):
    if "number" in bug or "raw" in bug:  # they decide about the depth themselves
        monkeypatch.setattr(RoundSchedule, "next_cuts", SHIPPED)
    DEEP[bug](monkeypatch)
    with pytest.raises(AssertionError, match=r"is another one|questions"):
        same_everywhere(small("hedgerow", n_estimators=4), 0)
