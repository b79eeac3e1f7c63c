"""Scripts outside the package name what the package has."""

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks", "mutation", "release", "docs/extensions")
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.py"))


def imported(tree):
    """Return the modules and classes of the package that a script imports, by their names there; or raise ImportError."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("hedgerow"):
                    found[alias.asname or "hedgerow"] = import_module(alias.name if alias.asname else "hedgerow")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hedgerow"):
            module = import_module(node.module)
            for alias in node.names:
                part = getattr(module, alias.name, None)
                found[alias.asname or alias.name] = (
                    import_module(f"{node.module}.{alias.name}") if part is None else part
                )
    return {name: part for name, part in found.items() if isinstance(part, type | ModuleType)}


def lacking(source):
    tree = ast.parse(source)
    known = imported(tree)
    attributes = [
        node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    ]
    return [
        f"{node.value.id}.{node.attr}"
        for node in attributes
        if node.value.id in known and not hasattr(known[node.value.id], node.attr)
    ]


def test_names_that_the_package_lacks_are_found():
    assert lacking("from hedgerow.table import MemoryTable\nMemoryTable.by\nMemoryTable.of") == ["MemoryTable.of"]
    assert lacking("import hedgerow as hr\nhr.Schema\nhr.schemas") == ["hr.schemas"]
    with pytest.raises(ImportError):
        lacking("from hedgerow.table import Tables")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_names_what_the_package_has(path):
    assert lacking(path.read_text()) == []
