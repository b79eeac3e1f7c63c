"""Mutation testing: `make mutants` (docs/mutants.md).

The code is changed in one place at a time, and the tests that call it are run: a change that none notices survives. A sample is
drawn by a seed, more often where a wrong line does more harm. Outcomes are kept in mutation/outcomes.xz until the changed
function or the test that noticed it changes. A run ends well if every survivor is judged in judged.toml and every judgement
is of a survivor; what is known is written to the page.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from mutants import Mutant, Source, mutants_of
from order import Words
from packed import read_packed, write_packed
from plant import Bug, Copy
from reach import REACH, ROOT, SOURCE
from trial import MARKS as MARKED
from trial import Change, Outcome, Trials, prepare

OUTCOMES = ROOT / "mutation" / "outcomes.xz"
NAMED_BUDGET = 600.0  # seconds of the processor for tests that are named
TRIED = ROOT / "build" / "tried.txt"  # since the outcomes were packed, a line for each trial as soon as it ends
PAGE = ROOT / "docs" / "mutants.md"
MARKS = "<!-- figures: written by mutation/run.py -->", "<!-- end of figures -->"


@dataclass(frozen=True)
class Module:
    """A module under trial, and how often a sample takes a line of it."""

    path: str
    weight: float = 1.0

    @property
    def package(self) -> str:
        """The part of the library that it is in."""
        return self.path.partition("/")[0]

    @cached_property
    def source(self) -> Source:
        """What stands in it."""
        return Source(self.path, (SOURCE / self.path).read_text("utf-8"))

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return len(self.source.lines)


def modules() -> list[Module]:
    """Return the modules under trial: all that define a function, but those that are left out for a reason."""
    listed = tomllib.loads((ROOT / "mutation" / "modules.toml").read_text("utf-8"))
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE).as_posix()
        left_out = any(path == one or path.startswith(f"{one}/") for one in listed["left-out"])
        if left_out or "def " not in file.read_text("utf-8"):
            continue
        weight = listed["weights"].get(path.partition("/")[0])
        if weight is None:
            raise SystemExit(
                f"{path} has no weight in mutation/modules.toml: add its package, or say why it is left out"
            )
        found.append(Module(path, weight))
    return found


def sampled(among: Sequence[Module], number: int, seed: int, only: Sequence[str] | None = None) -> list[Mutant]:
    """Return about so many mutants, or those of them in some packages.

    The number of a module's is its share of the weighted lines, rounded up or down by the seed and its name.

    A change of a module leaves the sample of the others, and of its unchanged functions, nearly as it was.
    """
    total = sum(module.weight * module.lines for module in among)
    found = []
    for module in (one for one in among if not only or one.package in only):
        digest = hashlib.sha256(f"{seed} {module.path}".encode()).digest()
        share = number * module.weight * module.lines / total
        found += module.source.drawn(int(share + int.from_bytes(digest[:4], "big") / 2**32), seed)
    return found


class Known(NamedTuple):
    """What became of a mutant, the hash of the function before its change, the test that noticed it and the hash of that."""

    state: str
    syntax: str
    test: str = ""
    test_syntax: str = ""


Outcomes = dict[tuple[str, str], Known]  # by the module's path and the change


def read_outcomes(packed: Path = OUTCOMES, tried: Path = TRIED) -> Outcomes:
    """Return all that is known."""
    rows = [
        line.split("\t") for line in [*(read_packed(packed) if packed.exists() else "").splitlines(), *_lines(tried)]
    ]
    return {(path, change): Known(*rest) for path, change, *rest in rows}


def _lines(path: Path) -> list[str]:
    """Return the whole lines of a file, whose last one may be half: a run may have been broken off."""
    text = path.read_text("utf-8") if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


def write_outcomes(known: Outcomes, packed: Path = OUTCOMES, tried: Path = TRIED) -> None:
    """Pack what is known."""
    write_packed(packed, "".join("\t".join([*names, *one]) + "\n" for names, one in sorted(known.items())))
    tried.unlink(missing_ok=True)


def add_outcome(known: Outcomes, mutant: Mutant, syntax: str, outcome: Outcome, tried: Path = TRIED) -> None:
    """Keep an outcome."""
    one = Known(outcome.state, syntax, outcome.by, test_syntax(outcome.by))
    known[mutant.module, mutant.change] = one
    tried.parent.mkdir(exist_ok=True)
    with tried.open("a", encoding="utf-8") as file:
        file.write("\t".join([mutant.module, mutant.change, *one]) + "\n")


@cache
def test_syntax(test: str) -> str:
    """Return a hash of the function of a test with its decorators, empty if there is none."""
    file, _, name = test.partition("[")[0].partition("::")
    if not name or not (ROOT / file).is_file():
        return ""
    nodes = ast.walk(ast.parse((ROOT / file).read_text("utf-8")))
    found = [
        ast.unparse(node) for node in nodes if isinstance(node, ast.FunctionDef) and node.name == name.split("::")[-1]
    ]
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:8] if found else ""


def current(known: Outcomes, every: Mapping[str, Module]) -> Outcomes:
    """Return what is known of functions and tests that have not changed since, and was not broken off."""
    kept = {}
    for (path, change), one in known.items():
        syntax = every[path].source.syntax_of(change.partition(": ")[0]) if path in every else None
        if one.state != "broken" and syntax == one.syntax and test_syntax(one.test) == one.test_syntax:
            kept[path, change] = one
    return kept


def judgements() -> dict[tuple[str, str], str]:
    """Return the verdict of every judged change."""
    listed = tomllib.loads((ROOT / "mutation" / "judged.toml").read_text("utf-8"))
    return {
        (entry["module"], change): entry["verdict"] for entry in listed.get("judged", []) for change in entry["changes"]
    }


def try_mutants(
    mutants: Sequence[Mutant], every: Mapping[str, Module], known: Outcomes, jobs: int, tests: Sequence[str] = ()
) -> None:
    """Run the trials of mutants without a current outcome, and of survivors without a judgement.

    Where tests are named, these alone are run, and they take what time they need; a test of a file, only if a trial may run it.
    """
    last, judged, words = dict(known), judgements(), Words(ROOT / "tests")
    packages = {every[mutant.module].package for mutant in mutants}
    wanted = {(mutant.module, mutant.change) for mutant in mutants}
    for path, change in set(known) - set(current(known, every)):
        if (path, change) in wanted or (path.partition("/")[0] in packages and not tests) or path not in every:
            del known[path, change]
    settled = {name for name, one in known.items() if one.state != "passed" or name in judged}
    waiting = [mutant for mutant in mutants if (mutant.module, mutant.change) not in settled]
    marks = "" if all("::" in test for test in tests) else MARKED  # a test that is named by itself is run
    trials = Trials(REACH, jobs, NAMED_BUDGET, marks) if tests else Trials(REACH, jobs)
    for package, group in groupby(waiting, lambda mutant: every[mutant.module].package):
        some = list(group)
        print(f"{package}: {len(some)} mutants to try", flush=True)
        changes = []
        for mutant in some:
            source, before = every[mutant.module].source, last.get((mutant.module, mutant.change))
            files = words.nearest(mutant.module, source.text)
            noticed_by = before.test if before else ""
            changes.append(
                Change(mutant.module, str(SOURCE / mutant.module), source.text, mutant.source, files, noticed_by, tests)
            )
        for number, outcome in trials.run(changes):
            _keep(known, some[number], every, outcome)


def _keep(known: Outcomes, mutant: Mutant, every: Mapping[str, Module], outcome: Outcome) -> None:
    add_outcome(known, mutant, every[mutant.module].source.syntax_of(mutant.function), outcome)
    shown = f"{outcome.state:<7}{outcome.seconds:6.1f} s  {mutant.module}:{mutant.line}"
    print(f"  {shown}  {mutant.change}  {outcome.by}", flush=True)


def try_in_copies(
    mutants: Sequence[Mutant], every: Mapping[str, Module], known: Outcomes, tests: Sequence[str]
) -> None:
    """Put each of these mutants into a copy of the source and run these tests there, which may start processes."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(Path(folder))
        for mutant in mutants:
            start = time.monotonic()
            before = every[mutant.module].source.text
            cases = copy.run_with(Bug(mutant.change, "", mutant.module, before, mutant.source, ""), tests)
            if noticed := next((name for name, state in cases.items() if state == "failed"), ""):
                state = "failed" if copy.run([noticed]).get(noticed) == "passed" else "broken"
            else:
                state = "passed" if "passed" in cases.values() else "broken"
            _keep(known, mutant, every, Outcome(state, time.monotonic() - start, noticed))


