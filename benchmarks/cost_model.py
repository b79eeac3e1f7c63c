"""What a fit takes by records and questions, from runs of scaling.py, and what that says of more workers: docs/scaling.md.

    python benchmarks/scaling.py local --folder /tmp/records --records 1e5 1e6 1e7 > runs.jsonl
    python benchmarks/cost_model.py runs.jsonl [--records 1e9] [--workers 20] [--least 1e6]
        [--out docs/images/scaling.png]

The model of each system, in processor seconds: reading takes so many per record, counting so many per question and so many per
record and question. Constants are fitted to the runs of ``--least`` records or more, without the largest size, by relative errors
and not below zero. It prints them, and the prediction for every run beside the measurement. It predicts ``--records`` on so many
workers of a core each that read from storage of their own, without what goes between workers. ``--out`` draws runs and model.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls


def fitted(columns: Any, seconds: Any) -> Any:
    """Return the constants, at least zero, of ``columns`` (runs, constants) whose relative errors are least."""
    return nnls(columns / seconds[:, None], np.ones(len(seconds)))[0]


def constants(runs: list[dict[str, Any]]) -> tuple[float, float, float]:
    """Return the seconds of reading a record, of a question, and of a record and question."""
    records, questions = (np.array([run[name] for run in runs], dtype=float) for name in ("records", "questions"))
    names = "read_processor", "count_processor"
    read, count = (np.array([max(run[name], 0.0005) for run in runs]) for name in names)  # told in thousandths
    [reading] = fitted(records[:, None], read)
    asking, scanning = fitted(np.stack([questions, records * questions], axis=1), count)
    return float(reading), float(asking), float(scanning)


def said(found: tuple[float, float, float], records: float, questions: float, workers: int = 1) -> tuple[float, float]:
    """Return the seconds of reading and of counting."""
    reading, asking, scanning = found
    return reading * records / workers, questions * (asking + scanning * records / workers)


def fitted_to(runs: list[dict[str, Any]], least: float) -> list[dict[str, Any]]:
    """Return the runs that constants are fitted to: of at least so many records, without the largest."""
    return [run for run in runs if least <= run["records"] < max(one["records"] for one in runs)]


def lines(runs: list[dict[str, Any]], records: float, workers: int, least: float) -> list[str]:
    """Return the lines about one system."""
    some = fitted_to(runs, least)
    found = constants(some)
    micro, milli, nano = found[0] * 1e6, found[1] * 1e3, found[2] * 1e9
    out = [f"{micro:.3g} us a record, {milli:.3g} ms a question, {nano:.3g} ns a record and question"]
    for run in sorted(runs, key=lambda run: run["records"]):
        read, count = said(found, run["records"], run["questions"])
        fitted = "" if run in some else ", not fitted"
        out.append(
            f"{run['records']:.0e} records, {run['questions']} questions: "
            f"reading {read:.2f} s ({run['read_processor']:.2f} measured), "
            f"counting {count:.2f} s ({run['count_processor']:.2f} measured){fitted}"
        )
    questions = max(run["questions"] for run in runs)
    read, count = said(found, records, questions, workers)
    asked = f"{records:.0e} records, {questions} questions, {workers} workers"
    return [*out, f"{asked}: reading {read:.0f} s, counting {count:.0f} s"]


def draw(path: Path, runs: list[dict[str, Any]], least: float) -> None:
    """Draw the processor seconds of every run by records, and the model as a line."""
    import matplotlib.pyplot as plt

    systems = list(dict.fromkeys(run["system"] for run in runs))
    figure, every = plt.subplots(1, len(systems), figsize=(4.2 * len(systems), 3.4), sharey=True, squeeze=False)
    for ax, system in zip(every[0], systems, strict=True):
        own = sorted((run for run in runs if run["system"] == system), key=lambda run: run["records"])
        records = [run["records"] for run in own]
        found = constants(fitted_to(own, least))
        model = np.array([said(found, run["records"], run["questions"]) for run in own])
        for place, (name, color) in enumerate({"read": "tab:blue", "count": "tab:orange"}.items()):
            measured = [run[f"{name}_processor"] for run in own]
            label = {"read": "read and encode", "count": "count"}[name]
            ax.plot(records, measured, "o", color=color, label=f"{label}, measured")
            ax.plot(records, model[:, place], color=color, label=f"{label}, model")
        ax.set(xscale="log", yscale="log", xlabel="records", title=system)
        ax.grid(alpha=0.3)
    every[0][0].set_ylabel("processor seconds")
    every[0][0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--records", type=float, default=1e9)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument(
        "--least", type=float, default=1e6, help="records of the smallest run that constants are fitted to"
    )
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    runs = [json.loads(line) for line in options.runs.read_text().splitlines()]
    for system in dict.fromkeys(run["system"] for run in runs):
        own = [run for run in runs if run["system"] == system]
        print("\n".join([system, *lines(own, options.records, options.workers, options.least)]), flush=True)
    if options.out:
        draw(options.out, runs, options.least)


if __name__ == "__main__":
    main()
