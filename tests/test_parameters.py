"""Constraints on parameters: what they allow, and the one sentence when they do not."""

import numpy as np
import pytest

from hedgerow.errors import ConfigurationError
from hedgerow.parameters import Choice, Integer, check_parameters


@pytest.mark.parametrize("value", [1, 2, 10, np.int64(1), np.uint8(10)])
def test_integers_in_range_are_allowed(value):
    assert Integer(1, 10).allows(value)


@pytest.mark.parametrize(
    "value", [0, 11, -1, True, np.bool_(True), 1.0, np.float64(2), "1", None, [1], np.array([1]), 1j]
)
def test_anything_else_is_no_integer_in_range(value):
    assert not Integer(1, 10).allows(value)


def test_truth_values_are_no_integers_even_in_range():
    assert not Integer(0, 1).allows(True)
    assert not Integer(0, 1).allows(False)


def test_none_is_allowed_where_a_rule_stands_behind_it():
    assert Integer(1, 10, or_none=True).allows(None)
    assert Integer(1, 10, or_none=True).allows(3)
    assert not Integer(1, 10, or_none=True).allows(0)


@pytest.mark.parametrize("value", ["private", np.str_("published")])
def test_a_choice_allows_its_options(value):
    assert Choice(("private", "published")).allows(value)


@pytest.mark.parametrize("value", ["", "Private", "priv", "private ", None, 0, b"private", ("private",), ["private"]])
def test_a_choice_allows_nothing_else(value):
    assert not Choice(("private", "published")).allows(value)


@pytest.mark.parametrize(
    ("constraint", "rule"),
    [
        (Integer(1, 10), "an integer from 1 to 10"),
        (Integer(1, 10, or_none=True), "an integer from 1 to 10, or None to have it chosen by a public rule"),
        (Choice(("private", "published")), "'private' or 'published'"),
    ],
)
def test_a_rule_reads_as_the_end_of_a_sentence(constraint, rule):
    assert str(constraint) == rule
    with pytest.raises(ConfigurationError) as error:
        check_parameters({"depth": object}, {"depth": constraint})
    assert str(error.value) == f"depth is {object!r}, but it must be {rule}."


def test_the_first_broken_constraint_is_named():
    constraints = {"a": Integer(1, 2), "b": Integer(1, 2), "c": Integer(1, 2)}
    with pytest.raises(ConfigurationError, match=r"^b is 5"):
        check_parameters({"c": 7, "b": 5, "a": 1, "unchecked": "anything"}, constraints)
    check_parameters({"a": 1, "b": 2, "c": 1}, constraints)


def test_a_broken_constraint_is_a_value_error():
    with pytest.raises(ValueError, match="a is 0"):
        check_parameters({"a": 0}, {"a": Integer(1, 2)})
