"""Kernels of the table against plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import Told

from hedgerow import arrays
from hedgerow.scores import binary, multiway
from hedgerow.table import ClassCounts, Histogram, MemoryTable
from hedgerow.table import memory as table_module

N_CODES = np.array([3, 5, 2])
N_CLASSES = 3


@pytest.fixture
def records():
    generator = np.random.default_rng(7)
    codes = np.stack([generator.integers(0, n, 500) for n in N_CODES], axis=1).astype(np.uint8)
    labels = generator.integers(-1, N_CLASSES, 500).astype(np.int16)
    part = generator.integers(0, 4, 500).astype(np.int32)
    return codes, labels, part


def rows_of(part, labels, value):
    return [row for row in range(len(part)) if part[row] == value and labels[row] >= 0]


def test_partition_by_a_binary_test_follows_the_codes(records):
    codes, labels, part = records
    candidates = binary(N_CODES, [True] * 3)
    table = MemoryTable(codes, labels, N_CODES, N_CLASSES)
    children = table.partition(table.assign(Told.to(part, 4)), candidates, np.full(4, 3))
    counts = table.answer(ClassCounts(children))
    feature, last = int(candidates.feature[3]), int(candidates.at[3])
    for tree in range(4):
        rows = rows_of(part, labels, tree)
        for branch in (0, 1):
            members = [labels[row] for row in rows if (codes[row, feature] > last) == branch]
            assert np.array_equal(counts[2 * tree + branch], np.bincount(members, minlength=N_CLASSES))


def test_threads_and_blocks_change_nothing(monkeypatch):
    generator = np.random.default_rng(1)
    codes = np.stack([generator.integers(0, n, 20_000) for n in N_CODES], axis=1).astype(np.uint8)
    labels = generator.integers(0, N_CLASSES, 20_000).astype(np.int16)
    part = generator.integers(0, 9, 20_000).astype(np.int32)
    candidates = multiway(N_CODES)

    def outcome():
        table = MemoryTable(codes, labels, N_CODES, N_CLASSES)
        roots = table.assign(Told.to(part, 9))
        seen = np.zeros((9, int(N_CODES.sum()), N_CLASSES), dtype=np.int64)

        def keep(first, last, histogram):
            seen[first:last] = histogram

        table.for_histograms(roots, 0, 9, keep)
        return seen, table.answer(Histogram(table.partition(roots, candidates, np.arange(9) % 3)))

    alone = outcome()
    monkeypatch.setattr(arrays, "available_threads", lambda: 4)
    monkeypatch.setattr(table_module, "MANY_RECORDS", 64)
    monkeypatch.setattr(table_module, "BLOCK_CELLS", 64)
    together = outcome()
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))
