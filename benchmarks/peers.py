"""Accuracy and ROC AUC beside other private systems and three ensembles without privacy, in one run, resumable.

    python benchmarks/peers.py [--systems hedgerow dp-ebm ...] [--data adult ...] [--epsilons .1 .25 ...] [--runs 3]
                               [--out FILE.csv] [--peers build/peers]
                               [--sbdt PYTHON]
    python benchmarks/peers.py --table [--out FILE.csv]
    python benchmarks/peers.py --plot FILE.png [--out FILE.csv]
    python benchmarks/peers.py --speed [--rows 1000000] [--features 20] [--repeats 3]

Splits and fields of the CSV are those of `accuracy.py`; lines that stand in the file already are not run again. Every system
has its defaults, and is told the same public ranges and values; diffprivlib's forest also runs with 35 trees of depth 6,
which suit it better. Private systems draw their noise from the operating system,
as their guarantees need, so runs differ; the others are seeded with the run's number and ignore epsilon. The peers run in
environments of their own, which the first run makes under ``--peers``; one that cannot be made says so in its lines, and the
others go on. S-BDT is on no package index: build its authors' extension as their README says, and name with ``--sbdt`` the
interpreter that can import it. ``--plot`` needs matplotlib.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier

import accuracy
import hedgerow as hr
from accuracy import FIELDS
from hedgerow.texts import progress_bar
from peer_environment import PEERS, PeerEnvironment, PeerError, make_environment
from shapes import SHAPES
from timing import made_up, median_seconds, peak_mib

HERE = Path(__file__).resolve().parent
TASKS = {"adult": "Adult", "bank": "Bank", "diabetes": "Diabetes", "robot2": "Robot, 2 classes"}
TITLES = {**TASKS, **{name: title for name, (title, _) in SHAPES.items()}}
MEASURES = {"auc": "ROC AUC", "accuracy": "Accuracy"}
NOT_PRIVATE = "inf"  # what stands for epsilon
Batch = tuple[str, str, str]  # system, data, epsilon
Outcome = tuple[Any, float]  # probabilities of the second class on the test part, seconds to fit


@dataclass(frozen=True)
class Task:
    """A split, as hedgerow reads it and in numbers."""

    schema: hr.Schema
    X_train: Any
    X_test: Any
    y_train: Any
    y_test: Any

    @property
    def positive(self) -> Any:
        return self.schema.classes[1]

    def coded(self) -> dict[str, Any]:
        """Return numbers: categories by their place in the schema, all that it does not list as one category more.

        Whether there is such a cell is read off the data, in the favor of the systems that are told.
        """
        train, test, bounds, counts = [], [], [], []
        for number, feature in enumerate(self.schema.features.values()):
            parts = self.X_train[:, number], self.X_test[:, number]
            if isinstance(feature, hr.Categorical):
                code_of = {str(value): code for code, value in enumerate(feature.values)}
                parts = tuple(
                    np.array([code_of.get(str(cell), len(code_of)) for cell in part], float) for part in parts
                )
                counts.append(max(len(code_of), 1 + int(max(part.max() for part in parts))))
                bounds.append((0.0, counts[-1] - 1.0))
            else:
                parts = tuple(np.clip(part.astype(float), feature.low, feature.high) for part in parts)
                counts.append(0)
                bounds.append((feature.low, feature.high))
            train.append(parts[0])
            test.append(parts[1])
        return {
            "X_train": np.column_stack(train),
            "X_test": np.column_stack(test),
            "y_train": (self.y_train == self.positive).astype(int),
            "bounds": np.array(bounds),
            "counts": np.array(counts),
        }


class Fits(Protocol):
    """How a system fits a task, run by run."""

    def __call__(self, task: Task, path: Path, epsilon: float, runs: list[int]) -> Iterator[Outcome]:
        """Yield the outcome of each run; `path` holds ``task.coded()``."""


@dataclass(frozen=True)
class Ours:
    delta: float

    def __call__(self, task: Task, path: Path, epsilon: float, runs: list[int]) -> Iterator[Outcome]:
        for _ in runs:
            model = hr.HedgerowClassifier(epsilon=epsilon, delta=self.delta, schema=task.schema)
            start = time.perf_counter()
            model.fit(task.X_train, task.y_train)
            seconds = time.perf_counter() - start
            yield model.predict_proba(task.X_test)[:, 1], seconds


@dataclass(frozen=True)
class Baseline:
    """A classifier of scikit-learn, made from a seed and the mask of categorical columns."""

    make: Callable[[int, Any], Any]

    def __call__(self, task: Task, path: Path, epsilon: float, runs: list[int]) -> Iterator[Outcome]:
        with np.load(path) as file:
            data = dict(file)
        for number in runs:
            model = self.make(number, data["counts"] > 0)
            start = time.perf_counter()
            model.fit(data["X_train"], data["y_train"])
            seconds = time.perf_counter() - start
            yield model.predict_proba(data["X_test"])[:, 1], seconds


@dataclass(frozen=True)
class Peer:
    environment: PeerEnvironment
    script: Path
    settings: dict[str, Any]

    def __call__(self, task: Task, path: Path, epsilon: float, runs: list[int]) -> Iterator[Outcome]:
        arguments = {"path": str(path), "epsilon": epsilon, "runs": runs, "settings": self.settings}
        for found in self.environment.run(self.script, {"job": "predict", **arguments}):
            yield np.array(found["probabilities"]), found["seconds"]


@dataclass(frozen=True)
class System:
    """What is compared; `peer` names the environment of one that does not run in this process, with its settings."""

    title: str
    variant: str
    fits: Fits | None = None
    peer: str = ""
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def private(self) -> bool:
        return self.variant != "not private"


SYSTEMS = {
    "hedgerow": System("hedgerow, delta 1e-6", "delta=1e-06", Ours(1e-6)),
    "dp-ebm": System("DP-EBM, delta 1e-5", "delta=1e-05", peer="interpret"),
    "s-bdt": System("S-BDT, delta 5e-8", "delta=5e-08", peer="sbdt"),
    "logistic": System("Logistic regression on bins (Opacus), delta 1e-6", "delta=1e-06", peer="opacus"),
    "mst": System("LightGBM on MST's records (OpenDP), delta 1e-6", "delta=1e-06", peer="synthetic"),
    "hedgerow-pure": System("hedgerow, delta 0", "pure", Ours(0.0)),
    "diffprivlib": System("diffprivlib, 10 trees, delta 0", "pure", peer="diffprivlib"),
    "diffprivlib-35": System(
        "diffprivlib, 35 trees, delta 0", "pure", peer="diffprivlib", settings={"n_estimators": 35, "max_depth": 6}
    ),
    "random-forest": System(
        "Random forest", "not private", Baseline(lambda s, c: RandomForestClassifier(random_state=s))
    ),
    "adaboost": System("AdaBoost, 50 stumps", "not private", Baseline(lambda s, c: AdaBoostClassifier(random_state=s))),
    "hist-gradient-boosting": System(
        "HistGradientBoosting",
        "not private",
        Baseline(lambda s, c: HistGradientBoostingClassifier(categorical_features=c, random_state=s)),
    ),
    "additive": System(
        "the same, additive",
        "not private",
        Baseline(
            lambda s, c: HistGradientBoostingClassifier(
                categorical_features=c, random_state=s, interaction_cst="no_interactions"
            )
        ),
    ),
}
# Ours beside every private peer whose guarantee is no stronger.
PAIRS = (
    ("hedgerow", "dp-ebm"),
    ("hedgerow", "s-bdt"),
    ("hedgerow", "logistic"),
    ("hedgerow", "mst"),
    ("hedgerow-pure", "diffprivlib-35"),
    ("hedgerow-pure", "diffprivlib"),
    ("hedgerow-pure", "dp-ebm"),
)


class Runner:
    """Fits batch by batch; an environment is made when it is first needed, and a data set is coded once."""

    def __init__(self, peers: Path, folder: Path, sbdt: Path | None = None) -> None:
        self._peers = peers
        self._folder = folder
        self._environments: dict[str, PeerEnvironment | PeerError] = {
            "sbdt": PeerEnvironment("sbdt", sbdt) if sbdt else PeerError("no interpreter is named with --sbdt")
        }

    def lines(self, batch: Batch, task: Task, runs: list[int]) -> Iterator[dict[str, str]]:
        """Yield the lines of a batch.

        Raises
        ------
        PeerError
            The peer has no environment, or failed in it.
        """
        system, data, epsilon = batch
        path = self._folder / f"{data}.npz"
        if not path.exists():
            np.savez(path, **task.coded())
        outcomes = self._fits(SYSTEMS[system])(task, path, float(epsilon), runs)
        for number, (probabilities, seconds) in zip(runs, outcomes, strict=True):
            positive = task.y_test == task.positive
            right = float(np.mean((probabilities > 0.5) == positive))
            area = accuracy.auc((False, True), positive, np.column_stack([1 - probabilities, probabilities]))
            values = (f"{right:.5f}", f"{area:.5f}", f"{seconds:.3f}")
            yield dict(zip(FIELDS, (*key(batch, number), *values), strict=True))

    def _fits(self, system: System) -> Fits:
        if system.fits is not None:
            return system.fits
        if system.peer not in self._environments:
            try:
                self._environments[system.peer] = make_environment(system.peer, self._peers)
            except PeerError as error:
                self._environments[system.peer] = error
        environment = self._environments[system.peer]
        if isinstance(environment, PeerError):
            raise environment
        return Peer(environment, HERE / f"{system.peer}_accuracy.py", system.settings)


def key(batch: Batch, number: int | str) -> tuple[str, ...]:
    system, data, epsilon = batch
    return system, SYSTEMS[system].variant, data, epsilon, str(number)


def wanted(options: argparse.Namespace) -> list[Batch]:
    """Return every batch that is asked for, task by task, each once."""
    batches = []
    for data, system in product(options.data, options.systems):
        levels = [f"{epsilon:g}" for epsilon in options.epsilons] if SYSTEMS[system].private else [NOT_PRIVATE]
        batches += [(system, data, epsilon) for epsilon in levels]
    return list(dict.fromkeys(batches))


def refusal(batch: Batch, error: PeerError) -> dict[str, str]:
    """Return the line of a peer that gave no result; it has no run, so that another run of this script tries again."""
    return dict(zip(FIELDS, (*key(batch, ""), f"not available: {error}", "", ""), strict=True))


def run(options: argparse.Namespace) -> None:
    """Run what the file lacks, batch by batch."""
    path = Path(options.out)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = accuracy.read(path)
    done = {tuple(row[field] for field in FIELDS[:5]) for row in rows}
    batches = wanted(options)
    runs = {batch: [n for n in range(options.runs) if key(batch, n) not in done] for batch in batches}
    left = [batch for batch in batches if runs[batch]]
    with (
        tempfile.TemporaryDirectory() as folder,
        path.open("a", newline="") as file,
        progress_bar(len(left), "fitting") as progress,
    ):
        writer = csv.DictWriter(file, FIELDS)
        if not rows:
            writer.writeheader()
        runner = Runner(options.peers, Path(folder), options.sbdt)
        for data, group in groupby(left, key=lambda batch: batch[1]):
            split = SHAPES[data][1]() if data in SHAPES else accuracy.load(data)
            if split is None:
                continue
            for batch in group:
                try:
                    for line in runner.lines(batch, Task(*split), runs[batch]):
                        writer.writerow(line)
                        file.flush()
                except PeerError as error:
                    if key(batch, "") not in done:
                        writer.writerow(refusal(batch, error))
                        file.flush()
                progress.update(1, f"{batch[0]} {data} epsilon {batch[2]}")


@dataclass(frozen=True)
class Mean:
    """A mean over runs, its standard error and standard deviation; both are nan for one run."""

    value: float
    error: float
    spread: float

    @classmethod
    def of(cls, values: list[float]) -> Mean:
        spread = statistics.stdev(values) if len(values) > 1 else math.nan
        return cls(statistics.mean(values), spread / math.sqrt(len(values)), spread)

    def __str__(self) -> str:
        return f"{self.value:.3f}" + ("" if math.isnan(self.error) else f" ±{self.error:.3f}")


Means = dict[tuple[str, str, str, str], Mean]  # by measure, data, system, epsilon


def means(rows: list[dict[str, str]]) -> Means:
    """Return every mean of a file's lines."""
    values: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for row in rows:
        if row["run"]:
            for measure in MEASURES:
                values[measure, row["data"], row["system"], row["epsilon"]].append(float(row[measure]))
    return {place: Mean.of(numbers) for place, numbers in values.items()}


