"""What a stored ledger promises, on SQLite and on PostgreSQL alike."""

import copy
import os
import pickle
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest
import sqlalchemy as sa
from ledger_helpers import fit, some, tamper
from sklearn.base import clone
from sqlalchemy.dialects import postgresql

import hedgerow as hr
from hedgerow.errors import BudgetExceeded, ConfigurationError, FileFormatError
from hedgerow.ledgers.ceiling import Ceiling
from hedgerow.privacy.accounting import Thresholded

STORE = tuple(f"ledgers/{name}.py" for name in ("store", "chain", "database", "ceiling"))


@pytest.fixture
def made(address):
    return hr.LedgerStore(address)


# the same as hr.Ledger


def test_another_process_sees_the_same(made, address):
    certificate, begun = fit("1/3", 1e-7, event=None), datetime.now(UTC)
    ledger = made.create("a", epsilon=1, delta=1e-6)
    with ledger.reserve(certificate):
        again = hr.LedgerStore(address).ledger("a")
        assert again.entries[0].state == "unfinished"
    (entry,) = again.entries
    assert (entry.certificate, entry.epsilon, entry.delta) == (certificate, Fraction(1, 3), Fraction(1, 10**7))
    assert (entry.label, entry.state, entry.process) == ("Forest", "finished", os.getpid())
    assert begun <= entry.time <= datetime.now(UTC)
    assert again.ceiling == Ceiling.of(1, 1e-6)
    assert hr.LedgerStore(address).names() == ("a",)
    assert again.holds


def test_the_deltas_of_thresholds_count_beside_a_rho(made):
    made.create("whole", rho=10, delta=1e-6, adjacency="replace-one")
    part = made.create("part", epsilon=10, delta=1e-3 / 2, parent="whole")
    plan = Thresholded(Fraction(1, 10), "m", "p", delta=Fraction(6, 10**7))
    part.reserve(fit("0.1", 6e-7, event=plan))
    assert (part.total.delta, made.ledger("whole").total.delta) == (plan.delta, plan.delta)
    with pytest.raises(BudgetExceeded, match=r"delta of thresholded steps 6e-7, but ledger 'whole' .* 4e-7 left"):
        part.reserve(fit("0.1", 6e-7, event=plan))
    for name in made.names():
        made.verify(name)


def test_copies_are_the_same_ledger_and_pickles_are_its_address(made):
    ledger = made.create("a", epsilon=1)
    assert clone(ledger) is copy.copy(ledger) is copy.deepcopy(ledger) is ledger
    again = pickle.loads(pickle.dumps(ledger))
    again.reserve(fit("0.75"))
    assert ledger.spent == Fraction(3, 4)
    assert hr.EDPRFClassifier(ledger=ledger).ledger is ledger


# stores


def test_names_are_used_once_and_a_missing_one_is_said(made):
    with pytest.raises(ConfigurationError):
        made.ledger("a")
    assert made.names() == ()
    made.create("b", epsilon=1)
    made.create("a", epsilon=1)
    assert made.names() == hr.LedgerStore(made.address).names() == ("a", "b")
    with pytest.raises(ConfigurationError, match="already"):
        made.create("a", epsilon=2)
    with pytest.raises(ConfigurationError, match="there is no ledger 'c'"):
        made.ledger("c")
    assert made.ledger("a").ceiling.epsilon == 1


@pytest.mark.parametrize("name", ["", " a", "a\n", "a\tb", "x" * 201, 3, None])
def test_a_name_is_a_line(made, name):
    assert made.create("x" * 200, epsilon=1).name == "x" * 200
    with pytest.raises(ConfigurationError, match="name is"):
        made.create(name, epsilon=1)


