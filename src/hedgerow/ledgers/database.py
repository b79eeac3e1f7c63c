"""Transactions on a ledger store, which are on disk when they end, and errors if the store cannot be used."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.pool import NullPool

from hedgerow.errors import (
    ConfigurationError,
    FileFormatError,
    LedgerDamaged,
    LedgerPickleError,
    LedgerUnavailable,
    MissingExtraError,
    install_words,
)

ENVIRONMENT = "env:"
# Query parameters of a URL that may be shown. Any other may be a credential, so it is never shown.
PUBLIC = frozenset(
    "application_name connect_timeout dbname host hostaddr passfile port service sslcert sslkey sslmode sslrootcert user".split()
)
# A URL without its slashes is no path, which is shown.
MISSPELT = re.compile(r"(postgres\w*|sqlite)(\+\w+)?:", re.IGNORECASE)
LONGEST = 4096  # bytes, more than any system accepts as a path
SPECIAL = frozenset("@?#")  # never in the name of a host or database: they are part of a password that was not escaped


@dataclass(frozen=True, repr=False)
class Address:
    """The address of a store: the absolute path of a SQLite file, the URL of a PostgreSQL database, or ``env:NAME`` of either."""

    given: str

    @classmethod
    def of(cls, given: str | os.PathLike[str]) -> Address:
        text = os.fspath(given)
        _check_text(text)
        if text.startswith(ENVIRONMENT):
            if not text.removeprefix(ENVIRONMENT).isidentifier():
                raise ConfigurationError("env: is followed by the name of a variable, such as env:HEDGEROW_LEDGER.")
            return cls(text)
        if "://" in text or MISSPELT.match(text):
            address = cls(text)
            address.url()
            return address
        return cls(os.path.abspath(text))

    def url(self) -> URL:
        text = self.given
        if text.startswith(ENVIRONMENT):
            name = text.removeprefix(ENVIRONMENT)
            text = os.environ.get(name, "")
            if not text or text.startswith(ENVIRONMENT):
                raise ConfigurationError(f"the environment variable {name} holds no path or URL of a ledger store.")
            _check_text(text)
        if "://" not in text and not MISSPELT.match(text):
            return URL.create("sqlite", database=os.path.abspath(text))
        with suppress(sa.exc.ArgumentError, ValueError):
            url = make_url(text)
            apart = not SPECIAL & set(f"{url.host or ''}{url.database or ''}")  # the rest of a password would be shown
            if apart and url.drivername in ("postgresql", "postgresql+psycopg"):
                return url.set(drivername="postgresql+psycopg")
            named = url.database not in (None, "", ":memory:") and not url.query
            if apart and url.drivername == "sqlite" and named:
                return url.set(database=os.path.abspath(str(url.database)))
        raise ConfigurationError(
            "the ledger store's URL is none that hedgerow knows; pass a path, or postgresql+psycopg://user@host/database, with "
            "%40 for @, %3F for ? and %23 for # in a password."
        )

    def for_pickle(self) -> str:
        url = None if self.given.startswith(ENVIRONMENT) else self.url()
        if url is not None and (url.password is not None or not PUBLIC.issuperset(url.query)):
            raise LedgerPickleError(
                "the ledger store's URL may hold a password, which a pickle would give away; pass hr.LedgerStore('env:NAME'), or "
                "keep the password in ~/.pgpass or a service file (postgresql+psycopg:///?service=NAME)."
            )
        return self.given

    def __repr__(self) -> str:
        if self.given.startswith(ENVIRONMENT) or "://" not in self.given:
            return self.given
        url = self.url()
        query = {key: value if key in PUBLIC else "***" for key, value in url.query.items()}
        return url.set(query=query).render_as_string(hide_password=True)


def _check_text(text: object) -> None:
    sound = False
    with suppress(UnicodeEncodeError):
        sound = isinstance(text, str) and "\0" not in text and 0 < len(text.encode()) <= LONGEST and text != ":memory:"
    if not sound:
        raise ConfigurationError(
            f"a ledger store's address is a path or a URL of 1 to {LONGEST} bytes of UTF-8 without NUL."
        )


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
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only; make both writable for this user, or read a copy",
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; look whether it and its folder exist and may be read and written, and "
    "whether the disk is full",
    sqlite3.SQLITE_PERM: "the file may not be opened by this user; change its permissions",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write, or is full; look after it before you try again",
}
# Constraints and types are checked before a row is written, and one writer has the lock.
DAMAGED = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH})
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
    """Transactions on a store. Each opens its own connection, so none is shared with another thread or a forked process."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._engines: dict[tuple[URL, bool, bool], Engine] = {}

    @property
    def path(self) -> Path | None:
        url = self.address.url()
        return Path(str(url.database)) if url.drivername == "sqlite" else None

    def exists(self) -> bool:
        """Return whether the file exists, which a server is assumed to do, or raise LedgerUnavailable if it cannot be used.

        A file may have one name only, because SQLite has separate logs and locks per name.
        """
        path = self.path
        if path is None:
            return True
        try:
            result = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise self._unavailable(str(error.strerror)) from None
        if stat.S_ISDIR(result.st_mode):
            raise self._unavailable("it is a folder; name a file in it")
        if result.st_nlink > 1 or os.path.realpath(path) in _mount_points():
            why = "has hard links" if result.st_nlink > 1 else "is mounted by itself"
            raise self._unavailable(
                f"the file {why}, so charges under its other name are not seen here; keep one name, and mount whole folders"
            )
        return True

    @contextmanager
    def transaction(self, *, writing: bool = False, create: bool = False) -> Iterator[Connection]:
        """Open a transaction. Its changes are on disk if it ends without an error, and are undone otherwise."""
        url, path = self.address.url(), self.path
        key = url, writing, create
        if key not in self._engines:  # an engine holds no connection, so it can be kept, also across a fork
            self._engines[key] = (_server_engine if path is None else _sqlite_engine)(url, writing, create)
        self.exists()
        begun = False
        try:
            engine = self._engines[key]
            with nullcontext() if path is None else _ALONE, engine.connect() as connection, connection.begin():
                begun = True
                yield connection
        except sa.exc.DBAPIError as error:  # its message may quote what was sent
            self._raise(error.orig, charging=begun and writing)
        except UnicodeDecodeError as error:  # Python's module reads the message of SQLite, which quotes the schema
            self._raise(error, charging=False)

    def _raise(self, error: BaseException | None, *, charging: bool) -> NoReturn:
        kind = type(error).__name__
        if isinstance(error, UnicodeDecodeError) or "Could not decode" in str(error):
            raise LedgerDamaged(f"{self.address} holds text that is not UTF-8; {KEEP}") from None
        if not isinstance(error, sqlite3.Error):
            unknown = f"the server did not answer as it should ({kind}); look whether it runs, and whether this user may connect"
            what = POSTGRESQL.get(kind, unknown)
            raise self._unavailable(what, maybe=charging and what is unknown) from None
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        gone = str(error) == f"no such table: {store.name}"
        # The statements are fixed, so in another error of one the tables are not those that they are made for.
        damaged = code in DAMAGED or (code == sqlite3.SQLITE_ERROR and not gone)
        if damaged:
            raise LedgerDamaged(f"{self.address} is damaged, or is no ledger store; {KEEP}") from None
        what = GONE if gone else SQLITE.get(code, f"SQLite answered {getattr(error, 'sqlite_errorname', kind)}")
        # What was written may be found again after a disk failed.
        raise self._unavailable(what, maybe=code == sqlite3.SQLITE_IOERR) from None

    def _unavailable(self, what: str, *, maybe: bool = False) -> LedgerUnavailable:
        booked = "its entries show whether anything was charged" if maybe else "nothing was charged"
        what = what.format(busy=BUSY_SECONDS)
        return LedgerUnavailable(
            f"the ledger store {self.address} cannot be used: {what}. Nothing was drawn, and {booked}."
        )


