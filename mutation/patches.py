"""Putting changed code in place of true code in a process that has imported everything already.

Most mutants change the body of one function. Its code object is then replaced where the function lives, so that nothing has to
be imported again. A constant of the module gets its new value wherever its name was imported. A change of anything else (a
default, a field, a decorator) has no patch and needs a process that imports it.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import CO_NEWLOCALS
from itertools import zip_longest
from types import CodeType, FunctionType
from typing import Any

__all__ = ["ConstantError", "Patch", "Patchable", "changed_kernels", "compile_quickly", "patch_of"]


class ConstantError(Exception):
    """A changed constant has no value: its expression raises what is named here."""


Name = tuple[str, int]  # of a function: its qualified name and its first line


@dataclass(frozen=True)
class Patch:
    """New code for some functions, new values of constants, and the kernels whose compiled form changes with them."""

    codes: Mapping[Name, CodeType]
    kernels: frozenset[str]
    constants: Mapping[str, str]

    def apply(self, module: Patchable) -> None:
        """Replace code and values. Raises KeyError where a function is not found, ConstantError where there is no value."""
        for name, code in self.codes.items():
            for function in module.functions[name]:
                function.__code__ = code
        for constant, statement in self.constants.items():
            try:
                _assign(sys.modules[module.name], constant, statement)
            except Exception as error:
                raise ConstantError(type(error).__name__) from error
        for kernel in self.kernels:
            _uncompile(getattr(sys.modules[module.name], kernel))


class Patchable:
    """The functions of an imported module, wherever they are kept.

    Classes, properties, caches and compiled kernels keep their functions in places of their own, so all objects are looked at.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.functions: dict[Name, list[FunctionType]] = {}
        for value in gc.get_objects():
            if isinstance(value, FunctionType) and value.__module__ == name:
                code = value.__code__
                self.functions.setdefault((code.co_qualname, code.co_firstlineno), []).append(value)


def patch_of(before: str, after: str, path: str) -> Patch | None:
    """Return the patch that makes one source of a file of another, or None where more than bodies of functions differ."""
    old, new = compile(before, path, "exec"), compile(after, path, "exec")
    constants = _constants(before, after)
    if not constants and _frame(old) != _frame(new):
        return None
    pairs = [] if constants else zip(_bodies(old), _bodies(new), strict=True)
    changed = {name: code for (name, former), (_, code) in pairs if _placeless(former) != _placeless(code)}
    kernels = changed_kernels(before, after) if path.endswith("kernels.py") else frozenset()
    return Patch(changed, kernels, constants)


def _constants(before: str, after: str) -> dict[str, str]:
    """Return the changed assignments to names in capitals, if these are all that differs between two sources.

    A constant that other lines read as they are imported, such as the default of a parameter, cannot be patched afterwards.
    """
    body = ast.parse(before).body
    pairs = zip_longest(body, ast.parse(after).body)
    changed = {}
    for old, new in pairs:
        match old, new:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Assign() if (
                ast.dump(old) != ast.dump(new) and name.isupper() and not any(name in _read(node) for node in body)
            ):
                changed[name] = ast.unparse(new)
            case _ if ast.dump(old) != ast.dump(new):
                return {}
    return changed


def _read(node: ast.AST) -> set[str]:
    """Return the names that a statement reads as it is imported: all but those in bodies of functions and annotations."""
    match node:
        case ast.FunctionDef() | ast.Lambda():
            parts = [*node.args.defaults, *(default for default in node.args.kw_defaults if default)]
            parts += getattr(node, "decorator_list", [])
        case ast.AnnAssign():
            parts = [node.value] if node.value else []
        case ast.Name(id=name, ctx=ast.Load()):
            return {name}
        case _:
            parts = list(ast.iter_child_nodes(node))
    return {name for part in parts for name in _read(part)}


def _assign(module: Any, name: str, statement: str) -> None:
    """Run an assignment in a module; modules that imported the name get its value too."""
    old = vars(module)[name]
    exec(statement, vars(module))
    for other in list(sys.modules.values()):
        if vars(other).get(name) is old:
            setattr(other, name, vars(module)[name])


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & CO_NEWLOCALS)


def _frame(code: CodeType) -> CodeType:
    """Return code of a module or class without the bodies of the functions in it, and without its places in the file."""
    constants = tuple(
        inner.co_qualname if _is_named(inner) else _frame(inner) if _is_class(inner) else _placeless(inner)
        for inner in code.co_consts
    )
    return code.replace(co_consts=constants, co_firstlineno=1, co_linetable=b"")


def _placeless(value: Any) -> Any:
    """Return code that compares by what it does, not by where it stands; other constants as they are."""
    if not isinstance(value, CodeType):
        return value
    constants = tuple(map(_placeless, value.co_consts))
    return value.replace(co_consts=constants, co_firstlineno=1, co_linetable=b"")


def _is_named(value: object) -> bool:
    return isinstance(value, CodeType) and _is_function(value) and not value.co_name.startswith("<")


def _is_class(value: object) -> bool:
    return isinstance(value, CodeType) and not _is_function(value)


def _bodies(code: CodeType) -> Iterator[tuple[Name, CodeType]]:
    for inner in code.co_consts:
        if _is_named(inner):
            yield (inner.co_qualname, inner.co_firstlineno), inner
        elif _is_class(inner):
            yield from _bodies(inner)


def _uncompile(kernel: Any) -> None:
    """Make a kernel compile anew, neither from the cache, which holds the true one, nor into it; plain functions need nothing."""
    from numba.core.caching import NullCache

    if not hasattr(kernel, "overloads"):
        return
    if kernel.overloads:
        raise RuntimeError(f"{kernel} was compiled before its change")
    kernel._cache = NullCache()


def compile_quickly() -> None:
    """From here on, compile kernels in half the time, to slower code of the same meaning, and keep none on disk."""
    from numba import njit
    from numba.core import config
    from numba.core.caching import FunctionCache

    config.OPT = config._OptLevel(0)
    FunctionCache.save_overload = _keep_nothing
    njit(_shifted)(2)  # the compiler prepares itself at its first use


def _keep_nothing(cache: Any, sig: Any, data: Any) -> None:
    pass


def _shifted(number):  # type: ignore[no-untyped-def]
    return number >> 1


def changed_kernels(before: str, after: str) -> frozenset[str]:
    """Return the functions whose meaning differs between two sources of one file: by their text, or by what they call.

    A change outside of functions, or one that moves lines, changes all of them.
    """
    old, new = _parts(before), _parts(after)
    names = frozenset(new) - {""}
    if old[""] != new[""] or before.count("\n") != after.count("\n"):
        return names
    changed = {name for name in names if old.get(name) != new[name]}
    while more := {name for name in names - changed if changed & _names(new[name])}:
        changed |= more
    return frozenset(changed)


def _parts(source: str) -> dict[str, str]:
    body = ast.parse(source).body
    parts = {node.name: ast.unparse(node) for node in body if isinstance(node, ast.FunctionDef)}
    return parts | {"": "\n".join(ast.unparse(node) for node in body if not isinstance(node, ast.FunctionDef))}


def _names(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
