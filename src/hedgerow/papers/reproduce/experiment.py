"""An experiment as data: what is fitted where, what a paper prints and says of it; and what its fits gave."""

from __future__ import annotations

import csv
import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from hedgerow.arrays import lazy
from hedgerow.files import atomic_file
from hedgerow.papers.reproduce.fits import Fit, Row, number_of
from hedgerow.papers.reproduce.verdicts import Cell, Verdict

Form = Literal["published", "private", "coded"]
FORMS: Mapping[Form, str] = {"published": "as printed", "private": "private form", "coded": "as its authors coded it"}
MAJORITY = "majority rule"  # the label of the rule that reads no record
COLUMNS = ("panel", "measure", "method", "form", "x", "mean", "sd", "runs")


@dataclass(frozen=True)
class Axis:
    """What is swept: ``"epsilon"``, ``"records"``, ``"features"`` or a setting of the systems, less ``shift``; and its name."""

    parameter: str
    words: str
    values: tuple[float, ...]
    log: bool = False
    shift: int = 0


@dataclass(frozen=True)
class Panel:
    name: str
    measure: str = "accuracy"


Place = tuple[Panel | str, str]  # a curve: its panel, or that panel's name, and its label


@dataclass(frozen=True)
class Curve:
    """One line of a panel: its label, whose form it is (None: it is drawn beside every form), and the fit at each x.

    ``own_measure`` is what it shows where that is not the panel's measure, as the accuracy in training beside that in testing.
    """

    panel: Panel
    label: str
    form: Form | None
    points: tuple[tuple[float, Fit], ...]
    own_measure: str | None = None

    @property
    def measure(self) -> str:
        return self.own_measure or self.panel.measure


@dataclass(frozen=True)
class PaperClaim:
    """A sentence of a paper in our own words, the section that it stands in, and what decides it for one form of the systems.

    A claim without a section is ours: a check that the paper does not make.
    """

    section: str
    text: str
    check: Check


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A figure or table of a paper, named by both, such as ``"edprf/fig9"``; title, settings and notes are the page's.

    ``picture`` draws the figure where it is none of curves. ``reading`` says what is read otherwise in the published form than in
    the experiment that makes the same claims; empty for a first reading.
    """

    name: str
    title: str
    settings: str
    axis: Axis
    curves: tuple[Curve, ...] = ()
    reported: Mapping[tuple[Panel, str, float], float] = field(
        default_factory=dict, hash=False
    )  # by panel, label and x
    claims: tuple[PaperClaim, ...] = ()
    notes: tuple[str, ...] = ()
    picture: Callable[[], Any] | None = field(default=None, compare=False)
    reading: str = ""

    @property
    def panels(self) -> tuple[Panel, ...]:
        return tuple(dict.fromkeys(curve.panel for curve in self.curves))

    @property
    def forms(self) -> tuple[Form, ...]:
        return tuple(form for form in FORMS if any(curve.form == form for curve in self.curves))

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(fit.data for curve in self.curves for _, fit in curve.points))

    def fits(self, seeds: int, coded_seeds: int | None = None) -> Iterator[Fit]:
        """Yield every fit, each as many times as there are seeds unless it has no noise; authors' code may have its own."""
        for run in range(seeds):
            for curve in self.curves:
                if curve.form != "coded" or coded_seeds is None or run < coded_seeds:
                    yield from (fit.numbered(run) for _, fit in curve.points)


