"""What a ceiling allows: each sum up to its limit and not beyond, raises alone, and what it is worth rounded up."""

import math
from dataclasses import fields, replace
from fractions import Fraction

import pytest
from ledger_helpers import fit

from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.files import LONGEST_WORDS, MOST_RECORDS_OF_ONE
from hedgerow.ledgers.ceiling import Amount, Ceiling, Standing
from hedgerow.privacy.accounting import FLOAT_GUARD, Gaussian, concentrated_delta

TINY, THIRD = Fraction(1, 10**40), Fraction(1, 3)
BY_EPSILON = Ceiling.of(1, "0.0003")
BY_RHO = Ceiling.of(None, "0.0003", rho="0.1", draws=10, adjacency="replace-one", records_per_person=2, person="id")
AMOUNT = Amount(THIRD, Fraction(1, 7), Fraction(3), 4, 5, 6)
PARTS = tuple(part.name for part in fields(Amount))


def test_amounts_add_up_part_by_part():
    assert AMOUNT + Amount() == AMOUNT
    assert Amount(Fraction(2, 3), Fraction(2, 7), Fraction(6), 8, 10, 12) == AMOUNT + AMOUNT
    assert Amount() == Amount(Fraction(0), Fraction(0), Fraction(0), 0, 0, 0)


@pytest.mark.parametrize("part", PARTS)
def test_an_amount_covers_another_where_no_part_is_above_it(part):
    more = replace(AMOUNT, **{part: getattr(AMOUNT, part) + 1})
    assert AMOUNT.covers(AMOUNT)
    assert more.covers(AMOUNT)
    assert not AMOUNT.covers(more)


@pytest.mark.parametrize(
    "value", [AMOUNT, Amount(), BY_EPSILON, BY_RHO, Standing(BY_RHO, AMOUNT, closed=True)], ids=str
)
def test_what_is_written_is_read_again(value):
    assert type(value).from_dict(value.to_dict()) == value


@pytest.mark.parametrize(
    ("ceiling", "part", "least"),
    [
        (BY_EPSILON, "epsilon", TINY),
        (BY_EPSILON, "delta", TINY),
        (BY_RHO, "rho", TINY),
        (BY_RHO, "delta", TINY),
        (BY_RHO, "draws", 1),
    ],
)
def test_a_sum_reaches_its_ceiling_and_does_not_pass_it(ceiling, part, least):
    limit = getattr(ceiling, part)
    before, rest = Amount(**{part: least}), Amount(**{part: limit - least}, fits=1)
    assert ceiling.check("a fit", rest, before) == Amount(**{part: limit}, fits=1)
    with pytest.raises(BudgetExceeded, match=r"a fit asks for .* nothing was drawn"):
        ceiling.check("a fit", rest, replace(before, **{part: 2 * least}))


@pytest.mark.parametrize("part", ["epsilon", "delta", "rho"])
def test_a_sum_has_as_many_digits_as_can_be_written_and_no_more(part):
    ceiling = replace(BY_EPSILON if part == "epsilon" else BY_RHO, **{part: Fraction(2)})
    for numerator in (1, 2**12_000 - 1):  # long below, and above as well
        amount = Amount(**{part: Fraction(numerator, 2**11_999)})
        assert ceiling.check("a fit", amount, Amount()) == amount
        with pytest.raises(BudgetExceeded, match="too long a fraction"):
            ceiling.check("a fit", replace(amount, **{part: Fraction(numerator, 2**12_000)}), Amount())
    assert Amount.from_dict(amount.to_dict()) == amount


def test_what_a_user_may_name():
    assert Ceiling(Fraction(1)) == Ceiling(Fraction(1), Fraction(0), None, 0, "add-remove", 1, None)
    assert Ceiling.of(1, "0.0003") == Ceiling(Fraction(1), Fraction(3, 10**4), None, 0, "add-remove", 1, None)
    unit = {"adjacency": "replace-one", "records_per_person": 2, "person": "id"}
    assert Ceiling.of(None, "0.0003", rho="0.1", draws=10, **unit) == replace(BY_RHO, rho=Fraction(1, 10), **unit)
    assert Ceiling.of(None, rho=1).draws == 2**30
    assert Ceiling.of(None, rho=1, draws=2**60).draws == 2**60
    assert Ceiling.of(None, rho=1, draws=1).draws == 1
    assert Ceiling.of(1, records_per_person=MOST_RECORDS_OF_ONE).records_per_person == MOST_RECORDS_OF_ONE
    assert Ceiling.of(1, person="p").person == "p"
    assert Ceiling.of(1, person="p" * LONGEST_WORDS).person == "p" * LONGEST_WORDS


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rho": 1, "draws": 2**60 + 1}, "draws is"),
        ({"rho": 1, "draws": 0}, "draws is"),
        ({"rho": 1, "draws": True}, "draws is"),
        ({"rho": 1, "draws": 1.0}, "draws is"),
        ({"rho": 0}, "rho is"),
        ({"epsilon": 1, "draws": 1}, "beside a rho only"),
        ({"epsilon": 1, "records_per_person": MOST_RECORDS_OF_ONE + 1}, "records_per_person is"),
        ({"epsilon": 1, "person": ""}, "person is"),
        ({"epsilon": 1, "person": "p" * (LONGEST_WORDS + 1)}, "person is"),
        ({"epsilon": 1, "person": 3}, "person is"),
        ({"epsilon": 0}, "epsilon is"),
        ({"epsilon": -1}, "epsilon is"),
        ({"epsilon": True}, "epsilon is"),
        ({"epsilon": 1, "delta": 1}, "delta is"),
        ({"epsilon": 1, "adjacency": "bounded"}, "adjacency is"),
        ({}, "one ceiling"),
        ({"epsilon": 1, "rho": 1}, "one ceiling"),
    ],
)
def test_a_ceiling_of_no_two_or_wrong_amounts_is_refused(wrong, words):
    with pytest.raises(ConfigurationError, match=words):
        Ceiling.of(**{"epsilon": None, **wrong})


