"""The exact law of rounds of additive boosting on small data sets and their neighbors: never above epsilon, whatever they cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from audit_helpers import Codes
from helpers import data_sets, make_table, plan_at, total
from products import thinned

import hedgerow as hr
from hedgerow.additive.losses import Logistic
from hedgerow.additive.plan import AdditivePlan, RoundSchedule
from hedgerow.additive.round import OneRound
from hedgerow.audit import Grid
from hedgerow.audit.exact import open_law, worst_loss
from hedgerow.curator import Cut, Queryable, Round, Splits, rounds
from hedgerow.mechanisms import Geometric
from hedgerow.parameters import UNIT
from hedgerow.privacy.accounting import Pure, cost
from hedgerow.privacy.exact import Dyadic
from hedgerow.systems import hedgerow

TYPES = tuple(product((0, 1), repeat=3))
SCHEMA = hr.Schema({f"f{i}": hr.Categorical(["a", "b"]) for i in range(2)}, classes=["no", "yes"])


@pytest.fixture(autouse=True)
def codes_as_they_are(monkeypatch):
    monkeypatch.setattr("hedgerow.curator.survey.Encoder", Codes)


@pytest.fixture(autouse=True)
def no_sample_by_itself(monkeypatch):
    """The coarse grid releases half a million records, of which rounds without cuts would score a sample."""
    monkeypatch.setattr(hedgerow, "RULES", replace(hedgerow.RULES, curve_sample=2.0**40))


def law(records, schema=SCHEMA, rounds=2, **given):
    model = hr.HedgerowClassifier(epsilon=1.0, schema=schema, n_estimators=rounds, **given)
    boosted = plan_at(model, schema, Fraction(1))

    def fit(source):
        curator = Queryable(make_table(records, (2, 2), len(schema.classes)), Fraction(1), source)
        boosted.fit(curator)
        assert curator.spent <= cost(boosted.event).epsilon <= 1

    found = open_law(fit, Grid((0,), (0, 8 * UNIT)))
    assert total(found) == pytest.approx(1, abs=1e-9)
    return found


def worst(most, types=TYPES):
    known = cache(law)

    def of(records):
        return known(tuple(sorted(records)))

    return max(
        worst_loss(of(records), of((*records, record))) for records in data_sets(most, types) for record in types
    )


@pytest.mark.parametrize(
    ("most", "types"),
    [
        (0, TYPES[::7]),
        pytest.param(1, TYPES[::3], marks=pytest.mark.full),
        pytest.param(3, TYPES, marks=pytest.mark.slow),
    ],
)
def test_two_rounds_lose_at_most_epsilon_and_a_fair_part_of_it(most, types):
    assert 0.5 < worst(most, types) <= 1


@pytest.mark.parametrize("rounds", thinned([1, 2], 2))
def test_of_records_of_the_only_class_their_number_alone_is_told(rounds):
    """Each has the probability 1, so its gradient and its curvature are 0: what is lost about it is the opening's fiftieth."""
    schema = SCHEMA.replace(classes=["yes"])
    empty, one, other = (law(records, schema, rounds) for records in ((), ((0, 0, 0),), ((0, 1, 0),)))
    assert worst_loss(one, empty) == pytest.approx(1 / 50)
    assert worst_loss(other, one) == 0


@pytest.mark.parametrize(("records", "rounds"), thinned([(TYPES[3:4], 1), (TYPES[3:5], 2)], 2))
def test_weights_of_classes_leave_the_law_of_what_is_released_as_it_is(records, rounds):
    weighted, plain = (law(records, rounds=rounds, class_weight=weights) for weights in ({"yes": 9}, None))
    assert worst_loss(weighted, plain) == 0


@pytest.mark.full
def test_weights_that_records_bring_into_rounds_are_caught_where_one_is_above_1(monkeypatch):
    """Where class_weight multiplied what records add, without being taken over the largest weight."""
    channels, weights = Logistic.__call__, np.array([1, 3])

    def weighed(self, margins, labels):
        return channels(self, margins, labels) * weights[labels][:, None]

    monkeypatch.setattr(Logistic, "__call__", weighed)
    assert worst(0, TYPES[::7]) > 1


# Rounds with cuts: features of two codes, one more than there are cuts, so that each round reads all of them.

