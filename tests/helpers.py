"""Tiny records, the shipped grower on them, and records that stay on disk, for tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from hedgerow.additive.plan import RoundSchedule
from hedgerow.audit import Grid
from hedgerow.audit.exact import Replay
from hedgerow.curator import Queryable
from hedgerow.estimator import Plan, PrivateClassifier, RawPlan, plan_of, run
from hedgerow.mechanisms import Coins, PerRecordCoin, Randomness, WeightedCoin
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Schema
from hedgerow.systems import hedgerow
from hedgerow.table import MemoryTable
from hedgerow.trees import Forest, Grower, Recipe

Record = tuple[int, ...]

BINARY = tuple(product((0, 1), repeat=3))  # two features, then the label


@dataclass(frozen=True)
class PoissonCoin:
    """Each record takes part with the same probability."""

    inclusion: Fraction

    parts = 1

    @property
    def threshold(self):
        return np.uint64(int(self.inclusion * 2**32))

    def sample(self, stream, records, first_row=0):
        return WeightedCoin(self.inclusion).sample(stream, np.full(records, self.threshold), first_row)

    def law(self, records):
        return WeightedCoin(self.inclusion).law(self.threshold)


def n_leaves(forest: Forest) -> int:
    return int(np.count_nonzero(forest.first_child == 0))


def make_table(records: Sequence[Record], n_codes: Sequence[int] = (2, 2), n_classes: int = 2) -> MemoryTable:
    width = len(n_codes)
    cells = np.array([record[:width] for record in records], dtype=np.uint8).reshape(-1, width)
    labels = np.array([record[width] for record in records], dtype=np.int16)
    return MemoryTable(cells, labels, np.array(n_codes), n_classes)


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
    curator = Queryable(make_table(records, n_codes, n_classes), epsilon, randomness)
    return Grower(curator, schedule).grow()


def released(forest: Forest) -> tuple[tuple[int, ...], ...]:
    return tuple(forest.test.tolist()), tuple(forest.label.tolist())


def data_sets(most: int, types: Sequence[Record] = BINARY) -> Iterator[tuple[Record, ...]]:
    for size in range(most + 1):
        yield from combinations_with_replacement(types, size)


def fit_plan(plan: Plan | RawPlan, X: Any, y: Any, randomness: Randomness) -> Any:
    """The model that a plan makes of records."""
    return run(plan, X, y, randomness)[0]


def plan_at(estimator: PrivateClassifier, schema: Schema, epsilon: Fraction, adjacency: str = "add-remove") -> Any:
    """The plan of an estimator whose public coins mark no round, for a pure claim."""
    return plan_of(estimator, schema, Claim(epsilon, Fraction(0), adjacency), ())


@dataclass(frozen=True, eq=False)
class Told(Coins):
    """Coins that fell already: the part of each record."""

    part: Any

    @classmethod
    def to(cls, part: Any, parts: int) -> Told:
        return cls(PerRecordCoin(parts), b"", np.asarray(part, dtype=np.int32))

    def parts(self, first_row: int, about: Any) -> Any:
        return self.part[first_row:]


def select_by_cell(patch, *, after=1, **rules):
    """Let each cell of all rounds after some select a feature of its own, however few records there are and whatever cuts add."""
    small = dict.fromkeys(("min_snr_for_cells", "pure_min_snr_for_cells"), 1e-3)
    small |= {"cell_cuts": (2, 2), "cell_rounds_by_snr": (12.0, 0.0), **rules}
    for name in ("RULES", "OUTCOME_RULES", "COUNTS", "LOGS"):
        patch.setattr(hedgerow, name, replace(getattr(hedgerow, name), **small))
    cuts = property(lambda self: self._cell_cuts if self._rounds >= after else 0, lambda self, value: None)
    patch.setattr(RoundSchedule, "next_cell_cuts", cuts, raising=False)


def spilling(records: Any, folder: Any) -> Any:
    """The same records, of which nothing stays in memory."""
    source = copy(records._source)
    for name, value in {"memory": 0, "spill": folder}.items():  # past the check of what a user may pass
        object.__setattr__(source, name, value)
    return replace(records, _source=source)


def exact_law(fit, grid=Grid()):  # noqa: B008 - it is frozen
    """Return the probability of everything that ``fit`` may release, by a run for each sequence of outcomes of its draws."""
    law, known, script = {}, {}, []
    while script is not None:
        replay = Replay(script, known, grid)
        released = fit(replay)
        law[released] = law.get(released, 0.0) + replay.probability()
        script = replay.next_script()
    return law


def total(law):
    """Return the probability of all releases together; that of some releases is a mixture."""
    mixtures = (value if isinstance(value, list) else [(value, ())] for value in law.values())
    return math.fsum(weight for mixture in mixtures for weight, _ in mixture)
