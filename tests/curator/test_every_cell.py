"""Mechanisms are asked for every cell and every candidate, whichever hold records: which do is what noise has to hide."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from cut_records import (
    CUTS,
    ENCODER,
    N_CODES,
    NOISE,
    OFFSETS,
    ORDERED,
    RULE,
    SCHEMA,
    SELECTION,
    SPLITS,
    penalties,
    records,
)

from hedgerow.curator import Candidate, Queryable
from hedgerow.mechanisms import Geometric, PermuteAndFlip, PerRecordCoin, Randomness
from hedgerow.table import ClassCounts, Histogram, MemoryTable

FEATURES = len(N_CODES)
ADDED = 1000  # drawn for every cell, so that a cell without it shows
KINDS = {"single": ((), None), "splits": ((), SPLITS), "two cuts": (CUTS[2], None), "three cuts": (CUTS[2], SPLITS)}


class Marked(Randomness):
    """Adds the same to all statistics, and keeps what selections may choose among."""

    def __init__(self):
        super().__init__(0)
        self.offered = []

    def draw(self, mechanism, *statistics):
        if isinstance(mechanism, PermuteAndFlip):
            self.offered.append(np.array(statistics[1]))
            return np.zeros(len(statistics[0]), dtype=np.int64)
        return np.asarray(statistics[0]) + ADDED


def worlds():
    """No record, one record, records in one place alone, and records everywhere."""
    codes, labels = records(300)
    yield "none", codes[:0], labels[:0]
    yield "one", codes[:1], labels[:1]
    yield "one place", np.repeat(codes[:1], 9, axis=0), np.zeros(9, dtype=np.int16)
    yield "everywhere", codes, labels


WORLDS = {name: (codes, labels) for name, codes, labels in worlds()}


def asked_of(world):
    codes, labels = WORLDS[world]
    randomness = Marked()
    return Queryable(MemoryTable(codes, labels, N_CODES, 2), Fraction(10**6), randomness), randomness


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("world", WORLDS)
def test_every_cell_gets_noise_whatever_records_hold(world, kind):
    cuts, splits = KINDS[kind]
    curator, _ = asked_of(world)
    asked = curator.open_round(RULE, None, cuts, splits)
    raw, _ = asked_of(world)
    raw._randomness = type("Raw", (), {"draw": staticmethod(lambda _, sums: sums)})()
    exact = raw.open_round(RULE, None, cuts, splits)
    candidates = [Candidate(j) for j in range(FEATURES)]
    candidates += [Candidate(3, number, SPLITS.cut(number)) for number in range(len(splits or ()))]
    for candidate in candidates:
        found = asked.sums(candidate, NOISE)
        cells = 2 ** (len(cuts) + (candidate.cut is not None))
        assert found.shape == (cells, N_CODES[candidate.feature], RULE.channels)
        assert np.array_equal(found, exact.sums(candidate, NOISE) + ADDED)
    assert np.array_equal(asked.whole_sums(NOISE), exact.whole_sums(NOISE) + ADDED)


@pytest.mark.parametrize("world", WORLDS)
def test_every_cell_of_nodes_gets_noise_whatever_records_hold(world):
    curator, _ = asked_of(world)
    root = curator.assign(PerRecordCoin(1))
    codes, labels = WORLDS[world]
    assert (np.asarray(curator.answer(ClassCounts(root), Geometric(Fraction(1)))) >= ADDED).all()
    every = Geometric(Fraction(1), FEATURES)
    found = curator.answer(Histogram(root, np.ones((1, FEATURES), dtype=np.bool_)), every)[0]
    begins = np.concatenate([[0], np.cumsum(N_CODES)[:-1]])
    exact = np.zeros((int(N_CODES.sum()), len(SCHEMA.classes)), dtype=np.int64)
    for feature, begin in enumerate(begins):
        np.add.at(exact, (begin + codes[:, feature].astype(int), labels.astype(int)), 1)
    assert np.array_equal(found, exact + ADDED)
    assert int(N_CODES.sum()) == ENCODER.n_codes.sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("world", WORLDS)
def test_every_candidate_is_offered_whatever_records_hold(world, kind):
    cuts, splits = KINDS[kind]
    curator, randomness = asked_of(world)
    asked = curator.open_round(RULE, None, cuts, splits)
    asked.select(SELECTION, penalties(splits))
    asked.select_cut(SELECTION, ORDERED, np.ones(OFFSETS[-1], dtype=np.bool_))
    candidates, of_cuts = randomness.offered
    rows = candidates.reshape(-1, FEATURES)
    assert len(rows) == 1 + len(splits or ())
    assert rows[0].all()
    if splits is not None:  # but the feature that a cut cuts
        cut_by = np.array([splits.cut(number).by for number in range(len(splits))])
        assert np.array_equal(rows[1:], cut_by[:, None] != np.arange(FEATURES))
    assert of_cuts.all()
