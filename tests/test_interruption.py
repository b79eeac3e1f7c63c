"""An interruption at any line buys no answer twice and loses no charge."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import make_table
from interruption import at_every_line
from products import thinned

import hedgerow as hr
from hedgerow.additive.losses import Logistic
from hedgerow.additive.round import OneRound
from hedgerow.curator import (
    Candidate,
    CompareMinorities,
    Cut,
    ModelScores,
    Nodes,
    Queryable,
    Release,
    Round,
    SelectLabels,
    SelectSpecializations,
    SelectTests,
    Splits,
)
from hedgerow.curator.queries import Noisy
from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import AtMost, Budget, Geometric, PermuteAndFlip, PerRecordCoin, Randomness
from hedgerow.privacy.accounting import Sequence, cost
from hedgerow.scores import Gini, Majority, Specializations, multiway
from hedgerow.table import CellCounts, ClassCounts, Histogram, Pairs, Sizes

HALF, EIGHTH = Fraction(1, 2), Fraction(1, 8)
TESTS = multiway((2, 2))
GRADIENTS = Logistic(2, normal=False)
CURATOR = (
    "curator/queryable.py",
    "curator/rounds.py",
    "curator/queries.py",
    "table/memory.py",
    "privacy/filter.py",
    "mechanisms/randomness.py",
)


class Watched(Randomness):
    """Exact answers in place of noisy ones, and how many of them were given about the one record that there is."""

    def __init__(self):
        super().__init__(0)
        self.answers = 0

    def draw(self, mechanism, *statistics):
        answer = super().draw(mechanism, *statistics)
        self.answers += 1
        return statistics[0] if isinstance(mechanism, Geometric) else answer


def opened():
    curator = Queryable(make_table([(0, 1, 1)]), Fraction(1), Watched())
    return curator, curator.assign(PerRecordCoin(1))


def rounds():
    curator = Queryable(make_table([(0, 1, 1)]), Fraction(1), Watched())
    return curator, curator.open_round(GRADIENTS, None, (ON_B,), SPLITS)


def leaf(curator, root):
    return curator.partition(root, TESTS, np.array([0]))


OFFERED = np.ones((1, 2), dtype=bool)
CUT = Specializations(np.arange(4), [(0, 1, 2)], np.ones(1, dtype=np.int64))
QUESTIONS = {
    "count": lambda c, r: c.answer(Sizes(r), Geometric(HALF)),
    "class_counts": lambda c, r: c.answer(ClassCounts(r), Geometric(HALF)),
    "histogram": lambda c, r: c.answer(Histogram(r, OFFERED), Geometric(HALF, 2)),
    "select": lambda c, r: c.answer(SelectTests(r, TESTS, OFFERED, Gini()), PermuteAndFlip(HALF, Gini().range)),
    "select_label": lambda c, r: c.answer(SelectLabels(r), PermuteAndFlip(HALF, 1)),
    "specialize": lambda c, r: c.answer(
        SelectSpecializations(r, [CUT], Majority()), PermuteAndFlip(HALF, Majority.range)
    ),
    "cell_counts": lambda c, r: c.answer(CellCounts(r, OneCell()), Geometric(HALF)),
    "minority_at_most": lambda c, r: c.answer(CompareMinorities(r), AtMost(Geometric(HALF), 10)),
    "model_scores": lambda c, r: c.answer(ModelScores(r), PermuteAndFlip(HALF, 1)),
}
SELECTION = PermuteAndFlip(HALF, 2 * GRADIENTS.scored_l1)
PAIRS = Pairs((0, 1), np.zeros(4), np.zeros(4), np.array([0, 2, 4]))
ON_B, SPLITS = Cut(1, np.array([0, 1])), Splits([0], [np.arange(2)], [False])


def select_by_cell(asked, cells):
    group, penalty = np.zeros((1, cells, 4), dtype=np.int64), np.zeros((1, cells, 2), dtype=np.int64)
    return asked.select_by_cell(SELECTION, group, penalty, np.ones(penalty.shape, dtype=np.bool_))


OF_ALL = {
    "select_cut": lambda asked: asked.select_cut(SELECTION, [False, False], np.ones(4, dtype=np.bool_)),
    "select": lambda asked: asked.select(SELECTION, np.zeros((2, 2), dtype=np.int64)),
    "select_by_cell": lambda asked: select_by_cell(asked, len(asked._sums)),
    "select_pair": lambda asked: replace(asked, _pairs=PAIRS).select_pair(SELECTION, np.zeros((2, 2), dtype=np.int64)),
    "sums": lambda asked: asked.sums(Candidate(1, 0, SPLITS.cut(0)), Geometric(HALF, GRADIENTS.l1)),
    "whole_sums": lambda asked: asked.whole_sums(Geometric(HALF, GRADIENTS.l1)),
}
FREE = {
    "assign": lambda c, _: c.assign(PerRecordCoin(1)),
    "partition": lambda c, r: leaf(c, r),
    "open_round": lambda c, _: c.open_round(GRADIENTS),
    "update_margins": lambda c, _: c.update_margins(vote),
    "open_round with votes": lambda c, _: c.open_round(GRADIENTS, vote, (ON_B,), SPLITS),
    "draw_sample": lambda c, _: c.draw_sample(1),
    "merge": lambda c, _: c.merge([np.array([0, 0]), np.array([0, 1])]),
    "draw_public": lambda c, _: c.draw_public(PermuteAndFlip(HALF, 1), np.zeros((1, 2), dtype=np.int64), OFFERED),
}
METHODS = {"warnings_of", "for_learner", "evidence", "reserve", "spent", "total"}


def vote(codes, margins):
    margins += 1


vote.columns = 1


class OneCell:
    n_cells = 1

    def cell(self, codes):
        return np.zeros(len(codes), dtype=np.int64)


def take_all(curator):
    """Ask whatever still answers about the record, by any name of nodes, for an eighth each time, and return how often it did."""
    answered = Counter()
    for generation in range(6):
        for index in range(3):
            nodes = Nodes(generation, np.array([index]))
            with contextlib.suppress(BudgetExceeded, ConfigurationError):
                for _ in range(30):
                    answered[generation, index] += int(curator.answer(Sizes(nodes), Geometric(EIGHTH))[0])
    return sum(answered.values())


def test_every_public_method_is_here():
    public = {name for name in vars(Queryable) if not name.startswith("_")}
    assert public == {"answer", *(name.split()[0] for name in FREE), *METHODS}
    asked = []
    for ask in QUESTIONS.values():
        ask(SimpleNamespace(answer=lambda query, _: asked.append(type(query))), [0])
    assert set(asked) == {Sizes, ClassCounts, CellCounts, Histogram, *Release.__subclasses__()} - {Noisy}
    assert {name for name in vars(Round) if not name.startswith("_")} == {*OF_ALL}


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_interrupted_question_is_not_had_twice(name):
    places = set()
    for where, (curator, _root), _ in at_every_line(CURATOR, opened, lambda prepared: QUESTIONS[name](*prepared)):
        places.add(where)
        given = curator._randomness.answers * HALF
        assert given <= curator.spent <= 1, where
        given += take_all(curator) * EIGHTH
        assert given <= curator.spent <= 1, where
    assert len(places) > 10


@pytest.mark.parametrize("name", OF_ALL)
def test_an_interrupted_question_of_all_records_is_not_had_twice(name):
    curator, asked = rounds()
    OF_ALL[name](asked)
    one = curator.spent  # half, rounded down to what the sampler can draw
    assert one > Fraction(2, 5)
    for where, (curator, asked), _ in at_every_line(CURATOR, rounds, lambda prepared: OF_ALL[name](prepared[1])):
        with contextlib.suppress(BudgetExceeded):
            for _ in range(3):
                OF_ALL[name](asked)
        assert curator._randomness.answers * one <= curator.spent <= 1, where


class Tallied(Randomness):
    """How many answers were drawn by each kind of mechanism."""

    def __init__(self):
        super().__init__(0)
        self.drawn = Counter()

    def draw(self, mechanism, *statistics):
        answer = super().draw(mechanism, *statistics)
        self.drawn[type(mechanism)] += 1
        return answer


def test_steps_of_an_interrupted_reservation_are_not_had_twice():
    loss = Logistic(2, normal=True)
    made = OneRound(loss, Budget(Fraction(1, 100), concentrated=True), 0, 2)
    selected, measured = made.event.parts

    def prepare():
        curator = Queryable(make_table([(0, 1, 1)]), cost(Sequence((made.event,) * 2)), Tallied())
        return curator, curator.open_round(loss)

    def act(prepared):
        curator, answers = prepared
        curator.reserve(made.event)
        answers.sums(answers.select(made.selection, np.zeros((1, 2), dtype=np.int64)), made.noise)

    for where, (curator, answers), _ in at_every_line(CURATOR, prepare, act):
        for _ in range(3):
            with contextlib.suppress(BudgetExceeded):
                act((curator, answers))
        drawn, total = curator._randomness.drawn, curator.total
        assert drawn[type(made.selection)] * selected.epsilon <= total.epsilon <= 2 * selected.epsilon, where
        assert drawn[type(made.noise)] * measured.mu_squared <= total.mu_squared <= 2 * measured.mu_squared, where


@pytest.mark.parametrize("asked_before", [0, 3])
def test_an_interrupted_partition_does_not_multiply_the_budget(asked_before):
    """Parents and children once both answered, each at the whole budget."""

    def prepare():
        curator, root = opened()
        if asked_before:
            curator.answer(Sizes(root), Geometric(asked_before * EIGHTH))
        return curator, root

    ends = Counter()
    for where, (curator, root), children in at_every_line(CURATOR, prepare, lambda prepared: leaf(*prepared)):
        assert curator.spent == asked_before * EIGHTH
        answers = take_all(curator)
        assert answers * EIGHTH + asked_before * EIGHTH <= curator.spent <= 1, where
        ends[answers] += 1
        if children is not None:
            with pytest.raises(ConfigurationError, match="partitioned"):
                curator.answer(Sizes(root), Geometric(EIGHTH))
    assert ends[8 - asked_before] > 20  # what is left can still be had, once


def test_partitions_that_are_interrupted_again_and_again_do_not_multiply_the_budget():
    for where, (curator, root), _ in at_every_line(CURATOR, opened, lambda prepared: leaf(*prepared)):
        for _ in range(3):
            with contextlib.suppress(ConfigurationError):
                leaf(curator, root)
        assert take_all(curator) * EIGHTH <= curator.spent <= 1, where


@pytest.mark.parametrize("name", ["assign", "open_round", "draw_public"])
def test_an_interrupted_free_step_gives_nothing_away(name):
    for where, (curator, _), _ in at_every_line(CURATOR, opened, lambda prepared: FREE[name](*prepared)):
        assert take_all(curator) * EIGHTH <= curator.spent <= 1, where


@pytest.mark.parametrize("name", ["update_margins", "open_round with votes", "merge"])
def test_records_that_changed_by_half_answer_no_more(name):
    """Which of them have changed depends on where they stand, so one record more would change another."""

    def prepare():
        return Queryable(make_table([(1, 1, 1)] * 3), Fraction(1), Watched()), None

    closed = 0
    for where, (curator, _), _ in at_every_line(CURATOR, prepare, lambda prepared: FREE[name](*prepared)):
        table = curator._table
        margins = table._margins if table._margins is not None else np.zeros((3, 1))
        if name == "merge":
            state, untouched = table.offsets.tolist() == [0, 1, 3], bool((table._codes == 1).all())
        else:
            state, untouched = bool((margins == 1).all()), bool((margins == 0).all())
        try:
            curator.open_round(GRADIENTS)
        except BudgetExceeded as refusal:
            closed += 1
            assert "interrupted" in str(refusal)  # noqa: PT017
        else:
            assert state != untouched, where
    assert closed > 2


ASKED = (*CURATOR, "privacy/filter.py")


@pytest.mark.parametrize("name", thinned([*QUESTIONS, "partition"], 3))
def test_a_question_that_a_signals_handler_asks_in_between_is_charged(name):
    """The outer question once wrote its own charge over the handler's."""
    act = (QUESTIONS | FREE)[name]

    def handle(prepared):
        curator, root = prepared
        with contextlib.suppress(BudgetExceeded, ConfigurationError):
            curator.answer(Sizes(root), Geometric(HALF))

    def suppressed(prepared):
        with contextlib.suppress(BudgetExceeded, ConfigurationError):
            return act(*prepared)

    for where, (curator, _root), _ in at_every_line(ASKED, opened, suppressed, handle):
        assert curator._randomness.answers * HALF <= curator.spent <= 1, where
        given = curator._randomness.answers * HALF + take_all(curator) * EIGHTH
        assert given <= curator.spent <= 1, where


