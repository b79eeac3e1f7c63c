"""A table in partitions: the same bits as one in memory, whoever answers, how often and in which order."""

import threading
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from private_fits import CASES, released
from products import thinned

from hedgerow.curator import Queryable
from hedgerow.engines.local import Partial, Total
from hedgerow.errors import BudgetExceeded
from hedgerow.mechanisms import Geometric, PerRecordCoin, Randomness
from hedgerow.table import Cache, ClassCounts, MemoryTable, OutdatedCache, Partition, PartitionedTable, Sizes, Sums
from hedgerow.table.partitioned import AddVotes, _Made


def cut(codes, labels, ends):
    starts = [0, *ends]
    return [
        Partition(start, {"codes": codes[start:stop].copy(), "labels": labels[start:stop].copy()})
        for start, stop in zip(starts, [*ends, len(codes)], strict=True)
    ]


class Answers:
    """Partitions in a random order, of which a share lost what it remembered, or is sent the new commands only."""

    def __init__(self, partitions, seed, lost=0.3):
        self.partitions, self.lost = partitions, lost
        self.generator = np.random.default_rng(seed)
        self.caches, self.sent = {}, {}

    def ask(self, task):
        total = Total(len(self.partitions))
        for place in self.generator.permutation(len(self.partitions)).tolist():
            key = task.log, place
            if self.generator.random() < self.lost:
                self.caches.pop(key, None)
            cache = self.caches.setdefault(key, Cache())
            try:
                answer = task.after(self.sent.get(key, 0)).answer(self.partitions[place], cache)
            except OutdatedCache:
                answer = task.answer(self.partitions[place], cache)
            again = task.answer(self.partitions[place], cache if self.generator.random() < 0.5 else Cache())
            assert np.array_equal(answer, again)
            self.sent[key] = task.end
            total.add(Partial((place,), answer))
        return total.sum

    def forget(self, log):
        self.caches = {key: cache for key, cache in self.caches.items() if key[0] != log}


def table_of(ends, seed, lost=0.3):
    def build(codes, labels, n_codes, n_classes):
        return PartitionedTable(Answers(cut(codes, labels, ends), seed, lost), n_codes, n_classes)

    return build


@pytest.mark.parametrize("case", thinned(CASES, 3))
@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_every_private_system_is_the_same_bits(case):
    whole = released(*CASES[case], MemoryTable)
    assert released(*CASES[case], table_of([0, 7, 7, 300, 301, 820, 900], seed=3)) == whole


def differs(table):
    whole = released(*CASES["hedgerow"], MemoryTable)
    return released(*CASES["hedgerow"], table) != whole


@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_a_memo_that_carries_a_command_out_twice_is_noticed(monkeypatch):
    def forgetful(self, records):
        AddVotes_apply(self, records)
        AddVotes_apply(self, records)

    AddVotes_apply = AddVotes.apply
    monkeypatch.setattr(AddVotes, "apply", forgetful)
    assert differs(table_of([300], seed=1))


def test_a_command_that_is_dropped_too_early_is_noticed(monkeypatch):
    """The planted bug: what made the parents of held nodes is forgotten, so a lost cache cannot be made again."""
    case = CASES["forest"]
    without_parents = _Made.__init__

    def made(self, number, weights, parent):
        without_parents(self, number, weights, None)

    monkeypatch.setattr(_Made, "__init__", made)
    with pytest.raises(KeyError):
        released(*case, table_of([300], seed=1, lost=1.0))


def test_a_change_that_was_broken_off_is_carried_out_anew():
    codes, labels = np.zeros((10, 1), dtype=np.uint8), np.zeros(10, dtype=np.int16)
    (partition,) = cut(codes, labels, [])
    cache, asked = Cache(), []

    class Engine:
        def ask(self, task):
            asked.append(task)
            return task.answer(partition, cache)

        def forget(self, log):
            pass

    table = PartitionedTable(Engine(), np.array([1]), 2)
    table.update_margins(Ones())
    first = table.answer(Sums(Counted()))
    cache.arrays["margins"] += 5  # half a change
    cache.position = -1
    assert np.array_equal(asked[0].answer(partition, cache), first)
    with pytest.raises(OutdatedCache):
        asked[0].after(1).answer(partition, Cache())


@pytest.fixture
def asked():
    """A partition of ten records with a vote each, and tasks about it: before, and after, another vote."""
    (partition,) = cut(np.zeros((10, 1), dtype=np.uint8), np.zeros(10, dtype=np.int16), [])
    tasks = []

    class Engine:
        def ask(self, task):
            tasks.append(task)

        def forget(self, log):
            pass

    table = PartitionedTable(Engine(), np.array([1]), 2)
    for _ in range(2):
        table.update_margins(Ones())
        table.answer(Sums(Counted()))
    return partition, *tasks


def test_an_older_task_changes_nothing_that_is_remembered(asked):
    """One that comes late, or twice, or that was under way when the handler of a signal asked on."""
    partition, older, newer = asked
    cache = Cache()
    for task, votes in [(older, 10), (newer, 20), (older, 10), (newer, 20)]:
        assert task.answer(partition, cache).ravel().tolist() == [votes]
    with pytest.raises(OutdatedCache):
        older.after(1).answer(partition, cache)
    assert newer.after(2).answer(partition, cache).ravel().tolist() == [20]


def test_a_task_that_is_asked_within_another_sees_nothing_of_it(asked):
    """On the same thread, as the handler of a signal asks; it neither waits for the other nor disturbs it."""
    partition, older, newer = asked
    cache, answers = Cache(), []

    class Between:
        def apply(self, records):
            answers.append(newer.answer(partition, cache).ravel().tolist())

    (first, vote), *_ = older.commands
    task = replace(older, commands=((first, vote), (first, Between()), (first, Between())))
    assert_answered_in_time(lambda: answers.append(task.answer(partition, cache).ravel().tolist()))
    assert answers == [[20], [20], [10]]
    assert newer.answer(partition, cache).ravel().tolist() == [20]


def assert_answered_in_time(work):
    """A lock that is taken twice would wait for ever."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


class Ones:
    columns = 1

    def __call__(self, codes, margins):
        margins += 1


class Counted:
    columns, scored, channels, scored_l1, l1, l2_squared = 1, 0, 1, 0, 100, 10_000

    def __call__(self, margins, labels):
        return margins[:, :1].astype(np.int64)


def test_what_questions_about_nodes_read_does_not_change_meanwhile():
    """Nodes hold no copies here: what a signal's handler asks in between sees records as they are, or changes none."""
    (partition,) = cut(np.zeros((10, 1), dtype=np.uint8), np.zeros(10, dtype=np.int16), [])
    refused, handlers = [], []

    class Engine:
        def ask(self, task):
            for handler in handlers[:1]:
                handlers.clear()
                with pytest.raises(BudgetExceeded, match="are being read"):
                    handler()
                refused.append(handler)
            return task.answer(partition, Cache())

        def forget(self, log):
            pass

    curator = Queryable(PartitionedTable(Engine(), np.array([1]), 2), Fraction(8), Randomness(0))
    root = curator.assign(PerRecordCoin(1))
    handler = partial(curator.open_round, Counted(), Ones())
    for query in (Sizes, ClassCounts):
        handlers.append(handler)
        curator.answer(query(root), Geometric(Fraction(1)))
    assert refused == [handler] * 2
    curator.open_round(Counted(), Ones())
