"""What is read of a stored ledger is what was charged, or an error; a refusal leaves nothing behind that others wait for."""

from __future__ import annotations

import pickle
import sqlite3
import threading
from contextlib import closing
from fractions import Fraction

import pytest
from click.testing import CliRunner
from ledger_helpers import fit, tamper

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.errors import BudgetExceeded, ConfigurationError, HedgerowError

DAMAGES = {
    "a body that was edited": "UPDATE hedgerow_links SET body = replace(body, '3/10', '1/10') WHERE number = 2",
    "a hash that was edited": "UPDATE hedgerow_links SET hash = 'x' WHERE number = 2",
    "a link before it that was forged": "UPDATE hedgerow_links SET previous = 'x' WHERE number = 2",
    "a last link that is gone": "DELETE FROM hedgerow_links WHERE number = 2",
    "a row that names an earlier link": "UPDATE hedgerow_ledgers SET number = 1",
    "a row with another hash": "UPDATE hedgerow_ledgers SET hash = 'x'",
    "another parent": "UPDATE hedgerow_ledgers SET parent = 'b'",
}
READS = {
    **{
        name: lambda ledger, name=name: getattr(ledger, name)
        for name in (
            "spent",
            "total",
            "remaining",
            "holds",
            "entries",
            "history",
            "head",
            "parent",
            "closed",
            "ceiling",
        )
    },
    "epsilon_at": lambda ledger: ledger.epsilon_at(0),
    "reserve": lambda ledger: ledger.reserve(fit("0.1")),
    "open": lambda ledger: ledger.store.ledger("a"),
    "pickle": lambda ledger: pickle.loads(pickle.dumps(ledger)),
    "share": lambda ledger: ledger.store.create("c", epsilon=1, parent="a"),
    "raise": lambda ledger: ledger.store.raise_ceiling("a", epsilon=2, reason="more"),
    "close": lambda ledger: ledger.store.close_ledger("a", reason="done"),
    "verify": lambda ledger: ledger.store.verify("a"),
}


def booked(address):
    """A ledger with two plans: the last link says what is spent, 3/10."""
    store = hr.LedgerStore(address)
    store.create("b", epsilon=1)
    ledger = store.create("a", epsilon=1)
    ledger.reserve(fit("0.1"))
    ledger.reserve(fit("0.2"))
    assert ledger.spent == Fraction(3, 10)
    return ledger


def answered(read, ledger):
    try:
        READS[read](ledger)
    except hr.LedgerDamaged as error:
        return "'a' is damaged" not in str(error)
    return True


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_read_of_a_ledger_answers_from_a_damaged_end(damage, tmp_path):
    address = str(tmp_path / "budgets.db")
    ledger = booked(address)
    tamper(address, DAMAGES[damage] + (" AND ledger = 'a'" if "WHERE" in DAMAGES[damage] else " WHERE name = 'a'"))
    assert [read for read in READS if answered(read, ledger)] == []
    assert repr(ledger).endswith("which cannot be read now>")
    assert "0." not in repr(ledger).replace(address, "")


