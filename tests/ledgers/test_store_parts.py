"""The parts of a ledger store by themselves: tables, links, names, ceilings and their files."""

import os
import pickle
import sqlite3
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from ledger_helpers import everything_of, fit
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

import hedgerow as hr
from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.files import DEEPEST_EVENT
from hedgerow.ledgers import database
from hedgerow.ledgers.ceiling import Ceiling
from hedgerow.ledgers.database import Address, Database
from hedgerow.privacy.accounting import Pure, Sequence


@pytest.fixture
def path(tmp_path):
    return tmp_path / "b.db"


@pytest.fixture
def made(path):
    return hr.LedgerStore(path)


# tables


def test_what_tells_a_store_and_a_reservation_from_others_has_128_bits(made, path):
    ledger = made.create("a", epsilon=1)
    ledger.reserve(fit("0.1"))
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT id, format FROM hedgerow_store").fetchall() == [(made.id, 1)]
    assert len(made.id) == len(ledger.history[1]["reservation"]) == 32
    assert int(made.id, 16) != int(ledger.history[1]["reservation"], 16)


def test_no_server_numbers_the_links_by_itself():
    written = str(CreateTable(database.links).compile(dialect=postgresql.dialect()))
    assert "number INTEGER NOT NULL" in written
    assert "PRIMARY KEY (ledger, number)" in written


def test_all_versions_make_a_servers_store_one_after_the_other():
    """They wait for the same lock, before they look whether there is a store."""
    asked = []

    def execute(statement):
        asked.append(str(statement.compile(dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True})))

    with pytest.raises(sa.exc.NoInspectionAvailable):
        database.identify(SimpleNamespace(dialect=postgresql.dialect(), execute=execute), "here", None, create=True)
    assert [statement.partition("(")[::2] for statement in asked] == [
        ("SELECT pg_advisory_xact_lock", "1751475303) AS pg_advisory_xact_lock_1")
    ]


def test_where_there_is_no_store_nothing_is_read_and_a_known_one_is_not_made_again(made, path):
    path.touch()
    with Database(Address.of(path)).transaction() as connection:
        assert database.identify(connection, path, None) is None
    made.create("a", epsilon=1)
    path.unlink()
    for name in ("-wal", "-shm"):
        path.with_name(path.name + name).unlink(missing_ok=True)
    with pytest.raises(hr.LedgerUnavailable, match="it holds no ledger store any more"):
        made.create("b", epsilon=1)
    assert hr.LedgerStore(path).names() == ()


def test_whoever_reads_or_books_makes_no_file(made, path):
    ledger = made.create("a", epsilon=1)
    path.unlink()
    for act in (
        lambda: ledger.spent,
        lambda: ledger.reserve(fit("0.1")),
        lambda: made.close_ledger("a", reason="gone"),
    ):
        with pytest.raises(hr.LedgerUnavailable, match="cannot be opened"):
            act()
        assert not path.exists()
    with (
        pytest.raises(hr.LedgerUnavailable, match="cannot be opened"),
        Database(Address.of(path)).transaction(writing=True),
    ):
        raise AssertionError("opened")
    assert not path.exists()


# stores


def test_a_store_that_another_process_makes_is_found_by_those_that_wait_for_it(path):
    for number, act in enumerate(
        (
            lambda opened: opened.names(),
            lambda opened: opened.ledger("a"),
            lambda opened: opened.verify("a"),
            lambda opened: opened.raise_ceiling("a", epsilon=2, reason="more"),
            lambda opened: opened.close_ledger("a", reason="done"),
        )
    ):
        here = path.with_name(f"{number}.db")
        opened = hr.LedgerStore(here)
        assert opened.id is None
        if number:
            with pytest.raises(ConfigurationError, match="there is no ledger 'a'"):
                act(opened)
        assert not here.exists()
        assert pickle.loads(pickle.dumps(opened)).id is None
        hr.LedgerStore(here).create("a", epsilon=1)
        assert act(opened) in (("a",), None) or number == 1
        assert opened.id == hr.LedgerStore(here).id


def test_a_store_that_was_pickled_before_it_was_made_is_the_one_that_is_there_then(path):
    before = pickle.dumps(hr.LedgerStore(path))
    made = hr.LedgerStore(path)
    made.create("a", epsilon=1)
    assert pickle.loads(before).id == made.id == pickle.loads(pickle.dumps(made)).id


