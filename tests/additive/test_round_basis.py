"""Rounds that measure a number's sums in another basis: what a record moves, what is charged, and the noise that is released."""

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from costs import sums

import hedgerow as hr
from hedgerow.additive import round as round_module
from hedgerow.additive.losses import Logistic
from hedgerow.additive.round import Fit, OneRound
from hedgerow.curator import Candidate, Cut, Queryable
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Basis, Budget, Randomness, RoundedNormal, broad_basis
from hedgerow.privacy.accounting import cost
from hedgerow.table import MemoryTable

BUDGET = Budget(Fraction(1), concentrated=True)


def fit_of(n_codes, numeric, columns=1):
    features = {f"f{place}": hr.Numeric(0, 1) for place in range(len(n_codes))}
    schema = SimpleNamespace(is_numeric=numeric, names=list(features), features=features)
    mass = np.concatenate([np.full(codes, 1 / codes) for codes in n_codes])
    encoder = SimpleNamespace(n_codes=np.array(n_codes), schema=schema)
    return Fit(encoder, mass, np.ones(columns), np.zeros(columns, dtype=np.int64))


class Seen(Randomness):
    """Keeps each noise that was drawn, and the exact answer to which it was added."""

    def __init__(self, key):
        super().__init__(key)
        self.answers = []

    def draw(self, mechanism, *given):
        if isinstance(mechanism, RoundedNormal):
            self.answers.append((mechanism, given[0].copy()))
        return super().draw(mechanism, *given)


def answers_of(records, cuts, classes):
    """What a round on a number with nine codes measures exactly, whatever is selected, and the noise for it."""
    codes, labels = (np.array(column) for column in zip(*records, strict=True))
    codes = np.stack([codes, codes % 2], axis=1).astype(np.uint8)
    table = MemoryTable(codes, labels.astype(np.int16), np.array([9, 2]), classes)
    one = OneRound(Logistic(classes, normal=True), BUDGET, cuts, 9)
    columns = one.loss.columns
    fit = fit_of((9, 2), (True, False), columns)
    source, by = Seen(0), [Cut.at(1, 0, 2, ordered=False)][:cuts]
    opened = Queryable(table, cost(one.event), source).open_round(one.loss, fit.pending_terms(), by)
    opened.sums(Candidate(0), *one.measurement(fit, 0))
    return source.answers[0]


def largest_loss(cuts, classes):
    """The largest squared L2 change of the answer by one record, as a share of what the noise is for."""
    start, worst = [(3, 0), (8, 1), (0, 1)], 0.0
    for kind in product(range(9), range(classes)):
        (noise, before), (_, after) = answers_of(start, cuts, classes), answers_of([*start, kind], cuts, classes)
        moved = [int(value) for value in (after - before).ravel()]
        worst = max(worst, Fraction(sum(value**2 for value in moved)) / noise.squared_sensitivity)
    return float(worst)


ALL_SHAPES = pytest.mark.parametrize(("cuts", "classes"), [(0, 2), (1, 2), (0, 3), (1, 3)])


@ALL_SHAPES
def test_no_record_moves_an_answer_in_another_basis_by_more_than_the_noise_is_for(cuts, classes):
    """At even margins, where a record of two classes has the largest norm below the cap."""
    assert 0.5 < largest_loss(cuts, classes) <= 1


def measure_by_norms_before_rounding_to_integers(patch):
    """The norms are those of the real matrix, whose columns have norm 1, and the noise is for them."""
    patch.setattr(Basis, "l2_squared", property(lambda self: 1))
    patch.setattr(RoundedNormal, "doubled", lambda self, times: self)


