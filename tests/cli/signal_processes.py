"""Commands that get SIGINT or SIGTERM at a random moment: none is lost, none shows a traceback, and each says what it cost.

    python tests/cli/signal_processes.py --tries 40

Of each group of commands half get SIGINT and half SIGTERM, at a moment between their start and the time that a whole run takes:
all times are seconds of the command's own work, so that a busy machine changes nothing.
What a command writes is then compared with its ledger and its files. Exit code 1 where anything is not as it must be.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import product
from pathlib import Path

import numpy as np

import hedgerow as hr

RECORDS = 12_000
SWEEPABLE = ".hedgerow-*.tmp"
LATE = 0.3  # seconds in which a command that has its result may end, whatever comes
SCHEMA = 'target = "y"\nclasses = ["no", "yes"]\n' + "".join(
    f"\n[features.a{i}]\nlow = 0\nhigh = 1\n" for i in range(8)
)
COUNT = "count epsilon 1 as spent"
SPENT = ("was spent, but no model was written.", "was spent, and the model is whole in")

IN_PYTHON = """
import sys
import pandas as pd
import hedgerow as hr
import hedgerow.engines.records
hedgerow.engines.records.LEAST_MEMORY = 1 << 10
schema = hr.Schema.load("schema.toml")
ledger = hr.LedgerStore("ledger.db").ledger("all")
model = hr.HedgerowClassifier(epsilon=1.0, schema=schema, ledger=ledger)
if sys.argv[1] == "frame":
    frame = pd.read_csv("data.csv")
    model.fit(frame[list(schema.names)], frame["y"])
else:
    model.fit(hr.Records.from_csv("data.csv", label="y", memory=2**16, spill="spill"))
model.save("out.hedgerow")
"""

# The command with room for few codes in memory, so that a small file is spilled.
SMALL = """
from hedgerow.cli import LazyGroup
command_of = LazyGroup.get_command
def get_command(self, context, name):
    import hedgerow.cli.options, hedgerow.engines.records
    hedgerow.cli.options.LEAST_MEMORY = hedgerow.engines.records.LEAST_MEMORY = 1 << 10
    return command_of(self, context, name)
LazyGroup.get_command = get_command
from hedgerow.__main__ import main
main()
"""


@dataclass(frozen=True)
class Group:
    """Commands of one kind.

    ``writes`` is the file that a whole run leaves, ``books`` says whether it books in the ledger, ``ours`` whether the command
    line, and not a script of a user's, ends with the interruption.
    """

    name: str
    command: tuple[str, ...]
    writes: str
    books: bool = False
    ours: bool = True


def _train(*more: str) -> tuple[str, ...]:
    return ("train", "data.csv", "--schema", "schema.toml", "--epsilon", "1", *more, "--out", "out.hedgerow")


_HOLDOUT = ("--holdout", "0.2", "--holdout-epsilon", "1")
_LEDGER = ("--ledger", "ledger.db", "--dataset", "all")
_SPILL = ("--memory", "64KiB", "--spill", "spill")
GROUPS = (
    Group("train, in memory", ("-m", "hedgerow", *_train(*_HOLDOUT)), "out.hedgerow"),
    Group("train, out of core", ("small.py", *_train(*_SPILL)), "out.hedgerow"),
    Group("train, in memory, ledger", ("-m", "hedgerow", *_train(*_HOLDOUT, *_LEDGER)), "out.hedgerow", books=True),
    Group("train, out of core, ledger", ("small.py", *_train(*_SPILL, *_LEDGER)), "out.hedgerow", books=True),
    Group("predict", ("-m", "hedgerow", "predict", "model.hedgerow", "data.csv", "--out", "out.csv"), "out.csv"),
    Group(
        "evaluate, out of core, ledger",
        ("small.py", *"evaluate model.hedgerow data.csv --epsilon 1 --out out.json".split(), *_SPILL, *_LEDGER),
        "out.json",
        books=True,
    ),
    Group("script, in memory, ledger", ("script.py", "frame"), "out.hedgerow", books=True, ours=False),
    Group("script, out of core, ledger", ("script.py", "files"), "out.hedgerow", books=True, ours=False),
)


class Folder:
    """Records, a model and a ledger that all commands share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "schema.toml").write_text(SCHEMA, "utf-8")
        (path / "script.py").write_text(IN_PYTHON, "utf-8")
        (path / "small.py").write_text(SMALL, "utf-8")
        (path / "spill").mkdir()
        generator = np.random.default_rng(0)
        cells = generator.random((RECORDS, 8)).round(4)
        labels = np.where(cells[:, 0] + generator.normal(0, 0.2, RECORDS) > 0.5, "yes", "no")
        with open(path / "data.csv", "w", encoding="utf-8") as file:
            file.write(",".join([*(f"a{i}" for i in range(8)), "y"]) + "\n")
            file.writelines(
                ",".join([*map(str, row), label]) + "\n" for row, label in zip(cells.tolist(), labels, strict=True)
            )
        self.ledger = hr.LedgerStore(str(path / "ledger.db")).create("all", epsilon=1_000_000)
        self.kept = {*self.left(), "ledger.db-journal", "ledger.db-wal", "ledger.db-shm", "model.hedgerow", "spill"}

    def left(self) -> set[str]:
        return {file.name for file in self.path.iterdir()}

    def start(self, command: tuple[str, ...]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *command], cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, group: Group) -> float:
        """Run a command to its end, and return how many seconds it took."""
        begin = worked()
        process = self.start(group.command)
        said = process.communicate()[1]
        assert process.returncode == 0, said
        if group.writes == "out.hedgerow":
            (self.path / group.writes).rename(self.path / "model.hedgerow")
        else:
            (self.path / group.writes).unlink()
        return worked() - begin