UNTOLD, TOLD = Grid((), (0,)), Grid((0,), (0, 8 * UNIT))
SELECTIONS = Fraction(49, 50) / 4  # of epsilon: the opening has a fiftieth, and no number is surveyed


def schema_of(features):
    return hr.Schema({f"f{i}": hr.Categorical(["a", "b"]) for i in range(features)}, classes=["no", "yes"])


def kinds_of(cuts):
    return tuple(product((0, 1), repeat=cuts + 2))


@pytest.fixture
def cut_by_all(monkeypatch):
    """The last cut may cut every feature, so that no public coin has to be walked through."""
    monkeypatch.setattr(
        AdditivePlan, "_cut_features", lambda self, curator, fit, precision: list(range(len(fit.numeric)))
    )


def cut_law(records, cuts, told=UNTOLD, adjacency="add-remove", estimators=1):
    """The law of rounds of so many cuts, whose sums are told by the grid; how many each made is told, too."""
    schema = schema_of(cuts + 1)
    model = hr.HedgerowClassifier(epsilon=1.0, schema=schema, n_estimators=estimators)
    boosted = plan_at(model, schema, Fraction(1), adjacency)

    def fit(source):
        ceiling = Fraction(1) if adjacency == "add-remove" else Fraction(1, 2)
        curator = Queryable(make_table(records, (2,) * (cuts + 1), 2), ceiling, source)
        made = boosted.fit(curator)
        assert curator.spent <= cost(boosted.event).epsilon <= ceiling
        return tuple(len(term.cuts) for term in made.terms)

    found = open_law(fit, told)
    assert total(found) == pytest.approx(1, abs=1e-9)
    return found


def worst_added(cuts, told=UNTOLD, starts=None, kinds=None, **given):
    """The worst loss over some data sets and a record more of some kinds."""
    every = kinds_of(cuts)
    starts = ((), (every[0],) * 2, (every[0], every[-1])) if starts is None else starts
    known = {start: cut_law(start, cuts, told, **given) for start in starts}
    return max(
        worst_loss(known[start], cut_law((*start, kind), cuts, told, **given))
        for start in starts
        for kind in (every[::5] if kinds is None else kinds)
    )


def worst_replaced(cuts, told=UNTOLD):
    """The worst loss over a record that becomes another one, of all kinds that there are or the first with a code changed."""
    every = kinds_of(cuts)
    known = {kind: cut_law((every[0], kind), cuts, told, "replace-one") for kind in every[:: 2 * cuts - 1]}
    return max(worst_loss(one, other) for one in known.values() for other in known.values())


@pytest.fixture(params=[1, *(pytest.param(more, marks=pytest.mark.full) for more in (2, 3))])
def cuts(request, monkeypatch, cut_by_all):
    """Every round has so many cuts, or for its last one may have one less."""
    monkeypatch.setattr(RoundSchedule, "next_cuts", lambda self: request.param)
    return request.param


def test_what_a_round_with_cuts_selects_loses_at_most_a_quarter_of_epsilon_and_a_fair_part_of_it(cuts):
    found = cut_law((), cuts)
    assert {made for (made, *_), *_ in found} == {cuts - 1, cuts}
    assert SELECTIONS / 2 < worst_added(cuts) <= SELECTIONS


def test_a_record_replaced_in_a_round_with_cuts_loses_at_most_a_quarter_of_epsilon_and_a_fair_part_of_it(cuts):
    assert SELECTIONS / 3 < worst_replaced(cuts) <= SELECTIONS


@pytest.mark.parametrize("cuts", [1, 2], indirect=True)
@pytest.mark.full
def test_a_round_with_cuts_loses_at_most_epsilon(cuts):
    assert 0.5 < worst_added(cuts, TOLD, [kinds_of(cuts)[:1]], kinds_of(cuts)[:: 4 * cuts - 3]) <= 1


@pytest.mark.parametrize("cuts", [1, 2], indirect=True)
@pytest.mark.slow
def test_a_record_replaced_in_a_round_with_cuts_loses_at_most_epsilon(cuts):
    assert 0.5 < worst_replaced(cuts, TOLD) <= 1


APART = ((0, 0, 0), (1, 1, 0))  # records of one class on two sides


@pytest.mark.parametrize("cuts", [1], indirect=True)
def test_split_scores_that_count_twice_are_caught(cuts, monkeypatch):
    scores = Splits.scores
    monkeypatch.setattr(Splits, "scores", lambda self, sums, offsets: 2 * scores(self, sums, offsets))
    assert worst_added(cuts, UNTOLD, [APART], kinds_of(1)) > SELECTIONS


