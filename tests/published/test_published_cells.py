"""The published forms: their budgets as stated, and pairs of neighboring data sets that they tell apart."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hedgerow.published.cells import GENERIC, information_gain, majority
from hedgerow.published.noise import RealExponential
from helpers import plan_at

import hedgerow as hr
from hedgerow.privacy.events import Pure

SCHEMA = hr.Schema({"n": hr.Numeric(0, 10), "m": hr.Numeric(0, 1), "c": hr.Categorical(["a", "b"])}, ["x", "y", "z"])
CLASSES = [hr.DiffGenClassifier, hr.DTDiffClassifier]


def fit(kind, frame, labels, **options):
    return kind(schema=SCHEMA, variant="published", random_state=0, **options).fit(frame, labels)


def frame(n, m=None, c=None):
    return pd.DataFrame({"n": n, "m": [0.5] * len(n) if m is None else m, "c": ["a"] * len(n) if c is None else c})


@pytest.mark.parametrize("kind", CLASSES)
def test_no_guarantee_holds_and_the_budgets_are_stated(kind):
    model = fit(kind, frame([1.0, 2.0, 9.0]), ["x", "y", "y"], specializations=16)
    assert not model.certificate_.holds
    assert len(model.certificate_.unprotected) == 3
    steps = [part for part in model.certificate_.event.parts if isinstance(part, Pure)]
    assert sum(part.epsilon for part in steps) == 1
    assert steps[-1].epsilon == steps[0].epsilon * (16 if kind is hr.DTDiffClassifier else 2 + 2 * 16)


def test_a_class_of_one_record_is_seen_in_the_output():
    many = frame([1.0] * 10)
    model = fit(hr.DiffGenClassifier, many, ["x"] * 5 + ["y"] * 5)
    assert np.all(model.model_.release.counts[:, 2] == 0)
    model = fit(hr.DiffGenClassifier, frame([1.0] * 11), ["x"] * 5 + ["y"] * 5 + ["z"])
    assert np.any(model.model_.release.counts[:, 2] != 0)


@pytest.mark.parametrize("kind", CLASSES)
def test_an_interval_without_records_is_never_cut(kind):
    records, labels = frame([5.0] * 40, c=["a", "b"] * 20), ["x", "y"] * 20
    for seed in range(10):
        model = (
            kind(schema=SCHEMA, variant="published", specializations=8, random_state=seed).fit(records, labels).model_
        )
        ends = [0.0, *model.encoder.edges[0].tolist(), 10.0]
        steps = [edges for edges in model.release.steps if edges[0] < model.hierarchy.features[1]]
        # Every cut divides the one interval that holds 5; the last run also holds the place of missing cells.
        assert all(ends[low] <= 5.0 <= ends[min(high, len(ends) - 1)] for low, _, high in steps)


def test_information_gain_in_units_of_its_bound():
    pure = np.array([[[10, 0], [0, 10]]])
    assert information_gain(pure) == pytest.approx([1.0])
    assert information_gain(np.array([[[5, 5], [5, 5]]])) == pytest.approx([0.0])
    assert information_gain(np.zeros((1, 2, 2), dtype=int)) == pytest.approx([0.0])
    three = np.array([[[4, 0, 0], [0, 4, 0], [0, 0, 4]]])
    assert information_gain(three) == pytest.approx([1.0])
    assert majority(three).tolist() == [12.0]


def test_information_gain_makes_the_choice_close_to_uniform():
    schema = hr.Schema({f"n{i}": hr.Numeric(0, 1) for i in range(6)}, ["x", "y"])
    plan = plan_at(hr.DiffGenClassifier(variant="published", specializations=16), schema, Fraction(1))
    selection = RealExponential(plan._stated.share, GENERIC)
    best_and_worst = np.array([[[1000, 0], [0, 1000]], [[500, 500], [500, 500]]])

    def odds(score):
        best, worst = selection.law(score(best_and_worst), np.ones(2, dtype=bool))
        return best / worst

    assert odds(information_gain) == pytest.approx(1.0066, abs=1e-4)  # as docs/proofs/cells.md says
    assert odds(majority) == pytest.approx(720, rel=1e-3)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("criterion", [None, "max", "information-gain"])
def test_odd_records_are_answered(kind, criterion):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for labels in (["x", "y", None, "q"], [None] * 4, ["x"] * 4):
            odd = frame([math.nan, -5.0, 1e9, 3.0], [math.nan] * 4, [None, "zzz", "a", "b"])
            model = fit(kind, odd, labels, criterion=criterion)
            assert model.predict_proba(odd).shape == (4, 3)


@pytest.mark.parametrize("kind", CLASSES)
def test_it_learns_where_noise_is_small(kind):
    generator = np.random.default_rng(0)
    n = generator.uniform(0, 10, 3000)
    records = frame(n, generator.uniform(0, 1, 3000), generator.choice(["a", "b"], 3000))
    labels = np.where(n > 3, "x", "y")
    model = fit(kind, records, labels, epsilon=20.0, criterion="max")
    assert model.score(records, labels) > 0.9
    assert model.feature_importances_[0] > 0
