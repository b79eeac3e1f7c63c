"""Each kernel of the table against a plain loop, as Python and compiled: what it reads and writes, and nothing beyond its arrays.

As Python, a read beyond an array raises; what stands around an array that is written to must stay as it is.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from hedgerow.table import kernels

CASES = [  # records, numbers of codes, classes, nodes
    (0, (2, 3), 2, 1),
    (1, (2, 3), 2, 1),
    (1, (4,), 3, 3),
    (2, (2, 3, 4), 3, 2),
    (9, (3, 2), 2, 4),
    (40, (3, 5, 2), 3, 5),
]
cases = pytest.mark.parametrize(("count", "n_codes", "n_classes", "n_nodes"), CASES, ids=str)
weighings = pytest.mark.parametrize("weighted", [False, True])
MARK = 77


class Given:
    """Random records by nodes, and arrays that lie inside of larger ones."""

    def __init__(self, count, n_codes, n_classes, n_nodes, weighted=False, seed=0):
        self.generator = generator = np.random.default_rng([seed, count])
        self.codes = np.stack([generator.integers(0, n, count) for n in n_codes], axis=1).astype(np.uint8)
        self.labels = generator.integers(0, n_classes, count).astype(np.int16)
        self.weights = generator.integers(2, 9, count if weighted else 0)
        self.offsets = np.concatenate(([0], np.cumsum(n_codes)))
        node = np.sort(generator.integers(0, n_nodes, count))
        self.starts = np.searchsorted(node, np.arange(n_nodes + 1))
        self.weight = self.weights if weighted else np.ones(count, dtype=np.int64)
        self.around = []

    def array(self, shape, dtype=np.int64, fill=0):
        whole = np.full((shape[0] + 4, *shape[1:]), MARK, dtype=dtype)
        whole[2:-2] = fill
        self.around += [whole[:2], whole[-2:]]
        return whole[2:-2]

    def is_alone(self):
        return all((part == MARK).all() for part in self.around)


def ways(kernel):
    return kernel.py_func, kernel


@cases
@weighings
def test_histograms_and_class_counts_add_up_the_weights(count, n_codes, n_classes, n_nodes, weighted):
    for histogram, class_counts in zip(ways(kernels.histogram), ways(kernels.class_counts), strict=True):
        given = Given(count, n_codes, n_classes, n_nodes, weighted)
        expected = np.zeros((n_nodes, sum(n_codes), n_classes), dtype=np.int64)
        for node in range(n_nodes):
            for record in range(given.starts[node], given.starts[node + 1]):
                for place in given.offsets[:-1] + given.codes[record]:
                    expected[node, place, given.labels[record]] += given.weight[record]
        records = given.labels, given.weights, given.starts
        for first, last in ((0, n_nodes), (n_nodes - 1, n_nodes), (0, 1), (1, 1)):
            out = given.array((last - first, sum(n_codes), n_classes))
            histogram(given.codes, *records, first, last, given.offsets, out)
            assert np.array_equal(out, expected[first:last])
        out = given.array((n_nodes, n_classes))
        class_counts(*records, out)
        assert np.array_equal(out, expected[:, : n_codes[0]].sum(axis=1))
        assert given.is_alone()


@cases
@weighings
def test_grouping_keeps_the_order_of_the_records_of_each_part(count, n_codes, n_classes, n_nodes, weighted):
    for group in ways(kernels.group):
        given = Given(count, n_codes, n_classes, n_nodes, weighted)
        part = given.generator.integers(-1, n_nodes, count).astype(np.int32)
        labels = given.generator.integers(-1, n_classes, count).astype(np.int16)
        rows = [[row for row in range(count) if part[row] == node and labels[row] >= 0] for node in range(n_nodes)]
        flat = np.array([row for mine in rows for row in mine], dtype=np.int64)
        starts, codes = given.array((n_nodes + 1,)), given.array((len(flat), len(n_codes)), np.uint8)
        classes = given.array((len(flat),), np.int16)
        weights = given.array((len(flat) if weighted else 0,))
        group(given.codes, labels, given.weights, part, starts, codes, classes, weights)
        assert starts.tolist() == [0, *np.cumsum([len(mine) for mine in rows])]
        assert np.array_equal(codes, given.codes[flat])
        assert np.array_equal(classes, labels[flat])
        assert np.array_equal(weights, given.weights[flat] if weighted else [])
        assert given.is_alone()


@cases
@weighings
def test_children_own_the_rows_of_their_node_by_branch_and_in_order(count, n_codes, n_classes, n_nodes, weighted):
    for move in ways(kernels.move):
        given = Given(count, n_codes, n_classes, n_nodes, weighted)
        generator, features = given.generator, len(n_codes)
        feature = np.arange(features, dtype=np.int32)[::-1].copy()  # the first test tells all codes apart, others one
        branch = np.minimum(np.arange(max(n_codes)), np.array(n_codes)[feature][:, None] - 1).astype(np.uint8)
        branch[1:] = np.minimum(branch[1:], 1)
        test = generator.integers(0, features, n_nodes)
        arity = [int(branch[t].max()) + 1 for t in test]
        first_child = np.concatenate(([0], np.cumsum(arity)))
        child_starts = given.array((first_child[-1] + 1,), fill=-5)
        codes, classes = given.array((count, features), np.uint8), given.array((count,), np.int16)
        weights = given.array((count if weighted else 0,))
        halves = sorted({0, n_nodes // 2, n_nodes})
        for first, last in [(n_nodes, n_nodes), *pairwise(halves)][::-1]:
            move(
                given.codes,
                given.labels,
                given.weights,
                given.starts,
                first,
                last,
                test,
                feature,
                branch,
                first_child,
                child_starts,
                codes,
                classes,
                weights,
            )
        rows, ends = [], []
        for node in range(n_nodes):
            mine = range(given.starts[node], given.starts[node + 1])
            for child in range(arity[node]):
                ends.append(len(rows))
                rows += [row for row in mine if branch[test[node], given.codes[row, feature[test[node]]]] == child]
        assert child_starts.tolist() == [*ends, -5]  # where the last child ends, whoever asked says
        assert np.array_equal(codes, given.codes[rows])
        assert np.array_equal(classes, given.labels[rows])
        assert np.array_equal(weights, given.weights[rows] if weighted else [])
        assert given.is_alone()


def packed_by(pack, given, said, used, cells, groups, n_groups):
    """What a kernel packs into the parts of cells (features, sides) and groups (features, groups), and what is around."""
    (cut_by, side), (by, group) = ((np.array(features, dtype=np.int64), table) for features, table in (cells, groups))
    pairs = (used + 1) // 2
    part, row = given.array((len(given.codes),), np.uint32), given.array((pairs,))
    packed = given.array(((1 << len(cut_by)) * n_groups, int(given.offsets[-1]), pairs))
    pack(given.codes, said, used, given.offsets, cut_by, side, -1, by, group, n_groups, part, row, packed)
    return packed


def packed_of_one(pack_one, given, said, used, cells, feature, group):
    cut_by, side, pairs = np.array(cells[0], dtype=np.int64), cells[1], (used + 1) // 2
    packed, part = (
        given.array((1 << len(cut_by), int(group.max()) + 1, pairs)),
        given.array((len(given.codes),), np.uint32),
    )
    pack_one(given.codes, said, used, feature, group, cut_by, side, part, packed)
    return packed


def packed_plainly(given, said, used, cells, groups, n_groups):
    """The same by a plain loop: each part's sums by code and channel, two channels in each integer."""
    sums = np.zeros(((1 << len(cells[0])) * n_groups, int(given.offsets[-1]), used), dtype=np.int64)
    for code, added in zip(given.codes, said, strict=True):
        cell = 0
        for by, side in zip(*cells, strict=True):
            cell = 2 * cell + side[code[by]]
        for own in [group[code[by]] for by, group in zip(*groups, strict=True)] or [0]:
            for place in given.offsets[:-1] + code:
                sums[cell * n_groups + own, place] += added[:used]
    if used == 1:
        return sums
    pairs = (used + 1) // 2
    packed = sums[..., :pairs] * (1 << 32)
    packed[..., : used - pairs] += sums[..., pairs:]
    return packed


