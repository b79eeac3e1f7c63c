"""Persons whose records lie in several blocks and partitions: the same bits as in memory, and nothing of ids anywhere."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from products import thinned
from random_records import CASES, estimator, random_batches, random_records, saved

import hedgerow as hr
from hedgerow.audit import check_model
from hedgerow.engines import encode, local
from hedgerow.errors import ConfigurationError, EngineError, SchemaError
from hedgerow.schema import Encoder
from hedgerow.table import Coded, keep_of

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")

IDS = ["p-1", "p-2", 3, "3", 4.0, None, "", "secret-person", "p-9"]


@pytest.fixture
def small(monkeypatch):
    """Partitions of a few records, of which few are looked at together."""
    monkeypatch.setattr(local, "MOST_ROWS", 37)
    monkeypatch.setattr(local, "FEWEST_ROWS", 37)
    monkeypatch.setattr(encode, "FEWEST_AT_ONCE", 50)


def persons_of(count, seed=0):
    rng = np.random.default_rng(seed)
    ids = np.empty(count, dtype=object)
    ids[:] = [IDS[i] for i in rng.integers(0, len(IDS), count)]
    return np.where(rng.random(count) < 0.5, rng.integers(100, 160, count).astype(object), ids)


def records(X, y, who, seed=1, **options):
    batches = random_batches(X.assign(who=who), y, np.random.default_rng(seed))
    return hr.Records.from_batches(lambda: iter(batches), label="label", group="who", **options)


@pytest.mark.parametrize("case", thinned(CASES, 3))
@pytest.mark.usefixtures("small")
def test_every_private_form_gives_the_same_bits_from_partitions(case, tmp_path):
    schema, X, y = random_records(11)
    who = persons_of(len(X))
    whole = estimator(case, schema, records_per_person=3).fit(X, y, groups=pd.Series(who, name="who"))
    parts = estimator(case, schema, records_per_person=3).fit(records(X, y, who))
    assert saved(whole, tmp_path / "whole") == saved(parts, tmp_path / "parts")
    assert parts.certificate_.person == "who"
    other = estimator(case, schema, records_per_person=3).fit(X, y)
    assert saved(other, tmp_path / "other") != saved(whole, tmp_path / "whole")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.usefixtures("small")
def test_files_give_the_same_bits(kind, tmp_path):
    schema, X, y = random_records(5)
    who = np.random.default_rng(3).integers(0, 60, len(X))
    frame = X.assign(label=y.to_numpy(), who=who)
    half = len(X) // 2
    for place, part in enumerate((frame[:half], frame[half:])):
        path = tmp_path / f"part-{place}.{kind}"
        part.to_csv(path, index=False) if kind == "csv" else part.to_parquet(path)
    read = hr.Records.from_csv if kind == "csv" else hr.Records.from_parquet
    model = estimator("edprf", schema, records_per_person=2)
    whole = saved(model.fit(X, y, groups=pd.Series(who, name="who")), tmp_path / "whole")
    assert saved(model.fit(read(tmp_path / f"part-*.{kind}", "label", group="who")), tmp_path / "parts") == whole


@pytest.mark.usefixtures("small")
def test_codes_on_disk_give_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr("hedgerow.engines.local.Spill.take", lambda self, size: False)
    schema, X, y = random_records(7)
    who = persons_of(len(X))
    model = estimator("forest", schema, records_per_person=2)
    found = saved(model.fit(records(X, y, who, spill=tmp_path)), tmp_path / "parts")
    assert found == saved(model.fit(X, y, groups=pd.Series(who, name="who")), tmp_path / "whole")
    assert not list(tmp_path.glob("hedgerow-spill-*"))


@pytest.mark.usefixtures("small")
def test_a_curator_reads_persons_in_partitions():
    schema, X, y = random_records(5)
    who = np.random.default_rng(3).integers(0, 40, len(X))
    curator = hr.Curator(records(X, y, who), None, schema, 50, records_per_person=2)
    labelled = np.bincount(who[[label is not None for label in y]], minlength=40)
    assert abs(int(curator.count(curator.root, 50)[0]) - np.minimum(labelled, 2).sum()) < 8


@pytest.mark.usefixtures("small")
def test_ids_stay_where_they_are(tmp_path):
    schema, X, y = random_records(5)
    who = persons_of(len(X))
    given = records(X, y, who)
    model = estimator("edprf", schema, records_per_person=2).fit(given)
    model.save(tmp_path / "m")
    texts = [
        model.certificate_.details(),
        repr(model),
        repr(given),
        repr(keep_of(given.groups_by(schema), 2, hr_randomness())),
    ]
    for text in (*map(str.encode, texts), pickle.dumps(model), (tmp_path / "m").read_bytes()):
        assert b"secret-person" not in text
    assert not [
        finding for finding in check_model(tmp_path / "m") if finding.refuted and finding.attack != "certificate"
    ]
    table = given.read(Coded(Encoder(schema, 4)), keep_of(given.groups_by(schema), 2, hr_randomness()))
    assert all(set(part.arrays) == {"codes", "labels"} for part in table._engine._partitions)
    table.close()


def hr_randomness():
    from hedgerow.mechanisms import Randomness

    return Randomness(0)


def test_other_persons_in_a_source_that_was_read_before_are_noticed():
    """Codes and classes are as before; that a record is another person's would bring other records in."""
    schema, X, y = random_records(5)
    who = np.arange(len(X))

    def changed(names):
        together = X.assign(label=y.to_numpy(), who=names)
        yield together

    passes = iter([who, who, who[::-1]])
    given = hr.Records.from_batches(lambda: changed(next(passes)), label="label", group="who")
    model = estimator("edprf", schema, records_per_person=2)
    model.fit(given)
    model.fit(given)
    with pytest.raises(EngineError, match="not those that were read before"):
        model.fit(given)


