"""One person of several records: what plans may cost, what certificates say, and which ledgers count whom."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import BudgetExceeded, ConfigurationError, FileFormatError
from hedgerow.privacy.accounting import (
    BoundedRange,
    Gaussian,
    Parallel,
    Pure,
    Sequence,
    Thresholded,
    cost,
    event_from_dict,
    event_to_dict,
    gaussian_delta,
)
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.claim import RECORD, Claim, Unit

HALF = Fraction(1, 2)
MILLIONTH = Fraction(1, 10**6)


def pure(epsilon, kind=Pure):
    return kind(Fraction(epsilon), "mechanism", "purpose")


def certificate(event, epsilon=1, delta=0, adjacency="add-remove", records=1, person=None):
    claim = Fraction(epsilon), Fraction(delta), adjacency
    return Certificate("EDPRFClassifier", "private", *claim, event, records_per_person=records, person=person)


@pytest.mark.parametrize(("adjacency", "times"), [("add-remove", 1), ("replace-one", 2)])
@pytest.mark.parametrize("records", [1, 2, 7])
def test_a_person_costs_so_many_times_a_record_and_squares_cost_the_square(adjacency, times, records):
    plan = Sequence((pure(HALF), Gaussian(Fraction(1, 100), 5, "sums"), pure(HALF, BoundedRange)))
    one, person = cost(plan), cost(plan).under(adjacency, records)
    group = times * records
    assert person.epsilon == group * one.epsilon
    assert person.mu_squared == group**2 * one.mu_squared
    assert person.total_mu_squared == group**2 * one.total_mu_squared
    assert person.rho == group**2 * one.rho
    assert person.draws == one.draws  # each is made once, however many records moved its sum


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("delta", [Fraction(0), MILLIONTH])
def test_a_plan_for_persons_uses_its_claim_and_no_more(adjacency, records, delta):
    claim = Claim(Fraction(1), delta, adjacency, records)
    assert cost(pure(claim.pure)).under(adjacency, records).epsilon == 1
    assert claim.covers(pure(claim.pure))
    assert not claim.covers(pure(claim.pure * Fraction(1001, 1000)))
    if delta:

        def build(amount):
            return Sequence((pure(amount, BoundedRange), Gaussian(amount, 10, "sums")) * 8)

        amount = claim.largest(build)
        assert claim.covers(build(amount))
        assert not claim.covers(build(amount * Fraction(1001, 1000)))


def test_a_gaussian_of_a_person_is_that_of_the_larger_mu_and_pays_no_factor_of_e_to_the_epsilon():
    """(epsilon, delta) of one record, made that of k by the general rule, has k e^((k - 1) epsilon) delta."""
    noise, k, epsilon = Gaussian(Fraction(1, 16), 0, "sums"), 10, 0.5
    found = cost(noise).under("add-remove", k).delta(Fraction(k, 2))
    assert found == pytest.approx(gaussian_delta(k * epsilon, k * 0.25), rel=1e-6)
    assert found < k * math.exp((k - 1) * epsilon) * gaussian_delta(epsilon, 0.25) / 10


@given(records=st.integers(1, 40), amounts=st.lists(st.fractions(0, 2, max_denominator=50), min_size=1, max_size=4))
@settings(max_examples=60)
def test_more_records_never_cost_less(records, amounts):
    plan = Sequence(tuple(pure(amount) for amount in amounts))
    less, more = (cost(plan).under("add-remove", k) for k in (records, records + 1))
    assert less.at_most(more)
    assert cost(Parallel((plan, plan))).under("add-remove", records) == less


def test_thresholds_hold_for_the_persons_that_they_were_planned_for():
    three = Thresholded(HALF, "m", "p", delta=MILLIONTH, records=3)
    assert cost(three).under("add-remove", 3).delta(Fraction(3, 2)) <= MILLIONTH
    assert cost(three).under("add-remove", 2).delta(Fraction(1)) <= MILLIONTH
    assert not cost(three).under("add-remove", 4).protected
    one = Thresholded(HALF, "m", "p", delta=MILLIONTH)
    assert not cost(Sequence((three, one))).under("add-remove", 3).protected  # the least of them counts
    assert cost(Sequence((three, pure(1)))).under("add-remove", 3).protected
    assert event_from_dict(event_to_dict(Sequence((three, one)))) == Sequence((three, one))
    assert "records" not in event_to_dict(one)  # as it was written before persons
    with pytest.raises(FileFormatError):
        event_from_dict({**event_to_dict(three), "records": 0})


def test_a_threshold_for_persons_replaced_counts_both():
    k, delta = 2, Claim(Fraction(1), MILLIONTH, "replace-one", 2).pure_delta
    event = Thresholded(Claim(Fraction(1), MILLIONTH, "replace-one", 2).pure, "m", "p", delta=delta, records=k)
    assert Claim(Fraction(1), MILLIONTH, "replace-one", k).covers(event)
    more = Thresholded(event.epsilon, "m", "p", delta=delta * Fraction(1001, 1000), records=k)
    assert not Claim(Fraction(1), MILLIONTH, "replace-one", k).covers(more)


def test_a_certificate_holds_for_persons_only_where_the_plan_was_made_for_them():
    """The planted bug: a plan for one record under a claim for three."""
    assert certificate(pure(1)).holds
    assert not certificate(pure(1), records=3).holds
    assert certificate(pure("1/3"), records=3).holds
    assert not certificate(pure("1/3"), records=3, adjacency="replace-one").holds
    assert certificate(pure("1/6"), records=3, adjacency="replace-one").holds
    noise = Gaussian(Fraction(7, 100), 10, "sums")
    assert certificate(noise, delta=1e-5).holds
    assert not certificate(
        Gaussian(Fraction(7, 300), 10, "sums"), delta=1e-5, records=3
    ).holds  # k in place of its square
    assert certificate(Gaussian(Fraction(7, 900), 10, "sums"), delta=1e-5, records=3).holds


PAGES = [
    (1, None, "add-remove", "for one record added or removed; one record being one row; one record by a factor"),
    (3, None, "add-remove", "one person added or removed, with at most 3 records; nobody having more than 3 records"),
    (3, None, "replace-one", "one person replaced by another, with at most 3 records; number of persons being public"),
    (3, "id", "add-remove", "of whom at most 3 records count; a person being one id in column 'id'"),
    (1, "", "add-remove", "of whom at most 1 record counts; a person being one id in groups=; none without an id"),
    (
        2,
        "id",
        "add-remove",
        "guess about one person by; for 2 records of a person; what each step costs for one record",
    ),
]


@pytest.mark.parametrize(("records", "person", "adjacency", "facts"), PAGES)
def test_the_page_says_whom_it_is_for(records, person, adjacency, facts):
    page = " ".join(certificate(pure("1/100"), records=records, person=person, adjacency=adjacency).details().split())
    for fact in facts.split("; "):
        assert fact in page, page
    assert ("owner promises" in page) == (records > 1 and person is None)


def test_certificates_of_records_are_written_as_before_and_others_are_read_back():
    assert not {"person", "records_per_person"} & set(certificate(pure(1)).to_dict())
    for made in (
        certificate(pure(1), records=3),
        certificate(pure(1), records=1, person=""),
        certificate(pure(1), records=2, person="id"),
    ):
        plain = json.loads(json.dumps(made.to_dict()))
        assert Certificate.from_dict(plain) == made
    for name, value in (
        ("records_per_person", 0),
        ("records_per_person", True),
        ("records_per_person", "2"),
        ("person", 3),
    ):
        with pytest.raises(FileFormatError):
            Certificate.from_dict({**certificate(pure(1)).to_dict(), name: value})


LEDGERS = [
    (RECORD, RECORD, True),
    (RECORD, Unit(1, ""), False),  # one record less of a person brings another one in
    (RECORD, Unit(2), False),
    (Unit(2), RECORD, False),
    (Unit(2), Unit(2), True),
    (Unit(2), Unit(2, "id"), True),
    (Unit(2), Unit(3, "id"), False),
    (Unit(1, "id"), RECORD, False),
    (Unit(1, "id"), Unit(1, "id"), True),
    (Unit(2, "id"), Unit(2, "id"), True),
    (Unit(2, "id"), Unit(2), False),
    (Unit(2, "id"), Unit(2, ""), False),
    (Unit(2, "id"), Unit(2, "household"), False),
]


@pytest.mark.parametrize("rho", [False, True])
@pytest.mark.parametrize(("unit", "plan", "counts"), LEDGERS)
def test_one_ledger_counts_one_unit(unit, plan, counts, rho, tmp_path):
    ceiling = {"rho": 1} if rho else {"epsilon": 1}
    kept = hr.LedgerStore(tmp_path / "b.db").create("d", **ceiling, records_per_person=unit.records, person=unit.person)
    for ledger in (hr.Ledger(**ceiling, records_per_person=unit.records, person=unit.person), kept):
        assert ledger.ceiling.unit == unit
        fit = certificate(pure(Fraction(1, 2 * plan.records)), HALF, records=plan.records, person=plan.person)
        if counts:
            ledger.reserve(fit)
            expected = plan.records**2 * cost(fit.event).rho if rho else HALF
            assert ledger.spent == expected
        else:
            with pytest.raises(BudgetExceeded, match="Fit for that"):
                ledger.reserve(fit)
            assert ledger.spent == 0
    kept.store.verify("d")


def test_shares_and_raises_keep_the_unit(tmp_path):
    store = hr.LedgerStore(tmp_path / "b.db")
    whole = store.create("whole", epsilon=2, records_per_person=3, person="id")
    for wrong in ({}, {"records_per_person": 3}, {"records_per_person": 3, "person": "other"}):
        with pytest.raises(ConfigurationError, match="pass its records_per_person and person"):
            store.create("part", epsilon=1, parent="whole", **wrong)
    part = store.create("part", epsilon=1, parent="whole", records_per_person=3, person="id")
    part.reserve(certificate(pure("1/3"), records=3, person="id"))
    store.raise_ceiling("whole", epsilon=3, reason="more")
    assert (whole.spent, whole.ceiling.unit) == (1, Unit(3, "id"))
    store.verify("whole")
    with pytest.raises(ConfigurationError, match="person is 5"):
        store.create("wrong", epsilon=1, person=5)
    assert "column 'id', with at most 3 records" in repr(hr.Ledger(1, records_per_person=3, person="id"))


def test_a_replace_one_ledger_of_persons_counts_a_person_removed_and_one_added():
    ledger = hr.Ledger(rho=1, adjacency="replace-one", records_per_person=3)
    plan = certificate(pure("1/30"), "1/10", records=3)
    ledger.reserve(plan)
    assert ledger.spent == 36 * cost(plan.event).rho
    pairs = hr.Ledger(1, adjacency="replace-one", records_per_person=3)
    pairs.reserve(plan)
    assert pairs.spent == Fraction(2, 10)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2", 2**31 + 1])
def test_a_number_of_records_is_a_whole_number(wrong):
    assert hr.Ledger(1, records_per_person=2**31).ceiling.records_per_person == 2**31
    with pytest.raises(ConfigurationError, match="records_per_person"):
        hr.Ledger(1, records_per_person=wrong)
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=[0, 1])
    with pytest.raises(ConfigurationError, match="records_per_person"):
        hr.EDPRFClassifier(schema=schema, records_per_person=wrong).fit(np.zeros((2, 1)), [0, 1])


def test_a_certificate_of_version_0_2_that_rests_on_ids_does_not_hold():
    """That version read 1.1 and 1.10 as one person; whether these records have such ids the certificate cannot tell."""
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    model = hr.EDPRFClassifier(schema=schema, records_per_person=2).fit([[0.5]], ["no"], groups=["p"])
    now = model.certificate_.to_dict()
    before = Certificate.from_dict({key: value for key, value in now.items() if key != "ids"})
    assert Certificate.from_dict(now).holds
    assert not before.holds
    assert "1.1 and 1.10" in before.reasons[0]
    assert "ids" not in before.to_dict()
