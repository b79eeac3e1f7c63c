"""Values do not change: what was checked and charged is what is drawn."""

import ast
import importlib
from dataclasses import fields
from pathlib import Path

import pytest

import hedgerow

SOURCE = Path(hedgerow.__file__).parent
ARRAYS = ("NDArray", "Integers", "Floats", "Truth", "Index")
NOT_PROTECTED = ("papers", "audit", "plots")  # may hold what changes: nothing that they hold was charged


def dataclasses_of(path: Path) -> list[str]:
    found = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
    names = [node.name for node in found if any("dataclass" in ast.unparse(made) for made in node.decorator_list)]
    return [name for name in names if name not in ("Planned", "PrivateSearchCV")]  # estimators are set by set_params


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


MODULES = sorted(
    module_of(path)
    for path in SOURCE.glob("**/*.py")
    if path.relative_to(SOURCE).parts[0] not in NOT_PROTECTED and dataclasses_of(path)
)


def test_there_are_values():
    assert len(MODULES) > 25


@pytest.mark.parametrize("module", MODULES)
def test_values_are_frozen(module):
    loaded = importlib.import_module(f"hedgerow.{module}")
    for name in dataclasses_of(SOURCE / f"{module.replace('.', '/')}.py"):
        value = getattr(loaded, name)
        assert value.__dataclass_params__.frozen, name
        if any(kind in str(field.type) for field in fields(value) for kind in ARRAYS):
            assert value.__eq__ is object.__eq__, name  # arrays cannot be compared as a whole, nor be keys
