"""What goes wrong around a store: each is one clear sentence, and nothing is lost."""

import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa
from ledger_helpers import fit, some, tamper
from postgres import Server, why_not

import hedgerow as hr
from hedgerow.ledgers import database


def test_a_locked_file_refuses_writing_and_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    ledger = hr.LedgerStore(tmp_path / "b.db").create("a", epsilon=1)
    other = sqlite3.connect(tmp_path / "b.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(hr.LedgerUnavailable, match=r"locked .* Nothing was drawn, and nothing was charged\."):
        ledger.reserve(fit("0.1"))
    assert ledger.spent == 0  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    ledger.reserve(fit("0.1"))


def test_a_full_disk_refuses_and_books_nothing(tmp_path, monkeypatch):
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
        hr.LedgerUnavailable, match=r"disk is full; make room .* Nothing was drawn, and nothing was charged\."
    ):
        fill()
    monkeypatch.undo()
    assert len(ledger.entries) == 3 + len(booked)
    made.verify("a")
    ledger.reserve(fit("0.1"))


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to be read as one" * 40, b"SQLite format 3\0" + b"\xff" * 4096]
)
def test_a_file_that_is_no_store(tmp_path, content):
    path = tmp_path / "b.db"
    path.write_bytes(content)
    with pytest.raises(hr.LedgerDamaged, match="or is no ledger store; nothing was charged"):
        hr.LedgerStore(path)
    assert path.read_bytes() == content


def test_an_end_that_cannot_be_noted_is_a_warning_and_the_model_stays(tmp_path):
    made = hr.LedgerStore(tmp_path / "b.db")
    ledger = made.create("a", epsilon=1)
    reservation = ledger.reserve(fit("0.5"))
    (tmp_path / "b.db").rename(tmp_path / "c.db")
    with (
        pytest.warns(
            UserWarning, match="could not be noted, so its entry stays unfinished and its charge stands"
        ) as told,
        reservation,
    ):
        pass
    assert told[0].filename == __file__  # where the plan ran
    (tmp_path / "c.db").rename(tmp_path / "b.db")
    assert [entry.state for entry in ledger.entries] == ["unfinished"]


# real disks, in a mount namespace that ends with the child

FULL = """
import os, sys
sys.path[:0] = {paths!r}
import hedgerow as hr
from ledger_helpers import fit
folder, path = {folder!r}, {folder!r} + "/b.db"
ledger = hr.LedgerStore(path).create("a", epsilon=100)
booked = 0
try:
    while booked < 5000:
        ledger.reserve(fit("0.001"))
        booked += 1
except hr.LedgerUnavailable as error:
    assert "the disk is full; make room and try again. Nothing was drawn, and nothing was charged." in str(error), error
assert 10 < booked < 5000, booked
assert len(ledger.entries) == booked
ledger.store.verify("a")
assert os.system(f"mount -o remount,size=8m {{folder}}") == 0
ledger.reserve(fit("0.001"))
assert len(hr.LedgerStore(path).ledger("a").entries) == booked + 1
"""
MOUNTED = """
import sys
sys.path[:0] = {paths!r}
import hedgerow as hr
from ledger_helpers import fit
try:
    hr.LedgerStore({folder!r} + "/b.db").ledger("a").reserve(fit(1))
except hr.LedgerUnavailable as error:
    assert "mounted by itself" in str(error)
else:
    raise AssertionError("booked under a name of its own")
"""