def verdict(ours: Mean | None, theirs: Mean | None) -> str:
    """Return whether ours is above, level or below by one standard error of the difference; "" where none is known."""
    if ours is None or theirs is None:
        return ""
    error = math.hypot(ours.error, theirs.error)
    if math.isnan(error):
        return ""
    difference = ours.value - theirs.value
    return "level" if abs(difference) <= error else "above" if difference > 0 else "below"


SIGNS = {"above": " ▲", "level": " =", "below": " ▼", "": ""}


def epsilons_of(found: Means) -> list[str]:
    return sorted({place[3] for place in found} - {NOT_PRIVATE}, key=float)


def table(rows: list[dict[str, str]]) -> str:
    """Return the Markdown tables of a file's lines: the private systems, the verdicts counted, and the others."""
    return "\n\n".join([private_table(rows), verdict_table(means(rows)), baseline_table(means(rows))])


def private_table(rows: list[dict[str, str]]) -> str:
    found = means(rows)
    refusals = {(row["data"], row["system"], row["epsilon"]): row["accuracy"] for row in rows if not row["run"]}
    rivals = dict(reversed(PAIRS))  # the first pair of each of ours
    epsilons = sorted({*epsilons_of(found), *(place[2] for place in refusals)}, key=float)
    lines = [head("data", "measure", "system", *epsilons)]
    for data, measure in product(TITLES, MEASURES):
        for name, system in SYSTEMS.items():
            cells = []
            for epsilon in epsilons:
                mean = found.get((measure, data, name, epsilon))
                sign = SIGNS[verdict(mean, found.get((measure, data, rivals.get(name, ""), epsilon)))]
                refused = refusals.get((data, name, epsilon), "").replace("|", "/")
                cells.append(refused if mean is None else f"{mean}{sign}")
            if system.private and any(cells):
                lines.append(line(TITLES[data], MEASURES[measure], system.title, *cells))
    return "\n".join(lines)


