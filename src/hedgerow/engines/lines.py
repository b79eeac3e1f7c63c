"""Lines to tasks of Spark that stay for many queries: over a line, a query is a message, not a job."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from hedgerow.engines.cluster import silent

Address = tuple[str, int]

START = 20.0  # seconds within which every task must connect; otherwise all queries are jobs
LIFE = 20.0  # seconds after which tasks end and start anew, so that other jobs get their turn
IDLE = 4.0  # seconds without a query after which a task ends; the driver starts new ones after half of them
LOOK = 1.0  # seconds between two looks at whether tasks that have not connected still run
KEEP_ALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}  # a machine that is gone is noticed after 75 s
ENCRYPTED = ("network.crypto.enabled", "authenticate.enableSaslEncryption", "ssl.enabled", "ssl.rpc.enabled")
PLACE, LENGTH, MARK = 4, 8, 32  # bytes
MOST = 1 << 40  # bytes of a message
FAILURES = 3  # of lines, after which all queries are jobs


class Line:
    """One end of a connection. Messages arrive whole, in order and from the other end; otherwise OSError is raised.

    Each has a mark: a hash of it, its number, its direction and its partition, by a key that only the driver and its tasks have.
    """

    def __init__(self, connection: socket.socket, key: bytes, place: int, *, driver: bool) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection, self._key, self._numbers = connection, key, [0, 0]
        ends = [end + place.to_bytes(PLACE, "big") for end in (b"driver", b"task")]
        self._ends = ends if driver else ends[::-1]

    def send(self, message: bytes) -> None:
        self._connection.sendall(len(message).to_bytes(LENGTH, "big") + self._mark(0, message) + message)

    def receive(self, most: int = MOST) -> bytes:
        length = int.from_bytes(_read(self._connection, LENGTH), "big")
        if length > most:
            raise ConnectionError
        mark, message = _read(self._connection, MARK), _read(self._connection, length)
        if not hmac.compare_digest(mark, self._mark(1, message)):
            raise ConnectionError
        return message

    def _mark(self, end: int, message: bytes) -> bytes:
        number = self._numbers[end].to_bytes(16, "big")
        self._numbers[end] += 1
        return hashlib.blake2b(message, digest_size=MARK, key=self._key, salt=number, person=self._ends[end]).digest()

    def wait(self, seconds: float) -> None:
        """Set how long the other end may be silent."""
        self._connection.settimeout(seconds)

    def close(self) -> None:
        self._connection.close()


def _read(connection: socket.socket, length: int) -> bytes:
    result = bytearray()
    while len(result) < length:
        part = connection.recv(min(length - len(result), 1 << 20))
        if not part:
            raise ConnectionError
        result += part
    return bytes(result)


class Lines:
    """Lines to a task for each partition. ``serve(address, key)`` returns an RDD of tasks that call the function below.

    Tasks that stay hold a core each. So there are none where partitions are more than cores; nor where Spark encrypts its own
    messages, which lines do not. A query that gets no answer from every task must be a job; the next one tries lines again.
    """

    def __init__(self, context: Any, partitions: int, timeout: float, serve: Callable[[Address, bytes], Any]) -> None:
        self._context, self._partitions, self._timeout, self._serve = context, partitions, timeout, serve
        self._conf = context.getConf()
        encrypted = any(self._conf.get(f"spark.{name}", "false") == "true" for name in ENCRYPTED)
        self._left = FAILURES if partitions <= context.defaultParallelism and not encrypted else 0
        self._lines: dict[int, Line] = {}
        self._started = self._answered = 0.0
        self._job: tuple[Any, str] | None = None

    def ask(self, message: bytes, progress: Callable[[float], None]) -> list[bytes] | None:
        """Return the answer of each task, or None; ``progress`` takes the share that has come."""
        if not self._left:
            return None
        now, answers = time.monotonic(), list[bytes]()
        try:
            if not self._lines or now > min(self._started + LIFE, self._answered + IDLE / 2):
                self.close()
                self._start()
            for line in self._lines.values():
                line.send(message)
            for line in self._lines.values():
                answers.append(line.receive())
                progress(len(answers) / self._partitions)
            self._answered = time.monotonic()
            return answers
        except TimeoutError:
            self.close()
            raise silent(self._timeout) from None
        except OSError:
            self.fail()
            return None
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        """Start the tasks, and take a connection of each; raise OSError if one does not come."""
        left, self._left = self._left, 0  # tasks that cannot connect are not tried again
        host, key = self._conf.get("spark.driver.host"), os.urandom(32)
        bound = self._conf.get("spark.driver.bindAddress", host)
        with socket.create_server((bound, 0), backlog=self._partitions) as server:
            server.settimeout(LOOK)
            thread = self._run(self._serve((host, server.getsockname()[1]), key))
            end = time.monotonic() + START
            while len(self._lines) < self._partitions:
                if time.monotonic() > end or not thread.is_alive():
                    raise ConnectionError
                with suppress(OSError):
                    self._take(server.accept()[0], key)
        self._left, self._started = left, time.monotonic()

    def _run(self, tasks: Any) -> Any:
        group = f"hedgerow-{secrets.token_hex(8)}"

        def work() -> None:
            with suppress(Exception):  # the driver notices that a task does not answer
                self._context.setJobGroup(group, "hedgerow", interruptOnCancel=True)
                tasks.collect()

        thread = import_module("pyspark").InheritableThread(target=work, daemon=True)
        self._job = thread, group
        thread.start()
        return thread

    def _take(self, connection: socket.socket, key: bytes) -> None:
        try:
            connection.settimeout(LOOK)
            place = int.from_bytes(_read(connection, PLACE), "big")
            line = Line(connection, key, place, driver=True)
            line.receive(most=0)  # from whoever has the key
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in KEEP_ALIVE.items():
                if hasattr(socket, name):
                    connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
            line.wait(self._timeout)
        except BaseException:
            connection.close()
            raise
        self._lines[place] = line

    def fail(self) -> None:
        """End the tasks after one of them did not answer, or not where its partition is."""
        self._left = max(0, self._left - 1)
        self.close()

    def close(self) -> None:
        """End the tasks, so that their cores are free."""
        while self._lines:
            self._lines.popitem()[1].close()
        if self._job:
            thread, group = self._job
            thread.join(LOOK)
            if thread.is_alive():
                self._context.cancelJobGroup(group)
                thread.join(LOOK)
            self._job = None


def serve(address: Address, key: bytes, place: int, answer: Callable[[bytes], bytes]) -> None:
    """Answer messages of the driver about a partition until it closes the line, or sends nothing for some time."""
    with suppress(OSError), socket.create_connection(address, timeout=LOOK * 5) as connection:
        connection.sendall(place.to_bytes(PLACE, "big"))
        line = Line(connection, key, place, driver=False)
        line.send(b"")
        line.wait(IDLE)
        while True:
            line.send(answer(line.receive()))
