"""Warnings by released counts: never by chance on good columns, surely on columns that are not read."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.doubts import column_doubts
from hedgerow.survey import fine_encoder

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
        ({"age": np.array(["40,5"] * N, dtype=object)}, "clearly less than half of the cells of 'age' could be read"),
        ({"cost": np.full(N, np.nan)}, "clearly less than half of the cells of 'cost' could be read"),
        ({"age": SCALED}, "clearly nearly all numbers of 'age' lie in the lowest"),
        ({"cost": GOOD["cost"] + 1e6}, "clearly nearly all numbers of 'cost' lie in the highest"),
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
        assert column_doubts(encoder, counts, 40.0) == ()


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
            column_doubts(encoder, counts, 300 * np.sqrt(2), (records + random.laplace(0, 90), 90 * np.sqrt(2)))
        )
    assert said <= 10, "more often than once in 100 times"


def test_a_released_number_of_records_tells_more_of_fewer_records():
    encoder, counts = counts_of({"age": np.full(N, np.nan)}, 2500.0)
    assert column_doubts(encoder, counts, 2500.0) == ()
    [told] = column_doubts(encoder, counts, 2500.0, (float(N), 100.0))
    assert "'age'" in told


def test_an_end_bin_that_is_wide_may_hold_all():
    schema = hr.Schema({"flag": hr.Integer(0, 1), "few": hr.Integer(0, 9)}, ["no", "yes"])
    encoder = fine_encoder(schema)
    for place, bins in ((0, 2), (1, 10)):
        counts = np.zeros(bins + 1, dtype=np.int64)
        counts[0] = 10**6
        assert column_doubts(encoder, {place: counts}, 1.0) == ()