def verdict_table(found: Means) -> str:
    """Count above, level and below over data sets and epsilons."""
    lines = [head("ours", "beside", "measure", "above ▲", "level =", "below ▼")]
    for (ours, theirs), measure in product(PAIRS, MEASURES):
        places = product(TITLES, epsilons_of(found))
        verdicts = [
            verdict(found.get((measure, data, ours, epsilon)), found.get((measure, data, theirs, epsilon)))
            for data, epsilon in places
        ]
        counts = (str(verdicts.count(word)) for word in ("above", "level", "below"))
        lines.append(line(SYSTEMS[ours].title, SYSTEMS[theirs].title, MEASURES[measure], *counts))
    return "\n".join(lines)


def baseline_table(found: Means) -> str:
    names = [name for name, system in SYSTEMS.items() if not system.private]
    lines = [head("data", "measure", *(SYSTEMS[name].title for name in names))]
    for data, measure in product(TITLES, MEASURES):
        values = [found.get((measure, data, name, NOT_PRIVATE)) for name in names]
        if any(values):
            lines.append(line(TITLES[data], MEASURES[measure], *("" if v is None else str(v) for v in values)))
    return "\n".join(lines)


def head(*cells: str) -> str:
    return line(*cells) + "\n" + line(*("--" for _ in cells))


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