def _mount_points() -> set[str]:
    """Return the paths where file systems, folders and files are mounted, on Linux; empty on other systems."""
    try:
        lines = os.fsdecode(Path("/proc/self/mountinfo").read_bytes()).split("\n")  # the only character not in names
    except OSError:
        return set()
    return {OCTAL.sub(lambda found: chr(int(found[1], 8)), line.split(" ")[4]) for line in lines if line}


def _server_engine(url: URL, writing: bool, create: bool) -> Engine:
    try:
        engine = sa.create_engine(url, connect_args={"connect_timeout": BUSY_SECONDS}, **OPTIONS)
    except ImportError as error:
        raise MissingExtraError(install_words("a ledger store on PostgreSQL needs psycopg", "postgres")) from error

    def begin(connection: Connection) -> None:
        if not writing:
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        else:  # whatever the server's default is: what was committed is on disk, and who waited reads what was committed
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")
            if connection.exec_driver_sql("SHOW fsync").scalar_one() != "on":
                raise LedgerUnavailable(
                    f"the server at {url.host or 'its socket'} runs with fsync off; set it on. Nothing was charged or drawn."
                )

    event.listen(engine, "begin", begin)
    return engine


class _Connection(sqlite3.Connection):
    """A connection that releases its locks when it is closed; SQLite would wait for every cursor that is still referenced."""

    def close(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # it is already closed
            self.rollback()
        super().close()


def _sqlite_engine(url: URL, writing: bool, create: bool) -> Engine:
    path, mode = quote(str(url.database)), "rwc" if create else "rw"

    def connect() -> sqlite3.Connection:
        # Transactions are begun only below.
        uri = f"file:{path}?mode={mode}"
        return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, factory=_Connection)

    engine = sa.create_engine("sqlite://", creator=connect, **OPTIONS)

    def prepare(connection: Any, record: Any) -> None:
        connection.execute("PRAGMA synchronous=EXTRA")  # FULL, and more where a write-ahead log is impossible
        connection.execute("PRAGMA fullfsync=ON")  # macOS: wait for the disk, not only for its cache
        if writing:
            connection.execute("PRAGMA journal_mode=WAL")

    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


