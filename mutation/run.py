"""Mutation testing of the code that carries the guarantee: `make mutants` (docs/mutants.md).

Each module of the tree but those that modules.toml leaves out is changed in one place, the tests that hold it are run, and a
change that no test notices survives. A sample is drawn by a seed, more often where a wrong line does more harm. Outcomes are kept
in mutation/outcomes.xz until the changed function or the tests change. A run ends well if every survivor is judged in judged.toml
and every judgement is of a survivor; what is known is written to the page.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mutants import Mutant, mutants_of
from trial import Outcome, Trials

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hedgerow"
OUTCOMES = ROOT / "mutation" / "outcomes.xz"
TRIED = OUTCOMES.with_name("tried.txt")  # since the outcomes were packed, a line for each trial as soon as it ends
PAGE = ROOT / "docs" / "mutants.md"
MARKS = "<!-- figures: written by mutation/run.py -->", "<!-- end of figures -->"
HEAVY = ("numpy", "scipy.special", "scipy.stats", "scipy.optimize", "numba", "narwhals", "pandas", "polars", "pyarrow", "pytest",
         "_pytest.assertion.rewrite", "hypothesis", "hypothesis.extra.numpy", "sklearn.base", "sklearn.utils.validation",
         "sklearn.model_selection", "sklearn.pipeline")  # fmt: skip


@dataclass(frozen=True)
class Module:
    """A module under trial, the test files that hold it, the most specific first, and how often a sample takes a line of it."""

    path: str
    tests: tuple[str, ...]
    weight: float = 1.0

    @property
    def package(self) -> str:
        """The part of the library that it is in."""
        return self.path.partition("/")[0]

    @property
    def dotted(self) -> str:
        """Its name for an import."""
        return ".".join(["hedgerow", *Path(self.path).with_suffix("").parts])

    @property
    def source(self) -> str:
        """What stands in it."""
        return (SOURCE / self.path).read_text()

    @property
    def tests_key(self) -> str:
        """A hash of the module's tests. Outcomes of mutants that were recorded with another hash are dropped."""
        places = [ROOT / test.partition("::")[0] for test in self.tests]
        files = [file for place in places for file in (sorted(place.rglob("*.py")) if place.is_dir() else [place])]
        texts = [*self.tests, *(file.read_text() for file in files)]
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.source.count("\n")


def modules() -> list[Module]:
    """Return the modules under trial: all that define a function, but those that are left out for a reason."""
    listed = tomllib.loads((ROOT / "mutation" / "modules.toml").read_text())
    packages, left_out = listed.pop("packages"), listed.pop("left-out")
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE).as_posix()
        if "def " not in file.read_text() or any(path == one or path.startswith(f"{one}/") for one in left_out):
            continue
        package = packages.get(path.partition("/")[0])
        if package is None:
            raise SystemExit(
                f"{path} has no tests in mutation/modules.toml: add its package, or say why it is left out"
            )
        found.append(Module(path, tuple(listed.get(path, package["tests"])), package["weight"]))
    return found


EACH = 10  # mutants of a module in a sample: its tests are collected once for all of them


