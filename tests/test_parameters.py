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
NUMBER, OR_NONE, FORM = WholeNumber(1, 10), WholeNumber(1, 10, or_none=True), Choice(("private", "published"))

REFUSED = {
    NUMBER: [0, 11, -1, True, np.bool_(True), 1.0, np.float64(2), "1", None, [1], np.array([1]), 1j],
    OR_NONE: [0, True],
    WholeNumber(0, 1): [True, False],
    FORM: ["", "Private", "priv", "private ", None, 0, b"private", ("private",), ["private"]],
    Flag(): [0, 1, "yes", "True", None, np.ones(1, dtype=bool)],
    BUDGET: [0, -1.0, True, float("nan"), float("inf"), "much", None, [1.0], 1j, 1e10, np.bool_(1)],
    Seed(): ["seed", -1, np.int64(-1), True, 1.5, np.bool_(True), [1], np.random],
    Instance(dict, "a dict"): [["secret"], 1],
}


@pytest.mark.parametrize("constraint", REFUSED, ids=str)
def test_what_a_rule_forbids_is_refused_in_one_sentence(constraint):
    for value in REFUSED[constraint]:
        assert not constraint.allows(value)
        with pytest.raises(ValueError, match=r"^depth is ") as error:
            check_parameters({"depth": value}, {"depth": constraint})
        what = type(value).__name__ if isinstance(constraint, Instance) else repr(value)
        assert isinstance(error.value, ConfigurationError)
        assert str(error.value) == f"depth is {what}, but it must be {constraint}."


@pytest.mark.parametrize(
    ("constraint", "rule"),
    [
        (Flag(), "True or False"),
        (NUMBER, "an integer from 1 to 10"),
        (OR_NONE, "an integer from 1 to 10, or None to have it chosen by a public rule"),
        (FORM, "'private' or 'published'"),
        (Choice(("a",), or_none=True), "'a', or None to have it chosen by a public rule"),
    ],
)
def test_a_rule_reads_as_the_end_of_a_sentence(constraint, rule):
    assert str(constraint) == rule


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

    with pytest.raises(KeyError, match="rule"):
        rules_of(Made)


@pytest.mark.parametrize(
    ("constraint", "value", "plain", "stored"),
    [
        (NUMBER, np.int64(3), 3, 3),
        (NUMBER, np.uint8(10), 10, 10),
        (OR_NONE, None, None, None),
        (Flag(), np.True_, True, True),
        (Flag(), False, False, False),
        (FORM, np.str_("published"), "published", "published"),
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


@pytest.mark.parametrize("generator", [np.random.default_rng(0), np.random.RandomState(0)])
def test_a_generator_is_kept_as_it_is_and_cannot_stand_in_a_file(generator):
    assert Seed().plain(generator) is generator
    assert stored_parameters({"a": generator, "b": object()}) == {"a": None, "b": None}
