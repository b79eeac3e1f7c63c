"""Mutation testing of the code that carries the guarantee: `make mutants` (docs/mutants.md).

Each module that modules.toml names is changed in one place, the tests named beside it are run, and a change that no test
notices survives. Outcomes are kept in mutation/outcomes.xz, so that a run goes on where another was broken off. It ends well
if every survivor is judged in judged.toml and every judgement is of a survivor; what is known is written to the page.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

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
    """A module under trial and the test files that hold it, the most specific first."""

    path: str
    tests: tuple[str, ...]

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
        """A hash of its tests: survivors are tried again when it changes."""
        texts = [test + (ROOT / test.partition("::")[0]).read_text() for test in self.tests]
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def modules() -> list[Module]:
    """Return the modules under trial, in the order of what they carry."""
    listed = tomllib.loads((ROOT / "mutation" / "modules.toml").read_text())
    return [Module(path, tuple(tests)) for path, tests in listed.items()]


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
        """Return what became of a mutant; None if that is not known, or if it passed tests that have changed since."""
        state, tests = self._known.get(mutant.key, (None, ""))
        return None if state == "broken" or (state == "passed" and tests != self.tests_key) else state

    def is_stale(self, mutant: Mutant) -> bool:
        """Say whether a mutant was killed by tests that have changed since."""
        state, tests = self._known.get(mutant.key, (None, ""))
        return state in ("failed", "hung") and tests != self.tests_key

    def is_new(self, mutant: Mutant) -> bool:
        """Say whether a mutant was never tried."""
        return mutant.key not in self._known

    def forget(self) -> None:
        """Begin anew."""
        self._known.clear()

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


def judgements() -> dict[tuple[str, str], str]:
    """Return the verdict of every judged change."""
    listed = tomllib.loads((ROOT / "mutation" / "judged.toml").read_text())
    return {
        (entry["module"], change): entry["verdict"] for entry in listed.get("judged", []) for change in entry["changes"]
    }


def try_module(module: Module, mutants: list[Mutant], results: Results, jobs: int) -> None:
    """Run the trials of a module that have no result yet."""
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
    figures: Counter[str] = Counter(mutants=len(mutants))
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
        figures["stale"] += results.is_stale(mutant)
        figures["again"] += state is None and not results.is_new(mutant)
    for path, change in judged:
        if path == module.path and change not in open_still:
            left.append(f"stale judgement, no such survivor  src/hedgerow/{module.path}  {change}")
    return figures, left


COLUMNS = ("mutants", "failed", "hung", "stale", "equivalent", "harmless", "survived", "broken", "untried")


def table(rows: dict[str, Counter[str]]) -> str:
    """Return the figures as a table in Markdown."""
    total: Counter[str] = Counter()
    for figures in rows.values():
        total.update(figures)
    lines = [f"| module | {' | '.join(COLUMNS)} |", f"| -- |{' --: |' * len(COLUMNS)}"]
    for name, figures in [*rows.items(), ("total", total)]:
        lines.append(f"| {name} | {' | '.join(str(figures[column]) for column in COLUMNS)} |")
    return "\n".join(lines)


def in_words(rows: dict[str, Counter[str]]) -> str:
    """Return what the figures say, as sentences of the page."""
    total: Counter[str] = Counter()
    for figures in rows.values():
        total.update(figures)
    killed = total["failed"] + total["hung"]
    share = 100 * total["stale"] / max(killed, 1)
    said = (
        f"Of these {total['mutants']} mutants of {len(rows)} modules {killed} are killed (`failed` and `hung`), "
        f"{total['equivalent']} judged equivalent and {total['harmless']} harmless. "
        f"{total['stale']} of the kills, {share:.0f} %, are stale: tests of their module have changed since, and `--fresh` tries "
        "them again."
    )
    left = [
        *([f"{total['survived']} survivors are not judged"] if total["survived"] else []),
        *([f"{total['broken']} trials broke off"] if total["broken"] else []),
        *([f"{total['untried']} mutants wait for a trial, {total['again']} of them survivors whose tests have changed"]
          if total["untried"] else []),
    ]  # fmt: skip
    return f"{said} {'; '.join(left) or 'Nothing is left to do'}."


def write_page(rows: dict[str, Counter[str]], page: Path = PAGE) -> None:
    """Put the figures of all modules between the marks of the page."""
    before, begin, rest = page.read_text("utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not (begin and end):
        raise SystemExit(f"{page} has no marks between which figures stand")
    page.write_text(f"{before}{begin}\n\n{table(rows)}\n\n{in_words(rows)}\n\n{end}{after}", "utf-8")


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
    parser.add_argument("names", nargs="*", help="modules, such as privacy/accounting.py; all without any")
    parser.add_argument("--jobs", type=int, default=1, help="trials at once")
    parser.add_argument("--list", action="store_true", help="try nothing, say what is known, and write it to the page")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    options = parser.parse_args()
    chosen = [module for module in modules() if not options.names or module.path in options.names]
    if not chosen or len(chosen) < len(set(options.names)):
        parser.error("no such module in mutation/modules.toml")
    prepare()
    known = read_outcomes()
    judged, rows, left = judgements(), {}, []
    for module in chosen:
        mutants = list(mutants_of(module.path, module.source))
        results = Results(module, known)
        if options.fresh:
            results.forget()
            write_outcomes(known)
        if not options.list:
            try_module(module, mutants, results, options.jobs)
            results.tidy(mutants)
            write_outcomes(known)
        rows[module.path], remaining = report(module, mutants, results, judged)
        left += remaining
    print("\n".join([*left, "", table(rows), "", in_words(rows)]))
    if not options.names:
        write_page(rows)
    return 1 if left or any(row[state] for row in rows.values() for state in ("broken", "untried")) else 0


if __name__ == "__main__":
    sys.exit(main())
