"""Processes that race for one ledger, and processes that are killed: the short versions of `make test-ledgers`."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import store_processes
from postgres import why_not


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_races_and_killed_processes(kind):
    if kind == "postgresql" and (reason := why_not()):
        pytest.skip(reason)
    small = ["--kills", "10", "--attempts", "40", "--processes", "2"]
    command = [sys.executable, "-W", "error", store_processes.__file__, kind, *small]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent)
    assert done.returncode == 0, done
    assert "killed 10," in done.stdout
    assert re.search(r"10 of 40 booked", done.stdout)
