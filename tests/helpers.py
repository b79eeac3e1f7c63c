"""Tiny records and the shipped grower on them, for tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np

from hedgerow.curator import Curator
from hedgerow.mechanisms import Randomness
from hedgerow.table import Table
from hedgerow.trees import Forest, Grower, Recipe

Record = tuple[int, ...]

BINARY = tuple(product((0, 1), repeat=3))  # two features, then the label


def make_table(records: Sequence[Record], n_codes: Sequence[int] = (2, 2), n_classes: int = 2) -> Table:
    width = len(n_codes)
    cells = np.array([record[:width] for record in records], dtype=np.uint8).reshape(-1, width)
    labels = np.array([record[width] for record in records], dtype=np.int16)
    return Table(cells, labels, np.array(n_codes), n_classes)


def grow(
    records: Sequence[Record],
    randomness: Randomness,
    *,
    recipe: Recipe | None = None,
    trees: int = 1,
    depth: int = 2,
    epsilon: Fraction = Fraction(1),
    n_codes: Sequence[int] = (2, 2),
    n_classes: int = 2,
    is_numeric: Sequence[bool] | None = None,
) -> Forest:
    schedule = (recipe or Recipe()).schedule(
        epsilon, np.array(n_codes), is_numeric or [False] * len(n_codes), n_estimators=trees, max_depth=depth
    )
    curator = Curator(make_table(records, n_codes, n_classes), epsilon, randomness)
    return Grower(curator, schedule).grow()


def released(forest: Forest) -> tuple[tuple[int, ...], ...]:
    return tuple(forest.test.tolist()), tuple(forest.label.tolist())


def data_sets(most: int, types: Sequence[Record] = BINARY) -> Iterator[tuple[Record, ...]]:
    for size in range(most + 1):
        yield from combinations_with_replacement(types, size)
