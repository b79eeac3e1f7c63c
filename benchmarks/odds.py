"""What epsilon says about a guess, drawn for docs/guide/epsilon.md: python benchmarks/odds.py [--out docs/images/odds.png]."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt

EPSILONS = (0.1, 0.5, 1.0, 3.0)


def after(before: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the probability of a guess whose odds grew by a factor of e to the epsilon."""
    odds = before / (1 - before) * np.exp(epsilon)
    return odds / (1 + odds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images/odds.png"))
    out = parser.parse_args().out
    before = np.linspace(0.001, 0.999, 500)
    figure, ax = plt.subplots(figsize=(5.2, 4.4), dpi=100, layout="constrained")
    ax.plot(before, before, color="#8a8a8a", linewidth=0.8, linestyle=":")
    for epsilon, shade in zip(EPSILONS, ("#c6d8ea", "#8fb3d6", "#3b6ea5", "#b5402f"), strict=True):
        ax.fill_between(before, after(before, -epsilon), after(before, epsilon), color=shade, alpha=0.25, linewidth=0)
        ax.plot(before, after(before, epsilon), color=shade, label=f"epsilon {epsilon:g}")
        ax.plot(before, after(before, -epsilon), color=shade)
    ax.set(
        xlabel="probability of a guess without the person's record", ylabel="probability with it, at most and at least"
    )
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    figure.savefig(out)


if __name__ == "__main__":
    main()
