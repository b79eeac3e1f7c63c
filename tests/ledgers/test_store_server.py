"""What a server is asked before anything is charged, and what is said where its answer does not come; no server is needed."""

from __future__ import annotations

import sys
import threading

import psycopg
import pytest
import sqlalchemy as sa

import hedgerow as hr
from hedgerow.ledgers import database
from hedgerow.ledgers.database import Address, Database

ADDRESS = Address.of("postgresql+psycopg://anna@127.0.0.1:1/budgets")  # where nothing listens


class Asked:
    """A transaction on a server that answers everything with the same word."""

    def __init__(self, answer):
        self.said, self.answer = [], answer

    def exec_driver_sql(self, statement):
        self.said.append(statement)
        return self

    def scalar_one(self):
        return self.answer


def begun(writing, answer="on"):
    """Return what a transaction asks of the server when it begins."""
    asked = Asked(answer)
    database._server_engine(ADDRESS.url(), writing, False).dispatch.begin(asked)
    return asked.said


def test_a_write_is_on_the_servers_disk_and_sees_what_was_committed():
    assert begun(writing=True) == [
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET LOCAL synchronous_commit = on",
        "SET LOCAL lock_timeout = '60s'",
        "SHOW fsync",
    ]


def test_a_reader_sees_one_state_and_writes_nothing():
    assert begun(writing=False, answer="off") == ["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"]


def test_a_server_that_may_forget_is_refused():
    with pytest.raises(hr.LedgerUnavailable, match=r"at 127\.0\.0\.1 runs with fsync off"):
        begun(writing=True, answer="off")
    socket = Address.of("postgresql+psycopg:///?service=budgets")
    with pytest.raises(hr.LedgerUnavailable, match="at its socket runs with fsync off"):
        database._server_engine(socket.url(), True, False).dispatch.begin(Asked("off"))


def test_a_connection_is_waited_for_as_long_as_a_lock_and_belongs_to_one_transaction(monkeypatch):
    asked = []

    def connect(*arguments, **options):
        asked.append(options)
        raise psycopg.OperationalError("no")

    monkeypatch.setattr(psycopg, "connect", connect)
    monkeypatch.setattr(database, "BUSY_SECONDS", 7)
    with pytest.raises(hr.LedgerUnavailable):
        hr.LedgerStore(ADDRESS.given)
    assert [(options["connect_timeout"], options["user"], options["port"]) for options in asked] == [(7, "anna", 1)]
    engine = database._server_engine(ADDRESS.url(), True, False)
    assert isinstance(engine.pool, sa.NullPool)
    assert engine.hide_parameters


def test_without_its_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(hr.MissingExtraError, match=r"pip install .psycopg\[binary\]"):
        hr.LedgerStore(ADDRESS.given)


class LostError(Exception):
    """An answer that never came."""


@pytest.fixture
def silent(monkeypatch):
    """A server that takes everything and then is silent."""
    monkeypatch.setattr(database, "_server_engine", lambda *asked: sa.create_engine("sqlite://"))
    return Database(ADDRESS)


def test_a_commit_whose_answer_is_lost_may_have_been_booked(silent):
    lost = sa.exc.DBAPIError("COMMIT", None, LostError("1/10 of anna"))
    with (
        pytest.raises(
            hr.LedgerUnavailable, match=r"LostError.* and its entries show whether anything was charged\."
        ) as told,
        silent.transaction(writing=True),
    ):
        raise lost
    assert "anna@" in str(told.value)
    assert "1/10" not in str(told.value)
    with (
        pytest.raises(hr.LedgerUnavailable, match=r"Nothing was drawn, and nothing was charged\."),
        silent.transaction(),
    ):
        raise lost


def test_a_server_that_is_not_reached_has_booked_nothing():
    there = Database(ADDRESS)
    assert (there.exists(), there.path) == (True, None)
    with (
        pytest.raises(hr.LedgerUnavailable, match=r"Nothing was drawn, and nothing was charged\."),
        there.transaction(writing=True),
    ):
        raise AssertionError("reached")


def test_servers_are_asked_side_by_side(silent):
    """Only SQLite's transactions wait for one another: its locks are in memory, too."""
    inside, done = threading.Event(), threading.Event()

    def hold():
        with silent.transaction(writing=True):
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(10)
    with silent.transaction():
        assert thread.is_alive()
    done.set()
    thread.join()
