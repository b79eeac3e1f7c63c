"""What a database answers when a ledger store cannot be used, as one sentence each; every one leaves the store as it was."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

__all__ = ["KEEP", "is_full", "sentence"]

KEEP = "nothing was booked; keep the store as it is, and compare it with a copy."

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
    sqlite3.SQLITE_CORRUPT: "the file is damaged; keep it as it is, and go back to a copy",
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


def is_full(path: Path) -> bool:
    """Return whether the file system of a file has no block, or no entry, left for this user."""
    try:
        found = os.statvfs(path.parent)
    except (AttributeError, OSError):
        return False
    return found.f_blocks > 0 and (found.f_bavail == 0 or (found.f_files > 0 and found.f_favail == 0))


def sentence(address: object, error: BaseException | None, writing: bool, busy: float, *, full: bool = False) -> str:
    """Return what is wrong and what to do, without anything that the database's own message quotes.

    ``full`` says that the file system is, which SQLite knows of some of its failures only.
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
    booked = "its entries show whether anything was booked" if maybe else "nothing was booked"
    return f"the ledger store {address} cannot be used: {what.format(busy=busy)}. Nothing was drawn, and {booked}."
