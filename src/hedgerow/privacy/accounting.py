"""What happened to the records, as frozen values, and what it costs by all accountants at once.

An event states which mechanism ran and its cost under add/remove adjacency; composite events state how their parts share the
records. The meaning of an event never changes.

Amounts are exact fractions. Conversions from one measure of privacy to another are floats, each rounded towards more cost, and so
is the conversion to (epsilon, delta), which uses the best accountant (docs/proofs/concentrated.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from typing import Any, Literal, cast, get_args

from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, ndtr, ndtri

from hedgerow import files
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.privacy.exact import read_fraction
from hedgerow.texts import short_repr

LEAST = dict.fromkeys(("epsilon", "delta", "mu_squared", "rho", "draws", "count"), 0)  # of these fields of events
LEAST |= {"records": 1, "shares": 1}


@dataclass(frozen=True, repr=False)
class Event:
    __repr__ = short_repr

    def __post_init__(self) -> None:
        for name, amount in vars(self).items():
            if amount < LEAST[name] if name in LEAST else name == "inclusion" and not 0 < amount <= 1:
                raise ValueError(f"an event's {name} is {amount}, which no mechanism has; nothing gives budget back.")


# DPAda: equation 1; definition 1
# CART-DPsAdaBoost: equation 1; definition 1
@dataclass(frozen=True, repr=False)
class Pure(Event):  # eDPRF: equations 1 and 2; definition 2
    """A mechanism that is epsilon-DP when one record is added or removed."""

    epsilon: Fraction
    mechanism: str
    purpose: str
    level: int = 0  # of the tree that it belongs to; 0: none


@dataclass(frozen=True, repr=False)
class BoundedRange(Pure):
    """An exponential mechanism: epsilon-DP, and its loss stays within an interval of length epsilon.

    That is less than an epsilon-DP step may lose in general, so many of them compose to less (docs/proofs/concentrated.md).
    """


@dataclass(frozen=True, repr=False)
class Thresholded(Pure):
    """A mechanism that is (epsilon, delta)-DP: it releases what passes a threshold; a single record does with probability delta.

    With one record more, its law is epsilon-close to the law without that record, except for a probability of delta
    (docs/proofs/released-schemas.md). Deltas of thresholds add up by themselves. ``delta`` holds for a person of at
    most ``records`` records; ``epsilon`` is that of one record, as in every event.
    """

    delta: Fraction = Fraction(0)
    records: int = 1


@dataclass(frozen=True, repr=False)
class Gaussian(Event):
    """Gaussian noise that is mu-Gaussian-DP, ``mu**2 = mu_squared``, except for ``draws`` draws of an approximate sampler.

    Each draw is within a total variation of 2**-62 of the exact law (docs/proofs/gaussian.md).
    """

    mu_squared: Fraction
    draws: int
    purpose: str
    level: int = 0


@dataclass(frozen=True, repr=False)
class Concentrated(Event):
    """A mechanism that is rho-zero-concentrated DP when one record is added or removed; no other accountant bounds it."""

    rho: Fraction
    mechanism: str
    purpose: str
    level: int = 0
    shares: int = 1  # of how many owners at least the noise is


# DPAda: definition 3
# CART-DPsAdaBoost: property 1
@dataclass(frozen=True, repr=False)
class Sequence(Event):  # eDPRF: theorem 1
    """Parts that each read all the records: their costs add up."""

    parts: tuple[Event, ...]


@dataclass(frozen=True, repr=False)
class SelectAndMeasure(Sequence):
    """Selections of bounded range and, after the last, one Gaussian measurement: charged together before the first runs.

    By Gaussian DP they cost less together than apart (docs/proofs/joint.md). Any may be left out; their order stays. ``ratio``
    chooses a bound of ``JOINT_FACTORS``. No selection has an epsilon above ``LARGEST_JOINT_EPSILON``.
    """

    ratio: int = 3

    def __post_init__(self) -> None:
        ordered = len(self.parts) > 1 and isinstance(self.parts[-1], Gaussian) and self.ratio in JOINT_FACTORS
        for part in self.parts[:-1]:
            ordered = ordered and isinstance(part, BoundedRange)
            if ordered and cast(BoundedRange, part).epsilon > LARGEST_JOINT_EPSILON:
                raise ValueError("no joint account is proved for a selection of so large an epsilon.")
        if not ordered:
            raise ValueError("selections of bounded range come before one Gaussian measurement.")

    @property
    def squares(self) -> tuple[Fraction, Fraction]:
        """A quarter of the sum of the selections' squared epsilons, and the squared mu of the measurement."""
        *selections, measurement = cast(tuple[Any, ...], self.parts)
        selected = NONE
        for part in selections:
            selected += part.epsilon**2 / 4
        return selected, measurement.mu_squared


