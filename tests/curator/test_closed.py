"""When a curator answers nothing: in another process, after a broken off change, during a scan, about nodes that are closed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from helpers import make_table

from hedgerow.curator import CompareMinorities, Nodes, Queryable, SelectLabels, SelectSpecializations, SelectTests
from hedgerow.curator.survey import Ones
from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import AtMost, Geometric, PermuteAndFlip, PerRecordCoin, Randomness
from hedgerow.scores import Majority, Max, Specializations, multiway
from hedgerow.table import CellCounts, ClassCounts, Histogram, MemoryTable, Sizes

RECORDS = [(a, b, (a + b) % 2) for a in (0, 1) for b in (0, 1) for _ in range(5)]
TESTS = multiway((2, 2))
BOTH = np.ones((1, 2), dtype=np.bool_)
NOISE = Geometric(Fraction(1, 8), 2)
CUT = Specializations(np.arange(4), [(0, 1, 2)], np.ones(1, dtype=np.int64))


class OneCell:
    n_cells = 1

    def cell(self, codes):
        return np.zeros(len(codes), dtype=np.int64)


def learn(codes, margins):
    margins += 1


learn.columns = 1

OF_NODES = {
    "count": lambda c, n: c.answer(Sizes(n), NOISE),
    "class_counts": lambda c, n: c.answer(ClassCounts(n), NOISE),
    "histogram": lambda c, n: c.answer(Histogram(n, BOTH), NOISE),
    "cell_counts": lambda c, n: c.answer(CellCounts(n, OneCell()), NOISE),
    "minority_at_most": lambda c, n: c.answer(CompareMinorities(n), AtMost(NOISE, 1)),
    "select": lambda c, n: c.answer(SelectTests(n, TESTS, BOTH, Max()), PermuteAndFlip(Fraction(1, 8), 1)),
    "select_label": lambda c, n: c.answer(SelectLabels(n), PermuteAndFlip(Fraction(1, 8), 1)),
    "specialize": lambda c, n: c.answer(SelectSpecializations(n, [CUT], Majority()), PermuteAndFlip(Fraction(1, 8), 1)),
    "partition": lambda c, n: c.partition(n, TESTS, np.zeros(len(n), dtype=np.int64)),
}
OF_RECORDS = {
    "assign": lambda c, _: c.assign(PerRecordCoin(1)),
    "open_round": lambda c, _: c.open_round(Ones()),
    "open_round with votes": lambda c, _: c.open_round(Ones(), learn),
    "update_margins": lambda c, _: c.update_margins(learn),
    "for_learner": lambda c, _: c.for_learner(NOISE.event("")),
}


def opened(table=None):
    curator = Queryable(table or make_table(RECORDS), Fraction(10), Randomness(0))
    return curator, curator.assign(PerRecordCoin(1))


def break_off(codes, margins):
    raise KeyboardInterrupt


break_off.columns = 1


@pytest.mark.parametrize("name", OF_NODES | OF_RECORDS)
def test_nothing_is_answered_after_a_change_was_broken_off_or_in_another_process(name, monkeypatch):
    ask = (OF_NODES | OF_RECORDS)[name]
    curator, root = opened()
    with pytest.raises(KeyboardInterrupt):
        curator.update_margins(break_off)
    for _ in range(2):  # a refused change does not open it again
        with pytest.raises(BudgetExceeded, match="was interrupted"):
            ask(curator, root)
    assert curator.spent == 0
    curator, root = opened()
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(BudgetExceeded, match="answers in the process that made it"):
        ask(curator, root)
    assert curator.spent == 0


def test_a_round_that_was_opened_before_answers_nothing_after_a_change_was_broken_off():
    curator, _ = opened()
    asked = curator.open_round(Ones())
    with pytest.raises(KeyboardInterrupt):
        curator.open_round(Ones(), break_off)
    with pytest.raises(BudgetExceeded, match="interrupted"):
        asked.whole_sums(NOISE)
    assert curator.spent == 0


@pytest.mark.parametrize("name", OF_NODES)
def test_nodes_that_are_closed_or_anothers_are_refused_before_anything_else(name):
    curator, root = opened()
    children = curator.partition(root, TESTS, np.array([0]))
    with pytest.raises(ConfigurationError, match="query its children"):
        OF_NODES[name](curator, root)
    for nodes in (Nodes(children.generation + 1, root.index), Nodes(-1, root.index), Nodes(1, np.array([2]))):
        with pytest.raises(ConfigurationError, match="names a node twice"):
            OF_NODES[name](curator, nodes)

    class Others(Nodes):
        pass

    with pytest.raises(ConfigurationError, match="what a curator returned"):
        OF_NODES[name](curator, Others(children.generation, np.array([0])))
    assert curator.spent == 0


@pytest.mark.parametrize(
    "chosen",
    [np.array([0, 2]), np.array([-1, 0]), np.array([0]), np.array([[0, 0]]), np.array([True, False]), np.zeros(2)],
)
def test_a_partition_takes_a_test_for_each_node_and_nothing_else(chosen):
    curator, root = opened()
    children = curator.partition(root, TESTS, np.array([0]))
    with pytest.raises(ConfigurationError, match="from 0 to 1 for each of the 2 nodes"):
        curator.partition(children, TESTS, chosen)
    assert len(curator.partition(children, TESTS, np.array([1, 0], dtype=np.uint8))) == 4


def test_a_choice_among_nothing_costs_nothing_and_is_refused():
    curator, root = opened()
    with pytest.raises(ConfigurationError, match="costs nothing"):
        curator.answer(SelectSpecializations(root, [], Majority()), PermuteAndFlip(Fraction(1), 1))


class Elsewhere:
    """A table that is no MemoryTable, so that its nodes may hold no copies of records."""

    def __init__(self, table):
        self._inner = table

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def fresh(self):
        return Elsewhere(self._inner.fresh())


class Asking(Ones):
    """A rule under which a signal's handler would change what is being scanned."""

    def __init__(self, change):
        self.change = change

    def __call__(self, margins, labels):
        with pytest.raises(BudgetExceeded, match="records are being read"):
            self.change()
        return super().__call__(margins, labels)


