"""What is read off a model adds up to what it says: curves, pairs, and explanations to the last bit."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hand_built import FEATURES, NOISE, model_of, records, schema_of, term_of
from helpers import select_by_cell

import hedgerow as hr
from hedgerow.additive import curves
from hedgerow.additive.curves import SURE, condition, curve_of, explained, noise_by_feature, pair_of, parts_of, rows_of
from hedgerow.additive.curves import averages as averages_of
from hedgerow.additive.losses import Logistic
from hedgerow.additive.round import Term
from hedgerow.additive.squared import RESIDUALS
from hedgerow.curator import Cut
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.schema import Encoder
from hedgerow.systems import hedgerow


@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize("released", [True, False])
def test_curves_and_pairs_add_up_to_the_margin_but_for_a_constant(classes, released):
    model = model_of((0, 1, 1, 0, 1, 0, 1), classes, released=released, by_cell=())
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
    model = model_of((1,), by_cell=())
    small = replace(model, loss=OfResiduals(2, normal=True))
    first, second = model.terms[0].features
    assert pair_of(small, first, second).deviation.max() < 0.9 * pair_of(model, first, second).deviation.max()
    assert curve_of(small, second).deviation.max() < 0.9 * curve_of(model, second).deviation.max()


def cell_at(term, cell, codes):
    """The cell that a mass of a cell is in where some features have these codes."""
    sides = [int(digit) for digit in f"{cell:b}".zfill(len(term.cuts))[-len(term.cuts) :]] if term.cuts else []
    for place, cut in enumerate(term.cuts):
        sides[place] = int(cut.side[codes[cut.by]]) if cut.by in codes else sides[place]
    return int("0" + "".join(map(str, sides)), 2)


def averages(term, known, n_codes):
    """Averages of a term over all features but some at each of their codes, mass after mass of a cell and code."""
    means = [np.average(votes, axis=0, weights=mass) for votes, mass in zip(term.votes, term.mass, strict=True)]
    found = np.zeros((*(n_codes[feature] for feature in known), term.columns))
    for part in np.ndindex(found.shape[:-1]):
        codes = dict(zip(known, part, strict=True))
        for (cell, code), mass in np.ndenumerate(term.mass):
            there = cell_at(term, cell, codes)
            feature, its_own = int(term.feature[there]), int(term.feature[cell])
            if feature in codes:
                found[part] += mass * term.votes[there, codes[feature]]
            else:
                found[part] += mass * (term.votes[there, code] if feature == its_own else means[there])
    return found / term.mass.sum()


MIXED = ((), (0,), (2,), (0, 0), (4, 0, 4), (4, 4, 2, 4))  # cuts of terms, some of a number that is cut again


@pytest.mark.parametrize("cuts", MIXED, ids=str)
@pytest.mark.parametrize("by_cell", [False, True])
def test_a_term_is_averaged_over_its_other_features_by_the_released_masses(cuts, by_cell):
    encoder, generator = Encoder(schema_of(3), 8), np.random.default_rng(len(cuts))
    features = generator.integers(0, 6, 1 << len(cuts)) if by_cell else 1
    term = term_of(encoder, Logistic(3, normal=True), cuts, features, generator)
    read = sorted(set(term.features))
    for known in [(one,) for one in read] + list(combinations(read, 2)):
        rows, expected = rows_of(term, known), averages(term, known, encoder.n_codes)
        at = np.ix_(*(parts_of(term, feature)[1] for feature in known))
        np.testing.assert_allclose(rows.sum(axis=1), 1)
        found = averages_of(term, known, term.votes)
        np.testing.assert_allclose(found[at], expected, atol=1e-9)
        np.testing.assert_allclose(rows @ term.votes.reshape(-1, 3), found.reshape(-1, 3), atol=1e-9)


@pytest.mark.parametrize("cuts", MIXED, ids=str)
def test_a_pair_of_features_is_what_they_add_beyond_the_means_over_either(cuts):
    """Of cells of different features; means weigh a code by the mass where it is in bins, or of the cells on its sides."""
    encoder, generator = Encoder(schema_of(), 8), np.random.default_rng(len(cuts))
    term = term_of(encoder, Logistic(2, normal=True), cuts, generator.integers(0, 6, 1 << len(cuts)), generator)
    model = replace(model_of(()), terms=(term,))
    for known in combinations(sorted(set(term.features)), 2):
        joint, weights = averages(term, known, encoder.n_codes)[..., 0] / VOTE_STEPS, []
        for feature in known:
            if feature in term.feature:
                own = term.mass[term.feature == feature].sum(axis=0)
                weights.append(own[: encoder.n_codes[feature]])
                continue
            own, (_, part) = np.zeros(encoder.n_codes[feature]), parts_of(term, feature)
            for code in range(len(own)):  # codes of a part share its mass
                for cell, mass in enumerate(term.mass.sum(axis=1)):
                    own[code] += mass * (cell_at(term, cell, {feature: code}) == cell) / np.sum(part == part[code])
            weights.append(own)
        mean = [np.average(joint, axis=axis, weights=own, keepdims=True) for axis, own in enumerate(weights)]
        both = np.average(mean[1], axis=0, weights=weights[0])
        found = pair_of(model, *known)
        assert found.deviation is None
        np.testing.assert_allclose(found.values[..., 0], joint - mean[0] - mean[1] + both, atol=1e-9)


@pytest.mark.parametrize("given", [{"depths": (5,), "by_cell": ()}, {"depths": (), "by_cell": (3,)}], ids=str)
def test_a_curve_of_deep_terms_is_their_partial_dependence_less_its_mean(given):
    model = model_of(**given)
    (term,) = model.terms
    for feature in term.features:
        expected = averages(term, (feature,), model.encoder.n_codes)[:, 0] / VOTE_STEPS
        curve = curve_of(model, feature)
        np.testing.assert_allclose(np.ptp(curve.values[:, 0] - expected), 0, atol=1e-12)
        assert curve.mass @ curve.values == pytest.approx(0, abs=1e-12)
        assert curve.mass.sum() == pytest.approx(1)


def test_a_feature_that_no_term_reads_adds_nothing_for_sure():
    model = model_of((0,), by_cell=())
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
    model = model_of((0, 2, 0), by_cell=())
    monkeypatch.setattr(curves, "MOST_CELLS", 5)
    for feature, codes in enumerate(model.encoder.n_codes.tolist()):
        assert (curve_of(model, feature).deviation is None) == (codes > 5)
    assert np.isnan(noise_by_feature(model)).sum() == (model.encoder.n_codes > 5).sum()
    assert np.isnan(explained(model, records(3)).deviation).any()


@pytest.mark.parametrize("by_cell", [(), (1, 2, 3, 4)], ids=str)
@pytest.mark.parametrize("classes", [1, 2, 3, 7])
def test_contributions_add_up_to_the_last_bit(classes, by_cell):
    model = model_of(classes=classes, by_cell=by_cell)
    found = explained(model, records())
    assert np.array_equal(found.total, model.decision(records()))
    assert found.contributions.shape == ((500, 6) if classes == 2 else (500, 6, classes))
    assert by_cell or found.deviation.shape == found.contributions.shape
    assert explained(model, records(0)).total.shape == ((0,) if classes == 2 else (0, classes))


@pytest.mark.parametrize(
    "given", [{"depths": (2,), "by_cell": ()}, {"depths": (), "by_cell": (2,), "seed": 3}], ids=str
)
def test_contributions_follow_the_cuts_by_hand(given):
    model = model_of(**given)
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
            votes[one, two, record[term.feature[2 * one + two]]],
        ]
        expected, read = np.zeros(len(FEATURES)), [cut.by for cut in term.cuts] + [term.feature[2 * one + two]]
        np.add.at(expected, read, np.diff(np.rint(steps)) / VOTE_STEPS)
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
    turns = [[1, 0, 1, 0, 0, 1], [1, 1, 1, 1, 0, 1], [0, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 0]]
    said = [condition(encoder, Cut(0, np.array(side))) for side in turns]
    assert said == ["0.2 <= a < 0.4 or a >= 0.6", "a >= 0.8", "a < 0.2 or a is missing", "a is missing"]
    assert condition(encoder, Cut(2, np.array([1, 0, 0, 1, 1]))) == "c = y or c = z"


@pytest.mark.parametrize("by_cell", [False, True])
def test_groups_of_features_hold_the_released_curves(by_cell, tmp_path, monkeypatch):
    if by_cell:
        select_by_cell(monkeypatch, after=6)
    else:
        never = dict.fromkeys(("min_snr_for_cells", "pure_min_snr_for_cells"), np.inf)
        monkeypatch.setattr(hedgerow, "RULES", replace(hedgerow.RULES, **never))
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
    whole = sum(np.nansum(np.abs(part.curves)) for group in found for part in group.parts)
    deep = [term for term in curves.joined(fit.model_.terms) if term.cuts]
    assert any(len(set(term.feature.tolist())) > 1 for term in deep) == by_cell
    assert whole == pytest.approx(sum(np.abs(term.votes).sum() for term in deep) / VOTE_STEPS)
    fit.save(tmp_path / "model")
    again = hr.load(tmp_path / "model")
    assert [group.features for group in again.interactions_] == [group.features for group in found]
    assert np.array_equal(curve_of(again.model_, 0).deviation, curve_of(fit.model_, 0).deviation)
    assert (curve_of(fit.model_, 0).deviation is None) == by_cell


def test_shares_of_groups_are_of_all_that_the_model_adds():
    """Beside standard deviations of the votes themselves: rounds without cuts count in the whole, too."""
    X, generator = records(4000), np.random.default_rng(0)
    y = np.where((X["b"] > 0.5) ^ (X["d"] == "u") ^ (generator.random(4000) < 0.02), "k1", "k0")
    y[X["a"] > 0.8] = "k0"
    learner = hr.HedgerowClassifier(
        20.0, delta=1e-6, schema=schema_of(), interaction_cst="pairwise", n_estimators=30, random_state=0
    )
    fit, alone, with_cuts = learner.fit(X, y), 0.0, 0.0
    for term in curves.joined(fit.model_.terms):
        votes = term.votes[..., 0].astype(np.float64)
        if term.cuts:
            with_cuts += np.std(votes.mean(axis=1)) + np.sqrt(votes.var(axis=1).mean())
        else:
            alone += np.std(votes)
    assert min(alone, with_cuts) > 0.05 * (alone + with_cuts)
    assert sum(group.share for group in fit.interactions_) == pytest.approx(with_cuts / (alone + with_cuts))
