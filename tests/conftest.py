"""Every test run: its seeds may be moved, and a green run with fewer tests than there were is red."""

from __future__ import annotations

import math
import os
from typing import Any

# Runs have a process for each core, and threads of others' libraries that wait for each other take its time. They read this
# when they are loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import manifest
import pytest
from hypothesis import settings
from seeds import move_seeds, name_keys, pin

from hedgerow.ledgers import ledger

OUTCOMES = ("passed", "skipped", "xfailed")

move_seeds()  # before any test module makes records of its own
# No test asserts a time: a first call may compile, a machine may be busy. Seeds differ from run to run, so quick runs draw few
# examples each; `make test-all` and `make planted` draw as many as hypothesis does by itself.
EXAMPLES = int(os.environ.get("HEDGEROW_EXAMPLES", "30"))
settings.register_profile("quick", deadline=None, max_examples=EXAMPLES)
settings.load_profile("quick")


ledger.COUNTED_AT = math.inf  # a process runs the fits of many tests: tests/ledgers/test_repeats.py is about it


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        kind = manifest.kind_of(item)
        if kind != manifest.QUICK:  # runs of minutes and hours that somebody starts on purpose have no limit
            item.add_marker(pytest.mark.timeout(900 if kind == manifest.FULL else 0))
    for test in {item.obj for item in items if hasattr(item, "obj")}:
        draw_as_many(test)


def draw_as_many(test: Any) -> None:
    """Take a test's own number of examples as that of a run with 100, which is hypothesis's own."""
    own = getattr(test, "_hypothesis_internal_use_settings", None)
    if own is not None and own.max_examples != EXAMPLES:
        test._hypothesis_internal_use_settings = settings(own, max_examples=max(10, own.max_examples * EXAMPLES // 100))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item):
    pin(item.get_closest_marker("pinned") is not None)
    name_keys(None if item.get_closest_marker("entropy") else item.nodeid)
    try:
        return (yield)
    finally:
        pin(False)
        name_keys(None)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if hasattr(session.config, "workerinput") or exitstatus or reporter is None:
        return
    reports = [report for outcome in OUTCOMES for report in reporter.stats.get(outcome, ())]
    ran = [report.nodeid for report in reports if isinstance(report, pytest.TestReport)]
    skipped = [report.nodeid for report in reports if isinstance(report, pytest.CollectReport)]
    found = manifest.lost(manifest.least_of(session.config, manifest.read()), ran, skipped)
    if found:
        reporter.write_line("")
        for line in [*found, "Where these tests went on purpose: python tests/manifest.py --write"]:
            reporter.write_line(line, red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
