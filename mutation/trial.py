"""Trials: the tests that hold a module, run with one change of it in place, each in a process of its own.

A stage is a process that has imported the module and collected its tests. A trial is a fork of it that takes the change as a
patch and runs the tests that call what was changed; it ends at the first failure. A change that has no patch is tried in a
process that imports the changed module and collects anew. Time is the processor's, so that on a busy machine no mutant seems
to hang.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

from imports import import_changed
from order import Order, Watch
from patches import Patch, Patchable, compile_quickly, patch_of

__all__ = ["Outcome", "Trials"]

MEMORY = 12 * 2**30
LONGEST = 1800.0  # seconds of the processor, where there is no closer limit
LEAST_LIMIT = 15.0
SLOWER = 5  # beyond the least, how many times as long as without a change a trial may take
WALL_FACTOR = 20  # a trial that takes so many times its processor's limit waits for something that never comes
STARVED = 0.5  # unless it waited for the processor itself for more than this share of the time


@dataclass(frozen=True)
class Outcome:
    """What became of a trial: passed, failed, hung (the time limit) or broken (no test ran, or pytest itself failed)."""

    state: str
    seconds: float
    by: str = ""


@dataclass(frozen=True)
class Trials:
    """Trials of changes of one module.

    Parameters
    ----------
    module : str
        Its dotted name.
    source, path : str
        The unchanged source, and the file that it stands in.
    tests : sequence of str
        What pytest is asked to run.
    jobs : int
        How many trials run at once.
    """

    module: str
    source: str
    path: str
    tests: Sequence[str]
    jobs: int = 1

    def run(self, sources: Sequence[str]) -> Iterator[tuple[int, Outcome]]:
        """Yield the outcome of each changed source, by its number, as they end; the unchanged one's first, as number -1."""
        patches = [patch_of(self.source, source, self.path) for source in sources]
        yield from self._on_a_stage(patches)
        imported = [number for number, patch in enumerate(patches) if patch is None]
        if imported:
            unchanged = _in_a_process(partial(self._import_and_run, self.source), LONGEST)
            yield -1, unchanged
            limit = LEAST_LIMIT + SLOWER * unchanged.seconds
            for number in imported:
                yield number, _in_a_process(partial(self._import_and_run, sources[number]), limit)

    def _on_a_stage(self, patches: Sequence[Patch | None]) -> Iterator[tuple[int, Outcome]]:
        if not any(patches):
            return
        reading, writing = os.pipe()
        stage = os.fork()
        if not stage:
            os.close(reading)
            _leave(partial(self._perform, patches, writing))
        os.close(writing)
        with os.fdopen(reading) as lines:
            for line in lines:
                number, *outcome = json.loads(line)
                yield number, Outcome(*outcome)
        if os.waitpid(stage, 0)[1]:
            yield -1, Outcome("broken", 0.0, "pytest cannot collect the tests, or one that is named is not there")

    def _perform(self, patches: Sequence[Patch | None], writing: int) -> int:
        """Collect the tests, then fork a trial for each patch; the outcomes go down the pipe."""
        import pytest

        empty = os.open(os.devnull, os.O_WRONLY)
        os.dup2(empty, 1)
        os.dup2(empty, 2)
        return int(pytest.main(_arguments(self.tests), plugins=[_Stage(self, patches, writing)]))

    def _import_and_run(self, source: str) -> int:
        import pytest

        import_changed(self.module, source)
        try:
            importlib.import_module(self.module)
        except Exception as error:
            os.write(1, f"it cannot be imported: {error!r}\n".encode())
            return 1
        # File after file, so that most failures come before most imports.
        for _, tests in groupby(self.tests, lambda test: test.partition("::")[0]):
            code = int(pytest.main(_arguments(list(tests)), plugins=[_Tell()]))
            if code:
                return code
        return 0


def _arguments(tests: Sequence[str]) -> list[str]:
    imported_before = "ignore::pytest.PytestAssertRewriteWarning"
    return [
        *tests,
        "-x",
        "-s",
        *("-m", "not slow and not engines and not site"),  # the quick tests and the full ones
        *("--timeout", "0", "-o", "faulthandler_timeout=0"),  # a trial's limit is the processor's time
        "-W",
        imported_before,
        *("-p", "no:terminal", "-p", "no:xdist"),
        *("-k", "not postgresql"),  # every trial would start a server of its own
    ]


