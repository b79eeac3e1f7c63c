"""Where a store is, and that no credential is ever shown or pickled."""

import os
import traceback
from pathlib import Path

import pytest
from ledger_helpers import everything_of

import hedgerow as hr
from hedgerow.errors import ConfigurationError, LedgerPickleError
from hedgerow.ledgers import database
from hedgerow.ledgers.database import Address

SECRET = "s3cret"
HOST = "127.0.0.1:1"  # where nothing listens
URLS = [
    f"postgresql+psycopg://anna:{SECRET}@{HOST}/budgets",
    f"postgresql+psycopg://anna:%40%2F%3F{SECRET}%23@{HOST}/budgets",
    f"postgresql://anna:{SECRET}@{HOST}/budgets",
    *(
        f"postgresql+psycopg://anna@{HOST}/budgets?{key}={SECRET}"
        for key in (
            "password",
            "sslpassword",
            "oauth_client_secret",
            "scram_client_key",
            "token",
            "options",
            "PASSWORD",
        )
    ),
    f"postgresql+psycopg://anna@{HOST}/budgets?token={SECRET}&token={SECRET}",
]


@pytest.mark.parametrize("url", URLS, ids=range(len(URLS)))
def test_a_credential_is_never_shown_and_never_pickled(url, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    address = Address.of(url)
    assert SECRET not in str(address) + repr(address)
    with pytest.raises(LedgerPickleError, match="env:NAME") as refused:
        address.for_pickle()
    with pytest.raises(hr.LedgerUnavailable) as failed:
        hr.LedgerStore(url)
    for error in (refused.value, failed.value):
        assert SECRET not in everything_of(error) + "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql+psycopg://anna:p@{SECRET}@{HOST}/budgets",
        f"postgresql+psycopg:/anna:{SECRET}@{HOST}/budgets",
        f"env:postgresql://anna:{SECRET}@{HOST}/budgets",
        f"Postgres:anna:{SECRET}@{HOST}/budgets",
        f"postgresql+psycopg://an/na:{SECRET}@{HOST}/budgets",
        f"postgresql+psycopg:///x@{SECRET}",
    ],
    ids=range(6),
)
def test_a_password_that_is_not_escaped_is_no_address(url):
    """Taken apart at the wrong place, the rest of the password would pass for a host or a database, which are shown."""
    with pytest.raises(ConfigurationError) as refused:
        str(Address.of(url))
    assert SECRET not in everything_of(refused.value)


def test_what_is_public_is_shown_and_pickled(monkeypatch):
    monkeypatch.setenv("BUDGETS", URLS[0])
    named = Address.of("env:BUDGETS")
    assert (named.for_pickle(), str(named), named.url().password) == ("env:BUDGETS", "env:BUDGETS", SECRET)
    for url in (
        "postgresql+psycopg:///?service=budgets",
        "postgresql+psycopg://anna@db.example/budgets?sslmode=verify-full&host=/var/run/postgresql",
    ):
        assert Address.of(url).for_pickle() == url
        assert "***" not in str(Address.of(url))


@pytest.mark.parametrize(
    "address",
    [
        "",
        ":memory:",
        b"budgets.db",
        "a\0b",
        "x" * 5000,
        os.fsdecode(b"/tmp/\xff/l.db"),
        "postgresql://a\0@h/d",
        "postgresql://\udc80@h/d",
        "mysql://u:s3cret@h/d",
        "postgresql+psycopg2://u:s3cret@h/d",
        "env:NOWHERE",
        "env:",
        "env:s3cret of whom",
        "a://b:s3cret@c:x/",
        "postgresql+psycopg://b:s3cret@c:x/",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///b.db?mode=s3cret",
        "sqlite+pysqlite:///b.db",
        "sqlite:b.db",
    ],
    ids=range(21),
)
def test_an_address_that_is_none(address):
    with pytest.raises(ConfigurationError) as refused:
        hr.LedgerStore(address)
    assert "s3cret" not in str(refused.value)
    str(refused.value).encode()


def test_a_path_is_that_of_the_folder_in_which_it_was_given(tmp_path, monkeypatch):
    there = str(tmp_path / "b.db")
    monkeypatch.chdir(tmp_path)
    for given in ("b.db", Path("b.db"), there, "./x/../b.db"):
        address = Address.of(given)
        assert (address.given, str(address), address.for_pickle()) == (there, there, there)
        monkeypatch.chdir("/")
        assert (address.url().drivername, address.url().database) == ("sqlite", there)
        monkeypatch.chdir(tmp_path)
    assert repr(Address.of("b.db")) == there
    assert Address.of("sqlite:///b.db").url().database == there
    assert Address.of("sqlite:///b.db").for_pickle() == "sqlite:///b.db"


def test_a_variable_is_looked_up_when_it_is_used_and_never_shown(tmp_path, monkeypatch):
    named = Address.of("env:BUDGETS")
    for value in (None, "", "env:BUDGETS", "env:OTHER"):
        if value is None:
            monkeypatch.delenv("BUDGETS", raising=False)
        else:
            monkeypatch.setenv("BUDGETS", value)
        with pytest.raises(ConfigurationError, match="the environment variable BUDGETS holds no path"):
            named.url()
    monkeypatch.chdir(tmp_path)
    for value, driver, database_ in (
        ("b.db", "sqlite", str(tmp_path / "b.db")),
        ("sqlite:///b.db", "sqlite", str(tmp_path / "b.db")),
        (URLS[0], "postgresql+psycopg", "budgets"),
        (URLS[2], "postgresql+psycopg", "budgets"),
    ):
        monkeypatch.setenv("BUDGETS", value)
        assert (named.url().drivername, named.url().database) == (driver, database_)
        assert str(named) == repr(named) == named.for_pickle() == "env:BUDGETS"
    monkeypatch.setenv("BUDGETS", "mysql://u:s3cret@h/d")
    with pytest.raises(ConfigurationError, match="none that hedgerow knows") as refused:
        named.url()
    assert SECRET not in everything_of(refused.value)


def test_special_characters_that_are_escaped_are_read_and_never_shown():
    url = Address.of(URLS[1]).url()
    assert (url.password, url.host, url.database) == (f"@/?{SECRET}#", "127.0.0.1", "budgets")
    assert str(Address.of(URLS[1])) == f"postgresql+psycopg://anna:***@{HOST}/budgets"
    assert str(Address.of(URLS[2])) == f"postgresql+psycopg://anna:***@{HOST}/budgets"
    assert str(Address.of(f"postgresql://{HOST}/b?sslmode=require&token=x")).endswith(
        "/b?sslmode=require&token=%2A%2A%2A"
    )
