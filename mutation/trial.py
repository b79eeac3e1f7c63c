"""Trials: tests, run with one change of the library in place, each in a process of its own.

A stage is a process that has collected the tests of several changes. A trial is a fork of it that takes a change as a patch
and runs the tests that call what was changed; it ends at the first failure, or when its time is used up. A change that has no
patch is tried in a process that imports the changed module and collects anew. Every trial writes what the tests call that pass
in it, so that later ones know. Time is the processor's, so that on a busy machine no mutant seems to hang.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from imports import import_changed
from order import KERNEL_PATIENCE, PATIENCE, Order
from patches import ConstantError, Patch, Patchable, compile_quickly, patch_of
from reach import ROOT, Reach, SeenSoFar

__all__ = ["Change", "Outcome", "Trials", "prepare"]

HEAVY = ("numpy", "scipy.special", "scipy.stats", "scipy.optimize", "numba", "narwhals", "pandas", "polars", "pyarrow", "pytest",
         "_pytest.assertion.rewrite", "hypothesis", "hypothesis.extra.numpy", "sklearn.base", "sklearn.utils.validation",
         "sklearn.model_selection", "sklearn.pipeline")  # fmt: skip

MEMORY = 12 * 2**30
MARKS = "not slow and not engines and not site"
BUDGET = 15.0  # seconds of the processor after which a change that no test has noticed survives
WALL_FACTOR = 20  # a trial that takes so many times its processor's limit waits for something that never comes
STARVED = 0.5  # unless it waited for the processor itself for more than this share of the time
BEGUN = "begun: "  # before a test's name in what a trial says
NEAREST, NEAREST_IMPORTED = 5, 3  # test files, by their words, that are collected for a change
CALLING = 6  # tests that call what is changed whose files are collected, too


@dataclass(frozen=True)
class Outcome:
    """What became of a trial: passed, failed, hung (the time limit) or broken (no test ran, or pytest itself failed)."""

    state: str
    seconds: float
    by: str = ""


@dataclass(frozen=True)
class Change:
    """A change of one module.

    Parameters
    ----------
    module : str
        The module's path in the package, such as ``export/form.py``.
    file : str
        The file that it stands in.
    before, after : str
        The unchanged source and the changed one.
    files : sequence of str
        The test files that are nearest to it, the nearest first.
    noticed_by : str
        A test that noticed it before, if one did.
    tests : sequence of str
        The tests that are run, all cases of each, or all of a file; none: those that call what is changed.
    """

    module: str
    file: str
    before: str
    after: str
    files: Sequence[str]
    noticed_by: str = ""
    tests: Sequence[str] = ()

    @property
    def dotted(self) -> str:
        """The module's name for an import."""
        return ".".join(["hedgerow", *Path(self.module).with_suffix("").parts]).removesuffix(".__init__")

    @cached_property
    def patch(self) -> Patch | None:
        """The change as a patch, if it can be one."""
        return patch_of(self.before, self.after, self.file)

    @property
    def functions(self) -> list[str]:
        """What tests call that can notice it: the changed functions, or any of the package where calls are not seen."""
        if self.patch is None or self.patch.kernels or self.patch.constants:
            package, slash, _ = self.module.partition("/")
            return [package + (slash or ":")]
        return [f"{self.module}:{name}" for name, _ in self.patch.codes]

    def chosen(self, order: Order) -> list[str]:
        """Return the tests that are run, in their order."""
        if self.tests:
            named = ((name, {name, name.partition("[")[0], name.partition("::")[0]}) for name in order.names)
            return [name for name, names in named if not names.isdisjoint(self.tests)]
        first = [self.noticed_by] if self.noticed_by in order.names else []
        return list(dict.fromkeys([*first, *order.of(self.functions, self.files)]))


