"""Systems side by side: utility against epsilon with its spread, and claims beside the lower bounds of attacks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from hedgerow.plots.axes import BLUE, COLORS, GREY, RED, Display, framed, shown, wrapped

DASHES = ("-", "--", ":", "-.")
MARKERS = "osD^vPX*"


@dataclass(frozen=True)
class Line:
    """One system: the mean of a measure at each x, and the half-width of its band (the standard deviation of its runs).

    ``like`` names the line with the same color, such as the same system in its other form.
    """

    label: str
    x: tuple[float, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]
    like: str = ""


@dataclass(eq=False, repr=False)
class PrivacyUtilityDisplay(Display):
    """A measure of utility against the privacy budget, or against another quantity that was varied.

    ``reported`` are values that a paper prints, drawn as open marks in the color of the line that ``like`` names. ``order`` has
    the labels in the order of their colors, for several pictures some of which lack a line. ``artists_`` are each line's.
    """

    artists_: dict[str, Any] = field(init=False)
    lines: Sequence[Line]
    reported: Sequence[Line] = field(default=(), kw_only=True)
    measure: str = field(default="accuracy", kw_only=True)
    x: str = field(default="epsilon", kw_only=True)
    log: bool = field(default=True, kw_only=True)
    order: Sequence[str] = field(default=(), kw_only=True)

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw it on ``ax``, matplotlib axes, or on a new figure, and return the display."""
        ax, self.artists_ = self._axes(ax, 6.4, 4.2), {}
        families = list(dict.fromkeys([*self.order, *(line.like or line.label for line in self.lines)]))
        seen: dict[str, int] = defaultdict(int)
        for line in self.lines:
            family = line.like or line.label
            number = families.index(family)
            color, dashes = COLORS[number % len(COLORS)], DASHES[seen[family] % len(DASHES)]
            style = {"color": color, "marker": MARKERS[number % len(MARKERS)], "markersize": 4, "linewidth": 1.5}
            (self.artists_[line.label],) = ax.plot(line.x, line.mean, dashes, **style)
            mean, spread = np.array(line.mean), np.array(line.spread)
            ax.fill_between(line.x, mean - spread, mean + spread, color=color, alpha=0.13, linewidth=0)
            seen[family] += 1
        for line in self.reported:
            color = COLORS[families.index(line.like) % len(COLORS)] if line.like in families else "black"
            style = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "color": color}
            (self.artists_[line.label],) = ax.plot(line.x, line.mean, linestyle="none", **style)
        if self.log:
            values = sorted({x for line in self.lines for x in line.x})
            ax.set_xscale("log")
            ax.set_xticks(values, [f"{value:g}" for value in values])
            ax.minorticks_off()
        framed(ax, "", shown(self.x), shown(self.measure))
        ax.grid(alpha=0.25)
        if legend and self.artists_:
            ax.legend(self.artists_.values(), map(shown, self.artists_), frameon=False, fontsize=9)
        return self


@dataclass(eq=False, repr=False)
class AuditDisplay(Display):
    """The claim of each subject and the lower bound that attacks proved, one line each.

    A bound to the right of its claim refutes it and is red. An infinite bound is an arrow that leaves the picture.

    Parameters
    ----------
    rows : sequence of Finding
        The rows of the picture, from top to bottom.

    Examples
    --------
    >>> from hedgerow.audit import Finding
    >>> finding = Finding("edprf", "exact", "one-leaf", "add-remove", 1.0, 0.0, 0.9, 1.0, 0.9, "the label")
    >>> [row.refuted for row in AuditDisplay.from_findings([finding]).rows]
    [False]
    """

    rows: Sequence[Any]  # plots do not import the audit

    @classmethod
    def from_findings(cls, findings: Iterable[Any]) -> Self:
        """Make the display of findings. Of several findings about one claim, the worst is shown."""
        worst: dict[tuple[Any, ...], Any] = {}
        for one in findings:
            key = (one.subject, one.adjacency, one.epsilon, one.delta)
            if key not in worst or one.loss > worst[key].loss:
                worst[key] = one
        return cls(tuple(worst.values()))

    def plot(self, ax: Any = None) -> Self:
        """Draw it on ``ax``, matplotlib axes, or on a new figure, and return the display."""
        ax = self._axes(ax, 9.0, 1.3 + 0.42 * len(self.rows))
        finite = [value for row in self.rows for value in (row.epsilon, row.loss) if math.isfinite(value)]
        right = 1.25 * max([*finite, 1e-9])
        for place, row in enumerate(self.rows):
            color, infinite = RED if row.loss > row.epsilon else BLUE, math.isinf(row.loss)
            end = right if infinite else row.loss
            ax.plot([0, end], [place, place], color=color, linewidth=5, solid_capstyle="butt", alpha=0.85)
            if infinite:
                ax.plot([right], [place], marker=">", markersize=10, color=color, clip_on=False)
            ax.plot([row.epsilon] * 2, [place - 0.36, place + 0.36], color="black", linewidth=1.6)
            sure = "exact" if row.confidence >= 1 else f"at {100 * row.confidence:.12g} %"
            how = sure if row.attack == sure else f"{row.attack}, {sure}"
            beside = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 9}
            bound = "infinite" if infinite else f"{row.loss:.3g}"
            ax.annotate(shown(f"{bound} ({how})"), (1.03, place), color=color, **beside)
        claims = [
            f"{row.subject}; {row.adjacency}" + (f", delta {row.delta:.12g}" if row.delta else "") for row in self.rows
        ]
        ax.set_yticks(range(len(self.rows)), [wrapped(claim, 60) for claim in claims])
        ax.set_ylim(max(len(self.rows), 1) - 0.4, -0.6)
        ax.set_xlim(0, right)
        framed(ax, "", "epsilon: claimed (black mark), and the least that can be true (bar)")
        ax.grid(axis="x", color=GREY, alpha=0.25)
        return self
