"""One owner of records: it checks a fit, charges its own ledger, counts, and sends masked counts only."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from hedgerow.arrays import Integers, lazy, without_sizes
from hedgerow.engines.encode import Checksums
from hedgerow.engines.federated.masks import Identity, Masks, is_key, key_of_query
from hedgerow.engines.federated.messages import OF_TASK, packed, unpacked
from hedgerow.engines.local import LocalEngine, LocalSource, Silent
from hedgerow.engines.records import Records
from hedgerow.errors import BudgetExceeded, ConfigurationError, HedgerowError
from hedgerow.files import atomic_file, locked
from hedgerow.ledgers.ledger import Ledger
from hedgerow.mechanisms import DiscreteGaussian, RandomBits
from hedgerow.mechanisms.kernels import open_stream
from hedgerow.privacy.accounting import Concentrated, Event, cost
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.filter import PrivacyFilter
from hedgerow.reading.persons import Groups
from hedgerow.schema import Encoder, Schema
from hedgerow.table import MOST_RECORDS, Coded, Keep, Query, Sums, Task

FEWEST_OWNERS = 2
NONCE_BYTES = 32
IDENTITY = re.compile("[0-9a-f]{32}")  # of a fit
LOG = logging.getLogger("hedgerow.owner")
LOCK = "owner.lock"  # in an owner's folder, held by the process that answers for it


@dataclass(frozen=True)
class Party:
    """What everybody knows of an owner.

    Parameters
    ----------
    name : str
        Its name, the same at every owner and at the coordinator.
    key : str
        Its public key, as ``hr.federated.Identity(folder).public`` shows it. Owners give each other their keys.
    rows : int
        A public bound on the number of its rows. The next owner's rows are numbered from there on. If the bound is the exact
        number, the model is that of a fit on all rows in the order of the owners.

    Examples
    --------
    >>> Party("north", key="4qvSaVsCrPAG7xM2A2NLw8EzIc4BgeZlUtNYKJtDMWg=", rows=20_000).rows
    20000
    """

    name: str
    key: str
    rows: int


def check_parties(parties: Sequence[Party], colluding: int | None) -> None:
    """Raise ConfigurationError unless these can be the owners of one fit; ``colluding`` is None for a trusted coordinator."""
    names, keys = {one.name for one in parties}, {one.key for one in parties}
    if len(parties) < FEWEST_OWNERS or len(names) < len(parties) or len(keys) < len(parties):
        raise ConfigurationError("a fit has two owners or more, each with a name and a key of its own.")
    if min(one.rows for one in parties) < 1 or sum(one.rows for one in parties) >= MOST_RECORDS:
        raise ConfigurationError(
            f"each owner has a bound on its rows of 1 or more, and all bounds together are below {MOST_RECORDS}."
        )
    for one in parties:
        if not is_key(one.key):
            raise ConfigurationError(
                f"{one.name!r} has the key {one.key!r}, but a public key is a text of 44 characters; pass what "
                "`hedgerow federate key` printed at this owner."
            )
    if colluding is not None and not 0 <= colluding <= len(parties) - 2:
        raise ConfigurationError(
            f"colluding is {colluding}, but among {len(parties)} owners from 0 to {len(parties) - 2} may collude: the "
            "sum of a single other owner would be its own."
        )


def check_shares(certificate: Certificate, shares: int) -> None:
    """Raise ConfigurationError unless all noise of a plan is drawn by at least so many owners, each its share."""
    kinds = [one for one in events_of(certificate.event) if not (hasattr(one, "parts") or hasattr(one, "part"))]
    if not all(isinstance(one, Concentrated) and one.shares <= shares for one in kinds):
        raise ConfigurationError(
            f"{certificate.system} plans noise that owners do not draw. Pass noise_shares={shares} and a delta to an "
            "hr.HedgerowClassifier or hr.HedgerowRegressor, or colluding=None for a trusted coordinator."
        )


def events_of(event: Event) -> Iterator[Event]:
    yield event
    for part in (*getattr(event, "parts", ()), *([event.part] if hasattr(event, "part") else [])):
        yield from events_of(part)


class Refusal(Exception):  # noqa: N818 - it names what an owner does
    """An owner does not answer; the text is public and depends on no record."""


class _Fit:
    """What an owner keeps of a fit: what it opened with, its own random nonce, and each query by its number."""

    def __init__(self, opening: bytes, nonce: bytes, engine: LocalEngine | None = None) -> None:
        self.opening, self.nonce, self.engine = opening, nonce, engine
        self.digest = hashlib.sha256(opening).digest()  # of the opening and of all queries so far
        self.ledger, self.ended = ExitStack(), False
        self.size = 0  # bytes of its log
        # Of each query: its content, the digest of it and of all before, its task and its noise
        self.queries: list[tuple[bytes, bytes, Task, DiscreteGaussian | None]] = []
        self.masks: Masks | None = None
        # Of each log: its commands by their numbers, and the number of its end
        self._logs: dict[str, tuple[dict[int, Any], int]] = {}
        self._spent: PrivacyFilter | None = None

    @lazy
    def given(self) -> Mapping[str, Any]:
        opening: Mapping[str, Any] = unpacked(self.opening)
        return opening

    def add(self, content: bytes, keep: Callable[[bytes], object] = bytes) -> None:
        """Take the next query after ``keep`` wrote it down, or refuse it; what is refused or not written changes nothing."""
        query = unpacked(content)
        if not self.queries and self.nonce not in query["nonces"]:
            raise Refusal("the first query lacks this owner's nonce")
        known, last = self._logs.get(query["log"], ({}, 0))
        check_order([number for number, _ in query["commands"]], last, query["end"])
        log = known | dict(query["commands"])
        task = Task(commands=tuple(log.items()), **{name: query[name] for name in OF_TASK})
        noise, colluding, spent = query["noise"], self.given["colluding"], self._spent
        if (colluding is None) != (noise is None):
            raise Refusal("a query lacks its noise")
        if noise is not None:
            check_noise(task.query, noise, len(self.given["parties"]) - colluding)
            if spent is None:
                spent = PrivacyFilter(cost(unpacked_certificate(self.given).event))
            spent = spent.charged(cost(noise.event("sums")))
        keep(content)
        self._logs[query["log"]], self._spent = (log, query["end"]), spent
        self.digest = chained(self.digest, content)
        self.queries.append((content, self.digest, task, noise))
        self.size += len(_entry(content))


def check_order(numbers: Sequence[int], last: int, end: int) -> None:
    """Refuse commands that do not follow the end of their log.

    A cache leaves out what is before its position, but a restarted owner, whose cache is empty, carries out all commands.
    """
    order = [last, *numbers]
    if {*map(type, (*numbers, end))} != {int} or order != sorted({*order}) or end < order[-1]:
        raise Refusal("the commands of a query are not in order")


def check_noise(query: Query, noise: object, shares: int) -> None:
    """Refuse a query whose noise is not the noise that the plan's cost assumes."""
    of_one_code = isinstance(query, Sums) and (query.layout.whole or query.layout.bins is not None)
    if isinstance(query, Sums):  # with these, sums would have another shape than their kernel writes
        others = query.layout.groups, query.layout.side, query.layout.pairs
        of_one_code = of_one_code and all(other is None for other in others)
    if not of_one_code or not isinstance(noise, DiscreteGaussian) or not 1 <= noise.shares <= shares:
        raise Refusal("this is no query that owners add noise to")
    assert isinstance(query, Sums)
    if not noise.covers(query.rule.l1, query.rule.l2_squared):
        raise Refusal("the noise is less than one record adds to the sums")


