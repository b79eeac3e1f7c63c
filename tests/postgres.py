"""A PostgreSQL server of a test's own: on loopback, in a temporary folder, as another user, as ``initdb`` refuses root."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
USER = "postgres"  # Debian's package brings it
SECONDS = 60


def why_not() -> str | None:
    """Say why no server can be started here; None where one can."""
    try:
        import psycopg  # noqa: F401 - whether it is there
    except ImportError:
        return "psycopg is not installed"
    return None if BINARIES else "PostgreSQL is not installed; `make test-postgres` says how to get it"


class Server:
    """Starts at once, with these settings ("fsync=off"); ``url()`` names a new database."""

    def __init__(self, *settings: str) -> None:
        self.settings = settings
        self.folder = Path(tempfile.mkdtemp(prefix="hedgerow-postgres-"))
        self.user = USER if os.name == "posix" and os.getuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._made = 0
        self._connection: Any = None
        self.data = self.folder / "data"
        self._run("initdb", "-D", str(self.data), "-U", "hedgerow", "-A", "trust", "-E", "UTF8", "--locale=C")
        self.start()

    def _run(self, binary: str, *arguments: str) -> None:
        subprocess.run(
            [BINARIES[-1] / binary, *arguments], user=self.user, cwd=self.folder, check=True, capture_output=True
        )

    def start(self) -> None:
        log = (self.folder / "log").open("ab")
        options = ["-p", str(self.port), "-h", "127.0.0.1", "-k", str(self.folder), "-c", "max_connections=50"]
        options += [part for setting in self.settings for part in ("-c", setting)]
        self._process = subprocess.Popen(
            [BINARIES[-1] / "postgres", "-D", str(self.data), *options],
            user=self.user,
            cwd=self.folder,
            stdout=log,
            stderr=log,
        )
        log.close()
        end = time.monotonic() + SECONDS
        while True:
            try:
                self.execute("SELECT 1")
                return
            except Exception:
                if time.monotonic() > end or self._process.poll() is not None:
                    raise
                time.sleep(0.05)

    def execute(self, statement: str) -> None:
        import psycopg

        where = f"host=127.0.0.1 port={self.port} user=hedgerow dbname=postgres"
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(statement)

    def kill(self) -> None:
        """Kill the server at once, as a machine that loses power does; ``start`` brings it back."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(SECONDS)

    def url(self) -> str:
        self._made += 1
        self.execute(f"CREATE DATABASE d{self._made}")
        return f"postgresql+psycopg://hedgerow@127.0.0.1:{self.port}/d{self._made}"

    def connection(self) -> Any:
        """Return the one connection in a transaction of its own, with an empty schema "main"; what was done before is undone."""
        import psycopg

        if self._connection is None:
            self._connection = psycopg.connect(self.url().replace("+psycopg", ""))
        self._connection.rollback()
        self._connection.execute("CREATE SCHEMA main")
        self._connection.execute("SET search_path = main")
        return self._connection

    def stop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self.kill()
        shutil.rmtree(self.folder)


@cache
def shared() -> Server:
    """A server for statements that change nothing outside a database of their own; it stops when the tests end."""
    server = Server("fsync=off", "jit=off")
    atexit.register(server.stop)
    return server