@dataclass(eq=False)
class Results:
    """The rows of an experiment, of which the first ``seeds`` runs count, among those of ``others``."""

    experiment: Experiment
    rows: Mapping[tuple[str, ...], Row]
    seeds: int
    others: Sequence[Experiment] = ()

    @lazy
    def cells(self) -> Mapping[tuple[Panel, str, Form | None, float], Cell]:
        """The runs of every point that has any; all points of a form as many as the one with the fewest.

        A run that was broken off leaves some points with a run more than others, and only as many are compared run by run.
        """
        cells = {}
        for curve in self.experiment.curves:
            for x, fit in curve.points:
                keys = dict.fromkeys(fit.numbered(run).key for run in range(self.seeds))
                numbers = (number_of(self.rows[key], curve.measure, x) for key in keys if key in self.rows)
                values = tuple(number for number in numbers if number is not None)
                if values:
                    cells[curve.panel, curve.label, curve.form, x] = Cell(values, fit.is_certain)
        fewest: dict[Form | None, int] = {}
        for (_, _, form, _), cell in cells.items():
            if not cell.certain:
                fewest[form] = min(len(cell.values), fewest.get(form, len(cell.values)))
        return {place: cell if cell.certain else Cell(cell.values[: fewest[place[2]]]) for place, cell in cells.items()}

    def cell(self, panel: Panel, label: str, form: Form, x: float) -> Cell | None:
        """Return the runs of a point; of a method without privacy, whatever the form."""
        return self.cells.get((panel, label, form, x)) or self.cells.get((panel, label, None, x))

    def write_table(self, path: str | os.PathLike[str]) -> None:
        with atomic_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for (panel, label, form, x), cell in self.cells.items():
                numbers = f"{x:g}", f"{cell.mean:.5f}", f"{cell.spread:.5f}", len(cell.values)
                writer.writerow([panel.name, panel.measure, label, form or "without privacy", *numbers])


@dataclass(frozen=True)
class Measured:
    results: Results
    form: Form

    def panels(self, patterns: Sequence[str]) -> list[Panel]:
        """Return the panels whose names match one of some patterns, in which ``*`` stands for anything."""
        panels = self.results.experiment.panels
        return [panel for panel in panels if any(fnmatchcase(panel.name, one) for one in patterns)]

    def curve(self, place: Place) -> dict[float, Cell]:
        experiment, (name, label) = self.results.experiment, place
        for panel in experiment.panels:
            if name in (panel, panel.name):
                cells = {x: self.results.cell(panel, label, self.form, x) for x in experiment.axis.values}
                return {x: cell for x, cell in cells.items() if cell is not None}
        return {}

    def line(self, place: Place) -> list[Cell]:
        return list(self.curve(place).values())

    def rows(self, places: Sequence[Place]) -> dict[float, list[Cell]]:
        curves = [self.curve(place) for place in places]
        common = [x for x in self.results.experiment.axis.values if all(x in cells for cells in curves)]
        return {x: [cells[x] for cells in curves] for x in common}

    def tables(self, groups: Sequence[Sequence[Place]]) -> list[list[list[Cell]]]:
        return [rows for group in groups if (rows := list(self.rows(group).values()))]

    def every_row(self, groups: Sequence[Sequence[Place]]) -> list[list[Cell]]:
        return [row for rows in self.tables(groups) for row in rows]

    def everywhere(self, label: str) -> dict[str, float]:
        """Return a method's accuracy at each setting of the paper's experiments, and the mean of two sets at one."""
        points: dict[str, float] = {}
        fits: set[Fit] = set()  # that some experiment showed before
        for experiment in self.results.others:
            found = Results(experiment, self.results.rows, self.results.seeds)
            name, words = experiment.name.partition("/")[2], experiment.axis.words
            means: dict[float, list[float]] = {}
            for curve in experiment.curves:
                if (curve.label, curve.form, curve.measure) == (label, self.form, "accuracy"):
                    for x, fit in curve.points:
                        cell = found.cell(curve.panel, label, self.form, x)
                        if cell is not None and fit not in fits:
                            points[f"{name}, {curve.panel.name}, {x:g} {words}"] = cell.mean
                            means.setdefault(x, []).append(cell.mean)
                            fits.add(fit)
            for x, several in means.items():
                if len(several) == 2:
                    points[f"{name}, mean of both sets, {x:g} {words}"] = statistics.fmean(several)
        return points


Check = Callable[[Results, Form], Verdict]
