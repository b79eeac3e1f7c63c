"""Every test run: its seeds may be moved, and a green run with fewer tests than there were is red."""

from __future__ import annotations

import pytest
from hypothesis import settings
from seeds import move_seeds, name_keys, pin

FEWEST = 12700
OUTCOMES = ("passed", "skipped", "xfailed")

move_seeds()  # before any test module makes records of its own
# No test asserts a time: a first call may compile, a machine may be busy.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


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
    option = session.config.option
    whole = session.config.args == session.config.getini("testpaths") and option.markexpr == "not slow and not engines"
    narrowed = option.keyword or option.ignore or option.ignore_glob or option.deselect or option.collectonly
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if hasattr(session.config, "workerinput") or not whole or narrowed or exitstatus or reporter is None:
        return
    ran = sum(len(reporter.stats.get(outcome, ())) for outcome in OUTCOMES)
    if ran < FEWEST:
        reporter.write_line(f"only {ran} tests ran, and there were {FEWEST}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
