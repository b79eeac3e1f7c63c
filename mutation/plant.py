"""Planted bugs: the test that is named for each must fail with it, and pass without.

Where a mutant changes a token, these are mistakes that somebody could make: a number that no step released, a cap by blocks,
noise for half of what a record adds. Each is tried as a mutant is, by a patch in a process (trial.py). Where its test does not
fail there, since it starts processes of its own, the bug is put into a copy of the source. The checkout is never changed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from order import Words
from reach import REACH, ROOT, SOURCE
from trial import Change, Trials, prepare

__all__ = ["Bug", "bugs"]

BUGS = ROOT / "mutation" / "bugs.toml"
COPIED = ("src", "tests", "docs/extensions", "pyproject.toml")
LONGEST = 900  # seconds of one run of pytest, beyond which it is broken off
RUN = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0", "-o", "addopts=")


@dataclass(frozen=True)
class Bug:
    """One planted bug.

    Parameters
    ----------
    name : str
        What it is called in the table.
    what : str
        What it does, in a sentence.
    file : str
        The file below ``src/hedgerow`` that is changed.
    old, new : str
        The text that stands there exactly once, and what takes its place.
    test : str
        The test that must fail with it.
    """

    name: str
    what: str
    file: str
    old: str
    new: str
    test: str

    @property
    def path(self) -> Path:
        """Where the changed file is, from the root."""
        return Path("src/hedgerow") / self.file

    def wrong(self, root: Path = ROOT) -> str | None:
        """Return what is wrong with the entry as the source and the tests stand, if anything is."""
        path, (file, _, test) = root / self.path, self.test.partition("::")
        found = path.read_text("utf-8").count(self.old) if path.is_file() else 0
        if found != 1:
            return f"{self.name}: its text stands {found} times in {self.path}, not once; plant it anew"
        if self.old == self.new:
            return f"{self.name}: it changes nothing"
        name = test.rpartition("::")[2].partition("[")[0]
        if not (root / file).is_file() or f"def {name}(" not in (root / file).read_text("utf-8"):
            return f"{self.name}: there is no test {self.test}"
        return None


def bugs(file: Path = BUGS) -> list[Bug]:
    """Return the table."""
    return [Bug(name, **entry) for name, entry in tomllib.loads(file.read_text("utf-8")).items()]


Cases = dict[str, str]  # of each case of a test, "passed", "failed" or "skipped"


class NotRunError(Exception):
    """Why pytest could not run what it was asked to run."""


class Copy:
    """A copy of the source and the tests in which a bug may be planted, with compiled kernels of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._number = folder, 0
        ignored = shutil.ignore_patterns("__pycache__")
        for name in COPIED:
            source, target = ROOT / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target, ignore=ignored) if source.is_dir() else shutil.copy2(source, target)

    def run(self, tests: Sequence[str]) -> Cases:
        """Run tests on the true source."""
        return self._pytest(tests, "numba")

    def run_with(self, bug: Bug, tests: Sequence[str]) -> Cases:
        """Run tests with a bug in place until one fails."""
        path = self.folder / bug.path
        before, times = path.read_text("utf-8"), path.stat()
        self._number += 1
        # Another second for each change: compiled files of Python are told by it.
        path.write_text(before.replace(bug.old, bug.new), "utf-8")
        os.utime(path, (times.st_atime, times.st_mtime + self._number))
        # numba looks at a kernel's own file, and compiled callers hold the true one.
        cache = f"numba-{self._number}" if "@compiled" in before else "numba"
        try:
            return self._pytest([*tests, "-x"], cache)
        finally:
            path.write_text(before, "utf-8")
            os.utime(path, (times.st_atime, times.st_mtime))

    def _pytest(self, arguments: Sequence[str], cache: str) -> Cases:
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder / "src"),
            "NUMBA_CACHE_DIR": str(self.folder / cache),
            "OMP_NUM_THREADS": "1",
            "HEDGEROW_EXAMPLES": "100",
        }
        command = [sys.executable, *RUN, f"--junitxml={report}", *arguments]
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            said, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise NotRunError(f"it takes more than {LONGEST} s") from None
        if process.returncode not in (0, 1) or not report.is_file():
            raise NotRunError(said[-1500:])
        return {_name(case): _state(case) for case in ElementTree.parse(report).iter("testcase")}


