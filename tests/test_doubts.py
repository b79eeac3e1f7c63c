"""Warnings by released counts: never by chance on good columns, surely on columns that are not read."""

import warnings

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator.released_warnings import ClassEvidence, class_warnings, column_warnings
from hedgerow.curator.survey import fine_encoder
from hedgerow.schema import Encoder

SCHEMA = hr.Schema(
    {"age": hr.Numeric(18, 90), "cost": hr.Numeric(0, 5000), "sex": hr.Categorical(["f", "m"])}, ["no", "yes"]
)
N = 40_000
RANDOM = np.random.default_rng(5)
GOOD = {
    "age": RANDOM.integers(18, 90, N).astype(float),
    "cost": RANDOM.exponential(500, N),
    "sex": RANDOM.choice(["f", "m"], N),
}
LABELS = RANDOM.choice(["no", "yes"], N)
SCALED = (GOOD["age"] - GOOD["age"].mean()) / GOOD["age"].std()


def fit(columns, **parameters):
    model = hr.ForestClassifier(2.0, schema=SCHEMA, **parameters)
    return model.fit({**GOOD, **columns}, LABELS)


def counts_of(columns, deviation, seed=0):
    """Return noisy histograms of columns by fine bins."""
    encoder = fine_encoder(SCHEMA)
    codes = encoder.transform({**GOOD, **columns})
    random = np.random.default_rng(seed)
    return encoder, {
        place: np.bincount(codes[:, place], minlength=encoder.n_codes[place])
        + np.rint(random.laplace(0, deviation / np.sqrt(2), encoder.n_codes[place])).astype(np.int64)
        for place in (0, 1)
    }


def test_good_columns_say_nothing():
    model = fit({})
    assert model.certificate_.warnings == ()


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"age": np.array(["40,5"] * N, dtype=object)}, "less than half of the cells of 'age' could be read"),
        ({"cost": np.full(N, np.nan)}, "less than half of the cells of 'cost' could be read"),
        ({"age": SCALED}, "almost all numbers of 'age' are in the lowest"),
        ({"cost": GOOD["cost"] + 1e6}, "almost all numbers of 'cost' are in the highest"),
    ],
)
def test_a_forest_with_a_survey_names_the_column_and_its_certificate_does_too(columns, words, tmp_path):
    with pytest.warns(UserWarning, match=words):
        model = fit(columns)
    [warning] = model.certificate_.warnings
    assert warning.startswith(words)
    assert warning in model.certificate_.details()
    assert model.certificate_.holds
    model.save(tmp_path / "m.hedgerow")
    assert hr.load(tmp_path / "m.hedgerow").certificate_.warnings == (warning,)


def test_warnings_do_not_change_the_digest_that_a_ledger_holds():
    ledger = hr.Ledger(epsilon=9)
    with pytest.warns(UserWarning, match="'age'"):
        model = fit({"age": SCALED}, ledger=ledger)
    [entry] = ledger.entries
    assert entry.certificate.warnings == ()
    assert entry.certificate.digest == model.certificate_.digest


def test_a_forest_without_a_survey_says_nothing():
    assert fit({"age": SCALED}, bins="equal-width").certificate_.warnings == ()


@pytest.mark.parametrize(
    "columns",
    [
        {"age": np.where(RANDOM.random(N) < 0.45, np.nan, GOOD["age"])},  # more than half can be read
        {"cost": np.where(RANDOM.random(N) < 0.96, 0.0, GOOD["cost"])},  # many zeros are no crowd
    ],
)
def test_what_is_not_clear_is_not_said(columns):
    for seed in range(20):
        encoder, counts = counts_of(columns, 40.0, seed)
        assert column_warnings(encoder, counts, 40.0) == ()


@pytest.mark.parametrize("records", [0, 5, 100])
def test_noise_alone_says_nothing(records):
    encoder = fine_encoder(SCHEMA)
    random = np.random.default_rng(3)
    said = 0
    for _ in range(1000):
        counts = {}
        for place in (0, 1):
            noise = np.rint(random.laplace(0, 300, encoder.n_codes[place])).astype(np.int64)
            counts[place] = noise + (np.arange(len(noise)) == 7) * records
        said += bool(
            column_warnings(encoder, counts, 300 * np.sqrt(2), (records + random.laplace(0, 90), 90 * np.sqrt(2)))
        )
    assert said <= 10, "more often than once in 100 times"


def test_a_released_number_of_records_tells_more_of_fewer_records():
    encoder, counts = counts_of({"age": np.full(N, np.nan)}, 2500.0)
    assert column_warnings(encoder, counts, 2500.0) == ()
    [told] = column_warnings(encoder, counts, 2500.0, (float(N), 100.0))
    assert "'age'" in told


