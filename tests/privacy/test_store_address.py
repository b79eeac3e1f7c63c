"""Where a store is, and that no credential is ever shown or pickled."""

import traceback

import pytest

import hedgerow as hr
from hedgerow.errors import ConfigurationError, LedgerPickleError
from hedgerow.privacy import database
from hedgerow.privacy.address import Address

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


def everything_of(error):
    """Return all that an error, and those before it, say."""
    found = []
    while error is not None:
        found += [str(error), repr(error), repr(error.args)]
        error = error.__cause__ or error.__context__
    return " ".join(found)


@pytest.mark.parametrize("url", URLS)
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
    ],
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
    ["", ":memory:", "mysql://u:s3cret@h/d", "postgresql+psycopg2://u:s3cret@h/d", "env:NOWHERE", "a://b:s3cret@c:x/"],
)
def test_an_address_that_is_none(address):
    with pytest.raises(ConfigurationError) as refused:
        hr.LedgerStore(address)
    assert "s3cret" not in str(refused.value)
