"""What a stored ledger promises, on SQLite and on PostgreSQL alike."""

import copy
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa
from sklearn.base import clone
from test_ledger import fit, normal

import hedgerow as hr
from hedgerow.errors import BudgetExceeded, ConfigurationError, FileFormatError, LedgerPickleError
from hedgerow.privacy import books, database, tables
from hedgerow.privacy.address import Address
from hedgerow.privacy.events import Unprotected

STORE = tuple(
    f"privacy/{name}.py" for name in ("store", "stored", "books", "tables", "chain", "database", "ceiling", "address")
)


@pytest.fixture
def made(address):
    return hr.LedgerStore(address)


def tamper(address, statement):
    engine = sa.create_engine(f"sqlite:///{address}" if "://" not in address else address, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text(statement))


# the same as hr.Ledger


def test_it_adds_up_exactly_and_refuses_with_nothing_booked(made):
    ledger = made.create("patients-2026", epsilon=1)
    for _ in range(3):
        ledger.reserve(fit("0.3"))
    with pytest.raises(BudgetExceeded, match=r"'patients-2026' has 0\.1 .* left of 1 .* nothing was drawn"):
        ledger.reserve(fit("0.2"))
    assert ledger.spent == Fraction(9, 10)
    ledger.reserve(fit("0.1"))
    assert ledger.remaining == 0
    assert len(ledger.entries) == 4
    assert made.verify("patients-2026") is None


def test_another_process_sees_the_same(made, address):
    certificate = fit("1/3", 1e-7, event=None)
    ledger = made.create("a", epsilon=1, delta=1e-6)
    with ledger.reserve(certificate):
        again = hr.LedgerStore(address).ledger("a")
        assert again.entries[0].state == "unfinished"
    (entry,) = again.entries
    assert (entry.certificate, entry.epsilon, entry.delta) == (certificate, Fraction(1, 3), Fraction(1, 10**7))
    assert (entry.label, entry.state, entry.process) == ("Forest", "finished", os.getpid())
    assert timedelta(0) <= entry.age < timedelta(minutes=5)
    assert (again.epsilon, again.delta, again.adjacency, again.records_per_person) == (
        1,
        Fraction(1, 10**6),
        "add-remove",
        1,
    )
    assert hr.LedgerStore(address).names() == ("a",)
    assert again.holds


def test_a_fit_that_fails_is_noted_and_stays_booked(made):
    ledger = made.create("a", epsilon=1)
    with pytest.raises(KeyboardInterrupt), ledger.reserve(fit("0.5")):
        raise KeyboardInterrupt
    assert [entry.state for entry in ledger.entries] == ["failed"]
    assert ledger.spent == Fraction(1, 2)


def test_what_is_never_booked(made):
    ledger = made.create("a", epsilon=10)
    for refused in (
        fit(1, event=Unprotected("bins are read off the records")),
        fit(1, adjacency="replace-one"),
        fit(1, event=normal(1).event),
    ):
        with pytest.raises(BudgetExceeded):
            ledger.reserve(refused)
    with pytest.raises(BudgetExceeded, match="one ledger counts one unit"):
        made.create("persons", epsilon=10, records_per_person=3).reserve(fit(1))
    assert ledger.entries == ()
    assert ledger.spent == 0


def test_a_rho(made):
    ledger = made.create("a", rho=0.1, draws=10)
    ledger.reserve(normal("0.1", 6))
    assert (ledger.spent, ledger.spent_draws, ledger.rho, ledger.epsilon) == (Fraction(1, 20), 6, Fraction(1, 10), None)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(normal("0.01", 5))
    assert ledger.epsilon_at(1e-6) == hr.Ledger(rho=0.1, draws=10).epsilon_at(1e-6)
    made.verify("a")


def test_a_seeded_fit_voids_the_sum(made):
    ledger = made.create("a", epsilon=1)
    ledger.reserve(fit("0.5", seeded=True))
    assert not ledger.holds
    assert "a seeded fit voids the guarantee" in repr(ledger)


