"""A table in partitions answers every question as one in memory does, with or without what partitions remember."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import count, pairwise, permutations

import numpy as np
import pytest

from hedgerow import arrays
from hedgerow.mechanisms import Coins, PerRecordCoin, Randomness
from hedgerow.scores import binary, multiway
from hedgerow.table import (
    Cache,
    CellBins,
    CellCounts,
    Cells,
    ClassCounts,
    CodeGroups,
    Histogram,
    Layout,
    MemoryTable,
    OutdatedCache,
    Pairs,
    Partition,
    PartitionedTable,
    Sizes,
    Sums,
    partitioned,
)
from hedgerow.table.partitioned import AddVotes, Assign, Merge, Nodes, Sample, Task

N_CODES, N_CLASSES = np.array([3, 5, 2]), 3
TESTS = multiway(N_CODES)
GROUPS = CodeGroups(np.array([0, 2]), np.array([[0, 1, 0], [2, 3, 0]]))
CUTS = Cells(np.array([1, 0]), np.array([[0, 1, 1, 0, 1], [1, 0, 1, 9, 9]]))
LAYOUTS = (
    Layout(),
    Layout(groups=GROUPS),
    Layout(CUTS),
    Layout(CUTS, GROUPS),
    Layout(CUTS, bins=CellBins(np.full(4, 1), np.tile(np.arange(5), (4, 1)))),
    Layout(bins=CellBins(np.array([2]), np.array([[0, 1]]))),
    Layout(CUTS, bins=CellBins(np.arange(4) % 3, np.arange(20).reshape(4, 5) * 7 % 4)),
    Layout(CUTS, side=1),
    Layout(pairs=Pairs((1, 2), np.array([0, 1, 1, 4, 4, 5, 5, 5, 6, 7]), np.zeros(10), np.array([0, 3, 8, 10]))),
)
INTO = [np.array([0, 0, 1]), np.array([0, 0, 1, 1, 2]), np.array([0, 1])]
GENERATOR = np.random.default_rng(5)
COUNT = 90
CODES = np.stack([GENERATOR.integers(0, n, COUNT) for n in N_CODES], axis=1).astype(np.uint8)
LABELS = GENERATOR.integers(-1, N_CLASSES, COUNT).astype(np.int16)


class Everywhere:
    """Three partitions, one of them empty, and what each remembers; every answer is given again without any memory."""

    def __init__(self, ends=(0, 40, 40, COUNT)):
        self.partitions = [
            Partition(start, {"codes": CODES[start:stop].copy(), "labels": LABELS[start:stop].copy()})
            for start, stop in pairwise(ends)
        ]
        self.caches, self.tasks, self.forgotten, self.closed = {}, [], [], False

    def ask(self, task):
        self.tasks.append(task)
        total = 0
        for place, partition in enumerate(self.partitions):
            answer = task.answer(partition, self.caches.setdefault((task.log, place), Cache()))
            assert np.array_equal(answer, task.answer(partition, Cache()))
            assert answer.size == task.size
            assert task.query.signed or answer.min(initial=0) >= 0
            total = total + answer
        return total

    def forget(self, log):
        self.forgotten.append(log)

    def close(self):
        self.closed = True


def both():
    return PartitionedTable(Everywhere(), N_CODES, N_CLASSES), MemoryTable(CODES.copy(), LABELS, N_CODES, N_CLASSES)


def learn(codes, margins):
    margins[:, 0] += 1 + codes[:, 1]
    margins[:, 1] -= codes[:, 0]


learn.columns = N_CLASSES


class Weighs:
    unit = 3

    def __call__(self, margins, labels):
        return margins[:, 0].astype(np.uint64)


class Channels:
    """Of both signs."""

    columns, scored, channels, scored_l1, l1, l2_squared = N_CLASSES, 2, 3, 40, 60, 1200

    def __call__(self, margins, labels):
        return np.stack([margins[:, 0], margins[:, 1] - labels, labels], axis=1).astype(np.int64)


class FourCells:
    n_cells = 4

    def cell(self, codes):
        return codes[:, 0].astype(np.int64)


class Likely(Coins):
    """Coins that read a rule, and row numbers."""

    def parts(self, first_row, about):
        return np.where((about + np.arange(first_row, first_row + len(about)) % 2) > 2, 0, -1).astype(np.int32)


def answers(table, nodes):
    blocks = np.zeros((len(nodes), int(table.offsets[-1]), N_CLASSES), dtype=np.int64)

    def work(begin, end, counts):
        assert not blocks[begin:end].any()
        blocks[begin:end] = counts

    table.for_histograms(nodes, 0, len(nodes), work)
    assert np.array_equal(blocks, table.answer(Histogram(nodes)))
    return [
        table.answer(Sizes(nodes)),
        table.answer(ClassCounts(nodes)),
        table.answer(CellCounts(nodes, FourCells())),
        blocks,
    ]


def session(table):
    """Ask everything of every kind of node, after every kind of change, and return all answers."""
    found = [table.offsets, np.array([table.n_classes])]
    found += [table.answer(Sums(Channels(), votes, layout)) for layout in LAYOUTS for votes in (None, learn)]
    table.update_margins(learn)
    coins = Randomness(1).coins(PerRecordCoin(4))
    plain = table.assign(coins)
    weighted = table.assign(coins, weights=Weighs())
    likely = table.assign(Likely(PerRecordCoin(1), b""), Weighs())
    for roots, chosen in ((plain, [1, 0, 2, 1]), (weighted, [0, 0, 1, 2]), (likely, [1])):
        found += answers(table, roots)
        children = table.partition(roots, TESTS, np.array(chosen))
        found += answers(table, children)
        some = np.array([len(children) - 1, 0, 2])
        taken = table.take(table.take(children, some), np.array([2, 0]))
        found += answers(table, taken)
        cuts = binary(N_CODES, [True, True, False])
        found += answers(table, table.partition(taken, cuts, np.array([3, 1])))
        found += answers(table, roots)  # those that were partitioned are still what they were
    return found


def assert_same(one, other):
    assert len(one) == len(other)
    for number, (left, right) in enumerate(zip(one, other, strict=True)):
        assert left.shape == right.shape, number
        assert left.dtype == right.dtype == np.int64, number
        assert np.array_equal(left, right), number


def test_every_answer_is_that_of_a_table_in_memory():
    here, there = both()
    assert_same(session(here), session(there))


def test_samples_and_fresh_tables_are_apart_from_what_was_told_before():
    coins = Randomness(2).coins(PerRecordCoin(3))
    pairs = [both()]
    for table in pairs[0]:
        table.update_margins(learn)
    pairs.append([table.fresh() for table in pairs[0]])
    pairs.append([table.sampled(coins, 1, 3) for table in pairs[0]])
    pairs.append([table.fresh() for table in pairs[2]])
    pairs.append([table.sampled(Randomness(4).coins(PerRecordCoin(2)), 0, 1) for table in pairs[2]])
    for here, there in pairs:
        assert_same([here.answer(Sums(Channels()))], [there.answer(Sums(Channels()))])
    for here, there in pairs[1:]:
        here.merge(INTO)
        there.merge(INTO)
        nodes = [table.assign(Randomness(1).coins(PerRecordCoin(2))) for table in (here, there)]
        assert_same(answers(here, nodes[0]), answers(there, nodes[1]))
        assert here.offsets.tolist() == there.offsets.tolist() == [0, 2, 5, 7]
    again = [table.fresh() for table in pairs[1]]  # as the schema has them, or as they were merged
    assert again[0].offsets.tolist() == [0, 3, 8, 10]
    assert_same([pairs[0][0].answer(Sums(Channels()))], [pairs[0][1].answer(Sums(Channels()))])


@pytest.mark.parametrize("most", [1, 60, 1 << 20])
@pytest.mark.parametrize("few", [1, 45, 1 << 20])
def test_histograms_come_in_any_blocks_of_nodes(most, few, monkeypatch):
    monkeypatch.setattr(partitioned, "MOST_CELLS", most)
    monkeypatch.setattr(partitioned, "BLOCK_CELLS", few)
    monkeypatch.setattr(arrays, "available_threads", lambda: 1)
    here, there = both()
    roots = [table.assign(Randomness(1).coins(PerRecordCoin(5))) for table in (here, there)]
    for first, last in ((0, 5), (1, 4), (4, 5), (2, 2)):
        blocks = []
        here.for_histograms(roots[0], first, last, lambda *block, blocks=blocks: blocks.append(block))
        assert [node for begin, end, _ in blocks for node in range(begin, end)] == list(range(first, last))
        assert all(
            np.array_equal(counts, there.answer(Histogram(roots[1]))[begin:end]) for begin, end, counts in blocks
        )
        assert all(end - begin <= max(1, min(most, few) // 30) for begin, end, _ in blocks)
        asked = [task.query for task in here._engine.tasks]
        assert all(len(question.of) <= max(1, most // 30) for question in asked)
        here._engine.tasks.clear()


def test_what_nobody_holds_any_more_is_neither_sent_nor_kept():
    table = both()[0]
    coins = Randomness(1).coins(PerRecordCoin(2))
    first, second = table.assign(coins, weights=Weighs()), table.assign(coins)
    children = table.partition(second, TESTS, np.array([0, 1]))
    table.answer(Sizes(first))
    task = table._engine.tasks[-1]
    assert [number for number, _ in task.commands] == [1, 2, 3]
    assert task.live == {"part-1", "weights-1", "part-2", "part-3"}
    del first, second  # the second made the children, so it is held by them
    table.answer(Sizes(children))
    task = table._engine.tasks[-1]
    assert [number for number, _ in task.commands] == [2, 3]
    assert task.live == {"part-2", "part-3"}
    assert task.end == 3
    assert set(table._engine.caches[task.log, 0].arrays) == {"part-2", "part-3"}
    del children
    table.update_margins(learn)
    table.answer(Sums(Channels()))
    task = table._engine.tasks[-1]
    assert ([number for number, _ in task.commands], task.end, task.live) == ([4], 4, set())
    assert set(table._engine.caches[task.log, 0].arrays) == {"margins"}
    engine, log = table._engine, table._log
    del table
    assert engine.forgotten == [log]


def test_logs_are_told_apart_and_an_engine_is_closed():
    table = both()[0]
    others = [
        table.fresh(),
        table.sampled(Randomness(0).coins(PerRecordCoin(1)), 0, 1),
        PartitionedTable(table._engine, N_CODES, 2),
    ]
    assert len({table._log, *(other._log for other in others)}) == 4
    assert all(len(other._log) == 16 for other in others)
    table.close()
    assert table._engine.closed


def test_a_memo_goes_on_where_it_is_and_says_where_it_lacks_something():
    table = both()[0]
    for _ in range(3):
        table.answer(Sums(Channels(), learn))
    first, second, third = table._engine.tasks
    partition, cache = table._engine.partitions[0], Cache()
    expected = [task.answer(partition, Cache()) for task in (first, second, third)]
    with pytest.raises(OutdatedCache):
        second.after(1).answer(partition, cache)
    assert np.array_equal(first.answer(partition, cache), expected[0])
    assert cache.position == 1
    assert [number for number, _ in third.after(1).commands] == [2, 3]
    assert third.after(1).since == 1
    with pytest.raises(OutdatedCache):
        third.after(2).answer(partition, cache)
    assert np.array_equal(third.after(1).answer(partition, cache), expected[2])
    assert cache.position == 3
    assert np.array_equal(third.after(3).answer(partition, cache), expected[2])
    assert np.array_equal(first.answer(partition, cache), expected[0])  # an older one, without this cache
    assert cache.position == 3
    assert not cache.taken
    again = replace(third, commands=(), since=0)
    assert np.array_equal(again.answer(partition, cache), expected[2])


def test_a_task_that_a_handler_asks_at_any_line_of_another_changes_nothing_for_it():
    """A later task of the same log, which has more votes: whoever comes first has the cache, and nobody votes twice."""
    table = both()[0]
    for _ in range(4):
        table.answer(Sums(Channels(), learn))
    tasks, partition = table._engine.tasks, table._engine.partitions[0]
    expected = [task.answer(partition, Cache()) for task in tasks]
    lines, line = count(1), 0
    for line in lines:
        cache, left, asked = Cache(), [line], []
        tasks[0].answer(partition, cache)

        def handle(frame, event, _, cache=cache, left=left, asked=asked):
            if event == "line" and frame.f_code.co_filename.endswith("partitioned.py"):
                left[0] -= 1
                if left[0] == 0:
                    asked.append(tasks[2].answer(partition, cache))
            return handle

        sys.settrace(handle)
        try:
            found = tasks[1].answer(partition, cache)
        finally:
            sys.settrace(None)
        assert np.array_equal(found, expected[1])
        assert all(np.array_equal(answer, expected[2]) for answer in asked)
        assert np.array_equal(tasks[3].answer(partition, cache), expected[3])
        if not asked:
            break
    assert line > 20


@pytest.mark.parametrize("question", [Sums(Channels(), None), Sizes(Nodes(1, 1, None, None))])
def test_a_command_that_fails_leaves_a_memo_that_begins_anew(question):
    class Fails:
        def apply(self, records):
            raise MemoryError

    table = both()[0]
    roots = table.assign(Randomness(1).coins(PerRecordCoin(1)))
    table.update_margins(learn)
    table.answer(Sizes(roots))
    task = replace(table._engine.tasks[-1], query=question)
    partition, cache = table._engine.partitions[0], Cache()
    broken = replace(task, commands=(*task.commands, (3, Fails())), end=3)
    for _ in range(2):
        with pytest.raises(MemoryError):
            broken.answer(partition, cache)
        assert cache.position == -1
        assert not cache.taken
    with pytest.raises(OutdatedCache):
        task.after(1).answer(partition, cache)
    assert np.array_equal(task.answer(partition, cache), task.answer(partition, Cache()))
    assert cache.position == 2


def test_a_sum_that_fails_over_its_votes_leaves_a_memo_that_begins_anew():
    """Votes are added as the records are summed: some have them when the sum breaks off, others do not."""

    class Fails(Channels):
        def __call__(self, margins, labels):
            raise MemoryError

    table = both()[0]
    for _ in range(2):
        table.answer(Sums(Channels(), learn))
    first, second = table._engine.tasks
    partition, kept = table._engine.partitions[0], {}
    cache = Cache(kept)
    first.answer(partition, cache)
    with pytest.raises(MemoryError):
        replace(second, query=Sums(Fails(), None)).answer(partition, cache)
    assert cache.position == -1
    assert np.array_equal(second.answer(partition, cache), second.answer(partition, Cache()))
    assert cache.position == 2
    assert np.array_equal(second.answer(partition, cache), second.answer(partition, Cache()))


@pytest.mark.parametrize("commands", [1, 2, 3])
def test_votes_are_remembered_whatever_is_asked_next(commands):
    """A question about nodes reads no margins; what was voted before it still counts in later sums, once."""
    table, kept = both()[0], {}
    roots = table.assign(Randomness(1).coins(PerRecordCoin(1)))
    for _ in range(commands):
        table.update_margins(learn)
    table.answer(Sizes(roots))
    table.answer(Sums(Channels()))
    sizes, sums = table._engine.tasks
    partition, cache = table._engine.partitions[0], Cache(kept)
    sizes.answer(partition, cache)
    codes = partition.arrays["codes"]
    expected = np.zeros((len(codes), N_CLASSES), dtype=np.int32)
    for _ in range(commands):
        learn(codes, expected)
    assert np.array_equal(kept["margins"], expected)
    assert np.array_equal(sums.answer(partition, cache), sums.answer(partition, Cache()))
    assert np.array_equal(kept["margins"], expected)


def test_every_command_sees_what_those_before_it_changed():
    """Also where one partition is told all of them at once."""
    coins = Randomness(0).coins(PerRecordCoin(2))
    codes, margins = CODES.copy(), np.zeros((COUNT, N_CLASSES), dtype=np.int32)
    learn(codes, margins)
    labels = np.where(coins.parts(0, COUNT) == 1, LABELS, -1)
    codes = np.stack([INTO[feature][codes[:, feature]] for feature in range(3)], axis=1).astype(np.uint8)
    learn(codes, margins)
    sizes = np.array([2, 3, 2])
    expected = MemoryTable(codes, labels, sizes, N_CLASSES, margins=margins).answer(Sums(Channels()))
    commands = enumerate([AddVotes(learn), Merge(tuple(INTO)), AddVotes(learn), Sample(coins, 1, 2)], 1)
    task = Task("log", sizes, N_CLASSES, tuple(commands), 4, Sums(Channels(), None), frozenset())
    assert np.array_equal(task.answer(Partition(0, {"codes": CODES, "labels": LABELS}), Cache()), expected)


def test_commands_told_at_once_do_what_they_do_one_by_one():
    """In any order: what one of them read of the records is not what the next one sees."""
    sample = Sample(Randomness(0).coins(PerRecordCoin(2)), 1, 2)
    assign = Assign(7, Likely(PerRecordCoin(1), b""), Weighs(), Weighs())
    votes, of = AddVotes(learn), Nodes(7, 1, None, 7)
    partition = Partition(0, {"codes": CODES, "labels": LABELS})
    for order in set(permutations((votes, Merge(tuple(INTO)), sample, votes, assign))):
        commands = tuple(enumerate(order, 1))
        cache = Cache()
        for end in range(1, len(order) + 1):
            merged = any(isinstance(command, Merge) for command in order[:end])
            sizes = np.array([2, 3, 2] if merged else N_CODES)
            whole = Task(
                "log", sizes, N_CLASSES, commands[:end], end, Sums(Channels(), None), frozenset({"part-7", "weights-7"})
            )
            one_by_one = whole.answer(partition, cache)
        assert np.array_equal(whole.answer(partition, Cache()), one_by_one)
        for asked in (ClassCounts(of), Histogram(of)):
            task = replace(whole, query=asked)
            assert np.array_equal(task.answer(partition, Cache()), task.answer(partition, cache))


def test_the_records_of_a_partition_are_never_written_to():
    table = both()[0]
    table.merge(INTO)
    table = table.sampled(Randomness(0).coins(PerRecordCoin(2)), 0, 1)
    table.merge(INTO)
    table.answer(Sums(Channels(), learn))
    codes = np.concatenate([partition.arrays["codes"] for partition in table._engine.partitions])
    labels = np.concatenate([partition.arrays["labels"] for partition in table._engine.partitions])
    assert np.array_equal(codes, CODES)
    assert np.array_equal(labels, LABELS)


def test_answers_have_as_many_cells_as_their_questions_say():
    of = Nodes(1, 4, np.array([2, 0]), None)
    assert (len(of), len(Nodes(1, 4, None, None))) == (2, 4)
    for query, size, signed in (
        (Sizes(of), 2, False),
        (ClassCounts(of), 2 * 3, False),
        (Histogram(of), 2 * 10 * 3, False),
        (CellCounts(of, FourCells()), 4 * 3, False),
        (Sums(Channels()), 10 * 3, True),
        *(
            (Sums(Channels(), None, own), size, True)
            for own, size in zip(LAYOUTS[1:], (120, 120, 480, 60, 6, 48, 60, 72), strict=True)
        ),
    ):
        assert np.prod(query.shape(N_CODES, 3)) == size
        assert query.signed == signed


def test_a_memo_is_kept_where_it_is_told_to():
    table, kept = both()[0], {}
    table.answer(Sums(Channels(), learn))
    (task,), partition = table._engine.tasks, table._engine.partitions[0]
    cache = Cache(kept)
    answer = task.answer(partition, cache)
    assert set(kept) == {"margins"}
    assert np.array_equal(task.after(1).answer(partition, cache), answer)


def test_the_records_of_a_partition_are_not_shown():
    partition = Partition(3, {"codes": np.full((1, 1), 77, dtype=np.uint8), "labels": np.full(1, 77, dtype=np.int16)})
    assert "77" not in repr(partition)


def test_a_thinned_table_answers_in_partitions_as_in_memory():
    parted, memory = both()
    for table in (parted, memory):
        table.update_margins(learn)
        table.merge(INTO)
        table.update_margins(learn)
    coins = Randomness(4).coins(PerRecordCoin(4))
    some, same = parted.thinned(coins), memory.thinned(coins)
    for votes in (None, learn, None):
        found = some.answer(Sums(Channels(), votes))
        assert np.array_equal(found, same.answer(Sums(Channels(), votes)))
        assert not np.array_equal(found, parted.answer(Sums(Channels(), votes)))
