"""What is drawn of an additive model adds up to what it says, and its bands hold as often as they claim."""

import numpy as np
import pytest
from scipy.special import expit

import hedgerow as hr
from hedgerow.boosting import curves, measured
from hedgerow.boosting.curves import curve_of, pair_of, pairs
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.errors import FileFormatError
from hedgerow.estimator import claim_of, plan_of

SURE = 1.645  # deviations of a band of 90 %
PLACES = (np.arange(1020) + 0.5) / 1020


def schema_of(classes=2, cuts=None):
    numeric = {name: hr.Numeric(0, 1, cuts) for name in "abc"}
    return hr.Schema({**numeric, "d": hr.Categorical(list("wxyz"))}, classes=list(range(classes)))


def additive(records, classes=2):
    """Records whose log-odds are a sum of one smooth, one straight and one broken function of a number, and of a category."""
    generator = np.random.default_rng(0)
    a, b, c = generator.uniform(0, 1, (3, records))
    d = generator.integers(0, 4, records)
    odds = 2 * np.sin(3 * a) + 2 * b + 1.5 * (c > 0.6) + np.array([-0.8, -0.2, 0.3, 0.7])[d] - 2.8
    table = {"a": a, "b": b, "c": c, "d": np.array(list("wxyz"))[d]}
    if classes == 2:
        return table, (generator.uniform(size=records) < expit(odds)).astype(int)
    odds = np.stack([odds, 2 * (a - b), 1.5 * (c > 0.3) - odds / 2], axis=1)
    return table, (odds + generator.gumbel(size=odds.shape)).argmax(axis=1)


def twisted(records=4000):
    generator = np.random.default_rng(7)
    table, _ = additive(records)
    odd = (table["a"] > 0.5) ^ (table["b"] > 0.5) ^ (generator.uniform(size=records) < 0.05)
    return table, odd.astype(int)


@pytest.mark.parametrize("numeric", [True, False])
@pytest.mark.parametrize("classes", [1, 3])
def test_steps_are_gains_times_gradients(classes, numeric):
    generator = np.random.default_rng(classes)
    curvature = generator.uniform(1, 40, (7, classes))
    gradient = generator.normal(size=(7, classes)) * 15
    given = (gradient, curvature, 4.0, 2.0, numeric)
    gains, level = Smoothing().gains(*given)
    np.testing.assert_allclose(np.einsum("kij,jk->ik", gains, gradient), Smoothing().steps(*given), atol=1e-9)
    assert level.shape == curvature.shape


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kept", [True, False])
def test_curves_and_pairs_add_up_to_the_decision_but_for_a_constant(classes, kept, monkeypatch):
    if not kept:
        monkeypatch.setattr(measured, "MOST_SUMS", 0)
    table, odd = twisted()
    y = odd if classes == 2 else np.where(odd == 1, 2, table["c"] > 0.5)
    model = hr.HedgerowClassifier(10.0, delta=1e-6, schema=schema_of(classes), random_state=0).fit(table, y).model_
    assert (model.measured is not None) == kept
    codes = model.encoder.transform(table)
    total = sum(curve_of(model, feature).values[codes[:, feature]] for feature in range(4))
    assert pairs(model)
    for first, second in pairs(model):
        together = pair_of(model, first, second)
        assert (together.deviation is not None) == kept
        total = total + together.values[codes[:, first], codes[:, second]]
    rest = model.decision(table).reshape(total.shape) - total
    assert np.abs(rest - rest[0]).max() < 1e-9
    assert np.ptp(total) > 1


def test_curves_are_less_their_mean_and_say_nothing_of_a_feature_that_no_round_chose():
    table, y = additive(4000)
    model = hr.HedgerowClassifier(1.0, schema=schema_of(), n_estimators=1, random_state=0).fit(table, y).model_
    (chosen,) = model.forest.test[model.forest.roots]
    for feature in range(4):
        curve = curve_of(model, feature)
        assert curve.mass.sum() == pytest.approx(1)
        assert curve.mass @ curve.values == pytest.approx(0, abs=1e-12)
        assert np.any(curve.values) == (feature == chosen)
        assert np.all(curve.deviation > 0) if feature == chosen else not np.any(curve.deviation)


def test_a_band_is_as_wide_as_noise_over_curvature_where_little_is_smoothed():
    """One round of a category with much curvature: the step is gradient / curvature, and its error that of the two sums."""
    table, y = additive(200_000)
    schema = hr.Schema({"d": hr.Categorical(list("wxyz"))}, classes=[0, 1])
    model = hr.HedgerowClassifier(1.0, schema=schema, n_estimators=1, random_state=0).fit({"d": table["d"]}, y).model_
    noise, curvature_noise = model.measured.deviations
    _, curvature = model.measured.of_cells(np.arange(4))
    curve = curve_of(model, 0)
    step = model.curve(0)[:4, None]
    own = np.sqrt(noise**2 + (step * curvature_noise) ** 2) / curvature
    centred = np.eye(4) - curve.mass[:4]
    assert curve.deviation[:4] == pytest.approx(np.sqrt(centred**2 @ own**2), rel=0.03)


