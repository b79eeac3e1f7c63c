"""Processes that race for one ledger, and processes that are killed at random moments of what they do.

    python tests/ledgers/store_processes.py sqlite --kills 2000 --attempts 4000
    python tests/ledgers/store_processes.py postgresql --kills 400 --attempts 4000

A killed process was opening the store, creating a share of a ledger, reserving, fitting a model, noting how the fit ended or
saving the model; the last word of its diary says which. Processes are forked, so starting one takes milliseconds.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import secrets
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

import hedgerow as hr
from hedgerow.ledgers.store import StoredLedger
from hedgerow.privacy.accounting import Pure
from hedgerow.privacy.certificate import Certificate

STEP = Fraction(1, 1000)  # what an attempt of a race asks for
KILLS_OF_A_STORE = 100  # then another store: the chain of all entries is read again and again
# How many processes live together and how long, in seconds; a server takes longer to answer, and to start again.
TOGETHER = {"sqlite": 10, "postgresql": 5}
LONGEST = {"sqlite": 1.5, "postgresql": 3.0}
SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["no", "yes"])
X = np.random.default_rng(0).uniform(size=(5000, 2))
Y = np.where(X[:, 0] > 0.5, "yes", "no")
SYSTEMS = (hr.EDPRFClassifier, hr.HedgerowClassifier)

FORK = multiprocessing.get_context("fork")
Process, Barrier = FORK.Process, FORK.Barrier


class Diary:
    """A file whose last word says what its process was doing; the system keeps it when the process is killed."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def note(self, act: str) -> None:
        os.write(self._file, f"{act}\n".encode())


class Noted(StoredLedger):
    """A stored ledger that writes down what it is doing."""

    def __init__(self, ledger: StoredLedger, diary: Diary) -> None:
        super().__init__(ledger.store, ledger.name)
        self.diary = diary

    def reserve(self, certificate: Certificate):
        self.diary.note("reserve")
        reservation = super().reserve(certificate)
        self.diary.note("fit")
        return _Noted(reservation, self.diary)


class _Noted:
    def __init__(self, reservation, diary: Diary) -> None:
        self.reservation, self.diary = reservation, diary

    def __enter__(self):
        return self.reservation.__enter__()

    def __exit__(self, *error):
        self.diary.note("finish")
        return self.reservation.__exit__(*error)


def live(address: str, folder: Path) -> None:
    """Fit and save models in shares of one ledger, for ever; all processes use the same shares and exhaust one after another."""
    diary, turn = Diary(folder / f"{os.getpid()}.diary"), 0
    warnings.simplefilter("ignore")  # where a server was killed, ends are not noted, which is told
    diary.note("open")
    store = again(lambda: hr.LedgerStore(address))
    while True:
        diary.note("create")
        share = again(lambda: created(store, f"share-{turn}"))  # noqa: B023 - called at once
        with contextlib.suppress(hr.BudgetExceeded):
            while True:
                diary.note("plan")
                # No two plans are alike, so a model's certificate says which entry is its own.
                epsilon = Fraction(10**12 + secrets.randbelow(10**12), 10**13)
                kind = secrets.choice(SYSTEMS)
                model = kind(epsilon=epsilon, schema=SCHEMA, ledger=Noted(share, diary))
                with contextlib.suppress(hr.LedgerUnavailable):
                    model.fit(X, Y)
                    diary.note("save")
                    model.save(folder / f"{secrets.token_hex(8)}.hedgerow")
        turn += 1


def again(act: Callable):
    """Act until the server is there again; on SQLite the store is always there."""
    while True:
        try:
            return act()
        except hr.LedgerUnavailable:
            time.sleep(0.05)


def created(store: hr.LedgerStore, name: str) -> StoredLedger:
    try:
        return store.create(name, epsilon=1, parent="all")
    except hr.ConfigurationError:  # another process was first
        return store.ledger(name)


