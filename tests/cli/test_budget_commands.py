"""``hedgerow budget``, and what ``hedgerow train`` books."""

import json
import sqlite3

import pytest

import hedgerow as hr

STORE = ["--ledger", "budgets.db"]
PATIENTS = [*STORE, "--dataset", "patients"]


@pytest.fixture
def created(run, folder):
    assert run("budget", "create", *PATIENTS, "--epsilon", "1.5").exit_code == 0
    return hr.LedgerStore(folder / "budgets.db").ledger("patients")


def test_trainings_and_a_notebook_add_up(created, folder, train):
    schema = hr.Schema.load("people.toml")
    assert train(*PATIENTS, epsilon="0.5").exit_code == 0
    records = [[30, "single", 1], [40, "other", 2]]
    hr.EDPRFClassifier(epsilon=0.25, schema=schema, ledger=created).fit(records, ["low", "high"])
    hr.Curator(records, ["low", "high"], schema, 0.5, ledger=created)
    assert created.spent == 1.25
    assert [entry.state for entry in created.entries] == ["finished"] * 3
    assert created.entries[0].certificate == hr.load("m.hedgerow").certificate_
    before = (folder / "m.hedgerow").read_bytes()
    refused = train(*PATIENTS, "--force", epsilon="0.5")
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert (
        "ledger 'patients' has epsilon 0.25, delta 0 left of epsilon 1.5, delta 0; nothing was drawn" in refused.stderr
    )
    assert (folder / "m.hedgerow").read_bytes() == before
    assert len(created.entries) == 3


def test_the_environment_names_the_ledger(created, train, monkeypatch):
    monkeypatch.setenv("HEDGEROW_LEDGER", "budgets.db")
    alone = train()
    assert (alone.exit_code, "--dataset is missing" in alone.stderr) == (2, True)
    assert "`hedgerow budget create` makes one" in alone.stderr
    monkeypatch.setenv("HEDGEROW_DATASET", "patients")
    assert train().exit_code == 0
    assert created.spent == 1
    assert train("--dataset", "others", out="n.hedgerow").exit_code == 2


def test_a_ledger_that_is_not_there_spends_nothing(folder, train):
    missing = train(*PATIENTS)
    assert (missing.exit_code, "there is no ledger 'patients'" in missing.stderr) == (2, True)
    assert not (folder / "budgets.db").exists()
    assert not (folder / "m.hedgerow").exists()


def test_show_and_list(created, run, train):
    train(*PATIENTS)
    shown = run("budget", "show", *PATIENTS).stdout
    assert "ceiling    epsilon 1.5, delta 0, add-remove" in shown
    assert "left       epsilon 0.5" in shown
    assert "finished   EDPRFClassifier  epsilon 1, delta 0" in shown
    assert "  entries    1\n" in shown
    values = json.loads(run("budget", "show", *PATIENTS, "--json").stdout)
    assert (values["remaining"], values["entries"][0]["state"], values["head"]) == ("1/2", "finished", created.head)
    assert (
        run("budget", "list", *STORE).stdout
        == "patients  epsilon 1.5, delta 0, add-remove; left epsilon 0.5, delta 0\n"
    )


def test_an_unfinished_entry_is_shown_with_its_age_and_process(created, run):
    entry = hr.EDPRFClassifier(epsilon=0.5, schema=hr.Schema.load("people.toml"))
    entry.fit([[30, "single", 1]], ["low"])
    created.reserve(entry.certificate_)
    shown = run("budget", "show", *PATIENTS).stdout
    assert f"in process {created.entries[0].process}; it is charged, however it ended" in shown


def test_raise_and_close(created, run, train):
    assert run("budget", "raise", *PATIENTS, "--epsilon", "1", "--reason", "less").exit_code == 2
    assert run("budget", "raise", *PATIENTS, "--epsilon", "3").exit_code == 2
    assert run("budget", "raise", *PATIENTS, "--epsilon", "3", "--reason", "the board agreed").exit_code == 0
    assert created.ceiling.epsilon == 3
    assert run("budget", "close", *PATIENTS, "--reason", "the study ended").exit_code == 0
    shown = run("budget", "show", *PATIENTS).stdout
    assert "the board agreed" in shown
    assert "the study ended" in shown
    assert train(*PATIENTS).exit_code == 3


def test_a_share_and_a_rho(created, run):
    assert run("budget", "create", *STORE, "--dataset", "anna", "--rho", "0.1", "--parent", "patients").exit_code == 0
    assert "a share of patients" in run("budget", "show", *STORE, "--dataset", "anna").stdout
    assert run("budget", "create", *STORE, "--dataset", "anna", "--epsilon", "1").exit_code == 2
    assert run("budget", "create", *STORE, "--dataset", "eve").exit_code == 2


def test_verify_accepts_a_kept_head_and_finds_an_edited_row(created, folder, run, train):
    train(*PATIENTS)
    kept = created.head
    assert run("budget", "verify", *PATIENTS, "--head", kept).exit_code == 0
    with sqlite3.connect(folder / "budgets.db") as connection:
        connection.execute("UPDATE hedgerow_links SET body = replace(body, 'EDPRF', 'edprf') WHERE number = 1")
    connection.close()
    damaged = run("budget", "verify", *PATIENTS)
    assert (damaged.exit_code, "'patients' is damaged at link 1" in damaged.stderr) == (1, True)


def test_names_are_no_markup(folder, run, monkeypatch):
    """Names, reasons and users come from whoever may write the store; the officer's terminal shows them."""
    script, who = '<script>alert("1")</script>', "<img src=x onerror=alert(2)>\x1b[2J"
    monkeypatch.setenv("LOGNAME", who)
    of = [*STORE, "--dataset"]
    assert run("budget", "create", *of, script, "--epsilon", "1").exit_code == 0
    assert run("budget", "create", *of, script + "'", "--epsilon", "1", "--parent", script).exit_code == 0
    ledger = hr.LedgerStore(folder / "budgets.db").ledger(script + "'")
    certificate = hr.EDPRFClassifier(epsilon=0.5, schema=hr.Schema.load("people.toml")).fit(
        [[30, "single", 1]], ["low"]
    )
    ledger.reserve(certificate.certificate_)
    assert run("budget", "raise", *of, script, "--epsilon", "2", "--reason", script).exit_code == 0
    for name in (script, script + "'"):
        assert "\x1b" not in run("budget", "show", *of, name).stdout
