"""Transactions on a ledger store, which are on disk when they end, and errors if the store cannot be used."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.pool import NullPool

from hedgerow.errors import LedgerDamaged, LedgerUnavailable, MissingExtraError
from hedgerow.ledgers.address import Address

__all__ = ["KEEP", "Database", "is_full", "sentence"]

OCTAL = re.compile(r"\\([0-7]{3})")  # how Linux writes a space in the name of a mount point
OPTIONS: dict[str, Any] = {"poolclass": NullPool, "hide_parameters": True}
BUSY_SECONDS = 60  # how long a writer waits for the others

# Errors of a database if a store cannot be used, one sentence each. Each of them leaves the store unchanged.
KEEP = "nothing was charged; keep the store as it is, and compare it with a copy."

LOCKED = "another process has kept it locked for {busy} seconds; end that process, or try again"
FULL = "the disk is full; make room and try again"
GONE = "it holds no ledger store any more; put back what was there"
SQLITE = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only; make both writable for this user",
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; look whether it and its folder exist and may be read and written",
    sqlite3.SQLITE_PERM: "the file may not be opened by this user; change its permissions",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write; look after it before you try again",
    sqlite3.SQLITE_NOTADB: "the file is no ledger store; choose another name",
}
# By the names of psycopg's errors, which follow PostgreSQL's codes.
POSTGRESQL = {
    "LockNotAvailable": LOCKED,
    "DiskFull": "the server's " + FULL,
    "UndefinedTable": GONE,
    "InsufficientPrivilege": "this user may not write there; let the database's owner grant it",
    "ReadOnlySqlTransaction": "the server or this user is read-only; connect to a server that takes writes",
}

# SQLite also keeps locks in memory, so a process must not fork during another thread's transaction.
_ALONE = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_ALONE.acquire, after_in_parent=_ALONE.release, after_in_child=_ALONE.release)


class Database:
    """Transactions on a store.

    Every transaction opens its own connection, so no connection is shared with another thread or a forked process.

    Parameters
    ----------
    address : Address
        The address of the store.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._engines: dict[tuple[URL, bool, bool], Engine] = {}

    @property
    def path(self) -> Path | None:
        """The file of a SQLite store; None for a server."""
        url = self.address.url()
        return Path(str(url.database)) if url.drivername == "sqlite" else None

    @property
    def exists(self) -> bool:
        """Whether the file exists; a server is assumed to exist.  Raise LedgerUnavailable if this cannot be determined."""
        try:
            return self.path is None or os.stat(self.path) is not None
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise LedgerUnavailable(
                f"the ledger store {self.address} cannot be used: {error.strerror}. Nothing was charged and nothing was drawn."
            ) from None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that sees one state of the store."""
        with self._transaction(reading=True, create=False) as connection:
            yield connection

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Connection]:
        """Yield a connection. Its changes are on disk if this ends without an error, and are undone otherwise."""
        with self._transaction(reading=False, create=create) as connection:
            yield connection

    @contextmanager
    def _transaction(self, *, reading: bool, create: bool) -> Iterator[Connection]:
        engine = self._engine(reading, create)
        if self.path is not None:
            self._check_names(self.path)
        begun = False
        still = self.path if reading and self.path is not None and _is_still(self.path) else None
        before = None if still is None else _state(still)
        try:
            with nullcontext() if self.path is None else _ALONE, engine.connect() as connection, connection.begin():
                begun = True
                yield connection
            if still is not None and _state(still) != before:
                raise LedgerUnavailable(
                    f"the ledger store {self.address} was written while it was read without the right to write; read it again."
                )
        except sa.exc.DBAPIError as error:  # its message may quote what was sent
            if "Could not decode" in str(error.orig):
                raise self._not_text() from None
            if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT:
                raise LedgerDamaged(f"{self.address} is damaged; {KEEP}") from None
            full = self.path is not None and is_full(self.path)
            told = sentence(self.address, error.orig, begun and not reading, BUSY_SECONDS, full=full)
            raise LedgerUnavailable(told) from None
        except UnicodeDecodeError:  # Python's module reads the message of SQLite, which quotes the schema
            raise self._not_text() from None

    def _not_text(self) -> LedgerDamaged:
        return LedgerDamaged(f"{self.address} holds text that is not UTF-8; {KEEP}")

    def _check_names(self, path: Path) -> None:
        """Raise LedgerUnavailable if the file may have another name, because SQLite has separate logs and locks per name."""
        try:
            found = os.stat(path)
            several = found.st_nlink > 1
        except OSError:  # there is no file yet, or opening it will raise the error
            return
        if stat.S_ISDIR(found.st_mode):
            raise LedgerUnavailable(
                f"the ledger store {self.address} cannot be used: it is a folder; name a file in it. Nothing was charged and "
                "nothing was drawn."
            )
        if several or os.path.realpath(path) in _mount_points():
            why = "has hard links" if several else "is mounted by itself"
            raise LedgerUnavailable(
                f"the ledger store {self.address} cannot be used: the file {why}, and what is charged under its other name would "
                "not be seen here; keep one name, and mount whole folders. Nothing was charged and nothing was drawn."
            )

    def _engine(self, reading: bool, create: bool) -> Engine:
        """Return an engine that opens connections. It holds none, so it can be kept, also across a fork."""
        url = self.address.url()
        key = url, reading, create
        if key not in self._engines:
            kind = _sqlite_engine if url.drivername == "sqlite" else _server_engine
            self._engines[key] = kind(url, reading, create)
        return self._engines[key]


def _mount_points() -> set[str]:
    """Return the paths where file systems, folders and files are mounted, on Linux; empty on other systems."""
    try:
        lines = os.fsdecode(Path("/proc/self/mountinfo").read_bytes()).split("\n")  # the only character not in names
    except OSError:
        return set()
    return {OCTAL.sub(lambda found: chr(int(found[1], 8)), line.split(" ")[4]) for line in lines if line}


def _server_engine(url: URL, reading: bool, create: bool) -> Engine:
    try:
        engine = sa.create_engine(url, connect_args={"connect_timeout": BUSY_SECONDS}, **OPTIONS)
    except ImportError as error:
        raise MissingExtraError(
            'a ledger store on PostgreSQL needs psycopg: install it with pip install "hedgerow[postgres]".'
        ) from error

    def begin(connection: Connection) -> None:
        if reading:
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        else:  # whatever the server's default is: what was committed is on disk, and who waited reads what was committed
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")
            if connection.exec_driver_sql("SHOW fsync").scalar_one() != "on":
                raise LedgerUnavailable(
                    f"the ledger store's server at {url.host or 'its socket'} runs with fsync off, so it may forget what was "
                    "charged; set fsync = on. Nothing was charged and nothing was drawn."
                )

    event.listen(engine, "begin", begin)
    return engine


class _Connection(sqlite3.Connection):
    """A connection that releases its locks when it is closed; SQLite would wait for every cursor that is still referenced."""

    def close(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # it is already closed
            self.rollback()
        super().close()


def _state(path: Path) -> tuple[int, int, bool]:
    """Return values that change when the file is written."""
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size, os.path.exists(f"{path}-wal")


def _is_still(path: Path) -> bool:
    """Return whether a file cannot be read through a log, because no process has one open and this user cannot create one.

    SQLite then reads the file as immutable, and ``_transaction`` checks that it did not change.
    """
    may_write = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return not may_write and os.access(path, os.R_OK) and not os.path.exists(f"{path}-wal")


def _sqlite_engine(url: URL, reading: bool, create: bool) -> Engine:
    path, mode = quote(str(url.database)), "rwc" if create else "rw"

    def connect() -> sqlite3.Connection:
        # Transactions are begun only below.
        way = "mode=ro&immutable=1" if reading and _is_still(Path(str(url.database))) else f"mode={mode}"
        uri = f"file:{path}?{way}"
        return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, factory=_Connection)

    engine = sa.create_engine("sqlite://", creator=connect, **OPTIONS)

    def prepare(connection: Any, record: Any) -> None:
        connection.execute("PRAGMA synchronous=EXTRA")  # FULL, and more where a write-ahead log is impossible
        connection.execute("PRAGMA fullfsync=ON")  # macOS: wait for the disk, not only for its cache
        if not reading:
            connection.execute("PRAGMA journal_mode=WAL")

    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


def is_full(path: Path) -> bool:
    """Return whether the file system of a file has no blocks or no inodes left for this user."""
    try:
        found = os.statvfs(path.parent)
    except (AttributeError, OSError):
        return False
    return found.f_blocks > 0 and (found.f_bavail == 0 or (found.f_files > 0 and found.f_favail == 0))


def sentence(address: object, error: BaseException | None, writing: bool, busy: float, *, full: bool = False) -> str:
    """Return what is wrong and what to do, without anything that the database's own message quotes.

    ``full`` says that the file system is full, which only some of SQLite's errors show.
    """
    kind = type(error).__name__
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        what = SQLITE.get(code, f"SQLite answered {getattr(error, 'sqlite_errorname', kind)}")
        if str(error).startswith("no such table"):
            what = GONE
        elif full and code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
            what = FULL
        maybe = code == sqlite3.SQLITE_IOERR  # what was written may be found again after a disk failed
    else:
        unknown = (
            f"the server did not answer as it should ({kind}); look whether it runs, and whether this user may connect"
        )
        what, maybe = POSTGRESQL.get(kind, unknown), writing and kind not in POSTGRESQL
    booked = "its entries show whether anything was charged" if maybe else "nothing was charged"
    return f"the ledger store {address} cannot be used: {what.format(busy=busy)}. Nothing was drawn, and {booked}."
