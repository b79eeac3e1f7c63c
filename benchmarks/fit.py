"""Time to fit and to predict, beside LightGBM, scikit-learn's forest and diffprivlib's.

    python benchmarks/fit.py [--rows 1000000] [--features 20] [--trees 35] [--depth 5] [--repeats 3] [--skip-forest]
                             [--skip-diffprivlib] [--peers build/peers]

Every system is compiled or warmed up on a few rows first; the median of the repeats is printed with its ratio to ours, and
how much the resident memory of the process rose above the data at the peak of the fit. Machines differ: compare ratios.
diffprivlib does not import beside a current scikit-learn, so it runs in an environment of its own, in a second process on
the same rows; the first run makes that environment under ``--peers`` and needs a package index.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import hedgerow as hr
from peer_environment import PEERS, PeerError, make_environment
from timing import made_up, median_seconds, peak_mib

Times = tuple[float, float]


def systems(ours: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return the models that are timed in this process, ours first."""
    # Here, so that what stands below can be tested without the extra that brings it.
    from lightgbm import LGBMClassifier

    found = {
        f"hedgerow eDPRF ({options.trees} trees, {options.depth} tests, 5 bins)": ours,
        "hedgerow ForestClassifier (defaults)": hr.ForestClassifier(schema=ours.schema),
        "LightGBM (defaults)": LGBMClassifier(verbose=-1),
        "scikit-learn HistGradientBoosting": HistGradientBoostingClassifier(),
    }
    if not options.skip_forest:
        name = f"scikit-learn forest ({options.trees} trees, depth {options.depth + 1}, 2 jobs)"
        found[name] = RandomForestClassifier(options.trees, max_depth=options.depth + 1, n_jobs=2)
    return found


def row(name: str, times: Times, base: Times) -> str:
    (fit, predict), (our_fit, our_predict) = times, base
    return f"| {name} | {fit:.2f} | {fit / our_fit:.1f} | {predict:.2f} | {predict / our_predict:.1f} |"


def diffprivlib_row(options: argparse.Namespace, base: Times) -> tuple[str, str]:
    """Return the row of diffprivlib's forest, or why there is none, and a line on its memory."""
    name = f"diffprivlib forest ({options.trees} trees, depth {options.depth + 1}, 2 jobs)"
    arguments = {key: getattr(options, key) for key in ("rows", "features", "trees", "repeats")}
    try:
        environment = make_environment("diffprivlib", options.peers)
        script = Path(__file__).with_name("diffprivlib_fit.py")
        found = environment.run(script, {**arguments, "depth": options.depth + 1})
    except PeerError as error:
        reason = str(error).replace("|", "/")
        return f"| {name} | not available: {reason} | | | |", ""
    memory = f"peak memory of diffprivlib's fit above the data: {found['memory']:.0f} MiB ({found['versions']})"
    return row(name, (found["fit"], found["predict"]), base), memory


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--trees", type=int, default=35)
    parser.add_argument("--depth", type=int, default=5, help="tests on a path of ours")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--skip-forest", action="store_true")
    parser.add_argument("--skip-diffprivlib", action="store_true")
    parser.add_argument("--peers", type=Path, default=PEERS, help="where the environments of other libraries are kept")
    return parser.parse_args()


def main() -> None:
    options = parse()
    X, y = made_up(options.rows, options.features)
    schema = hr.Schema({f"f{i}": hr.Numeric(0, 1) for i in range(options.features)}, classes=[0, 1])
    ours = hr.EDPRFClassifier(schema=schema, n_estimators=options.trees, max_depth=options.depth, max_bins=5)
    models = systems(ours, options)

    few = min(2000, options.rows)
    for model in models.values():
        model.fit(X[:few], y[:few]).predict(X[:few])
    before = peak_mib()
    ours.fit(X, y)
    memory = peak_mib() - before

    print(
        f"{options.rows} rows x {options.features} floats, median of {options.repeats} (scikit-learn forest: one run)\n"
    )
    print("| system | fit, s | times ours | predict, s | times ours |")
    print("| -- | -- | -- | -- | -- |")
    base: Times | None = None
    for name, model in models.items():
        repeats = 1 if isinstance(model, RandomForestClassifier) else options.repeats
        fit = median_seconds(lambda model=model: model.fit(X, y), repeats)
        predict = median_seconds(lambda model=model: model.predict(X), repeats)
        base = base or (fit, predict)
        print(row(name, (fit, predict), base), flush=True)
    notes = [f"peak memory of our fit above the data: {memory:.0f} MiB"]
    if not options.skip_diffprivlib:
        text, note = diffprivlib_row(options, base)
        print(text, flush=True)
        notes += [note] if note else []
    print("\n" + "\n".join(notes))
    small = median_seconds(lambda: ours.fit(X[:100], y[:100]), 20)
    print(f"fit on 100 rows, the same forest: {1000 * small:.1f} ms")
    defaults = hr.EDPRFClassifier(schema=schema)
    small = median_seconds(lambda: defaults.fit(X[:100], y[:100]), 20)
    print(f"fit on 100 rows, defaults: {1000 * small:.1f} ms")


if __name__ == "__main__":
    main()