@pytest.mark.full
@pytest.mark.parametrize("cuts", [2], indirect=True)
def test_scores_of_cuts_that_count_three_times_are_caught(cuts, monkeypatch):
    scores = rounds.cut_scores
    monkeypatch.setattr(rounds, "cut_scores", lambda *given: 3 * scores(*given))
    assert worst_added(cuts, UNTOLD, [((0, 0, 0, 0), (1, 1, 1, 1))]) > SELECTIONS


@pytest.mark.full
@pytest.mark.parametrize("cuts", [2], indirect=True)
def test_records_that_are_in_all_cells_of_the_first_cut_are_caught(cuts, monkeypatch):
    table = Queryable.open_round

    def both(self, rule, votes=None, made=(), splits=None, **kind):
        asked = table(self, rule, votes, made, splits, **kind)
        return replace(asked, _sums=np.repeat(asked._sums.sum(axis=0, keepdims=True), len(asked._sums), axis=0))

    monkeypatch.setattr(Queryable, "open_round", both)
    assert worst_added(cuts) > SELECTIONS


@pytest.mark.parametrize("cuts", [2], indirect=True)
def test_a_cut_that_is_chosen_by_exact_gradients_is_caught(cuts, monkeypatch):
    def exactly(self, mechanism, ordered, offered):
        self._check(mechanism)  # it is charged all the same
        scores = rounds.cut_scores(self._by_code[..., : self._rule.scored], self._offsets, np.array(ordered))
        chosen = int(np.argmax(np.where(offered, scores, -1)))
        return Cut.at(chosen // 2, chosen % 2, 2, ordered=bool(ordered[chosen // 2]))

    monkeypatch.setattr(Round, "select_cut", exactly)
    assert worst_added(cuts) > 1


# How many cuts a round has follows from what the rounds before released.


@pytest.fixture
def cuts_by_evidence(monkeypatch, cut_by_all):
    """The second of three rounds has a cut, and the third one or two of them, by what the second measured."""
    monkeypatch.setattr(hedgerow, "RULES", replace(hedgerow.RULES, rounds_before_cuts=1, min_snr_for_cuts=0.0))


def worst_of_three(kinds):
    return worst_added(2, UNTOLD, [((0, 0, 0, 1),)], kinds, estimators=3)


KINDS_OF_THREE = ((1, 1, 1, 1), (0, 0, 1, 0))


@pytest.mark.usefixtures("cuts_by_evidence")
@pytest.mark.parametrize("kinds", thinned([pytest.param(KINDS_OF_THREE[1:]), pytest.param(KINDS_OF_THREE)], 2), ids=len)
def test_rounds_that_cut_by_released_sums_lose_at_most_their_selections(kinds):
    assert 0.05 < worst_of_three(kinds) <= SELECTIONS


@pytest.mark.full
@pytest.mark.usefixtures("cuts_by_evidence")
def test_a_number_of_cuts_by_raw_sums_is_caught(monkeypatch):
    fit, saw, exact = AdditivePlan.fit, RoundSchedule.record, []

    def fitted(self, curator):
        loss = self._initial_queries.loss
        exact[:] = [float(curator.open_round(loss)._sums[..., : loss.scored].sum()) / UNIT]
        return fit(self, curator)

    monkeypatch.setattr(AdditivePlan, "fit", fitted)
    monkeypatch.setattr(
        RoundSchedule,
        "record",
        lambda self, found, feature, **more: saw(self, replace(found, depth=int(exact[0] > 0)), feature, **more),
    )
    assert worst_of_three(KINDS_OF_THREE[1:]) > 1


# Rounds that score on a sample: the law is the mixture over all coins of the records, which are not told.


@pytest.fixture
def sampled(monkeypatch):
    """Every other record is scored on, by a coin of its own."""

    def halved(self, curator, records):
        curator.draw_sample(1)
        return 1, 1

    monkeypatch.setattr(AdditivePlan, "_draw_samples", halved)


@pytest.mark.full
@pytest.mark.usefixtures("sampled")
def test_rounds_that_score_on_a_sample_lose_at_most_epsilon_and_a_fair_part_of_it():
    assert 0.5 < worst(1, TYPES[::7]) <= 1


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("cuts", thinned([1, 2], 2), indirect=True)
def test_cuts_that_score_on_a_sample_lose_at_most_their_selections(cuts):
    assert SELECTIONS / 5 < worst_added(cuts) <= SELECTIONS


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("cuts", [1], indirect=True)
def test_a_penalty_by_the_exact_size_of_the_sample_is_caught(cuts, monkeypatch):
    right, size = OneRound._select, []

    def draw(self, halvings):
        shipped(self, halvings)
        size[:] = [len(self._samples[halvings])]

    def select(self, answers, fit, made, splits):
        fit.curvature = np.full(1, 400.0 * size[0])  # in place of that of all records, as released
        return right(self, answers, fit, made, splits)

    shipped = Queryable.draw_sample
    monkeypatch.setattr(Queryable, "draw_sample", draw)
    monkeypatch.setattr(OneRound, "_select", select)
    assert worst_added(cuts) > SELECTIONS


@dataclass(frozen=True)
class ForAQuarter(Geometric):
    """Geometric noise for a quarter of the sensitivity that it names."""

    def event(self, purpose: str, level: int = 0, draws: int = 0) -> Pure:
        found = super().event(purpose, level, draws)
        return replace(found, epsilon=found.epsilon / 4)

    @property
    def rate(self) -> Dyadic:
        return Geometric(4 * self.epsilon, self.sensitivity).rate


@pytest.mark.full
def test_noise_for_a_quarter_of_what_a_record_adds_is_caught(monkeypatch):
    monkeypatch.setattr("hedgerow.mechanisms.noise.Geometric", ForAQuarter)
    assert worst(0, TYPES[::7]) > 1


# A fit that starts from a model: features have codes for missing and undeclared cells too, as the model was fitted with them.


@pytest.fixture
def encoders_as_they_are(monkeypatch):
    from hedgerow.curator import survey
    from hedgerow.schema import Encoder

    monkeypatch.setattr(survey, "Encoder", Encoder)


def start_law(records, init, **given):
    boosted = plan_at(
        hr.HedgerowClassifier(epsilon=1.0, schema=SCHEMA, n_estimators=1, init=init, **given), SCHEMA, Fraction(1)
    )

    def fit(source):
        curator = Queryable(make_table(records, (4, 4)), Fraction(1), source)
        boosted.fit(curator)
        assert curator.spent <= cost(boosted.event).epsilon <= 1

    found = open_law(fit, Grid((0,), (0, 8 * UNIT)))
    assert total(found) == pytest.approx(1, abs=1e-9)
    return found


@pytest.fixture(scope="module")
def init():
    generator = np.random.default_rng(0)
    X = {f"f{i}": generator.choice(["a", "b"], 400) for i in range(2)}
    y = np.where((X["f0"] == "a") ^ (generator.random(400) < 0.1), "yes", "no")
    return hr.HedgerowClassifier(20.0, schema=SCHEMA, n_estimators=3, random_state=0).fit(X, y)


@pytest.mark.usefixtures("encoders_as_they_are")
def test_a_fit_with_a_start_loses_at_most_epsilon_and_a_fair_part_of_it(init):
    """One record more: of any code, also a missing or an undeclared one, and either class."""
    kinds = [(a, b, y) for a in (0, 1, 3) for b in (0, 2) for y in (0, 1)]
    some = ((0, 1, 1),)
    laws = {records: start_law(records, init) for records in [(), *((kind,) for kind in kinds), some]}
    losses = [worst_loss(laws[()], laws[(kind,)]) for kind in kinds]
    losses += [worst_loss(laws[some], start_law((*some, kind), init)) for kind in kinds[::4]]
    assert 0.4 < max(losses) <= 1


@pytest.mark.full
@pytest.mark.usefixtures("encoders_as_they_are")
def test_a_margin_of_a_start_that_follows_another_record_is_caught(init, monkeypatch):
    """Where every record had the margin of the first one, a record more would move all of them."""
    from hedgerow.additive.starts import StartVotes

    honest = StartVotes.__call__

    def of_the_last(votes, codes, margins):
        honest(votes, codes[-1:].repeat(len(codes), axis=0), margins)

    monkeypatch.setattr(StartVotes, "__call__", of_the_last)
    before = ((0, 1, 1),) * 2
    assert worst_loss(start_law(before, init), start_law((*before, (1, 1, 0)), init)) > 1
