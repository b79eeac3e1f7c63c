"""The address of a ledger store, and the part of it that may be shown: never a credential."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from hedgerow.errors import ConfigurationError, LedgerPickleError

__all__ = ["Address"]

ENVIRONMENT = "env:"
# Query parameters of a URL that may be shown. Any other may be a credential, so it is never shown.
PUBLIC = frozenset(
    {
        "application_name",
        "channel_binding",
        "client_encoding",
        "connect_timeout",
        "dbname",
        "gssencmode",
        "host",
        "hostaddr",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "krbsrvname",
        "load_balance_hosts",
        "passfile",
        "port",
        "require_auth",
        "service",
        "sslcert",
        "sslkey",
        "sslmode",
        "sslnegotiation",
        "sslrootcert",
        "target_session_attrs",
        "tcp_user_timeout",
        "user",
    }
)
MISSPELT = re.compile(
    r"(postgres\w*|sqlite)(\+\w+)?:", re.IGNORECASE
)  # a URL without its slashes is no path, which is shown
LONGEST = 4096  # bytes, more than any system accepts as a path
SPECIAL = frozenset("@?#")  # never in the name of a host or database: they are part of a password that was not escaped


@dataclass(frozen=True)
class Address:
    """The address of a store: the path of a SQLite file, the URL of a PostgreSQL database, or ``env:NAME`` of either.

    Parameters
    ----------
    given : str
        What the user passed. A path is made absolute.
    """

    given: str

    @classmethod
    def of(cls, given: str | os.PathLike[str]) -> Address:
        """Return the address that a user passes, or raise ConfigurationError."""
        text = os.fspath(given)
        _check_text(text)
        if not isinstance(text, str) or not text or text == ":memory:":
            raise ConfigurationError("a ledger store outlives the process; pass the path of a file, or a URL.")
        if text.startswith(ENVIRONMENT) and not text.removeprefix(ENVIRONMENT).isidentifier():
            raise ConfigurationError(
                "env: is followed by the name of an environment variable, such as env:HEDGEROW_LEDGER."
            )
        if text.startswith(ENVIRONMENT) or "://" in text or MISSPELT.match(text):
            address = cls(text)
            if not text.startswith(ENVIRONMENT):
                address.url()
            return address
        return cls(os.path.abspath(text))

    def url(self) -> URL:
        """Return the URL for SQLAlchemy, or raise ConfigurationError without showing a credential."""
        text = self.given
        if text.startswith(ENVIRONMENT):
            name = text.removeprefix(ENVIRONMENT)
            text = os.environ.get(name, "")
            _check_text(text)
            if not text or text.startswith(ENVIRONMENT):
                raise ConfigurationError(
                    f"the environment variable {name} names no ledger store; set it to a path or a URL."
                )
        if "://" not in text and not MISSPELT.match(text):
            return URL.create("sqlite", database=os.path.abspath(text))
        try:
            url = make_url(text)
        except (sa.exc.ArgumentError, ValueError):
            url = None
        if url is not None and SPECIAL & set(f"{url.host or ''}{url.database or ''}"):
            raise ConfigurationError(
                "the ledger store's URL cannot be taken apart; write special characters of a password or a name as %40 for @, "
                "%3F for ? and %23 for #."
            )
        if url is not None and url.drivername in ("postgresql", "postgresql+psycopg"):
            return url.set(drivername="postgresql+psycopg")
        if (
            url is not None
            and url.drivername == "sqlite"
            and url.database not in (None, "", ":memory:")
            and not url.query
        ):
            return url.set(database=os.path.abspath(str(url.database)))
        raise ConfigurationError(
            "the ledger store's URL is none that hedgerow knows; pass the path of a file, or "
            "postgresql+psycopg://user@host/database."
        )

    @property
    def is_secret(self) -> bool:
        """Whether the address itself contains a credential."""
        if self.given.startswith(ENVIRONMENT):
            return False
        url = self.url()
        return url.password is not None or not PUBLIC.issuperset(url.query)

    def for_pickle(self) -> str:
        """Return the address as text that others may see, or raise LedgerPickleError."""
        if self.is_secret:
            raise LedgerPickleError(
                "the ledger store's URL holds a password, or what may be one, which a pickle would give away; set an environment "
                "variable to the URL and pass hr.LedgerStore('env:NAME'), or keep the password in ~/.pgpass or a service file "
                "(postgresql+psycopg:///?service=NAME)."
            )
        return self.given

    def __str__(self) -> str:
        if self.given.startswith(ENVIRONMENT) or "://" not in self.given:
            return self.given
        url = self.url()
        query = {key: value if key in PUBLIC else "***" for key, value in url.query.items()}
        return url.set(query=query).render_as_string(hide_password=True)

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"


def _check_text(text: str | bytes) -> None:
    """Raise ConfigurationError if a text cannot be an address, because it cannot be sent, opened or shown."""
    what = None
    if isinstance(text, bytes):
        what = "is bytes"
    elif "\0" in text:
        what = "holds the character NUL"
    elif len(text) > LONGEST:
        what = f"has {len(text)} characters"
    else:
        try:
            text.encode()
        except UnicodeEncodeError:
            what = "is not UTF-8"
    if what is not None:
        raise ConfigurationError(
            f"the address of the ledger store {what}, so no file or server can be reached by it; pass another path or URL."
        )
