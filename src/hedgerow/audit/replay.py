"""The privacy loss of each draw of a fit between neighboring data sets of any size: a run is recorded and replayed.

The shipped fit runs on the first data set, and all its draws are recorded. On the second it gets the same outcomes, so its
queries, charges and model must be the same. The loss of each draw follows from its exact statistics on both, by formulas that
are written out here and use no mechanism's ``law``. It is compared with the charge before the draw, and all losses together with
the plan's cost. What was drawn is compared with the law that the mechanism states.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri
from scipy.stats import chi2, kstest

from hedgerow.arrays import Floats
from hedgerow.audit.findings import system_name
from hedgerow.audit.losses import ROUNDING, Row, difference, kept, neighbors_of, planned, read_rows
from hedgerow.curator import Queryable
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import PrivateEstimator, RawPlan
from hedgerow.mechanisms import AtMost, Geometric, PublicChoice, Randomness, RoundedNormal, Selection
from hedgerow.parameters import RandomSource
from hedgerow.privacy.accounting import Cost, Event, Parallel, PerRecordAssignment, Subsampled, cost
from hedgerow.privacy.accounting import Sequence as InSequence
from hedgerow.table import Coded, MemoryTable
from hedgerow.texts import counted

CHANCE = 1e-9  # of a false alarm about the law of the draws of a mechanism
TINY = 1e-15  # so far from 0 and 1 at least are probabilities whose logs are taken
MOST_WORK = 1 << 17  # squared candidates, over the choices of one draw whose laws are computed
DIFFERS = "differs on the second data set although every draw before has the same outcome"
Statistics = tuple[Any, ...]


@dataclass(frozen=True)
class Charge:
    """What was charged once, for one record added or removed, and the most that an outcome of its draws loses."""

    what: str
    paid: Cost
    loss: tuple[float, float]  # an epsilon, of geometric noise and selections, and a squared mu, of normal noise
    records: int  # in which the data sets differ; a replaced record counts twice

    @property
    def share(self) -> float:
        paid = self.records * float(self.paid.epsilon), self.records**2 * float(self.paid.mu_squared)
        pairs = zip(self.loss, paid, strict=True)
        return max(loss / most if most else math.inf if loss else 0.0 for loss, most in pairs)


@dataclass(frozen=True, repr=False)
class Replayed:
    """The result of ``replay_fit``.

    Parameters
    ----------
    subject : str
        The system.
    pair : str
        The two data sets in words.
    charges : tuple of Charge
        Every charge of the fit, in order.
    faults : tuple of str
        What contradicts the guarantee, a sentence each; empty if nothing does.

    Examples
    --------
    >>> from hedgerow.audit import Replayed
    >>> Replayed("edprf, private", "1 record, and the same with another", charges=(), faults=()).refuted
    False
    """

    subject: str
    pair: str
    charges: tuple[Charge, ...]
    faults: tuple[str, ...]

    @property
    def refuted(self) -> bool:
        return bool(self.faults)

    @property
    def largest_share(self) -> float:
        """The largest loss, as a share of the charge that pays for it."""
        return max((charge.share for charge in self.charges), default=0.0)

    def __repr__(self) -> str:
        return f"<Replayed: {self.subject}: {counted(len(self.faults), 'fault')} in {counted(len(self.charges), 'charge')}>"

    def __str__(self) -> str:
        verdict = (
            "REFUTED" if self.refuted else f"not refuted; the largest loss is {self.largest_share:.3g} of its charge"
        )
        return "\n  ".join([f"{self.subject}: {verdict}", self.pair, *self.faults])


def replay_fit(
    estimator: PrivateEstimator,
    first: Iterable[Row],
    second: Iterable[Row],
    *,
    groups: tuple[Sequence[Any], Sequence[Any]] | None = None,
    random_state: RandomSource = None,
) -> Replayed:
    """Compare the largest loss of every draw of one fit, between two neighboring data sets, with what is charged for it.

    ``exact_loss`` runs over all outcomes on tiny data. This function follows one run, on data of any size. It does not notice
    a choice that is the same on both data sets by chance, so replay several pairs; nor does it notice another law of a few dozen
    draws. No ledger is charged.

    Parameters
    ----------
    estimator : PrivateEstimator
        An unfitted estimator with a schema, in its private form.
    first, second, groups
        Neighboring data sets, as for ``exact_loss``.
    random_state : None, int or numpy generator
        The source of the draws of the recorded run. None is the operating system.

    Raises
    ------
    ConfigurationError
        If the data sets are no neighbors, a label is none of the schema's classes, or the form is a published one.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.audit import replay_fit
    >>> schema = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
    >>> people = [("x", "no"), ("y", "yes")] * 100
    >>> result = replay_fit(hr.EDPRFClassifier(epsilon=1.0, schema=schema), people, people[1:], random_state=0)
    >>> result.faults, 0 < result.largest_share <= 1
    ((), True)
    """
    claim, plan = planned(estimator)
    rows, who = neighbors_of(estimator, claim, first, second, groups)
    if isinstance(plan, RawPlan):
        raise ConfigurationError("a published form reads raw records and charges nothing. Replay the private form.")
    here, there = (Counter(zip(some, ids or some, strict=True)) for some, ids in zip(rows, who, strict=True))
    removed, added = here - there, there - here
    records = sum(min(side.total(), claim.records_per_person) for side in (removed, added))

    def fit(changed: Counter[Any], source: Recorder) -> object:
        # What both data sets have comes first, because coins belong to places.
        data = [*(here - removed).elements(), *changed.elements()]
        ids = None if groups is None else tuple(person for _, person in data)
        X, y, keep = read_rows(tuple(row for row, _ in data), ids, claim)
        table = MemoryTable.by(Coded(plan.encoder), X, y, keep(source))
        return kept(plan.fit(_Recorded(table, cost(plan.event), source)))

    recorded = Recorder(random_state)
    model = fit(removed, recorded)
    other, faults = Recorder(earlier=recorded), []
    try:
        if fit(added, other) != model:
            faults.append(f"the model {DIFFERS}: it holds what no draw released.")
        elif len(other.draws) < len(recorded.draws):
            faults.append(f"the number of draws {DIFFERS}.")
    except DivergedError as error:
        faults.append(str(error))
    charges = tuple(_charges(recorded, other, records))
    losses = math.fsum(charge.loss[0] for charge in charges), math.fsum(charge.loss[1] for charge in charges)
    plan_charge = Charge("the plan", cost(_without_amplification(plan.event)), losses, records)
    faults += [
        f"{charge.what}: an outcome may lose {charge.share:.4g} times what is charged."
        for charge in (*charges, plan_charge)
        if charge.share > 1 + ROUNDING
    ]
    faults += _other_laws(recorded)
    return Replayed(f"{system_name(type(estimator).__name__)}, private", difference(*rows), charges, tuple(faults))


class DivergedError(Exception):
    """The recorded fit queried or charged something else."""


@dataclass(frozen=True)
class Draw:
    """One draw: its statistics, its outcome, and the number of the charge that pays for it; None: it is free."""

    mechanism: Any
    statistics: Statistics
    outcome: Any
    charge: int | None


class Recorder(Randomness):
    """Draws as a fit does and records it, or gives the outcomes of an ``earlier`` recording again."""

    def __init__(self, random_state: RandomSource = None, earlier: Recorder | None = None) -> None:
        super().__init__(random_state)
        self.draws: list[Draw] = []
        self.events: list[Event] = []
        self._earlier = earlier
        if earlier is not None:  # coins, and which records of a person count, are the same
            self._key = earlier._key
        self.charge: int | None = None
        self.in_query = False

    def draw(self, mechanism: Any, *statistics: Any) -> Any:
        given = tuple(np.array(statistic) for statistic in statistics)
        if self._earlier is None:
            outcome = super().draw(mechanism, *statistics)
        else:
            self._number()  # coins take numbers, too
            before = next(iter(self._earlier.draws[len(self.draws) : len(self.draws) + 1]), None)
            shapes = [statistic.shape for statistic in given]
            if before is None or before.mechanism != mechanism or [one.shape for one in before.statistics] != shapes:
                raise DivergedError(f"draw {len(self.draws)} {DIFFERS}")
            outcome = before.outcome.copy()
        self.draws.append(Draw(mechanism, given, np.array(outcome), self.charge))
        if not self.in_query:
            self.charge = None
        return outcome

    def charged(self, event: Event) -> None:
        self.charge = len(self.events)
        self.events.append(event)
        if self._earlier is not None and self._earlier.events[self.charge : len(self.events)] != [event]:
            raise DivergedError(f"charge {self.charge} {DIFFERS}")


class _Recorded(Queryable):
    _randomness: Recorder

    def _charge(self, event: Event, nodes: Any = None, *, ahead: bool = False) -> Any:
        state = super()._charge(event, nodes, ahead=ahead)
        if not ahead:  # steps of what is charged ahead are charged one by one
            self._randomness.charged(event)
        return state

    def answer(self, query: Any, mechanism: Any) -> Any:
        self._randomness.in_query = True  # whose charge pays for all its draws
        answer = super().answer(query, mechanism)
        self._randomness.in_query, self._randomness.charge = False, None
        return answer


def _without_amplification(event: Event) -> Event:
    """Return an event in which every record takes part: a replay knows which do."""
    if isinstance(event, Subsampled):
        return _without_amplification(event.part)
    if isinstance(event, InSequence | Parallel):
        return replace(event, parts=tuple(map(_without_amplification, event.parts)))
    return replace(event, part=_without_amplification(event.part)) if isinstance(event, PerRecordAssignment) else event


def _what(event: Event) -> str:
    step: Any = next(iter(getattr(event, "parts", ())), event)
    return f"{getattr(step, 'mechanism', 'normal noise')} for {getattr(step, 'purpose', 'a query')}"


def _charges(first: Recorder, second: Recorder, records: int) -> Iterator[Charge]:
    losses: dict[int | None, list[tuple[float, float]]] = {}
    for here, there in zip(first.draws, second.draws, strict=False):
        losses.setdefault(here.charge, []).append(_loss(here.mechanism, here.statistics, there.statistics))
    for number, event in [*enumerate(first.events), (None, InSequence(()))]:
        own = losses.get(number, [])
        loss = math.fsum(epsilon for epsilon, _ in own), math.fsum(squared for _, squared in own)
        if number is not None or any(loss):
            what = "draws that nothing is charged for" if number is None else f"charge {number}, {_what(event)}"
            yield Charge(what, cost(event), loss, records)


def _loss(mechanism: Any, here: Statistics, there: Statistics) -> tuple[float, float]:
    """Return the most that an outcome of a draw loses, as an epsilon and as the squared mu of normal noise."""
    if isinstance(mechanism, Geometric | RoundedNormal):
        change = np.abs(here[0].astype(np.int64) - there[0]).astype(np.float64)
        if isinstance(mechanism, Geometric):
            return float(mechanism.rate.fraction) * float(change.sum()), 0.0
        return 0.0, float((change**2).sum()) / float(mechanism.sigma.fraction) ** 2
    differ = [(one != other).reshape(len(one), -1).any(axis=1) for one, other in zip(here, there, strict=True)]
    epsilon = 0.0
    for row in np.flatnonzero(np.any(differ, axis=0)):
        one, other = (_log_law(mechanism, *(statistic[row] for statistic in side)) for side in (here, there))
        ratio = np.subtract(one, other, out=np.zeros(len(one)), where=np.isfinite(one) | np.isfinite(other))
        epsilon += float(np.ptp(ratio) if getattr(mechanism, "ranged", False) else np.abs(ratio).max())
    return epsilon, 0.0


def _log_law(mechanism: Any, *item: Any) -> Floats:
    """Return the log probability of each outcome of a choice; that of what is not offered is minus infinity."""
    if isinstance(mechanism, AtMost):
        room = mechanism.threshold - int(item[0])
        return np.array([_log_at_most(mechanism.noise, ~room), _log_at_most(mechanism.noise, room)])
    if isinstance(mechanism, PublicChoice):
        law = np.log(item[0], out=np.full(len(item[0]), -math.inf), where=item[0] > 0)
        return np.asarray(law - math.log(item[0].sum()))
    if not isinstance(mechanism, Selection):
        raise ConfigurationError(f"a replay knows no law of {type(mechanism).__name__}.")
    scores, weights = item[0].astype(np.float64), item[1].astype(np.float64)
    law, offered = np.full(len(scores), -math.inf), weights > 0
    odds = float(mechanism.rate.fraction) * (scores[offered] - scores[offered].max())
    if mechanism.ranged:  # the exponential mechanism
        odds += np.log(weights[offered])
        law[offered] = odds - logsumexp(odds)
    else:
        # Permute-and-flip: each candidate arrives at a uniform time, and the first that wins its coin is chosen.
        times, of_times = np.polynomial.legendre.leggauss(len(odds) // 2 + 1)
        without = np.log1p(-np.exp(odds)[:, None] * (times + 1) / 2)
        law[offered] = odds + logsumexp(without.sum(axis=0) - without + np.log(of_times / 2), axis=1)
    return law


def _log_at_most(noise: Geometric, room: Any) -> Any:
    rate = float(noise.rate.fraction)
    above = np.exp(-rate * (np.maximum(room, -1) + 1)) / (1 + math.exp(-rate))
    return np.where(room >= 0, np.log1p(-above), rate * np.minimum(room, 0) - math.log1p(math.exp(-rate)))


def _other_laws(recorded: Recorder) -> Iterator[str]:
    """Yield a sentence for each kind of draws, and of those for one purpose, that does not follow the law that it states."""
    # The probability of less than an outcome, plus a random share of its own probability, is uniform.
    shares, places, noise = np.random.default_rng(0), dict[str, list[Floats]](), set[str]()
    for draw in recorded.draws:
        below, above = _around(draw)
        kind, found = type(draw.mechanism).__name__, below + (above - below) * shares.random(below.shape)
        names = [kind] if draw.charge is None else [kind, f"{kind}, {_what(recorded.events[draw.charge])},"]
        for name in names:
            places.setdefault(name, []).append(found)
        if isinstance(draw.mechanism, Geometric | RoundedNormal):
            noise.update(names)
    for name, parts in places.items():
        uniform = np.clip(np.concatenate([np.empty(0), *parts]), TINY, 1 - TINY)
        # Near zero: little noise, or a likely choice. Sums of logs show it with fewer draws than a distance of laws does
        small = np.clip(np.abs(2 * uniform - 1), TINY, 1 - TINY) if name in noise else uniform
        sums = np.array([np.log(small).sum(), np.log1p(-small).sum()])
        chances = [kstest(uniform, "uniform").pvalue if len(uniform) else 1.0, *chi2.sf(-2 * sums, 2 * len(uniform))]
        if min(chances) < CHANCE:
            yield f"the draws of {name} do not follow the law that it states."
        if name in noise and _chance_of_sums([ndtri(np.clip(part, TINY, 1 - TINY)) for part in parts]) < CHANCE:
            yield f"the draws of {name} are not independent of each other."


def _chance_of_sums(batches: Sequence[Floats]) -> float:
    """Return how probably sums of independent normal draws of the same place in all batches are as large as these."""
    table = np.array(list(zip_longest(*batches, fillvalue=np.nan))).reshape(-1, len(batches))  # (places, batches)
    count = np.isfinite(table).sum(axis=1)
    several = count > 1
    return float(chi2.sf((np.nansum(table, axis=1) ** 2 / count)[several].sum(), max(several.sum(), 1)))


def _around(draw: Draw) -> tuple[Floats, Floats]:
    """Return the probability of less than each outcome, and of at most it; of many choices, for the first ones.

    Choices are in the order of their probabilities, the most likely first.
    """
    mechanism, statistics, outcome = draw.mechanism, draw.statistics, draw.outcome.ravel()
    if isinstance(mechanism, Geometric | RoundedNormal):
        noise = outcome - statistics[0].ravel()
        if isinstance(mechanism, Geometric):
            return np.exp(_log_at_most(mechanism, noise - 1)), np.exp(_log_at_most(mechanism, noise))
        below, above = (ndtr((noise + half) / float(mechanism.sigma.fraction)) for half in (-0.5, 0.5))
        return below, above
    width = statistics[0].size // max(len(outcome), 1)
    ends = np.empty((min(len(outcome), max(1, MOST_WORK // width**2)) if len(outcome) else 0, 2))
    for row, place in enumerate(outcome[: len(ends)].astype(np.int64)):
        law = np.exp(_log_law(mechanism, *(statistic[row] for statistic in statistics)))
        before = law[(law > law[place]) | ((law == law[place]) & (np.arange(len(law)) < place))].sum()
        ends[row] = before, before + law[place]
    return ends[:, 0], ends[:, 1]