# CART-DPsAdaBoost: property 2
@dataclass(frozen=True, repr=False)
class Parallel(Event):  # eDPRF: theorem 2
    """Parts that read disjoint records by released tests: the largest cost counts."""

    parts: tuple[Event, ...]
    label: str = ""  # what one record pays; of ``OneOf`` what chooses


@dataclass(frozen=True, repr=False)
class OneOf(Parallel):
    """Alternatives of which one runs, chosen by what was released before: the largest cost counts."""

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("a choice needs something to choose from.")


@dataclass(frozen=True, repr=False)
class PerRecordAssignment(Event):
    """``count`` copies of one plan; each record goes to one of them by its own coin (docs/proofs/composition.md)."""

    part: Event
    count: int


@dataclass(frozen=True, repr=False)
class Subsampled(Event):
    """A plan on a Poisson sample, where records take part with probability ``inclusion`` (docs/proofs/composition.md)."""

    part: Event
    inclusion: Fraction


@dataclass(frozen=True, repr=False)
class Unprotected(Event):
    """A step that reads records without protection; its cost is infinite. ``reason`` says which and why."""

    reason: str


_STEPS = (Pure, BoundedRange, Thresholded, Gaussian, Concentrated, Unprotected)
WHOLE = ("level", "draws", "count", "records", "ratio", "shares")
_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (*_STEPS, Sequence, SelectAndMeasure, Parallel, OneOf, PerRecordAssignment, Subsampled)
}


def event_to_dict(event: Event) -> dict[str, Any]:
    def plain(value: object) -> object:
        if isinstance(value, Event):
            return event_to_dict(value)
        if isinstance(value, tuple):
            return [plain(part) for part in value]
        return str(value) if isinstance(value, Fraction) else value

    written = {name: plain(value) for name, value in vars(event).items() if (name, value) != ("records", 1)}
    return {"event": type(event).__name__} | written