@cases
@pytest.mark.parametrize("channels", range(1, 8))
def test_two_channels_are_halves_of_one_integer_in_every_group_of_every_cell(
    count, n_codes, n_classes, n_nodes, channels
):
    last = len(n_codes) - 1
    for pack in ways(kernels.pack):
        given = Given(count, n_codes, n_classes, n_nodes)
        said = given.generator.integers(-9, 10, (count, channels))

        def of(features, most, given=given):
            """Numbers for the codes of some features; columns beyond a feature's codes are not read."""
            table = np.full((len(features), max(n_codes)), 99)
            for row, feature in zip(table, features, strict=True):
                row[: n_codes[feature]] = given.generator.integers(0, most, n_codes[feature])
            return features, table

        for cut_by, by in product(([], [last], [0, last], [last, 0, 0]), ([], [0], [last, 0])):
            cells, groups, n_groups = of(cut_by, 2), of(by, 3), 3 if by else 1
            for used in {channels, (channels + 1) // 2}:
                found = packed_by(pack, given, said, used, cells, groups, n_groups)
                assert np.array_equal(found, packed_plainly(given, said, used, cells, groups, n_groups))
        assert given.is_alone()


@cases
@pytest.mark.parametrize("channels", range(1, 5))
def test_groups_of_the_codes_of_one_feature_of_each_cell_are_summed_as_all_codes(
    count, n_codes, n_classes, n_nodes, channels
):
    for pack_one in ways(kernels.pack_one):
        given = Given(count, n_codes, n_classes, n_nodes)
        said = given.generator.integers(-9, 10, (count, channels))
        for first, cut_by in product(range(len(n_codes)), ([], [0], [len(n_codes) - 1, 0], [0, 0])):
            cells = cut_by, given.generator.integers(0, 2, (len(cut_by), max(n_codes)))
            feature = (first + np.arange(1 << len(cut_by))) % len(n_codes)
            group = given.generator.integers(0, 3, (len(feature), max(n_codes)))
            found = packed_of_one(pack_one, given, said, channels, cells, feature, group)
            expected = np.zeros_like(found)
            of_all = packed_plainly(given, said, channels, cells, ([], []), 1)
            for own, every, j, into in zip(expected, of_all, feature.tolist(), group, strict=True):
                np.add.at(own, into[: n_codes[j]], every[given.offsets[j] : given.offsets[j + 1]])
            assert np.array_equal(found, expected)


@cases
@pytest.mark.parametrize("channels", range(1, 5))
def test_records_on_one_side_of_the_last_cut_are_added_to_the_cells_before_it(
    count, n_codes, n_classes, n_nodes, channels
):
    none = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64), 1
    for pack in ways(kernels.pack):
        given = Given(count, n_codes, n_classes, n_nodes)
        said, pairs = given.generator.integers(-9, 10, (count, channels)), (channels + 1) // 2
        for cut_by in ([0], [len(n_codes) - 1, 0]):
            cells = cut_by, given.generator.integers(0, 2, (len(cut_by), max(n_codes)))
            kept_side = len(cut_by) % 2
            part, row = given.array((count,), np.uint32), given.array((pairs,))
            packed = given.array(((1 << len(cut_by)) // 2, int(given.offsets[-1]), pairs))
            by, side = np.array(cut_by, dtype=np.int64), cells[1]
            pack(given.codes, said, channels, given.offsets, by, side, kept_side, *none, part, row, packed)
            expected = packed_plainly(given, said, channels, cells, ([], []), 1)
            assert np.array_equal(packed, expected[kept_side::2])
        assert given.is_alone()


@cases
@pytest.mark.parametrize("channels", [1, 3])
def test_two_features_are_summed_by_the_numbers_of_both_codes(count, n_codes, n_classes, n_nodes, channels):
    for add_pairs in ways(kernels.add_pairs):
        given = Given(count, n_codes, n_classes, n_nodes)
        said, features = given.generator.integers(-9, 10, (count, channels)), len(n_codes)
        order = given.generator.permutation(features)
        number = np.empty(sum(n_codes), dtype=np.int64)
        for j, before in zip(order, np.cumsum([0, *(n_codes[j] for j in order)]).tolist(), strict=False):
            number[given.offsets[j] : given.offsets[j + 1]] = before + np.arange(n_codes[j]) // 2
        for n_first in range(1, features + 1):
            out = given.array((sum(n_codes), sum(n_codes), channels))
            add_pairs(given.codes, said, channels, order, n_first, given.offsets, number, out)
            expected = np.zeros_like(out)
            for code, added in zip(given.codes, said, strict=True):
                at = number[given.offsets[order] + code[order]]
                for first in range(n_first):
                    expected[at[first], at[first + 1 :]] += added
            assert np.array_equal(out, expected)
        assert given.is_alone()


def test_pairs_of_many_records_are_those_of_their_tiles():
    codes = np.random.default_rng(0).integers(0, 3, (2 * kernels.PAIR_TILE + 3, 2)).astype(np.uint8)
    out, number = np.zeros((3, 6, 1), dtype=np.int64), np.arange(6)
    kernels.add_pairs(codes, np.ones((len(codes), 1)), 1, np.arange(2), 1, np.array([0, 3, 6]), number, out)
    assert out[:, 3:, 0].ravel().tolist() == np.bincount(codes[:, 0] * 3 + codes[:, 1], minlength=9).tolist()


@pytest.mark.parametrize("sides", [[0, 1], [1, 0]])
def test_one_side_of_the_last_cut_is_added_up_in_tiles_of_many_records(sides):
    codes = np.random.default_rng(0).integers(0, 2, (2 * kernels.TILE + 5, 2)).astype(np.uint8)
    part, packed = np.zeros(len(codes), dtype=np.uint32), np.zeros((1, 4, 1), dtype=np.int64)
    cut, side, row = np.array([0]), np.array([sides]), np.zeros(1, dtype=np.int64)
    none, of = (np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64), 1), np.array([0, 2, 4])
    kernels.pack(codes, np.ones((len(codes), 1)), 1, of, cut, side, 1, *none, part, row, packed)
    kept = codes[side[0][codes[:, 0]] == 1]
    assert packed[0, :, 0].tolist() == [*np.bincount(kept[:, 0], minlength=2), *np.bincount(kept[:, 1], minlength=2)]


def test_cells_go_on_from_those_of_earlier_cuts():
    codes, said = np.array([[0, 1], [1, 0], [1, 1]], dtype=np.uint8), np.array([[5], [7], [9]], dtype=np.int32)
    cut, side, offsets = np.array([1]), np.array([[0, 1]]), np.array([0, 2, 4])
    none, expected = (np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64), 1), np.zeros((4, 4))
    expected[1, [0, 3]], expected[2, [1, 2]], expected[3, [1, 3]] = 5, 7, 9
    for kept_side, sums in ((-1, expected), (1, expected[1::2])):
        for each in ways(kernels.pack):
            part, packed = np.array([0, 1, 1], dtype=np.uint32), np.zeros((*sums.shape, 1), dtype=np.int64)
            each(codes, said, 1, offsets, cut, side, kept_side, *none, part, np.zeros(1, dtype=np.int64), packed)
            assert part.tolist() == [1, 2, 3]
            assert np.array_equal(packed[..., 0], sums)