def worked(process: int | None = None) -> float:
    """Return how many seconds a process has worked; without one, all that have ended."""
    if process is None:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def signalled(folder: Folder, group: Group, sign: signal.Signals, moment: float) -> tuple[str, list[str], str]:
    """Send a command a signal; return how it ended, what is wrong about that, and all that it said."""
    out = folder.path / group.writes
    booked = len(folder.ledger.entries)
    begin = worked()
    process = folder.start(group.command)
    while process.poll() is None and worked(process.pid) < moment:
        time.sleep(0.005)
    there = out.exists()
    process.send_signal(sign)
    printed, said = process.communicate()
    took = worked() - begin - moment
    wrong = []
    entries = len(folder.ledger.entries) - booked
    try:
        folder.ledger.store.verify("all")
    except hr.LedgerDamaged as error:
        wrong.append(f"the ledger is damaged: {error}")
    unknown = {name for name in folder.left() - folder.kept - {group.writes} if not fnmatch(name, SWEEPABLE)}
    if unknown:
        wrong.append(f"left {sorted(unknown)}")
    if out.exists():
        wrong += whole(out)
    spilled = sorted(file.name for file in (folder.path / "spill").iterdir())
    if spilled and sign == signal.SIGINT:
        wrong.append("left spilled arrays")
    ended, about = judged(
        group, sign, process.returncode, said, there=there, took=took, entries=entries, model=out.exists()
    )
    out.unlink(missing_ok=True)
    for name in spilled:
        os.rename(folder.path / "spill" / name, folder.path / f".hedgerow-{name}.tmp")
    return ended, wrong + about, f"{printed}\n{said}"


def judged(
    group: Group, sign: signal.Signals, code: int, said: str, *, there: bool, took: float, entries: int, model: bool
) -> tuple[str, list[str]]:
    """Say how a command ended, and what is wrong about it."""
    wrong = []
    if group.ours and ("Traceback" in said or "Exception ignored" in said):
        wrong.append("shows a traceback")
    if "Exception ignored" in said:
        wrong.append("an exception was ignored")
    if code == 0:
        if not there and took > LATE:
            wrong.append("the signal was lost")
        return "had its result", wrong
    if sign == signal.SIGTERM:
        return "ended by SIGTERM", [*wrong, *([f"exit code {code}"] if code != -sign else [])]
    if not group.ours:
        return "ended by SIGINT", [*wrong, *([f"exit code {code}"] if code not in (-sign, 130) else [])]
    # Python itself ends by the signal, which a shell tells as 130, where it fell into code that exec() made of text.
    if code not in (130, -sign):
        return f"exit code {code}", [*wrong, f"exit code {code}"]
    if said.count("\n") > 2 or "interrupted." not in said:
        wrong.append("says more, or less, than one sentence")
    if not group.books and "train" not in group.name:
        return "interrupted", wrong
    if COUNT in said:
        return ("begun, nothing charged" if group.books and not entries else "begun"), wrong
    if any(words in said for words in SPENT):
        if (SPENT[1] in said) != model or (group.books and not entries):
            wrong.append("says of a model or an entry what is not so")
        return "fitted", wrong
    if entries:
        wrong.append("an entry is in the ledger, and the command does not say so")
    return "nothing spent", wrong


def whole(out: Path) -> list[str]:
    """Say what is wrong about a result that is there."""
    try:
        if out.suffix == ".hedgerow":
            hr.load(out)
        elif out.suffix == ".json":
            json.loads(out.read_text("utf-8"))
        elif len(out.read_text("utf-8").splitlines()) != RECORDS + 1:
            return ["the answers are not whole"]
    except Exception as error:
        return [f"the result is not whole: {error!r}"]
    return []


def tried(folder: Folder, groups: list[Group], tries: int, seed: int) -> Iterator[tuple[Group, str, list[str], str]]:
    """Yield the outcome of each try: its group, how it ended, what is wrong, and what was said."""
    chance = random.Random(seed)
    last = {group: min(folder.run(group) for _ in range(2)) for group in groups}  # the first one may compile
    for number, group in product(range(tries), groups):
        sign = signal.SIGTERM if number % 2 else signal.SIGINT
        yield group, *signalled(folder, group, sign, last[group] * 0.9 * chance.random() ** 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=40, help="signals to each group")
    parser.add_argument("--only", nargs="+", default=[group.name for group in GROUPS])
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args()
    failed = 0
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background job would have its commands ignore it
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(Path(name))
        folder.run(GROUPS[0])
        ends: dict[str, Counter[str]] = {}
        groups = [group for group in GROUPS if group.name in options.only]
        for group, ended, wrong, said in tried(folder, groups, options.tries, options.seed):
            counts = ends.setdefault(group.name, Counter())
            counts["tried"] += 1
            counts["failed"] += bool(wrong)
            counts[ended] += 1
            print(f"{group.name}: {ended}", flush=True)
            if wrong:
                failed += 1
                print(f"FAILED: {'; '.join(wrong)}\n{said}", flush=True)
    for name, counts in ends.items():
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in counts.items()))
    tries = sum(counts["tried"] for counts in ends.values())
    print(f"{tries} signals, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
