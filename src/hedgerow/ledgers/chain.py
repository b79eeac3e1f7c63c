"""The links of a stored ledger: their contents, how each is bound to the one before, and their total."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple, get_args

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hedgerow.arrays import lazy
from hedgerow.errors import BudgetExceeded, ConfigurationError, LedgerDamaged, shown
from hedgerow.ledgers.ceiling import Amount, Ceiling, Standing
from hedgerow.ledgers.database import heads, links
from hedgerow.ledgers.ledger import LedgerEntry, State, who_am_i
from hedgerow.privacy.certificate import Certificate

BEFORE, BEHIND = '"certificate":', ',"charge":'
PLANS = 256  # certificates that are cached
BEGINNING = "0" * 64  # the previous hash of the first link
Amounts = dict[tuple[Ceiling, int], tuple[Amount, Certificate]]
ENDS = tuple(state for state in get_args(State) if state != "unfinished")
ANOTHER_PARENT = "it names another parent than its row among the ledgers"
ANOTHER_ROW = "its row among the ledgers is not what was written"
# What odd values may raise.
UNSOUND = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True)
class ChainLink:
    """One link of a ledger's chain, numbered from 0.

    ``hash`` is SHA-256 over the store's id, the ledger, the number, the previous hash and the body: what happened, as
    canonical JSON.
    """

    ledger: str
    number: int
    previous: str
    hash: str
    body: str

    @classmethod
    def after(cls, store: str, ledger: str, number: int, previous: str, values: dict[str, Any]) -> ChainLink:
        body = _canonical(values)
        return cls(ledger, number, previous, _digest(store, ledger, number, previous, body), body)

    def check(self, store: str, number: int, previous: str | None = None) -> dict[str, Any]:
        texts = isinstance(self.body, str) and isinstance(self.previous, str)  # a database may return any type
        sound = texts and type(self.number) is int and self.number == number
        sound = sound and self.hash == _digest(store, self.ledger, number, self.previous, self.body)
        if not sound or (previous is not None and self.previous != previous):
            raise damaged(self.ledger, number, "its hash is not that of what it says behind the link before")
        try:
            values = _read(self.body)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            raise damaged(self.ledger, number, "it does not say what a link says")
        return values


def damaged(ledger: str, number: int, what: str) -> LedgerDamaged:
    return LedgerDamaged(
        f"ledger {ledger!r} is damaged at link {number}: {what}. Nothing was charged; keep the store as it is, and compare it "
        "with a copy."
    )


def entries_of(links: Iterable[dict[str, Any]]) -> tuple[LedgerEntry, ...]:
    """Return one entry for each reservation, with its state. If a reservation ended several times, the first end counts."""
    result: dict[str, LedgerEntry] = {}
    for values in links:
        if values["kind"] == "reserved":
            charge = Amount.from_dict(values["charge"])
            plan = values["label"], charge.epsilon, charge.delta, certificate_in(values), charge.rho, charge.draws
            signed = {name: values[name] for name in ("who", "process", "through")}
            entry = LedgerEntry(*plan, time=datetime.fromisoformat(values["time"]), **signed)
            result[values["reservation"]] = entry
        elif values["kind"] in ENDS and result[values["reservation"]].state == "unfinished":
            result[values["reservation"]] = replace(result[values["reservation"]], state=values["kind"])
    return tuple(result.values())


class StoredChain(NamedTuple):
    """The stored data of one ledger, unchecked: the store's id, the row in the table of ledgers, and all links."""

    store: str
    name: str
    parent: str | None
    head: tuple[int, str]
    links: list[ChainLink]


def verify(chain: StoredChain) -> list[dict[str, Any]]:
    """Return the contents of all links, or raise LedgerDamaged, which names the first broken link.

    Besides the hashes, every sum is recomputed from the certificates and compared with the ceiling at its time.
    """
    contents: list[dict[str, Any]] = []
    previous, standing, reserved = BEGINNING, None, set()
    amounts: Amounts = {}
    for number, link in enumerate(chain.links):
        values = link.check(chain.store, number, previous)
        try:
            standing = _next(standing, values, amounts)
            # As it is written, which is quick, or as it is read.
            sound = values["after"] == standing.to_dict() or standing == Standing.from_dict(values["after"])
            sound = sound and values["parent"] == (contents or [values])[0]["parent"]
            datetime.fromisoformat(values["time"])
            if values["kind"] in ("reserved", *ENDS):
                sound = sound and (values["reservation"] in reserved) == (values["kind"] in ENDS)
                reserved.add(values["reservation"])
        except (BudgetExceeded, *UNSOUND):
            sound = False
        if not sound:
            raise damaged(chain.name, number, "its sums do not follow from the links before and its certificate")
        previous = link.hash
        contents.append(values)
    last, written = len(contents) - 1, chain.head[0]
    if (last, previous) != chain.head:
        what = f"the chain ends at link {last}, and the ledger has written {written}"
        raise damaged(chain.name, min(last + 1, written), what)
    if contents[0]["parent"] != chain.parent:
        raise damaged(chain.name, 0, ANOTHER_PARENT)
    return contents


