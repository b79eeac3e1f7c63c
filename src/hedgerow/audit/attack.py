"""The distinguishing attack: train many times on two neighbors, and bound epsilon from below by an event that distinguishes them.

On half of the runs the attack looks for an event that is more likely on one data set; on the other half it counts the event
and bounds the two probabilities with exact intervals. Nothing is assumed about the learner.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from joblib import Parallel, delayed

from hedgerow.audit.bounds import CONFIDENCE, check_confidence, epsilon_bound, smallest_loss_seen
from hedgerow.audit.events import Sides, best_events
from hedgerow.audit.findings import Finding
from hedgerow.audit.pairs import Data, NeighborPair
from hedgerow.audit.rows import TrialRuns, no_such_view
from hedgerow.audit.views import Columns, look
from hedgerow.errors import ConfigurationError
from hedgerow.ledgers.ledger import uncounted
from hedgerow.progress import Progress

__all__ = ["Target", "Trial", "attack"]

BATCH = 100  # runs whose views are written together
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
    >>> import numpy as np
    >>> from hedgerow.audit.attack import Target, Trial, attack
    >>> from hedgerow.audit.cases import case
    >>> noise = np.random.default_rng(0)
    >>> count = Target(
    ...     "a count",
    ...     fit=lambda X, y: {"count": len(y) + noise.laplace(0, 1 / 3)},
    ...     answer=lambda model: model,
    ... )
    >>> sorted(count.answer(count.fit({}, ["no", "yes"])))
    ['count']
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
    >>> import numpy as np
    >>> from hedgerow.audit.attack import Target, Trial, attack
    >>> from hedgerow.audit.cases import case
    >>> noise = np.random.default_rng(0)
    >>> count = Target(
    ...     "a count",
    ...     fit=lambda X, y: {"count": len(y) + noise.laplace(0, 1 / 3)},
    ...     answer=lambda model: model,
    ... )
    >>> trial = Trial(count, case("one-leaf").pair("add-remove"), epsilon=1.0)
    >>> trial.delta, trial.runs
    (0.0, 20000)
    """

    target: Target
    pair: NeighborPair
    epsilon: float
    delta: float = 0.0
    runs: int = 20_000

    @property
    def identity(self) -> dict[str, Any]:
        """The settings on which stored runs must agree before they are used."""
        return {
            "subject": self.target.subject,
            "settings": self.target.settings,
            "pair": self.pair.name,
            "words": self.pair.words,
            "adjacency": self.pair.adjacency,
            "epsilon": self.epsilon,
            "delta": self.delta,
        }


@dataclass(frozen=True)
class _Task:
    trial: int
    side: int
    batch: int
    runs: int


def attack(
    trials: Sequence[Trial],
    *,
    runs: int | None = None,
    minutes: float | None = None,
    confidence: float = CONFIDENCE,
    folder: Any = None,
    n_jobs: int = 1,
    progress: bool = False,
    views: Sequence[str] | None = None,
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
    folder : path or None
        Where the runs are kept. A second call continues there.
    n_jobs : int
        Processes.
    progress : bool
        Whether to show a progress bar on standard error.
    views : sequence of str or None
        The parts of an answer to look at, for instance ``["labels"]``. None: all of it.

    Raises
    ------
    ConfigurationError
        If a parameter is wrong, no answer has one of the views, or the folder holds runs of another audit.

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
    for trial in trials:
        _check_views(trial, views or ())
    stores = [TrialRuns(folder, trial.identity) for trial in trials]
    share = None if minutes is None else 60 * minutes * n_jobs / max(len(trials), 1)
    for trial, store in zip(trials, stores, strict=True):
        store.plan(partial(_affordable, trial, trial.runs if runs is None else runs, share))
    _run(trials, stores, n_jobs, progress)
    risk = (1 - confidence) / max(len(trials), 1)
    return [_judge(trial, store.columns(views), confidence, risk) for trial, store in zip(trials, stores, strict=True)]


def _check_views(trial: Trial, views: Sequence[str]) -> None:
    """Raise ConfigurationError before any run counts if no answer has a view of this name, without its place."""
    if not views:
        return
    answers = [one_batch(trial.target, data, PILOT) for data in (trial.pair.first, trial.pair.second)]
    found = sorted({name for answer in answers for name in answer})
    for view in views:
        if not any(view.partition("[")[0] in name for name in found):
            raise no_such_view(view, found)


def _affordable(trial: Trial, runs: int, seconds: float | None) -> int:
    """Return the number of runs on each data set that the time allows."""
    if seconds is None:
        return runs
    one_batch(trial.target, trial.pair.first, 1)  # compiles
    begin = time.perf_counter()
    for data in (trial.pair.first, trial.pair.second):
        one_batch(trial.target, data, PILOT)
    each = (time.perf_counter() - begin) / (2 * PILOT)
    return max(LEAST_RUNS, min(runs, int(seconds / each / 2)))


def one_batch(target: Target, data: Data, runs: int) -> Columns:
    """Train this many times on a data set and return the views of the answers."""
    with uncounted():
        return look([target.answer(target.fit(*data)) for _ in range(runs)])


def _run(trials: Sequence[Trial], stores: Sequence[TrialRuns], n_jobs: int, progress: bool) -> None:
    tasks, done = [], 0
    for number, store in enumerate(stores):
        for side in (0, 1):
            for batch, size in enumerate(_sizes(store.runs)):
                if store.has(side, batch):
                    done += 1
                else:
                    tasks.append(_Task(number, side, batch, size))
    bar = Progress([task.trial for task in tasks], done) if progress else nullcontext()
    with bar:
        for task, found in _results(trials, tasks, n_jobs):
            stores[task.trial].put(task.side, task.batch, found)
            if isinstance(bar, Progress):
                pair = trials[task.trial].pair
                bar.step(task.trial, f"{trials[task.trial].target.subject}: {pair.name}, {pair.adjacency}")


def _sizes(runs: int) -> list[int]:
    return [min(BATCH, runs - begin) for begin in range(0, runs, BATCH)]


def _results(trials: Sequence[Trial], tasks: Iterable[_Task], n_jobs: int) -> Iterator[tuple[_Task, Columns]]:
    # A single process needs no copy of the targets.
    if n_jobs == 1:
        yield from (_do(task, trials[task.trial].target, trials[task.trial].pair) for task in tasks)
        return
    work = (delayed(_do)(task, trials[task.trial].target, trials[task.trial].pair) for task in tasks)
    yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered")(work)


def _do(task: _Task, target: Target, pair: NeighborPair) -> tuple[_Task, Columns]:
    return task, one_batch(target, (pair.first, pair.second)[task.side], task.runs)


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