@pytest.mark.parametrize("kind", ["other order", "fewer", "more"])
@pytest.mark.filterwarnings("ignore:no value", "ignore:delta is")
def test_values_are_of_the_persons_that_were_told_apart(kind):
    """Values are read twice: first who counts, then what; if the order differed, all records of one person could count."""
    who = np.repeat(np.arange(100), 10)
    other = {"other order": np.sort(who % 10), "fewer": who, "more": who}[kind]
    batches = [[pd.DataFrame({"c": "x", "label": "no", "who": ids})] for ids in (who, other)]
    batches[1] = {"fewer": [], "more": batches[1] * 2}.get(kind, batches[1])
    passes = iter(batches)
    given = hr.Records.from_batches(lambda: iter(next(passes)), label="label", group="who")
    ledger = hr.Ledger(9, 0.1, records_per_person=2)
    with pytest.raises(EngineError, match="not those that were read before"):
        hr.private_schema(
            given,
            epsilon=9,
            delta=0.01,
            categorical=["c"],
            classes=["no", "yes"],
            records_per_person=2,
            ledger=ledger,
        )
    assert ledger.entries[0].state == "failed"


def test_what_is_refused_before_anything_is_booked():
    schema, X, y = random_records(5)
    who = persons_of(len(X))
    ledger = hr.Ledger(9, records_per_person=2)
    model = estimator("edprf", schema, records_per_person=2, ledger=ledger)
    with pytest.raises(ConfigurationError, match="name the column by group="):
        model.fit(records(X, y, who), groups=who)
    lacking = hr.Records.from_batches([X.assign(label=y.to_numpy())], label="label", group="who")
    with pytest.raises(SchemaError, match="no column 'who', which label=, group= or drop= names"):
        model.fit(lacking)
    for wrong in ("label", 5):
        with pytest.raises(ConfigurationError, match="group is"):
            hr.Records.from_batches([X], label="label", group=wrong)
    with pytest.raises(ConfigurationError, match=r"takes no hr\.Records|protects nobody"):
        model.set_params(variant="published").fit(records(X, y, who))
    assert ledger.spent == 0


@pytest.mark.usefixtures("small")
@pytest.mark.filterwarnings("ignore:no range is promised", "ignore:delta is")
def test_schemas_report_cards_and_searches_read_the_same_persons_in_partitions():
    rng, count = np.random.default_rng(2), 400
    X = pd.DataFrame({"n": rng.uniform(0, 99, count), "c": rng.choice(["x", "y", "rare"], count, p=[0.5, 0.45, 0.05])})
    y = pd.Series(np.where(X["n"] > 50, "yes", "no"))
    who = rng.integers(0, 120, count)
    given, column = records(X, y, who), pd.Series(who, name="who")
    common = {"records_per_person": 2, "random_state": 5}
    asked = {"epsilon": 30, "delta": 0.01, "numeric": ["n"], "categorical": ["c"], **common}
    whole, parts = hr.private_schema(X, y, groups=column, **asked), hr.private_schema(given, **asked)
    assert whole.to_dict() == parts.to_dict()
    assert whole.ranges_ == parts.ranges_
    assert 200 < whole.ranges_["n"].records < 241  # of 400: two of each person
    assert (whole.person, whole.records_per_person) == ("who", 2)
    model = hr.EDPRFClassifier(epsilon=9, schema=whole, random_state=0).fit(X.assign(who=who), y)
    cards = [
        hr.evaluate(model, *data, epsilon=9, groups=groups, **common)
        for data, groups in (((X, y), column), ((given,), None))
    ]
    assert np.array_equal(cards[0].counts, cards[1].counts)
    assert cards[1].certificate_.person == "who"
    grid = {"max_depth": [1, 3]}
    found = [
        hr.PrivateSearchCV(hr.EDPRFClassifier(schema=whole), grid, epsilon=9, **common).fit(*data, groups=groups)
        for data, groups in (((X, y), column), ((given,), None))
    ]
    assert found[0].best_params_ == found[1].best_params_
    first, second = (one.best_estimator_.model_.to_arrays() for one in found)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert found[1].certificate_.person == "who"


def test_the_column_of_the_labels_cannot_say_who_records_are_of():
    """Everybody with one label would be one person."""
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"], target="y")
    records = hr.Records.from_batches([{"a": [0.5], "y": ["no"]}], group="y")
    with pytest.raises(ConfigurationError, match="names persons"):
        hr.EDPRFClassifier(schema=schema).fit(records)
