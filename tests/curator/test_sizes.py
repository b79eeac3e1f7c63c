"""A lack of memory names no size: numpy's error would tell how many records there are."""

from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.additive.losses import Logistic
from hedgerow.additive.round import Term
from hedgerow.curator import Queryable
from hedgerow.mechanisms import Geometric, PerRecordCoin, Randomness
from hedgerow.scores import binary
from hedgerow.table import ClassCounts, MemoryTable, Sizes

N_CODES = np.array([2, 3])
NOISE = Geometric(Fraction(1, 8), 1)
VOTES = Term((), 0, np.ones((1, 2, 1), dtype=np.int64))
TESTS = binary(N_CODES, (False, False))


def opened(monkeypatch, broken):
    """Return a curator, its root, and let a method of its table lack memory from now on."""
    codes = np.zeros((1234, 2), dtype=np.uint8)
    curator = Queryable(MemoryTable(codes, np.zeros(1234, dtype=np.int8), N_CODES, 2), Fraction(4), Randomness(0))
    root = curator.assign(PerRecordCoin(1))

    def lacks(*args, **keywords):
        raise MemoryError("Unable to allocate an array with shape (1234, 2)")

    monkeypatch.setattr(MemoryTable, broken, lacks)
    return curator, root


ASKED = {
    "open_round": ("answer", lambda c, _: c.open_round(Logistic(2, normal=False))),
    "merge": ("merge", lambda c, _: c.for_learner(NOISE.event("a plan")).merge([np.arange(2), np.arange(3)])),
    "update_margins": ("update_margins", lambda c, _: c.update_margins(VOTES)),
    "assign": ("assign", lambda c, _: c.assign(PerRecordCoin(2))),
    "partition": ("partition", lambda c, root: c.partition(root, TESTS, np.zeros(1, dtype=np.int64))),
    "for_learner": ("fresh", lambda c, _: c.for_learner(NOISE.event("a plan"))),
    "count": ("answer", lambda c, root: c.answer(Sizes(root), NOISE)),
    "class_counts": ("answer", lambda c, root: c.answer(ClassCounts(root), NOISE)),
}


@pytest.mark.parametrize("name", ASKED)
def test_no_question_names_sizes(monkeypatch, name):
    broken, ask = ASKED[name]
    curator, root = opened(monkeypatch, broken)
    with pytest.raises(MemoryError, match="not enough memory") as caught:
        ask(curator, root)
    assert "1234" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_nor_does_an_analyst_s_curator(monkeypatch):
    schema = hr.Schema({"a": hr.Categorical([0, 1])}, classes=[0, 1])
    curator = hr.Curator(np.zeros((50, 1), dtype=int), np.zeros(50, dtype=int), schema, epsilon=1.0)

    def lacks(*args, **keywords):
        raise MemoryError("shape (50, 1)")

    monkeypatch.setattr(MemoryTable, "partition", lacks)
    with pytest.raises(MemoryError, match="not enough memory"):
        curator.partition(curator.root, curator.tests(), [0])


OPERATIONS = {
    "fit": lambda X, y: hr.HedgerowClassifier(schema=SCHEMA).fit(X, y),
    "fit of outcomes": lambda X, y: hr.HedgerowRegressor(
        schema=hr.Schema({"a": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 1))
    ).fit(X, y),
    "search": lambda X, y: hr.PrivateSearchCV(hr.ForestClassifier(schema=SCHEMA), {"max_depth": [1, 2]}, epsilon=1).fit(
        X, y
    ),
    "report card": lambda X, y: hr.evaluate(MODEL, X, y, epsilon=1),
    "schema": lambda X, y: hr.private_schema(X, y, epsilon=1, numeric=["a"], delta=1e-9),
    "division": lambda X, y: hr.hold_out(X, y),
    "curator": lambda X, y: hr.Curator(X, y, SCHEMA, epsilon=1),
}
SCHEMA = hr.Schema({"a": hr.Numeric(0, 1)}, classes=[0, 1])
MODEL = hr.EDPRFClassifier(schema=SCHEMA, random_state=0).fit([[0.1], [0.9]], [0, 1])


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("lacks_for", ["records", "labels"])
def test_a_lack_of_memory_while_records_are_read_names_no_size(operation, lacks_for, monkeypatch):
    def lacks(*_):
        raise MemoryError("Unable to allocate an array with shape (1234,)")

    masked, plain = np.ma.masked_invalid([[0.1], [np.nan]]), np.array([0, 1])
    X, y = (masked, plain) if lacks_for == "records" else ([[0.1], [0.9]], np.ma.masked_equal(plain, 0))
    if operation in ("schema", "division"):
        X = {"a": X[:, 0] if lacks_for == "records" else np.array([0.1, 0.9])}
    if operation == "division":  # which leaves the cells of labels as they are
        monkeypatch.setattr("hedgerow.analysis.held_out.read_labels", lacks)
    monkeypatch.setattr("hedgerow.reading.columns.as_objects", lacks)
    with pytest.raises(MemoryError, match="not enough memory") as caught:
        OPERATIONS[operation](X, y)
    assert "1234" not in str(caught.value)
