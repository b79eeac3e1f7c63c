"""JSON: what is loaded again, and what any program can score with."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from export_records import FORMS, SCHEMA, fitted, odd_records
from products import thinned

import hedgerow as hr
from hedgerow.audit import check_model

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")


def scored(answers, record):
    """The label and the probabilities of one record, by the words of the rule and by nothing of this library."""
    codes = [code_of(feature, record[feature["name"]]) for feature in answers["features"]]
    sums = [0] * len(answers["classes"])
    for place in answers["roots"]:
        node = answers["nodes"][place]
        while "test" in node:
            test = answers["tests"][node["test"]]
            node = answers["nodes"][node["children"][test["branches"][codes[test["feature"]]]]]
        sums = [sum_ + vote for sum_, vote in zip(sums, node["votes"], strict=True)]
    return answers["classes"][sums.index(max(sums))], shares_of(answers["probabilities"], sums)


def code_of(feature, cell):
    if "edges" in feature:
        if cell != cell or cell in map(float, feature["missing_numbers"]):
            return feature["missing"]
        return sum(float(edge) <= cell for edge in feature["edges"])
    text = cell.strip(" \t\n\r\x0b\x0c")
    if text in feature["texts"]:
        return feature["texts"][text]
    number = {"true": 1.0, "false": 0.0}.get(text.lower())
    if number is None:
        try:
            number = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            number = math.nan
    return {float(key): code for key, code in feature["numbers"]}.get(number, feature["undeclared"])


def shares_of(rule, sums):
    if "total" in rule:
        return [sum_ / rule["total"] for sum_ in sums]
    odds = [math.exp((sum_ - max(sums)) / rule["steps"]) for sum_ in sums]
    shares = [odd / sum(odds) for odd in odds]
    if rule["cap"] is None:
        return shares
    odds = [share * max(1, (1 - share) / rule["cap"]) for share in shares]
    return [odd / sum(odds) for odd in odds]


@pytest.mark.parametrize("name", thinned(FORMS, 3))
def test_load_reads_it_and_other_programs_can_score_with_it(name, tmp_path):
    model = fitted(name)
    text = model.to_json()
    (tmp_path / "model.json").write_text(text, "utf-8")
    loaded = hr.load(tmp_path / "model.json")
    X = odd_records(model, 1000)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.certificate_ == model.certificate_
    assert loaded.to_json() == text
    answers = json.loads(text)["answers"]
    records = [{column: cells[i] for column, cells in X.items()} for i in range(300)]
    found = [scored(answers, record) for record in records]
    few = {column: cells[:300] for column, cells in X.items()}
    assert [label for label, _ in found] == model.predict(few).tolist()
    np.testing.assert_allclose([shares for _, shares in found], model.predict_proba(few), rtol=0, atol=1e-9)


def test_a_file_of_it_saves_as_the_same_model(tmp_path):
    model = fitted("hedgerow")
    (tmp_path / "model.json").write_text("\n " + model.to_json(), "utf-8")
    hr.load(tmp_path / "model.json").save(tmp_path / "again")
    model.save(tmp_path / "model")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert check_model(tmp_path / "again") == []


def test_it_is_readable():
    text = fitted("hedgerow").to_json()
    assert max(map(len, text.splitlines())) < 1200  # the rule is the longest line
    assert text.splitlines()[1:4] == [' "hedgerow": 1,', ' "format": 3,', ' "class": "HedgerowClassifier",']
    assert "votes" in text


def damaged(model, change):
    document = json.loads(model.to_json())
    change(document)
    return json.dumps(document)


def swap_votes(document):
    for node in document["answers"]["nodes"]:
        if "votes" in node:
            node["votes"].reverse()


CHANGES = {
    "votes of the answers": swap_votes,
    "no answers": lambda document: document.pop("answers"),
    "no arrays": lambda document: document.pop("arrays"),
    "arrays are a list": lambda document: document.update(arrays=[]),
    "a type of objects": lambda document: document["arrays"]["test"].update(dtype="object"),
    "a fraction among integers": lambda document: document["arrays"]["test"]["values"].__setitem__(0, 0.5),
    "a truth value among integers": lambda document: document["arrays"]["test"]["values"].__setitem__(0, True),
    "a number too large": lambda document: document["arrays"]["test"]["values"].__setitem__(0, 2**70),
    "a shape of another size": lambda document: document["arrays"]["test"].update(shape=[1, 2]),
    "a negative size": lambda document: document["arrays"]["test"].update(shape=[-1]),
    "a text for values": lambda document: document["arrays"]["test"].update(values="abc"),
    "another format": lambda document: document.update(format=7),
    "another class": lambda document: document.update({"class": "os"}),
    "another version of the text": lambda document: document.update(hedgerow=2),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_text_is_refused(change, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(damaged(fitted("forest"), CHANGES[change]), "utf-8")
    with pytest.raises(hr.FileFormatError):
        hr.load(path)


def places(value, path=()):
    """Every place of a document."""
    yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*path, key))


@pytest.mark.full
def test_whatever_is_damaged_it_is_refused_or_answers(tmp_path):
    original = fitted("hedgerow")
    text, generator = original.to_json(), np.random.default_rng(0)
    found = [path for path in places(json.loads(text)) if path and path[0] not in ("certificate",)]
    X, refused = odd_records(original, 20), 0
    for _ in range(150):
        document = json.loads(text)
        path = found[generator.integers(len(found))]
        owner = document
        for key in path[:-1]:
            owner = owner[key]
        odd = [None, -1, 2**63, 1e308, "", "x", [], {}, True, 0.5, [[1]], -(2**70)]
        owner[path[-1]] = odd[generator.integers(len(odd))]
        (tmp_path / "model.json").write_text(json.dumps(document), "utf-8")
        try:
            shares = hr.load(tmp_path / "model.json").predict_proba(X)
        except hr.FileFormatError:
            refused += 1
            continue
        assert np.isfinite(shares).all()
    assert refused > 100


def test_what_is_too_large_is_neither_written_nor_read(monkeypatch, tmp_path):
    model = fitted("forest")
    (tmp_path / "model.json").write_text(model.to_json(), "utf-8")
    monkeypatch.setattr("hedgerow.export.json_text.MOST_VALUES", 10)
    with pytest.raises(hr.ConfigurationError, match=r"use model\.save"):
        model.to_json()
    with pytest.raises(hr.FileFormatError, match="no model that to_json writes"):
        hr.load(tmp_path / "model.json")


def test_what_is_not_changed_is_accepted(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(damaged(fitted("forest"), lambda document: None), "utf-8")
    assert hr.load(path).certificate_ == fitted("forest").certificate_


@pytest.mark.parametrize("text", ["{", "{}", '{"hedgerow": 1}', '{"a": 1e999}', "{" * 1000, '{"a": 1, "a": 2}'])
def test_what_is_no_model_is_refused(text, tmp_path):
    (tmp_path / "model.json").write_text(text, "utf-8")
    with pytest.raises(hr.FileFormatError):
        hr.load(tmp_path / "model.json")


def test_more_bytes_than_are_allowed_are_refused(tmp_path):
    (tmp_path / "model.json").write_text(fitted("forest").to_json(), "utf-8")
    with pytest.raises(hr.FileFormatError, match="max_bytes"):
        hr.load(tmp_path / "model.json", max_bytes=1000)


def test_infinite_markers_stand_as_text(tmp_path):
    schema = SCHEMA.replace(missing=["inf", "-inf", "x"])
    X = odd_records(fitted("forest"), 300)
    model = hr.ForestClassifier(schema=schema).fit(X, ["no", "yes", "no"] * 100)
    (tmp_path / "model.json").write_text(model.to_json(), "utf-8")
    np.testing.assert_array_equal(hr.load(tmp_path / "model.json").predict_proba(X), model.predict_proba(X))
    answers = json.loads(model.to_json())["answers"]
    found = [scored(answers, {column: cells[i] for column, cells in X.items()})[0] for i in range(300)]
    assert found == model.predict(X).tolist()