def left(known: Outcomes, judged: Mapping[tuple[str, str], str]) -> list[str]:
    """Return what is left to do: survivors without a verdict, and verdicts on what a test notices."""
    open_still = [
        f"survived  src/hedgerow/{path}  {change}"
        for (path, change), one in known.items()
        if one.state == "passed" and (path, change) not in judged
    ]
    killed = [name for name in judged if name in known and known[name].state != "passed"]
    return [
        *open_still,
        *(f"stale judgement, a test notices it  src/hedgerow/{path}  {change}" for path, change in killed),
    ]


COLUMNS = ("lines", "covered", "tried", "killed", "equivalent", "harmless", "survived", "expired")


def figures(
    known: Outcomes, now: Outcomes, every: Mapping[str, Module], judged: Mapping[tuple[str, str], str]
) -> dict[str, Counter[str]]:
    """Return the figures of each package: ``covered`` are the lines of its modules with a current outcome."""
    rows: dict[str, Counter[str]] = {}
    for path, module in every.items():
        row = rows.setdefault(module.package, Counter())
        row["lines"] += module.lines
        row["covered"] += module.lines * any(path == tried for tried, _ in now)
    for (path, change), one in now.items():
        verdict = judged.get((path, change), "survived")
        rows[every[path].package].update(["tried", verdict if one.state == "passed" else "killed"])
    for path, _ in known.keys() - now.keys():
        rows.get(path.partition("/")[0], Counter())["expired"] += 1
    return rows


