"""Which tests a trial runs, and in which order."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

from patches import Patch, Patchable

__all__ = ["Order", "Watch"]

PATIENCE = 3.0  # seconds of the processor that any test may take
KERNEL_PATIENCE = 8.0  # the same where kernels are compiled on the way
SLOWER = 5  # and how many times as long as without a change
NEAR = 10  # how many notices of other functions one of the same function counts for


class Order:
    """What is known of the tests: how long each takes, which functions it calls, how many changes it has noticed."""

    def __init__(self, items: Sequence[Any], module: Patchable) -> None:
        self._items = list(items)
        self._patience = KERNEL_PATIENCE if module.has_kernels else PATIENCE
        self._seconds: dict[str, float] = {}
        self._called: dict[str, set[tuple[str, int]]] = {}
        self._failures: Counter[str] = Counter()
        self._failures_of: Counter[tuple[tuple[str, int], str]] = Counter()

    def all(self) -> list[Any]:
        """Return every test."""
        return self._items

    def of(self, patch: Patch) -> list[Any]:
        """Return the tests that call what the patch changes, first those that notice most for their time.

        A change that was noticed in the same function counts for more.

        Calls inside compiled code and the use of a constant are not seen, so kernels and constants have all the tests.
        """
        everywhere = patch.kernels or patch.constants
        able = [item for item in self._items if everywhere or self._called[item.nodeid] & set(patch.codes)]
        return sorted(able, key=lambda item: self._worth(item, patch), reverse=True)

    def _worth(self, item: Any, patch: Patch) -> float:
        near = sum(self._failures_of[function, item.nodeid] for function in patch.codes)
        return (NEAR * near + self._failures[item.nodeid] + 0.1) / (self._seconds[item.nodeid] + 0.002)

    def limit(self, item: Any) -> float:
        """Return how much processor time a test may take before it counts as hanging."""
        return self._patience + SLOWER * self._seconds.get(item.nodeid, 360.0)

    def learn(self, said: str) -> None:
        """Read what a watch said of the unchanged module."""
        for line in said.splitlines():
            name, seconds, called = json.loads(line)
            self._seconds[name] = seconds
            self._called[name] = {tuple(function) for function in called}

    def learn_failure(self, name: str, patch: Patch) -> None:
        """Count a test that noticed a change."""
        self._failures[name] += 1
        self._failures_of.update((function, name) for function in patch.codes)


class Watch:
    """Says on standard output how long each test took and which functions of the module it called."""

    def __init__(self, module: Patchable, path: str) -> None:
        self._module, self._path = module, path
        self._called: set[tuple[str, int]] = set()
        self._seconds = 0.0

    def _note(self, frame: Any, kind: str, argument: Any) -> None:
        code = frame.f_code
        if kind == "call" and code.co_filename == self._path:
            self._called.add((code.co_qualname, code.co_firstlineno))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin to watch; what earlier tests left in caches would hide calls."""
        self._module.forget()
        self._called, self._seconds = set(), 0.0
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Add the time of one phase."""
        self._seconds += report.duration

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Say what was seen."""
        sys.setprofile(None)
        os.write(1, (json.dumps([nodeid, self._seconds, sorted(self._called)]) + "\n").encode())
