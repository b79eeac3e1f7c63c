"""Kernels stay on disk in compiled form and notice changes of their own file only, so each file must stand alone."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow

SOURCE = Path(hedgerow.__file__).parent
KERNELS = sorted(SOURCE.rglob("kernels.py"))


def test_there_are_kernels():
    assert len(KERNELS) >= 5


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_kernel_file_imports_no_other_part_of_the_library(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hedgerow"):
            assert node.module == "hedgerow.arrays"


def test_only_kernel_files_compile():
    for path in SOURCE.rglob("*.py"):
        if path.name not in ("kernels.py", "arrays.py"):
            names = [
                node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)
            ]
            imported = [f"{getattr(node, 'module', '')}.{each.name}" for node in names for each in node.names]
            assert not [name for name in imported if "numba" in name or name == "hedgerow.arrays.compiled"], path


def run(code: str, **environment: str) -> str:
    variables = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=variables)
    return done.stdout.strip()


def test_import_loads_nothing_heavy():
    assert run("import hedgerow, sys; print(sorted({'numba', 'numpy', 'sklearn'} & set(sys.modules)))") == "[]"


FIT = """
import numpy as np, hedgerow as hr
from hedgerow.mechanisms import kernels as m
from hedgerow.table import kernels as t
schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=[0, 1])
X = np.linspace(0, 1, 50)[:, None]
hr.EDPRFClassifier(schema=schema).fit(X, (X[:, 0] > 0.5).astype(int)).predict(X)
print(sum(len(k.stats.cache_misses) for k in (m.permute_and_flip, m.assign, t.histogram, t.move, t.group)))
"""


@pytest.mark.full
def test_a_second_process_pays_no_compilation():
    run(FIT)
    assert run(FIT) == "0"


def public_kernels():
    """Yield each kernel that other files call, with its signature."""
    for path in KERNELS:
        module = importlib.import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
        for name in vars(module):
            if not name.startswith("_") and hasattr(getattr(module, name), "py_func"):
                yield pytest.param(getattr(module, name), id=f"{module.__name__}.{name}")


def test_all_kernels_are_found():
    assert len(list(public_kernels())) >= 40


@pytest.mark.parametrize("kernel", list(public_kernels()))
def test_a_kernel_states_what_it_reads_and_writes(kernel):
    """It reads arrays without a look at their ends, so who calls it must know their shapes."""
    text = inspect.getdoc(kernel)
    assert re.search(r"\b(IN|INOUT)\b", text)
    for name, parameter in inspect.signature(kernel.py_func).parameters.items():
        assert re.search(rf"\b{name}\b", text), f"{parameter} has no shape"
    if "out" in inspect.signature(kernel.py_func).parameters:
        assert re.search(r"\bOUT\b[^.]*\bout\b[^.]*\([^)]*\)", text)


OUTSIDE = """
import numpy as np
from hedgerow.table import kernels
codes, channels, packed = np.full((1, 1), 3, dtype=np.uint8), np.ones((1, 1), dtype=np.int64), np.zeros((1, 3, 1), dtype=np.int64)
none = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
part, row = np.zeros(1, dtype=np.uint32), np.zeros(1, dtype=np.int64)
try:
    kernels.pack(codes, channels, 1, np.array([0, 3]), *none, -1, *none, 1, part, row, packed)
except IndexError:
    print("noticed")
"""


@pytest.mark.full
def test_kernels_that_check_their_bounds_notice_a_code_outside(tmp_path):
    """What `make test-bounds` rests on; the cache is another one, since numba would take kernels without checks from it."""
    assert run(OUTSIDE, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)) == "noticed"
