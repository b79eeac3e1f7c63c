"""What `HedgerowClassifier` and DP-EBM show of a model of Adult, side by side: the pictures and figures of docs/curves.md.

    python benchmarks/pictures.py --out docs/images

DP-EBM runs in interpret-core's own environment, which is made first. Its own pictures are interactive pages; what they hold is
drawn here in the same way as ours.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

import hedgerow as hr
from peer_environment import make_environment
from peers import PEERS, Task

DELTA = 1e-5  # DP-EBM's default, for both
SHOWN = ["age", "hours-per-week", "capital-gain", "education", "relationship", "occupation"]
BLUE, RED, GREY = "#3b6ea5", "#b5402f", "#8a8a8a"


def figure_of(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> None:
    figure.canvas.draw()
    # A palette makes the file a third as large.
    pixels = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    pixels.quantize(128, dither=Image.Dither.NONE).save(path)


def draw_ours(model: Any, task: Task, record: int, folder: Path) -> None:
    curves = figure_of(13, 6.6)
    hr.FeatureDisplay.from_estimator(model, SHOWN, ax=curves.subplots(2, 3).ravel())
    save(curves, folder / "curves-hedgerow.png")
    why = figure_of(13, 4.6)
    left, right = why.subplots(1, 2)
    hr.ImportancesDisplay.from_estimator(model, ax=left)
    hr.ExplanationDisplay.from_estimator(model, task.X_test[record : record + 1], ax=right)
    save(why, folder / "why-hedgerow.png")


def draw_theirs(found: dict[str, Any], task: Task, record: int, folder: Path) -> None:
    names = list(task.schema.names)
    curves = figure_of(13, 6.6)
    for ax, name in zip(curves.subplots(2, 3).ravel(), SHOWN, strict=True):
        term, feature = found["curves"][names.index(name)], task.schema.features[name]
        if isinstance(feature, hr.Categorical):
            # What it did not see often enough, it calls DPOther.
            values = {str(code): str(value) for code, value in enumerate([*feature.values, "missing"])}
            ax.plot(term["scores"], [values.get(code, code) for code in term["names"]], "o", color=BLUE, markersize=4)
            ax.invert_yaxis()
            ax.tick_params(axis="y", labelsize=8)
            ax.axvline(0, color=GREY, linewidth=0.8)
        else:
            ax.stairs(term["scores"], [float(edge) for edge in term["names"]], baseline=None, color=BLUE, linewidth=1.6)
            ax.axhline(0, color=GREY, linewidth=0.8)
        ax.set_title(name, fontsize=10, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
    save(curves, folder / "curves-dp-ebm.png")
    why = figure_of(13, 4.6)
    left, right = why.subplots(1, 2)
    for ax, values, words in (
        (left, np.array(found["importances"]), "importances: mean absolute score"),
        (right, np.array(found["contributions"]), "scores of one record"),
    ):
        order = np.argsort(-np.abs(values))
        ax.barh([names[place] for place in order], values[order], color=np.where(values[order] < 0, RED, BLUE))
        ax.invert_yaxis()
        ax.tick_params(axis="y", labelsize=8)
        ax.set_xlabel(words)
        ax.spines[["top", "right"]].set_visible(False)
    save(why, folder / "why-dp-ebm.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--peers", type=Path, default=PEERS, help="where the environments of other libraries are kept")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", type=int, default=3, help="which test record is explained")
    options = parser.parse_args()
    data = hr.datasets.load_adult()
    task = Task(data.schema, data.X, data.X_test, data.y, data.y_test)
    options.out.mkdir(parents=True, exist_ok=True)
    model = hr.HedgerowClassifier(options.epsilon, delta=DELTA, schema=data.schema, random_state=options.seed)
    model.fit(data.X, data.y)
    draw_ours(model, task, options.record, options.out)
    found = model.explain(task.X_test[options.record : options.record + 1])
    print(f"HedgerowClassifier: baseline {found.baseline:.3f}, decision {found.total[0]:.3f}")
    print(f"  interactions: {[group.features for group in model.interactions_]}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "adult.npz")
        np.savez(path, **task.coded())
        arguments = {"path": str(path), "epsilon": options.epsilon, "seed": options.seed, "record": options.record}
        theirs = make_environment("interpret", options.peers).run(
            Path(__file__).with_name("interpret_curves.py"), arguments
        )
    draw_theirs(theirs, task, options.record, options.out)
    rest = theirs["decision"] - theirs["baseline"] - sum(theirs["contributions"])
    spreads = [spread for term in theirs["curves"] if term["spread"] for spread in term["spread"]]
    print(
        f"DP-EBM (interpret-core {theirs['version']}): baseline {theirs['baseline']:.3f}, decision {theirs['decision']:.3f}"
    )
    print(
        f"  not in the contributions: {rest:.2g}; bags {theirs['bags']}; widest bar of a score {max(spreads, default=0):.2g}"
    )


if __name__ == "__main__":
    main()