@pytest.mark.parametrize(
    ("ceiling", "part", "more"),
    [
        (BY_EPSILON, "epsilon", 1 + TINY),
        (BY_EPSILON, "delta", Fraction(3, 10**4) + TINY),
        (BY_RHO, "rho", Fraction(1, 10) + TINY),
        (BY_RHO, "delta", Fraction(3, 10**4) + TINY),
        (BY_RHO, "draws", 11),
    ],
)
def test_a_ceiling_is_raised_in_one_part_and_lowered_in_none(ceiling, part, more):
    raised = replace(ceiling, **{part: more})
    assert ceiling.raised_to(raised) is raised
    for no_more in (raised, ceiling):
        with pytest.raises(ConfigurationError, match="only be raised"):
            raised.raised_to(no_more)


@pytest.mark.parametrize(
    "change",
    [{"adjacency": "add-remove"}, {"records_per_person": 3}, {"person": None}, {"rho": None, "epsilon": Fraction(9)}],
)
def test_a_ceiling_keeps_its_kind(change):
    with pytest.raises(ConfigurationError, match="keeps its kind"):
        BY_RHO.raised_to(replace(BY_RHO, draws=20, **change))


@pytest.mark.parametrize("seeded", [False, True])
def test_a_fit_counts_its_rho_and_draws_or_its_whole_claim_by_the_kind_of_ceiling(seeded):
    noise = Gaussian(Fraction(1, 50), 7, "sums")
    found = Ceiling.of(None, rho=1).amount(fit(1, "1/100", event=noise, seeded=seeded))
    assert found == Amount(rho=Fraction(1, 100), draws=7, fits=1, seeded=int(seeded))
    found = Ceiling.of(2, "1/10").amount(fit(1, "1/100", event=noise, seeded=seeded))
    assert found == Amount(Fraction(1), Fraction(1, 100), fits=1, seeded=int(seeded))


def test_a_ceiling_counts_epsilon_or_rho_and_leaves_the_rest():
    spent = Amount(THIRD, rho=Fraction(1, 30))
    assert (BY_EPSILON.kind, BY_EPSILON.left(spent)) == ("epsilon", Amount(Fraction(2, 3), Fraction(3, 10**4)))
    left = Amount(rho=Fraction(1, 15), draws=10, delta=Fraction(3, 10**4))
    assert (BY_RHO.kind, BY_RHO.left(spent)) == ("rho", left)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 40.0])
def test_what_a_rho_is_worth_is_rounded_up_and_hardly(epsilon, adjacency):
    """A record replaced is one less and one more, and the second's delta counts e^epsilon times."""
    ceiling = Ceiling.of(None, "1/100", rho="0.1", draws=2**40, adjacency=adjacency)
    both = 1 + math.exp(epsilon)
    exact = concentrated_delta(epsilon, 0.1) + 2**40 / 2**62 * both
    exact += 0.01 * (both if adjacency == "replace-one" else 1)
    assert exact * (1 + FLOAT_GUARD / 2) < ceiling.delta_at(epsilon) < exact * (1 + 1e-6)


def test_a_large_delta_leaves_hardly_an_epsilon_and_never_less_than_none():
    assert 0 < Ceiling.of(None, rho="1e-9").epsilon_at("0.5") < 1e-12


def test_beyond_the_largest_float_no_delta_is_left():
    for ceiling in (Ceiling.of(None, rho=1), Ceiling.of(None, "1e-6", rho=1, adjacency="replace-one")):
        assert 1 < ceiling.delta_at(1e6) < math.inf


@pytest.mark.parametrize("epsilon", ["1/3", "1/7", "0.1", "0.3", "2"])
def test_an_epsilon_reads_as_no_less_than_it_is(epsilon):
    found = Ceiling.of(epsilon).epsilon_at(0)
    assert math.nextafter(found, 0) < Fraction(epsilon) <= Fraction(found)


def test_an_epsilon_holds_for_its_delta_and_any_larger_one():
    for delta in ("0.0003", "0.01"):
        assert BY_EPSILON.epsilon_at(delta) == 1
    with pytest.raises(ConfigurationError, match="says nothing for"):
        BY_EPSILON.epsilon_at(Fraction(3, 10**4) - TINY)


@pytest.mark.parametrize(("epsilon", "finite"), [(699, True), (700, True), (Fraction(7001, 10), False)])
def test_a_delta_of_one_record_replaced_is_1_where_no_float_holds_it(epsilon, finite):
    delta = Fraction(1, 10**310)
    ceiling = Ceiling.of(10**6, "0.5", adjacency="replace-one")
    counted = ceiling.amount(fit(epsilon, delta))
    assert counted.epsilon == 2 * epsilon
    assert ceiling.amount(fit(epsilon)) == Amount(2 * Fraction(epsilon), fits=1)
    if finite:
        assert float(counted.delta) == pytest.approx(math.exp(float(epsilon) - 310 * math.log(10)), rel=1e-9)
    else:
        assert counted.delta == 1
