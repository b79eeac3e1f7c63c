"""Why an entry is public: files keep it, certificates and cards show it, and it changes no fit."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.plots import Page
from hedgerow.plots.card import write_card

TOML = """\
target = "ill"
classes = ["no", "yes"]
classes_reason = "the question of form 3"

[features.age]
type = "integer"
low = 18
high = 110
reason = "adults, by law"

[features.smoker]
values = ["yes", "no"]

[features.since]
type = "date"
low = "2020-01-01"
high = "2020-12-31"
reason = "the year of the study"
"""
REASONS = {"age": "adults, by law", "since": "the year of the study", "classes": "the question of form 3"}


def fitted(schema, seed=None):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 2000)
    X = {"age": age, "smoker": rng.choice(["yes", "no"], 2000), "since": ["2020-03-01"] * 2000}
    return hr.EDPRFClassifier(schema=schema, random_state=seed, n_estimators=2).fit(X, np.where(age > 50, "yes", "no"))


def test_files_and_copies_keep_them(tmp_path):
    schema = hr.Schema.from_toml(TOML)
    assert schema.reasons == REASONS
    schema.save(tmp_path / "s.toml")
    for again in (
        hr.Schema.load(tmp_path / "s.toml"),
        hr.Schema.from_dict(schema.to_dict()),
        copy.deepcopy(schema),
        pickle.loads(pickle.dumps(schema)),
        schema.replace(missing=["?"]).replace(missing=[]),
        schema.cut_at({}),
    ):
        assert again == schema
        assert again.reasons == REASONS
    assert schema.replace(classes=["no", "yes", "maybe"]).reasons.keys() == {"age", "since"}
    outcome = hr.Schema({"a": hr.Boolean(reason="x")}, outcome=hr.Numeric(0, 9, reason="the scale of the test"))
    assert hr.Schema.from_toml(outcome.to_toml()).reasons == {"a": "x", "outcome": "the scale of the test"}


def test_certificates_cards_and_model_files_show_them(tmp_path):
    schema = hr.Schema.from_toml(TOML)
    model = fitted(schema)
    model.save(tmp_path / "m.hedgerow")
    for one in (model, hr.load(tmp_path / "m.hedgerow")):
        assert one.certificate_.holds
        assert one.certificate_ == model.certificate_
        page = Page("Card")
        write_card(one, page)
        for name, reason in REASONS.items():
            assert f"why public, in the owner's words: {name!r}: {reason}" in one.certificate_.details()
            assert reason in page.html()
    assert hr.Certificate.from_dict(model.certificate_.to_dict()) == model.certificate_


def test_they_change_no_fit_and_no_certificate_without_them():
    schema = hr.Schema.from_toml(TOML)
    plain = hr.Schema.from_toml("\n".join(line for line in TOML.splitlines() if "reason" not in line))
    one, other = fitted(schema, 0), fitted(plain, 0)
    for name, array in one.model_.to_arrays().items():
        assert np.array_equal(array, other.model_.to_arrays()[name])
    assert "public" not in other.certificate_.to_dict()
    assert one.certificate_.digest != other.certificate_.digest


def test_who_confirms_may_say_why():
    with pytest.warns(hr.PrivacyLeakWarning):
        guessed = hr.Schema.infer({"a": np.arange(100), "b": ["x", "y"] * 50}, ["no", "yes"] * 50)
    assert guessed.inferred == ["a", "b", "classes"]
    known = guessed.confirm("a", "classes", reason="form 3").confirm("b")
    assert known.is_given
    assert known.reasons == {"a": "form 3", "classes": "form 3"}


@pytest.mark.parametrize("wrong", ["", "  ", 3, "two\nlines", "x" * 201])
def test_what_is_no_short_text_is_refused(wrong):
    for make in (
        lambda: hr.Numeric(0, 1, reason=wrong),
        lambda: hr.Categorical(["x"], reason=wrong),
        lambda: hr.Boolean(reason=wrong),
        lambda: hr.Date("2020-01-01", "2020-12-31", reason=wrong),
        lambda: hr.Schema({"a": hr.Numeric(0, 1)}, classes=[0, 1], classes_reason=wrong),
    ):
        with pytest.raises(hr.SchemaError, match="reason of an entry"):
            make()
    with pytest.raises(hr.SchemaError, match="classes_reason must be left out"):
        hr.Schema({"a": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 1), classes_reason="x")
