"""Private search: laws on neighbors, parts, what is charged and what is kept."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import hedgerow as hr
from hedgerow.analysis.search import SHARES, Comparison, Parts, Scores, divided
from hedgerow.curator import ModelScores, Queryable
from hedgerow.mechanisms import PermuteAndFlip, PerRecordCoin, Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.claim import Claim
from hedgerow.reading.columns import read_records
from hedgerow.schema import Encoder
from hedgerow.table import Coded, MemoryTable

SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["no", "yes"])
GRID = {"max_depth": [1, 5]}


def sample(size, seed=0):
    X = np.random.default_rng(seed).uniform(size=(size, 2))
    return X, np.where((X[:, 0] > 0.5) != (X[:, 1] > 0.5), "yes", "no")


def searched(size=4000, grid=None, **settings):
    settings = {"epsilon": 8, "random_state": 0, **settings}
    return hr.PrivateSearchCV(hr.EDPRFClassifier(schema=SCHEMA), grid or GRID, **settings).fit(*sample(size))


def test_what_chooses_the_winner_spends_the_claim_of_its_part():
    mechanism = Comparison((), Claim(Fraction(2), Fraction(0), "add-remove"), 0.5, SCHEMA).mechanism
    assert mechanism == PermuteAndFlip(Fraction(2), 1)  # a record is right or wrong
    chosen = mechanism.event("a winner", "a score")
    assert cost(chosen).under("add-remove").delta(Fraction(2)) <= Fraction(0)
    assert not cost(chosen).under("add-remove").delta(Fraction(199, 100)) <= Fraction(0)


def test_shares_are_divided_whole_and_evenly():
    assert [len(part) for part in divided(0.3, 5)] == [307, 144, 144, 143, 143, 143]
    assert [len(part) for part in divided(1e-9, 1)] == [1, 1023]


def test_one_record_more_moves_no_other_and_is_in_one_part():
    parts = divided(0.25, 2)
    assert [len(part) for part in parts] == [256, 384, 384]
    assert [share for part in parts for share in part] == list(range(SHARES))

    def own(size):
        """The classes that each part's table has, one column for each part."""
        X, y = sample(size)
        made = Parts(SCHEMA, *read_records(X, y, SCHEMA.features, SCHEMA.labels), Randomness(3), None)
        reading = Coded(Encoder(SCHEMA, 4))
        return np.column_stack([made.table(reading, part)._labels for part in parts])

    few, many = own(500), own(501)
    assert np.array_equal(few, many[:500])
    assert ((own(5000) >= 0).sum(axis=1) == 1).all()
    assert np.abs((own(20_000) >= 0).mean(axis=0) - np.array([256, 384, 384]) / SHARES).max() < 0.02


def test_a_model_is_right_where_it_predicts_the_label_and_records_without_one_count_nowhere():
    X, y = sample(60)
    models = tuple(
        hr.EDPRFClassifier(9.0, schema=SCHEMA, max_depth=depth, random_state=depth).fit(X, y).model_ for depth in (1, 3)
    )
    right, labels = Scores(SCHEMA, models), y.tolist()
    labels[:3] = [None, "maybe", math.nan]
    columns, cells = read_records(X, labels, SCHEMA.features, None)
    codes, classes = right.read(columns, cells)
    expected = np.array([np.array(["no", "yes"])[model.probabilities(columns).argmax(axis=1)] for model in models]).T
    assert np.array_equal(codes[3:], expected[3:] == y[3:, None])
    assert (codes.dtype, codes[:3].any()) == (right.dtype, False)
    assert classes.tolist() == [-1] * 3 + [0] * 57


def test_a_comparison_stops_at_its_ceiling_and_refuses_what_is_too_fine():
    right = MemoryTable(np.array([[1, 0], [1, 1]], dtype=np.uint8), np.zeros(2, dtype=np.int16), np.array([2, 2]), 1)
    one = PermuteAndFlip(Fraction(1), 1)
    curator = Queryable(right, cost(one.event("w", "s")), Randomness(0))
    scores = ModelScores(curator.assign(PerRecordCoin(1)))
    assert curator.answer(scores, one)[0] in (0, 1)
    with pytest.raises(hr.BudgetExceeded):
        curator.answer(scores, one)


def test_it_finds_the_deeper_tree():
    depths = [searched(random_state=seed).best_params_["max_depth"] for seed in range(5)]
    assert depths.count(5) >= 3


def check_whole(search, epsilon, delta=0):
    certificate = search.certificate_
    assert certificate.claim.epsilon == Fraction(epsilon)
    assert certificate.covers_its_steps
    assert cost(certificate.event).under(certificate.adjacency).delta(Fraction(epsilon)) <= Fraction(delta)
    return certificate


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("refit", [0.5, 0.75, 0])
def test_certificates_and_files(refit, adjacency, tmp_path):
    search = searched(800, refit=refit, adjacency=adjacency, epsilon=1, random_state=None)
    certificate = check_whole(search, 1)
    assert certificate.holds
    assert certificate.spent > Fraction(99, 100)
    assert "own epsilon being replaced" in certificate.details()
    assert hr.Certificate.from_dict(certificate.to_dict()) == certificate
    best = search.best_estimator_
    assert certificate.digest[:16] in best.certificate_.details()
    assert best.certificate_.holds
    assert best.certificate_.claim.epsilon == (Fraction(refit) or 1)
    best.save(tmp_path / "m")
    X = sample(50, 1)[0]
    assert np.array_equal(hr.load(tmp_path / "m").predict_proba(X), search.predict_proba(X))
    assert search.predict(X).shape == (50,)
    assert search.classes_.tolist() == ["no", "yes"]


