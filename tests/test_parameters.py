"""Constraints on parameters: what they allow, what plain value they make, and the one sentence when they do not."""

import json
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.errors import ConfigurationError
from hedgerow.parameters import (
    Choice,
    Exact,
    Flag,
    Instance,
    Seed,
    WholeNumber,
    check_parameters,
    parameter,
    rules_of,
    stored_parameters,
)
from hedgerow.privacy.exact import exact, exact_delta

BUDGET = Exact(exact, "a budget")
DELTA = Exact(exact_delta, "a delta")


@pytest.mark.parametrize("value", [1, 2, 10, np.int64(1), np.uint8(10)])
def test_integers_in_range_are_allowed(value):
    assert WholeNumber(1, 10).allows(value)


@pytest.mark.parametrize(
    "value", [0, 11, -1, True, np.bool_(True), 1.0, np.float64(2), "1", None, [1], np.array([1]), 1j]
)
def test_anything_else_is_no_integer_in_range(value):
    assert not WholeNumber(1, 10).allows(value)


def test_truth_values_are_no_integers_even_in_range():
    assert not WholeNumber(0, 1).allows(True)
    assert not WholeNumber(0, 1).allows(False)


def test_none_is_allowed_where_a_rule_stands_behind_it():
    assert WholeNumber(1, 10, or_none=True).allows(None)
    assert WholeNumber(1, 10, or_none=True).allows(3)
    assert not WholeNumber(1, 10, or_none=True).allows(0)


@pytest.mark.parametrize("value", ["private", np.str_("published")])
def test_a_choice_allows_its_options(value):
    assert Choice(("private", "published")).allows(value)


@pytest.mark.parametrize("value", ["", "Private", "priv", "private ", None, 0, b"private", ("private",), ["private"]])
def test_a_choice_allows_nothing_else(value):
    assert not Choice(("private", "published")).allows(value)


def test_truth_values_and_nothing_else_are_booleans():
    for value in (True, False, np.True_):
        assert Flag().allows(value)
        assert type(Flag().plain(value)) is bool
    for value in (0, 1, "yes", "True", None, np.ones(1, dtype=bool)):
        assert not Flag().allows(value)


@pytest.mark.parametrize(
    ("constraint", "rule"),
    [
        (Flag(), "True or False"),
        (WholeNumber(1, 10), "an integer from 1 to 10"),
        (WholeNumber(1, 10, or_none=True), "an integer from 1 to 10, or None to have it chosen by a public rule"),
        (Choice(("private", "published")), "'private' or 'published'"),
    ],
)
def test_a_rule_reads_as_the_end_of_a_sentence(constraint, rule):
    assert str(constraint) == rule
    with pytest.raises(ConfigurationError) as error:
        check_parameters({"depth": object}, {"depth": constraint})
    assert str(error.value) == f"depth is {object!r}, but it must be {rule}."


def test_the_first_broken_constraint_is_named():
    constraints = {"a": WholeNumber(1, 2), "b": WholeNumber(1, 2), "c": WholeNumber(1, 2)}
    with pytest.raises(ConfigurationError, match=r"^b is 5"):
        check_parameters({"c": 7, "b": 5, "a": 1}, constraints)
    assert check_parameters({"a": 1, "b": 2, "c": 1}, constraints) == {"a": 1, "b": 2, "c": 1}


def test_a_parameter_without_a_rule_is_a_bug():
    @dataclass
    class Made:
        a: int = parameter(WholeNumber(1, 2), default=1)
        b: int = 2

    with pytest.raises(TypeError, match="b has no rule"):
        rules_of(Made)


def test_a_broken_constraint_is_a_value_error():
    with pytest.raises(ValueError, match="a is 0"):
        check_parameters({"a": 0}, {"a": WholeNumber(1, 2)})


@pytest.mark.parametrize(
    ("constraint", "value", "plain", "stored"),
    [
        (WholeNumber(1, 10), np.int64(3), 3, 3),
        (WholeNumber(1, 10), np.uint8(3), 3, 3),
        (WholeNumber(1, 10, or_none=True), None, None, None),
        (Flag(), True, True, True),
        (Flag(), np.False_, False, False),
        (Choice(("a", "b")), np.str_("b"), "b", "b"),
        (Choice(("a", "b"), or_none=True), None, None, None),
        (BUDGET, 1, 1.0, "1"),
        (BUDGET, 0.1, 0.1, "1/10"),
        (BUDGET, np.float32(0.1), 0.1, "1/10"),
        (BUDGET, np.int64(2), 2.0, "2"),
        (BUDGET, Decimal("0.25"), 0.25, "1/4"),
        (BUDGET, Fraction(1, 3), Fraction(1, 3), "1/3"),
        (BUDGET, "1/3", Fraction(1, 3), "1/3"),
        (BUDGET, "0.1", 0.1, "1/10"),
        (BUDGET, 1e9, 1e9, "1000000000"),
        (BUDGET, 1e-9, 1e-9, "1/1000000000"),
        (DELTA, 0, 0.0, "0"),
        (DELTA, 1 - Fraction(1, 10**30), 1 - Fraction(1, 10**30), str(1 - Fraction(1, 10**30))),
        (Seed(), None, None, None),
        (Seed(), 0, 0, 0),
        (Seed(), np.int64(7), 7, 7),
        (Instance(dict, "a dict"), None, None, None),
    ],
)
def test_an_allowed_value_becomes_plain_once_and_survives_a_file(constraint, value, plain, stored):
    assert constraint.allows(value)
    found = constraint.plain(value)
    assert (type(found), found) == (type(plain), plain)
    text = stored_parameters({"a": found})["a"]
    assert (type(text), text) == (type(stored), stored)
    assert constraint.plain(json.loads(json.dumps(text))) == plain


@pytest.mark.parametrize(
    "value", [0, -1.0, True, float("nan"), float("inf"), "much", None, [1.0], 1j, 1e10, np.bool_(1)]
)
def test_what_is_no_budget_is_refused(value):
    assert not BUDGET.allows(value)


@pytest.mark.parametrize("value", ["seed", -1, np.int64(-1), True, 1.5, np.bool_(True), [1], np.random])
def test_what_is_no_seed_is_refused(value):
    assert not Seed().allows(value)


@pytest.mark.parametrize("generator", [np.random.default_rng(0), np.random.RandomState(0)])
def test_a_generator_is_kept_as_it_is_and_cannot_stand_in_a_file(generator):
    assert Seed().allows(generator)
    assert Seed().plain(generator) is generator
    assert stored_parameters({"a": generator}) == {"a": None}


def test_an_instance_is_kept_and_what_is_none_is_named_by_its_class_alone():
    rule = Instance(dict, "a dict")
    value = {"a": 1}
    assert rule.allows(value)
    assert rule.plain(value) is value
    with pytest.raises(ConfigurationError) as error:
        check_parameters({"schema": ["secret"]}, {"schema": rule})
    assert str(error.value) == "schema is list, but it must be a dict."


def test_a_choice_may_be_left_to_a_rule():
    assert Choice(("a",), or_none=True).allows(None)
    assert not Choice(("a",)).allows(None)
    assert str(Choice(("a",), or_none=True)) == "'a', or None to have it chosen by a public rule"