LINES = {  # of the systems that are drawn
    "hedgerow": {"color": "#1b7837", "marker": "o", "linestyle": "-", "linewidth": 2.2},
    "hedgerow-pure": {
        "color": "#5aae61",
        "marker": "o",
        "linestyle": "--",
        "linewidth": 1.8,
        "markerfacecolor": "white",
    },
    "dp-ebm": {"color": "#d95f02", "marker": "s", "linestyle": "-", "linewidth": 1.8},
    "diffprivlib": {"color": "#b3a9dc", "marker": "^", "linestyle": "--", "linewidth": 1.8, "markerfacecolor": "white"},
    "diffprivlib-35": {
        "color": "#7570b3",
        "marker": "^",
        "linestyle": "--",
        "linewidth": 1.8,
        "markerfacecolor": "white",
    },
    "s-bdt": {"color": "#e7298a", "marker": "D", "linestyle": "-", "linewidth": 1.6},
    "logistic": {"color": "#1f78b4", "marker": "v", "linestyle": "-", "linewidth": 1.6},
    "mst": {"color": "#a6761d", "marker": "P", "linestyle": "-", "linewidth": 1.6},
    "hist-gradient-boosting": {"color": "#333333", "linestyle": "-", "linewidth": 1.0},
}


def plot(found: Means, path: Path) -> None:
    """Draw the ROC AUC in a panel for each data set: means over epsilon, bands of one standard deviation either side."""
    # Here, so that a run without a picture needs no matplotlib.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    tasks = [data for data in TASKS if any(place[1] == data for place in found)]
    figure = Figure(figsize=(2.9 * len(tasks) + 0.6, 3.9), dpi=100, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(tasks), squeeze=False)
    for panel, data in zip(panels.flat, tasks, strict=True):
        draw(panel, {(p[2], p[3]): mean for p, mean in found.items() if p[:2] == ("auc", data)})
        panel.set_title(TASKS[data], fontsize=12)
        panel.set_xlabel("epsilon", fontsize=11)
    panels[0, 0].set_ylabel(MEASURES["auc"], fontsize=11)
    drawn = {handle.get_label(): handle for panel in panels.flat for handle in panel.get_legend_handles_labels()[0]}
    figure.legend(drawn.values(), drawn, loc="outside lower center", ncols=4, frameon=False)
    canvas.draw()
    # A palette makes the file a third as large.
    Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path)