def event_from_dict(data: object) -> Event:
    """Return the event that ``event_to_dict`` wrote, within ``hedgerow.files``, or raise FileFormatError."""
    try:
        return _Reader().event(data, 0)
    except (KeyError, TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise FileFormatError("the file's list of privacy events is damaged; fit the model again.") from error


class _Reader:
    """Reads one tree of events within limits on its size and on the work to add it up."""

    def __init__(self) -> None:
        self._events = 0
        self._denominator = 1  # common to all amounts

    def event(self, data: Any, depth: int) -> Event:
        self._events += 1
        if depth > files.DEEPEST_EVENT or self._events > files.MOST_EVENTS:
            raise ValueError("too many events, or too deep")
        kind = _KINDS[data["event"]]
        return kind(**{name: self._field(name, value, depth) for name, value in data.items() if name != "event"})

    def _field(self, name: str, value: Any, depth: int) -> Any:
        if name in ("epsilon", "delta", "mu_squared", "rho", "inclusion"):
            amount = read_fraction(value)
            self._denominator = math.lcm(self._denominator, amount.denominator)
            if amount and not files.SMALLEST_AMOUNT <= amount <= files.LARGEST_AMOUNT:
                raise ValueError("an amount out of all bounds")
            if self._denominator.bit_length() > files.MOST_DENOMINATOR_BITS:
                raise ValueError("amounts that take long to add")
            return amount
        if name == "part":
            return self.event(value, depth + 1)
        if name == "parts" and isinstance(value, list):
            parts: list[Event] = []  # equal neighbors are one object
            for before, part in zip([None, *value], value, strict=False):
                parts.append(parts[-1] if parts and part == before else self.event(part, depth + 1))
            return tuple(parts)
        if name in WHOLE and type(value) is int and value < files.LARGEST_INTEGER:
            return value
        longest = math.inf if name == "reason" else files.LONGEST_WORDS  # a reason may name all features
        if name in ("reason", "mechanism", "purpose", "label") and isinstance(value, str) and len(value) <= longest:
            return value
        raise TypeError(name)


Adjacency = Literal["add-remove", "replace-one"]

SAMPLER_ERROR = Fraction(1, 2**62)
EXPONENT_GUARD = 1e-15  # relative, for each unit of an exponent
AMPLIFICATION_GUARD = Fraction(1, 2**40)  # relative; the float functions are accurate to a few units in the 53rd bit
CONCENTRATED_GUARD = 1e-9  # relative, of logarithms and quantiles
HALF_PI = Fraction(15707963268, 10**10)  # rounded up
# By ratio: what a selection adds to the squared mu of a joint account, in units of epsilon**2 / 4, if the squared mu of the
# measurement is at least the ratio times those units, and is counted as such (docs/proofs/joint.md)
JOINT_FACTORS = {3: Fraction(211, 200), 1: Fraction(57, 50)}
LARGEST_JOINT_EPSILON = 2  # of a selection: the proof holds up to here
RATIO_GUARD = Fraction(1, 2**10)  # relative: amounts are rounded down by at most this
SMALL = 1e-3  # below this epsilon the simple bounds are as good, and exact
FLOAT_GUARD = 1e-13  # relative; the two terms of the formula are accurate to about 1e-15
NONE = Fraction(0)


def check_adjacency(adjacency: str) -> Adjacency:
    if adjacency in get_args(Adjacency):
        return cast(Adjacency, adjacency)
    raise ConfigurationError(f"adjacency is {adjacency!r}; pass 'add-remove' or 'replace-one'.")


@lru_cache(maxsize=4096)
def rho_of_pure(epsilon: Fraction, *, ranged: bool) -> Fraction:
    """Return, rounded up, the rho of an epsilon-DP step: epsilon tanh(epsilon / 2), or less for a bounded range."""
    simple = epsilon**2 / (8 if ranged else 2)
    e = float(epsilon)
    if e < SMALL:
        return simple
    if ranged:
        above = e / -math.expm1(-e) - 1
        return min(simple, Fraction((above - math.log1p(above)) * (1 + CONCENTRATED_GUARD)))
    return min(simple, Fraction(e * math.tanh(e / 2) * (1 + CONCENTRATED_GUARD)))


@lru_cache(maxsize=4096)
def mu_squared_of_pure(epsilon: Fraction, *, ranged: bool) -> Fraction:
    """Return, rounded up, the squared mu of an epsilon-DP step: mu = 2 Phi^-1(1 / (1 + e^-epsilon)), at epsilon / 2 if ranged."""
    e = float(epsilon) / (2 if ranged else 1)
    if e < SMALL:  # mu <= e sqrt(pi / 2), as the quantile is concave there
        return HALF_PI * epsilon**2 / (4 if ranged else 1)
    if e > 30:  # the quantile of a float near 1 says little; mu < 2 sqrt(2 e), as a normal tail is below exp(-x^2 / 2)
        return Fraction(math.ceil(8 * e))
    return Fraction((2 * -float(ndtri(1 / (1 + math.exp(e))))) ** 2 * (1 + CONCENTRATED_GUARD))


@lru_cache(maxsize=64)
def joint_mu_squared(event: SelectAndMeasure) -> Fraction:
    selected, measured = event.squares
    return JOINT_FACTORS[event.ratio] * selected + max(measured, event.ratio * selected)


def joined(courses: Iterable[tuple[Event, ...]]) -> tuple[Event, ...]:
    """Return courses of steps as events, of which one runs: as joint ones where each measurement is large enough.

    Selections choose the course, so one ratio is for all (docs/proofs/joint.md).
    """
    apart = tuple(map(Sequence, courses))
    for ratio in JOINT_FACTORS:
        try:
            together = tuple(
                SelectAndMeasure(course.parts, ratio) if len(course.parts) > 1 else course for course in apart
            )
        except ValueError:  # other steps, or too large ones
            return apart
        squares = [event.squares for event in together if isinstance(event, SelectAndMeasure)]
        if all(measured * (1 + RATIO_GUARD) >= ratio * selected for selected, measured in squares):
            return together
    return apart


def covers(paid: Event, step: Event | None) -> bool:
    """Return whether a step has the kind of a step that was paid for, and costs no more. Draws are charged separately."""
    if isinstance(paid, BoundedRange) and isinstance(step, BoundedRange):
        return step.epsilon <= paid.epsilon
    return isinstance(paid, Gaussian) and isinstance(step, Gaussian) and step.mu_squared <= paid.mu_squared


@lru_cache(maxsize=4096)
def amplified(epsilon: Fraction, inclusion: Fraction) -> Fraction:
    """Return, rounded up, the cost of an epsilon-DP plan on a Poisson sample: ln(1 + q (e^epsilon - 1))."""
    if inclusion == 1 or epsilon == 0 or epsilon > 500:
        return epsilon
    return min(epsilon, Fraction(math.log1p(float(inclusion) * math.expm1(float(epsilon)))) * (1 + AMPLIFICATION_GUARD))


def before_amplification(epsilon: Fraction, inclusion: Fraction) -> Fraction:
    """Return, rounded down, the budget of a plan that costs at most ``epsilon`` on a Poisson sample."""
    if inclusion == 1 or epsilon > 500:
        return epsilon
    budget = Fraction(math.log1p(math.expm1(float(epsilon)) / float(inclusion))) * (1 - 4 * AMPLIFICATION_GUARD)
    return budget if amplified(budget, inclusion) <= epsilon else epsilon


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return, rounded up, the delta of mu-Gaussian-DP at epsilon (Dong, Roth and Su 2022, corollary 1)."""
    if mu == 0:
        return math.ulp(0.0)
    first = float(ndtr(-epsilon / mu + mu / 2))
    second = math.exp(min(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)), 0.0))
    # A rounded argument moves a tail by a relative error that grows with the exponent.
    guard = max(FLOAT_GUARD, EXPONENT_GUARD * (epsilon + (epsilon / mu + mu / 2) ** 2))
    return max(first - second + guard * (first + second), math.ulp(0.0))


def concentrated_delta(epsilon: float, rho: float) -> float:
    """Return, rounded up, the delta of rho-zero-concentrated DP at epsilon (Canonne, Kamath and Steinke 2020).

    Every order a > 1 gives a bound. The search for the best order is over ln(a - 1).
    """
    if rho <= 0:
        return math.ulp(0.0)

    def log_bound(log_above: float) -> float:
        above = math.exp(log_above)
        order = above + 1
        return above * (order * rho - epsilon) - order * math.log1p(1 / above) - log_above

    best = minimize_scalar(log_bound, bounds=(-15.0, 25.0), method="bounded", options={"xatol": 1e-6})
    exponent = float(log_bound(float(best.x)))
    size = 1 + abs(exponent) + rho * math.exp(2 * float(best.x))
    return max(math.exp(min(exponent, 0.0)) * (1 + CONCENTRATED_GUARD + EXPONENT_GUARD * size), math.ulp(0.0))


def concentrated_rho(epsilon: float, delta: float) -> float:
    """Return about the largest rho for which rho-zero-concentrated DP is (epsilon, delta)-DP by ``concentrated_delta``.

    Each order's bound can be solved for rho, so it is one search for the best order, and not one for each rho.
    """
    log_delta = math.log(delta)

    def negative_rho(log_above: float) -> float:
        above = math.exp(log_above)
        order = above + 1
        return -(epsilon + (log_delta + order * math.log1p(1 / above) + log_above) / above) / order

    best = minimize_scalar(negative_rho, bounds=(-15.0, 25.0), method="bounded", options={"xatol": 1e-9})
    return -negative_rho(float(best.x))


def _sum(a: Fraction, b: Fraction) -> Fraction:
    return a + b if a and b else a or b  # sums of fractions are slow, and many are with zero


@dataclass(frozen=True)
class Cost:
    """The cost of a plan when one record is added or removed: exact sums, and what is approximate.

    Three accountants read the sums, and each gives a valid delta: pure steps beside Gaussian ones (``epsilon``,
    ``mu_squared``), Gaussian DP (``total_mu_squared``) and zero-concentrated DP (``rho``). Sums and maxima are exact, so neither
    order nor grouping changes them. Only a single step's amounts and ``delta`` are rounded, both up.
    """

    # epsilon, mu_squared: the epsilon of the pure steps, and the squared mu of the Gaussian steps
    epsilon: Fraction = NONE
    mu_squared: Fraction = NONE
    # total_mu_squared, rho: the squared mu of Gaussian DP, and the rho of zero-concentrated DP, of all steps, pure
    # ones too
    total_mu_squared: Fraction = NONE
    rho: Fraction = NONE
    draws: int = 0  # the number of draws from a sampler that is within a total variation of 2**-62 of the exact law
    protected: bool = True  # false if some step has no bound; then the sums are those of the other steps
    thresholds: Fraction = NONE  # the sum of the deltas of thresholded steps, under add/remove adjacency
    replaced: bool = False  # whether ``thresholds`` count for one record removed and one added
    thresholds_for: int = 1  # the largest number of records of one person for which all these deltas hold
    reasons: tuple[str, ...] = ()  # those of unprotected steps, each once
    by_rho: bool = False  # whether some step is bounded by ``rho`` alone, so that no other accountant counts

    def __or__(self, other: Cost) -> Cost:
        """Parallel composition: the larger of each sum counts. All approximate draws count, and all thresholds."""
        return self.__add__(other, max)

    def __add__(self, other: Cost, join: Callable[[Any, Any], Any] = _sum) -> Cost:
        """Sequential composition, where the later plan may be chosen by what the earlier released."""
        thresholds, holds_for = self.thresholds, self.thresholds_for
        if other.thresholds:
            holds_for = min(holds_for, other.thresholds_for) if thresholds else other.thresholds_for
            thresholds += other.thresholds
        return Cost(
            join(self.epsilon, other.epsilon),
            join(self.mu_squared, other.mu_squared),
            join(self.total_mu_squared, other.total_mu_squared),
            join(self.rho, other.rho),
            self.draws + other.draws,
            self.protected and other.protected,
            thresholds,
            self.replaced or other.replaced,
            holds_for if thresholds else 1,
            tuple(dict.fromkeys(self.reasons + other.reasons)) if other.reasons else self.reasons,
            self.by_rho or other.by_rho,
        )

    def times(self, count: int, *, group: bool = False) -> Cost:
        """Sequential composition of ``count`` equal plans; or, of one plan, the cost of a group of ``count`` records."""
        squares, each = (count**2, 1) if group else (count, count)
        return replace(
            self,
            epsilon=count * self.epsilon,
            mu_squared=squares * self.mu_squared,
            total_mu_squared=squares * self.total_mu_squared,
            rho=squares * self.rho,
            draws=each * self.draws,
            thresholds=each * self.thresholds,
        )

    def sampled(self, inclusion: Fraction) -> Cost:
        """Return the cost of the plan on a sample that contains a record with a probability of at most ``inclusion``.

        Amplification is proved here for pure plans only: the sample of one is a pure step.
        """
        if inclusion == 1:
            return self
        protected = self.protected and self.mu_squared == 0 and self.thresholds == 0 and not self.by_rho
        step = cost(Pure(amplified(self.epsilon, inclusion), "", ""))
        return replace(step, draws=self.draws, protected=protected, reasons=self.reasons)

    def under(self, adjacency: Adjacency, records: int = 1) -> Cost:
        """Return the cost of the plan for one person with at most this many records, under an adjacency.

        One person replaced is one removed and one added, on paths that may have parts in common (docs/proofs/persons.md).
        Approximate draws stay as many. The deltas of thresholded steps hold for the number of records that these were planned
        for; for more of them nothing is proved.
        """
        replaced = adjacency == "replace-one"
        group = 2 * records if replaced else records
        if group == 1:
            return self
        covered = not self.thresholds or self.thresholds_for >= records
        return replace(
            self.times(group, group=True),
            replaced=replaced and self.thresholds > 0,
            protected=self.protected and covered,
        )

    def delta(self, epsilon: Fraction) -> Fraction | float:
        """Return an upper bound on the delta for which this cost is (epsilon, delta)-DP; infinity if there is none.

        The smallest of the accountants' bounds, and what thresholds and approximate draws take. It is exact where no step is
        approximate and no record is replaced, otherwise rounded up.
        """
        if not self.protected:
            return math.inf
        thresholds = self.thresholds
        if self.replaced and thresholds:  # docs/proofs/released-schemas.md
            exponent = epsilon if self.mu_squared else self.epsilon / 2
            thresholds *= 1 + Fraction(math.exp(min(float(exponent), 700.0))) * (1 + Fraction(1, 2**40))
        bound, at = 0.0, float(epsilon)
        if self.by_rho or self.epsilon > epsilon:
            bound = math.inf
        elif self.mu_squared:  # what pure steps leave to Gaussian ones
            bound = gaussian_delta(float(epsilon - self.epsilon), math.sqrt(self.mu_squared) * (1 + FLOAT_GUARD))
        elif not self.draws:
            return thresholds
        if bound:
            of_rho = concentrated_delta(at, float(self.rho) * (1 + FLOAT_GUARD))
            of_mu = (
                math.inf if self.by_rho else gaussian_delta(at, math.sqrt(self.total_mu_squared) * (1 + FLOAT_GUARD))
            )
            bound = min(bound, of_mu, of_rho)
        return bound + (self.delta_of_draws(epsilon) + float(thresholds)) * (1 + FLOAT_GUARD)

    def delta_of_draws(self, epsilon: Fraction) -> float:
        return float(min(self.draws * SAMPLER_ERROR, Fraction(1))) * (1 + math.exp(min(float(epsilon), 700.0)))

    @property
    def pure(self) -> bool:
        """Whether no step is Gaussian or thresholded, and none has approximate draws."""
        return self.protected and not (self.mu_squared or self.draws or self.thresholds or self.by_rho)

    def at_most(self, ceiling: Cost) -> bool:
        """Return whether no sum is above the ceiling's, as a filter for adaptive queries requires (composition.md).

        A pure ceiling limits epsilon alone. Under it no approximate draw is allowed.
        """
        return (
            self.protected
            and self.epsilon <= ceiling.epsilon
            and self.mu_squared <= ceiling.mu_squared
            and self.draws <= ceiling.draws
            and self.thresholds <= ceiling.thresholds
            and self.by_rho <= ceiling.by_rho
            and (ceiling.pure or (self.total_mu_squared <= ceiling.total_mu_squared and self.rho <= ceiling.rho))
        )


def cost(event: Event) -> Cost:
    match event:
        case Pure() | Gaussian() | Concentrated():
            return _cost_of_step(event)
        case Sequence(parts):
            total = Cost()
            for part, run in groupby(parts):  # rounds are equal, and there may be many
                count = len(list(run))
                total += cost(part).times(count) if count > 1 else cost(part)
            if isinstance(event, SelectAndMeasure):
                return replace(total, total_mu_squared=joint_mu_squared(event))
            return total
        case Parallel(parts):
            largest, draws, thresholds = Cost(), 0, NONE
            for part in parts:
                one = cost(part)
                largest, draws, thresholds = largest | one, max(draws, one.draws), max(thresholds, one.thresholds)
            # Of alternatives one runs, so only its draws and thresholds count.
            return replace(largest, draws=draws, thresholds=thresholds) if isinstance(event, OneOf) else largest
        case PerRecordAssignment(part, count):
            each = cost(part)
            return replace(each, draws=each.draws * count, thresholds=each.thresholds * count)
        case Subsampled(part, inclusion):
            return cost(part).sampled(inclusion)
        case Unprotected(reason):
            return Cost(protected=False, reasons=(reason,))
        case _:
            return Cost(protected=False)


@lru_cache(maxsize=1024)
def _cost_of_step(step: Pure | Gaussian | Concentrated) -> Cost:
    if isinstance(step, Concentrated):
        return Cost(rho=step.rho, by_rho=True)
    if isinstance(step, Gaussian):
        return Cost(NONE, step.mu_squared, step.mu_squared, step.mu_squared / 2, step.draws)
    ranged = isinstance(step, BoundedRange)
    total, rho = mu_squared_of_pure(step.epsilon, ranged=ranged), rho_of_pure(step.epsilon, ranged=ranged)
    shown = (step.delta, False, step.records) if isinstance(step, Thresholded) else ()
    return Cost(step.epsilon, NONE, total, rho, 0, True, *shown)
