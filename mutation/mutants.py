"""The mutants of a module: its source with one change each, where a change could matter to what the code does.

Left alone, by public rule: annotations and what only type checkers read, the arguments of an exception (its message), sizes of
caches, ``__all__``, ``__repr__`` and ``__str__``, and anything that is no valid Python afterwards. Docstrings are no code.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import MutationVisitor

from operators import OPERATORS

__all__ = ["Mutant", "mutants_of"]

Place = tuple[int, int]
SHOWN_ONLY = ("__repr__", "__str__")


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, what stood there, what stands there now, and the whole changed source.

    ``syntax`` is the changed function, or the statement outside of functions, as Python's syntax tree has it.
    """

    module: str
    line: int
    function: str
    before: str
    after: str
    source: str
    syntax: str

    @cached_property
    def key(self) -> str:
        """What results are kept under: another one after a change of the function, but for comments, docstrings and layout."""
        return hashlib.sha256(f"{self.module}\n{self.syntax}".encode()).hexdigest()[:16]

    @property
    def change(self) -> str:
        """The change as a judgement names it: by its function and its text, so that edits elsewhere do not move it."""
        return f"{self.function}: {self.before} -> {self.after}"


def mutants_of(module: str, source: str) -> Iterator[Mutant]:
    """Yield every mutant of a module's source, each text once, in the order of their lines."""
    tree = ast.parse(source)
    skipped, functions = tuple(_skipped(tree)), _functions(tree)
    found: dict[str, Mutant] = {}
    for first, head, text, tail in _statements(tree, source):
        for line, changed in _changes(text, skipped, first):
            mutated = head + changed + tail
            if changed != text and _is_python(mutated):
                before, after = _difference(text.splitlines(), changed.splitlines())
                function, syntax = _innermost(functions, line), _syntax(text, changed)
                found.setdefault(mutated, Mutant(module, line, function, before, after, mutated, syntax))
    yield from sorted(found.values(), key=lambda mutant: mutant.line)


def _statements(tree: ast.Module, source: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield the number of lines before each statement of a module, and the text before, of and behind it.

    cosmic-ray parses what it is given once for every mutant, so it is given one statement at a time.
    """
    lines = source.splitlines(keepends=True)
    starts = [min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1 for node in tree.body]
    for start, end in pairwise([*starts, len(lines)]):
        yield start, "".join(lines[:start]), "".join(lines[start:end]), "".join(lines[end:])


def _changes(text: str, skipped: tuple[tuple[Place, Place], ...], first: int) -> Iterator[tuple[int, str]]:
    for operator in OPERATORS:
        collector = _Places(operator)
        collector.walk(get_ast(text))
        for occurrence, (line, column) in enumerate(collector.places):
            place = (line + first, column) if line else (0, 0)
            if not any(start <= place < end for start, end in skipped):
                yield place[0], MutationVisitor.mutate_code(text, operator, occurrence)


class _Places(Visitor):  # type: ignore[misc]
    """Collects where an operator applies, in the order in which cosmic-ray counts."""

    def __init__(self, operator: Any) -> None:
        self.operator = operator
        self.places: list[Place] = []

    def visit(self, node: Any) -> Any:
        for start, _ in self.operator.mutation_positions(node):
            no_change = (type(self.operator).__name__ == "AddNot" and _has_its_own(node)) or _is_bare_star(node)
            self.places.append((0, 0) if no_change else start)
        return node


def _has_its_own(node: Any) -> bool:
    """Say whether a condition is a comparison of two values or a negation, which other operators turn around."""
    condition = node.children[2 if node.type == "test" else 1]
    return condition.type == "not_test" or (condition.type == "comparison" and len(condition.children) == 3)


def _is_bare_star(node: Any) -> bool:
    """Say whether a node is the star in front of keyword-only parameters."""
    return node.parent is not None and node.parent.type == "parameters"


def _skipped(tree: ast.AST) -> Iterator[tuple[Place, Place]]:
    yield (0, 0), (1, 0)
    for node in ast.walk(tree):
        inner: list[ast.AST | None] = []
        match node:
            case ast.Raise(exc=ast.Call() as call):
                inner = [*call.args, *call.keywords]
            case ast.arg() | ast.AnnAssign():
                inner = [node.annotation]
            case ast.FunctionDef(name=name):
                inner = [node if name in SHOWN_ONLY else node.returns]
            case ast.Call(func=ast.Name(id="lru_cache")):
                inner = [*node.args, *node.keywords]
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                inner = [node]
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                inner = [node]
        for part in inner:
            if part is not None:
                yield (part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)  # type: ignore[attr-defined]


def _syntax(before: str, after: str) -> str:
    """Return what differs of two statements of a module: its place, and the function or statement there as a syntax tree."""
    (old, *_), (new, *_) = ast.parse(before).body, ast.parse(after).body
    place = ""
    while isinstance(old, ast.ClassDef) and isinstance(new, ast.ClassDef):
        place = f"{place}{new.name}."
        if _head(old) != _head(new) or len(old.body) != len(new.body):
            return f"{place}\n{_head(new)}"
        old, new = next(pair for pair in zip(old.body, new.body, strict=True) if ast.dump(pair[0]) != ast.dump(pair[1]))
    return f"{place}\n{ast.unparse(_without_docstrings(new))}"


def _head(node: ast.ClassDef) -> str:
    """Return a class without what stands in it."""
    return ast.unparse(ast.ClassDef(node.name, node.bases, node.keywords, [ast.Pass()], node.decorator_list))


def _without_docstrings(node: ast.stmt) -> ast.stmt:
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef) and ast.get_docstring(inner) is not None:
            inner.body = inner.body[1:] or [ast.Pass()]
    return node


def _functions(tree: ast.AST, prefix: str = "") -> list[tuple[int, int, str]]:
    found = []
    for node in ast.iter_child_nodes(tree):
        name = prefix
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = f"{prefix}.{node.name}" if prefix else node.name
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.append((first, node.end_lineno or 0, name))
        found += _functions(node, name)
    return found


def _innermost(functions: list[tuple[int, int, str]], line: int) -> str:
    around = [(first, name) for first, last, name in functions if first <= line <= last]
    return max(around)[1] if around else "module"


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _difference(before: list[str], after: list[str]) -> tuple[str, str]:
    """Return the lines that differ, as two texts without indentation."""
    first = next(i for i, pair in enumerate(zip_longest(before, after)) if pair[0] != pair[1])
    last = next(i for i, pair in enumerate(zip_longest(reversed(before), reversed(after))) if pair[0] != pair[1])
    last = min(last, len(before) - first, len(after) - first)
    return tuple(" ".join(line.strip() for line in lines[first : len(lines) - last]) for lines in (before, after))
