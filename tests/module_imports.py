"""Which file of the library imports which, as its syntax says, and which files import each other in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["PACKAGE", "ROOT", "circles", "imported_modules", "module_graph", "modules"]

PACKAGE = "hedgerow"
ROOT = Path(__file__).parents[1] / "src" / PACKAGE


def modules(root: Path) -> dict[str, Path]:
    """Return the files of a package by their modules' full names."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        pieces = [PACKAGE, *path.relative_to(root).with_suffix("").parts]
        found[".".join(pieces[:-1] if pieces[-1] == "__init__" else pieces)] = path
    return found


def imported_modules(tree: ast.AST, module: str, *, is_package: bool) -> set[str]:
    """Full names of everything under `hedgerow` that a module imports, wherever in it the import stands."""
    names = set()
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            # The name may be a module: "from hedgerow import schema" imports hedgerow.schema.
            names |= {f"{origin}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "__import__",
            "import_module",
            "importlib.import_module",
        ):
            names |= {argument.value for argument in node.args[:1] if isinstance(argument, ast.Constant)}
    return {name for name in names if name.split(".")[0] == PACKAGE}


def module_graph(root: Path) -> dict[str, set[str]]:
    """Return for each module the modules that it imports; a name of a module is the module's."""
    files = modules(root)
    graph = {}
    for module, path in files.items():
        names = imported_modules(ast.parse(path.read_text("utf-8")), module, is_package=path.stem == "__init__")
        names.discard(f"{PACKAGE}.__version__")  # a plain fact, which every part may state
        targets = {name if name in files else name.rpartition(".")[0] for name in names}
        graph[module] = (targets & files.keys()) - {module}
    return graph


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the sets of modules of which each is reached from each other one, sorted."""
    reached: dict[str, set[str]] = {}
    for module in graph:
        seen: set[str] = set()
        ahead = list(graph[module])
        while ahead:
            target = ahead.pop()
            if target not in seen:
                seen.add(target)
                ahead += graph.get(target, ())
        reached[module] = seen
    together = {
        tuple(sorted(other for other in found if module in reached.get(other, ())))
        for module, found in reached.items()
        if module in found
    }
    return sorted(map(list, together))