def test_a_fit_that_a_signals_handler_runs_in_between_is_booked():
    def fit(ledger):
        model = hr.EDPRFClassifier(epsilon=0.6, schema=SCHEMA, n_estimators=1, max_depth=0, ledger=ledger)
        with contextlib.suppress(BudgetExceeded):
            return model.fit(X, Y)

    files = ("ledgers/ledger.py", "privacy/filter.py")
    places = 0
    for where, ledger, _ in at_every_line(files, lambda: hr.Ledger(epsilon=1.0), fit, fit):
        assert ledger.spent == sum(entry.epsilon for entry in ledger.entries) == Fraction(3, 5), where
        places += 1
    assert places > 10


def test_a_draw_that_a_signals_handler_makes_in_between_has_a_stream_of_its_own():
    class Number:
        def sample(self, stream):
            return stream.tobytes()

    for where, (_randomness, drawn), _ in at_every_line(
        ("mechanisms/randomness.py", "privacy/filter.py"),
        lambda: (Randomness(0), []),
        lambda prepared: prepared[1].append(prepared[0].draw(Number())),
        lambda prepared: prepared[1].append(prepared[0].draw(Number())),
    ):
        assert len(set(drawn)) == len(drawn), where


LEDGER = ("ledgers/ledger.py", "estimator/base.py", "estimator/planning.py", "curator/given.py")
SCHEMA = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
X, Y = [["x"], ["y"]] * 20, ["no", "yes"] * 20