def test_a_ceiling_is_raised_never_lowered_and_a_closed_ledger_stays_closed(made):
    ledger = made.create("a", epsilon=1)
    ledger.reserve(fit(1))
    made.raise_ceiling("a", epsilon=2, reason="the board agreed")
    ledger.reserve(fit(1))
    with pytest.raises(ConfigurationError, match="only be raised"):
        made.raise_ceiling("a", epsilon=1, reason="less")
    with pytest.raises(ConfigurationError):
        made.raise_ceiling("a", rho=1, reason="another kind")
    with pytest.raises(ConfigurationError, match="reason is"):
        made.close_ledger("a", reason="")
    made.close_ledger("a", reason="the study ended")
    with pytest.raises(BudgetExceeded, match="closed"):
        ledger.reserve(fit("1e-9"))
    with pytest.raises(ConfigurationError, match="closed"):
        made.raise_ceiling("a", epsilon=9, reason="more")
    assert ledger.closed
    assert [said["kind"] for said in ledger.history] == ["created", "reserved", "raised", "reserved", "closed"]
    assert ledger.history[2]["reason"] == "the board agreed"
    made.verify("a")


# sub-ledgers


def test_a_share_is_booked_in_both_or_in_neither(made):
    whole = made.create("whole", epsilon=1)
    one, two = (made.create(name, epsilon="0.8", parent="whole") for name in ("one", "two"))
    with one.reserve(fit("0.7")):
        pass
    with pytest.raises(BudgetExceeded, match=r"'whole' has epsilon 0\.3"):
        two.reserve(fit("0.4"))
    with pytest.raises(BudgetExceeded, match=r"'one' has epsilon 0\.1"):
        one.reserve(fit("0.2"))
    two.reserve(fit("0.3"))
    assert (one.spent, two.spent, whole.spent) == (Fraction(7, 10), Fraction(3, 10), 1)
    assert [(entry.through, entry.state) for entry in whole.entries] == [("one", "finished"), ("two", "unfinished")]
    assert (one.parent, whole.parent) == ("whole", None)
    for name in made.names():
        made.verify(name)


@pytest.fixture
def locked():
    """The ledgers whose rows PostgreSQL would have been asked to lock; SQLite locks the whole file, and leaves the words out."""
    names = []

    def listen(connection, element, *rest):
        asked = element.compile(dialect=postgresql.dialect())
        if "FOR UPDATE" in str(asked):
            names.extend(asked.params.values())

    sa.event.listen(sa.Engine, "before_execute", listen)
    yield names
    sa.event.remove(sa.Engine, "before_execute", listen)


def test_whoever_writes_locks_the_ledgers_above_first(tmp_path, locked):
    made = hr.LedgerStore(tmp_path / "b.db")
    made.create("whole", epsilon=1)
    part = made.create("part", epsilon=1, parent="whole")
    assert (part.spent, len(part.entries), made.names(), locked) == (0, 0, ("part", "whole"), [])
    with part.reserve(fit("0.1")):
        assert locked == ["whole", "part"]
    assert locked == ["whole", "part"] * 2
    made.raise_ceiling("whole", epsilon=2, reason="more")
    made.close_ledger("part", reason="done")
    assert locked[4:] == ["whole", "part"]


def test_every_ledger_counts_by_its_own_adjacency_and_kind(made):
    made.create("top", rho=10, adjacency="replace-one")
    made.create("middle", epsilon=10, adjacency="replace-one", parent="top")
    low = made.create("low", epsilon=10, parent="middle")
    low.reserve(fit("0.0001"))
    assert low.spent == Fraction(1, 10**4)
    assert made.ledger("middle").spent == Fraction(2, 10**4)
    assert made.ledger("top").spent == 4 * Fraction(1, 2 * 10**8)
    assert made.ledger("top").entries[0].through == "low"
    for name in made.names():
        made.verify(name)


def test_a_parent_is_there_open_and_of_the_same_unit(made):
    with pytest.raises(ConfigurationError, match="there is no ledger 'whole'"):
        made.create("part", epsilon=1, parent="whole")
    made.create("whole", epsilon=1)
    with pytest.raises(ConfigurationError, match="protects a record; sub-ledgers too"):
        made.create("part", epsilon=1, records_per_person=2, parent="whole")
    part = made.create("part", epsilon=1, parent="whole")
    made.close_ledger("whole", reason="done")
    with pytest.raises(ConfigurationError, match="closed"):
        made.create("other", epsilon=1, parent="whole")
    with pytest.raises(BudgetExceeded, match="'whole' is closed"):
        part.reserve(fit("0.1"))
    assert part.entries == ()


