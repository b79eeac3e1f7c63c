"""Processes that race for one ledger, and processes that are killed at random moments; run as a script for the long versions.

python tests/privacy/store_processes.py sqlite --kills 2000 --attempts 4000
python tests/privacy/store_processes.py postgresql --kills 200 --attempts 4000
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

TESTS = Path(__file__).parents[1]
STEP = Fraction(1, 1000)

# A worker reserves, "draws" by writing a model file named by the reservation's turn, finishes, and goes on until refused.
WORKER = """
import os, sys
sys.path[:0] = {paths!r}
import hedgerow as hr
from hedgerow.errors import BudgetExceeded
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.events import Pure
from fractions import Fraction
address, folder, attempts, kind = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
step = Fraction(1, 1000)
store = hr.LedgerStore(address)
print("ready", flush=True)
if kind == "kill":
    name = f"own-{{os.getpid()}}-{{os.urandom(4).hex()}}"
    while True:
        try:
            ledger = store.create(name, epsilon=1, parent="all")
            break
        except hr.LedgerUnavailable:
            pass
        except hr.ConfigurationError:  # it was created, though the server died before it said so
            ledger = store.ledger(name)
            break
else:
    ledger = store.ledger("all")
booked = 0
for turn in range(attempts):
    name = f"{{os.getpid()}}-{{os.urandom(8).hex()}}"
    try:
        with ledger.reserve(Certificate(name, "private", step, Fraction(0), "add-remove", Pure(step, "m", "p"))):
            open(os.path.join(folder, name), "x").close()
        booked += 1
    except BudgetExceeded:
        pass
    except hr.LedgerUnavailable:  # the server is being started again
        if kind == "race":
            raise
print(booked, flush=True)
"""


def start(address: str, folder: Path, attempts: int, kind: str) -> subprocess.Popen:
    import hedgerow

    code = WORKER.format(paths=[str(Path(hedgerow.__file__).parents[1])])
    arguments = [sys.executable, "-c", code, address, str(folder), str(attempts), kind]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def race(address: str, folder: Path, *, processes: int, attempts: int, ceiling: int) -> None:
    """Let processes make so many attempts together against a ceiling for ``ceiling``; exactly that many are booked."""
    import hedgerow as hr

    store = hr.LedgerStore(address)
    ledger = store.create("all", epsilon=ceiling * STEP)
    running = [start(address, folder, attempts // processes, "race") for _ in range(processes)]
    ended = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * processes, ended
    booked = sum(int(out.split()[-1]) for out, _ in ended)
    assert (booked, len(ledger.entries), ledger.remaining) == (ceiling, ceiling, 0)
    assert {entry.state for entry in ledger.entries} == {"finished"}
    store.verify("all")


def kills(address: str, folder: Path, *, count: int, together: int, seed: int, restart=None) -> dict[str, int]:
    """Kill so many processes at random moments of create, reserve, fit and finish, and look after each few at what is left."""
    import hedgerow as hr

    chance = random.Random(seed)
    store = hr.LedgerStore(address)
    store.create("all", epsilon=10**6)
    killed = seen = 0
    while killed < count:
        running = [start(address, folder, 10**6, "kill") for _ in range(min(together, count - killed))]
        for process in running:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
        if restart is not None:
            time.sleep(chance.uniform(0, 0.3))
            restart()
        for process in running:
            time.sleep(chance.uniform(0, 0.08))
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            said = process.communicate()
            assert process.returncode == -signal.SIGKILL, said  # none had ended by itself
            killed += 1
        seen = check(address, folder)
    names = hr.LedgerStore(address).names()
    for name in names:
        store.verify(name)
    states = [entry.state for entry in store.ledger("all").entries]
    counts = {state: states.count(state) for state in ("finished", "failed", "unfinished")}
    return {"killed": killed, "ledgers": len(names), "models": seen, **counts}


def check(address: str, folder: Path) -> int:
    """Check that the store opens, its chain is sound and every model has its charge; return the number of models."""
    import hedgerow as hr

    store = hr.LedgerStore(address)
    ledger = store.ledger("all")
    models = set(os.listdir(folder))  # read before the entries: every charge stands before its model
    entries = ledger.entries  # the whole chain is checked
    assert models <= {entry.label for entry in entries}
    assert ledger.spent == len(entries) * STEP <= ledger.epsilon
    finished = {entry.label for entry in entries if entry.state == "finished"}
    assert finished <= models
    return len(models)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["sqlite", "postgresql"])
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--attempts", type=int, default=4000)
    options = parser.parse_args()
    sys.path.insert(0, str(TESTS))
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = None
        if options.kind == "postgresql":
            from postgres import Server, why_not

            if reason := why_not():
                sys.exit(reason)
            server = Server()
            stack.callback(server.stop)

        def new(name: str) -> tuple[str, Path]:
            (folder / name).mkdir()
            return (server.url() if server else str(folder / f"{name}.db")), folder / name

        def restart() -> None:
            server.kill()
            server.start()

        seed = random.SystemRandom().getrandbits(32)
        began = time.monotonic()
        told = kills(*new("kills"), count=options.kills, together=10, seed=seed, restart=restart if server else None)
        sys.stdout.write(f"{told} in {time.monotonic() - began:.0f} s (seed {seed})\n")
        began = time.monotonic()
        race(*new("race"), processes=8, attempts=options.attempts, ceiling=options.attempts // 4)
        sys.stdout.write(f"{options.attempts // 4} of {options.attempts} booked in {time.monotonic() - began:.0f} s\n")


if __name__ == "__main__":
    main()