class Trials:
    """Trials of changes: what is known of the tests stands in a file, which the trials write on."""

    def __init__(self, reach: Path, jobs: int = 1, budget: float = BUDGET, marks: str = MARKS) -> None:
        self.reach, self.jobs, self.budget, self.marks = reach, jobs, budget, marks
        self._seen = SeenSoFar()
        reach.parent.mkdir(parents=True, exist_ok=True)

    def run(self, changes: Sequence[Change]) -> Iterator[tuple[int, Outcome]]:
        """Yield the outcome of each change, by its number, as they end."""
        patched = [number for number, change in enumerate(changes) if change.patch is not None]
        tried = set()
        for number, outcome in self._on_a_stage({number: changes[number] for number in patched}):
            # Tests that fit as they are collected compile kernels, which then cannot be changed there.
            if outcome.state != "broken" or not changes[number].patch.kernels:
                tried.add(number)
                yield number, outcome
        for number, change in enumerate(changes):
            if number not in tried:
                yield number, self._imported(change)

    def files_of(self, change: Change, order: Order) -> list[str]:
        """Return the test files that are collected for a change."""
        if change.tests:
            return list(dict.fromkeys(test.partition("::")[0] for test in change.tests))
        calling = [change.noticed_by, *order.of(change.functions, change.files)[:CALLING]]
        named = dict.fromkeys(name.partition("::")[0] for name in calling if name)
        return [file for file in [*named, *change.files[:NEAREST]] if Path(file).exists()]

    def _known(self, names: Sequence[str] | None = None) -> Order:
        seen = self._seen.update_from(self.reach)
        return Order(list(seen) if names is None else names, seen)

    def _imported(self, change: Change) -> Outcome:
        files = self.files_of(change, self._known())[: None if change.tests else NEAREST_IMPORTED]
        found = _in_a_process(partial(self._import_and_run, change, change.after, files), 2 * self.budget)
        self._seen.update_from(self.reach)
        if found.state in ("failed", "hung") and found.by:
            unchanged = _in_a_process(partial(self._import_and_run, change, change.before, [found.by]), 2 * self.budget)
            if unchanged.state != "passed":
                return Outcome("broken", found.seconds, f"{found.by} fails without the change")
        return found

    def _import_and_run(self, change: Change, source: str, tests: Sequence[str]) -> int:
        import_changed(change.dotted, source)
        try:
            importlib.import_module(change.dotted)
        except Exception as error:
            os.write(1, f"it cannot be imported: {type(error).__name__}\n".encode())
            return 1
        return _pytest(tests, _Runs(self, change), self.marks)

    def _on_a_stage(self, changes: dict[int, Change]) -> Iterator[tuple[int, Outcome]]:
        if not changes:
            return
        reading, writing = os.pipe()
        stage = os.fork()
        if not stage:
            os.close(reading)
            _leave(partial(self._perform, changes, writing))
        os.close(writing)
        with os.fdopen(reading) as lines:
            for line in lines:
                number, *outcome = json.loads(line)
                yield number, Outcome(*outcome)
        if os.waitpid(stage, 0)[1]:
            said = self.reach.with_suffix(".log").read_text(errors="replace")
            raise RuntimeError(f"pytest cannot collect the tests, or a trial cannot begin:\n{said[-3000:]}")

    def _perform(self, changes: dict[int, Change], writing: int) -> int:
        """Collect the tests, then fork a trial for each change; the outcomes go down the pipe."""
        order = self._known()
        files = dict.fromkeys(file for change in changes.values() for file in self.files_of(change, order))
        said = os.open(self.reach.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        return _pytest(list(files), _Stage(self, changes, writing), self.marks)


def _pytest(tests: Sequence[str], plugin: Any, marks: str) -> int:
    import pytest

    arguments = [
        *tests,
        "-s",
        *("-m", marks),
        *("--timeout", "0", "-o", "faulthandler_timeout=0"),  # a trial's limit is the processor's time
        *("--hypothesis-profile", "mutants"),  # behind the one that tests/conftest.py loads
        *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # for what was imported before
        *("-p", "no:terminal", "-p", "no:xdist", "-p", "no:cacheprovider"),
        *("-p", "no:unraisableexception"),  # what the stage's own collections find is no test's failure
    ]
    return int(pytest.main(arguments, plugins=[plugin]))


class _Stage:
    """Takes the place of pytest's own loop over the collected tests."""

    def __init__(self, trials: Trials, changes: dict[int, Change], writing: int) -> None:
        self.trials, self.writing, self.changes = trials, writing, changes

    def pytest_runtestloop(self, session: Any) -> bool:
        if "polars-0" in {task.read_text().strip() for task in Path("/proc/self/task").glob("*/comm")}:
            raise RuntimeError("collecting tests starts threads of polars: a fork waits for ever")
        session.config._tmp_path_factory.getbasetemp()  # one folder for all trials
        modules = {}
        order = self.trials._known([item.nodeid for item in session.items])
        for change in self.changes.values():
            if change.tests and not change.chosen(order):
                raise ValueError(f"there is no test of the name {' or '.join(change.tests)}")
            importlib.import_module(change.dotted)  # what is imported only as a test runs would not be found
            modules[change.module] = Patchable(change.dotted)
        self.trials._seen.fresh.clear()
        for change in self.changes.values():
            if change.noticed_by in order.names:
                order.learn_failure(change.noticed_by, change.functions)
        gc.freeze()  # so that a trial's collections do not copy what it shares with this process
        # From the end: constants last, and the changes of a function one after another.
        queue = sorted(self.changes, key=lambda each: (bool(self.changes[each].patch.constants), each), reverse=True)
        running = dict[int, _Process]()
        while queue or running:
            while queue and len(running) < self.trials.jobs:
                number = queue.pop()
                change = self.changes[number]
                begin = partial(_patch_and_run, self.trials, modules[change.module], change, session, order)
                running[number] = _Process.begin(begin, 10 * self.trials.budget)
            for number, begun in list(running.items()):
                if (outcome := begun.outcome()) is None:
                    continue
                del running[number]
                order.learn(self.trials._seen.update_from(self.trials.reach))
                test = outcome.by if outcome.state in ("failed", "hung") else ""
                if test and not self._passes(test, session, order):
                    order.names.remove(test)
                    queue.append(number)
                    continue
                if test:
                    order.learn_failure(test, self.changes[number].functions)
                answer = [number, outcome.state, outcome.seconds, outcome.by]
                os.write(self.writing, (json.dumps(answer) + "\n").encode())
            time.sleep(0.03)
        return True

    def _passes(self, name: str, session: Any, order: Order) -> bool:
        """Say whether a test passes here without any change, as it did in a trial of something else or does now."""
        fresh = self.trials._seen.fresh
        if name not in fresh:
            _in_a_process(partial(_run, self.trials, session, order, [name], PATIENCE), 10 * self.trials.budget)
            order.learn(self.trials._seen.update_from(self.trials.reach))
        return name in fresh


@dataclass(frozen=True)
class _Runs:
    """As pytest's own loop, with the tests of a change in their order."""

    trials: Trials
    change: Change

    def pytest_runtestloop(self, session: Any) -> bool:
        order = self.trials._known([item.nodeid for item in session.items])
        _run(self.trials, session, order, self.change.chosen(order), KERNEL_PATIENCE)
        return True


def _patch_and_run(trials: Trials, module: Patchable, change: Change, session: Any, order: Order) -> int:
    assert change.patch is not None
    if change.patch.kernels:
        compile_quickly()
    try:
        change.patch.apply(module)
    except ConstantError as error:  # a function that is not found, or was compiled, says nothing of the change
        os.write(1, f"it cannot be imported: {error}\n".encode())
        return 1
    return _run(trials, session, order, change.chosen(order), KERNEL_PATIENCE if change.patch.kernels else PATIENCE)


def _run(trials: Trials, session: Any, order: Order, names: Sequence[str], patience: float) -> int:
    session.config.pluginmanager.register(Reach(trials.reach))
    items = {item.nodeid: item for item in session.items}
    chosen, start = [items[name] for name in names], time.process_time()
    for item, following in zip_longest(chosen, chosen[1:]):
        os.write(1, f"{BEGUN}{item.nodeid}\n".encode())
        # The signals of these timers end the process: in compiled code, and where a thread waits for another, too.
        signal.setitimer(signal.ITIMER_PROF, order.limit(item.nodeid, patience))
        signal.setitimer(signal.ITIMER_REAL, WALL_FACTOR * order.limit(item.nodeid, patience))
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
        if time.process_time() - start > trials.budget:
            break
    return 0


def _in_a_process(work: Callable[[], int], limit: float) -> Outcome:
    begun = _Process.begin(work, limit)
    while (outcome := begun.outcome()) is None:
        time.sleep(0.01)
    return outcome


@dataclass(frozen=True)
class _Process:
    """A running trial; ``id`` is that of its process and of its group."""

    id: int
    output: Path
    start: float
    end: float

    @classmethod
    def begin(cls, work: Callable[[], int], limit: float) -> _Process:
        descriptor, name = tempfile.mkstemp(prefix="trial-")
        process = os.fork()
        if not process:
            os.setpgid(0, 0)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 2))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            _leave(work)
        os.close(descriptor)
        now = time.monotonic()
        return cls(process, Path(name), now, now + WALL_FACTOR * limit)

    def outcome(self) -> Outcome | None:
        """Return what became of it, or None while it runs."""
        late = time.monotonic() > self.end
        if late:
            with suppress(ProcessLookupError):
                os.killpg(self.id, signal.SIGKILL)
        if os.waitid(os.P_PID, self.id, os.WEXITED | os.WNOWAIT | (0 if late else os.WNOHANG)) is None:
            return None
        queued = self._queued()
        _, status, usage = os.wait4(self.id, 0)
        said = self.output.read_text(errors="replace").strip().splitlines()
        self.output.unlink()
        test = next((line[len(BEGUN) :] for line in reversed(said) if line.startswith(BEGUN)), "")
        seconds = round(usage.ru_utime + usage.ru_stime, 2)
        if os.WIFSIGNALED(status):
            if (late or os.WTERMSIG(status) == signal.SIGALRM) and queued > STARVED * (time.monotonic() - self.start):
                return Outcome("broken", seconds, "it waited for the processor")
            hung = late or os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM, signal.SIGXCPU, signal.SIGKILL)
            return Outcome("hung" if hung else "failed", seconds, test)
        code = os.WEXITSTATUS(status)
        # 2: a test file cannot be collected; 4: nor can a test of it that was named
        state = {0: "passed", 1: "failed", 2: "failed", 4: "failed"}.get(code, "broken")
        return Outcome(state, seconds, {"passed": "", "failed": test}.get(state, " ".join(said[-8:])))

    def _queued(self) -> float:
        """Return for how many seconds the process, which has ended, was ready to run and did not."""
        with suppress(OSError):  # Linux says it
            return int(Path(f"/proc/{self.id}/schedstat").read_text().split()[1]) / 10**9
        return 0.0


def _leave(work: Callable[[], int]) -> None:
    """Do the work and end this process with its answer, without whatever the parent meant to do at its own end."""
    code = 70
    try:
        code = work()
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def prepare(examples: int = 20) -> None:
    """Import everything heavy once: every trial is a fork of this process. Hypothesis draws so many examples."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    sys.path.insert(0, str(ROOT / "src"))
    os.chdir(ROOT)
    for name in HEAVY:
        importlib.import_module(name)
    from hypothesis import HealthCheck, Phase, settings

    # The same examples for every trial, none kept in files, and none made simpler: that it fails is all that is asked.
    # A busy machine is slow to make them, which is no failure.
    settings.register_profile(
        "mutants",
        database=None,
        derandomize=True,
        deadline=None,
        max_examples=examples,
        phases=(Phase.explicit, Phase.generate),
        report_multiple_bugs=False,
        suppress_health_check=(HealthCheck.too_slow,),
    )
