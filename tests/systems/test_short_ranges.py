"""Ranges of few days, seconds or whole numbers: one bin for each, and the last bin holds the last of them."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from products import thinned

import hedgerow as hr
from hedgerow.curator.released_warnings import column_warnings
from hedgerow.curator.survey import fine_encoder
from hedgerow.schema import Encoder
from hedgerow.systems import system_class

pytestmark = pytest.mark.filterwarnings(
    "ignore:the noisy number of records", "ignore:.*times in this process", "ignore::hedgerow.PrivacyLeakWarning"
)

STEPS = (2, 3, 91, 255, 256)
START = np.datetime64("2024-01-01")
PRIVATE = [info.name for info in hr.list_systems() if "private" in info.variants]


def day(steps):
    return hr.Date(START, START + np.timedelta64(steps - 1, "D"))


def second(steps):
    return hr.Date(f"{START}T00:00:00", str(START.astype("M8[s]") + (steps - 1)))


def whole(steps):
    return hr.Integer(0, steps - 1)


KINDS = {"day": (day, "m8[D]"), "second": (second, "m8[s]"), "whole": (whole, None)}


def column(unit, places):
    return places if unit is None else START.astype(f"M8[{np.datetime_data(unit)[0]}]") + places.astype(unit)


def schema_for(kind, features):
    labels = {"outcome": hr.Numeric(0, 1)} if issubclass(kind, hr.HedgerowRegressor) else {"classes": [0, 1]}
    return hr.Schema(features, **labels)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize(("make", "unit"), KINDS.values(), ids=KINDS)
def test_every_step_has_a_bin_of_its_own(make, unit, steps):
    encoder = fine_encoder(hr.Schema({"a": make(steps)}, [0, 1]))
    codes = encoder.transform({"a": column(unit, np.arange(steps))})[:, 0]
    assert len(np.unique(codes)) == steps if steps < 255 else len(np.unique(codes)) > 150
    cut = encoder.schema.features["a"]
    assert hr.Schema.from_toml(encoder.schema.to_toml()) == encoder.schema
    assert cut.code_label(len(encoder.edges[0]), 255).endswith(cut.edge_label(cut.high))


@pytest.mark.parametrize(("name", "of"), thinned(product(PRIVATE, KINDS), 4))
def test_all_learners_fit_them(name, of, tmp_path):
    kind, (make, unit) = system_class(name), KINDS[of]
    for steps in (2, 91):
        places = np.random.default_rng(0).integers(0, steps, 300)
        X = {name: column(unit, places) for name in "ab"}
        model = kind(epsilon=5, schema=schema_for(kind, {name: make(steps) for name in "ab"}))
        model.fit(X, (places > steps / 2).astype(int)).save(tmp_path / "m")
        assert np.array_equal(hr.load(tmp_path / "m").predict(X), model.predict(X))


@pytest.mark.parametrize("kind", [hr.HedgerowClassifier, hr.ForestClassifier, hr.HedgerowRegressor])
def test_drafts_and_released_ranges_are_fitted(kind):
    places = np.random.default_rng(0).integers(0, 30, 20_000)
    y = (places > 15).astype(int)
    for _, unit in KINDS.values():
        X = pd.DataFrame({"a": column(unit, places)})
        with pytest.warns(hr.PrivacyLeakWarning):
            draft = hr.Schema.infer(X, y, outcome=kind is hr.HedgerowRegressor).confirm()
        ledger = hr.Ledger(epsilon=10, delta=1e-6)
        columns = {"numeric": ["a"]} if unit is None else {"dates": ["a"]}
        known = {"outcome": hr.Numeric(0, 1)} if kind is hr.HedgerowRegressor else {"classes": [0, 1]}
        released = hr.private_schema(X, y, epsilon=5, ledger=ledger, **columns, **known)
        for schema in (draft, released):
            kind(epsilon=1, schema=schema, ledger=ledger).fit(X, y)


@pytest.mark.parametrize("feature", [hr.Integer(0, 8, [3, 8]), hr.Date("2024-01-01", "2024-01-09", ["2024-01-09"])])
def test_the_last_step_may_be_a_cut_point(feature):
    assert feature.code_label(len(feature.cuts), 10) == feature.edge_label(feature.high)
    assert eval(repr(feature), {"Integer": hr.Integer, "Date": hr.Date}) == feature


@pytest.mark.parametrize("cut", [8.5, 9])
def test_no_cut_is_above_the_last_step(cut):
    with pytest.raises(hr.SchemaError, match="strictly inside"):
        hr.Integer(0, 8, [cut])


def test_a_message_names_few_cut_points():
    with pytest.raises(hr.SchemaError) as caught:
        hr.Numeric(0, 1, [0.5] * 1000)
    assert len(str(caught.value)) < 500


def test_a_bin_of_one_day_is_as_wide_as_the_others():
    schema = hr.Schema({"day": hr.Date("2024-01-01", "2024-01-03")}, classes=["no", "yes"])
    assert column_warnings(Encoder(schema, 255), {0: np.array([10**6, 0, 0, 0])}, 1.0) == ()
