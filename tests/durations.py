"""A plugin: the processor's seconds of a run by folder and of the dearest tests, with the processes that they waited for.

Each process of xdist imports and collects all tests, which has a line of its own. In an empty cache, tests compile kernels.

PYTHONPATH=tests .venv/bin/pytest -n 2 -p durations
"""

from __future__ import annotations

import os
from collections import defaultdict

import pytest


def _seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session):
    try:
        return (yield)
    finally:
        collected = getattr(session.config, "workeroutput", COLLECTED)
        collected["seconds"] = _seconds()  # since the process began


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    COLLECTED["seconds"] += node.workeroutput["seconds"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item):
    item.stash[START] = _seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    report = yield
    report.processor = _seconds() - item.stash[START]  # xdist sends it along
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write how many tests of each folder ran, and for how long, and the dearest ones."""
    last = {}  # a test's reports follow each other, and the last knows its whole time
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "processor"):
                last[report.nodeid] = max(report.processor, last.get(report.nodeid, 0.0))
    folders = defaultdict(list)
    for name, seconds in last.items():
        folder, _, _ = name.partition("::")[0].removeprefix("tests/").rpartition("/")
        folders[folder or "tests"].append(seconds)
    terminalreporter.section("processor seconds")
    terminalreporter.write_line(f"start and collection {COLLECTED['seconds']:8.1f}")
    for folder, seconds in sorted([*folders.items(), ("all", list(last.values()))], key=lambda entry: sum(entry[1])):
        terminalreporter.write_line(f"{folder:12} {len(seconds):6} {sum(seconds):8.1f}")
    for name, seconds in sorted(last.items(), key=lambda entry: -entry[1])[:DEAREST]:
        terminalreporter.write_line(f"{seconds:8.1f}  {name}")


DEAREST = 30
COLLECTED = {"seconds": 0.0}
START = pytest.StashKey[float]()
