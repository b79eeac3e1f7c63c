"""Importing a changed source in place of a module's own."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from patches import changed_kernels

__all__ = ["import_changed"]


def import_changed(module: str, source: str) -> None:
    """Let every later import of the module in this process give the changed source."""
    if module in sys.modules:
        raise RuntimeError(f"{module} is imported already")
    sys.meta_path.insert(0, _Finder(module, source))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, module: str, source: str) -> None:
        self.module, self.source = module, source

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        found = importlib.util.spec_from_loader(name, _Loader(self.source, Path(spec.origin)), origin=spec.origin)
        assert found is not None
        found.submodule_search_locations = spec.submodule_search_locations  # of a package
        return found


class _Loader(importlib.abc.Loader):
    def __init__(self, source: str, path: Path) -> None:
        self.source, self.path = source, path

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        module.__file__ = str(self.path)
        code = compile(self.source, str(self.path), "exec")
        if self.path.name != "kernels.py":
            exec(code, vars(module))
            return
        import hedgerow.arrays

        kept = hedgerow.arrays.compiled
        hedgerow.arrays.compiled = _compiler(kept, changed_kernels(self.path.read_text(), self.source))
        try:
            exec(code, vars(module))
        finally:
            hedgerow.arrays.compiled = kept


def _compiler(kept: Callable[..., Any], changed: frozenset[str]) -> Callable[..., Any]:
    """Compile changed kernels without the cache, which would hold the true ones; take the others from there."""
    from numba import njit

    def compiled(function: Callable[..., Any], **options: bool) -> Any:
        anew = function.__name__ in changed
        return njit(**{"nogil": True, **options})(function) if anew else kept(function, **options)

    return compiled