def test_two_channels_of_a_single_code_go_to_its_group_in_their_cell():
    for pack in ways(kernels.pack):
        packed = np.zeros((4, 1, 1), dtype=np.int64)
        codes, said = np.zeros((3, 1), dtype=np.uint8), np.array([[1, 2], [3, 4], [-9, 5]])
        part, row = np.zeros(3, dtype=np.uint32), np.zeros(1, dtype=np.int64)
        one, first = np.array([[1]]), np.array([0])
        pack(codes, said, 2, np.array([0, 1]), first, one, -1, first, 0 * one, 2, part, row, packed)
        assert packed.ravel().tolist() == [0, 0, -5 * (1 << 32) + 11, 0]


@cases
def test_merged_codes_are_those_of_their_feature(count, n_codes, n_classes, n_nodes):
    for merge in ways(kernels.merge):
        given = Given(count, n_codes, n_classes, n_nodes)
        into = given.generator.integers(0, 200, sum(n_codes)).astype(np.uint8)
        codes = given.array(given.codes.shape, np.uint8)
        codes[:] = given.codes
        merge(codes, given.offsets, into)
        assert np.array_equal(codes, into[given.offsets[:-1] + given.codes])
        assert given.is_alone()


@cases
def test_records_go_to_the_child_of_their_branch_or_nowhere(count, n_codes, n_classes, n_nodes):
    for route in ways(kernels.route):
        given = Given(count, n_codes, n_classes, n_nodes)
        features = len(n_codes)
        part = given.generator.integers(-1, n_nodes, count).astype(np.int32)
        test = given.generator.integers(-1, features, n_nodes)
        test[-1] = 0  # the last node has a test, so that a record of no node could be taken for one of it
        feature = np.arange(features, dtype=np.int32)[::-1].copy()
        branch = given.generator.integers(0, 3, (features, max(n_codes))).astype(np.uint8)
        first_child = given.generator.integers(0, 50, n_nodes)
        out = given.array((count,), np.int32, fill=-9)
        route(given.codes, part, test, feature, branch, first_child, out)
        goes = [node >= 0 and test[node] >= 0 for node in part]
        assert out.tolist() == [
            first_child[node] + branch[test[node], given.codes[row, feature[test[node]]]] if goes[row] else -1
            for row, node in enumerate(part)
        ]
        assert given.is_alone()
