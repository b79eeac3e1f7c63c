"""Looking for a worse pair: small data sets one after the other, then random changes of the worst of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from hedgerow.audit.attack import Trial, attack
from hedgerow.audit.pairs import Case, Record, said
from hedgerow.privacy.accounting import Adjacency
from hedgerow.schema import Categorical, Numeric, Schema

__all__ = ["records_of", "worsen"]

MOST = 2  # records that small data sets have
RUNS = 400  # of an estimate
CONFIDENCE = 0.75  # of an estimate: it ranks pairs and proves nothing


def records_of(schema: Schema) -> list[Record]:
    """Return a record for each combination of values and classes; numbers stand at the ends and in the middle of a range."""
    cells: list[list[Any]] = []
    for feature in schema.features.values():
        if isinstance(feature, Numeric):
            cells.append(
                [feature.cell(value) for value in (feature.low, (feature.low + feature.high) / 2, feature.high)]
            )
        else:
            assert isinstance(feature, Categorical)
            cells.append(list(feature.values))
    return [(*record, label) for record in product(*cells) for label in schema.classes]


def worsen(
    trial_on: Callable[[Case], Trial],
    start: Case,
    adjacency: Adjacency,
    *,
    tries: int = 40,
    steps: int = 20,
    runs: int = RUNS,
    generator: np.random.Generator | None = None,
) -> Case:
    """Return a pair on which the estimated loss is at least that of ``start``.

    Parameters
    ----------
    trial_on : callable
        Returns the attack on a pair.
    start : Case
        Where the search begins; its schema and settings are kept.
    adjacency : {"add-remove", "replace-one"}
        What makes the pair neighbors.
    tries : int
        How many small data sets are tried: all there are, or so many of them at random.
    steps : int
        How many random changes are tried then; a change stays if the estimate does not fall.
    runs : int
        Trainings on each data set for an estimate.
    generator : numpy generator or None
        Where the search's own choices come from, which have nothing to do with the noise of a fit.
    """
    generator = generator or np.random.default_rng()

    def loss(case: Case) -> float:
        return attack([trial_on(case)], runs=runs, confidence=CONFIDENCE)[0].loss

    small = list(_small(start, adjacency))
    chosen = generator.permutation(len(small))[:tries]
    best, worst = start, loss(start)
    for found in (small[i] for i in chosen):
        best, worst = max((best, worst), (found, loss(found)), key=lambda pair: pair[1])
    for _ in range(steps):
        changed = _changed(best, generator)
        estimate = loss(changed)
        if estimate >= worst:
            best, worst = changed, estimate
    return _told(best) if best is not start else start


def _small(start: Case, adjacency: Adjacency) -> Iterator[Case]:
    types = records_of(start.schema)
    for size in range(1, MOST + 1):
        for base, record in product(combinations_with_replacement(types, size), types):
            if adjacency == "add-remove":
                yield replace(start, base=base, record=record)
            else:
                yield from (
                    replace(start, base=base, record=record, instead=other) for other in types if other < record
                )


def _changed(case: Case, generator: np.random.Generator) -> Case:
    """Return the case with one record more, one less, or another one."""
    types = records_of(case.schema)

    def new() -> Record:
        return types[generator.integers(len(types))]

    base = list(case.base)
    place = int(generator.integers(len(base)))
    match int(generator.integers(5)):
        case 0 | 1:
            base.extend([new()] * int(generator.integers(1, 4)))
        case 2 if len(base) > 1:
            del base[place]
        case 3:
            return replace(case, record=new())
        case _:
            base[place] = new()
    return replace(case, base=tuple(base))


def _told(case: Case) -> Case:
    records = ", ".join(map(said, case.base))
    return replace(case, name="found", words=f"The records {records}; and the record {said(case.record)}.")
