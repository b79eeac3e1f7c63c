"""The spending of a ledger over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any

from hedgerow.plots.axes import BLUE, GREY, new_figure

__all__ = ["plot_spending"]


def plot_spending(times: Sequence[datetime], amounts: Sequence[float], ceiling: float, unit: str) -> Any:
    """Return a figure with a step for each entry, and the ceiling as a line."""
    figure = new_figure(8, 3.5)
    axes = figure.subplots()
    axes.step([times[0], *times], [0.0, *accumulate(amounts)], where="post", color=BLUE, label="spent")
    axes.axhline(ceiling, linestyle="--", color=GREY, label="ceiling")
    axes.set_ylim(bottom=0)
    axes.set_ylabel(unit)
    axes.legend()
    figure.autofmt_xdate()
    return figure