class _Stage:
    """Takes the place of pytest's own loop over the collected tests."""

    def __init__(self, trials: Trials, patches: Sequence[Patch | None], writing: int) -> None:
        self.trials, self.writing = trials, writing
        self.queue = [(number, patch) for number, patch in enumerate(patches) if patch is not None]

    def pytest_runtestloop(self, session: Any) -> bool:
        if "polars-0" in {task.read_text().strip() for task in Path("/proc/self/task").glob("*/comm")}:
            self._tell(-1, Outcome("failed", 0.0, "collecting tests starts threads of polars: a fork waits for ever"))
            return True
        session.config._tmp_path_factory.getbasetemp()  # one folder for all trials
        importlib.import_module(self.trials.module)  # what is imported only as a test runs would not be found
        module = Patchable(self.trials.module)
        order = Order(session.items, module)
        unchanged = partial(_run, session, order, order.all(), Watch(module, self.trials.path))
        self._tell(-1, _in_a_process(unchanged, LONGEST, order.learn))
        if module.has_kernels:
            compile_quickly()
        gc.freeze()  # so that a trial's collections do not copy what it shares with this process
        running, patches = dict[int, _Process](), dict(self.queue)
        queue = sorted(
            self.queue, key=lambda entry: bool(entry[1].constants), reverse=True
        )  # from its end: constants last
        while queue or running:
            while queue and len(running) < self.trials.jobs:
                number, patch = queue.pop()
                running[number] = _Process.begin(partial(_patch_and_run, patch, module, session, order), LONGEST)
            for number, begun in list(running.items()):
                if (outcome := begun.outcome()) is not None:
                    del running[number]
                    order.learn_failure(outcome.by, patches[number])
                    self._tell(number, outcome)
            time.sleep(0.003)
        return True

    def _tell(self, number: int, outcome: Outcome) -> None:
        os.write(self.writing, (json.dumps([number, outcome.state, outcome.seconds, outcome.by]) + "\n").encode())


def _patch_and_run(patch: Patch, module: Patchable, session: Any, order: Order) -> int:
    try:
        patch.apply(module)
    except KeyError:  # a function that is not found says nothing of the change
        raise
    except Exception as error:  # a constant that has no value
        os.write(1, f"it cannot be imported: {error!r}\n".encode())
        return 1
    return _run(session, order, order.of(patch), _Tell())


def _run(session: Any, order: Order, items: Sequence[Any], plugin: Any) -> int:
    session.config.pluginmanager.register(plugin)
    for item, following in zip_longest(items, items[1:]):
        # The signals of these timers end the process: in compiled code, and where a thread waits for another, too.
        signal.setitimer(signal.ITIMER_PROF, order.limit(item))
        signal.setitimer(signal.ITIMER_REAL, WALL_FACTOR * order.limit(item))
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


class _Tell:
    """Says on standard output which test failed first."""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            os.write(1, f"{report.nodeid}\n".encode())

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            os.write(1, f"{report.nodeid} (import)\n".encode())


def _in_a_process(work: Callable[[], int], limit: float, read: Callable[[str], None] | None = None) -> Outcome:
    begun = _Process.begin(work, limit)
    while (outcome := begun.outcome(read)) is None:
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

    def outcome(self, read: Callable[[str], None] | None = None) -> Outcome | None:
        """Return what became of it, or None while it runs; ``read`` gets what it said."""
        late = time.monotonic() > self.end
        if late:
            with suppress(ProcessLookupError):
                os.killpg(self.id, signal.SIGKILL)
        if os.waitid(os.P_PID, self.id, os.WEXITED | os.WNOWAIT | (0 if late else os.WNOHANG)) is None:
            return None
        queued = self._queued()
        _, status, usage = os.wait4(self.id, 0)
        said = self.output.read_text(errors="replace").strip()
        self.output.unlink()
        if read is not None:
            read(said)
        seconds = round(usage.ru_utime + usage.ru_stime, 2)
        if os.WIFSIGNALED(status):
            if (late or os.WTERMSIG(status) == signal.SIGALRM) and queued > STARVED * (time.monotonic() - self.start):
                return Outcome("broken", seconds, "it waited for the processor")
            hung = late or os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM, signal.SIGXCPU, signal.SIGKILL)
            return Outcome("hung" if hung else "failed", seconds, f"signal {os.WTERMSIG(status)}")
        code = os.WEXITSTATUS(status)
        # 2: a test file cannot be collected; 4: nor can a test of it that was named
        state = {0: "passed", 1: "failed", 2: "failed", 4: "failed"}.get(code, "broken")
        return Outcome(
            state, seconds, "" if state == "passed" else said.partition("\n")[0] if state == "failed" else said[-800:]
        )

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
