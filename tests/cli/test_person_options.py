"""--person and --records-per-person: from the released schema to the report, under one ledger of persons."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr

PERSON = ("--person", "id", "--records-per-person", "3")
TRAIN = tuple("train visits.csv --schema visits.toml --epsilon 1 --out m.h --force".split())
HOLDOUT = ("--holdout", "0.3", "--holdout-epsilon", "1")

pytestmark = pytest.mark.filterwarnings("ignore:no range is promised", "ignore:the noisy number of records")


@pytest.fixture
def visits(folder):
    """Records of persons who come several times, as CSV, in two files and as Parquet; and a ledger of persons."""
    rng, count = np.random.default_rng(0), 3000
    age = rng.integers(18, 90, count)
    frame = pd.DataFrame({"age": age, "who": rng.choice(["a", "b"], count), "id": rng.integers(0, 900, count)})
    frame["ill"] = np.where(age > 50, "yes", "no")
    frame.to_csv("visits.csv", index=False)
    frame[:1000].to_csv("part-1.csv", index=False)
    frame[1000:].to_csv("part-2.csv", index=False)
    frame.to_parquet("visits.parquet")
    schema = hr.Schema(
        {"age": hr.Integer(18, 90), "who": hr.Categorical(["a", "b"])}, classes=["no", "yes"], target="ill"
    )
    schema.save("visits.toml")
    return folder


def test_one_ledger_from_the_schema_to_the_report(visits, run):
    where = ("--ledger", "b.db", "--dataset", "d")
    assert run("budget", "create", *where, "--epsilon", "4", "--delta", "1e-5", *PERSON).exit_code == 0
    release = "--target ill --numeric age --categorical who --epsilon 1 --delta 1e-6 --out s.toml".split()
    for command in (
        ("schema", "release", "visits.csv", *release),
        (*TRAIN, "--schema", "s.toml", *HOLDOUT),
        ("evaluate", "m.h", "visits.csv", "--epsilon", "1"),
    ):
        result = run(*command, *where, *PERSON)
        assert result.exit_code == 0, result.output
        assert "one person added or removed, of whom at most 3 records count" in result.stdout
        assert "holds      yes" in result.stdout
    ledger = hr.LedgerStore("b.db").ledger("d")
    assert (ledger.spent, ledger.ceiling.person, ledger.ceiling.records_per_person) == (4, "id", 3)
    ledger.store.verify("d")
    assert "a person identified by column 'id', with at most 3 records" in run("budget", "show", *where).stdout
    options = ("--schema", "s.toml", "--epsilon", "1", "--out", "n.h", "--records-per-person", "2")
    refused = run("train", "visits.csv", *options, *where)
    assert refused.exit_code == 3
    assert "Fit for that" in refused.output


def test_streams_of_files_and_columns_in_memory_give_the_same_model(visits, run):
    for data in ("visits.csv", "visits.parquet", "part-*.csv"):
        options = "--schema visits.toml --epsilon 2 --system edprf --param random_state=1 --force --out m.h".split()
        assert run("train", data, *options, *PERSON).exit_code == 0
        model = hr.load("m.h")
        frame = pd.read_csv("visits.csv")
        same = hr.EDPRFClassifier(epsilon=2, schema=model.schema_, records_per_person=3, random_state=1)
        same.fit(frame[["age", "who"]], frame["ill"], groups=frame["id"])
        assert same.certificate_ == model.certificate_
        assert np.array_equal(same.predict_proba(frame[["age", "who"]]), model.predict_proba(frame[["age", "who"]]))


def test_the_promise_needs_no_column(visits, run):
    pd.read_csv("visits.csv").drop(columns="id").to_csv("visits.csv", index=False)
    result = run(*TRAIN, *PERSON[2:])
    assert result.exit_code == 0, result.output
    assert "promises that no person has more than 3 records" in result.stdout
    outlook = run(*"plan --schema visits.toml --records 3000 --epsilon 1".split(), *PERSON[2:])
    assert "with at most 3 records" in outlook.stdout


def test_a_schema_is_checked_beside_the_column_of_persons(visits, run):
    check = ("schema", "check", "visits.csv", "--schema", "visits.toml")
    refused = run(*check)
    assert refused.exit_code == 2
    assert "--person names a column of persons" in refused.output
    assert run(*check, "--person", "id").exit_code == 0
    lacking = run(*check, "--person", "nobody")
    assert lacking.exit_code == 2
    assert "lacks the column 'nobody'" in lacking.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "has the column 'id', which the schema does not declare"),
        ((), "--person names a column of persons"),
        (("--person", "nobody"), "lacks the column 'nobody'"),
        (("--person", "age"), "nothing is learned from ids"),
        (("--person", "ill"), "nothing is learned from ids"),
        (("--person", "id", "--records-per-person", "0"), "--records-per-person"),
        (("--person", "id", "--param", "records_per_person=2"), "has no parameter 'records_per_person' for --param"),
    ],
)
def test_wrong_options(visits, run, options, words):
    result = run(*TRAIN, "--system", "edprf", *options)
    assert result.exit_code == 2
    assert words in result.output


def test_a_holdout_says_what_a_person_pays_for_both_parts(visits, run):
    assert "so no person pays for both" in " ".join(run(*TRAIN, *HOLDOUT, *PERSON).stdout.split())
    pd.read_csv("visits.csv").drop(columns="id").to_csv("visits.csv", index=False)
    promised = " ".join(run(*TRAIN, *HOLDOUT, *PERSON[2:]).stdout.split())
    assert "a person of several lines may pay for both: the two add up" in promised


def test_a_schema_that_names_persons_is_all_that_commands_need(visits, run):
    schema = hr.Schema.load("visits.toml").replace(person="id", records_per_person=3)
    schema.save("persons.toml")
    common = ("--schema", "persons.toml", "--epsilon", "1", "--force", "--out", "m.h")
    for command in (
        ("train", "visits.csv", *common),
        ("train", "visits.parquet", *common, *HOLDOUT),
        ("search", "visits.csv", *common, "--try", "max_bins=8,16"),
        ("evaluate", "m.h", "visits.csv", "--epsilon", "1"),
        ("evaluate", "m.h", "part-*.csv", "--epsilon", "1", "--person", "id"),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.output
        assert "for one person added or removed, of whom at most 3 records count" in result.stdout
    assert hr.load("m.h").schema_ == schema
    assert run("schema", "check", "visits.csv", "--schema", "persons.toml").exit_code == 0
    outlook = run("plan", "--schema", "persons.toml", "--records", "3000", "--epsilon", "1")
    assert "of whom at most 3 records count" in outlook.stdout
    assert run("predict", "m.h", "visits.csv").exit_code == 0


@pytest.mark.parametrize("command", ["train", "evaluate", "schema check"])
def test_another_column_of_persons_than_the_schemas_is_refused(visits, run, command):
    hr.Schema.load("visits.toml").replace(person="id").save("persons.toml")
    train = ("train", "visits.csv", "--schema", "persons.toml", "--epsilon", "1", "--out", "m.h")
    assert run(*train).exit_code == 0
    commands = {
        "train": (*train, "--force"),
        "evaluate": ("evaluate", "m.h", "visits.csv", "--epsilon", "1"),
        "schema check": ("schema", "check", "visits.csv", "--schema", "persons.toml"),
    }
    result = run(*commands[command], "--person", "who")
    assert result.exit_code == 2
    assert "'id' tells persons apart. Leave --person out" in result.output


def test_schema_check_counts_persons_and_what_a_fit_leaves_out(visits, run):
    hr.Schema.load("visits.toml").replace(person="id", records_per_person=2).save("persons.toml")
    frame = pd.read_csv("visits.csv", dtype=str)
    frame.loc[:9, "id"] = "NA"
    frame.to_csv("visits.csv", index=False)
    sizes = frame["id"][10:].value_counts()
    check = ("schema", "check", "visits.csv", "--schema", "persons.toml")
    assert json.loads(run(*check, "--json").stdout)["persons"] == {
        "persons": len(sizes),
        "most_records": sizes.max(),
        "without_id": 10,
        "beyond": (sizes - 2).clip(lower=0).sum(),
    }
    page = run(*check).stdout
    assert (
        f"persons: {len(sizes)} with up to {sizes.max()} records each; a fit leaves out 10 records without an id"
        in page
    )
    assert (
        json.loads(run("schema", "check", "visits.csv", "--schema", "visits.toml", "--json").stdout)["persons"] is None
    )
    X = frame.drop(columns="ill")
    assert hr.Schema.load("persons.toml").check(X, frame["ill"]).records == len(frame)
