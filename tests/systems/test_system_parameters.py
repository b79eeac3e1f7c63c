"""Each parameter of a system has a rule that fits its type and its default, and a line in the docstring."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

import hedgerow as hr
from hedgerow.estimator import PrivateEstimator
from hedgerow.papers.reproduce.readings import AllocationForest
from hedgerow.parameters import (
    Choice,
    ClassNumbers,
    Exact,
    Flag,
    RandomSource,
    Seed,
    Signs,
    WholeNumber,
    parameter,
    rules_of,
)
from hedgerow.systems import system_class

LEAVES = [
    *(system_class(info.name) for regressors in (False, True) for info in hr.list_systems(regressors=regressors)),
    AllocationForest,
]
TYPES = {WholeNumber: int, Choice: str, Flag: bool, Exact: float}


def type_of(rule):
    """Return the annotation of a parameter with this rule."""
    if isinstance(rule, Seed):
        return RandomSource
    if isinstance(rule, Signs):
        return dict[str, int] | list[int] | None
    if isinstance(rule, ClassNumbers):
        return dict[Any, float] | None
    if type(rule) in TYPES:
        return TYPES[type(rule)] | None if getattr(rule, "or_none", False) else TYPES[type(rule)]
    return rule.kind | None


def documented(kind):
    """Return the names in the section Parameters of a class's docstring, which is completed by what it inherits."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\nAttributes\n|\Z)", kind.__doc__, re.DOTALL | re.MULTILINE)
    return re.findall(r"^(\w+) : ", section[1], re.MULTILINE)


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.__name__)
def test_rules_fit_types_and_defaults(kind):
    hints = get_type_hints(kind)
    for field in fields(kind):
        rule = rules_of(kind)[field.name]
        assert rule.allows(field.default), field.name
        assert hints[field.name] == type_of(rule), field.name


@pytest.mark.parametrize("kind", LEAVES[:-1], ids=lambda kind: kind.__name__)
def test_parameters_are_documented_and_epsilon_alone_may_be_positional(kind):
    first, *others = list(inspect.signature(kind).parameters.values())
    assert first.name == "epsilon"
    assert all(other.kind is other.KEYWORD_ONLY for other in others)
    assert documented(kind) == [first.name, *(other.name for other in others)]


def test_a_class_with_its_own_constructor_keeps_it():
    class Own(system_class("edprf")):
        def __init__(self, epsilon=2.0):
            super().__init__(epsilon, n_estimators=3)

    assert issubclass(Own, PrivateEstimator)
    assert Own().n_estimators == 3


def test_a_class_of_ones_own_describes_what_is_new_and_inherits_the_rest():
    class Own(system_class("edprf")):
        """An own forest.

        Parameters
        ----------
        max_depth : int
            Its own words.

            In two paragraphs.
        shape : str

        References
        ----------
        A paper.
        """

        shape: str = parameter(Choice(("round",)), default="round")

    assert documented(Own) == [*documented(system_class("edprf")), "shape"]
    assert "max_depth : int\n    Its own words.\n\n    In two paragraphs.\nmax_bins : int" in Own.__doc__
    assert Own.__doc__.endswith("\n\nReferences\n----------\nA paper.\n")
    assert ">>>" not in Own.__doc__
