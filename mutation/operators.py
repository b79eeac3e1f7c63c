"""Which changes are made to the code: cosmic-ray's operators, one or two targets each, and six that it lacks.

Every change that could matter to a guarantee is there once: a bound moved to its edge and turned around, a number one more
and one less, a sum for a difference, a larger for a smaller, a condition negated, a statement or a keyword left out.
Replacing each operator by all eleven others would multiply the time and add changes that break at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import parso
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider

__all__ = ["OPERATORS"]

BINARY = {
    "Add": "Sub",
    "Sub": "Add",
    "Mul": "Div",
    "Div": "Mul",
    "FloorDiv": "Mul",
    "Mod": "FloorDiv",
    "Pow": "Mul",
    "RShift": "LShift",
    "LShift": "RShift",
    "BitOr": "BitAnd",
    "BitAnd": "BitOr",
    "BitXor": "BitOr",
}
COMPARISON = {
    "Lt": ("LtE", "GtE"),
    "LtE": ("Lt", "Gt"),
    "Gt": ("GtE", "LtE"),
    "GtE": ("Gt", "Lt"),
    "Eq": ("NotEq",),
    "NotEq": ("Eq",),
    "Is": ("IsNot",),
    "IsNot": ("Is",),
}
OTHERS = (
    "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceUnaryOperator_Delete_Invert",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "NumberReplacer",
    "ZeroIterationForLoop",
)
AUGMENTED = {"+=": "-=", "-=": "+=", "*=": "//=", "//=": "*=", ">>=": "<<=", "<<=": ">>=", "|=": "&=", "&=": "|="}
NAMES = {"min": "max", "any": "all", "floor": "ceil", "minimum": "maximum", "argmin": "argmax"}
NAMES |= {other: name for name, other in NAMES.items()}


class OneChange(Operator):
    """An operator that changes a node in one way, or not at all."""

    def applies(self, node: Any) -> bool:
        """Say whether the node can be changed."""
        raise NotImplementedError

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the place of the change, if there is one."""
        if self.applies(node):
            yield node.start_pos, node.end_pos

    @classmethod
    def examples(cls) -> tuple[()]:
        """Give none: the tests of this folder do."""
        return ()


class SwapName(OneChange):
    """The smaller for the larger, all for any, rounding up for rounding down."""

    def applies(self, node: Any) -> bool:
        """Say whether the node is such a name where it is called."""
        after = node.get_next_leaf() if node.type == "name" and node.value in NAMES else None
        return after is not None and after.value == "("

    def mutate(self, node: Any, index: int) -> Any:
        """Put the other name in its place."""
        node.value = NAMES[node.value]
        return node


class SwapAugmented(OneChange):
    """The opposite of an assignment such as += and |=."""

    def applies(self, node: Any) -> bool:
        """Say whether the node is one that has an opposite."""
        return node.type == "operator" and node.value in AUGMENTED

    def mutate(self, node: Any, index: int) -> Any:
        """Put the opposite in its place."""
        node.value = AUGMENTED[node.value]
        return node


class NotIn(OneChange):
    """Membership turned around."""

    def applies(self, node: Any) -> bool:
        """Say whether the node is the word in, or not in, of a comparison."""
        return (node.type == "keyword" and node.value == "in" and node.parent.type == "comparison") or (
            node.type == "comp_op" and node.children[-1].value == "in"
        )

    def mutate(self, node: Any, index: int) -> Any:
        """Put the other word in its place."""
        return parso.parse(" in" if node.type == "comp_op" else " not in")


class LeaveOut(OneChange):
    """A statement left out: a call, a raise, an assignment to an attribute or an element, or one such as +=."""

    def applies(self, node: Any) -> bool:
        """Say whether the node is such a statement."""
        if getattr(node, "parent", None) is None or node.parent.type != "simple_stmt":
            return False
        if node.type in ("raise_stmt", "atom_expr"):
            return True
        if node.type != "expr_stmt" or node.children[1].type == "annassign":
            return False
        return node.children[1].value != "=" or node.children[0].type == "atom_expr"

    def mutate(self, node: Any, index: int) -> Any:
        """Put pass in its place, as a block needs a statement."""
        return parso.python.tree.Keyword("pass", node.start_pos, node.get_first_leaf().prefix)


class LeaveOutKeyword(OneChange):
    """A keyword argument left out of a call, so that the default is taken."""

    def applies(self, node: Any) -> bool:
        """Say whether the node is a keyword argument."""
        return node.type == "argument" and node.children[1].type == "operator" and node.children[1].value == "="

    def mutate(self, node: Any, index: int) -> Any:
        """Put an empty unpacking in its place, which passes nothing wherever it stands."""
        return parso.python.tree.Name("**{}", node.start_pos, node.get_first_leaf().prefix)


class NotCaught(Operator):
    """An exception that is caught no more: one that nothing raises in its place, which leaves the others beside it caught."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the place of each exception of an except clause."""
        for caught in self._caught(node):
            yield caught.start_pos, caught.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Put the other exception in the place of one of them."""
        caught = self._caught(node)[index]
        name = parso.python.tree.Name("StopAsyncIteration", caught.start_pos, caught.get_first_leaf().prefix)
        caught.parent.children[caught.parent.children.index(caught)] = name
        return node

    @staticmethod
    def _caught(node: Any) -> list[Any]:
        if node.type != "except_clause":
            return []
        what = node.children[1]
        inner = what.children[1] if what.type == "atom" else what
        return list(inner.children[::2]) if inner.type == "testlist_comp" else [inner]

    @classmethod
    def examples(cls) -> tuple[()]:
        """Give none: the tests of this folder do."""
        return ()


def _operators() -> Iterator[Operator]:
    provider = OperatorProvider()
    for before, after in BINARY.items():
        yield provider[f"ReplaceBinaryOperator_{before}_{after}"]()
    for before, targets in COMPARISON.items():
        for after in targets:
            yield provider[f"ReplaceComparisonOperator_{before}_{after}"]()
    for name in OTHERS:
        yield provider[name]()
    yield from (SwapName(), SwapAugmented(), NotIn(), LeaveOut(), LeaveOutKeyword(), NotCaught())


OPERATORS = tuple(_operators())
