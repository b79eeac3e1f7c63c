"""Flower (``flwr``) between a coordinator and owners: its identities, TLS and retries carry the messages of this package."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from hedgerow.errors import EngineError, MissingExtraError

FIELD, NAME, DATA = "hedgerow", "name", "data"  # of a Flower message, as in cli/relay.py
PATIENCE = 60.0  # seconds for one attempt: an owner that comes back is another node of Flower


def flwr(module: str) -> Any:
    """Return a module of Flower."""
    try:
        return import_module(f"flwr.{module}")
    except ImportError as error:
        raise MissingExtraError("owners on several machines need Flower: install it with pip install flwr.") from error


class Grid:
    """A transport over the nodes of a Flower app.

    Parameters
    ----------
    grid : flwr.serverapp.Grid
        What Flower passes to a ServerApp.
    """

    def __init__(self, grid: Any) -> None:
        self._grid = grid
        self._names: dict[int, str] = {}  # of nodes that answered before

    def send(self, messages: Mapping[str, bytes], timeout: float) -> Mapping[str, bytes]:
        """Send each message to the node of its owner, and return the replies that come within so many seconds.

        Which node is whose is known from its first reply: until then it gets the message too, where all are the same.
        """
        if len(set(messages.values())) != 1:
            raise EngineError("all owners get one message.")
        data, app = next(iter(messages.values())), flwr("app")
        nodes = [node for node in self._grid.get_node_ids() if self._names.get(node) in (None, *messages)]
        content = app.RecordDict({FIELD: app.ConfigRecord({DATA: data})})
        sent = [app.Message(content, dst_node_id=node, message_type="query") for node in nodes]
        replies: dict[str, bytes] = {}
        for reply in self._grid.send_and_receive(sent, timeout=min(timeout, PATIENCE)) if sent else ():
            if reply.has_error() or FIELD not in reply.content:
                continue
            name = self._names[reply.metadata.src_node_id] = str(reply.content[FIELD][NAME])
            if name in messages:
                replies[name] = reply.content[FIELD][DATA]
        return replies