def test_copies_are_the_same_ledger_and_pickles_are_its_address(made):
    ledger = made.create("a", epsilon=1)
    assert clone(ledger) is copy.copy(ledger) is copy.deepcopy(ledger) is ledger
    again = pickle.loads(pickle.dumps(ledger))
    again.reserve(fit("0.75"))
    assert ledger.spent == Fraction(3, 4)
    assert hr.EDPRFClassifier(ledger=ledger).ledger is ledger


# stores


def test_names_are_used_once_and_a_missing_one_is_said(made):
    with pytest.raises(ConfigurationError):
        made.ledger("a")
    assert made.names() == ()
    made.create("b", epsilon=1)
    made.create("a", epsilon=1)
    assert made.names() == ("a", "b")
    with pytest.raises(ConfigurationError, match="already"):
        made.create("a", epsilon=2)
    with pytest.raises(ConfigurationError, match="there is no ledger 'c'"):
        made.ledger("c")
    assert made.ledger("a").epsilon == 1


@pytest.mark.parametrize("name", ["", " a", "a\n", "x" * 201, 3, None])
def test_a_name_is_a_line(made, name):
    with pytest.raises(ConfigurationError, match="name is"):
        made.create(name, epsilon=1)


def test_a_ceiling_is_raised_never_lowered_and_a_closed_ledger_stays_closed(made):
    ledger = made.create("a", epsilon=1)
    ledger.reserve(fit(1))
    made.raise_ceiling("a", epsilon=2, reason="the board agreed")
    ledger.reserve(fit(1))
    with pytest.raises(ConfigurationError, match="only be raised"):
        made.raise_ceiling("a", epsilon=1, reason="less")
    with pytest.raises(ConfigurationError):
        made.raise_ceiling("a", rho=1, reason="another kind")
    with pytest.raises(ConfigurationError, match="reason is"):
        made.close_ledger("a", reason="")
    made.close_ledger("a", reason="the study ended")
    with pytest.raises(BudgetExceeded, match="closed"):
        ledger.reserve(fit("1e-9"))
    with pytest.raises(ConfigurationError, match="closed"):
        made.raise_ceiling("a", epsilon=9, reason="more")
    assert ledger.closed
    assert [said["kind"] for said in ledger.history] == ["created", "reserved", "raised", "reserved", "closed"]
    assert ledger.history[2]["reason"] == "the board agreed"
    made.verify("a")


# sub-ledgers


def test_a_share_is_booked_in_both_or_in_neither(made):
    whole = made.create("whole", epsilon=1)
    one, two = (made.create(name, epsilon="0.8", parent="whole") for name in ("one", "two"))
    with one.reserve(fit("0.7")):
        pass
    with pytest.raises(BudgetExceeded, match=r"'whole' has 0\.3"):
        two.reserve(fit("0.4"))
    with pytest.raises(BudgetExceeded, match=r"'one' has 0\.1"):
        one.reserve(fit("0.2"))
    two.reserve(fit("0.3"))
    assert (one.spent, two.spent, whole.spent) == (Fraction(7, 10), Fraction(3, 10), 1)
    assert [(entry.through, entry.state) for entry in whole.entries] == [("one", "finished"), ("two", "unfinished")]
    assert (one.parent, whole.parent) == ("whole", None)
    for name in made.names():
        made.verify(name)


def test_every_ledger_counts_by_its_own_adjacency_and_kind(made):
    made.create("top", rho=10, adjacency="replace-one")
    made.create("middle", epsilon=10, adjacency="replace-one", parent="top")
    low = made.create("low", epsilon=10, parent="middle")
    low.reserve(fit("0.0001"))
    assert low.spent == Fraction(1, 10**4)
    assert made.ledger("middle").spent == Fraction(2, 10**4)
    assert made.ledger("top").spent == 4 * Fraction(1, 2 * 10**8)
    assert made.ledger("top").entries[0].through == "low"
    for name in made.names():
        made.verify(name)


