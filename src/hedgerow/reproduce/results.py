"""What an experiment's fits gave: looked up by panel, label, form and x."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping

from hedgerow.files import atomic_file
from hedgerow.lazy_values import lazy
from hedgerow.plots.utility import Line
from hedgerow.reproduce.experiment import Cell, Curve, Experiment, Form, Panel
from hedgerow.reproduce.fits import number_of
from hedgerow.reproduce.grid import Row

Place = tuple[Panel, str, Form | None, float]


class Results:
    """The rows of one experiment.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    rows : mapping of key to row
        Every row that there is, also of other experiments.
    seeds : int
        How many runs count.
    """

    def __init__(self, experiment: Experiment, rows: Mapping[tuple[str, ...], Row], seeds: int) -> None:
        self.experiment = experiment
        self.seeds = seeds
        self._rows = rows

    @lazy
    def cells(self) -> Mapping[Place, Cell]:
        """The runs of every point that has any; all points of a form as many as the one with the fewest.

        A run that was broken off leaves some points with a run more than others, and only as many are compared run by run.
        """
        found: dict[Place, Cell] = {}
        for curve in self.experiment.curves:
            for x, fit in curve.points:
                keys = dict.fromkeys(fit.numbered(run).key for run in range(self.seeds))
                numbers = (number_of(self._rows[key], curve.measure, x) for key in keys if key in self._rows)
                values = tuple(number for number in numbers if number is not None)
                if values:
                    found[curve.panel, curve.label, curve.form, x] = Cell(values, fit.is_certain)
        fewest: dict[Form | None, int] = {}
        for (_, _, form, _), cell in found.items():
            if not cell.certain:
                fewest[form] = min(len(cell.values), fewest.get(form, len(cell.values)))
        return {place: cell if cell.certain else Cell(cell.values[: fewest[place[2]]]) for place, cell in found.items()}

    def cell(self, panel: Panel, label: str, form: Form, x: float) -> Cell | None:
        """Return the runs of a point; of a method without privacy, whatever the form."""
        return self.cells.get((panel, label, form, x)) or self.cells.get((panel, label, None, x))

    def line(self, curve: Curve) -> Line:
        """Return a curve as it is drawn."""
        cells = [(x, self.cells.get((curve.panel, curve.label, curve.form, x))) for x, _ in curve.points]
        there = [(x, cell) for x, cell in cells if cell is not None]
        return Line(
            curve.label,
            tuple(x for x, _ in there),
            tuple(cell.mean for _, cell in there),
            tuple(cell.spread for _, cell in there),
        )

    def table(self) -> Iterator[dict[str, str]]:
        """Yield one line per point: where it is, its mean, its standard deviation, its runs."""
        for (panel, label, form, x), cell in self.cells.items():
            yield {
                "panel": panel.name,
                "measure": panel.measure,
                "method": label,
                "form": form or "without privacy",
                "x": f"{x:g}",
                "mean": f"{cell.mean:.5f}",
                "sd": f"{cell.spread:.5f}",
                "runs": str(len(cell.values)),
            }


def write_table(results: Results, path: str | os.PathLike[str]) -> None:
    """Write an experiment's points as a small CSV file."""
    fields = ("panel", "measure", "method", "form", "x", "mean", "sd", "runs")
    with atomic_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(results.table())
