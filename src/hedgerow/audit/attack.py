"""The distinguishing attack: train many times on two neighbors, and bound epsilon from below by an event that distinguishes them.

On half of the runs the attack looks for an event that is more likely on one data set; on the other half it counts the event
and bounds the two probabilities with exact intervals. Nothing is assumed about the learner. ``worsen`` looks for a pair on which
the loss is larger.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from hedgerow.audit.events import Columns, Sides, best_events, join_columns, look
from hedgerow.audit.findings import CONFIDENCE, Finding, check_confidence, epsilon_bound, smallest_loss_seen
from hedgerow.audit.pairs import Case, Data, NeighborPair, Record, record_text
from hedgerow.errors import ConfigurationError
from hedgerow.ledgers.ledger import uncounted
from hedgerow.privacy.accounting import Adjacency
from hedgerow.schema import Categorical, Numeric, Schema
from hedgerow.texts import Progress

BATCH = 100  # runs of one task, whose views are joined
LEAST_RUNS = 200  # on each data set
PILOT = 10
DIRECTIONS = 2

# of a search for a worse pair
MAX_SMALL = 2  # records that small data sets have
ESTIMATE_RUNS = 400
ESTIMATE_CONFIDENCE = 0.75  # it ranks pairs and proves nothing


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
    >>> from hedgerow.audit.attack import Target
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
    >>> from hedgerow.audit.attack import Target, Trial
    >>> from hedgerow.audit.cases import case
    >>> length = Target("a length", fit=lambda X, y: {"length": len(y)}, answer=lambda model: model)
    >>> trial = Trial(length, case("one-leaf").pair("add-remove"), epsilon=1.0)
    >>> trial.delta, trial.runs
    (0.0, 20000)
    """

    target: Target
    pair: NeighborPair
    epsilon: float
    delta: float = 0.0
    runs: int = 20_000


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
    n_jobs : int
        Processes.
    progress : bool
        Whether to show a progress bar on standard error.
    views : sequence of str or None
        The parts of an answer to look at, for instance ``["labels"]``. None: all of it.

    Raises
    ------
    ConfigurationError
        If a parameter is wrong, or no answer has one of the views.

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
    seconds = None if minutes is None else 60 * minutes * n_jobs / max(len(trials), 1)
    sizes = [_affordable(trial, trial.runs if runs is None else runs, seconds) for trial in trials]
    seen = _run(trials, sizes, n_jobs, progress)
    risk = (1 - confidence) / max(len(trials), 1)
    return [_judge(trial, _only(sides, views), confidence, risk) for trial, sides in zip(trials, seen, strict=True)]


def _check_views(trial: Trial, views: Sequence[str]) -> None:
    # Before any run counts; without the place in an array, as pilots may be too few to have the longest.
    if not views:
        return
    answers = [one_batch(trial.target, data, PILOT) for data in (trial.pair.first, trial.pair.second)]
    names = sorted({name for answer in answers for name in answer})
    for view in views:
        if not any(view.partition("[")[0] in name for name in names):
            raise _no_such_view(view, names)


def _only(sides: Sides, views: Sequence[str] | None) -> Sides:
    if views is None:
        return sides
    first, second = ({name: side[name] for name in side if any(view in name for view in views)} for side in sides)
    if not first or not second:
        raise _no_such_view(views[0], sorted({*sides[0], *sides[1]}))
    return first, second


def _no_such_view(view: str, names: Sequence[str]) -> ConfigurationError:
    return ConfigurationError(f"no answer has a view {view!r}; there are {', '.join(names)}.")


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
        _Task(trial, side, batch, min(BATCH, size - BATCH * batch))
        for trial, size in enumerate(sizes)
        for side in (0, 1)
        for batch in range(-(-size // BATCH))
    ]
    done: dict[_Task, Columns] = {}
    bar = Progress([task.trial for task in tasks]) if progress else None
    with bar or nullcontext():
        for task, columns in _results(trials, tasks, n_jobs):
            done[task] = columns
            if bar is not None:
                pair = trials[task.trial].pair
                bar.step(task.trial, f"{trials[task.trial].target.subject}: {pair.name}, {pair.adjacency}")

    def joined(trial: int, side: int) -> Columns:
        return join_columns(done[task] for task in tasks if (task.trial, task.side) == (trial, side))

    return [(joined(trial, 0), joined(trial, 1)) for trial in range(len(trials))]


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


def records_of(schema: Schema) -> list[Record]:
    """Return a record for each combination of values and classes; numbers stand at the ends and in the middle of a range."""
    cells: list[list[Any]] = []
    for feature in schema.features.values():
        if isinstance(feature, Numeric):
            cells.append(
                [feature.cell(value) for value in (feature.low, (feature.low + feature.high) / 2, feature.high)]
            )
        else:
            assert isinstance(feature, Categorical)
            cells.append(list(feature.values))
    return [(*record, label) for record in product(*cells) for label in schema.classes]


def worsen(
    trial_on: Callable[[Case], Trial],
    start: Case,
    adjacency: Adjacency,
    *,
    tries: int = 40,
    steps: int = 20,
    runs: int = ESTIMATE_RUNS,
    generator: np.random.Generator | None = None,
) -> Case:
    """Return a pair on which the estimated loss is at least that of ``start``; its schema and settings are kept.

    ``trial_on`` returns the attack on a pair. At most ``tries`` small data sets are tried, then ``steps`` random changes; one
    stays if the estimate does not fall. ``runs`` are the trainings on each data set for an estimate. ``generator`` is for the
    search's own choices, which have nothing to do with the noise of a fit.
    """
    generator = generator or np.random.default_rng()

    def loss(case: Case) -> float:
        return attack([trial_on(case)], runs=runs, confidence=ESTIMATE_CONFIDENCE)[0].loss

    small = list(_small(start, adjacency))
    chosen = generator.permutation(len(small))[:tries]
    best, worst = start, loss(start)
    for pair in (small[i] for i in chosen):
        best, worst = max((best, worst), (pair, loss(pair)), key=lambda tried: tried[1])
    for _ in range(steps):
        changed = _changed(best, generator)
        estimate = loss(changed)
        if estimate >= worst:
            best, worst = changed, estimate
    return _described(best) if best is not start else start


def _small(start: Case, adjacency: Adjacency) -> Iterator[Case]:
    types = records_of(start.schema)
    for size in range(1, MAX_SMALL + 1):
        for base, record in product(combinations_with_replacement(types, size), types):
            if adjacency == "add-remove":
                yield replace(start, base=base, record=record)
            else:
                yield from (
                    replace(start, base=base, record=record, instead=other) for other in types if other < record
                )


def _changed(case: Case, generator: np.random.Generator) -> Case:
    types = records_of(case.schema)

    def new() -> Record:
        return types[generator.integers(len(types))]

    base = list(case.base)
    place = int(generator.integers(len(base)))
    match int(generator.integers(5)):
        case 0 | 1:
            base.extend([new()] * int(generator.integers(1, 4)))
        case 2 if len(base) > 1:
            del base[place]
        case 3:
            return replace(case, record=new())
        case _:
            base[place] = new()
    return replace(case, base=tuple(base))


def _described(case: Case) -> Case:
    records = ", ".join(map(record_text, case.base))
    return replace(case, name="found", words=f"The records {records}; and the record {record_text(case.record)}.")