def in_namespace(mount, code, folder):
    """Run Python where something was mounted that nobody else sees, or skip."""
    unshare = ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "--mount", "--user", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*unshare, "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("nothing may be mounted here")
    paths = [str(Path(hr.__file__).parents[1]), *map(str, (Path(__file__).parent, Path(__file__).parents[1]))]
    code = code.format(paths=paths, folder=str(folder))
    command = [*unshare, "sh", "-c", f'{mount} && exec "$0" -c "$1"', sys.executable, code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done


@pytest.mark.full
def test_a_disk_that_is_really_full(tmp_path):
    in_namespace(f"mount -t tmpfs -o size=256k tmpfs '{tmp_path}'", FULL, tmp_path)


@pytest.mark.full
def test_a_file_that_is_mounted_by_itself(tmp_path):
    """Its log would lie beside either name, and the ceiling could be spent twice."""
    store = hr.LedgerStore(tmp_path / "b.db")
    store.create("a", epsilon=1)
    (tmp_path / "other folder").mkdir()
    (tmp_path / "other folder" / "b.db").touch()
    mount = f"mount --bind '{tmp_path}/b.db' '{tmp_path}/other folder/b.db'"
    in_namespace(mount, MOUNTED, tmp_path / "other folder")
    store.ledger("a").reserve(fit(1))


def test_a_file_with_two_names(tmp_path):
    """Under each name SQLite keeps a log and locks of its own: the ceiling could be spent under both."""
    ledger = hr.LedgerStore(tmp_path / "a.db").create("a", epsilon=1)
    os.link(tmp_path / "a.db", tmp_path / "b.db")
    for act in (lambda: hr.LedgerStore(tmp_path / "b.db"), lambda: ledger.reserve(fit(1)), lambda: ledger.spent):
        with pytest.raises(hr.LedgerUnavailable, match="has hard links"):
            act()
    (tmp_path / "b.db").unlink()
    (tmp_path / "c.db").symlink_to(tmp_path / "a.db")  # SQLite follows it to the file's own name
    hr.LedgerStore(tmp_path / "c.db").ledger("a").reserve(fit(1))
    assert ledger.remaining == 0


def test_a_server_that_may_forget():
    if reason := why_not():
        pytest.skip(reason)
    server = Server("fsync=off")
    try:
        with pytest.raises(hr.LedgerUnavailable, match="runs with fsync off"):
            hr.LedgerStore(server.url()).create("a", epsilon=1)
    finally:
        server.stop()


def test_a_row_that_stays_locked(server, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    url = server.url()
    ledger = hr.LedgerStore(url).create("a", epsilon=1)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text("SELECT * FROM hedgerow_ledgers FOR UPDATE"))
        with pytest.raises(
            hr.LedgerUnavailable, match=r"locked for 1 seconds.* Nothing was drawn, and nothing was charged\."
        ):
            ledger.reserve(fit("0.1"))
        assert ledger.spent == 0  # reading goes on
    ledger.reserve(fit("0.1"))


def test_a_user_without_rights(server):
    url = server.url()
    ledger = hr.LedgerStore(url).create("a", epsilon=1)
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        for statement in ("CREATE ROLE guest LOGIN", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest"):
            connection.execute(sa.text(statement))
    guest = hr.LedgerStore(url.replace("//hedgerow@", "//guest@")).ledger("a")
    assert guest.remaining == 1
    with pytest.raises(hr.LedgerUnavailable, match=r"may not write there; .* and nothing was charged\."):
        guest.reserve(fit("0.1"))
    assert ledger.entries == ()


def test_a_store_whose_tables_are_gone(address):
    ledger = hr.LedgerStore(address).create("a", epsilon=1)
    tamper(address, "DROP TABLE hedgerow_store")
    with pytest.raises(hr.LedgerUnavailable, match="holds no ledger store any more"):
        ledger.reserve(fit("0.1"))


def test_a_fork_in_the_middle_of_another_threads_booking(tmp_path, monkeypatch):
    """SQLite's locks are also in memory: a copy of them that is held would never be released in the forked process."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    ledger = hr.LedgerStore(tmp_path / "b.db").create("a", epsilon=1)
    begun = threading.Event()

    def book():
        with ledger.store._books(writing=True) as books:
            books.lineage("a")
            begun.set()
            time.sleep(0.5)

    thread = threading.Thread(target=book)
    thread.start()
    begun.wait()
    child = multiprocessing.get_context("fork").Process(target=lambda: ledger.reserve(fit("0.5")))
    child.start()
    child.join(20)
    child.kill()  # if it waits for ever
    thread.join()
    assert (child.exitcode, ledger.spent) == (0, 0.5)


def test_after_a_fork_other_threads_of_both_processes_book(tmp_path):
    """Whoever forks holds the lock for that moment; it is released on both sides, or all other threads would wait for ever."""
    ledger = hr.LedgerStore(tmp_path / "b.db").create("a", epsilon=1)

    def book_elsewhere():
        thread = threading.Thread(target=lambda: ledger.reserve(fit("0.5")), daemon=True)
        thread.start()
        thread.join(10)

    child = multiprocessing.get_context("fork").Process(target=book_elsewhere)
    child.start()
    book_elsewhere()
    child.join(20)
    child.kill()
    assert (child.exitcode, ledger.spent) == (0, 1)


def test_many_create_one_store_at_once(address):
    names, errors = [f"ledger-{number}" for number in range(8)], []

    def create(name):
        try:
            hr.LedgerStore(address).create(name, epsilon=1)
        except hr.HedgerowError as error:
            errors.append(error)

    threads = [threading.Thread(target=create, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (errors, hr.LedgerStore(address).names()) == ([], tuple(names))


def test_ceilings_that_are_raised_while_others_reserve(address):
    made = hr.LedgerStore(address)
    made.create("whole", epsilon=1)
    part, booked = made.create("part", epsilon=100, parent="whole"), []

    def spend():
        for _ in range(10):
            try:
                part.reserve(fit("0.3"))
                booked.append(1)
            except hr.BudgetExceeded:
                pass

    threads = [threading.Thread(target=spend) for _ in range(3)]
    for thread in threads:
        thread.start()
    for ceiling in range(2, 6):
        made.raise_ceiling("whole", epsilon=ceiling, reason="more")
    for thread in threads:
        thread.join()
    assert len(booked) == len(part.entries) == len(made.ledger("whole").entries) >= 3
    for name in made.names():
        made.verify(name)  # every sum against the ceiling of its time