def test_a_parent_is_there_open_and_of_the_same_unit(made):
    with pytest.raises(ConfigurationError, match="there is no ledger 'whole'"):
        made.create("part", epsilon=1, parent="whole")
    made.create("whole", epsilon=1)
    with pytest.raises(ConfigurationError, match="records of a person"):
        made.create("part", epsilon=1, records_per_person=2, parent="whole")
    part = made.create("part", epsilon=1, parent="whole")
    made.close_ledger("whole", reason="done")
    with pytest.raises(ConfigurationError, match="closed"):
        made.create("other", epsilon=1, parent="whole")
    with pytest.raises(BudgetExceeded, match="'whole' is closed"):
        part.reserve(fit("0.1"))
    assert part.entries == ()


# damage


def some(made):
    ledger = made.create("a", epsilon=1)
    for _ in range(3):
        with ledger.reserve(fit("0.1")):
            pass
    return ledger


@pytest.mark.parametrize(
    ("statement", "first"),
    [
        ("UPDATE hedgerow_links SET body = replace(body, '1/10', '1/20') WHERE number = 3", 3),
        ("UPDATE hedgerow_links SET previous = hash WHERE number = 2", 2),
        ("DELETE FROM hedgerow_links WHERE number = 2", 2),
        ("DELETE FROM hedgerow_links WHERE number = 6", 6),
        ("DELETE FROM hedgerow_links WHERE number = 0", 0),
        ("UPDATE hedgerow_links SET body = 'x' WHERE number = 5", 5),
        ("UPDATE hedgerow_ledgers SET number = 5", 5),
        ("DELETE FROM hedgerow_ledgers", 0),
        ("INSERT INTO hedgerow_links SELECT ledger, 7, previous, hash, body FROM hedgerow_links WHERE number = 6", 7),
    ],
)
def test_a_row_that_was_edited_or_deleted_is_named(made, address, statement, first):
    some(made)
    tamper(address, statement)
    with pytest.raises(hr.LedgerDamaged, match=rf"'a' is damaged at link {first}:"):
        made.verify("a")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE hedgerow_links SET body = replace(body, '3/10', '1/10') WHERE number = 6",
        "DELETE FROM hedgerow_links WHERE number = 6",
        "UPDATE hedgerow_ledgers SET hash = 'x'",
        "UPDATE hedgerow_ledgers SET number = 4",
    ],
)
def test_nothing_is_booked_behind_a_damaged_end(made, address, statement):
    ledger = some(made)
    tamper(address, statement)
    with pytest.raises(hr.LedgerDamaged):
        ledger.reserve(fit("0.1"))


def test_a_chain_that_was_written_again_is_found_by_a_head_that_was_kept(made, address):
    ledger = some(made)
    kept = ledger.head
    ledger.reserve(fit("0.1"))
    made.verify("a", head=kept)
    for table in ("links", "ledgers"):
        tamper(address, f"DELETE FROM hedgerow_{table}")
    some(made)
    made.verify("a")
    with pytest.raises(hr.LedgerDamaged, match="kept elsewhere"):
        made.verify("a", head=kept)


def test_a_share_that_the_parent_does_not_know_is_found(made, address):
    made.create("whole", epsilon=1)
    made.create("part", epsilon=1, parent="whole").reserve(fit("0.5"))
    tamper(address, "DELETE FROM hedgerow_links WHERE ledger = 'whole' AND number = 1")
    tamper(
        address,
        "UPDATE hedgerow_ledgers SET number = 0, hash = (SELECT hash FROM hedgerow_links WHERE ledger = 'whole') "
        "WHERE name = 'whole'",
    )
    for name in made.names():
        with pytest.raises(
            hr.LedgerDamaged, match="'part' is damaged at link 1: ledger 'whole' does not have the same"
        ):
            made.verify(name)


# threads


def test_threads_never_overdraw(made):
    ledger = made.create("a", epsilon=1)
    outcomes = []

    def spend():
        for _ in range(4):
            try:
                ledger.reserve(fit("0.1"))
                outcomes.append(True)
            except BudgetExceeded:
                outcomes.append(False)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(True) == len(ledger.entries) == 10
    assert ledger.spent == 1