def test_files_hold_what_bands_are_made_of(tmp_path):
    table, y = twisted()
    model = hr.HedgerowClassifier(5.0, delta=1e-6, schema=schema_of(), random_state=0).fit(table, y)
    model.save(tmp_path / "m")
    loaded = hr.load(tmp_path / "m").model_
    for feature in range(4):
        assert np.array_equal(curve_of(loaded, feature).deviation, curve_of(model.model_, feature).deviation)
    arrays = model.model_.to_arrays()
    plan = plan_of(model, model.schema_, claim_of(model), ())
    without = {name: array for name, array in arrays.items() if name not in ("sums", "cell", "noise")}
    assert curve_of(plan.restore(without), 0).deviation is None
    shared = arrays["cell"].copy()  # two leaves of a side that was not cut
    shared[shared > 0] -= 1
    damages = (
        {"sums": arrays["sums"].astype(float)},
        {"sums": arrays["sums"][:, :1]},
        {"sums": arrays["sums"][:-1]},
        {"cell": arrays["cell"][1:]},
        {"cell": -arrays["cell"]},
        {"cell": arrays["cell"].max() - arrays["cell"]},
        {"cell": np.where(arrays["cell"] == 1, 0, arrays["cell"]).astype(np.int32)},
        {"cell": np.where(arrays["cell"] == arrays["cell"].max(), 0, arrays["cell"]).astype(np.int32)},
        {"cell": arrays["cell"][None]},
        {"cell": arrays["cell"].astype(np.int64)},
        {"cell": shared},
        {"noise": np.zeros(2, dtype=np.int64)},
        {"noise": arrays["noise"][:1]},
    )
    for damage in damages:
        with pytest.raises(FileFormatError, match="released sums"):
            plan.restore({**arrays, **damage})
    for missing in ("sums", "cell", "noise"):
        with pytest.raises(FileFormatError, match="released sums"):
            plan.restore({name: array for name, array in arrays.items() if name != missing})


def test_a_curve_of_very_many_values_has_no_band():
    values = list(range(curves.MOST_CELLS))
    table = {"d": np.random.default_rng(0).integers(0, len(values), 5000)}
    schema = hr.Schema({"d": hr.Categorical(values)}, classes=[0, 1])
    model = hr.HedgerowClassifier(5.0, schema=schema, n_estimators=2).fit(table, table["d"] % 2).model_
    assert curve_of(model, 0).deviation is None
    assert np.any(curve_of(model, 0).values)


def coverage(fits, *, records, classes=2, cuts=None, scale=1.0, **settings):
    """Return how often bands of 90 % hold the mean curve of many fits, over the bins of all fits and features."""
    table, y = additive(records, classes)
    schema = schema_of(classes, cuts)
    models = [
        hr.HedgerowClassifier(schema=schema, random_state=seed, **settings).fit(table, y).model_ for seed in range(fits)
    ]
    return [_covered(models, scale * factor) for factor in (1.0, 0.7, 1.4)]


def _covered(models, scale):
    held = []
    for feature in range(4):
        found = [curve_of(model, feature) for model in models]
        bins = [
            np.searchsorted(model.encoder.edges[feature], PLACES, side="right") if feature < 3 else np.arange(4)
            for model in models
        ]
        mean = np.mean([curve.values[at] for curve, at in zip(found, bins, strict=True)], axis=0)
        for curve, at in zip(found, bins, strict=True):
            for code in np.unique(at):
                error = curve.values[code] - mean[at == code].mean(axis=0)
                held.append(np.abs(error) <= SURE * scale * curve.deviation[code])
    return float(np.mean(held))


@pytest.mark.full
def test_bands_hold_about_as_often_as_they_claim():
    share, _, _ = coverage(12, records=20_000, epsilon=1.0, delta=1e-6)
    assert 0.8 < share < 0.97


SETTINGS = {
    "delta": {"records": 20_000, "epsilon": 1.0, "delta": 1e-6},
    "pure": {"records": 50_000, "epsilon": 1.0},
    "public cuts": {"records": 50_000, "epsilon": 1.0, "delta": 1e-6, "cuts": [place / 12 for place in range(1, 12)]},
    "constrained": {"records": 20_000, "epsilon": 1.0, "delta": 1e-6, "monotonic_cst": {"b": 1, "c": 1}},
    "three classes": {"records": 20_000, "epsilon": 2.0, "delta": 1e-6, "classes": 3},
    "strict": {"records": 50_000, "epsilon": 5.0, "delta": 1e-6},
    "strict, pure": {"records": 50_000, "epsilon": 10.0},
    "strict, three classes": {"records": 50_000, "epsilon": 15.0, "delta": 1e-6, "classes": 3},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_bands_of_90_percent_hold_the_mean_curve_of_200_fits_in_85_to_95_percent_of_bins(name):
    right, narrow, wide = coverage(200, **SETTINGS[name])
    assert 0.85 <= right <= 0.95, (right, narrow, wide)
    # The test tells other widths apart. In strict rounds of three classes the steps that are found differ, too, from fit to fit.
    most = 0.9 if name == "strict, three classes" else 0.95
    assert narrow < 0.85 < most < wide, (right, narrow, wide)
