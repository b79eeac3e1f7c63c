"""A schema that names the column of persons: every fit and question finds it, and protects persons without being told again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import ConfigurationError, SchemaError

RNG = np.random.default_rng(4)
COUNT = 300
FRAME = pd.DataFrame({"a": RNG.uniform(0, 1, COUNT), "who": [f"S-{i:02d}" for i in RNG.integers(0, 90, COUNT)]})
Y = np.where(FRAME["a"] > 0.5, "yes", "no")
PLAIN = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"], target="y")
SCHEMA = PLAIN.replace(person="who", records_per_person=2)

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records", "ignore:no range is promised")


def bits(model):
    return {name: array.tobytes() for name, array in model.model_.to_arrays().items()}


def told():
    """A fit that is told everything, without a word of the schema."""
    model = hr.EDPRFClassifier(schema=PLAIN, records_per_person=2, random_state=0)
    return model.fit(FRAME[["a"]], Y, groups=FRAME["who"])


@pytest.mark.parametrize(
    "kind",
    [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas, lambda X: dict(X.items())],
    ids=["pandas", "polars", "arrow", "dict"],
)
def test_a_frame_with_the_column_gives_the_model_of_groups(kind):
    model = hr.EDPRFClassifier(schema=SCHEMA, random_state=0).fit(kind(FRAME), Y)
    assert bits(model) == bits(told())
    assert (model.certificate_.person, model.certificate_.records_per_person) == ("who", 2)
    assert np.array_equal(model.predict_proba(kind(FRAME)), told().predict_proba(FRAME[["a"]]))
    assert model.n_features_in_ == 1


@pytest.mark.parametrize("groups", [FRAME["who"], FRAME["who"].to_numpy(), FRAME["who"].tolist()])
def test_groups_may_come_beside_records_without_the_column(groups):
    model = hr.EDPRFClassifier(schema=SCHEMA, random_state=0).fit(FRAME[["a"]], Y, groups=groups)
    assert bits(model) == bits(told())
    assert model.certificate_.person == "who"


def test_records_of_files_and_batches_find_the_column(tmp_path):
    FRAME.assign(y=Y).to_csv(tmp_path / "visits.csv", index=False)
    for records in (
        hr.Records.from_csv(tmp_path / "visits.csv"),
        hr.Records.from_csv(tmp_path / "visits.csv", group="who"),
        hr.Records.from_batches([FRAME.assign(y=Y)]),
    ):
        model = hr.EDPRFClassifier(schema=SCHEMA, random_state=0).fit(records)
        assert bits(model) == bits(told())
        assert model.certificate_.person == "who"


def test_a_model_file_keeps_what_the_schema_says_of_persons(tmp_path):
    model = hr.HedgerowClassifier(schema=SCHEMA).fit(FRAME, Y)
    model.save(tmp_path / "m")
    again = hr.load(tmp_path / "m")
    assert again.schema_ == SCHEMA
    assert again.certificate_ == model.certificate_
    assert np.array_equal(again.decision_function(FRAME), model.decision_function(FRAME[["a"]]))
    assert np.array_equal(again.explain(FRAME).contributions, model.explain(FRAME[["a"]]).contributions)


def test_cards_searches_curators_and_plans_protect_the_schemas_persons():
    model = hr.EDPRFClassifier(schema=SCHEMA).fit(FRAME, Y)
    card = hr.evaluate(model, FRAME, Y, epsilon=1)
    search = hr.PrivateSearchCV(hr.EDPRFClassifier(schema=SCHEMA), {"max_depth": [1, 2]}).fit(FRAME, Y)
    curator = hr.Curator(FRAME, Y, SCHEMA, 1)
    outlook = hr.plan(SCHEMA, records=300, epsilon=1, system="edprf")
    certificates = (card.certificate_, search.certificate_, search.best_estimator_.certificate_, curator.certificate)
    for certificate in (*certificates, outlook.certificate):
        assert (certificate.person, certificate.records_per_person) == ("who", 2)
    assert str(card).startswith("Report card on about")


def test_a_released_schema_says_who_the_records_were_of():
    kept = {"epsilon": 30, "numeric": ["a"], "classes": ["no", "yes"], "records_per_person": 2, "random_state": 1}
    by_name = hr.private_schema(FRAME, person="who", **kept)
    by_groups = hr.private_schema(FRAME[["a"]], groups=FRAME["who"], **kept)
    assert by_name == by_groups
    assert (by_name.person, by_name.records_per_person) == ("who", 2)
    assert hr.EDPRFClassifier(schema=by_name).fit(FRAME, Y).certificate_.person == "who"


def test_an_estimator_may_read_another_number_of_records_of_each_person():
    model = hr.EDPRFClassifier(schema=SCHEMA, records_per_person=5).fit(FRAME, Y)
    assert (model.certificate_.person, model.certificate_.records_per_person) == ("who", 5)


@pytest.mark.parametrize(
    ("X", "groups", "words"),
    [
        (FRAME[["a"]], None, "'who' tells persons apart, but X has no such column"),
        (FRAME, FRAME["who"], "groups must be left out"),
        (FRAME[["a"]], FRAME["who"].rename("doctor"), "'doctor' was passed"),
    ],
)
def test_a_fit_that_is_not_told_who_records_are_of_is_refused_before_anything_is_booked(X, groups, words):
    ledger = hr.Ledger(9, records_per_person=2)
    with pytest.raises(ConfigurationError, match=words):
        hr.EDPRFClassifier(schema=SCHEMA, ledger=ledger).fit(X, Y, groups=groups)
    assert ledger.spent == 0
    with pytest.raises(ConfigurationError, match="'doctor' was passed"):
        hr.EDPRFClassifier(schema=SCHEMA, ledger=ledger).fit(
            hr.Records.from_batches([FRAME.assign(y=Y)], group="doctor")
        )


def test_toml_holds_the_column_of_persons_beside_the_target():
    assert 'target = "y"\nperson = "who"\nrecords_per_person = 2\n' in SCHEMA.to_toml()
    assert hr.Schema.from_toml(SCHEMA.to_toml()) == SCHEMA != PLAIN
    assert "person='who', records_per_person=2" in repr(SCHEMA)
    assert (PLAIN.person, PLAIN.records_per_person) == (None, 1)


@pytest.mark.parametrize("person", ["a", "y", "", 5, "x" * 1001])
def test_what_is_no_column_of_persons_is_refused(person):
    with pytest.raises(SchemaError, match="person is"):
        PLAIN.replace(person=person)


@pytest.mark.parametrize("records", [0, -1, 1.5, True, "two", 2**31 + 1])
def test_what_is_no_number_of_records_is_refused(records):
    with pytest.raises(SchemaError, match="records_per_person is"):
        PLAIN.replace(records_per_person=records)


def test_a_promise_of_the_owner_stands_at_the_top_of_the_certificate():
    promised = hr.EDPRFClassifier(schema=PLAIN, records_per_person=3).fit(FRAME[["a"]], Y).certificate_
    assert "promise" in "".join(str(promised).splitlines()[2:5])
    assert "owner      promises that no person" in promised.details()
    enforced = hr.EDPRFClassifier(schema=SCHEMA).fit(FRAME, Y).certificate_
    assert "owner      promises" not in enforced.details()