def weigh_the_basis_by_exact_counts(patch):
    """A code with many records is measured better, by their number, which no step has released."""
    right = Queryable.open_round

    def opened(self, *given, **named):
        found = right(self, *given, **named)
        counts = np.bincount(self._table._codes[:, 0], minlength=9)
        share = (counts * 4095 // max(counts.max(), 1)).astype(np.int64) + 1
        patch.setattr(round_module, "broad_basis", lambda codes: Basis(np.diag(share)))
        return found

    patch.setattr(Queryable, "open_round", opened)


@ALL_SHAPES
@pytest.mark.parametrize("plant", [measure_by_norms_before_rounding_to_integers, weigh_the_basis_by_exact_counts])
def test_a_planted_bug_of_the_basis_moves_answers_by_more(plant, cuts, classes, monkeypatch):
    plant(monkeypatch)
    assert largest_loss(cuts, classes) > 1


def test_noise_for_less_than_a_column_is_refused():
    fit, one = fit_of((9,), (True,)), OneRound(Logistic(2, normal=True), BUDGET, 0, 9)
    noise, basis = one.measurement(fit, 0)
    table = MemoryTable(np.zeros((3, 1), dtype=np.uint8), np.zeros(3, dtype=np.int16), np.array([9]), 2)
    opened = Queryable(table, cost(one.event), Randomness(0)).open_round(one.loss, fit.pending_terms())
    for less in (one.noise, noise.doubled(-1)):
        with pytest.raises(ConfigurationError, match="covers less"):
            opened.sums(Candidate(0), less, basis)
    assert opened.sums(Candidate(0), noise, basis).shape == (1, 9, 2)


@pytest.mark.parametrize("cuts", [0, 1, 2])
def test_a_round_in_another_basis_is_charged_what_it_states(cuts):
    generator, one = np.random.default_rng(0), OneRound(Logistic(2, normal=True), BUDGET, cuts, 9)
    codes = generator.integers(0, 9, (400, 3)).astype(np.uint8)
    table = MemoryTable(codes, (codes[:, 0] > 4).astype(np.int16), np.array([9, 9, 9]), 2)
    curator, fit = Queryable(table, cost(one.event), Randomness(cuts)), fit_of((9, 9, 9), (True, True, True))
    term, _ = one.run(curator, fit, [1])
    assert term.basis is broad_basis(9)
    spent, stated = sums(curator.total), sums(cost(one.event))
    assert spent.pop("draws") <= stated.pop("draws")
    assert spent == stated


def test_a_budget_too_small_for_the_noise_of_an_answer_is_refused_before_anything_is_read():
    loss, small = Logistic(2, normal=True), Budget(Fraction(1, 1 << 50), concentrated=True)
    assert (small * Fraction(3, 4)).noise_for(loss.l1, loss.l2_squared).sigma
    with pytest.raises(ConfigurationError, match="more than is drawn"):
        _ = OneRound(loss, small, 0, 9).event
    assert OneRound(loss, small * 2**20, 0, 9).event


def test_without_a_delta_and_for_categories_sums_are_measured_as_they_are():
    for normal, numeric in ((False, True), (True, False)):
        one = OneRound(Logistic(2, normal=normal), Budget(Fraction(1), concentrated=normal), 0, 9)
        assert one.measurement(fit_of((9,), (numeric,)), 0) == (one.noise, None)


def deviation_of_released(cuts):
    """The covariance of the released sums of a number with nine codes, less what is stated, in standard errors."""
    draws = 3000
    one = OneRound(Logistic(2, normal=True), BUDGET, cuts, 9)
    table = MemoryTable(np.zeros((3, 1), dtype=np.uint8), np.zeros(3, dtype=np.int16), np.array([9]), 2)
    fit = fit_of((9,), (True,))
    opened = Queryable(table, cost(one.event).times(draws), Randomness(1)).open_round(one.loss, fit.pending_terms())
    noise, basis = one.measurement(fit, 0)
    sums = np.stack([opened.sums(Candidate(0), noise, basis)[0, :, 0] for _ in range(draws)]) / one.noise.deviation
    stated = np.linalg.cholesky(basis.covariance)
    whitened = np.linalg.solve(stated, (sums - sums.mean(axis=0)).T)
    return np.abs(whitened @ whitened.T / draws - np.eye(9)).max() * np.sqrt(draws)


def test_released_sums_have_the_noise_that_is_stated():
    assert deviation_of_released(0) < 6


def add_the_noise_of_the_answer_to_sums(patch):
    patch.setattr(Basis, "applied", lambda self, sums: sums)
    patch.setattr(Basis, "sums", lambda self, answer: answer)


def add_noise_to_answers_that_is_for_sums(patch):
    patch.setattr(RoundedNormal, "doubled", lambda self, times: self)
    patch.setattr(RoundedNormal, "covers", lambda *_: True)


@pytest.mark.parametrize("plant", [add_the_noise_of_the_answer_to_sums, add_noise_to_answers_that_is_for_sums])
def test_noise_in_the_wrong_basis_has_another_covariance(plant, monkeypatch):
    plant(monkeypatch)
    assert deviation_of_released(0) > 20
