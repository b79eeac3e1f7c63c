"""Mechanisms are asked for every cell and every candidate, whichever hold records: which do is what noise has to hide."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from test_splits import DEEP, ENCODER, N_CODES, RULE, SCHEMA, SPLITS, records

import hedgerow as hr
from hedgerow.boosting.steps import splits_of, widest_side
from hedgerow.curator import Queryable
from hedgerow.mechanisms import Geometric, PermuteAndFlip, PerRecordCoin, Randomness
from hedgerow.schema import Encoder
from hedgerow.table import MemoryTable

FEATURES = len(N_CODES)
NOISE = 1000  # drawn for every cell, so that a cell without it shows


class Marked(Randomness):
    """Adds the same to all statistics, and keeps what selections may choose among."""

    def __init__(self):
        super().__init__(0)
        self.offered = []

    def draw(self, mechanism, *statistics):
        if isinstance(mechanism, PermuteAndFlip):
            self.offered.append(np.array(statistics[1]))
            return np.zeros(len(statistics[0]), dtype=np.int64)
        return np.asarray(statistics[0]) + NOISE


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


@pytest.mark.parametrize("splits", [None, SPLITS, DEEP], ids=["single", "one cut", "two cuts"])
@pytest.mark.parametrize("world", WORLDS)
def test_every_cell_gets_noise_whatever_records_hold(world, splits):
    curator, _ = asked_of(world)
    asked, noise = curator.open_round(RULE, None, splits), Geometric(Fraction(1), RULE.l1)
    raw, _ = asked_of(world)
    raw._randomness = type("Raw", (), {"draw": staticmethod(lambda _, sums: sums)})()
    exact = raw.open_round(RULE, None, splits)
    for candidate in range(FEATURES + len(splits or ())):
        assert np.array_equal(asked.sums(candidate, noise), exact.sums(candidate, noise) + NOISE)
    assert np.array_equal(asked.whole_sums(noise), exact.whole_sums(noise) + NOISE)
    of_all = Geometric(Fraction(1), FEATURES * RULE.scored_l1)
    assert np.array_equal(asked.scores(of_all), exact.scores(of_all) + NOISE)


@pytest.mark.parametrize("world", WORLDS)
def test_every_cell_of_nodes_gets_noise_whatever_records_hold(world):
    curator, _ = asked_of(world)
    root = curator.assign(PerRecordCoin(1))
    codes, labels = WORLDS[world]
    assert (np.asarray(curator.class_counts(root, Geometric(Fraction(1)))) >= NOISE).all()
    every = Geometric(Fraction(1), FEATURES)
    found = curator.histogram(root, np.ones((1, FEATURES), dtype=np.bool_), every)[0]
    begins = np.concatenate([[0], np.cumsum(N_CODES)[:-1]])
    exact = np.zeros((int(N_CODES.sum()), len(SCHEMA.classes)), dtype=np.int64)
    for feature, begin in enumerate(begins):
        np.add.at(exact, (begin + codes[:, feature].astype(int), labels.astype(int)), 1)
    assert np.array_equal(found, exact + NOISE)
    assert int(N_CODES.sum()) == ENCODER.n_codes.sum()


@pytest.mark.parametrize("splits", [None, SPLITS, DEEP], ids=["single", "one cut", "two cuts"])
@pytest.mark.parametrize("world", WORLDS)
def test_every_candidate_is_offered_whatever_records_hold(world, splits):
    curator, randomness = asked_of(world)
    candidates = FEATURES + len(splits or ())
    curator.open_round(RULE, None, splits).select(
        PermuteAndFlip(Fraction(1), 2 * RULE.scored_l1), np.zeros(candidates, dtype=np.int64)
    )
    (offered,) = randomness.offered
    assert offered.shape == (1, candidates)
    assert offered.all()


@pytest.mark.parametrize("bins", [1, 2, 3, 9, 40])
def test_the_widest_side_is_that_of_the_candidate_with_the_most_cells(bins):
    """As many draws as it has cells are planned: of numbers the cell of missing ones is one of them."""
    schema = hr.Schema({name: hr.Numeric(0, 1) for name in "abc"}, classes=["no", "yes"])
    encoder = Encoder(schema, bins)
    splits = splits_of(encoder, [0, 1])
    widest = int((splits.n_cells // splits.n_sides).max())
    assert widest_side(encoder.n_codes, np.array(schema.is_numeric)) == widest
    assert widest_side(N_CODES, np.array(SCHEMA.is_numeric)) == int((SPLITS.n_cells // SPLITS.n_sides).max())
