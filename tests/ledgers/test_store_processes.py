"""Processes that race for one ledger, and processes that are killed: the short versions of `make test-ledgers`."""

import subprocess
import sys
from pathlib import Path

import pytest
import store_processes
from postgres import why_not


@pytest.mark.full
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_races_and_killed_processes(kind):
    if kind == "postgresql" and (reason := why_not()):
        pytest.skip(reason)
    small = ["--kills", "10", "--attempts", "40", "--processes", "2"]
    command = [sys.executable, "-W", "error", store_processes.__file__, kind, *small]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent)
    assert done.returncode == 0, done
    assert "killed 10," in done.stdout
    assert "10 of 40 booked" in done.stdout


LATE = """
import contextlib, sys, threading
import store_processes
from hedgerow.ledgers.store import StoredLedger
charge = StoredLedger.reserve
def reserve(self, certificate):
    threading.Timer(5, charge, (self, certificate)).start()
    return contextlib.nullcontext()
StoredLedger.reserve = reserve
sys.argv[1:] = ["sqlite", "--kills", "10", "--attempts", "40"]
store_processes.main()
"""


def test_charges_that_come_after_their_models_would_be_found():
    folder = Path(store_processes.__file__).parent
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 1
    assert "a model exists whose charge is lost" in done.stderr