@pytest.fixture
def drawn(monkeypatch):
    """How many draws were begun."""
    begun = []
    draw = Randomness.draw
    monkeypatch.setattr(Randomness, "draw", lambda self, *asked: begun.append(1) or draw(self, *asked))
    return begun


def test_a_ledger_that_is_interrupted_loses_no_charge(drawn):
    def prepare():
        drawn.clear()
        return hr.Ledger(epsilon=1.0)

    def act(ledger):
        return hr.EDPRFClassifier(epsilon=0.6, schema=SCHEMA, n_estimators=1, max_depth=1, ledger=ledger).fit(X, Y)

    booked = Counter()
    for where, ledger, model in at_every_line(LEDGER, prepare, act):
        assert ledger.spent in (0, Fraction(3, 5)), where
        assert ledger.spent == sum(entry.epsilon for entry in ledger.entries)
        if drawn or model is not None:
            assert ledger.spent == Fraction(3, 5), where
        booked[ledger.spent] += 1
        with contextlib.suppress(BudgetExceeded):
            act(ledger)
        assert ledger.spent == Fraction(3, 5)
    assert min(booked[0], booked[Fraction(3, 5)]) > 5


PERSONS = (*LEDGER, "table/reading.py", "reading/persons.py", "reading/columns.py", "mechanisms/randomness.py")
WHO = ["a", "b", "a", None] * 10


