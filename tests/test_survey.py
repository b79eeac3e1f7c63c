"""What is asked before the first round: bins by width and mass, and sizes by the noisy number of records."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from costs import sums
from helpers import fit_plan
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.additive.plan import BUDGET_UNITS, MAX_BINS, AdditivePlan
from hedgerow.curator import Queryable, Round
from hedgerow.curator.survey import FINE, Survey, by_width_and_mass, fine_cuts, fine_encoder, too_few
from hedgerow.mechanisms import Budget, Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Encoder
from hedgerow.systems.hedgerow import RULES
from hedgerow.table import Coded, MemoryTable

GENERATOR = np.random.default_rng(2)
SCHEMA = hr.Schema({"wide": hr.Numeric(0, 1000), "c": hr.Categorical(["a", "b"])}, classes=["no", "yes"])
X = {
    "wide": np.where(GENERATOR.random(4000) < 0.9, 0, GENERATOR.uniform(0, 1000, 4000)),
    "c": GENERATOR.choice(["a", "b"], 4000),
}
Y = np.where(X["wide"] > 30, "yes", "no")


def plan_of(epsilon=1, delta=0, schema=SCHEMA, *, rounds=None, bins=None, adjacency="add-remove"):
    return AdditivePlan(RULES, schema, Claim(Fraction(epsilon), Fraction(delta), adjacency), rounds=rounds, bins=bins)


def placed(counts, bins, by_mass, deviation=1.0, widths=None):
    clear = np.where(counts > 3.5 * deviation, counts, 0)
    return by_width_and_mass(clear, np.ones(len(counts)) if widths is None else widths, bins, by_mass)


def test_bins_follow_the_mass_where_it_is():
    counts = np.zeros(100, dtype=np.int64)
    counts[40:50] = 1000
    merged = placed(counts, 20, 0.5)
    assert len(np.unique(merged[40:50])) == 10  # a bin each
    assert len(np.unique(merged)) <= 20
    assert np.all(np.diff(merged) >= 0)
    assert merged[0] == 0


def test_a_spike_takes_one_bin_and_leaves_the_others_to_the_rest():
    counts = np.full(100, 100, dtype=np.int64)
    counts[30] = 100_000
    merged = placed(counts, 20, 0.6)
    assert np.count_nonzero(merged == merged[30]) <= 3
    assert merged[-1] + 1 >= 18


@pytest.mark.parametrize("share", [0.45, 0.92])
def test_few_values_beside_a_spike_get_a_bin_each(share):
    """As of gains: nothing in most cases, and else one of few values."""
    counts, others = np.zeros(255, dtype=np.int64), np.arange(15, 110, 5)
    counts[others] = 50
    counts[0] = round(counts.sum() * share / (1 - share))
    alone = [int(np.sum(placed(counts, 40, 0.6) == placed(counts, 40, 0.6)[place])) <= 5 for place in others]
    apart = len(np.unique(placed(counts, 40, 0.6)[others]))
    if share > 0.5:
        assert all(alone)
    assert apart == len(others)
    assert len(np.unique(placed(counts, 40, 0.6)[110:])) >= 10  # the rest of the range keeps its share


def test_a_spike_with_nothing_clear_beside_it_leaves_its_share_to_the_range():
    counts = np.zeros(100, dtype=np.int64)
    counts[0] = 5000
    widths = np.append(np.ones(50), np.full(50, 9.0))
    merged = placed(counts, 20, 0.6, widths=widths)
    assert np.count_nonzero(merged == 0) <= 2
    even = placed(np.zeros(100, dtype=np.int64), 20, 0.6, 25.0, widths)
    assert merged[-1] + 1 >= 18
    assert abs(len(np.unique(merged[50:])) - len(np.unique(even[50:]))) <= 1


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(0, 1000), min_size=2, max_size=60),
    st.integers(0, 10**6),
    st.integers(2, 40),
    st.sampled_from([0.0, 0.6, 1.0]),
)
def test_merged_bins_are_in_order_and_at_most_as_many_as_asked_for(counts, spike, bins, by_mass):
    counts = np.array(counts, dtype=np.int64)
    counts[len(counts) // 2] += spike
    merged = by_width_and_mass(counts, np.ones(len(counts)), bins, by_mass)
    assert merged[0] == 0
    assert set(np.diff(merged)) <= {0, 1}
    assert 2 <= merged[-1] + 1 <= bins


def test_bins_go_to_where_the_records_are_of_a_range_far_too_wide():
    encoder = fine_encoder(hr.Schema({"a": hr.Numeric(-1e6, 1e6), "b": hr.Numeric(0, 1e5)}, classes=["no", "yes"]))
    values = GENERATOR.uniform(20, 90, 20_000)
    for feature, edges in enumerate(encoder.edges):
        counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
        kind = list(encoder.schema.features.values())[feature]
        widths = np.diff(np.concatenate([[kind.low], edges, [kind.high]]))
        merged = placed(counts, 12, 0.6, 10.0, widths)
        assert len(np.unique(merged[np.searchsorted(edges, values, side="right")])) >= 7


@pytest.mark.parametrize(("low", "high"), [(0, 1), (17, 90), (-5, -1), (-1e308, 1e308), (1e16, 1e16 + 8), (-1, 1e6)])
def test_fine_bins_keep_to_the_range_and_to_a_byte(low, high):
    kind = hr.Numeric(low, high)
    edges = fine_cuts(kind)
    assert edges == sorted(set(edges))
    assert all(low < edge < high for edge in edges)
    assert len(edges) < FINE


def test_fine_bins_of_whole_numbers_and_dates_lie_between_their_values():
    assert fine_cuts(hr.Integer(0, 9)) == [n + 0.5 for n in range(9)]
    many = fine_cuts(hr.Integer(-5, 10**6))
    assert all(cut % 1 == 0.5 for cut in many)
    assert many[0] == -4.5
    assert len(many) > 150
    days = hr.Date("1990-01-01", "2024-12-31")
    assert fine_cuts(days) == days.bin_edges(FINE).tolist()
    schema = hr.Schema({"d": days, "i": hr.Integer(-5, 10**6)}, classes=[0, 1])
    assert fine_encoder(schema).edges[0].tolist() == fine_cuts(days)


@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
def test_more_records_or_budget_pay_for_more_bins(delta):
    bins = [
        plan_of(epsilon, delta)._bins_for(plan_of(epsilon, delta)._snr(n))
        for epsilon in ("1/100", 1, 10)
        for n in (50, 5_000, 500_000)
    ]
    assert bins[0] == 8
    assert bins[-1] == MAX_BINS
    assert bins[:3] == sorted(bins[:3])
    assert bins[2] <= bins[5] <= bins[8]
    assert plan_of(bins=17)._bins_for(1e9) == 17


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
@pytest.mark.parametrize("sizes", [{}, {"rounds": 4}, {"bins": 5}, {"rounds": 4, "bins": 5}])
def test_a_plan_keeps_to_its_claim_and_the_curator_charges_no_more(sizes, delta, adjacency):
    plan = plan_of(1, delta, adjacency=adjacency, **sizes)
    planned = cost(plan.event)
    assert planned.under(adjacency).delta(Fraction(1)) <= Fraction(delta)
    table = MemoryTable.by(Coded(plan.encoder), X, Y)
    curator = Queryable(table, planned, Randomness(0))
    model = plan.fit(curator)
    charged = curator.total
    for part, amount in sums(charged).items():
        assert amount <= sums(planned)[part], part
    if delta:  # nearly all of it is used
        assert charged.rho > Fraction(9, 10) * planned.rho
    else:
        assert charged.epsilon > Fraction(99, 100) * planned.epsilon
    if "rounds" in sizes:
        assert len(model.terms) == 4


@pytest.mark.parametrize("concentrated", [True, False])
def test_a_survey_costs_its_share_however_many_features_it_cuts(concentrated):
    schema = hr.Schema({name: hr.Numeric(0, 1) for name in "abc"} | {"d": hr.Categorical(["x"])}, classes=["no", "yes"])
    encoder = Encoder(schema, FINE)
    survey = Survey(Budget(Fraction(1, 2), concentrated), encoder, Fraction(3, 10))
    spent = cost(survey.event)
    share = Fraction(3, 10)
    assert share / 2 * Fraction(999, 1000) < (spent.rho if concentrated else spent.epsilon) <= share / 2
    assert survey.left == 1 - share
    # what the samplers may err is charged for each bin that is drawn
    assert spent.draws == (3 * int(encoder.n_codes.max()) if concentrated else 0)


def test_without_numeric_features_the_classes_alone_are_asked_first():
    schema = hr.Schema({"c": hr.Categorical(["a", "b"])}, classes=["no", "yes"])
    _, rounds = plan_of(schema=schema).event.parts
    assert len(rounds.parts[0].parts) == BUDGET_UNITS
    assert len(plan_of().event.parts) == 3
    model = fit_plan(plan_of(schema=schema), {"c": X["c"]}, Y, Randomness(0))
    assert np.isfinite(model.probabilities({"c": X["c"]})).all()


def test_bins_follow_the_records_of_all_classes():
    """A histogram counts every record that has a class, whichever it is."""
    generator = np.random.default_rng(0)
    values = np.concatenate([generator.uniform(0, 10, 4000), generator.uniform(900, 910, 4000)])
    schema = hr.Schema({"wide": hr.Numeric(0, 1000)}, classes=["no", "yes"])
    y = np.where(values < 500, "no", "yes")
    for labels in (y, y[::-1]):
        model = fit_plan(plan_of(10, schema=schema), {"wide": values}, labels, Randomness(0))
        edges = model.encoder.edges[0]
        assert (edges < 12).sum() >= 3
        assert ((edges > 890) & (edges < 920)).sum() >= 2  # between all that fine bins tell apart there


def test_records_are_found_in_their_merged_bins():
    plan = plan_of(100)
    model = fit_plan(plan, X, Y, Randomness(0))
    fine, merged = plan.encoder.transform(X), model.encoder.transform(X)
    for feature in range(2):
        pairs = np.unique(np.stack([fine[:, feature], merged[:, feature]], axis=1), axis=0)
        assert len(pairs) == len(np.unique(pairs[:, 0]))  # every fine code has one merged code
    edges = model.encoder.edges[0]
    assert np.isin(edges, plan.encoder.edges[0]).all()
    assert (edges < 100).sum() >= 2  # the spike at zero has a bin of its own
    accuracy = (model.probabilities(X).argmax(axis=1) == (Y == "yes")).mean()
    assert accuracy > 0.97


def test_public_cut_points_are_kept_or_merged_never_moved():
    schema = hr.Schema({"wide": hr.Numeric(0, 1000, [1, 30, 500])}, classes=["no", "yes"])
    model = fit_plan(plan_of(10, schema=schema), {"wide": X["wide"]}, Y, Randomness(0))
    assert np.isin(model.encoder.edges[0], [1, 30, 500]).all()


def test_one_class_is_learned_without_a_word():
    schema = hr.Schema({"wide": hr.Numeric(0, 1000)}, classes=["yes"])
    model = hr.HedgerowClassifier(schema=schema).fit({"wide": X["wide"]}, ["yes"] * 4000)
    assert (model.predict_proba({"wide": X["wide"][:5]}) == 1).all()


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
@pytest.mark.parametrize("epsilon", ["1/10", 1, 20])
def test_without_a_label_all_fits_but_one_in_1000_are_in_doubt(epsilon, delta, adjacency):
    """By the law of the sum of so many noisy counts of classes where no record has one, the exact law where it is one count."""
    schema = SCHEMA.replace(classes=["yes"])
    plan = plan_of(epsilon, delta, adjacency=adjacency, schema=schema)
    noise = plan._initial_queries._noise
    released = np.arange(-40 * int(noise.deviation + 1), 40 * int(noise.deviation + 1))
    sure = np.array([not too_few(int(number), noise, 1) for number in released])
    law = noise.law(0, released)
    assert law.sum() == pytest.approx(1)
    assert law[sure].sum() <= 1 / 1000
    assert law[sure].sum() > 1 / 1000 - law[released == released[sure].min() - 1].item()  # one less would be too few


@pytest.mark.parametrize("counts", [2, 3, 10])
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
def test_the_sum_of_several_noisy_counts_is_in_doubt_as_often(delta, counts):
    """The quantile of one count times the root of their number is theirs for normal noise, and above it for geometric."""
    noise = plan_of(1, delta)._initial_queries._noise
    each = np.arange(-30 * int(noise.deviation + 1), 30 * int(noise.deviation + 1) + 1)
    one = noise.law(0, each)
    law = one
    for _ in range(counts - 1):
        law = np.convolve(law, one)
    released = np.arange(counts * each[0], counts * each[-1] + 1)
    sure = np.array([not too_few(int(number), noise, counts) for number in released])
    assert law.sum() == pytest.approx(1)
    assert 1 / 50_000 < law[sure].sum() <= 1 / 1000 * (1 + 0.1 * (delta > 0))  # its integers are a little apart


UNLABELED = ["maybe"] * 4000


def warned(X, Y, **settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hr.HedgerowClassifier(schema=SCHEMA, random_state=0, **settings).fit(X, Y)
    assert {warning.filename for warning in caught} <= {__file__}
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_doubt_depends_on_the_released_number_alone(delta, monkeypatch):
    plan = plan_of(1, Fraction(delta))
    least = math.ceil(plan._initial_queries._noise.quantile(1 / 1000) * math.sqrt(2))
    other = {"wide": X["wide"][:7], "c": ["b"] * 7}
    for released in (-(10**6), -3, 0, least - 1, least, 10**6):
        counts = np.array([released - released // 2, released // 2])
        monkeypatch.setattr(Round, "whole_sums", lambda self, noise, counts=counts: counts)
        # Warnings about columns follow from other sums, which rounds release.
        found = [
            [words for words in warned(*records, delta=delta) if "no released sum" not in words]
            for records in ((X, Y), (X, UNLABELED), (other, ["yes"] * 7))
        ]
        assert found[0] == found[1] == found[2]
        if released >= least:
            # All records may stand out of the noise where no class does, by the same released numbers.
            assert [words for words in found[0] if "no released count" not in words] == []
        else:
            [words] = found[0]
            assert f"is {released}, which may be noise: noise alone is {least} or more once in 1000 fits" in words


def test_a_fit_on_labels_that_no_class_spells_says_so():
    """The seed is fixed: it draws a number that noise alone does not exceed."""
    assert len(warned(X, UNLABELED)) == 1
    assert warned(X, Y) == []
    assert len(warned(X, UNLABELED, n_estimators=2, max_bins=4)) == 1


def test_a_warning_that_is_an_error_leaves_a_fitted_model():
    model = hr.HedgerowClassifier(schema=SCHEMA, random_state=0)
    with pytest.raises(UserWarning, match="the noisy number of records"):
        model.fit(X, UNLABELED)
    assert model.predict(X).shape == (4000,)
