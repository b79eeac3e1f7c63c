"""Names, addresses and rows that are none: one sentence each, and the store stays as it was."""

import os
import sqlite3
import threading

import pytest
from ledger_helpers import fit, some

import hedgerow as hr
from hedgerow.ledgers import chain, database, store
from hedgerow.ledgers.ceiling import Standing
from hedgerow.ledgers.database import Address, Database
from hedgerow.ledgers.store import written

NAMES = [
    *(
        "\udc80",
        "a\0",
        "x" * 201,
        "",
        " a",
        "a ",
        "a\n",
        "a\tb",
        "\x1b[31m",
        "\u2028",
        "\u200b",
        "a\u202eb",
        "\ue000",
        "\xad",
    ),
    *(None, 5, b"a", ["a"], {"a": 1}, float("nan")),
]


@pytest.fixture
def made(address):
    store = hr.LedgerStore(address)
    some(store)
    return store


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:20])
def test_an_invalid_name_is_one_sentence_wherever_it_is_given(made, name):
    head = made.ledger("a").head
    with pytest.raises(hr.ConfigurationError, match="name is"):
        made.create(name, epsilon=1)
    for ask in (
        lambda: made.ledger(name),
        lambda: made.verify(name),
        lambda: made.raise_ceiling(name, epsilon=2, reason="r"),
        lambda: made.close_ledger(name, reason="r"),
        *([] if name is None else [lambda: made.create("b", epsilon=1, parent=name)]),
    ):
        with pytest.raises(hr.ConfigurationError, match="there is no ledger") as told:
            ask()
        str(told.value).encode()
    assert made.names() == ("a",)
    assert made.ledger("a").head == head


def test_an_environment_variable_that_is_not_utf_8_is_one_sentence(monkeypatch):
    monkeypatch.setenv("ODD_LEDGER", os.fsdecode(b"/tmp/\xff.db"))
    with pytest.raises(hr.ConfigurationError, match="of UTF-8"):
        hr.LedgerStore("env:ODD_LEDGER")


@pytest.mark.parametrize("name", ["x" * 300, "f" * 256 + "/l.db"])
def test_a_path_that_is_too_long_for_the_system_is_one_sentence(tmp_path, name):
    with pytest.raises(hr.LedgerUnavailable, match="too long"):
        hr.LedgerStore(tmp_path / name)


def test_a_folder_is_called_a_folder(tmp_path):
    with pytest.raises(hr.LedgerUnavailable, match="it is a folder"):
        hr.LedgerStore(tmp_path)
    with pytest.raises(hr.LedgerUnavailable, match="it is a folder"):
        hr.LedgerStore(f"sqlite:///{tmp_path}")


LINKS, LEDGERS, STORE = "hedgerow_links", "hedgerow_ledgers", "hedgerow_store"
LAST = "WHERE number = 6"
DAMAGE = [
    *(f"UPDATE {LEDGERS} SET number = {value}" for value in ("'abc'", "-1", "1.5")),
    *(f"UPDATE {LEDGERS} SET hash = {value}" for value in ("5", "CAST(x'ff' AS TEXT)")),
    f"UPDATE {LEDGERS} SET parent = x'00ff'",
    *(f"UPDATE {LINKS} SET number = {value} {LAST}" for value in ("'abc'", "2.5")),
    *(f"UPDATE {LINKS} SET body = {value} {LAST}" for value in ("x'00ff'", "5", "CAST(x'ff' AS TEXT)", "''")),
    *(f"UPDATE {LINKS} SET {column} = x'00' {LAST}" for column in ("hash", "previous")),
    *(f"UPDATE {STORE} SET format = {value}" for value in ("0", "'abc'", "1.5")),
    f"UPDATE {STORE} SET id = x'00'",
]


@pytest.mark.parametrize("statement", DAMAGE)
def test_rows_that_are_none_are_damage(tmp_path, statement):
    made = hr.LedgerStore(tmp_path / "b.db")
    ledger = some(made)
    with sqlite3.connect(tmp_path / "b.db") as connection:
        connection.execute(statement)
    connection.close()
    for ask in (lambda: ledger.entries, lambda: made.verify("a"), lambda: ledger.reserve(fit("0.1"))):
        with pytest.raises(hr.LedgerDamaged):
            ask()


