"""A picture of an audit's findings: claims beside the lower bounds of attacks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from hedgerow.plots.axes import BLUE, GREY, RED, Display, shown

__all__ = ["AuditDisplay", "AuditRow", "FindingLike", "audit_rows"]


class FindingLike(Protocol):
    """The part of a finding that a picture needs; ``hedgerow.audit.findings.Finding`` has it."""

    @property
    def subject(self) -> str:
        """The system that was attacked."""

    @property
    def attack(self) -> str:
        """The name of the attack."""

    @property
    def adjacency(self) -> str:
        """What neighboring data sets are."""

    @property
    def epsilon(self) -> float:
        """The epsilon of the claim."""

    @property
    def delta(self) -> float:
        """The delta of the claim."""

    @property
    def loss(self) -> float:
        """A lower bound on the true epsilon; infinite if no epsilon holds."""

    @property
    def confidence(self) -> float:
        """The probability that the bound is correct."""


@dataclass(frozen=True)
class AuditRow:
    """The worst finding about one claim: the largest lower bound, with its attack and confidence."""

    subject: str
    adjacency: str
    epsilon: float
    delta: float
    loss: float
    attack: str
    confidence: float

    @property
    def name(self) -> str:
        """The subject and the scope of the claim; the picture marks the claimed epsilon."""
        return f"{self.subject}; {self.adjacency}" + (f", delta {self.delta:.12g}" if self.delta else "")

    @property
    def refuted(self) -> bool:
        """Whether the bound is above the claim."""
        return self.loss > self.epsilon

    @property
    def words(self) -> str:
        """The bound as text."""
        bound = "infinite" if math.isinf(self.loss) else f"{self.loss:.3g}"
        sure = "exact" if self.confidence >= 1 else f"at {100 * self.confidence:.12g} %"
        return f"{bound} ({self.attack}, {sure})" if self.attack != sure else f"{bound} ({sure})"


def audit_rows(findings: Iterable[FindingLike]) -> tuple[AuditRow, ...]:
    """Return the worst finding of each subject and claim, in order of first appearance."""
    worst: dict[tuple[str, str, float, float], AuditRow] = {}
    for found in findings:
        key = (found.subject, found.adjacency, found.epsilon, found.delta)
        if key not in worst or found.loss > worst[key].loss:
            worst[key] = AuditRow(*key, found.loss, found.attack, found.confidence)
    return tuple(worst.values())


class AuditDisplay(Display):
    """The claim of each subject and the lower bound that attacks proved, one line each.

    A bound to the right of its claim refutes it and is red. An infinite bound is an arrow that leaves the picture.

    Parameters
    ----------
    rows : sequence of AuditRow
        The rows of the picture, from top to bottom.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure; set by ``plot``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.audit import exact_loss
    >>> schema = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
    >>> model = hr.EDPRFClassifier(epsilon=1.0, schema=schema, n_estimators=1, max_depth=1)
    >>> finding = exact_loss(model, [("x", "no")], [("x", "no"), ("x", "no")])
    >>> [row.refuted for row in AuditDisplay.from_findings([finding]).rows]
    [False]
    """

    def __init__(self, rows: Sequence[AuditRow]) -> None:
        self.rows = tuple(rows)

    @classmethod
    def from_findings(cls, findings: Iterable[FindingLike]) -> Self:
        """Make the display of findings. Of several findings about one claim, the worst is shown."""
        return cls(audit_rows(findings))

    def plot(self, ax: Any = None) -> Self:
        """Draw it and return the display."""
        ax = self._on(ax, (9.0, 1.3 + 0.42 * len(self.rows)))
        finite = [value for row in self.rows for value in (row.epsilon, row.loss) if math.isfinite(value)]
        right = 1.25 * max([*finite, 1e-9])
        for place, row in enumerate(self.rows):
            color = RED if row.refuted else BLUE
            end = right if math.isinf(row.loss) else row.loss
            ax.plot([0, end], [place, place], color=color, linewidth=5, solid_capstyle="butt", alpha=0.85)
            if math.isinf(row.loss):
                ax.plot([right], [place], marker=">", markersize=10, color=color, clip_on=False)
            ax.plot([row.epsilon] * 2, [place - 0.36, place + 0.36], color="black", linewidth=1.6)
            ax.annotate(
                shown(row.words),
                (1.03, place),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=9,
                color=color,
            )
        self._finish(right)
        return self

    def _finish(self, right: float) -> None:
        ax = self.ax_
        ax.set_yticks(range(len(self.rows)), [shown(row.name) for row in self.rows])
        ax.set_ylim(max(len(self.rows), 1) - 0.4, -0.6)
        ax.set_xlim(0, right)
        ax.set_xlabel("epsilon: claimed (black mark), and the least that can be true (bar)")
        ax.grid(axis="x", color=GREY, alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