def total(rows: Mapping[str, Counter[str]]) -> Counter[str]:
    """Return the sums over all packages."""
    return sum(rows.values(), Counter())


def table(rows: Mapping[str, Counter[str]]) -> str:
    """Return the figures as a table in Markdown."""
    lines = [f"| package | {' | '.join(COLUMNS)} |", f"| -- |{' --: |' * len(COLUMNS)}"]
    for name, row in [*rows.items(), ("total", total(rows))]:
        lines.append(f"| {name} | {' | '.join(str(row[column]) for column in COLUMNS)} |")
    return "\n".join(lines)


def in_words(rows: Mapping[str, Counter[str]], everything: int) -> str:
    """Return what the figures say, as sentences of the page, of so many lines of the library."""
    sums = total(rows)
    under, kept, tried = sums["lines"], sums["covered"], sums["tried"]
    return (
        f"{under} of {everything} lines are under trial, {100 * under / everything:.0f} %. {kept} of them, "
        f"{100 * kept / max(under, 1):.0f} %, are in modules with a current outcome. {tried} mutants have one, "
        f"{100 * tried / max(tried + sums['expired'], 1):.0f} % of those that were tried: {sums['killed']} are killed, "
        f"{sums['equivalent']} judged equivalent, {sums['harmless']} harmless, and {sums['survived']} survivors are not judged."
    )


def write_page(rows: Mapping[str, Counter[str]], words: str, page: Path = PAGE) -> None:
    """Put the figures of all packages between the marks of the page."""
    before, begin, rest = page.read_text("utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not (begin and end):
        raise SystemExit(f"{page} has no marks between which figures stand")
    page.write_text(f"{before}{begin}\n\n{table(rows)}\n\n{words}\n\n{end}{after}", "utf-8")


def main() -> int:
    """Try what has no result yet, list what is left, and say with 1 that something is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", help="modules, such as privacy/accounting.py, of which all mutants are tried"
    )
    parser.add_argument("--sample", type=int, default=300, help="without names: how many mutants are drawn")
    parser.add_argument("--only", nargs="+", help="of the sample only these packages")
    parser.add_argument("--seed", type=int, default=0, help="which are drawn")
    parser.add_argument("--jobs", type=int, default=1, help="trials at once")
    parser.add_argument("--like", nargs="+", help="only mutants in whose module and change one of these texts stands")
    parser.add_argument("--tests", nargs="+", help="run these test files, or tests, and no others")
    parser.add_argument(
        "--copy", action="store_true", help="with --tests: change a copy of the source, for tests that start processes"
    )
    parser.add_argument("--list", action="store_true", help="try nothing, say what is known, and write it to the page")
    options = parser.parse_args()
    every = {module.path: module for module in modules()}
    if unknown := [name for name in options.names if name not in every]:
        parser.error(f"{unknown[0]} is no module under trial (mutation/modules.toml)")
    if options.copy and not options.tests:
        parser.error("--copy needs --tests: in a copy it is not known which tests call what is changed")
    prepare()
    known = read_outcomes()
    if not options.list:
        if options.names:
            mutants = [mutant for name in options.names for mutant in mutants_of(name, every[name].source.text)]
        else:
            mutants = sampled(list(every.values()), options.sample, options.seed, options.only)
        if options.like:
            mutants = [one for one in mutants if any(text in f"{one.module}  {one.change}" for text in options.like)]
        if options.copy:
            try_in_copies(mutants, every, known, options.tests)
        else:
            try_mutants(mutants, every, known, options.jobs, options.tests or ())
    now, judged = current(known, every), judgements()
    write_outcomes(known)
    rows, remaining = figures(known, now, every, judged), left(now, judged)
    words = in_words(rows, sum(len(file.read_text("utf-8").splitlines()) for file in SOURCE.rglob("*.py")))
    print("\n".join([*remaining, "", table(rows), "", words]))
    write_page(rows, words)
    return 1 if remaining else 0


if __name__ == "__main__":
    sys.exit(main())
