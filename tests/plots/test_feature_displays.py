"""Pictures of curves, importances and explanations show what the model holds."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.additive.curves import curve_of, pair_of
from hedgerow.plots.features import feature_panels

matplotlib.use("Agg")

GENERATOR = np.random.default_rng(4)
RECORDS = 4000
TABLE = {
    "age": np.where(GENERATOR.uniform(size=RECORDS) < 0.1, np.nan, GENERATOR.uniform(18, 80, RECORDS)),
    "day": (np.datetime64("2024-01-01") + GENERATOR.integers(0, 365, RECORDS)).astype("datetime64[D]"),
    "$job": GENERATOR.choice(["nurse", "cook", "$mith"], RECORDS),
}
FEATURES = {
    "age": hr.Numeric(18, 80),
    "day": hr.Date("2024-01-01", "2024-12-31"),
    "$job": hr.Categorical(["nurse", "cook", "$mith"]),
}
OLD = np.nan_to_num(TABLE["age"], nan=0) > 50
Y = {
    2: np.where(OLD ^ (TABLE["$job"] == "cook"), "yes", "no"),
    3: np.where(
        OLD ^ (TABLE["$job"] == "cook"), "yes", np.where(TABLE["day"] > np.datetime64("2024-07-01"), "no", "maybe")
    ),
}
SCHEMAS = {2: hr.Schema(FEATURES, classes=["no", "yes"]), 3: hr.Schema(FEATURES, classes=["no", "maybe", "yes"])}


def fitted(kind, classes, **options):
    return kind(10.0, schema=SCHEMAS[classes], **options).fit(TABLE, Y[classes])


class Models(dict):
    """Models by their numbers of classes, each fitted when it is first asked for."""

    def __missing__(self, n_classes):
        self[n_classes] = fitted(hr.HedgerowClassifier, n_classes, delta=1e-6, random_state=0)
        return self[n_classes]


MODELS = Models()


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


def steps_of(ax):
    return [patch for patch in ax.patches if type(patch).__name__ == "StepPatch"]


@pytest.mark.parametrize("classes", [2, 3])
def test_a_number_is_drawn_as_steps_over_its_units_with_a_band(classes):
    model = MODELS[classes]
    display = hr.FeatureDisplay.from_estimator(model, "age")
    curve, encoder = curve_of(model.model_, 0), model.model_.encoder
    places = [0] if classes == 2 else [SCHEMAS[3].classes.index(label) for label in model.classes_]
    (ax,) = display.axes_
    drawn = steps_of(ax)
    assert len(drawn) == (1 if classes == 2 else 3)
    for k, patch in enumerate(drawn):
        values, edges, _ = patch.get_data()
        assert np.array_equal(edges, [18, *encoder.edges[0], 80])
        assert np.array_equal(values, curve.values[:-1, places[k]])
    bands = [collection for collection in ax.collections if type(collection).__name__ == "FillBetweenPolyCollection"]
    heights = bands[0].get_paths()[0].vertices[:, 1]
    first = places[0]
    widest = np.max(curve.values[:-1, first] + display.sureness * curve.deviation[:-1, first])
    assert heights.max() == pytest.approx(widest)
    assert display.sureness == pytest.approx(1.6449, abs=1e-4)
    assert any(text.get_text() == "missing" for text in ax.texts)  # a tenth of the records
    assert ax.get_ylabel() == ("log-odds of yes" if classes == 2 else "log-odds")


def test_a_wider_confidence_is_a_wider_band():
    wide, narrow = (hr.FeatureDisplay.from_estimator(MODELS[2], "age", confidence=share) for share in (0.99, 0.5))
    assert wide.sureness > 2.5 > 0.7 > narrow.sureness
    for share in (0, 1, 90):
        with pytest.raises(hr.ConfigurationError, match="confidence"):
            hr.FeatureDisplay.from_estimator(MODELS[2], "age", confidence=share)


def test_a_date_has_dates_on_its_axis():
    (ax,) = hr.FeatureDisplay.from_estimator(MODELS[3], "day").axes_
    ax.figure.canvas.draw()
    assert all(label.get_text().startswith("202") for label in ax.get_xticklabels() if label.get_text())
    assert sum(bool(label.get_text()) for label in ax.get_xticklabels()) > 2


def test_a_category_is_drawn_as_points_with_its_values_named():
    (ax,) = hr.FeatureDisplay.from_estimator(MODELS[2], "$job").axes_
    assert [label.get_text() for label in ax.get_yticklabels()] == ["nurse", "cook", r"\$mith"]
    points = next(line for line in ax.lines if line.get_marker() == "o")
    assert np.array_equal(points.get_xdata(), curve_of(MODELS[2].model_, 2).values[:3, 0])
    ax.figure.canvas.draw()  # a dollar sign is no formula


def test_many_values_are_cut_to_those_of_most_records():
    values = [f"v{place}" for place in range(60)]
    schema = hr.Schema({"d": hr.Categorical(values)}, classes=[0, 1])
    cells = np.minimum(np.random.default_rng(0).geometric(0.05, 20_000), 59)
    model = hr.HedgerowClassifier(10.0, schema=schema, random_state=0).fit(
        {"d": [values[at] for at in cells]}, cells % 2
    )
    (ax,) = hr.FeatureDisplay.from_estimator(model, "d").axes_
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(labels) == 20
    assert "v1" in labels
    assert "v59" not in labels
    assert labels[-1].endswith("(+ 40 of fewer records)")


def test_a_pair_is_a_map_of_what_both_add_together():
    model = MODELS[2]
    assert any({"age", "$job"} <= set(group.features) for group in model.interactions_)
    [panel] = feature_panels(model, [("$job", "age")])
    assert np.array_equal(panel.effect.values, pair_of(model.model_, 0, 2).values)
    (ax,) = hr.FeatureDisplay.from_estimator(model, [("$job", "age")]).axes_
    drawn, veil = (mesh for mesh in ax.collections if type(mesh).__name__ == "QuadMesh")
    values = panel.effect.values[: panel.axes[0].values, : panel.axes[1].values, 0]
    assert np.array_equal(np.ma.getdata(drawn.get_array()).reshape(values.T.shape), values.T)
    hidden = ~np.ma.getmaskarray(veil.get_array()).reshape(values.T.shape)
    assert np.array_equal(hidden, (np.abs(values) <= 1.6448536 * panel.effect.deviation[:-1, :-2, 0]).T)
    assert np.any(hidden) or np.abs(values).min() > 0
    assert not np.all(hidden)


def test_a_grid_holds_the_most_important_features_first():
    display = hr.FeatureDisplay.from_estimator(MODELS[2])
    order = np.argsort(-MODELS[2].feature_importances_, kind="stable")
    assert [panel.axes[0].name for panel in display.panels] == [list(FEATURES)[place] for place in order]
    figure, axes = plt.subplots(1, 2)
    assert hr.FeatureDisplay.from_estimator(MODELS[2], ["age", "day"], ax=axes).figure_ is figure
    with pytest.raises(hr.ConfigurationError, match="2 axes"):
        hr.FeatureDisplay.from_estimator(MODELS[2], "age", ax=axes)


@pytest.mark.parametrize(
    ("kind", "options", "features", "words"),
    [
        (hr.EDPRFClassifier, {}, None, "no curve for each feature"),
        (hr.SmoothBoostClassifier, {}, None, "no curve for each feature"),
        (hr.HedgerowClassifier, {"delta": 1e-6}, [("age", "day", "$job")], "no pair"),
        (hr.HedgerowClassifier, {"delta": 1e-6}, "income", "no feature 'income'"),
        (hr.HedgerowClassifier, {"delta": 1e-6}, [("age", "age")], "no pair"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_way_out(kind, options, features, words):
    model = fitted(kind, 2, **options)
    with pytest.raises(hr.ConfigurationError, match=words):
        feature_panels(model, features)


def test_importances_are_bars_beside_what_noise_alone_would_show():
    model = MODELS[2]
    display = hr.ImportancesDisplay.from_estimator(model)
    order = np.argsort(-model.feature_importances_)
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert widths[:3] == pytest.approx(model.feature_importances_[order])
    assert widths[3:] == pytest.approx(display.noise[order])
    assert np.all(display.noise < 1)
    assert [label.get_text().replace("\\", "") for label in display.ax_.get_yticklabels()] == [
        list(FEATURES)[at] for at in order
    ]


def test_noise_alone_shows_about_what_the_mark_says():
    """Features that say nothing: their importances are those of the mark, within a factor of two on average."""
    table = {name: np.random.default_rng(at).uniform(size=3000) for at, name in enumerate("abcdef")}
    schema = hr.Schema(dict.fromkeys(table, hr.Numeric(0, 1)), classes=[0, 1])
    found = []
    for seed in range(12):
        y = np.random.default_rng(seed).integers(0, 2, 3000)
        model = hr.HedgerowClassifier(0.5, schema=schema, random_state=seed).fit(table, y)
        display = hr.ImportancesDisplay.from_estimator(model)
        chosen = display.importances > 0
        found.append(display.noise[chosen].sum() / display.importances[chosen].sum())
        plt.close("all")
    assert 0.5 < np.mean(found) < 2


def test_importances_of_other_systems_say_that_they_count_tests():
    model = hr.EDPRFClassifier(10.0, schema=SCHEMAS[2]).fit(TABLE, Y[2])
    display = hr.ImportancesDisplay.from_estimator(model, max_features=2)
    assert display.noise is None
    assert len(display.ax_.patches) == 2
    assert "share of the tests" in display.ax_.get_xlabel()
    assert "1 features more" in display.ax_.get_xlabel()


@pytest.mark.parametrize("classes", [2, 3])
def test_an_explanation_shows_bars_that_add_up(classes):
    model = MODELS[classes]
    rows = {name: cells[:5] for name, cells in TABLE.items()}
    found = model.explain(rows)
    display = hr.ExplanationDisplay.from_estimator(model, rows, 3, max_features=2)
    widths = [bar.get_width() for bar in display.ax_.patches]
    total = found.total[3] if classes == 2 else found.total[3].max()
    column = () if classes == 2 else (int(found.total[3].argmax()),)
    added = found.contributions[(3, slice(None), *column)]
    assert sum(widths) == pytest.approx(added.sum())
    assert len(widths) == 3
    assert np.abs(widths[0]) == np.abs(added).max()
    assert display.ax_.get_title(loc="left").startswith(f"{total:.2f}: ")
    assert display.ax_.get_yticklabels()[-1].get_text() == "1 more"


def test_an_explanation_names_its_class_and_refuses_what_does_not_exist():
    rows = {name: cells[:5] for name, cells in TABLE.items()}
    display = hr.ExplanationDisplay.from_estimator(MODELS[3], rows, label="maybe")
    assert display.ax_.get_xlabel() == "added to the log-odds of maybe"
    tree = hr.PFDPDTClassifier(10.0, schema=SCHEMAS[2]).fit(TABLE, Y[2])
    assert hr.ExplanationDisplay.from_estimator(tree, rows).ax_.get_xlabel() == "added to the probability of yes"
    for wrong in ({"record": 5}, {"record": -1}, {"label": "perhaps"}):
        with pytest.raises(hr.ConfigurationError, match=r"record|class"):
            hr.ExplanationDisplay.from_estimator(MODELS[3], rows, **wrong)