BODIES = ["5", "[]", "null", "{}", '{"kind": "reserved"}', '{"after": 5, "parent": null, "time": "x"}', "[" * 9999]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:20])
def test_bodies_that_say_nothing_are_damage_although_their_hash_is_right(tmp_path, body):
    from hedgerow.ledgers.chain import _digest

    made = hr.LedgerStore(tmp_path / "b.db")
    ledger = some(made)
    with sqlite3.connect(tmp_path / "b.db") as connection:
        [(previous,)] = connection.execute(f"SELECT previous FROM {LINKS} WHERE number = 6").fetchall()
        digest = _digest(made.id, "a", 6, previous, body)
        connection.execute(f"UPDATE {LINKS} SET body = ?, hash = ? WHERE number = 6", (body, digest))
        connection.execute(f"UPDATE {LEDGERS} SET hash = ?", (digest,))
    connection.close()
    for ask in (lambda: ledger.entries, lambda: made.verify("a"), lambda: ledger.reserve(fit("0.1"))):
        with pytest.raises(hr.LedgerDamaged):
            ask()


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL])
def test_a_full_file_system_is_named(tmp_path, code):
    error = sqlite3.OperationalError("x")
    error.sqlite_errorcode, error.sqlite_errorname = code, "x"
    with pytest.raises(hr.LedgerUnavailable, match="full"):
        Database(Address.of(tmp_path / "b.db"))._raise(error, charging=False)


def test_entries_are_checked_after_the_transaction(tmp_path, monkeypatch):
    """Nobody waits for a reader who checks a long chain: no lock is held meanwhile."""
    made = hr.LedgerStore(tmp_path / "b.db")
    ledger, verify, free = some(made), chain.verify, []

    def checked(*args):
        other = threading.Thread(
            target=lambda: free.append(database._ALONE.acquire(timeout=5)) or database._ALONE.release()
        )
        other.start()
        other.join()
        return verify(*args)

    for module in (chain, store):
        monkeypatch.setattr(module, "verify", checked)
    assert len(ledger.entries) == 3
    made.verify("a")
    assert free == [True, True]


MANY = 100


def test_nobody_waits_for_a_reader_of_many_entries(address, monkeypatch):
    """While the reader checks them, another thread books through a store of its own, as another process would."""
    ledger = hr.LedgerStore(address).create("a", epsilon=MANY)
    whole, amount = fit("0.1"), ledger.ceiling.amount(fit("0.1"))
    with ledger.store._books(writing=True) as books:  # as many reservations, in one transaction
        for number in range(MANY):
            head = books.head("a")
            after = Standing(ledger.ceiling, ledger.ceiling.check(whole.system, amount, head.standing.spent, "it"))
            values = {"reservation": str(number), "label": whole.system, "certificate": written(whole)}
            values |= {"charge": amount.to_dict(), "records_per_person": 1, "through": None}
            books.append(head, "reserved", values, after)
    booked, verify = [], chain.verify

    def checked(*asked):
        monkeypatch.setattr(store, "verify", verify)
        other = threading.Thread(target=lambda: booked.append(hr.LedgerStore(address).ledger("a").reserve(fit("0.1"))))
        other.start()
        other.join(60)
        assert booked, "who books waits for who reads"
        return verify(*asked)

    monkeypatch.setattr(store, "verify", checked)
    assert len(ledger.entries) == MANY  # as it was when the reader came
    assert ledger.spent == (MANY + 1) * amount.epsilon


def test_a_certificate_of_many_links_is_read_once(tmp_path, monkeypatch):
    made = hr.LedgerStore(tmp_path / "b.db")
    ledger = made.create("a", epsilon=1000)
    for _ in range(50):
        ledger.reserve(fit("0.1"))
    chain._plan.cache_clear()
    entries = ledger.entries
    assert len(entries) == 50
    assert len({id(entry.certificate) for entry in entries}) == 1
    assert chain._plan.cache_info().misses == 1
    ledger.history[1]["certificate"]["system"] = "changed by its reader"
    assert {entry.certificate.system for entry in ledger.entries} == {"Forest"}
