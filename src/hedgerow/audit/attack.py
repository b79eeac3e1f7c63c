"""The distinguishing attack: train many times on two neighbors, and bound epsilon from below by an event that distinguishes them.

On half of the runs the attack looks for an event that is more likely on one data set; on the other half it counts the event
and bounds the two probabilities with exact intervals. Nothing is assumed about the learner.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import product
from typing import Any, get_args

import numpy as np
from joblib import Parallel, delayed

from hedgerow.audit.cases import OWN, Case, Data, NeighborPair, cases_of
from hedgerow.audit.cases import case as case_named
from hedgerow.audit.events import Columns, Sides, best_events, join_columns, look
from hedgerow.audit.findings import CONFIDENCE, Finding, check_confidence, epsilon_bound, smallest_loss_seen
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import (
    Model,
    Plan,
    PrivateEstimator,
    PrivateRegressor,
    PublicCoins,
    RawPlan,
    claim_of,
    draw_coins,
    plan_of,
    run,
)
from hedgerow.ledgers.ledger import uncounted
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import rules_of
from hedgerow.privacy.accounting import Adjacency
from hedgerow.reading.columns import read_records
from hedgerow.systems import list_systems, system_class
from hedgerow.texts import Progress

BATCH = 100  # runs of one task, whose views are joined
LEAST_RUNS = 200  # on each data set
PILOT = 10
DIRECTIONS = 2


@dataclass(frozen=True)
class Target:
    """The learner under attack, as two functions.

    Parameters
    ----------
    subject : str
        Its description, such as ``"edprf, published"``.
    fit : callable
        ``fit(X, y)`` trains a model with fresh randomness and returns it.
    answer : callable
        ``answer(model)`` returns what the model releases, by name: arrays, numbers or texts.
    settings : str
        The parameters in words.

    Examples
    --------
    >>> from hedgerow.audit.attack import Target
    >>> count = Target("a count", fit=lambda X, y: len(y), answer=lambda model: {"count": model})
    >>> count.answer(count.fit({}, ["no", "yes"]))
    {'count': 2}
    """

    subject: str
    fit: Callable[[Any, Any], Any]
    answer: Callable[[Any], Mapping[str, Any]]
    settings: str = ""


@dataclass(frozen=True)
class Trial:
    """A target, the pair on which it is attacked, the tested claim, and the wanted number of runs on each data set.

    Parameters
    ----------
    target : Target
        What is attacked.
    pair : NeighborPair
        The two data sets.
    epsilon, delta : float
        The claim that is tested.
    runs : int
        The wanted number of trainings on each of the two data sets.

    Examples
    --------
    >>> from hedgerow.audit.attack import Target, Trial
    >>> from hedgerow.audit.cases import case
    >>> count = Target("a count", fit=lambda X, y: len(y), answer=lambda model: {"count": model})
    >>> Trial(count, case("one-leaf").pair("add-remove"), epsilon=1.0).runs
    20000
    """

    target: Target
    pair: NeighborPair
    epsilon: float
    delta: float = 0.0
    runs: int = 20_000


def attack(
    trials: Sequence[Trial],
    *,
    runs: int | None = None,
    minutes: float | None = None,
    confidence: float = CONFIDENCE,
    n_jobs: int = 1,
    progress: bool = False,
) -> list[Finding]:
    """Attack each target on its pair and return the findings.

    Parameters
    ----------
    trials : sequence of Trial
        The attacks. The confidence is for all of them together (Bonferroni).
    runs : int or None
        The largest number of trainings on each of the two data sets of a trial. None: the number that each trial wants.
    minutes : float or None
        The budget of time, shared evenly by the trials. The number of runs that fit is measured before any run is counted, so
        it does not depend on results.
    confidence : float
        The probability that all bounds hold.
    n_jobs : int
        Processes.
    progress : bool
        Whether to show a progress bar on standard error.

    Raises
    ------
    ConfigurationError
        If a parameter is wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.audit.attack import Target, Trial, attack
    >>> from hedgerow.audit.cases import case
    >>> noise = np.random.default_rng(0)
    >>> count = Target(
    ...     "a count",
    ...     fit=lambda X, y: {"count": len(y) + noise.laplace(0, 1 / 3)},
    ...     answer=lambda model: model,
    ... )
    >>> pair = case("one-leaf").pair("add-remove")
    >>> [finding] = attack([Trial(count, pair, epsilon=1.0)], runs=2000)
    >>> finding.refuted
    True
    """
    check_confidence(confidence)
    if runs is not None and runs < LEAST_RUNS:
        raise ConfigurationError(
            f"runs is {runs}, but an attack needs at least {LEAST_RUNS}; pass more, such as 10000."
        )
    if minutes is not None and not minutes > 0:
        raise ConfigurationError(f"minutes is {minutes}, but it must be above 0; pass 1, for example.")
    seconds = None if minutes is None else 60 * minutes * n_jobs / max(len(trials), 1)
    sizes = [_affordable(trial, trial.runs if runs is None else runs, seconds) for trial in trials]
    seen = _run(trials, sizes, n_jobs, progress)
    risk = (1 - confidence) / max(len(trials), 1)
    return [_judge(trial, sides, confidence, risk) for trial, sides in zip(trials, seen, strict=True)]


def _affordable(trial: Trial, runs: int, seconds: float | None) -> int:
    if seconds is None:
        return runs
    one_batch(trial.target, trial.pair.first, 1)  # compiles
    begin = time.perf_counter()
    for data in (trial.pair.first, trial.pair.second):
        one_batch(trial.target, data, PILOT)
    each = (time.perf_counter() - begin) / (2 * PILOT)
    return max(LEAST_RUNS, min(runs, int(seconds / each / 2)))


def one_batch(target: Target, data: Data, runs: int) -> Columns:
    with uncounted():
        return look([target.answer(target.fit(*data)) for _ in range(runs)])


def _run(trials: Sequence[Trial], sizes: Sequence[int], n_jobs: int, progress: bool) -> list[Sides]:
    tasks = [
        (trial, side, start) for trial, size in enumerate(sizes) for side in (0, 1) for start in range(0, size, BATCH)
    ]
    done: dict[tuple[int, int, int], Columns] = {}
    bar = Progress([trial for trial, *_ in tasks]) if progress else None
    work = (delayed(_one_task)(task, trials[task[0]], min(BATCH, sizes[task[0]] - task[2])) for task in tasks)
    with bar or nullcontext():
        for task, columns in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(work):
            done[task] = columns
            if bar is not None:
                trial = trials[task[0]]
                bar.step(task[0], f"{trial.target.subject}: {trial.pair.name}, {trial.pair.adjacency}")

    def joined(trial: int, side: int) -> Columns:
        # In the order of the tasks: when one was done must not decide which half of the runs it is in.
        return join_columns(done[task] for task in tasks if task[:2] == (trial, side))

    return [(joined(trial, 0), joined(trial, 1)) for trial in range(len(trials))]


def _one_task(task: tuple[int, int, int], trial: Trial, runs: int) -> tuple[tuple[int, int, int], Columns]:
    return task, one_batch(trial.target, (trial.pair.first, trial.pair.second)[task[1]], runs)


def _judge(trial: Trial, seen: Sides, confidence: float, risk: float) -> Finding:
    """Find the event on half of the runs, count it on the other half."""
    learn, select, count = (_part(seen, start, step) for start, step in ((0, 4), (2, 4), (1, 2)))
    runs = tuple(len(next(iter(side.values()))) for side in count)
    each = risk / DIRECTIONS
    loss, words = 0.0, ""
    for event in best_events(learn, select, trial.delta, each):
        hits = [event.count(side) for side in count]
        here, there = event.toward, 1 - event.toward
        bound = float(epsilon_bound(hits[here], hits[there], (runs[here], runs[there]), trial.delta, each))
        if bound > loss or not words:
            data_set = ("without it", "with it") if trial.pair.adjacency == "add-remove" else ("before", "after")
            words = (
                f"{event}: in {hits[here]} of {runs[here]} runs {data_set[here]}, in {hits[there]} of {runs[there]} runs "
                f"{data_set[there]}"
            )
            loss = max(loss, bound)
    return Finding(
        subject=trial.target.subject,
        attack="distinguishing",
        pair=f"{trial.pair.name}: {trial.pair.words}",
        adjacency=trial.pair.adjacency,
        epsilon=trial.epsilon,
        delta=trial.delta,
        loss=loss,
        confidence=confidence,
        power=smallest_loss_seen(trial.epsilon, trial.delta, min(runs), each),
        words=words,
    )


def _part(seen: Sides, start: int, step: int) -> Sides:
    first, second = ({name: column[start::step] for name, column in side.items()} for side in seen)
    return first, second


DELTA = 1e-5
WITH_DELTA = ("one-leaf", "single-class")  # pairs on which the forms with Gaussian noise are attacked


@dataclass
class SystemFit:
    """What ``fit`` of one of our estimators does with records, without the checks and the charge; ``queries`` are predicted."""

    estimator: PrivateEstimator
    queries: Mapping[str, Any]
    _plans: dict[PublicCoins, Plan | RawPlan] = field(default_factory=dict, repr=False)

    def fit(self, X: Any, y: Any) -> Model:
        estimator, schema, randomness = self.estimator, self.estimator.schema, Randomness()
        assert schema is not None
        claim = claim_of(estimator)
        coins = draw_coins(estimator, claim, randomness.draw)
        if coins not in self._plans:
            self._plans[coins] = plan_of(estimator, schema, claim, coins)
        return run(self._plans[coins], *read_records(X, y, schema.features, schema.labels), randomness)[0]

    def answer(self, model: Model) -> dict[str, Any]:
        """Return the released arrays of a model, and its labels and probabilities, or its predictions, for the queries."""
        if isinstance(self.estimator, PrivateRegressor):
            return {"predictions": model.predictions(self.queries), **model.to_arrays()}
        probabilities = np.round(model.probabilities(self.queries), 9)
        return {"labels": probabilities.argmax(axis=1), "probabilities": probabilities, **model.to_arrays()}


def system_trial(
    name: str,
    case: Case,
    adjacency: Adjacency,
    *,
    variant: str = "private",
    epsilon: float | None = None,
    delta: float = 0.0,
    settings: Mapping[str, Any] | None = None,
) -> Trial:
    """Return the attack on a system of the registry by a pair, whose settings hold unless ``settings`` says otherwise.

    Without an epsilon, the claim is the one at which the pair shows most. For a regressor the pair's classes are numbers.

    Examples
    --------
    >>> from hedgerow.audit.cases import case
    >>> system_trial("edprf", case("one-leaf"), "add-remove", epsilon=1.0).target.subject
    'edprf, private (max_depth=0, n_estimators=1)'
    """
    kind = system_class(name)
    case = case.of_numbers() if issubclass(kind, PrivateRegressor) else case
    claim = case.epsilon if epsilon is None else epsilon
    chosen = settings_of(name, case) | dict(settings or {})
    if variant != "private":
        chosen["variant"] = variant
    words = ", ".join(f"{key}={value}" for key, value in sorted(chosen.items()) if key != "variant")
    if delta:
        chosen["delta"] = delta
    fit = SystemFit(kind(epsilon=claim, schema=case.schema, adjacency=adjacency, **chosen), case.queries)
    subject = f"{name}, {variant}" + (f" ({words})" if words else "")
    return Trial(Target(subject, fit.fit, fit.answer, words), case.pair(adjacency), claim, delta, case.runs)


def settings_of(name: str, case: Case) -> dict[str, Any]:
    rules = rules_of(system_class(name))
    return {key: value for key, value in case.settings.items() if key in rules and rules[key].allows(value)}


def private_trials() -> list[Trial]:
    """Return the attacks on the private form of every system: both adjacencies, and with a delta where there is one."""
    names = [info.name for info in (*list_systems(), *list_systems(regressors=True))]
    trials = []
    for name, adjacency in product(names, get_args(Adjacency)):
        trials += [system_trial(name, case, adjacency) for case in cases_of(name, "private")]
        if "delta" in rules_of(system_class(name)):
            trials += [system_trial(name, case_named(pair), adjacency, delta=DELTA) for pair in WITH_DELTA]
    return trials


def published_trials() -> list[Trial]:
    """Return the attacks on the published forms, each on the counterexamples to it."""
    return [
        system_trial(name, case_named(pair), "add-remove", variant="published")
        for name, pairs in OWN.items()
        for pair in pairs
    ]
