"""Compiled code that cannot be kept on disk costs time, one warning and nothing else."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow

SAYS = "hedgerow cannot keep its compiled code on disk"

KERNEL = """
from hedgerow.arrays import compiled


@compiled
def double(number):
    return 2 * number
"""

USE = """
from twice import double
assert double(3) == 6
assert double(1.5) == 3.0
print(sum(double.stats.cache_misses.values()))
"""


@pytest.fixture
def cache(tmp_path):
    """A folder for compiled code, and beside it a module with one kernel."""
    (tmp_path / "twice.py").write_text(KERNEL, "utf-8")
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


def run(cache, code=USE, *options, before=""):
    places = [str(cache.parent), str(Path(hedgerow.__file__).parents[1])]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, *options, "-c", before + code]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def files(cache, ending):
    found = sorted(cache.rglob(f"*.{ending}"))
    assert found
    return found


def is_quiet(done, misses):
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{misses}\n", "")


def warns_once(done):
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(SAYS) == 1
    assert "UserWarning" in done.stderr
    assert "NUMBA_CACHE_DIR" in done.stderr


@pytest.mark.full
def test_compiled_code_is_kept(cache):
    is_quiet(run(cache), 2)
    is_quiet(run(cache), 0)


DAMAGE = {
    "empty": lambda content: b"",
    "junk": lambda content: b"junk",
    "cut": lambda content: content[: len(content) // 2],
    "another": lambda content: pickle.dumps(1),
}


@pytest.mark.full
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_files_are_replaced(cache, ending):
    run(cache)
    for name, damage in DAMAGE.items():
        damaged = {path: damage(path.read_bytes()) for path in files(cache, ending)}
        for path, content in damaged.items():
            path.write_bytes(content)
        is_quiet(run(cache), 2)
        assert not [path for path, content in damaged.items() if path.read_bytes() == content], name
    is_quiet(run(cache), 0)


@pytest.mark.full
def test_a_file_that_cannot_be_read_is_left_alone(cache):
    run(cache)
    for path in files(cache, "nbi"):
        path.unlink()
        path.mkdir()
    for _ in range(2):
        warns_once(run(cache))


def test_a_full_disk_loses_nothing_but_the_cache(cache):
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
    done = run(cache, before=full)
    warns_once(done)
    assert not [path for path in cache.rglob("*") if path.is_file() and path.stat().st_size]
    is_quiet(run(cache), 2)


GONE = """
import os, shutil, twice
shutil.rmtree(os.environ["NUMBA_CACHE_DIR"])
open(os.environ["NUMBA_CACHE_DIR"], "w").close()
"""


@pytest.mark.full
def test_a_folder_that_goes_away_is_no_error(cache):
    warns_once(run(cache, before=GONE))


def test_a_filter_makes_no_error_of_what_is_found_within_a_call(cache):
    """A kernel is compiled within a fit that has charged its budget."""
    done = run(cache, USE, "-W", "error", before=GONE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


@pytest.fixture
def unwritable(tmp_path):
    """Run Python with a copy of the package and a home that it cannot write."""
    site, home = tmp_path / "site", tmp_path / "home"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(hedgerow.__file__).parent, site / "hedgerow", ignore=ignore)
    home.mkdir()
    folders = [home, site, *(path for path in site.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    everything = os.access(home, os.W_OK)  # the superuser writes in spite of permissions, so that goes
    prefix = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if everything else []
    if everything and shutil.which("setpriv") is None:
        pytest.skip("the superuser writes everywhere, and nothing here takes that away")
    hidden = ("NUMBA_", "XDG_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    environment = kept | {"HOME": str(home), "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}

    def call(*arguments):
        command = [*prefix, sys.executable, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
        assert not list(site.rglob("__pycache__"))
        assert not list(home.iterdir())
        return done

    yield call
    for folder in folders:
        folder.chmod(0o755)


SCHEMA = 'target = "y"\nclasses = ["a", "b"]\n\n[features.x]\nlow = 0\nhigh = 4\n'


@pytest.mark.full
def test_commands_run_without_a_cache_and_say_so_in_one_line(unwritable, tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA, "utf-8")
    (tmp_path / "records.csv").write_text("x,y\n" + "1,a\n3,b\n" * 50, "utf-8")
    train = [
        "train",
        "records.csv",
        "--schema",
        "schema.toml",
        "--epsilon",
        1,
        "--system",
        "edprf",
        "--out",
        "m.hedgerow",
    ]
    for arguments in (train, ["predict", "m.hedgerow", "records.csv"]):
        done = unwritable("-m", "hedgerow", *arguments)
        assert done.returncode == 0, done.stderr
        assert done.stdout
        assert [line for line in done.stderr.splitlines() if "wrote" not in line] == [
            f"warning: {SAYS}, so that each process compiles it again. "
            "Set NUMBA_CACHE_DIR to a folder with room that only you can write."
        ]


@pytest.mark.full
def test_python_runs_without_a_cache_and_warns_once(unwritable):
    done = unwritable("-c", "import hedgerow as hr; print(hr.EDPRFClassifier(), hr.HedgerowClassifier())")
    warns_once(done)
    assert "EDPRFClassifier" in done.stdout


@pytest.mark.full
def test_help_imports_nothing_that_compiles(unwritable):
    done = unwritable("-m", "hedgerow", "--help")
    assert (done.returncode, done.stderr) == (0, "")


WORKERS = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import hedgerow as hr
if __name__ == "__main__":
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        print(pool.submit(hr.EDPRFClassifier).result())
"""


@pytest.mark.full
def test_the_processes_that_one_starts_do_not_say_it_again(unwritable, tmp_path):
    (tmp_path / "workers.py").write_text(WORKERS, "utf-8")
    warns_once(unwritable("workers.py"))
