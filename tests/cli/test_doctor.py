import json
import sqlite3

import pytest

import hedgerow as hr
from hedgerow.cli import doctor


@pytest.fixture
def store(folder):
    store = hr.LedgerStore("budgets.db")
    store.create("patients", epsilon=3)
    store.create("visits", epsilon=1)
    return store


def test_the_page_names_versions_cores_and_kernels(run):
    found = run("doctor")
    assert found.exit_code == 0, found.output
    for word in (f"hedgerow   {hr.__version__}", "numpy 2.", "cores ", "thread", "kernels ", "nothing is wrong"):
        assert word in found.stdout


def test_a_sound_store_is_said_to_be_so(run, store):
    found = run("doctor", "--ledger", "budgets.db")
    assert found.exit_code == 0, found.output
    assert "patients: as it was written; 0 unfinished" in found.stdout
    assert "2 ledgers" in found.stdout


def test_a_store_that_was_changed_by_other_means_is_wrong(run, store):
    with sqlite3.connect("budgets.db") as connection:
        connection.execute("UPDATE hedgerow_links SET body = replace(body, '3', '9') WHERE ledger = 'patients'")
    found = run("doctor", "--ledger", "budgets.db")
    assert found.exit_code == 1
    assert "patients: DAMAGED" in found.stdout or "WRONG: the ledger store" in found.stdout


def test_a_store_that_does_not_exist_is_wrong(run, folder):
    found = run("doctor", "--ledger", "none.db")
    assert found.exit_code == 1
    assert "WRONG: the ledger store: " in found.stdout
    assert not (folder / "none.db").exists()


def test_what_is_not_installed_is_wrong(run, monkeypatch):
    monkeypatch.setattr(doctor, "REQUIRED", ("numpy", "no-such-package"))
    found = run("doctor", "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["wrong"] == ["no-such-package is not installed; install hedgerow again with pip."]
