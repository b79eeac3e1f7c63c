"""The costs of events: one fold over the tree of a plan, for all accountants at once.

Amounts are exact fractions. The conversion to (epsilon, delta) uses the best accountant. It is a float, rounded up
(docs/proofs/concentrated.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import groupby
from typing import Literal, TypeVar, get_args

from hedgerow.errors import ConfigurationError
from hedgerow.privacy.accountants import ACCOUNTANTS, Accountant, PureAndGaussian
from hedgerow.privacy.conversions import FLOAT_GUARD
from hedgerow.privacy.events import (
    BoundedRange,
    Event,
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
    Thresholded,
    Unprotected,
)

__all__ = [
    "Adjacency",
    "Cost",
    "check_adjacency",
    "cost",
    "unprotected",
]

Adjacency = Literal["add-remove", "replace-one"]
SAMPLER_ERROR = Fraction(1, 2**62)

Kind = TypeVar("Kind", bound=Accountant)


def check_adjacency(adjacency: str) -> Adjacency:
    """Return the adjacency, or raise ConfigurationError with the two that exist."""
    for known in get_args(Adjacency):
        if adjacency == known:
            return known  # type: ignore[no-any-return]
    raise ConfigurationError(
        f"adjacency is {adjacency!r}, but the guarantee is stated either for one record added or removed "
        "or for one record replaced; pass adjacency='add-remove' or 'replace-one'."
    )


@lru_cache
def _nothing(kinds: tuple[type[Accountant], ...]) -> tuple[Accountant, ...]:
    return tuple([kind() for kind in kinds])


@dataclass(frozen=True)
class Cost:
    """The cost of a plan when one record is added or removed.

    Parameters
    ----------
    values : tuple of Accountant
        The plan's value by each of ``ACCOUNTANTS``, in their order.
    draws : int
        The number of draws from a sampler that is within a total variation of 2**-62 of the exact law.
    thresholds : Fraction
        The sum of the deltas of thresholded steps, under add/remove adjacency.
    thresholds_for : int
        The largest number of records of one person for which all these deltas hold.
    replaced : bool
        Whether ``thresholds`` count for one record removed and one added.
    protected : bool
        False if some step has no bound; then the values are those of the other steps.
    """

    values: tuple[Accountant, ...] = field(default_factory=lambda: _nothing(ACCOUNTANTS))
    draws: int = 0
    protected: bool = True
    thresholds: Fraction = Fraction(0)
    replaced: bool = False
    thresholds_for: int = 1

    def by(self, kind: type[Kind]) -> Kind:
        """Return the value by one of ``ACCOUNTANTS``."""
        return self.values[ACCOUNTANTS.index(kind)]  # type: ignore[return-value]

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of the pure steps."""
        return self.by(PureAndGaussian).epsilon

    @property
    def mu_squared(self) -> Fraction:
        """The squared mu of the Gaussian steps."""
        return self.by(PureAndGaussian).mu_squared

    @property
    def is_pure(self) -> bool:
        """Whether the epsilon is the whole cost."""
        return self.protected and self.mu_squared == 0 and self.draws == 0 and self.thresholds == 0

    def __add__(self, other: Cost) -> Cost:
        """Sequential composition."""
        return self._with(other, tuple([mine + its for mine, its in zip(self.values, other.values, strict=True)]))

    def __or__(self, other: Cost) -> Cost:
        """Parallel composition: the larger part counts, for each accountant by itself. All approximate draws count.

        So do all thresholds.
        """
        return self._with(other, tuple([mine | its for mine, its in zip(self.values, other.values, strict=True)]))

    def _with(self, other: Cost, values: tuple[Accountant, ...]) -> Cost:
        protected, replaced = self.protected and other.protected, self.replaced or other.replaced
        draws = self.draws + other.draws
        if not (self.thresholds or other.thresholds):
            return Cost(values, draws, protected, replaced=replaced)
        held = [one.thresholds_for for one in (self, other) if one.thresholds]
        return Cost(values, draws, protected, self.thresholds + other.thresholds, replaced, min(held))

    def times(self, count: int) -> Cost:
        """The cost of this many equal plans, one after another."""
        values = tuple([value.times(count) for value in self.values])
        return replace(self, values=values, draws=count * self.draws, thresholds=count * self.thresholds)

    def sampled(self, inclusion: Fraction) -> Cost:
        """Return the cost of the plan on a sample that contains a record with a probability of at most ``inclusion``.

        Amplification is proved here for pure plans only.
        """
        if inclusion == 1:
            return self
        values = tuple(value.sampled(self.epsilon, inclusion) for value in self.values)
        pure = self.mu_squared == 0 and self.thresholds == 0
        return replace(self, values=values, protected=self.protected and pure)

    def under(self, adjacency: Adjacency, records: int = 1) -> Cost:
        """Return the cost of the plan for one person with at most this many records, under an adjacency.

        One person replaced is one removed and one added. Approximate draws stay as many. The deltas of thresholded steps hold for
        the number of records that these were planned for; for more of them nothing is proved.
        """
        replaced = adjacency == "replace-one"
        group = 2 * records if replaced else records
        if group == 1:
            return self
        values = tuple(value.of_group(group) for value in self.values)
        covered = not self.thresholds or self.thresholds_for >= records
        return replace(
            self, values=values, replaced=replaced and self.thresholds > 0, protected=self.protected and covered
        )

    def delta(self, epsilon: Fraction) -> float:
        """Return an upper bound on the delta for which this cost is (epsilon, delta)-DP; infinity if there is none."""
        if not self.protected:
            return math.inf
        found = math.inf
        for value in self.values:
            found = min(found, value.delta(epsilon))
            if found == 0:
                break
        return found + (self.delta_of_draws(epsilon) + float(self._of_thresholds(epsilon))) * (1 + FLOAT_GUARD)

    def delta_of_draws(self, epsilon: Fraction) -> float:
        """Return what the approximate draws add to delta at epsilon."""
        return float(min(self.draws * SAMPLER_ERROR, Fraction(1))) * (1 + math.exp(min(float(epsilon), 700.0)))

    def _of_thresholds(self, epsilon: Fraction) -> Fraction:
        """Return what thresholded steps take of delta; exact under add/remove (docs/proofs/released-schemas.md)."""
        if not self.replaced or not self.thresholds:
            return self.thresholds
        factor = self.epsilon / 2 if self.mu_squared == 0 else epsilon
        return self.thresholds * (1 + Fraction(math.exp(min(float(factor), 700.0))) * (1 + Fraction(1, 2**40)))

    def within(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether this cost is (epsilon, delta)-DP."""
        if (
            self.protected and self.mu_squared == 0 and self.draws == 0 and self.epsilon <= epsilon
        ):  # without any rounding
            return self._of_thresholds(epsilon) <= delta
        return self.delta(epsilon) <= delta

    def at_most(self, ceiling: Cost) -> bool:
        """Return whether no sum is above the ceiling's, as a filter for adaptive queries requires (composition.md).

        A pure ceiling limits epsilon alone. Under it no approximate draw is allowed.
        """
        if ceiling.is_pure:
            return self.is_pure and self.epsilon <= ceiling.epsilon
        values_hold = all(value.at_most(limit) for value, limit in zip(self.values, ceiling.values, strict=True))
        approximate = self.draws <= ceiling.draws and self.thresholds <= ceiling.thresholds
        return self.protected and values_hold and approximate


def cost(event: Event) -> Cost:
    """Return the cost of an event under add/remove adjacency."""
    match event:
        case Pure() | Gaussian():
            return _cost_of_step(event, ACCOUNTANTS)
        case Sequence():
            runs = (list(run) for _, run in groupby(event.parts))  # rounds are equal, and there may be many
            return sum((cost(run[0]).times(len(run)) for run in runs), Cost())
        case OneOf():
            choices = [cost(part) for part in event.parts]
            draws, thresholds = max(one.draws for one in choices), max(one.thresholds for one in choices)
            return replace(reduce(Cost.__or__, choices), draws=draws, thresholds=thresholds)
        case Parallel():
            return reduce(Cost.__or__, (cost(part) for part in event.parts), Cost())
        case PerRecordAssignment():
            each = cost(event.part)
            return replace(each, draws=each.draws * event.count, thresholds=each.thresholds * event.count)
        case Subsampled():
            return cost(event.part).sampled(event.inclusion)
        case _:
            return Cost(protected=False)


@lru_cache(maxsize=1024)
def _cost_of_step(step: Pure | Gaussian, kinds: tuple[type[Accountant], ...]) -> Cost:
    """Return the cost of one step; it is cached, because a curator gets many equal queries."""
    if isinstance(step, Gaussian):
        return Cost(tuple([kind.of_gaussian(step.mu_squared) for kind in kinds]), step.draws)
    values = tuple([kind.of_pure(step.epsilon, ranged=isinstance(step, BoundedRange)) for kind in kinds])
    if isinstance(step, Thresholded):
        return Cost(values, thresholds=step.delta, thresholds_for=step.records)
    return Cost(values)


def unprotected(event: Event) -> tuple[str, ...]:
    """Return the reasons of all unprotected steps in an event, each once, in order."""
    match event:
        case Unprotected():
            return (event.reason,)
        case Sequence() | Parallel():
            runs = (part for part, _ in groupby(event.parts))
            return tuple(dict.fromkeys(reason for part in runs for reason in unprotected(part)))
        case PerRecordAssignment() | Subsampled():
            return unprotected(event.part)
        case _:
            return ()