def test_margins_do_not_change_while_records_are_scanned_and_do_afterwards():
    curator, _ = opened()
    for _ in range(2):
        asked = curator.open_round(Asking(lambda: curator.update_margins(learn)))
        assert len(asked.whole_sums(Geometric(Fraction(1)))) == 1
        curator.update_margins(learn)
    assert (curator._table._margins == 2).all()


@pytest.mark.parametrize("kind", [Elsewhere, lambda table: table])
def test_margins_change_between_reading_and_answering_only_where_nodes_hold_copies(kind, monkeypatch):
    curator, root = opened(kind(make_table(RECORDS)))
    whole, said = MemoryTable.answer, []

    def meanwhile(table, query):
        try:
            curator.update_margins(learn)
            said.append("changed")
        except BudgetExceeded:
            said.append("refused")
        return whole(table, query)

    monkeypatch.setattr(MemoryTable, "answer", meanwhile)
    for _ in range(2):
        curator.answer(ClassCounts(root), NOISE)
    assert set(said) == ({"refused"} if kind is Elsewhere else {"changed"})
    curator.update_margins(learn)


def test_tests_of_another_class_are_refused():
    class Tests(type(TESTS)):
        pass

    others = Tests(*(getattr(TESTS, name) for name in ("n_codes", "feature", "kind", "at", "weight")))
    curator, root = opened()
    for tests in (others, multiway((2, 3)), replace(multiway((4,)))):
        with pytest.raises(ConfigurationError, match="other features or codes"):
            curator.partition(root, tests, np.array([0]))
        with pytest.raises(ConfigurationError, match="other features or codes"):
            curator.answer(
                SelectTests(root, tests, np.ones((1, len(tests)), dtype=bool), Max()), PermuteAndFlip(Fraction(1), 1)
            )
    assert curator.spent == 0
