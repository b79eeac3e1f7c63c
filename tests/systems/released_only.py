"""Worlds that differ in everything that no step releases, and fits in them whose mechanisms answer alike."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction

import numpy as np
import pytest
from helpers import fit_plan

from hedgerow.audit.losses import kept
from hedgerow.curator import Queryable, Round
from hedgerow.estimator import claim_of, plan_of
from hedgerow.mechanisms import (
    AtMost,
    Exponential,
    Geometric,
    PermuteAndFlip,
    PublicChoice,
    Randomness,
    RoundedNormal,
)
from hedgerow.table import Histogram, MemoryTable

QUESTIONS = [
    (kind, name)
    for kind in (Queryable, Round)
    for name, _ in inspect.getmembers(kind, inspect.isfunction)
    if not name.startswith("_") and name != "warnings_of"  # which queries nothing
]
SELECTIONS = (Exponential, PermuteAndFlip)
NOISE = (Geometric, RoundedNormal)
AS_THEY_ARE = (PublicChoice,)  # of public values; hidden coins are not drawn here
LARGEST = 6  # power of ten of noisy sums


class Scripted(Randomness):
    """Answers a draw by its number, its mechanism and its shape, whatever the statistics are.

    What else a draw was given is noted in ``asked``: its shape and, of a selection, what was offered.
    """

    def __init__(self, seed: int, asked: list) -> None:
        super().__init__(seed)
        self._script, self._asked = np.random.default_rng([seed, 1]), asked

    def draw(self, mechanism, *statistics):
        script = self._script
        offered = statistics[1:] if isinstance(mechanism, SELECTIONS) else ()
        self._asked.append(("a draw", said((mechanism, np.shape(statistics[0]), offered), None)))
        if isinstance(mechanism, AS_THEY_ARE):
            return super().draw(mechanism, *statistics)
        if isinstance(mechanism, SELECTIONS):
            offered = np.asarray(statistics[1]) > 0
            return np.where(offered, script.random(offered.shape), -1.0).argmax(axis=1)
        if isinstance(mechanism, AtMost):
            return script.random(len(statistics[0])) < 0.3
        if isinstance(mechanism, NOISE):
            size = 10 ** script.integers(1, LARGEST)
            return script.integers(-size, 4 * size, np.shape(statistics[0]))
        raise AssertionError(f"{type(mechanism).__name__} has no script; say what it answers")


@dataclass(frozen=True)
class World:
    """Records, and what the table says of their sums: the truth, or numbers that have nothing to do with them."""

    X: dict
    y: np.ndarray
    lies: int | None = None  # how large they are
    rising: bool = False  # whether all are large, and none is negative

    @contextmanager
    def told(self, seed: int) -> Iterator[None]:
        """Let every table answer questions for sums by this world's lies, which a seed tells."""
        if self.lies is None:
            yield
            return
        made_up = np.random.default_rng([self.lies, self.rising, seed])

        def lie(shape, low=0):
            return made_up.integers(self.lies // 2 if self.rising else low, self.lies, shape)

        def answer(table, query):
            shape = query.shape(np.diff(table.offsets), table.n_classes)
            if not isinstance(query, Histogram):
                return lie(shape, -self.lies if query.signed else 0)
            # A node has one number of records, whatever feature counts them: all stand in one code of each.
            out = np.zeros(shape, dtype=np.int64)
            out[:, table.offsets[:-1] + made_up.integers(0, np.diff(table.offsets))] = lie((shape[0], 1, shape[2]))
            return out

        with pytest.MonkeyPatch.context() as plant:
            plant.setattr(MemoryTable, "answer", answer)
            yield


def fit_in(world: World, estimator, seed: int):
    """Return everything that a fit's model holds, and all questions that it asked, word for word."""
    asked = []
    with world.told(seed), pytest.MonkeyPatch.context() as watch:
        for kind, name in QUESTIONS:
            watch.setattr(kind, name, _witnessed(getattr(kind, name), asked))
        coins = estimator._draw_coins(claim_of(estimator), Randomness(0).draw)
        plan = plan_of(estimator, estimator.schema, claim_of(estimator), coins)
        model = fit_plan(plan, world.X, world.y, Scripted(seed, asked))
    return kept(model), asked


def _witnessed(question, asked):
    def ask(curator, *args, **named):
        asked.append((question.__name__, said((args, named), curator)))
        return question(curator, *args, **named)

    return ask


def said(value, curator):
    """Return a value such that two are equal only if they say the same."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if value is None or isinstance(value, bool | int | float | str | Fraction | type | np.generic):
        return repr(value)
    if isinstance(value, np.dtype):
        return value.str
    if isinstance(value, list | tuple):
        return tuple(said(item, curator) for item in value)
    if isinstance(value, dict):
        return tuple((key, said(item, curator)) for key, item in value.items())
    if isinstance(value, Round):  # the round before, whose sums are not told
        return said(value._cuts, curator)
    if is_dataclass(value):
        return type(value).__name__, tuple(said(getattr(value, field.name), curator) for field in fields(value))
    if inspect.isroutine(value) or hasattr(
        value, "columns"
    ):  # the votes of released trees: what they say of some records
        probe = np.random.default_rng(0)
        codes = probe.integers(0, np.diff(curator._table.offsets), (50, len(curator._table.offsets) - 1))
        margins = np.zeros((50, value.columns), dtype=np.int64)
        value(codes.astype(curator._table._codes.dtype), margins)
        return margins.tobytes()
    raise AssertionError(f"a question holds a {type(value).__name__}; say how two of them are compared")
