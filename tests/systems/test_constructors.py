"""Every class writes all its parameters out; one test holds each to its parents, its constraints and its docstring."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.estimator.planning import Planned
from hedgerow.parameters import Choice, ClassNumbers, Exact, Flag, Instance, RandomSource, Seed, Signs, WholeNumber
from hedgerow.reproduce.allocations import AllocationForest
from hedgerow.systems import system_class


def family(kind):
    """Return a class and its parents, up to the one that all share."""
    return [parent for parent in kind.__mro__ if issubclass(parent, Planned) and "__init__" in vars(parent)]


LEAVES = [*(system_class(info.name) for info in hr.list_systems()), AllocationForest]
CLASSES = list(dict.fromkeys(parent for kind in LEAVES for parent in family(kind)))


def parameters_of(kind):
    return dict(list(inspect.signature(kind.__init__, eval_str=True).parameters.items())[1:])


def type_of(constraint):
    """Return the annotation of a parameter with this constraint."""
    if isinstance(constraint, Seed):
        return RandomSource
    if isinstance(constraint, Instance):
        return constraint.kind | None
    if isinstance(constraint, Signs):
        return dict[str, int] | list[int] | None
    if isinstance(constraint, ClassNumbers):
        return dict[Any, float] | None
    plain = {WholeNumber: int, Choice: str, Flag: bool, Exact: float}[type(constraint)]
    return plain | None if getattr(constraint, "or_none", False) else plain


def documented(kind):
    """Return the names in the section Parameters of a class's own docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n|\Z)", inspect.cleandoc(kind.__doc__), re.DOTALL | re.MULTILINE)[
        1
    ]
    heads = [line.split(" : ")[0] for line in section.splitlines() if not line.startswith(" ")]
    return [name for head in heads for name in head.split(", ")]


def faults(kind):
    """Yield what is wrong with a class's constructor."""
    own, rules = parameters_of(kind), kind._rules()
    for parent in family(kind)[1:]:
        for name, parameter in parameters_of(parent).items():
            if name not in own:
                yield f"{name} of {parent.__name__} is missing"
            elif own[name] != parameter:  # kind, default and annotation
                yield f"{name} is not as in {parent.__name__}"
    first, *others = own.values()
    if first.name != "epsilon" or not all(other.kind is other.KEYWORD_ONLY for other in others):
        yield "epsilon comes first, the others by keyword alone"
    if set(own) != set(rules):
        yield f"without a constraint, or without a parameter: {set(own) ^ set(rules)}"
    for name in set(own) & set(rules):
        if own[name].annotation != type_of(rules[name]) or not rules[name].allows(own[name].default):
            yield f"{name} is not what its constraint says"
    given = {name: object() for name in own}
    made, default = kind(**given), kind()
    lost = [name for name in own if getattr(made, name, None) is not given[name]]
    yield from (f"{name} is not passed on" for name in lost)
    if not lost and made.get_params(deep=False) != given:
        yield "get_params tells others"
    for name, parameter in own.items():
        if getattr(default, name, None) is not parameter.default:
            yield f"{name} does not keep its default"
    if sorted(documented(kind)) != sorted(own):
        yield f"not documented, or twice, or in vain: {set(documented(kind)) ^ set(own)}"


@pytest.mark.parametrize("kind", CLASSES)
def test_a_constructor_agrees_with_its_parents_its_constraints_and_its_docstring(kind):
    assert list(faults(kind)) == []


def test_those_that_are_looked_at_are_all():
    assert len(LEAVES) == len(hr.list_systems()) + 1 >= 22
    assert {"Planned", "PaperTree", "PaperForest", "PaperBooster"} <= {kind.__name__ for kind in CLASSES}


def rewritten(kind, tree):
    """Return the class that a changed syntax tree of a class's source makes."""
    names = dict(vars(sys.modules[kind.__module__]))
    exec(compile(ast.unparse(tree), "rewritten", "exec"), names)
    return names[kind.__name__]


def source(kind):
    return ast.parse(textwrap.dedent(inspect.getsource(kind)))


def constructor(tree):
    return next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "__init__")


def forgetful(kind):
    """Yield each parameter of a class's own constructor with the class that forgets to pass it on, or to keep it."""
    for name in parameters_of(kind):
        tree = source(kind)
        body = constructor(tree).body
        for node in (node for statement in body for node in ast.walk(statement)):
            if isinstance(node, ast.Call):
                node.args = [argument for argument in node.args if ast.unparse(argument) != name]
                node.keywords = [keyword for keyword in node.keywords if keyword.arg != name]
        body[:] = [statement for statement in body if ast.unparse(statement) != f"self.{name} = {name}"]
        yield name, rewritten(kind, tree)


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if "__init__" in vars(kind)])
def test_no_parameter_can_be_forgotten_unseen(kind):
    for name, broken in forgetful(kind):
        assert f"{name} is not passed on" in list(faults(broken))


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ("max_bins=max_bins", "max_bins=max_depth", "max_bins is not passed on"),
        ("stop: str='auto'", "stop: str='noisy-minority'", "stop is not as in PFDPDTClassifier"),
        ("stop: str='auto'", "stop: str | None='none'", "stop is not what its constraint says"),
        ("n_estimators: int | None=None", "n_estimators: int=None", "n_estimators is not as in PaperForest"),
        ("n_estimators: int | None=None", "n_estimators: int | None=0", "n_estimators is not what its constraint says"),
        ("self.n_estimators = n_estimators", "self.n_estimators = n_estimators or 1", "n_estimators does not keep its default"),
        ("max_bins: int | None=None", "bins: int | None=None, max_bins=None", "max_bins is not as in PaperTree"),
        ("stop: str='auto'", "stop: str='auto', more: int=0", "without a constraint, or without a parameter: {'more'}"),
        (", *, ", ", ", "epsilon comes first, the others by keyword alone"),
        ("max_bins : int or None", "bins : int or None", "not documented, or twice, or in vain: "),
        ("    random_state : None", "    max_bins : None", "not documented, or twice, or in vain: {'random_state'}"),
    ],
)  # fmt: skip
def test_other_faults_are_seen(right, wrong, fault):
    text = ast.unparse(source(hr.EDPRFClassifier))
    assert text.count(right) == 1
    broken = rewritten(hr.EDPRFClassifier, ast.parse(text.replace(right, wrong)))
    assert any(found.startswith(fault) for found in faults(broken)), list(faults(broken))


def test_a_parameter_that_a_child_leaves_out_is_seen():
    class Lacking(hr.SuLQID3Classifier):
        def __init__(self, epsilon: float = 1.0, *, schema: hr.Schema | None = None) -> None:
            super().__init__(epsilon, schema=schema)

    Lacking.__doc__ = hr.SuLQID3Classifier.__doc__
    assert "ledger of Planned is missing" in list(faults(Lacking))