def chained(before: bytes, content: bytes) -> bytes:
    return hashlib.sha256(before + hashlib.sha256(content).digest()).digest()


def unpacked_certificate(opening: Mapping[str, Any]) -> Certificate:
    return Certificate.from_dict(json.loads(opening["certificate"]))


class Owner:
    """Records of one owner, which takes part in fits and sends masked sums only.

    An owner answers by ``handle``, which a transport calls: in this process (``hr.federated.InProcess``) or by Flower. Its
    folder keeps a log of each fit, so that an owner whose process ended continues it.

    Parameters
    ----------
    records : Records
        Its records, from files or batches that can be read again.
    name : str
        Its name among the parties.
    folder : path
        Its own folder: its key, and the log of each fit. One Owner at a time uses it, until ``stop`` or the end of its process.
    parties : sequence of Party
        All owners that it agrees to fit with, in their order.
    ledger : Ledger
        Its own ledger, which is charged for a fit's whole plan before it answers anything: one of an ``hr.LedgerStore``, or an
        ``hr.Ledger`` that ends with this process.
    schema : Schema, optional
        What it agrees is public about its records. A fit with other features or classes is refused. None: any schema that its
        columns match.
    colluding : int or "trusted", default "trusted"
        "trusted": it takes part in fits in which the coordinator draws the noise. A number c: it takes part only in fits in
        which owners draw the noise and the guarantee allows for c or more of them to collude with the coordinator.
    seeded : bool, default False
        Whether it takes part in fits with a ``random_state``, which promise nothing.

    Raises
    ------
    ConfigurationError
        If an argument is wrong, its key is not the one of the party of its name, or another process uses its folder.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from hedgerow import Ledger, federated
    >>> folders = {name: mkdtemp() for name in ("north", "south")}
    >>> parties = [Party(name, federated.Identity(folder).public, 100) for name, folder in folders.items()]
    >>> known = Records.from_batches(lambda: [{"age": [30], "ill": ["no"]}], label="ill")
    >>> owner = Owner(known, "north", folders["north"], parties, Ledger(1.0))
    """

    def __init__(
        self,
        records: Records,
        name: str,
        folder: str | os.PathLike[str],
        parties: Sequence[Party],
        ledger: Ledger,
        *,
        schema: Schema | None = None,
        colluding: int | str = "trusted",
        seeded: bool = False,
    ) -> None:
        self._parties, self._places = tuple(parties), {one.name: place for place, one in enumerate(parties)}
        self._identity = Identity(folder)
        if name not in self._places or self._parties[self._places[name]].key != self._identity.public:
            raise ConfigurationError(
                f"no party {name!r} has this owner's key, {self._identity.public}; correct the parties."
            )
        if not isinstance(records, Records) or not isinstance(records.source, LocalSource) or not records.source.again:
            raise ConfigurationError(
                "an owner's records are hr.Records of files, or of batches from a function that opens them."
            )
        if not isinstance(ledger, Ledger):
            raise ConfigurationError(
                "an owner keeps a ledger of its own; pass one of an hr.LedgerStore, or an hr.Ledger."
            )
        check_parties(parties, None if colluding == "trusted" else int(colluding))
        self._alone = ExitStack()
        if not self._alone.enter_context(locked(Path(folder) / LOCK)):
            raise ConfigurationError(
                f"another owner answers from {os.fspath(folder)}, in this process or another. Two could charge a fit twice; "
                "stop that one first."
            )
        self._records, self._name, self._folder, self._ledger = records, name, Path(folder), ledger
        self._schema, self._colluding, self._seeded = schema, colluding, seeded
        self._fits: dict[str, _Fit] = {}
        self._stopped = False
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"Owner({self._name!r})"

    def stop(self) -> None:
        """Answer no more, so that fits in progress end, and free the folder. What was charged stays charged."""
        with self._lock:  # after the answer in progress, which may write a log
            self._stopped = True
            self._alone.close()

    def handle(self, message: bytes) -> bytes:
        """Return the reply to a message: masked sums, or a refusal, which is a public sentence."""
        try:
            with self._lock, without_sizes():
                request = unpacked(message)
                if self._stopped:
                    raise Refusal("it was stopped; start it again, and fit anew")
                match request["kind"]:
                    case "propose":
                        _, certificate, _ = self._check(request["opening"])
                        ceiling = self._ledger.ceiling
                        ceiling.check(certificate.system, ceiling.amount(certificate), self._ledger.total)
                    case "begin":
                        return packed({"nonce": self._begin(request["opening"])})
                    case "ask":
                        return packed(self._answer(request), level=0)
                    case _:
                        self._end(request["fit"])
                reply: dict[str, Any] = {"ready": True}
        except Refusal as error:
            reply = self._refused(str(error), error)
        except BudgetExceeded as error:
            reply = self._refused(
                "its ledger refuses the plan; plan a smaller epsilon or delta, or let the owner raise its ceiling",
                error,
            )
        except HedgerowError as error:  # which may name its columns or files
            reply = self._refused(
                "its records or the message could not be read; the owner sees the reason where it runs", error
            )
        return packed(reply)

    def _refused(self, text: str, error: BaseException) -> dict[str, Any]:
        """Return a refusal; its reason goes to the owner's own log, which is its terminal if it has set up no other."""
        LOG.warning("%s refuses: %s", self._name, error)
        return {"refused": text}

    def _check(self, packed_opening: bytes) -> tuple[dict[str, Any], Certificate, Coded]:
        """Refuse what this owner does not take part in; nothing is charged."""
        opening = unpacked(packed_opening)
        certificate = unpacked_certificate(opening)
        if tuple(opening["parties"]) != tuple((one.name, one.key, one.rows) for one in self._parties):
            raise Refusal("the fit has other owners than it agreed to; give all parties the same list of owners")
        colluding = opening["colluding"]
        trusted = self._colluding == "trusted"
        if trusted != (colluding is None) or (not trusted and colluding < int(self._colluding)):
            raise Refusal("it agreed to another mode, or to more owners who may collude; agree on colluding")
        if certificate.seeded and not self._seeded:
            raise Refusal("a fit with a random_state promises nothing; leave it out")
        reading = Coded(Encoder(Schema.from_dict(opening["schema"]), opening["max_bins"]))
        if self._schema is not None and _kinds(self._schema) != _kinds(reading.schema):
            raise Refusal("the fit has another schema than this owner's; give all parties the same schema")
        try:
            self._records.check(reading.schema)
        except (ConfigurationError, OSError):  # of a file that is gone, an OSError names the owner's path
            raise Refusal("its columns are not those of the schema; correct the schema, or its file") from None
        if (certificate.person is None) != (self._records.groups_by(reading.schema) is None):
            raise Refusal(
                "persons are told apart by a column in the fit and not here, or the reverse; agree on the group"
            )
        if colluding is not None:
            try:
                check_shares(certificate, len(self._parties) - colluding)
            except ConfigurationError:
                raise Refusal("the plan has steps without noise of owners") from None
        return opening, certificate, reading

    def _begin(self, packed_opening: bytes) -> bytes:
        """Charge a fit, write its log, and return this owner's nonce, which the first query and so all masks depend on."""
        name = unpacked(packed_opening)["fit"]
        fit = self._known(name)
        if fit is not None and fit.opening != packed_opening:
            raise Refusal("another fit has this identity")
        if fit is None:
            checksums, nonce = Checksums(), os.urandom(NONCE_BYTES)
            fit = _Fit(packed_opening, nonce, self._engine(packed_opening, checksums))
            # Before the charge: if the process ends between the two, the fit is not charged twice
            self._create(name, packed_opening)
            try:
                fit.ledger.enter_context(self._ledger.reserve(unpacked_certificate(fit.given)))
            except HedgerowError:
                self._path(name).unlink()
                raise
            self._create(name, packed_opening, packed((nonce, checksums.to_plain())))
            fit.size = _whole(self._path(name))
            self._fits[name] = fit
        return fit.nonce

    def _engine(self, packed_opening: bytes, checksums: Checksums) -> LocalEngine:
        """Return the engine of a fit, or refuse it: also one that began under other terms than the present ones."""
        opening, certificate, reading = self._check(packed_opening)
        place = self._places[self._name]
        first = sum(one.rows for one in self._parties[:place])
        most, words = opening["keep"] or (None, b"")
        if most != (None if certificate.person is None else certificate.records_per_person):
            raise Refusal("the fit reads another number of records of a person than its certificate says")
        keep = None if most is None else Keep(Groups("", None), most, RandomBits(words))
        source = replace(self._records.source, checksums=checksums, first_row=first)
        engine: LocalEngine = source.engine(reading, self._records.layout(reading.schema), Silent(), keep)
        if engine.end > first + self._parties[place].rows:
            engine.close()
            raise Refusal("it has more rows than the bound that it gave; agree on a larger one, and fit anew")
        return engine

    def _known(self, name: str) -> _Fit | None:
        """Return a fit that is open here, also one that a process before this one opened."""
        path = self._path(name)
        if name not in self._fits and path.exists():
            opening, *contents = _entries(path.read_bytes())
            if not contents:
                raise Refusal("it ended while it charged its ledger for the fit; fit anew")
            nonce, checksums = unpacked(contents.pop(0))
            fit = _Fit(opening, nonce, self._engine(opening, Checksums.of_plain(checksums)))
            for content in contents:
                if content:
                    fit.add(content)
                else:
                    fit.ended = True
            fit.size = _whole(path)
            self._fits[name] = fit
        return self._fits.get(name)

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        fit, number, content = self._known(request["fit"]), request["number"], request["content"]
        if fit is None or fit.ended or fit.engine is None:
            raise Refusal("it knows no such fit, or it has ended; fit anew")
        if number == len(fit.queries) + 1:
            fit.add(content, partial(self._write, request["fit"], fit.size))
        elif not 1 <= number <= len(fit.queries) or fit.queries[number - 1][0] != content:
            raise Refusal("another query has this number")
        _, digest, task, noise = fit.queries[number - 1]
        answer: Integers = fit.engine.ask(task)
        start = hashlib.sha256(fit.opening).digest()
        if fit.masks is None:
            others = [one for one in self._parties if one.name != self._name]
            fit.masks = Masks({one.name: self._identity.shared(one.key, start) for one in others}, self._name)
        if noise is not None:
            answer = noise.share(open_stream(key_of_query(self._identity.own(start), number, digest), 0), answer)
        return {"digest": digest, "vector": fit.masks.masked(answer, number, digest)}

    def _end(self, name: str) -> None:
        fit, path = self._fits.pop(name, None), self._path(name)
        if path.exists():
            self._write(name, _whole(path) if fit is None else fit.size, b"")
        if fit is not None:
            fit.ledger.close()
            if fit.engine is not None:
                fit.engine.close()

    def _path(self, name: str) -> Path:
        # Of other letters, a file system may take two names for one, and a fit under two names would answer twice.
        if not (isinstance(name, str) and IDENTITY.fullmatch(name)):
            raise Refusal("this is no identity of a fit")
        return self._folder / f"{name}.fit"

    def _create(self, name: str, *contents: bytes) -> None:
        """Write the log of a fit anew."""
        with atomic_file(self._path(name)) as part:
            part.chmod(0o600)
            part.write_bytes(b"".join(map(_entry, contents)))

    def _write(self, name: str, size: int, content: bytes) -> None:
        """Append to a log of so many whole bytes, cutting off what a crash left of a write; at the return, it is on disk."""
        entry = _entry(content)
        with self._path(name).open("r+b", buffering=0) as file:
            file.truncate(size)
            file.seek(size)
            try:
                if file.write(entry) < len(entry):
                    raise OSError("the log of a fit could not be written whole")
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise


def _whole(path: Path) -> int:
    return sum(len(_entry(one)) for one in _entries(path.read_bytes()))


def _entry(content: bytes) -> bytes:
    return len(content).to_bytes(8, "little") + content


def _entries(data: bytes) -> Sequence[bytes]:
    """Return the entries of a log; one that was being written when the process ended is left out: it was not answered."""
    found, place = [], 0
    while place + 8 <= len(data):
        size = int.from_bytes(data[place : place + 8], "little")
        if place + 8 + size > len(data):
            break
        found.append(data[place + 8 : place + 8 + size])
        place += 8 + size
    return found


def _kinds(schema: Schema) -> tuple[Any, ...]:
    """Return what a schema says of cells and persons, without the bins of a method and without reasons."""
    apart = ("cuts", "origin", "release", "reason")
    kinds = [
        (type(kind).__name__, {name: value for name, value in kind.entry().items() if name not in apart})
        for kind in schema.features.values()
    ]
    return schema.names, kinds, schema.labels, schema.person, schema.missing
