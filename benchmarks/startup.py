"""What a user waits for in a new process: the first fit, with kernels on disk and without, and the command's help.

    python benchmarks/startup.py [--rows 5000] [--features 10] [--repeats 7] [--systems hedgerow edprf ...] [--no-new-machine]

Each figure is the median of processes that were started in turn, one of each kind after the other, and is the wall time
from start to end, and in brackets the processor time, which other work on the machine moves less. The first line is what
any user of both libraries waits for: the estimator base class with its checks, and numba. Below it stand the same and a
first fit on a given schema; "beyond" is how much longer that took than the first line, process by process. numba finds out
what it can compile at the first call in a process, not when it is imported: that part of "beyond" is the second line's,
a call of a kernel that is on disk and does nothing. A new machine is an empty NUMBA_CACHE_DIR; its Python modules are
compiled, as an installer leaves them. Machines differ: compare ratios.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hedgerow.systems.registry import list_systems

# What every estimator imports of scikit-learn to be one, and numba with its compiler; what else a fit needs is ours.
IMPORTS = "import sklearn.base, sklearn.utils.validation, numba"
FIT = """
import numpy as np
import hedgerow as hr
generator = np.random.default_rng(0)
X = generator.random(({rows}, {features}))
y = (X[:, 0] + 0.5 * X[:, 1] + generator.normal(0, 0.1, {rows}) > 0.75).astype(int)
schema = hr.Schema({{f"f{{i}}": hr.Numeric(0, 1) for i in range({features})}}, classes=[0, 1])
hr.{name}(schema=schema).fit(X, y)
"""
NOTHING = "from numba import njit\n\n@njit(nogil=True, cache=True)\ndef nothing(number):\n    return number\n"
Times = tuple[float, float]
Run = Callable[[], Times]


def seconds(arguments: list[str], cache: Path) -> Times:
    """Return the wall time and the processor time of a new process that keeps its kernels in ``cache``."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # or every process compiles our modules, which no user's does
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def on_a_new_machine(arguments: list[str]) -> Times:
    with tempfile.TemporaryDirectory() as cache:
        return seconds(arguments, Path(cache))


def kinds(options: argparse.Namespace, cache: Path) -> dict[str, Run]:
    """Return what each line of the table starts, the imports alone first."""
    classes = {system.name: system.class_name for system in list_systems()}
    fits = {
        name: ["-c", IMPORTS + FIT.format(rows=options.rows, features=options.features, name=classes[name])]
        for name in options.systems
    }
    (cache / "nothing.py").write_text(NOTHING, "utf-8")
    call = f"{IMPORTS}, sys\nsys.path.append({str(cache)!r})\nimport nothing\nnothing.nothing(1)"
    runs: dict[str, Run] = {
        "imports alone": lambda: seconds(["-c", IMPORTS], cache),
        "a kernel that does nothing": lambda: seconds(["-c", call], cache),
    }
    for name, arguments in fits.items():
        runs[f"first fit of {name}"] = lambda arguments=arguments: seconds(arguments, cache)
    if not options.no_new_machine:
        for name, arguments in fits.items():
            runs[f"first fit of {name}, new machine"] = lambda arguments=arguments: on_a_new_machine(arguments)
    runs["hedgerow --help"] = lambda: seconds(["-m", "hedgerow", "--help"], cache)
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--systems", nargs="+", default=["hedgerow", "edprf", "smooth-boost"])
    parser.add_argument("--no-new-machine", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        runs = kinds(options, Path(cache))
        times: dict[str, list[Times]] = {name: [] for name in runs}
        for repeat in range(options.repeats + 1):
            for name, run in runs.items():
                if repeat == 0 and name.endswith("new machine"):
                    continue
                found = run()
                if repeat > 0:  # the first round compiles, and reads files that are not yet in memory
                    times[name].append(found)
    base = times["imports alone"]
    print(f"{options.rows} records x {options.features} floats, medians of {options.repeats} processes\n")
    print("| process | s | beyond, s | times the imports |\n| -- | -- | -- | -- |")
    for name, found in times.items():
        cells = []
        for figure in (
            lambda one, _: one,
            lambda one, imports: one - imports,
            lambda one, imports: one / imports,
        ):
            pairs = [list(map(figure, one, imports)) for one, imports in zip(found, base, strict=True)]
            wall, processor = map(statistics.median, zip(*pairs, strict=True))
            cells.append(f"{wall:.2f} ({processor:.2f})")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
