"""A type checker sees every parameter of every classifier, as a user's editor does."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow as hr

pytest.importorskip("mypy", reason="it comes with the extra 'lint'")

ROOT = Path(__file__).parents[1]
NAMES = [info.class_name for info in hr.list_systems()]


@pytest.mark.full
def test_a_misspelt_argument_is_refused_and_right_ones_are_not(tmp_path):
    lines = ["import hedgerow as hr", "schema = hr.Schema.load('schema.toml')"]
    for name in NAMES:
        lines += [
            f"hr.{name}(shema=schema)",
            f"hr.{name}(epsilon=0.5, schema=schema, adjacency='replace-one', random_state=0, ledger=hr.Ledger(1.0))",
        ]
    checked = tmp_path / "checked.py"
    checked.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--follow-imports=silent"]
    found = subprocess.run(  # about six seconds, for it reads the whole library
        [*command, "--cache-dir", tmp_path / "cache", checked],
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    errors = re.findall(
        r'^.*checked\.py:(\d+): error: Unexpected keyword argument "shema" for "(\w+)"', found.stdout, re.M
    )
    assert errors == [(str(3 + 2 * number), name) for number, name in enumerate(NAMES)], found.stdout + found.stderr
    assert f"Found {len(NAMES)} errors in 1 file" in found.stdout
