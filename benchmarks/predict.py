"""Time of predictions, beside those of another commit and LightGBM's, in one run: docs/scaling.md.

    python benchmarks/predict.py [REFERENCE] [--rows 1000000] [--features 20] [--repeats 5] [--cases additive four-way ...]

Models are fitted on a fifth of the records (shapes of `growth.py`), saved, and loaded by a process of each tree in turn, so that
whatever else the machine does meets both. Each process answers a few records first, to compile or load kernels, then all of them
three times, of which the quickest counts. The reference is a commit whose files this version reads, checked out under
build/beside. Printed are medians of the processor and of the wall time, how many times as fast ours is, and whether all answers
were the same bits. LightGBM is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from beside import BUILD, ROOT, checked_out, processor_seconds

FEW = 20_000
CLASSES = {"ten classes": 10}
CASES: dict[str, tuple[str, dict[str, Any]]] = {  # system and parameters
    "additive": ("hedgerow", {"delta": 1e-6, "interaction_cst": "no_interactions"}),
    "four-way": ("hedgerow", {"delta": 1e-6}),
    "ten classes": ("hedgerow", {"delta": 1e-6}),
    "regressor": ("hedgerow-regressor", {"delta": 1e-6}),
    "forest": ("forest", {}),
    "edprf": ("edprf", {}),
    "smooth-boost": ("smooth-boost", {"n_estimators": 10}),
    "diffgen": ("diffgen", {}),
}
BY_LIGHTGBM = ("additive", "four-way")


def made(case: str, rows: int, features: int) -> tuple[Any, Any]:
    """Return records and labels; those of other cases are four-way."""
    from growth import SHAPES

    generator = np.random.default_rng(5)
    X = generator.random((rows, features))
    odds = SHAPES["additive" if case == "additive" else "four-way"](X, generator)
    odds = 1.5 * (odds - odds.mean()) / odds.std()
    if case == "regressor":
        return X, odds
    if case in CLASSES:
        noisy = odds + generator.normal(size=rows)
        return X, np.searchsorted(np.quantile(noisy, np.arange(1, CLASSES[case]) / CLASSES[case]), noisy)
    return X, (generator.random(rows) < 1 / (1 + np.exp(-odds))).astype(int)


def fit(case: str, rows: int, features: int) -> None:
    """Write the model of a case under build/predict, and LightGBM's where it is installed."""
    import hedgerow as hr
    from hedgerow.systems import system_class

    X, y = made(case, rows // 5, features)
    system, parameters = CASES[case]
    labels = {"outcome": hr.Numeric(-10, 10)} if case == "regressor" else {"classes": list(range(CLASSES.get(case, 2)))}
    schema = hr.Schema({f"f{i}": hr.Numeric(0, 1) for i in range(features)}, **labels)
    system_class(system)(schema=schema, random_state=1, **parameters).fit(X, y).save(path_of(case))
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return
    if case in BY_LIGHTGBM:
        path_of(case).with_suffix(".pickle").write_bytes(pickle.dumps(LGBMClassifier(verbose=-1).fit(X, y)))


def path_of(case: str) -> Path:
    return BUILD / "models" / f"{case.replace(' ', '-')}.hedgerow"


def measure(case: str, rows: int, features: int, lightgbm: bool) -> tuple[float, float, str]:
    """Return the processor and the wall time of answering all records in this process, and a digest of the answers."""
    X = np.random.default_rng(6).random((rows, features))
    if lightgbm:
        answer = pickle.loads(path_of(case).with_suffix(".pickle").read_bytes()).predict_proba
    else:
        import hedgerow as hr

        model = hr.load(path_of(case))
        answer = model.predict if case == "regressor" else model.predict_proba
    answer(X[:FEW])
    times = []
    for _ in range(3):
        begin, start = processor_seconds(), time.perf_counter()
        found = answer(X)
        times.append((processor_seconds() - begin, time.perf_counter() - start))
    return min(t for t, _ in times), min(t for _, t in times), hashlib.sha256(found.tobytes()).hexdigest()


def in_a_process(source: Path, arguments: list[str]) -> Any:
    cache = BUILD / "numba" / source.relative_to(ROOT).as_posix().replace("/", "-")
    paths = os.pathsep.join([str(source), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(cache), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__, *arguments]
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(output.splitlines()[-1])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", nargs="?", default="HEAD~1")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cases", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--step", choices=["fit", "measure", "lightgbm"], help=argparse.SUPPRESS)
    return parser.parse_args()


def row(case: str, options: argparse.Namespace, trees: dict[str, Path]) -> str:
    """Return a line of the table."""
    sizes = ["--rows", str(options.rows), "--features", str(options.features), "--cases", case, "--step"]
    in_a_process(trees["reference"], [*sizes, "fit"])
    ways = {tree: (source, [*sizes, "measure"]) for tree, source in trees.items()}
    if path_of(case).with_suffix(".pickle").exists():
        ways["LightGBM"] = (trees["ours"], [*sizes, "lightgbm"])
    runs: dict[str, list[Any]] = {way: [] for way in ways}
    for _ in range(options.repeats):
        for way, (source, arguments) in ways.items():
            runs[way].append(in_a_process(source, arguments))
    times = {way: [statistics.median(run[i] for run in runs[way]) for i in range(2)] for way in ways}
    digests = {run[2] for way in trees for run in runs[way]}
    cells = [f"{times['ours'][i]:.3f}" for i in range(2)]
    for way in ("reference", "LightGBM"):
        cells += [f"{times[way][i] / times['ours'][i]:.1f}" if way in ways else "" for i in range(2)]
    return f"| {case} | {' | '.join(cells)} | {'yes' if len(digests) == 1 else 'no'} |"


def main() -> None:
    options = parse()
    if options.step == "fit":
        path_of(options.cases[0]).parent.mkdir(parents=True, exist_ok=True)
        fit(options.cases[0], options.rows, options.features)
        print("null")
    elif options.step:
        print(json.dumps(measure(options.cases[0], options.rows, options.features, options.step == "lightgbm")))
    else:
        trees = {"reference": checked_out(options.reference), "ours": ROOT / "src"}
        print(
            f"{options.rows} rows x {options.features} floats, medians of {options.repeats}, ref: {options.reference}\n"
        )
        print(
            "| case | processor, s | wall, s | x ref, processor | x ref, wall | x LightGBM, processor | x LightGBM, wall "
            "| same bits |\n|" + " -- |" * 8
        )
        for case in options.cases:
            print(row(case, options, trees), flush=True)


if __name__ == "__main__":
    main()
