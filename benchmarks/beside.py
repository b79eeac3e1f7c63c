"""Time to fit and peak memory of our learners, beside those of another commit, in one run.

    python benchmarks/beside.py REFERENCE [--rows 1000000] [--features 20] [--repeats 5] [--systems hedgerow edprf ...]

The reference is a commit of this repository; its sources are checked out under build/beside. A process of each tree is started
in turn, so that whatever else the machine does meets both. Each fits every system on the same made-up records, once on a few
rows to compile or load kernels and then once on all, with one seed. Printed are the medians of the processor and of the wall
time, their ratios (reference / ours: above 1 is faster than the reference), and by how much the resident memory rose.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from timing import made_up, peak_mib

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "beside"
CASES: dict[str, dict[str, Any]] = {
    "hedgerow": {},
    "hedgerow, delta": {"delta": 1e-6},
    "forest": {},
    "edprf": {},
    "diffprfs": {},
    "tpdprf": {},
    "diffgen": {},
    "dpada": {"n_estimators": 10},
    "smooth-boost": {"n_estimators": 10},
}
FEW = 2000


def measure(names: list[str], rows: int, features: int) -> dict[str, tuple[float, float, float]]:
    """Return for each case the processor time, the wall time and the memory of one fit in this process."""
    import hedgerow as hr
    from hedgerow.systems import system_class

    X, y = made_up(rows, features)
    schema = hr.Schema({f"f{i}": hr.Numeric(0, 1) for i in range(features)}, classes=[0, 1])
    found = {}
    for name in names:
        model = system_class(name.split(",")[0])(schema=schema, random_state=1, **CASES[name])
        model.fit(X[:FEW], y[:FEW])
        before, begin, start = peak_mib(), processor_seconds(), time.perf_counter()
        model.fit(X, y)
        found[name] = (processor_seconds() - begin, time.perf_counter() - start, peak_mib() - before)
    return found


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def in_a_process(source: Path, arguments: list[str]) -> dict[str, tuple[float, float, float]]:
    cache = BUILD / "numba" / source.relative_to(ROOT).as_posix().replace("/", "-")
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, __file__, "--measure", *arguments]
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, tuple[float, float, float]] = json.loads(output.splitlines()[-1])
    return found


def checked_out(reference: str) -> Path:
    """Return the sources of a commit, checked out under build/beside."""
    folder = BUILD / reference.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", reference, "src"], stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder / "src"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", nargs="?", default="HEAD~1")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--systems", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = parse()
    if options.measure:
        print(json.dumps(measure(options.systems, options.rows, options.features)))
        return
    trees = {"reference": checked_out(options.reference), "ours": ROOT / "src"}
    sizes = ["--rows", str(options.rows), "--features", str(options.features), "--systems", *options.systems]
    for source in trees.values():  # kernels of every system are compiled once
        in_a_process(source, ["--rows", str(FEW), *sizes[2:]])
    seen: dict[str, list[dict[str, tuple[float, float, float]]]] = {tree: [] for tree in trees}
    for _ in range(options.repeats):
        for tree, source in trees.items():
            seen[tree].append(in_a_process(source, sizes))
    print(
        f"{options.rows} rows x {options.features} floats, medians of {options.repeats}, beside {options.reference}\n"
    )
    print("| system | processor, s | times faster | wall, s | times faster | memory, MiB | of the reference |")
    print("| -- | -- | -- | -- | -- | -- | -- |")
    for name in options.systems:
        theirs, ours = (
            [statistics.median(values) for values in zip(*(run[name] for run in seen[tree]), strict=True)]
            for tree in trees
        )
        print(
            f"| {name} | {ours[0]:.2f} | {theirs[0] / ours[0]:.2f} | {ours[1]:.2f} | {theirs[1] / ours[1]:.2f} | "
            f"{ours[2]:.0f} | {theirs[2]:.0f} |"
        )


if __name__ == "__main__":
    main()
