"""Certificates to be booked, and ledgers that hold some and are tampered with."""

import sqlalchemy as sa

from hedgerow.privacy.accounting import Pure
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.exact import exact, exact_delta


def fit(epsilon, delta=0, adjacency="add-remove", *, event=None, seeded=False, system="Forest"):
    epsilon, delta = exact(epsilon), exact_delta(delta)
    if event is None:
        event = Pure(Claim(epsilon, adjacency=adjacency).pure, "permute-and-flip", "leaf label")
    return Certificate(system, "private", epsilon, delta, adjacency, event, seeded)


def tamper(address, statement):
    engine = sa.create_engine(f"sqlite:///{address}" if "://" not in address else address, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text(statement))


def some(made):
    ledger = made.create("a", epsilon=1)
    for _ in range(3):
        with ledger.reserve(fit("0.1")):
            pass
    return ledger


def everything_of(error):
    """Return all that an error, and those before it, say."""
    found = []
    while error is not None:
        found += [str(error), repr(error), repr(error.args)]
        error = error.__cause__ or error.__context__
    return " ".join(found)
