"""Models of terms say what their terms add up to, whatever the number of cuts and classes."""

import numpy as np
import pytest
from hand_built import by_hand, model_of, records

from hedgerow.additive.model import joined
from hedgerow.parameters import VOTE_STEPS


@pytest.mark.parametrize("classes", [1, 2, 3, 7])
def test_margins_are_the_start_and_the_terms_added_up(classes):
    model = model_of(classes=classes)
    codes = model.encoder.transform(records())
    expected = by_hand(model, codes)
    np.testing.assert_array_equal(model.packed.margins(codes), expected)
    decision = model.decision(records())
    assert decision.shape == ((500,) if classes == 2 else (500, classes))
    np.testing.assert_array_equal(decision.reshape(500, -1), expected / VOTE_STEPS)
    probabilities = model.probabilities(records())
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities.shape == (500, classes)


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_no_records_have_no_answers(classes):
    model, none = model_of(classes=classes), records(0)
    assert model.decision(none).shape == ((0,) if classes == 2 else (0, classes))
    assert model.probabilities(none).shape == (0, classes)


def test_terms_of_the_same_cuts_and_feature_are_joined():
    model, codes = model_of(), model_of().encoder.transform(records())
    twice = (*model.terms, *model.terms)
    assert len(joined(twice)) == len(joined(model.terms)) <= len(model.terms)
    total = sum(int(term.votes.sum()) for term in joined(twice))
    assert total == 2 * sum(int(term.votes.sum()) for term in model.terms)
    margins = np.tile(model.start, (len(codes), 1))
    for term in joined(model.terms):
        term(codes, margins)
    np.testing.assert_array_equal(margins, by_hand(model, codes))


def test_means_go_from_all_records_to_each_cell():
    term = model_of((3,)).terms[0]
    mass = np.random.default_rng(0).uniform(0, 1, term.votes.shape[:2])
    means = term.means(mass)
    assert [len(level) for level in means] == [1, 2, 4, 8]
    for level, found in enumerate(means):
        parts, weights = term.votes.reshape(1 << level, -1), mass.reshape(1 << level, -1)
        np.testing.assert_allclose(found[:, 0], np.average(parts, axis=1, weights=weights))


def test_importances_count_cuts_for_the_feature_that_is_cut():
    model = model_of((1,), by_cell=())
    (term,) = model.terms
    apart = np.zeros_like(term.votes)
    apart[1] = 100  # on whichever side of the cut, whatever the code
    only_cut = model_of((1,)).terms[0].__class__(term.cuts, term.feature, apart)
    found = model.__class__(model.encoder, model.loss, model.start, (only_cut,)).importances()
    assert found[term.cuts[0].by] == 1
    flat = model.__class__(model.encoder, model.loss, model.start, (term.__class__((), 0, 0 * term.votes[:1]),))
    assert not flat.importances().any()
    assert model_of().importances().sum() == pytest.approx(1)


def test_code_shares_are_the_released_masses_of_each_feature():
    model = model_of(depths=())
    shares = model.code_shares()
    assert [len(share) for share in shares] == model.encoder.n_codes.tolist()
    for feature, share in enumerate(shares):
        masses = [term.mass[term.feature == feature].sum(axis=0) for term in model.terms if feature in term.feature]
        expected = masses[0][: len(share)] / masses[0].sum() if masses else np.full(len(share), 1 / len(share))
        np.testing.assert_allclose(share, expected)
