"""The coordinator of several owners: it sends each query to all of them and adds up their answers."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from hedgerow.arrays import Integers
from hedgerow.engines.encode import Counts, ValueCounts
from hedgerow.engines.federated.messages import OF_TASK, packed, unpacked
from hedgerow.engines.federated.owner import Owner, Party, chained, check_parties, check_shares, events_of
from hedgerow.engines.local import Progress
from hedgerow.engines.records import DEFAULT_TIMEOUT, Records
from hedgerow.errors import ConfigurationError, EngineError, imported
from hedgerow.mechanisms import DiscreteGaussian
from hedgerow.privacy.accounting import Subsampled
from hedgerow.privacy.certificate import Certificate
from hedgerow.reading.streams import Layout
from hedgerow.schema import Schema
from hedgerow.table import Coded, Keep, OwnersTable, PartitionedTable, Reading, Task

PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before silent owners are queried again; each pause is twice as long
# Seconds for one attempt by Flower, or a quarter of those left if that is more: an owner that starts again is another node
PATIENCE = 60.0
FIELD, NAME, DATA = "hedgerow", "name", "data"  # of a Flower message, as in cli/relay.py

COORDINATOR = (
    "a coordinator that follows the protocol: it learns the exact sums of all owners' records, and draws the noise. The "
    "guarantee is for everybody else"
)
MASKS = (
    "masks between owners: the sums of one owner stay hidden by ChaCha20 under keys of X25519, for as long as two owners or "
    "more keep theirs to themselves, and follow the protocol"
)
OWNERS = (
    "owners who do not study what is released: each owner knows its own share of the noise, so with colluding=0 the guarantee "
    "is for everybody but the owners"
)
PERSONS = (
    "persons of one owner each: owners do not compare ids, so whoever is in the data of several owners is protected as "
    "several persons are"
)


class Transport(Protocol):
    """Carries messages to owners and their replies back, over channels that are authenticated and encrypted."""

    def send(self, messages: Mapping[str, bytes], timeout: float) -> Mapping[str, bytes]:
        """Send each message to the owner of its name, and return the replies of those that answer within so many seconds."""


class InProcess:
    """Owners in this process, for tests and tutorials.

    Parameters
    ----------
    owners : mapping of str to Owner
        The owners by their names.

    Examples
    --------
    See ``records``.

    >>> InProcess({}).send({"north": b""}, timeout=1.0)
    {}
    """

    def __init__(self, owners: Mapping[str, Owner]) -> None:
        self.owners = dict(owners)

    def send(self, messages: Mapping[str, bytes], timeout: float) -> Mapping[str, bytes]:
        """Return the replies of the owners, one after another."""
        return {name: self.owners[name].handle(message) for name, message in messages.items() if name in self.owners}


class Flower:
    """A transport over the nodes of a Flower app, whose identities, TLS and retries carry the messages.

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

        A node's owner is known from its first reply. Until then the node gets the message too, which is the same for all.
        """
        if len(set(messages.values())) != 1:
            raise EngineError("Flower sends one message to all owners.")
        data, app = next(iter(messages.values())), flwr("app")
        nodes = [node for node in self._grid.get_node_ids() if self._names.get(node) in (None, *messages)]
        content = app.RecordDict({FIELD: app.ConfigRecord({DATA: data})})
        sent = [app.Message(content, dst_node_id=node, message_type="query") for node in nodes]
        replies: dict[str, bytes] = {}
        wait = min(timeout, max(PATIENCE, timeout / 4))
        for reply in self._grid.send_and_receive(sent, timeout=wait) if sent else ():
            if reply.has_error() or FIELD not in reply.content:
                continue
            name = self._names[reply.metadata.src_node_id] = str(reply.content[FIELD][NAME])
            if name in messages:
                replies[name] = reply.content[FIELD][DATA]
        return replies


def flwr(module: str) -> Any:
    return imported(f"flwr.{module}", "owners on several machines need Flower", "federated")


def records(
    transport: Transport,
    parties: Sequence[Party],
    *,
    label: str = "label",
    group: str | None = None,
    colluding: int | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> Records:
    """Return the records of several owners, which ``model.fit`` accepts in place of ``X``; they stay where they are.

    Parameters
    ----------
    transport : Transport
        What carries messages: ``InProcess``, or ``Flower`` in a Flower app.
    parties : sequence of Party
        All owners, in the order of their rows; the owners have the same list.
    label : str
        A name for the column of labels; an owner's own name of it may differ.
    group : str, optional
        The public name of the persons' columns, if owners tell persons apart. At most the fit's ``records_per_person`` records of
        each person are read at each owner.
    colluding : int, optional
        None: the coordinator is trusted, learns exact sums and draws the noise. A number c: owners draw the noise, and the
        guarantee holds against a coordinator who colludes with up to c of them. With 0 it does not cover the owners
        themselves, because each knows its own share of the noise. Needs an
        ``hr.HedgerowClassifier`` or ``hr.HedgerowRegressor`` with a delta, and ``noise_shares`` the number of owners less c.
    timeout : float
        Seconds for which a query waits for owners that do not answer. After that the fit ends with an EngineError.

    Returns
    -------
    Records

    Raises
    ------
    ConfigurationError
        If there are fewer than two parties, or an argument is wrong.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import hedgerow as hr
    >>> from hedgerow.engines.federated import Identity, Owner
    >>> folders = {name: mkdtemp() for name in ("north", "south")}
    >>> parties = [Party(name, Identity(folder).public, rows=2) for name, folder in folders.items()]
    >>> known = hr.Records.from_batches(lambda: [{"age": [30, 70], "ill": ["no", "yes"]}], label="ill")
    >>> owners = {name: Owner(known, name, folders[name], parties, hr.Ledger(1.0)) for name in folders}
    >>> schema = hr.Schema({"age": hr.Numeric(0, 120)}, classes=["no", "yes"])
    >>> model = hr.EDPRFClassifier(1.0, schema=schema).fit(records(InProcess(owners), parties))
    >>> model.certificate_.holds
    True
    """
    check_parties(parties, colluding)
    if not 0 < timeout < float("inf"):
        raise ConfigurationError(f"timeout is {timeout!r}, but it must be a positive number of seconds.")
    source = FederatedSource(transport, tuple(parties), colluding, timeout, group)
    return Records(source, f"of_owners({[one.name for one in parties]!r}", label, group, ())


@dataclass(frozen=True, eq=False)
class FederatedSource:
    """Records of several owners; see ``records`` for the parameters."""

    transport: Transport
    parties: tuple[Party, ...]
    colluding: int | None
    timeout: float
    group: str | None
    proposal: Mapping[str, Any] | None = field(default=None, repr=False)
    traffic: Traffic = field(default_factory=lambda: Traffic(), repr=False)

    again: ClassVar[bool] = True
    fits_only: ClassVar[bool] = True

    @property
    def premises(self) -> tuple[str, ...]:
        if self.colluding is None:
            return (COORDINATOR, MASKS, PERSONS)
        noise = (
            f"at least {len(self.parties) - self.colluding} of {len(self.parties)} owners that add their share of the noise, and "
            "do not collude with the coordinator"
        )
        return (noise, *[OWNERS] * (self.colluding == 0), MASKS, PERSONS)

    def check(self, schema: Schema, layout: Layout) -> None:
        """Do nothing: each owner checks its own columns."""

    def proposed(self, certificate: Certificate, reading: Reading) -> FederatedSource:
        """Return the source of a fit to which all owners agreed, or raise EngineError; nothing was charged."""
        if any(isinstance(one, Subsampled) for one in events_of(certificate.event)):
            raise ConfigurationError(
                f"{certificate.system} needs a secret sample of the records, but owners know the coins of a sample. Fit "
                "another system."
            )
        if self.colluding is not None:
            check_shares(certificate, len(self.parties) - self.colluding)
        assert isinstance(reading, Coded)
        proposal = {
            "fit": os.urandom(16).hex(),
            "certificate": json.dumps(certificate.to_dict()),
            "schema": reading.schema.to_dict(),
            "max_bins": reading.encoder.max_bins,
            "parties": [(one.name, one.key, one.rows) for one in self.parties],
            "colluding": self.colluding,
            "keep": None,
        }
        made = replace(self, proposal=proposal)
        made.all_of("propose", {"opening": packed(proposal)})
        return made

    def table(self, reading: Reading, layout: Layout, progress: Progress, keep: Keep | None = None) -> PartitionedTable:
        """Open the fit at all owners, each of which charges its ledger, and return the table of their records."""
        assert self.proposal is not None, "a fit proposes first"
        opening = packed({**self.proposal, "keep": None if keep is None else (keep.most, keep.words.key)})
        try:
            begun = self.all_of("begin", {"opening": opening})
        except BaseException:  # also an interruption: an owner that began would keep the fit open
            self.end()
            raise
        nonces = tuple(begun[one.name]["nonce"] for one in self.parties)
        engine = FederatedEngine(self, self.proposal["fit"], hashlib.sha256(opening).digest(), nonces, progress)
        kind = PartitionedTable if self.colluding is None else OwnersTable
        return kind(engine, reading.n_codes, reading.n_classes)

    def values(self, asked: ValueCounts, layout: Layout, progress: Progress, keep: Keep | None = None) -> Counts:
        """Raise EngineError: owners send no values."""
        raise EngineError("owners send no values of columns; write the schema down together.")

    def end(self) -> None:
        assert self.proposal is not None
        message = packed({"kind": "end", "fit": self.proposal["fit"]})
        self.transport.send(dict.fromkeys((one.name for one in self.parties), message), PAUSE)

    def all_of(self, kind: str, request: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the replies of all owners to one request, or raise EngineError; silent owners are queried again."""
        message, replies = packed({"kind": kind, **request}), dict[str, dict[str, Any]]()
        deadline, pause = time.monotonic() + self.timeout, PAUSE
        kept = "nothing was charged" if kind == "propose" else "what was charged for it stays charged"
        while missing := [one.name for one in self.parties if one.name not in replies]:
            left = deadline - time.monotonic()
            if left <= 0:
                raise EngineError(
                    f"{', '.join(missing)} did not answer for {self.timeout:g} seconds, so the fit ends; {kept}. Start the "
                    "owner, and pass a larger timeout= if it takes longer."
                )
            found = self.transport.send(dict.fromkeys(missing, message), left)
            self.traffic.down += len(message) * len(missing)
            for name, data in found.items():
                self.traffic.up += len(data)
                reply = replies[name] = unpacked(data)
                if "refused" in reply:
                    raise EngineError(f"{name} refuses, so the fit ends; {kept}: {reply['refused']}.")
            if len(replies) < len(self.parties):
                time.sleep(min(pause, max(left, 0)))
                pause = min(2 * pause, LONGEST_PAUSE)
        return replies