def test_a_fit_for_persons_that_is_interrupted_loses_no_charge(drawn):
    """Between the booking and the first draw ids are read and records chosen."""

    def prepare():
        drawn.clear()
        return hr.Ledger(epsilon=1.0, records_per_person=2), hr.EDPRFClassifier(
            epsilon=0.6, schema=SCHEMA, n_estimators=1, max_depth=0, records_per_person=2
        )

    def act(prepared):
        ledger, model = prepared
        return model.set_params(ledger=ledger).fit(X, Y, groups=WHO)

    booked, chosen = Counter(), 0
    for where, (ledger, model), fitted in at_every_line(PERSONS, prepare, act):
        assert ledger.spent in (0, Fraction(3, 5)), where
        if drawn or fitted is not None:
            assert ledger.spent == Fraction(3, 5), where
        if where.startswith(("persons.py", "reading.py")):
            chosen += 1
            assert not drawn, where
            assert not hasattr(model, "certificate_"), where
        booked[ledger.spent] += 1
    assert min(booked[0], booked[Fraction(3, 5)], chosen) > 5


@pytest.mark.full
def test_a_choice_in_partitions_that_is_interrupted_is_made_anew_and_alike(monkeypatch):
    monkeypatch.setattr("hedgerow.engines.local.MOST_ROWS", 3)
    monkeypatch.setattr("hedgerow.engines.local.FEWEST_ROWS", 3)
    batch = {"a": ["x", "y"] * 4, "label": ["no", "yes", "yes", "no"] * 2, "who": ["a", "b", "a", None] * 2}
    make = {"schema": SCHEMA, "n_estimators": 1, "max_depth": 0, "records_per_person": 1, "random_state": 1}

    def fit(records):
        return hr.EDPRFClassifier(epsilon=1.0, **make).fit(records)

    def prepare():
        return hr.Records.from_batches(lambda: [batch], label="label", group="who")

    whole = fit(prepare()).model_.to_arrays()
    places = 0
    for where, records, _ in at_every_line(("table/reading.py", "engines/encode.py"), prepare, fit):
        places += 1
        again = fit(records).model_.to_arrays()
        assert all(np.array_equal(again[name], whole[name]) for name in whole), where
    assert places > 50


