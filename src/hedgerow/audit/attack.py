"""The distinguishing attack: train many times on two neighbors, and bound epsilon from below by an event that distinguishes them.

On half of the runs the attack looks for an event that is more likely on one data set; on the other half it counts the event
and bounds the two probabilities with exact intervals. Nothing is assumed about the learner.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, get_args

import numpy as np
from joblib import Parallel, delayed

from hedgerow.audit.cases import COUNTEREXAMPLES, Case, NeighborPair, cases_of
from hedgerow.audit.cases import case as case_named
from hedgerow.audit.events import Columns, Sides, best_events, join_columns, look
from hedgerow.audit.findings import CONFIDENCE, Finding, epsilon_bound, smallest_loss_seen
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Model, Plan, PrivateRegressor, PublicCoins, RawPlan, claim_of, draw_coins, plan_of, run
from hedgerow.ledgers.ledger import uncounted
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import rules_of
from hedgerow.privacy.accounting import Adjacency
from hedgerow.reading.columns import read_records
from hedgerow.systems import list_systems, system_class
from hedgerow.texts import progress_bar

BATCH = 100  # runs of one task, whose views are joined
LEAST_RUNS = 200  # on each data set
PILOT = 10


@dataclass(frozen=True)
class Trial:
    """A learner under attack, as two functions, the pair on which it is attacked, and the claim that is tested.

    Parameters
    ----------
    subject : str
        The learner's description, such as ``"edprf, published"``.
    fit : callable
        ``fit(X, y)`` trains a model with fresh randomness and returns it.
    answer : callable
        ``answer(model)`` returns what the model releases, by name: arrays, numbers or texts.
    pair : NeighborPair
        The two data sets.
    epsilon, delta : float
        The claim that is tested.
    runs : int
        The wanted number of trainings on each of the two data sets.

    Examples
    --------
    >>> from hedgerow.audit.attack import Trial
    >>> from hedgerow.audit.cases import case
    >>> pair = case("one-leaf").pair("add-remove")
    >>> Trial("a count", lambda X, y: len(y), lambda model: {"count": model}, pair, epsilon=1.0).runs
    20000
    """

    subject: str
    fit: Callable[[Any, Any], Any]
    answer: Callable[[Any], Mapping[str, Any]]
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
    """Attack each learner on its pair and return the findings.

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
    >>> from hedgerow.audit.attack import Trial, attack
    >>> from hedgerow.audit.cases import case
    >>> noise = np.random.default_rng(0)
    >>> count = Trial(
    ...     "a count",
    ...     fit=lambda X, y: {"count": len(y) + noise.laplace(0, 1 / 3)},
    ...     answer=lambda model: model,
    ...     pair=case("one-leaf").pair("add-remove"),
    ...     epsilon=1.0,
    ... )
    >>> [finding] = attack([count], runs=2000)
    >>> finding.refuted
    True
    """
    if not 0.5 <= confidence < 1:
        raise ConfigurationError(
            f"confidence is {confidence}, but a bound needs a probability from 0.5 to below 1; pass 0.999, for example."
        )
    if runs is not None and runs < LEAST_RUNS:
        raise ConfigurationError(
            f"runs is {runs}, but an attack needs at least {LEAST_RUNS}; pass more, such as 10000."
        )
    if minutes is not None and not minutes > 0:
        raise ConfigurationError(f"minutes is {minutes}, but it must be above 0; pass 1, for example.")
    sizes = [trial.runs if runs is None else runs for trial in trials]
    if minutes is not None:
        for place, trial in enumerate(trials):
            _batch(trial, 0, 1)  # compiles
            begin = time.perf_counter()
            for side in (0, 1):
                _batch(trial, side, PILOT)
            each = (time.perf_counter() - begin) / PILOT
            sizes[place] = max(LEAST_RUNS, min(sizes[place], int(60 * minutes * n_jobs / len(trials) / each)))
    tasks = [
        (place, side, min(BATCH, size - start))
        for place, size in enumerate(sizes)
        for side in (0, 1)
        for start in range(0, size, BATCH)
    ]
    seen: list[tuple[list[Columns], list[Columns]]] = [([], []) for _ in trials]
    with progress_bar(len(tasks), "attacking", shown=progress) as bar:
        work = (delayed(_batch)(trials[place], side, size) for place, side, size in tasks)
        # In the order of the tasks: when one was done must not decide which half of the runs it is in.
        for (place, side, _), columns in zip(tasks, Parallel(n_jobs=n_jobs, return_as="generator")(work), strict=True):
            seen[place][side].append(columns)
            pair = trials[place].pair
            bar.update(1, f"{trials[place].subject}: {pair.name}, {pair.adjacency}")
    risk = (1 - confidence) / max(len(trials), 1)
    return [
        _judge(trial, (join_columns(first), join_columns(second)), confidence, risk)
        for trial, (first, second) in zip(trials, seen, strict=True)
    ]


def _batch(trial: Trial, side: int, runs: int) -> Columns:
    data = (trial.pair.first, trial.pair.second)[side]
    with uncounted():
        return look([trial.answer(trial.fit(*data)) for _ in range(runs)])


def _judge(trial: Trial, seen: Sides, confidence: float, risk: float) -> Finding:
    learn, select, count = (_part(seen, start, step) for start, step in ((0, 4), (2, 4), (1, 2)))
    runs = tuple(len(next(iter(side.values()))) for side in count)
    each = risk / 2  # for either data set as the one on which the event is likelier
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
        subject=trial.subject,
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

    What is attacked is what ``fit`` does with records, without the checks and the charge. The answer is the released arrays, and
    labels and probabilities, or predictions, for the pair's records. Without an epsilon, the claim is the one at which the pair
    shows most. For a regressor the pair's classes are numbers.
    """
    kind = system_class(name)
    of_numbers = issubclass(kind, PrivateRegressor)
    case = case.of_numbers() if of_numbers else case
    schema, queries = case.schema, case.queries
    chosen = settings_of(name, case) | dict(settings or {})
    words = ", ".join(f"{key}={value}" for key, value in sorted(chosen.items()))
    if variant != "private":
        chosen["variant"] = variant
    if delta:
        chosen["delta"] = delta
    epsilon = case.epsilon if epsilon is None else epsilon
    estimator = kind(epsilon=epsilon, schema=schema, adjacency=adjacency, **chosen)
    plans: dict[PublicCoins, Plan | RawPlan] = {}

    def fit(X: Any, y: Any) -> Model:
        randomness, claim = Randomness(), claim_of(estimator)
        coins = draw_coins(estimator, claim, randomness.draw)
        if coins not in plans:
            plans[coins] = plan_of(estimator, schema, claim, coins)
        return run(plans[coins], *read_records(X, y, schema.features, schema.labels), randomness)[0]

    def answer(model: Model) -> dict[str, Any]:
        if of_numbers:
            return {"predictions": model.predictions(queries), **model.to_arrays()}
        probabilities = np.round(model.probabilities(queries), 9)
        return {"labels": probabilities.argmax(axis=1), "probabilities": probabilities, **model.to_arrays()}

    subject = f"{name}, {variant}" + (f" ({words})" if words else "")
    return Trial(subject, fit, answer, case.pair(adjacency), epsilon, delta, case.runs)


def settings_of(name: str, case: Case) -> dict[str, Any]:
    rules = rules_of(system_class(name))
    return {key: value for key, value in case.settings.items() if key in rules and rules[key].allows(value)}


def private_trials() -> list[Trial]:
    names = [info.name for info in (*list_systems(), *list_systems(regressors=True))]
    trials = []
    for name, adjacency in product(names, get_args(Adjacency)):
        trials += [system_trial(name, case, adjacency) for case in cases_of(name, "private")]
        if "delta" in rules_of(system_class(name)):
            trials += [system_trial(name, case_named(pair), adjacency, delta=DELTA) for pair in WITH_DELTA]
    return trials


def published_trials() -> list[Trial]:
    return [
        system_trial(name, case_named(pair), "add-remove", variant="published")
        for name, pairs in COUNTEREXAMPLES.items()
        for pair in pairs
    ]