class Traffic:
    def __init__(self) -> None:
        self.queries = self.down = self.up = 0

    def __repr__(self) -> str:
        return f"{self.queries} queries, {self.down:,} bytes to owners and {self.up:,} from them"


class FederatedEngine:
    """Queries all owners of a fit. A query that not all of them answered is repeated, with the same content, or ends the fit."""

    def __init__(
        self, source: FederatedSource, fit: str, digest: bytes, nonces: tuple[bytes, ...], progress: Progress
    ) -> None:
        self._source, self._fit, self._digest, self._nonces, self._progress = source, fit, digest, nonces, progress
        self._sent: dict[str, int] = {}  # the last command of each log that owners got
        self._number, self._broken = 0, False

    def ask(self, task: Task, noise: DiscreteGaussian | None = None) -> Integers:
        """Return the sum of the answers of all owners, each of which adds its share of the noise, if there is any."""
        if self._broken:
            raise EngineError("a query of this fit was not answered by all owners, so the fit has ended.")
        self._broken = True  # until all have answered: a later query would not follow from this one
        news, traffic = task.after(self._sent.get(task.log, 0)), self._source.traffic
        of_task = {name: getattr(task, name) for name in OF_TASK}
        content = packed({**of_task, "commands": news.commands, "noise": noise, "nonces": self._nonces})
        self._number, traffic.queries = self._number + 1, traffic.queries + 1
        self._digest = chained(self._digest, content)
        replies = self._source.all_of("ask", {"fit": self._fit, "number": self._number, "content": content})
        total = np.zeros(task.size, dtype=np.uint64)
        for reply in replies.values():
            vector = reply.get("vector")
            if reply.get("digest") != self._digest or not isinstance(vector, np.ndarray) or vector.shape != total.shape:
                raise EngineError(
                    "an owner answered another query, so the fit ends; what was charged for it stays charged."
                )
            total += vector.astype(np.uint64)
        self._sent[task.log], self._nonces, self._broken = task.end, (), False
        self._progress.counted(self._number, 1.0)
        self._progress.sent(traffic.queries, traffic.down, traffic.up)
        return total.view(np.int64).reshape(task.query.shape(task.n_codes, task.n_classes))

    def forget(self, log: str) -> None:
        """Do nothing: owners keep a fit's log until it ends."""

    def close(self) -> None:
        self._source.end()