REFUSALS = {
    "too much": (lambda ledger: ledger.reserve(fit("2")), BudgetExceeded),
    "a name that is taken": (lambda ledger: ledger.store.create("a", epsilon=1), ConfigurationError),
    "a ceiling that is lower": (
        lambda ledger: ledger.store.raise_ceiling("a", epsilon=0.5, reason="less"),
        ConfigurationError,
    ),
    "a ledger that is not there": (lambda ledger: ledger.store.ledger("none"), ConfigurationError),
    "a share of none": (lambda ledger: ledger.store.create("d", epsilon=1, parent="none"), ConfigurationError),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_after_a_refusal_other_threads_book(refusal, tmp_path):
    """A lock that a refusal kept would hold up every other thread for ever; this one is waited for half a minute."""
    ledger, done = booked(str(tmp_path / "budgets.db")), []
    ask, error = REFUSALS[refusal]
    with pytest.raises(error):
        ask(ledger)

    def book():
        try:
            ledger.reserve(fit("0.1"))
            done.append(ledger.spent)
        except HedgerowError as wrong:
            done.append(wrong)

    other = threading.Thread(target=book, daemon=True)
    other.start()
    other.join(30)
    assert done == [Fraction(2, 5)], "another thread still waits for the one that was refused"


SCHEMAS = {
    "a statement that is no text": "sql = CAST(X'ff80' || CAST(sql AS BLOB) AS TEXT)",
    "a name that is no text": "name = CAST(X'ff80' AS TEXT), tbl_name = CAST(X'ff80' AS TEXT)",
    "a statement that is none": "sql = 'CREATE nonsense'",
    "a table at no page": "rootpage = 0",
    "a table beyond the end": "rootpage = 999",
}
CALLS = {
    "ledger": lambda store: store.ledger("a").spent,
    "verify": lambda store: store.verify("a"),
    "raise": lambda store: store.raise_ceiling("a", epsilon=2, reason="more"),
    "close": lambda store: store.close_ledger("a", reason="done"),
}


def cut(path, size):
    with open(path, "r+b") as file:
        file.truncate(size)


def overwrite(path, place, content):
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(content)


def run(*statements):
    def damage(path):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    return damage


STORES = {
    **{
        name: run(
            "PRAGMA writable_schema=ON", f"UPDATE sqlite_master SET {change} WHERE rootpage > 0 OR type = 'table'"
        )
        for name, change in SCHEMAS.items()
    },
    **{
        f"a {table} without {column}": run(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
        for table, column in (("hedgerow_store", "format"), ("hedgerow_ledgers", "name"), ("hedgerow_ledgers", "hash"))
    },
    "no table of ledgers": run("DROP TABLE hedgerow_ledgers"),
    "a ledger's name that is bytes": run("UPDATE hedgerow_ledgers SET name = X'ff80' WHERE name = 'a'"),
    "a ledger's name that is not UTF-8": run(
        "UPDATE hedgerow_ledgers SET name = CAST(X'ff80' AS TEXT) WHERE name = 'a'"
    ),
    "no row of a ledger": run("DELETE FROM hedgerow_ledgers WHERE name = 'a'"),
    "a format that is text": run("UPDATE hedgerow_store SET format = 'one'"),
    "an id that is bytes": run("UPDATE hedgerow_store SET id = X'ff80'"),
    "half a page": lambda path: cut(path, 2048),
    "a header that ends early": lambda path: cut(path, 50),
    "no page but the first": lambda path: cut(path, 4096),
    "a header of other content": lambda path: overwrite(path, 16, b"\xff" * 84),
    "a first page of other content": lambda path: overwrite(path, 100, b"\xff" * 3996),
    "later pages of other content": lambda path: overwrite(path, 4096, b"\xff" * 4096 * 4),
}


def as_one_file(path):
    booked(str(path))
    run("PRAGMA journal_mode=DELETE")(path)


@pytest.mark.parametrize("damage", STORES)
def test_a_store_of_another_schema_or_other_tables_or_pages_is_damaged(damage, tmp_path):
    path = tmp_path / "ledgers.db"
    as_one_file(path)
    STORES[damage](path)
    for call in CALLS.values():
        with pytest.raises(hr.LedgerDamaged):
            call(hr.LedgerStore(str(path)))
    found = CliRunner().invoke(main, ["budget", "show", "--dataset", "a", "--ledger", str(path)])
    assert (found.exit_code, "keep the store as it is" in found.output) == (1, True)


@pytest.mark.parametrize("damage", SCHEMAS)
def test_nothing_is_made_or_listed_in_a_store_of_another_schema(damage, tmp_path):
    path = tmp_path / "ledgers.db"
    as_one_file(path)
    STORES[damage](path)
    before = path.read_bytes()
    for call in (lambda store: store.names(), lambda store: store.create("c", epsilon=1)):
        with pytest.raises(hr.LedgerDamaged, match="keep the store as it is"):
            call(hr.LedgerStore(str(path)))
    for command in (["list"], ["verify", "--dataset", "a"], ["create", "--dataset", "c", "--epsilon", "1"]):
        found = CliRunner().invoke(main, ["budget", *command, "--ledger", str(path)])
        assert (found.exit_code, "keep the store as it is" in found.output) == (1, True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("table", ["hedgerow_ledgers", "hedgerow_links"])
def test_a_store_that_refuses_rows_is_damaged(table, tmp_path):
    path = tmp_path / "ledgers.db"
    as_one_file(path)
    run(f"CREATE TRIGGER odd BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'odd'); END")(path)
    with pytest.raises(hr.LedgerDamaged, match="nothing was charged"):
        hr.LedgerStore(str(path)).create("c", epsilon=1)