def test_reasons_and_names_have_their_lengths(made):
    made.create("a", epsilon=1)
    made.create("x", epsilon=1, draws=None)
    with pytest.raises(ConfigurationError, match=r"reason is .* 1 to 2000 printable"):
        made.raise_ceiling("a", epsilon=2, reason="r" * 2001)
    made.raise_ceiling("a", epsilon=2, reason="r" * 2000)
    assert len(made.ledger("a").history[1]["reason"]) == 2000
    for wrong in ("two\nlines", " before", "behind ", "", 3):
        with pytest.raises(ConfigurationError, match="reason is"):
            made.raise_ceiling("a", epsilon=3, reason=wrong)
    assert made.ledger("a").ceiling.epsilon == 2


def ceiling(epsilon=None, **rest):
    return Ceiling.of(epsilon, rest.pop("delta", 0), rest.pop("adjacency", "add-remove"), **rest)


@pytest.mark.parametrize(
    ("before", "raised"),
    [
        ({"epsilon": 1, "delta": 1e-6}, {"epsilon": 2}),
        ({"epsilon": 1, "delta": 1e-6}, {"delta": 1e-5}),
        ({"epsilon": 1, "adjacency": "replace-one", "records_per_person": 2, "person": "id"}, {"epsilon": 2}),
        ({"rho": 1, "draws": 10, "delta": 1e-6}, {"rho": 2}),
        ({"rho": 1, "draws": 10}, {"draws": 20}),
        ({"rho": 1, "draws": 10, "records_per_person": 2}, {"rho": 2, "draws": 20, "delta": 1e-6}),
    ],
)
def test_what_is_not_named_stays_when_a_ceiling_is_raised(made, before, raised):
    ledger = made.create("a", **before)
    assert ledger.ceiling == ceiling(**before)
    made.raise_ceiling("a", **raised, reason="more")
    assert ledger.ceiling == ceiling(**{**before, **raised})
    made.verify("a")


def test_a_large_delta_is_told_where_it_was_passed(made):
    """The warnings name the lines of the calls, as without a store."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made.create("a", epsilon=1, delta=0.01)
        made.raise_ceiling("a", delta=0.02, reason="more")
        hr.Ledger(epsilon=1, delta=0.02)
    assert [(warning.filename, "the guarantee may fail" in str(warning.message)) for warning in told] == [
        (__file__, True)
    ] * 3


# links


def test_whoever_looks_at_a_ledger_keeps_nobody_waiting(made):
    """A reader's transaction sees one state, and a writer's goes on beside it."""
    ledger = made.create("a", epsilon=1)
    with made._books() as seen:
        before = seen.head("a")
        ledger.reserve(fit("0.5"))
        assert seen.head("a") == before
    assert ledger.spent == Fraction(1, 2)


def test_nothing_is_booked_where_a_link_stands_already(made, path):
    ledger = made.create("a", epsilon=1)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO hedgerow_links SELECT ledger, 1, previous, hash, body FROM hedgerow_links")
    with pytest.raises(hr.LedgerDamaged, match="'a' is damaged at link 1: it stands behind the last link"):
        ledger.reserve(fit("0.1"))
    assert ledger.spent == 0


def nested(depth):
    """A plan within so many others."""
    plan = Pure(Fraction(1, 10), "m", "p")
    for _ in range(depth):
        plan = Sequence((plan,))
    return plan


UNWRITABLE = {
    "nan": {"event": Pure(Fraction(1, 10), "m", "p", float("nan"))},
    "digits": {"event": Pure(Fraction(1, 10**5000), "m", "p")},
    "deep": {"event": nested(DEEPEST_EVENT + 1)},
    "deeper than Python goes": {"event": nested(10_000)},
    "long": {"system": "x" * 10**5},
    "small": {"epsilon": Fraction(1, 10**10), "event": Pure(Fraction(1, 10**10), "m", "p")},
}


@pytest.mark.parametrize("parts", UNWRITABLE.values(), ids=UNWRITABLE)
def test_a_plan_that_cannot_be_written_or_read_is_not_booked(made, parts):
    ledger = made.create("a", epsilon=1)
    with pytest.raises(BudgetExceeded, match=r"cannot be stored; nothing was drawn"):
        ledger.reserve(replace(fit("0.1"), **parts))
    assert ledger.entries == ()
    ledger.reserve(fit("0.1", event=nested(DEEPEST_EVENT)))
    made.verify("a")


# files


def test_a_write_is_on_disk_and_waits_for_others(made):
    made.create("a", epsilon=1)
    for writing in (True, False):
        with made._database.transaction(writing=writing) as connection:
            asked = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("journal_mode", "synchronous", "fullfsync", "busy_timeout")
            }
        assert asked == {"journal_mode": "wal", "synchronous": 3, "fullfsync": 1, "busy_timeout": 60_000}


def test_whoever_books_keeps_other_writers_out_before_anything_is_read(made, path):
    """Two that read what is left at once could both find it enough."""
    made.create("a", epsilon=1)
    other = sqlite3.connect(path, timeout=0, isolation_level=None)
    with made._database.transaction(writing=True), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")
    with made._database.transaction():
        other.execute("BEGIN IMMEDIATE")
    other.close()


def test_a_connection_ends_with_its_transaction(made, monkeypatch):
    ledger, connect, opened = made.create("a", epsilon=1), sqlite3.connect, []

    def kept(*arguments, **options):
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", kept)
    ledger.reserve(fit("0.1"))
    assert ledger.spent == Fraction(1, 10)
    assert len(opened) > 1
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_a_name_is_a_url_however_sqlite_was_built_and_python_begins_no_transaction(made, monkeypatch):
    """Debian's SQLite takes every name for a URL; others make a file of that name, beside the store."""
    connect, asked = sqlite3.connect, []

    def noted(*arguments, **options):
        asked.append(options["uri"])
        return connect(*arguments, **options)

    monkeypatch.setattr(sqlite3, "connect", noted)
    for transaction in (made._database.transaction(writing=True, create=True), made._database.transaction()):
        with transaction as connection:
            assert connection.connection.driver_connection.isolation_level is None
    assert asked == [True, True]


