"""A replay finds what a fit loses above its charges, draw by draw, in every private form; and bugs that are planted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from helpers import select_by_cell
from products import thinned
from test_planted_bugs import assign_by_position, drop_a_level, halve_the_noise, take_bins_from_the_data

import hedgerow as hr
from hedgerow.additive.losses import Logistic
from hedgerow.additive.plan import AdditivePlan, RoundSchedule
from hedgerow.audit import replay_fit
from hedgerow.audit.replay import _log_law
from hedgerow.curator import Queryable, Round
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import (
    AtMost,
    Exponential,
    Geometric,
    PassesThreshold,
    PermuteAndFlip,
    PublicChoice,
    Randomness,
    RoundedNormal,
)
from hedgerow.parameters import rules_of
from hedgerow.scores import Gini
from hedgerow.systems import hedgerow, system_class
from hedgerow.table import ClassCounts, Keep
from hedgerow.trees.parts import SelectLabel

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")

DELTA = 1e-6
FEATURES = {"age": hr.Numeric(0, 100), "job": hr.Categorical(["nurse", "clerk", "none"]), "score": hr.Numeric(-1, 1)}
SCHEMAS = {
    "classes": hr.Schema(FEATURES, classes=["no", "yes"]),
    "outcome": hr.Schema(FEATURES, outcome=hr.Numeric(0, 100)),
}
generator = np.random.default_rng(0)
AGES = [None, *generator.uniform(0, 100, 149).tolist()]
JOBS = generator.choice(["nurse", "clerk", "pilot"], 150).tolist()
SCORES = generator.uniform(-1, 1, 150).tolist()
RECORDS = {
    "classes": [
        (age, job, score, "yes" if (age or 0) > 60 else "no")
        for age, job, score in zip(AGES, JOBS, SCORES, strict=True)
    ],
    "outcome": [(age, job, score, age) for age, job, score in zip(AGES, JOBS, SCORES, strict=True)],
}
FORMS = [
    (name, kind, delta)
    for kind in RECORDS
    for name in [info.name for info in hr.list_systems(regressors=kind == "outcome")]
    for delta in (0, DELTA)
    if not delta or "delta" in rules_of(system_class(name))
]
NEIGHBORS = {
    "add-remove": lambda rows: rows[:-1],
    "replace-one": lambda rows: [*rows[:-1], (1.0, "none", 1.0, rows[5][-1])],
}


def replayed(name, kind, adjacency="add-remove", records=None, **parameters):
    estimator = system_class(name)(schema=SCHEMAS[kind], adjacency=adjacency, **parameters)
    records = RECORDS[kind] if records is None else records
    return replay_fit(estimator, records, NEIGHBORS[adjacency](records), random_state=0)


@pytest.mark.parametrize(
    ("name", "kind", "delta", "adjacency"),
    thinned([(*form, adjacency) for form in FORMS for adjacency in NEIGHBORS], 3),
)
def test_no_draw_of_a_private_form_loses_more_than_its_charge(name, kind, delta, adjacency):
    result = replayed(name, kind, adjacency, **({"delta": delta} if delta else {}))
    assert result.faults == ()
    assert 0.25 < result.largest_share <= 1 + 1e-9
    assert not result.refuted


def go_deep(patch):
    rules = {"min_snr_for_cuts": 0.0, "rounds_before_cuts": 0, "max_cuts": 3}
    patch.setattr(hedgerow, "RULES", replace(hedgerow.RULES, **rules))
    patch.setattr(hedgerow, "OUTCOME_RULES", replace(hedgerow.OUTCOME_RULES, **rules))
    patch.setattr(RoundSchedule, "next_cuts", lambda self: self._most)


@pytest.mark.parametrize("rounds", [go_deep, select_by_cell])
@pytest.mark.parametrize("delta", [0, DELTA])
@pytest.mark.parametrize(("name", "kind"), [("hedgerow", "classes"), ("hedgerow-regressor", "outcome")])
def test_rounds_with_cuts_and_by_cell_lose_what_they_are_charged(name, kind, delta, rounds, monkeypatch):
    rounds(monkeypatch)
    result = replayed(name, kind, n_estimators=4, **({"delta": delta} if delta else {}))
    assert result.faults == ()
    assert 0.9 < result.largest_share <= 1 + 1e-9


PERSON = [(20.0, "nurse", 0.0, "no"), (70.0, "nurse", 0.5, "yes"), (80.0, "clerk", 0.5, "yes")]


def of_a_person(**parameters):
    rows = RECORDS["classes"][:60]
    ids = [f"p{i // 2}" for i in range(60)]
    estimator = hr.HedgerowClassifier(schema=SCHEMAS["classes"], **parameters)
    return replay_fit(estimator, [*rows, *PERSON], rows, groups=([*ids, *["new"] * 3], ids), random_state=0)


@pytest.mark.parametrize("delta", [0, DELTA])
@pytest.mark.parametrize("most", [1, 2, 4])
def test_a_person_loses_what_the_records_that_count_do(most, delta):
    result = of_a_person(records_per_person=most, delta=delta)
    assert result.faults == ()
    assert result.charges[0].records == min(most, 3)
    assert 0.25 < result.largest_share <= 1 + 1e-9


def of_a_rare_class(**parameters):
    # Of all records, one of a class that no other record has moves the residuals of several classes most.
    rows, rare = RECORDS["classes"], (50.0, "nurse", 0.0, "rare")
    estimator = hr.HedgerowClassifier(
        schema=hr.Schema(FEATURES, classes=["no", "yes", "rare"]), n_estimators=4, **parameters
    )
    return replay_fit(estimator, [*rows, rare], rows, random_state=0)


@pytest.mark.parametrize("delta", [0, DELTA])
def test_the_only_record_of_a_third_class_loses_what_it_is_charged(delta):
    result = of_a_rare_class(delta=delta)
    assert result.faults == ()
    assert 0.9 < result.largest_share <= 1 + 1e-9


# What must be found.


def test_a_norm_of_several_classes_that_counts_a_residual_once_is_found(monkeypatch):
    as_it_is = Logistic.__post_init__

    def once(rule):
        as_it_is(rule)
        vars(rule).update(l2_squared=rule.l2_squared - (rule.cap + 1) ** 2)

    monkeypatch.setattr(Logistic, "__post_init__", once)
    result = of_a_rare_class(delta=DELTA)
    assert result.refuted
    assert result.largest_share > 1.2


def draw_with_half_the_noise(plant):
    sample = Geometric.sample
    plant.setattr(
        Geometric,
        "sample",
        lambda self, stream, values: sample(replace(self, epsilon=2 * self.epsilon), stream, values),
    )


def draw_normal_noise_of_half_the_scale(plant):
    sample = RoundedNormal.sample
    plant.setattr(
        RoundedNormal,
        "sample",
        lambda self, stream, values: sample(replace(self, mu_squared=4 * self.mu_squared), stream, values),
    )


def select_at_four_times_the_rate(plant):
    sample = PermuteAndFlip.sample
    plant.setattr(
        PermuteAndFlip, "sample", lambda self, *given: sample(replace(self, epsilon=4 * self.epsilon), *given)
    )


def select_the_best(plant):
    plant.setattr(PermuteAndFlip, "sample", lambda self, stream, scores, weights: scores.argmax(axis=1))


def draw_the_same_noise_again(plant):
    plant.setattr(Randomness, "_number", lambda self: 7)


def book_half_of_normal_noise(plant):
    event = RoundedNormal.event

    def halved(self, *given, **how):
        paid = event(self, *given, **how)
        return replace(paid, mu_squared=paid.mu_squared / 2)

    plant.setattr(RoundedNormal, "event", halved)


def add_a_record_twice_to_sums(plant):
    noisy = Round._noisy
    plant.setattr(Round, "_noisy", lambda self, sums, *given: noisy(self, 2 * sums, *given))


def halve_the_range_of_a_score(plant):
    plant.setattr(Gini, "range", Gini.range // 2)


def count_leaves_for_nothing(plant):
    ask = SelectLabel.ask

    def asked(self, curator, nodes):
        counts = curator._table.answer(ClassCounts(curator._state.value.frontier(nodes, curator._table)))
        curator._randomness.draw(Geometric(Fraction(1)), counts)
        return ask(self, curator, nodes)

    plant.setattr(SelectLabel, "ask", asked)


def draw_a_label_twice_for_one_charge(plant):
    answer = Queryable.answer

    def answered(self, query, mechanism):
        charge, self._charge = self._charge, lambda event, nodes: charge(event, nodes)
        first = answer(self, query, mechanism)
        self._charge = lambda event, nodes: self._state.value
        answer(self, query, mechanism)
        del self._charge
        return first

    plant.setattr(Queryable, "answer", answered)


def keep_a_raw_sum(plant):
    fit = AdditivePlan.fit

    def kept(self, curator):
        model = fit(self, curator)
        arrays, records = model.to_arrays, len(curator._table)
        object.__setattr__(model, "to_arrays", lambda: {**arrays(), "records": np.array(records)})
        return model

    plant.setattr(AdditivePlan, "fit", kept)


def count_every_record_of_a_person(plant):
    plant.setattr(Keep, "labels", lambda self, labels: labels)


def reward_features_by_raw_sums(plant):
    select = Round.select

    def selected(self, mechanism, penalty, offered=None):
        return select(self, mechanism, penalty - np.abs(self._sums).sum() * np.arange(penalty.shape[1]), offered)

    plant.setattr(Round, "select", selected)


TIMES, OTHER = "times what is charged", "differs on the second data set"
LAW = "do not follow the law that it states"
FREE = "draws that nothing is charged for"
ONE_CLASS = [(20.0, "nurse", 0.0, "no")] * 30 + [(90.0, "nurse", 0.0, "yes")]  # only one score does not change
MANY_LEAVES = {"n_estimators": 3000, "max_depth": 0, "epsilon": 0.5, "records": ONE_CLASS[:1] * 2000}
FOREST = {"name": "forest", "bins": "equal-width"}
PLANTED = {
    "noise of half the scale": (draw_with_half_the_noise, {"name": "hedgerow", "n_estimators": 12}, LAW),
    "normal noise of half the scale": (draw_normal_noise_of_half_the_scale, {"name": "hedgerow", "delta": DELTA}, LAW),
    "selections at another rate": (select_at_four_times_the_rate, {"name": "edprf", **MANY_LEAVES}, LAW),
    "selections without noise": (select_the_best, {"name": "edprf", **MANY_LEAVES}, LAW),
    "noise used again": (draw_the_same_noise_again, {"name": "hedgerow", "delta": DELTA}, "not independent"),
    "a noise scale that is charged half": (halve_the_noise, FOREST, TIMES),
    "normal noise that is charged half": (book_half_of_normal_noise, {"name": "hedgerow", "delta": DELTA}, TIMES),
    "sums to which a record adds twice": (add_a_record_twice_to_sums, {"name": "hedgerow"}, TIMES),
    "the range of a score": (
        halve_the_range_of_a_score,
        {"name": "edprf", "n_estimators": 1, "records": ONE_CLASS},
        TIMES,
    ),
    "a read without a charge": (count_leaves_for_nothing, {"name": "edprf", "n_estimators": 5}, FREE),
    "two reads for one charge": (draw_a_label_twice_for_one_charge, {"name": "edprf", "n_estimators": 5}, TIMES),
    "a level that is not charged": (drop_a_level, {**FOREST, "n_estimators": 1, "max_depth": 1}, TIMES),
    "a penalty by raw sums": (reward_features_by_raw_sums, {"name": "hedgerow"}, TIMES),
    "records by position": (assign_by_position, {"name": "edprf", "n_estimators": 4}, TIMES),
    "a raw sum in the model": (keep_a_raw_sum, {"name": "hedgerow"}, OTHER),
}


@pytest.mark.parametrize("bug", thinned(PLANTED, 3))
def test_a_planted_bug_is_found(bug, monkeypatch):
    plant, parameters, words = PLANTED[bug]
    assert not replayed(kind="classes", **parameters).refuted
    plant(monkeypatch)
    result = replayed(kind="classes", **parameters)
    assert any(words in fault for fault in result.faults), result.faults
    assert result.refuted


def test_records_of_a_person_that_count_above_the_limit_are_found(monkeypatch):
    count_every_record_of_a_person(monkeypatch)
    assert any(TIMES in fault for fault in of_a_person(records_per_person=1).faults)


def test_bins_from_the_data_are_found(monkeypatch):
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    estimator = hr.ForestClassifier(schema=schema, n_estimators=1, max_depth=1, max_bins=2, bins="equal-width")
    rows = [(0.1, "no")] * 40 + [(0.2, "yes")] * 39
    pair = rows, [*rows, (0.9, "yes"), (0.9, "yes")][:-1]
    assert not replay_fit(estimator, *pair, random_state=0).refuted
    take_bins_from_the_data(monkeypatch)
    assert replay_fit(estimator, *pair, random_state=0).refuted


ITEMS = {
    "permute-and-flip": (PermuteAndFlip(Fraction(1, 3), 2), np.array([5, 0, 3, 3]), np.array([1, 1, 0, 1])),
    "exponential": (Exponential(Fraction(1, 3), 2), np.array([5, 0, 3, 3]), np.array([1, 7, 0, 2])),
    "at most": (AtMost(Geometric(Fraction(1, 3)), 4), 2),
    "above": (AtMost(Geometric(Fraction(1, 3)), 4), 9),
    "public": (PublicChoice(), np.array([1, 7, 2])),
}


@pytest.mark.parametrize("name", ITEMS)
def test_the_formulas_agree_with_the_laws_of_the_mechanisms(name):
    mechanism, *item = ITEMS[name]
    np.testing.assert_allclose(np.exp(_log_law(mechanism, *item)), mechanism.law(*item), atol=1e-12)


def test_what_cannot_be_replayed_is_refused():
    rows = RECORDS["classes"]
    printed = hr.EDPRFClassifier(schema=SCHEMAS["classes"], variant="published")
    with pytest.raises(ConfigurationError, match="published form"):
        replay_fit(printed, rows, rows[1:])
    with pytest.raises(ConfigurationError, match="no neighbors"):
        replay_fit(hr.EDPRFClassifier(schema=SCHEMAS["classes"]), rows, rows[2:])
    with pytest.raises(ConfigurationError, match="knows no law of PassesThreshold"):
        _log_law(PassesThreshold(Geometric(Fraction(1)), Fraction(1, 100)), 1)


def test_a_result_says_what_was_found(monkeypatch):
    result = replayed("edprf", "classes", n_estimators=5)
    assert repr(result) == "<Replayed: edprf, private: 0 faults in 4 charges>"
    assert "not refuted" in str(result)
    assert "149 records, and the same with" in str(result)
    count_leaves_for_nothing(monkeypatch)
    assert "REFUTED" in str(replayed("edprf", "classes", n_estimators=5))