def test_an_end_bin_that_is_wide_may_hold_all():
    schema = hr.Schema({"flag": hr.Integer(0, 1), "few": hr.Integer(0, 9)}, ["no", "yes"])
    encoder = fine_encoder(schema)
    for place, bins in ((0, 2), (1, 10)):
        counts = np.zeros(bins + 1, dtype=np.int64)
        counts[0] = 10**6
        assert column_warnings(encoder, {place: counts}, 1.0) == ()


# Classes.

PLAIN = hr.Schema(
    {"age": hr.Numeric(18, 90), "cost": hr.Numeric(0, 5000), "sex": hr.Categorical(["f", "m"])}, ["no", "yes"]
)
MISSPELLED = np.where(LABELS == "yes", "YES", LABELS)
MANY = RANDOM.choice(["a", "b", "c", "d"], N)
OF_FOUR = PLAIN.replace(classes=["a", "b", "c", "d"])
FEW = 8000
LABELS_ONLY = ["EDPRFClassifier", "PFDPDTClassifier", "RandomTreesClassifier"]  # whose leaves release one label each
COUNTING = sorted({name for name in dir(hr) if name.endswith("Classifier")} - set(LABELS_ONLY))


def told(call):
    """Return the result of a call and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call()
    return result, [str(one.message) for one in found if "was fitted 3 times" not in str(one.message)]


@pytest.mark.parametrize("name", COUNTING)
def test_every_learner_that_releases_class_counts_names_the_class_without_any(name):
    X = {column: cells[:FEW] for column, cells in GOOD.items()}
    learner = getattr(hr, name)(epsilon=4.0, schema=PLAIN)
    _, good = told(lambda: learner.fit(X, LABELS[:FEW]))
    model, bad = told(lambda: learner.fit(X, MISSPELLED[:FEW]))
    assert good == []
    [text] = bad
    assert text.startswith("no released count of class 'yes' stands out from its noise")
    assert "schema.check(X, y)" in text
    assert model.certificate_.warnings == (text,)
    assert model.certificate_.holds


@pytest.mark.parametrize("name", LABELS_ONLY)
def test_a_learner_that_releases_labels_alone_has_no_count_to_warn_by(name):
    X = {column: cells[:FEW] for column, cells in GOOD.items()}
    assert told(lambda: getattr(hr, name)(epsilon=4.0, schema=PLAIN).fit(X, MISSPELLED[:FEW]))[1] == []


@pytest.mark.parametrize("learner", [hr.SuLQID3Classifier, hr.PINQID3Classifier])
def test_a_tree_that_releases_histograms_names_the_column(learner):
    _, [text] = told(
        lambda: learner(epsilon=4.0, schema=PLAIN).fit({**GOOD, "sex": np.char.upper(GOOD["sex"])}, LABELS)
    )
    assert text.startswith("more than half of the cells of 'sex' hold none of its declared values")


def test_fit_by_a_curator_warns_too():
    curator = hr.Curator(GOOD, MISSPELLED, PLAIN, epsilon=9.0)
    _, bad = told(lambda: hr.DiffPID3Classifier(epsilon=4.0).fit_curator(curator))
    assert any("class 'yes'" in text for text in bad)


@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c", "d")])
def test_a_card_names_a_class_without_a_count_and_says_so_itself(classes):
    schema, y = (PLAIN, LABELS) if len(classes) == 2 else (OF_FOUR, MANY)
    model = hr.ForestClassifier(2.0, schema=schema).fit(GOOD, y)
    good, nothing = told(lambda: hr.evaluate(model, GOOD, y, epsilon=1))
    assert nothing == [] == list(good.warnings)
    assert "Warning" not in str(good)
    spelled = np.where(y == classes[1], y.astype(object) + ".", y)
    card, [text] = told(lambda: hr.evaluate(model, GOOD, spelled, epsilon=1))
    assert f"class {classes[1]!r} stands" in text
    assert card.warnings == (text,)
    assert text in str(card)
    assert classes[1] in card._repr_html_()
    again = hr.ReportCard.from_dict({**card.to_dict(), "certificate": card.certificate_.to_dict()})
    assert again.warnings == card.warnings


def test_several_classes_are_named_together():
    _, [text] = told(lambda: hr.HedgerowClassifier(2.0, schema=OF_FOUR).fit(GOOD, np.where(MANY < "c", "?!", MANY)))
    assert text.startswith("no released count of classes 'a', 'b' stands out")


@pytest.mark.parametrize("refit", [0.5, 0])
def test_a_search_warns_as_the_fit_of_its_model(refit):
    search = hr.PrivateSearchCV(
        hr.HedgerowClassifier(schema=PLAIN), {"n_estimators": [1, 2]}, epsilon=8, refit=refit, validation=0.2
    )
    found, bad = told(lambda: search.fit(GOOD, MISSPELLED))
    assert any("class 'yes'" in text for text in bad)
    assert any("class 'yes'" in text for text in found.best_estimator_.certificate_.warnings)


def evidence_of(counts, deviation, seed=None):
    evidence = ClassEvidence(len(counts))
    noise = 0 if seed is None else np.random.default_rng(seed).laplace(0, deviation / np.sqrt(2), len(counts))
    evidence.add(np.asarray(counts) + noise, deviation)
    return evidence


def test_a_class_without_records_is_named_but_for_one_time_in_a_hundred():
    missed = sum(not evidence_of([5000, 0], 70.0, seed).hidden[1] for seed in range(2000))
    assert 5 <= missed <= 40
    wrong = sum(evidence_of([5000, 500], 70.0, seed).hidden.any() for seed in range(2000))
    assert wrong <= 10


def test_a_count_of_many_noisy_ones_stands_out_by_itself():
    evidence = ClassEvidence(2)
    counts = np.zeros((10_000, 2))
    counts[7] = 0, 400
    evidence.add(counts, 10.0)
    assert evidence.hidden.tolist() == [True, False]


def test_the_text_says_what_was_counted_and_how_large_the_noise_is():
    [absent] = class_warnings(["no", "yes"], evidence_of([5000, 12], 70.0))
    assert "the counts add up to 12, with noise of standard deviation 70" in absent


def test_of_labels_that_a_learner_did_not_count_nothing_is_said():
    assert class_warnings(["no", "yes"], ClassEvidence(2)) == ()


# Outcomes.

NUMBERS = 20 + 1500 * GOOD["age"] / 90 + RANDOM.normal(0, 50, N)


def schema_of(outcome):
    return hr.Schema(PLAIN.features, outcome=outcome)


ODD = {
    "cents": (NUMBERS * 100, hr.Numeric(0, 2000), "lie at the high end"),
    "below": (NUMBERS - 1e6, hr.Numeric(10, 2000), "lie at the low end"),
    "standardized": ((NUMBERS - 900) / 400, hr.Numeric(0, 2000), "lie between 0 and"),
    "standardized, both signs": ((NUMBERS - 900) / 400, hr.Numeric(-2000, 2000), "lie between"),
    "thousands": (NUMBERS / 1000, hr.Numeric(0, 2000), "lie between 0 and"),
    "whole": (np.rint(NUMBERS * 100), hr.Integer(0, 2000), "lie at the high end"),
}
ORDINARY = {
    "as declared": (NUMBERS, hr.Numeric(0, 2000)),
    "binary": ((NUMBERS > 1000) * 1.0, hr.Integer(0, 1)),
    "ratings": (RANDOM.choice([1, 3, 5], N, p=[0.1, 0.05, 0.85]), hr.Integer(1, 5)),
    "mostly zero": (np.where(RANDOM.random(N) < 0.93, 0, RANDOM.exponential(400, N)), hr.Numeric(0, 2000)),
    "counts": (RANDOM.poisson(0.1, N), hr.Integer(0, 40)),
    "long tail": (np.exp(RANDOM.normal(3, 1.2, N)), hr.Numeric(0, 2000)),
}
NEARLY = "nearly all outcomes"


def regressor(outcome):
    """A model of few rounds: what is said follows from the histogram that is released before them."""
    return hr.HedgerowRegressor(4.0, schema=schema_of(outcome), n_estimators=5)


@pytest.mark.parametrize("name", ODD)
def test_outcomes_beyond_their_range_or_in_one_cell_of_it_are_named(name):
    y, outcome, words = ODD[name]
    model, bad = told(lambda: regressor(outcome).fit(GOOD, y))
    [text] = [text for text in bad if text.startswith(NEARLY)]
    assert words in text
    assert "another unit" in text
    assert text in model.certificate_.warnings


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_outcomes_say_nothing_in_a_fit_or_on_a_card(name):
    y, outcome = ORDINARY[name]
    model, said = told(lambda: regressor(outcome).fit(GOOD, y))
    card, of_card = told(lambda: hr.evaluate(model, GOOD, y, epsilon=2))
    assert not [text for text in [*said, *of_card, *card.warnings] if text.startswith(NEARLY)]


@pytest.mark.parametrize("name", ["cents", "below", "standardized", "thousands", "whole"])
@pytest.mark.parametrize("own", [False, True])
def test_a_regressors_card_says_that_outcomes_are_in_another_unit(name, own):
    """Whether the model was fitted on outcomes as declared, or on the same as the card reads."""
    y, outcome, _ = ODD[name]
    declared = outcome.low + (outcome.high - outcome.low) * (GOOD["age"] - 10) / 100
    model, _ = told(lambda: regressor(outcome).fit(GOOD, y if own else declared))
    card, bad = told(lambda: hr.evaluate(model, GOOD, y, epsilon=2))
    [text] = [text for text in bad if text.startswith(NEARLY)]
    assert card.warnings == (text,)
    assert text in str(card)


# Categories.

CAPITALS = {"sex": np.char.upper(GOOD["sex"])}
BY_SEX = np.where(GOOD["sex"] == "f", "no", "yes")
ONE_COLUMN = hr.Schema({"sex": hr.Categorical(["f", "m"])}, ["no", "yes"])


@pytest.mark.parametrize("learner", [hr.HedgerowClassifier, hr.HedgerowRegressor])
def test_a_column_of_undeclared_values_is_named(learner):
    schema, y = ONE_COLUMN, BY_SEX
    if learner is hr.HedgerowRegressor:
        schema, y = hr.Schema(ONE_COLUMN.features, outcome=hr.Numeric(0, 10)), np.where(BY_SEX == "no", 2.0, 8.0)
    fitted = learner(2.0, schema=schema)
    assert not [text for text in told(lambda: fitted.fit({"sex": GOOD["sex"]}, y))[1] if "'sex'" in text]
    model, bad = told(lambda: fitted.fit(CAPITALS, y))
    [text] = [text for text in bad if "'sex'" in text]
    assert text.startswith("more than half of the cells of 'sex' hold none of its declared values")
    assert text in model.certificate_.warnings
    _, bad = told(lambda: fitted.fit({"sex": np.full(N, None)}, y))
    assert any(text.startswith("less than half of the cells of 'sex' could be read") for text in bad)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([5000, 4000, 3000, 10, 20], None),
        ([0, 0, 0, 0, 12_000], "more than half of the cells of 'c'"),
        ([0, 0, 0, 12_000, 0], "less than half of the cells of 'c' could be read"),
        ([5000, 4000, 0, 0, 3000], "no released count of 'z' in 'c' stands out"),
        ([5000, 4000, 0, 0, 0], None),  # a value may be rare
        ([50, 60, 70, 0, 0], "no released count of the values of 'c' stands out from its noise"),
    ],
)
def test_what_counts_of_a_category_say(counts, words):
    encoder = Encoder(hr.Schema({"c": hr.Categorical(["x", "y", "z"])}, ["no", "yes"]), 8)
    found = column_warnings(encoder, {0: np.array(counts)}, 40.0)
    assert [text.startswith(words) for text in found] == ([] if words is None else [True])


# A curator's queries.


def test_a_curators_queries_name_a_class_once_and_columns_by_the_root():
    curator = hr.Curator({**GOOD, **CAPITALS}, MISSPELLED, PLAIN, epsilon=9.0)
    _, [text] = told(lambda: curator.class_counts(curator.root, 1.0))
    assert text.startswith("no released count of class 'yes' stands out from its noise")
    _, [text] = told(lambda: curator.histogram(curator.root, ["sex", "age"], 1.0))
    assert text.startswith("more than half of the cells of 'sex'")
    tests = curator.tests("multiway")
    children = curator.partition(curator.root, tests, np.array([2]))
    assert told(lambda: curator.histogram(children, ["sex"], 1.0))[1] == []
    good = hr.Curator(GOOD, LABELS, PLAIN, epsilon=9.0)
    assert told(lambda: (good.class_counts(good.root, 1.0), good.histogram(good.root, ["sex", "age"], 1.0)))[1] == []


def test_each_column_is_named_once_whatever_its_name():
    schema = hr.Schema({"rate: new": hr.Numeric(0, 1), "rate: old": hr.Numeric(0, 1)}, ["no", "yes"])
    curator = hr.Curator({name: np.full(N, None) for name in schema.names}, LABELS, schema, epsilon=9.0)
    for name in schema.names:
        _, [text] = told(lambda name=name: curator.histogram(curator.root, [name], 1.0))
        assert text.startswith(f"less than half of the cells of {name!r}")
        assert told(lambda name=name: curator.histogram(curator.root, [name], 1.0))[1] == []


def test_a_released_range_of_few_numbers_is_named():
    X = {"age": GOOD["age"], "cost": np.where(np.arange(N) % 3, np.nan, GOOD["cost"])}
    _, bad = told(lambda: hr.private_schema(X, epsilon=8, numeric=["age", "cost"], classes=["no", "yes"]))
    assert [text for text in bad if text.startswith("less than half of the cells of 'cost'")]
    _, said = told(
        lambda: hr.private_schema(GOOD | {"sex": GOOD["age"]}, epsilon=8, numeric=[*GOOD], classes=["a", "b"])
    )
    assert not [text for text in said if "clearly" in text]