def test_a_candidate_has_no_delta():
    estimator = hr.SmoothBoostClassifier(schema=SCHEMA, n_estimators=3, delta=1e-6)
    search = hr.PrivateSearchCV(estimator, {"max_depth": [1, 2]}, epsilon=2, random_state=0).fit(*sample(800))
    check_whole(search, 2)
    spent = cost(search.certificate_.event)
    assert (spent.mu_squared, spent.draws, spent.thresholds) == (0, 0, 0)
    assert search.best_estimator_.delta == 0


def test_words_of_both_certificates_and_whose_records_they_are():
    who = np.arange(800) // 2
    for refit, words in ((0.5, "its parameters being the choice of"), (0, "its model being what")):
        search = hr.PrivateSearchCV(
            hr.EDPRFClassifier(schema=SCHEMA), GRID, epsilon=2, refit=refit, records_per_person=2, random_state=0
        ).fit(*sample(800), groups=who)
        best = search.best_estimator_.certificate_
        assert f"{words} certificate {search.certificate_.digest[:16]}" in best.details()
        assert [one.unit.person for one in (search.certificate_, best)] == ["", ""]


def test_doubts_of_the_last_fit_are_told_where_it_was_asked_for():
    """Where no label is known, noise alone stands for the number of records."""
    X = sample(400)[0]
    search = hr.PrivateSearchCV(
        hr.HedgerowClassifier(schema=SCHEMA), {"n_estimators": [None, 4]}, epsilon=3, refit=0.9, random_state=0
    )
    with pytest.warns(UserWarning, match="once in 1000 fits") as caught:
        search.fit(X, ["unknown"] * 400)
    assert [warning.filename for warning in caught] == [__file__]


def test_defaults_and_limits_of_a_search():
    search = hr.PrivateSearchCV(hr.EDPRFClassifier(schema=SCHEMA), GRID)
    assert search.epsilon == 1
    with pytest.raises(NotFittedError):
        _ = search.best_params_
    for settings in ({"refit": 0.99}, {"validation": 0.9}, {"grid": {"max_depth": list(range(256))}}):
        search.set_params(**{"refit": 0.5, "validation": 0.5, "grid": GRID, **settings})._checked()


def ledgers(tmp_path, **ceiling):
    yield hr.Ledger(**ceiling)
    yield hr.LedgerStore(tmp_path / "b.db").create("people", **ceiling)


def test_ledgers_book_the_whole_once(tmp_path, monkeypatch):
    for ledger in ledgers(tmp_path, epsilon=1.5):
        searched(300, epsilon=1, ledger=ledger, grid={"max_depth": [1, 2, 3]})
        assert [(entry.label, entry.state) for entry in ledger.entries] == [("PrivateSearchCV", "finished")]
        assert ledger.spent == 1
        with monkeypatch.context() as patch:
            patch.setattr("hedgerow.mechanisms.Randomness.coins", lambda *_: pytest.fail("it was drawn"))
            with pytest.raises(hr.BudgetExceeded):
                searched(300, epsilon=1, ledger=ledger)


def test_nothing_of_the_others_is_kept():
    search = searched(600, grid={"max_depth": [1, 2, 3, 4]})
    fitted = {name for name in vars(search) if name not in search.get_params(deep=False)}
    assert fitted == {"_searched"}
    assert vars(search._searched).keys() == {"params", "estimator", "certificate"}
    assert len(pickle.dumps(search.best_estimator_)) < 200_000
    again = clone(search)
    assert not hasattr(again, "best_estimator_")
    assert searched(600, random_state=1).certificate_.details() == searched(900, random_state=2).certificate_.details()


def test_an_interrupted_search_leaves_nothing(monkeypatch):
    search = searched(300)

    def broken(*_):
        raise KeyboardInterrupt

    ledger = hr.Ledger(epsilon=9)
    search.set_params(ledger=ledger)
    monkeypatch.setattr("hedgerow.analysis.search.Comparison.run", broken)
    with pytest.raises(KeyboardInterrupt):
        search.fit(*sample(300))
    assert not hasattr(search, "best_estimator_")
    assert (ledger.entries[0].state, ledger.spent) == ("failed", 8)


def test_odd_records_and_empty_parts():
    X = [[object(), "x"], "no row", [0.2, 0.7], [1]]
    search = hr.PrivateSearchCV(hr.EDPRFClassifier(schema=SCHEMA), GRID, epsilon=1)
    assert search.fit(X, ["maybe", None, "yes", math.nan]).certificate_.holds


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"grid": {"epsilon": [1, 2]}}, "sets itself"),
        ({"grid": {"max_depth": [1]}}, "1 candidates"),
        ({"grid": {"max_depth": [1, -1]}}, "max_depth"),
        ({"refit": 1.5}, "refit"),
        ({"refit": "all"}, "refit"),
        ({"refit": True}, "refit"),
        ({"refit": -0.5}, "refit"),
        ({"grid": {"max_depth": list(range(257))}}, "257 candidates"),
        ({"validation": 0}, "validation"),
        ({"grid": {"delta": [0, 1e-6]}}, "sets itself"),
        ({"estimator": 3}, "estimator of this library"),
        ({"estimator": hr.EDPRFClassifier()}, "no schema"),
        ({"estimator": hr.EDPRFClassifier(schema=SCHEMA, variant="published")}, "private form"),
    ],
)
def test_wrong_searches_are_refused_and_not_booked(changes, words):
    ledger = hr.Ledger(epsilon=10, delta=1e-4)
    settings = {"estimator": hr.EDPRFClassifier(schema=SCHEMA), "grid": GRID, "ledger": ledger, **changes}
    with pytest.raises(hr.ConfigurationError, match=words):
        hr.PrivateSearchCV(**settings).fit(*sample(50))
    assert ledger.entries == ()