def kills(new: Callable, *, count: int, chance: random.Random, restart: Callable | None) -> Counter:
    """Kill so many processes, and look after every few at what they left; return what they were doing, and what is there."""
    told, kind = Counter(), "postgresql" if restart else "sqlite"
    together, longest = TOGETHER[kind], LONGEST[kind]
    while (left := count - told["killed"]) > 0:
        address, folder = new()
        hr.LedgerStore(address).create("all", epsilon=10**6)
        for batch in range(-(-min(left, KILLS_OF_A_STORE) // together)):
            size = min(together, left - batch * together)
            running = [Process(target=live, args=(address, folder)) for _ in range(size)]
            for process in running:
                process.start()
            moments = sorted(chance.uniform(0, longest if chance.random() < 0.8 else 0.1) for _ in running)
            began, struck = time.monotonic(), chance.uniform(0, 2 * longest)  # the server in every other batch
            for process, moment in zip(chance.sample(running, size), moments, strict=True):
                if restart and struck < moment:
                    restart()
                    told["server killed"], struck = told["server killed"] + 1, 2 * longest
                time.sleep(max(began + moment - time.monotonic(), 0))
                process.kill()
            for process in running:
                process.join()
                assert process.exitcode == -signal.SIGKILL, process  # none ended by itself
                diary = folder / f"{process.pid}.diary"
                acts = diary.read_text().split() if diary.exists() else []
                told[f"in {acts[-1] if acts else 'start'}"] += 1
                diary.unlink(missing_ok=True)
            told["killed"] += size
            if chance.random() < 0.5:  # otherwise the next processes find the store as these have left it
                check(address, folder, complete=not restart)
        told += check(address, folder, complete=not restart)
    return told


def check(address: str, folder: Path, *, complete: bool) -> Counter:
    """Check that the store opens, all chains are sound, no ceiling is passed and every model has its charge; count them."""
    store = hr.LedgerStore(address)
    entries = store.ledger("all").entries
    shares = [store.ledger(name) for name in store.names() if name != "all"]
    for name in store.names():
        store.verify(name)  # every chain and every sum, against its ceiling and its parent
    for share in shares:
        assert sum(entry.epsilon for entry in share.entries) == share.spent <= 1
    assert sum(share.spent for share in shares) == store.ledger("all").spent == sum(entry.epsilon for entry in entries)
    states = {entry.certificate: entry.state for entry in entries}
    assert len(states) == len(entries)
    models = [hr.load(path).certificate_ for path in folder.glob("*.hedgerow")]
    for certificate in models:
        assert certificate in states, "a model exists whose charge is lost"
        assert states[certificate] == "finished" or not complete  # a model is saved after its end was noted
    assert len(set(models)) == len(models)
    return Counter({"models": len(models), "ledgers": 1 + len(shares), **Counter(states.values())})


def race(address: str, folder: Path, *, processes: int, attempts: int) -> str:
    """Let processes make so many attempts together against a ceiling for a quarter of them; exactly that many are charged."""
    ceiling = attempts // 4
    ledger = hr.LedgerStore(address).create("all", epsilon=ceiling * STEP)
    start = Barrier(processes)
    running = [Process(target=attempt, args=(address, folder, attempts // processes, start)) for _ in range(processes)]
    for process in running:
        process.start()
    for process in running:
        process.join()
        assert process.exitcode == 0, process
    booked = len(list(folder.iterdir()))
    entries = ledger.entries
    assert (booked, len(entries), ledger.remaining) == (ceiling, ceiling, 0)
    assert {entry.state for entry in entries} == {"finished"}
    ledger.store.verify("all")
    return f"{booked} of {attempts} booked, by {len({entry.process for entry in entries})} processes"


def attempt(address: str, folder: Path, attempts: int, start) -> None:
    ledger = hr.LedgerStore(address).ledger("all")
    start.wait()
    for _ in range(attempts):
        name = secrets.token_hex(8)
        certificate = Certificate(name, "private", STEP, Fraction(0), "add-remove", Pure(STEP, "m", "p"))
        with contextlib.suppress(hr.BudgetExceeded), ledger.reserve(certificate):
            (folder / name).touch(exist_ok=False)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["sqlite", "postgresql"])
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--attempts", type=int, default=4000)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = secrets.randbits(32) if options.seed is None else options.seed
    for kind in SYSTEMS:
        kind(epsilon=1, schema=SCHEMA).fit(X, Y)  # compiled once, before any fork
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        restart = server = None
        if options.kind == "postgresql":
            sys.path.insert(0, str(Path(__file__).parents[1]))
            from postgres import Server, why_not

            if reason := why_not():
                sys.exit(reason)
            server = Server()
            stack.callback(server.stop)

            def restart() -> None:
                server.kill()
                server.start()

        def new() -> tuple[str, Path]:
            models = Path(tempfile.mkdtemp(dir=folder))
            return (server.url() if server else str(models.with_suffix(".db"))), models

        began = time.monotonic()
        told = kills(new, count=options.kills, chance=random.Random(seed), restart=restart)
        where = ", ".join(f"{name} {number}" for name, number in sorted(told.items()))
        say(f"{options.kind}: {where}; {time.monotonic() - began:.0f} s, seed {seed}")
        began = time.monotonic()
        booked = race(*new(), processes=options.processes, attempts=options.attempts)
        say(f"{options.kind}: {booked}; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