# what goes wrong around a store, each in one sentence, with nothing lost


def test_a_pickle_never_makes_a_store_and_refuses_another_one(tmp_path):
    path, other = tmp_path / "a.db", tmp_path / "b.db"
    pickled = pickle.dumps(hr.LedgerStore(path).create("a", epsilon=1))
    path.rename(other)
    with pytest.raises(hr.LedgerUnavailable):
        pickle.loads(pickled)
    assert not path.exists()
    ledger = hr.LedgerStore(path).create("a", epsilon=1)
    with pytest.raises(ConfigurationError, match="another ledger store"):
        pickle.loads(pickled)
    path.unlink()
    other.rename(path)
    assert pickle.loads(pickled).epsilon == 1
    with pytest.raises(ConfigurationError, match="another ledger store"):
        ledger.reserve(fit("0.1"))


def test_a_newer_store_is_left_alone(made, address):
    made.create("a", epsilon=1)
    tamper(address, "UPDATE hedgerow_store SET format = 2")
    for act in (lambda: hr.LedgerStore(address), lambda: made.ledger("a"), lambda: made.create("b", epsilon=1)):
        with pytest.raises(FileFormatError, match=r"newer hedgerow \(format 2.*update hedgerow"):
            act()


def test_a_store_of_this_version_opens_in_the_next(made, address, monkeypatch):
    some(made)

    def add_a_column(connection):
        connection.execute(sa.text("ALTER TABLE hedgerow_ledgers ADD COLUMN owner TEXT"))

    monkeypatch.setattr(tables, "FORMAT", 2)
    monkeypatch.setattr(tables, "MIGRATIONS", {1: add_a_column})
    opened = hr.LedgerStore(address)
    assert opened.ledger("a").spent == Fraction(3, 10)
    opened.ledger("a").reserve(fit("0.7"))
    opened.verify("a")
    hr.LedgerStore(address)


def test_a_clock_that_runs_backwards_is_told_and_nothing_is_lost(made, monkeypatch):
    ledger = some(made)
    past = datetime.now(UTC) - timedelta(hours=1)
    monkeypatch.setattr(books, "_now", lambda: past)
    with pytest.warns(UserWarning, match=r"this machine's clock reads .* one of two clocks is wrong"):
        ledger.reserve(fit("0.1"))
    monkeypatch.undo()
    assert len(ledger.entries) == 4
    assert ledger.entries[-1].time == past
    made.verify("a")


