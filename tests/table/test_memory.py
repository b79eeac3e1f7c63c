"""What a table in memory holds and answers, record by record, against plain loops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from helpers import Told

import hedgerow as hr
from hedgerow import arrays
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Coins, PerRecordCoin, Randomness
from hedgerow.reading.persons import Groups
from hedgerow.schema import Encoder
from hedgerow.scores import multiway
from hedgerow.table import (
    CellBins,
    CellCounts,
    Cells,
    ClassCounts,
    Coded,
    CodeGroups,
    Histogram,
    Layout,
    MemoryTable,
    Sizes,
    Sums,
    keep_of,
    memory,
)
from hedgerow.table.kernels import unpack

N_CODES, N_CLASSES = np.array([3, 5, 2]), 3


def records(count=60, seed=0):
    generator = np.random.default_rng(seed)
    codes = np.stack([generator.integers(0, n, count) for n in N_CODES], axis=1).astype(np.uint8)
    return codes, generator.integers(-1, N_CLASSES, count).astype(np.int16), generator.integers(-1, 2, count)


def table_of(codes, labels, **given):
    return MemoryTable(codes, labels, N_CODES, N_CLASSES, **given)


class Weighs:
    """A record weighs what its row says, in margins; the third says more than it may."""

    unit = 5

    def __call__(self, margins, labels):
        return margins[:, 0].astype(np.uint64)


def numbered(table):
    """Give each record a margin of its own: 0 to 6, so that some weights pass their unit."""
    margins = table.margins()
    margins[:, 0] = np.arange(len(table)) % 7
    return table


@pytest.mark.parametrize("weighted", [False, True])
def test_nodes_hold_the_records_of_their_part_and_what_they_weigh(weighted):
    codes, labels, part = records()
    table = numbered(table_of(codes, labels))
    roots = table.assign(Told.to(part, 2), weights=Weighs() if weighted else None)
    weight = np.minimum(np.arange(60) % 7, 5) if weighted else np.ones(60, dtype=np.int64)
    for numbers in ((0, 1), (1, 0), (1,)):
        nodes = table.take(roots, np.array(numbers))
        for node, number in enumerate(numbers):
            mine = np.flatnonzero((part == number) & (labels >= 0))
            assert table.answer(Sizes(nodes))[node] == len(mine)
            expected = np.zeros((10, N_CLASSES), dtype=np.int64)
            for row in mine:
                for feature, start in enumerate((0, 3, 8)):
                    expected[start + codes[row, feature], labels[row]] += weight[row]
            assert np.array_equal(table.answer(Histogram(nodes))[node], expected)
            assert np.array_equal(table.answer(ClassCounts(nodes))[node], expected[:3].sum(axis=0))
        assert len(nodes) == len(numbers)
        whole = (
            table.answer(Sizes(nodes)),
            table.answer(ClassCounts(nodes)),
            table.answer(Histogram(nodes)),
            nodes.weights,
        )
        assert {array.dtype for array in whole} == {np.dtype(np.int64)}


@pytest.mark.parametrize("weighted", [False, True])
def test_children_hold_the_weighted_records_of_their_branch(weighted):
    codes, labels, part = records()
    table = numbered(table_of(codes, labels))
    roots = table.assign(Told.to(part, 2), weights=Weighs() if weighted else None)
    children = table.partition(table.take(roots, np.array([1, 0])), multiway(N_CODES), np.array([1, 0]))
    assert len(children) == 5 + 3
    weight = np.minimum(np.arange(60) % 7, 5) if weighted else np.ones(60, dtype=np.int64)
    places = [(1, 1, code) for code in range(5)] + [(0, 0, code) for code in range(3)]
    for child, (number, feature, code) in enumerate(places):
        mine = (part == number) & (labels >= 0) & (codes[:, feature] == code)
        expected = [weight[mine & (labels == label)].sum() for label in range(N_CLASSES)]
        assert table.answer(ClassCounts(children))[child].tolist() == expected
    assert table.answer(Sizes(children)).sum() == table.answer(Sizes(roots)).sum()
    assert children.starts.dtype == children.weights.dtype == np.int64


def test_coins_are_read_at_the_number_of_each_record_among_all():
    codes, labels, _ = records()
    coins = Randomness(3).coins(PerRecordCoin(4))
    whole = table_of(codes, labels).parts(coins, None)
    assert len(set(whole.tolist())) == 4
    behind = table_of(codes[20:], labels[20:], first_row=20)
    for table in (behind, behind.fresh(), behind.fresh().fresh()):
        assert np.array_equal(table.parts(coins, None), whole[20:])
        sampled = table.sampled(coins, 1, 3)
        kept = (whole[20:] == 1) | (whole[20:] == 2)
        assert np.array_equal(sampled.answer(ClassCounts(sampled.assign(Told.to(np.zeros(60), 1))))[0],
                              [(labels[20:][kept] == label).sum() for label in range(3)])  # fmt: skip
        assert np.array_equal(sampled.parts(coins, None), whole[20:])
        assert set(sampled._labels.tolist()) == {-1, 0, 1, 2}


def test_a_rule_is_told_to_the_coins_of_a_weighted_assignment():
    codes, labels, _ = records()

    class Chosen(Coins):
        def parts(self, first_row, about):
            return np.where(about > 3, 0, -1).astype(np.int32)

    table = numbered(table_of(codes, labels))
    roots = table.assign(Chosen(PerRecordCoin(1), b""), Weighs())
    assert table.answer(Sizes(roots)).tolist() == [np.count_nonzero((np.arange(60) % 7 > 3) & (labels >= 0))]


def test_a_fresh_table_has_no_margins_and_codes_of_its_own_whichever_is_merged_first():
    into = [np.array([0, 0, 1]), np.array([0, 0, 1, 1, 1]), np.array([0, 1])]
    merged = np.stack([into[j][records()[0][:, j]] for j in range(3)], axis=1)
    for first in (0, 1):
        codes, labels, _ = records()
        table = table_of(codes, labels)
        both = [numbered(table), table.fresh()]
        assert not both[1].margins().any()
        both[first].merge(into)
        assert np.array_equal(both[first]._codes, merged)
        assert both[first].offsets.tolist() == [0, 2, 4, 6]
        assert np.array_equal(both[1 - first]._codes, records()[0])
        assert both[1 - first].offsets.tolist() == [0, 3, 8, 10]
        both[1 - first].merge(into)
        assert np.array_equal(both[1 - first]._codes, merged)
        before = both[first]._codes
        both[first].merge([np.zeros(2, dtype=np.int64)] * 3)
        assert both[first]._codes is before  # alone with its codes, a table needs no copy
        assert both[first].offsets.tolist() == [0, 1, 2, 3]


def test_a_table_alone_with_its_codes_merges_them_in_place():
    codes, labels, _ = records()
    table = table_of(codes, labels)
    table.merge([np.zeros(n, dtype=np.int64) for n in N_CODES])
    assert table._codes is codes
    assert not codes.any()


def test_records_that_are_left_out_have_no_class():
    schema = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
    who = Groups("id", np.array(["p", "p", "q"], dtype=object))
    given = Coded(Encoder(schema, 2)), [["x"], ["y"], ["x"]], ["yes", "no", "yes"]
    assert MemoryTable.by(*given)._labels.tolist() == [1, 0, 1]
    kept = MemoryTable.by(*given, keep_of(who, 1, Randomness(0)))._labels.tolist()
    assert kept in ([1, -1, 1], [-1, 0, 1])


class Channels:
    """Three channels, of both signs, by margin and class; two of them rank."""

    columns = channels = 3
    scored, l1 = 2, 20

    def __call__(self, margins, labels):
        seen = margins[:, 0].astype(np.int32)
        return np.stack([seen, -seen, labels.astype(np.int32)], axis=1)


def learn(codes, margins):
    margins[:, 0] += codes[:, 1]


learn.columns = 3

GROUPS = CodeGroups(np.array([0, 2]), np.array([[0, 1, 0], [2, 3, 0]]))
CUTS = Cells(np.array([1, 2, 0]), np.array([[0, 0, 1, 1, 0], [1, 0, 9, 9, 9], [0, 1, 1, 9, 9]]))
LAYOUTS = {
    "whole": Layout(),
    "groups": Layout(groups=GROUPS),
    "two cuts": Layout(Cells(CUTS.by[:2], CUTS.side[:2])),
    "cells": Layout(CUTS),
    "the same features at other codes": Layout(Cells(CUTS.by, np.where(CUTS.side < 2, 1 - CUTS.side, 9))),
    "groups in cells": Layout(CUTS, GROUPS),
    "one feature": Layout(CUTS, bins=CellBins(np.full(8, 1), np.tile(np.arange(5), (8, 1)))),
    "one feature of all": Layout(bins=CellBins(np.array([2]), np.array([[0, 1]]))),
    "groups of a feature of each cell": Layout(
        CUTS, bins=CellBins(np.array([1, 0, 2, 2, 0, 1, 0, 2]), np.arange(40).reshape(8, 5) * 7 % 4)
    ),
}


def parts_of(layout, code):
    """The parts that a record is summed up in, by its codes: one of each partition, in its cell."""
    cell, n_groups = 0, 1 if layout.groups is None else 4
    for by, side in zip(layout.cells.by, layout.cells.side, strict=True):
        cell = 2 * cell + side[code[by]]
    of = [0] if layout.groups is None else [[0, 1, 0][code[0]], [2, 3][code[2]]]
    return [cell * n_groups + group for group in of]


def by_layout(layout, sums):
    """Return of the sums of all codes (parts, 10, channels) those that a layout has."""
    if layout.bins is None:
        return sums
    found = np.zeros((layout.n_parts, int(layout.bins.group.max()) + 1, sums.shape[2]), dtype=np.int64)
    for row, own, feature, group in zip(found, sums, layout.bins.feature, layout.bins.group, strict=True):
        for code in range((3, 5, 2)[feature]):
            row[group[code]] += own[(0, 3, 8)[feature] + code]
    return found


class OneChannel:
    """A single channel, which needs no packing."""

    columns, channels, scored, l1 = 3, 1, 1, 20

    def __call__(self, margins, labels):
        return margins[:, :1] - 3 * labels[:, None].astype(np.int64)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_single_channel_is_summed_without_packing(name, monkeypatch):
    monkeypatch.setattr(memory, "LARGEST_HALF", 20 * 3)
    codes, labels, _ = records()
    found = numbered(table_of(codes, labels)).answer(Sums(OneChannel(), None, LAYOUTS[name]))
    known, channel = LAYOUTS[name], np.arange(60) % 7 - 3 * labels
    expected = np.zeros((known.n_parts, 10, 1), dtype=np.int64)
    for row in range(60):
        for part in parts_of(known, codes[row]):
            expected[part, np.array([0, 3, 8]) + codes[row]] += channel[row]
    assert np.array_equal(found, by_layout(known, expected))


def test_a_thinned_table_holds_the_records_that_the_coins_choose_alone():
    codes, labels, _ = records()
    table, coins = table_of(codes, labels), Randomness(3).coins(PerRecordCoin(2))
    chosen = coins.parts(0, 60) == 0
    assert 0 < chosen.sum() < 60
    table.update_margins(learn)
    some = table.thinned(coins)
    alone = table_of(codes[chosen], labels[chosen])
    alone.update_margins(learn)
    assert np.array_equal(some.answer(Sums(OneChannel())), alone.answer(Sums(OneChannel())))
    some.update_margins(learn)
    assert np.array_equal(some.margins()[:, 0], 2 * codes[chosen, 1])
    assert np.array_equal(table.margins()[:, 0], codes[:, 1])  # its own margins


@pytest.mark.parametrize("blocks", [1, 7, 1 << 13])
@pytest.mark.parametrize("half", [20 * 3, (1 << 31) - 1])
@pytest.mark.parametrize("workers", [1, 3])
def test_sums_are_those_of_a_plain_loop_by_group_and_code_in_any_blocks(blocks, half, workers, monkeypatch):
    monkeypatch.setattr(memory, "BLOCK_RECORDS", blocks)
    monkeypatch.setattr(memory, "LARGEST_HALF", half)
    monkeypatch.setattr(arrays, "available_threads", lambda: workers)
    monkeypatch.setattr(arrays, "FEW_ROWS", 10)
    codes, labels, _ = records()
    table, rule = numbered(table_of(codes, labels)), Channels()
    margins = np.arange(60) % 7
    for votes, layout in product((None, learn), LAYOUTS.values()):
        if votes:
            margins = margins + codes[:, 1]
        known = layout or Layout()
        channels = np.stack([margins, -margins, labels], axis=1)
        expected = np.zeros((known.n_parts, 10, 3), dtype=np.int64)
        for row in range(60):
            for part in parts_of(known, codes[row]):
                for feature, start in enumerate((0, 3, 8)):
                    expected[part, start + codes[row, feature]] += channels[row]
        expected = by_layout(known, expected)
        found = table.answer(Sums(rule, votes, layout))
        assert found.dtype == np.int64
        assert np.array_equal(found, expected)
        assert np.array_equal(table.margins()[:, 0], margins)


class OtherChannels(Channels):
    """As many channels of other values."""

    def __call__(self, margins, labels):
        return super().__call__(margins, labels)[:, ::-1] + 1


class BrokenOff(OtherChannels):
    """A scan that is interrupted in its second block."""

    begun = False

    def __call__(self, margins, labels):
        if self.begun:
            raise KeyboardInterrupt
        self.begun = True
        return super().__call__(margins, labels)


class LearnByCell:
    """Votes by cell, which a table may pass as it knows them."""

    columns, cells = 3, LAYOUTS["two cuts"].cells

    def __call__(self, codes, margins, part=None):
        sides = [side[codes[:, by]] for by, side in zip(self.cells.by, self.cells.side, strict=True)]
        margins[:, 0] += (2 * sides[0] + sides[1] if part is None else part).astype(np.int32)


TURNED = [np.array([2, 0, 1]), np.array([1, 2, 3, 4, 0]), np.array([1, 0])]  # the codes that codes become


@pytest.mark.parametrize("seed", range(10))
def test_no_scan_uses_what_an_earlier_one_kept_of_other_margins_codes_or_rules(seed, monkeypatch):
    """Against a new table of the same records at every step."""
    monkeypatch.setattr(memory, "BLOCK_RECORDS", 7)
    generator, (codes, labels, _) = np.random.default_rng(seed), records()
    table, rules = numbered(table_of(codes.copy(), labels)), (Channels(), OtherChannels(), OneChannel())
    margins, votes, layouts = table.margins().copy(), (learn, LearnByCell()), list(LAYOUTS.values())
    for _ in range(60):
        event, layout = generator.integers(8), layouts[generator.integers(len(layouts))]
        if event == 0:
            table.update_margins(learn)
            learn(codes, margins)
        elif event == 1:
            table.merge(TURNED)
            codes = np.stack([into[code] for into, code in zip(TURNED, codes.T, strict=True)], axis=1).astype(np.uint8)
        elif event == 2:
            with pytest.raises(KeyboardInterrupt):
                table.answer(Sums(BrokenOff(), None, layout))
        vote = votes[generator.integers(2)] if event in (3, 4) else None
        if vote is not None:
            vote(codes, margins)
        rule, layout = rules[generator.integers(3)], layouts[generator.integers(len(layouts))]
        expected = table_of(codes, labels, margins=margins.copy()).answer(Sums(rule, None, layout))
        assert np.array_equal(table.answer(Sums(rule, vote, layout)), expected)
        assert np.array_equal(table.margins(), margins)


@pytest.mark.parametrize("name", LAYOUTS)
def test_sums_of_no_records_are_whole_zeros(name):
    codes, labels, _ = records(0)
    found = table_of(codes, labels).answer(Sums(Channels(), None, LAYOUTS[name]))
    assert found.dtype == np.int64
    known = LAYOUTS[name]
    assert np.array_equal(found, by_layout(known, np.zeros((known.n_parts, 10, 3), dtype=np.int64)))


@pytest.mark.parametrize("step", [1, 2, 7, 100])
def test_sums_are_unpacked_before_a_half_could_overflow(step, monkeypatch):
    """Seven records of channels up to 20 fit a half of 140."""
    monkeypatch.setattr(memory, "BLOCK_RECORDS", step)
    monkeypatch.setattr(memory, "LARGEST_HALF", 140)
    pack, since = memory.kernels.pack, [0]

    def packed(codes, channels, used, offsets, cut_by, cut_side, side, by, group, n_groups, part, row, out):
        since[-1] += len(codes)
        assert (len(part), part.dtype) == (len(codes), np.uint32)
        assert row.shape == (2,)
        assert out.shape == (1, 10, 2)
        assert (used, n_groups, side) == (3, 1, -1)
        assert [array.dtype for array in (row, out, channels)] == [np.int64, np.int64, np.int32]
        pack(codes, channels, used, offsets, cut_by, cut_side, side, by, group, n_groups, part, row, out)

    monkeypatch.setattr(memory.kernels, "pack", packed)
    monkeypatch.setattr(memory.kernels, "unpack", lambda *halves: since.append(0) or unpack(*halves))
    for count in (2, 60):  # fewer records than features, too
        codes, labels, _ = records()
        table_of(codes[:count], labels[:count]).answer(Sums(Channels()))
        together = 7 // min(step, 7) * min(step, 7)
        assert since == [together] * (count // together) + [count % together] * (count % together > 0) + [0]
        since[:] = [0]


def test_votes_are_added_to_the_margins_that_a_table_was_given():
    codes, labels, _ = records()
    given = np.ones((60, 3), dtype=np.int32)
    table = table_of(codes, labels, margins=given)
    table.update_margins(learn)
    assert table.margins() is given
    assert np.array_equal(given[:, 0], 1 + codes[:, 1])
    assert (given[:, 1:] == 1).all()
    assert table_of(codes, labels).margins().dtype == np.int32


def test_a_record_has_as_many_margins_as_its_rules_and_votes_say():
    codes, labels, _ = records()

    class One(Channels):
        columns = 1

        def __call__(self, margins, labels):
            return np.stack([margins[:, 0], labels, labels], axis=1).astype(np.int64)

    class NoMargins(One):
        columns = 0

        def __call__(self, margins, labels):
            assert margins.shape == (len(labels), 0)
            return np.ones((len(labels), 3), dtype=np.int64)

    def add(codes, margins):
        margins[:, 0] += codes[:, 0]

    add.columns = 1
    table = table_of(codes, labels)
    assert table.answer(Sums(NoMargins()))[0, :3, 0].tolist() == np.bincount(codes[:, 0]).tolist()
    assert table._margins is None
    table.update_margins(add)
    assert table.margins().shape == (60, 1)
    assert table.answer(Sums(One(), add))[0, :3, 0].sum() == 2 * codes[:, 0].astype(int).sum()
    assert table.answer(Sums(NoMargins()))[0, :3, 0].sum() == 60


def test_channels_beyond_31_bits_and_too_many_records_are_refused(monkeypatch):
    codes, labels, _ = records()
    table, rule = table_of(codes, labels), Channels()
    rule.l1 = (1 << 31) - 1
    table.answer(Sums(rule))
    rule.l1 += 1
    with pytest.raises(ValueError, match="beyond 31 bits"):
        table.answer(Sums(rule))
    assert (memory.MOST_RECORDS, memory.LARGEST_HALF) == (1 << 31, (1 << 31) - 1)
    monkeypatch.setattr(memory, "MOST_RECORDS", 60)
    with pytest.raises(ConfigurationError, match="fewer than 60 records"):
        table_of(codes, labels)
    table_of(codes[:59], labels[:59])


def test_arrays_of_other_shapes_are_refused():
    codes, labels, _ = records()
    for wrong in ((codes[:59], labels), (codes[:, :2], labels), (codes, labels[:, None])):
        with pytest.raises(ValueError, match=r"codes|labels"):
            table_of(*wrong)
    table = table_of(codes, labels)
    with pytest.raises(ValueError, match="part"):
        table.assign(Told.to(np.zeros(59), 1))

    class Short(Weighs, Channels):
        def __call__(self, margins, labels):
            return np.zeros(len(labels) - 1, dtype=np.uint64)

    with pytest.raises(ValueError, match="values of a rule"):
        table.assign(Told.to(np.zeros(60), 1), Short())
    with pytest.raises(ValueError, match="values of a rule"):
        table.assign(Told.to(np.zeros(60), 1), weights=Short())
    with pytest.raises(ValueError, match="channels"):
        table.answer(Sums(Short()))


class ThreeCells:
    n_cells = 4  # of which the last is always empty

    def cell(self, codes):
        return codes[:, 0].astype(np.int64)


def test_cells_are_counted_by_class_over_all_nodes_also_empty_ones():
    codes, labels, part = records()
    table = table_of(codes, labels)
    roots = table.assign(Told.to(part, 2))
    for nodes, mine in (([0, 1], part >= 0), ([1], part == 1)):
        counts = table.answer(CellCounts(table.take(roots, np.array(nodes)), ThreeCells()))
        expected = [
            [np.count_nonzero(mine & (codes[:, 0] == cell) & (labels == label)) for label in range(3)]
            for cell in range(4)
        ]
        assert counts.tolist() == expected


@pytest.mark.parametrize("cells", [1, 31, 64, 1 << 18])
@pytest.mark.parametrize("many", [1, 1 << 16])
def test_every_node_is_worked_on_once_in_any_blocks(cells, many, monkeypatch):
    monkeypatch.setattr(memory, "BLOCK_CELLS", cells)
    monkeypatch.setattr(memory, "MANY_RECORDS", many)
    codes, labels, _ = records(200)
    table = table_of(codes, labels)
    roots = table.assign(Told.to(np.arange(200) % 9, 9))
    whole = table.answer(Histogram(roots))
    for first, last in ((0, 9), (2, 7), (8, 9), (3, 3)):
        seen = []
        table.for_histograms(
            roots, first, last, lambda begin, end, counts, seen=seen: seen.append((begin, end, counts.copy()))
        )
        assert [
            node for begin, end, _ in sorted(seen, key=lambda block: block[0]) for node in range(begin, end)
        ] == list(range(first, last))
        assert all(np.array_equal(counts, whole[begin:end]) for begin, end, counts in seen)
        assert all(end - begin <= max(1, cells // 30) for begin, end, _ in seen)
