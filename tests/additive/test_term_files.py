"""Terms come back from their arrays as they were; whatever else stands there is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hand_built import DEPTHS, model_of, records, term_of

from hedgerow.additive.model import AdditiveModel, restored
from hedgerow.additive.monotone import holds
from hedgerow.additive.round import Term
from hedgerow.curator import Cut
from hedgerow.errors import FileFormatError
from hedgerow.estimator.exported import format_of
from hedgerow.mechanisms import broad_basis


def back(model, arrays=None, *, most=99, signs=()):
    return restored(model.to_arrays() if arrays is None else arrays, model.encoder, model.loss, most, signs)


@pytest.mark.parametrize("by_cell", [(), (1, 2, 4)], ids=str)
@pytest.mark.parametrize("released", [True, False])
@pytest.mark.parametrize("classes", [1, 2, 3, 7])
def test_terms_come_back_as_they_were(classes, released, by_cell):
    model = model_of((0, 0) if by_cell else DEPTHS, classes, released=released, by_cell=by_cell)
    found, arrays = back(model), model.to_arrays()
    for name, array in found.to_arrays().items():
        assert array.dtype == arrays[name].dtype
        np.testing.assert_array_equal(array, arrays[name])
    for mine, theirs in zip(found.terms, model.terms, strict=True):
        assert (mine.key, mine.noise) == (theirs.key, theirs.noise)
        assert np.array_equal(mine.n_codes, theirs.n_codes)
        assert all(np.array_equal(one.side, other.side) for one, other in zip(mine.cuts, theirs.cuts, strict=True))
        np.testing.assert_array_equal(mine.votes, theirs.votes)
        assert (mine.sums is None) == (theirs.sums is None) == (not released)
    np.testing.assert_array_equal(found.probabilities(records()), model.probabilities(records()))
    assert format_of(arrays) == (5 if by_cell else 3)
    assert format_of({f"init_{name}": array for name, array in arrays.items()}) == (5 if by_cell else 4)


def test_terms_come_back_with_the_basis_of_their_sums():
    """Feature 0 has six codes, enough for a basis; the others have fewer, or are categories."""
    model, generator = model_of(()), np.random.default_rng(0)
    own = term_of(model.encoder, model.loss, (), 0, generator), term_of(model.encoder, model.loss, (2,), 0, generator)
    mixed = term_of(model.encoder, model.loss, (2,), np.array([0, 1]), generator)
    others = [term_of(model.encoder, model.loss, (), feature, generator) for feature in (1, 2)]
    terms = [*(replace(term, basis=broad_basis(6)) for term in own), *own, mixed]
    found = back(of(*terms)).terms
    assert [term.basis for term in found] == [broad_basis(6)] * 2 + [None] * 3
    for one, other in zip(found, terms, strict=True):
        np.testing.assert_array_equal(one.sums, other.sums)
        assert (one.n_codes is None) == (one.basis is not None or not one.cuts)
    for other in (mixed, *others):
        with pytest.raises(FileFormatError, match="damaged"):
            back(of(replace(other, basis=broad_basis(6))))


def with_digits():
    """A model whose last term has cuts of several turns, as the digits of groups are."""
    model, generator = model_of(()), np.random.default_rng(0)
    mixed = term_of(model.encoder, model.loss, (2, 0), np.arange(4), generator)
    sides = (np.arange(len(cut.side)) >> 1 & 1 for cut in mixed.cuts)
    cuts = tuple(replace(cut, side=side) for cut, side in zip(mixed.cuts, sides, strict=True))
    return of(term_of(model.encoder, model.loss, (2,), 0, generator), replace(mixed, cuts=cuts))


def test_cuts_of_several_turns_come_back_and_damaged_ones_do_not():
    model = with_digits()
    arrays, found = model.to_arrays(), back(model)
    for one, other in zip(found.terms, model.terms, strict=True):
        assert one.key == other.key
    np.testing.assert_array_equal(found.probabilities(records()), model.probabilities(records()))
    sides = arrays["sides"]
    for damaged in (sides[:-1], sides.astype(float), np.zeros_like(sides), np.ones_like(sides), changed(sides, 0, 2)):
        with pytest.raises(FileFormatError, match="damaged"):
            back(model, {**arrays, "sides": damaged})
    with pytest.raises(FileFormatError, match="damaged"):
        back(model, {**arrays, "cuts": changed(arrays["cuts"], (0, 1), 0)})


def test_a_model_of_another_cap_keeps_it():
    model = model_of()
    strict = replace(model, loss=replace(model.loss, tenths=5))
    found = restored(strict.to_arrays(), model.encoder, model.loss, 99, ())
    assert found.loss == strict.loss != model.loss
    for cap in ([1], [], [model.loss.cap], [float(strict.loss.cap)] * 2):
        with pytest.raises(FileFormatError, match="cap of gradients"):
            back(model, {**strict.to_arrays(), "cap": np.array(cap)})


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


DAMAGES = {
    "start": [lambda start: start[:0], lambda start: start.astype(float), lambda start: start + (1 << 50)],
    "terms": [
        *(lambda terms, at=at: changed(terms, (2, at), -1) for at in range(4)),
        *(lambda terms, at=at: changed(terms, (2, at), 1 << 60) for at in range(3)),
        lambda terms: changed(terms, (0, 1), 3),
        lambda terms: changed(terms, (0, 2), 0),
        lambda terms: changed(terms, (2, 1), 0),
        lambda terms: terms[:-1],
        lambda terms: terms[:, :3],
        lambda terms: terms.astype(np.int32),
        lambda terms: np.tile(terms, (20, 1)),
    ],
    "cuts": [
        lambda cuts: cuts[:-1],
        lambda cuts: cuts.astype(float),
        lambda cuts: changed(cuts, (0, 0), 6),
        lambda cuts: changed(cuts, (0, 0), -1),
        lambda cuts: changed(cuts, (0, 1), 99),
        lambda cuts: changed(cuts, (0, 1), -1),
    ],
    "features": [
        lambda features: features[:-1],
        lambda features: np.append(features, 0),
        lambda features: features.astype(np.int32),
        lambda features: changed(features, -1, 6),
        lambda features: changed(features, -1, -1),
        lambda features: changed(features, 0, (features[0] + 2) % 4),  # another than ``terms`` names
    ],
    "votes": [
        lambda votes: votes[:-1],
        lambda votes: votes[:, :0],
        lambda votes: votes.astype(float),
        lambda votes: changed(votes, 0, 1 << 41),
        lambda votes: changed(votes, 0, np.iinfo(np.int64).min),
    ],
    "sums": [lambda sums: sums[:-1], lambda sums: sums[:, :1], lambda sums: sums.astype(float)],
    "edges": [lambda edges: edges + 0.01],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_arrays_are_refused(name):
    arrays = model_of().to_arrays()
    model = model_of()
    for damage in DAMAGES[name]:
        with pytest.raises(FileFormatError, match="damaged"):
            back(model, {**arrays, name: damage(arrays[name])})
    if name != "terms":  # without which a file is of an earlier version
        with pytest.raises(FileFormatError, match="damaged"):
            back(model, {other: array for other, array in arrays.items() if other != name})


def test_more_terms_than_a_plan_makes_are_refused():
    model = model_of()
    assert len(back(model, most=len(model.terms)).terms) == len(model.terms)
    with pytest.raises(FileFormatError, match="terms are damaged"):
        back(model, most=len(model.terms) - 1)


RISING = np.array([[[0], [10], [10], [20], [25], [-50]]])  # of feature a; the last code is that of missing cells


def of(*terms):
    model = model_of(())
    return AdditiveModel(model.encoder, model.loss, model.start, terms)


@pytest.mark.parametrize("sign", [1, -1])
def test_what_curves_may_do_is_checked_after_each_term(sign):
    signs, rising = (sign, 0, 0, 0, sign, 0), sign * RISING
    up, down = Term((), 0, rising), Term((), 0, -rising)
    by_a = Cut.at(0, 2, 6, ordered=True)
    cut = Term((by_a,), 1, sign * np.array([[[0], [5], [-5], [9]], [[1], [5], [0], [9]]]))
    assert holds([up, up, down, cut], signs)
    assert holds([down], (0,) * 6)
    assert not holds([down], signs)
    assert not holds([up, down, down], signs)
    assert not holds([Term((by_a,), 1, cut.votes[::-1])], signs)
    both = np.repeat(rising, 2, axis=0)
    assert holds([Term((Cut.at(1, 0, 4, ordered=True),), 0, both)], signs)
    assert not holds([Term((Cut.at(1, 0, 4, ordered=True),), 0, np.concatenate([rising, -rising]))], signs)
    missing = Cut.at(0, 4, 6, ordered=True)  # missing cells alone are on the second side
    assert holds([Term((missing,), 1, cut.votes[::-1])], signs)
    deep = Term((Cut.at(2, 0, 5, ordered=False), by_a), 1, np.concatenate([cut.votes, cut.votes + 7]))
    assert holds([deep], signs)
    for step in (1, -1):
        moved = np.concatenate([cut.votes, cut.votes + step * sign])
        assert holds([Term(deep.cuts[::-1], 1, moved)], signs) == (step > 0)
    model = of(up, cut)
    assert back(model, signs=signs).signs == signs
    with pytest.raises(FileFormatError, match="monotonic_cst"):
        back(of(up, down, down), signs=signs)
