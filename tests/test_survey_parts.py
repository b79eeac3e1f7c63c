"""The parts of a survey, number by number: what a record adds, what is asked, where bins lie, which files are refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers import make_table

import hedgerow as hr
from hedgerow.curator import Queryable
from hedgerow.curator.survey import (
    FINE,
    Ones,
    Survey,
    by_width_and_mass,
    fine_cuts,
    fine_encoder,
    merged_encoder,
    merged_to_arrays,
    one_at_most,
)
from hedgerow.errors import FileFormatError
from hedgerow.mechanisms import Budget, Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.schema import Encoder

SCHEMA = hr.Schema({"a": hr.Numeric(0, 8), "b": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
HALF = Fraction(1, 2)


class Exact(Randomness):
    """Answers without noise."""

    def draw(self, mechanism, *statistics):
        return statistics[0]


@pytest.mark.parametrize("rule", [Ones(), Ones(3)])
def test_a_record_with_a_class_adds_one_to_one_channel_and_one_without_adds_nothing(rule):
    said = rule(np.zeros((4, 3), dtype=np.int32), np.array([0, 2, -1, 1]))
    assert said.dtype == np.int32
    assert said.shape == (4, rule.channels)
    assert np.abs(said).sum(axis=1).tolist() == (said**2).sum(axis=1).tolist() == [1, 1, 0, 1]
    assert rule.l1 == rule.l2_squared == 1
    assert rule.scored == rule.scored_l1 == 0
    if rule.channels > 1:
        assert said.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("concentrated", [False, True])
def test_a_survey_asks_for_its_shares_and_leaves_the_rest(concentrated):
    budget = Budget(Fraction(1, 2), concentrated)
    schema = hr.Schema({name: hr.Numeric(0, 1) for name in "abc"} | {"d": hr.Categorical(["x"])}, classes=[0, 1])
    survey = Survey(budget, Encoder(schema, FINE), HALF)
    noise = (budget * Fraction(1, 6)).noise()
    assert survey.event.parts == (noise.event("fine bins of a numeric feature", draws=FINE + 1),) * 3
    assert survey.left == Fraction(1, 2)
    plain = Survey(budget, Encoder(hr.Schema({"d": hr.Categorical(["x"])}, classes=[0, 1]), FINE), HALF)
    assert (plain.left, plain.histograms(None)) == (1, {})
    assert plain.event.parts == ()
    few, many = hr.Integer(0, 9), hr.Numeric(0, 1)  # draws are those of the feature with most bins
    uneven = Survey(budget, Encoder(hr.Schema({"few": few, "many": many}, classes=[0, 1]), FINE), HALF)
    draws = cost(uneven.event).draws
    assert draws == (2 * (FINE + 1) if concentrated else 0)


def test_what_a_survey_asks_is_what_its_event_says():
    encoder = Encoder(SCHEMA, FINE)
    survey = Survey(Budget(Fraction(1)), encoder, HALF)
    records = [(place, 0, 1) for place in (0, 0, 0, 7, 200, 255)] + [(3, 1, -1)]
    curator = Queryable(make_table(records, encoder.n_codes.tolist()), Fraction(1), Exact(0))
    asked = curator.open_round(Ones())
    into = survey.merged(survey.histograms(asked), 4)
    assert cost(survey.event) == curator.total
    assert into[1].tolist() == list(range(encoder.n_codes[1]))
    assert np.all(np.diff(into[0]) >= 0)
    assert into[0][-1] <= 4
    assert into[0][-1] == into[0][-2] + 1  # missing cells keep a code of their own
    plain = Encoder(hr.Schema({"b": hr.Categorical(["x", "y"])}, classes=[0, 1]), FINE)
    nothing = Survey(Budget(Fraction(1)), plain, HALF)
    assert [codes.tolist() for codes in nothing.merged(nothing.histograms(asked), 4)] == [into[1].tolist()]


def test_counts_that_noise_alone_reaches_in_one_bin_of_each_feature_are_taken_for_none(monkeypatch):
    survey = Survey(Budget(Fraction(1)), Encoder(SCHEMA, FINE), HALF)
    least = (Budget(Fraction(1)) * HALF).noise().quantile(1 / FINE)
    seen = []
    monkeypatch.setattr(
        "hedgerow.curator.survey.by_width_and_mass",
        lambda clear, *rest: seen.append(clear) or np.zeros(len(clear), np.int64),
    )

    class Asked:
        def sums(self, feature, noise):
            return np.array([[[least - 1], [least], [-5], [least + 1], [99]]])

    survey.merged(survey.histograms(Asked()), 4)
    assert seen[0].tolist() == [0, least, 0, least + 1]  # the last are missing cells, which have no place


# Public bins.


def test_fine_bins_are_narrower_by_one_factor_the_nearer_they_are_to_zero():
    edges = np.array(fine_cuts(hr.Numeric(0, 1)))
    assert len(edges) == FINE - 1
    narrow = 2.0 ** (-18 * (np.arange(127) + 0.5) / 127)
    assert np.isin(narrow, edges).all()
    assert np.setdiff1d(edges, narrow).tolist() == (np.arange(1, 128) / 128).tolist()
    both = np.array(fine_cuts(hr.Numeric(-2, 1)))
    near = 2 * narrow[::2]
    assert np.isin(-near[near < 2], both).all()
    assert np.isin(near[near < 1], both).all()
    assert not np.isin(-2 * narrow[1::2], both).any()
    below = np.array(fine_cuts(hr.Numeric(-1, -0.25)))
    assert np.isin(-narrow[narrow > 0.25], below).all()
    assert len(below) == FINE - 1


@pytest.mark.parametrize(("low", "high"), [(2.0**-9, 1), (-1, -(2.0**-9)), (-1, 2.0**-9), (-(2.0**-9), 1)])
def test_no_cut_is_at_an_end_of_the_range(low, high):
    """Where the distance of a narrow bin from zero is just that of an end."""
    edges = fine_cuts(hr.Numeric(low, high))
    assert low < edges[0] <= edges[-1] < high


def test_public_cut_points_stay_as_they_are():
    schema = hr.Schema(
        {"a": hr.Numeric(0, 8, [1, 2]), "b": hr.Numeric(0, 8), "c": hr.Categorical(["x"])}, classes=[0, 1]
    )
    edges = fine_encoder(schema).edges
    assert edges[0].tolist() == [1, 2]
    assert edges[1].tolist() == fine_cuts(hr.Numeric(0, 8))
    assert len(edges[2]) == 0


@pytest.mark.parametrize(
    ("share", "total", "expected"),
    [
        ([1.0, 1.0, 2.0], 2, [0.5, 0.5, 1.0]),
        ([1.0, 1.0, 8.0], 2, [0.5, 0.5, 1.0]),
        ([1.0, 3.0, 8.0, 8.0], 3, [0.25, 0.75, 1.0, 1.0]),
        ([1.0, 4.0, 100.0], 2.5, [0.5, 1.0, 1.0]),
        ([5.0, 5.0], 3, [1.5, 1.5]),
    ],
)
def test_no_fine_bin_takes_more_than_one_new_bin_as_far_as_others_can(share, total, expected):
    assert one_at_most(np.array(share), total).tolist() == pytest.approx(expected)


def test_new_bins_hold_like_parts_of_width_and_mass():
    """By hand: of four bins width 1, 1, 2, 4 a part of 0.3 counts alike, and half of all follows the counts."""
    widths = np.array([1.0, 1.0, 2.0, 4.0])
    width = 0.3 / 4 + 0.7 * widths / 8
    for clear, share in (
        (np.zeros(4), width),
        (np.array([0, 30, 10, 0]), 0.5 * np.array([0, 0.75, 0.25, 0]) + 0.5 * width),
    ):
        weight = 2 * share / share.sum()
        expected = [int(sum(weight[:i]) + weight[i] / 2) for i in range(4)]
        assert by_width_and_mass(clear.astype(np.int64), widths, 2, 0.5).tolist() == expected


@pytest.mark.parametrize(
    ("clear", "bins", "by_mass", "expected"),
    [
        # Half of the records are in no spike: 60 parts of 100 follow them.
        ([0, 6, 0, 0, 1, 4, 1], 5, 0.6, [0, 0, 1, 2, 2, 3, 4]),
        # A spike takes one new bin of the 2.5 that follow records, the others .9, .3 and .3; its own is not cut.
        ([3, 1, 1, 0, 0, 20], 5, 0.5, [0, 1, 2, 3, 3, 4]),
        # What holds nothing and counts nothing goes to the last bin.
        ([5, 5, 0, 0], 2, 1.0, [0, 1, 1, 1]),
    ],
)
def test_new_bins_by_hand(clear, bins, by_mass, expected):
    assert by_width_and_mass(np.array(clear), np.ones(len(clear)), bins, by_mass).tolist() == expected


def test_widths_are_those_of_the_schemas_range_also_where_it_passes_the_largest_float(monkeypatch):
    encoder = fine_encoder(
        hr.Schema({"a": hr.Numeric(0, 8, [1, 3]), "b": hr.Numeric(-1.5e308, 1.5e308)}, classes=[0, 1])
    )
    widths = []
    monkeypatch.setattr(
        "hedgerow.curator.survey.by_width_and_mass",
        lambda clear, of, *rest: widths.append(of) or np.zeros(len(of), np.int64),
    )
    counts = {feature: np.zeros(codes, dtype=np.int64) for feature, codes in enumerate(encoder.n_codes.tolist())}
    Survey(Budget(Fraction(1)), encoder).merged(counts, 4)
    assert widths[0].tolist() == [1, 2, 5]
    assert widths[1].sum() == pytest.approx(0.75e308)
    assert (widths[1] > 0).all()


# Files.

FINE_ENCODER = fine_encoder(SCHEMA)
MERGED = Encoder(SCHEMA.cut_at({"a": FINE_ENCODER.edges[0][[3, 9, 60]].tolist()}), FINE)
ARRAYS = merged_to_arrays(MERGED)


def test_merged_cut_points_come_back_from_their_arrays():
    again = merged_encoder(ARRAYS, FINE_ENCODER)
    assert [edges.tolist() for edges in again.edges] == [edges.tolist() for edges in MERGED.edges]
    assert again.max_bins == FINE


def test_each_feature_keeps_cut_points_of_its_own_and_at_least_one():
    names = {"a": hr.Numeric(0, 8), "c": hr.Categorical(["x"]), "b": hr.Numeric(0, 2), "d": hr.Numeric(0, 8, [1])}
    fine = fine_encoder(hr.Schema({**names, "e": hr.Integer(0, 1)}, classes=[0, 1]))
    assert len(fine.edges[4]) == 1
    kept = [fine.edges[0][[5]], np.empty(0), fine.edges[2][[1, 9]], np.array([1.0]), fine.edges[4]]

    def read(kept):
        arrays = {"edges": np.concatenate(kept), "edge_counts": np.array([len(edges) for edges in kept])}
        return [edges.tolist() for edges in merged_encoder(arrays, fine).edges]

    assert read(kept) == [edges.tolist() for edges in kept]
    every = np.union1d(fine.edges[0], hr.Numeric(0, 8).bin_edges(FINE))
    for place, wrong in (
        (3, np.empty(0)),
        (0, np.empty(0)),
        (4, np.empty(0)),
        (1, np.array([1.0])),
        (0, every[: FINE + 1]),
    ):
        with pytest.raises(FileFormatError, match="damaged"):
            read([*kept[:place], wrong, *kept[place + 1 :]])


EDGES = ARRAYS["edges"]


@pytest.mark.parametrize(
    ("edges", "counts"),
    [
        (None, np.array([3, 0])),
        (EDGES, None),
        (EDGES.astype(np.float32).astype(np.float64), np.array([3, 0])),
        (EDGES.astype(">f8"), np.array([3, 0])),
        (EDGES, np.array([3, 0], dtype=np.int32)),
        (EDGES, np.array([3])),
        (EDGES, np.array([[3, 0]])),
        (EDGES, np.array([2, 0])),
        (EDGES, np.array([4, 0])),
        (EDGES, np.array([4, -1])),
        (EDGES, np.array([0, 3])),
        (EDGES, np.array([2, 1])),
        (EDGES[:, None], np.array([3, 0])),
        (EDGES[[0, 0, 1]], np.array([3, 0])),
        (EDGES[[1, 0, 2]], np.array([3, 0])),
        (np.array([]), np.array([0, 0])),
        (np.resize(FINE_ENCODER.edges[0], FINE + 1), np.array([FINE + 1, 0])),
    ],
)
def test_damaged_cut_points_are_refused_each_for_itself(edges, counts):
    arrays = {name: array for name, array in (("edges", edges), ("edge_counts", counts)) if array is not None}
    with pytest.raises(FileFormatError, match="damaged"):
        merged_encoder(arrays, FINE_ENCODER)
