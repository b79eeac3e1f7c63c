"""Events survive a file unchanged, and what is no event is refused."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import FileFormatError
from hedgerow.files import DEEPEST_EVENT, LARGEST_AMOUNT, LONGEST_WORDS, MOST_EVENTS, SMALLEST_AMOUNT
from hedgerow.privacy.accounting import (
    Concentrated,
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
    Thresholded,
    Unprotected,
    event_from_dict,
    event_to_dict,
)

amounts = st.fractions(0, 10**6)
leaves = st.one_of(
    st.builds(Pure, amounts, st.text(), st.text(), st.integers(0, 100)),
    st.builds(Gaussian, amounts, st.integers(0, 10**12), st.text(), st.integers(0, 100)),
    st.builds(Thresholded, amounts, st.text(), st.text(), st.integers(0, 100), amounts, st.integers(1, 3)),
    st.builds(Concentrated, amounts, st.text(), st.text(), st.integers(0, 100), st.integers(1, 5)),
    st.builds(Unprotected, st.text()),
)
events = st.recursive(
    leaves,
    lambda parts: st.one_of(
        st.lists(parts, max_size=4).map(tuple).map(Sequence),
        st.builds(Parallel, st.lists(parts, max_size=4).map(tuple), st.text()),
        st.builds(OneOf, st.lists(parts, min_size=1, max_size=4).map(tuple), st.text()),
        st.builds(PerRecordAssignment, parts, st.integers(1, 1000)),
        st.builds(Subsampled, parts, st.fractions(Fraction(1, 1000), 1)),
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
        lambda: Thresholded(Fraction(-1), "m", "p"),
        lambda: Thresholded(Fraction(1), "m", "p", delta=Fraction(-1)),
    ],
)
def test_an_event_cannot_give_budget_back(make):
    with pytest.raises(ValueError, match="nothing gives budget back"):
        make()


@pytest.mark.parametrize(("kind", "name"), [(Thresholded, "records"), (Concentrated, "shares")])
@pytest.mark.parametrize("number", [0, -1])
def test_a_threshold_is_for_one_record_and_noise_of_one_owner_or_more(kind, name, number):
    assert [getattr(kind(Fraction(1), "m", "p", **{name: least}), name) for least in (1, 2)] == [1, 2]
    with pytest.raises(ValueError, match=f"{name} is"):
        kind(Fraction(1), "m", "p", **{name: number})


@pytest.mark.parametrize("inclusion", ["0", "-1/2", "3/2"])
def test_an_inclusion_is_a_probability_above_0(inclusion):
    assert Subsampled(Sequence(()), Fraction(1)).inclusion == 1
    with pytest.raises(ValueError, match="inclusion is"):
        Subsampled(Sequence(()), Fraction(inclusion))


def test_what_is_not_said_of_an_event_is_nothing():
    pure, normal, shown = Pure(Fraction(1), "m", "p"), Gaussian(Fraction(1), 1, "p"), Thresholded(Fraction(1), "m", "p")
    assert (pure.level, normal.level, shown.level, shown.delta, shown.records) == (0, 0, 0, 0, 1)
    assert Concentrated(Fraction(1), "m", "p") == Concentrated(Fraction(1), "m", "p", level=0, shares=1)
    assert "records" not in event_to_dict(shown)  # as it was written before persons


# What a file may hold: each limit is reached, and not passed.


def nested(depth, within):
    return PURE if depth == 0 else within(nested(depth - 1, within))


@pytest.mark.parametrize(
    "within",
    [
        lambda part: {"event": "Sequence", "parts": [part]},
        lambda part: {"event": "PerRecordAssignment", "part": part, "count": 2},
    ],
)
def test_events_are_as_deep_as_the_limit_and_no_deeper(within):
    assert event_to_dict(event_from_dict(nested(DEEPEST_EVENT, within))) == nested(DEEPEST_EVENT, within)
    with pytest.raises(FileFormatError):
        event_from_dict(nested(DEEPEST_EVENT + 1, within))


def test_there_are_as_many_events_as_the_limit_and_no_more():
    parts = [PURE, PURE | {"level": 2}] * (MOST_EVENTS // 2)
    assert len(event_from_dict({"event": "Sequence", "parts": parts[1:]}).parts) == MOST_EVENTS - 1
    with pytest.raises(FileFormatError):
        event_from_dict({"event": "Sequence", "parts": parts})


def test_words_are_as_long_as_the_limit_and_no_longer():
    assert event_from_dict(PURE | {"purpose": "p" * LONGEST_WORDS}).purpose == "p" * LONGEST_WORDS
    with pytest.raises(FileFormatError):
        event_from_dict(PURE | {"purpose": "p" * (LONGEST_WORDS + 1)})


@pytest.mark.parametrize("edge", [SMALLEST_AMOUNT, LARGEST_AMOUNT])
def test_amounts_are_within_their_bounds_and_not_beyond(edge):
    assert event_from_dict(PURE | {"epsilon": str(Fraction(edge))}).epsilon == edge
    beyond = Fraction(edge) * Fraction(999, 1000) ** (1 if edge < 1 else -1)
    with pytest.raises(FileFormatError):
        event_from_dict(PURE | {"epsilon": str(beyond)})


@pytest.mark.parametrize(
    ("one", "other", "bits"),
    [
        (2**4096 + 1, 2**4095 + 1, 8192),  # odd, with no common factor
        (2**4095, 2**4096 + 1, 8192),
        (2**4096, 2**4096 + 1, 8193),
    ],
)
def test_the_common_denominator_of_all_amounts_is_as_long_as_the_limit_and_no_longer(one, other, bits):
    assert math.lcm(one, other).bit_length() == bits
    amounts = [Fraction(below - 2, below) if below % 2 else Fraction(below - 1, below) for below in (one, other)]
    data = {"event": "Sequence", "parts": [PURE | {"epsilon": str(amount)} for amount in amounts]}
    if bits <= 2**13:
        assert [part.epsilon for part in event_from_dict(data).parts] == amounts
    else:
        with pytest.raises(FileFormatError):
            event_from_dict(data)