# damage


@pytest.mark.parametrize(
    ("statement", "first"),
    [
        ("UPDATE hedgerow_links SET body = replace(body, '1/10', '1/20') WHERE number = 3", 3),
        ("UPDATE hedgerow_links SET previous = hash WHERE number = 2", 2),
        ("DELETE FROM hedgerow_links WHERE number = 2", 2),
        ("DELETE FROM hedgerow_links WHERE number = 6", 6),
        ("DELETE FROM hedgerow_links WHERE number = 0", 0),
        ("UPDATE hedgerow_links SET body = 'x' WHERE number = 5", 5),
        ("UPDATE hedgerow_ledgers SET number = 5", 5),
        ("DELETE FROM hedgerow_ledgers", 0),
        ("INSERT INTO hedgerow_links SELECT ledger, 7, previous, hash, body FROM hedgerow_links WHERE number = 6", 7),
    ],
)
def test_a_row_that_was_edited_or_deleted_is_named(made, address, statement, first):
    some(made)
    tamper(address, statement)
    with pytest.raises(hr.LedgerDamaged, match=rf"'a' is damaged at link {first}:"):
        made.verify("a")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE hedgerow_links SET body = replace(body, '3/10', '1/10') WHERE number = 6",
        "DELETE FROM hedgerow_links WHERE number = 6",
        "UPDATE hedgerow_ledgers SET hash = 'x'",
        "UPDATE hedgerow_ledgers SET number = 4",
    ],
)
def test_nothing_is_booked_behind_a_damaged_end(made, address, statement):
    ledger = some(made)
    tamper(address, statement)
    with pytest.raises(hr.LedgerDamaged):
        ledger.reserve(fit("0.1"))


@pytest.mark.parametrize(
    "statement",
    [
        *(f"INSERT INTO hedgerow_{table} SELECT * FROM hedgerow_{table}" for table in ("store", "ledgers", "links")),
        *(f"UPDATE hedgerow_links SET {column} = NULL" for column in ("previous", "hash", "body")),
        *(f"UPDATE hedgerow_ledgers SET {column} = NULL" for column in ("number", "hash")),
        "UPDATE hedgerow_store SET format = NULL",
    ],
)
def test_the_tables_hold_nothing_twice_and_no_link_without_its_parts(made, address, statement):
    some(made)
    with pytest.raises(sa.exc.IntegrityError):
        tamper(address, statement)
    made.verify("a")


def test_a_store_says_once_which_one_it_is(made, address):
    ledger = some(made)
    tamper(address, "DELETE FROM hedgerow_store")
    with pytest.raises(
        hr.LedgerDamaged, match=r"does not say which ledger store of which version it is; nothing was charged"
    ):
        ledger.reserve(fit("0.1"))


def test_a_parent_that_is_gone_is_found(made, address):
    made.create("whole", epsilon=1)
    made.create("part", epsilon=1, parent="whole").reserve(fit("0.5"))
    tamper(address, "DELETE FROM hedgerow_links WHERE ledger = 'whole'")
    tamper(address, "DELETE FROM hedgerow_ledgers WHERE name = 'whole'")
    with pytest.raises(hr.LedgerDamaged, match="'part' is damaged at link 0: its parent 'whole' is missing"):
        made.verify("part")
    with pytest.raises(ConfigurationError, match="there is no ledger 'whole'"):
        made.verify("whole")


def test_ledgers_that_are_made_shares_of_each_other_book_nothing_and_end(made, address):
    made.create("whole", epsilon=1)
    part = made.create("part", epsilon=1, parent="whole")
    tamper(address, "UPDATE hedgerow_ledgers SET parent = 'part' WHERE name = 'whole'")
    with pytest.raises(hr.LedgerDamaged, match="it names another parent"):
        part.reserve(fit("0.5"))


