"""The mutants of a module: its source with one change each, where a change could matter to what the code does.

Left alone, by public rule: annotations and what only type checkers read, the arguments of an exception (its message), sizes of
caches, ``__all__``, ``__repr__`` and ``__str__``, and anything that is no valid Python afterwards. Docstrings are no code.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any

from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import MutationVisitor

from operators import OPERATORS

__all__ = ["Mutant", "Source", "mutants_of"]

Place = tuple[int, int]
SHOWN_ONLY = ("__repr__", "__str__")


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, what stood there, what stands there now, and the whole changed source."""

    module: str
    line: int
    function: str
    before: str
    after: str
    source: str

    @property
    def change(self) -> str:
        """The change as outcomes and judgements name it: by its function and its text, so that edits elsewhere do not move it."""
        return f"{self.function}: {self.before} -> {self.after}"


@dataclass(frozen=True)
class Site:
    """Where an operator applies: in which statement of the module and which line, and how often it did before."""

    statement: int
    operator: Any
    occurrence: int
    line: int
    function: str
    before: int  # sites of the same operator in the same function

    def drawn_by(self, module: str, seed: int) -> str:
        """Return what sites are sorted by for a sample. Edits of other functions do not change it."""
        name = f"{seed} {module} {self.function} {type(self.operator).__name__} {self.before}"
        return hashlib.sha256(name.encode()).hexdigest()


class Source:
    """A module's source, and the places in it that can be changed. Each mutant is made when it is asked for."""

    def __init__(self, module: str, text: str) -> None:
        self.module, self.text = module, text
        self.lines = text.splitlines(keepends=True)
        self.tree = ast.parse(text)
        starts = [min([n.lineno, *(d.lineno for d in getattr(n, "decorator_list", []))]) - 1 for n in self.tree.body]
        self.statements = list(pairwise([*starts, len(self.lines)]))

    @cached_property
    def sites(self) -> list[Site]:
        """Every place and operator, those of a statement together."""
        skipped, functions = tuple(_skipped(self.tree)), _functions(self.tree)
        found, before = [], Counter[tuple[str, str]]()
        for number, (start, end) in enumerate(self.statements):
            tree = get_ast("".join(self.lines[start:end]))  # cosmic-ray parses quickly what is short
            for operator, places in _places(tree).items():
                for occurrence, (line, column) in enumerate(places):
                    place = (line + start, column) if line else (0, 0)
                    if not any(first <= place < last for first, last in skipped):
                        function = _innermost(functions, place[0])
                        kind = (function, type(operator).__name__)
                        found.append(Site(number, operator, occurrence, place[0], function, before[kind]))
                        before[kind] += 1
        return found

    def mutant(self, site: Site) -> Mutant | None:
        """Return the module with a change in this place; None where that is no change or no Python."""
        start, end = self.statements[site.statement]
        text = "".join(self.lines[start:end])
        changed = MutationVisitor.mutate_code(text, site.operator, site.occurrence)
        if changed is None or changed == text:
            return None
        before, after = _difference(text.splitlines(), changed.splitlines())
        source = "".join([*self.lines[:start], changed, *self.lines[end:]])
        return Mutant(self.module, site.line, site.function, before, after, source) if _is_python(source) else None

    def drawn(self, number: int, seed: int) -> list[Mutant]:
        """Return so many mutants, or all where there are fewer, drawn by a seed."""
        found: dict[str, Mutant] = {}
        for site in sorted(self.sites, key=lambda site: site.drawn_by(self.module, seed)):
            if len(found) == number:
                break
            if (mutant := self.mutant(site)) is not None:
                found.setdefault(mutant.change, mutant)
        return list(found.values())

    @cached_property
    def syntax(self) -> dict[str, str]:
        """A hash of each function, and of what stands in the module and in each class outside of functions.

        Comments, docstrings and the layout do not change it.
        """
        return {name: hashlib.sha256(text.encode()).hexdigest()[:8] for name, text in _syntax(self.tree.body, "")}

    def syntax_of(self, function: str) -> str:
        """Return the hash of a function, or of the innermost thing around it that has one."""
        while function and function not in self.syntax:
            function = function.rpartition(".")[0]
        return self.syntax[function or "module"]


def mutants_of(module: str, text: str) -> Iterator[Mutant]:
    """Yield every mutant of a module's source, each text once, in the order of their lines."""
    source = Source(module, text)
    found: dict[str, Mutant] = {}
    for mutant in map(source.mutant, source.sites):
        if mutant is not None:
            found.setdefault(mutant.source, mutant)
    yield from sorted(found.values(), key=lambda mutant: mutant.line)


def _places(tree: Any) -> dict[Any, list[Place]]:
    """Return where each operator applies, in the order in which cosmic-ray counts: a node before what is in it."""
    found: dict[Any, list[Place]] = {operator: [] for operator in OPERATORS}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        for operator in OPERATORS:
            for start, _ in operator.mutation_positions(node):
                no_change = (type(operator).__name__ == "AddNot" and _has_its_own(node)) or _is_bare_star(node)
                found[operator].append((0, 0) if no_change else start)
        waiting += reversed(getattr(node, "children", ()))
    return found


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


def _syntax(body: Sequence[ast.stmt], name: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the code of each function, those in functions too, and of what else stands in each class."""
    others = []
    for node in body:
        inner = f"{name}.{node.name}" if name and isinstance(node, ast.FunctionDef | ast.ClassDef) else ""
        if isinstance(node, ast.ClassDef):
            yield from _syntax(node.body, inner or node.name)
            node = ast.ClassDef(node.name, node.bases, node.keywords, [ast.Pass()], node.decorator_list)
            others.append(ast.unparse(node))
        elif isinstance(node, ast.FunctionDef):
            code = ast.unparse(_without_docstrings(node))
            for nested in [node, *(each for each in ast.walk(node) if isinstance(each, ast.FunctionDef))]:
                yield (inner or node.name) if nested is node else f"{inner or node.name}.{nested.name}", code
        else:
            others.append(ast.unparse(node))
    yield name or "module", "\n".join(others)


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


def _first_difference(before: list[str], after: list[str]) -> int:
    return next(i for i, pair in enumerate(zip_longest(before, after)) if pair[0] != pair[1])


def _difference(before: list[str], after: list[str]) -> tuple[str, str]:
    """Return the lines that differ, as two texts without indentation."""
    first = _first_difference(before, after)
    last = _first_difference(before[::-1], after[::-1])
    last = min(last, len(before) - first, len(after) - first)
    return tuple(" ".join(line.strip() for line in lines[first : len(lines) - last]) for lines in (before, after))