FORMAT = 1  # version of the tables
CREATION_LOCK = 0x6865_6467  # an arbitrary number, the same everywhere

tables = sa.MetaData()
# One row: the store's id and the version of its tables.
store = sa.Table(
    "hedgerow_store",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("format", sa.Integer, nullable=False),
)
# One row for each ledger: the number and the hash of its last link. Writers lock this row.
heads = sa.Table(
    "hedgerow_ledgers",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("parent", sa.Text),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)
# Appended only.
links = sa.Table(
    "hedgerow_links",
    tables,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)


def identify(connection: Connection, address: object, known: str | None, *, create: bool = False) -> str | None:
    """Return the id of the open store, or raise an error if it is not the known one or is of another version.

    Where no store is known and there is none, it is created, or None is returned.
    """
    if create and connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION_LOCK)))
    if known is None and not sa.inspect(connection).has_table(store.name):
        if not create:
            return None
        tables.create_all(connection)
        connection.execute(sa.insert(store).values(id=secrets.token_hex(16), format=FORMAT))
    rows = connection.execute(sa.select(store)).all()
    result, version = rows[0] if len(rows) == 1 else (None, None)
    if not isinstance(result, str) or type(version) is not int or version < 1:
        raise LedgerDamaged(f"{address} does not say which ledger store of which version it is; {KEEP}")
    if version > FORMAT:
        raise FileFormatError(
            f"{address} is of a newer hedgerow (format {version}); update hedgerow. Nothing was charged."
        )
    if known not in (None, result):
        raise ConfigurationError(f"{address} holds another ledger store than was opened before; nothing was charged.")
    return result
