"""Figure 3 of eDPRF's paper: what each path of a tree spends on each level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hedgerow.plots.axes import COLORS, shown
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.events import Event, Parallel, PerRecordAssignment, Pure
from hedgerow.privacy.events import Sequence as InSequence

STATED = ", as the paper states it"


@dataclass(frozen=True)
class PathStep:
    level: int
    purpose: str
    amount: Fraction


@dataclass(frozen=True)
class BudgetPath:
    """The steps of a record from the root of one tree to its end, and their epsilon."""

    steps: tuple[PathStep, ...]

    @property
    def total(self) -> Fraction:
        return sum((step.amount for step in self.steps), Fraction(0))

    @property
    def name(self) -> str:
        last = self.steps[-1]
        return f"{last.purpose}, level {last.level}" if last.level else last.purpose


def budget_paths(event: Event) -> tuple[BudgetPath, ...]:
    """Return the paths of the first tree of a plan, shortest first. Steps without a budget are left out."""
    paths = dict.fromkeys(BudgetPath(_together(steps)) for steps in _paths(_first_tree(event)) if steps)
    return tuple(sorted(paths, key=lambda path: len(path.steps)))


def _first_tree(event: Event) -> Event:
    match event:
        case PerRecordAssignment(part):
            return _first_tree(part)
        case InSequence(parts) if not any(isinstance(part, Pure) for part in parts):  # of trees, not of steps
            return _first_tree(next(part for part in parts if any(_paths(part))))
    return event


def _paths(event: Event) -> Iterator[tuple[PathStep, ...]]:
    """Yield the steps of each path through an event."""
    match event:
        case Pure():
            yield (PathStep(event.level, event.purpose.removesuffix(STATED), cost(event).epsilon),)
        case Parallel(parts):
            for part in parts:
                yield from _paths(part)
        case InSequence(parts):
            before: list[tuple[PathStep, ...]] = [()]
            for part in parts:
                after = list(_paths(part)) or [()]
                before = [(*head, *tail) for head in before for tail in after]
            yield from before
        case PerRecordAssignment(part):
            yield from _paths(part)


def _together(steps: Iterable[PathStep]) -> tuple[PathStep, ...]:
    """Return the steps of a path, with steps of the same purpose and level merged."""
    sums: dict[tuple[int, str], Fraction] = {}
    for step in steps:
        key = (step.level, step.purpose)
        sums[key] = sums.get(key, Fraction(0)) + step.amount
    return tuple(PathStep(*key, amount) for key, amount in sums.items())


def draw_paths(ax: Any, paths: Sequence[BudgetPath], title: str) -> None:
    """Draw one bar for each path, all of which end where the budget ends."""
    colors = _colors(paths)
    longest = float(max(path.total for path in paths))
    for place, path in enumerate(paths):
        start = 0.0
        for step in path.steps:
            width = float(step.amount)
            ax.barh(place, width, left=start, height=0.72, color=colors[step.purpose], edgecolor="white")
            if width > 0.07 * longest:
                middle = start + width / 2
                ax.text(middle, place, f"{width:.2g}", ha="center", va="center", fontsize=8, color="white")
            start += width
    ax.set_yticks(range(len(paths)), [shown(path.name) for path in paths])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.02 * longest)
    ax.set_xlabel("epsilon that one record pays on its path, root at the left")
    ax.spines[["top", "right"]].set_visible(False)
    for kind, color in colors.items():
        ax.plot([], [], "s", color=color, label=shown(kind))
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    ax.set_title(shown(title), fontsize=10, loc="left", wrap=True)


def draw_tree(ax: Any, paths: Sequence[BudgetPath], title: str) -> None:
    """Draw one tree in which, on each level, one node is split and one is a leaf."""
    colors = _colors(paths)
    longest = max(paths, key=lambda path: len(path.steps))
    ends = {path.steps[-1].level: path.steps[-1] for path in paths if path.steps[-1].level}
    inner = [step for step in longest.steps if step.level and step != longest.steps[-1]]
    levels = sorted({step.level for step in inner} | set(ends))

    def node(x: float, y: float, steps: Sequence[PathStep]) -> None:
        words = "\n".join(f"{shown(step.purpose.split(',')[0])} {float(step.amount):.2f}" for step in steps)
        box = {"boxstyle": "round,pad=0.45", "facecolor": colors[steps[-1].purpose], "edgecolor": "none"}
        ax.text(x, y, words, ha="center", va="center", color="white", fontsize=9, bbox=box)

    for level in levels:
        spent = [step for step in inner if step.level == level]
        if spent:
            node(0.7 * level, -level, spent)
            for child in (0.7, -0.7):
                ax.plot([0.7 * level, 0.7 * level + child], [-level, -level - 1], color="#999999", zorder=1)
        if level in ends and level > levels[0]:
            node(0.7 * level - 1.4, -level, [ends[level]])
        if level == levels[-1]:
            node(0.7 * level, -level, [ends[level]])
        ax.text(-1.6, -level, f"level {level}", va="center", fontsize=9, color="#555555")
    ax.set_xlim(-1.8, 0.7 * levels[-1] + 0.9)
    ax.set_ylim(-levels[-1] - 0.6, -levels[0] + 0.6)
    ax.set_axis_off()
    ax.set_title(shown(title), fontsize=10, loc="left", wrap=True)


def _colors(paths: Sequence[BudgetPath]) -> dict[str, str]:
    kinds = dict.fromkeys(step.purpose for path in paths for step in path.steps)
    return {kind: COLORS[place % len(COLORS)] for place, kind in enumerate(kinds)}
