"""Which functions of the library each test calls, and how long it takes: a plugin of pytest, and a reader of its file.

    REACH=build/reach.jsonl PYTHONPATH=mutation .venv/bin/python -m pytest -p reach -p no:xdist tests/export

A call in the setup of a shared fixture counts for every test that uses the fixture, and what earlier tests left in caches is
forgotten before each test. Only tests that pass are written. Calls inside compiled code are not seen.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

__all__ = ["REACH", "ROOT", "SOURCE", "Reach", "Seen", "SeenSoFar"]

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hedgerow"
REACH = ROOT / "build" / "reach.jsonl"  # trials add to it


class Seen(NamedTuple):
    """The processor's seconds of a test, and the functions that it called, as `export/form.py:Form.of`."""

    seconds: float
    functions: frozenset[str]


class SeenSoFar(dict[str, Seen]):
    """What the file has for each test, by its name. ``update_from`` reads what other processes have added since.

    ``fresh`` are the names of tests that were read since the caller last emptied it.
    """

    def __init__(self) -> None:
        self._read, self.fresh = 0, set[str]()

    def update_from(self, path: Path) -> SeenSoFar:
        """Read what was added since the last time, and return this."""
        if path.exists():
            with path.open("rb") as file:
                file.seek(self._read)
                for line in file:
                    name, seconds, functions = json.loads(line)
                    self.fresh.add(name)
                    self[name] = Seen(seconds, frozenset(map(sys.intern, functions)))
                self._read = file.tell()
        return self


class Reach:
    """Writes a line for each test that passes."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.called: set[Any] = set()
        self.of_fixture: dict[Any, set[Any]] = {}
        self.caches: list[Any] = []
        self.modules = 0

    def _note(self, frame: Any, kind: str, argument: Any) -> None:
        self.called.add(frame.f_code)  # and None for its lines, which are not traced

    def _forget(self) -> None:
        if len(sys.modules) != self.modules:
            self.modules = len(sys.modules)
            wrappers = [value for value in gc.get_objects() if isinstance(value, functools._lru_cache_wrapper)]
            self.caches = [value for value in wrappers if (value.__module__ or "").startswith("hedgerow")]
        for cache in self.caches:
            cache.cache_clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        """Keep what the setup of a fixture calls."""
        before, self.called = self.called, set()
        try:
            return (yield)
        finally:
            self.of_fixture[fixturedef] = self.called
            self.called = before | self.called

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        """Watch one test."""
        self._forget()
        self.called, self.passed = set(), True
        start = time.process_time()
        threading.settrace(self._note)
        sys.settrace(self._note)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            if self.passed:
                self._write(item, time.process_time() - start)

    def _write(self, item: Any, seconds: float) -> None:
        of_fixtures = [
            self.of_fixture.get(one, ()) for several in item._fixtureinfo.name2fixturedefs.values() for one in several
        ]
        source = f"{SOURCE}{os.sep}"
        codes = [code for code in self.called.union(*of_fixtures) if code.co_filename.startswith(source)]
        functions = sorted({f"{code.co_filename.removeprefix(source)}:{code.co_qualname}" for code in codes})
        with self.target.open("a", encoding="utf-8") as file:
            file.write(json.dumps([item.nodeid, round(seconds, 3), functions]) + "\n")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test that fails or is skipped: nothing is written for it."""
        self.passed = self.passed and report.passed


def pytest_configure(config: Any) -> None:
    """Register the plugin if ``REACH`` names its file."""
    if "REACH" in os.environ:
        config.pluginmanager.register(Reach(Path(os.environ["REACH"])))
