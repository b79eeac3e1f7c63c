"""An interruption at any line of a released schema, a report card or a search: nothing is had that was not booked."""

from __future__ import annotations

import contextlib
from collections import Counter

import pytest
from interruption import at_every_line
from products import thinned

import hedgerow as hr
from hedgerow.errors import BudgetExceeded
from hedgerow.mechanisms import Randomness

pytestmark = [pytest.mark.filterwarnings("ignore:no (range|value)"), pytest.mark.filterwarnings("ignore:delta is")]

SCHEMA = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
X, Y = {"a": ["x", "y"] * 20}, ["no", "yes"] * 20
MODEL = hr.EDPRFClassifier(epsilon=5, schema=SCHEMA, n_estimators=1, max_depth=1).fit(X, Y)
EPSILON, CEILING = 0.6, 1.0
FILES = (
    "analysis/release.py",
    "analysis/evaluation.py",
    "curator/given.py",
    "analysis/search.py",
    "curator/queryable.py",
    "curator/queries.py",
    "ledgers/ledger.py",
)


def release(ledger):
    return hr.private_schema(X, epsilon=EPSILON, delta=1e-5, categorical=["a"], classes=["no", "yes"], ledger=ledger)


def ranges(ledger):
    return hr.private_schema({"n": [1.0, 2.0] * 20}, epsilon=EPSILON, numeric=["n"], classes=["no"], ledger=ledger)


def card(ledger):
    return hr.evaluate(MODEL, X, Y, epsilon=EPSILON, bins=2, ledger=ledger)


def search(ledger, refit=0.5):
    estimator = hr.EDPRFClassifier(schema=SCHEMA, n_estimators=1, max_depth=0)
    made = hr.PrivateSearchCV(estimator, {"max_bins": [2, 3]}, epsilon=EPSILON, refit=refit, ledger=ledger)
    return made.fit(X, Y)


DOORS = {
    "schema": release,
    "ranges": ranges,
    "card": card,
    "search": search,
    "search without a refit": lambda ledger: search(ledger, refit=0),
}


@pytest.fixture
def drawn(monkeypatch):
    """How many draws were begun, coins among them."""
    begun = []
    for name in ("draw", "coins"):
        method = getattr(Randomness, name)
        monkeypatch.setattr(
            Randomness, name, lambda self, *asked, method=method: begun.append(1) or method(self, *asked)
        )
    return begun


@pytest.mark.parametrize("door", thinned(DOORS, len(DOORS)))
def test_an_interrupted_question_is_booked_before_anything_is_drawn_and_never_had_twice(door, drawn):
    def prepare():
        drawn.clear()
        return hr.Ledger(epsilon=CEILING, delta=1e-5)

    booked, states = Counter(), Counter()
    for where, ledger, answer in at_every_line(FILES, prepare, DOORS[door]):
        assert float(ledger.spent) in (0, EPSILON), where
        if drawn or answer is not None:
            assert float(ledger.spent) == EPSILON, where
        booked[float(ledger.spent)] += 1
        states[ledger.entries[0].state if ledger.entries else "none"] += 1
        with contextlib.suppress(BudgetExceeded):
            DOORS[door](ledger)
        assert float(ledger.spent) == EPSILON, where  # there is room for one question alone
    assert min(booked[0], booked[EPSILON]) > 5
    assert states["finished"] >= 1


def test_a_question_that_books_after_it_asked_is_caught(drawn, monkeypatch):
    """The planted bug: the ledger books when the answer is there."""

    class Late:
        def __init__(self, ledger, certificate):
            self.asked = ledger, certificate

        def __enter__(self):
            return None

        def __exit__(self, *error):
            if error[0] is None:
                with reserve(*self.asked):
                    pass

    reserve = hr.Ledger.reserve
    monkeypatch.setattr(hr.Ledger, "reserve", lambda self, certificate: Late(self, certificate))
    with pytest.raises(AssertionError):
        test_an_interrupted_question_is_booked_before_anything_is_drawn_and_never_had_twice("card", drawn)


@pytest.mark.full
def test_an_interrupted_search_leaves_no_result_of_another_budget(drawn):
    def prepare():
        made = search(None)
        drawn.clear()
        return made.set_params(epsilon=0.25, ledger=hr.Ledger(epsilon=1)), made.best_estimator_

    ends = Counter()
    files = ("analysis/search.py", "ledgers/ledger.py", "estimator/planning.py")
    for where, (made, before), _ in at_every_line(files, prepare, lambda prepared: prepared[0].fit(X, Y)):
        if not hasattr(made, "certificate_"):
            ends["nothing"] += 1
            assert float(made.ledger.spent) == 0.25, where
        else:
            assert set(made.best_params_) == {"max_bins"}
            same = made.best_estimator_ is before
            ends["old" if same else "new"] += 1
            assert float(made.certificate_.epsilon) == (EPSILON if same else 0.25), where
            assert not (same and drawn) or float(made.ledger.spent) == 0.25, where
    assert min(ends["old"], ends["nothing"], ends["new"]) > 0


def test_no_error_tells_how_many_records_there_are(monkeypatch):
    """numpy's lack of memory names a shape."""

    def large(*_, **__):
        raise MemoryError("Unable to allocate an array with shape (40, 1)")

    ledger = hr.Ledger(epsilon=9, delta=1e-4)
    monkeypatch.setattr("hedgerow.table.MemoryTable.assign", large)
    for door in (ranges, card, search):
        with pytest.raises(MemoryError) as caught:
            door(ledger)
        assert "40" not in str(caught.value)
    monkeypatch.setattr("hedgerow.curator.queryable.Values.shown", large)
    with pytest.raises(MemoryError) as caught:
        release(ledger)
    assert "40" not in str(caught.value)
    assert [entry.state for entry in ledger.entries] == ["failed"] * 4
