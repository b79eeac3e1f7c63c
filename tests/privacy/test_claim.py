"""Claims: what they leave to a pure plan, and the largest plan of a kind that they cover."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from scipy.optimize import brenth

from hedgerow.errors import ConfigurationError
from hedgerow.privacy.accounting import BoundedRange, Gaussian, Pure, Sequence, concentrated_rho, cost
from hedgerow.privacy.claim import Claim, NoAmountError

ONE = Claim(Fraction(1))


def pure(epsilon):
    return Pure(Fraction(epsilon), "mechanism", "purpose")


def gaussian(mu_squared, draws=1):
    return Gaussian(Fraction(mu_squared), draws, "purpose")


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10)])
def test_a_pure_plan_costs_the_whole_claim_under_its_adjacency(epsilon, adjacency):
    assert cost(pure(Claim(epsilon, adjacency=adjacency).pure)).under(adjacency).epsilon == epsilon


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_claim_covers_what_costs_no_more(adjacency):
    claim = Claim(Fraction(1), adjacency=adjacency)
    assert claim.covers(pure(claim.pure))
    assert not claim.covers(pure(claim.pure * Fraction(1001, 1000)))
    assert not claim.covers(gaussian("1/100"))
    assert Claim(Fraction(1), Fraction(1, 100), adjacency).covers(gaussian("1/100"))


@pytest.mark.parametrize("epsilon", ["1/500", "1/3", "10", "100"])
def test_the_largest_pure_amount_is_the_claim(epsilon):
    found = Claim(Fraction(epsilon)).largest(pure)
    assert Fraction(epsilon) * (1 - Fraction(1, 10**5)) < found <= Fraction(epsilon)


@pytest.mark.parametrize("epsilon", [Fraction(1, 8), Fraction(1), Fraction(64)])
def test_the_largest_amount_may_be_the_first_place_of_the_search(epsilon):
    """A power of two is where the search between an amount and its double begins."""
    assert Claim(epsilon).largest(pure) == epsilon


def test_an_amount_is_at_least_the_one_whose_noise_is_near_the_samplers_largest():
    least = Fraction(1, 2**30)
    assert Claim(least).largest(pure) == least
    with pytest.raises(NoAmountError):
        Claim(least * Fraction(2**20 - 1, 2**20)).largest(pure)


def test_a_claim_that_no_plan_of_a_kind_keeps_is_refused_with_the_way_out():
    with pytest.raises(
        ConfigurationError, match=r"no plan of this kind keeps to delta 1e-20 at epsilon 1: .* larger delta"
    ):
        Claim(Fraction(1), Fraction(1, 10**20)).largest(gaussian)  # one draw of the sampler alone costs more

    def never(amount):
        raise ConfigurationError("too small for the samplers")

    with pytest.raises(ConfigurationError, match="no plan of this kind"):
        ONE.largest(lambda amount: pure(2) if amount >= 1 else never(amount))


@pytest.mark.parametrize("delta", ["1/1000", "1/1000000", "1/1000000000"])
@pytest.mark.parametrize("epsilon", ["1/20", "1/3", "1", "4", "12"])
def test_the_largest_amount_is_the_last_of_a_million_below_its_double_and_found_in_few_steps(epsilon, delta):
    claim, built = Claim(Fraction(epsilon), Fraction(delta)), []

    def build(amount):
        built.append(amount)
        return Sequence((BoundedRange(amount / 16, "m", "p"), gaussian(2 * amount)))

    amount = claim.largest(build)
    assert len(built) <= 16
    unit = Fraction(2) ** (math.floor(math.log2(amount)) - 20)
    assert (amount / unit).denominator == 1
    assert claim.covers(build(amount))
    assert not claim.covers(build(amount + unit))


@pytest.mark.parametrize("off", [-3, -1, 1, 2, 3])
@pytest.mark.parametrize("delta", ["0", "1/1000000"])
def test_nothing_rests_on_where_the_search_ends(monkeypatch, delta, off):
    claim = Claim(Fraction(1, 3), Fraction(delta))
    build = pure if not claim.delta else lambda amount: gaussian(2 * amount)
    amount = claim.largest(build)
    monkeypatch.setattr("hedgerow.privacy.claim.brenth", lambda *args, **more: brenth(*args, **more) + off)
    assert claim.largest(build) == amount


def test_what_is_wrong_with_a_plan_of_any_amount_is_said_as_it_is():
    def build(amount):
        raise ConfigurationError("no such candidates")

    with pytest.raises(ConfigurationError, match="no such candidates") as caught:
        Claim(Fraction(1), Fraction(1, 10**6)).largest(build)
    assert not isinstance(caught.value, NoAmountError)


@pytest.mark.parametrize(("epsilon", "delta"), [("1/1000000000", "1/2"), ("1/1000", "1/10"), ("1/100", "999/1000")])
def test_where_delta_allows_more_than_epsilon_an_amount_is_found(epsilon, delta):
    claim = Claim(Fraction(epsilon), Fraction(delta))

    def build(amount):
        if amount < Fraction(1, 500):
            raise ConfigurationError("too small for the samplers")
        return gaussian(2 * amount)

    amount = claim.largest(build)
    assert claim.covers(build(amount))
    assert not claim.covers(build(amount * Fraction(100001, 100000)))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**400), Fraction(1, 10**30)])
def test_a_claim_too_small_for_any_amount_is_refused(epsilon):
    def build(amount):
        if amount < Fraction(1, 2**40):
            raise ConfigurationError("too small for the samplers")
        return gaussian(2 * amount)

    for delta in (Fraction(1, 10**400), Fraction(1, 10**20)):
        with pytest.raises(NoAmountError):
            Claim(epsilon, delta).largest(build)


@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "3", "20"])
def test_the_delta_of_one_person_added_is_rounded_down_and_hardly(epsilon, records):
    """One removed and one added are (epsilon/2, delta)-DP each, and delta (1 + e^(epsilon/2)) together."""
    epsilon, delta = Fraction(epsilon), Fraction(1, 10**6)
    claim = Claim(epsilon, delta, "replace-one", records)
    assert claim.pure * records * 2 == epsilon
    with localcontext(prec=50):
        half = Decimal(epsilon.numerator) / (2 * Decimal(epsilon.denominator))
        right = Fraction(Decimal("1e-6") / (1 + half.exp()))
    assert right * (1 - Fraction(1, 2**28)) < claim.pure_delta <= right
    assert Claim(epsilon, delta, records_per_person=records).pure_delta == delta
    assert Claim(epsilon, adjacency="replace-one").pure_delta == 0
    assert Claim(Fraction(10**6), delta, "replace-one").pure_delta == 0  # nothing is left of it


def test_a_claim_is_of_one_record_added_or_removed_unless_it_says_so():
    assert Claim(Fraction(1)) == Claim(Fraction(1), Fraction(0), "add-remove", 1)


def rounds_of(rho):
    """Eight selections and sums that cost so much rho together."""
    return Sequence((BoundedRange(Fraction(1, 10), "m", "p"), gaussian(rho / 4 - Fraction(1, 400), 10)) * 8)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("records", [1, 3])
def test_the_rho_of_a_claim_is_nearly_the_largest_for_whoever_it_protects(adjacency, records):
    claim = Claim(Fraction(8), Fraction(1, 10**6), adjacency, records)
    rho, group = claim.rho(lambda amount: gaussian(2 * amount, 10)), records * (1 if adjacency == "add-remove" else 2)
    assert claim.covers(gaussian(2 * rho, 10))
    assert float(rho) >= concentrated_rho(8.0, 1e-6) / group**2 * (1 - 1e-6)
    assert float(rho) == pytest.approx(float(claim.largest(lambda amount: gaussian(2 * amount, 10))), rel=1e-3)
    assert not claim.covers(gaussian(2 * rho * Fraction(1001, 1000), 10))


def test_the_rho_of_a_claim_is_not_above_what_a_plan_of_it_costs():
    claim = Claim(Fraction(1), Fraction(1, 10**6))
    rho = claim.rho(rounds_of)
    assert claim.covers(rounds_of(rho))
    assert float(rho) > 0.9 * concentrated_rho(1.0, 1e-6)


def test_where_draws_or_the_claim_leave_no_rho_it_is_refused():
    with pytest.raises(NoAmountError, match="no plan of this kind keeps to delta 1e-20"):
        Claim(Fraction(1), Fraction(1, 10**20)).rho(gaussian)
    with pytest.raises(NoAmountError):
        Claim(Fraction(1, 10**6), Fraction(1, 10**9)).rho(gaussian)
