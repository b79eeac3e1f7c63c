"""An interruption at any line of a store's work leaves all or nothing, no sum too low, and a store that opens."""

from contextlib import suppress
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa
from interruption import at_every_line, interrupted_at
from ledger_helpers import fit

import hedgerow as hr

NAMES = ("ceiling", "chain", "database", "ledger", "store")
FILES = tuple(f"ledgers/{name}.py" for name in NAMES)
CENT = Fraction(1, 100)


def family(address):
    """Return a store with a ledger and a share of it."""
    made = hr.LedgerStore(address)
    made.create("whole", epsilon=1000)
    made.create("part", epsilon=1000, parent="whole")
    return made


def at_all_lines(prepare, act):
    """Yield as ``at_every_line`` does, and check in the end that there were many lines."""
    places = set()
    for where, prepared, answer in at_every_line(FILES, prepare, act):
        places.add(where)
        yield where, prepared, answer
    assert len(places) > 40, places


def check_chains(address):
    made = hr.LedgerStore(address)
    for name in made.names():
        made.verify(name)


def test_a_reservation_is_booked_in_both_or_in_neither(address):
    made = family(address)
    whole, part = made.ledger("whole"), made.ledger("part")
    spent = given = 0
    for where, _, reservation in at_all_lines(lambda: None, lambda _: part.reserve(fit("0.01"))):
        given += reservation is not None
        before, spent = spent, part.spent
        assert spent - before in (0, CENT), where
        assert spent >= given * CENT, where
    assert whole.spent == part.spent
    assert {entry.state for entry in part.entries} == {"unfinished"}
    check_chains(address)


@pytest.mark.full
def test_the_end_of_a_fit_changes_no_sum(tmp_path):
    made = family(tmp_path / "b.db")
    whole, part = made.ledger("whole"), made.ledger("part")
    booked, act = 0, lambda reservation: reservation.__exit__(None, None, None)
    for booked, (where, _, _) in enumerate(at_all_lines(lambda: part.reserve(fit("0.01")), act), 1):
        assert part.spent == booked * CENT, where
    assert whole.spent == part.spent
    states = [entry.state for entry in part.entries]
    assert states == [entry.state for entry in whole.entries]
    assert set(states) == {"finished", "unfinished"}
    assert states[-1] == "finished"
    check_chains(tmp_path / "b.db")


@pytest.mark.full
def test_a_ledger_is_created_or_not(tmp_path):
    numbers = count()

    def new():
        return tmp_path / f"{next(numbers)}.db"

    for where, path, ledger in at_all_lines(new, lambda path: hr.LedgerStore(path).create("a", epsilon=1)):
        made = hr.LedgerStore(path)
        assert made.names() == ("a",) or (ledger is None and made.names() == ()), where
        if not made.names():
            made.create("a", epsilon=1)
        made.ledger("a").reserve(fit(1))
        made.verify("a")


def test_a_share_is_created_or_not(tmp_path):
    made, numbers = family(tmp_path / "b.db"), count()
    create = lambda number: made.create(f"share-{number}", epsilon=1, parent="whole")  # noqa: E731
    for where, number, ledger in at_all_lines(lambda: next(numbers), create):
        there = f"share-{number}" in made.names()
        assert there or ledger is None, where
        if there:
            made.ledger(f"share-{number}").reserve(fit("0.01"))
    shares = [made.ledger(name) for name in made.names() if name.startswith("share")]
    assert made.ledger("whole").spent == sum(share.spent for share in shares) == len(shares) * CENT
    check_chains(tmp_path / "b.db")


@pytest.mark.full
def test_a_ledger_is_closed_or_not(tmp_path):
    made, numbers, names = family(tmp_path / "b.db"), count(), []

    def still_open():
        if not names or made.ledger(names[-1]).closed:
            names.append(f"share-{next(numbers)}")
            made.create(names[-1], epsilon=1, parent="whole").reserve(fit("0.01"))
        return names[-1]

    for where, name, _ in at_all_lines(still_open, lambda name: made.close_ledger(name, reason="done")):
        ledger = made.ledger(name)
        if ledger.closed:
            with pytest.raises(hr.BudgetExceeded):
                ledger.reserve(fit("0.01"))
        assert ledger.spent == CENT, where
    assert ledger.closed
    check_chains(tmp_path / "b.db")


# A connection of psycopg that nothing refers to any more is closed, and says so.
@pytest.mark.full
@pytest.mark.filterwarnings("ignore:.*was deleted while still open", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_inside_the_database_layer_leaves_no_lock(address):
    """Between two lines of SQLAlchemy, too; a lock that stayed would refuse the reservation after it."""
    part = family(address).ledger("part")
    layer, spent = (str(Path(sa.__file__).parent),), 0
    with interrupted_at(10**9, layer):
        part.reserve(fit("0.01"))  # compiles what is kept, so all later runs are alike
    for number in range(1, 10**6, 101):
        # SQLAlchemy asserts what an interruption made untrue.
        with suppress(AssertionError), interrupted_at(number, layer) as where:
            part.reserve(fit("0.01"))
        part.reserve(fit("0.01"))
        assert part.spent - spent >= CENT, where
        spent = part.spent
        if not where:
            break
    assert number > 2000
    assert part.store.ledger("whole").spent == spent
    check_chains(address)