def _name(case: ElementTree.Element) -> str:
    """Return the name of a case as pytest is asked for it."""
    return f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name', '')}"


def _state(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "passed" if case.find("skipped") is None else "skipped"


def of_test(test: str, cases: Cases) -> set[str]:
    """Return what became of the cases of a test."""
    return {state for name, state in cases.items() if test in (name, name.partition("[")[0])}


def change_of(bug: Bug, files: Sequence[str] = ()) -> Change:
    """Return a bug as a change whose own test is run, or the tests that call what it changes, those in these files first."""
    before = (ROOT / bug.path).read_text("utf-8")
    after = before.replace(bug.old, bug.new)
    return Change(bug.file, str(SOURCE / bug.file), before, after, files, tests=() if files else (bug.test,))


def tried(chosen: Sequence[Bug], jobs: int) -> Iterator[tuple[Bug, str, float]]:
    """Yield each bug with what is wrong about it, empty where its test tells it, and the seconds that this took."""
    waiting = []
    for number, outcome in Trials(REACH, jobs, 900.0).run(list(map(change_of, chosen))):
        if outcome.state in ("failed", "hung"):
            yield chosen[number], "", outcome.seconds
        else:
            waiting.append(chosen[number])
    if waiting:
        with tempfile.TemporaryDirectory(prefix="planted-") as folder:
            copy = Copy(Path(folder))
            for bug in waiting:
                yield bug, *in_a_copy(bug, copy)


def in_a_copy(bug: Bug, copy: Copy) -> tuple[str, float]:
    """Return what is wrong about a bug that is put into a copy, and the seconds."""
    start = time.monotonic()
    try:
        if of_test(bug.test, copy.run([bug.test])) != {"passed"}:
            said = "its test does not pass without it"
        else:
            said = "" if "failed" in copy.run_with(bug, [bug.test]).values() else "its test passes with it, too"
    except NotRunError as error:
        said = f"its test does not run with it: {error}"
    return said, time.monotonic() - start


def main() -> int:
    """Try the bugs, or those that are named; 1 where one is not caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of bugs; all without any")
    parser.add_argument("--file", type=Path, default=BUGS, help="the list of bugs")
    parser.add_argument("--jobs", type=int, default=1, help="bugs at once")
    parser.add_argument(
        "--any", action="store_true", help="try the tests that call what a bug changes, not its own test"
    )
    options = parser.parse_args()
    known = bugs(options.file)
    chosen = [bug for bug in known if not options.names or bug.name in options.names]
    if not chosen or len(chosen) < len(set(options.names)):
        parser.error(f"no such bug in {options.file}")
    wrong = [said for bug in chosen if (said := bug.wrong()) is not None]
    if wrong and not options.any:
        print("\n".join(wrong))
        return 1
    start = time.monotonic()
    prepare(examples=100)
    if options.any:
        words = Words(ROOT / "tests")
        changes = [change_of(bug, words.nearest(bug.file, (ROOT / bug.path).read_text("utf-8"))) for bug in chosen]
        for number, outcome in Trials(REACH, options.jobs).run(changes):
            print(f"{outcome.state} {outcome.seconds:6.1f} s  {chosen[number].name}  {outcome.by}", flush=True)
        return 0
    slipped = 0
    for bug, said, seconds in tried(chosen, options.jobs):
        print(f"{'caught ' if not said else 'SLIPPED'} {seconds:6.1f} s  {bug.name}  {said}".rstrip(), flush=True)
        slipped += bool(said)
    caught = len(chosen) - slipped
    print(f"{caught} of {len(chosen)} bugs are caught by their tests, in {time.monotonic() - start:.0f} s")
    return 1 if slipped else 0


if __name__ == "__main__":
    sys.exit(main())
