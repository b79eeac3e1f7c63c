"""Fits for persons of several records: every private form, every way in, and what may be refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from products import thinned
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import hedgerow as hr
from hedgerow.audit import check_model
from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import Geometric, PassesThreshold
from hedgerow.reading.cells import object_array
from hedgerow.reading.persons import person_text
from hedgerow.systems import system_class

from schema.odd_cells import CELLS  # isort: skip

RNG = np.random.default_rng(3)
COUNT = 600
WHO = RNG.integers(0, 200, COUNT)
X = pd.DataFrame({"a": RNG.uniform(0, 1, COUNT), "c": RNG.choice(["x", "y"], COUNT)})
Y = np.where(X["a"] + (X["c"] == "x") > 0.9, "yes", "no")
SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "c": hr.Categorical(["x", "y"])}, classes=["no", "yes"], target="y")
SYSTEMS = [info.name for info in hr.list_systems()]
QUIET = pytest.mark.filterwarnings("ignore:the noisy number of records")

pytestmark = [
    QUIET,
    pytest.mark.filterwarnings("ignore:groups is a column of floating"),
    pytest.mark.filterwarnings("ignore:delta is"),
]


def build(name="edprf", **parameters):
    return system_class(name)(
        **{"epsilon": 4.0, "schema": SCHEMA, "records_per_person": 2, "random_state": 0, **parameters}
    )


def bits(model):
    return {name: array.tobytes() for name, array in model.model_.to_arrays().items()}


@pytest.mark.parametrize(("name", "adjacency"), thinned(product(SYSTEMS, ["add-remove", "replace-one"]), 3))
def test_every_private_form_plans_for_a_person(name, adjacency, tmp_path):
    group = 4 if adjacency == "replace-one" else 2
    model = build(name, adjacency=adjacency, random_state=None).fit(X, Y, groups=WHO)
    certificate = model.certificate_
    assert certificate.holds
    assert certificate.claim.epsilon == 4
    assert certificate.spent > 4 * (1 - 1e-3)
    one = build(name, records_per_person=1, epsilon=4 / group, random_state=None).fit(X, Y).certificate_
    assert certificate.spent == group * one.spent  # the plan of one record at a share of the budget
    model.save(tmp_path / "m")
    again = hr.load(tmp_path / "m")
    assert again.certificate_ == certificate
    assert again.records_per_person == 2
    assert not [finding for finding in check_model(tmp_path / "m") if finding.refuted]


@pytest.mark.parametrize("name", ["hedgerow", "dp-adaboost", "cart-dps-adaboost", "dpada", "smooth-boost"])
def test_normal_noise_keeps_delta_for_a_person(name):
    certificate = build(name, delta=1e-6, random_state=None).fit(X, Y).certificate_
    assert certificate.holds
    assert certificate.unit.records == 2


def test_the_choice_is_what_a_fit_on_the_chosen_records_sees():
    """Where everybody has two records at most nobody loses one, and the fit is that of a promise but for the coins' numbers."""
    few = np.repeat(np.arange(COUNT // 2), 2)
    whole = build("random-trees", random_state=5).fit(X, Y, groups=few)
    same = build("random-trees", random_state=5).fit(X, Y, groups=few[::-1].copy())
    assert bits(whole) == bits(same)
    fewer = build("random-trees", random_state=5).fit(X, Y, groups=np.zeros(COUNT))
    assert bits(whole) != bits(fewer)


def test_nobodys_records_do_not_count():
    ids = WHO.astype(object)
    ids[::3] = None
    labels = Y.astype(object)
    labels[::3] = None
    assert bits(build().fit(X, Y, groups=ids)) == bits(build().fit(X, labels, groups=WHO))


@pytest.mark.parametrize(
    "groups",
    [
        WHO.tolist(),
        WHO.astype(float),
        WHO.astype(str),
        pd.Series(WHO),
        pl.Series(WHO),
        pd.DataFrame({"id": WHO}),
        {"id": WHO},
    ],
    ids=lambda column: type(column).__name__,
)
def test_any_column_gives_the_same_model(groups):
    assert bits(build().fit(X, Y, groups=groups)) == bits(build().fit(X, Y, groups=WHO))


def test_names_of_persons_do_not_matter():
    assert bits(build().fit(X, Y, groups=WHO)) == bits(build().fit(X, Y, groups=[f"p{200 - one}" for one in WHO]))


def test_metadata_routing_brings_groups_through_pipelines_and_folds():
    groups = pd.Series(WHO, name="patient")
    with sklearn.config_context(enable_metadata_routing=True):
        model = build(random_state=None).set_fit_request(groups=True)
        for kind in (model, make_pipeline(FunctionTransformer(), model)):
            found = cross_validate(
                kind, X, Y, params={"groups": groups}, cv=GroupKFold(3), return_estimator=True, error_score="raise"
            )
            fitted = [one if kind is model else one[-1] for one in found["estimator"]]
            assert [one.certificate_.person for one in fitted] == ["patient"] * 3
        search = hr.PrivateSearchCV(hr.EDPRFClassifier(schema=SCHEMA), {"max_depth": [1, 2]}).set_fit_request(
            groups=True
        )
        assert search.get_metadata_routing().fit.requests["groups"] is True


@pytest.mark.parametrize("name", [info.name for info in hr.list_systems() if "published" in info.variants])
def test_published_forms_know_no_persons(name):
    for parameters, groups in (({}, None), ({"records_per_person": 1}, WHO)):
        model = build(name, variant="published", **parameters)
        with pytest.raises(ConfigurationError, match="protects nobody"):
            model.fit(X, Y, groups=groups)


def test_a_ledger_of_persons_counts_fits_questions_searches_and_curators():
    ledger = hr.Ledger(8, 1e-5, records_per_person=2, person="id")
    who = pd.Series(WHO, name="id")
    common = {"groups": who, "records_per_person": 2, "ledger": ledger}
    with pytest.warns(
        UserWarning, match="no range is promised"
    ):  # a number from 0 to 1 has few cells of the first grid
        schema = hr.private_schema(X, Y, epsilon=2, delta=1e-6, numeric=["a"], categorical=["c"], **common)
    model = build(schema=schema, epsilon=1, ledger=ledger, random_state=None).fit(X, Y, groups=who)
    card = hr.evaluate(model, X, Y, epsilon=1, **common)
    search = hr.PrivateSearchCV(
        hr.EDPRFClassifier(schema=schema), {"max_depth": [1, 2]}, epsilon=2, records_per_person=2, ledger=ledger
    ).fit(X, Y, groups=who)
    curator = hr.Curator(X, Y, schema, 1, **common)
    asked = (schema, model, card, search, search.best_estimator_)
    certificates = [*(one.certificate_ for one in asked), curator.certificate]
    assert all(one.holds and one.unit.person == "id" and one.unit.records == 2 for one in certificates)
    assert (ledger.spent, len(ledger.entries)) == (7, 5)
    with pytest.raises(BudgetExceeded, match="identified by column 'id'"):
        build(epsilon=1, ledger=ledger).fit(X, Y, groups=WHO)  # without a name


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_search_spends_no_more_on_a_person(adjacency):
    search = hr.PrivateSearchCV(
        hr.EDPRFClassifier(schema=SCHEMA),
        {"max_depth": [1, 2]},
        epsilon=6,
        adjacency=adjacency,
        records_per_person=3,
    ).fit(X, Y, groups=WHO)
    for certificate in (search.certificate_, search.best_estimator_.certificate_):
        assert certificate.holds
        assert certificate.claim.records_per_person == 3
    assert search.certificate_.spent <= 6


@pytest.fixture
def read(monkeypatch):
    """Which records count in each table that is made, and of which part of all persons it is."""
    from hedgerow.table.reading import Keep

    found, of = [], Keep.of

    def kept(self, counted):
        found.append((self.part, of(self, counted)))
        return found[-1][1]

    monkeypatch.setattr(Keep, "of", kept)
    return found


def test_nobody_is_in_two_parts_of_a_search(read):
    """Training and comparing on one person in both parts would cost that person both."""
    search = hr.PrivateSearchCV(
        hr.EDPRFClassifier(schema=SCHEMA),
        {"max_depth": [1, 2, 3]},
        epsilon=6,
        records_per_person=2,
        random_state=3,
    )
    search.fit(X, Y, groups=WHO)
    *parts, (whole, everybody) = read  # the last fit is on all records
    assert whole is None
    splits = {}
    for part, counted in parts:
        splits.setdefault(part.key, {})[part.first, part.stop] = counted
    assert len(splits) == 1
    for shares in splits.values():
        assert len(shares) == 4
        persons = [set(WHO[counted]) for counted in shares.values()]
        assert sum(map(len, persons)) == len(set.union(*persons)) == len(set(WHO))
        assert np.array_equal(sum(shares.values()), everybody)  # the same records of a person wherever it is
        assert np.bincount(WHO[everybody]).max() == 2
    assert "every person is in one part" in search.certificate_.details()


def test_a_curator_counts_persons_and_so_do_learners_that_ask_it():
    curator = hr.Curator(X, Y, SCHEMA, 4, groups=WHO, records_per_person=2, random_state=0)
    persons = np.minimum(np.bincount(WHO), 2).sum()
    assert abs(int(curator.count(curator.root, 2)[0]) - persons) < 40
    assert curator.spent == 2
    model = hr.EDPRFClassifier(epsilon=1).fit_curator(curator)
    assert model.certificate_.claim.records_per_person == 2
    assert model.certificate_.person == ""
    assert curator.remaining == 1
    with pytest.raises(ConfigurationError, match="records_per_person must be left out"):
        hr.EDPRFClassifier(epsilon=1, records_per_person=3).fit_curator(curator)
    with pytest.raises(BudgetExceeded):
        curator.count(curator.root, 1.01)


@pytest.mark.filterwarnings("ignore:this report card protects")
def test_a_report_card_of_persons_has_wider_intervals_for_a_population():
    model = build().fit(X, Y)  # a person with at most two records, by promise
    cards = [hr.evaluate(model, X, Y, epsilon=500 * k, records_per_person=k, random_state=0) for k in (1, 4)]
    widths = [np.ptp(card.interval("accuracy")) for card in cards]
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.1)  # records of one person may be all alike
    assert np.ptp(cards[1].interval("accuracy", sampling=False)) < widths[0]


def test_a_plan_says_what_a_person_costs():
    outlook = hr.plan(SCHEMA, records=5000, epsilon=1, system="edprf", records_per_person=4)
    one = hr.plan(SCHEMA, records=5000, epsilon=0.25, system="edprf")
    assert [step.noise for step in outlook.steps] == pytest.approx([step.noise for step in one.steps])
    assert "for one person added or removed, with at most 4 records" in str(outlook)


@pytest.mark.parametrize("wrong", [WHO[:-1], "who", np.ones((COUNT, 2))])
def test_wrong_groups_are_refused_before_anything_is_booked(wrong):
    ledger = hr.Ledger(9, records_per_person=2)
    for ask in (
        lambda: build(ledger=ledger).fit(X, Y, groups=wrong),
        lambda: hr.Curator(X, Y, SCHEMA, 1, groups=wrong, records_per_person=2, ledger=ledger),
        lambda: hr.private_schema(
            X,
            epsilon=1,
            delta=0.01,
            numeric=["a"],
            categorical=["c"],
            classes=[0, 1],
            groups=wrong,
            records_per_person=2,
            ledger=ledger,
        ),
    ):
        with pytest.raises(ConfigurationError, match="groups"):
            ask()
    assert ledger.spent == 0


@given(cells=st.lists(CELLS, min_size=8, max_size=8))
@settings(max_examples=40)
def test_odd_ids_raise_nothing_and_move_no_other_persons_records(cells):
    """A fit with odd ids is that with plain ones in their place: nothing of a cell but which others it equals plays a part."""
    texts = [person_text(cell) for cell in cells]
    plain = [None if text is None else f"p{texts.index(text)}" for text in texts]
    records, labels = X[:8], Y[:8]
    odd = build("random-trees", records_per_person=1).fit(records, labels, groups=object_array(cells, 8))
    assert bits(odd) == bits(build("random-trees", records_per_person=1).fit(records, labels, groups=plain))


def test_a_value_that_one_person_alone_holds_is_shown_as_rarely_as_said():
    """Persons of up to five records, of which two count: one holds a value five times, one holds two values."""
    who = ["a"] * 5 + ["b"] * 2 + [f"c{i}" for i in range(60)]
    column = {"v": ["five"] * 5 + ["one", "other"] + ["many"] * 60}
    runs, delta, shown = 500, 0.2, {"five": 0, "one": 0, "other": 0, "both": 0}
    for seed in range(runs):
        made = hr.private_schema(
            column,
            epsilon=1,
            delta=delta,
            categorical=["v"],
            classes=[0, 1],
            groups=who,
            records_per_person=2,
            random_state=seed,
        )
        found = set(made.features["v"].values)
        for value in ("five", "one", "other"):
            shown[value] += value in found
        shown["both"] += bool(found & {"one", "other"})
    law = PassesThreshold(Geometric(Fraction(1, 2)), Fraction(delta), 2).law
    for value, chance in (("five", law(2)[1]), ("one", law(1)[1]), ("other", law(1)[1])):
        assert abs(shown[value] / runs - chance) <= 4 * math.sqrt(chance * (1 - chance) / runs)
    assert max(shown["five"], shown["both"]) / runs <= delta + 4 * math.sqrt(delta / runs)
    assert law(5)[1] > 2 * delta  # the planted bug: all of a person's records counted


def test_records_of_nobody_make_a_fit_and_no_error():
    for groups in ([None] * COUNT, [float("nan")] * COUNT):
        assert build(random_state=None).fit(X, Y, groups=groups).certificate_.holds
