"""One budget for several fits: exact, atomic, not to be copied, not to be overdrawn."""

import copy
import multiprocessing
import os
import pickle
import socket
import threading
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_helpers import fit
from sklearn.base import clone

import hedgerow as hr
from hedgerow.errors import BudgetExceeded, ConfigurationError, LedgerPickleError
from hedgerow.ledgers.ledger import Ledger, who_am_i
from hedgerow.privacy.accounting import Gaussian, Pure, Sequence, Unprotected
from hedgerow.privacy.exact import exact


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.full)])
def new(request, tmp_path):
    """Make a ledger of either kind: they keep one contract."""
    if request.param == "memory":
        return Ledger
    address = tmp_path / "budgets.db" if request.param == "sqlite" else request.getfixturevalue("server").url()
    return partial(hr.LedgerStore(address).create, "a")


def test_ten_tenths_fit_in_one(new):
    ledger = new(1.0)
    for _ in range(10):
        ledger.reserve(fit(0.1))
    assert ledger.spent == 1
    assert ledger.remaining == 0
    with pytest.raises(BudgetExceeded):
        ledger.reserve(fit(1e-9))


@given(st.lists(st.decimals("0.001", "0.5", places=3), min_size=1, max_size=20))
def test_sums_are_exact_and_the_ceiling_holds(epsilons):
    ledger, spent = Ledger(2), Fraction(0)
    for epsilon in epsilons:
        if spent + Fraction(epsilon) <= 2:
            ledger.reserve(fit(epsilon))
            spent += Fraction(epsilon)
        else:
            with pytest.raises(BudgetExceeded):
                ledger.reserve(fit(epsilon))
        assert ledger.spent == spent
        assert ledger.remaining == 2 - spent


def test_a_refusal_books_nothing_and_says_what_is_left(new):
    ledger = new(1)
    ledger.reserve(fit("1/3"))
    with pytest.raises(
        BudgetExceeded, match=r"asks for epsilon 0\.7, .* 0\.666666\.\.\., .* left of epsilon 1, .* nothing was drawn"
    ):
        ledger.reserve(fit(0.7))
    assert ledger.spent == Fraction(1, 3)
    assert len(ledger.entries) == 1
    ledger.reserve(fit("2/3"))
    assert ledger.remaining == 0


def test_entries_say_what_was_booked(new):
    ledger, certificate = new(1), fit(0.25, system="EDPRFClassifier")
    ledger.reserve(certificate)
    (entry,) = ledger.entries
    assert (entry.label, entry.epsilon, entry.delta) == ("EDPRFClassifier", Fraction(1, 4), 0)
    assert entry.certificate == certificate
    assert isinstance(ledger.entries, tuple)


def test_a_refusal_is_no_exception():
    """GridSearchCV turns every Exception of a fit into a missing score; a refusal must get through."""
    assert issubclass(BudgetExceeded, BaseException)
    assert not issubclass(BudgetExceeded, Exception)


# adjacency


@pytest.mark.parametrize("epsilon", ["0.5", "1"])
def test_an_add_remove_fit_costs_twice_in_a_replace_one_ledger(new, epsilon):
    ledger = new(2 * Fraction(epsilon), adjacency="replace-one")
    ledger.reserve(fit(epsilon))
    assert ledger.spent == 2 * Fraction(epsilon)
    assert ledger.remaining == 0


def test_a_replace_one_fit_costs_once_in_a_replace_one_ledger(new):
    ledger = new(1, adjacency="replace-one")
    ledger.reserve(fit(1, adjacency="replace-one"))
    assert ledger.remaining == 0


def exact_group_delta(epsilon, delta):
    with localcontext(prec=60):
        e = Decimal(epsilon.numerator) / epsilon.denominator
        return Fraction(1 + e.exp()) * delta


@pytest.mark.filterwarnings("ignore:delta is 0.5:UserWarning")  # a ceiling that does not bind
@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_a_replaced_record_multiplies_delta(epsilon):
    ledger = Ledger(10, 0.5, "replace-one")
    ledger.reserve(fit(epsilon, 1e-6, event=Gaussian(Fraction(1, 10**6), 1, "sums")))
    right = exact_group_delta(exact(epsilon), Fraction(1, 10**6))
    assert float(ledger.total.delta) == pytest.approx(float(right), rel=1e-14)
    assert ledger.spent == 2 * exact(epsilon)


