"""A socket in an owner's folder, by which processes of the same machine reach the owner's own process.

Flower starts a process for each message, and runs the app that the coordinator sent. That process has neither the records nor
the owner's key: it passes bytes on to the owner's process, and may run as another user. This file imports little, because it is
imported anew for each message.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.cli import sentence
from hedgerow.errors import EngineError

if TYPE_CHECKING:
    from hedgerow.engines.federated import Owner

LOG = logging.getLogger("hedgerow.owner")
MOST_BYTES = 1 << 30  # of a message
AT_ONCE = 16  # connections that wait
GONE = (OSError, EOFError)  # what a connection whose other end closed raises
FIELD, NAME, DATA = "hedgerow", "name", "data"  # of a Flower message


class Resident:
    """A socket that answers for an owner, until ``close``. Whoever may enter its folder may use it."""

    def __init__(self, owner: Owner, path: str | os.PathLike[str]) -> None:
        self._owner, self._path, self._closed = owner, Path(path), False
        self._path.unlink(missing_ok=True)
        self._listener = Listener(os.fspath(self._path), "AF_UNIX", AT_ONCE)

    def serve(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection: Connection) -> None:
        with connection, suppress(*GONE):  # a client that is gone sends its message again
            message = connection.recv_bytes(MOST_BYTES)
            try:
                reply = self._owner.handle(message)
            except Exception as error:  # such as a full disk: no reply, so that the message comes again
                LOG.warning("a message was not answered, and may come again: %s", sentence(error))
                return
            connection.send_bytes(reply)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            with suppress(OSError), socket.socket(socket.AF_UNIX) as call:  # it wakes ``accept``
                call.setblocking(False)  # where others wait already, they do
                call.connect(os.fspath(self._path))
            self._listener.close()


def ask(path: str | os.PathLike[str], message: bytes) -> bytes:
    try:
        with Client(os.fspath(path), "AF_UNIX") as connection:
            connection.send_bytes(message)
            return connection.recv_bytes(MOST_BYTES)
    except GONE:
        raise EngineError("the owner's process does not answer; start it by hedgerow federate owner.") from None


class Sockets:
    def __init__(self, paths: Mapping[str, str | os.PathLike[str]]) -> None:
        self._paths = dict(paths)

    def send(self, messages: Mapping[str, bytes], timeout: float) -> Mapping[str, bytes]:
        replies: dict[str, bytes] = {}

        def one(name: str, message: bytes) -> None:
            with suppress(EngineError):
                replies[name] = ask(self._paths[name], message)

        threads = [threading.Thread(target=one, args=pair, daemon=True) for pair in messages.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout)
        return dict(replies)


def client_app() -> Any:
    """Return the app of an owner's SuperNode, which hands messages on to ``hedgerow federate owner``.

    The SuperNode's ``--node-config`` names the owner and the socket in its folder, as in
    ``'name="north" socket="/path/owner.socket"'``.
    """
    app, flwr = import_module("flwr.clientapp").ClientApp(), import_module("flwr.app")

    @app.query()  # type: ignore[untyped-decorator]
    def query(message: Any, context: Any) -> Any:
        reply = ask(str(context.node_config["socket"]), message.content[FIELD][DATA])
        fields = flwr.ConfigRecord({NAME: str(context.node_config["name"]), DATA: reply})
        return flwr.Message(flwr.RecordDict({FIELD: fields}), reply_to=message)

    return app
