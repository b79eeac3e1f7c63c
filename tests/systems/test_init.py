"""A fit that starts from a model: what it says, costs, promises and leaves behind."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from products import thinned
from released_only import World, fit_in
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

import hedgerow as hr
from hedgerow.additive.plan import AdditivePlan
from hedgerow.additive.starts import start_on
from hedgerow.audit import check_model
from hedgerow.curator.survey import fine_encoder
from hedgerow.engines import local
from hedgerow.errors import BudgetExceeded, ConfigurationError, FileFormatError
from hedgerow.export.archive import read_archive, write_archive
from hedgerow.parameters import UNIT
from hedgerow.privacy.claim import Start, claim_in_words

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records", "ignore:epsilon is")

GENERATOR = np.random.default_rng(3)
ROWS = 6000
X = {
    "a": GENERATOR.uniform(0, 1, ROWS),
    "b": GENERATOR.uniform(0, 1, ROWS),
    "c": GENERATOR.choice(["x", "y", "z", "?"], ROWS),
}
SIGNAL = 6 * (X["a"] - 0.5) + 4 * (X["a"] > 0.5) * (X["b"] - 0.5) + (X["c"] == "x")
LABELS = np.where(GENERATOR.random(ROWS) < 1 / (1 + np.exp(-SIGNAL)), "yes", "no").astype(object)
OUTCOMES = SIGNAL + GENERATOR.normal(0, 0.5, ROWS)
FEATURES = {"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1), "c": hr.Categorical(["x", "y", "z"])}
FEATURES_INFERRED = {name: replace(feature, origin="inferred") for name, feature in FEATURES.items()}
CLASSES = hr.Schema(FEATURES, classes=["no", "yes"])
NUMBERS = hr.Schema(FEATURES, outcome=hr.Numeric(-8, 8))
KINDS = {"classes": (hr.HedgerowClassifier, CLASSES, LABELS), "numbers": (hr.HedgerowRegressor, NUMBERS, OUTCOMES)}


def some(first, last):
    return {name: column[first:last] for name, column in X.items()}


@pytest.fixture(scope="module", params=KINDS)
def task(request):
    kind, schema, y = KINDS[request.param]
    return kind, y, kind(30.0, schema=schema, random_state=1).fit(some(0, 3000), y[:3000])


@pytest.fixture(scope="module")
def started(task):
    kind, y, init = task
    return kind(1.0, delta=1e-6, schema=init.schema_, init=init, random_state=2).fit(some(3000, 4500), y[3000:4500])


def quality(model, y, first=4500):
    held_out = some(first, ROWS)
    if isinstance(model, hr.HedgerowRegressor):
        return model.score(held_out, y[first:])
    return roc_auc_score(y[first:] == "yes", model.predict_proba(held_out)[:, 1])


def said(model, first=4500):
    held_out = some(first, ROWS)
    return model.predict(held_out) if isinstance(model, hr.HedgerowRegressor) else model.predict_proba(held_out)


def test_a_small_budget_is_worth_more_with_a_start(task):
    kind, y, init = task
    with_start, without = [], []
    for seed in range(3):
        given = {"epsilon": 0.1, "delta": 1e-6, "schema": init.schema_, "random_state": seed}
        records = some(3000, 4500), y[3000:4500]
        with_start.append(quality(kind(**given, init=init).fit(*records), y))
        without.append(quality(kind(**given).fit(*records), y))
    assert np.mean(with_start) > np.mean(without) + 0.03


def test_where_nothing_can_be_learned_the_model_is_nearly_the_start(task):
    kind, y, init = task
    model = kind(0.001, schema=init.schema_, init=init, random_state=0).fit(some(3000, 3200), y[3000:3200])
    if kind is hr.HedgerowRegressor:
        assert not model.model_.own.terms
    else:
        assert quality(model, y) > quality(init, y) - 0.005


def test_rounds_learn_what_the_start_lacks(task):
    """Of these records another feature says the most, of which the start knows little."""
    kind, _, init = task
    signal = 6 * (X["b"] - 0.5)
    outcome = np.where(signal > 0, "yes", "no").astype(object) if kind is hr.HedgerowClassifier else signal
    model = kind(3.0, schema=init.schema_, init=init, random_state=0).fit(some(3000, 4500), outcome[3000:4500])
    assert quality(model, outcome) > quality(init, outcome) + 0.1
    assert len(model.model_.own.terms) > 2


def test_the_start_is_what_the_model_holds_before_its_own_terms(task, started):
    _, _, init = task
    whole = started.model_
    start, own = whole.parts
    records = some(4500, 4700)
    before = init.model_.packed.margins(init.model_.encoder.transform(records))
    assert np.array_equal(start.packed.margins(start.encoder.transform(records)), before)
    together = before + own.packed.margins(own.encoder.transform(records))
    assert np.array_equal(whole.packed.margins(whole.encoder.transform(records)), together)


def test_margins_of_rounds_are_those_of_the_model(task, monkeypatch):
    """What rounds read of records, at the end, is what the model says of them."""
    kind, y, init = task
    tables, made = [], AdditivePlan._cut_features

    def noted(plan, curator, *given):
        tables.append(curator._table)
        return made(plan, curator, *given)

    monkeypatch.setattr(AdditivePlan, "_cut_features", noted)
    records, labels = some(3000, 4000), y[3000:4000]
    model = kind(20.0, schema=init.schema_, init=init, n_estimators=20, random_state=0).fit(records, labels)
    whole = model.model_
    given = len(whole.terms) - len(whole.own.terms)
    codes = whole.encoder.transform(records)
    margins, stages = np.tile(whole.start, (1000, 1)), []
    for number, term in enumerate(whole.terms, 1):
        term(codes, margins)
        if number >= given:
            stages.append(margins.copy())
    last = tables[-1].margins()  # but for the constant of a final mean, with all terms or all but the last
    assert any(len(np.unique(last - stage)) == 1 for stage in stages[-2:])


# What it promises.


def privately(task, epsilon=2.0, **given):
    """Return a fit of few records whose guarantee holds, but for what is given."""
    kind, y, init = task
    model = kind(epsilon, **{"schema": init.schema_, "n_estimators": 1, **given})
    return model.fit(some(3000, 3300), y[3000:3300])


def of_version_0_3(certificate):
    """Return how version 0.3 described a start."""
    name = f"a {certificate.system} of certificate {certificate.digest[:16]}"
    own = replace(certificate, starts=()).reasons
    if own:
        return f"{name}, which promises nothing: {own[0]}"
    claim = claim_in_words(certificate.claim, certificate.unit)
    return f"{name}, which promises {claim}"


def loaded_as_0_3(model, folder):
    """Return a model with a start as ``load`` returns it from a file of version 0.3, whose certificate knew texts only."""

    def change(document, arrays):
        parts = [of_version_0_3(one) for one in (model.init.certificate_, *before)]
        return {**document, "certificate": {**document["certificate"], "starts": parts}}, arrays

    before = [] if model.init.init is None else [model.init.init.certificate_]
    return hr.load(rewritten(model, folder / "of_0_3", change))


SEED, INFERRED = "random_state", "the schema was read off the data (a, b, c, "
STARTS = {
    "a start that holds": (lambda task, folder: privately(task), ()),
    "a seeded start": (lambda task, folder: privately(task, random_state=0), (SEED,)),
    "an inferred schema": (lambda task, folder: inferred(task), (INFERRED,)),
    "a person's start": (lambda task, folder: privately(task, records_per_person=3), ()),
    "a chain that holds": (lambda task, folder: privately(task, init=privately(task)), ()),
    "a seeded start of a start": (lambda task, folder: privately(task, init=privately(task, random_state=0)), (SEED,)),
    "two reasons in a chain": (
        lambda task, folder: privately(task, init=inferred(task), random_state=0),
        (SEED, INFERRED),
    ),
    "a start of public records": (
        lambda task, folder: privately(task, init=inferred(task), public_start=True),
        (),
    ),
    "a file": (lambda task, folder: from_file(privately(task, init=privately(task, random_state=0)), folder), (SEED,)),
    "a file that holds": (lambda task, folder: from_file(privately(task, init=privately(task)), folder), ()),
    "a file of 0.3": (
        lambda task, folder: loaded_as_0_3(privately(task, init=privately(task, random_state=0)), folder),
        (SEED,),
    ),
    "a file of 0.3 that holds": (lambda task, folder: loaded_as_0_3(privately(task, init=privately(task)), folder), ()),
}


@pytest.mark.filterwarnings("ignore::hedgerow.PrivacyLeakWarning")
@pytest.mark.parametrize("start", thinned(STARTS, 2))
def test_no_guarantee_where_a_start_has_none_down_the_chain(task, start, tmp_path):
    make, words = STARTS[start]
    init = make(task, tmp_path)
    assert init.certificate_.holds is not bool(words)
    model = privately(task, 0.5, init=init)
    certificate = model.certificate_
    assert certificate.holds is not bool(words)
    assert len(certificate.reasons) == len(words)
    assert all(any(word in reason for reason in certificate.reasons) for word in words)
    assert replace(certificate, starts=()).reasons == ()
    saved = from_file(model, tmp_path).certificate_
    assert (saved, saved.digest, saved.reasons) == (certificate, certificate.digest, certificate.reasons)
    stated = privately(task, 0.5, init=init, public_start=True).certificate_
    assert stated.holds
    assert stated.details().count("as the caller stated with public_start=True") == len(certificate.starts)
    assert "records of a start being public, as the caller stated" in str(stated)
    assert "its start" not in str(stated)


def from_file(model, folder):
    model.save(folder / "of_a_start")
    return hr.load(folder / "of_a_start")


def inferred(task):
    """Return a fit whose schema was read off the records: nearly that of the others."""
    kind, y, _ = task
    frame = pd.DataFrame(some(0, 3000))
    schema = hr.Schema.infer(frame, y[:3000], outcome=kind is hr.HedgerowRegressor)
    return kind(2.0, schema=schema.replace(features=FEATURES_INFERRED), n_estimators=1).fit(frame, y[:3000])


SUMS = {
    "one start": (lambda task: privately(task), "epsilon = 2, delta = 0", "epsilon = 2.5, delta = 0"),
    "a chain": (
        lambda task: privately(task, delta=1e-6, init=privately(task, 4.0, delta=1e-7)),
        "epsilon = 6, delta = 1.1e-6",
        "epsilon = 6.5, delta = 1.1e-6",
    ),
    "a chain from public records": (
        lambda task: privately(task, init=privately(task, 4.0), public_start=True),
        "epsilon = 2, delta = 0",
        "epsilon = 2.5, delta = 0",
    ),
}


@pytest.mark.parametrize("start", SUMS)
def test_the_certificate_states_what_shared_records_cost(task, start):
    make, before, both = SUMS[start]
    certificate = privately(task, 0.5, init=make(task)).certificate_
    assert certificate.holds
    name = "its starts" if start == "a chain" else "its start"
    text = f"this fit costs epsilon = 0.5, delta = 0; {name} {before}; records that both read, the sum: {both}"
    assert text in " ".join(str(certificate).split())
    assert text in certificate.details()
    assert "has it only if the start was charged there" in certificate.details()


OTHERWISE = {"adjacency": {"adjacency": "replace-one"}, "unit": {"records_per_person": 2}}


@pytest.mark.parametrize("given", OTHERWISE)
def test_no_sum_of_costs_that_do_not_compare(task, given):
    certificate = privately(task, init=privately(task, **OTHERWISE[given])).certificate_
    assert certificate.holds
    assert "so no sum of the costs is stated" in " ".join(str(certificate).split())


def test_what_version_0_3_said_in_other_words_has_no_guarantee():
    start = Start.from_dict("a model of somebody")
    assert "cannot be read" in start.grounds[0]
    assert start.to_dict() == "a model of somebody"


def test_the_certificate_says_where_the_start_comes_from(task):
    kind, y, init = task
    model = kind(1.0, schema=init.schema_, init=init).fit(some(3000, 4000), y[3000:4000])
    certificate = model.certificate_
    assert not certificate.holds
    assert certificate.covers_its_steps
    (start,) = certificate.starts
    assert init.certificate_.digest[:16] in str(start)
    assert "promises nothing: the noise came from random_state" in str(start)
    assert "a start that promises nothing; " in str(certificate)
    assert type(certificate).from_dict(certificate.to_dict()) == certificate
    name = "hedgerow" if kind is hr.HedgerowClassifier else "hedgerow-regressor"
    planned = hr.plan(init.schema_, records=1000, epsilon=1.0, system=name, init=init)
    assert planned.certificate.digest == certificate.digest
    again = kind(2.0, schema=init.schema_, init=model).fit(some(4000, 5000), y[4000:5000])
    assert again.certificate_.starts[1:] == certificate.starts
    assert "which promises epsilon = 1, delta = 0, for one record added or removed" in str(again.certificate_.starts[0])
    assert "the model that it starts from; " in str(replace(certificate, starts=again.certificate_.starts[:1]))
    assert "that one starts from" in again.certificate_.details()


def test_a_certificate_without_a_start_is_what_it_was(task):
    _, _, init = task
    assert "starts" not in init.certificate_.to_dict()
    assert "starts from" not in init.certificate_.details()


def test_a_ledger_has_both_fits_of_the_same_records(task):
    kind, y, init = task
    ledger = hr.Ledger(epsilon=1.5)
    records = some(0, 2000), y[:2000]
    first = kind(1.0, schema=init.schema_, ledger=ledger).fit(*records)
    kind(0.5, schema=init.schema_, ledger=ledger, init=first).fit(*records)
    assert ledger.spent == 1.5
    with pytest.raises(BudgetExceeded):
        kind(0.1, schema=init.schema_, ledger=ledger, init=first).fit(*records)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("seed", thinned(range(3), 3))
def test_a_fit_follows_from_what_is_released(task, seed, delta):
    kind, y, init = task
    model = kind(delta=delta, schema=init.schema_, init=init, n_estimators=3)
    empty = np.array([None], dtype=object)
    lies = World({name: column[:60] for name, column in X.items()}, y[:60], lies=10)
    large = World({name: column[:5] for name, column in X.items()}, y[:5], lies=10**6)
    expected, asked = fit_in(World({name: column[:1] for name, column in X.items()}, empty), model, seed)
    for world in (lies, large, World(X, y)):
        found, questions = fit_in(world, model, seed)
        assert questions == asked
        assert found == expected
    without, others = fit_in(World(X, y), kind(delta=delta, schema=init.schema_, n_estimators=3), seed)
    assert len(others) < len(asked)
    assert without != expected


# What it leaves behind.


def test_files_hold_the_start_and_not_the_parameter(started, tmp_path):
    started.save(tmp_path / "model")
    loaded = hr.load(tmp_path / "model")
    assert loaded.init is None
    assert loaded.certificate_ == started.certificate_
    assert loaded.model_.parts is not None
    assert np.array_equal(said(loaded), said(started))
    assert np.array_equal(loaded.feature_importances_, started.feature_importances_)
    assert np.array_equal(loaded.explain(some(0, 50)).deviation, started.explain(some(0, 50)).deviation)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert read_archive(tmp_path / "model")[0]["format"] == (5 if isinstance(started, hr.HedgerowRegressor) else 4)


def test_a_model_with_a_start_is_what_its_certificate_explains(started, tmp_path):
    started.save(tmp_path / "model")
    for model in (started, tmp_path / "model"):
        words = [finding.words for finding in check_model(model) if finding.attack == "contents"]
        assert words == []


def rewritten(model, path, change):
    model.save(path)
    document, arrays = read_archive(path)
    document, arrays = change(document, dict(arrays))
    write_archive(path, document, arrays)
    return path


DAMAGE = {
    "no start": lambda document, arrays: (
        {**document, "format": 3},
        {name: array for name, array in arrays.items() if not name.startswith("init_")},
    ),
    "no public coin": lambda document, arrays: ({**document, "coins": []}, arrays),
    "no words": lambda document, arrays: (
        {**document, "certificate": {name: part for name, part in document["certificate"].items() if name != "starts"}},
        arrays,
    ),
    "an earlier format": lambda document, arrays: ({**document, "format": 3}, arrays),
    "half a start": lambda document, arrays: (
        document,
        {name: array for name, array in arrays.items() if name != "init_votes"},
    ),
    "cut points": lambda document, arrays: (document, {**arrays, "init_edges": arrays["init_edges"] + 1e-9}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_refused(started, damage, tmp_path):
    path = rewritten(started, tmp_path / "model", DAMAGE[damage])
    with pytest.raises(FileFormatError):
        hr.load(path)


def test_contributions_are_exact_and_have_bands(started):
    found = started.explain(some(4500, 4600))
    total = found.baseline + found.contributions.sum(axis=1)
    if isinstance(started, hr.HedgerowRegressor):
        assert np.allclose(total.clip(-8, 8), started.predict(some(4500, 4600)))
    else:
        assert np.array_equal(total, started.decision_function(some(4500, 4600)))
    assert found.deviation is not None
    labels, curve = started.feature_curve("a")
    assert len(labels) == len(curve)


def test_the_form_of_exports_says_what_the_model_says(started):
    form, whole = started.model_.form, started.model_
    records = some(4500, 5500)
    codes = whole.encoder.transform(records)
    found = form.link(form.sums(codes))
    expected = said(started)[:1000]
    np.testing.assert_allclose(found if found.ndim == expected.ndim else found[:, 0], expected, rtol=1e-12)


def test_the_same_bits_in_parts(task, tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    kind, y, init = task
    monkeypatch.setattr(local, "FEWEST_ROWS", 1)
    monkeypatch.setattr(local, "MOST_ROWS", 211)
    given = {"epsilon": 3.0, "schema": init.schema_, "init": init, "random_state": 7}
    kind(**given).fit(some(3000, 4500), y[3000:4500]).save(tmp_path / "whole")
    table = pa.table({**{name: list(column) for name, column in some(3000, 4500).items()}, "label": list(y[3000:4500])})
    kind(**given).fit(hr.Records.from_batches(table.to_reader(max_chunksize=97), label="label")).save(
        tmp_path / "parts"
    )
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_persons_are_protected_with_a_start(task):
    kind, y, init = task
    model = kind(1.0, schema=init.schema_, init=init, records_per_person=2)
    model.fit(some(3000, 4500), y[3000:4500], groups=np.arange(1500) // 3)
    assert replace(model.certificate_, starts=()).reasons == ()
    assert model.certificate_.records_per_person == 2


def test_a_curator_answers_a_fit_with_a_start(task):
    kind, y, init = task
    curator = hr.Curator(some(3000, 4500), y[3000:4500], init.schema_, epsilon=1.0, max_bins=255)
    model = kind(1.0, init=init, public_start=True).fit_curator(curator)
    assert model.certificate_.holds
    assert model.model_.parts is not None
    assert curator.remaining < 1e-6


# The parameter.


def test_clones_keep_the_fitted_start(task, started):
    kind, _, init = task
    for copied in (clone(started), clone(clone(started))):
        assert copied.init is init
        assert not hasattr(copied, "_fitted")
        assert copied.get_params() == started.get_params()
    assert "init__epsilon" not in started.get_params(deep=True)
    unpickled = pickle.loads(pickle.dumps(kind(init=init)))
    assert np.array_equal(said(unpickled.init), said(init))
    assert np.array_equal(said(copy.deepcopy(started)), said(started))


def test_clones_keep_what_is_routed():
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        model = hr.HedgerowClassifier(schema=CLASSES).set_fit_request(groups=True)
        assert clone(model).get_metadata_routing().fit.requests["groups"] is True


def test_a_search_fits_every_candidate_with_the_start(task):
    kind, y, init = task
    search = GridSearchCV(kind(schema=init.schema_, init=init, random_state=0), {"epsilon": [0.5, 1.0]}, cv=2)
    search.fit(pd.DataFrame(some(3000, 4000)), y[3000:4000])
    assert search.best_estimator_.init is init
    assert search.best_estimator_.model_.parts is not None


def schema_with(**features):
    return hr.Schema(features, classes=["no", "yes"])


def test_a_private_search_says_where_its_candidates_start_from(task, tmp_path):
    kind, y, init = task
    search = hr.PrivateSearchCV(kind(schema=init.schema_, init=init), {"n_estimators": [3, 5]}, epsilon=1.0)
    search.fit(some(3000, 5000), y[3000:5000])
    best = search.best_estimator_
    assert init.certificate_.digest[:16] in str(search.certificate_.starts[0])
    assert best.certificate_.starts == search.certificate_.starts
    assert "starts from" in search.certificate_.details()
    best.save(tmp_path / "best")
    assert np.array_equal(said(hr.load(tmp_path / "best")), said(best))


OTHERS = {
    "other features": ({"schema": schema_with(a=hr.Numeric(0, 1))}, "feature 'b' is hr.Numeric in init, but missing"),
    "more features": (
        {"schema": CLASSES.replace(features={**FEATURES, "d": hr.Numeric(0, 1)})},
        "feature 'd' is missing in init",
    ),
    "another kind": (
        {"schema": schema_with(**{**FEATURES, "a": hr.Categorical(["x"])})},
        "feature 'a' is hr.Numeric in init, but hr.Categorical",
    ),
    "other classes": (
        {"schema": CLASSES.replace(classes=["yes", "no"])},
        "the list of classes is .*no.*yes.* in init, but",
    ),
    "interactions": ({"interaction_cst": "no_interactions"}, "interaction_cst forbids"),
    "another way": ({"monotonic_cst": {"a": -1}}, "do not go as monotonic_cst says"),
}


@pytest.fixture(scope="module")
def initial():
    return hr.HedgerowClassifier(30.0, schema=CLASSES, random_state=1).fit(some(0, 3000), LABELS[:3000])


@pytest.mark.parametrize("other", OTHERS)
def test_what_does_not_agree_is_named_before_anything_is_booked(initial, other):
    given, words = OTHERS[other]
    ledger = hr.Ledger(epsilon=1.0)
    model = hr.HedgerowClassifier(**{"schema": CLASSES, "init": initial, "ledger": ledger, **given})
    with pytest.raises(ConfigurationError, match=words):
        model.fit({name: X.get(name, X["a"])[:100] for name in model.schema.names}, LABELS[:100])
    assert ledger.spent == 0


@pytest.mark.parametrize(
    ("init", "words"),
    [
        (hr.HedgerowClassifier(schema=CLASSES), "init is not fitted"),
        (hr.EDPRFClassifier(schema=CLASSES), "init is EDPRFClassifier, but it must be HedgerowClassifier"),
        ("model.hedgerow", "init is str, but it must be a fitted model of the same class"),
    ],
    ids=["unfitted", "another class", "a path"],
)
def test_what_is_no_start_is_refused(init, words):
    with pytest.raises(ConfigurationError, match=words):
        hr.HedgerowClassifier(schema=CLASSES, init=init).fit(some(0, 100), LABELS[:100])


def test_another_loss_is_refused():
    init = hr.HedgerowRegressor(schema=NUMBERS.replace(outcome=hr.Numeric(0, 9)), loss="poisson", random_state=0)
    init.fit(some(0, 500), OUTCOMES[:500])
    with pytest.raises(ConfigurationError, match="init adds up the log outcome"):
        hr.HedgerowRegressor(schema=NUMBERS, init=init).fit(some(0, 500), OUTCOMES[:500])


def test_curves_go_as_they_may_with_a_start():
    given = {"schema": CLASSES, "monotonic_cst": {"a": 1}, "random_state": 0}
    init = hr.HedgerowClassifier(20.0, **given).fit(some(0, 3000), LABELS[:3000])
    model = hr.HedgerowClassifier(1.0, init=init, **given).fit(some(3000, 6000), LABELS[3000:])
    _, curve = model.feature_curve("a")
    assert (np.diff(curve[:-1]) >= 0).all()


@pytest.mark.parametrize("high", [1e-6, 1e-15, 1e-29])
def test_a_start_whose_outcomes_are_far_beyond_the_range_is_refused(high):
    init = hr.HedgerowRegressor(9.0, schema=NUMBERS, random_state=0).fit(some(0, 2000), OUTCOMES[:2000])
    model = hr.HedgerowRegressor(1.0, schema=NUMBERS.replace(outcome=hr.Numeric(0, high)), init=init)
    with pytest.raises(ConfigurationError, match="too large for a margin"):
        model.fit(some(0, 100), OUTCOMES[:100])


@pytest.mark.parametrize("factor", [0.5, 4.0])
def test_a_start_of_another_range_of_outcomes_keeps_its_steps(factor):
    """Votes are in units of the range, and so are votes per unit step: their quotient stays."""
    outcome = NUMBERS.outcome
    init = hr.HedgerowRegressor(9.0, schema=NUMBERS, random_state=0).fit(some(0, 2000), OUTCOMES[:2000])
    wider = NUMBERS.replace(outcome=hr.Numeric(factor * outcome.low, factor * outcome.high))
    model = hr.HedgerowRegressor(1.0, schema=wider, init=init, random_state=0).fit(some(0, 1000), OUTCOMES[:1000])
    given = init.model_.own.terms
    kept = start_on(init.model_.own, fine_encoder(wider), model.model_.own.loss).terms
    assert len(given) == len(kept) > 1
    for before, after in zip(given, kept, strict=True):
        assert after.unit == pytest.approx(before.unit / factor, rel=1e-6)
        assert after.steps.max() == pytest.approx(before.steps.max(), abs=UNIT / after.unit)  # a vote


def test_a_later_fit_of_the_start_changes_neither_plan_nor_certificate(task, started, monkeypatch):
    kind, y, init = task
    given, shipped = copy.copy(init), kind._plan
    other = kind(1.0, schema=init.schema_, random_state=7).fit(some(0, 1000), y[:1000])

    def planned(self, schema, claim, coins):
        plan = shipped(self, schema, claim, coins)
        given._fitted = other._fitted  # as another thread's fit would do
        return plan

    monkeypatch.setattr(kind, "_plan", planned)
    model = kind(1.0, delta=1e-6, schema=init.schema_, init=given, random_state=2).fit(some(3000, 4500), y[3000:4500])
    assert given.certificate_ == other.certificate_
    assert model.certificate_.starts == started.certificate_.starts
    assert np.array_equal(said(model), said(started))


def test_importances_are_of_the_start_and_of_what_was_learned_beyond_it():
    """Beside standard deviations of the curves themselves, of all terms of either."""
    generator = np.random.default_rng(0)
    X = {name: generator.uniform(0, 1, 2000) for name in "ab"}
    schema = hr.Schema({name: hr.Numeric(0, 1) for name in "ab"}, classes=["no", "yes"])
    settings = {"schema": schema, "n_estimators": 2, "random_state": 0}
    first = hr.HedgerowClassifier(5.0, **settings).fit(X, np.where(X["a"] > 0.5, "yes", "no"))
    model = hr.HedgerowClassifier(5.0, init=first, **settings).fit(X, np.where(X["b"] > 0.5, "yes", "no"))
    assert not any(term.cuts for term in model.model_.terms)
    spreads = np.array([np.std(model.model_.curve(feature)) for feature in range(2)])
    assert spreads.min() > 0.1 * spreads.sum()
    np.testing.assert_allclose(model.feature_importances_, spreads / spreads.sum())
