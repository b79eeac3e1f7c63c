"""Events survive a file unchanged, and what is no event is refused."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import FileFormatError
from hedgerow.privacy.events import (
    Gaussian,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Unprotected,
    event_from_dict,
    event_to_dict,
)

amounts = st.fractions(0, 10**6)
leaves = st.one_of(
    st.builds(Pure, amounts, st.text(), st.text(), st.integers(0, 100)),
    st.builds(Gaussian, amounts, st.integers(0, 10**12), st.text(), st.integers(0, 100)),
    st.builds(Unprotected, st.text()),
)
events = st.recursive(
    leaves,
    lambda parts: st.one_of(
        st.lists(parts, max_size=4).map(tuple).map(Sequence),
        st.builds(Parallel, st.lists(parts, max_size=4).map(tuple), st.text()),
        st.builds(PerRecordAssignment, parts, st.integers(1, 1000)),
    ),
    max_leaves=15,
)


@given(events)
@settings(max_examples=60)
def test_an_event_survives_json(event):
    assert event_from_dict(json.loads(json.dumps(event_to_dict(event)))) == event


def test_events_are_frozen_and_compare_by_value():
    event = Pure(Fraction(1), "m", "p")
    with pytest.raises(AttributeError):
        event.epsilon = Fraction(2)
    assert event == Pure(Fraction(1), "m", "p")
    assert len({event, Pure(Fraction(1), "m", "p")}) == 1


PURE = {"event": "Pure", "epsilon": "1/3", "mechanism": "m", "purpose": "p", "level": 1}
NOTHING = {"event": "Sequence", "parts": []}

DAMAGED = {
    "nothing": None,
    "a list": [],
    "a text": "Pure",
    "no kind": {},
    "unknown kind": {"event": "Free"},
    "the abstract kind": {"event": "Event"},
    "unhashable kind": {"event": ["Pure"]},
    "missing field": {"event": "Pure", "epsilon": "1"},
    "unknown field": PURE | {"color": "red"},
    "epsilon is no number": PURE | {"epsilon": "much"},
    "epsilon is a null": PURE | {"epsilon": None},
    "epsilon over zero": PURE | {"epsilon": "1/0"},
    "epsilon not a number": PURE | {"epsilon": math.nan},
    "level is a text": PURE | {"level": "1"},
    "level is a float": PURE | {"level": 1.0},
    "mechanism is a number": PURE | {"mechanism": 3},
    "draws is a text": {"event": "Gaussian", "mu_squared": "1", "draws": "1", "purpose": "p"},
    "reason missing": {"event": "Unprotected"},
    "reason is a null": {"event": "Unprotected", "reason": None},
    "parts missing": {"event": "Sequence"},
    "parts is a number": {"event": "Sequence", "parts": 3},
    "a part is no event": {"event": "Sequence", "parts": [3]},
    "a deep part is damaged": {"event": "Parallel", "parts": [{"event": "Sequence", "parts": [{}]}], "label": ""},
    "part missing": {"event": "PerRecordAssignment", "count": 3},
    "count is a text": {"event": "PerRecordAssignment", "part": NOTHING, "count": "3"},
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_event_is_refused(data):
    with pytest.raises(FileFormatError, match="list of privacy events is damaged"):
        event_from_dict(data)


def test_endless_nesting_is_refused():
    data = NOTHING
    for _ in range(60):
        data = {"event": "Sequence", "parts": [data]}
    with pytest.raises(FileFormatError):
        event_from_dict(data)


LYING = {
    "epsilon infinite": PURE | {"epsilon": math.inf},  # json reads Infinity as this
    "epsilon negative": PURE | {"epsilon": "-1"},
    "mu_squared negative": {"event": "Gaussian", "mu_squared": "-1", "draws": 1, "purpose": "p"},
    "draws negative": {"event": "Gaussian", "mu_squared": "1", "draws": -1, "purpose": "p"},
    "count negative": {"event": "PerRecordAssignment", "part": NOTHING, "count": -1},
    "level is a truth value": PURE | {"level": True},
    "parts is a text": {"event": "Sequence", "parts": ""},
    "parts is a mapping": {"event": "Sequence", "parts": {}},
}


@pytest.mark.parametrize("data", LYING.values(), ids=LYING.keys())
def test_an_event_that_no_mechanism_can_have_is_refused(data):
    with pytest.raises(FileFormatError):
        event_from_dict(data)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Pure(Fraction(-1), "m", "p"),
        lambda: Gaussian(Fraction(-1), 1, "p"),
        lambda: Gaussian(Fraction(1), -1, "p"),
        lambda: PerRecordAssignment(Sequence(()), -1),
    ],
)
def test_an_event_cannot_give_budget_back(make):
    with pytest.raises(ValueError, match="negative"):
        make()
