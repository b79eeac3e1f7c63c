"""A picture of a plan: the budget of each level and path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

from hedgerow.errors import ConfigurationError
from hedgerow.plots.axes import COLORS, Display, shown
from hedgerow.privacy.accounting import cost, unprotected
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.events import (
    Event,
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    Subsampled,
)
from hedgerow.privacy.events import (
    Sequence as InSequence,
)

__all__ = ["BudgetDisplay", "BudgetPath", "PathStep", "budget_paths"]

STATED = ", as the paper states it"


@dataclass(frozen=True)
class PathStep:
    """One step of a path: its level (0 for none), its purpose, its mechanism and its cost."""

    level: int
    purpose: str
    mechanism: str
    amount: Fraction


@dataclass(frozen=True)
class BudgetPath:
    """The costs that a record incurs from the root of one tree, or cell, to its end."""

    steps: tuple[PathStep, ...]

    @property
    def total(self) -> Fraction:
        """The cost of the path."""
        return sum((step.amount for step in self.steps), Fraction(0))

    @property
    def name(self) -> str:
        """The end of the path, as text."""
        last = self.steps[-1]
        return f"{last.purpose}, level {last.level}" if last.level else last.purpose


@dataclass(frozen=True)
class BudgetPaths:
    """The paths of one tree of a plan, the unit of their amounts, and how trees and records share them."""

    paths: tuple[BudgetPath, ...]
    unit: str
    words: str


def budget_paths(event: Event) -> BudgetPaths:
    """Return the costs of the paths of one tree, shortest first.

    If several trees each have the same plan, ``words`` says how many and how they share the records. If one of several plans
    runs, ``words`` says what chooses it, and the first is shown. Unprotected steps have no cost and are left out. Amounts are
    epsilon, or rho if some of the noise is Gaussian.

    Raises
    ------
    ConfigurationError
        If no step of the event has a budget.
    """
    choices: list[str] = []
    tree, words = _one_tree(_first_choice(event, choices))
    unit = "rho" if any(isinstance(step, Gaussian) for step in _leaves(tree)) else "epsilon"
    paths = tuple(dict.fromkeys(BudgetPath(_together(steps)) for steps in _paths(tree, unit) if steps))
    if not paths:
        raise ConfigurationError("no step of this plan has a budget, so there is nothing to draw.")
    shortest_first = tuple(sorted(paths, key=lambda path: len(path.steps)))
    return BudgetPaths(shortest_first, unit, "; ".join(filter(None, (words, *dict.fromkeys(choices)))))


def _first_choice(event: Event, choices: list[str]) -> Event:
    """Return the event with all alternatives replaced by the first, and add to ``choices`` what chooses among them."""
    match event:
        case OneOf(parts, label):
            choices.append(f"{label}; drawn is the first of the {len(parts)} choices")
            return _first_choice(parts[0], choices)
        case InSequence(parts) | Parallel(parts):
            return replace(event, parts=tuple(_first_choice(part, choices) for part in parts))
        case PerRecordAssignment(part) | Subsampled(part):
            return replace(event, part=_first_choice(part, choices))
    return event


def _one_tree(event: Event) -> tuple[Event, str]:
    """Return the plan of one tree, and a description of its relation to the whole plan."""
    trees = list(_in_a_row(event))
    several = f"one of {len(trees)} trees or rounds, all on the same records" if len(trees) > 1 else ""
    match trees[0] if trees else event:
        case PerRecordAssignment(part, count):
            share = f"one of {count} trees, and every record is in one of them" if count > 1 else ""
        case Subsampled(part, inclusion):
            share = f"on a sample in which a record is with probability {float(inclusion):.12g} at most"
        case tree:
            return tree, several
    tree, words = _one_tree(part)
    return tree, "; ".join(filter(None, (several, share, words)))


def _in_a_row(event: Event) -> Iterator[Event]:
    """Yield the trees or rounds of a sequential plan. A plan with steps of its own is one of them."""
    if next(_leaves(event), None) is None:
        return
    if isinstance(event, InSequence):
        parts = [part for part in event.parts if next(_leaves(part), None) is not None]
        if not any(isinstance(part, Pure | Gaussian) for part in parts):
            for part in parts:
                yield from _in_a_row(part)
            return
    yield event


def _leaves(event: Event) -> Iterator[Pure | Gaussian]:
    """Yield the steps that have a budget."""
    match event:
        case Pure() | Gaussian():
            yield event
        case InSequence(parts) | Parallel(parts):
            for part in parts:
                yield from _leaves(part)
        case PerRecordAssignment(part) | Subsampled(part):
            yield from _leaves(part)


def _paths(event: Event, unit: str) -> Iterator[tuple[PathStep, ...]]:
    """Yield the steps of each path through an event."""
    match event:
        case Pure():
            yield (PathStep(event.level, event.purpose, event.mechanism, _amount(event, unit)),)
        case Gaussian():
            yield (PathStep(event.level, event.purpose, "rounded normal noise", _amount(event, unit)),)
        case Parallel(parts):
            for part in parts:
                yield from _paths(part, unit)
        case InSequence(parts):
            before: list[tuple[PathStep, ...]] = [()]
            for part in parts:
                after = list(_paths(part, unit)) or [()]
                before = [(*head, *tail) for head in before for tail in after]
            yield from before
        case PerRecordAssignment(part) | Subsampled(part):
            yield from _paths(part, unit)


def _together(steps: Iterable[PathStep]) -> tuple[PathStep, ...]:
    """Return the steps of a path, with steps of the same purpose and level merged."""
    sums: dict[tuple[int, str, str], Fraction] = {}
    for step in steps:
        key = (step.level, step.purpose.removesuffix(STATED), step.mechanism)
        sums[key] = sums.get(key, Fraction(0)) + step.amount
    return tuple(PathStep(*key, amount) for key, amount in sums.items())


def _amount(event: Pure | Gaussian, unit: str) -> Fraction:
    total = cost(event)
    return total.rho if unit == "rho" else total.epsilon


class BudgetDisplay(Display):
    """The spending of every path of one tree on each level, as bars that end at the same total.

    Parameters
    ----------
    budget : BudgetPaths
        The paths, their unit, and how trees share records.
    title : str
        The title of the picture.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure; set by ``plot``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
    >>> model = hr.PFDPDTClassifier(epsilon=1.0, schema=schema, max_depth=2).fit([["x"], ["y"]], ["no", "yes"])
    >>> [round(float(step.amount), 2) for step in BudgetDisplay.from_estimator(model).budget.paths[-1].steps]
    [0.18, 0.27, 0.55]
    """

    def __init__(self, budget: BudgetPaths, title: str = "") -> None:
        self.budget = budget
        self.title = title

    @classmethod
    def from_event(cls, event: Event, title: str = "") -> Self:
        """Make the display of an event's plan."""
        return cls(budget_paths(event), title)

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> Self:
        """Make the display of a fit's spending; a published form has none."""
        stated = " (the budgets that it states)" if unprotected(certificate.event) else ""
        return cls.from_event(certificate.event, f"{certificate.system}, {certificate.variant}{stated}")

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Make the display of a fitted model's certificate."""
        return cls.from_certificate(estimator.certificate_)

    def plot(self, ax: Any = None, *, kind: str = "paths") -> Self:
        """Draw it and return the display.

        Parameters
        ----------
        ax : matplotlib axes or None
            The axes to draw on. None makes a new figure.
        kind : {"paths", "tree"}
            "paths": one bar per path. "tree": one tree in which, on each level, one node is split and one is a leaf.
        """
        if kind not in ("paths", "tree"):
            raise ConfigurationError(f"kind is {kind!r}; pass 'paths' or 'tree'.")
        ax = self._on(ax, (8.0, 1.4 + 0.5 * len(self.budget.paths)) if kind == "paths" else (6.0, 4.5))
        if kind == "paths":
            self._plot_paths()
        else:
            self._plot_tree()
        lines = filter(None, (self.title, *self.budget.words.split("; ")))
        ax.set_title("\n".join(map(shown, lines)), fontsize=10, loc="left", wrap=True)
        return self

    def _plot_paths(self) -> None:
        ax, paths = self.ax_, self.budget.paths
        colors = _colors(paths)
        longest = float(max(path.total for path in paths))
        for place, path in enumerate(paths):
            start = 0.0
            for step in path.steps:
                width = float(step.amount)
                ax.barh(place, width, left=start, height=0.72, color=colors[step.purpose], edgecolor="white")
                if width > 0.07 * longest:
                    ax.text(
                        start + width / 2, place, f"{width:.2g}", ha="center", va="center", fontsize=8, color="white"
                    )
                start += width
        ax.set_yticks(range(len(paths)), [shown(path.name) for path in paths])
        ax.invert_yaxis()
        ax.set_xlim(0, 1.02 * longest)
        ax.set_xlabel(f"{self.budget.unit} that one record pays on its path, root at the left")
        ax.spines[["top", "right"]].set_visible(False)
        for kind, color in colors.items():
            ax.plot([], [], "s", color=color, label=shown(kind))
        ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))

    def _plot_tree(self) -> None:
        ax, paths = self.ax_, self.budget.paths
        spine = max(paths, key=lambda path: len(path.steps))
        colors = _colors(paths)
        ends = {path.steps[-1].level: path.steps[-1] for path in paths if path.steps[-1].level}
        inner = [step for step in spine.steps if step.level and step != spine.steps[-1]]
        levels = sorted({step.level for step in inner} | set(ends))
        for level in levels:
            spent = [step for step in inner if step.level == level]
            if spent:
                self._node(0.7 * level, -level, spent, colors)
                for child in (0.7, -0.7):
                    ax.plot([0.7 * level, 0.7 * level + child], [-level, -level - 1], color="#999999", zorder=1)
            if level in ends and level > levels[0]:
                self._node(0.7 * level - 1.4, -level, [ends[level]], colors)
            if level == levels[-1]:
                self._node(0.7 * level, -level, [ends[level]], colors)
            ax.text(-1.6, -level, f"level {level}", va="center", fontsize=9, color="#555555")
        ax.set_xlim(-1.8, 0.7 * levels[-1] + 0.9)
        ax.set_ylim(-levels[-1] - 0.6, -levels[0] + 0.6)
        ax.set_axis_off()

    def _node(self, x: float, y: float, steps: Sequence[PathStep], colors: dict[str, str]) -> None:
        words = "\n".join(f"{shown(step.purpose.split(',')[0])} {float(step.amount):.2f}" for step in steps)
        box = {"boxstyle": "round,pad=0.45", "facecolor": colors[steps[-1].purpose], "edgecolor": "none"}
        self.ax_.text(x, y, words, ha="center", va="center", color="white", fontsize=9, bbox=box)


def _colors(paths: Sequence[BudgetPath]) -> dict[str, str]:
    kinds = dict.fromkeys(step.purpose for path in paths for step in path.steps)
    return {kind: COLORS[place % len(COLORS)] for place, kind in enumerate(kinds)}