MOUNTED = b"""\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:5 / /mnt/\xff\x0c\r\xe2\x80\xa8 rw - tmpfs tmpfs rw
36 21 8:1 %s %s rw,noatime shared:1 - ext4 /dev/sda1 rw
"""


@pytest.mark.parametrize("named", ["inside", "beside", None])
def test_a_file_that_is_mounted_by_itself_is_refused_and_other_mounts_do_not_matter(tmp_path, monkeypatch, named):
    """Linux writes a space as \\040, and any byte but a line's end as it is; other systems tell nothing."""
    file, told = tmp_path / "a b.db", tmp_path / "mountinfo"
    written = str(file).replace(" ", "\\040").encode()
    if named:
        told.write_bytes(MOUNTED % ((b"/x", written) if named == "inside" else (written, b"/x")))
    monkeypatch.setattr(database, "Path", lambda given: told if given == "/proc/self/mountinfo" else Path(given))
    made = hr.LedgerStore(file)
    if named == "inside":
        made.create("a", epsilon=1)  # before there is a file, nothing is mounted on it
        with pytest.raises(hr.LedgerUnavailable, match=r"the file is mounted by itself, .* nothing was charged\."):
            made.ledger("a")
    else:
        assert made.create("a", epsilon=1).remaining == 1


def test_a_path_is_no_url(tmp_path):
    """SQLite reads a name as a URL: what has a meaning there is written so that it has none."""
    for name in ("what?mode=memory", "50%25 off", "a#b", "a b"):
        path = tmp_path / name
        hr.LedgerStore(path).create("a", epsilon=1)
        assert path.exists()
        assert hr.LedgerStore(path).ledger("a").remaining == 1
    assert len([file for file in os.listdir(tmp_path) if not file.endswith(("-wal", "-shm"))]) == 4


def test_no_error_says_what_was_to_be_booked(made, path):
    ledger = made.create("a", epsilon=1)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON hedgerow_links BEGIN SELECT RAISE(ABORT, 'refused'); END"
        )
    with pytest.raises(hr.LedgerDamaged, match="nothing was charged") as refused:
        ledger.reserve(fit("0.1", system="UnseenForest"))
    assert "refused" in everything_of(refused.value.__context__)
    assert "UnseenForest" not in everything_of(refused.value)


# ledgers


def test_a_share_of_several_is_checked_against_each_of_its_own(made, path):
    made.create("whole", epsilon=10)
    for name in ("one", "two"):
        made.create(name, epsilon=1, parent="whole").reserve(fit("0.5"))
    made.create("other", epsilon=1).reserve(fit("0.25"))
    for name in made.names():
        made.verify(name)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE hedgerow_links SET body = 'x' WHERE ledger = 'two' AND number = 1")
    made.verify("one")
    made.verify("other")
    for name in ("whole", "two"):
        with pytest.raises(hr.LedgerDamaged, match="'two' is damaged at link 1"):
            made.verify(name)
