"""Systems side by side: utility against epsilon with its spread, and claims beside the lower bounds of attacks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from hedgerow.analysis.outlook import FitPlan, benchmarks_of, plan
from hedgerow.plots.axes import BLUE, COLORS, GREY, RED, Display, framed, new_grid, shown, wrapped
from hedgerow.schema import Schema

MARKERS = "osD^vPX*"


@dataclass(frozen=True)
class Line:
    """One system: the mean of a measure at each x, and the half-width of its band (the standard deviation of its runs).

    ``like`` names the line whose color a reported one has.
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
    log: bool = field(default=True, kw_only=True)
    order: Sequence[str] = field(default=(), kw_only=True)

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw it on ``ax``, matplotlib axes, or on a new figure, and return the display."""
        ax, self.artists_ = self._axes(ax, 6.4, 4.2), {}
        labels = list(dict.fromkeys([*self.order, *(line.label for line in self.lines)]))
        for line in self.lines:
            number = labels.index(line.label)
            color = COLORS[number % len(COLORS)]
            style = {"color": color, "marker": MARKERS[number % len(MARKERS)], "markersize": 4, "linewidth": 1.5}
            (self.artists_[line.label],) = ax.plot(line.x, line.mean, **style)
            mean, spread = np.array(line.mean), np.array(line.spread)
            ax.fill_between(line.x, mean - spread, mean + spread, color=color, alpha=0.13, linewidth=0)
        for line in self.reported:
            color = COLORS[labels.index(line.like) % len(COLORS)] if line.like in labels else "black"
            style = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "color": color}
            (self.artists_[line.label],) = ax.plot(line.x, line.mean, linestyle="none", **style)
        if self.log:
            values = sorted({x for line in self.lines for x in line.x})
            ax.set_xscale("log")
            ax.set_xticks(values, [f"{value:g}" for value in values])
            ax.minorticks_off()
        framed(ax, "", "epsilon", shown(self.measure))
        ax.grid(alpha=0.25)
        if legend and self.artists_:
            ax.legend(self.artists_.values(), map(shown, self.artists_), frameon=False, fontsize=9)
        return self


@dataclass(eq=False, repr=False)
class PlanDisplay(Display):
    """The noise of a plan over epsilon, and the accuracy and the intervals of report cards on public data sets.

    The noise is that of the plan for the schema. Accuracies and widths are no promise: ``benchmarks/outlook.py`` measured them
    for ``HedgerowClassifier`` or ``HedgerowRegressor`` with a pure epsilon on public sets of about as many records. To protect
    k records of a person, or replaced records, the same figures take k times or twice the epsilon. Nothing is read or spent.

    Parameters
    ----------
    plan : FitPlan
        The plan at the epsilon that a dotted line marks.
    noise : sequence of Line
        The noise on a count of each kind of query over epsilon, as a share of the records.
    accuracy : sequence of Line
        For each public set, the score as a share of that of gradient boosting without privacy: of the ROC AUC above 1/2, or of
        R2.
    width : sequence of Line
        For each public set, the width of the score's 95 % interval for the added noise. The report card has the same epsilon,
        and a quarter as many records, none of which is in the fit.
    score : str
        The name of the score.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"age": hr.Integer(17, 90)}, classes=["ill", "well"])
    >>> display = hr.PlanDisplay.from_schema(schema, records=5000, epsilon=1.0)
    >>> display.plan.records, len(display.accuracy) == len(display.width) > 0
    (5000, True)
    """

    plan: FitPlan
    noise: Sequence[Line]
    accuracy: Sequence[Line]
    width: Sequence[Line]
    score: str

    @classmethod
    def from_schema(cls, schema: Schema, *, records: int, epsilon: float, **arguments: Any) -> Self:
        """Make the display of a plan; arguments are those of ``hr.plan``."""
        made = plan(schema, records=records, epsilon=epsilon, **arguments)
        claim, classes = made.certificate.claim, bool(schema.classes)
        benchmarks = benchmarks_of(records, classes=classes)
        times = float(claim.epsilon / claim.pure)
        epsilons = tuple((times * benchmarks[0].epsilons).tolist())
        noise: dict[str, list[float]] = {step.purpose: [] for step in made.steps}
        for each in epsilons:
            steps = plan(schema, records=records, epsilon=each, **arguments).steps
            own = {step.purpose: step.noise for step in steps}
            for purpose, values in noise.items():
                values.append(own.get(purpose, math.nan) / records)

        def lines(of: Mapping[str, Iterable[float]]) -> tuple[Line, ...]:
            return tuple(Line(name, epsilons, tuple(y), (0.0,) * len(epsilons)) for name, y in of.items())

        accuracy, width = ({one.data: getattr(one, name).tolist() for one in benchmarks} for name in ("kept", "width"))
        return cls(made, lines(noise), lines(accuracy), lines(width), "ROC AUC above 1/2" if classes else "R2")

    def plot(self, ax: Any = None) -> Self:
        """Draw it on ``ax``, a sequence of three matplotlib axes, or on a new figure, and return the display."""
        self.ax_ = new_grid(3, (4.8, 4.8)) if ax is None else ax
        self.figure_ = self.ax_[0].figure
        about = f"on public sets of about {self.plan.records} records; yours may differ"
        panels = (
            (self.noise, "noise on a count, as a share of the records", f"{self.plan.system}, by its plan"),
            (self.accuracy, f"{self.score}, as a share of what boosting has without privacy", f"accuracy {about}"),
            (self.width, f"width of the 95 % interval of {self.score.split(' above')[0]}", f"report card {about}"),
        )
        for own, (lines, measure, title) in zip(self.ax_, panels, strict=True):
            picture = PrivacyUtilityDisplay(lines, measure=measure).plot(own, legend=False)
            names = [wrapped(name, 40) for name in picture.artists_]
            own.legend(picture.artists_.values(), names, frameon=False, fontsize=7)
            own.axvline(float(self.plan.certificate.epsilon), color="black", linewidth=0.8, linestyle=":")
            own.set_title(wrapped(title, 56), loc="left", fontsize=9)
            own.set_ylabel(wrapped(measure, 44), fontsize=9)
            if lines is self.noise:
                own.set_yscale("log")
            else:
                own.set_ylim(min(own.get_ylim()[0], 0.0), None)
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
            worst[key] = max(worst.get(key, one), one, key=lambda found: found.loss)
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
            how = "exact" if row.confidence >= 1 else f"at {100 * row.confidence:.12g} %"
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