@pytest.mark.filterwarnings("ignore:delta is 0.5:UserWarning")  # a ceiling that does not bind
def test_a_multiplied_delta_is_rounded_up():
    for step in range(1, 400):
        epsilon, delta = Fraction(step, 100), Fraction(step, 10**7)
        ledger = Ledger(100, 0.5, "replace-one")
        ledger.reserve(fit(epsilon, delta, event=Gaussian(Fraction(1, 10**6), 1, "sums")))
        assert ledger.total.delta >= exact_group_delta(epsilon, delta), (epsilon, delta)


def test_a_replace_one_fit_is_refused_in_an_add_remove_ledger(new):
    ledger = new(10)
    with pytest.raises(BudgetExceeded, match=r"says nothing of add-remove"):
        ledger.reserve(fit(1, adjacency="replace-one"))
    assert ledger.entries == ()


# what is never booked


def test_an_unprotected_plan_is_refused_whatever_is_left(new):
    ledger = new(1e9)
    plan = Sequence((Pure(Fraction(1, 10), "m", "p"), Unprotected("bins are read off the records")))
    with pytest.raises(BudgetExceeded, match="bins are read off the records"):
        ledger.reserve(fit(1, event=plan))
    assert ledger.entries == ()


def test_a_plan_above_its_own_claim_is_refused(new):
    ledger = new(10)
    with pytest.raises(BudgetExceeded, match="more than it claims"):
        ledger.reserve(fit(1, event=Pure(Fraction(11, 10), "m", "p")))
    with pytest.raises(BudgetExceeded, match="more than it claims"):  # a Gaussian needs a delta
        ledger.reserve(fit(1, event=Gaussian(Fraction(1, 100), 1, "p")))
    assert ledger.entries == ()


def test_a_ceiling_that_lets_whole_records_go_is_warned_of():
    with pytest.warns(UserWarning, match=r"delta is 0\.001, the probability with which the guarantee may fail"):
        Ledger(1, 1e-3)
    Ledger(1, 9e-4)


# how a fit ended


def test_an_entry_says_how_its_fit_ended_and_its_charge_stands_either_way(new):
    ledger = new(1)
    ledger.reserve(fit(0.25))
    with ledger.reserve(fit(0.25)):
        assert [entry.state for entry in ledger.entries] == ["unfinished", "unfinished"]
    with pytest.raises(KeyboardInterrupt), ledger.reserve(fit(0.25)):
        raise KeyboardInterrupt
    assert [entry.state for entry in ledger.entries] == ["unfinished", "finished", "failed"]
    assert ledger.spent == Fraction(3, 4)
    entry = ledger.entries[0]
    assert entry.process == os.getpid()
    assert "@" in entry.who


# a rho for a ceiling


def normal(mu_squared, draws=1, adjacency="add-remove"):
    return fit(10, 1e-3, adjacency, event=Gaussian(Fraction(mu_squared), draws, "sums"))


def test_a_rho_adds_up_what_the_events_state(new):
    ledger = new(rho=0.1)
    ledger.reserve(normal("0.1"))
    assert ledger.spent == Fraction(1, 20)
    ledger.reserve(fit("0.01"))  # epsilon^2 / 2, as so small an epsilon is charged by the simple bound or less
    assert 0 < ledger.spent - Fraction(1, 20) <= Fraction(1, 20000)
    with pytest.raises(BudgetExceeded, match=r"asks for rho 0\.05, .* left of rho 0\.1, .* nothing was drawn"):
        ledger.reserve(normal("0.1"))
    assert len(ledger.entries) == 2
    assert ledger.ceiling.epsilon is None
    assert ledger.ceiling.rho == Fraction(1, 10)


def test_normal_draws_have_a_ceiling_of_their_own(new):
    ledger = new(rho=1, draws=10)
    ledger.reserve(normal("0.001", 6))
    with pytest.raises(BudgetExceeded, match="normal draws 5"):
        ledger.reserve(normal("0.001", 5))
    ledger.reserve(normal("0.001", 4))
    assert ledger.total.draws == 10


@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-9])
@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.1, 1])
def test_the_epsilon_of_a_ceiling_is_covered_and_nearly_the_least(rho, delta):
    ledger = Ledger(rho=rho, draws=1000)
    epsilon = ledger.epsilon_at(delta)
    assert ledger.ceiling.delta_at(epsilon) <= delta < ledger.ceiling.delta_at(epsilon * (1 - 1e-9))
    ledger.reserve(normal(Fraction(str(rho)), 10))
    assert ledger.epsilon_at(delta) == epsilon  # of the ceiling, whatever was spent


