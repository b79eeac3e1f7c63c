"""A run that lost tests is red, and one that hangs ends and says where: what conftest.py, manifest.py and pyproject.toml do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path

import manifest
import pytest
from products import pairwise, thinned

ROOT = Path(__file__).parents[1]
FEW = """
import pytest

@pytest.mark.parametrize("number", range(4))
def test_a_number_is_itself(number):
    assert number == number

@pytest.mark.full
def test_the_rest():
    pass
"""
HANGS = """
import numpy as np
import pytest
from hedgerow.arrays import compiled

@compiled
def turn(state):
    while state[0] == 0:
        state[1] += 1

turn(np.ones(2, dtype=np.int64))  # compiles it

def test_a_kernel():
    turn(np.zeros(2, dtype=np.int64))
"""
SKIPPED = "import pytest\npytest.skip('its part is not installed', allow_module_level=True)\n"


@pytest.fixture
def suite(tmp_path):
    """A suite of three files under this one's configuration, with a manifest that says so."""
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ("conftest.py", "manifest.py", "seeds.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    for name in ("test_one.py", "test_two.py"):
        (tmp_path / "tests" / name).write_text(FEW)
    (tmp_path / "tests/test_skipped.py").write_text(SKIPPED)
    lines = ["tests/test_one.py 4 1", "tests/test_skipped.py 7 7", "tests/test_two.py 4 1"]
    (tmp_path / "tests/manifest.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(suite, *options):
    done = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=suite, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.full
def test_a_deleted_file_makes_the_run_red_in_processes_side_by_side(suite):
    (suite / "tests/test_two.py").unlink()
    code, output = run(suite, "-n", "2")
    assert (code, "4 passed" in output) == (pytest.ExitCode.TESTS_FAILED, True)
    assert "tests/test_two.py: 0 tests ran, and there were 4\n" in output


@pytest.mark.full
def test_a_run_of_all_tests_is_green_in_processes_side_by_side(suite):
    code, output = run(suite, "-n", "2")
    assert (code, "8 passed" in output) == (0, True), output


def test_half_a_file_makes_the_run_red_and_a_narrowed_run_is_not_held_against_it(suite):
    file = suite / "tests/test_one.py"
    file.write_text(FEW.replace("range(4)", "range(2)"))
    code, output = run(suite)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "tests/test_one.py: 2 tests ran, and there were 4\n" in output
    assert "tests/test_two.py:" not in output
    assert run(suite, "-k", "number")[0] == 0


@pytest.mark.full
def test_the_rest_of_the_suite_is_counted_apart(suite):
    assert run(suite, "-m", "full")[0] == 0
    file = suite / "tests/test_one.py"
    file.write_text(FEW.replace("@pytest.mark.full", ""))
    assert run(suite)[0] == 0  # one quick test more
    code, output = run(suite, "-m", "full")
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "tests/test_one.py: 0 tests ran, and there were 1\n" in output
    file.write_text(FEW.replace("@pytest.mark.full", "@pytest.mark.full\n@pytest.mark.slow"))
    assert run(suite)[0] == pytest.ExitCode.USAGE_ERROR


def test_the_page_of_tests_names_every_folder_and_file():
    tests, page = ROOT / "tests", (ROOT / "tests/README.md").read_text("utf-8")
    names = {file.relative_to(tests).parts[0] for file in tests.rglob("test_*.py")}
    assert sorted(name for name in names if f"`{name}" not in page) == []


def test_every_test_file_has_a_line():
    tests = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    assert tests == set(manifest.read()), "python tests/manifest.py --write"
    names = (ROOT / "tests/manifest.txt").read_text().splitlines()
    assert names == sorted(names)


@pytest.mark.full
def test_a_kernel_that_never_returns_ends_the_run_which_names_the_test_and_the_line(suite, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(suite / "numba"))
    (suite / "tests/test_hangs.py").write_text(HANGS)
    code, output = run(
        suite, "-n", "2", "--max-worker-restart", "0", "-o", "faulthandler_timeout=8", "-o", "timeout=10"
    )
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "crashed while running 'tests/test_hangs.py::test_a_kernel'" in output
    assert (
        f'test_hangs.py", line {HANGS.splitlines().index("    turn(np.zeros(2, dtype=np.int64))") + 1} in test_a_kernel'
        in output
    )


def test_each_two_choices_of_two_axes_meet_in_a_pairwise_product():
    axes = ["ab", "cde", "fghi", "jk"]
    cases = pairwise(*axes)
    assert len(cases) < len(list(product(*axes))) / 3
    for one, other in combinations(range(len(axes)), 2):
        assert {(case[one], case[other]) for case in cases} == set(product(axes[one], axes[other]))


def test_of_thinned_cases_some_are_quick_and_all_keep_their_marks():
    cases = [1, (2, 3), pytest.param(4, marks=pytest.mark.xfail, id="four"), 5, 6]
    first, second, third, *rest = thinned(cases, 3)
    assert (first, rest[0]) == (1, 5)
    assert (second.values, third.values, third.id) == ((2, 3), (4,), "four")
    assert [[mark.name for mark in case.marks] for case in (second, third, rest[1])] == [
        ["full"],
        ["xfail", "full"],
        ["full"],
    ]