def test_a_locked_file(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    ledger = hr.LedgerStore(tmp_path / "b.db").create("a", epsilon=1)
    other = sqlite3.connect(tmp_path / "b.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(hr.LedgerUnavailable, match=r"locked .* Nothing was drawn, and nothing was booked\."):
        ledger.reserve(fit("0.1"))
    assert ledger.spent == 0  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    ledger.reserve(fit("0.1"))


def test_a_full_disk(tmp_path, monkeypatch):
    """A limit on the file's pages stands for the disk's end: SQLite answers alike."""
    made = hr.LedgerStore(tmp_path / "b.db")
    ledger = some(made)
    connect = sqlite3.connect

    def full(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.execute("PRAGMA max_page_count=1")
        return connection

    monkeypatch.setattr(sqlite3, "connect", full)
    booked = []

    def fill():
        while len(booked) < 100:  # pages have room for some
            booked.append(ledger.reserve(fit("0.001")))

    with pytest.raises(
        hr.LedgerUnavailable, match=r"disk is full; make room .* Nothing was drawn, and nothing was booked\."
    ):
        fill()
    monkeypatch.undo()
    assert len(ledger.entries) == 3 + len(booked)
    made.verify("a")
    ledger.reserve(fit("0.1"))


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_read_only_folder(tmp_path):
    made = hr.LedgerStore(tmp_path / "b.db")
    ledger = some(made)
    (tmp_path / "b.db").chmod(0o444)
    tmp_path.chmod(0o555)
    code = (
        "import os, sys, hedgerow as hr\n"
        "store = hr.LedgerStore(sys.argv[1])\n"  # everything is imported before the user changes
        "if os.getuid() == 0: os.setuid(65534)\n"
        "try: store.create('b', epsilon=1)\n"
        "except hr.LedgerUnavailable as error: print(error)\n"
    )
    for folder in tmp_path.parents:  # pytest's folders are private
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    try:
        done = subprocess.run([sys.executable, "-c", code, tmp_path / "b.db"], capture_output=True, text=True)
    finally:
        tmp_path.chmod(0o755)
        (tmp_path / "b.db").chmod(0o644)
    assert "read-only" in done.stdout or "cannot be opened" in done.stdout or "may not be" in done.stdout, done
    assert "Nothing was drawn" in done.stdout
    made.verify("a")
    ledger.reserve(fit("0.1"))


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to be read as one" * 40, b"SQLite format 3\0" + b"\xff" * 4096]
)
def test_a_file_that_is_no_store(tmp_path, content):
    path = tmp_path / "b.db"
    path.write_bytes(content)
    with pytest.raises(hr.LedgerUnavailable, match="Nothing was drawn"):
        hr.LedgerStore(path)
    assert path.read_bytes() == content


def test_an_end_that_cannot_be_noted_is_a_warning_and_the_model_stays(tmp_path):
    made = hr.LedgerStore(tmp_path / "b.db")
    ledger = made.create("a", epsilon=1)
    reservation = ledger.reserve(fit("0.5"))
    (tmp_path / "b.db").rename(tmp_path / "c.db")
    with (
        pytest.warns(UserWarning, match="could not be noted, so its entry stays unfinished and its charge stands"),
        reservation,
    ):
        pass
    (tmp_path / "c.db").rename(tmp_path / "b.db")
    assert [entry.state for entry in ledger.entries] == ["unfinished"]


# credentials


def test_a_password_is_never_shown_and_never_pickled(monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    for url in (
        "postgresql+psycopg://anna:s3cret@127.0.0.1:1/budgets",
        "postgresql+psycopg://anna@127.0.0.1:1/budgets?password=s3cret",
        "postgresql+psycopg://anna@127.0.0.1:1/budgets?sslpassword=s3cret",
    ):
        address = Address.of(url)
        assert "s3cret" not in str(address) + repr(address)
        with pytest.raises(LedgerPickleError, match="env:NAME") as refused:
            address.for_pickle()
        assert "s3cret" not in str(refused.value)
        with pytest.raises(hr.LedgerUnavailable) as failed:
            hr.LedgerStore(url)
        assert "s3cret" not in repr(failed.value) + str(failed.value.__cause__)
    monkeypatch.setenv("BUDGETS", "postgresql+psycopg://anna:s3cret@127.0.0.1:1/budgets")
    named = Address.of("env:BUDGETS")
    assert (named.for_pickle(), str(named), named.url().password) == ("env:BUDGETS", "env:BUDGETS", "s3cret")
    service = Address.of("postgresql+psycopg:///?service=budgets")
    assert service.for_pickle() == "postgresql+psycopg:///?service=budgets"


@pytest.mark.parametrize(
    "address",
    ["", ":memory:", "mysql://u:s3cret@h/d", "postgresql+psycopg2://u:s3cret@h/d", "env:NOWHERE", "a://b:s3cret@c:x/"],
)
def test_an_address_that_is_none(address):
    with pytest.raises(ConfigurationError) as refused:
        hr.LedgerStore(address)
    assert "s3cret" not in str(refused.value)


def test_what_is_on_disk(tmp_path):
    made = hr.LedgerStore(tmp_path / "b.db")
    made.create("a", epsilon=1)
    with made._database.writing() as connection:
        asked = [connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("journal_mode", "synchronous")]
    assert asked == ["wal", 3]  # EXTRA