def compare(
    above: tuple[str, list[dict[str, Any]]], below: tuple[str, list[dict[str, Any]]], parents: Mapping[str, str | None]
) -> None:
    (parent, whole), (share, part) = above, below

    def is_of_share(name: str | None) -> bool:
        seen: set[str] = set()
        while name is not None and name != share and name not in seen:
            seen.add(name)
            name = parents.get(name)
        return name == share

    booked = {values["reservation"]: values["certificate"] for values in part if values["kind"] == "reserved"}
    passed = {
        values["reservation"]: values["certificate"]
        for values in whole
        if values["kind"] == "reserved" and is_of_share(values["through"])
    }
    for name, own, other, contents in ((share, booked, passed, part), (parent, passed, booked, whole)):
        for number, values in enumerate(contents):
            plan = own.get(values["reservation"]) if values["kind"] == "reserved" else None
            if plan is not None and other.get(values["reservation"]) != plan:
                missing = parent if name == share else share
                raise damaged(name, number, f"ledger {missing!r} does not have the same entry")


def _next(before: Standing | None, values: dict[str, Any], amounts: Amounts) -> Standing:
    """Return the state of the ledger after a link, from the link's contents; ``amounts`` caches the costs of plans."""
    kind = values["kind"]
    if before is None:
        if kind != "created":
            raise ValueError(kind)
        return Standing(Standing.from_dict(values["after"]).ceiling)
    if kind == "reserved" and not before.closed:
        certificate = certificate_in(values)
        key = before.ceiling, id(certificate)
        if key not in amounts:
            amounts[key] = before.ceiling.amount(certificate), certificate  # kept alive, so that its id stays unique
        # What was charged at its time: accountants may give smaller bounds later, but never below the truth.
        charge, plan = Amount.from_dict(values["charge"]), (certificate.records_per_person, certificate.system)
        if (values["records_per_person"], values["label"]) != plan or not charge.covers(amounts[key][0]):
            raise ValueError(kind)
        return replace(before, spent=before.ceiling.check(certificate.system, charge, before.spent))
    if kind == "raised":
        return replace(before, ceiling=before.ceiling.raised_to(Standing.from_dict(values["after"]).ceiling))
    if kind == "closed":
        return replace(before, closed=True)
    if kind in ENDS:
        return before
    raise ValueError(kind)


class BookedPlan(dict[str, Any]):
    def __init__(self, text: str) -> None:
        super().__init__(json.loads(text))

    @lazy
    def certificate(self) -> Certificate:
        return Certificate.from_dict(self)


def certificate_in(values: dict[str, Any]) -> Certificate:
    plan = values["certificate"]
    return plan.certificate if isinstance(plan, BookedPlan) else Certificate.from_dict(plan)


# Fits of one kind have the same certificate, which is most of a link's text.
_plan = lru_cache(maxsize=PLANS)(BookedPlan)


def _read(body: str) -> Any:
    """Return what ``json.loads`` returns, without parsing a certificate again that another link contained.

    In canonical JSON the certificate is between two names. If the text between them is a valid value, and the rest is a valid
    object whose ``certificate`` was cut out, the two parts together have the content of the whole.
    """
    start, end = body.find(BEFORE), body.rfind(BEHIND)
    if 0 <= start < end:
        try:
            rest = json.loads(f"{body[: start + len(BEFORE)]}null{body[end:]}")
            if isinstance(rest, dict) and rest.get("certificate", "") is None and body.count(BEFORE) == 1:
                return {**rest, "certificate": _plan(body[start + len(BEFORE) : end])}
        except (ValueError, TypeError):
            pass
    return json.loads(body)


def _canonical(values: Any) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(store: str, ledger: str, number: int, previous: str, body: str) -> str:
    return hashlib.sha256(_canonical([store, ledger, number, previous, body]).encode()).hexdigest()


LONGEST_NAME = 200


class Head(NamedTuple):
    name: str
    parent: str | None
    number: int
    hash: str
    standing: Standing