def sampled(among: list[Module], number: int, seed: int) -> Iterator[tuple[Module, list[Mutant]]]:
    """Yield modules, drawn by their weighted lines without replacement, with ten mutants of each."""
    generator = np.random.default_rng(seed)
    shares = np.array([module.weight * module.lines for module in among], dtype=np.float64)
    drawn = generator.choice(len(among), min(-(-number // EACH), len(among)), replace=False, p=shares / shares.sum())
    for module in (among[place] for place in drawn.tolist()):
        mutants = list(mutants_of(module.path, module.source))
        yield module, [mutants[place] for place in sorted(generator.permutation(len(mutants))[:EACH].tolist())]


Known = dict[str, dict[str, tuple[str, str]]]


def read_outcomes(packed: Path = OUTCOMES, tried: Path = TRIED) -> Known:
    """Return what became of each mutant, and its tests' key, by the module's path and the mutant's key."""
    from hedgerow.files import read_packed  # not before `prepare` says where hedgerow is

    found: Known = {}
    for line in [*(read_packed(packed) if packed.exists() else "").splitlines(), *_lines(tried)]:
        path, key, state, tests = line.split()
        found.setdefault(path, {})[key] = (state, tests)
    return found


def _lines(path: Path) -> list[str]:
    """Return the whole lines of a file, whose last one may be half: a run may have been broken off."""
    text = path.read_text("utf-8") if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


def write_outcomes(known: Known, packed: Path = OUTCOMES, tried: Path = TRIED) -> None:
    """Pack what is known."""
    from hedgerow.files import write_packed

    lines = (f"{path} {key} {state} {tests}\n" for path in sorted(known) for key, (state, tests) in known[path].items())
    write_packed(packed, "".join(lines))
    tried.unlink(missing_ok=True)


class Results:
    """What is known of one module's mutants."""

    def __init__(self, module: Module, known: Known) -> None:
        self.path = module.path
        self.tests_key = module.tests_key[:12]
        self._known = known.setdefault(module.path, {})

    def of(self, mutant: Mutant) -> str | None:
        """Return what became of a mutant; None if that is not known, or if the tests have changed since."""
        state, tests = self._known.get(mutant.key, (None, ""))
        return None if state == "broken" or tests != self.tests_key else state

    def is_new(self, mutant: Mutant) -> bool:
        """Say whether a mutant was never tried."""
        return mutant.key not in self._known

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        """Keep an outcome."""
        self._known[mutant.key] = (outcome.state, self.tests_key)
        with TRIED.open("a", encoding="utf-8") as file:
            file.write(f"{self.path} {mutant.key} {outcome.state} {self.tests_key}\n")

    def tidy(self, mutants: list[Mutant]) -> None:
        """Keep the last outcome of every mutant that there still is, in their order."""
        kept = {mutant.key: self._known[mutant.key] for mutant in mutants if mutant.key in self._known}
        self._known.clear()
        self._known.update(kept)


def current(known: Known, every: Mapping[str, Module]) -> Known:
    """Return what is known without what has expired: outcomes of tests that have changed since, and of modules that are gone."""
    keys = {path: every[path].tests_key[:12] for path in known if path in every}
    found = {path: {name: one for name, one in known[path].items() if one[1] == key} for path, key in keys.items()}
    return {path: outcomes for path, outcomes in found.items() if outcomes}


def judgements() -> dict[tuple[str, str], str]:
    """Return the verdict of every judged change."""
    listed = tomllib.loads((ROOT / "mutation" / "judged.toml").read_text())
    return {
        (entry["module"], change): entry["verdict"] for entry in listed.get("judged", []) for change in entry["changes"]
    }


def try_module(module: Module, mutants: list[Mutant], results: Results, jobs: int) -> None:
    """Run the trials of these mutants of a module that have no result yet."""
    waiting = [mutant for mutant in mutants if results.of(mutant) is None]
    if not waiting:
        return
    waiting.sort(key=results.is_new)  # they are taken from the end, and survivors take longest
    trials = Trials(module.dotted, module.source, str(SOURCE / module.path), module.tests, jobs)
    print(f"{module.path}: {len(waiting)} of {len(mutants)} mutants to try", flush=True)
    for number, outcome in trials.run([mutant.source for mutant in waiting]):
        if number < 0:
            if outcome.state != "passed":
                raise SystemExit(f"the tests of {module.path} fail without any change: {outcome}")
            continue
        mutant = waiting[number]
        results.add(mutant, outcome)
        if outcome.state in ("passed", "broken"):
            print(f"  {outcome.state} {module.path}:{mutant.line} {mutant.change} {outcome.by}", flush=True)


def report(
    module: Module, mutants: list[Mutant], results: Results, judged: dict[tuple[str, str], str]
) -> tuple[Counter[str], list[str]]:
    """Return a module's figures, and what is left to do: survivors without a verdict, verdicts without a survivor."""
    figures: Counter[str] = Counter(mutants=len(mutants), lines=module.lines)
    left, open_still = [], set()
    for mutant in mutants:
        state = results.of(mutant)
        verdict = judged.get((module.path, mutant.change))
        if state in (None, "passed"):
            open_still.add(mutant.change)
        if state == "passed":
            figures[verdict or "survived"] += 1
            if verdict is None:
                left.append(f"survived  src/hedgerow/{module.path}:{mutant.line}  {mutant.change}")
        else:
            figures[state or "untried"] += 1
    for path, change in judged:
        if path == module.path and change not in open_still:
            left.append(f"stale judgement, no such survivor  src/hedgerow/{module.path}  {change}")
    return figures, left


COLUMNS = ("lines", "mutants", "failed", "hung", "equivalent", "harmless", "survived", "broken", "untried")


def table(rows: dict[str, Counter[str]]) -> str:
    """Return the figures as a table in Markdown."""
    total: Counter[str] = Counter()
    for figures in rows.values():
        total.update(figures)
    lines = [f"| package | {' | '.join(COLUMNS)} |", f"| -- |{' --: |' * len(COLUMNS)}"]
    for name, figures in [*rows.items(), ("total", total)]:
        lines.append(f"| {name} | {' | '.join(str(figures[column]) for column in COLUMNS)} |")
    return "\n".join(lines)


def in_words(rows: dict[str, Counter[str]], under: int, everything: int) -> str:
    """Return what the figures say, as sentences of the page, of so many lines under trial and lines of the library."""
    total: Counter[str] = Counter()
    for figures in rows.values():
        total.update(figures)
    killed = total["failed"] + total["hung"]
    current = total["mutants"] - total["untried"] - total["broken"]
    return (
        f"{under} of {everything} lines are under trial, {100 * under / everything:.0f} %. {total['lines']} of them, "
        f"{100 * total['lines'] / under:.0f} %, are in modules that a run has drawn so far. Of the {total['mutants']} mutants of "
        f"these {current} have a current outcome, {100 * current / max(total['mutants'], 1):.0f} %: {killed} are killed "
        f"(`failed` and `hung`), {total['equivalent']} judged equivalent, {total['harmless']} harmless, and {total['survived']} "
        f"survivors are not judged."
    )


def write_page(rows: dict[str, Counter[str]], words: str, page: Path = PAGE) -> None:
    """Put the figures of all packages between the marks of the page."""
    before, begin, rest = page.read_text("utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not (begin and end):
        raise SystemExit(f"{page} has no marks between which figures stand")
    page.write_text(f"{before}{begin}\n\n{table(rows)}\n\n{words}\n\n{end}{after}", "utf-8")


def prepare() -> None:
    """Import everything heavy once: every trial is a fork of this process."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    sys.path.insert(0, str(ROOT / "src"))
    os.chdir(ROOT)
    for name in HEAVY:
        importlib.import_module(name)
    import hypothesis
    from hypothesis import HealthCheck, Phase

    # The same examples for every trial, none kept in files, and none made simpler: that it fails is all that is asked.
    # A busy machine is slow to make them, which is no failure.
    hypothesis.settings.register_profile(
        "mutants",
        database=None,
        derandomize=True,
        phases=(Phase.explicit, Phase.generate),
        report_multiple_bugs=False,
        suppress_health_check=(HealthCheck.too_slow,),
    )
    hypothesis.settings.load_profile("mutants")


def main() -> int:
    """Try what has no result yet, list what is left, and say with 1 that something is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", help="modules, such as privacy/accounting.py, of which all mutants are tried"
    )
    parser.add_argument("--sample", type=int, default=300, help="without names: how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=0, help="which are drawn")
    parser.add_argument("--jobs", type=int, default=1, help="trials at once")
    parser.add_argument("--list", action="store_true", help="try nothing, say what is known, and write it to the page")
    options = parser.parse_args()
    every = {module.path: module for module in modules()}
    if unknown := [name for name in options.names if name not in every]:
        parser.error(f"{unknown[0]} is no module under trial (mutation/modules.toml)")
    prepare()
    known = current(read_outcomes(), every)
    chosen = [(every[name], list(mutants_of(name, every[name].source))) for name in options.names]
    if not options.list:
        for module, mutants in chosen or sampled(list(every.values()), options.sample, options.seed):
            try_module(module, mutants, Results(module, known), options.jobs)
            write_outcomes(known)
    judged, rows, left = judgements(), dict[str, Counter[str]](), []
    for path in sorted(known):
        mutants = list(mutants_of(path, every[path].source))
        results = Results(every[path], known)
        results.tidy(mutants)
        figures, remaining = report(every[path], mutants, results, judged)
        rows.setdefault(every[path].package, Counter()).update(figures)
        left += remaining
    write_outcomes(known)
    everything = sum(file.read_text().count("\n") for file in SOURCE.rglob("*.py"))
    words = in_words(rows, sum(module.lines for module in every.values()), everything)
    print("\n".join([*left, "", table(rows), "", words]))
    write_page(rows, words)
    return 1 if left or any(row["broken"] for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