def test_a_chain_that_was_written_again_is_found_by_a_head_that_was_kept(made, address):
    ledger = some(made)
    kept = ledger.head
    ledger.reserve(fit("0.1"))
    made.verify("a", head=kept)
    for table in ("links", "ledgers"):
        tamper(address, f"DELETE FROM hedgerow_{table}")
    some(made)
    made.verify("a")
    with pytest.raises(hr.LedgerDamaged, match="kept elsewhere"):
        made.verify("a", head=kept)


@pytest.mark.parametrize("parent", ["NULL", "'other'"])
def test_a_share_stays_a_share(made, address, parent):
    whole = made.create("whole", epsilon=1)
    made.create("other", epsilon=1000)
    part = made.create("part", epsilon=1, parent="whole")
    tamper(address, f"UPDATE hedgerow_ledgers SET parent = {parent} WHERE name = 'part'")
    for act in (lambda: part.reserve(fit("0.5")), lambda: made.verify("part")):
        with pytest.raises(hr.LedgerDamaged, match="it names another parent"):
            act()
    assert whole.spent == 0


def test_a_share_that_the_parent_does_not_know_is_found(made, address):
    made.create("whole", epsilon=1)
    made.create("part", epsilon=1, parent="whole").reserve(fit("0.5"))
    tamper(address, "DELETE FROM hedgerow_links WHERE ledger = 'whole' AND number = 1")
    tamper(
        address,
        "UPDATE hedgerow_ledgers SET number = 0, hash = (SELECT hash FROM hedgerow_links WHERE ledger = 'whole') "
        "WHERE name = 'whole'",
    )
    for name in made.names():
        with pytest.raises(
            hr.LedgerDamaged, match="'part' is damaged at link 1: ledger 'whole' does not have the same"
        ):
            made.verify(name)


# threads


# versions, pickles


def test_a_pickle_never_makes_a_store_and_refuses_another_one(tmp_path):
    path, other = tmp_path / "a.db", tmp_path / "b.db"
    pickled = pickle.dumps(hr.LedgerStore(path).create("a", epsilon=1))
    path.rename(other)
    with pytest.raises(hr.LedgerUnavailable):
        pickle.loads(pickled)
    assert not path.exists()
    ledger = hr.LedgerStore(path).create("a", epsilon=1)
    with pytest.raises(ConfigurationError, match="another ledger store"):
        pickle.loads(pickled)
    path.unlink()
    other.rename(path)
    assert pickle.loads(pickled).ceiling.epsilon == 1
    with pytest.raises(ConfigurationError, match="another ledger store"):
        ledger.reserve(fit("0.1"))


def test_a_newer_store_is_left_alone(made, address):
    made.create("a", epsilon=1)
    tamper(address, "UPDATE hedgerow_store SET format = 2")
    for act in (lambda: hr.LedgerStore(address), lambda: made.ledger("a"), lambda: made.create("b", epsilon=1)):
        with pytest.raises(FileFormatError, match=r"newer hedgerow \(format 2.*update hedgerow"):
            act()


def test_a_charge_of_a_duller_accountant_stays_sound(made, monkeypatch):
    """What a version charged counts, also for a later one that would charge less; never one that charged too little."""
    ledger = made.create("a", epsilon=1)
    amount = Ceiling.amount
    for factor, sound in ((2, True), (Fraction(1, 2), False)):
        charged = lambda self, *plan, **unit: replace(amount(self, *plan, **unit), epsilon=factor / Fraction(10))  # noqa: B023, E731
        with monkeypatch.context() as patched:
            patched.setattr(Ceiling, "amount", charged)
            ledger.reserve(fit("0.1"))
        if sound:
            made.verify("a")
            assert ledger.spent == Fraction(1, 5)
    with pytest.raises(hr.LedgerDamaged, match="link 2: its sums do not follow"):
        made.verify("a")