def draw(panel: Any, found: dict[tuple[str, str], Mean]) -> None:
    """Draw one panel from means by system and epsilon."""
    for name, system in SYSTEMS.items():
        mine = sorted(
            ((float(epsilon), mean) for (owner, epsilon), mean in found.items() if owner == name),
            key=lambda pair: pair[0],
        )
        if not mine or name not in LINES:
            continue
        style = LINES[name]
        if not system.private:
            panel.axhline(mine[0][1].value, label=f"{system.title}, not private", zorder=1, **style)
            continue
        x, y = [epsilon for epsilon, _ in mine], np.array([mean.value for _, mean in mine])
        spread = np.nan_to_num([mean.spread for _, mean in mine])
        panel.fill_between(x, y - spread, y + spread, color=style["color"], alpha=0.18, linewidth=0)
        panel.plot(x, y, label=system.title, markersize=5, zorder=3, **style)
    panel.set_xscale("log")
    ticks = sorted({float(epsilon) for _, epsilon in found} - {math.inf})
    panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.minorticks_off()
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def speed(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of a Markdown table of the time and the memory that one fit takes; epsilon is 1."""
    X, y = made_up(options.rows, options.features)
    schema = hr.Schema({f"f{i}": hr.Numeric(0, 1) for i in range(options.features)}, classes=[0, 1])
    # Ours first, because the peak of a process never falls.
    models: dict[str, Any] = {"hedgerow, delta 1e-6": hr.HedgerowClassifier(epsilon=1.0, delta=1e-6, schema=schema)}
    try:
        from lightgbm import LGBMClassifier

        models["LightGBM, not private"] = LGBMClassifier(verbose=-1)
    except ImportError as error:
        reason = str(error)
    yield head("system", "fit, s", "times ours", "peak memory above the data, MiB")
    base = 0.0
    for name, model in models.items():
        model.fit(X[:2000], y[:2000])
        before = peak_mib()
        fit = median_seconds(lambda model=model: model.fit(X, y), options.repeats)
        base = base or fit
        yield line(name, f"{fit:.2f}", f"{fit / base:.1f}", f"{peak_mib() - before:.0f}" if fit == base else "")
    if len(models) == 1:
        yield line("LightGBM, not private", f"not available: {reason}", "", "")
    try:
        arguments = {"job": "speed", **{name: getattr(options, name) for name in ("rows", "features", "repeats")}}
        found = make_environment("interpret", options.peers).run(HERE / "interpret_accuracy.py", arguments)
        times = (f"{found['fit']:.2f}", f"{found['fit'] / base:.1f}", f"{found['memory']:.0f}")
        yield line(f"DP-EBM, delta 1e-5 ({found['versions']})", *times)
    except PeerError as error:
        yield line("DP-EBM, delta 1e-5", f"not available: {error}".replace("|", "/"), "", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--data", nargs="+", default=list(TASKS), choices=list(TITLES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.25, 0.5, 1, 3, 5])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", default="benchmarks/results/peers.csv")
    parser.add_argument("--peers", type=Path, default=PEERS, help="where the environments of other libraries are kept")
    parser.add_argument("--sbdt", type=Path, help="an interpreter that can import S-BDT's extension")
    parser.add_argument("--table", action="store_true", help="print tables of what the file holds")
    parser.add_argument("--plot", type=Path, help="draw what the file holds")
    parser.add_argument("--speed", action="store_true", help="time one fit of made-up records instead")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.speed:
        for text in speed(options):
            print(text, flush=True)
    elif options.table or options.plot:
        rows = accuracy.read(Path(options.out))
        if options.table:
            print(table(rows))
        if options.plot:
            plot(means(rows), options.plot)
    else:
        run(options)


if __name__ == "__main__":
    main()
