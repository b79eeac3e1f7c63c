"""A socket in an owner's folder, by which processes of the same machine reach the owner's own process.

Flower starts a process for each message, and runs the app that the coordinator sent. That process has neither the records nor
the owner's key: it passes bytes on to the owner's process, and may run as another user. This file imports little, because it is
imported anew for each message.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import EngineError

if TYPE_CHECKING:
    from hedgerow.engines.federated import Owner

SIZE = 8  # bytes of a length
MOST_BYTES = 1 << 30  # of a message
AT_ONCE = 16  # connections that wait
FIELD, NAME, DATA = "hedgerow", "name", "data"  # of a Flower message


class Resident:
    """A socket that answers for an owner, until ``close``.

    Parameters
    ----------
    owner : Owner
        The owner.
    path : path
        Where to make the socket. Whoever may enter the folder may use it.
    """

    def __init__(self, owner: Owner, path: str | os.PathLike[str]) -> None:
        self._owner, self._path = owner, Path(path)
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(os.fspath(self._path))
        self._socket.listen(AT_ONCE)

    def serve(self) -> None:
        """Answer until the socket is closed."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # a client that is gone sends its message again
            _send(connection, self._owner.handle(_receive(connection)))

    def close(self) -> None:
        """Answer no more, and remove the socket."""
        with suppress(OSError):  # it wakes ``accept``
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._path.unlink(missing_ok=True)


def ask(path: str | os.PathLike[str], message: bytes) -> bytes:
    """Return the reply of the owner whose socket this is, or raise EngineError where none answers."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(os.fspath(path))
            _send(connection, message)
            return _receive(connection)
    except OSError:
        raise EngineError("the owner's process does not answer; start it by hedgerow federate owner.") from None


class Sockets:
    """A transport to owners of this machine.

    Parameters
    ----------
    paths : mapping of str to path
        The socket of each owner, by its name.
    """

    def __init__(self, paths: Mapping[str, str | os.PathLike[str]]) -> None:
        self._paths = dict(paths)

    def send(self, messages: Mapping[str, bytes], timeout: float) -> Mapping[str, bytes]:
        """Return the replies of the owners that answer, all queried at the same time."""
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


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(len(data).to_bytes(SIZE, "little") + data)


def _receive(connection: socket.socket) -> bytes:
    size = int.from_bytes(_exactly(connection, SIZE), "little")
    if size > MOST_BYTES:
        raise OSError("a message is too long")
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            raise ConnectionError("the other end closed")
        data += part
    return bytes(data)