class Books:
    """The ledgers of a store, read and changed in one transaction. Every link is bound to the store's id."""

    def __init__(self, connection: Connection, address: str, store: str) -> None:
        self._connection, self._address, self.store = connection, address, store

    def parents(self) -> dict[str, str | None]:
        rows = self._connection.execute(sa.select(heads.c.name, heads.c.parent).order_by(heads.c.name))
        parents = {row.name: row.parent for row in rows}
        for name, parent in parents.items():
            if not isinstance(name, str) or not isinstance(parent, str | None):
                raise damaged(str(name), 0, ANOTHER_ROW)
        return parents

    def create(self, name: str, parent: str | None, ceiling: Ceiling) -> None:
        if self._row(name, expected=False) is not None:
            raise ConfigurationError(
                f"there is a ledger {name!r} in {self._address} already. Charge that one, by the name alone; one of another name "
                "counts from 0, so it must be for other records."
            )
        if parent is not None:
            above = self.head(parent).standing
            if above.closed:
                raise ConfigurationError(f"ledger {parent!r} is closed, so it has nothing to share.")
            if above.ceiling.unit != ceiling.unit:
                raise ConfigurationError(
                    f"ledger {parent!r} protects {above.ceiling.unit}; sub-ledgers protect it too."
                )
        none = Head(name, parent, -1, BEGINNING, Standing(ceiling))
        self._connection.execute(sa.insert(heads).values(name=name, parent=parent, number=-1, hash=BEGINNING))
        self.append(none, "created", {}, none.standing)

    def append(self, head: Head, kind: str, values: dict[str, Any], after: Standing) -> None:
        """Write a link after a head, which is locked."""
        signed = {"kind": kind, "parent": head.parent, "time": datetime.now(UTC).isoformat(), "who": who_am_i()}
        body = {**signed, "process": os.getpid(), **values, "after": after.to_dict()}
        link = ChainLink.after(self.store, head.name, head.number + 1, head.hash, body)
        if self._link(link.ledger, link.number) is not None:
            raise damaged(link.ledger, link.number, "it stands behind the last link of the ledger")
        self._connection.execute(sa.insert(links).values(**vars(link)))
        mine = heads.c.name == head.name
        self._connection.execute(sa.update(heads).where(mine).values(number=link.number, hash=link.hash))

    def head(self, name: str, *, lock: bool = False) -> Head:
        row = self._row(name, lock=lock)
        last = self._link(name, row.number)
        if last is None or last.hash != row.hash:
            raise damaged(name, row.number, "the last link is not the one that was written")
        values = ChainLink(*last).check(self.store, row.number)
        try:
            parent, standing = values["parent"], Standing.from_dict(values["after"])
        except UNSOUND:
            raise damaged(name, row.number, "it does not say what a link says") from None
        if parent != row.parent:
            raise damaged(name, row.number, ANOTHER_PARENT)
        return Head(name, row.parent, row.number, row.hash, standing)

    def lineage(self, name: str) -> list[Head]:
        """Return a ledger and those above it, locked, the uppermost first. All transactions lock in this order."""
        names: list[str] = []
        above: str | None = name
        while above is not None and above not in names:
            names.append(above)
            above = self._row(above).parent
        return [self.head(each, lock=True) for each in reversed(names)]

    def written(self, name: str) -> StoredChain:
        row = self._row(name)
        rows = self._connection.execute(sa.select(links).where(links.c.ledger == name).order_by(links.c.number))
        return StoredChain(self.store, name, row.parent, (row.number, row.hash), [ChainLink(*each) for each in rows])

    def related(self, name: str) -> tuple[dict[str, str | None], dict[str, StoredChain]]:
        own, parents = self.written(name), self.parents()
        above = parents[name]
        if above is not None and above not in parents:
            raise damaged(name, 0, f"its parent {above!r} is missing")
        others = [other for other, parent in parents.items() if parent == name or other == above]
        return parents, {name: own, **{other: self.written(other) for other in others}}

    def _row(self, name: str, *, lock: bool = False, expected: bool = True) -> Any:
        row = None
        if is_line(name, LONGEST_NAME):  # other values are never sent to a database
            query = sa.select(heads).where(heads.c.name == name)
            row = self._connection.execute(query.with_for_update() if lock else query).first()
            if row is None and expected and self._link(name, 0) is not None:
                raise damaged(name, 0, "its row among the ledgers is missing")
        if row is None:
            if expected:
                raise unknown(name, self._address)
        elif type(row.number) is not int or row.number < 0 or not isinstance(row.parent, str | None):
            raise damaged(name, 0, ANOTHER_ROW)
        return row

    def _link(self, name: str, number: int) -> Any:
        query = sa.select(links).where(links.c.ledger == name, links.c.number == number)
        return self._connection.execute(query).first()


def is_line(text: object, longest: int) -> bool:
    return isinstance(text, str) and 0 < len(text) <= longest and text == text.strip() and text.isprintable()


def unknown(name: str, address: str) -> ConfigurationError:
    return ConfigurationError(
        f"there is no ledger {shown(name)} in {address}; see store.create(name, epsilon=...), `hedgerow budget create`."
    )
