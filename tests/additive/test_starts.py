"""A start in the codes of another schema says of each record what it said before, and what was learned adds to it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hand_built import FEATURES, model_of, records, schema_of

import hedgerow as hr
from hedgerow.additive.curves import curve_of, explained, pair_of
from hedgerow.additive.losses import Logistic
from hedgerow.additive.model import AdditiveModel
from hedgerow.additive.plan import AdditivePlan, Rules
from hedgerow.additive.regression import RegressionPlan, RegressionRules
from hedgerow.additive.round import Term
from hedgerow.additive.squared import Counts, Link, LogLink, LogOutcome, Poisson, Squared, counts_of_residuals
from hedgerow.additive.starts import MOST_VOTES, StartVotes, codes_in, start_on, together
from hedgerow.curator import Cut
from hedgerow.errors import ConfigurationError
from hedgerow.parameters import UNIT
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Encoder
from hedgerow.schema.types import OutcomeGrid

FINE = {
    **FEATURES,
    "a": hr.Numeric(0, 1, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
    "b": hr.Numeric(0, 1, [0.3, 0.35, 0.7]),
    "f": hr.Numeric(-1, 1, [-0.5, 0.0]),
}
CLASSES = [2, 3]


def fine_encoder(features=FINE, classes=2):
    return Encoder(hr.Schema(features, classes=[f"k{place}" for place in range(classes)]), 255)


def loss_of(classes):
    return Logistic(classes, normal=True)


def votes_of(start, fine):
    return StartVotes(start.packed, codes_in(start.encoder, fine))


def margins_of(model, X):
    return model.packed.margins(model.encoder.transform(X))


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("seed", range(5))
def test_a_start_says_of_each_record_what_it_said(classes, seed):
    model, fine, X = model_of(classes=classes, seed=seed), fine_encoder(classes=classes), records(seed=seed)
    start = start_on(model, fine, loss_of(classes))
    assert np.array_equal(margins_of(start, X), margins_of(model, X))
    said = np.zeros((500, loss_of(classes).columns), dtype=np.int32)
    votes_of(start, fine)(fine.transform(X), said)
    assert np.array_equal(said, margins_of(model, X))


def test_votes_add_to_margins_and_leave_codes_as_they_are():
    model, fine, X = model_of(), fine_encoder(), records()
    votes, codes = votes_of(start_on(model, fine, loss_of(2)), fine), fine.transform(X)
    before, said = codes.copy(), np.full((500, 1), 17, dtype=np.int32)
    votes(codes, said)
    assert np.array_equal(said - 17, margins_of(model, X))
    assert np.array_equal(codes, before)


@pytest.mark.parametrize("row", [0, 3, 77])
def test_what_a_start_says_of_a_record_follows_from_that_record_alone(row):
    fine, X = fine_encoder(), records()
    votes, codes = votes_of(start_on(model_of(), fine, loss_of(2)), fine), fine.transform(X)
    together_said, alone = np.zeros((500, 1), dtype=np.int32), np.zeros((1, 1), dtype=np.int32)
    votes(codes, together_said)
    votes(codes[row : row + 1], alone)
    assert np.array_equal(together_said[row : row + 1], alone)


@pytest.mark.parametrize("seed", range(4))
def test_features_stand_in_any_order(seed):
    names = np.random.default_rng(seed).permutation(list(FINE)).tolist()
    model, X = model_of(seed=seed), records()
    start = start_on(model, fine_encoder({name: FINE[name] for name in names}), loss_of(2))
    assert np.array_equal(margins_of(start, {name: X[name] for name in names}), margins_of(model, X))


def test_unknown_categories_are_undeclared_and_numbers_beyond_the_range_its_end():
    features = {
        **FINE,
        "c": hr.Categorical(["new", "z", "x"]),
        "a": hr.Numeric(0.5, 2, [0.6, 0.8, 1.5]),
        "e": hr.Integer(3, 20, [5.5, 12.5]),
    }
    X = records()
    X["c"] = X["c"].astype(object)  # fixed-width text would cut "new" to a letter
    X["c"][:100], X["a"][:50], X["a"][50:100] = "new", 1.9, 0.1
    as_before = {**X, "c": np.where(np.isin(X["c"], ["z", "x"]), X["c"], "other"), "a": np.maximum(X["a"], 0.5)}
    as_before["e"] = np.maximum(X["e"], 3)
    for seed in range(5):
        model = model_of(seed=seed)
        start = start_on(model, fine_encoder(features), loss_of(2))
        assert np.array_equal(margins_of(start, X), margins_of(model, as_before))


def test_a_cut_point_moves_to_the_nearest():
    features = {**FINE, "a": hr.Numeric(0, 1, [0.25, 0.5, 0.79])}
    start = start_on(model_of(), fine_encoder(features), loss_of(2))
    kept = start.encoder.edges[0].tolist()
    assert set(kept) <= {0.25, 0.5, 0.79}
    assert 0.79 in kept


def test_a_range_without_cut_points_of_the_start_is_one_value():
    features = {**FINE, "b": hr.Numeric(0.4, 0.6, [0.5])}
    model, X = model_of(), records()
    start = start_on(model, fine_encoder(features), loss_of(2))
    assert np.array_equal(margins_of(start, X), margins_of(model, {**X, "b": X["b"].clip(0.4, 0.6)}))


def test_what_a_start_says_must_fit_a_margin():
    model = model_of()
    large = replace(model, start=np.array([MOST_VOTES + 1]))
    with pytest.raises(ConfigurationError, match="too large for a margin"):
        start_on(large, fine_encoder(), loss_of(2))
    votes = model.terms[0].votes.copy()
    votes[0, 0] = -(1 << 40)
    with pytest.raises(ConfigurationError, match="too large for a margin"):
        start_on(replace(model, terms=(replace(model.terms[0], votes=votes),)), fine_encoder(), loss_of(2))


@pytest.mark.parametrize("margin", [-MOST_VOTES, -9000, 0, 9000, MOST_VOTES])
@pytest.mark.parametrize("rule", [loss_of(2), Logistic(2, normal=False), loss_of(3), Logistic(3, normal=False)])
def test_a_record_adds_no_more_than_the_norms_say_wherever_a_start_puts_it(rule, margin):
    labels = np.arange(rule.n_classes)
    margins = np.full((len(labels), rule.columns), margin, dtype=np.int32)
    margins[:, 0] = -margin
    added = rule(margins, labels)
    assert np.abs(added).sum(axis=1).max() <= rule.l1
    assert np.abs(added[:, : rule.scored]).sum(axis=1).max() <= rule.scored_l1
    assert np.square(added, dtype=np.int64).sum(axis=1).max() <= rule.l2_squared


@pytest.mark.parametrize("margin", [-MOST_VOTES, 0, 500, MOST_VOTES])
@pytest.mark.parametrize("signed", [False, True])
def test_a_record_is_in_one_bin_of_residuals_wherever_a_start_puts_it(signed, margin):
    rule = counts_of_residuals(1000, signed=True) if signed else Counts((0, 5, 1001), True)
    added = rule(np.full((4, 1), margin, dtype=np.int32), np.array([-1, 0, 500, 1000]))
    assert added.sum(axis=1).tolist() == [0, 1, 1, 1]
    assert added.min() == 0


def test_signed_residuals_are_told_apart_by_their_sign():
    rule = counts_of_residuals(1000, signed=True)
    added = rule(np.array([[600], [400]], dtype=np.int32), np.array([500, 500]))
    below, above = added.argmax(axis=1).tolist()
    assert rule.edges[below] <= -100 < rule.edges[below + 1]
    assert rule.edges[above] <= 100 < rule.edges[above + 1]


def own_part(seed=9, classes=2):
    """What a fit learned, in other cut points than those of a start."""
    features = {**FEATURES, "a": hr.Numeric(0, 1, [0.2, 0.3, 0.9]), "b": hr.Numeric(0, 1, [0.35])}
    encoder, generator = (
        Encoder(hr.Schema(features, classes=schema_of(classes).classes), 255),
        np.random.default_rng(seed),
    )
    columns, terms = Logistic(classes, normal=True).columns, []
    for feature, cut in ((0, None), (1, 0), (0, 2), (4, 1), (0, None)):
        cuts = () if cut is None else (Cut.at(cut, 0, int(encoder.n_codes[cut]), ordered=cut != 2),)
        shape = (1 << len(cuts), int(encoder.n_codes[feature]))
        sums = np.concatenate(
            [generator.normal(0, 10, (*shape, columns)), generator.uniform(5, 40, (*shape, columns))], axis=2
        )
        votes = generator.integers(-300, 300, (*shape, columns))
        terms.append(Term(cuts, feature, votes, np.rint(sums * UNIT).astype(np.int64), 2 * UNIT))
    return replace(
        model_of(classes=classes), encoder=encoder, start=generator.integers(-50, 50, columns), terms=tuple(terms)
    )


def whole_of(classes=2):
    own = own_part(classes=classes)
    return together(start_on(model_of(classes=classes), fine_encoder(classes=classes), loss_of(classes)), own)


@pytest.mark.parametrize("classes", CLASSES)
def test_the_whole_says_what_both_parts_say_together(classes):
    whole, X = whole_of(classes), records()
    start, own = whole.parts
    both = margins_of(start, X) + margins_of(own, X)
    assert np.array_equal(margins_of(whole, X), both)
    found = explained(whole, X)
    said = whole.shown(both / whole.vote_steps)
    assert np.array_equal(found.baseline + found.contributions.sum(axis=1), said)


def test_a_start_may_have_started_from_another():
    first, X = whole_of(), records()
    second = together(start_on(first, fine_encoder(), loss_of(2)), own_part(seed=4))
    assert np.array_equal(margins_of(second, X), margins_of(first, X) + margins_of(second.own, X))
    assert second.parts[0].parts is None


def test_curves_hold_both_parts_and_the_band_is_of_the_noise_of_the_fit():
    whole = whole_of()
    start, own = whole.parts
    for feature in range(len(FEATURES)):
        found, alone = curve_of(whole, feature), curve_of(own, feature)
        assert found.mass.sum() == pytest.approx(1)
        assert found.mass @ found.values == pytest.approx(0)
        if not len(whole.encoder.edges[feature]):
            assert np.array_equal(found.deviation, alone.deviation)
    edges = whole.encoder.edges[0]
    assert set(edges) == set(start.encoder.edges[0]) | set(own.encoder.edges[0])
    bins = np.append(np.searchsorted(own.encoder.edges[0], np.append(0.0, edges), side="right"), 4)
    assert np.array_equal(curve_of(whole, 0).deviation, curve_of(own, 0).deviation[bins])
    assert np.array_equal(pair_of(whole, 0, 2).deviation, pair_of(own, 0, 2).deviation[bins])


def test_a_curve_is_the_sum_of_the_curves_where_nothing_was_cut():
    own, fine = own_part(), fine_encoder()
    own = replace(own, terms=tuple(term for term in own.terms if not term.cuts))
    whole = together(start_on(model_of(depths=(0, 0, 0)), fine, loss_of(2)), own)
    start, own = whole.parts
    X = {name: np.repeat(column[:1], 300) for name, column in records().items()}
    X["a"] = np.linspace(0, 1, 300)
    codes = whole.encoder.transform(X)[:, 0]
    parts = sum(part.curve(0)[part.encoder.transform(X)[:, 0]] for part in (start, own))
    assert np.allclose(whole.curve(0)[codes], parts)


# Outcomes: the grids of a start and of a fit may have other ends.

LINKS = [(Squared, Link, 0), (Squared, LogOutcome, 0.5), (Poisson, LogLink, 0)]


def regression(kind, link, grid, seed=0):
    classes = model_of(seed=seed)
    schema = hr.Schema(FEATURES, outcome=hr.Numeric(grid.low, grid.high))
    rule = kind(1, 1.0, 1.0, 500, link(grid))
    scale = {Link: 100.0, LogOutcome: 100.0, LogLink: 1.0}[link]
    terms = tuple(
        replace(term, votes=np.rint(term.votes * scale).astype(np.int64), sums=None) for term in classes.terms
    )
    middle = rule.link.margin((grid.steps if link is not LogLink else grid.steps // 4) // 2)
    return AdditiveModel(Encoder(schema, 8), rule, np.array([middle]), terms)


@pytest.mark.parametrize(("kind", "link", "low"), LINKS, ids=lambda value: getattr(value, "__name__", None))
@pytest.mark.parametrize("other", [(0.0, 1.0), (0.0, 2.0), (0.25, 4.0)])
def test_a_start_says_the_same_outcomes_on_another_grid(kind, link, low, other):
    grid = OutcomeGrid(low, 10.0, 1 << 20)
    wider = OutcomeGrid(low + (other[0] if link is LogOutcome else 0), 10.0 * other[1], 1 << 20)
    model = regression(kind, link, grid)
    schema = hr.Schema(FINE, outcome=hr.Numeric(wider.low, wider.high))
    start = start_on(model, Encoder(schema, 255), kind(1, 1.0, 1.0, 500, link(wider)))
    X = records()
    before, after = model.predictions(X), start.predictions(X)
    inside = (before > wider.low * 1.001 + 0.01) & (before < 9.99)
    assert inside.sum() > 50
    assert np.allclose(before[inside], after[inside], rtol=0.02 if link is LogLink else 1e-3)


def test_what_adds_up_must_be_the_same():
    grid = OutcomeGrid(0.5, 10.0, 1 << 20)
    model = regression(Squared, LogOutcome, grid)
    with pytest.raises(ConfigurationError, match="init adds up the log outcome"):
        start_on(
            model, Encoder(hr.Schema(FINE, outcome=hr.Numeric(0.5, 10)), 255), Squared(1, 1.0, 1.0, 500, Link(grid))
        )


@pytest.mark.parametrize("regressor", [False, True])
def test_what_is_queried_before_rounds_costs_the_shares_that_the_proofs_state(regressor):
    """docs/proofs/hedgerow.md and regression.md state them, but a regressor's histogram of outcomes follows the noise."""
    if regressor:
        grid = OutcomeGrid(0.0, 10.0, 1 << 20)
        schema = hr.Schema(FEATURES, outcome=hr.Numeric(0, 10))
        rules, plan_of, start = RegressionRules(), RegressionPlan, regression(Squared, Link, grid)
        shares = {"of the start": 0.02, "fine bins": 0.025, "of absolute residuals": 5 * 0.005}
    else:
        rules, plan_of, start, schema = Rules(), AdditivePlan, model_of((2,), by_cell=()), schema_of()
        shares = {"the model starts with": 0.02, "fine bins": 0.02, "the start lacks": 0.02}
    plan = plan_of(rules, schema, Claim(Fraction(1)), rounds=None, bins=None, init=start)
    for words, share in shares.items():
        costs = [float(event.epsilon) for event in plan._initial_queries.event.parts if words in event.purpose]
        assert sum(costs) == pytest.approx(share, rel=1e-6), words


def test_a_plan_in_other_bins_refuses_no_start_that_the_plan_itself_takes():
    """Signs limit the cuts of this fit, not those of a start that keeps to them."""
    start = model_of((2,), by_cell=())
    free = next(place for place in range(len(FEATURES)) if place not in start.terms[0].features)
    signs = tuple(int(place == free) for place in range(len(FEATURES)))
    plan = AdditivePlan(Rules(), schema_of(), Claim(Fraction(1)), rounds=None, bins=None, signs=signs, init=start)
    assert len(plan.on(Encoder(schema_of(), 255))._start.terms[0].cuts) == 2
