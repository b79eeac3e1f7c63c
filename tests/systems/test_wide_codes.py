"""More declared values than 16 bits can number: no code is taken for one that is 65 536 lower."""

from __future__ import annotations

import numpy as np
import pytest
from products import thinned

import hedgerow as hr
from hedgerow.systems import system_class

VALUES = [f"v{code}" for code in range(70_000)]
SCHEMA = hr.Schema({"wide": hr.Categorical(VALUES)}, classes=["low", "high"])
FORMS = [  # one of each way to hold tests and branches
    ("forest", "private", {}),
    ("hedgerow", "private", {"n_estimators": 3}),
    ("forest", "private", {"candidates": "multiway", "max_depth": 1}),
    ("edprf", "published", {"n_estimators": 2, "max_depth": 1}),
    ("pfdpdt", "published", {}),
    ("dpada", "private", {"n_estimators": 3}),
]


@pytest.mark.parametrize(("name", "variant", "parameters"), thinned(FORMS, 6))
def test_codes_of_17_bits_are_told_from_those_of_16(name, variant, parameters, tmp_path):
    code = np.repeat([5, 5 + 2**16], 1000)
    X = {"wide": np.array(VALUES, dtype=object)[code]}
    y = np.where(code > 2**16, "high", "low")
    if variant != "private":
        parameters = {**parameters, "variant": variant}
    model = system_class(name)(epsilon=200.0, schema=SCHEMA, random_state=0, **parameters).fit(X, y)
    assert (model.predict(X) == y).all()
    if variant == "published":
        return
    model.save(tmp_path / "model")
    loaded = hr.load(tmp_path / "model")
    ends = {"wide": [VALUES[0], VALUES[-1], "undeclared", None]}
    assert np.array_equal(loaded.predict_proba(ends), model.predict_proba(ends))
    assert (loaded.predict(X) == y).all()


@pytest.mark.parametrize("name", ["edprf", "pfdpdt", "tpdprf"])
def test_a_branch_for_each_of_many_values_twice_is_refused_before_anything_is_booked(name):
    ledger = hr.Ledger(epsilon=10.0)
    with pytest.raises(hr.errors.ConfigurationError, match=r"need a table of \d+ GiB below their first test"):
        system_class(name)(schema=SCHEMA, ledger=ledger).fit({"wide": VALUES[:5]}, ["low"] * 5)
    assert ledger.entries == ()