def test_a_ceiling_says_nothing_where_its_draws_alone_take_more():
    ledger = Ledger(rho=0.1, draws=2**50)
    with pytest.raises(ConfigurationError, match="says nothing for a delta of 1e-6"):
        ledger.epsilon_at(1e-6)
    with pytest.raises(ConfigurationError, match="says nothing"):
        Ledger(rho=0.1, delta=1e-5).epsilon_at(1e-6)
    with pytest.raises(ConfigurationError, match="says nothing"):
        Ledger(rho=0.1).epsilon_at(0)


# seeds


def test_a_seeded_fit_voids_the_ledger_and_is_booked_all_the_same(new):
    ledger = new(1)
    ledger.reserve(fit(0.25))
    assert ledger.holds
    ledger.reserve(fit(0.25, seeded=True))
    assert not ledger.holds
    assert ledger.spent == Fraction(1, 2)
    assert "a seeded fit voids the guarantee" in repr(ledger)


def test_no_epsilon_holds_once_a_seeded_fit_was_booked(new):
    ledger = new(1)
    assert ledger.epsilon_at(0) == 1
    ledger.reserve(fit("0.5", seeded=True))
    with pytest.raises(ConfigurationError, match="no epsilon holds"):
        ledger.epsilon_at(0)


def test_who_booked_is_shown_by_terminals(monkeypatch):
    monkeypatch.setenv("LOGNAME", "\x1b[2Janna\udcff\n" + "x" * 1000)
    ledger = Ledger(1)
    ledger.reserve(fit("0.5"))
    (entry,) = ledger.entries
    assert entry.who.startswith("?[2Janna??x")
    assert entry.who.isprintable()
    assert len(entry.who) == 200


@pytest.mark.parametrize("error", [OSError, KeyError, ImportError])
def test_a_user_without_a_name_is_known_by_number(error, monkeypatch):
    def unknown():
        raise error("no name")

    monkeypatch.setattr("hedgerow.ledgers.ledger.getuser", unknown)
    assert who_am_i() == f"{os.getuid()}@{socket.gethostname()}"


def test_what_a_ledger_of_rho_prints():
    ledger = Ledger(rho="0.1", draws=7, records_per_person=2, person="id")
    assert repr(ledger) == (
        "Ledger(ceiling: rho 0.1, normal draws 7, delta of thresholded steps 0, add-remove, for a person identified by column "
        "'id', with at most 2 records; spent: rho 0, normal draws 0, delta of thresholded steps 0 in 0 fits)"
    )
    assert (ledger.ceiling.draws, Ledger(1).ceiling.draws, Ledger(1).ceiling.rho) == (7, 0, None)


def test_repr_shows_the_ceiling_the_adjacency_and_what_was_spent():
    ledger = Ledger(1.5, 1e-6, "replace-one")
    assert repr(ledger) == "Ledger(ceiling: epsilon 1.5, delta 1e-6, replace-one; spent: epsilon 0, delta 0 in 0 fits)"


# copies


def test_copies_are_the_same_ledger():
    ledger = Ledger(1)
    assert clone(ledger) is ledger
    assert clone({"a": ledger}, safe=False)["a"] is ledger
    assert copy.copy(ledger) is ledger
    assert copy.deepcopy([ledger])[0] is ledger


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_is_refused(protocol):
    with pytest.raises(LedgerPickleError, match="n_jobs=1, a threading backend"):
        pickle.dumps({"ledger": Ledger(1)}, protocol)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_cannot_spend_its_copy():
    ledger, context = Ledger(1), multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def spend():
        try:
            ledger.reserve(fit(1))
            queue.put("booked")
        except BaseException as error:
            queue.put(type(error).__name__)

    child = context.Process(target=spend)
    child.start()
    child.join()
    assert queue.get() != "booked"


# threads


def test_threads_never_overdraw(new):
    ledger, barrier, outcomes = new(1), threading.Barrier(8), []

    def spend():
        barrier.wait()
        for _ in range(5):
            try:
                ledger.reserve(fit("0.03"))
                outcomes.append(True)
            except BudgetExceeded:
                outcomes.append(False)
            assert ledger.spent <= 1

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 40
    assert outcomes.count(True) == len(ledger.entries) == 33
    assert ledger.spent == Fraction(99, 100)
