"""An owner in a process of its own, which kills itself where a test wants it to; and a transport that starts it again."""

import multiprocessing
import os
import signal
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Client
from pathlib import Path
from unittest.mock import patch

import hedgerow as hr
from hedgerow import federated
from hedgerow.cli.relay import Resident, Sockets
from hedgerow.engines.federated import owner as module
from hedgerow.engines.federated.messages import unpacked
from hedgerow.errors import EngineError

SOCKET = "owner.socket"
MOMENTS = ("as it gets a message", "before it writes", "when it wrote", "before it replies")


def fast_processes():
    """Return a context whose processes start with the library and its kernels in memory."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["owner_warm"])
    return context


class Ending:
    """Kills this process, once for each step and moment; a step is a query's number or the kind of another message."""

    def __init__(self, folder, steps, moments, lines):
        self.folder, self.steps, self.moments, self.lines, self.step = folder, steps, moments, lines, None

    def at(self, moment):
        mark = self.folder / f"{self.step} {moment}"
        if moment in self.moments and (self.steps is None or self.step in self.steps) and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def trace(self):
        """Kill this process at the next line of the owner's module that has not been the end of one.

        A line is one by the lines that called it. The repetitions of a loop over a plan's events, hundreds, differ in nothing
        that is kept.
        """
        count = self.folder / f"{self.step} lines"
        reached = int(count.read_text()) if count.exists() else 0
        count.write_text(f"{reached + 1}")
        passed = set()

        def line(frame, event, value):
            if event == "line" and (place := calls(frame)) not in passed:
                if len(passed) == reached:
                    os.kill(os.getpid(), signal.SIGKILL)
                passed.add(place)
            return line

        sys.settrace(lambda frame, event, value: line if frame.f_code.co_filename == module.__file__ else None)


def calls(frame):
    """Return the lines of the owner's module that are being carried out, from the innermost one."""
    lines = []
    while frame is not None:
        if frame.f_code.co_filename == module.__file__:
            lines.append(frame.f_lineno)
        frame = frame.f_back
    return tuple(lines)


def serve(frame, name, folder, parties, colluding, steps, moments, lines):
    ending = Ending(folder, steps, moments, lines)
    handle, write = federated.Owner.handle, federated.Owner._write

    def handled(self, message):
        request = unpacked(message)
        ending.step = request.get("number", request["kind"])
        ending.at(MOMENTS[0])
        if ending.step == lines:
            ending.trace()
        reply = handle(self, message)
        sys.settrace(None)
        ending.at(MOMENTS[3])
        return reply

    def written(self, *given):
        ending.at(MOMENTS[1])
        write(self, *given)
        ending.at(MOMENTS[2])

    federated.Owner.handle, federated.Owner._write = handled, written
    records = hr.Records.from_batches(lambda: [frame], label="y")
    ledger = hr.LedgerStore(folder / "ledger.db").ledger("survey")
    mode = "trusted" if colluding is None else colluding
    made = federated.Owner(records, name, folder, parties, ledger, seeded=True, colluding=mode)
    Resident(made, folder / SOCKET).serve()


def answers(path):
    """Return whether a process listens at a socket, whose file is there a moment before."""
    try:
        Client(os.fspath(path), "AF_UNIX").close()
    except OSError:
        return False
    return True


class WithOneProcess(federated.InProcess):
    """A transport to owners of which one has a process of its own, which is started again whenever it was killed.

    Parameters
    ----------
    owners : owners.Owners
        Owners without persons.
    steps, moments
        Where its process ends: at each of these steps (None: at all) and moments.
    lines
        A step at which it ends at one line after the other, until it gets to the end.
    """

    def __init__(self, owners, name="north", steps=(), moments=MOMENTS, lines=None):
        super().__init__({key: value for key, value in owners.transport.owners.items() if key != name})
        self.name, self.folder, self.kills, self.process = name, owners.place / name, 0, None
        owners.transport.owners.pop(name)._alone.close()
        frame = owners.frames[[one.name for one in owners.parties].index(name)].drop(columns="person")
        store = hr.LedgerStore(self.folder / "ledger.db")
        store.create("survey", epsilon=50, delta=1e-4)
        self.ledger = store.ledger("survey")
        self._given = (frame, name, self.folder, owners.parties, owners.colluding, steps, moments, lines)
        self.start()

    def start(self):
        (self.folder / SOCKET).unlink(missing_ok=True)
        self.process = fast_processes().Process(target=serve, args=self._given, daemon=True)
        path = os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")))
        with patch.dict(os.environ, PYTHONPATH=path):  # for the process that the others are made from
            self.process.start()
        deadline = time.monotonic() + 240
        while not answers(self.folder / SOCKET):
            assert self.process.is_alive(), "the owner's process ended before it answered"
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def send(self, given, timeout):
        replies = dict(super().send(given, timeout))
        if self.name in given:
            replies |= Sockets({self.name: self.folder / SOCKET}).send({self.name: given[self.name]}, timeout)
            if self.name not in replies and timeout > 1:  # "end" waits for nobody
                self.process.join(60)
                assert self.process.exitcode == -signal.SIGKILL
                self.kills += 1
                self.start()
        return replies

    def close(self):
        with suppress(EngineError, ProcessLookupError):
            self.process.kill()
        self.process.join()