OLD = {"variant": "published", "epsilon": 50.0}
KINDS = {
    "edprf": (hr.EDPRFClassifier, {"n_estimators": 1, "max_depth": 1}),
    "forest": (hr.ForestClassifier, {"n_estimators": 1, "max_depth": 1}),
    "hedgerow": (hr.HedgerowClassifier, {"n_estimators": 2}),
    "dpada": (hr.DPAdaClassifier, {"n_estimators": 2}),
    "diffgen": (hr.DiffGenClassifier, {}),
}


@pytest.mark.filterwarnings("ignore:the noisy number of records")
@pytest.mark.parametrize("kind", thinned(KINDS, 3))
def test_an_interrupted_refit_leaves_no_model_under_another_certificate(kind, drawn):
    make, parameters = KINDS[kind]
    old = OLD if "variant" in make().get_params() else {"epsilon": 50.0}

    def prepare():
        model = make(schema=SCHEMA, **parameters, **old).fit(X, Y)
        drawn.clear()
        model.set_params(
            **({"variant": "private"} if "variant" in old else {}), epsilon=0.125, ledger=hr.Ledger(epsilon=1.0)
        )
        return model, model.model_

    ends = Counter()
    for where, (model, before), _ in at_every_line(LEDGER, prepare, lambda prepared: prepared[0].fit(X, Y)):
        if not hasattr(model, "model_"):
            ends["nothing"] += 1
            assert not hasattr(model, "certificate_"), where
            assert model.ledger.spent == EIGHTH, where
        elif model.model_ is before:
            ends["old"] += 1
            assert model.certificate_.epsilon == 50, where
            assert not drawn, where
        else:
            ends["new"] += 1
            assert model.certificate_.epsilon == EIGHTH, where
            assert model.ledger.spent == EIGHTH, where
    assert min(ends["old"], ends["nothing"], ends["new"]) > 0


def test_a_refused_refit_keeps_the_old_model_whole():
    model = hr.EDPRFClassifier(epsilon=1.0, schema=SCHEMA, n_estimators=1, max_depth=1, ledger=hr.Ledger(epsilon=1.5))
    model.fit(X, Y)
    before = model._fitted
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y)
    assert model._fitted is before
    with pytest.raises(ConfigurationError):
        model.set_params(epsilon=0.1, max_depth=-1).fit(X, Y)
    assert model._fitted is before
    assert model.predict(X).shape == (40,)


@pytest.mark.full
def test_an_interrupted_tree_by_a_curator_leaves_no_other_model_and_stays_charged(drawn):
    def prepare():
        curator = hr.Curator(X, Y, SCHEMA, 1.0)
        model = hr.DiffPID3Classifier(epsilon=0.5, max_depth=1).fit_curator(curator)
        drawn.clear()
        return curator, model, model.model_

    for where, (curator, model, before), _ in at_every_line(
        LEDGER + CURATOR[:1], prepare, lambda prepared: prepared[1].fit_curator(prepared[0])
    ):
        if hasattr(model, "model_") and model.model_ is before:
            assert not drawn, where
        if len(drawn) > 1:  # the first is the coin that assigns the records
            assert curator.spent > HALF, where
        assert curator.spent <= 1


def test_an_interrupted_curator_stays_booked(monkeypatch):
    ends = Counter()
    for _, ledger, curator in at_every_line(
        LEDGER, lambda: hr.Ledger(epsilon=1.0), lambda ledger: hr.Curator(X, Y, SCHEMA, 1.0, ledger=ledger)
    ):
        ends[ledger.spent] += 1
        if curator is not None:
            assert ledger.spent == 1
    assert set(ends) == {0, 1}
