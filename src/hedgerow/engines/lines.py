"""Connections ("lines") to Spark tasks that stay for many queries: over a line, a query is a message, not a job."""

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
from multiprocessing.connection import wait
from typing import Any

from hedgerow.engines.cluster import silent

Address = tuple[str, int]

START = 20.0  # seconds within which every task must connect; otherwise all queries are jobs
LIFE = 20.0  # seconds after which the driver replaces the tasks, so that other jobs get their turn
IDLE = 4.0  # seconds without a query after which a task ends; after half of them, the driver replaces the tasks
LOOK = 1.0  # seconds between two checks that the tasks still run while the driver waits for connections
# A lost machine is noticed after 75 s: by the first three while the driver waits, by the last one (in ms) while it sends.
KEEP_ALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 75_000}
ENCRYPTED = ("network.crypto.enabled", "authenticate.enableSaslEncryption", "ssl.enabled", "ssl.rpc.enabled")
PLACE, LENGTH, MARK = 4, 8, 32  # bytes
MAX_LENGTH = 1 << 40  # bytes of a message
LONGEST = 1e6  # seconds; sockets take no timeout of more than 2**31 ms
FAILURES = 3  # failed queries over lines, after which all queries are jobs


class Line:
    """One end of a connection. Messages arrive whole, in order and from the other end; otherwise OSError is raised.

    A message has a mark: a keyed hash of it, its direction, its partition and the last mark on the line. Only the driver and its
    tasks have the key. So an answer is accepted only as the answer to the last query.
    """

    def __init__(self, connection: socket.socket, key: bytes, place: int, *, driver: bool) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection, self._key, self._last_mark = connection, key, bytes(MARK)
        sides = [side + place.to_bytes(PLACE, "big") for side in (b"driver", b"task")]
        self._sides = sides if driver else sides[::-1]  # of messages sent and received

    def send(self, message: bytes) -> None:
        self.connection.sendall(len(message).to_bytes(LENGTH, "big") + self._mark(0, message) + message)

    def receive(self, max_length: int = MAX_LENGTH, deadline: float = float("inf")) -> bytes:
        length = int.from_bytes(_read(self.connection, LENGTH, deadline), "big")
        if length > max_length:
            raise ConnectionError
        mark, message = _read(self.connection, MARK, deadline), _read(self.connection, length, deadline)
        if not hmac.compare_digest(mark, self._mark(1, message)):
            raise ConnectionError
        return message

    def _mark(self, side: int, message: bytes) -> bytes:
        mark = hashlib.blake2b(self._last_mark, digest_size=MARK, key=self._key, person=self._sides[side])
        mark.update(message)
        self._last_mark = mark.digest()
        return self._last_mark

    def close(self) -> None:
        self.connection.close()


def _read(connection: socket.socket, length: int, deadline: float) -> bytes:
    result = bytearray()
    while len(result) < length:
        part = connection.recv(min(length - len(result), 1 << 20))
        if not part or time.monotonic() > deadline:
            raise ConnectionError
        result += part
    return bytes(result)


