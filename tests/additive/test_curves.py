"""What is read off a model adds up to what it says: curves, pairs, and explanations to the last bit."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hand_built import FEATURES, NOISE, model_of, records, schema_of

import hedgerow as hr
from hedgerow.additive import curves
from hedgerow.additive.curves import SURE, condition, curve_of, explained, noise_by_feature, pair_of, rows_of
from hedgerow.additive.curves import averages as averages_of
from hedgerow.additive.losses import Logistic
from hedgerow.additive.round import Term
from hedgerow.additive.squared import RESIDUALS
from hedgerow.curator import Cut
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.schema import Encoder


@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize("released", [True, False])
def test_curves_and_pairs_add_up_to_the_margin_but_for_a_constant(classes, released):
    model = model_of((0, 1, 1, 0, 1, 0, 1), classes, released=released)
    codes = model.encoder.transform(records())
    total = sum(curve_of(model, feature).values[codes[:, feature]] for feature in range(len(FEATURES)))
    for first, second in combinations(range(len(FEATURES)), 2):
        together = pair_of(model, first, second)
        assert (together.deviation is not None) == released
        total = total + together.values[codes[:, first], codes[:, second]]
    rest = model.packed.margins(codes) / VOTE_STEPS - total
    assert np.abs(rest - rest[0]).max() < 1e-9
    assert np.ptp(total) > 1


class OfResiduals(Logistic):
    """A loss that differs by its prior alone."""

    prior = RESIDUALS


def test_the_band_of_a_pair_follows_from_the_prior_of_the_loss():
    """A step of a regressor is small beforehand, so less of the noise is in its curves, with cuts and without."""
    model = model_of((1,))
    small = replace(model, loss=OfResiduals(2, normal=True))
    first, second = model.terms[0].features
    assert pair_of(small, first, second).deviation.max() < 0.9 * pair_of(model, first, second).deviation.max()
    assert curve_of(small, second).deviation.max() < 0.9 * curve_of(model, second).deviation.max()


def averages(term, known):
    """Averages of a term over all but some of its features by its masses, cell after cell."""
    shape = (*(2 for _ in term.cuts), term.votes.shape[1])
    held = {}
    for cell in product(*map(range, shape)):
        rest = tuple(at for axis, at in enumerate(cell) if term.features[axis] not in known)
        held[rest] = held.get(rest, 0) + term.mass.reshape(shape)[cell]
    found = {}
    for cell in product(*map(range, shape)):
        axes = [term.features.index(feature) for feature in known]
        rest = tuple(at for axis, at in enumerate(cell) if axis not in axes)
        part = tuple(cell[axis] for axis in axes)
        value = term.votes.reshape(*shape, -1)[cell] * held[rest] / sum(held.values())
        found[part] = found.get(part, 0) + value
    return np.array([found[part] for part in sorted(found)])


@pytest.mark.parametrize("depth", range(5))
def test_a_term_is_averaged_over_its_other_features_by_the_released_masses(depth):
    term = model_of((depth,), 3, seed=depth).terms[0]
    for known in [(one,) for one in term.features] + list(combinations(term.features, 2)):
        rows = rows_of(term, known)
        np.testing.assert_allclose(rows.sum(axis=1), 1)
        np.testing.assert_allclose(rows @ term.votes.reshape(-1, 3), averages(term, known))
        np.testing.assert_allclose(averages_of(term, known, term.votes).reshape(-1, 3), averages(term, known))


def test_a_curve_of_deep_terms_is_their_partial_dependence_less_its_mean():
    model = model_of((5,))
    (term,) = model.terms
    for feature in term.features:
        curve, average = curve_of(model, feature), averages(term, (feature,))[:, 0] / VOTE_STEPS
        cut = next((cut for cut in term.cuts if cut.by == feature), None)
        expected = average if cut is None else average[cut.side]
        np.testing.assert_allclose(np.ptp(curve.values[:, 0] - expected), 0, atol=1e-12)
        assert curve.mass @ curve.values == pytest.approx(0, abs=1e-12)
        assert curve.mass.sum() == pytest.approx(1)


def test_a_feature_that_no_term_reads_adds_nothing_for_sure():
    model = model_of((0,))
    (term,) = model.terms
    for feature in range(len(FEATURES)):
        curve = curve_of(model, feature)
        assert np.any(curve.values) == (feature in term.feature)
        assert np.all(curve.deviation > 0) if feature in term.feature else not np.any(curve.deviation)


@pytest.mark.parametrize("depths", [(0, 0, 0), (0, 1, 0, 1), (5, 3, 0, 4)])
def test_where_the_noise_is_not_known_there_are_no_bands(depths):
    for model in (model_of(depths, released=False), model_of(depths)):
        terms = tuple(replace(term, noise=0) for term in model.terms)
        model = replace(model, terms=terms)
        assert curve_of(model, 0).deviation is None
        assert pair_of(model, 0, 1).deviation is None
        assert noise_by_feature(model) is None
        assert explained(model, records(3)).deviation is None
        assert curve_of(model, 0).seen.all()


def test_a_curve_of_very_many_codes_has_no_band(monkeypatch):
    model = model_of((0, 2, 0))
    monkeypatch.setattr(curves, "MOST_CELLS", 5)
    for feature, codes in enumerate(model.encoder.n_codes.tolist()):
        assert (curve_of(model, feature).deviation is None) == (codes > 5)
    assert np.isnan(noise_by_feature(model)).sum() == (model.encoder.n_codes > 5).sum()
    assert np.isnan(explained(model, records(3)).deviation).any()


@pytest.mark.parametrize("classes", [1, 2, 3, 7])
def test_contributions_add_up_to_the_last_bit(classes):
    model = model_of(classes=classes)
    found = explained(model, records())
    assert np.array_equal(found.total, model.decision(records()))
    assert found.contributions.shape == ((500, 6) if classes == 2 else (500, 6, classes))
    assert found.deviation.shape == found.contributions.shape
    assert explained(model, records(0)).total.shape == ((0,) if classes == 2 else (0, classes))


def test_contributions_follow_the_cuts_by_hand():
    model = model_of((2,))
    (term,) = model.terms
    codes = model.encoder.transform(records(30))
    found = explained(model, records(30))
    votes, mass = term.votes[..., 0].reshape(2, 2, -1), term.mass.reshape(2, 2, -1)
    for record, added in zip(codes, found.contributions, strict=True):
        one, two = (cut.side[record[cut.by]] for cut in term.cuts)
        steps = [
            np.average(votes, weights=mass),
            np.average(votes[one], weights=mass[one]),
            np.average(votes[one, two], weights=mass[one, two]),
            votes[one, two, record[term.feature[0]]],
        ]
        expected = np.zeros(len(FEATURES))
        expected[list(term.features)] = np.diff(np.rint(steps)) / VOTE_STEPS
        np.testing.assert_array_equal(added, expected)
        assert found.baseline == (model.start[0] + np.rint(steps[0])) / VOTE_STEPS


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rounds", [1, 2, 9])
def test_a_code_is_seen_above_the_noise_of_all_its_rounds(rounds, classes):
    model = model_of((), classes)
    columns, multiple = model.loss.columns, model.loss.curvature
    noise = NOISE / UNIT / multiple * np.sqrt(rounds * columns)  # of the sum of so many curvatures
    totals = np.array([SURE * noise * share for share in (0.0, 0.9, 0.999, 1.001, 1.1, 2.0)])
    sums = np.zeros((1, 6, 2 * columns))
    sums[..., columns:] = totals[None, :, None] * multiple * UNIT / (rounds * columns)
    term = Term((), np.array(0), np.zeros((1, 6, columns), dtype=np.int64), np.rint(sums).astype(np.int64), NOISE)
    assert curve_of(replace(model, terms=(term,) * rounds), 0).seen.tolist() == [False] * 3 + [True] * 3


def test_conditions_name_the_first_side():
    encoder = Encoder(schema_of(), 8)
    said = [condition(encoder, Cut.at(0, code, 6, ordered=True)) for code in (1, 4)]
    assert said == ["a < 0.4", "a is not missing"]
    assert condition(encoder, Cut.at(2, 1, 5, ordered=False)) == "c = y"


def test_groups_of_features_hold_the_released_curves(tmp_path):
    X, generator = records(4000), np.random.default_rng(0)
    y = np.where((X["b"] > 0.5) ^ (X["d"] == "u") ^ (generator.random(4000) < 0.02), "k1", "k0")
    fit = hr.HedgerowClassifier(20.0, delta=1e-6, schema=schema_of(), random_state=0).fit(X, y)
    found = fit.interactions_
    assert {"b", "d"} <= set(found[0].features)
    assert [group.share for group in found] == sorted((group.share for group in found), reverse=True)
    assert 0.5 < sum(group.share for group in found) <= 1 + 1e-12
    for group in found:
        for part in group.parts:
            assert {part.feature, *(words.split()[0] for words in part.conditions)} == set(group.features)
            assert part.curves.shape == (*(2 for _ in part.conditions), len(part.labels))
    whole = sum(np.abs(part.curves).sum() for group in found for part in group.parts)
    deep = [term for term in curves.joined(fit.model_.terms) if term.cuts]
    assert whole == pytest.approx(sum(np.abs(term.votes).sum() for term in deep) / VOTE_STEPS)
    fit.save(tmp_path / "model")
    again = hr.load(tmp_path / "model")
    assert [group.features for group in again.interactions_] == [group.features for group in found]
    assert np.array_equal(curve_of(again.model_, 0).deviation, curve_of(fit.model_, 0).deviation)