class Lines:
    """Lines to one task for each partition. ``serve(address, key)`` returns an RDD whose tasks call ``serve`` of this module.

    A task that stays holds its cores. So there are no lines if cores are too few, nor if Spark encrypts its messages, which lines
    do not; lines end when another job is active. A query that not every task answers must be a job; the next one tries again.
    """

    def __init__(self, context: Any, partitions: int, timeout: float, serve: Callable[[Address, bytes], Any]) -> None:
        self._context, self._partitions, self._timeout, self._serve = context, partitions, min(timeout, LONGEST), serve
        self._conf = context.getConf()
        encrypted = any(self._conf.get(f"spark.{name}", "false").strip().lower() != "false" for name in ENCRYPTED)
        cores = partitions * int(self._conf.get("spark.task.cpus", "1"))
        self._attempts = FAILURES if cores <= context.defaultParallelism and not encrypted else 0
        self._busy = False
        self._lines: dict[int, Line] = {}
        self._started = self._answered = 0.0
        self._job: tuple[Any, str] | None = None

    def ask(self, message: bytes, progress: Callable[[float], None]) -> list[bytes] | None:
        """Return the answer of each task, or None; ``progress`` takes the share of the answers that have come."""
        others = bool(self._lines) and len(self._context.statusTracker().getActiveJobsIds()) > 1  # may wait for cores
        if not self._attempts or self._busy or others:  # busy: a signal's handler queries during another query
            return None
        now, answers, self._busy = time.monotonic(), list[bytes](), True
        try:
            if not self._lines or now > min(self._started + LIFE, self._answered + IDLE / 2):
                self.close()
                self._start()
            waiting: dict[Any, Line] = {line.connection: line for line in self._lines.values()}
            for line in waiting.values():
                line.send(message)
            while waiting:
                ready = wait(waiting, self._timeout)
                if not ready:
                    raise silent(self._timeout)
                if not answers:  # the task that answers first is idle first
                    self._answered = time.monotonic()
                for connection in ready:
                    answers.append(waiting.pop(connection).receive())
                    progress(len(answers) / self._partitions)
            return answers
        except (OSError, ValueError):  # ValueError: the query of a signal's handler closed the lines
            self.fail()
            return None
        except BaseException:
            self.close()
            raise
        finally:
            self._busy = False

    def _start(self) -> None:
        """Start the tasks, and accept a connection from each; raise OSError if one does not connect."""
        attempts, self._attempts = self._attempts, 0  # tasks that cannot connect are not tried again
        host, key = self._conf.get("spark.driver.host", "localhost"), os.urandom(32)
        bind_address = self._conf.get("spark.driver.bindAddress", host)
        with socket.create_server((bind_address, 0), backlog=self._partitions) as server:
            server.settimeout(LOOK)
            thread = self._run(self._serve((host, server.getsockname()[1]), key))
            deadline = time.monotonic() + START
            while len(self._lines) < self._partitions:
                if time.monotonic() > deadline or not thread.is_alive():
                    raise ConnectionError
                with suppress(OSError):
                    self._accept(server.accept()[0], key)
        self._attempts, self._started = attempts, time.monotonic()

    def _run(self, tasks: Any) -> Any:
        group = f"hedgerow-{secrets.token_hex(8)}"

        def work() -> None:
            with suppress(Exception):  # the driver notices that a task does not answer
                self._context.setJobGroup(group, "hedgerow", interruptOnCancel=True)
                tasks.collect()

        thread = import_module("pyspark").InheritableThread(target=work, daemon=True)
        thread.start()
        self._job = thread, group
        return thread

    def _accept(self, connection: socket.socket, key: bytes) -> None:
        try:
            deadline = time.monotonic() + LOOK
            connection.settimeout(LOOK)
            place = int.from_bytes(_read(connection, PLACE, deadline), "big")
            line = Line(connection, key, place, driver=True)
            line.receive(max_length=0, deadline=deadline)  # only from a task that has the key
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in KEEP_ALIVE.items():
                if hasattr(socket, name):
                    connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
            connection.settimeout(self._timeout)
        except BaseException:
            connection.close()
            raise
        if place in self._lines:  # of a task that was lost, or that Spark started twice
            self._lines[place].close()
        self._lines[place] = line

    def fail(self) -> None:
        """End the tasks, because one did not answer or did not find its partition; after several times there are none."""
        self._attempts = max(0, self._attempts - 1)
        self.close()

    def close(self) -> None:
        """End the tasks, so that their cores are free."""
        while self._lines:
            self._lines.popitem()[1].close()
        if self._job:
            thread, group = self._job
            thread.join(LOOK)
            if thread.is_alive():
                with suppress(Exception):  # Spark was stopped
                    self._context.cancelJobGroup(group)
                thread.join(LOOK)
            self._job = None


def serve(address: Address, key: bytes, place: int, answer: Callable[[bytes], bytes]) -> None:
    """Answer the driver's messages about a partition until it closes the line or sends nothing for some time."""
    with suppress(OSError), socket.create_connection(address, timeout=LOOK * 5) as connection:
        connection.sendall(place.to_bytes(PLACE, "big"))
        line = Line(connection, key, place, driver=False)
        connection.settimeout(START)  # there are no queries until every task has connected
        line.send(b"")
        while True:
            line.send(answer(line.receive()))
            connection.settimeout(IDLE)
